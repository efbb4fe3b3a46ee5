"""Encoding of a table as X and Y: yes/no values, one-hot columns, missing values, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.table import Matrix, Table, check_there, stack_rows
from mlcdr.data.text import Line, fail, list_values, quote
from mlcdr.data.texts import Texts
from mlcdr.errors import DataError

Missing = Literal["error", "keep", "mean", "zero"]


class MissingValueError(DataError):
    """A value is missing, and `missing` is "error"."""


@contextmanager
def _of_missing_values() -> Iterator[None]:
    """Turn a DataError into a MissingValueError."""
    try:
        yield
    except DataError as error:
        raise MissingValueError(str(error)) from None


# The pairs of nominal values with a known meaning, as (no, yes); case is ignored.
BINARY = {
    frozenset(pair): pair
    for pair in [("0", "1"), ("-1", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on")]
}

# In fewer rows, the values of an ordinary nominal may all differ by chance; in this many, it is an identifier.
MANY_ROWS = 50


def check_indices(matrix: Matrix) -> None:
    """Raise ValueError for a CSR or CSC matrix from a file if its indices are out of bounds.

    `check_format` does not check the index pointers if the last is 0; wrong ones would then crash the process.
    """
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its index pointers decrease")
    matrix.check_format(full_check=True)


def positive_code(values: tuple[str, ...] | None) -> int | None:
    """The position of the value that means yes (YES, 1, true, ...), None if the values are not a known yes/no pair."""
    folded = [value.casefold() for value in values or ()]
    pair = BINARY.get(frozenset(folded))
    return folded.index(pair[1]) if pair and len(folded) == 2 else None


class _Column(NamedTuple):
    """A column of X or Y: the attribute at `source`, or, if `code` is not None, whether its value is `code` (0/1)."""

    source: int
    code: float | None
    name: str


@dataclass(frozen=True)
class Encoded:
    """The result of `encode`. `missing`: number of missing values of each feature that has any.

    `nominal`: the values of each nominal feature, in the order of their codes; without features of exactly "0", "1".
    """

    X: Matrix
    Y: Matrix
    feature_names: tuple[str, ...]
    notices: tuple[str, ...]
    missing: dict[str, int]
    nominal: dict[str, tuple[str, ...]]


def encode(
    tables: Sequence[Table], labels: Sequence[int], missing: Missing, texts: tuple[str, Texts] | None = None
) -> Encoded:
    """Encode one table, or the train and the test table of one data set, as X and Y (n×0 without `labels`).

    Parameters
    ----------
    tables : sequence of Table
        Tables with the same attributes; their rows follow each other.
    labels : sequence of int
        The positions of the labels among the attributes, ascending.
    missing : {"error", "keep", "mean", "zero"}
        Treatment of a missing feature value. "mean": the mean of the encoded column over all rows that have a value
        (for a nominal: the share of each value); "keep": NaN, in all columns of a nominal; "zero": 0.
    texts : (name, n×1 strings), optional
        The name and cells of the text column, if the features are texts; the table then has only labels.

    Returns
    -------
    Encoded
        X is n×d float64, CSR if the tables are sparse. A yes/no nominal becomes one 0/1 column, any other one column
        per value ("location=3"), an identifier none. Y is n×K of {0, 1}: uint8, or int8 CSR if the tables are sparse.

    Raises
    ------
    DataError
        For a missing value that may not be filled, a label that is not binary, tables with different attributes, or
        if no feature is left.
    """
    attributes = tables[0].attributes
    values = _stack(tables)
    features: list[_Column] = []
    notices: list[str] = []
    for source in sorted(set(range(len(attributes))) - set(labels)):
        attribute = attributes[source]
        n_values = _count_identifier_values(values, source, attribute)
        if n_values:
            counted = f"({n_values} values in {n_values} rows)"
            notices.append(f"feature {quote(attribute.name)} dropped: an identifier {counted}")
        else:
            features += _list_columns(source, attribute)
    for source in labels:
        attribute = attributes[source]
        if attribute.values is not None and positive_code(attribute.values) is None:
            wanted = "a label must be {0,1}, {NO,YES} or {false,true}"
            message = f"label {quote(attribute.name)} has the values {list_values(attribute.values)}; {wanted}"
            Line(tables[0].path, attribute.line).fail(message)
    if not features and texts is None:
        fail(tables[0].path, "no feature is left besides the labels")
    # Y before X, and converted to a small type at once: this halves the peak of memory.
    Y = _take(values, [column for source in labels for column in _list_columns(source, attributes[source])])
    _check_labels(Y, tables, labels)
    Y = Y.astype(np.int8 if sparse.issparse(Y) else np.uint8)
    if texts is not None:
        return Encoded(texts[1], Y, texts[:1], (), _check_texts(*texts, tables, missing), {})
    X = _take(values, features)
    gaps = _fill(X, features, tables, missing)
    used = (attributes[source] for source in dict.fromkeys(column.source for column in features))
    nominal = {each.name: each.values for each in used if each.values not in (None, ("0", "1"))}
    return Encoded(X, Y, tuple(column.name for column in features), tuple(notices), gaps, nominal)


def find_attributes(
    feature_names: Sequence[str], nominal: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, str | None]]:
    """Column of X → its attribute, and the value of the attribute that it indicates by 1 (None: a number)."""
    found: dict[str, tuple[str, str | None]] = {name: (name, None) for name in feature_names}
    for name, known in nominal.items():
        for column in _list_columns(0, Attribute(name, {word: k for k, word in enumerate(known)}, False, 0)):
            found[column.name] = name, known[1 if column.code is None else int(column.code)]
    return found


def encode_rows(
    table: Table,
    wanted: Mapping[str, tuple[str, str | None]],
    nominal: Mapping[str, Sequence[str]],
    missing: Missing,
) -> Matrix:
    """Encode new rows as X (n×d) with the columns `wanted` (of `find_attributes`) and the nominal values `nominal`.

    The attributes may be in any order; further ones are ignored.

    Raises
    ------
    DataError
        For an absent attribute, a nominal value that is not in `nominal`, words in place of numbers, or a missing value
        that may not be filled.
    """
    sources = {attribute.name: source for source, attribute in enumerate(table.attributes)}
    check_there(table.path, sources, [name for name, _ in wanted.values()])
    columns = []
    for feature, (name, word) in wanted.items():
        attribute = table.attributes[sources[name]]
        if word is not None:
            code = _code_of(word) if attribute.codes is None else attribute.codes.get(word, -1)
            columns.append(_Column(sources[name], code, feature))
        elif not attribute.values:  # numbers, or no value at all
            columns.append(_Column(sources[name], None, feature))
        elif positive_code(attribute.values) is not None:
            columns.append(_list_columns(sources[name], attribute)[0])
        else:
            has = f"column {quote(name)} has the values {list_values(attribute.values)}"
            Line(table.path, attribute.line).fail(f"{has}; the model was trained with numbers there")
    for name, known in nominal.items():
        _check_values(table, sources[name], known)
    X = _take(table.values, columns)
    _fill(X, columns, [table], missing)
    return X


def _code_of(word: str) -> float:
    """A nominal value as a number, −1 if it is not a number."""
    try:
        return float(word)
    except ValueError:
        return -1.0


def _check_values(table: Table, source: int, known: Sequence[str]) -> None:
    """Raise DataError for a value of a nominal attribute that a model was not trained with."""
    attribute = table.attributes[source]
    if attribute.codes is not None and set(attribute.codes) <= set(known):
        return
    codes = [_code_of(word) for word in known] if attribute.codes is None else map(attribute.codes.get, known)
    column = _column(table.values, source)
    wrong = np.flatnonzero(~np.isin(column, [code for code in codes if code is not None]) & ~np.isnan(column))
    if len(wrong):
        code = column[wrong[0]]
        word = f"{code:g}" if attribute.values is None else attribute.values[int(code)]
        has = f"column {quote(attribute.name)} has the value {quote(word)}"
        _fail_at([table], wrong[0], f"{has}; the model was trained with {list_values(known)}")


def _stack(tables: Sequence[Table]) -> Matrix:
    """The rows of all tables, which must declare the same attributes."""
    first = tables[0]
    for other in tables[1:]:
        if first.is_sparse != other.is_sparse:
            fail(other.path, f"is {'sparse' if other.is_sparse else 'dense'}, unlike {first.path.name}")
        m, found = len(first.attributes), len(other.attributes)
        if m != found:
            fail(other.path, f"{found} attributes, but {first.path.name} has {m}")
        for one, two in zip(first.attributes, other.attributes, strict=True):
            place = f"{first.path.name}:{one.line}"
            if one.name != two.name:
                message = f"attribute {quote(two.name)} where {place} has {quote(one.name)}"
                Line(other.path, two.line).fail(message)
            if one.values != two.values:
                Line(other.path, two.line).fail(f"attribute {quote(two.name)} is declared otherwise than in {place}")
    if len(tables) == 1:
        return first.values
    return stack_rows([table.values for table in tables])


def _list_columns(source: int, attribute: Attribute) -> list[_Column]:
    """The columns that an attribute becomes: one, or one for each value of a nominal that is not a yes/no pair."""
    values, name = attribute.values, attribute.name
    yes = positive_code(values)
    if values is None or yes == 1:
        return [_Column(source, None, name)]
    if yes == 0:
        return [_Column(source, 0, name)]
    return [_Column(source, code, f"{name}={value}") for code, value in enumerate(values)]


def _column(values: Matrix, column: int) -> np.ndarray:
    return values[:, [column]].toarray().ravel() if sparse.issparse(values) else values[:, column]


def _count_identifier_values(values: Matrix, column: int, attribute: Attribute) -> int:
    """The number of rows if a nominal attribute is an identifier (its values in all rows differ), else 0."""
    n, declared = values.shape[0], len(attribute.codes or ())
    if declared < max(n, 3) or (declared > n and n < MANY_ROWS) or positive_code(attribute.values) is not None:
        return 0
    return n if len(np.unique(_column(values, column))) == n else 0


def _take(values: Matrix, columns: Sequence[_Column]) -> Matrix:
    """The matrix of some columns; NaN stays NaN."""
    sources = [column.source for column in columns]
    coded = [j for j, column in enumerate(columns) if column.code is not None]
    if not sparse.issparse(values):
        first = sources[0] if sources else 0
        if sources == list(range(first, first + len(sources))):  # adjacent columns are copied faster
            X = values[:, first : first + len(sources)].copy(order="C")
        else:
            X = np.take(values, sources, axis=1)
        for j in coded:
            X[:, j] = _indicator(X[:, j], columns[j].code)
        return X
    X = values[:, sources]
    if coded:
        # Rare in sparse files: a yes/no nominal whose first (omitted) value is "yes", or any other nominal.
        X.data[np.isin(X.indices, coded)] = 0
        by_column = values.tocsc()
        places: list[np.ndarray] = []
        data: list[np.ndarray] = []
        for j in coded:
            column = _indicator(by_column[:, [sources[j]]].toarray().ravel(), columns[j].code)
            rows = np.flatnonzero(column).astype(np.int32)
            places.append(np.stack((rows, np.full_like(rows, j))))
            data.append(column[rows])
        X = X + sparse.csr_array((np.concatenate(data), np.concatenate(places, axis=1)), shape=X.shape)
    X.sort_indices()
    return X


def _indicator(column: np.ndarray, code: float | None) -> np.ndarray:
    return np.where(np.isnan(column), np.nan, column == code)


def _find(matrix: Matrix, test: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns, row by row, of the entries for which `test` is true; it must be false for 0."""
    if not sparse.issparse(matrix):
        found = test(matrix)
        rows, columns = np.nonzero(found) if found.any() else np.zeros((2, 0), dtype=np.intp)
        return rows, columns
    at = np.flatnonzero(test(matrix.data))
    return np.searchsorted(matrix.indptr, at, side="right") - 1, matrix.indices[at]


def _fail_at(tables: Sequence[Table], row: int, message: str) -> NoReturn:
    first = tables[0].values.shape[0]
    place = tables[0].place(row) if row < first else tables[1].place(row - first)
    place.fail(f"row {row + 1}: {message}")


def _check_labels(Y: Matrix, tables: Sequence[Table], labels: Sequence[int]) -> None:
    rows, columns = _find(Y, lambda entries: (entries != 0) & (entries != 1))  # NaN is neither
    if not len(rows):
        return
    name, value = quote(tables[0].attributes[labels[columns[0]]].name), Y[rows[0], columns[0]]
    if np.isnan(value):
        _fail_at(tables, rows[0], f"label {name} has no value; missing labels cannot be filled")
    _fail_at(tables, rows[0], f"label {name} has the value {value:g}; a label must be 0 or 1")


def _check_texts(name: str, texts: Texts, tables: Sequence[Table], missing: Missing) -> dict[str, int]:
    """The number of empty or blank texts, by the column's name; DataError for any, unless `missing` is "keep"."""
    empty = [row for row, text in enumerate(texts[:, 0]) if not text.strip()]
    if empty and missing == "error":
        with _of_missing_values():
            _fail_at(tables, empty[0], f"column {quote(name)} has no text; `missing: keep` takes it as an empty one")
    if empty and missing != "keep":
        fail(tables[0].path, f"missing: {missing} is for numbers; `missing: keep` takes texts that are empty")
    return {name: len(empty)} if empty else {}


def _fill(X: Matrix, features: Sequence[_Column], tables: Sequence[Table], missing: Missing) -> dict[str, int]:
    """Fill the missing values of X in place, as `fill`; return their number by attribute."""

    def fail_at(row: int, column: int, message: str) -> NoReturn:
        _fail_at(tables, row, f"feature {quote(tables[0].attributes[features[column].source].name)} {message}")

    gaps = fill(X, missing, tables[0].path, [column.name for column in features], fail_at)
    attributes = {column.name: tables[0].attributes[column.source].name for column in features}
    return {attributes[name]: count for name, count in gaps.items()}


def fill(
    X: Matrix, missing: Missing, path: Path, names: Sequence[str], fail_at: Callable[[int, int, str], NoReturn]
) -> dict[str, int]:
    """Fill the missing values (NaN) of X, n×d, in place, or keep them; return their number by column (if not 0).

    `fail_at(row, column, message)` raises an error.

    Raises
    ------
    DataError
        For a missing value that may not be filled, or, with "mean", a column without any value.
    """
    rows, columns = _find(X, np.isnan)
    if not len(rows):
        return {}
    counts = np.bincount(columns, minlength=X.shape[1])
    found = {names[j]: int(counts[j]) for j in np.flatnonzero(counts).tolist()}
    if missing == "keep":
        return found
    if missing == "error":
        each = [f"{name} ({count})" for name, count in found.items()]
        where = ", ".join(each[:5]) + (f" and {len(each) - 5} more features" if len(each) > 5 else "")
        number = f" ({len(rows)} are missing: {where})" if len(rows) > 1 else ""
        hint = (
            "`missing: keep` leaves gaps to a step of the method, `missing: mean` or `zero` fills them for all rows "
            f"(in a config: `{{{path.name}: {{missing: keep}}}}`; of a command on data: `--set missing=keep`)"
        )
        with _of_missing_values():
            fail_at(rows[0], columns[0], f"has no value{number}; {hint}")
    entries = X.data if sparse.issparse(X) else X
    gaps = np.isnan(entries)
    entries[gaps] = 0
    if missing == "mean":
        present = X.shape[0] - counts
        if not present.all():
            name = quote(names[int(np.argmin(present))])
            fail(path, f"feature {name} has no value in any row, so missing: mean cannot fill it")
        entries[gaps] = (X.sum(axis=0) / present)[columns]
    if sparse.issparse(X):
        X.eliminate_zeros()
    return found
