"""Writing of a data set as files of a form, which are read again with the same values, names, order and split."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse

from mlcdr.data.dataset import Dataset
from mlcdr.data.npz import parts_of
from mlcdr.data.table import as_dense
from mlcdr.data.texts import is_texts
from mlcdr.errors import DataError
from mlcdr.whole_files import write_atomically

_ROWS = 1000  # converted to dense, or to text, at a time

Files: TypeAlias = Mapping[str, str | bytes]
"""The content of a form's files by their suffixes: the data file, then those with names."""


def export(dataset: Dataset, form: str, folder: Path, part: str = "") -> list[Path]:
    """Write a data set into a folder.

    Parameters
    ----------
    dataset : Dataset
    form : str
        One of `WRITERS`.
    folder : Path
    part : {"", "train", "test"}
        The part of the predefined split, for the data file's name.

    Returns
    -------
    list of Path
        The data file, then the files with names.

    Raises
    ------
    DataError
        When the form cannot hold the names, texts or missing values.
    ResultsError
        When a file cannot be written.
    """
    is_table = form not in ("npz", "svmlight", "xmc")
    if is_table and set(dataset.feature_names) & set(dataset.label_names):
        raise DataError(f"{dataset.name}: a feature and a label have the same name, which a table cannot have")
    kind = dataset.kind_of_features
    if kind == "texts" and form not in ("csv", "parquet"):
        raise DataError(f"{dataset.name}: its features are texts, which csv and parquet hold, and {form} does not")
    if kind == "gaps" and form in ("svmlight", "xmc"):
        raise DataError(f"{dataset.name}: has missing values, which {form} cannot hold; the other forms can")
    stem = re.sub(r"[^\w.-]", "_", dataset.name)
    (ending, data), *beside = WRITERS[form](dataset).items()
    suffix = f"-{part}" if part else ""
    files = {folder / f"{stem}{suffix}{ending}": data}
    for end, content in beside:
        files[folder / f"{stem}{end}"] = content
    for path, content in files.items():
        write_atomically(path, content)
    return list(files)


def _blocks(dataset: Dataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Dense X and Y of `_ROWS` rows at a time."""
    for start in range(0, dataset.n_instances, _ROWS):
        block = slice(start, start + _ROWS)
        yield as_dense(dataset.X[block]), as_dense(dataset.Y[block])


def _arff(dataset: Dataset) -> Files:
    labels = "".join(f"<label name={quoteattr(name)}></label>\n" for name in dataset.xml_label_names)
    head = '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    return {".arff": _write_arff(dataset, dataset.name), ".xml": f"{head}{labels}</labels>\n"}


def _meka(dataset: Dataset) -> Files:
    return {".arff": _write_arff(dataset, f"{dataset.name}: -C {-dataset.n_labels}")}


def _write_arff(dataset: Dataset, relation: str) -> str:
    import arff

    attributes: list[Any] = [(name, "REAL") for name in dataset.feature_names]
    attributes += [(name, ["0", "1"]) for name in dataset.label_names]
    rows: list[Any] = []
    for X, Y in _blocks(dataset):
        for values, labels in zip(X.tolist(), Y.tolist(), strict=True):
            row: Any = [*values, *map(str, labels)]
            if sparse.issparse(dataset.X):
                row = {j: value for j, value in enumerate(row) if value not in (0, "0")}
            rows.append(row)
    return str(arff.dumps({"relation": relation, "attributes": attributes, "data": rows}))


def _frames(dataset: Dataset) -> Iterator[Any]:
    import pandas as pd

    for X, Y in _blocks(dataset):
        features = pd.DataFrame(X, columns=dataset.feature_names)
        labels = pd.DataFrame(Y, columns=dataset.label_names)
        yield pd.concat((features, labels), axis=1)


def _csv(dataset: Dataset) -> Files:
    text = io.StringIO()
    # The reader skips leading blanks of what is not within quotes.
    has_blank = any(name.startswith(" ") for name in (*dataset.feature_names, *dataset.label_names))
    quoting = csv.QUOTE_NONNUMERIC if has_blank or is_texts(dataset.X) else csv.QUOTE_MINIMAL
    for k, frame in enumerate(_frames(dataset)):
        frame.to_csv(text, index=False, header=not k, quoting=quoting)
    return {".csv": text.getvalue()}


def _parquet(dataset: Dataset) -> Files:
    import pandas as pd

    content = io.BytesIO()
    try:
        pd.concat(list(_frames(dataset)), ignore_index=True).to_parquet(content)
    except ImportError:
        raise DataError("parquet is written by pyarrow, which is not installed: pip install 'mlcdr[parquet]'") from None
    return {".parquet": content.getvalue()}


def _npz(dataset: Dataset) -> Files:
    arrays = parts_of("X", dataset.X) | parts_of("Y", dataset.Y)
    arrays["feature_names"] = np.array(dataset.feature_names)
    arrays["label_names"] = np.array(dataset.label_names)
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return {".npz": content.getvalue()}


def _svmlight(dataset: Dataset) -> Files:
    return {".svm": _write_rows(dataset, 1), **_names(dataset)}


def _xmc(dataset: Dataset) -> Files:
    header = f"{dataset.n_instances} {dataset.n_features} {dataset.n_labels}\n"
    return {".txt": header + _write_rows(dataset, 0), **_names(dataset)}


def _write_rows(dataset: Dataset, base: int) -> str:
    """The rows, with indices that count from `base`."""
    X = sparse.csr_array(dataset.X)
    Y = sparse.csr_array(dataset.Y)
    rows = []
    for i in range(dataset.n_instances):
        at = slice(Y.indptr[i], Y.indptr[i + 1])
        labels = Y.indices[at].tolist()
        at = slice(X.indptr[i], X.indptr[i + 1])
        tokens = [",".join(map(str, labels))] if labels else []
        for j, value in zip(X.indices[at].tolist(), X.data[at].tolist(), strict=True):
            tokens.append(f"{j + base}:{value!r}")
        if base and not tokens:
            tokens = ["1:0"]  # readers of svmlight skip blank lines
        rows.append(" ".join(tokens) + "\n")
    return "".join(rows)


def _names(dataset: Dataset) -> Files:
    """The files with the names of features and labels, one a line."""
    files: dict[str, str | bytes] = {}
    for what, names in (("features", dataset.feature_names), ("labels", dataset.label_names)):
        for name in names:
            if name != name.strip() or not name.isprintable():
                raise DataError(
                    f"{name!r} cannot be a line of a file of names: blanks around it, or a character that is not shown"
                )
        files[f".{what}.txt"] = "".join(f"{name}\n" for name in names)
    return files


WRITERS: dict[str, Callable[[Dataset], Files]] = {
    "arff": _arff,
    "meka": _meka,
    "csv": _csv,
    "svmlight": _svmlight,
    "xmc": _xmc,
    "npz": _npz,
    "parquet": _parquet,
}
