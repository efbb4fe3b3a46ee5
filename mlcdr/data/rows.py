"""New rows for a trained model: from a file or a DataFrame, with or without labels, encoded as the training data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from mlcdr.data.arff import read_arff
from mlcdr.data.arff_header import Attribute
from mlcdr.data.catalog_matlab import find_matlab_entry
from mlcdr.data.content import name_columns
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.encoding import Column, Missing, bytes_of_columns, columns_of, encode, fill, positive_code, take_columns
from mlcdr.data.files import is_path, locate
from mlcdr.data.forms import OPENML, TABLES, WITHOUT_FILES, check_form_options, read_options
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.table import Matrix, Origins, Table, stack_rows
from mlcdr.errors import DataError, plural, suggest_name
from mlcdr.numerics.other_frames import is_frame

Unknown = Literal["error", "missing"]
_REMEDY = (
    "the model was trained without gaps; `--set missing=zero` (in Python missing='zero') fills them with 0, and a "
    "model whose data set has `missing: mean` fills them as there"
)


@dataclass(frozen=True)
class Columns:
    """The columns of X that a model was trained with.

    Attributes
    ----------
    names, nominal, counted_from
        `feature_names`, `nominal` and `counted_from` of the training `Dataset`.
    is_text : bool
        Whether X is one column of texts.
    dates
        `dates` of the training `Dataset`.
    """

    names: Sequence[str]
    nominal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_text: bool = False
    counted_from: int | None = None
    dates: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def read(
        self,
        rows: Any,
        missing: Missing = "error",
        unknown: Unknown = "error",
        **options: Any,
    ) -> Matrix:
        """Read X (n×d) of new rows, with the order of columns and the codes of nominal values of the training data.

        A model that was trained with svmlight counts the features of svmlight as its training file does; what a file
        leaves out is 0.

        Parameters
        ----------
        rows : str, Path or DataFrame
            A data set as in `load_dataset`, or a DataFrame. Files and DataFrames need no labels. Columns that the
            training data did not have, such as labels, are left out.
        missing : {"error", "keep", "zero"}
            Treatment of missing values.
        unknown : {"error", "missing"}
            Treatment of a word that the training data did not have: refused, or a missing value. One warning says how
            many there are in each column.
        **options
            As in `load_dataset`.

        Raises
        ------
        DataError
            When a column is absent, has a word that the training data did not have (unless `unknown` allows it), words
            in place of numbers, a text in place of a date, or a missing value that may not be filled.
        """
        options = read_options("rows", missing, options)
        if unknown not in get_args(Unknown):
            raise DataError(f"unknown: must be one of {', '.join(get_args(Unknown))}, found {unknown!r}")
        if missing == "mean":
            raise DataError(
                "missing: the mean of new rows depends on which of them are read together; leave it out to fill gaps "
                "as in the training data, or give missing='zero'"
            )
        if is_frame(rows):
            return self._encode("frame", name_columns(rows, "feature"), missing, unknown, options)
        must_be_path = "path" in options or isinstance(rows, Path)
        place = str(options.pop("path", rows))
        if must_be_path and not is_path(place):
            place = f"./{place}"
        is_in_files = not place.startswith(OPENML) and options.keys().isdisjoint(WITHOUT_FILES)
        files = locate(place) if is_in_files else None
        if files is None or find_matlab_entry(files.name, files.paths[0]) is not None:
            return self._in_order(load_dataset(place, missing=missing, **options), place)
        check_form_options(files.paths[0], files.form, options)
        if files.form in TABLES:
            parts = [self._encode(files.form, path, missing, unknown, options) for path in files.paths]
            return stack_rows(parts)
        from mlcdr.data.arrays import read_arrays

        trained = None if self.counted_from is None else (self.names, self.counted_from)
        tables = read_arrays(files.form, files.paths, options, labelled=False, trained=trained)
        return self._in_order(encode(*tables, missing), place)

    def _in_order(self, found: Dataset, place: str) -> Matrix:
        """X of a data set of numbers, with its columns in the order of the training data."""
        _check_there(Path(place), found.feature_names, self.names)
        if list(found.feature_names) == list(self.names):
            return found.X
        where = {name: j for j, name in enumerate(found.feature_names)}
        return found.X[:, [where[name] for name in self.names]]

    def _encode(
        self,
        form: str,
        rows: Any,
        missing: Missing,
        unknown: Unknown,
        options: Mapping[str, Any],
    ) -> Matrix:
        """X of a table: a file or a DataFrame; its columns may be in any order, and further ones are ignored."""
        trained = self._attributes()
        names = [attribute.name for attribute in trained]
        if form == "arff":
            table = read_arff(rows)
            _check_there(table.path, table.names, names)
        else:
            from mlcdr.data.dates import encode_dates_as, find_date_columns
            from mlcdr.data.frames import code_words, read_frame, text_table

            texts = names if self.is_text else []
            made = find_date_columns(self.dates)
            frame, origin = read_frame(form, rows, options, list(self.nominal), texts, least=1)
            _check_there(origin.path, list(frame.columns), [made.get(name, name) for name in names])
            if self.is_text:
                return text_table(frame[names[0]], Origins(origin)).values
            # numbers stay numbers: "1" and "1.0" of the training rows' words are the same number
            words = [name for name in self.nominal if frame[name].dtype.kind not in "biufc"]
            frame = encode_dates_as(frame, self.dates, Origins(origin))
            table = code_words(frame[names], Origins(origin), words)
        where = {name: source for source, name in enumerate(table.names)}
        if unknown == "missing":
            table = _without_unknown(table, trained)
        columns = []
        for attribute in trained:
            columns += _find_columns(table, where[attribute.name], attribute)
        table.origins.check_memory(
            bytes_of_columns(table, columns), f"{len(columns):,} features of {table.values.shape[0]:,} rows"
        )
        X = take_columns(table.values, columns)
        fill(X, [table.names[column.source] for column in columns], table.origins, missing, _REMEDY)
        return X

    def _attributes(self) -> list[Attribute]:
        """The features of the training data, in their order."""
        of_columns = {name: Attribute(name) for name in self.names}
        for name, known in self.nominal.items():
            attribute = Attribute(name, {word: code for code, word in enumerate(known)})
            of_columns |= {column.name: attribute for column in columns_of(0, attribute)}
        return list({attribute.name: attribute for attribute in of_columns.values()}.values())


def _check_there(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError if a column that a model was trained with is absent."""
    there = set(names)
    absent = [name for name in wanted if name not in there]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        hint = suggest_name(absent[0], names) or f"; there are {list_values(names)}"
        fail(path, f"the model was trained with a column {quote(absent[0])}{more}, which is not there{hint}")


def _find_columns(table: Table, source: int, trained: Attribute) -> list[Column]:
    """The columns of a table that an attribute of the training data became, with its codes in the table."""
    found = table.attributes[source]
    if trained.codes is None:
        if not found.values:  # numbers, or no value at all
            return [Column(source, None, found.name)]
        if positive_code(found.values) is None:
            has = f"column {quote(found.name)} has the values {list_values(found.values)}"
            Line(table.path, found.line).fail(f"{has}; the model was trained with numbers there")
        return columns_of(source, found)
    unknown = _find_unknown(table, source, trained)
    if unknown:
        row, word = next(iter(unknown.items()))
        table.origins.fail(
            row,
            f"column {quote(found.name)} has the value {quote(word)}; the model was trained with "
            f"{list_values(trained.codes)}; `--unknown missing` (in Python, unknown='missing') takes it as missing",
        )
    codes = [_code_of(word, found) for word in trained.codes]
    columns = []
    for own in columns_of(source, trained):
        code = codes[1 if own.code is None else int(own.code)]
        columns.append(Column(source, code, own.name))
    return columns


def _find_unknown(table: Table, source: int, trained: Attribute) -> dict[int, str]:
    """Row → the word that a column has there and the training data did not have."""
    found = table.attributes[source]
    codes = [_code_of(word, found) for word in trained.codes or ()]
    column = table.column(source)
    unknown = {}
    for row in np.flatnonzero(~np.isin(column, codes) & ~np.isnan(column)).tolist():
        code = column[row]
        unknown[row] = f"{code:g}" if found.values is None else found.values[int(code)]
    return unknown


def _without_unknown(table: Table, trained: Sequence[Attribute]) -> Table:
    """A table with gaps in place of words that the training data did not have; a warning says how many there are."""
    where = {name: source for source, name in enumerate(table.names)}
    values = table.values.tolil() if table.is_sparse else table.values
    remarks = []
    total = 0
    for attribute in trained:
        if attribute.codes is None:
            continue
        source = where[attribute.name]
        unknown = _find_unknown(table, source, attribute)
        if unknown:
            values[list(unknown), source] = math.nan
            words = list_values(dict.fromkeys(unknown.values()))
            remarks.append(f"{quote(attribute.name)} ({plural(len(unknown), 'row')}: {words})")
            total += len(unknown)
    if not total:
        return table
    counted = plural(total, "word")
    text = f"{table.path}: {counted} that the training data did not have, taken as missing: {', '.join(remarks)}"
    warnings.warn(text, UserWarning, stacklevel=2)
    return replace(table, values=sparse.csr_array(values) if table.is_sparse else values)


def _code_of(word: str, attribute: Attribute) -> float:
    """The code of a word in a column, which may be of numbers; NaN if it has no such value."""
    if attribute.codes is not None:
        return attribute.codes.get(word, math.nan)
    try:
        return float(word)
    except ValueError:
        return math.nan
