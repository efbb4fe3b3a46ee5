"""Multi-label svmlight, and the extreme classification repository's text, whose first line has n, d and K.

A row is `LABEL,LABEL INDEX:VALUE INDEX:VALUE # comment`. The reader is our own: scikit-learn's does not say in which
line a mistake is, and skips blank lines, which are rows in the repository's text.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mlcdr.data.arff import NUMBER
from mlcdr.data.files import path_of_names
from mlcdr.data.lines import Line, fail, quote
from mlcdr.data.packed import open_data
from mlcdr.data.table import MAX_COLUMNS, no_labels

_HEADER = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})")
_LABEL = re.compile(r"[0-9]{1,9}(?:\.0*)?")
_ENTRY = re.compile(rf"[0-9]{{1,10}}:{NUMBER.pattern}")
_ENTRIES = re.compile(rf"(?:{_ENTRY.pattern}(?: {_ENTRY.pattern})*)?")
_MOST_LABELS = 10**9


class _Sizes(NamedTuple):
    """The numbers of rows, features and labels that the first line states, if it states them."""

    n: int = 0
    d: int = MAX_COLUMNS
    K: int = _MOST_LABELS


@dataclass
class _SvmFile:
    """The rows of a file: their lines; all their labels, and how many each has; all their entries, likewise.

    An entry is two numbers, its index and its value.
    """

    path: Path
    sizes: _Sizes = field(default_factory=_Sizes)
    lines: array[int] = field(default_factory=lambda: array("q"))
    labels: array[int] = field(default_factory=lambda: array("q"))
    n_labels: array[int] = field(default_factory=lambda: array("q"))
    entries: array[float] = field(default_factory=lambda: array("d"))
    n_entries: array[int] = field(default_factory=lambda: array("q"))

    @classmethod
    def load(cls, path: Path) -> _SvmFile:
        """Read a file."""
        found = cls(path)
        with open_data(path) as file:
            for number, raw in enumerate(file, 1):
                line = Line(path, number)
                text = line.decode(raw).partition("#")[0]
                header = _HEADER.fullmatch(text) if number == 1 else None
                if header is not None:
                    found.sizes = _checked_sizes(line, *map(int, header.groups()))
                elif text.strip() or found.sizes.n:  # a blank line is a row only if the first line states their number
                    found.add(line, text.split())
        found.check_number_of_rows()
        found.check_entries()
        return found

    @property
    def indices(self) -> np.ndarray:
        """The index of each entry."""
        return np.asarray(self.entries)[::2]

    @property
    def values(self) -> np.ndarray:
        """The value of each entry."""
        return np.asarray(self.entries)[1::2]

    def add(self, line: Line, tokens: list[str]) -> None:
        """Append a row."""
        labels = []
        if tokens and ":" not in tokens[0]:
            labels = tokens.pop(0).split(",")
        ids = _read_labels(line, labels, self.sizes.K)
        if tokens and tokens[0].startswith("qid:"):
            del tokens[0]
        text = " ".join(tokens)
        if not _ENTRIES.fullmatch(text):
            wrong = next(token for token in tokens if not _ENTRY.fullmatch(token))
            line.fail(f"{quote(wrong)} is not `index:value`")
        if text:
            numbers = np.fromstring(text.replace(":", " "), sep=" ")
            self.entries.frombytes(numbers.tobytes())
        self.lines.append(line.number)
        self.labels.extend(ids)
        self.n_labels.append(len(ids))
        self.n_entries.append(len(tokens))

    def check_number_of_rows(self) -> None:
        """Leave out blank lines at the end; DataError if there are fewer or more rows than the first line states."""
        n = self.sizes.n or len(self.lines)
        contents = np.add(self.n_labels, self.n_entries)
        rows = int(np.flatnonzero(contents)[-1]) + 1 if contents.any() else 0
        if rows > n or len(self.lines) < n:
            Line(self.path, 1).fail(f"says {n} rows, but {rows} follow")
        if not n:
            fail(self.path, "no row")
        for each in (self.lines, self.n_labels, self.n_entries):
            del each[n:]

    def check_entries(self) -> None:
        """Raise DataError about the first entry whose index does not increase, or with a number that is too large."""
        indices = self.indices
        values = self.values
        d = self.sizes.d
        counts = np.array(self.n_entries)
        before = np.append(-1, indices)[:-1]
        before[(np.cumsum(counts) - counts)[counts > 0]] = -1  # of the first entry of a row
        right = (before < indices) & (indices < d) & np.isfinite(values)
        if right.all():
            return
        at = int(right.argmin())
        line = self._line_of(at, counts)
        index = int(indices[at])
        if index <= before[at]:
            line.fail(f"index {index} after index {before[at]:.0f}; the indices of a row must increase")
        if index >= d:
            line.fail(f"index {index}, but the last of the {d:,} features is {d - 1}")
        line.fail(f"index {index} has a value that is too large for a 64-bit number")

    def _line_of(self, at: int, counts: np.ndarray) -> Line:
        """The line of the entry or label at a position; `counts`: how many each row has."""
        row = int(np.searchsorted(np.cumsum(counts), at, side="right"))
        return Line(self.path, self.lines[row])

    def features(self, d: int, base: int) -> sparse.csr_array:
        """X (n×d); the indices in the file begin at `base`."""
        indices = self.indices.astype(np.int32) - np.int32(base)
        self._check_names(indices, self.n_entries, d, "features")
        indptr = np.append(0, np.cumsum(self.n_entries)).astype(np.int32)
        parts = (self.values, indices, indptr)
        return sparse.csr_array(parts, shape=(len(self.lines), d))

    def label_sets(self, ids: np.ndarray) -> sparse.csr_array:
        """Y (n×K) of the labels `ids`."""
        columns = np.searchsorted(ids, self.labels)
        self._check_names(columns, self.n_labels, len(ids), "labels")
        indptr = np.append(0, np.cumsum(self.n_labels))
        parts = (np.ones(len(columns)), columns, indptr)
        return sparse.csr_array(parts, shape=(len(self.lines), len(ids)))

    def _check_names(self, columns: np.ndarray, counts: array[int], n: int, what: str) -> None:
        """Raise DataError about the first row with a column that has no name."""
        beyond = np.flatnonzero(columns >= n)
        if len(beyond):
            line = self._line_of(int(beyond[0]), np.array(counts))
            line.fail(f"more {what} than there are names beside it ({n})")


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
    files = [_SvmFile.load(path) for path in paths]
    sizes = files[0].sizes
    if any(file.sizes[1:] != sizes[1:] for file in files):
        fail(paths[-1], f"its first line has other sizes than that of {paths[0].name}")
    features = _read_names(paths[0], "features")
    labels = _read_names(paths[0], "labels")
    base = 0
    d = sizes.d
    K = sizes.K
    if not sizes.n:
        indices = np.concatenate([file.indices for file in files])
        base = min(1, int(indices.min())) if len(indices) else 0  # the first index is 1, unless there is a 0
        d = len(features) or int(indices.max(initial=-1)) + 1 - base
        K = len(labels)
    ids = np.arange(K)
    if not K:
        ids = np.unique(np.concatenate([np.array(file.labels) for file in files]))
        labels = [str(each) for each in ids]
    if labelled and not len(ids):
        fail(paths[0], "no label in any row; a row begins with its labels: `0,3 1:0.5`")
    found = []
    for file in files:
        X = file.features(d, base)
        Y = file.label_sets(ids) if labelled else no_labels(X)
        found.append((X, Y, features, labels if labelled else []))
    return found


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


def _checked_sizes(line: Line, n: int, d: int, K: int) -> _Sizes:
    if not n * d * K or max(d, K) > MAX_COLUMNS:
        line.fail(f"{n} rows, {d} features and {K} labels; none is 0, and columns are at most {MAX_COLUMNS:,}")
    return _Sizes(n, d, K)


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
