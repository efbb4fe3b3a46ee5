"""Matrices in .npz files: an array, or the parts of a CSR matrix."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from mlcdr.data.table import Matrix, check_indices

_PARTS = ("data", "indices", "indptr", "shape")


def parts_of(name: str, matrix: Matrix) -> dict[str, Any]:
    """The arrays that hold a matrix, by their names in the file."""
    if not sparse.issparse(matrix):
        return {name: matrix}
    return {f"{name}_{part}": getattr(matrix, part) for part in _PARTS}


def names_in(stored: Any) -> list[str]:
    """The names of the arrays of an open file, and of the matrices of which it has the parts."""
    ending = f"_{_PARTS[-1]}"
    return [*stored, *(each.removesuffix(ending) for each in stored if each.endswith(ending))]


def matrix_of(stored: Any, name: str) -> Matrix | None:
    """The matrix `name` of an open file, None if it is not there; ValueError for indices that are out of bounds."""
    if name in stored:
        return stored[name]
    parts = [f"{name}_{part}" for part in _PARTS]
    if not set(parts) <= set(stored):
        return None
    data, indices, indptr, shape = (stored[part] for part in parts)
    matrix = sparse.csr_array((data, indices, indptr), shape=shape.tolist())
    check_indices(matrix)
    return matrix
