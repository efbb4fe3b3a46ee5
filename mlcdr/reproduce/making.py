"""Making the record: which configs it has, what each takes, and running them with all cores busy to the end."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import joblib

from mlcdr.data.sources import how_to_get
from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.processes import stop_on_signals
from mlcdr.reproduce import published, recipes, record
from mlcdr.reproduce.recipes import SMALL, Recipe, Step
from mlcdr.results.joining import LARGE
from mlcdr.results.manifest import Manifest

TOO_LONG: Mapping[str, tuple[str, ...]] = {
    "sun_2017_thesis/table4_2_as_stated": ("medical", "enron", "rcv1s1"),  # (4.41) among all features, tuned
    "sun_2017_thesis/table4_2_large": ("delicious",),  # a fold takes more than 17 minutes
    "sun_2017_thesis/table6_1_large": ("bibtex", "corel16k1", "corel16k2"),  # LIBSVM: half an hour, and hours
    "sun_2017_thesis/table6_2": (),  # whole grids, of which table6_2_random has a share
    "sun_2017_thesis/table6_2_random_large": (),
    "sun_2017_thesis/table8_2": (),  # nothing is shared; table8_2_shared has it all
}
"""What takes too long for `make record`: some data sets of a config; empty: all."""

_LANES = 2


@dataclass(frozen=True)
class Planned:
    """One run of the record.

    Attributes
    ----------
    step : Step
    experiment : str
        Its name, which names the results folder.
    seconds : float
        The CPU time that it took; NaN if it is not known.
    estimated : bool
        Whether the time is estimated from that of the small variant of the table.
    timed : bool
        Whether it reports times, so that one trial of it runs at a time.
    lacks : tuple of str
        What is left out, as it is not available here or takes too long.
    possible : bool
        Whether anything of it can be run here.
    """

    step: Step
    experiment: str
    seconds: float
    estimated: bool
    timed: bool
    lacks: tuple[str, ...] = ()
    possible: bool = True

    @property
    def name(self) -> str:
        """`PAPER/CONFIG`, with `_small` for a reduction."""
        recipe = self.step.recipe
        small = self.step.overrides and self.experiment.endswith(f"_{SMALL}") and recipe.variant != SMALL
        return f"{recipe.name}_{SMALL}" if small else recipe.name


def plan(small: bool, out: Path, everything: bool = False) -> list[Planned]:
    """The runs of the record, the longest first: all tables; or `small`, what is judged in minutes.

    With `everything`, other readings of the tables and what takes hours, too. `out` is the folder of the results
    folders, which may have the time of an earlier run.
    """
    known = recipes.recipes()
    took = {each.manifest.experiment: each.manifest.cpu_seconds for each in record.read()}
    found = [
        _planned(step, took, out, everything)
        for recipe in known.values()
        if _is_of_record(recipe, small, everything)
        for step in (recipes.steps(recipe.name, small=True) if small else [Step(recipe)])
    ]
    # one that has never run may be the longest
    return sorted(found, key=lambda each: -each.seconds if each.seconds == each.seconds else -math.inf)


def _is_of_record(recipe: Recipe, small: bool, everything: bool) -> bool:
    paper, _, name = recipe.name.partition("/")
    if recipe.variant == SMALL or paper not in {each.partition("/")[0] for each in published.every_name()}:
        return False
    if not (recipe.table or name.startswith("table")):
        return False
    if small:
        return bool(recipe.table) and not recipe.variant and not recipes.prints_times(recipe.outline)
    if everything:
        return True
    # where the table itself takes hours, other readings of it stand for it
    first = recipe.variant in ("", LARGE) or TOO_LONG.get(recipe.of) == ()
    return first and TOO_LONG.get(recipe.name) != ()


def _planned(step: Step, took: dict[str, float], out: Path, everything: bool) -> Planned:
    if lacks := step.recipe.lacks():
        outline = step.recipe.outline
        return Planned(step, outline.name, math.nan, False, False, tuple(lacks), possible=False)
    experiment = recipes.experiment_of(step)
    seconds = _took(out / experiment.name, took)
    if estimated := math.isnan(seconds):
        seconds = _estimate(step.recipe, experiment, took, out)
    if everything and TOO_LONG.get(step.recipe.name):  # the time that is known is without these data sets
        seconds, estimated = math.nan, False
    timed = recipes.prints_times(experiment)
    absent = list(dict.fromkeys([*recipes.missing([experiment]), *recipes.missing_folds([experiment])]))
    too_long = (
        []
        if step.overrides or everything
        else [name for name in TOO_LONG.get(step.recipe.name, ()) if name not in absent]
    )
    if not absent and not too_long:
        return Planned(step, experiment.name, seconds, estimated, timed)
    left = [spec.plain() for spec in experiment.datasets if spec.name not in (*absent, *too_long)]
    step = replace(step, overrides=(*step.overrides, f"datasets={json.dumps(left)}"))
    why = [f"{', '.join(absent)}: {how_to_get(absent, bool(recipes.missing_folds([experiment])))}"] if absent else []
    why += [f"{', '.join(too_long)}: only with --all"] if too_long else []
    return Planned(step, experiment.name, seconds, estimated, timed, tuple(why), bool(left))


def _estimate(recipe: Recipe, experiment: Experiment, took: Mapping[str, float], out: Path) -> float:
    """The CPU time that a table may take, estimated from that of its small variant and the sizes of both."""
    whole = recipes.recipes()[recipe.of]
    (small,) = recipes.steps(whole.name, small=True)
    reduced = recipes.experiment_of(small)
    return _took(out / reduced.name, took) * _size(experiment) / _size(reduced)


def _size(experiment: Experiment) -> float:
    """The values that a run reads, over all data sets, splits, methods and points of the sweep."""
    splits, points = experiment.splits, math.prod(len(values) for values in experiment.sweep.values())
    times = splits.repeats * getattr(splits, "folds", 1) * len(experiment.methods) * points
    sizes = [recipes.n_values(spec.name) for spec in experiment.datasets]
    return times * (math.fsum(sizes) or 1.0)


def _took(folder: Path, took: Mapping[str, float]) -> float:
    """The CPU time in a results folder, or else in the record of the same experiment; NaN without either."""
    try:
        seconds = Manifest.read(folder).cpu_seconds
    except ResultsError:
        seconds = 0.0
    return seconds or took.get(folder.name, math.nan)


def run(planned: Sequence[Planned], out: Path, jobs: int, ended: Callable[[Planned, str], None]) -> None:
    """Run what is planned, two runs at a time, each with half of the workers; `ended` is called with each and an error.

    A run that would still compute when all others have ended is given all workers, before the others.
    """
    cores = jobs or joblib.cpu_count()
    lanes = min(_LANES, cores)
    total = math.fsum(each.seconds for each in planned if each.seconds == each.seconds)
    long = [each for each in planned if each.seconds > total / lanes and not each.timed]
    rest = [each for each in planned if each not in long]
    processes: list[subprocess.Popen[str]] = []

    def one(each: Planned, workers: int) -> None:
        settings = [word for change in each.step.overrides for word in ("--set", change)]
        line = [sys.executable, "-m", "mlcdr", "run", str(each.step.recipe.path), *settings, "--out", str(out)]
        line += ["--jobs", str(1 if each.timed else workers), "--quiet"]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        _, errors = process.communicate()
        ended(each, "" if process.returncode == 0 else errors.strip() or f"exit code {process.returncode}")

    pool = ThreadPoolExecutor(lanes)
    try:
        with stop_on_signals():  # runs would go on without this process
            for each in long:
                one(each, cores)
            for future in [pool.submit(one, each, max(1, cores // lanes)) for each in rest]:
                future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            if process.poll() is None:
                process.terminate()  # it saves what is finished
        raise


def facts_tables() -> list[str]:
    """The published tables of data sets, which are counted and not run."""
    return [name for name in published.data_set_names() if recipes.data_table(name)]
