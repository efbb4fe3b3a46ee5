"""The learner `hinge_svm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

from mlcdr.methods.constraints import COUNT, POSITIVE, parameter
from mlcdr.methods.contracts import CERTAIN_SCORE
from mlcdr.methods.learners.binary import Array, LinearBinaryClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments

# XXᵀ with more entries than this is not formed: LIBSVM then computes the products itself.
_ENTRIES = 4e8
# For one label alone, of which fewer rows than this share are of the rarer class, LIBSVM needs few products.
_RARE = 0.05
# Sparse rows with at least this share of stored entries are multiplied as dense ones, which is quicker.
_DENSE = 0.05


class HingeSVM(LinearBinaryClassifier):
    """Linear support vector machine with hinge loss and a free bias, by LIBSVM (Chang & Lin 2011).

    Source: Sun 2017, section 6.5.1: LIBSVM's linear machine is the binary classifier of all methods of Table 6.1.

    Minimise ½‖w‖² + C Σ max(0, 1 − yᵢ(wᵀxᵢ + b)) over w (d) and b, with y = ±1; b is not penalised.

    The label is predicted where wᵀx + b > 0. Features are not scaled. LIBSVM needs the inner products of rows many
    times, and the same ones for every label, so XXᵀ is formed once for all labels that are fitted to the same features.
    w is that of `SVC(kernel="linear")` of scikit-learn, which computes the products again for each label. A label that
    is constant in the training set is predicted with that value, with w = 0 and b = ±1e300.

    Cost: n²d and n² numbers for XXᵀ (3.2 GB for 20,000 rows; while it is formed from sparse rows, up to two and a half
    times as much), then some thousands of steps of n for each label, and millions on features of very different scales.
    XXᵀ is not formed with more than 20,000 rows, nor for a single label that fewer than 5 % of the rows have or lack
    (unless they are sparse with at least 5 % of their entries stored): LIBSVM then computes the products that it needs.

    Parameters
    ----------
    C : float
        C > 0.
    tol : float
        When to stop: how far the optimality conditions may be violated (LIBSVM's −e).
    max_iter : int
        Steps at most; LIBSVM's own limit up to 100,000 rows. It is reached on features with large values, which should
        be scaled: a warning says so.

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b.
    n_iter_ : int
        Steps that were made.
    """

    C: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-3, POSITIVE)
    max_iter: int = parameter(10_000_000, COUNT)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the rows of a training set with one label of {0, 1}; labels of the same rows share XXᵀ.

        Raises
        ------
        ValueError
            When there are more labels.
        """
        labels = moments.labels
        if labels.n_labels == 1:
            return super().fit_moments(moments)
        X, y = self._one_label(moments)
        self._solve(X, y, lambda: labels.once("products of rows", lambda: _products(X)))
        self.classes_ = np.array([0, 1])
        return self

    def _fit_valid(self, X: Any, y: Array) -> None:
        self._solve(X, y, lambda: None if _needs_few(X, y) else _products(X))

    def _solve(self, X: Any, y: Array, form: Callable[[], Array | None]) -> None:
        """Find w and b from rows X (n×d) and y (n); `form` gives XXᵀ (n×n) or None."""
        self.coef_, self.intercept_ = np.zeros((1, X.shape[1])), np.array([CERTAIN_SCORE if y[0] else -CERTAIN_SCORE])
        self.n_iter_ = 0
        if y.min() == y.max():
            return
        products = form()
        kernel = "linear" if products is None else "precomputed"
        machine = SVC(C=self.C, kernel=kernel, tol=self.tol, max_iter=self.max_iter)
        machine.fit(X if products is None else products, y)
        self.coef_ = sums.dense(machine.dual_coef_ @ X[machine.support_])
        self.intercept_ = machine.intercept_
        self.n_iter_ = int(machine.n_iter_[0])


def _needs_few(X: Any, y: Array) -> bool:
    """Whether LIBSVM computes the products that it needs for one label y (n) of rows X (n×d) sooner than all of XXᵀ."""
    thin = not sp.issparse(X) or X.nnz < _DENSE * X.shape[0] * X.shape[1]
    return thin and min(y.mean(), 1 - y.mean()) < _RARE


def _products(X: Any) -> Array | None:
    """XXᵀ (n×n) of rows X (n×d, dense or sparse); None where it would be too large."""
    n, d = X.shape
    if n * n > _ENTRIES:
        return None
    if sp.issparse(X) and (d > n or X.nnz < _DENSE * n * d):
        return sums.dense(X @ X.T)
    rows = sums.dense(X)  # no larger than XXᵀ where it was sparse
    return rows @ rows.T
