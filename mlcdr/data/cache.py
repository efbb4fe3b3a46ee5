"""The cache of parsed data sets: one `.npz` per key, without pickles, and checked when it is read.

It only saves time. If its file cannot be read, the data set is parsed and stored again; a folder that cannot be written
is not an error.
"""

from __future__ import annotations

import contextlib
import json
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mlcdr.data.encoding import Matrix, check_indices
from mlcdr.data.files import cache_folder
from mlcdr.data.texts import is_texts, pack, unpack
from mlcdr.whole_files import make_temporary_path

Stored: TypeAlias = tuple[Matrix, Matrix, dict[str, Any]]
"""X, Y and the facts of a data set."""

_NAMES = ("feature_names", "label_names", "xml_label_names", "notices")
_NUMBERS = ("declared_features", "declared_nominal", "declared_numeric")
FACTS = (*_NAMES, *_NUMBERS, "checksum", "n_train", "missing", "nominal")
"""The names of the facts that are stored with a data set."""


def path_of(key: str, folder: Path | None = None) -> Path:
    """The path where the data set of a key is stored: in `folder`, by default in the cache."""
    return (folder or cache_folder() / "parsed") / f"{key}.npz"


def _narrow(array: np.ndarray) -> np.ndarray:
    """The array as uint8 or uint16, if that holds it exactly: a text data set's file shrinks to a fifth."""
    if array.dtype.kind in "fiu":
        for kind in (np.uint8, np.uint16):
            with np.errstate(invalid="ignore"):  # of values that do not fit: then the arrays differ
                narrow = array.astype(kind)
            if np.array_equal(narrow, array):
                return narrow
    return array


def _arrays(key: str, matrix: Matrix) -> Iterator[tuple[str, np.ndarray]]:
    if sparse.issparse(matrix):
        yield f"{key}_data", _narrow(matrix.data)
        yield f"{key}_indices", _narrow(matrix.indices)
        yield f"{key}_indptr", matrix.indptr
    elif is_texts(matrix):
        yield f"{key}_text", (packed := pack(matrix))[0]
        yield f"{key}_ends", packed[1]
    else:
        yield key, _narrow(matrix)


def save(key: str, X: Matrix, Y: Matrix, facts: dict[str, Any], folder: Path | None = None) -> None:
    """Store a parsed data set under a key; `facts` must be JSON data. A failure to write is not an error."""
    path = path_of(key, folder)
    header = {"key": key, "facts": facts, "shapes": [X.shape, Y.shape], "sparse": bool(sparse.issparse(X))}
    header["text"] = is_texts(X)
    arrays = dict(_arrays("X", X)) | dict(_arrays("Y", Y))
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    temporary = make_temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:  # not by a copy in memory: the matrices may fill it
            np.savez(file, allow_pickle=False, **arrays)
        temporary.replace(path)
    except OSError:
        return
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def load(key: str, folder: Path | None = None) -> Stored | None:
    """The X, Y and facts stored under a key; None if there is no such file or it is damaged."""
    path = path_of(key, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of headers and values that `save` never writes
            with np.load(path, allow_pickle=False) as stored:
                _refuse_growth(stored.zip)
                header = json.loads(stored["header"].tobytes())
                if header["key"] != key:
                    return None
                (n, d), (n_of_Y, n_labels) = header["shapes"]
                facts = _checked_facts(header["facts"])
                if header["text"]:
                    X: Matrix = unpack(_array(stored, "X_text", "u"), _array(stored, "X_ends", "i"))
                    if X.shape != (n, d):
                        raise ValueError("shape")
                else:
                    X = _matrix(stored, "X", (n, d), header["sparse"], np.float64)
                Y = _matrix(
                    stored, "Y", (n_of_Y, n_labels), header["sparse"], np.int8 if header["sparse"] else np.uint8
                )
                if (n_of_Y, d, n_labels) != (n, len(facts["feature_names"]), len(facts["label_names"])):
                    raise ValueError("sizes")
                labels = Y.data if sparse.issparse(Y) else Y
                if labels.size and labels.max() > 1:
                    raise ValueError("labels")
                return X, Y, facts
    except Exception:  # NumPy, zipfile, ast and tokenize raise many types of exceptions for a damaged file
        return None


def _checked_facts(facts: Any) -> dict[str, Any]:
    """The facts; an exception is raised unless they have the names and types of a data set's facts."""
    texts = all(isinstance(each, str) for key in _NAMES for each in facts[key])
    texts &= isinstance(facts["checksum"], str)
    whole = all(type(facts[key]) is int for key in _NUMBERS) and type(facts["n_train"]) in (int, type(None))
    gaps = facts["missing"].items()
    counted = all(isinstance(name, str) and type(count) is int and count > 0 for name, count in gaps)
    worded = all(isinstance(text, str) for name, words in facts["nominal"].items() for text in (name, *words))
    if not (texts and whole and counted and worded and set(facts) == set(FACTS)):
        raise ValueError("facts")
    checked: dict[str, Any] = facts
    return checked


def _refuse_growth(archive: zipfile.ZipFile) -> None:
    """Raise ValueError for compressed members, which could fill the memory: `save` does not compress."""
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError("compressed")


def _matrix(stored: Any, key: str, shape: tuple[int, int], is_sparse: bool, kind: type) -> Matrix:
    if not is_sparse:
        dense: np.ndarray = _array(stored, key, "fiu").astype(kind, copy=False)
        if dense.shape != shape:
            raise ValueError("shape")
        return dense
    indices, indptr = (_array(stored, f"{key}_{part}", "iu").astype(np.int32) for part in ("indices", "indptr"))
    data: np.ndarray = _array(stored, f"{key}_data", "fiu").astype(kind, copy=False)
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    check_indices(matrix)
    matrix.has_sorted_indices = True
    return matrix


def _array(stored: Any, name: str, kinds: str) -> np.ndarray:
    """A stored array; ValueError if its kind is not one of `kinds`."""
    array: np.ndarray = stored[name]
    if array.dtype.kind not in kinds:
        raise ValueError("kind")
    return array
