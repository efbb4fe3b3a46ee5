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
from mlcdr.experiment.trials import Score
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
    with threadpool_limits(1), protect_process(), Store(report.folder, fresh) as store:
        work = _Run(experiment, store, report, listener)
        try:
            with stop_on_signals():
                plan = plan_run(experiment, work.keeping, store, listener, failed_only)
                if failed_only and not plan.pending:
                    store.forget_run()
                    report.planned, report.kept, report.done = len(plan.trials), plan.n_kept, len(plan.done)
                    return report
                work.begin(plan, resolved, fresh)
                work.execute(cluster or _local(plan, jobs, experiment.limits), plan)
        except Stop:
            report.interrupted = True
        except ExecutorLost as error:
            report.interrupted, report.lost = True, str(error)
            listener.notice(f"{error}; what was finished is kept")
        except Exception:
            report.interrupted = True
            with contextlib.suppress(ResultsError):  # the first error, such as a full disk, is the one to report
                work.write()
            raise
        work.finish()
    return report


class _Run:
    """A run that has the results folder to itself; `keeping` is what it keeps of each trial besides the record."""

    def __init__(self, experiment: Experiment, store: Store, report: RunReport, listener: Listener):
        self.folder = report.folder.absolute()  # since a method may change the working directory
        self.keeping = Keeping.of(experiment.keep, self.folder, experiment.keep_top)
        self._experiment = experiment
        self._store = store
        self._report = report
        self._listener = listener
        self._plan: RunPlan | None = None  # once there are results to write at the end
        self._same = False  # whether the run before had the same plan and config, and wrote the results of it
        self._told: set[str] = set()  # the methods of which a failure has been told

    def begin(self, plan: RunPlan, resolved: str, fresh: bool) -> None:
        """Put the folder in the state from which this run goes on.

        `resolved`: what is to be in experiment.yaml.

        Raises
        ------
        ResultsError
            When it cannot be written.
        """
        if self.keeping is not None and not fresh:
            self.keeping.begin()
        before = _text(self.folder / "experiment.yaml")
        write_atomically(self.folder / "experiment.yaml", resolved)
        same_plan = self._store.begin(plan.trials, self._report.jobs)
        self._same = same_plan and before == resolved and self.keeping is None
        if fresh:
            forget(self.folder)
        self._plan = plan
        self._report.planned, self._report.kept = len(plan.trials), plan.n_kept
        self._listener.begin(self._experiment.name, self._report.planned, self._report.kept)

    def execute(self, executor: Executor, plan: RunPlan) -> None:
        """Compute what is pending, and record each group as it comes."""
        left = {trial.key for group in plan.pending for trial in group.trials}
        # Closed here, not by the garbage collector: closing it ends the workers.
        with contextlib.closing(executor.compute(plan.pending, plan.data)) as results:
            for result in results:
                with hold_signals():
                    self._record(result, plan)
                    left.difference_update(score.key for score in result.scores)
        if left:
            self._report.interrupted = True
            self._listener.notice(f"{len(left)} trials came to no end")

    def _record(self, result: GroupResult, plan: RunPlan) -> None:
        """Record a group, and count it in the report."""
        report = self._report
        # Scores on record stay, even if the files that were to be kept of the trial could not be written.
        new = [score for score in result.scores if score.key not in plan.done]
        self._store.record(plan.trials, new, result.seconds * len(new) / len(result.scores), result.crashed)
        failed = [score for score in result.scores if score.values is None]
        for score in failed:
            self._tell(score, plan)
            if score.key in plan.done:
                report.failures.append((plan.trials[score.key], score.error or ""))
        report.computed += len(result.scores)
        report.warned += result.warned
        dataset = plan.trials[result.scores[0].key].dataset
        self._listener.advance(dataset, len(result.scores), len(failed))

    def _tell(self, score: Score, plan: RunPlan) -> None:
        """Say what failed, at a method's first failure: one that cannot work need not be waited for."""
        trial = plan.trials[score.key]
        if trial.method not in self._told:
            self._told.add(trial.method)
            reason = describe_error(score.error or "")
            where = f"{trial.method} on {trial.dataset}, split {trial.split}"
            self._listener.notice(f"first failure of {where}: {reason}; the run goes on")

    def finish(self) -> None:
        """Write the results of a run that has begun, where anything has changed, and record its end."""
        plan, report = self._plan, self._report
        if plan is None:
            return
        if self._same and len(plan.done) == len(plan.trials) and are_written(self._experiment, self.folder):
            report.unchanged, report.done = True, report.planned
            report.seconds = time.monotonic() - report.clock
        else:
            self.write()
        self._store.end("interrupted" if report.interrupted else "finished")

    def write(self) -> None:
        """Write the results of a run that has begun.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        if self._plan is not None:
            write_results(self._experiment, self._plan, self._store, self.keeping, self._report)


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
