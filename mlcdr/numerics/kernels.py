"""Kernels and kernel ridge regression: what the kernel learner and the kernel label spaces share.

With K (n×n), K_ij = k(x_i, x_j), and Z (n×K) the centred labels, the regression is f(x) = Σ_i k(x, x_i) a_i with

    A = (K + αI)⁻¹Z (n×K),    and on the training rows    F = K(K + αI)⁻¹Z = Z − αA.

The targets are centred, the kernel is not: the intercept is ȳ. A kernel matrix is computed once for a whole data set
and sliced for each split; a split's A and F serve all methods and all numbers of dimensions: codes are linear in Z.
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
            F = self.solve(moments).fitted
            product = moments.centred_labels().T @ F
            return product + product.T - F.T @ F

        return moments.once(("kernel explained", self), compute)

    def predict(self, X: Any, rows: Any, coefficients: Array) -> Array:
        """Σ_i k(x, x_i) a_i (m×q) for X (m×d), from the training rows (n×d) and A (n×q)."""
        blocks = range(0, X.shape[0], _ROWS)
        return np.concatenate([self.kernel.matrix(X[i : i + _ROWS], rows) @ coefficients for i in blocks])

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
