"""The one encoder: what was read in any form becomes X and Y.

It knows yes/no values, one-hot columns, missing values and labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.content import Dataset
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.table import Matrix, Origins, Table
from mlcdr.data.texts import Texts, is_texts
from mlcdr.errors import DataError

Missing = Literal["error", "keep", "mean", "zero"]

Tags: TypeAlias = tuple[tuple[str, ...], np.ndarray]
"""Names of labels and label sets (n×K), from a column of tags."""


class MissingValueError(DataError):
    """A value is missing, and `missing` is "error"."""


# The pairs of nominal values with a known meaning, as (no, yes); case is ignored.
_PAIRS = [("0", "1"), ("-1", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on")]
BINARY = {frozenset(pair): pair for pair in _PAIRS}

# In fewer rows, the values of an ordinary nominal may all differ by chance; in this many, it is an identifier.
MANY_ROWS = 50


def positive_code(values: tuple[str, ...] | None) -> int | None:
    """The position of the value that means yes (YES, 1, true, ...), None if the values are not a known yes/no pair."""
    folded = [value.casefold() for value in values or ()]
    pair = BINARY.get(frozenset(folded))
    return folded.index(pair[1]) if pair and len(folded) == 2 else None


# -------------------------------------------------------------------- from a table


class Column(NamedTuple):
    """A column of X or Y: the attribute at `source`, or, if `code` is not None, whether its value is `code` (0/1)."""

    source: int
    code: float | None
    name: str


class Selected(NamedTuple):
    """A table, and which of it are labels and texts.

    Attributes
    ----------
    table : Table
        Without the columns of tags and of text.
    labels : list of int
        The positions of the labels among the attributes, ascending.
    tags : Tags or None
        Labels from a column of tags, in place of `labels`.
    text : (name, n×1 strings) or None
        The column of text, if the features are texts; the table then has only labels.
    """

    table: Table
    labels: list[int]
    tags: Tags | None = None
    text: tuple[str, Texts] | None = None


def encode(selected: Selected, missing: Missing) -> Dataset:
    """Encode a table, or the stacked train and test table of one data set, as X and Y.

    Parameters
    ----------
    selected : Selected
    missing : {"error", "keep", "mean", "zero"}
        As in `complete`.

    Returns
    -------
    Dataset
        Without name and checksum. X is n×d float64, CSR if the table is sparse. A yes/no nominal becomes one 0/1
        column, any other one column per value ("location=3"), an identifier none. Y is n×K of {0, 1}: uint8, or int8
        CSR if the table is sparse.

    Raises
    ------
    DataError
        For a missing value that may not be filled, a label that is not binary, or if no feature is left.
    """
    table, labels, tags, text = selected
    of_features = sorted(set(range(len(table.attributes))) - set(labels))
    used, notices = _leave_out_identifiers(table, of_features)
    columns = list_columns(table, used)
    _check_binary(table, labels)
    if not columns and text is None:
        fail(table.path, "no feature is left besides the labels")

    # Y before X, and converted to a small type at once: this halves the peak of memory.
    label_names, Y = tags or _take_labels(table, labels)
    if table.is_sparse and not sparse.issparse(Y):  # from tags
        Y = sparse.csr_array(Y, dtype=np.int8)
    nominal = {}
    for source in used:
        attribute = table.attributes[source]
        if attribute.values and attribute.values != ("0", "1"):
            nominal[attribute.name] = attribute.values
    n_nominal = sum(table.attributes[source].codes is not None for source in of_features)
    if text is not None:
        name, X = text
        feature_names, sources = [name], [name]
    else:
        X = take_columns(table.values, columns)
        feature_names = [column.name for column in columns]
        sources = [table.attributes[column.source].name for column in columns]
    dataset = Dataset(
        name="",
        X=X,
        Y=Y,
        feature_names=tuple(feature_names),
        label_names=label_names,
        xml_label_names=label_names,
        checksum="",
        declared_features=1 if text else len(of_features),
        declared_nominal=n_nominal,
        declared_numeric=len(of_features) - n_nominal,
        notices=tuple(notices),
        nominal=nominal,
    )
    return complete(dataset, sources, table.origins, missing)


def _leave_out_identifiers(table: Table, sources: Sequence[int]) -> tuple[list[int], list[str]]:
    """The `sources` that are no identifiers, and a notice for each of the others."""
    used = []
    notices = []
    for source in sources:
        if _is_identifier(table, source):
            n = table.values.shape[0]
            name = quote(table.attributes[source].name)
            notices.append(f"feature {name} dropped: an identifier ({n} values in {n} rows)")
        else:
            used.append(source)
    return used, notices


def _is_identifier(table: Table, source: int) -> bool:
    """Whether the values of a nominal attribute differ in all rows, and not by chance."""
    attribute = table.attributes[source]
    n = table.values.shape[0]
    declared = len(attribute.codes or ())
    by_chance = n < 3 or (declared > n and n < MANY_ROWS)
    if declared < n or by_chance or positive_code(attribute.values) is not None:
        return False
    return len(np.unique(table.column(source))) == n


def _check_binary(table: Table, labels: Sequence[int]) -> None:
    """Raise DataError for a label that is declared with other values than a yes/no pair."""
    for source in labels:
        attribute = table.attributes[source]
        if attribute.values is not None and positive_code(attribute.values) is None:
            found = f"label {quote(attribute.name)} has the values {list_values(attribute.values)}"
            line = Line(table.path, attribute.line)
            line.fail(f"{found}; a label must be {{0,1}}, {{NO,YES}} or {{false,true}}")


def _take_labels(table: Table, labels: Sequence[int]) -> tuple[tuple[str, ...], Matrix]:
    """The names of the labels, and Y."""
    columns = list_columns(table, labels)
    names = tuple(column.name for column in columns)
    Y = take_columns(table.values, columns)
    return names, as_labels(Y, names, table.origins)


def list_columns(table: Table, sources: Sequence[int]) -> list[Column]:
    """The columns that some attributes become."""
    columns = []
    for source in sources:
        columns += columns_of(source, table.attributes[source])
    return columns


def columns_of(source: int, attribute: Attribute) -> list[Column]:
    """The columns that an attribute becomes: one, or one for each value of a nominal that is not a yes/no pair."""
    values = attribute.values
    name = attribute.name
    yes = positive_code(values)
    if values is None or yes == 1:
        return [Column(source, None, name)]
    if yes == 0:
        return [Column(source, 0, name)]
    return [Column(source, code, f"{name}={value}") for code, value in enumerate(values)]


def take_columns(values: Matrix, columns: Sequence[Column]) -> Matrix:
    """The matrix of some columns; NaN stays NaN."""
    sources = [column.source for column in columns]
    coded = [j for j, column in enumerate(columns) if column.code is not None]
    codes = [columns[j].code for j in coded]
    if not sparse.issparse(values):
        X = np.take(values, sources, axis=1)
        X[:, coded] = _indicate(X[:, coded], codes)
        return X
    X = values[:, sources]
    if coded:
        plain = np.setdiff1d(np.arange(len(columns)), coded)
        marks = _indicate(X[:, coded].toarray(), codes)
        both = sparse.hstack([X[:, plain], marks], format="csr")
        X = both[:, np.argsort([*plain, *coded])]
    X.sort_indices()
    return X


def _indicate(values: np.ndarray, codes: Sequence[float | None]) -> np.ndarray:
    """Whether each value is the code of its column (1 or 0); NaN stays NaN."""
    return np.where(np.isnan(values), np.nan, values == np.array(codes, dtype=float))


# -------------------------------------------------------------------- checks of cells, and missing values


def first_cell(matrix: Matrix, wrong: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int] | None:
    """Row and column of the first entry, row by row, for which `wrong` is true; it must be false for 0."""
    entries = matrix.data if sparse.issparse(matrix) else matrix
    found = wrong(entries)
    if not found.any():
        return None
    at = int(found.argmax())
    if not sparse.issparse(matrix):
        row, column = divmod(at, matrix.shape[1])
        return row, column
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    return row, int(matrix.indices[at])


def _is_no_label(entries: np.ndarray) -> np.ndarray:
    return (entries != 0) & (entries != 1)  # NaN is neither


def as_labels(Y: Matrix, names: Sequence[str], origins: Origins) -> Matrix:
    """Y (n×K) as {0, 1}: uint8, or int8 CSR.

    Raises
    ------
    DataError
        For any other value, or a missing one.
    """
    wrong = first_cell(Y, _is_no_label)
    if wrong is not None:
        row, column = wrong
        value = Y[row, column]
        label = f"label {quote(names[column])}"
        if np.isnan(value):
            origins.fail(row, f"{label} has no value; missing labels cannot be filled")
        origins.fail(row, f"{label} has the value {value:g}; a label must be 0 or 1")
    return Y.astype(np.int8 if sparse.issparse(Y) else np.uint8)


def complete(dataset: Dataset, sources: Sequence[str], origins: Origins, missing: Missing) -> Dataset:
    """Check the cells of X and fill those that are missing, in place; their numbers become `missing`.

    Parameters
    ----------
    dataset : Dataset
        In X, NaN is a missing value.
    sources : sequence of str
        For each column of X the name of the feature from which it was made.
    origins : Origins
    missing : {"error", "keep", "mean", "zero"}
        Treatment of a missing feature value. "mean": the mean of the encoded column over all rows that have a value
        (for a nominal: the share of each value); "keep": NaN, in all columns of a nominal; "zero": 0.

    Raises
    ------
    DataError
        For a value that is infinite, or a missing one that may not be filled.
    """
    if is_texts(dataset.X):
        gaps = _count_empty_texts(dataset.X, sources[0], origins, missing)
    else:
        gaps = fill(dataset.X, sources, origins, missing)
    return replace(dataset, missing=gaps)


def fill(X: Matrix, sources: Sequence[str], origins: Origins, missing: Missing) -> dict[str, int]:
    """Check and fill X in place, as `complete`; return the number of missing values by feature.

    Raises
    ------
    DataError
    """
    infinite = first_cell(X, np.isinf)
    if infinite is not None:
        row, column = infinite
        what = "has a value that is infinite, or too large for a 64-bit number"
        origins.fail(row, f"feature {quote(sources[column])} {what}")
    entries = X.data if sparse.issparse(X) else X
    gaps = np.isnan(entries)
    columns = X.indices[gaps] if sparse.issparse(X) else np.nonzero(gaps)[1]
    counts = np.bincount(columns, minlength=X.shape[1])
    found = {sources[j]: int(counts[j]) for j in np.flatnonzero(counts).tolist()}
    if not found or missing == "keep":
        return found
    if missing == "error":
        _refuse_gaps(X, sources, origins, found)
    entries[gaps] = 0
    if missing == "mean":
        present = X.shape[0] - counts
        if not present.all():
            name = quote(sources[int(np.argmin(present))])
            fail(origins.path, f"feature {name} has no value in any row, so missing: mean cannot fill it")
        entries[gaps] = (X.sum(axis=0) / present)[columns]
    if sparse.issparse(X):
        X.eliminate_zeros()
    return found


def _refuse_gaps(X: Matrix, sources: Sequence[str], origins: Origins, found: Mapping[str, int]) -> NoReturn:
    """Raise MissingValueError about the first missing value, with the number of all of them and a remedy."""
    cell = first_cell(X, np.isnan)
    assert cell is not None
    total = sum(found.values())
    each = [f"{name} ({count})" for name, count in found.items()]
    more = f" and {len(each) - 5} more features" if len(each) > 5 else ""
    number = f" ({total} are missing: {', '.join(each[:5])}{more})" if total > 1 else ""
    hint = (
        "`missing: keep` leaves gaps to a step of the method, `missing: mean` or `zero` fills them for all rows "
        f"(in a config: `{{{origins.path.name}: {{missing: keep}}}}`; of a command on data: `--set missing=keep`)"
    )
    origins.fail(cell[0], f"feature {quote(sources[cell[1]])} has no value{number}; {hint}", MissingValueError)


def _count_empty_texts(texts: Texts, name: str, origins: Origins, missing: Missing) -> dict[str, int]:
    """The number of empty or blank texts, by the column's name; DataError for any, unless `missing` is "keep"."""
    empty = [row for row, text in enumerate(texts[:, 0]) if not text.strip()]
    if empty and missing == "error":
        what = f"column {quote(name)} has no text; `missing: keep` takes it as an empty one"
        origins.fail(empty[0], what, MissingValueError)
    if empty and missing != "keep":
        fail(origins.path, f"missing: {missing} is for numbers; `missing: keep` takes texts that are empty")
    return {name: len(empty)} if empty else {}
