"""`Dataset` and `load_dataset`: a multi-label data set in memory, by its name or from its files."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from scipy import sparse

from mlcdr.data import cache, sources
from mlcdr.data.arff import ArffTable, read_arff
from mlcdr.data.encoding import Matrix, Missing, encode
from mlcdr.data.files import DataFiles, Part, is_path, locate, sha256
from mlcdr.data.labels import meka_label_count, read_label_xml
from mlcdr.data.synthetic import Synthetic
from mlcdr.data.synthetic import checksum as synthetic_checksum
from mlcdr.data.text import Line, fail, fail_unreadable, quote
from mlcdr.errors import DataError, report_memory

# The modules of this package that find files, but do not read data from them.
_NOT_READERS = ("catalog.py", "files.py", "sources.py", "synthetic.py")


@functools.cache
def loader_version(folder: Path = Path(__file__).parent) -> str:
    """A digest of the readers' source code, a part of every checksum: data read by older readers are never used again.

    A changed comment counts too: that costs one more parse, and a number raised by hand may be forgotten.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        if path.name not in _NOT_READERS:
            digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Dataset:
    """A multi-label data set.

    Attributes
    ----------
    name : str
        Its name in the results (`mlcdr.data.files.short_name`).
    X : ndarray or csr_array of shape (n, d), float64
        Features after encoding. CSR exactly if the file is sparse ARFF: int32 sorted indices, no explicit zeros.
    Y : ndarray (uint8) or csr_array (int8) of shape (n, K)
        Label sets, in the ARFF's order of columns; CSR exactly if X is.
    feature_names : tuple of str
        Names of X's columns; a one-hot column is "location=3".
    label_names : tuple of str
        Names of Y's columns (ARFF order).
    xml_label_names : tuple of str
        The label names in the XML's order; the ARFF's order where there is no XML.
    checksum : str
        SHA-256 (hex) over the files' bytes, the loader's version and the options: equal checksums, equal data.
    declared_features, declared_nominal, declared_numeric : int
        The features as the file declares them, before encoding.
    notices : tuple of str
        Remarks for the user, such as a dropped identifier.
    n_train : int or None
        With the predefined split, rows [0, n_train) are the train file's and the rest the test file's; else None.
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

    def statistics(self) -> dict[str, Any]:
        """The usual statistics of a multi-label data set.

        Returns
        -------
        dict
            n_instances, n_features (declared), n_columns (of X), n_labels, cardinality (labels per instance), density
            (cardinality / K), distinct (different label sets), nominal, numeric, format ("dense" or "sparse"),
            unlabelled (instances without labels), empty_labels (labels without instances).
        """
        Y = self.Y.toarray() if sparse.issparse(self.Y) else self.Y
        per_row, per_label = Y.sum(axis=1, dtype=np.int64), Y.sum(axis=0, dtype=np.int64)
        return {
            "n_instances": self.n_instances,
            "n_features": self.declared_features,
            "n_columns": self.n_features,
            "n_labels": self.n_labels,
            "cardinality": float(per_row.mean()),
            "density": float(per_row.mean() / self.n_labels),
            "distinct": len(np.unique(np.packbits(Y.astype(np.uint8), axis=1), axis=0)),
            "nominal": self.declared_nominal,
            "numeric": self.declared_numeric,
            "format": "sparse" if sparse.issparse(self.X) else "dense",
            "unlabelled": int((per_row == 0).sum()),
            "empty_labels": int((per_label == 0).sum()),
        }


@report_memory
def load_dataset(
    name_or_path: str | Path,
    *,
    missing: Missing = "error",
    part: Part = "full",
    labels: int | None = None,
    synthetic: Mapping[str, Any] | None = None,
) -> Dataset:
    """Load a data set, or generate it.

    Parameters
    ----------
    name_or_path : str or Path
        A name, looked up in `mlcdr.data.files.data_folders()`; or the path of an ARFF file or of a data set's folder
        (a text with a separator, `.arff` or a leading `.` or `~`, and every Path).
    missing : {"error", "mean", "zero"}
        What a missing feature value ('?') becomes; "mean" is that of its encoded column over all rows.
    part : {"full", "predefined"}
        "full" reads the full file, or train then test where there is none; "predefined" train then test, and sets
        `n_train`.
    labels : int, optional
        MEKA's -C: the first `labels` attributes are labels, or the last ones if negative. Only for a file without XML,
        where it takes precedence over the -C in the relation's name.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        Not found, not readable, not consistent; the message begins with the place.
    """
    if missing not in get_args(Missing):
        raise DataError(f"missing: {missing!r} is not one of {', '.join(get_args(Missing))}")
    if part not in get_args(Part):
        raise DataError(f"part: {part!r} is not one of {', '.join(get_args(Part))}")
    text = str(name_or_path)
    if synthetic is not None:
        if part != "full":
            raise DataError(f"{text}: a synthetic data set has no predefined split")
        return _generate(text, Synthetic.parse(dict(synthetic)))
    if isinstance(name_or_path, Path) and not is_path(text):
        text = f"{os.curdir}{os.sep}{text}"  # a Path is a path, even without a separator
    files = locate(text, part)
    if files.xml is not None and labels is not None:
        raise DataError(f"{files.xml}: names the labels; the option labels: {labels} is only for files without XML")
    checksum = _checksum(files, missing, part, labels)
    stored = cache.load(checksum)
    if stored is None:
        stored = _parse(files, missing, part, labels)
        cache.save(checksum, *stored)
    X, Y, facts = stored
    facts = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Dataset(name=files.name, X=X, Y=Y, checksum=checksum, **facts)


def _generate(name: str, recipe: Synthetic) -> Dataset:
    X, Y = recipe.generate()
    labels = tuple(f"label{k + 1}" for k in range(recipe.n_labels))
    return Dataset(
        name=name,
        X=X,
        Y=Y,
        feature_names=recipe.feature_names(),
        label_names=labels,
        xml_label_names=labels,
        checksum=synthetic_checksum(X, Y),
        declared_features=recipe.n_features,
        declared_nominal=0,
        declared_numeric=recipe.n_features,
        notices=(recipe.describe(),),
    )


def _checksum(files: DataFiles, missing: Missing, part: Part, labels: int | None) -> str:
    whole = hashlib.sha256(f"mlcdr {loader_version()} {missing} {part} {labels}\n".encode())
    for path in (*files.arffs, *([files.xml] if files.xml else [])):
        try:
            whole.update(f"{path.suffix.lower()} {sha256(path)}\n".encode())
        except OSError as error:
            fail_unreadable(path, error)
    return whole.hexdigest()


def _parse(files: DataFiles, missing: Missing, part: Part, labels: int | None) -> tuple[Matrix, Matrix, dict[str, Any]]:
    tables = [read_arff(path) for path in files.arffs]
    attributes = tables[0].attributes
    columns, xml_names = _find_labels(files, tables[0], labels)
    encoded = encode(tables, columns, missing)
    X, Y = encoded.X, encoded.Y
    n_train = len(tables[0].lines) if part == "predefined" else None
    if files.test_first is not None:
        n_train, X, Y = _move_train_first(files, X, Y)
    n_features = len(attributes) - len(columns)
    n_nominal = sum(attributes[at].codes is not None for at in set(range(len(attributes))) - set(columns))
    facts = {
        "feature_names": encoded.feature_names,
        "label_names": tuple(attributes[column].name for column in columns),
        "xml_label_names": xml_names,
        "declared_features": n_features,
        "declared_nominal": n_nominal,
        "declared_numeric": n_features - n_nominal,
        "notices": encoded.notices,
        "n_train": n_train,
    }
    return X, Y, facts


def _move_train_first(files: DataFiles, X: Matrix, Y: Matrix) -> tuple[int, Matrix, Matrix]:
    """Move the train rows of a full file that begins with the test rows to the front; their number, X and Y."""
    test = files.test_first
    assert test is not None
    known = sources.entry(files.name).statistics
    if (X.shape[0], Y.shape[1]) != (known["n_instances"], known["n_labels"]):
        stem = files.arffs[0].parent / files.name
        needs = f"the predefined split needs {stem}-train.arff and -test.arff"
        fail(files.arffs[0], f"not the known data set; {needs}")
    order = np.concatenate((np.arange(test, X.shape[0]), np.arange(test)))
    return X.shape[0] - test, X[order], Y[order]


def _find_labels(files: DataFiles, table: ArffTable, labels: int | None) -> tuple[list[int], tuple[str, ...]]:
    """The positions of the labels among the attributes, and their names in the XML's order."""
    names = [attribute.name for attribute in table.attributes]
    if files.xml is not None:
        # Even where a -C is written too: medical's claims its labels are first, and they are last.
        where = {name: column for column, name in enumerate(names)}
        in_xml = read_label_xml(files.xml)
        for name, number in in_xml:
            if name not in where:
                message = f"label {quote(name)} is not an attribute of {table.path.name}"
                Line(files.xml, number).fail(message)
        return sorted(where[name] for name, _ in in_xml), tuple(name for name, _ in in_xml)
    count, m = meka_label_count(table.relation) if labels is None else labels, len(names)
    if count is None:
        xml = table.path.with_suffix(".xml").name
        needs = f"Needs {xml} beside it, -C in the relation's name, or the option labels"
        fail(table.path, f"which attributes are labels? {needs}")
    if not 0 < abs(count) < m:
        given = f"{count} labels (MEKA's -C), but the file has {m} attributes"
        fail(table.path, f"{given}, and at least one must be a feature")
    columns = list(range(m))[:count] if count > 0 else list(range(m))[count:]
    return columns, tuple(names[column] for column in columns)
