"""Multi-label svmlight, and the extreme classification repository's text, whose first line has n, d and K.

A row is `LABEL,LABEL INDEX:VALUE INDEX:VALUE # comment`. The reader is our own: scikit-learn's does not say in which
line a mistake is, and skips blank lines, which are rows in the repository's text.
"""

from __future__ import annotations

import itertools
import re
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

_HEADER = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})")
_LABEL = re.compile(r"[0-9]{1,9}(?:\.0*)?")
_ENTRY = re.compile(rf"[0-9]{{1,10}}:{NUMBER.pattern}")
_MOST_LABELS = 10**9


class _Sizes(NamedTuple):
    """The numbers of rows, features and labels that the first line states, if it states them."""

    n: int = 0
    d: int = MAX_COLUMNS
    K: int = _MOST_LABELS


class _Row(NamedTuple):
    """A row: its line, its labels, and the indices and the values of its entries."""

    line: Line
    labels: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @property
    def is_empty(self) -> bool:
        """Whether it has neither labels nor entries."""
        return not len(self.labels) and not len(self.indices)


def read_svmlight(paths: Sequence[Path], labelled: bool) -> list[tuple[Any, ...]]:
    """Read one file, or the train and the test file.

    STEM.features.txt and STEM.labels.txt in the same folder may have names, one per line.

    Returns
    -------
    list
        For each file X, Y, and the names of features and labels (empty: none).

    Raises
    ------
    DataError
        With file and line.
    """
    stated, files = zip(*map(_read_rows, paths), strict=True)
    rows = list(itertools.chain(*files))
    sizes = stated[0]
    if stated[-1][1:] != sizes[1:]:
        fail(paths[-1], f"its first line has other sizes than that of {paths[0].name}")
    features = _read_names(paths[0], "features")
    labels = _read_names(paths[0], "labels")
    base = 0
    d = sizes.d
    K = sizes.K
    if not sizes.n:
        indices = np.concatenate([row.indices for row in rows])
        base = min(1, int(indices.min(initial=1)))  # the first index is 1, unless there is a 0
        d = len(features) or int(indices.max(initial=base - 1)) + 1 - base
        K = len(labels)
    ids = np.arange(K)
    if not K:
        ids = np.unique(np.concatenate([row.labels for row in rows]))
        labels = [str(each) for each in ids]
    if labelled and not len(ids):
        fail(paths[0], "no label in any row; a row begins with its labels: `0,3 1:0.5`")
    found: list[tuple[Any, ...]] = []
    for own in files:
        lines = [row.line for row in own]
        values = [row.values for row in own]
        X = _matrix(lines, [row.indices - base for row in own], values, d, "features")
        if not labelled:
            found.append((X, no_labels(X), features))
            continue
        columns = [np.searchsorted(ids, row.labels) for row in own]
        values = [np.ones(len(row.labels)) for row in own]
        Y = _matrix(lines, columns, values, len(ids), "labels")
        found.append((X, Y, features, labels))
    return found


def _read_rows(path: Path) -> tuple[_Sizes, list[_Row]]:
    """The sizes that the first line states, and all rows."""
    sizes = _Sizes()
    rows: list[_Row] = []
    with open_data(path) as file:
        for number, raw in enumerate(file, 1):
            line = Line(path, number)
            text = line.decode(raw).partition("#")[0]
            header = _HEADER.fullmatch(text) if number == 1 else None
            if header is not None:
                sizes = _Sizes(*map(int, header.groups()))
                if 0 in sizes or max(sizes.d, sizes.K) > MAX_COLUMNS:
                    line.fail(
                        f"{sizes.n} rows, {sizes.d} features and {sizes.K} labels; "
                        f"none is 0, and columns are at most {MAX_COLUMNS:,}"
                    )
            elif text.strip() or sizes.n:  # a blank line is a row only if the first line states their number
                rows.append(_read_row(line, text.split(), sizes))
    if not sizes.n and not rows:
        fail(path, "no row")
    n = sizes.n or len(rows)
    while len(rows) > n and rows[-1].is_empty:
        rows.pop()
    if len(rows) != n:
        Line(path, 1).fail(f"says {n} rows, but {len(rows)} follow")
    return sizes, rows


def _read_row(line: Line, tokens: list[str], sizes: _Sizes) -> _Row:
    labels = []
    if tokens and ":" not in tokens[0]:
        labels = tokens.pop(0).split(",")
    ids = _read_labels(line, labels, sizes.K)
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
    if largest >= sizes.d:
        line.fail(f"index {largest}, but the last of the {sizes.d:,} features is {sizes.d - 1}")
    if not np.isfinite(values).all():
        line.fail(f"index {indices[np.isinf(values)][0]} has a value that is too large for a 64-bit number")
    return _Row(line, ids, indices, values)


def _read_labels(line: Line, labels: Sequence[str], K: int) -> np.ndarray:
    """The labels of a row as numbers."""
    for label in labels:
        if not _LABEL.fullmatch(label):
            line.fail(f"label {quote(label)} is not a whole number from 0 on; labels are separated by commas")
    numbers = [int(float(label)) for label in labels]
    if max(numbers, default=0) >= K:
        line.fail(f"label {max(numbers)}, but there are {K}, numbered from 0")
    if len(set(numbers)) < len(numbers):
        line.fail("a label is there twice")
    return np.array(numbers, dtype=int)


def _matrix(
    lines: list[Line], columns: list[np.ndarray], values: list[np.ndarray], n_columns: int, what: str
) -> sparse.csr_array:
    """The matrix of rows with some values in some columns."""
    for line, own in zip(lines, columns, strict=True):
        if own.max(initial=-1) >= n_columns:
            line.fail(f"more {what} than there are names beside it ({n_columns})")
    indptr = np.cumsum([0, *map(len, columns)])
    parts = (np.concatenate(values), np.concatenate(columns), indptr)
    return sparse.csr_array(parts, shape=(len(lines), n_columns))


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
