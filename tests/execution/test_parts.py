"""`mlcdr run --part I/N`: jobs that share only a folder, and what they leave there."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mlcdr
from mlcdr.errors import ResultsError, UserError
from mlcdr.execution import writing
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import run
from mlcdr.experiment.loading import experiment_yaml
from mlcdr.experiment.model import Experiment
from mlcdr.report import report as pages
from mlcdr.results import record_file
from mlcdr.results.manifest import Manifest
from mlcdr.results.part import RunPart, part_of
from mlcdr.results.record import progress, read_failures, read_record
from mlcdr.results.store import Store
from tests import prepared, small
from tests.conftest import Outcome
from tests.prepared import Prepared

SPLITS = {"kind": "shuffle", "repeats": 12, "train_size": 0.75, "seed": 1}


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    arff = small.write_dataset(tmp_path / "data")
    return small.experiment(arff, splits=SPLITS, by_label=["f1"], keep={"scores": True})


def _files(folder: Path) -> dict[str, bytes]:
    names = ("scores.csv", "summary.csv", "labels.csv", "kept/index.csv")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.parametrize("n", [1, 3, 20])
def test_parts_in_any_order_leave_what_one_run_leaves(n: int, experiment: Experiment, tmp_path: Path) -> None:
    whole = run(experiment, tmp_path / "whole")
    parts = [RunPart(number, n) for number in range(n, 0, -1)]
    reports = [run(experiment, tmp_path / "parts", part=part) for part in parts]
    assert [report.left > 0 for report in reports] == [True] * (n - 1) + [False]
    assert sum(report.computed for report in reports) == whole.computed
    assert max(report.planned for report in reports) - min(report.planned for report in reports) <= whole.planned / 12
    assert _files(whole.folder) == _files(reports[-1].folder)
    again = run(experiment, tmp_path / "parts")
    assert (again.kept, again.computed) == (whole.planned, 0)
    assert _files(whole.folder) == _files(again.folder)


def test_the_division_does_not_depend_on_the_order_of_data_sets_and_methods(tmp_path: Path) -> None:
    arffs = [small.write_dataset(tmp_path / name, name=name) for name in ("one", "two", "six")]
    seen = set()
    for order, methods in ((arffs, small.FOUR), (arffs[::-1], dict(reversed(small.FOUR.items())))):
        whole = small.experiment(order[0], datasets=[str(path) for path in order], splits=SPLITS, methods=methods)
        reports = [run(whole, tmp_path / f"{order[0].stem}", part=RunPart(2, 5))]
        seen.add(frozenset(_scored(reports[0].folder)))
    assert len(seen) == 1
    (places,) = seen
    assert {dataset for dataset, _ in places} == {"one", "two", "six"}
    assert len(places) == pytest.approx(3 * 12 / 5, abs=1)


def _scored(folder: Path) -> set[tuple[str, int]]:
    found = mlcdr.open_results(folder).found.scores
    return set(zip(found["dataset"].astype(str), found["split"], strict=True))


def _wait_for_plan(folder: Path, part: RunPart) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(ResultsError):  # it has not begun yet
            if any(part_of(path) == part and jobs for path, _, jobs, *_ in read_record(folder).runs):
                return
        time.sleep(0.005)


@pytest.mark.slow
def test_ten_jobs_of_which_three_are_killed_and_run_again(tmp_path: Path) -> None:
    """The same scores as of one run, byte for byte."""
    arff = small.write_dataset(tmp_path / "data")
    methods = {"Slow": {"learner": {"tests.small.Guess": {"seconds": 0.1}}}, "PLST": small.FOUR["PLST"]}
    splits = {**SPLITS, "repeats": 20}
    asked = small.experiment(arff, splits=splits, methods=methods, sweep={}, metrics=["hamming_loss", "f1"])
    (tmp_path / "e.yaml").write_text(experiment_yaml(asked))
    environment = {**os.environ, "PYTHONPATH": str(prepared.ROOT)}

    def begin(number: int) -> Prepared:
        line = ["run", "e.yaml", "--part", f"{number}/10", "--jobs", "1", "--quiet"]
        return Prepared(line, tmp_path, environment)

    jobs = {number: begin(number) for number in range(1, 11)}
    folder = tmp_path / "results" / "small"
    for number in (2, 5, 9):
        _wait_for_plan(folder, RunPart(number, 10))
        os.kill(jobs[number].pid, signal.SIGKILL)
    for job in jobs.values():
        job.communicate(timeout=120)
    codes = {number: job.returncode for number, job in jobs.items()}
    assert [number for number, code in codes.items() if code == -signal.SIGKILL] == [2, 5, 9]
    assert not (folder / "scores.csv").exists()
    assert [part.number for part, last in progress(folder).parts.items() if last and last.state == "crashed"] == [
        2,
        5,
        9,
    ]
    for number in (9, 2, 5):
        assert begin(number).communicate(timeout=120)[1] == ""
    whole = run(asked, tmp_path / "whole")
    for name in ("scores.csv", "summary.csv"):
        assert (folder / name).read_bytes() == (whole.folder / name).read_bytes()


def test_whole_runs_and_parts_exclude_each_other_and_parts_do_not(experiment: Experiment, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    with Store(folder, part=RunPart(1, 2)), Store(folder, part=RunPart(2, 2)):
        for part in (None, RunPart(1, 2)):
            with pytest.raises(ResultsError, match="another run is writing this folder"):
                Store(folder, part=part)
    with Store(folder), pytest.raises(ResultsError, match="another run is writing this folder"):
        Store(folder, part=RunPart(1, 2))


def test_what_failed_in_a_part_is_retried_by_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    arff = small.write_dataset(tmp_path / "data")
    methods = {"PLST": small.FOUR["PLST"], "Bad": {"learner": "tests.small.Failing"}}
    asked = small.experiment(arff, methods=methods, sweep={}, splits={**SPLITS, "repeats": 4})
    Path("e.yaml").write_text(experiment_yaml(asked))
    for number in (1, 2):
        done = mlcdr("run", "e.yaml", "--part", f"{number}/2", "-j", 1)
        assert done.code == 1
        assert "2 of 4 trials failed" in done.err
    assert "2 trials of other parts have no result" not in done.err
    assert "2 parts: 2 finished" in mlcdr("status", "results/small").out
    retried = mlcdr("retry", "results/small", "-j", 1)
    assert "4 of 8 trials failed" in retried.err
    fresh = mlcdr("run", "e.yaml", "--fresh", "-j", 1)
    assert "8 trials, all newly computed" in fresh.err
    assert sorted(path.name for path in Path("results/small").glob("*-of-*")) == []


def test_the_job_of_a_slurm_array_runs_its_part(tmp_path: Path) -> None:
    (tmp_path / "mlcdr").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "mlcdr").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_PER_TASK": "4"}
    script = prepared.ROOT / "examples" / "slurm_array.sh"
    done = subprocess.run(["bash", script, "a b.yaml"], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "run a b.yaml --part 3/10 --jobs 4\n"


def test_the_last_failure_of_a_trial_is_the_one_that_counts(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    methods = {"Bad": {"learner": "tests.small.Counting"}}
    asked = small.experiment(arff, methods=methods, sweep={}, splits={**SPLITS, "repeats": 4})
    for number in (1, 2):
        folder = run(asked, tmp_path, part=RunPart(number, 2)).folder
    with closing(sqlite3.connect(folder / "trials.1-of-2.sqlite")) as db:
        db.execute("UPDATE trials SET error = 'of old', recorded = '2020-01-01T00:00:00Z'")
        db.commit()
    retried = run(asked, tmp_path, failed_only=True)
    assert retried.computed == 4
    assert "of old" not in {error for _, error in retried.failures}
    assert "of old" not in {failure.error for failure in read_failures(folder)}


def test_the_manifest_counts_the_trials_and_the_runs_of_all_parts(experiment: Experiment, tmp_path: Path) -> None:
    for number in (1, 2):
        folder = run(experiment, tmp_path, part=RunPart(number, 2)).folder
    counts = Manifest.read(folder).trials
    assert (counts.planned, counts.kept, counts.computed) == (48, 24, 24)
    assert "48 of 48 trials have results" in " ".join(pages.make_page(folder).split())


def test_a_whole_run_that_completes_parts_lists_their_runs(experiment: Experiment, tmp_path: Path) -> None:
    run(experiment, tmp_path, part=RunPart(2, 3))
    whole = run(experiment, tmp_path)
    assert [each.trials.computed for each in Manifest.read(whole.folder).computed_by] == [16, 32]


def test_a_part_that_ended_with_another_plan_has_not_begun(experiment: Experiment, tmp_path: Path) -> None:
    for number in (1, 2):
        folder = run(experiment, tmp_path, part=RunPart(number, 2)).folder
    edited = experiment.model_copy(update={"metrics": experiment.metrics[:1]})
    run(edited, tmp_path, part=RunPart(2, 2))
    found = progress(folder)
    assert [part for part, last in found.parts.items() if last] == [RunPart(2, 2)]
    assert (found.total.done, found.total.pending) == (24, 24)


def test_the_workers_of_all_parts_that_run_are_counted(tmp_path: Path) -> None:
    with Store(tmp_path, part=RunPart(1, 2)) as first:
        first.begin({}, 2)
        with Store(tmp_path, part=RunPart(2, 2)) as second:
            second.begin({}, 3)
            assert (progress(tmp_path).run.state, progress(tmp_path).run.jobs) == ("running", 5)
            second.end("finished")
        assert (progress(tmp_path).run.state, progress(tmp_path).run.jobs) == ("running", 2)


def test_a_part_whose_plan_was_replaced_writes_no_tables(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those would be of the other plan, of which it knows nothing."""
    edited = experiment.model_copy(update={"metrics": experiment.metrics[:1]})
    folder = run(experiment, tmp_path, part=RunPart(2, 2)).folder
    complete = writing._complete

    def complete_late(*given: Any) -> None:
        monkeypatch.setattr(writing, "_complete", complete)
        run(edited, tmp_path, part=RunPart(2, 2))
        complete(*given)

    monkeypatch.setattr(writing, "_complete", complete_late)
    report = run(experiment, tmp_path, part=RunPart(1, 2))
    assert report.replaced
    assert not (folder / "scores.csv").exists()


@pytest.mark.parametrize("part", [None, RunPart(2, 2), RunPart(1, 2)])
def test_what_a_killed_part_left_half_written_is_rolled_back_by_any_run(
    part: RunPart | None, experiment: Experiment, tmp_path: Path
) -> None:
    folder = run(experiment, tmp_path, part=RunPart(1, 2)).folder
    path = folder / "trials.1-of-2.sqlite"
    code = f"""
import os, signal, sqlite3
db = sqlite3.connect({str(path)!r}, isolation_level=None)
db.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the commit
db.execute("BEGIN IMMEDIATE")
db.execute("DELETE FROM trials")
rows = ((i, "x" * 1000) for i in range(500, 1000))
db.executemany("INSERT INTO planned VALUES (?, ?, '', '')", rows)
os.kill(os.getpid(), signal.SIGKILL)
"""
    small.python("-c", code)
    assert path.with_name(f"{path.name}-journal").exists()
    with pytest.raises(ResultsError, match="`mlcdr run` with its config heals it"):
        progress(folder)
    run(experiment, tmp_path, part=part)
    found = progress(folder).total
    assert (found.done, found.pending) == ((24, 24) if part == RunPart(1, 2) else (48, 0))


def test_a_journal_that_is_gone_when_it_is_looked_at_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a part that has just ended a transaction."""
    path = tmp_path / "trials.1-of-2.sqlite"
    record_file.writing(path).close()
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda each: each.name.endswith("-journal") or exists(each))
    record_file.heal(path)


NO_PARTS = ["0/3", "4/3", "3", "a/b", "1/2/3", (1, 2, 3), (1.0, 2), (True, 2), "1/10000", f"1/{'9' * 5000}"]


@pytest.mark.parametrize("written", NO_PARTS, ids=range(len(NO_PARTS)))
def test_what_is_no_part_is_refused(written: object) -> None:
    with pytest.raises(UserError, match="--part: must be I/N with") as refused:
        RunPart.parse(written)
    assert len(str(refused.value)) < 200


def test_a_part_that_has_no_split_says_so(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    listener = Listener()
    monkeypatch.setattr(listener, "notice", notices.append)
    for number in (12, 13):
        run(experiment, tmp_path, part=RunPart(number, 13), listener=listener)
    assert [each for each in notices if "none is left" in each] == [
        "part 13/13: there are fewer splits than parts, and none is left for it"
    ]


def test_parts_from_python(experiment: Experiment, tmp_path: Path) -> None:
    first = mlcdr.run(experiment, out=tmp_path, part=(1, 2), jobs=1, quiet=True)
    assert first.found.scores["split"].unique().tolist() == [0, 2, 4, 6, 8, 10]
    second = mlcdr.run(experiment, out=tmp_path, part="2/2", jobs=1, quiet=True)
    assert second.scores["split"].nunique() == 12
    with pytest.raises(UserError, match="part: needs `out`"):
        mlcdr.run(experiment, out=None, part="1/2")
    with pytest.raises(UserError, match="--part: not with --fresh"):
        mlcdr.run(experiment, out=tmp_path, part="1/2", fresh=True)


def test_there_may_be_more_parts_than_files_that_a_process_may_have_open_at_first(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    n = 60
    for number in range(1, n + 1):
        record_file.writing(tmp_path / record_file.record_name(RunPart(number, n))).close()
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open() as file:
        free = file.fileno()  # the lowest
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + n // 2, most))
    try:
        with record_file.reading(tmp_path) as records:
            assert len(records) == n
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
