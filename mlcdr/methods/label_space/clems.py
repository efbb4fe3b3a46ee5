"""The label space `clems`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, SEED, SIZE, one_of, parameter
from mlcdr.methods.contracts import LabelSpace, as_dense, given
from mlcdr.methods.label_space.linear import Array
from mlcdr.metrics.label_sets import LOSSES_OF_PAIRS, losses_of_pairs
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.neighbours import Neighbours


class CLEMS(LabelSpace):
    """Cost-sensitive label embedding with multidimensional scaling (CLEMS): distances between codes are costs.

    Source: Huang & Lin 2017 (Machine Learning 106), *Cost-sensitive label embedding for multi-label classification*,
    section 3 and Algorithm 1; the weights and the number of iterations, their program.

    The C distinct label sets of the training rows embedded in ℝᴹ, so that ‖t_i − p_j‖² ≈ c(y_i, y_j).

    Each set has two places, t_i as the true one and p_i as the predicted one (the paper's mirroring trick), since the
    cost c of predicting y_j where y_i is true need not be symmetric. With n_i rows that have the set y_i, they
    minimise the weighted stress

        Σ_i Σ_j n_i (‖t_i − p_j‖ − √c(y_i, y_j))²

    by majorisation (SMACOF): in each step, with B_ij = n_i √c_ij/‖t_i − p_j‖,

        t_i ← Σ_j B_ij (t_i − p_j) / (C n_i),        p_j ← ( Σ_i B_ij (p_j − t_i) + Σ_i n_i t_i ) / n

    (the solution with Σ p_j = 0, t the new ones), until the relative decrease of the stress is below `tol`. A row is
    coded by its t_i; a code is decoded to the label set of the nearest p_j, so scores are label sets, too. The code of
    a label set y that no training row has is the t_i with the least c(y, y_i). Cost: C²K for the costs, 6C²M a step,
    and CM for each code that is decoded; C×C numbers are held.

    Parameters
    ----------
    n_components : int, float or None
        M: an int, a fraction p of the K labels (max(1, ⌊pK⌋)), or None for all K, as in the paper.
    cost : str
        The metric of which c is the loss of a single instance: "hamming_loss", "zero_one_loss", "ranking_loss" (of the
        predicted set as scores, ties ½), or 1 less "accuracy", "f1", "precision" or "recall".
    start : {"spectral", "random"}
        The start: the leading singular vectors of the doubly centred −c/2 (deterministic; exact where costs are squared
        distances, as Hamming losses are); or the best of `n_starts` from uniform random numbers, as in the program.
    n_starts : int
        Number of "random" starts; not used by "spectral".
    tol : float
        The relative fall of the stress at which the steps end.
    max_iter : int
        The most steps.
    random_state : int, RandomState instance or None
        Seed of "random".

    Attributes
    ----------
    label_sets_ : array of shape (C, K)
    true_codes_, predicted_codes_ : arrays of shape (C, M)
        t and p.
    stress_ : array
        After each step.
    n_components_ : int
        M.
    """

    nested: ClassVar[bool] = False

    n_components: float | int | None = parameter(None, SIZE)
    cost: str = parameter("f1", one_of(*LOSSES_OF_PAIRS))
    start: str = parameter("spectral", one_of("spectral", "random"))
    n_starts: int = parameter(8, COUNT)
    tol: float = parameter(1e-6, NOT_NEGATIVE)
    max_iter: int = parameter(300, COUNT)
    random_state: Any = parameter(None, SEED)

    def fit_moments(self, moments: Moments) -> Self:
        """Embed the label sets of a training set, which must have its rows; of the features only the number counts."""
        self.n_features_in_ = moments.n_features
        self.n_components_ = self.n_dimensions(self.n_components, moments.n_labels)
        Y = as_dense(moments.rows()[1])
        self.label_sets_, counts = np.unique((Y > 0).astype(np.uint8), axis=0, return_counts=True)
        costs = losses_of_pairs(self.cost, self.label_sets_, self.label_sets_)
        best: tuple[Array, Array, Array] | None = None
        for start in self._starts(costs):
            found = _scale(np.sqrt(costs), counts.astype(np.float64), *start, self.tol, self.max_iter)
            if best is None or found[2][-1] < best[2][-1]:
                best = found
        assert best is not None
        self.true_codes_, self.predicted_codes_, self.stress_ = best
        self.n_iter_ = len(self.stress_)
        self._nearest = Neighbours(self.predicted_codes_)
        return self

    def _starts(self, costs: Array) -> list[tuple[Array, Array]]:
        size, m = len(costs), self.n_components_
        if self.start == "random":
            random = check_random_state(self.random_state)
            return [(random.random_sample((size, m)), random.random_sample((size, m))) for _ in range(self.n_starts)]
        centred = costs - costs.mean(axis=0) - costs.mean(axis=1)[:, None] + costs.mean()
        left, sizes, right = scipy.linalg.svd(-0.5 * centred)
        q = min(size, m)
        true, predicted = np.zeros((size, m)), np.zeros((size, m))
        true[:, :q], predicted[:, :q] = left[:, :q] * np.sqrt(sizes[:q]), right[:q].T * np.sqrt(sizes[:q])
        return [(true, predicted)]

    def encode(self, Y: Any) -> Array:
        """The codes t (n×M) of label sets Y (n×K)."""
        check_is_fitted(self, "label_sets_")
        Y = given("Y", Y, self.label_sets_.shape[1])
        sets, member = np.unique((Y > 0).astype(np.uint8), axis=0, return_inverse=True)
        known = {each.tobytes(): i for i, each in enumerate(self.label_sets_)}
        places = [known.get(each.tobytes(), -1) for each in sets]
        for i in np.flatnonzero(np.array(places) < 0):
            places[i] = int(np.argmin(np.round(losses_of_pairs(self.cost, sets[[i]], self.label_sets_)[0], 12)))
        return self.true_codes_[np.array(places, dtype=np.intp)[member.reshape(-1)]]

    def decode(self, codes: Array) -> Array:
        """The label sets (n×K) of the nearest p for codes (n×M), as scores 0 and 1."""
        check_is_fitted(self, "label_sets_")
        codes = given("codes", codes, self.n_components_)
        return self.label_sets_[self._nearest.nearest(codes, 1).indices].astype(np.float64)


def _scale(
    wanted: Array, counts: Array, true: Array, predicted: Array, tol: float, most: int
) -> tuple[Array, Array, Array]:
    """t, p (C×M) and the stress before each of the steps and after the last, from a start; `wanted` is √c (C×C)."""
    size, n = len(wanted), counts.sum()
    distances, values = _distances(true, predicted), list[float]()
    values.append(_stress(counts, distances, wanted))
    while len(values) <= most:
        ratio = np.divide(wanted, distances, out=np.zeros_like(wanted), where=distances > 0) * counts[:, None]
        of_true = ratio.sum(axis=1)[:, None] * true - ratio @ predicted
        of_predicted = ratio.sum(axis=0)[:, None] * predicted - ratio.T @ true
        true = of_true / (size * counts[:, None])
        predicted = (of_predicted + counts @ true) / n
        distances = _distances(true, predicted)
        values.append(_stress(counts, distances, wanted))
        if values[-2] - values[-1] <= tol * values[-2]:
            break
    return true, predicted, np.array(values)


def _stress(counts: Array, distances: Array, wanted: Array) -> float:
    return float(counts @ np.sum((distances - wanted) ** 2, axis=1))


def _distances(a: Array, b: Array) -> Array:
    squares = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2 * a @ b.T
    return np.sqrt(np.maximum(squares, 0.0))
