"""The cache of parsed data sets: one `.npz` for each content checksum, never pickled, never trusted beyond its key.

Losing it costs a parse, nothing else: a file that cannot be read is written anew, a folder that cannot be written is
left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcdr.data.encoding import Matrix
from mlcdr.data.files import cache_folder

_BROKEN = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    IndexError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


def _path(checksum: str) -> Path:
    return cache_folder() / "parsed" / f"{checksum}.npz"


def _narrow(array: np.ndarray) -> np.ndarray:
    """The array in the smallest unsigned type that holds it exactly: a text data set's file shrinks to a fifth."""
    if array.size and array.dtype.kind in "fiu":
        low, high = array.min(), array.max()
        for kind in (np.uint8, np.uint16):
            if (
                low >= 0
                and high <= np.iinfo(kind).max
                and (array.dtype.kind != "f" or np.array_equal(array, np.trunc(array)))
            ):
                return array.astype(kind)
    return array


def _arrays(key: str, matrix: Matrix) -> Iterator[tuple[str, np.ndarray]]:
    if sparse.issparse(matrix):
        yield f"{key}_data", _narrow(matrix.data)
        yield f"{key}_indices", _narrow(matrix.indices)
        yield f"{key}_indptr", matrix.indptr
    else:
        yield key, _narrow(matrix)


def save(checksum: str, X: Matrix, Y: Matrix, facts: dict[str, Any]) -> None:
    """Store a parsed data set under its checksum; `facts` is plain JSON data. A failure to write is not an error.

    The file appears whole or not at all (written beside its place, then renamed).
    """
    path = _path(checksum)
    header = {"checksum": checksum, "facts": facts, "shapes": [X.shape, Y.shape], "sparse": bool(sparse.issparse(X))}
    arrays = dict(_arrays("X", X)) | dict(_arrays("Y", Y))
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        Path(temporary).replace(path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def load(checksum: str) -> tuple[Matrix, Matrix, dict[str, Any]] | None:
    """The X, Y and facts stored under a checksum; None if there is no such file or it is broken."""
    try:
        with np.load(_path(checksum), allow_pickle=False) as stored:
            header = json.loads(stored["header"].tobytes())
            if header["checksum"] != checksum:
                return None
            shapes = [tuple(shape) for shape in header["shapes"]]
            X = _matrix(stored, "X", shapes[0], header["sparse"], np.float64)
            Y = _matrix(stored, "Y", shapes[1], header["sparse"], np.int8 if header["sparse"] else np.uint8)
            return X, Y, header["facts"]
    except _BROKEN:
        return None


def _matrix(stored: Any, key: str, shape: tuple[int, ...], is_sparse: bool, kind: type) -> Matrix:
    if not is_sparse:
        dense = stored[key].astype(kind, copy=False)
        if dense.shape != shape:
            raise ValueError("shape")
        return dense
    indices = stored[f"{key}_indices"].astype(np.int32, copy=False)
    matrix = sparse.csr_array(
        (stored[f"{key}_data"].astype(kind, copy=False), indices, stored[f"{key}_indptr"].astype(np.int32, copy=False)),
        shape=shape,
    )
    matrix.check_format(full_check=True)
    matrix.has_sorted_indices = True
    return matrix
