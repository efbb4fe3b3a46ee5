"""Columns of dates in DataFrames: as days since 1970, as their parts (year, month, day, weekday), or left out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.data.lines import quote
from mlcdr.data.table import Origins

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{3}|\.\d{6})?)?(?:Z|[+-]\d{2}:\d{2})?)?")
_WITH_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_EPOCH = datetime(1970, 1, 1)
_SECONDS_A_DAY = 86_400

_PARTS = ("year", "month", "day", "weekday")
_PARTS_WITH_TIME = (*_PARTS, "hour")


def read_date(cell: Any) -> datetime | None:
    """The time (UTC, or local where the cell does not say) that a cell means; None if it is no date.

    A date is one of Python or pandas (also of a column of NumPy's), or a text `2024-05-31`, `2024-05-31 17:30:00`
    (or with `T`; also with a time zone) or `31.5.2024`.
    """
    if isinstance(cell, str):
        cell = _read_text(cell.strip())
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, datetime):
        return None
    try:
        return cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:  # in UTC before the year 1, or after 9999
        return None


def _read_text(text: str) -> datetime | None:
    dotted = _WITH_DOTS.fullmatch(text)
    if dotted:
        day, month, year = map(int, dotted.groups())
        text = f"{year:04}-{month:02}-{day:02}"
    if not _ISO.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:  # the 30th of February
        return None


def first_date(cells: pd.Series) -> Any:
    """The first value of a column, if it is a date; None if it is none, or the column has no value."""
    if cells.dtype.kind in "biufc":
        return None
    found = next(iter(cells.dropna()), None)
    return None if read_date(found) is None else found


def encode_dates(
    frame: pd.DataFrame,
    how: str,
    categories: Sequence[str],
    origins: Origins,
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """A frame with numbers in place of dates.

    Parameters
    ----------
    frame : DataFrame
        With an index of row numbers.
    how : {"days", "parts", "drop"}
        "days": one column, days since 1970-01-01, with the time of day as a fraction; "parts": year, month, day of the
        month, weekday (Monday is 0), and hour where some cell has a time of day, as `NAME.year` …; "drop": no column.
    categories : sequence of str
        Columns that are words even where these look like dates.
    origins : Origins

    Returns
    -------
    DataFrame, and column → what was made of it (`("days",)`, or its parts), for `encode_dates_as`.

    Raises
    ------
    DataError
        For a cell that is no date in a column that begins with one.
    """
    dates: dict[str, tuple[str, ...]] = {}
    dropped = []
    for name in frame.columns:
        if name in categories or first_date(frame[name]) is None:
            continue
        if how == "drop":
            dropped.append(name)
        elif how == "days":
            dates[name] = ("days",)
        else:
            has_time = any(time.hour for time in _read_times(frame[name], origins)[1])
            dates[name] = _PARTS_WITH_TIME if has_time else _PARTS
    return encode_dates_as(frame.drop(columns=dropped), dates, origins), dates


def encode_dates_as(frame: pd.DataFrame, dates: Mapping[str, Sequence[str]], origins: Origins) -> pd.DataFrame:
    """A frame with the numbers in place of dates that `encode_dates` made of other rows; missing dates are NaN.

    Raises
    ------
    DataError
        For a cell that is no date, and for a part that is called like another column.
    """
    columns: dict[str, Any] = {}
    for name in frame.columns:
        made = _encode_column(frame[name], dates[name], origins) if name in dates else {name: frame[name]}
        twice = columns.keys() & made.keys()
        if twice:
            origins.head.fail(f"dates: column {quote(min(twice))} would be made twice; rename the one that is there")
        columns |= made
    return pd.DataFrame(columns, index=frame.index) if dates else frame


def find_date_columns(dates: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Each column that `encode_dates` made → the column of dates that it is made of."""
    found: dict[str, str] = {}
    for name, parts in dates.items():
        found |= {_name(name, part): name for part in parts}
    return found


def _name(column: str, part: str) -> str:
    return column if part == "days" else f"{column}.{part}"


def _encode_column(cells: pd.Series, parts: Iterable[str], origins: Origins) -> dict[str, np.ndarray]:
    """The columns that a column of dates becomes (n numbers each)."""
    codes, times = _read_times(cells, origins)
    encoded = {}
    for part in parts:
        numbers = [_number(time, part) for time in times]
        encoded[_name(str(cells.name), part)] = np.array([*numbers, math.nan])[codes]  # a missing date has the code -1
    return encoded


def _number(time: datetime, part: str) -> float:
    if part == "days":
        return (time - _EPOCH).total_seconds() / _SECONDS_A_DAY
    if part == "weekday":
        return time.weekday()
    return float(getattr(time, part))


def _read_times(cells: pd.Series, origins: Origins) -> tuple[np.ndarray, list[datetime]]:
    """The number of each cell among the different times (−1: missing), and these; DataError for one that is no date."""
    codes, different = pd.factorize(cells)
    times = []
    for code, cell in enumerate(different):
        time = read_date(cell)
        if time is None:
            row = int(np.argmax(codes == code))
            origins.fail(row, f"column {quote(str(cells.name))} has {quote(str(cell))}, which is no date")
        times.append(time)
    return codes, times
