"""The printed cells of any paper, and how many of them results agree with: what `mlcdr verify` reads and finds.

A paper is a YAML file:

    config: table2.yaml             # the experiment that gives the cells
    cells: table2.csv               # the printed cells
    judge: {std: standard_error}    # optional: keys of `mlcdr.papers.judging`

Both files lie in its folder, or in folders below. The cells are a CSV file with the columns dataset, method, metric
and value, each value with the digits that are printed. It may have spread, table, note, and a column for each parameter
that tells the cells apart: its path in the config (`label_space.n_components`), or a name of `matching.PATHS`.

A cell is judged as those of the four papers. One without a number is *not run* if the experiment would give it, and
else *not in the config*; it does not agree, and neither does one that is undecided. Those that the rules call not
reproducible do not count.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

from mlcdr.csv_files import read_csv
from mlcdr.data.files import is_file
from mlcdr.errors import ConfigError, ResultsError, join_words, suggest_name
from mlcdr.experiment.problems import Problem, Strict, problems_of
from mlcdr.experiment.yaml_reader import Document, read_yaml
from mlcdr.papers.judging import Rules, judge
from mlcdr.papers.matching import PATHS, is_planned, list_fitting, match_cells
from mlcdr.papers.published import tabulate_cells
from mlcdr.results.results import Results
from mlcdr.tables.sheet import Sheet

_NEEDED = ("dataset", "method", "metric", "value")
_OPTIONAL = ("spread", "table", "note")
_MOST_BYTES = 1024 * 1024
_MOST_LETTERS = 200
_MOST_COLUMNS = 50
_PRINTED = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{1,20})?|\.[0-9]{1,20})")
_PATH = re.compile(r"[^.=;]+(\.[^.=;]+)+")


class _Written(Strict):
    """What the YAML file of a paper has."""

    cells: str
    config: str = ""
    judge: Rules = Rules()


@dataclass(frozen=True)
class Paper:
    """The printed cells of a paper.

    Attributes
    ----------
    cells : frame
        As `printed.read_cells` has them, with the columns `table` and `place` (`file:line`), too.
    rules : Rules
        By which they are judged.
    config : Path or None
        The experiment that gives them, where one is named.
    """

    cells: pd.DataFrame
    rules: Rules
    config: Path | None = None


def read_paper(path: Path) -> Paper:
    """Read the YAML file of a paper, or printed cells alone (`.csv`).

    Raises
    ------
    ConfigError
        With all that is wrong in the YAML file, each `file:line: key: what is wrong`.
    ResultsError
        When the cells cannot be read; the message begins with `file:line: column`.
    """
    if path.suffix.lower() == ".csv":
        return Paper(_read_cells(path), Rules())
    document = read_yaml(path)
    try:
        written = _Written.model_validate(document.data)
    except ValidationError as error:
        raise ConfigError([document.tell(problem) for problem in problems_of(error)]) from None
    config = _find_file(path, document, "config", written.config) if written.config else None
    cells = _find_file(path, document, "cells", written.cells)
    return Paper(_read_cells(cells), written.judge, config)


def _find_file(path: Path, document: Document, key: str, name: str) -> Path:
    """A file that a paper names; a paper may be a stranger's, and names no files but its own."""
    found = path.parent / name
    folder = Path(os.path.realpath(path.parent))
    if not Path(os.path.realpath(found)).is_relative_to(folder):
        raise ConfigError([document.tell(Problem((key,), f"{name!r} is not below the folder of {path.name}"))])
    if not is_file(found):
        raise ConfigError([document.tell(Problem((key,), f"{name!r}: no such file"))])
    return found


def _read_cells(path: Path) -> pd.DataFrame:
    rows = read_csv(path, ResultsError, "a table of printed cells", _MOST_BYTES)
    line, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    _check_header(header, f"{path}:{line}")
    paths = [name for name in header if name not in (*_NEEDED, *_OPTIONAL)]
    cells = []
    lines: dict[tuple[str, ...], int] = {}
    for line, row in rows:
        place = f"{path}:{line}"
        cell = {"spread": "", "table": "", **dict(zip(header, map(str.strip, row), strict=True))}
        _check_cell(cell, paths, place)
        key = tuple(cell[name] for name in ("table", "dataset", "method", "metric", *paths))
        first = lines.setdefault(key, line)
        if first != line:
            raise ResultsError(f"{place}: the same cell as line {first}; what tells them apart needs a column")
        settings = [f"{name}={cell[name]}" for name in paths if cell[name]]
        kind = "std" if cell["spread"] else ""
        cells.append(cell | {"mean": cell["value"], "spread_kind": kind, "setting": ";".join(settings), "place": place})
    if not cells:
        raise ResultsError(f"{path}: has no cells")
    return pd.DataFrame(cells)


def _check_header(header: Sequence[str], where: str) -> None:
    """Refuse columns that are missing, unknown, or there twice."""
    known = (*_NEEDED, *_OPTIONAL, *PATHS)
    if len(header) > _MOST_COLUMNS:
        raise ResultsError(f"{where}: more than {_MOST_COLUMNS} columns")
    for name in header:
        if name not in known and (len(name) > _MOST_LETTERS or not _PATH.fullmatch(name)):
            hint = suggest_name(name, known)
            right = "a parameter has its path in the config, such as label_space.n_components"
            raise ResultsError(f"{where}: unknown column {name[:_MOST_LETTERS]!r}{hint} ({right})")
        if header.count(name) > 1:
            raise ResultsError(f"{where}: two columns are called {name!r}")
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise ResultsError(f"{where}: no column {join_words(missing)}")


def _check_cell(cell: dict[str, str], paths: Sequence[str], where: str) -> None:
    """Refuse names that are empty or too long, and numbers that no table prints."""
    for name, value in cell.items():
        is_number = name == "value" or (name == "spread" and value)
        if len(value) > _MOST_LETTERS and name != "note":
            raise ResultsError(f"{where}: {name}: more than {_MOST_LETTERS} letters")
        if is_number and not _PRINTED.fullmatch(value):
            raise ResultsError(f"{where}: {name}: {value!r} is no number such as 0.215; write it with a decimal point")
        if name == "spread" and value.startswith("-"):
            raise ResultsError(f"{where}: spread: {value!r} is negative")
        if name in _NEEDED and not value:
            raise ResultsError(f"{where}: {name}: is empty")
        if name in paths and ";" in value:
            raise ResultsError(f"{where}: {name}: {value!r} has a semicolon")


@dataclass(frozen=True)
class Verification:
    """The cells of a paper, each with our number and a verdict.

    Attributes
    ----------
    folder : Path
        The results folder.
    cells : frame
        As `judging.judge` gives them, with the column `table`.
    rules : Rules
    """

    folder: Path
    cells: pd.DataFrame
    rules: Rules

    @property
    def agreeing(self) -> int:
        """How many cells agree."""
        return int((self.cells["verdict"] == "agrees").sum())

    @property
    def counted(self) -> int:
        """How many cells there are, but for those that are not reproducible."""
        return int((self.cells["verdict"] != "not reproducible").sum())

    def sentence(self) -> str:
        """`17 of 20 cells agree.`, and what this means."""
        found = f"{self.agreeing} of {self.counted} cells agree. A cell agrees within {self.rules.describe_limit()}."
        left_out = len(self.cells) - self.counted
        return f"{found} Not judged, as not reproducible: {left_out}." if left_out else found

    def reaches(self, at_least: str) -> bool:
        """Whether as many cells agree as are asked for: a number (`17`) or a share (`95%`); of no cells no share."""
        share = at_least.removesuffix("%")
        if share == at_least:
            return self.agreeing >= int(at_least)
        return self.counted > 0 and self.agreeing >= math.ceil(Fraction(share) * self.counted / 100)

    @property
    def sheet(self) -> Sheet | None:
        """The cells that do not agree; None if all do."""
        cells = self.cells[~self.cells["verdict"].isin(["agrees", "not reproducible"])]
        if cells.empty:
            return None
        return tabulate_cells(f"Cells that do not agree in {self.folder}", cells)


def verify(results: Results, paper: Paper) -> Verification:
    """Judge the printed cells of a paper by results.

    Raises
    ------
    ResultsError
        When several numbers fit one cell, or the rules ask for scores that the folder does not have.
    """
    cells, rules = paper.cells, paper.rules
    for place, rows in zip(cells["place"], list_fitting(results, cells, rules), strict=True):
        if len(rows) > 1:
            fitting = results.summary.loc[rows, list(results.swept)]
            differing = [path for path in results.swept if fitting[path].nunique() > 1]
            needed = join_words(differing) or "the data set or the method"
            raise ResultsError(f"{place}: {len(rows)} numbers of {results.folder} fit; a column must state {needed}")
    judged = judge(cells, match_cells(results, cells, rules), rules).assign(table=cells["table"])
    for cell in judged[judged["verdict"] == "not run"].itertuples():
        if not is_planned(results, cell, rules):
            judged.loc[cell.Index, "verdict"] = "not in the config"
    left_out = [why != "" for why in rules.why_not(judged)]
    judged.loc[left_out, "verdict"] = "not reproducible"
    return Verification(results.folder, judged, rules)
