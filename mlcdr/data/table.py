"""What readers make of files and of data in memory: two tables, of features and of labels, and where their rows are."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.packed import GROWTH, most_bytes
from mlcdr.errors import DataError, suggest_name
from mlcdr.numerics.other_frames import as_pandas

# A dense or a sparse matrix. Any: NumPy and SciPy share the operations used here, but have no common type.
Matrix: TypeAlias = Any

MAX_COLUMNS = 10_000_000
"""The largest number of features, and of labels: methods make dense vectors of that size even from sparse data."""


def _no_line(row: int) -> int:
    return 0


class Origin(NamedTuple):
    """The file from which some rows come, for messages.

    Attributes
    ----------
    path : Path
        The file; for data in memory, their name.
    n_rows : int
    head : int
        The line of the columns' names, 0 if the file has no lines.
    line_of : callable
        The number of a row's line in the file, 0 if it has no lines.
    n_bytes : int or infinity
        The size by which memory is bounded: of the file, or of the arrays that were given; infinite: not bounded.
    """

    path: Path
    n_rows: int
    head: int = 0
    line_of: Callable[[int], int] = _no_line
    n_bytes: float = math.inf


class Origins:
    """Where all rows of a table come from: one file, or the train and the test file."""

    def __init__(self, *files: Origin):
        self.files = files

    @property
    def path(self) -> Path:
        """The first file."""
        return self.files[0].path

    @property
    def head(self) -> Line:
        """The line of the columns' names."""
        return Line(self.path, self.files[0].head)

    def line_of(self, row: int) -> Line:
        """The line of a row; rows are counted from 0 over all files."""
        for file in self.files:
            if row < file.n_rows:
                return Line(file.path, file.line_of(row))
            row -= file.n_rows
        raise IndexError(row)

    def check_memory(self, n_bytes: int, what: str) -> None:
        """Raise DataError if what is made of these rows takes more memory than it may.

        Called before that memory is allocated.
        """
        size = sum(file.n_bytes for file in self.files)
        if n_bytes > most_bytes(size):
            fail(
                self.path,
                f"{what} take {n_bytes / 2**20:,.0f} MiB of memory, more than {GROWTH} times the size of the data",
            )

    def fail(self, row: int, message: str, error: type[DataError] = DataError) -> NoReturn:
        """Raise an error about a row."""
        self.line_of(row).fail(f"row {row + 1}: {message}", error)


@dataclass(frozen=True)
class Table:
    """Some columns of a data set: all of a file's, or its features, or its labels.

    Attributes
    ----------
    attributes : tuple of Attribute
        The m columns in order.
    values : ndarray or csr_array of shape (n, m), float64; or texts (n×1)
        Numbers; nominal values as their position in the declaration. NaN is a missing value and nothing else. CSR, with
        int32 sorted indices and no explicit zeros, for a sparse file.
    origins : Origins
        The files that the rows come from.
    relation : str
        The name of an ARFF file's relation.
    counted_from : int or None
        Of svmlight, the number by which the file calls the first feature: 0 or 1.
    dates : mapping
        Column of dates → what was made of it (`mlcdr.data.dates`).
    """

    attributes: tuple[Attribute, ...]
    values: Matrix
    origins: Origins
    relation: str = ""
    counted_from: int | None = None
    dates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The first file, for messages."""
        return self.origins.path

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [attribute.name for attribute in self.attributes]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return sparse.issparse(self.values)

    def column(self, position: int) -> np.ndarray:
        """The n values of one column."""
        return np.ravel(as_dense(self.values[:, [position]]))

    def divide(self, labels: Sequence[int]) -> tuple[Table, Table]:
        """The features and the labels; `labels`: the positions of these."""
        chosen = set(labels)
        features = [column for column in range(len(self.attributes)) if column not in chosen]
        return self._take(features), self._take(labels)

    def _take(self, columns: Sequence[int]) -> Table:
        attributes = tuple(self.attributes[column] for column in columns)
        return replace(self, attributes=attributes, values=take(self.values, columns))


Tables: TypeAlias = tuple[Table, Table]
"""The features and the labels of a data set."""


def take(values: Matrix, columns: Sequence[int]) -> Matrix:
    """A copy of some columns."""
    if not sparse.issparse(values):
        return np.take(values, columns, axis=1)
    taken = values[:, columns]
    taken.sort_indices()
    return taken


def stack_tables(first: Table, *others: Table) -> Table:
    """The rows of the train and of the test table, which must declare the same attributes.

    Raises
    ------
    DataError
    """
    for second in others:
        _check_alike(first, second)
        values = stack_rows([first.values, second.values])
        origins = Origins(*first.origins.files, *second.origins.files)
        first = replace(first, values=values, origins=origins)
    return first


def _check_alike(first: Table, second: Table) -> None:
    if first.is_sparse != second.is_sparse:
        kind = "sparse" if second.is_sparse else "dense"
        fail(second.path, f"is {kind}, unlike {first.path.name}")
    m = len(first.attributes)
    found = len(second.attributes)
    if m != found:
        fail(second.path, f"{found} attributes, but {first.path.name} has {m}")
    for one, two in zip(first.attributes, second.attributes, strict=True):
        line = Line(second.path, two.line)
        there = Line(Path(first.path.name), one.line)
        if one.name != two.name:
            line.fail(f"attribute {quote(two.name)} where {there} has {quote(one.name)}")
        if one.values != two.values:
            line.fail(f"attribute {quote(two.name)} is declared otherwise than in {there}")


def stack_rows(parts: Sequence[Matrix]) -> Matrix:
    """Stack matrices vertically; the result is dense if one of them is."""
    if len(parts) == 1:
        return parts[0]
    if all(map(sparse.issparse, parts)):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate([as_dense(part) for part in parts])


def as_dense(matrix: Matrix) -> Any:
    """A matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def stored_values(matrix: Matrix) -> np.ndarray:
    """The values of a dense matrix, or those that a sparse one stores."""
    return matrix.data if sparse.issparse(matrix) else matrix


def no_labels(X: Matrix) -> np.ndarray:
    """A Y of zeros, with one column, for rows without labels."""
    return np.zeros((X.shape[0], 1))


def find_columns(place: Line, names: Sequence[str], labels: int | str | Sequence[str]) -> list[int]:
    """The positions of the labels among the columns; `labels`: how many first (negative: last) ones, names, a pattern.

    Raises
    ------
    DataError
        When there is no such column, a name is given twice, or no column is left for a feature.
    """
    m = len(names)
    if isinstance(labels, int):
        if not 0 < abs(labels) < m:
            fail(
                place.path,
                f"{labels} labels (MEKA's -C), but the file has {m} attributes, and at least one must be a feature",
            )
        return list(range(labels)) if labels > 0 else list(range(m + labels, m))
    wanted = labels
    if isinstance(labels, str):
        wanted = [labels] if labels in names else [name for name in names if fnmatch.fnmatchcase(name, labels)]
        if not wanted:
            place.fail(f"labels: no column is called {quote(labels)}; there are {list_values(names)}")
    where = {name: column for column, name in enumerate(names)}
    for label in wanted:
        if label not in where:
            place.fail(f"labels: no column is called {quote(label)}{suggest_name(label, names)}")
    columns = sorted({where[label] for label in wanted})
    if len(columns) < len(wanted):
        place.fail("labels: a name is given twice")
    if len(columns) == m:
        place.fail("labels: all columns are labels, and at least one must be a feature")
    return columns


def check_indices(matrix: Matrix) -> None:
    """Raise ValueError for a CSR or CSC matrix from a file if its indices are out of bounds.

    `check_format` does not check the index pointers if the last is 0; wrong ones would then crash the process.
    """
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its index pointers decrease")
    matrix.check_format(full_check=True)


def frame_in_memory(name: str, values: Any) -> Any:
    """A DataFrame of any library as one of pandas; anything else unchanged.

    Raises
    ------
    DataError
        For a frame that cannot be read.
    """
    try:
        return as_pandas(values)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None
