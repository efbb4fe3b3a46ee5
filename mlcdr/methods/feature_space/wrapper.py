"""The feature step `wrapper`."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from mlcdr.methods.constraints import ESTIMATOR, SEED, SIZE, one_of, parameter
from mlcdr.methods.contracts import fit
from mlcdr.methods.feature_space.informative import by_place
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.metrics import METRICS, Counts, Outcome
from mlcdr.numerics.information import first_best
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.regression import coefficients
from mlcdr.numerics.sums import dense

_JUDGED_BY_LABELS = {name for name, metric in METRICS.items() if metric.needs == "labels"}


class Wrapper(FeatureSelector):
    """Wrapper: features chosen one after the other by how well a learner does with them.

    Source: Kohavi & John 1997 (forward selection).

    Greedy: the next feature is the one that, added to those chosen, gives a learner the best metric in cross-validation
    on the training set (ties: the first).

    A regressor predicts a label above ½. Features that are not chosen are ranked last, in their old order. Cost: about
    m·d fits for each fold, of m wanted features of d; a sweep fits each m by itself.

    Parameters
    ----------
    estimator : estimator or None
        A multi-output regressor or a multi-label classifier. None: least squares.
    metric : str
        Of label sets, by its name in `mlcdr metrics`.
    folds : int
        Number of folds, drawn by `random_state` (as many as rows, where there are fewer).
    random_state : int, RandomState instance or None
        Seed of the folds.
    """

    serves_all_sizes: ClassVar[bool] = False
    estimator_seed_name: ClassVar[str] = "learner"
    n_features: float | int | None = parameter(0.1, SIZE)
    estimator: Any = parameter(None, ESTIMATOR, family="learner")
    metric: str = parameter("hamming_loss", one_of(*_JUDGED_BY_LABELS))
    folds: int = parameter(3, [Interval(Integral, 2, None, closed="left")], at_most="rows")
    random_state: Any = parameter(None, SEED)

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        d, wanted = moments.n_features, n_kept(self.n_features, moments.n_features, name="n_features")
        order = check_random_state(self.random_state).permutation(moments.n)
        held_out = [fold for fold in np.array_split(order, min(self.folds, moments.n)) if len(fold) < moments.n]
        parts = [moments.without(np.sort(fold)) for fold in held_out]
        chosen: list[int] = []
        while len(chosen) < wanted < d:
            left = [m for m in range(d) if m not in chosen]
            worth = [self._worth(parts, held_out, moments, np.sort([*chosen, m])) for m in left]
            chosen.append(left[first_best(np.array(worth))])
        return by_place([*chosen, *(m for m in range(d) if m not in chosen)]), {}

    def _worth(self, parts: list[Moments], held_out: list[Any], moments: Moments, features: Any) -> float:
        """The metric with these features, summed over the folds; the larger the better."""
        X, Y = moments.rows()
        metric, total = METRICS[self.metric], 0.0
        for part, fold in zip(parts, held_out, strict=True):
            predicted = self._predict(part.select_features(features), X[:, features][fold])
            labels = predicted > (0 if self.estimator is not None and is_classifier(self.estimator) else 0.5)
            value = metric.of(Outcome(Counts(dense(Y[fold]), labels)), {})
            total += value if metric.higher_is_better else -value
        return total

    def _predict(self, part: Moments, new: Any) -> Array:
        """The predictions for new rows by the learner, fitted to a part."""
        if self.estimator is None:
            weights = coefficients(part)
            return new @ weights + (part.mean_y - part.mean_x @ weights)
        estimator = fit(clone(self.estimator), part, np.float64)
        return dense(estimator.predict(new)).reshape(new.shape[0], -1)
