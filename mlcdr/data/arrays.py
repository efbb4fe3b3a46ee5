"""Data sets of two matrices X and Y: NumPy's .npz, MATLAB's .mat, svmlight, functions, arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.lines import fail, fail_unreadable, quote
from mlcdr.data.npz import matrix_of
from mlcdr.data.packed import check_growth
from mlcdr.data.svmlight import read_svmlight
from mlcdr.data.table import MAX_COLUMNS, Matrix, Origin, Origins, Table, Tables, check_indices, no_labels, stack_tables
from mlcdr.errors import DataError


def tables_of(path: Path, X: Any, Y: Any, feature_names: Sequence[str] = (), label_names: Sequence[str] = ()) -> Tables:
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
    origins = Origins(Origin(path, X.shape[0]))
    features = Table(_name_columns(path, "feature", feature_names, X.shape[1]), X, origins)
    labels = Table(_name_columns(path, "label", label_names, Y.shape[1]), Y, origins)
    return features, labels


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


def _name_columns(path: Path, what: str, names: Sequence[str], count: int) -> tuple[Attribute, ...]:
    """The columns of a matrix, all numeric."""
    names = [str(each) for each in names] or [f"{what}{j + 1}" for j in range(count)]
    if len(names) != count or len(set(names)) != count:
        fail(path, f"{len(set(names))} different names of {what}s for {count} columns")
    return tuple(Attribute(name) for name in names)


def read_arrays(form: str, paths: Sequence[Path], options: Mapping[str, Any], labelled: bool = True) -> Tables:
    """Read one file of a form, or the train and the test file.

    If not `labelled`, the label is a column of zeros, and the file need not have labels.

    Raises
    ------
    DataError
    """
    if form == "svmlight":
        found = read_svmlight(paths, labelled)
    elif form == "npz":
        found = [_read_npz(path, options, labelled) for path in paths]
    else:
        found = [_read_mat(path, options, labelled) for path in paths]
    of_files = [tables_of(path, *parts) for path, parts in zip(paths, found, strict=True)]
    features, labels = zip(*of_files, strict=True)
    return stack_tables(*features), stack_tables(*labels)


def _read_npz(path: Path, options: Mapping[str, Any], labelled: bool) -> tuple[Any, ...]:
    """X, Y, and the names of their columns if there are any."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            check_growth(path, sum(member.file_size for member in stored.zip.infolist()))
            X = _stored_matrix(path, stored, options.get("X", "X"))
            features = stored.get("feature_names", ())
            if not labelled:
                return X, no_labels(X), features
            Y = _stored_matrix(path, stored, options.get("Y", "Y"))
            return X, Y, features, stored.get("label_names", ())
    except DataError:
        raise
    except OSError as error:
        fail_unreadable(path, error)
    except Exception as error:  # NumPy, zipfile, ast and tokenize raise many types of exceptions for a damaged file
        objects = "; save numbers, not objects (object arrays are pickles, which can run code)"
        hint = objects if "allow_pickle" in str(error) else ""
        fail(path, f"no .npz of numbers, or a damaged one ({type(error).__name__}: {str(error)[:80]}){hint}")


def _stored_matrix(path: Path, stored: Any, name: str) -> Matrix:
    matrix = matrix_of(stored, name)
    if matrix is None:
        fail(path, f"has no array {quote(name)}, nor its CSR parts; it has {', '.join(stored) or 'none'}")
    return matrix


def _read_mat(path: Path, options: Mapping[str, Any], labelled: bool) -> tuple[Any, ...]:
    """The matrices X and Y, or data and target; a Y of shape K×n is transposed."""
    from mlcdr.data.matlab import list_variables, read_matrices

    known = [variable.name for variable in list_variables(path)]
    features = options.get("X", "X" if "X" in known else "data")
    labels = options.get("Y", "Y" if "Y" in known else "target")
    if not labelled:
        (X,) = read_matrices(path, [features])
        return X, no_labels(X)
    X, Y = read_matrices(path, [features, labels])
    if Y.shape[0] != X.shape[0] == Y.shape[1]:
        Y = Y.T
    return X, Y
