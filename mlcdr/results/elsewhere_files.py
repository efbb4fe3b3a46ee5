"""The result files of other programs, read as rows: of MEKA, mlrl-testbed and tsml-eval, and a plain long table.

`READERS` has a reader for each; what each of them reads is said there. All give the names that the files have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlcdr.csv_files import NUMBER, open_reader, read_csv, read_text
from mlcdr.errors import ResultsError, join_words, suggest_name

_MOST_BYTES = 64 * 2**20
_MOST_FILES = 100_000
_TABLE = "a table of results"
_LONG = ("dataset", "method", "metric", "value")
# How the names of mlrl-testbed's measures begin that it writes in percent; the others it writes as they are.
_IN_PERCENT = ("Hamming", "Subset", "Micro", "Macro", "Example-wise", "NDCG")


@dataclass(frozen=True)
class Row:
    """One number of another program.

    Attributes
    ----------
    dataset, method, metric : str
        As its files call them.
    value : float
        Of one split, or a mean.
    split : int or None
        The number of one of our splits, where the file states it; its own numbers of folds are left out.
    std, n : float, int
        Of a mean: the standard deviation, and of how many values; n is 1 for a single value.
    """

    dataset: str
    method: str
    metric: str
    value: float
    split: int | None = None
    std: float = float("nan")
    n: int = 1


def read_long(path: Path) -> Iterator[Row]:
    """A CSV file with the columns dataset, method, metric, value and perhaps split, numbered as here."""
    rows = read_csv(path, ResultsError, _TABLE, _MOST_BYTES)
    _, header = next(rows, (1, []))
    allowed = (*_LONG, "split")
    unknown = [name for name in header if name not in allowed]
    absent = [name for name in _LONG if header.count(name) != 1]
    if unknown or absent:
        wrong = f"column {unknown[0]!r}{suggest_name(unknown[0], allowed)}" if unknown else f"no column {absent[0]!r}"
        raise ResultsError(f"{path}:1: {wrong}; expected dataset, method, metric, value and perhaps split")
    for line, written in rows:
        cells = dict(zip(header, written, strict=True))
        split = cells.get("split", "")
        if not re.fullmatch(r"\d{0,9}", split, re.ASCII):
            raise ResultsError(f"{path}:{line}: split {split[:40]!r} is no number of a split, counted from 0")
        where = f"{path}:{line}"
        value = _as_number(cells["value"], where)
        dataset = _as_name(cells["dataset"], "data set", where)
        method, metric = (_as_name(cells[key], key, where) for key in ("method", "metric"))
        yield Row(dataset, method, metric, value, int(split) if split else None)


def read_meka(path: Path) -> Iterator[Row]:
    """Statistics of a MEKA experiment: `TabSeparated` (with `SimpleAggregate` or without), or `KeyValuePairs`."""
    found: list[Row] = []
    for line, cells in _records_of_meka(path):
        where = f"{path}:{line}"
        if not {"Classifier", "Relation"} <= cells.keys():
            raise ResultsError(f"{where}: no Classifier and Relation, which MEKA's statistics have")
        method = _as_name(cells.pop("Classifier"), "classifier", where)
        dataset = _as_name(cells.pop("Relation").strip("'\"").partition(":")[0].strip(), "relation", where)
        found += _rows_of_meka(dataset, method, cells, where)
    called = _shorten(row.method for row in found)
    for row in found:
        yield replace(row, method=called[row.method])


def _records_of_meka(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line of a file of statistics as a mapping."""
    lines = read_text(path, ResultsError, _TABLE, _MOST_BYTES).splitlines()
    if lines and lines[0].startswith("Classifier="):
        for number, line in enumerate(lines, 1):
            pairs = (entry.rpartition("=") for entry in line.split("\t") if entry)
            # A command line may have `=`, a number has none.
            first = {"Classifier": line.partition("\t")[0].partition("=")[2]}
            yield number, {key: value for key, _, value in pairs if "=" not in key} | first
        return
    header = lines[0].split("\t") if lines else []
    for number, line in enumerate(lines[1:], 2):
        yield number, dict(_pair_cells(header, line.split("\t"), f"{path}:{number}"))


def _rows_of_meka(dataset: str, method: str, cells: Mapping[str, str], where: str) -> Iterator[Row]:
    """The numbers of one line: of a fold, or means with their deviations and counts."""
    for key, written in cells.items():
        name, dash, kind = key.rpartition("-")
        if key in ("Run", "Fold") or not written or (dash and kind in ("Count", "StdDev")):
            continue
        if NUMBER.fullmatch(written) is None:  # a list of numbers for labels, NaN
            continue
        value = float(written)
        if not (dash and kind == "Mean"):
            yield Row(dataset, method, key, value)
            continue
        n = int(_as_number(cells.get(f"{name}-Count", "1"), where))
        std = _as_number(cells.get(f"{name}-StdDev", "0"), where) if n > 1 else float("nan")
        yield Row(dataset, method, name, value, std=std, n=max(n, 1))


def _shorten(commands: Iterable[str]) -> dict[str, str]:
    """Command line → its classes without their packages, `CC J48`; with its options where two would be called alike."""
    whole = {}
    for command in dict.fromkeys(commands):
        whole[command] = re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", command)
    classes = {}
    for command in whole:
        classes[command] = " ".join(re.findall(r"\b(?:\w+\.)+([A-Z]\w*)", command))
    called = {}
    for command, long in whole.items():
        short = classes[command]
        is_alone = short and list(classes.values()).count(short) == 1
        called[command] = short if is_alone else long
    return called


def read_mlrl(path: Path) -> Iterator[Row]:
    """Evaluation files of mlrl-testbed: `evaluation_test.csv`, or those of the folds, alone or anywhere in a folder.

    The files do not name the data set and the method. The folders do: in batch mode
    `PARAMETER_VALUE/dataset_NAME/results/`; else the data set is the folder of the file, and the method the first one.
    In a folder, the mean over folds (`evaluation_test.csv`) is left out where the files of the folds stand next to it.
    """
    for file in _list_files(path, "evaluation*.csv"):
        if file.stem.startswith("evaluation_train") or file.stem == "evaluation_overall":
            continue
        if path.is_dir() and file.stem == "evaluation_test" and any(file.parent.glob("evaluation_test_fold-*.csv")):
            continue
        dataset, method = _names_of_mlrl(path, file)
        rows = list(read_csv(file, ResultsError, "an evaluation of mlrl-testbed", _MOST_BYTES))
        if len(rows) < 2:
            raise ResultsError(f"{file}: has no row of measurements")
        _, written = rows[-1]  # of an incremental evaluation, the whole model
        for name, value in _measures_of_mlrl(rows[0][1], written).items():
            yield Row(dataset, method, name, value)


def _measures_of_mlrl(heads: Sequence[str], written: Sequence[str]) -> dict[str, float]:
    """Measure → its value, shares between 0 and 1; the deviations of means are left out."""
    found = {}
    for head, cell in zip(heads, written, strict=True):
        if NUMBER.fullmatch(cell) and not head.startswith("Std"):
            found[re.sub(r" \((↑|↓|seconds)\)$", "", head)] = float(cell)
    shares = [name for name in found if name.startswith(_IN_PERCENT)]
    # Since 0.15, whose heads have arrows, shares are always in percent, without a sign; before, that was an option.
    has_arrows = any(head.endswith(("(↑)", "(↓)")) for head in heads)
    if has_arrows or any(found[name] > 1 for name in shares):
        for name in shares:
            found[name] /= 100
    return found


def _names_of_mlrl(path: Path, file: Path) -> tuple[str, str]:
    """The data set and the method that the folders of a file name."""
    base = (path if path.is_dir() else path.parent).resolve()
    folder = file.parent.resolve()  # the file itself may be a link
    parts = [part for part in folder.relative_to(base).parts if part != "results"]
    for i, part in enumerate(parts):
        if part.startswith("dataset_"):
            return part.removeprefix("dataset_"), ", ".join(parts[:i]) or base.name
    if not parts:
        return base.name, base.parent.name
    return parts[-1], ", ".join(parts[:-1]) or base.name


def read_tsml(path: Path) -> Iterator[Row]:
    """Results of tsml-eval and aeon: a table of resamples or of estimators, or files of predictions, in a folder, too.

    `METHOD_accuracy.csv` has `Resamples:,0,1,…` and a row for each data set; `accuracy_mean.csv` has `Estimators:,…`.
    A file of predictions names the data set, the estimator and the resample in its first line, and has the accuracy and
    the times in its third.
    """
    for file in _list_files(path, "*.csv"):
        lines = read_text(file, ResultsError, _TABLE, _MOST_BYTES).splitlines()
        first: list[str] = next(open_reader(lines[:1], strict=False), [])
        if first and first[0].startswith("Estimators"):
            yield from _table_of_estimators(file, lines, first)
        elif first and all(cell.isdecimal() for cell in first[1:]) and len(first) > 1:
            yield from _table_of_resamples(file, lines, first)
        elif len(first) > 5 and len(lines) > 2:
            yield from _predictions(file, lines, first)
        else:
            raise ResultsError(f"{file}:1: neither a table of tsml-eval (Resamples:, Estimators:) nor its predictions")


def _table_of_estimators(file: Path, lines: list[str], header: list[str]) -> Iterator[Row]:
    metric = file.stem.partition("_")[0]
    for number, cells in enumerate(open_reader(lines[1:], strict=False), 2):
        (_, dataset), *pairs = _pair_cells(header, cells, f"{file}:{number}")
        for method, cell in pairs:
            if cell:
                yield Row(dataset, method, metric, _as_number(cell, f"{file}:{number}"))


def _table_of_resamples(file: Path, lines: list[str], header: list[str]) -> Iterator[Row]:
    method, dash, metric = file.stem.rpartition("_")
    if not dash:
        raise ResultsError(f"{file}: a table of resamples is called METHOD_METRIC.csv, such as ROCKET_accuracy.csv")
    for row in _table_of_estimators(file, lines, header):  # here each column is of a resample
        yield replace(row, method=method, metric=metric)


_SECONDS = {"NANOSECONDS": 1e-9, "MICROSECONDS": 1e-6, "MILLISECONDS": 1e-3, "SECONDS": 1.0}


def _predictions(file: Path, lines: list[str], first: list[str]) -> Iterator[Row]:
    dataset, method, part, _, unit = first[:5]
    if part == "TRAIN":
        return
    numbers = next(open_reader(lines[2:3], strict=False))
    scale = _SECONDS.get(unit, 1e-3)
    for metric, cell, factor in zip(("accuracy", "fittime", "predicttime"), numbers, (1.0, scale, scale), strict=False):
        value = _as_number(cell, f"{file}:3")
        if value >= 0:  # -1: not measured
            yield Row(dataset, method, metric, value * factor)


@dataclass(frozen=True)
class Program:
    """A program whose results are read.

    Attributes
    ----------
    read : callable
        From a path to its rows.
    column : str
        Its column in the table of metrics; empty where the names are those of mlcdr.
    """

    read: Callable[[Path], Iterator[Row]]
    column: str = ""


READERS = {
    "long": Program(read_long),
    "meka": Program(read_meka, "MEKA"),
    "mlrl": Program(read_mlrl, "mlrl-testbed"),
    "tsml": Program(read_tsml, "tsml-eval"),
}
"""The word after `--from` → what reads it."""


def read_rows(path: Path, source: str) -> list[Row]:
    """All numbers of a file, or a folder, of another program.

    Raises
    ------
    ResultsError
        When it cannot be read, is not of this form, or has no number; the message begins with `file:line`.
    """
    if source not in READERS:
        raise ResultsError(f"--from: {source!r} is none of {join_words(list(READERS), 'or')}")
    if not path.exists():
        raise ResultsError(f"{path}: no such file")
    if path.is_dir() and source in ("long", "meka"):
        raise ResultsError(f"{path}: a folder; --from {source} reads a file")
    rows = list(READERS[source].read(path))
    if not rows:
        raise ResultsError(f"{path}: has no results")
    return rows


def _list_files(path: Path, pattern: str) -> list[Path]:
    """The file itself, or those of a folder and the folders in it."""
    if not path.is_dir():
        return [path]
    found = []
    for file in path.rglob(pattern):
        if file.is_file():
            found.append(file)
        if len(found) > _MOST_FILES:
            raise ResultsError(f"{path}: more than {_MOST_FILES:,} files")
    return sorted(found)


def _pair_cells(header: list[str], cells: list[str], where: str) -> list[tuple[str, str]]:
    """Each cell of a line after the head of its column."""
    if len(cells) != len(header):
        raise ResultsError(f"{where}: {len(cells)} values where the header has {len(header)} columns")
    return list(zip(header, cells, strict=True))


def _as_number(written: str, where: str) -> float:
    number = float(written) if NUMBER.fullmatch(written.strip()) else math.inf
    if math.isinf(number):
        raise ResultsError(f"{where}: {written[:40]!r} is no number")
    return number


def _as_name(written: str, what: str, where: str) -> str:
    if not written.strip() or len(written) > 1000 or not written.isprintable():
        raise ResultsError(f"{where}: {written[:40]!r} is no name of a {what}")
    return written.strip()
