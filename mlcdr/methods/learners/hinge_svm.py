"""The learner `hinge_svm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

from mlcdr.methods.constraints import POSITIVE, parameter
from mlcdr.methods.learners.binary import Array, LinearBinaryClassifier
from mlcdr.numerics import sums
from mlcdr.numerics.moments import Moments

# Of more entries than this XXᵀ is not formed: LIBSVM computes products of rows when it needs them.
_ENTRIES = 4e8
# Nor is it for one label alone, if the rarer class has less than this share of the rows: few products are needed then.
_RARE = 0.05
# Dense rows with at least this share of entries that are not 0 are quicker to multiply than sparse ones.
_DENSE = 0.05


class HingeSVM(LinearBinaryClassifier):
    """Linear support vector machine with hinge loss and a free bias, by LIBSVM (Chang & Lin 2011).

    Source: Sun 2017, chapter 6, which takes LIBSVM's linear machine as the binary classifier of all methods.

    Minimise ½‖w‖² + C Σ max(0, 1 − yᵢ(wᵀxᵢ + b)) over w (d) and b, with y = ±1; b is not penalised.

    The label is predicted where wᵀx + b > 0. Features are not scaled. LIBSVM needs the inner products of rows again and
    again, and in the same way for every label: XXᵀ is formed once for all labels that are fitted to the same features.
    It gives w as `SVC(kernel="linear")` of scikit-learn does, which forms them anew for each label. A label that is
    constant in the training set is predicted with that value, with w = 0 and b = ±1.

    Cost: n²d and n² numbers for XXᵀ, then some thousands of steps of n for each label (millions on features of very
    different scales). With more than 20,000 rows, or for one rare label alone, XXᵀ is not formed, and LIBSVM computes
    the products that it needs: n for each row near the margin.

    Parameters
    ----------
    C : float
        C > 0.
    tol : float
        When to stop: how far the optimality conditions may be violated (LIBSVM's −e).

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b.
    """

    C: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-3, POSITIVE)

    def fit_moments(self, moments: Moments) -> HingeSVM:
        """Fit from the rows of a training set with one label of {0, 1}; labels of the same rows share XXᵀ."""
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
        self.coef_, self.intercept_ = np.zeros((1, X.shape[1])), np.array([1.0 if y[0] else -1.0])
        if y.min() == y.max():
            return
        products = form()
        kernel = "linear" if products is None else "precomputed"
        machine = SVC(C=self.C, kernel=kernel, tol=self.tol).fit(X if products is None else products, y)
        self.coef_ = sums.dense(machine.dual_coef_ @ X[machine.support_])
        self.intercept_ = machine.intercept_


def _needs_few(X: Any, y: Array) -> bool:
    """Whether LIBSVM needs so few products of rows X (n×d) for a label y (n) alone that it had better compute them."""
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
