"""The board: the stored rows of the field under one protocol, and what a row of one's own needs to stand among them.

The protocol is that of the config `board`: its splits, its metrics, and how it tunes. Whatever is of the board is named
`board`, or begins with `board_`: the configs `board_large` and the like, which add methods and data sets, and the rows
of one's own that `mlcdr run board --method` makes.
"""

from __future__ import annotations

from mlcdr.errors import ResultsError
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.experiment.shipped import shipped_configs
from mlcdr.experiment.tune import TuneSpec
from mlcdr.papers.stored import BOARD, read_record
from mlcdr.results.joining import join, refuse_other_data
from mlcdr.results.results import Results


def is_of_board(name: str) -> bool:
    """Whether an experiment of this name is of the board."""
    return f"{name}_".startswith(f"{BOARD}_")


def is_own_row(name: str) -> bool:
    """Whether an experiment of this name is a row of one's own, and not one of the configs that come with mlcdr."""
    return is_of_board(name) and name not in shipped_configs()


def load_protocol() -> Experiment:
    """The config `board`."""
    return load_experiment(shipped_configs()[BOARD], look_up=False, instances=False)


def list_departures(experiment: Experiment) -> list[str]:
    """In what an experiment does not have the protocol of the board; a method need not be tuned, if others are."""
    board = load_protocol()
    found = []
    if experiment.splits != board.splits:
        found.append("splits")
    if sorted(experiment.metrics, key=repr) != sorted(board.metrics, key=repr):  # their order does not matter
        found.append("metrics")
    if experiment.sweep:
        found.append("sweep")
    searches = [None, *map(_drop_grid, board.methods.values())]
    for name, spec in experiment.methods.items():
        if _drop_grid(spec) not in searches:
            found.append(f"methods.{name}.tune")
    return found


def _drop_grid(spec: MethodSpec) -> TuneSpec | None:
    """How a method is tuned, whatever the values are."""
    return spec.tune and spec.tune.model_copy(update={"grid": {}, "grids": {}})


def read_rows(results: Results) -> Results:
    """The stored rows of the board, joined, for a row of one's own to be placed among; without those of its own name.

    Raises
    ------
    ResultsError
        When the row does not have the protocol or the data of the board, or the record has no board.
    """
    departures = list_departures(results.experiment)
    if departures:
        raise ResultsError(f"{results.folder}: differs from the config {BOARD} in {', '.join(departures)}")
    stored = [run.results for run in read_record() if run.is_of_board and run.experiment.name != results.name]
    if not stored:
        raise ResultsError("the record has no results of it yet")
    refuse_other_data([*stored, results])
    return join(stored)
