"""New rows for a trained model: from a file or a DataFrame, with or without labels, encoded as the training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mlcdr.data.arff import read_arff
from mlcdr.data.arff_header import Attribute
from mlcdr.data.catalog_matlab import find_matlab_entry
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.encoding import Column, Missing, columns_of, encode, fill, positive_code, take_columns
from mlcdr.data.files import is_path, locate
from mlcdr.data.forms import OPENML, TABLES, WITHOUT_FILES, check_form_options, option_problems
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.table import Matrix, Origins, Table, stack_rows
from mlcdr.errors import DataError, suggest_name


@dataclass(frozen=True)
class Columns:
    """The columns of X that a model was trained with.

    Attributes
    ----------
    names, nominal
        `feature_names` and `nominal` of the training `Dataset`.
    is_text : bool
        Whether X is one column of texts.
    """

    names: Sequence[str]
    nominal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_text: bool = False

    def read(self, rows: Any, missing: Missing = "error", **options: Any) -> Matrix:
        """Read X (n×d) of new rows, with the order of columns and the codes of nominal values of the training data.

        Parameters
        ----------
        rows : str, Path or DataFrame
            A data set as in `load_dataset`, or a DataFrame. Files and DataFrames need no labels. Columns that the
            training data did not have, such as labels, are left out.
        missing, **options
            As in `load_dataset`.

        Raises
        ------
        DataError
            When a column is absent, has a value that the training data did not have, words in place of numbers, or a
            missing value that may not be filled.
        """
        for key, problem in option_problems({"missing": missing, **options}):
            raise DataError(f"{key}: {problem}")
        if hasattr(rows, "columns"):
            return self._encode("frame", rows, missing, options)
        place = str(options.pop("path", rows))
        if not is_path(place) and (isinstance(rows, Path) or place is not rows):
            place = f"./{place}"
        if place.startswith(OPENML) or not options.keys().isdisjoint(WITHOUT_FILES):
            return self._of_dataset(place, missing, options)
        files = locate(place)
        check_form_options(files.paths[0], files.form, options)
        if files.form in TABLES:
            parts = [self._encode(files.form, path, missing, options) for path in files.paths]
            return stack_rows(parts)
        if find_matlab_entry(files.name, files.paths[0]) is not None:
            return self._of_dataset(place, missing, options)
        from mlcdr.data.arrays import read_arrays

        tables = read_arrays(files.form, files.paths, options, labelled=False)
        return self._in_order(encode(*tables, missing), place)

    def _of_dataset(self, place: str, missing: Missing, options: Mapping[str, Any]) -> Matrix:
        """X of a data set that has labels."""
        return self._in_order(load_dataset(place, missing=missing, **options), place)

    def _in_order(self, found: Dataset, place: str) -> Matrix:
        """X with its columns in the order of the training data."""
        X = found.X
        names = found.feature_names
        _check_there(Path(place), names, self.names)
        if list(names) == list(self.names):
            return X
        where = {name: j for j, name in enumerate(names)}
        order = [where[name] for name in self.names]
        return X[:, order]

    def _encode(self, form: str, rows: Any, missing: Missing, options: Mapping[str, Any]) -> Matrix:
        """X of a table: a file or a DataFrame; its columns may be in any order, and further ones are ignored."""
        indicated = self._indicated()
        names = list(dict.fromkeys(name for name, _ in indicated))
        if form == "arff":
            table = read_arff(rows)
            _check_there(table.path, table.names, names)
        else:
            from mlcdr.data.frames import code_words, read_frame, text_table

            texts = names if self.is_text else []
            frame, origin = read_frame(form, rows, options, list(self.nominal), texts, least=1)
            _check_there(origin.path, list(frame.columns), names)
            if self.is_text:
                return text_table(frame[names[0]], Origins(origin)).values
            # numbers stay numbers: "1" and "1.0" of the training rows' words are the same number
            words = [name for name in self.nominal if frame[name].dtype.kind not in "biufc"]
            table = code_words(frame[names], Origins(origin), words)
        where = {name: source for source, name in enumerate(table.names)}
        columns = [_find_column(table, where[name], word) for name, word in indicated]
        for name, known in self.nominal.items():
            _check_known(table, where[name], known)
        X = take_columns(table.values, columns)
        fill(X, [name for name, _ in indicated], table.origins, missing)
        return X

    def _indicated(self) -> list[tuple[str, str | None]]:
        """For each column of X its feature, and the value of the feature that it indicates by 1 (None: a number)."""
        found: dict[str, tuple[str, str | None]] = {name: (name, None) for name in self.names}
        for name, known in self.nominal.items():
            codes = {word: code for code, word in enumerate(known)}
            for column in columns_of(0, Attribute(name, codes)):
                code = 1 if column.code is None else int(column.code)
                found[column.name] = name, known[code]
        return list(found.values())


def _check_there(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise DataError if a column that a model was trained with is absent."""
    there = set(names)
    absent = [name for name in wanted if name not in there]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        hint = suggest_name(absent[0], names) or f"; there are {list_values(names)}"
        fail(path, f"the model was trained with a column {quote(absent[0])}{more}, which is not there{hint}")


def _find_column(table: Table, source: int, word: str | None) -> Column:
    """The column of a table that is 1 where an attribute has the value `word`; None: the column of its numbers."""
    attribute = table.attributes[source]
    if word is not None:
        code = _as_number(word) if attribute.codes is None else attribute.codes.get(word, -1)
        return Column(source, code, attribute.name)
    if not attribute.values:  # numbers, or no value at all
        return Column(source, None, attribute.name)
    if positive_code(attribute.values) is None:
        has = f"column {quote(attribute.name)} has the values {list_values(attribute.values)}"
        Line(table.path, attribute.line).fail(f"{has}; the model was trained with numbers there")
    return columns_of(source, attribute)[0]


def _as_number(word: str) -> float:
    """A nominal value as a number, −1 if it is not a number."""
    try:
        return float(word)
    except ValueError:
        return -1.0


def _check_known(table: Table, source: int, known: Sequence[str]) -> None:
    """Raise DataError for a value of a nominal attribute that a model was not trained with."""
    attribute = table.attributes[source]
    column = table.column(source)
    if attribute.codes is None:
        codes = [_as_number(word) for word in known]
    else:
        codes = [attribute.codes[word] for word in known if word in attribute.codes]
    wrong = np.flatnonzero(~np.isin(column, codes) & ~np.isnan(column))
    if len(wrong):
        code = column[wrong[0]]
        word = f"{code:g}" if attribute.values is None else attribute.values[int(code)]
        has = f"column {quote(attribute.name)} has the value {quote(word)}"
        table.origins.fail(int(wrong[0]), f"{has}; the model was trained with {list_values(known)}")
