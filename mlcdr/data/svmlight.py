"""Multi-label svmlight, and the extreme classification repository's text, whose first line has n, d and K.

A row is `LABEL,LABEL INDEX:VALUE INDEX:VALUE # comment`. The reader is our own: scikit-learn's does not say in which
line a mistake is, and skips blank lines, which are rows in the repository's text.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mlcdr.csv_files import NUMBER
from mlcdr.data.files import path_of_names
from mlcdr.data.lines import Line, fail, quote
from mlcdr.data.packed import open_data
from mlcdr.data.table import MAX_COLUMNS, no_labels

_HEADER = re.compile(r"([0-9]{1,18})\s+([0-9]{1,18})\s+([0-9]{1,18})")
_LABEL = re.compile(r"[0-9]{1,9}(?:\.0*)?")
_ENTRY = re.compile(rf"[0-9]{{1,10}}:{NUMBER.pattern}")
_MOST_LABELS = 10**9


class _Sizes(NamedTuple):
    """The numbers of rows, features and labels that the first line states, if it states them."""

    n: int = 0
    d: int = MAX_COLUMNS
    K: int = _MOST_LABELS


class _Rows:
    """The rows of a file: their lines, and their labels and entries one after another.

    `label_ends` and `ends`: where the labels and the entries of each row end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sizes = _Sizes()
        self.lines = array("q")
        self.labels = array("q")
        self.label_ends = array("q", [0])
        self.indices = array("q")
        self.values = array("d")
        self.ends = array("q", [0])

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, line: Line, labels: Sequence[int], indices: np.ndarray, values: np.ndarray) -> None:
        """Append a row."""
        self.lines.append(line.number)
        self.labels.extend(labels)
        self.label_ends.append(len(self.labels))
        self.indices.frombytes(indices.tobytes())
        self.values.frombytes(values.tobytes())
        self.ends.append(len(self.indices))

    def drop_empty(self, n: int) -> None:
        """Drop rows without labels and entries at the end, as long as there are more than n."""
        while len(self) > n:
            has_entries = self.ends[-1] > self.ends[-2]
            has_labels = self.label_ends[-1] > self.label_ends[-2]
            if has_entries or has_labels:
                return
            for each in (self.lines, self.ends, self.label_ends):
                each.pop()

    def matrix(self, columns: np.ndarray, values: np.ndarray, ends: array[int], width: int, what: str) -> Any:
        """The matrix (CSR) of the rows with values in some columns, of which each row's end at `ends`."""
        beyond = columns >= width
        if beyond.any():
            row = int(np.searchsorted(ends, int(beyond.argmax()), side="right")) - 1
            Line(self.path, self.lines[row]).fail(f"more {what} than there are names beside it ({width})")
        return sparse.csr_array((values, columns, np.array(ends)), shape=(len(self), width))


class Svmlight(NamedTuple):
    """What was read: for each file X, Y, and the names of features and labels (empty: none); and the first index."""

    files: list[tuple[Any, ...]]
    counted_from: int


def read_svmlight(paths: Sequence[Path], labelled: bool, trained: tuple[Sequence[str], int] | None) -> Svmlight:
    """Read one file, or the train and the test file.

    STEM.features.txt and STEM.labels.txt in the same folder may have names, one per line.

    Parameters
    ----------
    paths : sequence of Path
    labelled : bool
        Whether labels are read.
    trained : tuple, optional
        For new rows: the features of the training data, and the number of the first of them (0 or 1). A file without
        sizes and names of its own has these features, of which svmlight leaves out what is 0.

    Raises
    ------
    DataError
        With file and line.
    """
    files = [_read_rows(path) for path in paths]
    sizes = files[0].sizes
    if files[-1].sizes[1:] != sizes[1:]:
        fail(paths[-1], f"its first line has other sizes than that of {paths[0].name}")
    features = _read_names(paths[0], "features")
    labels = _read_names(paths[0], "labels")
    base = 0
    d = sizes.d
    K = sizes.K
    if not sizes.n:
        indices = np.concatenate([rows.indices for rows in files])
        base = min(1, int(indices.min(initial=1)))  # the first index is 1, unless there is a 0
        if trained is not None:
            _check_first(files, base, trained[1])
            base = trained[1]
        d = len(features) or int(indices.max(initial=base - 1)) + 1 - base
        if trained is not None and not features:
            d = max(d, len(trained[0]))
            features = [*trained[0], *(f"feature{j + 1}" for j in range(len(trained[0]), d))]
        K = len(labels)
    ids = np.arange(K)
    if not K:
        ids = np.unique(np.concatenate([rows.labels for rows in files]))
        labels = [str(each) for each in ids]
    if labelled and not len(ids):
        fail(paths[0], "no label in any row; a row begins with its labels: `0,3 1:0.5`")
    found: list[tuple[Any, ...]] = []
    for rows in files:
        X = rows.matrix(np.array(rows.indices) - base, np.array(rows.values), rows.ends, d, "features")
        if not labelled:
            found.append((X, no_labels(X), features))
            continue
        columns = np.searchsorted(ids, rows.labels)
        Y = rows.matrix(columns, np.ones(len(columns)), rows.label_ends, len(ids), "labels")
        found.append((X, Y, features, labels))
    return Svmlight(found, base)


def _check_first(files: Sequence[_Rows], first: int, trained_first: int) -> None:
    """Raise DataError for an index 0 where the training file counts from 1."""
    if first >= trained_first:
        return
    rows = next(rows for rows in files if 0 in rows.indices)
    row = int(np.searchsorted(rows.ends, rows.indices.index(0), side="right")) - 1
    Line(rows.path, rows.lines[row]).fail("index 0, but the model was trained with features that are counted from 1")


def _read_rows(path: Path) -> _Rows:
    """All rows, and the sizes that the first line states, if it does."""
    rows = _Rows(path)
    sizes = rows.sizes
    with open_data(path) as file:
        for number, raw in enumerate(file, 1):
            line = Line(path, number)
            text = line.decode(raw).partition("#")[0]
            header = _HEADER.fullmatch(text) if number == 1 else None
            if header is not None:
                sizes = rows.sizes = _Sizes(*map(int, header.groups()))
                if 0 in sizes or max(sizes.d, sizes.K) > MAX_COLUMNS:
                    line.fail(
                        f"{sizes.n} rows, {sizes.d} features and {sizes.K} labels; "
                        f"none is 0, and columns are at most {MAX_COLUMNS:,}"
                    )
            elif text.strip() or sizes.n:  # a blank line is a row only if the first line states their number
                _add_row(rows, line, text.split())
    if not sizes.n and not len(rows):
        fail(path, "no row")
    n = sizes.n or len(rows)
    rows.drop_empty(n)
    if len(rows) != n:
        Line(path, 1).fail(f"says {n} rows, but {len(rows)} follow")
    return rows


def _add_row(rows: _Rows, line: Line, tokens: list[str]) -> None:
    labels = []
    if tokens and ":" not in tokens[0]:
        labels = tokens.pop(0).split(",")
    ids = _read_labels(line, labels, rows.sizes.K)
    if tokens and tokens[0].startswith("qid:"):
        del tokens[0]
    for token in tokens:
        if not _ENTRY.fullmatch(token):
            line.fail(f"{quote(token)} is not `index:value`")
    numbers = np.array(" ".join(tokens).replace(":", " ").split(), dtype=np.float64)
    indices = numbers[::2].astype(np.int64)
    values = numbers[1::2]
    falls = np.flatnonzero(np.diff(indices) <= 0)
    if len(falls):
        before, index = indices[falls[0] :][:2]
        line.fail(f"index {index} after index {before}; the indices of a row must increase")
    largest = indices.max(initial=0)
    if largest >= rows.sizes.d:
        line.fail(f"index {largest}, but the last of the {rows.sizes.d:,} features is {rows.sizes.d - 1}")
    if not np.isfinite(values).all():
        line.fail(f"index {indices[np.isinf(values)][0]} has a value that is too large for a 64-bit number")
    rows.add(line, ids, indices, values)


def _read_labels(line: Line, labels: Sequence[str], K: int) -> list[int]:
    """The labels of a row as numbers."""
    for label in labels:
        if not _LABEL.fullmatch(label):
            line.fail(f"label {quote(label)} is not a whole number from 0 on; labels are separated by commas")
    numbers = [int(float(label)) for label in labels]
    if max(numbers, default=0) >= K:
        line.fail(f"label {max(numbers)}, but there are {K}, numbered from 0")
    if len(set(numbers)) < len(numbers):
        line.fail("a label is there twice")
    return numbers


def _read_names(path: Path, what: str) -> list[str]:
    """The names in STEM.features.txt or STEM.labels.txt in the folder of a file; empty if it does not exist."""
    beside = path_of_names(path, what)
    if not beside.is_file():
        return []
    with open_data(beside) as file:
        names = [Line(beside, number).decode(raw) for number, raw in enumerate(file, 1)]
    if len(set(names)) < len(names) or "" in names:
        fail(beside, "an empty name, or one that is there twice; it has one name a line")
    return names
