"""From the values of an ARFF file to X and Y: the meaning of nominal values, one-hot columns, gaps, labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from scipy import sparse

from mlcdr.data.arff import ArffTable
from mlcdr.data.arff_header import Attribute
from mlcdr.data.text import fail, listed, short

Missing = Literal["error", "mean", "zero"]
# A dense or a sparse matrix. Any: numpy and scipy share the operations used here, but no type.
Matrix: TypeAlias = Any

# The two-valued nominals whose meaning is known, as (no, yes); compared without case.
BINARY = {
    frozenset(pair): pair
    for pair in [("0", "1"), ("-1", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on")]
}

# In a handful of rows every value of an ordinary nominal differs by chance; in this many it is an identifier's.
MANY_ROWS = 50


def positive_code(values: tuple[str, ...] | None) -> int | None:
    """The position of the value that means yes (YES, 1, true, ...), None if the values are not a known yes/no pair."""
    folded = [value.casefold() for value in values or ()]
    pair = BINARY.get(frozenset(folded))
    return folded.index(pair[1]) if pair and len(folded) == 2 else None


@dataclass
class _Plan:
    """How attributes become columns: `source[j]` is the attribute of column j, `code[j]` says how.

    code None: take the number; code c: 1 where the nominal's position is c.
    """

    source: list[int] = field(default_factory=list)
    code: list[int | None] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, source: int, code: int | None, name: str) -> None:
        self.source.append(source)
        self.code.append(code)
        self.names.append(name)

    @property
    def plain(self) -> bool:
        return all(code is None for code in self.code)


@dataclass(frozen=True)
class Encoded:
    """What `encode` gives: X, Y, the names of X's columns, the notices."""

    X: Matrix
    Y: Matrix
    feature_names: tuple[str, ...]
    notices: tuple[str, ...]


def encode(tables: Sequence[ArffTable], labels: Sequence[int], missing: Missing) -> Encoded:
    """Encode one table, or the train and the test table of one data set, as X and Y.

    Parameters
    ----------
    tables : sequence of ArffTable
        Tables with the same attributes; their rows follow each other.
    labels : sequence of int
        The positions of the labels among the attributes, ascending.
    missing : {"error", "mean", "zero"}
        What to do with a missing feature value. "mean" is the mean of the encoded column over all rows that have a
        value (for a nominal: the share of each value).

    Returns
    -------
    Encoded
        X is n×d float64, CSR if the tables are sparse; a yes/no nominal is one 0/1 column, another nominal one column
        a value ("location=3"), an identifier none. Y is n×K of {0, 1}, uint8, or int8 CSR if the tables are sparse.

    Raises
    ------
    DataError
        A missing value that may not be filled, a label that is not binary, tables that do not fit each other, no
        feature left.
    """
    attributes = tables[0].attributes
    values = _stack(tables)
    chosen = set(labels)
    plan, notices = _Plan(), []
    for column, attribute in enumerate(attributes):
        if column in chosen:
            continue
        if attribute.values is None:
            plan.add(column, None, attribute.name)
            continue
        yes = positive_code(attribute.values)
        if yes is not None:
            plan.add(column, None if yes == 1 else yes, attribute.name)
            continue
        distinct = _identifier_values(values, column, attribute)
        if distinct:
            notices.append(
                f"feature {short(attribute.name)} dropped: an identifier ({distinct} values in {distinct} rows)"
            )
            continue
        for code, value in enumerate(attribute.values):
            plan.add(column, code, f"{attribute.name}={value}")
    label_plan = _Plan()
    for column in labels:
        attribute = attributes[column]
        if attribute.values is not None and positive_code(attribute.values) is None:
            wanted = "a label must be {0,1}, {NO,YES} or {false,true}"
            message = f"label {short(attribute.name)} has the values {listed(attribute.values)}; {wanted}"
            fail(tables[0].path, attribute.line, message)
        yes = positive_code(attribute.values)
        label_plan.add(column, None if yes in (None, 1) else yes, attribute.name)
    if not plan.source:
        fail(tables[0].path, None, "no feature is left besides the labels")
    Y = _apply(values, label_plan)  # before X, and made small at once: it halves the peak of memory
    _check_labels(Y, tables, labels)
    Y = Y.astype(np.int8 if sparse.issparse(Y) else np.uint8)
    X = _fill(_apply(values, plan), plan, tables, missing)
    return Encoded(X, Y, tuple(plan.names), tuple(notices))


def _stack(tables: Sequence[ArffTable]) -> Matrix:
    """The rows of all tables, the nominal codes of the later ones translated to the first one's declarations."""
    first = tables[0]
    for other in tables[1:]:
        if first.is_sparse != other.is_sparse:
            fail(other.path, None, f"is {'sparse' if other.is_sparse else 'dense'}, unlike {first.path.name}")
        if len(first.attributes) != len(other.attributes):
            fail(
                other.path,
                None,
                f"{len(other.attributes)} attributes, but {first.path.name} has {len(first.attributes)}",
            )
        for one, two in zip(first.attributes, other.attributes, strict=True):
            if one.name != two.name:
                fail(
                    other.path,
                    two.line,
                    f"attribute {short(two.name)} where {first.path.name}:{one.line} has {short(one.name)}",
                )
            if one.values != two.values:
                fail(
                    other.path,
                    two.line,
                    f"attribute {short(two.name)} is declared otherwise than in {first.path.name}:{one.line}",
                )
    if len(tables) == 1:
        return first.values
    if first.is_sparse:
        return sparse.csr_array(sparse.vstack([table.values for table in tables], format="csr"))
    return np.concatenate([table.values for table in tables])


def _column(values: Matrix, column: int) -> np.ndarray:
    return values[:, [column]].toarray().ravel() if sparse.issparse(values) else values[:, column]


def _identifier_values(values: Matrix, column: int, attribute: Attribute) -> int:
    """The number of values if the nominal identifies the rows (as many values as rows), else 0."""
    n = values.shape[0]
    assert attribute.values is not None
    if len(attribute.values) < n or n < 3 or (len(attribute.values) > n and n < MANY_ROWS):
        return 0
    return n if len(np.unique(_column(values, column))) == n else 0


def _apply(values: Matrix, plan: _Plan) -> Matrix:
    if sparse.issparse(values):
        return _apply_sparse(values, plan)
    if plan.plain:
        return np.ascontiguousarray(values[:, plan.source])
    X = np.empty((values.shape[0], len(plan.source)))
    for j, (source, code) in enumerate(zip(plan.source, plan.code, strict=True)):
        column = values[:, source]
        X[:, j] = column if code is None else np.where(np.isnan(column), np.nan, column == code)
    return X


def _apply_sparse(values: sparse.csr_array, plan: _Plan) -> sparse.csr_array:
    n, m = values.shape
    target = np.full(m, -1, dtype=np.int32)
    for j, (source, code) in enumerate(zip(plan.source, plan.code, strict=True)):
        if code is None:
            target[source] = j
    columns = target[values.indices]
    kept = columns >= 0
    indptr = np.concatenate(([0], np.cumsum(kept, dtype=np.int32)), dtype=np.int32)[values.indptr]
    X = sparse.csr_array((values.data[kept], columns[kept], indptr), shape=(n, len(plan.source)))
    if not plan.plain:
        # Rare in sparse files: a nominal whose first (omitted) value is not "no", or with more values than two.
        rows, cols, data = [], [], []
        for j, (source, code) in enumerate(zip(plan.source, plan.code, strict=True)):
            if code is not None:
                column = _column(values, source)
                column = np.where(np.isnan(column), np.nan, column == code)
                there = np.flatnonzero(column)
                rows.append(there)
                cols.append(np.full(len(there), j))
                data.append(column[there])
        coordinates = (np.concatenate(rows), np.concatenate(cols))
        X = X + sparse.csr_array((np.concatenate(data), coordinates), shape=X.shape)
        X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    X.sort_indices()
    return X


def _fail_at(tables: Sequence[ArffTable], row: int, message: str) -> NoReturn:
    for table in tables:
        if row < len(table.lines):
            fail(table.path, int(table.lines[row]), f"row {row + 1}: {message}")
        row -= len(table.lines)
    raise AssertionError("no such row")


def _first(matrix: Matrix, wrong: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the first entry marked in `wrong` (a mask of the matrix, or of its stored entries)."""
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    if sparse.issparse(matrix):
        return int(np.searchsorted(matrix.indptr, at, side="right")) - 1, int(matrix.indices[at])
    row, column = np.unravel_index(at, matrix.shape)
    return int(row), int(column)


def _check_labels(Y: Matrix, tables: Sequence[ArffTable], labels: Sequence[int]) -> None:
    data = Y.data if sparse.issparse(Y) else Y
    found = _first(Y, (data != 0) & (data != 1))  # NaN is neither
    if found is None:
        return
    name = tables[0].attributes[labels[found[1]]].name
    value = Y[found]
    if np.isnan(value):
        _fail_at(tables, found[0], f"label {short(name)} has no value ('?'); missing labels cannot be filled")
    _fail_at(tables, found[0], f"label {short(name)} has the value {value:g}; a label must be 0 or 1")


def _fill(X: Matrix, plan: _Plan, tables: Sequence[ArffTable], missing: Missing) -> Matrix:
    is_sparse = sparse.issparse(X)
    gaps = np.isnan(X.data if is_sparse else X)
    first = _first(X, gaps)
    if first is None:
        return X
    if missing == "error":
        name = tables[0].attributes[plan.source[first[1]]].name
        message = (
            f"attribute {short(name)} has no value ('?'); fill such gaps with the option missing: mean or missing: zero"
        )
        _fail_at(tables, first[0], message)
    columns = X.indices[gaps] if is_sparse else np.nonzero(gaps)[1]
    filling = np.zeros(X.shape[1])
    if missing == "mean":
        present = X.shape[0] - np.bincount(columns, minlength=X.shape[1])
        if not present.all():
            name = plan.names[int(np.argmin(present))]
            fail(
                tables[0].path, None, f"feature {short(name)} has no value in any row, so missing: mean cannot fill it"
            )
        if is_sparse:
            sums = np.bincount(X.indices[~gaps], weights=X.data[~gaps], minlength=X.shape[1])
        else:
            sums = np.nansum(X, axis=0)
        filling = sums / present
    if is_sparse:
        X.data[gaps] = filling[columns]
        X.eliminate_zeros()
    else:
        X[gaps] = filling[columns]
    return X
