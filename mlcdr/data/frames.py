"""DataFrames as tables: of CSV, Parquet and Feather files, of OpenML's data sets, and in memory.

A column of numbers or of true/false is numeric; a column of words is nominal, as in ARFF. Values that begin with a
digit and are not numbers (a date, `3,5`, `12%`, `1_000`, `0x10`) are refused, and so are words among numbers, except in
`categories`. A whole number beyond 2^53 in a column of whole numbers is refused: a 64-bit float may not hold it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from scipy import sparse

from mlcdr.data.arff import NUMBER
from mlcdr.data.arff_header import Attribute
from mlcdr.data.csv_table import NUMBER_LIKE, CsvFile, check_names
from mlcdr.data.encoding import BINARY, MANY_ROWS, Selected, Tags
from mlcdr.data.files import cache_folder
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.packed import GROWTH, most_bytes
from mlcdr.data.table import Matrix, Origin, Origins, Table, find_columns
from mlcdr.data.texts import Texts, as_texts
from mlcdr.errors import DataError, suggest_name

_LARGEST = 2**53  # beyond it, 64-bit floats do not hold every whole number


# -------------------------------------------------------------------- files


def read_tables(form: str, paths: Sequence[Path], options: Mapping[str, Any]) -> Selected:
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
        frame, origin = read_frame(form, path, options, options.get("categories", ()), texts)
        frames.append(frame)
        origins.append(origin)
        if list(frame.columns) != list(frames[0].columns):
            fail(path, f"its columns are not those of {paths[0].name}")
    whole = frames[0]
    if len(frames) > 1:
        whole = pd.concat(frames, ignore_index=True)
    return as_table(whole, Origins(*origins), options)


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
        check_names(Line(Path("rows"), 0), list(rows.columns))
        return rows, Origin(Path("rows"), len(rows))
    if form != "csv":
        frame = _read_arrow(form, rows)
        return frame, Origin(rows, len(frame))
    file = CsvFile.of(rows, options)
    frame = file.read(words, texts, least)
    return frame, Origin(rows, len(frame), 1, file.line_of)


def _read_arrow(form: str, path: Path) -> pd.DataFrame:
    """Read a Parquet or Feather file in batches, and stop with DataError when it expands beyond the limit."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        return fail(path, "is read by pyarrow, which is not installed: pip install 'mlcdr[parquet]'")
    most = most_bytes(path)
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
        for batch in found:
            size += batch.nbytes
            if size > most:
                break
            batches.append(batch)
        else:
            return pyarrow.Table.from_batches(batches, schema).to_pandas()
    except Exception as error:  # pyarrow raises many types of exceptions for a damaged file
        return fail(path, f"no {form} file, or a damaged one ({type(error).__name__}: {str(error).strip()[:100]})")
    return fail(path, f"unpacks to more than {GROWTH} times its size")


def fetch_openml(name: str, number: int) -> tuple[pd.DataFrame, list[str]]:
    """A data set of openml.org, which scikit-learn stores in the user's cache, and the names of its targets.

    Raises
    ------
    DataError
        When there is no such data set, no connection, or a file that scikit-learn cannot read.
    """
    from sklearn import datasets

    try:
        # scikit-learn's other parser (pandas) fails on attributes {FALSE,TRUE}, as most labels of OpenML are.
        chosen = {"parser": "liac-arff", "as_frame": True, "n_retries": 1, "data_home": cache_folder() / "openml"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings that it tries again
            found = datasets.fetch_openml(data_id=number, **chosen)
    except Exception as error:  # a server or a damaged file may cause many types of exceptions
        raise DataError(f"{name}: cannot be had from openml.org: {str(error).strip()[:200]}") from error
    return found.frame, list(found.target_names)


# -------------------------------------------------------------------- a frame as a table


def joined(X: pd.DataFrame, Y: Any, label_names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Features and labels as one DataFrame, and the names of the labels.

    Raises
    ------
    DataError
        When their rows do not fit.
    """
    if not isinstance(Y, pd.DataFrame):
        Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
        if Y.ndim != 2:
            raise DataError(f"Y has the shape {Y.shape}; needed are rows and columns")
        names = list(label_names) or [f"label{k + 1}" for k in range(Y.shape[1])]
        Y = pd.DataFrame(Y, columns=names)
    elif len(X) == len(Y) and not X.index.equals(Y.index):
        raise DataError(
            "X and Y have different indexes, and rows are paired by their position; if that is right, "
            "give both the same index: Y.set_axis(X.index)"
        )
    if len(X) != len(Y):
        raise DataError(f"X has {len(X)} rows and Y has {len(Y)}")
    both = pd.concat([X.reset_index(drop=True), Y.reset_index(drop=True)], axis=1)
    return both, list(Y.columns)


def as_table(frame: pd.DataFrame, origins: Origins, options: Mapping[str, Any]) -> Selected:
    """Convert a DataFrame to a table, in four steps: choose columns, split tags, take texts, code words.

    Parameters
    ----------
    frame : DataFrame
        Its index is ignored.
    origins : Origins
        Where its rows come from.
    options : mapping
        As in a config: `labels`, `separator`, `text`, `categories`, `drop`.

    Raises
    ------
    DataError
        When a cell or a column has no defined meaning, or the labels are not stated or not found.
    """
    head = origins.head
    if not len(frame):
        fail(head.path, "has no rows")
    frame, labels = _choose_columns(frame, head, options)
    tags = None
    text = None
    if "separator" in options:
        if len(labels) != 1:
            head.fail(f"separator: is for one column of tags, but labels: means {len(labels)} columns")
        tags = _split_tags(frame[labels[0]], options["separator"], origins)
        frame = frame.drop(columns=labels)
        labels = []
    if "text" in options:
        text = options["text"], _take_texts(frame, options["text"], labels, head, origins)
        frame = frame[labels]
    attributes, frame = _code_words(frame, head, origins, options.get("categories", ()))
    table = Table(attributes, _as_matrix(frame, labels), origins)
    return Selected(table, [frame.columns.get_loc(name) for name in labels], tags, text)


def _choose_columns(frame: pd.DataFrame, head: Line, options: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """The frame without the columns to drop, and the names of the labels in its order."""
    check_names(head, list(frame.columns))
    for key in ("categories", "drop"):
        for name in options.get(key, ()):
            if name not in frame.columns:
                head.fail(f"{key}: no column is called {quote(name)}; there are {list_values(frame.columns)}")
    frame = frame.drop(columns=list(options.get("drop", ())))
    names = list(frame.columns)
    if "labels" not in options:
        head.fail(
            f"which of the columns {list_values(names)} are labels? Say `labels`: names, a pattern, or how many (-4: "
            f"the last four); in a config `{{{head.path.name}: {{labels: -4}}}}`, of a command on data "
            "`--set labels=-4`"
        )
    return frame, [names[j] for j in find_columns(head, names, options["labels"])]


def _split_tags(cells: pd.Series, separator: str, origins: Origins) -> Tags:
    """The different tags, sorted, and which of them each row has (n×K)."""
    from sklearn.preprocessing import MultiLabelBinarizer

    rows = []
    for row, cell in enumerate(cells):
        tags = _tags_of(cell, separator)
        if tags is None:
            what = f"column {quote(str(cells.name))} has {quote(str(cell))}, which is no text of tags"
            origins.fail(row, what)
        if len(set(tags)) < len(tags):
            origins.fail(row, f"a tag is there twice in {quote(str(cell))}")
        rows.append(tags)
    binarizer = MultiLabelBinarizer()
    Y = binarizer.fit_transform(rows).astype(np.uint8)
    if not Y.size:
        origins.line_of(0).fail(f"no tag in column {quote(str(cells.name))}")
    return tuple(binarizer.classes_.tolist()), Y


def _tags_of(cell: Any, separator: str) -> list[str] | None:
    """The tags of a cell, a text or (in Parquet and DataFrames) a list of texts; None for anything else."""
    if isinstance(cell, str):
        pieces = [piece.strip() for piece in cell.split(separator)]
        return [piece for piece in pieces if piece]
    if isinstance(cell, list | tuple | np.ndarray):
        return list(cell) if all(isinstance(each, str) for each in cell) else None
    is_missing = cell is None or cell != cell
    return [] if is_missing else None


def _take_texts(frame: pd.DataFrame, name: str, labels: Sequence[str], head: Line, origins: Origins) -> Texts:
    """The texts of the column `name`, which must be the only column besides the labels."""
    if name not in frame.columns:
        head.fail(f"text: no column is called {quote(name)}{suggest_name(name, frame.columns)}")
    if name in labels:
        head.fail(f"text: column {quote(name)} is a label")
    others = [each for each in frame.columns if each != name and each not in labels]
    if others:
        hint = f"leave the others out: `drop: [{', '.join(others[:20])}]`"
        head.fail(f"text: a set of texts has no other features than its text {quote(name)}; {hint}")
    return as_texts(frame[name].astype(object), name, origins)


def _code_words(
    frame: pd.DataFrame, head: Line, origins: Origins, categories: Sequence[str]
) -> tuple[tuple[Attribute, ...], pd.DataFrame]:
    """The attributes of all columns, and the frame with codes (NaN: missing) in place of words."""
    attributes, coded = [], {}
    for name in frame.columns:
        column = _Column(name, frame[name], name in categories, origins)
        codes = None
        if column.is_of_words:
            codes, coded[name] = column.code()
        else:
            column.check_whole_numbers()
        attributes.append(Attribute(name, codes, False, head.number))
    if coded:
        frame = frame.assign(**coded)
    return tuple(attributes), frame


@dataclass(frozen=True)
class _Column:
    """A column of a frame; in a `category`, numbers are words."""

    name: str
    values: pd.Series
    is_category: bool
    origins: Origins

    def fail(self, row: int, what: str) -> NoReturn:
        self.origins.fail(row, f"column {quote(self.name)} {what}")

    @property
    def is_of_words(self) -> bool:
        kind = self.values.dtype.kind  # also of pandas' nullable numbers
        return kind not in "biuf" or (self.is_category and kind != "b")

    def check_whole_numbers(self) -> None:
        """Raise DataError for a whole number that a 64-bit float may not hold."""
        if self.values.dtype.kind in "iu":
            large = (self.values > _LARGEST) | (self.values < -_LARGEST)
            if large.any():
                row = int(large.to_numpy(bool, na_value=False).argmax())
                self._fail_large(row, self.values.iloc[row])

    def _fail_large(self, row: int, value: object) -> NoReturn:
        hint = f"an identifier? Leave it out: `drop: [{self.name}]`"
        self.fail(row, f"has the value {value}, which is beyond 2^53 and would be rounded; {hint}")

    def code(self) -> tuple[dict[str, int], np.ndarray]:
        """Word → code, its position in sorted or the Categorical's order; and the code of each cell (NaN: missing)."""
        column = self.values
        if column.dtype.kind in "iuf":
            column = _as_words(column)
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = self._as_categorical(column)
        words = [str(each) for each in column.cat.categories]
        codes = column.cat.codes.to_numpy(np.float64, copy=True)
        codes[codes < 0] = np.nan
        if len(words) == 1:  # the data may have only one value of a yes/no pair
            known = words[0].casefold()
            pair = next((pair for pair in BINARY.values() if known in pair), ())
            words += [each for each in pair if each != known]
        return {word: code for code, word in enumerate(words)}, codes

    def _as_categorical(self, column: pd.Series) -> pd.Series:
        if column.dtype.kind not in "OTU":
            hint = "write a date as a number (a year, days since ...)" if column.dtype.kind in "Mm" else "convert it"
            self.fail(0, f"is of type {column.dtype}; {hint}, or leave it out: `drop: [{self.name}]`")
        if column.dtype == object:
            for row, cell in enumerate(column):
                if not isinstance(cell, str | int | float | None):
                    self.fail(row, f"has a {type(cell).__name__}, which is no number and no word")
        words = column.map(str, na_action="ignore").astype("category")
        if not self.is_category:
            self._check_words(words)
        return words

    def _check_words(self, words: pd.Series) -> None:
        """Raise DataError for words that look like numbers, and for more than max(50, ⌊n/2⌋) different words."""
        different = list(words.cat.categories)
        if any(map(NUMBER_LIKE.match, different)):
            self._fail_at_number(words, different)
        if len(different) > max(MANY_ROWS, len(words) // 2):
            own = f"`drop: [{self.name}]`, `text: {self.name}` or `categories: [{self.name}]`"
            hint = f"a text or an identifier? Leave it out, or say what it is: {own}"
            count = f"{len(different)} different words in {len(words)} rows"
            fail(self.origins.path, f"column {quote(self.name)} has {count}; {hint}")

    def _fail_at_number(self, words: pd.Series, different: Sequence[str]) -> NoReturn:
        """Raise DataError about a word that looks like a number: an odd one, else a large one, else any."""
        odd = [word for word in different if not NUMBER.fullmatch(word)]
        large = [word for word in different if not odd and abs(float(word)) > _LARGEST]
        row = int(words.isin(odd or large or different).to_numpy().argmax())
        word = words.iloc[row]
        if large:
            self._fail_large(row, word)
        hints = (
            f"if its values are words, say `categories: [{self.name}]`; for decimal commas `decimal: ','`; write a "
            f"date as a number (a year, days since ...), or leave it out: `drop: [{self.name}]`"
        )
        self.fail(row, f"has the value {quote(word)}, which is not a number; {hints}")


def _as_words(numbers: pd.Series) -> pd.Series:
    """The numbers of a column as words, 2.0 like 2; missing ones stay missing."""
    values = pd.Series(np.asarray(numbers, dtype=object))
    return values.map(lambda value: str(value).removesuffix(".0"), na_action="ignore")


def _as_matrix(frame: pd.DataFrame, labels: Sequence[str]) -> Matrix:
    """The values (n×m) of a frame of numbers; CSR if the features are sparse columns."""
    kinds = [frame[name].dtype for name in frame.columns if name not in labels]
    if kinds and all(isinstance(kind, pd.SparseDtype) for kind in kinds):
        floats = frame.astype(pd.SparseDtype(np.float64, 0.0))
        return sparse.csr_array(floats.sparse.to_coo())
    return frame.to_numpy(np.float64, na_value=np.nan)
