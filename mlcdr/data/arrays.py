"""Data sets of two matrices X and Y: NumPy's .npz, MATLAB's .mat, svmlight, functions, arrays in memory."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.lines import fail, fail_unreadable, quote
from mlcdr.data.npz import matrix_of, names_in
from mlcdr.data.packed import check_growth, check_members
from mlcdr.data.svmlight import read_svmlight
from mlcdr.data.table import MAX_COLUMNS, Matrix, Origin, Origins, Table, Tables, check_indices, no_labels, stack_tables
from mlcdr.errors import DataError, join_words

_BYTES_A_NAME = 250
"""What the name of a column takes in memory, with all that refers to it."""


def tables_of(
    path: Path,
    X: Any,
    Y: Any,
    feature_names: Sequence[str] = (),
    label_names: Sequence[str] = (),
    *,
    n_bytes: float | None = None,
) -> Tables:
    """Check and convert two matrices; without names, columns are called feature1, ... and label1, ...

    `n_bytes` is the size by which memory is bounded; default: that of the matrices.

    Raises
    ------
    DataError
        For wrong shapes or names, values that are no numbers, and what takes more memory than it may.
    """
    if n_bytes is None:
        n_bytes = _count_bytes(X) + _count_bytes(Y)
    unread = Origins(Origin(path, 0, n_bytes=n_bytes))
    X = _as_matrix(unread, "X", X)
    Y = _as_matrix(unread, "Y", Y)
    if X.shape[0] != Y.shape[0]:
        fail(path, f"X has {X.shape[0]} rows and Y has {Y.shape[0]}")
    origins = Origins(Origin(path, X.shape[0], n_bytes=n_bytes))
    widths = (X.shape[1], Y.shape[1])
    origins.check_memory(_BYTES_A_NAME * sum(widths), f"the names of {widths[0]:,} features and {widths[1]:,} labels")
    features = Table(_name_columns(path, "feature", feature_names, X.shape[1]), X, origins)
    labels = Table(_name_columns(path, "label", label_names, Y.shape[1]), Y, origins)
    return features, labels


def _count_bytes(values: Any) -> float:
    """What a matrix takes in memory; infinite for lists, which take more than what is made of them."""
    if sparse.issparse(values):
        return 12.0 * values.nnz
    return float(getattr(values, "nbytes", math.inf))


def _as_matrix(origins: Origins, name: str, values: Any) -> Matrix:
    """A matrix of numbers: float64, dense or CSR with sorted int32 indices and no explicit zeros.

    A dense one without missing values may be the caller's memory: nothing is written into it.
    """
    path = origins.path
    try:
        if sparse.issparse(values):
            matrix = sparse.csr_array(values, dtype=np.float64, copy=True)
            check_indices(matrix)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            matrix.indices = matrix.indices.astype(np.int32)
            matrix.indptr = matrix.indptr.astype(np.int32)
        else:
            raw = np.asarray(_unmasked(values))
            if raw.dtype.kind not in "biuf":
                raise ValueError(f"it is of type {raw.dtype}")
            origins.check_memory(8 * raw.size, f"{raw.size:,} numbers of {name}")
            matrix = np.asarray(raw, dtype=np.float64, order="C").view()
            with np.errstate(over="ignore", invalid="ignore"):
                may_have_gaps = np.isnan(matrix.sum())
            if may_have_gaps:  # they are filled in place
                matrix = matrix.copy()
    except (TypeError, ValueError) as error:
        fail(path, f"{name} is no matrix of numbers: {error}")
    if matrix.ndim != 2 or 0 in matrix.shape:
        fail(path, f"{name} has the shape {matrix.shape}; needed are rows and columns, at least one of each")
    if matrix.shape[1] > MAX_COLUMNS:
        fail(path, f"{name} has {matrix.shape[1]:,} columns; at most {MAX_COLUMNS:,} are read")
    return matrix


def _unmasked(values: Any) -> Any:
    """What is masked in a masked array of NumPy, as missing values."""
    if not np.ma.is_masked(values):
        return values
    return np.ma.filled(values.astype(np.float64), np.nan)


def _name_columns(path: Path, what: str, names: Sequence[str], count: int) -> tuple[Attribute, ...]:
    """The columns of a matrix, all numeric."""
    given = np.asarray(names)
    if not given.size:
        return tuple(Attribute(f"{what}{j + 1}") for j in range(count))
    if given.shape != (count,) or given.dtype.kind not in "USO":
        fail(path, f"{given.size} names of {what}s, of type {given.dtype}, for {count} columns")
    if given.dtype.kind == "S":
        given = np.char.decode(given, "utf-8", "replace")
    different = list(dict.fromkeys(map(str, given)))
    if len(different) != count:
        fail(path, f"{len(different)} different names of {what}s for {count} columns")
    return tuple(map(Attribute, different))


def read_arrays(
    form: str,
    paths: Sequence[Path],
    options: Mapping[str, Any],
    labelled: bool = True,
    trained: tuple[Sequence[str], int] | None = None,
) -> Tables:
    """Read one file of a form, or the train and the test file; a file may also have both parts.

    Parameters
    ----------
    form, paths, options
        As in `mlcdr.data.forms`.
    labelled : bool
        Otherwise the label is a column of zeros, and the file need not have labels.
    trained : tuple, optional
        For new rows of svmlight: the training data's features, and the number by which a file calls the first of them.

    Raises
    ------
    DataError
    """
    counted_from = None
    if form == "svmlight":
        read, counted_from = read_svmlight(paths, labelled, trained)
        found = [[parts] for parts in read]
    else:
        read_file = _read_npz if form == "npz" else _read_mat
        found = [read_file(path, options, labelled) for path in paths]
    features: list[Table] = []
    labels: list[Table] = []
    for path, parts in zip(paths, found, strict=True):
        n_bytes = path.stat().st_size / len(parts)
        for part in parts:
            of_features, of_labels = tables_of(path, *part, n_bytes=n_bytes)
            features.append(replace(of_features, counted_from=counted_from))
            labels.append(of_labels)
    return stack_tables(*features), stack_tables(*labels)


_Part: TypeAlias = tuple[Any, ...]
"""X, Y, and, if there are any, the names of their columns."""


def find_parts(known: Collection[str], names: Sequence[str]) -> list[str]:
    """The matrices of a file that together are the first of `names` that is there: one, or a train and a test part.

    The parts of `X` are `train_X` or `X_train` (or `X` itself) and `test_X` or `X_test`. Without any, the last name.
    """
    for name in names:
        for pattern in ("{part}_{name}", "{name}_{part}"):
            train, test = (pattern.format(part=part, name=name) for part in ("train", "test"))
            if test in known and (train in known or name in known):
                return [train if train in known else name, test]
        if name in known:
            return [name]
    return [names[-1]]


def _pair(path: Path, features: Sequence[str], labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names of X and Y of each part."""
    if len(features) != len(labels):
        of_X = join_words([quote(name) for name in features])
        of_Y = join_words([quote(name) for name in labels])
        fail(path, f"{of_X} for X, but {of_Y} for Y")
    return zip(features, labels, strict=True)


def has_test_part(form: str, path: Path) -> bool:
    """Whether a file of NumPy or MATLAB has a matrix of test rows.

    Raises
    ------
    DataError
        When it cannot be read.
    """
    if form == "mat":
        from mlcdr.data.matlab import list_variables

        known = [variable.name for variable in list_variables(path)]
    else:
        with _opened_npz(path) as stored:
            known = names_in(stored)
    return any(name.startswith("test_") or name.endswith("_test") for name in known)


@contextlib.contextmanager
def _opened_npz(path: Path) -> Iterator[Any]:
    """An open file of NumPy; DataError for anything that goes wrong with it."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            check_members(path, stored.zip)
            check_growth(path, sum(member.file_size for member in stored.zip.infolist()))
            yield stored
    except DataError:
        raise
    except OSError as error:
        fail_unreadable(path, error)
    except Exception as error:  # NumPy, zipfile, ast and tokenize raise many types of exceptions for a damaged file
        objects = "; save numbers, not objects (object arrays are pickles, which can run code)"
        hint = objects if "allow_pickle" in str(error) else ""
        fail(path, f"no .npz of numbers, or a damaged one ({type(error).__name__}: {str(error)[:80]}){hint}")


def _read_npz(path: Path, options: Mapping[str, Any], labelled: bool) -> list[_Part]:
    """The one part of a file, or its train and its test part."""
    with _opened_npz(path) as stored:
        known = names_in(stored)
        features = stored.get("feature_names", ())
        X = find_parts(known, [options.get("X", "X")])
        if not labelled:
            matrices = [_stored_matrix(path, stored, name) for name in X]
            return [(matrix, no_labels(matrix), features) for matrix in matrices]
        labels = stored.get("label_names", ())
        read = functools.partial(_stored_matrix, path, stored)
        pairs = _pair(path, X, find_parts(known, [options.get("Y", "Y")]))
        return [(read(one), read(other), features, labels) for one, other in pairs]


def _stored_matrix(path: Path, stored: Any, name: str) -> Matrix:
    matrix = matrix_of(stored, name)
    if matrix is None:
        fail(path, f"has no array {quote(name)}, nor its CSR parts; it has {', '.join(stored) or 'none'}")
    return matrix


_IN_MATLAB = {"X": ("X", "data"), "Y": ("Y", "target")}
"""The names of the two matrices in MATLAB files."""


def _read_mat(path: Path, options: Mapping[str, Any], labelled: bool) -> list[_Part]:
    """The one part of a file, or its train and its test part; a Y of shape K×n is transposed, in both or in none."""
    from mlcdr.data.matlab import list_variables, read_matrices

    known = [variable.name for variable in list_variables(path)]
    names = {}
    for key, usual in _IN_MATLAB.items():
        names[key] = find_parts(known, [options[key]] if key in options else usual)
    if not labelled:
        return [(X, no_labels(X)) for X in read_matrices(path, names["X"])]
    parts = [read_matrices(path, pair) for pair in _pair(path, names["X"], names["Y"])]
    turned = all(X.shape[0] == Y.shape[1] for X, Y in parts)
    if turned and any(X.shape[0] != Y.shape[0] for X, Y in parts):
        return [(X, Y.T) for X, Y in parts]
    return [(X, Y) for X, Y in parts]
