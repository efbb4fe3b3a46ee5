"""A run: plan the trials, compute those that are missing, record each group as it comes, write the results folder."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import joblib
from threadpoolctl import threadpool_info, threadpool_limits

from mlcdr import __version__
from mlcdr.config.loading import experiment_yaml
from mlcdr.errors import ConfigError, ResultsError, UserError
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.model import DatasetSpec, Experiment, LimitsSpec
from mlcdr.experiment.trials import Trial, plan
from mlcdr.processes import Stop, block_signals, protect_process, raise_if_stopped, stop_on_signals
from mlcdr.results.manifest import read_manifest
from mlcdr.results.store import Store, place
from mlcdr.results.tabulate import write_chosen, write_scores, write_summary
from mlcdr.run.artifacts import Keeping, forget
from mlcdr.run.computing import Group, groups
from mlcdr.run.dask_backend import SchedulerLost, compute_on_cluster, n_threads
from mlcdr.run.workers import Finished, WorkersGone, computed, finished
from mlcdr.whole_files import write_atomically

BACKENDS = ("loky", "threading", "dask")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "pandas", "threadpoolctl")


class Listener(Protocol):
    """Who is told how a run goes; the command line shows it, a test may look."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """The run begins: `total` trials are planned, of which `kept` are there from before."""

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """A group of a data set is recorded: `done` trials more, of which `failed` failed."""

    def notice(self, text: str) -> None:
        """Something worth a line."""


class Silent:
    """A listener that does not listen."""

    def begin(self, name: str, total: int, kept: int) -> None:
        """Nothing."""

    def advance(self, dataset: str, done: int, failed: int) -> None:
        """Nothing."""

    def notice(self, text: str) -> None:
        """Nothing."""


@dataclass
class RunReport:
    """What a run did.

    Attributes
    ----------
    folder : path
        The results folder.
    planned, kept, computed : int
        Trials in the plan; computed before; computed by this run (failed ones included).
    done : int
        Trials of the plan that have their scores at the end.
    failures : list of (trial, traceback)
        The trials of the plan that failed.
    crashed : int
        How many of these ended their worker process, or were ended with it.
    interrupted : bool
        A signal ended it, or no worker came to life, before all was done.
    seconds : float
        Wall time.
    """

    folder: Path
    planned: int = 0
    kept: int = 0
    computed: int = 0
    done: int = 0
    failures: list[tuple[Trial, str]] = field(default_factory=list)
    crashed: int = 0
    interrupted: bool = False
    seconds: float = 0.0


def run(
    experiment: Experiment,
    out: Path,
    jobs: int = 1,
    backend: str = "loky",
    fresh: bool = False,
    listener: Listener | None = None,
    failed_only: bool = False,
    scheduler: str | None = None,
) -> RunReport:
    """Run an experiment into `out/<name>/`, computing only the trials that are not there yet.

    Every group is computed with one BLAS thread, whatever `jobs` is: the parallel work is over splits, and the numbers
    do not depend on the machine's number of cores. A single job is computed in this process, unless there are limits,
    or a trial has crashed before; otherwise workers compute, any of which may die (`mlcdr.run.workers`).

    Parameters
    ----------
    experiment : Experiment
    out : path
        The folder of results folders.
    jobs : int
        Number of workers; 0 means one for each core that this process may use.
    backend : {"loky", "threading", "dask"}
        Processes or threads, of which one job needs neither; or the workers of a Dask cluster, however many there are.
    fresh : bool
        Forget what is there.
    listener : Listener or None
    failed_only : bool
        Compute those trials only that failed before (their methods may have been mended since), not what is pending.
    scheduler : str or None
        Of the Dask cluster: its address, or its scheduler file.

    Raises
    ------
    UserError
        When a data set cannot be had, the folder cannot be written, limits cannot be held, or no scheduler answers.
    """
    if experiment.limits.any and backend == "threading":
        raise UserError("limits: a thread cannot be ended; they need `--backend loky`")
    if backend == "dask":
        if scheduler is None:
            raise UserError("--backend dask needs --scheduler, the address of a Dask scheduler")
        if experiment.limits.any:
            raise UserError("limits: need `--backend loky`; the workers of a Dask cluster have a --memory-limit")
        jobs = n_threads(scheduler)
    listener = listener or Silent()
    jobs = jobs or joblib.cpu_count()
    start, clock = time.time(), time.monotonic()  # the one says when, the other how long: a clock may be set
    report = RunReport(out / experiment.name)
    folder = report.folder.absolute()  # a method may leave this process in another one
    resolved = experiment_yaml(experiment)  # what cannot be read back later is refused now
    parts: list[Part] = []
    planned = False
    wanted: set[str] = set()
    tried: set[str] = set()
    lost: list[tuple[Trial, str]] = []
    with threadpool_limits(1), protect_process(), Store(report.folder, fresh) as store:
        if fresh:
            forget(folder)
        try:
            with stop_on_signals():
                parts = [prepare(experiment, spec, listener) for spec in experiment.datasets]
                trials = {trial.key: trial for part in parts for trial in part.trials}
                done = store.done() & trials.keys()
                keeping = Keeping.of(experiment.keep, folder)
                unkept = {key for key in done if keeping is not None and keeping.lacks(trials[key])}
                if keeping is not None:
                    keeping.begin()
                write_atomically(folder / "experiment.yaml", resolved)
                for name, spec in experiment.methods.items():
                    if spec.shown_grid:
                        listener.notice(f"{name}: `tune: {{scope: test}}` picks by the test rows; its numbers flatter")
                report.planned, report.kept = len(trials), len(done - unkept)
                planned = True
                store.begin(trials, jobs)
                listener.begin(experiment.name, len(trials), report.kept)
                wanted = trials.keys() - (done - unkept)
                if failed_only:
                    failed_at = store.failed_places()
                    wanted = {key for key in wanted if place(trials[key]) in failed_at}
                pending = [
                    group
                    for part in parts
                    for group in groups(experiment, part.source, [t for t in part.trials if t.key in wanted], keeping)
                ]
                # Closed here and not when the garbage is collected: to close it is to end the workers.
                apart = bool({place(trials[key]) for key in wanted} & store.crashed_places())
                work = _compute(pending, jobs, backend, experiment.limits, apart, scheduler)
                with _silencing_joblib(), contextlib.closing(work) as outcomes:
                    for outcome in outcomes:
                        scores = outcome.scores
                        # What is on record stays, whether or not what was to be kept of it could be.
                        new = [score for score in scores if score.key not in done]
                        store.record(trials, new, outcome.seconds, outcome.crashed)
                        lost += [(trials[s.key], s.error or "") for s in scores if s.key in done and s.values is None]
                        failed = sum(score.values is None for score in scores)
                        report.computed += len(scores)
                        tried |= {score.key for score in scores}
                        listener.advance(trials[scores[0].key].dataset, len(scores), failed)
                        raise_if_stopped()
        except Stop:
            report.interrupted = True
        except (WorkersGone, SchedulerLost) as error:
            report.interrupted = True
            listener.notice(f"{error}; what was finished is kept")
        if not report.interrupted and wanted - tried:
            report.interrupted = True
            listener.notice(f"{len(wanted - tried)} trials came to no end")
        if planned:
            ordered = list(trials)
            report.failures = [(trials[key], error) for key, error in store.failures(ordered).items()] + lost
            columns = (list(experiment.varied), [metric.label for metric in experiment.metrics])
            crashed = store.crashed_places()
            report.crashed = sum(place(trial) in crashed for trial, _ in report.failures)
            scores_by_key = store.scores(ordered)
            report.done = len(scores_by_key)
            write_scores(folder / "scores.csv", list(trials.values()), scores_by_key, *columns)
            write_summary(folder / "summary.csv", list(trials.values()), scores_by_key, *columns)
            if any(spec.tune is not None and not spec.shown_grid for spec in experiment.methods.values()):
                write_chosen(folder / "chosen.csv", list(trials.values()), store.choices(ordered), columns[0])
            report.seconds = time.monotonic() - clock
            manifest = _manifest(experiment, parts, report, start, jobs, backend)
            if (keeping := Keeping.of(experiment.keep, folder)) is not None:
                manifest["kept"] = keeping.write_index(trials.values(), list(experiment.varied))
            manifest["computed_by"] = _history(folder, fresh, manifest)
            write_atomically(folder / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
            store.end("interrupted" if report.interrupted else "finished")
    return report


@dataclass(frozen=True)
class Part:
    """One data set of a run: where it comes from, what the manifest says of it, and its trials."""

    name: str
    source: DataSource
    facts: dict[str, Any]
    trials: list[Trial]


def prepare(experiment: Experiment, spec: DatasetSpec, listener: Listener) -> Part:
    """Load a data set and plan its trials.

    Raises
    ------
    UserError
        When it cannot be had, or divided as the experiment asks.
    """
    source = DataSource.of(spec, experiment.splits)
    dataset = source.load()
    try:
        source.divide(dataset)
    except ConfigError as error:  # more rows asked for than there are
        raise ConfigError([experiment.placed(problem) for problem in error.problems]) from None
    for text in dataset.notices:
        listener.notice(f"{dataset.name}: {text}")
    counted = dataset.statistics()
    facts = {
        "checksum": dataset.checksum,
        "n_instances": dataset.n_instances,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "n_nominal": counted["nominal"],
        "n_numeric": counted["numeric"],
        "label_cardinality": counted["cardinality"],
        "label_density": counted["density"],
        "notices": list(dataset.notices),
    }
    return Part(dataset.name, source.stamped(dataset), facts, plan(experiment, source, dataset))


def _compute(
    pending: Sequence[Group],
    jobs: int,
    backend: str,
    limits: LimitsSpec,
    apart: bool,
    scheduler: str | None = None,
) -> Generator[Finished, None, None]:
    """What comes of each group as it is finished, in any order; `apart`: not in this process, which might not live."""
    workers = min(jobs, len(pending))
    if backend == "dask":
        yield from compute_on_cluster(pending, str(scheduler))
    elif backend == "loky" and workers and (workers > 1 or limits.any or apart):
        yield from computed(pending, workers, limits)
    elif workers <= 1:
        yield from map(finished, pending)
    else:
        with joblib.parallel_config(backend, n_jobs=workers):
            parallel = joblib.Parallel(return_as="generator_unordered")
            with block_signals():  # threads that are started here never see one
                outcomes = parallel(joblib.delayed(finished)(group) for group in pending)
            yield from outcomes


@contextlib.contextmanager
def _silencing_joblib() -> Iterator[None]:
    """Without joblib's remark that tasks were not used or cancelled: it is so when a run is stopped, and is told."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\d+ tasks ", category=UserWarning)
        yield


def _manifest(
    experiment: Experiment, parts: Sequence[Part], report: RunReport, start: float, jobs: int, backend: str
) -> dict[str, Any]:
    return {
        "mlcdr": __version__,
        "experiment": experiment.name,
        "started": datetime.fromtimestamp(start, timezone.utc).isoformat(timespec="seconds"),
        "seconds": round(report.seconds, 3),
        "jobs": jobs,
        "backend": backend if jobs > 1 or backend == "dask" else "none",
        "trials": {
            "planned": report.planned,
            "kept": report.kept,
            "computed": report.computed,
            "failed": len(report.failures),
            "crashed": report.crashed,
            "interrupted": report.interrupted,
        },
        "seed": experiment.seed,
        "datasets": {part.name: part.facts for part in parts},
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "blas": [
            {key: info.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
            for info in threadpool_info()
            if info.get("user_api") == "blas"
        ],
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
        },
    }


def _history(folder: Path, fresh: bool, manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each run that computed trials of this folder and ended by itself, the last one last.

    What stands above it in the manifest is of the last run alone, which may have computed nothing.
    """
    try:
        earlier = [] if fresh else read_manifest(folder)["computed_by"]
    except (ResultsError, KeyError):
        earlier = []
    about = ("started", "seconds", "jobs", "backend", "trials", "mlcdr", "python", "packages", "blas", "machine")
    return [*earlier, *([{key: manifest[key] for key in about}] if manifest["trials"]["computed"] else [])]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
