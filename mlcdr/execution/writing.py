"""The results folder at the end of a run: CSV exports of the record, the list of what is kept, and the manifest."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from mlcdr import __version__
from mlcdr.errors import ResultsError
from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.plan import RunPlan
from mlcdr.execution.warned import Warned, gather
from mlcdr.experiment.keys import codes
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import Trial
from mlcdr.results.exports import write_chosen, write_frame, write_labels, write_summary
from mlcdr.results.manifest import Machine, Manifest, RunFacts, TrialCounts
from mlcdr.results.store import Store, place
from mlcdr.results.trials import read_by_label, read_scores, read_tuning
from mlcdr.whole_files import write_atomically

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "pandas", "threadpoolctl")


@dataclass
class RunReport:
    """What a run did.

    Attributes
    ----------
    folder : path
        The results folder.
    jobs, backend : int, str
        How many workers, and of which kind.
    planned, kept, computed : int
        Trials in the plan; computed before; computed by this run (failed ones included).
    done : int
        Trials of the plan that have their scores at the end.
    failures : list of (trial, traceback)
        The trials of the plan that failed.
    crashed : int
        How many of these ended their worker process, or were ended with it.
    unchanged : bool
        Whether nothing was computed, and the exports are those that the run before wrote.
    interrupted : bool
        Whether a signal ended it, or no worker was left, before all was done.
    lost : str
        Why no worker was left.
    warned : list of Warned
        The warnings that methods gave, counted.
    seconds : float
        Wall time.
    started : str
        When it began (UTC, ISO 8601).
    clock : float
        The same by the monotonic clock.
    """

    folder: Path
    jobs: int
    backend: str
    planned: int = 0
    kept: int = 0
    computed: int = 0
    done: int = 0
    failures: list[tuple[Trial, str]] = field(default_factory=list)
    crashed: int = 0
    unchanged: bool = False
    interrupted: bool = False
    lost: str = ""
    warned: list[Warned] = field(default_factory=list)
    seconds: float = 0.0
    started: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds"))
    clock: float = field(default_factory=time.monotonic)
    cpu: float = field(default_factory=lambda: sum(os.times()[:4]))


def are_written(experiment: Experiment, folder: Path) -> bool:
    """Whether the exports are there, none newer than the manifest, which a run writes last."""
    names = [
        "scores.csv",
        "summary.csv",
        *["chosen.csv"] * _chooses(experiment),
        *["labels.csv"] * bool(experiment.by_label),
    ]
    try:
        *exports, manifest = [(folder / name).lstat().st_mtime_ns for name in [*names, "manifest.json"]]
    except OSError:
        return False
    return max(exports) <= manifest


def _chooses(experiment: Experiment) -> bool:
    return any(spec.tune is not None and not spec.shown for spec in experiment.methods.values())


def write_results(
    experiment: Experiment, plan: RunPlan, store: Store, keeping: Keeping | None, report: RunReport
) -> None:
    """Write all files of the results folder but the record, and complete the report by what is on record.

    Raises
    ------
    ResultsError
        When a file cannot be written.
    """
    folder, trials = report.folder.absolute(), list(plan.trials.values())
    swept = list(experiment.varied)
    failures = store.failures(list(plan.trials))
    report.failures = [(plan.trials[key], error) for key, error in failures.items()] + report.failures
    crashed = store.crashed_places()
    report.crashed = sum(place(trial) in crashed for trial, _ in report.failures)
    report.done = len(store.done() & plan.trials.keys())
    scores = read_scores(folder, experiment)
    assert scores is not None, "the plan is on record"
    write_frame(folder / "scores.csv", scores)
    write_summary(folder / "summary.csv", scores)
    chosen, of_labels = folder / "chosen.csv", folder / "labels.csv"
    if _chooses(experiment):
        write_chosen(chosen, read_tuning(folder, experiment)[0])
    else:
        _remove(chosen)  # of an earlier config
    if experiment.by_label:
        labels = {part.name: part.labels for part in plan.parts}
        write_labels(of_labels, read_by_label(folder, experiment), labels)
    else:
        _remove(of_labels)
    report.seconds = time.monotonic() - report.clock
    kept = {} if keeping is None else {"kept": keeping.write_index(trials, swept)}
    manifest = _manifest(experiment, plan, report, **kept)
    write_atomically(folder / "manifest.json", manifest.to_json())


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be removed: {error.strerror}") from error


def _manifest(experiment: Experiment, plan: RunPlan, report: RunReport, **kept: Any) -> Manifest:
    """The manifest of the last run, with `computed_by`: the runs that computed trials of this folder.

    They begin with the last run that kept no earlier trials; one that was killed is not among them. The other facts are
    of the last run alone, which may have computed nothing.
    """
    run = RunFacts(
        started=report.started,
        seconds=round(report.seconds, 3),
        cpu_seconds=round(sum(os.times()[:4]) - report.cpu, 3),  # of this process and its workers that have ended
        jobs=report.jobs,
        backend=report.backend if report.jobs > 1 or report.backend == "dask" else "none",
        trials=TrialCounts(
            planned=report.planned,
            kept=report.kept,
            computed=report.computed,
            failed=len(report.failures),
            crashed=report.crashed,
            interrupted=report.interrupted,
        ),
        mlcdr=__version__,
        python=platform.python_version(),
        packages={name: installed_version(name) for name in _PACKAGES},
        blas=tuple(
            {key: info.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
            for info in threadpool_info()
            if info.get("user_api") == "blas"
        ),
        machine=Machine(
            system=platform.system(),
            release=platform.release(),
            processor=platform.processor() or platform.machine(),
            cores=os.cpu_count(),
        ),
    )
    try:
        runs = Manifest.read(report.folder).computed_by
    except ResultsError:
        runs = ()
    if report.computed:
        # Where it kept no trial, what earlier runs computed is of another version or config, and has been replaced.
        runs = (*(runs if report.kept else ()), run)
    warnings = [
        {"count": each.count, "methods": methods, "category": each.category, "text": each.text, "place": each.place}
        for each, methods in gather(report.warned)
    ]
    facts: Any = {part.name: part.facts for part in plan.parts}
    return Manifest(
        **dict(run),
        experiment=experiment.name,
        warnings=tuple(warnings),
        code=codes(experiment),
        seed=experiment.seed,
        datasets=facts,
        computed_by=runs,
        **kept,
    )


@cache
def installed_version(package: str) -> str | None:
    """The version of a package, read once in a process; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
