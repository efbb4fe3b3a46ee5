"""Directions of label spaces too large for a K×K matrix: Lanczos' iteration on v ↦ ZᵀZv and v ↦ ZᵀHZv."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from mlcdr.numerics.linalg import IllConditioned, leading_eigenvectors, signed
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator, lanczos
from mlcdr.numerics.regression import solve_by_gradients, whiten

Array = np.ndarray[Any, np.dtype[np.float64]]
# Labels from which on few directions are found without the square matrix; below, that takes seconds and serves all.
LANCZOS_FROM = 5000
# Of the solves within an iteration, relative: directions are as good, in the sine of their angle, over a relative gap.
_TOLERANCE = 1e-12


def leading(
    moments: Moments, n: int, times: Callable[[], Operator], matrix: Callable[[], Array]
) -> tuple[Array, Array]:
    """The `n` largest eigenvalues of a K×K matrix of the labels and their vectors as rows, descending.

    For K ≥ 5000 and at most a tenth of them, from the operator alone, if Lanczos' iteration finds them. Cost: some
    multiple of n products, and a few more to check that none is missed.
    """
    if moments.has_rows and moments.n_labels >= LANCZOS_FROM and 10 * n <= moments.n_labels:
        with contextlib.suppress(IllConditioned):
            values, vectors = lanczos(times(), moments.n_labels, n)
            return values, signed(vectors)
    return leading_eigenvectors(matrix(), n)


def explained_operator(moments: Moments, ridge: float) -> Operator:
    """A ↦ ZᵀHZA (K×q), H = X(S + αI)⁻¹Xᵀ, with neither a K×K matrix nor, where d and n are large, a d×d one.

    Where they are and α > 0, a product is 4 nnz(XᵀY) and a solve by conjugate gradients, 4 nnz(X) for each
    of its steps. Else it is 4rK by the whitened labels B (r×K), which one factorisation gives.
    """
    cross = moments.cross
    if cross is None or ridge <= 0:
        b = whiten(moments, ridge)
        return lambda a: b.T @ (b @ a)
    return lambda a: cross.transposed(solve_by_gradients(moments, cross.times(a), ridge, _TOLERANCE))
