"""Runs on a cluster of real `dask scheduler` and `dask worker` processes on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlcdr.errors import UserError
from mlcdr.execution.dask_backend import DaskCluster, _are_results, _Work
from mlcdr.execution.executors import ExecutorLost
from mlcdr.execution.groups import GroupResult, group_by_split
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import RunReport, run
from mlcdr.experiment import keys, trials
from mlcdr.experiment.trials import TrialResult
from mlcdr.results.manifest import Manifest
from mlcdr.results.record import progress
from tests import small
from tests.small import FOUR, Gate, Outcome

distributed = pytest.importorskip("distributed")

# A worker that cannot read a data set: what it computes with was sent to it.
BLIND = """
from mlcdr.experiment import data_source


def load_dataset(name, **options):
    raise AssertionError(f"a worker reads {name}")


load_dataset.__module__ = data_source.load_dataset.__module__  # by which the versions of methods are told
data_source.load_dataset = load_dataset
"""


# What workers import, before they are forked: else each worker takes seconds of computing.
IMPORTS = "import mlcdr.execution.computing, mlcdr.execution.runner, tests.small\n"


class Cluster:
    """A scheduler and workers, each a process of its own; a process that forks the workers starts those anew that die.

    With `inside` each worker is an interpreter of its own.
    """

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        host: str = "127.0.0.1",
        inside: Sequence[Sequence[str]] = (),
        **environment: str,
    ):
        """`inside`: what to begin the commands of the scheduler and of each worker with; no client connects then."""
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        here = {"PYTHONPATH": str(Path(__file__).parents[2])}
        # else it drops, every two seconds, what no task waits for just then, and a slow machine has data sent again
        here["DASK_DISTRIBUTED__SCHEDULER__ACTIVE_MEMORY_MANAGER__START"] = "False"
        self.environment = {**os.environ, **here, **environment}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "blind.py").write_text(BLIND)
        (folder / "imports.py").write_text(IMPORTS)
        common = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.scheduler = self._start(next(iter(inside), ()), "scheduler", "--host", host, "--port", "0", *common)
        until(lambda: self.file.exists() or self.scheduler.poll() is not None)
        assert self.scheduler.poll() is None, "the scheduler did not start"
        common += ["--nthreads", "1", "--preload", str(folder / "blind.py")]
        for place in inside[1:]:
            self._start(place, "worker", *common, "--no-nanny")
        self.workers = workers
        if not inside:
            self.environment["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "fork"
            forks = ["--nanny", "--nworkers", str(workers), "--preload-nanny", str(folder / "imports.py")]
            self._start((), "worker", *common, *forks)
            with self.client() as client:
                client.wait_for_workers(workers, timeout=180)
                self.address = client.scheduler.address

    def _start(self, place: Sequence[str], *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*place, sys.executable, "-m", "dask", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def client(self) -> Any:
        return distributed.Client(scheduler_file=str(self.file), set_as_default=False, timeout=60)

    def stop(self) -> None:
        """End all, and what they started, at once: pytest-xdist waits ten seconds for the last test's fixtures."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


class _Nursery:
    """A cluster of one worker, by which nothing is forgiven; it is started anew when its scheduler has died."""

    def __init__(self, make: Callable[[], Path]):
        self.make = make
        self.cluster: Cluster | None = None

    def get(self) -> Cluster:
        if self.cluster is not None and self.cluster.scheduler.poll() is not None:
            self.stop()
        if self.cluster is None:
            unforgiving = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
            self.cluster = Cluster(self.make(), workers=1, **unforgiving)
        return self.cluster

    def stop(self) -> None:
        if self.cluster is not None:
            self.cluster.stop()
            self.cluster = None


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Nursery]:
    nursery = _Nursery(lambda: tmp_path_factory.mktemp("nursed"))
    yield nursery
    nursery.stop()


@pytest.fixture
def nursed(nursery: _Nursery) -> Cluster:
    return nursery.get()


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def scores(report: RunReport) -> bytes:
    return (report.folder / "scores.csv").read_bytes()


class Beside:
    """A run in a thread of its own, while the test does harm."""

    def __init__(self, *arguments: Any, **options: Any):
        self._pool = ThreadPoolExecutor(1)
        self._report = self._pool.submit(run, *arguments, **options)

    def end(self) -> RunReport:
        return self._report.result(300)


def gated(arff: Path, gate: Path, repeats: int = 6) -> Any:
    return small.experiment(
        arff,
        methods={"PLST": FOUR["PLST"], "Guess": {"learner": {"tests.small.Guess": {"gate": str(gate)}}}},
        splits={"kind": "shuffle", "repeats": repeats, "train_size": 0.75, "seed": 1},
        sweep={},
    )


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.mark.slow
def test_scores_are_those_of_loky_from_workers_that_read_no_file(quiet: Cluster, arff: Path, tmp_path: Path) -> None:
    other = small.write_dataset(tmp_path / "data", "other", n=40, seed=1)
    experiment = small.experiment(
        arff,
        datasets=[str(arff), str(other)],
        methods={"PLST": FOUR["PLST"], "Guess": {"learner": "tests.small.Guess"}, "R": {"learner": {"ridge": 2.0}}},
    )
    expected = run(experiment, tmp_path / "loky")
    with quiet.client() as client:
        before = sum(len(log) for log in client.run(_data_sent).values())
        report = run(experiment, tmp_path / "dask", backend="dask", scheduler=quiet.address)
        sent = [key for log in client.run(_data_sent).values() for key in log]
    assert not report.failures
    assert report.computed == 32
    assert scores(report) == scores(expected)
    manifest = Manifest.read(report.folder).plain()
    assert (manifest["backend"], manifest["jobs"]) == ("dask", 2)
    # each data set: from the scheduler to one worker, from it to the other, and never again
    assert len(sent) - before == 2
    assert len(set(sent)) == len(sent)


def _data_sent(dask_worker: Any) -> list[str]:
    return [key for entry in dask_worker.transfer_outgoing_log for key in entry["keys"] if "mlcdr-data" in str(key)]


def test_a_task_is_no_larger_for_a_larger_data_set(tmp_path: Path) -> None:
    sizes = []
    for n in (60, 2000):
        path = small.write_dataset(tmp_path / f"{n:04d}", n=n)
        experiment = small.experiment(path)
        data = small.read_data(experiment)
        planned = trials.plan_trials(experiment, data)
        sizes.append(len(pickle.dumps(next(group_by_split(experiment, data.source, planned)))))
    assert sizes[0] == sizes[1]


def test_a_data_set_handed_over_is_checked_and_equal_to_itself(arff: Path) -> None:
    experiment = small.experiment(arff)
    data = small.read_data(experiment)
    assert data.source.read() == data
    small.write_dataset(arff.parent, seed=5)
    with pytest.raises(UserError, match="changed while the run was going on"):
        data.source.read()


def test_a_worker_killed_in_the_middle(nursed: Cluster, arff: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    experiment = gated(arff, gate)
    expected = run(experiment, tmp_path / "loky")
    Gate(gate).close(2)
    told: list[str] = []
    listener = _Listener(told)
    running = Beside(experiment, tmp_path / "dask", backend="dask", scheduler=str(nursed.file), listener=listener)
    until(lambda: not any(gate.iterdir()))
    with nursed.client() as client:
        pids = client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
    Gate(gate).open()
    report = running.end()
    assert not report.interrupted, told
    assert not report.failures
    assert (report.computed, report.done) == (12, 12)
    assert scores(report) == scores(expected)


def test_what_a_task_has_finished_is_recorded_before_its_end(quiet: Cluster, arff: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    experiment = small.experiment(
        arff,
        methods={
            "PLST": FOUR["PLST"],
            "Slow": {"learner": {"tests.small.Guess": {"seconds": 1.1}}},
            "Waits": {"learner": {"tests.small.Guess": {"gate": str(gate)}}},
        },
        splits={"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1},
        sweep={},
    )
    expected = run(experiment, tmp_path / "loky")
    Gate(gate).close(0)
    listener = _Listener([])
    running = Beside(experiment, tmp_path / "dask", backend="dask", scheduler=quiet.address, listener=listener)
    try:
        until(lambda: listener.done == 2)
    finally:
        Gate(gate).open()
    report = running.end()
    assert (report.computed, report.done, listener.done) == (3, 3, 3), "none twice"
    assert scores(report) == scores(expected)


@pytest.mark.parametrize("status", ["finished", "lost", "cancelled"])
def test_what_a_worker_took_with_it_is_waited_for(status: str) -> None:
    """A worker that dies with a result that nobody has fetched yet is no lost scheduler."""

    class Future:
        def __init__(self) -> None:
            self.status = status

        def result(self) -> str:
            return "computed again"

    future: Any = Future()
    if status == "cancelled":
        with pytest.raises(ExecutorLost):
            _Work._outcome(future)
    else:
        assert str(_Work._outcome(future)) == "computed again"


class _Listener(Listener):
    def __init__(self, told: list[str]):
        self.told, self.done = told, 0

    def advance(self, dataset: str, done: int, failed: int) -> None:
        self.done += done

    def notice(self, text: str) -> None:
        self.told.append(text)


def test_a_trial_that_kills_its_workers_is_recorded_and_the_others_go_on(
    nursed: Cluster, arff: Path, tmp_path: Path
) -> None:
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1}
    methods = {"Deadly": {"learner": {"tests.small.Deadly": {"how": "SIGKILL"}}}, "PLST": FOUR["PLST"]}
    experiment = small.experiment(arff, methods=methods, splits=splits, sweep={})
    report = run(experiment, tmp_path, backend="dask", scheduler=nursed.address)
    assert [(trial.method, error.partition(":")[0]) for trial, error in report.failures] == [("Deadly", "crashed")]
    assert (report.computed, report.done) == (2, 1)


def test_a_lost_scheduler_ends_the_run_and_a_new_one_goes_on(
    quiet: Cluster, nursed: Cluster, arff: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    experiment = gated(arff, gate)
    expected = run(experiment, tmp_path / "loky")
    Gate(gate).close(2)
    told: list[str] = []
    listener = _Listener(told)
    running = Beside(experiment, tmp_path / "dask", backend="dask", scheduler=nursed.address, listener=listener)
    until(lambda: listener.done >= 4)  # two splits; others wait at the gate
    nursed.scheduler.kill()
    try:
        report = running.end()
    finally:
        Gate(gate).open()
        nursed.stop()
    assert report.interrupted
    assert any(f"the scheduler at {nursed.address} is lost" in text for text in told)
    assert report.done == report.computed == listener.done
    assert set(scores(report).splitlines()) < set(scores(expected).splitlines())
    kept = report.done
    report = run(experiment, tmp_path / "dask", backend="dask", scheduler=quiet.address)
    assert not report.interrupted
    assert (report.kept, report.computed) == (kept, 12 - kept)
    assert scores(report) == scores(expected)


def test_a_worker_of_another_version_is_refused(
    quiet: Cluster, arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlcdr.execution.dask_backend.ENGINE", "edited")
    with pytest.raises(UserError, match=r"worker tcp://\S+ differ, restart the workers: mlcdr \S+ \(edited\) and"):
        run(small.experiment(arff), tmp_path, backend="dask", scheduler=quiet.address)


def test_a_worker_with_other_code_of_a_metric_is_refused(
    quiet: Cluster, arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = small.experiment(arff)
    planned = keys.version_of_metric

    def edited(name: str) -> str:
        return "edited" if name == "f1" else planned(name)

    monkeypatch.setattr(keys, "version_of_metric", edited)
    with pytest.raises(UserError, match=r"worker tcp://\S+ differ, restart the workers: metric f1 edited and"):
        run(experiment, tmp_path, backend="dask", scheduler=quiet.address)
    assert progress(tmp_path / "small").total.done == 0


def work_of_an_older_version(group: Any, data: Any, versions: Any) -> None:
    raise AssertionError("it is given more")


def work_that_gives_garbage(group: Any, data: Any, versions: Any, run: str) -> list[GroupResult]:
    return [GroupResult([TrialResult("no trial", {"f1": 1.0})], 0.0)]


def put_in_place(work: Callable[..., Any] | None) -> None:
    """In a worker."""
    from mlcdr.execution import dask_backend

    kept = dask_backend.__dict__.setdefault("_work_kept", dask_backend._work)
    dask_backend._work = work or kept


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (work_of_an_older_version, r"is its environment that of the run\? \(TypeError: .*takes 3 positional"),
        (work_that_gives_garbage, r"^worker tcp://\S+ returned what is no result of its trials; it is not recorded$"),
    ],
    ids=["an older version", "garbage"],
)
def test_a_worker_that_does_something_else_is_refused(
    quiet: Cluster, arff: Path, tmp_path: Path, work: Callable[..., Any], told: str
) -> None:
    with quiet.client() as client:
        client.run(put_in_place, work)
        try:
            with pytest.raises(UserError, match=told):
                run(small.experiment(arff), tmp_path, backend="dask", scheduler=quiet.address)
        finally:
            client.run(put_in_place, None)
    assert progress(tmp_path / "small").total.done == 0


GOOD = TrialResult("a", {"f1": 0.5})


@pytest.mark.parametrize(
    ("returned", "right"),
    [
        ([GroupResult([GOOD, TrialResult("a", None, "an error")], 0.0)], True),
        ([GroupResult([TrialResult("b", {"f1": 0.5})], 0.0)], False),
        ([GroupResult([TrialResult("a", {"f2": 0.5})], 0.0)], False),
        ([GroupResult([TrialResult("a", {"f1": "0.5"})], 0.0)], False),  # type: ignore[dict-item]
        ([GroupResult([TrialResult("a", None)], 0.0)], False),
        ([SimpleNamespace(results=[])], False),
        ([GOOD], False),
        (None, False),
    ],
    ids=str,
)
def test_what_is_no_result_is_seen(returned: Any, right: bool) -> None:
    assert _are_results(returned, {"a"}, {"f1"}) is right


def test_a_worker_with_another_folder_of_that_name_is_refused(
    quiet: Cluster, arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it kept would stay on its machine, and be missing here."""
    experiment = small.experiment(arff, keep={"scores": True})
    with monkeypatch.context() as patched:
        patched.setattr("mlcdr.execution.dask_backend.write_atomically", lambda *_: None)
        with pytest.raises(UserError, match=r"keep: worker tcp://\S+ does not see .*/small of the run"):
            run(experiment, tmp_path, backend="dask", scheduler=quiet.address)
    report = run(experiment, tmp_path, backend="dask", scheduler=quiet.address)
    assert report.done == 16
    kept = [path.suffix for path in (tmp_path / "small" / "kept").rglob("*") if path.is_file()]
    assert sorted(kept) == [".csv", *[".npz"] * 16]


def test_where_there_is_no_scheduler(arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = small.experiment(arff)
    with pytest.raises(UserError, match="go together"):
        run(experiment, tmp_path, backend="dask")
    with pytest.raises(UserError, match="neither an address"):
        DaskCluster(str(tmp_path / "scheduler.json")).n_threads()
    (tmp_path / "scheduler.json").write_text("[1")
    with pytest.raises(UserError, match="neither an address"):
        DaskCluster(str(tmp_path / "scheduler.json")).n_threads()
    monkeypatch.setattr("mlcdr.execution.dask_backend.CONNECT_SECONDS", 0.5)

    async def ask_from_a_notebook() -> None:
        DaskCluster("tcp://127.0.0.1:1").n_threads()

    with pytest.raises(UserError, match="no scheduler answers"):
        asyncio.run(ask_from_a_notebook())
    assert not (tmp_path / "small").exists()


def test_a_cluster_whose_workers_have_not_joined_counts_as_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SimpleNamespace(scheduler_info=lambda n_workers: {"total_threads": 0}, close=lambda: None)
    monkeypatch.setattr("mlcdr.execution.dask_backend._connect", lambda scheduler: client)
    assert DaskCluster("tcp://127.0.0.1:1").n_threads() == 1, "0 would mean that nothing is planned yet"


def test_a_scheduler_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcdr.execution.dask_backend.CONNECT_SECONDS", 0.5)
    refused = pytest.raises(UserError, match=r"^--scheduler tcp://127\.0\.0\.1:\d+: no scheduler answers")
    with socket.create_server(("127.0.0.1", 0)) as mute, refused:
        DaskCluster(f"tcp://127.0.0.1:{mute.getsockname()[1]}").n_threads()


def test_the_command_line(
    quiet: Cluster, arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    import yaml

    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(small.plain(arff)))
    done = mlcdr("run", "e.yaml", "-q", "--backend", "dask", "--scheduler", quiet.address)
    assert done.code == 0, done.err
    expected = run(small.experiment(arff), tmp_path / "here")
    assert (tmp_path / "results" / "small" / "scores.csv").read_bytes() == scores(expected)
    wrong = mlcdr("run", "e.yaml", "--backend", "dask")
    assert wrong.code == 2
    assert "go together" in wrong.err


# Run beside the scheduler: what the test cannot do from where it is.
BESIDE = """
import json, os, sys
from pathlib import Path
from distributed import Client
from mlcdr.experiment.loading import load_experiment
from mlcdr.execution.runner import run

with Client(scheduler_file="scheduler.json", set_as_default=False, timeout=60) as client:
    client.wait_for_workers(2, timeout=120)
    networks = client.run(os.readlink, "/proc/self/ns/net")
    report = run(load_experiment("e.yaml"), Path("dask"), backend="dask", scheduler="scheduler.json")
    sent = client.run(lambda dask_worker: [str(k) for e in dask_worker.transfer_outgoing_log for k in e["keys"]])
    hosts = [address.rpartition(":")[0] for address in networks]
keys = [key for log in sent.values() for key in log if "mlcdr-data" in key]
told = {"networks": [os.readlink("/proc/self/ns/net"), *networks.values()], "hosts": hosts, "sent": len(keys)}
print(json.dumps(told | {"computed": report.computed, "failures": len(report.failures)}))
"""


@contextlib.contextmanager
def networks(number: int) -> Iterator[list[list[str]]]:
    """Network namespaces that see each other, the first with a bridge; what to begin a command with to run it in each.

    They end with the processes that hold them, and their links with them; this machine's own network is not touched.
    """
    if shutil.which("ip") is None or shutil.which("nsenter") is None or shutil.which("unshare") is None:
        pytest.skip("needs ip, nsenter and unshare")
    holders = [
        subprocess.Popen(["unshare", "-n", "sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(number)
    ]
    try:
        own = network_of("self")
        for holder in holders:
            until(lambda h=holder: h.poll() is not None or network_of(h.pid) != own)
            if holder.poll() is not None:
                pytest.skip("network namespaces may not be made here")
        places = [["nsenter", "-t", str(holder.pid), "-n"] for holder in holders]
        hub = [
            "link set lo up",
            "link add name hub0 type bridge",
            "addr add 10.231.7.1/24 dev hub0",
            "link set hub0 up",
        ]
        steps = [(places[0], f"ip {step}") for step in hub]
        for i in range(1, number):
            link = f"ip link add name end{i} type veth peer name wire0 netns {holders[i].pid}"
            steps += [(places[0], step) for step in (link, f"ip link set end{i} master hub0 up")]
            own_end = ["ip link set lo up", f"ip addr add 10.231.7.{i + 1}/24 dev wire0", "ip link set wire0 up"]
            steps += [(places[i], step) for step in own_end]
        for place, step in steps:
            done = subprocess.run([*place, *step.split()], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"`{step}` may not be done here: {done.stderr.strip()}")
        yield places
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def network_of(process: int | str) -> str:
    return str(Path(f"/proc/{process}/ns/net").readlink())


@pytest.mark.slow  # the same on one network: test_scores_are_those_of_loky_from_workers_that_read_no_file
def test_across_network_namespaces(arff: Path, tmp_path: Path) -> None:
    """Scheduler and run in one network, each worker in one of its own: nothing goes by loopback."""
    import json

    import yaml

    expected = run(small.experiment(arff), tmp_path / "loky")
    folder = tmp_path / "cluster"
    with networks(3) as places:
        cluster = Cluster(folder, host="10.231.7.1", inside=places)
        try:
            (folder / "e.yaml").write_text(yaml.safe_dump(small.plain(arff)))
            command = [*places[0], sys.executable, "-c", BESIDE]
            done = subprocess.run(
                command, cwd=folder, env=cluster.environment, capture_output=True, text=True, timeout=200
            )
        finally:
            cluster.stop()
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(set(told["networks"])) == 3
    assert sorted(told["hosts"]) == ["tcp://10.231.7.2", "tcp://10.231.7.3"]
    assert (told["computed"], told["failures"], told["sent"]) == (expected.computed, 0, 1)
    assert (folder / "dask" / "small" / "scores.csv").read_bytes() == scores(expected)
