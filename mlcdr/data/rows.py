"""New rows for a trained model: from a file or a DataFrame, with or without labels, encoded as the training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlcdr.data import encoding
from mlcdr.data.arff import read_arff
from mlcdr.data.catalog_matlab import find_matlab_entry
from mlcdr.data.dataset import load_dataset
from mlcdr.data.encoding import Missing
from mlcdr.data.files import is_path, locate
from mlcdr.data.forms import OPENML, WITHOUT_FILES, check_form_options, option_problems
from mlcdr.data.table import Matrix, check_there, stack_rows
from mlcdr.errors import DataError


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
            When a column is absent, or has a nominal value that the training data did not have.
        """
        for key, problem in option_problems({"missing": missing, **options}):
            raise DataError(f"{key}: {problem}")
        if hasattr(rows, "columns"):
            return self._encode("", rows, missing, options)
        text = str(options.pop("path", rows))
        if not is_path(text) and (isinstance(rows, Path) or text is not rows):
            text = f"./{text}"
        if not (text.startswith(OPENML) or any(key in options for key in WITHOUT_FILES)):
            files = locate(text)
            check_form_options(files.paths[0], files.form, options)
            if files.form in ("arff", "csv", "parquet", "feather"):
                return stack_rows([self._encode(files.form, path, missing, options) for path in files.paths])
            if find_matlab_entry(files.name, files.paths[0]) is None:
                from mlcdr.data.arrays import read_arrays

                X, _, facts = read_arrays(files.form, files.paths, options, labelled=False).encode(missing)
                return self._in_order(X, facts.feature_names, text)
        found = load_dataset(text, missing=missing, **options)
        return self._in_order(found.X, found.feature_names, text)

    def _encode(self, form: str, rows: Any, missing: Missing, options: Mapping[str, Any]) -> Matrix:
        """X of a table: a file or a DataFrame."""
        trained = encoding.Columns(self.names, self.nominal)
        if form == "arff":
            return trained.encode(read_arff(rows), missing)
        from mlcdr.data.frames import read_columns

        selected = read_columns(form, rows, trained.features, list(self.nominal), self.is_text, options)
        if selected.text is not None:
            return selected.text[1]
        return trained.encode(selected.table, missing)

    def _in_order(self, X: Matrix, names: Sequence[str], place: str) -> Matrix:
        """X with its columns in the order of the training data."""
        where = {name: j for j, name in enumerate(names)}
        check_there(Path(place), where, self.names)
        order = [where[name] for name in self.names]
        return X if order == list(range(X.shape[1])) else X[:, order]
