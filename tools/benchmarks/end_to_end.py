"""What a run costs beyond its computation: whole commands in processes of their own.

    python -m tools.benchmarks end_to_end

CPU seconds of all processes of a command (once its wall seconds), the least of some runs, with data sets in the cache:

nothing   `mlcdr run` of yeast_cplst with every trial on record, beside a process that imports the modules which that
          command loads, and does nothing else;
beyond    what each of 8,000 trials more of yeast_cplst adds to a run, over what `Computer.compute` takes for it;
workers   four trivial trials in two workers, over the same in one process;
table3    the whole of Chen & Lin's Table 3.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import yaml

from mlcdr.execution.computing import Computer
from mlcdr.experiment.loading import load_experiment
from tools.benchmarks.measuring import ROOT, least, spent, work_of
from tools.benchmarks.ratios import Ratio

FOUR_TRIALS = {
    "name": "four",
    "datasets": ["yeast"],
    "splits": {"kind": "kfold", "folds": 4, "seed": 1},
    "metrics": ["hamming_loss"],
    "methods": {"Ridge": {"learner": {"ridge": {"alpha": 1.0}}}},
}
# `mlcdr` with the names of what it has imported left in a file, and a program that imports them, postponed as there.
LISTING = """
import atexit, sys
from pathlib import Path
atexit.register(lambda: Path("modules").write_text(" ".join(sys.modules)))
from mlcdr.cli import main
main()
"""
IMPORTING = """
import contextlib, gc, importlib
from pathlib import Path
from mlcdr.lazy_imports import postpone
gc.disable()
postpone()
for name in Path("modules").read_text().split():
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""


def start(folder: Path, *arguments: str) -> tuple[float, float]:
    """CPU and wall seconds of Python in a folder, which has the cache of data sets, too."""
    return spent(list(arguments), folder, MLCDR_CACHE=str(folder / "cache"))


def run(folder: Path, config: Path, *options: str) -> tuple[float, float]:
    """CPU and wall seconds of a run."""
    return start(folder, "-m", "mlcdr", "run", str(config), "--quiet", *options)


def computing(config: Path) -> tuple[float, int]:
    """CPU seconds of computing the trials of a config, and their number."""
    data, work = work_of(load_experiment(config))

    def compute() -> None:
        computer = Computer(data)
        for group in work:
            computer.compute(group)

    compute()  # loads what is loaded when it is first used
    gc.disable()  # as the command does
    return least(compute, 3), sum(len(group.trials) for group in work)


def yeast(folder: Path, config: Path) -> list[Ratio]:
    """With nothing to do, and with more and more to do."""
    anew = {}
    for repeats in (500, 100):
        options = ("--jobs", "1", "--fresh", "--set", f"splits.repeats={repeats}")
        anew[repeats] = min(run(folder, config, *options)[0] for _ in range(3))
    nothing = min(run(folder, config, "--jobs", "1")[0] for _ in range(5))
    start(folder, "-c", LISTING, "run", str(config), "--quiet", "--jobs", "1")
    imports = min(start(folder, "-c", IMPORTING)[0] for _ in range(5))
    computed, n_trials = computing(config)
    beyond = 1000 * ((anew[500] - anew[100]) / 4 - computed) / n_trials
    return [
        Ratio("nothing to do / the bare imports", nothing, imports, at_most=1.5),
        Ratio("a run beyond the computation, a trial", beyond, unit="ms", at_most=0.2),
    ]


def four_trials(folder: Path, _: Path) -> list[Ratio]:
    """What a second worker adds."""
    config = folder / "four.yaml"
    config.write_text(yaml.safe_dump(FOUR_TRIALS))
    one = min(run(folder, config, "--jobs", "1", "--fresh")[0] for _ in range(5))
    two = min(run(folder, config, "--jobs", "2", "--fresh")[0] for _ in range(5))
    return [Ratio("CPU seconds that --jobs 2 adds to --jobs 1", two - one, unit="s", at_most=0.3)]


def table3(folder: Path, config: Path) -> list[Ratio]:
    """One worker, and two."""
    one = min(run(folder, config, "--jobs", "1", "--fresh")[0] for _ in range(2))
    two = min(run(folder, config, "--jobs", "2", "--fresh")[1] for _ in range(2))
    return [
        Ratio("CPU seconds with --jobs 1", one, unit="s", at_most=12),
        Ratio("wall seconds with --jobs 2", two, unit="s", at_most=8),
    ]


PARTS = {"yeast_cplst": yeast, "four trials": four_trials, "chen_lin_2012/table3": table3}


def measure(name: str) -> list[Ratio]:
    """Measure one of the runs."""
    with tempfile.TemporaryDirectory() as folder:
        return PARTS[name](Path(folder), ROOT / "configs" / f"{name}.yaml")
