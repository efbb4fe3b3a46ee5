"""`Dataset`, a multi-label data set in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mlcdr.data.forms import MEMORY, check_form_options, read_options
from mlcdr.data.lines import Line
from mlcdr.data.synthetic import checksum as checksum_of
from mlcdr.data.table import Matrix, Origins, as_dense, frame_in_memory, stored_values
from mlcdr.data.texts import is_texts, list_texts
from mlcdr.errors import DataError, escape_control_characters, plural
from mlcdr.numerics.entry import check_index
from mlcdr.numerics.label_forms import holds_names, read_label_sets
from mlcdr.numerics.other_frames import is_frame

if TYPE_CHECKING:
    from mlcdr.data.encoding import Missing


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A multi-label data set.

    Attributes
    ----------
    name : str
        Its name in the results (`mlcdr.data.files.short_name`).
    X : ndarray or csr_array of shape (n, d), float64; or ndarray of shape (n, 1), of strings
        Features after encoding. CSR (sorted int32 indices, no explicit zeros) for sparse data, such as sparse ARFF,
        svmlight or a sparse matrix. Strings are texts, from which a method's vectorizer makes features.
    Y : ndarray (uint8) or csr_array (int8) of shape (n, K)
        Label sets, in the file's order of columns (tags: sorted). CSR exactly if X is.
    feature_names : tuple of str
        Names of X's columns; a one-hot column is "location=3".
    label_names : tuple of str
        Names of Y's columns.
    xml_label_names : tuple of str
        The label names in the order of an ARFF file's XML; without one, `label_names`.
    checksum : str
        SHA-256 (hex) of X and Y. Trials are computed again when it changes, however the data were stored and read.
    declared_features, declared_nominal, declared_numeric : int
        Numbers of features before encoding: all, nominal ones, numeric ones.
    notices : tuple of str
        Remarks for the user, such as a dropped identifier.
    n_train : int or None
        With the predefined split: rows [0, n_train) are the training rows, the others the test rows. Else None.
    missing : dict
        Number of missing values of each feature (before encoding) that has any, also if they are filled in X.
    nominal : dict
        The values of each nominal feature in the order of their codes; features with the values "0", "1" are absent.
    counted_from : int or None
        Of svmlight, the number by which the file calls the first feature: 0 or 1.
    dates : dict
        What was made of each column of dates: `("days",)`, or its parts (`mlcdr.data.dates`).
    fills : tuple of float or None
        For each column of X what a missing value of it has become: the mean, or 0; None where none is filled.
    """

    name: str
    X: Matrix
    Y: Matrix
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    xml_label_names: tuple[str, ...]
    checksum: str
    declared_features: int
    declared_nominal: int
    declared_numeric: int
    notices: tuple[str, ...]
    n_train: int | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    nominal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counted_from: int | None = None
    dates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fills: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        kind = "texts" if is_texts(self.X) else _format_of(self.X)
        labels = ", ".join(self.label_names[:5]) + ", ..." * (self.n_labels > 5)
        counted = [plural(self.n_instances, "instance"), plural(self.n_features, "feature")]
        sizes = f"{', '.join(counted)} ({kind}), {plural(self.n_labels, 'label')}"
        divided = "" if self.n_train is None else f"; the first {self.n_train} train, the others test"
        cardinality = f"{self.Y.sum() / self.n_instances:.3f} labels per instance"
        return f"Dataset {self.name!r}: {sizes}\n  labels: {labels}\n  {cardinality}{divided}"

    @property
    def n_instances(self) -> int:
        """Number of rows n."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns d of X, after encoding."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels K."""
        return int(self.Y.shape[1])

    @property
    def kind_of_features(self) -> Literal["numbers", "gaps", "texts"]:
        """What X contains: numbers, numbers and missing values (NaN; "gaps"), or texts."""
        if is_texts(self.X):
            return "texts"
        return "gaps" if self.missing and np.isnan(stored_values(self.X)).any() else "numbers"

    @classmethod
    def of(
        cls,
        X: Any,
        Y: Any = None,
        *,
        name: str = "data",
        missing: Missing = "error",
        feature_names: Sequence[str] = (),
        label_names: Sequence[str] = (),
        **options: Any,
    ) -> Dataset:
        """Make a data set from arrays, DataFrames or texts in memory.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n, d); or n texts
            Features; the columns of a DataFrame (of pandas, polars or pyarrow) may be nominal, as in a CSV file. If
            they are only numbered, they are called feature1, ...
        Y : array, sparse matrix or DataFrame of shape (n, K), or the names of each row's labels, optional
            Label sets of 0 and 1 (or -1 and 1), of true and false, or of yes and no. None if the labels are among the
            columns of a DataFrame X.
        name, missing
            As in `load_dataset`.
        feature_names, label_names : sequence of str
            Names for an X or a Y that has none; default: feature1, ... (texts: text) and label1, ...
        **options
            Options as in a config for a DataFrame X: `labels`, `separator`, `text`, `categories`, `dates`, `drop`.

        Raises
        ------
        DataError
            As for `load_dataset`; the message begins with the data set's name.
        """
        from mlcdr.data.arrays import tables_of  # these make data sets, and so need this module
        from mlcdr.data.encoding import encode

        # with `memory` given, any option that states another source is a problem
        options = read_options(name, missing, {**options, MEMORY: "given"})
        del options[MEMORY]
        check_form_options(name, "frame" if is_frame(X) else MEMORY, options)
        if Y is not None:
            if "labels" in options:
                raise DataError(f"{name}: labels: for label sets among the columns of X, and Y is given")
            Y, label_names = _read_labels(name, X, Y, label_names)
        X = name_columns(frame_in_memory(name, X), "feature")
        texts = list_texts(X)
        if texts is not None:
            import pandas as pd

            options["text"] = next(iter(feature_names), "text")
            X = pd.DataFrame({options["text"]: texts})
        if is_frame(X):
            from mlcdr.data.frames import divide_frame, join, origin_of

            if Y is not None:
                X, options["labels"] = join(X, Y, label_names)
            tables = divide_frame(X, Origins(origin_of(Path(name), X)), {**options, "missing": missing})
        else:
            tables = tables_of(Path(name), X, Y, feature_names, label_names)
        return named(encode(*tables, missing), name)

    def rows(self, index: Any) -> Dataset:
        """The data set of the rows `index`, without a predefined split."""
        return replace(self, X=self.X[index], Y=self.Y[index], n_train=None)

    def statistics(self) -> dict[str, Any]:
        """The usual statistics of a multi-label data set.

        Returns
        -------
        dict
            n_instances, n_features (declared), n_columns (of X), n_labels, cardinality (labels per instance), density
            (cardinality / K), distinct (number of different label sets), nominal and numeric (declared features),
            format ("dense", "sparse" or "text"), unlabelled (instances without labels), empty_labels (labels without
            instances).
        """
        per_row = self.Y.sum(axis=1, dtype=np.int64)
        per_label = self.Y.sum(axis=0, dtype=np.int64)
        return {
            "n_instances": self.n_instances,
            "n_features": self.declared_features,
            "n_columns": self.n_features,
            "n_labels": self.n_labels,
            "cardinality": float(per_row.mean()),
            "density": float(per_row.mean() / self.n_labels),
            "distinct": len(count_label_sets(self.Y)),
            "nominal": self.declared_nominal,
            "numeric": self.declared_numeric,
            "format": _format_of(self.X),
            "unlabelled": int((per_row == 0).sum()),
            "empty_labels": int((per_label == 0).sum()),
        }


def count_label_sets(Y: Matrix) -> NDArray[np.intp]:
    """How many rows have each of the different label sets."""
    packed = np.packbits(as_dense(Y).astype(np.uint8), axis=1)
    return np.unique(packed, axis=0, return_counts=True)[1]


def named(dataset: Dataset, name: str) -> Dataset:
    """The data set that a reader made, under a name, with its checksum."""
    checksum = dataset.checksum or checksum_of(dataset.X, dataset.Y)
    return replace(dataset, name=name, checksum=checksum)


def _read_labels(name: str, X: Any, Y: Any, given: Sequence[str]) -> tuple[Matrix, Sequence[str]]:
    """Label sets in any form as a matrix of {0, 1}, and the names of the labels: its own, or those that are given."""
    try:
        if is_frame(X):
            check_index(X, Y)
        found = read_label_sets(Y)
    except ValueError as error:
        raise DataError(f"{name}: {escape_control_characters(str(error))}") from None
    if holds_names(Y) and len(given):
        raise DataError(f"{name}: Y has the names of its labels: leave label_names out")
    if is_frame(Y):
        from mlcdr.data.csv_table import check_names

        check_names(Line(Path(f"{name}: Y"), 0), found.names)
    return found.matrix, found.names or given


def _format_of(X: Matrix) -> str:
    if is_texts(X):
        return "text"
    return "sparse" if sparse.issparse(X) else "dense"


def name_columns(values: Any, stem: str) -> Any:
    """Name the columns of a DataFrame that are only numbered: feature1, ...; return anything else unchanged."""
    columns = getattr(values, "columns", None)
    if columns is None or list(columns) != list(range(len(columns))):
        return values
    return values.set_axis([f"{stem}{j + 1}" for j in columns], axis=1)
