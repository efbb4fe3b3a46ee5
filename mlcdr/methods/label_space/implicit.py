"""Directions of label spaces too large for a K×K matrix: Lanczos' iteration on v ↦ ZᵀZv and v ↦ ZᵀHZv."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.numerics.linalg import IllConditioned, signed
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator, lanczos
from mlcdr.numerics.regression import solve_by_gradients, whiten

Array = np.ndarray[Any, np.dtype[np.float64]]
# Labels from which on few directions are found without the square matrix; below, that takes seconds and serves all.
LANCZOS_FROM = 5000
# Of the solves within an iteration, relative: directions are as good, in the sine of their angle, over a relative gap.
_TOLERANCE = 1e-12


def few_of_many(n: int, moments: Moments) -> bool:
    """Whether `n` directions of these labels are for the implicit solver: a tenth at most, of 5000 or more."""
    return moments.has_rows and moments.n_labels >= LANCZOS_FROM and 10 * n <= moments.n_labels


def leading(times: Operator, n_labels: int, n: int) -> tuple[Array, Array] | None:
    """The `n` largest eigenvalues of a K×K operator and their vectors as rows; None where Lanczos does not get them.

    Cost: some multiple of n products, a few of them more to see that none is overlooked.
    """
    try:
        values, vectors = lanczos(times, n_labels, n)
    except IllConditioned:
        return None
    return values, signed(vectors)


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
