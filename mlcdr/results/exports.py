"""The CSV files of a results folder: written of its record, and read where there is none.

Another program may have written those of a folder without a record, or they are what was kept of a run. What is missing
or broken in them raises `ResultsError` with the file, the line and what is wrong.

Numbers have twelve significant digits: enough for any use, and short of where two orders of summation may differ.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from mlcdr.csv_files import format_csv, is_number, read_csv
from mlcdr.errors import ResultsError
from mlcdr.results.frame import (
    CHOSEN,
    CHOSEN_COUNTS,
    LABELS,
    LARGEST,
    SCORES,
    SUMMARY,
    TRIED,
    drop_undefined,
    keys_of,
    paths_of,
    summarise,
)
from mlcdr.whole_files import is_regular_file, write_atomically

_REPEATED = "a second row for one number"
_MOST_SPLITS = 10_000  # by which the record may say that one value was chosen


class NoResults(ResultsError):
    """A folder of an experiment that has no results yet: nothing was computed, or every trial failed."""


# -------------------------------------------------------------------- writing


def write_changed(path: Path, text: str) -> None:
    """Write a file, unless it has this text already: its time tells others whether what they made of it is current.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    content = text.encode()
    with contextlib.suppress(OSError):  # it is not there, or cannot be read
        same_size = path.stat().st_size == len(content)
        if same_size and not path.is_symlink() and path.read_bytes() == content:
            return
    write_atomically(path, content)


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    columns = [_write_cells(frame[name]) for name in frame]
    lines = map(",".join, zip(*columns, strict=True))
    write_changed(path, "\n".join([",".join(map(_quote, frame)), *lines, ""]))


def _write_cells(column: pd.Series) -> list[str]:
    """The cells of a column as they stand in a CSV file."""
    cells = column.astype(object).tolist()
    if is_float_dtype(column):
        return ["" if math.isnan(number) else f"{number:.12g}" for number in cells]
    texts = {cell: _quote(str(cell)) for cell in set(cells)}
    return [texts[cell] for cell in cells]


def _quote(text: str) -> str:
    """A text as a cell of a CSV file."""
    first, _, _ = format_csv([text, ""], []).rpartition(",")
    return first


def write_summary(path: Path, scores: pd.DataFrame) -> None:
    """`summary.csv`: the mean over splits of every cell, with std (n − 1), se = std/√n and n; empty if not defined.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    found = summarise(scores, keys_of(scores))
    write_frame(path, _without_largest(found, "mean", "std", "se"))


def write_tuning(path: Path, found: pd.DataFrame) -> None:
    """`chosen.csv` or `tried.csv`: what trials chose, or tried, as they tuned (`read_chosen`, `read_tried`).

    Without the swept paths that no tuned method has, for their columns would be empty.

    Raises
    ------
    ResultsError
        When the file cannot be written.
    """
    empty = [swept for swept in paths_of(found) if not any(found[swept])]
    write_frame(path, found.drop(columns=empty))


def write_labels(path: Path, found: pd.DataFrame, labels: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """`labels.csv` (`mlcdr.results.labels`).

    Parameters
    ----------
    path : path
    found : frame
        As `mlcdr.results.trials.read_by_label` gives it.
    labels : mapping
        Data set → (name, frequency) of each label.

    Raises
    ------
    ResultsError
        When a trial has not one score for each label, or the file cannot be written.
    """
    rows = []
    for *place, metric, values in found.itertuples(index=False, name=None):
        named = labels[place[0]]
        if len(values) != len(named):
            raise ResultsError(f"{path.parent}: damaged: not one {metric} for each label of {place[0]}")
        for (label, frequency), value in zip(named, values, strict=True):
            rows.append((*place, label, metric, value, frequency))
    names = ["dataset", "method", *paths_of(found), *LABELS]
    whole = pd.DataFrame(rows, columns=names)
    write_frame(path, whole.dropna(subset="value"))


# -------------------------------------------------------------------- reading


def read_frame(path: Path, last: Mapping[str, type], gaps: bool = False) -> pd.DataFrame:
    """A CSV file with the columns `dataset, method, <varied paths> …, *last`; the index is the line of each row.

    Parameters
    ----------
    path : path
    last : mapping
        Column → the type of its values. A float may be NaN, or empty, only with `gaps`.

    Raises
    ------
    ResultsError
        When the file is broken; `NoResults` when it is missing.
    """
    if not is_regular_file(path):
        raise NoResults(f"{path}: missing; run the experiment again (only what is not done yet will run)")
    rows = dict(read_csv(path, ResultsError))
    if not any(rows.values()):
        raise ResultsError(f"{path}:1: empty; a header was expected")
    header, *cells = rows.values()
    _refuse_columns(path, header, last)
    frame = pd.DataFrame(cells, index=list(rows)[1:], columns=header)
    if "split" in last:
        is_split = frame["split"].str.fullmatch("[0-9]{1,9}").astype(bool)
        refuse(path, frame, ~is_split, "column split: {split!r} is not the number of a split")
        frame["split"] = frame["split"].astype(int)
    for name, kind in last.items():
        if kind is float:
            texts = frame[name].items()
            numbers = [read_number(path, line, name, text, gaps) for line, text in texts]
            frame[name] = np.array(numbers, float)
    return frame


def _refuse_columns(path: Path, header: list[str], last: Mapping[str, type]) -> None:
    """Refuse a header that is not `dataset, method, <paths> …, *last`, with each path once and named as no column."""
    first = ["dataset", "method"]
    paths = header[2 : -len(last)]
    reserved = {*first, *SCORES, *SUMMARY, *last}
    repeated = len(set(paths)) < len(paths)
    if header != [*first, *paths, *last] or repeated or reserved.intersection(paths):
        wanted = ",".join([*first, "<swept …>", *last])
        raise ResultsError(f"{path}:1: the columns are {','.join(header)}; they should be {wanted}")


def read_number(path: Path, line: int, column: str, text: str, gaps: bool) -> float:
    """A column's number; with `gaps`, the text may also be empty or NaN, which gives NaN."""
    known = gaps if text in ("", "nan") else is_number(text)
    if not known:
        raise ResultsError(f"{path}:{line}: column {column}: {text!r} is not a number")
    return float(text or "nan")


def refuse(path: Path, rows: pd.DataFrame, wrong: pd.Series, what: str) -> None:
    """Raise a ResultsError for the first row of a file that is wrong; `what` may name columns: `{value}`."""
    if wrong.any():
        line = wrong.idxmax()
        raise ResultsError(f"{path}:{line}: {what.format(**rows.loc[line])}")


def import_summary(path: Path) -> pd.DataFrame:
    """The means of a `summary.csv`. A row whose mean is empty, NaN or beyond `LARGEST` is left out.

    Raises
    ------
    ResultsError
        When the file is broken; `NoResults` when it is missing or has no means.
    """
    frame = read_frame(path, SUMMARY, gaps=True)
    refuse(path, frame, frame.duplicated(keys_of(frame)), _REPEATED)
    refuse(path, frame, frame["mean"].abs() == math.inf, "column mean: '{mean}' is not a number")
    found = frame[frame["mean"].abs() <= LARGEST]
    is_count = (found["n"] >= 1) & (found["n"] % 1 == 0)
    refuse(path, found, ~is_count, "column n: a mean needs the number of splits it is taken over")
    if found.empty:
        raise NoResults(f"{path}: holds no results, {'only empty means' if len(frame) else 'only a header'}")
    found = _without_largest(found, "std", "se").astype({"n": int})
    return found.reset_index(drop=True)


def _without_largest(means: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The means with NaN for numbers beyond `LARGEST` in some columns."""
    kept = means.copy(deep=False)
    for name in columns:
        kept[name] = means[name].where(means[name].abs() <= LARGEST)
    return kept


def import_scores(path: Path) -> pd.DataFrame:
    """The scores of a `scores.csv`, without the cells that have one beyond `LARGEST`.

    Raises
    ------
    ResultsError
        When the file is broken; `NoResults` when it is missing.
    """
    frame = read_frame(path, SCORES)
    refuse(path, frame, frame.duplicated(list(frame)[:-1]), _REPEATED)
    return drop_undefined(frame.reset_index(drop=True))


def import_chosen(path: Path) -> pd.DataFrame:
    """What a `chosen.csv` says was chosen; without the file, nothing.

    The record keeps of a value only how often it was chosen (`n`): it has so many rows, of splits that are numbered as
    they come.

    Raises
    ------
    ResultsError
        When the file is broken.
    """
    if not is_regular_file(path):
        return pd.DataFrame(columns=["dataset", "method", *CHOSEN])
    header = next(read_csv(path, ResultsError), (1, []))[1]
    if "n" not in header:
        return read_frame(path, CHOSEN).reset_index(drop=True)
    counts = read_frame(path, CHOSEN_COUNTS)
    is_count = counts["n"].between(1, _MOST_SPLITS) & (counts["n"] % 1 == 0)
    refuse(path, counts, ~is_count, "column n: {n:g} is not how often it was chosen")
    chosen = counts.loc[counts.index.repeat(counts["n"].astype(int))].drop(columns="n")
    split = chosen.groupby(["dataset", "method", "parameter"]).cumcount()
    return chosen.assign(split=split)[["dataset", "method", *CHOSEN]].reset_index(drop=True)


def import_tried(path: Path) -> pd.DataFrame:
    """What a `tried.csv` says was tried; without the file, nothing.

    Raises
    ------
    ResultsError
        When the file is broken.
    """
    if not is_regular_file(path):
        return pd.DataFrame(columns=["dataset", "method", *TRIED])
    frame = read_frame(path, TRIED, gaps=True)
    refuse(path, frame, ~frame["chosen"].isin(["True", "False"]), "column chosen: {chosen!r} is neither True nor False")
    return frame.assign(chosen=frame["chosen"] == "True").reset_index(drop=True)
