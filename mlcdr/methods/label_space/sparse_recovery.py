"""Sparse recovery: vectors s of few non-zero entries from codes t ≈ As, for many codes at once.

The columns of A (m×K) are scaled to unit length, and A is used only through its Gram matrix G = AᵀA (K×K) and the
correlations b = Aᵀt. Codes are decoded independently; they are stacked for speed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Less of a column than this share, squared, outside the span of others is none: the columns are dependent.
_DEPENDENT = 1e-10
_ROUNDS = 100
_ENTRIES = 2**22  # numbers in the stack of small Gram matrices that is solved at a time


def orthogonal_matching_pursuit(gram: Array, correlations: Array, sparsity: int) -> Array:
    """Orthogonal matching pursuit (Pati, Rezaiifar & Krishnaprasad 1993; Davis, Mallat & Zhang 1994), in batches.

    The support S of each s starts empty; the column most correlated with the residual, argmax |a_jᵀ(t − As)|, joins it
    (ties: the first), and s_S is the least-squares solution on S, `sparsity` times over. It ends early if the column
    depends linearly on those in S: no column can then explain more of t.

    Parameters
    ----------
    gram : array of shape (K, K)
        G, with unit diagonal.
    correlations : array of shape (n, K)
        b of each code, as rows.
    sparsity : int
        Number of non-zero entries, at most.

    Returns
    -------
    array of shape (n, K)
        s of each code. Cost: n·k·(kK + k³).
    """
    found = np.zeros_like(correlations)
    for rows in _batches(len(correlations), sparsity):
        found[rows] = _pursue(gram, correlations[rows], sparsity)
    return found


def _pursue(gram: Array, b: Array, sparsity: int) -> Array:
    found = np.zeros_like(b)
    going = np.arange(len(b))
    support = np.zeros((len(b), 0), dtype=np.intp)
    inverse = np.zeros((len(b), 0, 0))
    for _ in range(sparsity):
        residual = np.abs(b[going] - found[going] @ gram)
        chosen = np.argmax(residual, axis=1)
        beside = gram[support, chosen[:, None]]
        # what the columns chosen so far leave of the new one
        left = 1.0 - np.einsum("ni,nij,nj->n", beside, inverse, beside)
        independent = (left > _DEPENDENT) & (residual[np.arange(len(going)), chosen] > 0)
        going = going[independent]
        support = np.column_stack([support, chosen])[independent]
        inverse = np.linalg.inv(gram[support[:, :, None], support[:, None, :]])
        values = np.einsum("nij,nj->ni", inverse, np.take_along_axis(b[going], support, axis=1))
        found[going[:, None], support] = values
    return found


def cosamp(gram: Array, correlations: Array, sparsity: int) -> Array:
    """Compressive sampling matching pursuit, CoSaMP (Needell & Tropp 2009, algorithm 2.1), in batches.

    From s = 0, repeatedly: the 2k columns most correlated with the residual, and those of the support of s; the
    least-squares solution on these (at most 3k; the shortest, should they be dependent); its k largest entries are the
    new s. It ends when a round does not make the residual ‖t − As‖ smaller (that s is not taken), or after 100 rounds;
    then s becomes the least-squares solution on its support, which the algorithm as printed leaves out. Ties go to the
    first entries.

    Parameters
    ----------
    gram : array of shape (K, K)
        G, with unit diagonal.
    correlations : array of shape (n, K)
        b of each code, as rows.
    sparsity : int
        k, the number of non-zero entries, at most.

    Returns
    -------
    array of shape (n, K)
        s of each code. Cost a round: n·(kK + (3k)³·10), and n·K·log K for the sorting.
    """
    found = np.zeros_like(correlations)
    for rows in _batches(len(correlations), 3 * sparsity):
        found[rows] = _sample(gram, correlations[rows], sparsity)
    return found


def _sample(gram: Array, b: Array, sparsity: int) -> Array:
    found = np.zeros_like(b)
    excess = np.zeros(len(b))  # ‖t − As‖² − ‖t‖²
    tolerance = 1e-14 * np.max(b**2, axis=1, initial=0.0)
    going = np.arange(len(b))
    for _ in range(_ROUNDS):
        at_hand = found[going]
        merged = at_hand != 0
        np.put_along_axis(merged, _largest(b[going] - at_hand @ gram, 2 * sparsity), True, axis=1)
        fitted = _least_squares(gram, b[going], merged)
        kept = _largest(fitted, sparsity)
        proposed = np.zeros_like(at_hand)
        np.put_along_axis(proposed, kept, np.take_along_axis(fitted, kept, axis=1), axis=1)
        change = np.einsum("nk,nk->n", proposed, proposed @ gram - 2 * b[going])
        better = change < excess[going] - tolerance[going]
        going, proposed, change = going[better], proposed[better], change[better]
        found[going], excess[going] = proposed, change
        if not len(going):
            break
    return _least_squares(gram, b, found != 0)


def _least_squares(gram: Array, b: Array, support: NDArray[np.bool_]) -> Array:
    """The shortest least-squares solution on each row's support (n×K)."""
    width = int(np.max(support.sum(axis=1), initial=0))
    places = np.argsort(~support, axis=1, kind="stable")[:, :width]
    used = np.take_along_axis(support, places, axis=1)
    inner = gram[places[:, :, None], places[:, None, :]] * (used[:, :, None] & used[:, None, :])
    right = np.take_along_axis(b, places, axis=1) * used
    values = np.einsum("nij,nj->ni", np.linalg.pinv(inner, rcond=_DEPENDENT, hermitian=True), right)
    found = np.zeros_like(b)
    np.put_along_axis(found, places, values, axis=1)
    return found


def _largest(values: Array, n: int) -> NDArray[np.intp]:
    """Where the `n` entries of largest magnitude of each row are."""
    return np.argsort(-np.abs(values), axis=1, kind="stable")[:, :n]


def _batches(n: int, width: int) -> list[slice]:
    size = max(1, _ENTRIES // max(1, width) ** 2)
    return [slice(start, start + size) for start in range(0, n, size)]
