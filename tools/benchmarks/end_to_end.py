"""What a run costs beyond its computation: whole commands in processes of their own.

    python -m tools.benchmarks end_to_end

CPU seconds of all processes of a command (once its wall seconds), the least of some runs, with data sets in the cache:

nothing   `mlcdr run` of yeast_cplst with every trial on record, beside a process that imports the modules which that
          command loads, and does nothing else;
beyond    yeast_cplst anew, with its tables and its figure: what it takes over the former and over `Computer.compute` of
          the same trials (code loaded, the data set read), for each trial;
workers   four trivial trials in two workers, over the same in one process;
table3    the whole of Chen & Lin's Table 3.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import yaml

from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import groups
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.trials import plan
from tools.benchmarks.measuring import ROOT, least, spent
from tools.benchmarks.ratios import Ratio

CONFIGS = ROOT / "configs"
FOUR_TRIALS = {
    "name": "four",
    "datasets": ["yeast"],
    "splits": {"kind": "kfold", "folds": 4, "seed": 1},
    "metrics": ["hamming_loss"],
    "methods": {"Ridge": {"learner": {"ridge": {"alpha": 1.0}}}},
}
# `mlcdr` with the names of what it has imported left in a file, and a program that imports them.
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
gc.disable()
for name in Path("modules").read_text().split():
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""


class Folder:
    """A folder with a cache of data sets, in which Python is started."""

    def __init__(self, path: str):
        self.path, self.runs = Path(path), 0

    def python(self, *arguments: str) -> tuple[float, float]:
        """CPU and wall seconds."""
        return spent(list(arguments), self.path, MLCDR_CACHE=str(self.path / "cache"))

    def repeated(self, config: Path, *options: str) -> tuple[float, float]:
        """CPU and wall seconds of a run, of which the trials may be on record."""
        return self.python("-m", "mlcdr", "run", str(config), "--quiet", *options)

    def fresh(self, config: Path, *options: str) -> tuple[float, float]:
        """CPU and wall seconds of a run into a folder that is empty."""
        self.runs += 1
        return self.repeated(config, "--out", f"results{self.runs}", *options)


def computing(config: Path) -> tuple[float, int]:
    """CPU seconds of computing the trials of a config, and their number."""
    experiment = load_experiment(config)
    data = DataSource.of(experiment.datasets[0], experiment.splits).read()
    trials = list(plan(experiment, data))
    work = list(groups(experiment, data.source, trials))

    def compute() -> None:
        computer = Computer(data)
        for group in work:
            computer.compute(group)

    compute()  # loads what is loaded when it is first used
    gc.disable()  # as the command does
    return least(compute, 3), len(trials)


def yeast(folder: Folder, config: Path) -> list[Ratio]:
    """With nothing to do, and from the beginning."""
    folder.repeated(config, "--jobs", "1")
    folder.python("-c", LISTING, "run", str(config), "--quiet", "--jobs", "1")
    nothing = min(folder.repeated(config, "--jobs", "1")[0] for _ in range(5))
    imports = min(folder.python("-c", IMPORTING)[0] for _ in range(5))
    whole = min(folder.fresh(config, "--jobs", "1")[0] for _ in range(3))
    computed, n_trials = computing(config)
    beyond = 1000 * (whole - nothing - computed) / n_trials
    return [
        Ratio("nothing to do / the bare imports", nothing, imports, at_most=1.5),
        Ratio("beyond nothing to do and the computation, a trial", beyond, unit="ms", at_most=0.2),
    ]


def table3(folder: Folder, config: Path) -> list[Ratio]:
    """One worker, and two."""
    one = [folder.fresh(config, "--jobs", "1")[0] for _ in range(2)]
    two = [folder.fresh(config, "--jobs", "2")[1] for _ in range(2)]
    return [
        Ratio("CPU seconds with --jobs 1", min(one), unit="s", at_most=12),
        Ratio("wall seconds with --jobs 2", min(two), unit="s", at_most=8),
    ]


def four_trials(folder: Folder, config: Path) -> list[Ratio]:
    """What a second worker adds."""
    config = folder.path / "four.yaml"
    config.write_text(yaml.safe_dump(FOUR_TRIALS))
    one, two = (min(folder.fresh(config, "--jobs", jobs)[0] for _ in range(5)) for jobs in "12")
    return [Ratio("CPU seconds that --jobs 2 adds to --jobs 1", two - one, unit="s", at_most=0.3)]


PARTS = {"yeast_cplst": yeast, "chen_lin_2012/table3": table3, "four trials": four_trials}


def measure(name: str) -> list[Ratio]:
    """Measure one of the runs."""
    with tempfile.TemporaryDirectory() as path:
        return PARTS[name](Folder(path), CONFIGS / f"{name}.yaml")
