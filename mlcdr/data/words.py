"""Columns of words in DataFrames: what is a word, what is refused, and the codes of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pandas as pd

from mlcdr.csv_files import NUMBER
from mlcdr.data.csv_table import NUMBER_LIKE
from mlcdr.data.dates import first_date
from mlcdr.data.encoding import MANY_ROWS
from mlcdr.data.lines import fail, quote
from mlcdr.data.table import Origins
from mlcdr.numerics.yes_no import find_pair

_DATES = (
    "say what becomes of dates: `dates: days` (since 1970), `dates: parts` (year, month, day, weekday), `dates: drop`"
)
_LARGEST = 2**53  # beyond it, 64-bit floats do not hold every whole number


@dataclass(frozen=True)
class FrameColumn:
    """A column of a frame; in a `category`, numbers are words."""

    name: str
    values: pd.Series
    is_category: bool
    origins: Origins

    @property
    def is_of_words(self) -> bool:
        """Whether its values are words."""
        kind = self.values.dtype.kind  # also of pandas' nullable numbers
        return kind not in "biuf" or (self.is_category and kind != "b")

    def check_whole_numbers(self) -> None:
        """Raise DataError for a whole number that a 64-bit float may not hold."""
        if self.values.dtype.kind in "iu":
            large = (self.values > _LARGEST) | (self.values < -_LARGEST)
            if large.any():
                self._fail_large(int(large.to_numpy(bool, na_value=False).argmax()))

    def code(self) -> tuple[dict[str, int], np.ndarray]:
        """Word → code, its position in sorted or the Categorical's order; and the code of each cell (NaN: missing)."""
        column = self.values
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = self._read_words()
        words = [str(each) for each in column.cat.categories]
        twice = [word for word, times in Counter(words).items() if times > 1]
        if twice:
            fail(self.origins.path, f"column {quote(self.name)} has two categories that are written {quote(twice[0])}")
        codes = column.cat.codes.to_numpy(np.float64, copy=True)
        codes[codes < 0] = np.nan
        if len(words) == 1:  # the data may have only one value of a yes/no pair
            known = words[0].casefold()
            words += [each for each in find_pair(words) or () if each != known]
        return {word: code for code, word in enumerate(words)}, codes

    def _read_words(self) -> pd.Series:
        """The cells as a Categorical of texts, if they have a defined meaning."""
        cells = self.values
        kind = cells.dtype.kind
        if kind in "iuf":
            numbers = pd.Series(np.asarray(cells, dtype=object))
            return numbers.map(_spell, na_action="ignore").astype("category")
        found = None if self.is_category else first_date(cells)
        if found is not None:
            row = int(cells.notna().to_numpy().argmax())
            self._fail(row, f"has the date {quote(str(found))}; {_DATES}, or `categories: [{self.name}]`: its words")
        if kind not in "OTU":
            self._fail(0, f"is of type {cells.dtype}; convert it, or leave it out: `drop: [{self.name}]`")
        for row, cell in enumerate(cells if cells.dtype == object else ()):
            if not isinstance(cell, str | int | float | None):
                self._fail(row, f"has a {type(cell).__name__}, which is no number and no word")
        words = cells.map(str, na_action="ignore").astype("category")
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
        large = [] if odd else [word for word in different if abs(float(word)) > _LARGEST]
        row = int(words.isin(odd or large or different).to_numpy().argmax())
        if large:
            self._fail_large(row)
        hints = (
            f"if its values are words, say `categories: [{self.name}]`; for decimal commas `decimal: ','`; write a "
            f"date as 2024-05-31, or leave the column out: `drop: [{self.name}]`"
        )
        self._fail(row, f"has the value {quote(words.iloc[row])}, which is not a number; {hints}")

    def _fail_large(self, row: int) -> NoReturn:
        self._fail(
            row,
            f"has the value {self.values.iloc[row]}, which is beyond 2^53 and would be rounded; "
            f"an identifier? Leave it out: `drop: [{self.name}]`",
        )

    def _fail(self, row: int, what: str) -> NoReturn:
        self.origins.fail(row, f"column {quote(self.name)} {what}")


def _spell(number: float) -> str:
    """A number as a word, 2.0 like 2."""
    return str(number).removesuffix(".0")
