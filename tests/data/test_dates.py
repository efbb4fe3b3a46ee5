"""Columns of dates in data sets: as days, as parts, or left out; and the same of new rows."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.dates import read_date
from mlcdr.data.rows import Columns
from mlcdr.errors import DataError

Y = np.eye(4, 2, dtype=int)
DAYS = [date(1970, 1, 1), date(2024, 2, 29), date(1969, 12, 31), date(9999, 12, 31)]


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ("2024-02-29", datetime(2024, 2, 29)),
        (" 2024-02-29 17:30 ", datetime(2024, 2, 29, 17, 30)),
        ("2024-02-29T17:30:15.250", datetime(2024, 2, 29, 17, 30, 15, 250_000)),
        ("2024-02-29T23:30:00+02:00", datetime(2024, 2, 29, 21, 30)),
        ("2024-02-29T23:30:00Z", datetime(2024, 2, 29, 23, 30)),
        ("1.3.2024", datetime(2024, 3, 1)),
        (pd.Timestamp("2024-02-29", tz="Asia/Tokyo"), datetime(2024, 2, 28, 15)),
        (date(2024, 2, 29), datetime(2024, 2, 29)),
        *(
            (cell, None)
            for cell in ("2024-02-30", "5/6/2024", "20240229", "2024", "1.3.24", "2024-02-29 late", 20240229)
        ),
        ("9999-12-31 23:59-05:00", None),
        ("0001-01-01 00:00+14:00", None),
    ],
)
def test_what_is_a_date(cell: object, meant: datetime | None) -> None:
    assert read_date(cell) == meant


def _write(path: Path, cells: list[object]) -> Path:
    frame = pd.DataFrame({"size": [1.0, 2, 3, 4], "day": cells, "y1": Y[:, 0], "y2": Y[:, 1]})
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_days_since_1970(ending: str, tmp_path: Path) -> None:
    path = _write(tmp_path / f"d{ending}", list(DAYS))
    data = load_dataset(path, labels=-2, dates="days")
    assert data.feature_names == ("size", "day")
    np.testing.assert_array_equal(data.X[:, 1], [(day - DAYS[0]).days for day in DAYS])
    again = load_dataset(path, labels=-2, dates="days")  # of the cache
    assert again.dates == data.dates == {"day": ("days",)}


def test_parts_stand_where_the_date_stood_and_have_the_hour_where_one_row_has_it(tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-02-29", "2023-01-01", None, "1999-12-31"]), "size": 1.0})
    data = Dataset.of(frame, Y, dates="parts", missing="keep")
    assert data.feature_names == ("day.year", "day.month", "day.day", "day.weekday", "size")
    np.testing.assert_array_equal(data.X[[0, 3], :4], [[2024, 2, 29, 3], [1999, 12, 31, 4]])
    assert np.isnan(data.X[2, :4]).all()
    timed = frame.assign(day=frame["day"] + pd.Timedelta(hours=7))
    with_hour = Dataset.of(timed, Y, dates="parts", missing="keep")
    assert with_hour.feature_names[4] == "day.hour"
    assert with_hour.X[0, 4] == 7


@pytest.mark.parametrize("names", [["day", "day.year"], ["day.year", "day"]])
def test_a_part_that_is_called_like_another_column_is_refused(names: list[str]) -> None:
    frame = pd.DataFrame({"day": DAYS, "day.year": 1.0})[names]
    with pytest.raises(DataError, match=r"^data: dates: column 'day\.year' would be made twice"):
        Dataset.of(frame, Y, dates="parts")


def test_dates_that_are_dropped_or_are_words(tmp_path: Path) -> None:
    path = _write(tmp_path / "d.csv", ["2024-01-01", "2024-01-02"] * 2)
    assert load_dataset(path, labels=-2, dates="drop").feature_names == ("size",)
    words = load_dataset(path, labels=-2, dates="days", categories="day")
    assert words.feature_names == ("size", "day=2024-01-01", "day=2024-01-02")


@pytest.mark.parametrize("cell", ["2024-01-02", pd.Timestamp("2024-01-02"), date(2024, 1, 2)])
def test_without_the_option_dates_are_refused_with_the_choice(cell: object) -> None:
    frame = pd.DataFrame({"day": pd.Series([None, cell] * 2)})
    with pytest.raises(DataError, match=r"row 2: column 'day' has the date '2024-01-02.*`dates: days`.*`dates: drop`"):
        Dataset.of(frame, Y, missing="keep")


def test_a_cell_that_is_no_date_among_dates_is_named_with_its_line(tmp_path: Path) -> None:
    path = _write(tmp_path / "d.csv", ["2024-01-01", "", "soon", "2024-01-01"])
    with pytest.raises(DataError, match=re.escape("d.csv:4: row 3: column 'day' has 'soon', which is no date")):
        load_dataset(path, labels=-2, dates="days")


@pytest.mark.parametrize("how", ["days", "parts"])
def test_new_rows_are_coded_as_the_training_rows(how: str) -> None:
    times = pd.to_datetime(["2024-02-29 10:00", "2023-01-01 00:00", "2020-06-07 00:00", "1999-12-31 00:00"])
    frame = pd.DataFrame({"day": times, "size": [1.0, 2, 3, 4]})
    data = Dataset.of(frame, Y, dates=how)
    model = Columns(data.feature_names, data.nominal, dates=data.dates)
    np.testing.assert_array_equal(model.read(frame[["size", "day"]]), data.X)
    texts = frame.assign(day=times.strftime("%Y-%m-%dT%H:%M:%S"))
    np.testing.assert_array_equal(model.read(texts.iloc[1:]), data.X[1:])  # no time of day among these
    gap = model.read(frame.assign(day=pd.NaT), missing="keep")
    assert np.isnan(gap).sum() == 4 * (len(data.feature_names) - 1)
    with pytest.raises(DataError, match="trained with a column 'day'"):
        model.read(frame[["size"]])
    with pytest.raises(DataError, match="column 'day' has 'soon', which is no date"):
        model.read(frame.assign(day="soon"))


def test_rows_whose_index_repeats_have_dates_too() -> None:
    frame = pd.DataFrame({"day": pd.to_datetime(DAYS[:3]), "y1": [0, 1, 1], "y2": [1, 0, 1]}, index=[0, 0, 1])
    assert Dataset.of(frame, labels=-2, dates="days").X.tolist() == [[0], [19782], [-1]]


def test_days_have_the_time_of_day_as_a_fraction() -> None:
    frame = pd.DataFrame({"day": [datetime(1970, 1, 2, 6), datetime(1970, 1, 1, tzinfo=UTC), None, None]})
    data = Dataset.of(frame, Y, dates="days", missing="keep")
    np.testing.assert_array_equal(data.X[:, 0], [1.25, 0.0, math.nan, math.nan])


def test_one_report_has_the_problems_of_all_columns(tmp_path: Path) -> None:
    n = 60
    frame = pd.DataFrame(
        {
            "id": [f"p{row}" for row in range(n - 1)] + ["p0"],
            "joined": "2024-01-01",
            "size": [*range(1, n), None],
            "y1": [2] * n,
            "y2": 1,
        }
    )
    path = tmp_path / "messy.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(DataError) as failed:
        load_dataset(path, labels=-2)
    lines = str(failed.value).splitlines()
    assert [re.search(r"'(\w+)'", line)[1] for line in lines] == ["id", "joined", "size"]  # type: ignore[index]
    with pytest.raises(DataError, match="label 'y1' has the value 2"):
        load_dataset(path, labels=-2, drop=["id", "joined"], missing="zero")
