"""Measures the memory of the board's methods. Its runs cannot: methods that share work have none of their own.

`python -m tools.board_memory` fits each method, with one point of its grid, on a split of the last data set of its
config, one fit after the other, and writes `results/record/board/memory.csv`: data set, method, MB (`fit_memory`).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import mlcdr
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.shipped import record_folder, shipped_configs
from mlcdr.papers.board import is_of_board
from mlcdr.papers.stored import BOARD
from tools.shell import run_script

METRIC = "fit_memory"
FILE = record_folder() / BOARD / "memory.csv"


def read_memory() -> pd.DataFrame:
    """Data sets × methods: what was measured and stored, MB."""
    return pd.read_csv(FILE).pivot(index="dataset", columns="method", values="MB")


def measure_memory(config: Path) -> pd.DataFrame:
    """The memory of each method of a config, on its last data set: columns dataset, method, MB.

    Raises
    ------
    UserError
        When the data set is not at hand.
    """
    last = load_experiment(config, look_up=False, instances=False).datasets[-1]
    changes = {
        "name": f"{config.stem}_memory",
        "against": None,
        "datasets": [last.name],
        "splits": {"kind": "shuffle", "repeats": 1, "train_size": 0.8, "seed": 2026},
        "metrics": [METRIC],
        "defaults.tune.search": "random",
        "defaults.tune.points": 1,
    }
    summary = mlcdr.run(config, set=changes, out=None, jobs=1, quiet=True).summary
    return summary.rename(columns={"mean": "MB"})[["dataset", "method", "MB"]]


def main() -> int:
    """Measure the methods of all configs of the board; a method that is in two of them on one data set counts once."""
    configs = shipped_configs()
    found = pd.concat([measure_memory(configs[name]) for name in sorted(configs) if is_of_board(name)])
    found.drop_duplicates(["dataset", "method"]).to_csv(FILE, index=False, float_format="%.1f")
    print(f"written: {FILE}")
    return 0


if __name__ == "__main__":
    run_script(main)
