"""CSV, Parquet and Feather files, OpenML's data sets and DataFrames: read into pandas, then checked.

A column of numbers or of true/false is numeric; a column of words is nominal, as in ARFF. Values that begin with a
digit and are not numbers (a date, `3,5`, `12%`, `1_000`, `0x10`) are refused, and so are words among numbers, except in
`categories`. A whole number beyond 2^53 in a column of whole numbers is refused: a 64-bit float may not hold it.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse

from mlcdr.data.arff import NUMBER
from mlcdr.data.arff_header import Attribute
from mlcdr.data.encoding import BINARY, MANY_ROWS
from mlcdr.data.files import cache_folder
from mlcdr.data.forms import PACKED
from mlcdr.data.packed import FREE_BYTES, GROWTH, check_plain, open_data
from mlcdr.data.table import Table, check_there, find_columns
from mlcdr.data.text import Line, fail, list_values, quote
from mlcdr.data.texts import Texts, as_texts
from mlcdr.errors import DataError, suggest_name

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""The cells of a CSV file that mean a missing value."""

_LARGEST = 2**53  # beyond it, 64-bit floats do not hold every whole number
_NUMBER_LIKE = re.compile(r"\s*[+-]?[.,]?\d")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_PRECISE: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}


Tags: TypeAlias = tuple[tuple[str, ...], np.ndarray]
"""Names of labels and label sets (n×K), from a column of tags."""


class Framed(NamedTuple):
    """A table, the positions of its labels, its tags (or None), and the name and cells of its text column (or None).

    The columns of tags and of text are not in the table.
    """

    table: Table
    columns: list[int]
    tags: Tags | None
    texts: tuple[str, Texts] | None


@dataclass(frozen=True)
class _FrameTable(Table):
    """A table with a function that finds the line of a row."""

    find: Callable[[int], Line]

    def place(self, row: int) -> Line:
        """The line of a row in the file."""
        return self.find(row)


@dataclass(frozen=True)
class _CsvFile:
    """A CSV file, and the options for reading it."""

    path: Path
    delimiter: str
    decimal: str
    encoding: str
    header: bool

    @classmethod
    def of(cls, path: Path, options: Mapping[str, Any]) -> _CsvFile:
        tabs = path.name.lower().split(".csv")[0].endswith((".tsv", ".tsv.gz", ".tsv.xz", ".tsv.zip"))
        own = {key: options[key] for key in ("delimiter", "decimal", "encoding", "header") if key in options}
        return cls(
            **{"path": path, "delimiter": "\t" if tabs else ",", "decimal": ".", "encoding": "utf-8", "header": True}
            | own
        )

    def open(self) -> Any:
        return open_data(self.path, plain=self.encoding != "utf-16")

    def records(self) -> Iterator[tuple[Line, list[str]]]:
        """For each non-blank row, header included, the line on which it begins, and its cells; slow."""
        with self.open() as file:
            encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
            text = io.TextIOWrapper(file, encoding=encoding, newline="")
            reader = csv.reader(text, delimiter=self.delimiter, skipinitialspace=True, strict=True)
            number = 1
            try:
                for cells in reader:
                    if len(cells) > 1 or "".join(cells).strip():
                        yield Line(self.path, number), cells
                    number = reader.line_num + 1
            except UnicodeDecodeError:
                self._fail_undecodable()
            except csv.Error as error:
                Line(self.path, number).fail(f"no row of CSV: {error}")

    def names(self, least: int = 2) -> list[str]:
        """The names of the columns; DataError if a header has fewer than `least`, or does not fit the first row."""
        records = self.records()
        line, names = next(records, (Line(self.path, 1), []))
        if not names:
            line.fail("an empty file; a CSV file begins with the names of its columns")
        if not self.header:
            return [f"column{j + 1}" for j in range(len(names))]
        if all(_NUMBER_LIKE.match(name) for name in names):
            line.fail(f"numbers ({list_values(names)}) where the names of the columns belong; or say `header: false`")
        _check_names(line, names)
        if len(names) < least:
            other = next((mark for mark in ";\t,|" if mark in names[0]), None)
            hint = f"; is `delimiter: {other!r}` meant?" if other else ""
            line.fail(f"one column, {quote(names[0])}; features and labels are at least two{hint}")
        line, first = next(records, (line, names))
        self._check_length(line, first, names)
        return names

    def read(self, words: Sequence[str], texts: Sequence[str], least: int = 2) -> pd.DataFrame:
        """Read the rows; the columns `words` and `texts` stay text, and in `texts` no cell is a missing value."""
        names = self.names(least)
        gaps: Any = {name: list(MISSING) for name in names if name not in texts} if texts else list(MISSING)
        plain = not self.path.name.lower().endswith(PACKED)  # pandas reads a file faster than our stream
        if plain and self.encoding != "utf-16":
            check_plain(self.path)
        try:
            with self.path.open("rb") if plain else self.open() as file, warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                warnings.simplefilter("ignore", pd.errors.DtypeWarning)
                frame = pd.read_csv(
                    file,
                    sep=self.delimiter,
                    decimal=self.decimal,
                    encoding=self.encoding,
                    header=0 if self.header else None,
                    names=names,
                    index_col=False,
                    dtype={name: str for name in (*words, *texts) if name in names},
                    keep_default_na=False,
                    na_values=gaps,
                    skipinitialspace=True,
                    **_PRECISE,
                )
        except UnicodeDecodeError:
            self._fail_undecodable()
        except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError) as error:
            self._check_lengths(names)
            fail(self.path, f"no CSV: {str(error).strip()}")
        if not len(frame):
            fail(self.path, "no row after the names of the columns")
        last = frame.iloc[:, -1]
        if (last == "" if names[-1] in texts else last.isna()).any():  # maybe the row is too short
            self._check_lengths(names)
        return frame

    def place(self, row: int) -> Line:
        """The line of a row."""
        for k, (line, _) in enumerate(self.records()):
            if k == row + self.header:
                return line
        return Line(self.path, 0)

    def _check_lengths(self, names: Sequence[str]) -> None:
        for line, cells in self.records():
            self._check_length(line, cells, names)

    def _check_length(self, line: Line, cells: Sequence[str], names: Sequence[str]) -> None:
        if len(cells) != len(names):
            line.fail(f"{len(cells)} cells, but there are {len(names)} columns")

    def _fail_undecodable(self) -> NoReturn:
        with self.open() as file:
            for number, raw in enumerate(file, 1):
                try:
                    raw.decode(self.encoding)
                except UnicodeDecodeError as error:
                    wrong = f"byte 0x{raw[error.start]:02X} is not {self.encoding}"
                    Line(self.path, number).fail(f"{wrong}; say `encoding: latin-1`, or convert the file")
        fail(self.path, f"is not {self.encoding}")


def _check_names(line: Line, names: Sequence[Any]) -> None:
    seen: set[str] = set()
    for j, name in enumerate(names):
        if not isinstance(name, str):
            line.fail(f"column {j + 1} is called {name!r}; the name of a column is text")
        if not name.strip():
            hint = "; pandas writes its index so: save with index=False" if j == 0 else ""
            line.fail(f"column {j + 1} has no name{hint}")
        if name in seen:
            line.fail(f"column {quote(name)} is there twice")
        seen.add(name)


def read_tables(form: str, paths: Sequence[Path], options: Mapping[str, Any]) -> tuple[Framed, int]:
    """Read one file of a form, or the train and the test file; return all rows, and how many the first file has.

    Raises
    ------
    DataError
    """
    frames: list[pd.DataFrame] = []
    places: list[Callable[[int], Line]] = []
    tags = [options["labels"]] if "separator" in options and isinstance(options.get("labels"), str) else []
    texts = tags + ([options["text"]] if "text" in options else [])
    for path in paths:
        if form == "csv":
            file = _CsvFile.of(path, options)
            frames.append(file.read(options.get("categories", ()), texts))
            places.append(file.place)
        else:
            frames.append(_read_arrow(form, path))
            places.append(partial(_no_line, path))
    n_first, names = len(frames[0]), list(frames[0].columns)
    for path, frame in zip(paths[1:], frames[1:], strict=True):
        if list(frame.columns) != names:
            fail(path, f"its columns are not those of {paths[0].name}")
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    frames.clear()

    def place(row: int) -> Line:
        return places[0](row) if row < n_first else places[1](row - n_first)

    return as_table(frame, paths[0], options, place), n_first


def read_columns(
    form: str,
    data: Path | pd.DataFrame,
    names: Sequence[str],
    words: Sequence[str],
    text: bool,
    options: Mapping[str, Any],
) -> Framed:
    """Read only the columns `names` of a file of a form, or of a DataFrame, as a table without labels.

    `words`: the nominal columns among them; `text`: whether `names` is one column of text.

    Raises
    ------
    DataError
    """
    path, find = (data, None) if isinstance(data, Path) else (Path("rows"), None)
    if not isinstance(data, Path):
        frame = data
    elif form == "csv":
        file = _CsvFile.of(path, options)
        frame, find = file.read(words, names if text else (), 1), file.place
    else:
        frame = _read_arrow(form, path)
    _check_names(Line(path, 0), list(frame.columns))
    check_there(path, list(frame.columns), names)
    frame = frame[list(names)]
    # numbers stay numbers: "1" and "1.0" of the training rows' words are the same number
    words = [name for name in words if not pd.api.types.is_numeric_dtype(frame[name])]
    return as_table(frame, path, {"labels": [], "categories": words, **({"text": names[0]} if text else {})}, find)


def _no_line(path: Path, row: int) -> Line:
    return Line(path, 0)


def _read_arrow(form: str, path: Path) -> pd.DataFrame:
    """Read a Parquet or Feather file in batches, and stop with DataError when it expands beyond the limit."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        return fail(path, "is read by pyarrow, which is not installed: pip install 'mlcdr[parquet]'")
    most, batches, size = max(FREE_BYTES, GROWTH * path.stat().st_size), [], 0
    try:
        if form == "parquet":
            file = parquet.ParquetFile(path)
            schema, found = file.schema_arrow, file.iter_batches(batch_size=1024)
        else:
            file = ipc.open_file(path)
            schema, found = file.schema, map(file.get_batch, range(file.num_record_batches))
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


def as_table(
    frame: pd.DataFrame, path: Path, options: Mapping[str, Any], find: Callable[[int], Line] | None = None
) -> Framed:
    """Convert a DataFrame to a table, and find its labels.

    Parameters
    ----------
    frame : DataFrame
        Its index is ignored.
    path : Path
        The path of its file, for messages.
    options : mapping
        As in a config: `labels`, `separator`, `text`, `categories`, `drop`.
    find : callable, optional
        Returns the line of a row in the file; by default, messages have no line.

    Raises
    ------
    DataError
        When a cell or a column has no defined meaning, or the labels are not stated or not found.
    """
    head, find = Line(path, 0 if find is None else find(0).number and 1), find or (lambda _: Line(path, 0))
    _check_names(head, list(frame.columns))
    categories = options.get("categories", ())
    for key in ("categories", "drop"):
        for name in options.get(key, ()):
            if name not in frame.columns:
                head.fail(f"{key}: no column is called {quote(name)}; there are {list_values(frame.columns)}")
    frame = frame.drop(columns=list(options.get("drop", ())))
    names = list(frame.columns)
    if "labels" not in options:
        head.fail(
            f"which of the columns {list_values(names)} are labels? Say `labels`: names, a pattern, or how many (-4: "
            f"the last four); in a config `{{{path.name}: {{labels: -4}}}}`, of a command on data `--set labels=-4`"
        )
    columns = find_columns(head, names, options["labels"])
    tags = None
    if "separator" in options:
        if len(columns) != 1:
            head.fail(f"separator: is for one column of tags, but labels: means {len(columns)} columns")
        tags = _split_tags(frame.iloc[:, columns[0]], options["separator"], find)
        frame, columns = frame.drop(columns=names[columns[0]]), []
    texts = None
    if "text" in options:
        labels = [names[j] for j in columns]
        texts = options["text"], _read_texts(frame, options["text"], labels, head, find)
        frame, columns = frame[labels], list(range(len(labels)))
    attributes, coded, numbers = [], {}, []
    for j, name in enumerate(frame.columns):
        column, codes = _Column(name, frame.iloc[:, j], find), None
        kind = column.values.dtype.kind  # also of pandas' nullable numbers
        if name in categories and kind in "iuf":
            column = column._replace(values=_as_words(column.values))
            coded[j], codes = column.codes(True)
        elif kind not in "biuf":
            coded[j], codes = column.codes(name in categories)
        else:
            numbers.append(column)
        attributes.append(Attribute(name, codes, False, head.number))
    if coded:
        frame = pd.concat({j: coded.get(j, frame.iloc[:, j]) for j in range(len(attributes))}, axis=1)
    features = [kind for j, kind in enumerate(frame.dtypes) if j not in columns]
    if features and all(isinstance(kind, pd.SparseDtype) for kind in features):
        values: Any = sparse.csr_array(frame.astype(pd.SparseDtype(np.float64, 0.0)).sparse.to_coo())
    else:
        values = frame.to_numpy(np.float64, na_value=np.nan)
        if numbers and max(values.max(), -values.min()) < _LARGEST:  # no NaN, no large number
            numbers = []
    for column in numbers:
        column.check_numbers()
    return Framed(_FrameTable(path, tuple(attributes), values, find), columns, tags, texts)


def _read_texts(
    frame: pd.DataFrame, name: str, labels: Sequence[str], head: Line, find: Callable[[int], Line]
) -> Texts:
    """The texts of the column `name`, which must be the only column besides the labels."""
    if name not in frame.columns:
        head.fail(f"text: no column is called {quote(name)}{suggest_name(name, frame.columns)}")
    if name in labels:
        head.fail(f"text: column {quote(name)} is a label")
    others = [each for each in frame.columns if each != name and each not in labels]
    if others:
        hint = f"leave the others out: `drop: [{', '.join(others[:20])}]`"
        head.fail(f"text: a set of texts has no other features than its text {quote(name)}; {hint}")

    def fail_at(row: int, message: str) -> NoReturn:
        find(row).fail(f"row {row + 1}: column {quote(name)} {message}")

    return as_texts(frame[name].astype(object), fail_at)


def _as_words(numbers: pd.Series) -> pd.Series:
    """The numbers of a column as words, 2.0 like 2; missing ones stay missing."""
    values = pd.Series(np.asarray(numbers, dtype=object), index=numbers.index)
    return values.map(lambda value: str(value).removesuffix(".0"), na_action="ignore")


class _Column(NamedTuple):
    """A column of a DataFrame, to be checked."""

    name: str
    values: pd.Series
    find: Callable[[int], Line]

    def fail(self, row: Any, message: str) -> NoReturn:
        self.find(int(row)).fail(f"row {int(row) + 1}: column {quote(self.name)} {message}")

    def check_numbers(self) -> None:
        values = self.values
        if values.dtype.kind in "iu" and (values.max() > _LARGEST or values.min() < -_LARGEST):
            row = ((values > _LARGEST) | (values < -_LARGEST)).to_numpy(bool, na_value=False).argmax()
            self._fail_large(row, values.iloc[row])
        elif values.dtype.kind == "f" and (np.isinf(values.max()) or np.isinf(values.min())):
            wrong = np.isinf(values.to_numpy(np.float64, na_value=np.nan))
            if wrong.any():
                self.fail(wrong.argmax(), "has a value that is infinite, or too large for a 64-bit number")

    def _fail_large(self, row: Any, value: Any) -> NoReturn:
        hint = f"an identifier? Leave it out: `drop: [{self.name}]`"
        self.fail(row, f"has the value {value}, which is beyond 2^53 and would be rounded; {hint}")

    def codes(self, category: bool) -> tuple[pd.Series, dict[str, int]]:
        """The code of each cell (NaN: missing), and word → code: its position, in sorted or the Categorical's order."""
        values = self.values
        if isinstance(values.dtype, pd.CategoricalDtype):
            words, coded = [str(each) for each in values.cat.categories], values.cat.codes.to_numpy(np.float64)
        elif values.dtype.kind in "OTU":
            for row, each in enumerate(values if values.dtype.kind == "O" and values.dtype == object else ()):
                if not isinstance(each, str | int | float | None):
                    self.fail(row, f"has a {type(each).__name__}, which is no number and no word")
            codes, found = pd.factorize(values)
            words = [str(each) for each in found]
            if not category:
                self._check_words(words, codes)
            order = np.argsort(np.array(words, dtype=object), kind="stable")
            coded = np.append(np.argsort(order), -1).astype(np.float64)[codes]
            words = [words[k] for k in order]
        else:
            hint = "write a date as a number (a year, days since ...)" if values.dtype.kind in "Mm" else "convert it"
            self.fail(0, f"is of type {values.dtype}; {hint}, or leave it out: `drop: [{self.name}]`")
        if len(words) == 1:  # the data may have only one value of a yes/no pair
            pair = next((pair for pair in BINARY.values() if words[0].casefold() in pair), ())
            words += [each for each in pair if each != words[0].casefold()]
        coded[coded < 0] = np.nan
        return pd.Series(coded, index=values.index), {word: k for k, word in enumerate(words)}

    def _check_words(self, words: Sequence[str], codes: np.ndarray) -> None:
        """Raise DataError for words that look like numbers, and for more than max(50, ⌊n/2⌋) different words."""
        if any(map(_NUMBER_LIKE.match, words)):
            odd = [k for k, word in enumerate(words) if not NUMBER.fullmatch(word)]
            large = [k for k, word in enumerate(words) if _WHOLE.fullmatch(word) and abs(int(word[:400])) > _LARGEST]
            row = np.isin(codes, odd or large or range(len(words))).argmax()
            word = words[codes[row]]
            if not odd and large:
                self._fail_large(row, word)
            hint = f"if its values are words, say `categories: [{self.name}]`"
            if _DECIMAL_COMMA.fullmatch(word):
                hint = "for decimal commas say `decimal: ','`"
            elif _DATE.match(word):
                hint = f"write a date as a number (a year, days since ...), or leave it out: `drop: [{self.name}]`"
            self.fail(row, f"has the value {quote(word)}, which is not a number; {hint}")
        if len(words) > max(MANY_ROWS, len(codes) // 2):
            own = f"`drop: [{self.name}]`, `text: {self.name}` or `categories: [{self.name}]`"
            hint = f"a text or an identifier? Leave it out, or say what it is: {own}"
            fail(
                self.find(0).path,
                f"column {quote(self.name)} has {len(words)} different words in {len(codes)} rows; {hint}",
            )


def _split_tags(cells: pd.Series, separator: str, find: Callable[[int], Line]) -> Tags:
    """The different tags, sorted, and which of them each row has (n×K)."""
    rows: list[list[str]] = []
    for row, cell in enumerate(cells):
        if isinstance(cell, str):
            tags = [tag for each in cell.split(separator) if (tag := each.strip())]
        elif isinstance(cell, list | tuple | np.ndarray) and all(isinstance(each, str) for each in cell):
            tags = list(cell)  # in Parquet and DataFrames
        elif cell is None or cell != cell:
            tags = []
        else:
            find(row).fail(
                f"row {row + 1}: column {quote(str(cells.name))} has {quote(str(cell))}, which is no text of tags"
            )
        if len(set(tags)) < len(tags):
            find(row).fail(f"row {row + 1}: a tag is there twice in {quote(str(cell))}")
        rows.append(tags)
    names = tuple(sorted({tag for tags in rows for tag in tags}))
    if not names:
        find(0).fail(f"no tag in column {quote(str(cells.name))}")
    where = {name: k for k, name in enumerate(names)}
    Y = np.zeros((len(rows), len(names)), dtype=np.uint8)
    for row, tags in enumerate(rows):
        Y[row, [where[tag] for tag in tags]] = 1
    return names, Y


def joined(X: pd.DataFrame, Y: Any, label_names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Features and labels as one DataFrame, and the names of the labels."""
    if not isinstance(Y, pd.DataFrame):
        Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
        Y = pd.DataFrame(Y, columns=list(label_names) or [f"label{k + 1}" for k in range(Y.shape[1])])
    elif len(X) == len(Y) and not X.index.equals(Y.index):
        raise DataError(
            "X and Y have different indexes, and rows are paired by their position; if that is right, "
            "give both the same index: Y.set_axis(X.index)"
        )
    if len(X) != len(Y):
        raise DataError(f"X has {len(X)} rows and Y has {len(Y)}")
    return pd.concat([X.reset_index(drop=True), Y.reset_index(drop=True)], axis=1), list(Y.columns)


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
