"""Workers that die, and trials that go too far: they cost themselves, and nothing else."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlcdr.data.files import NotFetchedError
from mlcdr.errors import ConfigError, DataError, UserError
from mlcdr.execution import runner, workers
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import Group, GroupResult, group_by_split
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import RunReport, run
from mlcdr.experiment.model import LimitsSpec
from mlcdr.processes import Stop
from mlcdr.results.manifest import Manifest
from mlcdr.results.record import progress
from tests import small
from tests.faults.harness import processes, until
from tests.small import FOUR, Gate, Outcome

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at memory in /proc"),
    pytest.mark.usefixtures("forked_workers"),
]


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def deadly(how: str, **params: Any) -> dict[str, Any]:
    return {"learner": {"tests.small.Deadly": {"how": how, **params}}}


def total(arff: Path, split: int) -> float:
    """What the features of a split's training set sum to."""
    experiment = small.experiment(arff)
    data = small.read_data(experiment)
    return float(data.dataset.X[data.splits[split].train].sum())


def all_groups(arff: Path) -> list[Group]:
    experiment = small.experiment(arff)
    _, trials = small.planned(experiment)
    return list(group_by_split(experiment, small.read_data(experiment).source, trials))


def in_database(report: RunReport, query: str) -> list[tuple]:
    db = sqlite3.connect(report.folder / "trials.sqlite")
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def test_a_worker_stays_with_its_data_set_and_then_takes_one_that_no_other_has() -> None:
    def group(dataset: str, number: int) -> Any:
        return SimpleNamespace(source=SimpleNamespace(name=dataset), number=number)

    one, other = (SimpleNamespace(dataset="") for _ in range(2))
    local: Any = workers.LocalWorkers(2, LimitsSpec())
    local._workers = [one, other]
    left = [group(name, k) for name in "abc" for k in range(2)]
    given = []
    for worker in (one, other, one, one, other, one):
        chosen = local._choose(worker, left)
        worker.dataset = chosen.source.name
        given.append(f"{worker.dataset}{chosen.number}")
        left.remove(chosen)
    assert given == ["a0", "b0", "a1", "c0", "b1", "c1"]
    assert not left

    one.dataset, other.dataset = "b", "a"
    third = SimpleNamespace(dataset="c")
    first, second = group("a", 0), group("b", 0)
    assert local._choose(third, [first, second]) is first, "all are begun, so it helps with the first"


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("SIGKILL", "SIGKILL"),
        pytest.param("SIGSEGV", "SIGSEGV", marks=pytest.mark.slow),
        pytest.param("exit", "exit 3", marks=pytest.mark.slow),
    ],
    ids=["SIGKILL", "SIGSEGV", "exit"],
)
def test_a_trial_that_ends_its_worker_is_crashed_and_the_others_are_done(
    arff: Path, tmp_path: Path, mlcdr: Callable[..., Outcome], how: str, cause: str
) -> None:
    calm = run(small.experiment(arff), tmp_path / "calm")
    methods = {**small.plain(arff)["methods"], "Deadly": deadly(how, total=total(arff, 2))}
    report = run(small.experiment(arff, methods=methods), tmp_path / "out", jobs=2)
    assert (report.planned, report.done, report.crashed, report.computed) == (20, 19, 1, 20)
    assert not report.interrupted
    ((trial, error),) = report.failures
    assert (trial.method, trial.split) == ("Deadly", 2)
    assert error.startswith(f"crashed: its worker process was ended by {cause}")
    query = "SELECT method, split, status, crash FROM trials WHERE crash > ''"
    assert in_database(report, query) == [("Deadly", 2, "failed", cause)]
    ours = [line for line in (report.folder / "scores.csv").read_text().splitlines() if ",Deadly," not in line]
    assert ours == (calm.folder / "scores.csv").read_text().splitlines()
    assert Manifest.read(report.folder).plain()["trials"]["crashed"] == 1
    assert progress(report.folder).total.crashed == 1
    told = mlcdr("status", report.folder).out
    assert "planned  done  failed  crashed  pending" in told
    assert f"crashed: Deadly on tiny, split 2: its worker process was ended by {cause}" in told
    assert mlcdr("report", report.folder).code == 0
    assert f"ended by {cause}" in (report.folder / "report.html").read_text()
    # Again: alone, and still not in the process of the run, which would die of it.
    again = mlcdr("run", report.folder / "experiment.yaml", "--out", tmp_path / "out", "-j", "1")
    assert again.code == 1
    assert "1 of 20 trials failed (1 of them crashed)" in again.err
    assert mlcdr("retry", report.folder, "--failed", "-j", "1").code == 1


def test_what_a_worker_had_finished_before_it_died_is_not_computed_again(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PART_SECONDS", 0.0)
    gate = tmp_path / "gate"
    Gate(gate).close(2)
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1}
    methods = {"Guess": {"learner": {"tests.small.Guess": {"gate": str(gate)}}}, "Deadly": deadly("exit")}
    experiment = small.experiment(arff, methods=methods | {"PLST": FOUR["PLST"]}, splits=splits, sweep={})
    monkeypatch.setattr(runner, "_local", lambda plan, jobs, limits: workers.LocalWorkers(1, limits))
    report = run(experiment, tmp_path / "out", jobs=2)
    assert (report.done, report.crashed) == (2, 1)
    assert len(list(gate.iterdir())) == 1, "a ticket is left"


def test_what_dies_once_is_tried_again(arff: Path, tmp_path: Path) -> None:
    methods = {**small.plain(arff)["methods"], "Deadly": deadly("SIGKILL", once=str(tmp_path / "died"))}
    experiment = small.experiment(arff, methods=methods)
    report = run(experiment, tmp_path / "out", jobs=2)
    assert (tmp_path / "died").exists()
    assert (report.done, report.crashed, report.failures) == (20, 0, [])
    calm = run(experiment, tmp_path / "calm", jobs=1)
    paths = [each.folder / "scores.csv" for each in (report, calm)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file; once it is there the run's clock goes on by 0.9 s at each look, so that no test waits for a limit."""
    path = tmp_path / "late"
    looks = itertools.count()

    def monotonic() -> float:
        return time.monotonic() + 0.9 * (next(looks) if path.exists() else 0)

    monkeypatch.setattr(workers, "time", SimpleNamespace(**{**vars(time), "monotonic": monotonic}))
    return path


@pytest.mark.parametrize(
    ("how", "limit"),
    [("compiled", "seconds"), pytest.param("memory", "memory", marks=pytest.mark.slow)],
    ids=["seconds", "memory"],
)
def test_a_trial_that_passes_a_limit_is_ended(
    arff: Path, tmp_path: Path, mlcdr: Callable[..., Outcome], late: Path, how: str, limit: str
) -> None:
    limits: dict[str, Any] = {"seconds": 20}
    if limit == "memory":  # more than a new interpreter has at once
        limits = {"memory": "700 MB"}
    splits = {"kind": "shuffle", "repeats": 3, "train_size": 0.75, "seed": 1}
    once = str(late) if limit == "seconds" else ""
    methods = {"PLST": FOUR["PLST"], "Deadly": deadly(how, total=total(arff, 1), once=once)}
    report = run(small.experiment(arff, methods=methods, splits=splits, limits=limits), tmp_path / "out", jobs=1)
    assert (report.planned, report.done, report.crashed) == (9, 8, 1)
    ((trial, error),) = report.failures
    assert (trial.method, trial.split) == ("Deadly", 1)
    assert f"limits.{limit}" in error
    assert in_database(report, "SELECT crash FROM trials WHERE status = 'failed'") == [(limit,)]
    calm = run(small.experiment(arff, methods={"PLST": FOUR["PLST"]}, splits=splits), tmp_path / "calm")
    ours = [line for line in (report.folder / "scores.csv").read_text().splitlines() if ",Deadly," not in line]
    assert ours == (calm.folder / "scores.csv").read_text().splitlines()
    assert f"limits.{limit}" in mlcdr("status", report.folder).out


def test_the_time_in_which_a_run_is_suspended_is_not_charged_to_a_trial(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(tmp_path / "gate")
    gate.close(0)
    looks = itertools.count()

    def monotonic() -> float:
        waiting = (tmp_path / "began").exists()
        if waiting and next(looks) == 20:  # the run has looked since, and has not ended the worker
            gate.open()
        return time.monotonic() + 200 * waiting

    monkeypatch.setattr(workers, "time", SimpleNamespace(**{**vars(time), "monotonic": monotonic}))
    waits = {"tests.small.Guess": {"gate": str(gate.path), "began": str(tmp_path / "began")}}
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1}
    experiment = small.experiment(
        arff, methods={"Waits": {"learner": waits}}, sweep={}, splits=splits, limits={"seconds": 100}
    )
    report = run(experiment, tmp_path / "out", jobs=1)
    assert (report.done, report.failures) == (1, [])


def test_what_a_trial_has_started_ends_with_it(arff: Path, tmp_path: Path, late: Path) -> None:
    methods = {"PLST": FOUR["PLST"], "Deadly": deadly("child", once=str(late))}
    report = run(small.experiment(arff, methods=methods, limits={"seconds": 20}), tmp_path / "out", jobs=1)
    assert (report.planned, report.done, report.crashed) == (12, 11, 1)
    pid = late.read_text()
    until(lambda: pid not in [str(living) for living, _, line in processes() if "sleep" in line], "end of the child")


def test_limits_change_no_trial_and_are_written_back(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff, limits={"seconds": 60, "memory": "1.5 GiB"})
    assert experiment.limits.bytes == 3 * 2**29
    assert experiment.resolved()["limits"] == {"seconds": 60.0, "memory": "1.5 GiB"}
    assert "limits" not in small.experiment(arff).resolved()
    free = run(small.experiment(arff), tmp_path)
    limited = run(experiment, tmp_path)
    assert (limited.kept, limited.computed) == (free.planned, 0)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"seconds": 0}, "limits.seconds"),
        ({"seconds": "long"}, "limits.seconds"),
        ({"memory": "2 apples"}, "is no amount of memory"),
        ({"memory": 4}, "limits.memory"),
        ({"second": 3}, "did you mean 'seconds'"),
    ],
    ids=str,
)
def test_limits_that_are_none_are_told(arff: Path, limits: dict, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        small.experiment(arff, limits=limits)


@pytest.mark.parametrize(
    ("backend", "scheduler", "why"),
    [
        ("slurm", None, "'slurm' is none of loky, dask"),
        ("dask", None, "go together"),
        ("loky", "tcp://localhost:1", "go together"),
    ],
)
def test_a_backend_that_there_is_not_is_refused(
    arff: Path, tmp_path: Path, backend: str, scheduler: str | None, why: str
) -> None:
    with pytest.raises(UserError, match=why):
        run(small.experiment(arff), tmp_path, 2, backend, scheduler=scheduler)
    assert not (tmp_path / "small").exists()


def test_a_daemonic_process_computes_alone_and_says_so(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of `multiprocessing.Pool`, which may start no process."""
    notices: list[str] = []
    listener = Listener()
    monkeypatch.setattr(listener, "notice", notices.append)
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    report = run(small.experiment(arff), tmp_path, jobs=2, listener=listener)
    assert (report.done, report.jobs) == (16, 1)
    assert len(notices) == 1
    assert "a daemonic process may start no workers" in notices[0]
    assert run(small.experiment(arff), tmp_path, jobs=1, listener=listener).kept == 16
    assert len(notices) == 1, "one job needs no other process"
    with pytest.raises(UserError, match=r"limits, .* need a worker, and a daemonic process may start none"):
        run(small.experiment(arff, limits={"seconds": 9}, metrics=["f1"]), tmp_path, jobs=1)


def test_workers_that_do_not_come_to_life_end_the_run(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "serve", _stillborn)
    report = run(small.experiment(arff), tmp_path, jobs=2)
    assert report.interrupted
    assert (report.computed, report.failures) == (0, [])


def _stillborn(*arguments: object) -> None:
    raise SystemExit(5)


def has_begun(worker: workers._Worker) -> bool:
    return worker.group is not None and worker.clock <= time.monotonic()


def test_what_workers_have_finished_is_given_when_the_run_is_stopped(
    arff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = all_groups(arff)
    local = workers.LocalWorkers(2, LimitsSpec())

    def stop_when_finished() -> None:
        busy = [worker for worker in local._workers if has_begun(worker)]
        if busy:
            until(lambda: all(worker.pipe.poll() for worker in busy), "results")
            unread.extend(worker.group.split for worker in busy if worker.group)
            raise Stop

    unread: list[int] = []
    given: list[set[str]] = []
    monkeypatch.setattr(workers, "raise_if_stopped", stop_when_finished)
    with pytest.raises(Stop):
        given.extend({each.key for each in result.results} for result in local.compute(pending))
    wanted = [{trial.key for trial in group.trials} for group in pending if group.split in unread]
    assert wanted
    assert all(keys in given for keys in wanted)


def each_key(outcomes: Iterable[GroupResult]) -> Iterator[str]:
    for outcome in outcomes:
        yield from (each.key for each in outcome.results)


def test_what_workers_have_finished_is_given_when_the_run_ends_by_an_error(
    arff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(Computer):
        def parts(self, group: Group, seconds: float) -> Generator[GroupResult, None, None]:
            if group.split == 0:
                raise DataError("tiny.arff: gone")
            yield from super().parts(group, seconds)

    def wait_for_all(pipes: list[Connection], seconds: float) -> None:
        until(lambda: all(pipe.poll() for pipe in pipes), "messages")

    monkeypatch.setattr(workers, "Computer", Refusing)
    monkeypatch.setattr(workers, "wait", wait_for_all)
    pending = all_groups(arff)[:2]
    given: list[str] = []
    outcomes = workers.LocalWorkers(2, LimitsSpec()).compute(pending)
    with pytest.raises(DataError, match="gone"):
        given.extend(each_key(outcomes))
    assert sorted(given) == sorted(trial.key for trial in pending[1].trials)


def test_a_worker_that_dies_while_the_run_is_stopped_is_no_result(arff: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pending = all_groups(arff)
    local = workers.LocalWorkers(1, LimitsSpec())

    def stop_when_dead() -> None:
        for worker in local._workers:
            if has_begun(worker):
                worker.process.kill()
                worker.process.join()
                raise Stop

    given: list[str] = []
    monkeypatch.setattr(workers, "raise_if_stopped", stop_when_dead)
    with pytest.raises(Stop):
        given.extend(result.crashed for result in local.compute(pending))
    assert not any(given)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (NotFetchedError("the file is gone", "tiny"), DataError, "the file is gone"),
        (ConfigError(["first line", "second line"]), UserError, "first line\nsecond line"),
    ],
    ids=["of data", "of several lines"],
)
def test_an_error_comes_from_a_worker_with_its_kind_and_all_its_lines(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: UserError, kind: type[UserError], told: str
) -> None:
    class Refusing:
        def __init__(self, data: object): ...

        def prepare(self, group: Group) -> None:
            raise error

    monkeypatch.setattr(workers, "Computer", Refusing)
    with pytest.raises(kind) as raised:
        run(small.experiment(arff), tmp_path, jobs=2)
    assert str(raised.value) == told


def test_a_worker_killed_between_two_groups_costs_nothing(arff: Path) -> None:
    pending = all_groups(arff)
    found = []
    started: list[workers._Worker] = []

    class Watched(workers._Worker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_Worker", Watched)
        outcomes = workers.LocalWorkers(1, LimitsSpec()).compute(pending)
        for outcome in outcomes:
            found += [each.key for each in outcome.results]
            started[-1].process.terminate()
            time.sleep(0.3)  # it is idle, or has just begun the next
    assert sorted(found) == sorted(trial.key for group in pending for trial in group.trials)
    assert len(started) > 1
    assert not any(worker.process.is_alive() for worker in started)


def test_a_worker_that_is_lost_after_its_last_result_passes_no_limit() -> None:
    local: Any = workers.LocalWorkers(1, LimitsSpec(seconds=1.0))
    local._looked = 5.0
    assert local._end_at_limit(SimpleNamespace(group=SimpleNamespace(trials=()), clock=0.0)) is None


def test_the_memory_of_a_command_counts_with_that_of_its_worker() -> None:
    hog = "import sys; held = b'x' * 80_000_000; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hog], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        alone, both = (workers._resident(os.getpid(), with_children) for with_children in (False, True))
        child.stdin.close()
    assert both > alone + 70_000_000
