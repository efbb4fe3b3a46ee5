"""The results folder at the end of a run: CSV exports of the record, the list of what is kept, and the manifest."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_info

from mlcdr import __version__
from mlcdr.errors import ResultsError
from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.memory import as_megabytes, peak
from mlcdr.execution.plan import RunPlan
from mlcdr.execution.warned import Warned, gather
from mlcdr.experiment.keys import codes
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import Trial
from mlcdr.results.exports import write_frame, write_labels, write_summary, write_tuning
from mlcdr.results.manifest import Machine, Manifest, PeakMegabytes, RunFacts, TrialCounts
from mlcdr.results.part import RunPart
from mlcdr.results.record_file import read_plan, reading
from mlcdr.results.stamp import Stamp
from mlcdr.results.store import Failure, Store
from mlcdr.results.trials import read_by_label, read_chosen, read_scores, read_tried
from mlcdr.whole_files import write_atomically

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "pandas", "threadpoolctl")
_OF_BLAS = ("internal_api", "version", "architecture", "num_threads")


@dataclass
class RunReport:
    """What a run did; of a part of one, all numbers and failures are the part's own.

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
    interrupted : bool
        Whether a signal ended it, or no worker was left, before all was done.
    lost : str
        Why no worker was left.
    warned : list of Warned
        The warnings that methods gave, counted.
    seconds : float
        Wall time.
    stamp : Stamp or None
        Of the folder as this run left it.
    scores : frame or None
        The scores of the plan's trials that are on record.
    started : str
        When it began (UTC, ISO 8601).
    clock : float
        The same by the monotonic clock.
    part : RunPart or None
        The part of a run that this is.
    left : int
        How many trials of the other parts have no result yet; then there are no exports.
    replaced : bool
        Whether the folder has got another plan since this part began; then there are none either.
    worker_peak : int
        The most bytes that a worker has had resident at once; 0 without workers.
    cpu : float
        Processor time of this process, and of its children that had ended, when it began (seconds).
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
    interrupted: bool = False
    lost: str = ""
    warned: list[Warned] = field(default_factory=list)
    seconds: float = 0.0
    stamp: Stamp | None = None
    scores: pd.DataFrame | None = None
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    clock: float = field(default_factory=time.monotonic)
    part: RunPart | None = None
    left: int = 0
    replaced: bool = False
    worker_peak: int = 0
    cpu: float = field(default_factory=lambda: sum(os.times()[:4]))


def write_results(
    experiment: Experiment,
    plan: RunPlan,
    store: Store,
    keeping: Keeping | None,
    report: RunReport,
) -> None:
    """Write all files of the results folder but the record, and complete the report by what is on record.

    Of a part of a run, they are written when no trial is left in any part. Whatever the order in which parts end, the
    last one sees the trials and the manifests of all others.

    Raises
    ------
    ResultsError
        When a file cannot be written.
    """
    folder = report.folder.absolute()
    _complete(report, plan, store)
    if report.part is None:
        _write_exports(experiment, plan, keeping, report)
        return
    report.seconds = time.monotonic() - report.clock
    own = folder / f"manifest.{report.part.stem}.json"
    write_atomically(own, _describe(experiment, plan, report, own).to_json())
    with store.exporting():
        failures = store.failures()
        finished = store.done() | failures.keys()
        report.left = len(plan.trials.keys() - finished - plan.own)
        with reading(folder) as records:
            planned = [key for key, _, _ in read_plan(records)]
        report.replaced = planned != list(plan.trials)
        if not report.left and not report.interrupted and not report.replaced:
            of_plan = [failure for key, failure in failures.items() if key in plan.trials]
            _write_exports(experiment, plan, keeping, report, of_plan)


def _write_exports(
    experiment: Experiment,
    plan: RunPlan,
    keeping: Keeping | None,
    report: RunReport,
    failures: Sequence[Failure] = (),
) -> None:
    """Write what is made of all records, and the manifest; `failures` are those of all parts."""
    folder = report.folder.absolute()
    scores = read_scores(folder, experiment)
    assert scores is not None, "the plan is on record"
    write_frame(folder / "scores.csv", scores)
    write_summary(folder / "summary.csv", scores)
    if any(spec.tune is not None and not spec.test_search for spec in experiment.methods.values()):
        write_tuning(folder / "chosen.csv", read_chosen(folder, experiment))
        write_tuning(folder / "tried.csv", read_tried(folder, experiment))
    else:
        for name in ("chosen.csv", "tried.csv"):
            _remove(folder / name)  # of an earlier config
    if experiment.by_label:
        labels = {data.name: data.labels for data in plan.datasets}
        write_labels(folder / "labels.csv", read_by_label(folder, experiment), labels)
    else:
        _remove(folder / "labels.csv")
    report.seconds = time.monotonic() - report.clock
    manifest = _describe(experiment, plan, report, folder / "manifest.json")
    if report.part is not None:
        counts = _count_all(manifest.trials, plan, failures)
        manifest = manifest.model_copy(update={"computed_by": _runs_of_parts(folder), "trials": counts})
    elif report.kept:
        runs = _runs_of_parts(folder)
        new = [run for run in manifest.computed_by if run not in runs]
        manifest = manifest.model_copy(update={"computed_by": (*runs, *new)})
    if keeping is not None:
        kept = keeping.write_index(plan.trials.values(), experiment.varied)
        manifest = manifest.model_copy(update={"kept": kept})
    write_atomically(folder / "manifest.json", manifest.to_json())
    report.stamp = Stamp.of(folder)
    report.scores = scores


def _complete(report: RunReport, plan: RunPlan, store: Store) -> None:
    """Complete the report by the failures on record of the plan's trials."""
    recorded = store.failures()
    failed = [key for key in plan.trials if key in plan.own and key in recorded]
    report.crashed = sum(recorded[key].crash != "" for key in failed)
    report.failures = [(plan.trials[key], recorded[key].error) for key in failed] + report.failures


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be removed: {error.strerror}") from error


def _count_all(own: TrialCounts, plan: RunPlan, failures: Sequence[Failure]) -> TrialCounts:
    """The counts of all parts, of the last one's: what the others computed is kept."""
    planned = len(plan.trials)
    crashed = sum(failure.crash != "" for failure in failures)
    kept = planned - (own.computed or 0)
    return own.model_copy(update={"planned": planned, "kept": kept, "failed": len(failures), "crashed": crashed})


def _runs_of_parts(folder: Path) -> tuple[RunFacts, ...]:
    """The runs that computed the trials of all parts, and of whole runs before, in the order in which they began."""
    runs: list[RunFacts] = []
    for path in [folder / "manifest.json", *sorted(folder.glob("manifest.*-of-*.json"))]:
        with contextlib.suppress(ResultsError):  # there may be none
            runs += [run for run in Manifest.load(path).computed_by if run not in runs]
    return tuple(sorted(runs, key=lambda run: run.started))


def _describe(experiment: Experiment, plan: RunPlan, report: RunReport, path: Path) -> Manifest:
    """The manifest of the last run, to be written to `path`.

    `computed_by` are the runs that computed trials of this folder, or of this part. They begin with the last run that
    kept no earlier trials; one that was killed is not among them. The other facts are of the last run alone, which may
    have computed nothing.
    """
    run = _describe_run(report)
    try:
        runs = Manifest.load(path).computed_by
    except ResultsError:
        runs = ()
    if report.computed:
        # Where it kept no trial, what earlier runs computed is of another version or config, and has been replaced.
        earlier = runs if report.kept else ()
        runs = (*earlier, run)
    warnings = []
    for each, methods in gather(report.warned):
        about = {"category": each.category, "text": each.text, "place": each.place}
        warnings.append({"count": each.count, "methods": methods, **about})
    return Manifest.model_validate(
        {
            **dict(run),
            "experiment": experiment.name,
            "warnings": warnings,
            "code": codes(experiment),
            "seed": experiment.seed,
            "datasets": {data.name: data.facts for data in plan.datasets},
            "computed_by": runs,
        }
    )


def _describe_run(report: RunReport) -> RunFacts:
    """When this run was, what it computed, on what machine and with what versions."""
    blas = []
    for library in threadpool_info():
        if library.get("user_api") == "blas":
            blas.append({key: library.get(key) for key in _OF_BLAS})
    counts = ("planned", "kept", "computed", "crashed", "interrupted")
    return RunFacts(
        started=report.started,
        seconds=round(report.seconds, 3),
        cpu_seconds=round(sum(os.times()[:4]) - report.cpu, 3),  # of this process and its workers that have ended
        peak_megabytes=PeakMegabytes(run=as_megabytes(peak()), worker=as_megabytes(report.worker_peak)),
        jobs=report.jobs,
        backend=report.backend if report.jobs > 1 or report.backend == "dask" else "none",
        trials=TrialCounts(failed=len(report.failures), **{name: getattr(report, name) for name in counts}),
        mlcdr=__version__,
        python=platform.python_version(),
        packages={name: installed_version(name) for name in _PACKAGES},
        blas=tuple(blas),
        machine=Machine(
            system=platform.system(),
            release=platform.release(),
            processor=platform.processor() or platform.machine(),
            cores=os.cpu_count(),
        ),
    )


@cache
def installed_version(package: str) -> str | None:
    """The version of a package, read once in a process; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
