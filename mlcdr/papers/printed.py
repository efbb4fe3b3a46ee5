"""The printed numbers of the papers, as frames: a row for each cell of a table, all columns as text.

The tables are the package's `published/PAPER/TABLE.csv`. A cell is known by its data set, method, setting and metric
(`KEY`). `setting` has the conditions of a cell (`label_dim=20%;feature_dim=40%`). `mean` and `spread` are as printed,
empty where there is nothing; `spread_kind` says what the spread is. A table of facts about data sets has cells of no
method; the metric is then the fact. Files with other columns (ranks, costs) are no tables, and have no cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from mlcdr.errors import ResultsError, list_known, suggest_name
from mlcdr.experiment.model import Experiment

FOLDER = Path(__file__).parent / "published"
"""The published tables, each with the rules by which it is judged."""

KEY = ["dataset", "method", "setting", "metric"]
_COLUMNS = [*KEY, "mean", "spread", "spread_kind", "rank", "note"]


def list_files() -> list[str]:
    """All files of printed numbers, `PAPER/TABLE`, sorted."""
    return sorted(f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.csv"))


@cache
def read_cells(table: str) -> pd.DataFrame:
    """The cells of a file of printed numbers; none if it is no table."""
    cells = pd.read_csv(FOLDER / f"{table}.csv", dtype=str, keep_default_na=False)
    return cells if list(cells) == _COLUMNS else pd.DataFrame(columns=_COLUMNS, dtype=str)


def list_tables() -> list[str]:
    """The published tables of methods' results, `PAPER/TABLE`, sorted."""
    return [name for name in list_files() if _kind_of(name) == "results"]


def list_facts_tables() -> list[str]:
    """The published tables of facts about data sets, `PAPER/TABLE`, sorted."""
    return [name for name in list_files() if _kind_of(name) == "facts"]


@cache
def _kind_of(table: str) -> Literal["results", "facts", ""]:
    cells = read_cells(table)
    of_methods = cells[cells["method"] != ""]
    of_data = cells[cells["method"] == ""]
    if (of_methods["metric"] != "").any():
        return "results"
    return "facts" if (of_data["dataset"] != "").any() else ""


def load_table(table: str) -> pd.DataFrame:
    """The cells of a published table of methods' results.

    Raises
    ------
    ResultsError
        When there is no such table.
    """
    return _load(table, list_tables(), "published table")


def load_facts_table(table: str) -> pd.DataFrame:
    """The cells of a published table of facts about data sets.

    Raises
    ------
    ResultsError
        When there is no such table.
    """
    return _load(table, list_facts_tables(), "published table of data sets")


def _load(table: str, known: list[str], what: str) -> pd.DataFrame:
    if table in known:
        return read_cells(table)
    paper = table.partition("/")[0]
    of_paper = [each for each in known if each.startswith(f"{paper}/")]
    shown = of_paper or known
    hint = suggest_name(table, shown)
    raise ResultsError(f"no {what} {table!r}{hint} ({list_known(shown, '`mlcdr reproduce`')})")


def tables_behind(experiment: Experiment) -> list[str]:
    """The published tables that an experiment repeats, by its name (`PAPER_TABLE[_VARIANT]`) or its tables' layouts."""
    beginning = f"{experiment.name}_"
    named = [name for name in list_files() if beginning.startswith(f"{name.replace('/', '_')}_")]
    longest = max(named, key=len, default="")
    layouts = [spec.layout for spec in experiment.tables]
    behind = dict.fromkeys([longest, *layouts])
    known = list_tables()
    return [name for name in behind if name in known]


def plain_name(name: str) -> str:
    """A name with `_` for `/` and `-`, and with only the authors and the year of the paper's name."""
    plain = re.sub("[-/]", "_", name.strip("/"))
    return re.sub(r"^([a-z_]+_\d{4})_(thesis|mvmd)(?=_|$)", r"\1", plain)


def full_name(name: str, known: Sequence[str]) -> str:
    """The known name that a name is another spelling of (`chen-lin-2012-table3`); else the name as it is."""
    return {plain_name(each): each for each in known}.get(plain_name(name), name)


def read_numbers(printed: pd.Series) -> pd.Series:
    """Printed numbers as numbers; NaN where nothing is printed."""
    return printed.replace("", "nan").astype(float)


def n_places(printed: str) -> int:
    """How many decimal places a printed number has."""
    return len(printed.partition(".")[2])


def read_settings(setting: str) -> dict[str, str]:
    """`label_dim=20%;feature_dim=40%` as a mapping."""
    parts = [part for part in setting.split(";") if "=" in part]
    return dict(part.split("=", 1) for part in parts)
