"""The one encoder: a table of features and a table of labels, read in any form, become X and Y.

It knows yes/no values, one-hot columns, missing values and labels, and finds the bad cell of any table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.content import Dataset
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.table import Matrix, Origins, Table, stored_values, take
from mlcdr.data.texts import Texts, is_texts
from mlcdr.errors import DataError
from mlcdr.numerics.label_forms import NotALabel, as_indicators
from mlcdr.numerics.yes_no import BINARY

Missing = Literal["error", "keep", "mean", "zero"]


class MissingValueError(DataError):
    """A value is missing, and `missing` is "error"."""


# In fewer rows, the values of an ordinary nominal may all differ by chance; in this many, it is an identifier.
MANY_ROWS = 50


def positive_code(values: tuple[str, ...] | None) -> int | None:
    """The position of the value that means yes (YES, 1, true, ...), None if the values are not a known yes/no pair."""
    folded = [value.casefold() for value in values or ()]
    pair = BINARY.get(frozenset(folded))
    return folded.index(pair[1]) if pair and len(folded) == 2 else None


def encode(features: Table, labels: Table, missing: Missing) -> Dataset:
    """Encode the features and the labels of a data set as X and Y.

    Parameters
    ----------
    features, labels : Table
        With the same rows. X may be the features' own values, changed in place.
    missing : {"error", "keep", "mean", "zero"}
        As in `fill`.

    Returns
    -------
    Dataset
        Without name and checksum. X is n×d float64, CSR if the table is sparse. A yes/no nominal becomes one 0/1
        column, any other one column per value ("location=3"), an identifier none. Y is n×K of {0, 1}: uint8, or int8
        CSR if X is CSR.

    Raises
    ------
    DataError
        For a missing value that may not be filled, a label that is not binary, or if no feature is left.
    """
    _check_label_words(labels)
    label_columns = list_columns(labels, range(len(labels.attributes)))
    used, notices = _leave_out_identifiers(features)
    columns = list_columns(features, used)
    if not columns:
        fail(features.path, "no feature is left besides the labels")
    n = features.values.shape[0]
    features.origins.check_memory(
        bytes_of_columns(features, columns) + n * len(label_columns),
        f"{len(columns):,} features and {len(label_columns):,} labels of {n:,} rows",
    )
    Y = _encode_labels(labels, label_columns, features.is_sparse)
    label_names = tuple(column.name for column in label_columns)
    X = take_columns(features.values, columns)
    sources = [features.attributes[column.source].name for column in columns]
    n_features = len(features.attributes)
    n_nominal = sum(attribute.codes is not None for attribute in features.attributes)
    nominal = {}
    for source in used:
        attribute = features.attributes[source]
        if attribute.values and attribute.values != ("0", "1"):
            nominal[attribute.name] = attribute.values
    missing_in = fill(X, sources, features.origins, missing)
    return Dataset(
        name="",
        X=X,
        Y=Y,
        feature_names=tuple(column.name for column in columns),
        label_names=label_names,
        xml_label_names=label_names,
        checksum="",
        declared_features=n_features,
        declared_nominal=n_nominal,
        declared_numeric=0 if is_texts(X) else n_features - n_nominal,
        notices=tuple(notices),
        missing=missing_in,
        nominal=nominal,
        counted_from=features.counted_from,
        dates=features.dates,
        fills=_list_fills(X, missing),
    )


def _list_fills(X: Matrix, missing: Missing) -> tuple[float, ...] | None:
    """What a missing value of each column has become."""
    if is_texts(X) or missing not in ("mean", "zero"):
        return None
    if missing == "zero":
        return (0.0,) * X.shape[1]
    means: list[float] = np.ravel(X.mean(axis=0)).tolist()  # of what is filled, the mean of the others
    return tuple(means)


def _leave_out_identifiers(table: Table) -> tuple[list[int], list[str]]:
    """The positions of the features that are no identifiers, and a notice for each of the others."""
    used = []
    notices = []
    for source, attribute in enumerate(table.attributes):
        if attribute.codes is not None and _is_identifier(table, source):
            n = table.values.shape[0]
            notices.append(f"feature {quote(attribute.name)} dropped: an identifier ({n} values in {n} rows)")
        else:
            used.append(source)
    return used, notices


def _is_identifier(table: Table, source: int) -> bool:
    """Whether the values of a nominal attribute differ in all rows, and not by chance."""
    values = table.attributes[source].values or ()
    n = table.values.shape[0]
    by_chance = n < 3 or (len(values) > n and n < MANY_ROWS)
    if len(values) < n or by_chance or positive_code(values) is not None:
        return False
    return len(np.unique(table.column(source))) == n


# -------------------------------------------------------------------- columns


class Column(NamedTuple):
    """A column of X or Y: the attribute at `source`, or, if `code` is not None, whether its value is `code` (0/1)."""

    source: int
    code: float | None
    name: str


def list_columns(table: Table, sources: Sequence[int]) -> list[Column]:
    """The columns that some attributes become; DataError where their names take more memory than they may."""
    letters = 0
    for source in sources:
        attribute = table.attributes[source]
        letters += len(attribute.name) * len(attribute.values or ()) + sum(map(len, attribute.values or ()))
    table.origins.check_memory(letters, "the names of the columns")
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


def bytes_of_columns(table: Table, columns: Sequence[Column]) -> int:
    """The memory that `take_columns` takes: a dense matrix, or of a sparse one the columns that it makes dense."""
    made = columns
    if table.is_sparse:
        made = [column for column in columns if column.code is not None]
    return 8 * table.values.shape[0] * len(made)


def take_columns(values: Matrix, columns: Sequence[Column]) -> Matrix:
    """The matrix of some columns, which is `values` itself where all its columns stay; NaN stays NaN."""
    sources = [column.source for column in columns]
    coded = [j for j, column in enumerate(columns) if column.code is not None]
    if not coded and sources == list(range(values.shape[1])):
        return values
    X = take(values, sources)
    if not coded:
        return X
    codes = [columns[j].code for j in coded]
    if not sparse.issparse(X):
        X[:, coded] = _indicate(X[:, coded], codes)
        return X
    plain = np.setdiff1d(np.arange(len(columns)), coded)
    marks = _indicate(X[:, coded].toarray(), codes)
    both = sparse.hstack([X[:, plain], marks], format="csr")
    return take(both, np.argsort([*plain, *coded]).tolist())


def _indicate(values: np.ndarray, codes: Sequence[float | None]) -> np.ndarray:
    """Whether each value is the code of its column (1 or 0); NaN stays NaN."""
    return np.where(np.isnan(values), np.nan, values == np.array(codes, dtype=float))


# -------------------------------------------------------------------- checks of cells, and missing values


def _first_cell(matrix: Matrix, wrong: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int] | None:
    """Row and column of the first entry, row by row, for which `wrong` is true; it must be false for 0."""
    found = wrong(stored_values(matrix))
    if not found.any():
        return None
    at = int(found.argmax())
    if not sparse.issparse(matrix):
        row, column = divmod(at, matrix.shape[1])
        return row, column
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    return row, int(matrix.indices[at])


def _check_label_words(table: Table) -> None:
    """Raise DataError for a label of words that are no yes/no pair."""
    for attribute in table.attributes:
        if attribute.values is not None and positive_code(attribute.values) is None:
            found = f"label {quote(attribute.name)} has the values {list_values(attribute.values)}"
            line = Line(table.path, attribute.line)
            line.fail(f"{found}; a label must be {{0,1}}, {{NO,YES}} or another such pair")


def _encode_labels(table: Table, columns: Sequence[Column], is_sparse: bool) -> Matrix:
    """Y, sparse or not; DataError for a value that is neither 0 nor 1 (in all of Y, -1 for 0)."""
    try:
        Y, _ = as_indicators(take_columns(table.values, columns))
    except NotALabel as error:
        table.origins.fail(error.row, f"label {quote(table.attributes[error.column].name)} {error.problem}")
    if is_sparse:
        return sparse.csr_array(Y, dtype=np.int8)
    return Y.toarray().view(np.uint8) if sparse.issparse(Y) else Y


def fill(X: Matrix, sources: Sequence[str], origins: Origins, missing: Missing, remedy: str = "") -> dict[str, int]:
    """Check the cells of X and fill those that are missing, in place.

    Parameters
    ----------
    X : ndarray, csr_array or texts
        NaN, or an empty text, is a missing value.
    sources : sequence of str
        For each column of X the name of the feature from which it was made.
    origins : Origins
    missing : {"error", "keep", "mean", "zero"}
        Treatment of a missing feature value. "mean": the mean of the encoded column over all rows that have a value
        (for a nominal: the share of each value); "keep": NaN, in all columns of a nominal; "zero": 0.
    remedy : str
        What to do about a missing value that is refused; default: the options of a data set.

    Returns
    -------
    dict
        The number of missing values of each feature that has any.

    Raises
    ------
    DataError
        For a value that is infinite, or a missing one that may not be filled.
    """
    if is_texts(X):
        return _count_empty_texts(X, sources[0], origins, missing)
    infinite = _first_cell(X, np.isinf)
    if infinite is not None:
        row, column = infinite
        origins.fail(
            row, f"feature {quote(sources[column])} has a value that is infinite, or too large for a 64-bit number"
        )
    entries = stored_values(X)
    gaps = np.isnan(entries)
    columns = X.indices[gaps] if sparse.issparse(X) else np.nonzero(gaps)[1]
    counts = np.bincount(columns, minlength=X.shape[1])
    found = {sources[j]: int(counts[j]) for j in np.flatnonzero(counts).tolist()}
    if not found or missing == "keep":
        return found
    if missing == "error":
        _refuse_gaps(X, sources, origins, found, remedy)
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


def _refuse_gaps(
    X: Matrix, sources: Sequence[str], origins: Origins, found: Mapping[str, int], remedy: str
) -> NoReturn:
    """Raise MissingValueError about the first missing value, with the number of all of them and a remedy."""
    cell = _first_cell(X, np.isnan)
    assert cell is not None
    row, column = cell
    each = [f"{name} ({count})" for name, count in found.items()]
    more = f" and {len(each) - 5} more features" if len(each) > 5 else ""
    total = sum(found.values())
    number = f" ({total} are missing: {', '.join(each[:5])}{more})" if total > 1 else ""
    remedy = remedy or (
        "`missing: keep` leaves gaps to a step of the method, `missing: mean` or `zero` fills them for all rows "
        f"(in a config: `{{{origins.path.name}: {{missing: keep}}}}`; of a command on data: `--set missing=keep`)"
    )
    origins.fail(row, f"feature {quote(sources[column])} has no value{number}; {remedy}", MissingValueError)


def _count_empty_texts(texts: Texts, name: str, origins: Origins, missing: Missing) -> dict[str, int]:
    """The number of empty or blank texts, by the column's name; DataError for any, unless `missing` is "keep"."""
    empty = [row for row, text in enumerate(texts[:, 0]) if not text.strip()]
    if not empty:
        return {}
    if missing == "error":
        what = f"column {quote(name)} has no text; `missing: keep` takes it as an empty one"
        origins.fail(empty[0], what, MissingValueError)
    if missing != "keep":
        fail(origins.path, f"missing: {missing} is for numbers; `missing: keep` takes texts that are empty")
    return {name: len(empty)}
