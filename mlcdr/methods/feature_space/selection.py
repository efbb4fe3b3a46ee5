"""The base of the feature selectors: features ranked by a score, of which the first m are kept as they are.

A method is defined by its scores; its file shows how they are found.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import SIZE, parameter
from mlcdr.methods.feature_space.supervised import SupervisedStep
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


class FeatureSelector(SelectorMixin, SupervisedStep):
    """Base of the selectors: the m features with the largest scores, in their old order.

    The scores are found once for all m, and kept with the moments: a sweep over m costs one fit. Ties go to the first
    features.

    Parameters
    ----------
    n_features : int, float or None
        Number of features m: an int, a fraction p of the d features (max(1, ⌊pd⌋)), or None for all.

    Attributes
    ----------
    scores_ : array of shape (d,)
        The score of each feature.
    ranking_ : array of shape (d,)
        The features, the best first.
    n_components_ : int
        Number of dimensions m.
    """

    serves_all_sizes: ClassVar[bool] = True  # whether it scores all features, whatever their number to be selected

    n_features: float | int | None = parameter(None, SIZE)

    def fit_moments(self, moments: Moments) -> Self:
        """Rank the features from the moments of a training set (without checks of parameters and data).

        Raises
        ------
        ValueError
            When `n_features` exceeds the number of features.
        """
        self.n_features_in_ = moments.n_features
        params = self.get_params(deep=False)
        if self.serves_all_sizes:
            params.pop("n_features")
        key = ("feature scores", type(self), *sorted((name, repr(value)) for name, value in params.items()))
        if "random_state" in params and not isinstance(params["random_state"], Integral):
            self.scores_, learned = self._find_scores(moments)  # what is drawn again each time is not to be kept
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
