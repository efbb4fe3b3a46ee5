"""Groups of trials computed on many machines: by the workers of a Dask cluster that is running already.

A data set and its splits go to the scheduler once, from there to one worker, and from worker to worker: each worker
receives them once, and needs no files of its own. A task is a group of trials and the name of its data set. While a
long one is computed, its worker sends what is finished as events, so that it is recorded; the task's result has all of
it again, which counts where an event was lost. The scheduler keeps what was sent to it: if a worker dies, only the
group that it was computing is lost, and a worker that joins later receives what it needs. The trials of a group whose
workers died are computed again at the end, each alone, and a trial that ends its workers again is recorded as crashed.
As always with Dask, anyone who can connect to the scheduler can run any code on it and on the workers: use TLS, or a
private network.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import threading
import uuid
from asyncio import CancelledError
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter
from threadpoolctl import threadpool_limits

from mlcdr import __version__
from mlcdr.errors import ConfigError, UserError
from mlcdr.execution.computing import Computer
from mlcdr.execution.executors import ExecutorLost
from mlcdr.execution.groups import Group, GroupResult, split_up
from mlcdr.execution.memory import peak
from mlcdr.execution.writing import installed_version
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.keys import ENGINE, code_of
from mlcdr.experiment.trials import TrialResult
from mlcdr.methods.component import Component
from mlcdr.processes import Stop, raise_if_stopped
from mlcdr.whole_files import TEMPORARY_PREFIX, write_atomically

if TYPE_CHECKING:
    from distributed import Client, Future

# Packages on which the last digits of a score depend, besides the methods' own source code.
_DECIDING = ("numpy", "scipy", "scikit-learn")
CONNECT_SECONDS = 15
_EVENT_SECONDS = 1.0  # between two events of a task


class DaskCluster:
    """The workers of a cluster.

    Parameters
    ----------
    scheduler : str
        Its address (`tcp://…`, `tls://…`), or the path of the scheduler file that `dask scheduler --scheduler-file` and
        dask-jobqueue write.
    """

    def __init__(self, scheduler: str):
        self._scheduler = scheduler

    def n_threads(self) -> int:
        """How many groups the present workers compute at the same time; 1 before any has joined.

        Raises
        ------
        UserError
            When there is no scheduler.
        """
        with contextlib.closing(_connect(self._scheduler)) as client:
            return max(1, int(client.scheduler_info(n_workers=0)["total_threads"]))

    def compute(self, pending: Sequence[Group], data: DividedData) -> Generator[GroupResult, None, None]:
        """See `Executor`.

        Raises
        ------
        UserError
            When there is no scheduler, or a worker has another version of the program, or of a package on which the
            last digits of scores depend.
        ExecutorLost
            When there is no scheduler any more.
        """
        if pending:
            client = _connect(self._scheduler)
            with contextlib.closing(_Work(client, data)) as work, _losing(self._scheduler):
                yield from work.compute(pending)


class _Work:
    """The futures of one run on one client."""

    def __init__(self, client: Client, data: DividedData):
        self.client = client
        self.read = data  # the data set that was read last when the run was planned
        self.run = f"mlcdr-{uuid.uuid4().hex[:8]}"  # so that two runs on one scheduler have different keys
        self.data: dict[DataSource, Future] = {}
        self.groups: dict[Future, Group] = {}
        self.news: SimpleQueue[Any] = SimpleQueue()  # futures that are done, and the contents of events
        self.keys: set[str] = set()  # of all trials
        self.metrics: set[str] = set()
        self.given: set[str] = set()  # keys of the trials whose results were given
        self.marks: list[Path] = []  # files by which workers know the folder of what is kept

    def compute(self, pending: Sequence[Group]) -> Iterator[GroupResult]:
        from distributed import KilledWorker

        for group in pending:
            self.keys.update(trial.key for trial in group.trials)
            self.metrics.update(metric.label for metric in group.experiment.metrics)
        self.client.subscribe_topic(self.run, lambda event: self.news.put(event[1]))
        for folder in {group.keeping.folder for group in pending if group.keeping is not None}:
            self.marks.append(_mark(folder, self.run))
            write_atomically(self.marks[-1], "")
        for source in dict.fromkeys(group.source for group in pending):
            self.data[source] = self._hand_over(source)
        for group in pending:
            self._submit(group).add_done_callback(self.news.put)
        lost: set[str] = set()  # keys of the trials that had workers that died
        try:
            while self.groups:
                raise_if_stopped()
                news = self._wait()
                try:
                    yield from self._read(news)
                except KilledWorker:
                    lost.update(trial.key for trial in self.groups[news].trials)
                self.groups.pop(news, None)
        except (Stop, Exception):
            yield from self._finished()
            raise
        # Dask reports all tasks that a dead worker had. Only a trial that ran alone is known to be the cause.
        for group in split_up(pending, lost - self.given):
            future = self._submit(group)
            try:
                yield from self._read(future)
            except KilledWorker as error:
                yield GroupResult([TrialResult(group.trials[0].key, None, _crash(error))], 0.0, "worker died")
            del self.groups[future]
            raise_if_stopped()

    def _wait(self) -> Any:
        """A future that is done, or the content of an event; None if there is neither within a second."""
        try:
            return self.news.get(timeout=1.0)
        except Empty:
            return None

    def _finished(self) -> Iterator[GroupResult]:
        """The results that are there when a run is stopped, or ends by an error."""
        while not self.news.empty():
            news = self.news.get()
            if isinstance(news, bytes):
                yield from self._read(news)
        for future in self.groups:
            if future.status == "finished" and self.client.status == "running":
                with contextlib.suppress(UserError):  # the first error is told
                    yield from self._read(future)

    def _read(self, news: Any) -> Iterator[GroupResult]:
        """The results of a task, or in an event of one, that were not given yet.

        Raises
        ------
        UserError
            When these are no results of the trials that were asked for, or the worker could not begin.
        KilledWorker
        """
        from distributed import KilledWorker

        if news is None:
            return
        try:
            parts = _parts_of_events().validate_json(news) if isinstance(news, bytes) else self._outcome(news)
        except Exception as error:
            if isinstance(error, (UserError, ExecutorLost, KilledWorker, *_losses())):
                raise
            told = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise UserError(f"a worker cannot compute; is its environment that of the run? ({told})") from error
        if not _are_results(parts, self.keys, self.metrics):
            raise UserError(f"{self._holder(news)} returned what is no result of its trials; it is not recorded")
        for part in parts:
            new = part.without(self.given)
            self.given.update(each.key for each in new.results)
            if new.results:
                yield new

    def _holder(self, news: Any) -> str:
        """The worker that has a task's result."""
        if isinstance(news, bytes):
            return "a worker"
        addresses = itertools.chain.from_iterable(self.client.who_has([news]).values())
        return f"worker {next(addresses, 'unknown')}"

    @staticmethod
    def _outcome(future: Future) -> Any:
        """The result of a task. If its worker died before the result was fetched (`lost`), another worker computes it
        again, and `result` waits for that. All futures are `cancelled` when the scheduler is gone.
        """
        if future.status == "cancelled":
            raise ExecutorLost
        return future.result()

    def _hand_over(self, source: DataSource) -> Future:
        """Put the data set on the cluster as the result of a task, which the scheduler can have computed again."""
        import warnings

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            key = f"mlcdr-data-{source.name.rpartition('/')[2]}-{self.run.rpartition('-')[2]}-{len(self.data)}"
            data = self.read if self.read.source == source else source.read()
            future = self.client.submit(_keep, data, key=key, pure=True)
        # copied before any task begins, since all tasks would go to the first worker with the data set
        if self.client.scheduler_info(n_workers=0)["n_workers"] > 1:
            self.client.replicate([future])
        return future

    def _submit(self, group: Group) -> Future:
        label = group.source.name.rpartition("/")[2]
        future = self.client.submit(
            _work,
            group,
            self.data[group.source],
            _versions(group),
            self.run,
            key=f"mlcdr-{label}-split{group.split}-{uuid.uuid4().hex[:12]}",
            priority=-group.split,
        )
        self.groups[future] = group
        return future

    def close(self) -> None:
        """Cancel what is not finished, and disconnect from the cluster."""
        with contextlib.suppress(Exception):  # the scheduler may be gone
            if self.client.status == "running":
                self.client.cancel([*self.groups, *self.data.values()], force=True)
        self.groups.clear()
        self.data.clear()
        for mark in self.marks:
            with contextlib.suppress(OSError):
                mark.unlink(missing_ok=True)
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)


async def _greet(address: str) -> None:
    """Check that a scheduler answers: a client that gets no answer goes on waiting, whatever its timeout."""
    from distributed.comm import connect
    from distributed.security import Security

    comm = await connect(address, timeout=CONNECT_SECONDS, **Security().get_connection_args("client"))
    await comm.close()


def _connect(scheduler: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise UserError("--backend dask needs Dask: pip install 'mlcdr[dask]'") from None
    try:
        address = scheduler if "://" in scheduler else json.loads(Path(scheduler).read_text())["address"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"--scheduler {scheduler}: neither an address (tcp://host:8786) nor a scheduler file") from None
    try:
        with ThreadPoolExecutor(1) as thread:  # in this one a loop may be running, as in a notebook
            thread.submit(asyncio.run, asyncio.wait_for(_greet(address), CONNECT_SECONDS)).result()
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="mlcdr")
    except TimeoutError:
        raise UserError(f"--scheduler {scheduler}: no scheduler answers there within {CONNECT_SECONDS} s") from None
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UserError(f"--scheduler {scheduler}: no scheduler answers there: {reason}") from None


@contextlib.contextmanager
def _losing(scheduler: str) -> Iterator[None]:
    """Turn every exception that means that the scheduler is gone into `ExecutorLost`."""
    losses: tuple[type[BaseException], ...] = (ExecutorLost, *_losses())
    try:
        yield
    except losses as error:
        raise ExecutorLost(f"the scheduler at {scheduler} is lost ({type(error).__name__}: {error})") from error


@cache
def _parts_of_events() -> TypeAdapter[list[GroupResult]]:
    """What writes the content of an event, and reads it again; times and scores may be NaN."""
    return TypeAdapter(list[GroupResult], config=ConfigDict(ser_json_inf_nan="constants"))


def _losses() -> tuple[type[BaseException], ...]:
    """The exceptions that mean that the scheduler is gone."""
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    return CancelledError, FutureCancelledError, CommClosedError, ConnectionError


def _are_results(parts: Any, keys: Set[str], metrics: Set[str]) -> bool:
    """Whether these are results of trials that have these keys, with these metrics."""
    try:
        return all(_is_result(part, keys, metrics) for part in parts)
    except (TypeError, AttributeError):
        return False


def _is_result(part: Any, keys: Set[str], metrics: Set[str]) -> bool:
    if not isinstance(part, GroupResult):
        return False
    for each in part.results:
        if not isinstance(each, TrialResult) or each.key not in keys:
            return False
        failed = each.values is None and isinstance(each.error, str)
        if not failed and not _are_numbers(each.values or {}, metrics):
            return False
    return True


def _are_numbers(values: Mapping[str, float], metrics: Set[str]) -> bool:
    return values.keys() == metrics and all(isinstance(value, int | float) for value in values.values())


def _crash(error: Any) -> str:
    last = error.last_worker.address if error.last_worker is not None else "unknown"
    return f"crashed: its workers died (killed, or out of memory), the last was {last}"


# -------------------------------------------------------------------- in a worker


def _keep(data: DividedData) -> DividedData:
    return data


def _work(group: Group, data: DividedData, versions: Mapping[str, str], run: str) -> list[GroupResult]:
    """Compute a group in a worker; refuse it if the worker's versions are not those of the run.

    What is finished before the end is sent as events, too.
    """
    from distributed import get_worker

    _begin(os.getpid())
    here = _versions(group)
    apart = []
    for name, version in versions.items():
        if here.get(name) != version:
            apart.append(f"{name} {version} and {here.get(name)}")
    if apart:
        raise ConfigError([f"the run and worker {_address()} differ, restart the workers: {'; '.join(apart)}"])
    if group.keeping is not None and not _mark(group.keeping.folder, run).exists():
        raise ConfigError([f"keep: worker {_address()} does not see {group.keeping.folder.parent} of the run"])
    group = replace(group, alone=get_worker().state.nthreads == 1)
    with _lock:
        computer = _computer(data)
    parts = []
    for part in computer.parts(group, _EVENT_SECONDS):
        part = replace(part, peak=peak())
        parts.append(part)
        if part.seconds >= _EVENT_SECONDS:  # else it is the last
            get_worker().log_event(run, _parts_of_events().dump_json([part]))
    return parts


_lock = threading.Lock()


@lru_cache(maxsize=2)  # groups come data set by data set; two threads may be at two data sets, one after the other
def _computer(data: DividedData) -> Computer:
    return Computer(data)


@cache
def _begin(process: int) -> None:
    """Limit a worker to one BLAS thread for its lifetime, once; all processes that compute trials have this limit."""
    threadpool_limits(1)


def _mark(folder: Path, run: str) -> Path:
    """A file of the run in the folder of what is kept: a worker's own folder of that name does not have it."""
    return folder / f"{TEMPORARY_PREFIX}{run}"


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _versions(group: Group) -> dict[str, str]:
    """What a trial's scores depend on besides its data: versions of packages, of each method's code and metric's."""
    components: dict[str, Component] = {}
    methods = {trial.method: trial.spec for trial in group.trials}
    metrics: dict[str, str] = {}
    for spec in methods.values():
        metrics |= code_of(group.experiment, spec)["metrics"]
    for trial in group.trials:
        components |= {f"{each.family} {each.name}": each for each in trial.spec.components()}
    versions = {
        "mlcdr": f"{__version__} ({ENGINE})",
        **{name: installed_version(name) or "missing" for name in _DECIDING},
    }
    versions |= {name: component.version() for name, component in components.items()}
    return versions | {f"metric {name}": version for name, version in metrics.items()}
