"""Computes a part of stored rows of the board again, and compares it with what is stored, to six digits.

`python -m tools.board_check FOLDER… [--share 0.05] [--seed N] [--jobs N]`. Of each folder (`results/record/board/NAME`)
data sets are drawn at random, at least one, which have about this share of its trials. Times and memory do not count.
Methods of one's own are found in the current folder and in `examples/board`. A row whose class is not the one here, by
the digest that the manifest has of its code, is named first.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

import mlcdr
from mlcdr.errors import escape_control_characters, join_words
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import Results, import_results
from tools.entries import methods_of_other_code
from tools.shell import importing_own_methods, run_script
from tools.store import shorten

_ADVICE = (
    "run the row again with --fresh, by the class that is committed and with the two variables of "
    "docs/how-to/board.md, and store it"
)
_CELL = ["dataset", "method", "metric"]


def draw_datasets(results: Results, share: float, rng: random.Random) -> list[str]:
    """Data sets drawn of those with results, in their order: one at least, and about this share of them.

    Each has equally many trials.
    """
    having = [name for name in results.datasets if name in results.with_results]
    drawn = rng.sample(having, max(1, round(share * len(having))))
    return [name for name in having if name in drawn]


def compute_again(stored: Results, datasets: Sequence[str], jobs: int) -> Results:
    """The results of a stored experiment on some of its data sets, which are kept nowhere.

    Raises
    ------
    UserError
        When a data set or a class is not at hand, or no trial has a result.
    """
    experiment = stored.experiment
    part = experiment.splits.part
    kept = tuple(spec for spec in experiment.datasets if spec.short_name(part) in datasets)
    restricted = experiment.model_copy(update={"datasets": kept})
    return mlcdr.run(restricted, out=None, jobs=jobs, quiet=True).found


def list_differences(stored: Results, again: Results) -> Iterator[str]:
    """A line for each mean on the data sets of `again` that is not the same to six digits, or missing in one."""
    before, now = (_show_means(each) for each in (stored.select("dataset", again.datasets), again))
    cells = pd.concat({"before": before, "now": now}, axis="columns").fillna("none")
    for cell in cells[cells["before"] != cells["now"]].itertuples():
        yield f"{stored.name}: {', '.join(cell.Index)}: stored {cell.before}, now {cell.now}"


def _show_means(results: Results) -> pd.Series:
    """Data set, method, metric → the mean as the record has it; without costs, which differ from run to run."""
    summary = results.summary.astype(dict.fromkeys(_CELL, object))
    costs = [metric for metric in results.metrics if results.metric_facts(metric).is_cost]
    return summary[~summary["metric"].isin(costs)].set_index(_CELL)["mean"].map(shorten)


def main() -> int:
    """Check the folders; exit code 1 if a digit differs."""
    parser = argparse.ArgumentParser(prog="tools.board_check", description="Compute a part of stored rows again.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="results/record/board/NAME")
    parser.add_argument("--share", type=float, default=0.05, help="about this share of the trials; default: 0.05")
    parser.add_argument("--seed", type=int, help="of the draw of data sets; default: another one each time")
    parser.add_argument("--jobs", type=int, default=0, help="number of workers; 0: one per core")
    given = parser.parse_args()
    if not 0 < given.share <= 1:
        parser.error("--share: must be greater than 0, and 1 at most")
    seed = random.randrange(10**6) if given.seed is None else given.seed
    print(f"seed {seed}")
    rng = random.Random(seed)
    n_differing = 0
    with importing_own_methods():
        for folder in given.folders:
            stored = import_results(folder)
            if others := methods_of_other_code(stored.experiment, Manifest.read(folder).code):
                told = f"{stored.name}: stored of other code than that here: {', '.join(others)}"
                print(escape_control_characters(told))
            datasets = draw_datasets(stored, given.share, rng)
            print(f"{stored.name}: {join_words(datasets)} again", flush=True)
            differences = list(list_differences(stored, compute_again(stored, datasets, given.jobs)))
            for line in differences:
                print(escape_control_characters(line))
            n_differing += len(differences)
    if not n_differing:
        print("all means are the same to six digits")
        return 0
    differ = "1 mean differs" if n_differing == 1 else f"{n_differing} means differ"
    print(f"{differ}; {_ADVICE}")
    return 1


if __name__ == "__main__":
    run_script(main)
