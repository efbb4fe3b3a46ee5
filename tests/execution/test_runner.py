"""Runs: only what is missing is computed, and the results files do not depend on how they came about."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest

from mlcdr import processes
from mlcdr.errors import DataError, ResultsError
from mlcdr.execution import executors, runner, workers
from mlcdr.execution.computing import Computer
from mlcdr.execution.executors import ThisProcess
from mlcdr.execution.groups import GroupResult
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import RunReport, run
from mlcdr.execution.workers import LocalWorkers
from mlcdr.experiment import data_source
from mlcdr.experiment.loading import experiment_from
from mlcdr.results.manifest import Manifest
from mlcdr.results.record import progress
from mlcdr.results.store import Store
from tests import prepared, small
from tests.small import FOUR, SIZES, Gate, Guess

MIXED = {
    "PLST": FOUR["PLST"],
    "PBR": FOUR["PBR"],
    "Guess": {"learner": "tests.small.Guess"},
    "Ridge": {"learner": {"ridge": {"alpha": 2.0}}},
}


pytestmark = pytest.mark.usefixtures("forked_workers")


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def counts(report: RunReport) -> tuple[int, int, int]:
    return report.planned, report.kept, report.computed


# -------------------------------------------------------------------- what is missing


def test_a_rerun_computes_nothing_and_writes_the_same(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff)
    first = run(experiment, tmp_path / "out")
    files = {name: (first.folder / name).read_bytes() for name in ("scores.csv", "summary.csv", "experiment.yaml")}
    assert counts(first) == (16, 0, 16)
    second = run(experiment, tmp_path / "out")
    assert counts(second) == (16, 16, 0)
    assert second.done == 16
    assert {name: (first.folder / name).read_bytes() for name in files} == files
    (first.folder / "scores.csv").write_text("edited")
    run(experiment, tmp_path / "out")
    assert {name: (first.folder / name).read_bytes() for name in files} == files
    assert counts(run(experiment, tmp_path / "out", fresh=True)) == (16, 0, 16)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"methods": {**small.plain(Path())["methods"], "CPLST": FOUR["CPLST"]}}, (24, 16, 8)),
        ({"sweep": {SIZES: [1, "50%", 5]}}, (24, 16, 8)),
        ({"sweep": {SIZES: [1]}}, (8, 8, 0)),
        ({"splits": {"kind": "shuffle", "repeats": 6, "train_size": 0.75, "seed": 1}}, (24, 16, 8)),
        ({"splits": {"kind": "shuffle", "repeats": 4, "train_size": 0.75, "seed": 2}}, (16, 0, 16)),
        ({"metrics": ["hamming_loss"]}, (16, 0, 16)),
        ({"methods": {"PBR": {**FOUR["PBR"], "learner": {"ridge": 1}}, "PLST": FOUR["PLST"]}}, (16, 8, 8)),
        ({"methods": {"PLST": FOUR["PLST"]}}, (8, 8, 0)),
    ],
    ids=str,
)
def test_what_was_added_or_changed_runs_alone(arff: Path, tmp_path: Path, changes: dict, expected: tuple) -> None:
    run(small.experiment(arff), tmp_path / "grown")
    changed = small.experiment(arff, **changes)
    assert counts(run(changed, tmp_path / "grown")) == expected
    history = Manifest.read(tmp_path / "grown" / "small").plain()["computed_by"]
    _, kept, new = expected
    assert [each["trials"]["computed"] for each in history] == [16] * (kept > 0) + [new] * (new > 0)
    run(changed, tmp_path / "new")
    for name in ("scores.csv", "summary.csv"):
        paths = [tmp_path / out / "small" / name for out in ("grown", "new")]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_another_data_set_runs_alone(arff: Path, tmp_path: Path) -> None:
    other = small.write_dataset(tmp_path / "data", "other", n=40, seed=1)
    run(small.experiment(arff), tmp_path)
    both = small.experiment(arff, datasets=[str(other), str(arff)])
    assert counts(run(both, tmp_path)) == (32, 16, 16)
    assert list(dict.fromkeys(pd.read_csv(tmp_path / "small" / "scores.csv").dataset)) == ["other", "tiny"]


def test_changed_data_run_again_in_the_same_process(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff)
    run(experiment, tmp_path / "grown")
    small.write_dataset(arff.parent, seed=9)
    assert counts(run(experiment, tmp_path / "grown")) == (16, 0, 16)
    fresh = prepared.command("run", "grown/small/experiment.yaml", "--out", "new", "-j", "1", "-q", cwd=tmp_path)
    assert fresh.returncode == 0, fresh.stderr
    paths = [tmp_path / out / "small" / "scores.csv" for out in ("grown", "new")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


# -------------------------------------------------------------------- however it came about


@pytest.fixture
def undisturbed(arff: Path, tmp_path: Path) -> bytes:
    report = run(small.experiment(arff, methods=MIXED), tmp_path / "undisturbed")
    assert not report.failures
    return (report.folder / "scores.csv").read_bytes()


@pytest.mark.parametrize("jobs", [3, 0])
def test_scores_do_not_depend_on_the_workers(arff: Path, tmp_path: Path, undisturbed: bytes, jobs: int) -> None:
    report = run(small.experiment(arff, methods=MIXED), tmp_path / "other", jobs)
    assert (report.folder / "scores.csv").read_bytes() == undisturbed


@pytest.mark.parametrize("seed", range(2))
def test_scores_do_not_depend_on_what_was_there(arff: Path, tmp_path: Path, undisturbed: bytes, seed: int) -> None:
    path = tmp_path / "undisturbed" / "small" / "trials.sqlite"
    db = sqlite3.connect(path)
    keys = sorted(key for (key,) in db.execute("SELECT key FROM trials"))
    lost = random.Random(seed).sample(keys, len(keys) * (seed + 1) // 5)
    db.executemany("DELETE FROM trials WHERE key = ?", [(key,) for key in lost])
    db.commit()
    db.close()
    report = run(small.experiment(arff, methods=MIXED), tmp_path / "undisturbed", jobs=1 + seed % 2)
    assert report.computed == len(lost) > 0
    assert (report.folder / "scores.csv").read_bytes() == undisturbed


def test_scores_do_not_depend_on_the_order_of_work(
    arff: Path, tmp_path: Path, undisturbed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = []

    def shuffled(self, pending, data):
        pending = random.Random(3).sample(list(pending), len(pending))
        for group in pending:
            order.append(group.split)
            yield GroupResult(list(reversed(Computer(data).compute(group).results)), 0.0)

    monkeypatch.setattr(ThisProcess, "compute", shuffled)
    report = run(small.experiment(arff, methods=MIXED), tmp_path / "shuffled")
    assert order != sorted(order)
    assert (report.folder / "scores.csv").read_bytes() == undisturbed


def test_scores_do_not_depend_on_the_order_of_methods(arff: Path, tmp_path: Path, undisturbed: bytes) -> None:
    turned = dict(reversed(MIXED.items()))
    report = run(small.experiment(arff, methods=turned), tmp_path / "turned")
    lines = (report.folder / "scores.csv").read_bytes().splitlines()
    assert lines != undisturbed.splitlines()
    assert sorted(lines) == sorted(undisturbed.splitlines())


class Breaking(Listener):
    """Interrupts after some groups, as a signal would."""

    def __init__(self, groups: int):
        self.left = groups

    def advance(self, dataset: str, done: int, failed: int) -> None:
        self.left -= 1
        if not self.left:
            raise processes.Stop


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_run_goes_on(
    arff: Path, tmp_path: Path, undisturbed: bytes, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr(runner, "PART_SECONDS", 0.0)
    experiment = small.experiment(arff, methods=MIXED)
    for _ in range(3):
        report = run(experiment, tmp_path / "broken", jobs, listener=Breaking(1))
        assert report.interrupted
        assert report.computed == 6
        assert report.done == report.kept + 6
        partial = (report.folder / "scores.csv").read_bytes().splitlines()
        assert set(partial) < set(undisturbed.splitlines())
    report = run(experiment, tmp_path / "broken", jobs)
    assert not report.interrupted
    assert (report.kept, report.computed) == (18, 6)
    assert (report.folder / "scores.csv").read_bytes() == undisturbed


def test_features_whose_products_are_no_numbers_are_refused_before_the_run(arff: Path, tmp_path: Path) -> None:
    """Moments of the whole data set are summed without asking an estimator."""
    large = tmp_path / "large.arff"
    large.write_text(arff.read_text().replace("@data\n", "@data\n1e200" + ",0" * 10 + "\n"))
    large.with_suffix(".xml").write_bytes(arff.with_suffix(".xml").read_bytes())
    with pytest.raises(DataError, match=r"large.arff: X has values as large as 1e\+200"):
        run(small.experiment(large), tmp_path)


def one_split(arff: Path, gate: Path) -> Any:
    """Four methods on one split, of which the third waits at the gate."""
    methods = {
        "PLST": FOUR["PLST"],
        "PBR": FOUR["PBR"],
        "Guess": {"learner": {"tests.small.Guess": {"gate": str(gate)}}},
    }
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1}
    return small.experiment(arff, methods=methods | {"Ridge": MIXED["Ridge"]}, splits=splits)


@pytest.mark.parametrize("jobs", [1, 2])
def test_trials_of_a_split_that_is_not_finished_are_recorded(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """A signal comes while a method is fitted; those that were fitted before on the same split are kept."""
    folder = tmp_path / "small"

    class Waiting(Gate):
        def let_through(self) -> None:
            if jobs == 1:
                signal.raise_signal(signal.SIGTERM)
            super().let_through()

    class Stopping(Counting):
        def advance(self, dataset: str, done: int, failed: int) -> None:
            super().advance(dataset, done, failed)
            if jobs == 2 and self.done == 4:
                assert progress(folder).total.done == 4
                signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(small, "Gate", Waiting)
    for module in (executors, runner, workers):
        monkeypatch.setattr(module, "PART_SECONDS", 0.0)
    monkeypatch.setattr(runner, "_local", lambda plan, jobs, limits: [ThisProcess(), LocalWorkers(1, limits)][jobs - 1])
    Gate(tmp_path / "gate").close(0)
    report = run(one_split(arff, tmp_path / "gate"), tmp_path, jobs, listener=Stopping())
    assert report.interrupted
    assert (report.planned, report.done) == (6, 4)
    monkeypatch.undo()
    Gate(tmp_path / "gate").open()
    report = run(one_split(arff, tmp_path / "gate"), tmp_path)
    assert (report.kept, report.computed) == (4, 2)


class Counting(Listener):
    """Counts how often it is told of finished trials."""

    def __init__(self) -> None:
        self.calls = self.done = 0

    def advance(self, dataset: str, done: int, failed: int) -> None:
        self.calls += 1
        self.done += done


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many trials each transaction of a run records."""
    sizes = []
    record = Store.record

    def record_and_count(self: Store, trials: list[Any]) -> None:
        sizes.append(len(trials))
        record(self, trials)

    monkeypatch.setattr(Store, "record", record_and_count)
    return sizes


@pytest.mark.parametrize(("seconds", "sizes"), [(0.0, [1] * 24), (100.0, [24])], ids=["each trial", "all at the end"])
def test_trials_are_recorded_together_where_they_take_no_time(
    arff: Path,
    tmp_path: Path,
    undisturbed: bytes,
    recorded: list[int],
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    sizes: list[int],
) -> None:
    for module in (executors, runner):
        monkeypatch.setattr(module, "PART_SECONDS", seconds)
    listener = Counting()
    report = run(small.experiment(arff, methods=MIXED), tmp_path, listener=listener)
    assert [size for size in recorded if size] == sizes
    assert listener.done == 24
    assert (report.folder / "scores.csv").read_bytes() == undisturbed


class Costing(ThisProcess):
    """Each group takes so many seconds, by its own account; when these are used up, the work ends as `lost` says."""

    def __init__(self, seconds: list[float], lost: BaseException | None = None):
        self.seconds = seconds
        self.lost = lost

    def compute(self, pending: Any, data: Any) -> Any:
        for seconds, group in zip(self.seconds, pending, strict=False):
            yield replace(Computer(data).compute(group), seconds=seconds)
        if self.lost is not None:
            raise self.lost


def test_groups_are_recorded_together_until_they_took_a_part_s_time(
    arff: Path, tmp_path: Path, recorded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = [0.05, executors.PART_SECONDS, executors.PART_SECONDS / 2, 0.01]
    monkeypatch.setattr(runner, "_local", lambda *rest: Costing(costs))
    assert run(small.experiment(arff, methods=MIXED), tmp_path).done == 24
    assert recorded == [12, 12]


def test_a_failure_is_recorded_and_told_at_once(
    arff: Path, tmp_path: Path, recorded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_local", lambda *rest: Costing([0.0] * 4))
    methods = {"PLST": FOUR["PLST"], "Bad": {"learner": "tests.small.Failing"}}
    report = run(small.experiment(arff, methods=methods), tmp_path)
    assert len(report.failures) == 4
    assert [size for size in recorded if size] == [report.planned // 4] * 4


@pytest.mark.parametrize("lost", [processes.Stop(), executors.ExecutorLost("gone"), OSError("disk")])
def test_what_waits_to_be_recorded_is_recorded_however_the_work_ends(
    arff: Path, tmp_path: Path, recorded: list[int], monkeypatch: pytest.MonkeyPatch, lost: BaseException
) -> None:
    monkeypatch.setattr(runner, "_local", lambda *rest: Costing([0.0, 0.0], lost))
    with pytest.raises(OSError, match="disk") if isinstance(lost, OSError) else nullcontext():
        report = run(small.experiment(arff, methods=MIXED), tmp_path)
        assert (report.interrupted, report.done) == (True, 12)
    assert recorded == [12]
    assert progress(tmp_path / "small").total.done == 12


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_group_that_is_being_recorded_when_a_signal_comes_is_recorded(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    record = Store.record

    def record_and_signal(self: Store, *arguments: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        record(self, *arguments)

    monkeypatch.setattr(Store, "record", record_and_signal)
    monkeypatch.setattr(runner, "PART_SECONDS", 0.0)
    report = run(small.experiment(arff), tmp_path, jobs)
    assert report.interrupted
    assert report.done == report.computed
    assert report.done in (4, 8), "the other worker may have sent a group, too"


class Losing(ThisProcess):
    """Its data set is gone after the first group; a group takes 8 seconds by its clock."""

    def compute(self, pending: Any, data: Any) -> Any:
        yield replace(next(super().compute(pending, data)), seconds=8.0)
        raise DataError("tiny.arff: gone")


def test_a_run_that_ends_by_an_error_writes_what_is_finished(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_local", lambda *_: Losing())
    with pytest.raises(DataError, match="gone"):
        run(small.experiment(arff), tmp_path)
    folder = tmp_path / "small"
    assert len(pd.read_csv(folder / "scores.csv").groupby(["method", SIZES, "split"])) == 4
    assert Manifest.read(folder).trials.interrupted
    assert progress(folder).run.error == "DataError: tiny.arff: gone"


def test_what_is_kept_of_earlier_trials_adds_no_time_to_a_new_one(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(small.experiment(arff, methods={"PLST": FOUR["PLST"], "PBR": FOUR["PBR"]}), tmp_path)
    monkeypatch.setattr(runner, "_local", lambda *_: Losing())
    more = {"PLST": FOUR["PLST"], "PBR": FOUR["PBR"], "Ridge": MIXED["Ridge"]}
    with pytest.raises(DataError):
        run(small.experiment(arff, methods=more, keep={"scores": True}), tmp_path)
    with closing(sqlite3.connect(tmp_path / "small" / "trials.sqlite")) as db:
        found = db.execute("SELECT seconds FROM trials WHERE method = 'Ridge'").fetchall()
    assert found == [(8 / 5,)], "of the five trials of the group one is new"


def test_a_data_set_is_read_and_divided_once(arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for name in ("load_dataset", "make_splits"):
        function = getattr(data_source, name)
        monkeypatch.setattr(
            data_source, name, lambda *a, name=name, call=function, **k: (calls.append(name), call(*a, **k))[1]
        )
    assert run(small.experiment(arff), tmp_path).done == 16
    assert calls == ["load_dataset", "make_splits"]


# -------------------------------------------------------------------- the files


def test_columns_and_rows_of_scores(arff: Path, tmp_path: Path) -> None:
    sweep = {"learner.alpha": [0.5, 1e-3], SIZES: ["50%", 1]}
    methods = {"R": {"label_space": "plst", "learner": "ridge"}, "LS": {"learner": "least_squares"}, "PBR": FOUR["PBR"]}
    splits = {"kind": "shuffle", "repeats": 2, "train_size": 0.75, "seed": 1}
    report = run(small.experiment(arff, sweep=sweep, methods=methods, splits=splits), tmp_path, jobs=2)
    scores = pd.read_csv(report.folder / "scores.csv", dtype=str, keep_default_na=False)
    assert list(scores) == ["dataset", "method", "learner.alpha", SIZES, "split", "metric", "value"]
    points = [("R", a, m) for a in ("0.5", "0.001") for m in ("50%", "1")]
    points += [("LS", "", ""), ("PBR", "", "50%"), ("PBR", "", "1")]
    expected = [
        ("tiny", *point, split, metric)
        for point in points
        for split in ("0", "1")
        for metric in ("hamming_loss", "f1", "encoding_error")
    ]
    assert list(scores.drop(columns="value").itertuples(index=False, name=None)) == expected


def test_summary_is_what_pandas_says(arff: Path, tmp_path: Path) -> None:
    report = run(small.experiment(arff, methods=MIXED), tmp_path)
    scores = pd.read_csv(report.folder / "scores.csv", dtype={SIZES: str}, keep_default_na=False)
    summary = pd.read_csv(report.folder / "summary.csv", dtype={SIZES: str}, keep_default_na=False)
    cell = ["dataset", "method", SIZES, "metric"]
    assert list(summary) == [*cell, "mean", "std", "se", "n"]
    expected = scores.groupby(cell, sort=False)["value"].agg(["mean", "std", "sem", "count"]).reset_index()
    expected.columns = summary.columns
    pd.testing.assert_frame_equal(
        summary.sort_values(cell, ignore_index=True),
        expected.sort_values(cell, ignore_index=True),
        check_exact=False,
        rtol=1e-9,
    )
    points = [each[cell[:3]].drop_duplicates().values.tolist() for each in (scores, summary)]
    assert points[0] == points[1], "in the order of the scores"


def test_one_split_has_no_standard_error(arff: Path, tmp_path: Path) -> None:
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1}
    report = run(small.experiment(arff, splits=splits), tmp_path)
    summary = pd.read_csv(report.folder / "summary.csv", keep_default_na=False, dtype=str)
    assert set(summary["std"]) == set(summary["se"]) == {""}
    assert set(summary["n"]) == {"1"}
    assert "" not in set(summary["mean"])


def test_a_metric_that_is_not_defined_has_no_row(arff: Path, tmp_path: Path) -> None:
    report = run(small.experiment(arff, methods=MIXED), tmp_path)
    for name in ("scores.csv", "summary.csv"):
        rows = pd.read_csv(report.folder / name)
        assert set(rows[rows.method == "Guess"].metric) == {"hamming_loss", "f1"}
        assert set(rows[rows.method == "PLST"].metric) == {"hamming_loss", "f1", "encoding_error"}


def test_the_manifest(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff)
    report = run(experiment, tmp_path, jobs=2)
    manifest = Manifest.read(report.folder).plain()
    dataset, _ = small.planned(experiment)
    assert manifest["datasets"]["tiny"] == {
        "checksum": dataset.checksum,
        "n_instances": 60,
        "n_features": 5,
        "n_labels": 6,
        "n_nominal": 0,
        "n_numeric": 5,
        "label_cardinality": pytest.approx(dataset.Y.sum() / 60),
        "label_density": pytest.approx(dataset.Y.mean()),
        "notices": [],
    }
    counted = {"planned": 16, "kept": 0, "computed": 16, "failed": 0, "crashed": 0, "interrupted": False}
    assert manifest["trials"] == counted
    assert manifest["seed"] == 1
    assert (manifest["jobs"], manifest["backend"]) == (2, "loky")
    assert manifest["packages"]["joblib"] == joblib.__version__
    assert {"mlcdr", "python", "machine", "blas", "started", "seconds"} <= manifest.keys()
    assert [part["trials"]["computed"] for part in manifest["computed_by"]] == [16]
    assert manifest["computed_by"][0]["packages"] == manifest["packages"]
    text = (report.folder / "manifest.json").read_text()
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
    (report.folder / "manifest.json").write_text("[")
    with pytest.raises(ResultsError, match=r"manifest\.json: cannot be read"):
        Manifest.read(report.folder).plain()


def test_timings_are_metrics(arff: Path, tmp_path: Path) -> None:
    report = run(small.experiment(arff, metrics=["fit_seconds", "predict_seconds"]), tmp_path)
    values = pd.read_csv(report.folder / "scores.csv")["value"]
    assert len(values) == 32
    assert (values > 0).all()


# -------------------------------------------------------------------- failures


def test_a_failure_is_recorded_and_the_others_go_on(arff: Path, tmp_path: Path) -> None:
    methods = {
        "Bad": {"learner": "tests.small.Failing"},
        "PLST": FOUR["PLST"],
        "Ugly": {"learner": "tests.small.Failing"},
    }
    experiment = small.experiment(arff, methods=methods)
    report = run(experiment, tmp_path, jobs=2)
    assert [(t.method, t.split) for t, _ in report.failures] == [(m, i) for m in ("Bad", "Ugly") for i in range(4)]
    for _, error in report.failures:
        assert error.startswith("Traceback")
        assert "RuntimeError: no luck today" in error
        assert 'small.py", line' in error
    rows = pd.read_csv(report.folder / "scores.csv")
    assert set(rows.method) == {"PLST"}
    assert Manifest.read(report.folder).plain()["trials"]["failed"] == 8
    again = run(experiment, tmp_path)
    assert counts(again) == (16, 8, 8), "failed trials are tried again, the others are not"


def test_a_failure_in_some_splits_leaves_the_others(arff: Path, tmp_path: Path) -> None:
    splits = {"kind": "kfold", "folds": 7, "seed": 1}  # 60 rows: folds of 8 and 9, training sets of 52 and 51
    methods = {"Bad": {"feature_space": {"tests.small.Failing": 2}, "learner": "least_squares"}}
    report = run(small.experiment(arff, splits=splits, methods=methods, sweep={}), tmp_path)
    assert len(report.failures) == 7  # those of 52 rows by Failing itself, the others since it is no transformer
    assert sum("no luck" in error for _, error in report.failures) == 3


def test_a_split_that_cannot_be_prepared_fails_alone(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlcdr.numerics.moments import Moments

    without = Moments.without
    calls = []

    def sometimes(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError("no room")
        return without(self, *given)

    monkeypatch.setattr(Moments, "without", sometimes)
    report = run(small.experiment(arff), tmp_path)
    assert {trial.split for trial, _ in report.failures} == {1}
    assert (report.done, len(report.failures)) == (12, 4)


def test_a_missing_data_set_is_the_users_to_mend(tmp_path: Path) -> None:
    experiment = experiment_from(small.plain(Path("no_such_data_set")), look_up=False)
    with pytest.raises(DataError, match="unknown data set 'no_such_data_set'"):
        run(experiment, tmp_path)


def test_a_file_that_cannot_be_written_is_told(arff: Path, tmp_path: Path) -> None:
    (tmp_path / "small" / "scores.csv" / "x").mkdir(parents=True)
    with pytest.raises(ResultsError, match=r"scores\.csv: cannot be written"):
        run(small.experiment(arff), tmp_path)
    assert not [path for path in (tmp_path / "small").iterdir() if path.name.startswith(".scores")]


def test_a_second_signal_some_seconds_later_ends_what_is_done_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: clock[0])
    reached = []

    def be_signalled() -> None:
        with processes.stop_on_signals(), processes.hold_signals():
            for seconds in 1.0, 1.5, 9.0:
                clock[0] = seconds
                signal.raise_signal(signal.SIGTERM)
                reached.append(seconds)

    with pytest.raises(processes.Stop):
        be_signalled()
    assert reached == [1.0, 1.5]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with processes.stop_on_signals():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_IGN, signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_run_in_a_thread_is_possible(arff: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(run, small.experiment(arff), tmp_path, 2).result()
    assert counts(report) == (16, 0, 16)


# -------------------------------------------------------------------- before anything is timed


class Slow(Guess):
    """A guess that must be warmed up, once, or cannot be."""

    warmed = 0

    @classmethod
    def warm_up(cls) -> None:
        cls.warmed += 1

    def fit(self, X: Any, y: Any) -> Slow:
        if self.warmed != 1:
            raise RuntimeError("cold")
        super().fit(X, y)
        return self


class Cold(Slow):
    warmed = 0

    @classmethod
    def warm_up(cls) -> None:
        raise RuntimeError("the oven is broken")


def test_warmed_up_once_in_a_process(arff: Path, tmp_path: Path) -> None:
    methods = {"PLST": FOUR["PLST"], **{name: {"learner": f"{__name__}.{name}"} for name in ("Slow", "Cold")}}
    report = run(small.experiment(arff, methods=methods), tmp_path / "out")
    assert Slow.warmed == 1
    assert report.done == report.planned - len(report.failures)
    told = {(trial.method, error.splitlines()[-1]) for trial, error in report.failures}
    assert told == {("Cold", "RuntimeError: cold")}


def test_a_kind_of_warnings_is_reported_once_however_many_splits_give_it(arff: Path, tmp_path: Path) -> None:
    splits = {"kind": "shuffle", "repeats": 3, "train_size": 0.5, "seed": 1}
    methods = {name: {"learner": "tests.small.Warns"} for name in "AB"}
    report = run(small.experiment(arff, methods=methods, sweep={}, splits=splits), tmp_path)
    found = [(each.method, each.count) for each in report.warned if each.category == "UserWarning"]
    assert found == [("A", 6), ("B", 6)], "two of each fit"
