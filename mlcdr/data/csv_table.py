"""CSV files, read by pandas; a second, slow reading row by row finds the line of what is wrong."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from mlcdr.csv_files import open_reader
from mlcdr.data.lines import Line, fail, list_values, quote
from mlcdr.data.packed import open_data

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""The cells of a CSV file that mean a missing value."""

NUMBER_LIKE = re.compile(r"\s*[+-]?[.,]?\d")
"""What begins like a number."""

_TABS = (".tsv", ".tsv.gz", ".tsv.xz", ".tsv.zip")


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, and the options for reading it."""

    path: Path
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool | None = None

    @classmethod
    def of(cls, path: Path, options: Mapping[str, Any]) -> CsvFile:
        """The file with those of the options that are about CSV."""
        own = ("delimiter", "decimal", "encoding", "header")
        said = {key: options[key] for key in own if key in options}
        if path.name.lower().endswith(_TABS):
            said.setdefault("delimiter", "\t")
        return cls(path, **said)

    def read(self, words: Sequence[str], texts: Sequence[str], least: int = 2) -> pd.DataFrame:
        """Read the rows.

        Parameters
        ----------
        words, texts : sequence of str
            The columns that stay as they are written; in `texts` no cell is a missing value.
        least : int
            The least number of columns.

        Raises
        ------
        DataError
            With file and line, where pandas cannot read the file or would read it otherwise than it is written.
        """
        names = self._read_names(least)
        gaps: Any = list(MISSING)
        if texts:
            gaps = {name: gaps for name in names if name not in texts}
        try:
            with self._open() as file, warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                warnings.simplefilter("ignore", pd.errors.DtypeWarning)
                frame = pd.read_csv(
                    file,
                    sep=self.delimiter,
                    decimal=self.decimal,
                    encoding=self.encoding,
                    header=None if self.header is False else 0,
                    names=names,
                    index_col=False,
                    float_precision="round_trip",  # pandas before 3.1 does not read every digit by default
                    dtype={name: str for name in (*words, *texts) if name in names},
                    keep_default_na=False,
                    na_values=gaps,
                    skipinitialspace=True,
                )
        except (ValueError, pd.errors.ParserWarning) as error:
            self._check_lengths(names)
            fail(self.path, f"no CSV: {str(error).strip()}")
        if not len(frame):
            fail(self.path, "no row after the names of the columns")
        last = frame.iloc[:, -1]
        absent = last == "" if names[-1] in texts else last.isna()
        if absent.any():  # pandas fills a row that is too short
            self._check_lengths(names)
        return frame

    def line_of(self, row: int) -> int:
        """The number of a row's line."""
        for k, (line, _) in enumerate(self._rows()):
            if k == row + (self.header is not False):
                return line.number
        return 0

    def _read_names(self, least: int) -> list[str]:
        """The names of the columns; DataError if a header has fewer than `least`, or does not fit the first row."""
        line, names = next(self._rows(), (Line(self.path, 1), []))
        if not names:
            line.fail("an empty file; a CSV file begins with the names of its columns")
        if self.header is False:
            return [f"column{j + 1}" for j in range(len(names))]
        if self.header is None:
            self._check_header(line, names)
        check_names(line, names)
        if len(names) < least:
            other = next((mark for mark in ";\t,|" if mark in names[0]), None)
            hint = f"; is `delimiter: {other!r}` meant?" if other else ""
            line.fail(f"one column, {quote(names[0])}; features and labels are at least two{hint}")
        self._check_lengths(names, 2)
        return names

    def _check_header(self, line: Line, names: Sequence[str]) -> None:
        """Raise DataError for a first line that looks like a row: numbers only, or numbers where the next line has."""
        numbers = [bool(NUMBER_LIKE.match(name)) for name in names]
        if not any(numbers):
            return
        _, cells = next(itertools.islice(self._rows(), 1, 2), (line, []))
        alike = len(cells) == len(names)
        for is_number, cell in zip(numbers, cells, strict=False):
            alike = alike and (cell.strip() in MISSING or bool(NUMBER_LIKE.match(cell)) == is_number)
        if all(numbers) or alike:
            line.fail(
                f"a row ({list_values(names)}) where the names of the columns belong; "
                "say `header: false`, or `header: true` if these are the names"
            )

    def _open(self) -> AbstractContextManager[io.BufferedReader]:
        return open_data(self.path, plain=self.encoding != "utf-16")

    def _rows(self) -> Iterator[tuple[Line, list[str]]]:
        """For each non-blank row, header included, the line on which it begins, and its cells; slow."""
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        with self._open() as file:
            text = io.TextIOWrapper(file, encoding=encoding, newline="")
            reader = open_reader(text, delimiter=self.delimiter, skipinitialspace=True)
            number = 1
            try:
                for cells in reader:
                    if len(cells) > 1 or "".join(cells).strip():
                        yield Line(self.path, number), cells
                    number = reader.line_num + 1
            except UnicodeError:
                self._fail_undecodable()
            except csv.Error as error:
                Line(self.path, number).fail(f"no row of CSV: {error}")

    def _check_lengths(self, names: Sequence[str], most: int | None = None) -> None:
        """Raise DataError for the first of the rows (only the first `most`) that has not a cell for each column."""
        for line, cells in itertools.islice(self._rows(), most):
            if len(cells) != len(names):
                line.fail(f"{len(cells)} cells, but there are {len(names)} columns")

    def _fail_undecodable(self) -> NoReturn:
        """Raise DataError about the first line with a byte that is not in the encoding."""
        with self._open() as file:
            lines = () if self.encoding == "utf-16" else file  # its lines do not end at a byte
            for number, raw in enumerate(lines, 1):
                try:
                    raw.decode(self.encoding)
                except UnicodeDecodeError as error:
                    wrong = f"byte 0x{raw[error.start]:02X} is not {self.encoding}"
                    Line(self.path, number).fail(f"{wrong}; say `encoding: latin-1`, or convert the file")
        fail(self.path, f"is not {self.encoding}")


def check_names(line: Line, names: Sequence[Any]) -> None:
    """Raise DataError for a name of a column that is no text, blank or there twice.

    Raises
    ------
    DataError
    """
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
