"""Linear extractors that can do without the d×d scatter, where rows and features are both many."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.feature_space.linear import Array, LinearFeatureSpace, above_rounding
from mlcdr.numerics.linalg import IllConditioned, n_kept, signed
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator, lanczos

SOLVERS = ("auto", "dense", "implicit")
# Below this size of the smaller side the dense route takes seconds, and one eigendecomposition serves all sizes.
LANCZOS_FROM = 5000
# Where m directions take about 2m + 20 products with sparse rows, and an operation in these takes as long as 50 in a
# dense eigendecomposition (9·side³), (m + 10)·nnz of side³/90 is half the time of the dense route.
CHEAP = 90


class ImplicitFeatureSpace(LinearFeatureSpace):
    """Base of the methods G p = λp with PᵀP = I whose G (d×d) is cheap to apply to a vector.

    Two solvers. "dense" finds all eigenvectors, of G or, where d > n, of its image in coordinates of the rows' axes:
    9·min(n, d)³ and the square matrix. "implicit" finds the m wanted by Lanczos' iteration on v ↦ Gv, with
    4nd (or 4 nnz(X)) for a product and a few times m products; to the same accuracy, except for clustered eigenvalues.
    "auto" is implicit where the rows are at hand, n_components is a number that means at most a tenth of min(n, d)
    dimensions, and min(n, d) ≥ 5000 or the rows are so sparse that (m + 10)·nnz(X) ≤ min(n, d)³/90; and dense
    wherever implicit does not converge, or misses some copies of a multiple eigenvalue ("implicit" raises then).
    The implicit solver iterates anew for each m; `eigenvalues_` and `n_positive_` are then those of the m found,
    but `eigenvalue_share_` refers to all, since tr G is known.

    Parameters
    ----------
    solver : {"auto", "dense", "implicit"}
        "dense" finds all eigenvectors; "implicit" only the m wanted, by Lanczos' iteration (`n_components` must be a
        number below d); "auto" is implicit where m is small and the rows are many or sparse.
    """

    solver: str = parameter("auto", one_of(*SOLVERS), last=True)

    def _spectrum(self, moments: Moments, key: tuple[Any, ...]) -> tuple[Array, Array, float]:
        m = self._number(moments)
        if m is not None:
            try:
                return moments.once((*key, "implicit", m), lambda: self._leading(moments, m))
            except IllConditioned:
                if self.solver == "implicit":
                    raise
        return super()._spectrum(moments, key)

    def _number(self, moments: Moments) -> int | None:
        """How many directions the implicit solver is to find; None: it is not used."""
        numeric = isinstance(self.n_components, int | float | np.number)
        wanted = n_kept(self.n_components, moments.n_features) if numeric else moments.n_features
        if self.solver == "implicit":
            if wanted >= moments.n_features:
                raise ValueError("solver='implicit' needs n_components, a number below that of the features")
            return wanted
        side = min(moments.n, moments.n_features)
        if self.solver == "dense" or not moments.has_rows or 10 * wanted > side:
            return None
        X, _ = moments.rows()
        is_cheap = sparse.issparse(X) and CHEAP * (wanted + 10) * X.nnz <= side**3
        return wanted if is_cheap or side >= LANCZOS_FROM else None

    def _leading(self, moments: Moments, m: int) -> tuple[Array, Array, float]:
        times, trace = self._operator(moments)
        if trace <= 0:
            return np.zeros(0), np.zeros((0, moments.n_features)), 0.0
        values, vectors = lanczos(times, moments.n_features, m)
        values, vectors = above_rounding(moments, values, vectors)
        return values, signed(vectors), trace

    def _operator(self, moments: Moments) -> tuple[Operator, float]:
        """A ↦ GA (d×q), and tr G."""
        raise NotImplementedError
