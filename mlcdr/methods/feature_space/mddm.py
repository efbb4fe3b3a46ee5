"""The feature step `mddm`."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from mlcdr.methods.constraints import BOOLEAN, COUNT, FINITE, POSITIVE, UNIT_INTERVAL, one_of, parameter
from mlcdr.methods.feature_space.dependence import ScaledFeatureSpace, directions_of_codes
from mlcdr.methods.feature_space.implicit import SOLVERS
from mlcdr.methods.feature_space.linear import Array, above_rounding, dependence, dependent, eigen, label_sets
from mlcdr.numerics import sums
from mlcdr.numerics.factorisation import factor
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import cross_directions

_KERNELS = ("linear", "polynomial", "rbf", "laplacian", "sigmoid", "cosine")


class MDDM(ScaledFeatureSpace):
    """Multi-label dimensionality reduction via dependence maximisation (MDDM), with any kernel on the label sets.

    Source: Zhang & Zhou 2010; Xu et al. 2016, section 4, equations (17) to (20).

    B p = λMp, B = CCᵀ (d×d), C = XᵀY_c (d×K): P (d×m) maximises tr(PᵀBP), the dependence (HSIC), with PᵀMP = I.

    MDDMp: M = I, orthonormal projections (18). MDDMf: M = βS + (1 − β)I, features of similar variance (20). At most K
    positive eigenvalues, as many as C has independent columns. Cost: MDDMp, a thin SVD of C, dK²; MDDMf, that of a
    ridge regression of the labels with r = (1 − β)/β (d³/3 + d²K), and 9K³.

    With another kernel, B = XᵀHLHX, where L_ij is the kernel of the label sets of i and j. Label sets repeat: with L
    over the u distinct ones and F (d×u) the sums of x − x̄ over the instances of each, B = FLFᵀ exactly. The rows must
    be at hand. Cost, beside nd (or nnz(X)) for F and u²K for L: with q = min(u, d), MDDMp 2duq + 2u²q + 9q³; MDDMf d²u
    more, and d³/3.

    Parameters
    ----------
    orthogonality : {"p", "f"}
        What is orthonormal: "p", the projection directions; "f", the projected features (up to the regularisation).
    beta : float
        β of MDDMf, from 0 to 1; with 1 the metric is S alone, and p lies in the range of Xᵀ. Not used by MDDMp.
    kernel : {"linear", "polynomial", "rbf", "laplacian", "sigmoid", "cosine"}
        The kernel of scikit-learn's `pairwise_kernels` on label sets, coded ±1. (On these "cosine" is "linear"/K.)
    gamma : float or None
        γ of the kernels that have it; None means 1/K.
    degree : int
        Degree of the "polynomial" kernel.
    coef0 : float
        Constant of the "polynomial" and "sigmoid" kernels. With "sigmoid", B may have negative eigenvalues, too.
    solver : {"auto", "dense", "implicit"}
        Of MDDMf with the linear kernel. "dense" factorises S + rI, "implicit" solves by conjugate gradients, "auto" is
        implicit for 15,000 rows and features or more. (MDDMp forms no d×d matrix in any case; other kernels than the
        linear have no implicit solver.)
    centred : bool
        Whether features and labels are taken about their means. False leaves the centring H out, as if the means were
        0: C = XᵀY, with labels of 0 and 1, and XᵀX in the place of S. (The linear kernel only, without the implicit
        solver. It gives numbers of Tables 4.2 to 4.5 of Sun 2017.)
    """

    orthogonality: str = parameter("p", one_of("p", "f"))
    beta: float = parameter(0.5, UNIT_INTERVAL)
    norm: str = parameter("metric", one_of("metric", "unit"))
    kernel: str = parameter("linear", one_of(*_KERNELS))
    gamma: float | None = parameter(None, [*POSITIVE, None])
    degree: int = parameter(3, COUNT)
    coef0: float = parameter(1, FINITE)
    solver: str = parameter("auto", one_of(*SOLVERS))
    centred: bool = parameter(True, BOOLEAN)

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        if not self.centred:
            if self.solver == "implicit" or self.kernel != "linear":
                raise ValueError("centred=False needs kernel='linear', and another solver than 'implicit'")
            return self._find_about_the_origin(moments)
        if self.kernel != "linear":
            if self.solver == "implicit":
                raise ValueError("solver='implicit' needs kernel='linear'")
            return self._find_by_kernel(moments)
        if self.orthogonality == "p" or self.beta == 0:
            if not dependence(moments).any():
                return np.zeros(0), np.zeros((moments.n_features, 0))
            singular, vectors = cross_directions(moments)
            return 4 * singular**2, vectors
        codes = 2.0 * np.eye(moments.n_labels)
        values, vectors = directions_of_codes(moments, codes, (1 - self.beta) / self.beta, self.solver)
        return values / self.beta, vectors / np.sqrt(self.beta)

    def _find_about_the_origin(self, moments: Moments) -> tuple[Array, Array]:
        white = moments.xy + moments.n * np.outer(moments.mean_x, moments.mean_y)
        if self.orthogonality == "p" or self.beta == 0:
            vectors, singular, _ = scipy.linalg.svd(white, full_matrices=False, check_finite=False)
            return above_rounding(moments, singular**2, vectors)
        metric = factor(moments.uncentred(), (1 - self.beta) / self.beta)
        white = metric.whiten(white, lambda: label_sets(moments))
        vectors, singular, _ = scipy.linalg.svd(white, full_matrices=False, check_finite=False)
        values, vectors = above_rounding(moments, singular**2, vectors)
        return values / self.beta, metric.coefficients(vectors) / np.sqrt(self.beta)

    def _find_by_kernel(self, moments: Moments) -> tuple[Array, Array]:
        sets, has, summed = _distinct(moments)
        if not dependent(summed, moments.spread(), np.ones(moments.n)):
            return np.zeros(0), np.zeros((moments.n_features, 0))
        kernel = pairwise_kernels(
            2 * sets - 1, metric=self.kernel, filter_params=True, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        metric = None if self.orthogonality == "p" or self.beta == 0 else factor(moments, (1 - self.beta) / self.beta)
        white = summed if metric is None else metric.whiten(summed, lambda: has)
        basis = None
        if len(sets) < len(white):
            basis, white = scipy.linalg.qr(white, mode="economic", check_finite=False)
        values, vectors = above_rounding(moments, *eigen(white @ kernel @ white.T))
        if basis is not None:
            vectors = basis @ vectors
        if metric is None:
            return values, vectors
        return values / self.beta, metric.coefficients(vectors) / np.sqrt(self.beta)


def _distinct(moments: Moments) -> tuple[Array, sp.csr_array, Array]:
    """The distinct label sets (u×K), which instance has which (n×u, of {0, 1}), and F (d×u)."""
    X, origin = moments.rows_less_offsets()
    mean = moments.mean_x - origin
    sets, member = np.unique(label_sets(moments), axis=0, return_inverse=True)
    n, u = len(member), len(sets)
    has = sp.csr_array((np.ones(n), (np.arange(n), member.ravel())), shape=(n, u))
    if sp.issparse(X):
        return sets, has, sums.cross(X, mean, has, np.zeros(u))
    return sets, has, (has.T @ (X - mean)).T
