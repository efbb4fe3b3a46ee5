"""Multi-label svmlight, and the extreme classification repository's text, whose first line has n, d and K.

scikit-learn reads the rows; a second, slow reading finds the line of what is wrong.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from mlcdr.data.arff import NUMBER
from mlcdr.data.files import stem
from mlcdr.data.lines import Line, fail, quote
from mlcdr.data.packed import open_data
from mlcdr.data.table import MAX_COLUMNS, Matrix, no_labels
from mlcdr.errors import DataError

_LABEL, _ENTRY = re.compile("[0-9]{1,9}"), re.compile(rf"([0-9]{{1,10}}):({NUMBER.pattern})")
_HEADER = re.compile(rb"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")


class _Sizes(NamedTuple):
    """The numbers of rows, features and labels; 0 if the file does not state them."""

    n: int = 0
    d: int = 0
    K: int = 0


def read_svmlight(paths: Sequence[Path], labelled: bool) -> list[tuple[Path, Matrix, Matrix, list[str], list[str]]]:
    """Read one file, or the train and the test file.

    STEM.features.txt and STEM.labels.txt in the same folder may have names, one per line.

    Returns
    -------
    list
        For each file its path, X, Y, and the names of features and labels (empty: none).

    Raises
    ------
    DataError
        With file and line.
    """
    files = [_SvmFile.load(path) for path in paths]
    sizes = files[0].sizes
    if any(file.sizes[1:] != sizes[1:] for file in files):
        fail(paths[-1], f"its first line has other sizes than that of {paths[0].name}")
    features, labels = _read_names(paths[0], "features"), _read_names(paths[0], "labels")
    # the indices begin at 1 unless one of the files has a 0, or the first line states their number
    smallest = [int(file.X.indices.min()) for file in files if file.X.nnz]
    base = 1 if smallest and min(smallest) > 0 and not sizes.d else 0
    d = sizes.d or max(len(features), *(file.X.shape[1] - base for file in files))
    if sizes.K or labels:
        ids = np.arange(sizes.K or len(labels))
    else:
        ids = np.unique(np.concatenate([file.labels for file in files]))
        labels = [str(each) for each in ids]
    if labelled and not len(ids):
        fail(paths[0], "no label in any row; a row begins with its labels: `0,3 1:0.5`")
    found = []
    for file in files:
        X = file.features(d, base)
        Y = file.label_sets(ids) if labelled else no_labels(X)
        found.append((file.path, X, Y, features, labels if labelled else []))
    return found


@dataclass
class _SvmFile:
    """A file: X with the indices as written; all labels, row by row, and their number in each row."""

    path: Path
    X: sparse.csr_array
    labels: np.ndarray
    counts: np.ndarray
    sizes: _Sizes

    @classmethod
    def load(cls, path: Path) -> _SvmFile:
        from sklearn.datasets import load_svmlight_file

        with open_data(path) as file:
            header = _HEADER.fullmatch(file.peek(100).split(b"\n")[0])
            sizes = _Sizes(*map(int, header.groups())) if header else _Sizes()
            if header:
                file.readline()
                _check_sizes(path, sizes)
            try:
                X, rows = load_svmlight_file(file, multilabel=True, zero_based=True)
            except DataError:
                raise
            except (ValueError, OverflowError, TypeError) as error:
                _fail_in_svm(path, sizes, str(error))
        labels = np.fromiter(itertools.chain.from_iterable(rows), np.float64)
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        smallest = min(labels.min(initial=0), X.indices.min(initial=0))
        whole = np.isfinite(X.data).all() and np.array_equal(labels, np.floor(labels)) and smallest >= 0
        beyond = labels.max(initial=0) >= (sizes.K or 1e9) or X.indices.max(initial=0) >= (sizes.d or MAX_COLUMNS)
        if not whole or beyond:
            _fail_in_svm(path, sizes, "a label or an index that is out of range")
        if header and len(rows) != sizes.n:  # scikit-learn skips blank lines: rows without labels and features
            X, counts = _with_blank_rows(path, X, counts, sizes.n)
        if not len(counts):
            fail(path, "no row")
        return cls(path, X, labels.astype(np.int64), counts, sizes)

    def features(self, d: int, base: int) -> sparse.csr_array:
        """X (n×d); the indices in the file begin at `base`."""
        if self.X.shape[1] - base > d:
            _fail_in_svm(self.path, _Sizes(d=d + base), "more columns than names beside it")
        return sparse.csr_array((self.X.data, self.X.indices - base, self.X.indptr), shape=(len(self.counts), d))

    def label_sets(self, ids: np.ndarray) -> sparse.csr_array:
        """Y (n×K) of the labels `ids`."""
        columns = np.searchsorted(ids, self.labels)
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        if columns.max(initial=0) >= len(ids):
            _fail_in_svm(self.path, _Sizes(K=len(ids)), "more columns than names beside it")
        Y = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.counts), len(ids)))
        if Y.data.max(initial=0) > 1:
            _fail_in_svm(self.path, _Sizes(), "a label twice in a row")
        return Y


def _check_sizes(path: Path, sizes: _Sizes) -> None:
    n, d, K = sizes
    if not n * d * K or max(d, K) > MAX_COLUMNS:
        found = f"{n} rows, {d} features and {K} labels"
        Line(path, 1).fail(f"{found}; none is 0, and columns are at most {MAX_COLUMNS:,}")


def _read_names(path: Path, what: str) -> list[str]:
    """The names in STEM.features.txt or STEM.labels.txt in the folder of a file; empty if it does not exist."""
    beside = path.with_name(f"{stem(path)[0]}.{what}.txt")
    if not beside.is_file():
        return []
    with open_data(beside) as file:
        names = [Line(beside, number).decode(raw) for number, raw in enumerate(file, 1)]
    if len(set(names)) < len(names) or "" in names:
        fail(beside, "an empty name, or one that is there twice; it has one name a line")
    return names


def _with_blank_rows(
    path: Path, X: sparse.csr_array, counts: np.ndarray, n: int
) -> tuple[sparse.csr_array, np.ndarray]:
    """Insert an empty row for each blank line into X, and a 0 into the numbers of labels of the rows."""
    with open_data(path) as file:
        there = np.array([bool(raw.split(b"#")[0].split()) for raw in file][1:], dtype=bool)
    kept = np.flatnonzero(there)
    if len(kept) != len(counts) or len(there) < n or there[n:].any():
        follow = kept[-1] + 1 if len(kept) else 0
        Line(path, 1).fail(f"says {n} rows, but {follow} follow")
    per_row, of_labels = np.zeros((2, n), dtype=np.int64)
    per_row[kept], of_labels[kept] = np.diff(X.indptr), counts
    return sparse.csr_array((X.data, X.indices, np.append(0, per_row.cumsum())), shape=(n, X.shape[1])), of_labels


def _fail_in_svm(path: Path, sizes: _Sizes, reason: str) -> NoReturn:
    """Raise DataError about the first wrong line of a file; slow, since every line is parsed."""
    with open_data(path) as file:
        for number, raw in enumerate(file, 1):
            line = Line(path, number)
            tokens = line.decode(raw).partition("#")[0].split()
            if not tokens or (sizes.n and number == 1):
                continue
            labels = [] if ":" in tokens[0] else tokens.pop(0).split(",")
            _check_label_list(line, labels, sizes.K)
            if tokens and tokens[0].startswith("qid:"):
                tokens.pop(0)
            _check_entries(line, tokens, sizes.d or MAX_COLUMNS)
    fail(path, f"no svmlight file: {reason[:100]}")


def _check_label_list(line: Line, labels: Sequence[str], K: int) -> None:
    for label in labels:
        if not _LABEL.fullmatch(label):
            line.fail(f"label {quote(label)} is not a whole number from 0 on; labels are separated by commas")
        if K and int(label) >= K:
            line.fail(f"label {label}, but there are {K}, numbered from 0")
    if len(set(map(int, labels))) < len(labels):
        line.fail("a label is there twice")


def _check_entries(line: Line, entries: Sequence[str], d: int) -> None:
    before = -1
    for entry in entries:
        match = _ENTRY.fullmatch(entry)
        if match is None:
            line.fail(f"{quote(entry)} is not `index:value`")
        index = int(match[1])
        if index <= before:
            line.fail(f"index {index} after index {before}; the indices of a row must increase")
        if index >= d:
            line.fail(f"index {index}, but the last of the {d:,} features is {d - 1}")
        if not np.isfinite(float(match[2])):
            line.fail(f"{quote(entry)} has a value that is too large for a 64-bit number")
        before = index
