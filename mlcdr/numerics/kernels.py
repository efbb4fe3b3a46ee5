"""Kernels and kernel ridge regression: what the kernel learner and the kernel label spaces share.

With K (n×n), K_ij = k(x_i, x_j), and Z (n×K) the centred labels, the regression is f(x) = Σ_i k(x, x_i) a_i with

    A = (K + αI)⁻¹Z (n×K),    and on the training rows    F = K(K + αI)⁻¹Z = Z − αA.

The targets are centred, the kernel is not: the intercept is ȳ. A kernel matrix is computed once for a whole data set
and sliced for each split; a split's A and F serve all methods and all numbers of dimensions: codes are linear in Z.

Where few rows are left out, P = (K + αI)⁻¹ of all rows serves every split. With T the m rows left out, ȳ the mean
labels of the others and R = P(Y − 1ȳᵀ), the regression on the others misses T by E, and has the coefficients A:

    P_TT E = R_T,    A = R − P_·T E (0 on T).

A split costs m³/3 and, for A, 2nmK, instead of n³/3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import dense, mirrored

Array = NDArray[np.float64]

# scikit-learn's kernels and the parameters of each; written out, since importing them takes a quarter of a second.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "additive_chi2": (),
    "chi2": ("gamma",),
    "cosine": (),
    "laplacian": ("gamma",),
    "linear": (),
    "poly": ("coef0", "degree", "gamma"),
    "polynomial": ("coef0", "degree", "gamma"),
    "rbf": ("gamma",),
    "sigmoid": ("coef0", "gamma"),
}
NAMES = ("gaussian", *_PARAMETERS)
SOLVERS = ("cholesky", "eigen")

_DENSE_ONLY = ("additive_chi2", "chi2")  # to scikit-learn
_MATRICES = 4  # kernel matrices kept for a data set
_DECOMPOSITIONS = 1  # eigendecompositions kept for a training set
_ROWS = 2048  # rows predicted at a time
# Rows left out are predicted from P of all rows where they are no more than this share, P has no more entries than
# this, and α is no smaller than this share of tr K: K + αI has an inverse to eight digits then.
_SHARE = 1 / 8
_ENTRIES = 6e7
_CLOSED = 1e-8
_INVERSES = 2  # kept for a data set
# An α smaller than this beside tr K ≥ ‖K‖ is left to the eigendecomposition, which separates rounding.
_CHOLESKY = 1e-10


@dataclass(frozen=True)
class Kernel:
    """A function k(x, x') of two rows of features; parameters that the kernel does not have are ignored.

    Attributes
    ----------
    name : str
        "gaussian", exp(−γ‖x − x'‖²), which scikit-learn calls "rbf"; or any name that scikit-learn's
        `pairwise_kernels` accepts: "linear", "poly", "laplacian", "cosine", …
    gamma : float or None
        γ; None: scikit-learn's default (1 over the number of features, but 1 for "chi2").
    degree, coef0 : float
        Of "poly", (γxᵀx' + coef0)^degree, and "sigmoid", tanh(γxᵀx' + coef0).
    """

    name: str = "gaussian"
    gamma: float | None = field(default=None, compare=False)
    degree: float = field(default=3.0, compare=False)
    coef0: float = field(default=1.0, compare=False)
    parameters: tuple[tuple[str, float], ...] = field(init=False)  # those of this kernel

    def __post_init__(self) -> None:
        name = "rbf" if self.name == "gaussian" else self.name
        given = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        own = ((key, given[key]) for key in _PARAMETERS[name])
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "parameters", tuple((key, float(value)) for key, value in own if value is not None))

    def matrix(self, X: Any, Y: Any = None) -> Array:
        """The kernel (n×m) between the rows of X (n×d) and Y (m×d; None: X), dense or CSR. Cost: n·m products of rows.

        Raises
        ------
        ValueError
            When the kernel cannot take these features, or overflows.
        """
        from sklearn.metrics.pairwise import pairwise_kernels

        if self.name in _DENSE_ONLY and (sp.issparse(X) or sp.issparse(Y)):
            raise ValueError(f"the kernel {self.name} is not computed for sparse features: take another, or dense ones")
        with np.errstate(over="ignore", invalid="ignore"):
            result = pairwise_kernels(X, Y, metric=self.name, **dict(self.parameters))
        if not np.isfinite(result).all():
            raise ValueError(f"the kernel {self} overflows on these features: scale them, or choose a smaller gamma")
        return np.asarray(result, dtype=np.float64)

    def of_moments(self, moments: Moments) -> Array:
        """K (n×n) of the rows of `moments`, a new array in Fortran order; only its lower triangle is used.

        That of the whole data set is computed once and kept, but no more than four such matrices at a time.
        """
        whole, index = moments.whole()
        matrix = whole.memo.latest("kernel matrix", self, lambda: self.matrix(whole.rows()[0]), _MATRICES)
        # a transpose of rows in C order is in Fortran order, and K is symmetric
        return matrix.copy().T if index is None else matrix[np.ix_(index, index)].T

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value:g}' for key, value in self.parameters)})"


class Solution(NamedTuple):
    """A kernel ridge regression of all labels on n rows.

    Attributes
    ----------
    coefficients : array of shape (n, K)
        A = (K + αI)⁻¹Z.
    fitted : array of shape (n, K)
        F = KA.
    """

    coefficients: Array
    fitted: Array


class Inverse(NamedTuple):
    """What the splits of a data set share of a kernel ridge regression.

    Attributes
    ----------
    matrix : array of shape (n, n)
        P = (K + αI)⁻¹.
    of_labels, of_one : arrays of shape (n, K) and (n,)
        PY and P1.
    """

    matrix: Array
    of_labels: Array
    of_one: Array

    def of_deviations(self, mean: Array) -> Array:
        """P(Y − 1ȳᵀ) (n×K)."""
        return self.of_labels - np.outer(self.of_one, mean)


class Removal(NamedTuple):
    """A kernel ridge regression of all labels without m rows.

    Attributes
    ----------
    of_all : Inverse
        Of all rows.
    left : array of shape (m,)
        The rows left out.
    missed : array of shape (m, K)
        E: their labels minus their predictions.
    """

    of_all: Inverse
    left: NDArray[np.intp]
    missed: Array


class Decomposition(NamedTuple):
    """K = U diag(w) Uᵀ, eigenvalues below rounding set to 0.

    Attributes
    ----------
    values : array of shape (n,)
        w, ascending.
    vectors : array of shape (n, n)
        U, in columns.
    rounding : float
        What cannot be distinguished from 0: n ε ‖K‖.
    """

    values: Array
    vectors: Array
    rounding: float

    @classmethod
    def decompose(cls, matrix: Array) -> Decomposition:
        """Decompose a symmetric matrix, of which the lower triangle is read (and overwritten). Cost: about 9n³."""
        values, vectors = scipy.linalg.eigh(matrix, driver="evd", overwrite_a=True, check_finite=False)
        rounding = float(len(values) * np.finfo(float).eps * np.max(np.abs(values)))
        return cls(np.where(np.abs(values) <= rounding, 0.0, values), vectors, rounding)

    def inverse(self, alpha: float) -> Array:
        """δ = 1/(w + α) (n,), of K + αI; where α itself is below rounding, 0 for w = 0: the limit of small α.

        Raises
        ------
        ValueError
            When K + αI is not positive definite.
        """
        shifted = self.values + alpha
        if alpha <= self.rounding:
            shifted[self.values == 0] = np.inf
        if shifted[0] <= 0:
            raise ValueError(
                f"K + αI is not positive definite (K has the eigenvalue {self.values[0]:.3g}, alpha is {alpha:.3g}): "
                f"take a kernel that is positive semi-definite, or a larger alpha"
            )
        return 1.0 / shifted


@dataclass(frozen=True)
class KernelRegression:
    """Kernel ridge regression: a kernel, α > 0, and how K + αI is inverted.

    Attributes
    ----------
    kernel : Kernel
        k.
    alpha : float
        α.
    solver : {"cholesky", "eigen"}
        "cholesky": n³/3 for each α (where α < 1e-10 tr K it is "eigen" after all); "eigen": about 9n³ for all α.
    """

    kernel: Kernel = Kernel()
    alpha: float = 1.0
    solver: str = "cholesky"

    def solve(self, moments: Moments) -> Solution:
        """A and F for the labels of `moments`, which must have their rows; computed once for a training set.

        Raises
        ------
        ValueError
            When K + αI is not positive definite, or the rows are not at hand.
        """
        return moments.once(("kernel ridge", self), lambda: self._solve(moments))

    def coefficients(self, moments: Moments) -> Array:
        """A (n×M) for the codes of `moments`: that of their labels times the codes' matrix."""
        source, matrix = moments.source()
        found = self.solve(source).coefficients
        return found if matrix is None else found @ matrix

    def explained_scatter(self, moments: Moments) -> Array:
        """Zᵀ(2H − H²)Z = ZᵀF + FᵀZ − FᵀF (K×K), H = K(K + αI)⁻¹: ZᵀZ less the scatter of the residuals Z − F."""

        def compute() -> Array:
            removal = self._remove(moments)
            if removal is not None:
                of_all, left, missed = removal
                A = of_all.of_deviations(moments.mean_y) - of_all.matrix[left].T @ missed
                A[left] = 0.0
                A[:, np.diag(moments.yy) == 0] = 0.0
                return moments.yy - self.alpha**2 * (A.T @ A)
            F = self.solve(moments).fitted
            product = moments.centred_labels().T @ F
            return product + product.T - F.T @ F

        return moments.once(("kernel explained", self), compute)

    def predict_left_out(self, moments: Moments) -> Array | None:
        """Predictions (m×q), of labels or codes, for the m rows that `Moments.without` took away; None where a fit to
        the others decides.
        """
        labels, matrix = moments.source()
        removal = self._remove(labels)
        if removal is None or labels.part_of is None:
            return None
        deviations = dense(labels.part_of.rows()[1][removal.left]) - labels.mean_y - removal.missed
        deviations[:, np.diag(labels.yy) == 0] = 0.0  # labels that do not vary among the others
        return moments.mean_y + (deviations if matrix is None else deviations @ matrix)

    def predict(self, X: Any, rows: Any, coefficients: Array) -> Array:
        """Σ_i k(x, x_i) a_i (m×q) for X (m×d), from the training rows (n×d) and A (n×q)."""
        blocks = range(0, X.shape[0], _ROWS)
        return np.concatenate([self.kernel.matrix(X[i : i + _ROWS], rows) @ coefficients for i in blocks])

    def _remove(self, moments: Moments) -> Removal | None:
        """The regression without the rows that were taken away; None where that does not pay, or would cost digits."""
        if self.solver != "cholesky" or moments.labels is not moments:
            return None
        found: Removal | None = moments.once(("kernel removal", self), lambda: self._remove_from_all(moments))
        return found

    def _remove_from_all(self, moments: Moments) -> Removal | None:
        whole, left = moments.part_of, moments.left
        if whole is None or left is None or whole.part_of is not None:
            return None
        if len(left) > _SHARE * whole.n or whole.n**2 > _ENTRIES:
            return None
        of_all: Inverse | None = whole.memo.latest("kernel inverse", self, lambda: self._invert(whole), _INVERSES)
        if of_all is None:
            return None
        among = np.asfortranarray(of_all.matrix[np.ix_(left, left)])
        right = of_all.of_deviations(moments.mean_y)[left]
        return Removal(of_all, left, scipy.linalg.solve(among, right, assume_a="pos", check_finite=False))

    def _invert(self, whole: Moments) -> Inverse | None:
        matrix = self.kernel.of_moments(whole)
        if self.alpha < _CLOSED * float(np.sum(np.abs(np.diag(matrix)))):
            return None
        matrix[np.diag_indices_from(matrix)] += self.alpha
        lower, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        if info:
            return None
        inverse = mirrored(lapack.dpotri(lower, lower=1, overwrite_c=1)[0])
        return Inverse(inverse, inverse @ dense(whole.rows()[1]), inverse.sum(axis=1))

    def _solve(self, moments: Moments) -> Solution:
        Z = moments.centred_labels()
        if self.solver == "cholesky":
            matrix = self.kernel.of_moments(moments)
            if self.alpha >= _CHOLESKY * float(np.sum(np.abs(np.diag(matrix)))):
                matrix[np.diag_indices_from(matrix)] += self.alpha
                _, coefficients, info = lapack.dposv(matrix, Z, lower=1, overwrite_a=1)
                if info == 0:
                    return Solution(coefficients, Z - self.alpha * coefficients)
        found = moments.memo.latest(
            "kernel eigen",
            self.kernel,
            lambda: Decomposition.decompose(self.kernel.of_moments(moments)),
            _DECOMPOSITIONS,
        )
        values, vectors, _ = found
        scaled = found.inverse(self.alpha)[:, None] * (vectors.T @ Z)
        return Solution(vectors @ scaled, vectors @ (values[:, None] * scaled))
