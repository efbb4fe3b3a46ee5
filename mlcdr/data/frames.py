"""DataFrames as tables: of CSV, Parquet and Feather files, of OpenML's data sets, and in memory.

A column of numbers or of true/false is numeric; a column of words is nominal, as in ARFF. Values that begin with a
digit and are not numbers (`3,5`, `12%`, `1_000`, `0x10`) are refused, and so are words among numbers, except in
`categories`; dates are refused unless `dates` says what becomes of them. A whole number beyond 2^53 in a column of
whole numbers is refused: a 64-bit float may not hold it.
"""

from __future__ import annotations

import ast
import contextlib
import re
import socket
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from scipy import sparse

from mlcdr.data.arff_header import Attribute
from mlcdr.data.csv_table import CsvFile, check_names
from mlcdr.data.dates import encode_dates
from mlcdr.data.encoding import fill
from mlcdr.data.files import cache_folder
from mlcdr.data.forms import names_of
from mlcdr.data.lines import QUOTED, Line, fail, gathering, list_values, quote, raise_all
from mlcdr.data.packed import check_growth
from mlcdr.data.table import Matrix, Origin, Origins, Table, Tables, as_dense, find_columns, frame_in_memory
from mlcdr.data.texts import as_texts
from mlcdr.data.words import FrameColumn
from mlcdr.errors import DataError, suggest_name

# -------------------------------------------------------------------- files


_SECONDS = 60.0  # so long openml.org may be silent
_BYTES_A_CELL = 8
_BYTES_NESTED = 128  # of a cell that is a list


def read_tables(form: str, paths: Sequence[Path], options: Mapping[str, Any]) -> Tables:
    """Read one file of a form, or the train and the test file, and find the labels.

    Raises
    ------
    DataError
    """
    texts = []
    if "text" in options:
        texts.append(options["text"])
    if "separator" in options and isinstance(options.get("labels"), str):
        texts.append(options["labels"])
    frames: list[pd.DataFrame] = []
    origins: list[Origin] = []
    for path in paths:
        frame, origin = read_frame(form, path, options, names_of(options, "categories"), texts)
        frames.append(frame)
        origins.append(origin)
        if list(frame.columns) != list(frames[0].columns):
            fail(path, f"its columns are not those of {paths[0].name}")
    whole = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    return divide_frame(whole, Origins(*origins), options)


def read_frame(
    form: str,
    rows: Path | pd.DataFrame,
    options: Mapping[str, Any],
    words: Sequence[str],
    texts: Sequence[str],
    least: int = 2,
) -> tuple[pd.DataFrame, Origin]:
    """The rows of a file, or of a DataFrame, as they are; of CSV, the columns `words` and `texts` stay text.

    Raises
    ------
    DataError
    """
    if not isinstance(rows, Path):
        frame = frame_in_memory("rows", rows)
        return frame, origin_of(Path("rows"), frame)
    if form != "csv":
        frame = _read_arrow(form, rows)
        return frame, origin_of(rows, frame)._replace(n_bytes=rows.stat().st_size)
    file = CsvFile.of(rows, options)
    frame = file.read(words, texts, least)
    return frame, Origin(rows, len(frame), 1, file.line_of, rows.stat().st_size)


def origin_of(path: Path, frame: pd.DataFrame) -> Origin:
    """The origin of the rows of a DataFrame; DataError if it has none, or a column without a name of its own."""
    check_names(Line(path, 0), list(frame.columns))
    if not len(frame):
        fail(path, "has no rows")
    return Origin(path, len(frame), n_bytes=float(frame.memory_usage(index=False).sum()))


def _is_list_of_words(types: Any, kind: Any) -> bool:
    """Whether a type of pyarrow is a list of texts, as tags are."""
    is_list = types.is_list(kind) or types.is_large_list(kind)
    return is_list and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type))


def _read_arrow(form: str, path: Path) -> pd.DataFrame:
    """Read a Parquet or Feather file in batches, and stop with DataError when it expands beyond the limit."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet, types
    except ImportError:
        return fail(path, "is read by pyarrow, which is not installed: pip install 'mlcdr[parquet]'")
    batches = []
    size = 0
    try:
        if form == "parquet":
            file = parquet.ParquetFile(path)
            schema = file.schema_arrow
            found = file.iter_batches(batch_size=1024)
        else:
            file = ipc.open_file(path)
            schema = file.schema
            found = map(file.get_batch, range(file.num_record_batches))
        bytes_a_row = 0
        for column, kind in zip(schema.names, schema.types, strict=True):
            is_nested = types.is_nested(kind)
            if is_nested and not _is_list_of_words(types, kind):
                fail(path, f"column {quote(column)} holds {str(kind)[:60]}; numbers, words and lists of words are read")
            bytes_a_row += _BYTES_NESTED if is_nested else _BYTES_A_CELL
        for batch in found:
            size += max(batch.nbytes, bytes_a_row * batch.num_rows)  # a bit or less in the file is a number here
            check_growth(path, size)
            batches.append(batch)
        return pyarrow.Table.from_batches(batches, schema).to_pandas()
    except DataError:
        raise
    except Exception as error:  # pyarrow raises many types of exceptions for a damaged file
        return fail(path, f"no {form} file, or a damaged one ({type(error).__name__}: {str(error).strip()[:100]})")


def fetch_openml(name: str, number: int) -> tuple[pd.DataFrame, list[str]]:
    """A data set of openml.org, which scikit-learn stores in the user's cache, and the names of its targets.

    Raises
    ------
    DataError
        When there is no such data set, no connection, or a file that scikit-learn cannot read.
    """
    from sklearn import datasets
    from sklearn.datasets import _openml

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS)  # scikit-learn sets none
    try:
        # scikit-learn's other parser (pandas) fails on attributes {FALSE,TRUE}, as most labels of OpenML are.
        home = cache_folder() / "openml"
        chosen = {"parser": "liac-arff", "as_frame": True, "n_retries": 1, "data_home": home}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings that it tries again
            # it keeps this description, too, and does not ask for it again
            about = _openml._get_data_description_by_id(number, str(home / "openml"), n_retries=1)
            _check_openml_address(about["url"])
            found = datasets.fetch_openml(data_id=number, **chosen)
    except Exception as error:  # a server or a damaged file may cause many types of exceptions
        why = " ".join(str(error).split())[:200]
        fail(Path(name), f"cannot be had from openml.org: {why or type(error).__name__}")
    finally:
        socket.setdefaulttimeout(before)
    return found.frame, list(found.target_names)


def _check_openml_address(address: str) -> None:
    """Raise DataError unless the data are a file of openml.org.

    scikit-learn would read a file of this machine (file:), and keeps, reads and removes a copy at the address's path
    below its folder, which `..` would leave.
    """
    parts = urlsplit(address)
    is_there = parts.scheme in ("http", "https") and re.fullmatch(r"(.+\.)?openml\.org", parts.hostname or "")
    segments = parts.path.split("/")
    if not is_there or ".." in segments or re.search(r"[\\:]", parts.path):
        raise DataError(f"it says that the data are at {quote(address)}, which is no file of openml.org")


# -------------------------------------------------------------------- a frame as tables


def join(X: pd.DataFrame, Y: Matrix, label_names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Features and label sets (n×K of {0, 1}) as one DataFrame, and the names of the labels; default: label1, ...

    Raises
    ------
    DataError
        When their rows do not fit.
    """
    if len(X) != Y.shape[0]:
        raise DataError(f"X has {len(X)} rows and Y has {Y.shape[0]}")
    names = list(label_names) or [f"label{k + 1}" for k in range(Y.shape[1])]
    if sparse.issparse(Y) and all(isinstance(kind, pd.SparseDtype) for kind in X.dtypes):
        labels = pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(Y), columns=names)
    else:
        labels = pd.DataFrame(as_dense(Y), columns=names)
    return pd.concat([X.reset_index(drop=True), labels], axis=1), names


def divide_frame(frame: pd.DataFrame, origins: Origins, options: Mapping[str, Any]) -> Tables:
    """The features and the labels of a DataFrame.

    Parameters
    ----------
    frame : DataFrame
        Its index is ignored.
    origins : Origins
        Where its rows come from.
    options : mapping
        As in a config: `labels`, `separator`, `text`, `categories`, `dates`, `drop`, `missing`.

    Raises
    ------
    DataError
        When cells or columns have no defined meaning, with a line for each column; when the labels are not stated or
        not found.
    """
    head = origins.head
    categories = names_of(options, "categories")
    frame, names = _choose_columns(frame, head, options)
    text = options.get("text")
    if text is not None:
        _check_text(frame, text, names, head)
    if "separator" in options and len(names) > 1:
        head.fail(f"separator: is for one column of tags, but labels: means {len(names)} columns")
    errors: list[DataError] = []
    with gathering(errors):
        if "separator" in options:
            labels = _split_tags(frame[names[0]], options["separator"], origins)
        else:
            labels = code_words(_without_unused_categories(frame[names]), origins, categories)
    of_features = frame.drop(columns=names)
    with gathering(errors):
        features = _read_features(of_features, origins, options)
    if errors and text is None and options.get("missing", "error") == "error":
        with gathering(errors):  # so that one report has all that is to be changed
            fill(np.where(of_features.isna(), np.nan, 0.0), list(of_features), origins, "error")
    raise_all(errors)
    return features, labels


def _without_unused_categories(labels: pd.DataFrame) -> pd.DataFrame:
    """Labels whose categories are those that rows have, so that what is left of others is no third value."""
    of_categories = labels.select_dtypes("category")
    used = {name: column.cat.remove_unused_categories() for name, column in of_categories.items()}
    return _with_columns(labels, used)


def _with_columns(frame: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    """The frame with other values in some columns; `assign` takes no column called `self`."""
    frame = frame.copy(deep=False)
    for name, values in columns.items():
        frame[name] = values
    return frame


def _read_features(frame: pd.DataFrame, origins: Origins, options: Mapping[str, Any]) -> Table:
    """The features: a column of text, or numbers in place of words and dates."""
    if "text" in options:
        return text_table(frame[options["text"]], origins)
    categories = names_of(options, "categories")
    dates: dict[str, tuple[str, ...]] = {}
    if "dates" in options:
        frame, dates = encode_dates(frame, options["dates"], categories, origins)
    return replace(code_words(frame, origins, categories), dates=dates)


def _choose_columns(frame: pd.DataFrame, head: Line, options: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """The frame without the columns to drop, and the names of the labels in its order."""
    for key in ("categories", "drop"):
        for name in names_of(options, key):
            if name not in frame.columns:
                head.fail(f"{key}: no column is called {quote(name)}; there are {list_values(frame.columns)}")
    frame = frame.drop(columns=names_of(options, "drop"))
    names = list(frame.columns)
    if "labels" not in options:
        head.fail(
            f"which of the columns {list_values(names)} are labels? Say `labels`: names, a pattern, or how many (-4: "
            f"the last four); in a config `{{{head.path.name}: {{labels: -4}}}}`, of a command on data "
            "`--set labels=-4`"
        )
    return frame, [names[j] for j in find_columns(head, names, options["labels"])]


def _check_text(frame: pd.DataFrame, text: str, labels: Sequence[str], head: Line) -> None:
    """Raise DataError unless `text` is the only column besides the labels."""
    if text not in frame.columns:
        head.fail(f"text: no column is called {quote(text)}{suggest_name(text, frame.columns)}")
    if text in labels:
        head.fail(f"text: column {quote(text)} is a label")
    others = [name for name in frame.columns if name != text and name not in labels]
    if others:
        head.fail(
            f"text: a set of texts has no other features than its text {quote(text)}; "
            f"leave the others out: `drop: [{', '.join(others[:20])}]`"
        )


def _split_tags(cells: pd.Series, separator: str, origins: Origins) -> Table:
    """The different tags, sorted, and which of them each row has."""
    from sklearn.preprocessing import MultiLabelBinarizer

    rows = []
    for row, cell in enumerate(_without_gaps(cells)):
        tags = _tags_of(cell, separator)
        if tags is None:
            what = f"column {quote(str(cells.name))} has {quote(str(cell))}, which is no text of tags"
            origins.fail(row, f"{what}, nor a list such as ['a', 'b']")
        if len(set(tags)) < len(tags):
            origins.fail(row, f"a tag is there twice in {quote(str(cell))}")
        rows.append(tags)
    if not any(rows):
        origins.line_of(0).fail(f"no tag in column {quote(str(cells.name))}")
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = sparse.csr_array(binarizer.fit_transform(rows), dtype=np.uint8)
    Y.sort_indices()
    return Table(tuple(map(Attribute, binarizer.classes_.tolist())), Y, origins)


def _tags_of(cell: Any, separator: str) -> list[str] | None:
    """The tags of a cell, a text or (in Parquet and DataFrames) a list of texts; None for anything else."""
    if isinstance(cell, str):
        if _LIST_LIKE.match(cell.strip()):
            return _tags_of_list(cell.strip())
        pieces = [piece.strip() for piece in cell.split(separator)]
        return [piece for piece in pieces if piece]
    if isinstance(cell, list | tuple | np.ndarray) and all(isinstance(each, str) for each in cell):
        return list(cell)
    return None


_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_LIST_LIKE = re.compile(r"""\[.*\]$|[\[({]\s*['"]|\(\)$|set\(\)$""", re.DOTALL)
_ITEM = re.compile(rf"\s*({QUOTED}|[+-]?[0-9]+)\s*")


def _tags_of_list(text: str) -> list[str] | None:
    """The tags of a list as Python or JSON writes it, of texts in quotes and whole numbers; None for any other text."""
    text = text.removeprefix("set")
    if _BRACKETS[text[0]] != text[-1]:
        return None
    inner = text[1:-1].strip()
    tags = []
    at = 0
    while at < len(inner):
        item = _ITEM.match(inner, at)
        if item is None or inner[item.end() : item.end() + 1] not in ("", ","):
            return None
        try:
            tag = str(ast.literal_eval(item[1])).strip()  # one text or number: nothing is nested
            tag.encode()
        except (SyntaxError, ValueError):
            return None
        if not tag:
            return None
        tags.append(tag)
        at = item.end() + 1
    return tags


def text_table(cells: pd.Series, origins: Origins) -> Table:
    """A column of text."""
    name = str(cells.name)
    return Table((Attribute(name),), as_texts(_without_gaps(cells), name, origins), origins)


def _without_gaps(cells: pd.Series) -> list[Any]:
    """The cells of a column of texts; a missing one (None, NaN, NA) is an empty text."""
    return cells.astype(object).where(cells.notna(), "").tolist()


def code_words(frame: pd.DataFrame, origins: Origins, categories: Sequence[str]) -> Table:
    """A DataFrame with codes (NaN: missing) in place of words; in the columns `categories`, numbers are words, too.

    Raises
    ------
    DataError
        When cells have no defined meaning, with a line for each column.
    """
    frame = _with_numbers_of_objects(frame)
    attributes, coded = [], {}
    errors: list[DataError] = []
    for name in frame.columns:
        column = FrameColumn(name, frame[name], name in categories, origins)
        codes = None
        with gathering(errors):
            if column.is_of_words:
                codes, coded[name] = column.code()
            else:
                column.check_whole_numbers()
        attributes.append(Attribute(name, codes, line=origins.head.number))
    raise_all(errors)
    return Table(tuple(attributes), _as_matrix(_with_columns(frame, coded)), origins)


def _with_numbers_of_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with columns of numbers in place of columns of objects that are all numbers, or missing."""
    found = {}
    for name, column in frame.items():
        kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else ""
        if kind == "integer":
            with contextlib.suppress(OverflowError):  # beyond 64 bits, where its words say so
                found[name] = column.astype("Int64")
        elif kind in ("floating", "mixed-integer-float"):
            found[name] = column.astype("Float64")
    return _with_columns(frame, found)


def _leaving_zeros_out(column: pd.Series) -> pd.Series:
    """A sparse column as real numbers of which only zeros are left out."""
    if column.dtype.fill_value != 0:  # pandas before 3.1 would change what is left out, and not the values
        column = pd.Series(column.to_numpy(np.float64, na_value=np.nan), column.index)
    return column.astype(pd.SparseDtype(np.float64, 0.0))


def _as_matrix(frame: pd.DataFrame) -> Matrix:
    """A copy of the values of a frame of numbers (n×m); CSR if all columns are sparse."""
    if len(frame.columns) and all(isinstance(kind, pd.SparseDtype) for kind in frame.dtypes):
        floats = frame.apply(_leaving_zeros_out)
        matrix = sparse.csr_array(floats.sparse.to_coo())
        matrix.sort_indices()
        return matrix
    return np.array(frame.to_numpy(np.float64, na_value=np.nan), order="C")
