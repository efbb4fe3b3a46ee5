"""The learner `llsf`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from mlcdr.methods.chains.links import Link
from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, parameter
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.learners.binary import LinearBinaryClassifier
from mlcdr.methods.multilabel import Array, MetaClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments


class LLSF(MetaClassifier):
    """LLSF: label-specific features by a sparse linear model that gives similar labels similar coefficients.

    Source: Huang, Li, Huang & Wu 2015, "Learning label specific features for multi-label classification".

    min_W ½‖XW − Y‖² + (α/2) Tr(R WᵀW) + β‖W‖₁, with R_jk = 1 − cos(y_j, y_k); label k's features are w_ik ≠ 0.

    W is d×K, X is neither centred nor scaled, and there is no intercept. Accelerated proximal gradient from
    W_0 = W_1 = (XᵀX + γI)⁻¹XᵀY, with L = √(2(‖XᵀX‖² + α²‖R‖²)) (spectral norms), b_0 = b_1 = 1:

        W^(t) = W_t + (b_{t−1} − 1)/b_t (W_t − W_{t−1}),        G = W^(t) − (XᵀX W^(t) − XᵀY + αW^(t)R)/L,
        W_{t+1} = sign(G) max(|G| − β/L, 0),                    b_{t+1} = (1 + √(1 + 4b_t²))/2.

    R has a zero diagonal, and so negative eigenvalues, unless all its entries are zero: where XᵀX does not outweigh
    α times these (d > n), the objective has no minimum, and the number of steps is a part of the definition. A label
    that is never positive has cosine 0 with all. Cost: nd² for XᵀX, d³ for the start, d²K + dK² a step (of a sparse X,
    its entries times K in place of d²K); d×d numbers.

    Parameters
    ----------
    estimator : estimator or None
        The model of a label, fitted to its features: a regressor, which decides at ½, or a binary classifier. None:
        XW itself, which decides at ½. A label without features is predicted if more than half of the training instances
        have it; a label that is constant in the training set is predicted with that value.
    alpha : float
        The weight of the term that makes the coefficients of similar labels alike.
    beta : float
        The weight of the sparsity term.
    gamma : float
        The ridge of the start.
    max_iter : int
        Steps at most.
    tol : float
        Relative change of the objective at which to stop.

    Attributes
    ----------
    coef_ : array of shape (K, d)
        Wᵀ.
    features_ : list of arrays
        Each label's features.
    links_ : list of Link
        Each label's model, where there is an estimator.
    n_iter_ : int
        Steps taken.
    """

    alpha: float = parameter(0.5, NOT_NEGATIVE)
    beta: float = parameter(0.1, NOT_NEGATIVE)
    gamma: float = parameter(0.01, POSITIVE)
    max_iter: int = parameter(100, COUNT)
    tol: float = parameter(1e-4, NOT_NEGATIVE)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from a training set of label sets {0, 1}, which must have its rows."""
        self._begin(moments)
        X, Y = moments.rows()
        Y = as_dense(Y)
        # which no point of a search for α and β changes
        start = moments.once(("LLSF", self.gamma), lambda: _start(X, Y, self.gamma))
        weights = self._minimise(_multiply_by_gram(X, start[0]), *start[1:], np.sum(Y**2))
        self.coef_ = weights.T
        self.features_ = [np.flatnonzero(column) for column in self.coef_]
        self._usual = Y.mean(axis=0) - 0.5
        self._fixed = [k for k, chosen in enumerate(self.features_) if not len(chosen) or abs(self._usual[k]) == 0.5]
        self.links_ = []
        if self.estimator is not None:
            self.links_ = [self._link(moments, Y[:, k], k) for k in range(Y.shape[1])]
        return self

    def _link(self, moments: Moments, y: Array, label: int) -> Link:
        """The link of a label; that of other points of a search for α and β, where they chose the same features."""
        if abs(self._usual[label]) == 0.5:
            return Link.of_constant_label(self.estimator, y[0])
        if label in self._fixed:
            return Link(None, self._usual[label])
        chosen, estimator = self.features_[label], self.estimator

        def fit() -> Link:
            return Link.fitted(estimator, Moments.from_arrays(moments.rows()[0][:, chosen], y[:, None]), 0)

        # models that may be large are not kept, nor what is drawn again each time
        repeats = isinstance(getattr(estimator, "random_state", 0), int)
        if not isinstance(estimator, LinearBinaryClassifier) or not repeats:
            return fit()
        parameters = repr(sorted(estimator.get_params().items()))
        return moments.once(("LLSF", label, chosen.tobytes(), type(estimator), parameters), fit)

    def _minimise(
        self,
        gram: Callable[[Array], Array],
        xy: Array,
        unlike: Array,
        start: Array,
        sizes: tuple[float, float],
        squares: float,
    ) -> NDArray[Any]:
        """W (d×K), from what `_start` gives and ‖Y‖²."""
        before = weights = start
        bound = np.sqrt(2 * (sizes[0] ** 2 + (self.alpha * sizes[1]) ** 2))
        # XᵀXW is what a step costs: once for W_t, for the objective and for the two gradients that use it
        image_before = image = gram(weights)
        b_before = b = 1.0
        value = np.inf
        for step in range(1, self.max_iter + 1):
            ahead = weights + (b_before - 1) / b * (weights - before)
            gradient = image + (b_before - 1) / b * (image - image_before) - xy + self.alpha * ahead @ unlike
            moved = ahead - gradient / bound if bound > 0 else ahead
            before, weights = weights, np.sign(moved) * np.maximum(np.abs(moved) - self.beta / max(bound, 1e-300), 0.0)
            image_before, image = image, gram(weights)
            b_before, b = b, (1 + np.sqrt(1 + 4 * b**2)) / 2
            self.n_iter_ = step
            loss = np.sum(weights * (image - 2 * xy)) + squares
            alike = np.sum(weights * (weights @ unlike))
            last, value = value, 0.5 * (loss + self.alpha * alike) + self.beta * np.abs(weights).sum()
            if abs(last - value) <= self.tol * abs(value):
                break
        return weights

    def _scores(self, X: Any) -> Array:
        if self.estimator is not None:
            return np.column_stack(
                [link.score(X[:, chosen]) for link, chosen in zip(self.links_, self.features_, strict=True)]
            )
        scores = X @ self.coef_.T - 0.5
        scores[:, self._fixed] = self._usual[self._fixed]
        return scores


def _multiply_by_gram(X: Any, xx: Array) -> Callable[[Array], Array]:
    """W → XᵀXW: as Xᵀ(XW) where X is so sparse that this is less work."""
    if sp.issparse(X) and 8 * X.nnz < xx.size:  # a sparse product takes some four times as long for each entry
        transposed = sp.csr_array(X.T)
        return lambda W: transposed @ (X @ W)
    return lambda W: xx @ W


def _start(X: Any, Y: Array, gamma: float) -> tuple[Array, Array, Array, Array, tuple[float, float]]:
    """XᵀX, XᵀY, R, W_0 and the spectral norms of XᵀX and R."""
    xx, xy, unlike = sums.dense(X.T @ X), np.asarray(X.T @ Y), cosine_distances_of_labels(Y)
    first = np.linalg.solve(xx + gamma * np.eye(len(xx)), xy)
    size = eigvalsh(xx, subset_by_index=(len(xx) - 1, len(xx) - 1))[0]
    return xx, xy, unlike, first, (float(size), float(np.linalg.norm(unlike, 2)))


def cosine_distances_of_labels(Y: Array) -> NDArray[Any]:
    """R (K×K): 1 − cos of each two columns of Y (n×K); a column of zeros is at 1 from all others, 0 from itself."""
    lengths = np.sqrt((Y**2).sum(axis=0))
    unit = Y / np.where(lengths > 0, lengths, 1.0)
    distances = 1.0 - unit.T @ unit
    np.fill_diagonal(distances, 0.0)
    return np.maximum(distances, 0.0)
