"""A table whose columns are features and labels, independent of the form of its file."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.text import Line, fail, list_values, quote
from mlcdr.errors import suggest_name

# A dense or a sparse matrix. Any: NumPy and SciPy share the operations used here, but have no common type.
Matrix: TypeAlias = Any


@dataclass(frozen=True)
class Table:
    """The content of a table.

    Attributes
    ----------
    path : Path
        The file read, for messages.
    attributes : tuple of Attribute
        The m columns in order.
    values : ndarray or csr_array of shape (n, m), float64
        Numbers; nominal values as their position in the declaration. NaN is a missing value and nothing else. CSR, with
        int32 sorted indices and no explicit zeros, for a sparse file.
    """

    path: Path
    attributes: tuple[Attribute, ...]
    values: Matrix

    @property
    def is_sparse(self) -> bool:
        """Whether the file's rows are sparse."""
        return sparse.issparse(self.values)

    def place(self, row: int) -> Line:
        """The line of a row in the file; the file itself if it has no lines."""
        return Line(self.path, 0)


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
            given = f"{labels} labels (MEKA's -C), but the file has {m} attributes"
            fail(place.path, f"{given}, and at least one must be a feature")
        return list(range(m))[:labels] if labels > 0 else list(range(m))[labels:]
    where = {name: column for column, name in enumerate(names)}
    if isinstance(labels, str):
        if labels in where:
            return [where[labels]]
        columns = [column for column, name in enumerate(names) if fnmatch.fnmatchcase(name, labels)]
        if not columns:
            place.fail(f"labels: no column is called {quote(labels)}; there are {list_values(names)}")
    else:
        for label in labels:
            if label not in where:
                place.fail(f"labels: no column is called {quote(label)}{suggest_name(label, names)}")
        columns = sorted({where[label] for label in labels})
        if len(columns) < len(labels):
            place.fail("labels: a name is given twice")
    if len(columns) == m:
        place.fail("labels: all columns are labels, and at least one must be a feature")
    return columns


def state_facts(
    features: Sequence[str], labels: Sequence[str], n_features: int, n_nominal: int = 0, **others: Any
) -> dict[str, Any]:
    """The facts of a `Dataset`: `n_features` declared, `n_nominal` of them nominal; `others` replace the defaults."""
    usual = {
        "feature_names": tuple(features),
        "label_names": tuple(labels),
        "xml_label_names": tuple(labels),
        "declared_features": n_features,
        "declared_nominal": n_nominal,
        "declared_numeric": n_features - n_nominal,
    }
    return {**usual, "notices": (), "n_train": None, "missing": {}, "nominal": {}, **others}


def stack_rows(parts: Sequence[Matrix]) -> Matrix:
    """Stack matrices vertically; the result is dense if one of them is."""
    if len(parts) == 1:
        return parts[0]
    if all(map(sparse.issparse, parts)):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts])


def check_there(path: Path, names: Collection[str], wanted: Iterable[str]) -> None:
    """Raise DataError if a column that a model was trained with is absent.

    Raises
    ------
    DataError
    """
    absent = [name for name in dict.fromkeys(wanted) if name not in names]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        hint = suggest_name(absent[0], names) or f"; there are {list_values(list(names))}"
        fail(path, f"the model was trained with a column {quote(absent[0])}{more}, which is not there{hint}")
