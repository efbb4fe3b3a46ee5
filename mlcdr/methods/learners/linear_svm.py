"""The learner `linear_svm`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import assert_all_finite, check_random_state

from mlcdr.methods.constraints import COUNT, POSITIVE, SEED, one_of, parameter
from mlcdr.methods.contracts import CERTAIN_SCORE
from mlcdr.methods.learners.binary import Array, LinearBinaryClassifier
from mlcdr.numerics.moments import Moments

try:
    from sklearn.svm import _liblinear as liblinear  # of scikit-learn 1.6 to 1.9; not public
except ImportError:  # then `LinearSVC` finds the same w in more time: it checks the features again for each label
    liblinear = None

_PRIMAL, _DUAL = 2, 1  # LIBLINEAR's numbers of the solvers of the squared hinge loss
_TOL_PRIMAL, _TOL_DUAL = 0.01, 0.1  # LIBLINEAR's defaults of −e for −s 2 and −s 1
_FULL = 0.5  # of the entries of dense rows: those with fewer are made sparse once, as LIBLINEAR does for each label


class LinearSVM(LinearBinaryClassifier):
    """Linear support vector machine with squared hinge loss, by LIBLINEAR (Fan, Chang, Hsieh, Wang & Lin 2008).

    Source: Sun 2017, section 4.3.3, which takes LIBLINEAR's as the binary classifier of all methods.

    Minimise ½‖w‖² + ½b² + C Σ max(0, 1 − yᵢ(wᵀxᵢ + b))² over w (d) and b, with y = ±1.

    The label is predicted where wᵀx + b > 0. The bias is the weight of a constant feature 1, so it is penalised like
    the others. Features are not scaled. A label that is constant in the training set is predicted with that value, with
    w = 0 and b = ±1e300. Cost: some tens of passes over X.

    Parameters
    ----------
    C : float
        C > 0.
    solver : {"auto", "primal", "dual"}
        Newton's method in w, or coordinate descent in the dual; "auto": primal where there are more instances than
        features, dual otherwise. Both find the same w, up to `tol`.
    tol : float or None
        When to stop, as LIBLINEAR's −e. None: LIBLINEAR's defaults, 0.01 in the primal and 0.1 in the dual. The latter
        stops far from the minimum on features of very different scales (birds, emotions), and gives the printed numbers
        of Sun 2017, Tables 4.2 to 4.5.
    max_iter : int
        Iterations at most.
    random_state : int, RandomState instance or None
        Order in which the dual solver takes the instances.

    Attributes
    ----------
    classes_ : array of shape (2,), or (1,) where y was constant
        The values of y.
    coef_ : array of shape (1, d)
        w.
    intercept_ : array of shape (1,)
        b.
    n_iter_ : int
        Iterations that were made.
    """

    C: float = parameter(1.0, POSITIVE)
    solver: str = parameter("auto", one_of("auto", "primal", "dual"))
    tol: float | None = parameter(1e-4, [*POSITIVE, None])
    max_iter: int = parameter(10_000, COUNT)
    random_state: Any = parameter(None, SEED)

    def _fit_label(self, moments: Moments, X: Any, y: Array) -> None:
        self._solve(X, y, lambda: moments.labels.once("rows for LIBLINEAR", lambda: _rows(X)))

    def _fit_valid(self, X: Any, y: Array) -> None:
        self._solve(X, y, lambda: _rows(X))

    def _solve(self, X: Any, y: Array, convert: Callable[[], Any]) -> None:
        """Find w and b from rows X (n×d) and y (n); `convert` makes of X what LIBLINEAR takes."""
        n, d = X.shape
        self.coef_, self.intercept_ = np.zeros((1, d)), np.array([CERTAIN_SCORE if y[0] else -CERTAIN_SCORE])
        self.n_iter_ = 0
        if y.min() == y.max():
            return
        dual = n <= d if self.solver == "auto" else self.solver == "dual"
        tol = self.tol if self.tol is not None else _TOL_DUAL if dual else _TOL_PRIMAL
        find = self._by_scikit_learn if liblinear is None else self._by_liblinear
        find(convert(), y, dual, tol)

    def _by_scikit_learn(self, rows: Any, y: Array, dual: bool, tol: float) -> None:
        model = LinearSVC(C=self.C, dual=dual, tol=tol, max_iter=self.max_iter, random_state=self.random_state)
        model.fit(rows, y)
        self.coef_, self.intercept_, self.n_iter_ = model.coef_, model.intercept_, int(model.n_iter_)

    def _by_liblinear(self, rows: Any, y: Array, dual: bool, tol: float) -> None:
        """What `LinearSVC` does after its checks."""
        sparse, solver = sp.issparse(rows), _DUAL if dual else _PRIMAL
        bias, each, most = 1.0, np.ones(len(y)), np.iinfo(np.int32).max
        seed = check_random_state(self.random_state).randint(most) if dual else 0  # the primal solver draws nothing
        liblinear.set_verbosity_wrap(0)
        found, n_iter = liblinear.train_wrap(
            rows, y, sparse, solver, tol, bias, self.C, np.ones(2), self.max_iter, seed, 0.1, each
        )
        self.coef_, self.intercept_, self.n_iter_ = found[:, :-1], found[:, -1], int(n_iter.max())
        if self.n_iter_ >= self.max_iter:
            warnings.warn("LIBLINEAR did not converge: more iterations are needed", ConvergenceWarning, stacklevel=2)


def _rows(X: Any) -> Any:
    """Checked rows X (n×d) in double precision, as LIBLINEAR takes them: a CSR matrix of short indices, or an array."""
    X = X.astype(np.float64, copy=False)
    assert_all_finite(X.data if sp.issparse(X) else X)
    if not sp.issparse(X) and np.count_nonzero(X) >= _FULL * X.size:
        return np.ascontiguousarray(X)
    X = sp.csr_array(X)
    if X.nnz > np.iinfo(np.int32).max:
        raise ValueError(f"LIBLINEAR takes at most {np.iinfo(np.int32).max} stored entries, X has {X.nnz}")
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
