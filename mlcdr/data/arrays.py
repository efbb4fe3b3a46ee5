"""Data sets of two matrices X and Y: NumPy's .npz, MATLAB's .mat, svmlight, functions, arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcdr.data.content import Dataset
from mlcdr.data.encoding import Missing, as_labels, complete
from mlcdr.data.lines import fail, fail_unreadable, quote
from mlcdr.data.packed import GROWTH, most_bytes
from mlcdr.data.svmlight import read_svmlight
from mlcdr.data.table import MAX_COLUMNS, Matrix, Origin, Origins, check_indices, no_labels, stack_rows
from mlcdr.errors import DataError


@dataclass(frozen=True)
class Arrays:
    """X (n×d, float64) and Y (n×K, numbers), dense or CSR, the names of their columns, and where rows come from."""

    X: Matrix
    Y: Matrix
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    origins: Origins

    @classmethod
    def of(
        cls, path: Path, X: Any, Y: Any, feature_names: Sequence[str] = (), label_names: Sequence[str] = ()
    ) -> Arrays:
        """Check and convert two matrices; without names, columns are called feature1, ... and label1, ...

        Raises
        ------
        DataError
            For wrong shapes or names, and values that are no numbers.
        """
        X = _as_matrix(path, "X", X)
        Y = _as_matrix(path, "Y", Y)
        if X.shape[0] != Y.shape[0]:
            fail(path, f"X has {X.shape[0]} rows and Y has {Y.shape[0]}")
        names = _name_columns(path, "feature", feature_names, X.shape[1])
        labels = _name_columns(path, "label", label_names, Y.shape[1])
        return cls(X, _without_minus_one(Y), names, labels, Origins(Origin(path, X.shape[0])))

    def stack(self, below: Arrays) -> Arrays:
        """The rows of the train and of the test file.

        Raises
        ------
        DataError
            When they have other columns.
        """
        names = (self.feature_names, self.label_names)
        if (below.feature_names, below.label_names) != names:
            fail(below.origins.path, f"its columns are not those of {self.origins.path.name}")
        X = stack_rows([self.X, below.X])
        Y = stack_rows([self.Y, below.Y])
        return Arrays(X, Y, *names, Origins(*self.origins.files, *below.origins.files))

    def encode(self, missing: Missing) -> Dataset:
        """Encode as `mlcdr.data.encoding.encode`: Y is CSR if X is.

        Raises
        ------
        DataError
            For values that are infinite, missing values that may not be filled, and labels other than 0 and 1.
        """
        Y = self.Y
        if sparse.issparse(self.X):
            Y = sparse.csr_array(Y)
        elif sparse.issparse(Y):
            Y = Y.toarray()
        Y = as_labels(Y, self.label_names, self.origins)
        if sparse.issparse(Y):
            Y.eliminate_zeros()
        d = len(self.feature_names)
        labels = self.label_names
        dataset = Dataset("", self.X, Y, self.feature_names, labels, labels, "", d, 0, d, ())
        return complete(dataset, self.feature_names, self.origins, missing)


def _as_matrix(path: Path, name: str, values: Any) -> Matrix:
    """A copy as a matrix of numbers: float64, dense or CSR with sorted int32 indices and no explicit zeros."""
    try:
        if sparse.issparse(values):
            matrix = sparse.csr_array(values, dtype=np.float64, copy=True)
            check_indices(matrix)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            matrix.indices = matrix.indices.astype(np.int32)
            matrix.indptr = matrix.indptr.astype(np.int32)
        else:
            raw = np.asarray(values)
            if raw.dtype.kind not in "biuf":
                raise ValueError(f"it is of type {raw.dtype}")
            matrix = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        hint = "; sklearn.preprocessing.MultiLabelBinarizer makes one of lists of names" if name == "Y" else ""
        fail(path, f"{name} is no matrix of numbers: {error}{hint}")
    if matrix.ndim != 2 or 0 in matrix.shape:
        fail(path, f"{name} has the shape {matrix.shape}; needed are rows and columns, at least one of each")
    if matrix.shape[1] > MAX_COLUMNS:
        fail(path, f"{name} has {matrix.shape[1]:,} columns; at most {MAX_COLUMNS:,} are read")
    return matrix


def _name_columns(path: Path, what: str, names: Sequence[str], count: int) -> tuple[str, ...]:
    names = [str(each) for each in names] or [f"{what}{j + 1}" for j in range(count)]
    if len(names) != count or len(set(names)) != count:
        fail(path, f"{len(set(names))} different names of {what}s for {count} columns")
    return tuple(names)


def _without_minus_one(Y: Matrix) -> Matrix:
    """Y with 0 for -1, if all its entries are -1 and 1."""
    entries = Y.data if sparse.issparse(Y) else Y
    n, n_labels = Y.shape
    if entries.size < n * n_labels or not np.isin(entries, (-1, 1)).all():
        return Y
    return (Y > 0).astype(np.float64)


def read_arrays(form: str, paths: Sequence[Path], options: Mapping[str, Any], labelled: bool = True) -> Arrays:
    """Read one file of a form, or the train and the test file.

    If not `labelled`, Y is a column of zeros, and the file need not have labels.

    Raises
    ------
    DataError
    """
    if form == "svmlight":
        found: list[tuple[Any, ...]] = read_svmlight(paths, labelled)
    elif form == "npz":
        found = [_read_npz(path, options, labelled) for path in paths]
    else:
        found = [_read_mat(path, options, labelled) for path in paths]
    first, *others = [Arrays.of(path, *parts) for path, parts in zip(paths, found, strict=True)]
    return first.stack(others[0]) if others else first


def _read_npz(path: Path, options: Mapping[str, Any], labelled: bool) -> tuple[Any, ...]:
    """X, Y, and the names of their columns if there are any."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            if sum(member.file_size for member in stored.zip.infolist()) > most_bytes(path):
                fail(path, f"unpacks to more than {GROWTH} times its size")
            X = _stored_matrix(path, stored, options.get("X", "X"))
            Y = _stored_matrix(path, stored, options.get("Y", "Y")) if labelled else no_labels(X)
            features = stored.get("feature_names", ())
            labels = stored.get("label_names", ()) if labelled else ()
            return X, Y, features, labels
    except DataError:
        raise
    except OSError as error:
        fail_unreadable(path, error)
    except Exception as error:  # NumPy, zipfile, ast and tokenize raise many types of exceptions for a damaged file
        objects = "; save numbers, not objects (object arrays are pickles, which can run code)"
        hint = objects if "allow_pickle" in str(error) else ""
        fail(path, f"no .npz of numbers, or a damaged one ({type(error).__name__}: {str(error)[:80]}){hint}")


def _stored_matrix(path: Path, stored: Any, name: str) -> Matrix:
    """The array `name` of an .npz file, or the matrix of the CSR parts `name`_data, _indices, _indptr and _shape."""
    if name in stored:
        return stored[name]
    parts = [f"{name}_{part}" for part in ("data", "indices", "indptr", "shape")]
    if not set(parts) <= set(stored):
        fail(path, f"has no array {quote(name)}, nor its CSR parts; it has {', '.join(stored) or 'none'}")
    data, indices, indptr, shape = (stored[part] for part in parts)
    sizes = tuple(int(each) for each in shape)
    matrix = sparse.csr_array((data, indices, indptr), shape=sizes)
    check_indices(matrix)
    return matrix


def _read_mat(path: Path, options: Mapping[str, Any], labelled: bool) -> tuple[Any, ...]:
    """The matrices X and Y, or data and target; a Y of shape K×n is transposed."""
    from mlcdr.data.matlab import list_variables, read_matrices

    known = {variable.name for variable in list_variables(path)}
    usual = "X" if "X" in known else "data"
    features = options.get("X", usual)
    usual = "Y" if "Y" in known else "target"
    labels = options.get("Y", usual)
    if not labelled:
        (X,) = read_matrices(path, [features])
        return X, no_labels(X)
    X, Y = read_matrices(path, [features, labels])
    if Y.shape[0] != X.shape[0] == Y.shape[1]:
        Y = Y.T
    return X, Y
