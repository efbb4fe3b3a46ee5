"""Data sets of two matrices X and Y: NumPy's .npz, MATLAB's .mat, svmlight, functions, arrays in memory."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from mlcdr.data.arff import NUMBER
from mlcdr.data.encoding import Missing, check_indices, fill
from mlcdr.data.files import stem
from mlcdr.data.packed import FREE_BYTES, GROWTH, open_data
from mlcdr.data.table import Matrix, stack_rows
from mlcdr.data.text import Line, fail, fail_unreadable, quote
from mlcdr.errors import DataError

MAX_COLUMNS = 10_000_000
"""The largest number of features, and of labels: methods make dense vectors of that size even from sparse data."""

_SVM_LABEL, _SVM_ENTRY = re.compile("[0-9]{1,9}"), re.compile(rf"([0-9]{{1,10}}):({NUMBER.pattern})")
_XMC_HEADER = re.compile(rb"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")


@dataclass
class Arrays:
    """X (n×d), Y (n×K), names of their columns, and numbers of missing values by feature; `path` is for messages."""

    path: Path
    X: Matrix
    Y: Matrix
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    missing: Mapping[str, int] = field(default_factory=dict)

    def checked(self, missing: Missing) -> Arrays:
        """Check all, fill missing values, and convert: X to float64; Y to {0, 1}, uint8, or int8 CSR if X is CSR.

        Raises
        ------
        DataError
            For wrong shapes or names, values that are infinite or no numbers, missing values that may not be filled,
            and labels other than 0 and 1 (or −1 and 1).
        """
        X, Y = _matrix(self.path, "X", self.X), _matrix(self.path, "Y", self.Y)
        if X.shape[0] != Y.shape[0]:
            fail(self.path, f"X has {X.shape[0]} rows and Y has {Y.shape[0]}")
        entries = X.data if sparse.issparse(X) else X
        if np.isinf(entries).any():
            self._fail_at(X, np.isinf, "X", "is infinite")
        names, labels = self._names("feature", self.feature_names, X), self._names("label", self.label_names, Y)

        def fail_at(row: int, column: int, message: str) -> NoReturn:
            fail(self.path, f"X: row {row + 1}, column {column + 1} ({quote(names[column])}) {message}")

        gaps = fill(X, missing, self.path, names, fail_at)
        values = Y.data if sparse.issparse(Y) else Y
        if not ((values == 1) | (values == 0) | (values == -1)).all():
            self._fail_at(Y, lambda entries: (entries != 1) & (entries != 0) & (entries != -1), "Y", "is not 0 or 1")
        if (values < 0).any():
            if (values == 0).any() or (sparse.issparse(Y) and Y.nnz < Y.shape[0] * Y.shape[1]):
                self._fail_at(Y, lambda entries: entries < 0, "Y", "is -1, where others are 0; labels are 0 and 1")
            Y = Y > 0
        if sparse.issparse(X):
            Y = sparse.csr_array(Y, dtype=np.int8)
            Y.eliminate_zeros()
        else:
            Y = (Y.toarray() if sparse.issparse(Y) else Y).astype(np.uint8)
        return Arrays(self.path, X, Y, names, labels, gaps)

    def _names(self, what: str, names: Sequence[str], matrix: Matrix) -> tuple[str, ...]:
        names, count = [str(each) for each in names], matrix.shape[1]
        if not names:
            return tuple(f"{what}{j + 1}" for j in range(count))
        if len(names) != count or len(set(names)) != count:
            fail(self.path, f"{len(set(names))} different names of {what}s for {count} columns")
        return tuple(names)

    def _fail_at(self, matrix: Matrix, wrong: Any, name: str, message: str) -> NoReturn:
        coo = sparse.coo_array(matrix)
        found = np.flatnonzero(wrong(coo.data))
        row, column = (int(each[found[0]]) + 1 for each in coo.coords)
        fail(self.path, f"{name}: row {row}, column {column} {message} (it is {coo.data[found[0]]:g})")


def _matrix(path: Path, name: str, values: Any) -> Matrix:
    """A matrix of numbers as float64, dense or CSR with sorted int32 indices and no explicit zeros."""
    try:
        if sparse.issparse(values):
            matrix = sparse.csr_array(values, dtype=np.float64, copy=True)
            check_indices(matrix)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
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


def read_arrays(
    form: str, paths: Sequence[Path], options: Mapping[str, Any], missing: Missing, labelled: bool = True
) -> tuple[Arrays, int]:
    """Read one file of a form, or the train and the test file; return all rows, and how many the first file has.

    If not `labelled`, Y is a column of zeros, and the file need not have labels.

    Raises
    ------
    DataError
    """
    if form == "svmlight":
        found = _read_svmlight(paths, labelled)
    else:
        read = _read_npz if form == "npz" else _read_mat
        # a mean is over both files, so it is filled in below
        found = [read(path, options, labelled).checked("error" if missing == "error" else "keep") for path in paths]
    first = found[0]
    if len(found) == 1:
        return first.checked(missing), first.X.shape[0]
    second = found[1]
    if (second.feature_names, second.label_names) != (first.feature_names, first.label_names):
        fail(second.path, f"its columns are not those of {first.path.name}")
    X, Y = stack_rows([first.X, second.X]), stack_rows([first.Y, second.Y])
    return Arrays(first.path, X, Y, first.feature_names, first.label_names).checked(missing), first.X.shape[0]


# -------------------------------------------------------------------- NumPy and MATLAB


def _read_npz(path: Path, options: Mapping[str, Any], labelled: bool) -> Arrays:
    """Read the arrays X and Y, or their CSR parts (X_data, X_indices, X_indptr, X_shape); also names, if any."""
    wanted = {key: options.get(key, key) for key in ("X", "Y")[: 1 + labelled]}
    try:
        with np.load(path, allow_pickle=False) as stored:
            size = sum(member.file_size for member in stored.zip.infolist())
            if size > max(FREE_BYTES, GROWTH * path.stat().st_size):
                fail(path, f"unpacks to more than {GROWTH} times its size")
            found = {}
            for key, name in wanted.items():
                parts = [f"{name}_{part}" for part in ("data", "indices", "indptr", "shape")]
                if name in stored:
                    found[key] = stored[name]
                elif set(parts) <= set(stored):
                    data, indices, indptr, shape = (stored[part] for part in parts)
                    found[key] = sparse.csr_array((data, indices, indptr), shape=tuple(int(each) for each in shape))
                    check_indices(found[key])
                else:
                    fail(path, f"has no array {quote(name)}, nor its CSR parts; it has {', '.join(stored) or 'none'}")
            names = [list(map(str, stored[key])) if key in stored else () for key in ("feature_names", "label_names")]
    except DataError:
        raise
    except OSError as error:
        fail_unreadable(path, error)
    except Exception as error:  # NumPy, zipfile, ast and tokenize raise many types of exceptions for a damaged file
        hint = (
            "; save numbers, not objects (object arrays are pickles, which can run code)"
            if "allow_pickle" in str(error)
            else ""
        )
        fail(path, f"no .npz of numbers, or a damaged one ({type(error).__name__}: {str(error)[:80]}){hint}")
    return Arrays(path, found["X"], found["Y"] if labelled else _no_labels(found["X"]), names[0], names[1] * labelled)


def _no_labels(X: Matrix) -> np.ndarray:
    """A Y of zeros, with one column, for rows without labels."""
    return np.zeros((X.shape[0], 1))


def _read_mat(path: Path, options: Mapping[str, Any], labelled: bool) -> Arrays:
    """Read the matrices X and Y, or data and target; a Y of shape K×n is transposed."""
    from mlcdr.data.matlab import list_variables, read_matrices

    known = {variable.name for variable in list_variables(path)}
    names = [options.get(key) or (key if key in known else usual) for key, usual in (("X", "data"), ("Y", "target"))]
    if not labelled:
        (X,) = read_matrices(path, names[:1])
        return Arrays(path, X, _no_labels(X))
    X, Y = read_matrices(path, names)
    if Y.shape[0] != X.shape[0] == Y.shape[1]:
        Y = Y.T
    return Arrays(path, X, Y)


# -------------------------------------------------------------------- svmlight


def _read_svmlight(paths: Sequence[Path], labelled: bool) -> list[Arrays]:
    """Read multi-label svmlight, or the extreme classification repository's text, whose first line has n, d and K.

    STEM.features.txt and STEM.labels.txt in the same folder may have names, one per line.
    """
    files = [_SvmFile.load(path) for path in paths]
    first = files[0]
    if any(file.sizes[1:] != first.sizes[1:] for file in files):
        fail(paths[-1], f"its first line has other sizes than that of {paths[0].name}")
    features, labels = (_names_beside(paths[0], what) for what in ("features", "labels"))
    _, d, K = first.sizes
    base = 0 if d else min((int(file.X.indices.min()) for file in files if file.X.nnz), default=0) and 1
    d = d or max(len(features), *(file.X.shape[1] - base for file in files))
    ids = np.arange(K or len(labels)) if K or labels else np.unique(np.concatenate([file.labels for file in files]))
    if not labelled:
        return [Arrays(file.path, (X := file.features(d, base)), _no_labels(X), features) for file in files]
    if not len(ids):
        fail(paths[0], "no label in any row; a row begins with its labels: `0,3 1:0.5`")
    return [file.arrays(d, base, ids, features, labels or (() if K else [str(each) for each in ids])) for file in files]


@dataclass
class _SvmFile:
    """A file: X with the indices as written; all labels, and their number in each row; n, d, K (0: not stated)."""

    path: Path
    X: sparse.csr_array
    labels: np.ndarray
    counts: np.ndarray
    sizes: tuple[int, int, int]

    @classmethod
    def load(cls, path: Path) -> _SvmFile:
        from sklearn.datasets import load_svmlight_file

        with open_data(path) as file:
            header = _XMC_HEADER.fullmatch(file.peek(100).split(b"\n")[0])
            n, d, K = map(int, header.groups()) if header else (0, 0, 0)
            if header:
                file.readline()
                if not n * d * K or max(d, K) > MAX_COLUMNS:
                    Line(path, 1).fail(
                        f"{n} rows, {d} features and {K} labels; none is 0, and columns are at most {MAX_COLUMNS:,}"
                    )
            try:
                X, rows = load_svmlight_file(file, multilabel=True, zero_based=True)
            except DataError:
                raise
            except (ValueError, OverflowError, TypeError) as error:
                _fail_in_svm(path, (n, d, K), str(error))
        flat = np.fromiter(itertools.chain.from_iterable(rows), np.float64)
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        most = (flat.max(initial=0), X.indices.max(initial=0), X.indices.min(initial=0), flat.min(initial=0))
        whole = np.isfinite(X.data).all() and np.array_equal(flat, np.floor(flat)) and min(most) >= 0
        if not whole or most[0] >= (K or 1e9) or most[1] >= (d or MAX_COLUMNS):
            _fail_in_svm(path, (n, d, K), "a label or an index that is out of range")
        if header and len(rows) != n:  # scikit-learn skips blank lines: rows without labels and features
            X, counts = _with_blank_rows(path, X, counts, n)
        if not len(counts):
            fail(path, "no row")
        return cls(path, X, flat.astype(np.int64), counts, (n, d, K))

    def arrays(self, d: int, base: int, ids: np.ndarray, features: Sequence[str], labels: Sequence[str]) -> Arrays:
        """X with d features, whose indices in the file begin at `base`, and Y with the labels `ids`."""
        X, columns = self.features(d, base), np.searchsorted(ids, self.labels)
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        if columns.max(initial=0) >= len(ids):
            _fail_in_svm(self.path, (0, d + base, len(ids)), "more columns than names beside it")
        Y = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.counts), len(ids)))
        if Y.data.max(initial=0) > 1:
            _fail_in_svm(self.path, (0, 0, 0), "a label twice in a row")
        return Arrays(self.path, X, Y, features, labels)

    def features(self, d: int, base: int) -> sparse.csr_array:
        """X (n×d); the indices in the file begin at `base`."""
        if self.X.shape[1] - base > d:
            _fail_in_svm(self.path, (0, d + base, 0), "more columns than names beside it")
        return sparse.csr_array((self.X.data, self.X.indices - base, self.X.indptr), shape=(len(self.counts), d))


def _names_beside(path: Path, what: str) -> list[str]:
    """The names in STEM.features.txt or STEM.labels.txt in the folder of a file; empty if it does not exist."""
    beside = path.with_name(f"{stem(path)[0]}.{what}.txt")
    if not beside.is_file():
        return []
    with open_data(beside) as file:
        names = [Line(beside, number).decode(raw) for number, raw in enumerate(file, 1)]
    if len(set(names)) < len(names) or "" in names:
        fail(beside, "an empty name, or one that is there twice; it has one name a line")
    return names


def _with_blank_rows(path: Path, X: Any, counts: np.ndarray, n: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Insert an empty row for each blank line into X, and a 0 into the numbers of labels of the rows."""
    with open_data(path) as file:
        there = np.array([bool(raw.split(b"#")[0].split()) for raw in file][1:], dtype=bool)
    kept = np.flatnonzero(there)
    if len(kept) != len(counts) or len(there) < n or there[n:].any():
        Line(path, 1).fail(f"says {n} rows, but {len(there[: kept[-1] + 1]) if len(kept) else 0} follow")
    per_row, of_labels = np.zeros((2, n), dtype=np.int64)
    per_row[kept], of_labels[kept] = np.diff(X.indptr), counts
    return sparse.csr_array((X.data, X.indices, np.append(0, per_row.cumsum())), shape=(n, X.shape[1])), of_labels


def _fail_in_svm(path: Path, sizes: tuple[int, int, int], reason: str) -> NoReturn:
    """Raise DataError about the first wrong line of a file; slow, since every line is parsed."""
    n, d, K = sizes
    with open_data(path) as file:
        for number, raw in enumerate(file, 1):
            line = Line(path, number)
            tokens = line.decode(raw).partition("#")[0].split()
            if not tokens or (n and number == 1):
                continue
            labels = [] if ":" in tokens[0] else tokens.pop(0).split(",")
            for label in labels:
                if not _SVM_LABEL.fullmatch(label):
                    line.fail(f"label {quote(label)} is not a whole number from 0 on; labels are separated by commas")
                if K and int(label) >= K:
                    line.fail(f"label {label}, but there are {K}, numbered from 0")
            if len(set(map(int, labels))) < len(labels):
                line.fail("a label is there twice")
            before = -1
            for token in tokens[tokens[:1] != [] and tokens[0].startswith("qid:") :]:
                match = _SVM_ENTRY.fullmatch(token)
                if match is None:
                    line.fail(f"{quote(token)} is not `index:value`")
                index = int(match[1])
                if index <= before:
                    line.fail(f"index {index} after index {before}; the indices of a row must increase")
                if index >= (d or MAX_COLUMNS):
                    line.fail(
                        f"index {index}, but the last of the {d or MAX_COLUMNS:,} features is {(d or MAX_COLUMNS) - 1}"
                    )
                if not np.isfinite(float(match[2])):
                    line.fail(f"{quote(token)} has a value that is too large for a 64-bit number")
                before = index
    fail(path, f"no svmlight file: {reason[:100]}")
