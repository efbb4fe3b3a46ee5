"""A run: plan the trials, compute those that are missing, record what is finished, write the results folder."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import joblib
from threadpoolctl import threadpool_limits

from mlcdr.errors import ResultsError, UserError, plural
from mlcdr.execution.artifacts import Keeping, forget
from mlcdr.execution.executors import PART_SECONDS, Executor, ExecutorLost, ThisProcess
from mlcdr.execution.groups import GroupResult
from mlcdr.execution.listener import Listener
from mlcdr.execution.memory import can_measure
from mlcdr.execution.plan import RunPlan, plan_run
from mlcdr.execution.warned import Log
from mlcdr.execution.writing import RunReport, write_results
from mlcdr.experiment.commands import refuse_commands
from mlcdr.experiment.consistency import MAX_TRIALS
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.model import Experiment, LimitsSpec
from mlcdr.experiment.trials import Trial
from mlcdr.metrics import find
from mlcdr.processes import Stop, hold_signals, is_daemonic, protect_process, stop_on_signals
from mlcdr.results.exports import write_changed
from mlcdr.results.failures import describe_error
from mlcdr.results.part import RunPart
from mlcdr.results.store import Store, list_rows

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
    trust: bool = False,
    part: RunPart | None = None,
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
    trust : bool
        Whether commands that the experiment names may be run.
    part : RunPart or None
        The part of the run that is computed; other processes compute the others, in the same folder.

    Raises
    ------
    UserError
        When the experiment has a command and is not trusted, a data set is not available, the folder cannot be written,
        the system cannot enforce limits, or no scheduler answers.
    """
    check_backend(backend, scheduler, experiment.limits)
    if not trust:
        refuse_commands(experiment)
    cluster = None
    if scheduler is not None:
        from mlcdr.execution.dask_backend import DaskCluster

        cluster = DaskCluster(scheduler)
        jobs = cluster.n_threads()
    listener = listener or Listener()
    jobs = min(jobs or joblib.cpu_count(), MAX_TRIALS)
    if cluster is None and jobs > 1 and is_daemonic():
        jobs = 1
        listener.notice("a daemonic process may start no workers (of multiprocessing.Pool, of Dask): it computes alone")
    if part is not None and fresh:
        raise UserError("--part: not with --fresh, since parts share the folder; remove it before they begin")
    report = RunReport(out / experiment.name, jobs, backend, part=part)
    resolved = experiment_yaml(experiment, report.folder)  # refuses an experiment that could not be read back later
    with threadpool_limits(1), protect_process(), Store(report.folder, fresh, part) as store:
        this = _Run(experiment, store, listener, report)
        try:
            with stop_on_signals():
                plan = this.begin(resolved, fresh, failed_only)
                if plan is not None:
                    this.compute(plan, cluster or _local(plan, report.jobs, experiment.limits))
        except Stop:
            report.interrupted = True
        except ExecutorLost as error:
            report.interrupted = True
            report.lost = str(error)
            this.listener.notice(f"{error}; what was finished is kept")
        except Exception:
            report.interrupted = True
            with contextlib.suppress(ResultsError):  # the first error, such as a full disk, is the one to report
                this.write()
            raise
        if this.write():
            store.end("interrupted" if report.interrupted else "finished")
    return report


class _Run:
    """A run that holds its folder.

    Attributes
    ----------
    plan : RunPlan or None
        Once it is on record: then there are results to write at the end.
    announced : set of str
        The methods whose first failure was announced.
    log : Log
        The warnings that methods gave so far: each kind once, however many trials gave it.
    """

    def __init__(
        self,
        experiment: Experiment,
        store: Store,
        listener: Listener,
        report: RunReport,
    ):
        self.experiment = experiment
        self.store = store
        self.listener = listener
        self.report = report
        self.folder = report.folder.absolute()  # since a method may change the working directory
        self.keeping = Keeping.of(experiment, self.folder)
        self.plan: RunPlan | None = None
        self.announced: set[str] = set()
        self.log = Log()

    def begin(self, resolved: str, fresh: bool, failed_only: bool) -> RunPlan | None:
        """Plan the trials, and record the plan and the experiment; None where no failed trial is to be computed."""
        report = self.report
        plan = plan_run(self.experiment, self.keeping, self.store, self.listener, failed_only, report.part)
        if failed_only and not plan.pending:
            self.store.forget_run()
            report.planned, report.done = len(plan.own), len(plan.done)
            return None
        if self.keeping is not None and not fresh:
            self.keeping.begin(alone=report.part is None)
        write_changed(self.folder / "experiment.yaml", resolved)
        self.store.begin(plan.trials, report.jobs)
        if fresh:
            forget(self.folder)
        self.plan = plan
        self._remark_on_memory()
        if report.part is not None and not plan.own:
            self.listener.notice(f"part {report.part}: there are fewer splits than parts, and none is left for it")
        report.planned, report.kept, report.done = len(plan.own), plan.n_kept, len(plan.done)
        self.listener.begin(self.experiment.name, report.planned, report.kept)
        return plan

    def _remark_on_memory(self) -> None:
        """Say so where memory is asked for, and this system cannot tell it."""
        asked = [metric.label for metric in self.experiment.metrics if find(metric.name).needs == "memory"]
        if asked and not can_measure():
            self.listener.notice(f"{asked[0]}: no value, since only Linux tells it (by /proc/self/clear_refs)")

    def compute(self, plan: RunPlan, executor: Executor) -> None:
        """Compute what is pending, record what is finished, and tell the first failure of each method."""
        left: set[str] = set()
        for group in plan.pending:
            left |= {trial.key for trial in group.trials}
        # Closed here, not by the garbage collector: closing it ends the workers.
        with contextlib.closing(executor.compute(plan.pending, plan.data)) as results:
            waiting: list[GroupResult] = []
            try:
                for result in results:
                    waiting.append(result)
                    left.difference_update(each.key for each in result.results)
                    if _are_due(waiting):
                        self._record(waiting, plan)
            finally:
                self._record(waiting, plan)
        if left:
            self.report.interrupted = True
            self.listener.notice(f"{plural(len(left), 'trial')} came to no end")

    def _record(self, waiting: list[GroupResult], plan: RunPlan) -> None:
        """Record in one transaction what waits for it, count it in the report, and tell the first failures."""
        with hold_signals():
            results = [*waiting]
            waiting.clear()
            rows = []
            for result in results:
                # Scores on record stay, even if the files that were to be kept of the trial could not be written.
                new = [each for each in result.results if each.key not in plan.done]
                seconds = result.seconds * len(new) / len(result.results)
                rows += list_rows(plan.trials, new, seconds, result.crashed)
            self.store.record(rows)
            for result in results:
                self._count(result, plan)
            for result in results:
                self._tell(result, plan)

    def _count(self, result: GroupResult, plan: RunPlan) -> None:
        """Count in the report what was recorded."""
        self.report.computed += len(result.results)
        self.report.worker_peak = max(self.report.worker_peak, result.peak)
        self.log.include(result.warned)
        for each in result.results:
            was_done = each.key in plan.done
            if each.values is None and was_done:
                self.report.failures.append((plan.trials[each.key], each.error or ""))
            elif each.values is not None and not was_done:
                self.report.done += 1

    def _tell(self, result: GroupResult, plan: RunPlan) -> None:
        """Tell the listener what was recorded, and the first failures."""
        failed = [each for each in result.results if each.values is None]
        for each in failed:
            self._announce(plan.trials[each.key], each.error or "")
        dataset = plan.trials[result.results[0].key].dataset
        self.listener.advance(dataset, len(result.results), len(failed))

    def _announce(self, trial: Trial, error: str) -> None:
        """Announce the first failure of each method: one that cannot work need not be waited for."""
        if trial.method not in self.announced:
            self.announced.add(trial.method)
            where = f"{trial.method} on {trial.dataset}, split {trial.split}"
            self.listener.notice(f"first failure of {where}: {describe_error(error)}; the run goes on")

    def write(self) -> bool:
        """Write the results, if a plan is on record; returns whether it is."""
        self.report.warned = list(self.log.warned())
        if self.plan is not None:
            write_results(self.experiment, self.plan, self.store, self.keeping, self.report)
        return self.plan is not None


def _are_due(waiting: Sequence[GroupResult]) -> bool:
    """Whether results are to be recorded: they took a part's time, or there is a failure to show."""
    if any(each.values is None for each in waiting[-1].results):
        return True
    return sum(result.seconds for result in waiting) >= PART_SECONDS


def check_backend(backend: str, scheduler: str | None, limits: LimitsSpec) -> None:
    """Refuse an unknown backend, or one that cannot take the scheduler or the limits.

    Raises
    ------
    UserError
    """
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
