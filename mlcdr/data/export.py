"""Writing of a data set as files of a form, which are read again with the same values, names, order and split."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse

from mlcdr.data.dataset import Dataset
from mlcdr.data.texts import is_texts
from mlcdr.errors import DataError
from mlcdr.whole_files import write_atomically

_ROWS = 1000  # converted to dense, or to text, at a time


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
    stem = re.sub(r"[^\w.-]", "_", dataset.name)
    ending, write, beside = WRITERS[form]
    if set(dataset.feature_names) & set(dataset.label_names) and form not in ("npz", "svmlight", "xmc"):
        raise DataError(f"{dataset.name}: a feature and a label have the same name, which a table cannot have")
    kind = dataset.kind_of_features
    if kind == "texts" and form not in ("csv", "parquet"):
        raise DataError(f"{dataset.name}: its features are texts, which csv and parquet hold, and {form} does not")
    if kind == "gaps" and form in ("svmlight", "xmc"):
        raise DataError(f"{dataset.name}: has missing values, which {form} cannot hold; the other forms can")
    suffix = f"-{part}" if part else ""
    files = {f"{stem}{suffix}{ending}": write(dataset)}
    for end, content_of in beside.items():
        files[stem + end] = content_of(dataset)
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def _blocks(dataset: Dataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Dense X and Y of `_ROWS` rows at a time."""
    for start in range(0, dataset.n_instances, _ROWS):
        block = slice(start, start + _ROWS)
        yield _dense(dataset.X[block]), _dense(dataset.Y[block])


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _arff(dataset: Dataset) -> str:
    return _write_arff(dataset, dataset.name)


def _meka(dataset: Dataset) -> str:
    return _write_arff(dataset, f"{dataset.name}: -C {-dataset.n_labels}")


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
    content = {"relation": relation, "attributes": attributes, "data": rows or [[]]}
    return str(arff.dumps(content))


def _xml(dataset: Dataset) -> str:
    labels = "".join(f"<label name={quoteattr(name)}></label>\n" for name in dataset.xml_label_names)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n{labels}</labels>\n'


def _csv(dataset: Dataset) -> str:
    text = io.StringIO()
    # The reader skips leading blanks of a text that is not within quotes.
    quoting = csv.QUOTE_NONNUMERIC if is_texts(dataset.X) else csv.QUOTE_MINIMAL
    for k, frame in enumerate(_frames(dataset)):
        frame.to_csv(text, index=False, header=not k, quoting=quoting)
    return text.getvalue()


def _parquet(dataset: Dataset) -> bytes:
    import pandas as pd

    content = io.BytesIO()
    try:
        pd.concat(list(_frames(dataset)), ignore_index=True).to_parquet(content)
    except ImportError:
        raise DataError("parquet is written by pyarrow, which is not installed: pip install 'mlcdr[parquet]'") from None
    return content.getvalue()


def _frames(dataset: Dataset) -> Iterator[Any]:
    import pandas as pd

    for X, Y in _blocks(dataset):
        features = pd.DataFrame(X, columns=dataset.feature_names)
        labels = pd.DataFrame(Y, columns=dataset.label_names)
        yield pd.concat((features, labels), axis=1)


def _npz(dataset: Dataset) -> bytes:
    arrays: dict[str, Any] = {
        "feature_names": np.array(dataset.feature_names),
        "label_names": np.array(dataset.label_names),
    }
    for key, matrix in (("X", dataset.X), ("Y", dataset.Y)):
        if not sparse.issparse(matrix):
            arrays[key] = matrix
            continue
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{key}_{part}"] = getattr(matrix, part)
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def _svmlight(dataset: Dataset) -> str:
    """Indices count from 1. An empty row is written as the entry `1:0`, since readers skip blank lines."""
    return "".join(f"{row or '1:0'}\n" for row in _svm_rows(dataset, 1))


def _xmc(dataset: Dataset) -> str:
    header = f"{dataset.n_instances} {dataset.n_features} {dataset.n_labels}\n"
    return header + "".join(f"{row}\n" for row in _svm_rows(dataset, 0))


def _svm_rows(dataset: Dataset, base: int) -> Iterator[str]:
    X = sparse.csr_array(dataset.X)
    Y = sparse.csr_array(dataset.Y)
    for i in range(dataset.n_instances):
        labels = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
        at = slice(X.indptr[i], X.indptr[i + 1])
        tokens = []
        if labels:
            tokens.append(",".join(map(str, labels)))
        for j, value in zip(X.indices[at].tolist(), X.data[at].tolist(), strict=True):
            tokens.append(f"{j + base}:{value!r}")
        yield " ".join(tokens)


def _feature_lines(dataset: Dataset) -> str:
    return _lines(dataset.feature_names)


def _label_lines(dataset: Dataset) -> str:
    return _lines(dataset.label_names)


def _lines(names: tuple[str, ...]) -> str:
    for name in names:
        if name != name.strip() or not name.isprintable():
            raise DataError(
                f"{name!r} cannot be a line of a file of names: blanks around it, or a character that is not shown"
            )
    return "".join(f"{name}\n" for name in names)


class Writer(NamedTuple):
    """How a form is written: the suffix and the content of its data file, and of its other files, by their suffixes."""

    ending: str
    write: Callable[[Dataset], str | bytes]
    beside: Mapping[str, Callable[[Dataset], str]]


_NAMES = {".features.txt": _feature_lines, ".labels.txt": _label_lines}
WRITERS = {
    "arff": Writer(".arff", _arff, {".xml": _xml}),
    "meka": Writer(".arff", _meka, {}),
    "csv": Writer(".csv", _csv, {}),
    "svmlight": Writer(".svm", _svmlight, _NAMES),
    "xmc": Writer(".txt", _xmc, _NAMES),
    "npz": Writer(".npz", _npz, {}),
    "parquet": Writer(".parquet", _parquet, {}),
}
