"""Which configs the record has, and what each of them takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mlcdr.data.sources import how_to_get
from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.yaml_reader import dump_line
from mlcdr.papers import printed, recipes, stored
from mlcdr.papers.recipes import SMALL, Recipe, Step
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


@dataclass(frozen=True)
class PlannedRun:
    """One run of the record.

    Attributes
    ----------
    step : Step
    experiment : str
        Its name, which names the results folder.
    timed : bool
        Whether it reports times, so that one trial of it runs at a time.
    seconds : float
        The CPU time that it took; NaN if it is not known.
    estimated : bool
        Whether the time is estimated from that of the small variant of the table.
    lacks : tuple of str
        What is left out, as it is not available here or takes too long.
    possible : bool
        Whether anything of it can be run here.
    """

    step: Step
    experiment: str
    timed: bool = False
    seconds: float = math.nan
    estimated: bool = False
    lacks: tuple[str, ...] = ()
    possible: bool = True

    @property
    def name(self) -> str:
        """`PAPER/CONFIG`, with `_small` for a reduction."""
        recipe = self.step.recipe
        is_reduction = self.step.overrides and self.experiment.endswith(f"_{SMALL}") and recipe.variant != SMALL
        return f"{recipe.name}_{SMALL}" if is_reduction else recipe.name


def plan_record(small: bool, out: Path, everything: bool = False) -> list[PlannedRun]:
    """The runs of the record, the longest first: all tables; or `small`, what is judged in minutes.

    With `everything`, other readings of the tables, figures and what takes hours, too. `out` is the folder of the
    results folders, which may have the time of an earlier run.
    """
    times = _Times(out)
    planned = []
    for recipe in recipes.recipes().values():
        if not _is_of_record(recipe, small, everything):
            continue
        steps = recipes.steps(recipe.name, small=True) if small else [Step(recipe)]
        planned += [_plan_run(step, times, everything) for step in steps]
    # one that has never run may be the longest
    return sorted(planned, key=lambda run: -math.inf if math.isnan(run.seconds) else -run.seconds)


def facts_tables() -> list[str]:
    """The published tables of data sets, which are counted and not run."""
    return [name for name in printed.list_facts_tables() if recipes.facts_table(name)]


def _is_of_record(recipe: Recipe, small: bool, everything: bool) -> bool:
    paper, _, name = recipe.name.partition("/")
    papers = {each.partition("/")[0] for each in printed.list_files()}
    if recipe.variant == SMALL or paper not in papers:
        return False
    if not recipe.table and not name.startswith("table"):  # a figure, or what a claim needs
        return everything
    if small:
        return bool(recipe.table) and not recipe.variant and not recipes.prints_times(recipe.outline)
    if everything:
        return True
    # where the table itself takes hours, other readings of it stand for it
    is_table = recipe.variant in ("", LARGE) or TOO_LONG.get(recipe.of) == ()
    return is_table and TOO_LONG.get(recipe.name) != ()


def _plan_run(step: Step, times: _Times, everything: bool) -> PlannedRun:
    recipe = step.recipe
    if extras := recipe.lacks():
        return PlannedRun(step, recipe.outline.name, lacks=tuple(extras), possible=False)
    experiment = recipes.experiment_of(step)
    run = PlannedRun(step, experiment.name, recipes.prints_times(experiment))
    too_long = TOO_LONG.get(recipe.name, ())
    if not (everything and too_long):  # the time that is known is without these data sets
        run = times.add(run, experiment)
    return _leave_out(run, experiment, () if everything or step.overrides else too_long)


def _leave_out(run: PlannedRun, experiment: Experiment, too_long: tuple[str, ...]) -> PlannedRun:
    """The run without the data sets that are not at hand, or take too long."""
    of_folds = recipes.missing_folds([experiment])
    absent = list(dict.fromkeys([*recipes.missing([experiment]), *of_folds]))
    long = [name for name in too_long if name not in absent]
    if not absent and not long:
        return run
    lacks = []
    if absent:
        lacks.append(f"{', '.join(absent)}: {how_to_get(absent, bool(of_folds))}")
    if long:
        lacks.append(f"{', '.join(long)}: only with --all")
    left = [spec.plain() for spec in experiment.datasets if spec.name not in (*absent, *long)]
    step = replace(run.step, overrides=(*run.step.overrides, f"datasets={dump_line(left)}"))
    return replace(run, step=step, lacks=tuple(lacks), possible=bool(left))


class _Times:
    """The CPU times of earlier runs, in the results folders of `out` and in the record."""

    def __init__(self, out: Path):
        self.out = out
        self.stored = {run.manifest.experiment: run.manifest.total_cpu_seconds for run in stored.read_record()}

    def add(self, run: PlannedRun, experiment: Experiment) -> PlannedRun:
        """A run with the time that it took, or may take."""
        seconds = self._took(experiment.name)
        if not math.isnan(seconds):
            return replace(run, seconds=seconds)
        return replace(run, seconds=self._estimate(run.step.recipe, experiment), estimated=True)

    def _took(self, name: str) -> float:
        """The CPU time in the results folder of an experiment, or else in the record; NaN without either."""
        try:
            seconds = Manifest.read(self.out / name).total_cpu_seconds
        except ResultsError:
            seconds = 0.0
        return seconds or self.stored.get(name, math.nan)

    def _estimate(self, recipe: Recipe, experiment: Experiment) -> float:
        """The CPU time that a table may take, from that of its small variant and the sizes of both."""
        (small,) = recipes.steps(recipe.of, small=True)
        reduced = recipes.experiment_of(small)
        return self._took(reduced.name) * _size(experiment) / _size(reduced)


def _size(experiment: Experiment) -> float:
    """The values that a run reads, over all data sets, splits, methods and points of the sweep."""
    splits = experiment.splits
    n_points = math.prod(len(values) for values in experiment.sweep.values())
    n_fits = splits.repeats * getattr(splits, "folds", 1) * len(experiment.methods) * n_points
    n_values = math.fsum(recipes.n_values(spec.name) for spec in experiment.datasets)
    return n_fits * (n_values or 1.0)
