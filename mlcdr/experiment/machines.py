"""Groups of trials computed on many machines: workers of a Dask cluster that somebody else has started.

A data set and its splits go to the scheduler once, from there to one worker, and from worker to worker: each of them
gets them once, and needs no files of its own. A task is a group of trials and the name of its data set. The scheduler
keeps what it was sent, so that a worker that dies costs what it was computing, and a worker that comes later gets what
it lacks; a group that ended several workers is taken apart, and the trial that ends them by itself is recorded as one
that crashed. Who may connect to the scheduler may run any code on it and on the workers, as always with Dask: TLS, or a
network of one's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from mlcdr import __version__
from mlcdr.errors import ConfigError, UserError
from mlcdr.experiment.trials import PROGRAM, DataSource, Group, Handed, Score

if TYPE_CHECKING:
    from distributed import Client, Future

# What decides the last digits of a score, beside the methods' own source code.
_DECIDING = ("numpy", "scipy", "scikit-learn")
CONNECT_SECONDS = 15


class SchedulerLost(Exception):
    """The scheduler is gone, and with it what was under way; what was finished is recorded."""


Outcome = tuple[list[Score], float]


def compute_on_cluster(
    pending: Sequence[Group], scheduler: str, compute: Callable[[Group, Handed], Outcome]
) -> Generator[Outcome, None, None]:
    """The scores of each group as it is finished, and its worker's seconds, in any order.

    Parameters
    ----------
    pending : sequence of Group
    scheduler : str
        Its address (`tcp://…`, `tls://…`), or the path of the scheduler file that `dask scheduler --scheduler-file` and
        dask-jobqueue write.
    compute : callable
        What a worker does: from a group and its data set to scores and seconds. A function of a module.

    Raises
    ------
    UserError
        When there is no scheduler, or a worker has another version of the program or of what decides the last digits.
    SchedulerLost
        When there is none any more.
    """
    if not pending:
        return
    client = _connect(scheduler)
    with contextlib.closing(_Work(client, compute)) as work, _losing(scheduler):
        yield from work.compute(pending)


class _Work:
    """The futures of one run on one client."""

    def __init__(self, client: Client, compute: Callable[[Group, Handed], Outcome]):
        self.client = client
        self.task = compute
        self.run = uuid.uuid4().hex[:8]  # keys of two runs on one scheduler are apart
        self.data: dict[DataSource, Future] = {}
        self.groups: dict[Future, Group] = {}

    def compute(self, pending: Sequence[Group]) -> Iterator[Outcome]:
        from distributed import KilledWorker, as_completed

        left: dict[DataSource, int] = {}
        for group in pending:
            left[group.source] = left.get(group.source, 0) + 1
        for source in left:
            self.data[source] = self._hand_over(source)
        finished = as_completed([self._submit(group) for group in pending], loop=self.client.loop)
        for future in finished:
            if future.status in ("cancelled", "lost"):
                raise SchedulerLost
            group = self.groups.pop(future)
            try:
                scores, seconds = future.result()
            except KilledWorker as error:
                if len(group.trials) == 1:
                    yield [Score(group.trials[0].key, None, _crash(error))], 0.0
                else:  # one of them did it
                    parts = [replace(group, trials=(trial,)) for trial in group.trials]
                    left[group.source] += len(parts)
                    for part in parts:
                        finished.add(self._submit(part))
            else:
                future.release()
                yield scores, seconds
            left[group.source] -= 1
            if not left[group.source]:
                self.data.pop(group.source).release()

    def _hand_over(self, source: DataSource) -> Future:
        """The data set on the cluster, as what a task returns: the scheduler can have it made again."""
        import warnings

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            key = f"mlcdr-data-{source.name.rpartition('/')[2]}-{self.run}-{len(self.data)}"
            future = self.client.submit(_keep, Handed.of(source), key=key, pure=True)
        # before any task: those would all go to the first worker that has it
        if self.client.scheduler_info(n_workers=0)["n_workers"] > 1:
            self.client.replicate([future])
        return future

    def _submit(self, group: Group) -> Future:
        label = group.source.name.rpartition("/")[2]
        future = self.client.submit(
            _work,
            self.task,
            group,
            self.data[group.source],
            _versions(group),
            key=f"mlcdr-{label}-split{group.split}-{uuid.uuid4().hex[:12]}",
            priority=-group.split,
        )
        self.groups[future] = group
        return future

    def close(self) -> None:
        """Let the cluster forget what is not finished, and leave it."""
        with contextlib.suppress(Exception):  # the scheduler may be gone
            if self.client.status == "running":
                self.client.cancel([*self.groups, *self.data.values()], force=True)
        self.groups.clear()
        self.data.clear()
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)


def n_threads(scheduler: str) -> int:
    """How many groups the cluster's workers compute at a time, as it is now."""
    client = _connect(scheduler)
    try:
        return int(client.scheduler_info(n_workers=0)["total_threads"])
    finally:
        client.close()


def _connect(scheduler: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise UserError("--backend dask needs Dask: pip install 'mlcdr[dask]'") from None
    at: dict[str, Any] = {"address": scheduler} if "://" in scheduler else {"scheduler_file": scheduler}
    if "scheduler_file" in at and not Path(scheduler).is_file():
        raise UserError(f"--scheduler {scheduler}: neither an address (tcp://host:8786) nor a scheduler file")
    try:
        return Client(**at, timeout=CONNECT_SECONDS, set_as_default=False, name="mlcdr")
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        told = str(error).partition("\n")[0] or type(error).__name__
        raise UserError(f"--scheduler {scheduler}: no scheduler answers there: {told}") from None


@contextlib.contextmanager
def _losing(scheduler: str) -> Iterator[None]:
    """Every way in which the client learns that the scheduler is gone, as `SchedulerLost`."""
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except (SchedulerLost, CancelledError, FutureCancelledError, CommClosedError, ConnectionError) as error:
        raise SchedulerLost(f"the scheduler at {scheduler} is lost") from error


def _crash(error: Any) -> str:
    last = getattr(error.last_worker, "address", "")
    return f"crashed: every worker that computed it died (killed, or out of memory), {last} the last"


# -------------------------------------------------------------------- in a worker


def _keep(handed: Handed) -> Handed:
    return handed


def _work(
    compute: Callable[[Group, Handed], Outcome], group: Group, handed: Handed, versions: Mapping[str, str]
) -> Outcome:
    """The scores of a group and the seconds they took, by a worker that computes as the parent would."""
    _begin(os.getpid())
    here = _versions(group)
    apart = [f"{name} {versions[name]} and {here[name]}" for name in versions if versions[name] != here[name]]
    if apart:
        raise ConfigError([f"the run and worker {_address()} differ, restart the workers: {'; '.join(apart)}"])
    if group.keeping is not None and not group.keeping.folder.parent.is_dir():
        raise ConfigError([f"keep: worker {_address()} does not see {group.keeping.folder.parent}"])
    return compute(group, handed)


@cache
def _begin(process: int) -> None:
    """Once in a worker: one BLAS thread, as everywhere, for good."""
    threadpool_limits(1)


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _versions(group: Group) -> dict[str, str]:
    """Whatever a trial's scores depend on beside its data: packages, and the source code of each method."""
    components = {f"{c.family} {c.name}": c for trial in group.trials for c in trial.spec.components()}
    versions = {"mlcdr": f"{__version__} ({PROGRAM})", **{name: _version(name) for name in _DECIDING}}
    return versions | {name: component.version() for name, component in components.items()}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
