"""A run: plan the trials, compute those that are missing, record each group as it comes, write the results folder."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import joblib
from threadpoolctl import threadpool_limits

from mlcdr.errors import ResultsError, UserError
from mlcdr.execution.artifacts import Keeping, forget
from mlcdr.execution.executors import Executor, ExecutorLost, ThisProcess
from mlcdr.execution.groups import GroupResult
from mlcdr.execution.listener import Listener
from mlcdr.execution.plan import RunPlan, plan_run
from mlcdr.execution.writing import RunReport, are_written, write_results
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.model import Experiment, LimitsSpec
from mlcdr.processes import Stop, hold_signals, protect_process, stop_on_signals
from mlcdr.results.failures import describe_error
from mlcdr.results.store import Store
from mlcdr.whole_files import is_regular_file, write_atomically

BACKENDS = ("loky", "dask")


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
    or a trial has crashed before; otherwise workers compute, any of which may die (`mlcdr.execution.workers`).

    Parameters
    ----------
    experiment : Experiment
    out : path
        The folder of results folders.
    jobs : int
        Number of workers; 0 means one for each core that this process may use.
    backend : {"loky", "dask"}
        Processes of this machine, of which one job needs none; or the workers of a Dask cluster, whatever their number.
    fresh : bool
        Remove earlier results as soon as the trials are planned.
    listener : Listener or None
    failed_only : bool
        Compute those trials only that failed before (their methods may have been corrected since), not what is pending.
    scheduler : str or None
        Of the Dask cluster: its address, or its scheduler file.

    Raises
    ------
    UserError
        When a data set is not available, the folder cannot be written, the system cannot enforce limits, or no
        scheduler answers.
    """
    check_backend(backend, scheduler, experiment.limits)
    cluster = None
    if scheduler is not None:
        from mlcdr.execution.dask_backend import DaskCluster

        cluster = DaskCluster(scheduler)
        jobs = cluster.n_threads()
    jobs = jobs or joblib.cpu_count()
    listener = listener or Listener()
    report = RunReport(out / experiment.name, jobs, backend)
    resolved = experiment_yaml(experiment)  # refuses an experiment that could not be read back later
    folder = report.folder.absolute()  # since a method may change the working directory
    keeping = Keeping.of(experiment, folder)
    plan: RunPlan | None = None  # once there are results to write at the end
    same = False  # whether the run before had the same plan and config, and kept no files
    with threadpool_limits(1), protect_process(), Store(report.folder, fresh) as store:
        try:
            with stop_on_signals():
                planned = plan_run(experiment, keeping, store, listener, failed_only)
                if failed_only and not planned.pending:
                    store.forget_run()
                    report.planned, report.done = len(planned.trials), len(planned.done)
                    return report
                if keeping is not None and not fresh:
                    keeping.begin()
                before = _text(folder / "experiment.yaml")
                write_atomically(folder / "experiment.yaml", resolved)
                same = store.begin(planned.trials, jobs) and before == resolved and keeping is None
                if fresh:
                    forget(folder)
                plan = planned
                report.planned, report.kept = len(plan.trials), plan.n_kept
                listener.begin(experiment.name, report.planned, report.kept)
                _execute(cluster or _local(plan, jobs, experiment.limits), plan, store, report, listener)
        except Stop:
            report.interrupted = True
        except ExecutorLost as error:
            report.interrupted, report.lost = True, str(error)
            listener.notice(f"{error}; what was finished is kept")
        except Exception:
            report.interrupted = True
            if plan is not None:
                with contextlib.suppress(ResultsError):  # the first error, such as a full disk, is the one to report
                    write_results(experiment, plan, store, keeping, report)
            raise
        if plan is None:
            return report
        if same and len(plan.done) == len(plan.trials) and are_written(experiment, folder):
            report.unchanged, report.done = True, report.planned
            report.seconds = time.monotonic() - report.clock
        else:
            write_results(experiment, plan, store, keeping, report)
        store.end("interrupted" if report.interrupted else "finished")
    return report


def _execute(executor: Executor, plan: RunPlan, store: Store, report: RunReport, listener: Listener) -> None:
    """Compute what is pending, record each group as it comes, and tell the first failure of each method."""
    left = {trial.key for group in plan.pending for trial in group.trials}
    told: set[str] = set()
    # Closed here, not by the garbage collector: closing it ends the workers.
    with contextlib.closing(executor.compute(plan.pending, plan.data)) as results:
        for result in results:
            with hold_signals():
                _record(result, plan, store, report)
                left.difference_update(score.key for score in result.scores)
                failed = [score for score in result.scores if score.values is None]
                for score in failed:
                    trial = plan.trials[score.key]
                    if trial.method not in told:  # one that cannot work need not be waited for
                        told.add(trial.method)
                        where = f"{trial.method} on {trial.dataset}, split {trial.split}"
                        reason = describe_error(score.error or "")
                        listener.notice(f"first failure of {where}: {reason}; the run goes on")
                dataset = plan.trials[result.scores[0].key].dataset
                listener.advance(dataset, len(result.scores), len(failed))
    if left:
        report.interrupted = True
        listener.notice(f"{len(left)} trials came to no end")


def _record(result: GroupResult, plan: RunPlan, store: Store, report: RunReport) -> None:
    """Record a group, and count it in the report."""
    # Scores on record stay, even if the files that were to be kept of the trial could not be written.
    new = [score for score in result.scores if score.key not in plan.done]
    store.record(plan.trials, new, result.seconds * len(new) / len(result.scores), result.crashed)
    for score in result.scores:
        if score.values is None and score.key in plan.done:
            report.failures.append((plan.trials[score.key], score.error or ""))
    report.computed += len(result.scores)
    report.warned += result.warned


def _text(path: Path) -> str:
    """What a file holds; nothing where there is none that can be read."""
    try:
        return path.read_text(encoding="utf-8") if is_regular_file(path) else ""
    except (OSError, UnicodeDecodeError, ResultsError):
        return ""


def check_backend(backend: str, scheduler: str | None, limits: LimitsSpec) -> None:
    """Refuse an unknown backend, or one that cannot take the scheduler or the limits.

    Raises
    ------
    UserError
    """
    if backend == "threading":
        raise UserError("--backend threading is no more: worker processes (`--backend loky`) give the same scores")
    if backend not in BACKENDS:
        raise UserError(f"--backend: {backend!r} is none of {', '.join(BACKENDS)}")
    if (backend == "dask") != (scheduler is not None):
        raise UserError("--backend dask and --scheduler, the address of a Dask scheduler, go together")
    if backend == "dask" and limits.any:
        raise UserError("limits: need `--backend loky`; the workers of a Dask cluster have a --memory-limit")


def _local(plan: RunPlan, jobs: int, limits: LimitsSpec) -> Executor:
    """Choose this process for a single worker, unless a trial may end it or be ended; else worker processes."""
    workers = min(jobs, len(plan.pending))
    if workers > 1 or (workers and (limits.any or plan.isolated)):
        from mlcdr.execution.workers import LocalWorkers

        return LocalWorkers(workers, limits)
    return ThisProcess()
