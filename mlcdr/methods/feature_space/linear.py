"""The base of the linear feature extractors: x' = Pᵀ(x − x̄), with P's columns in the order of their eigenvalues.

A method is defined by its directions P; its file shows how they are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mlcdr.methods.constraints import COUNT, FRACTION, learned, parameter
from mlcdr.methods.feature_space.supervised import SupervisedStep
from mlcdr.numerics.entry import checked
from mlcdr.numerics.linalg import n_kept, signed
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.principal import related
from mlcdr.numerics.sums import dense

Array = NDArray[np.float64]


class LinearFeatureSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SupervisedStep):
    """Base of the extractors whose directions solve an eigenproblem G p = λ M p, G and M made of moments.

    S (d×d), C (d×K) and T (K×K) are the centred sums of `Moments`, with labels coded ±1 as in Xu et al. 2016. The
    methods take the coding into account themselves: the C of ±1 labels is twice that of {0, 1} labels, and T four
    times.

    Directions with a positive eigenvalue only are kept: beyond them any direction is as good as any other. Where a
    rank tells their number, it is that of `numerics.linalg.rounding_of_unit_columns`; elsewhere an eigenvalue must be
    above rounding, about 1e-15·d of the largest (`above_rounding`). They are linearly independent, in descending order
    of eigenvalue, with PᵀMP = I unless a method differs (so orthonormal where M = I); the sign of each makes its entry
    of largest magnitude positive. They are nested: all numbers of dimensions share one eigendecomposition, kept with
    the moments.

    Parameters
    ----------
    n_components : int, float, {"eigenvalues": float} or None
        Number of dimensions m: an int, a fraction p of the d features (max(1, ⌊pd⌋)), the fewest whose eigenvalues sum
        to at least the share t of all positive ones (`{eigenvalues: 0.999}`; (15) of Xu et al. 2016), or None for all
        directions with a positive eigenvalue. An int or a fraction that exceeds their number means all of them.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Pᵀ: the directions, as rows.
    eigenvalues_ : array of shape (n_positive_,)
        All positive eigenvalues λ that were computed, descending; the first m are those of the directions. Unless a
        method differs, these are all positive eigenvalues.
    n_positive_ : int
        Their number.
    eigenvalue_share_ : float
        The share of the sum of all positive eigenvalues that the first m have; NaN where there is none.
    mean_ : array of shape (d,)
        x̄, the mean of the training features.
    n_components_ : int
        Number of dimensions m.
    """

    components_: Array = learned()

    n_components: Any = parameter(None, [*COUNT, *FRACTION, dict, None])

    def _validate_params(self) -> None:
        super()._validate_params()
        if isinstance(self.n_components, Mapping):
            share: Any = self.n_components.get("eigenvalues")
            number = isinstance(share, Real) and not isinstance(share, bool)
            if set(self.n_components) != {"eigenvalues"} or not number or not 0 < share <= 1:
                raise InvalidParameterError(
                    f"The 'n_components' parameter of {type(self).__name__} must be, if not a number, "
                    f"{{eigenvalues: t}} with 0 < t <= 1. Got {dict(self.n_components)!r} instead."
                )

    def fit_moments(self, moments: Moments) -> Self:
        """Find the directions from the moments of a training set (without checks of parameters and data)."""
        self.n_features_in_ = moments.n_features
        self.mean_ = moments.mean_x
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "n_components"}
        key = ("feature space", type(self), *sorted(params.items()))
        values, components, total = self._spectrum(moments, key)
        self.n_positive_ = len(values)
        self.n_components_ = self._size(values)
        self.eigenvalues_, self.components_ = values, components[: self.n_components_]
        self.eigenvalue_share_ = float(np.sum(values[: self.n_components_])) / total if total > 0 else float("nan")
        return self

    def _spectrum(self, moments: Moments, key: tuple[Any, ...]) -> tuple[Array, Array, float]:
        """The positive eigenvalues, their directions as rows, and the sum of all positive eigenvalues there are."""
        values, components = moments.once(key, lambda: self._positive(moments))
        return values, components, float(np.sum(values))

    def _positive(self, moments: Moments) -> tuple[Array, Array]:
        values, vectors = self._find_directions(moments)
        order = np.argsort(-values, kind="stable")
        return values[order], signed(vectors[:, order])

    def _size(self, values: Array) -> int:
        if isinstance(self.n_components, Mapping):
            reached = np.cumsum(values) >= self.n_components["eigenvalues"] * np.sum(values)
            return min(int(np.count_nonzero(~reached)) + 1, len(values))
        if self.n_components is None:
            return len(values)
        return min(n_kept(self.n_components, self.n_features_in_), len(values))

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        """The positive eigenvalues (in any order) and their eigenvectors as columns (d×…): the method itself."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """(X − x̄)P (n×m)."""
        check_is_fitted(self, "components_")
        X = checked(self, X, reset=False)
        return X @ self.components_.T - self.components_ @ self.mean_

    def transform_moments(self, moments: Moments) -> Moments:
        """The moments of the new features, from the moments of the old ones."""
        return moments.map_features(self.components_.T, self.mean_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def rounding(moments: Moments) -> float:
    """A bound of the rounding errors of eigenvalues, relative to the largest, in a matrix made of S (d×d)."""
    return float(8 * max(moments.n_features, 8) * np.finfo(float).eps)


def above_rounding(moments: Moments, values: Array, vectors: Array) -> tuple[Array, Array]:
    """The eigenvalues that are positive beyond rounding, and their eigenvectors, where no rank tells their number."""
    kept = values > rounding(moments) * float(np.max(np.abs(values), initial=0.0))
    return values[kept], vectors[:, kept]


def largest(values: Array, vectors: Array, n: int) -> tuple[Array, Array]:
    """The `n` largest eigenvalues, ascending, and their eigenvectors."""
    kept = np.argsort(values, kind="stable")[max(0, len(values) - n) :]
    return values[kept], vectors[:, kept]


def dependence(moments: Moments) -> Array:
    """C (d×K), exactly 0 if it is only rounding error, as for features and labels uncorrelated by design."""
    return moments.xy if related(moments) else np.zeros_like(moments.xy)


def dependent(c: Array, spread: Array, label_spread: Array) -> bool:
    """Whether any of C is above rounding: ‖C‖ above 1e-12 of √(tr S · tr T), given the diagonals of S and T."""
    return bool(np.sum(c**2) > 1e-24 * np.sum(spread) * np.sum(label_spread))


def eigen(matrix: Array, metric: Array | None = None) -> tuple[Array, Array]:
    """All eigenvalues of G p = λ M p (M positive definite; None: I) and the p as columns, with PᵀMP = I."""
    if not len(matrix):
        return np.zeros(0), np.zeros((0, 0))
    return scipy.linalg.eigh(matrix, metric, check_finite=False)


def label_sets(moments: Moments) -> Array:
    """Y (n×K), dense, of {0, 1}; the rows must be at hand."""
    return (dense(moments.rows()[1]) > 0).astype(np.float64)
