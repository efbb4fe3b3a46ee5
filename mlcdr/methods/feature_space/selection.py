"""What the feature selectors share: features ranked by a score, of which the first m are kept as they are.

A method of this kind is its scores, and nothing else differs; so each one's file holds just how it finds them.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.contracts import FeatureStep
from mlcdr.methods.feature_space.linear import binary_labels
from mlcdr.numerics.entry import checked_array, checked_targets
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


class FeatureSelector(SelectorMixin, FeatureStep):
    """Base of the selectors: the m features with the largest scores, in their old order.

    The scores are found once for all m, and kept with the moments: a sweep over m costs one fit. Of features with equal
    scores the first come first.

    Parameters
    ----------
    n_features : int, float or None
        Number of features m: an int, a fraction p of the d features (max(1, ⌊pd⌋)), or None for all.

    Attributes
    ----------
    scores_ : array of shape (d,)
        How much each feature counts.
    ranking_ : array of shape (d,)
        The features, the best first.
    n_components_ : int
        m.
    """

    serves_all_sizes: ClassVar[bool] = True  # whether it scores all features, however many are wanted

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
    }

    def __init__(self, n_features: float | int | None = None):
        self.n_features = n_features

    def fit(self, X: Any, y: Any, X_unlabelled: Any = None) -> FeatureSelector:
        """Rank the features of X (n×d, dense or CSR) for labels y (n×K of {0, 1}, dense or CSR; or n).

        A dense y may hold any two values (such as ±1), of which the larger means that the label is there.
        `X_unlabelled` (u×d): rows without labels, for methods that use them (`uses_unlabelled`); others leave them be.

        Raises
        ------
        ValueError
            When y holds other values, or X, y and `X_unlabelled` do not fit together or are not finite.
        """
        self._validate_params()
        X, y = checked_targets(self, X, y)
        moments = Moments.from_arrays(X, binary_labels(y[:, None] if y.ndim == 1 else y))
        if X_unlabelled is not None:
            rows = checked_array(X_unlabelled, dtype=np.float64, ensure_min_samples=0)
            if rows.shape[1] != X.shape[1]:
                raise ValueError(f"X_unlabelled has {rows.shape[1]} features and X has {X.shape[1]}")
            moments = moments.with_unlabelled(rows)
        return self.fit_moments(moments)

    def fit_moments(self, moments: Moments) -> FeatureSelector:
        """Rank the features from the moments of a training set (parameters and data are not checked again).

        Raises
        ------
        ValueError
            When more features are asked for than there are.
        """
        self.n_features_in_ = moments.n_features
        params = self.get_params(deep=False)
        if self.serves_all_sizes:
            params.pop("n_features")
        key = ("feature scores", type(self), *sorted((name, repr(value)) for name, value in params.items()))
        if "random_state" in params and not isinstance(params["random_state"], Integral):
            self.scores_, learned = self._find_scores(moments)  # what is drawn anew each time is not to be kept
        else:
            self.scores_, learned = moments.once(key, lambda: self._find_scores(moments))
        for name, value in learned.items():
            setattr(self, name, value)
        if "objective_" in learned:
            self.n_iter_ = len(learned["objective_"])
            self.final_objective_ = float(learned["objective_"][-1])
        self.ranking_ = np.argsort(-self.scores_, kind="stable")
        self.n_components_ = n_kept(self.n_features, moments.n_features, name="n_features")
        return self

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        """The scores (d,), and what else is learned, by attribute: the method itself."""
        raise NotImplementedError

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "ranking_")
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.ranking_[: self.n_components_]] = True
        return mask

    def transform_moments(self, moments: Moments) -> Moments:
        """The moments of the features kept, from the moments of all."""
        return moments.select_features(np.flatnonzero(self._get_support_mask()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # labels are there or not
        return tags
