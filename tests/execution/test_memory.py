"""The memory of fits and of processes: measured against allocations of known size."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from mlcdr.errors import ConfigError
from mlcdr.execution import memory
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import group_by_split
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import run
from mlcdr.results.results import open_results
from tests import small

needs_reset = pytest.mark.skipif(not memory.can_measure(), reason="this system does not reset the peak of a process")
MB = 10**6
SMALLEST = 2.0  # MB; what Python and the allocator take or give back by the way


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def hold(megabytes: float) -> np.ndarray:
    return np.ones(int(megabytes * MB), dtype=np.uint8)


def memories(folder: Path) -> pd.Series:
    scores = pd.read_csv(folder / "scores.csv")
    return scores[scores["metric"] == "fit_memory"].set_index("method")["value"]


@needs_reset
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_fit_is_measured_by_what_it_holds_at_most(arff: Path, tmp_path: Path, jobs: int) -> None:
    """Whatever came before it in the process, and in a fork as in the run itself."""
    methods = {f"{size}": {"learner": {"tests.small.Allocating": {"megabytes": size}}} for size in (80, 20, 50)}
    report = run(small.experiment(arff, methods=methods, sweep={}, metrics=["fit_memory", "f1"]), tmp_path, jobs)
    found = memories(report.folder)
    assert len(found) == 12
    for method, value in found.groupby("method").max().items():
        assert value == pytest.approx(float(str(method)), abs=SMALLEST)


@needs_reset
def test_sizes_of_a_code_have_the_memory_of_their_one_fit(arff: Path, tmp_path: Path) -> None:
    report = run(small.experiment(arff, metrics=["fit_memory"]), tmp_path)
    values = pd.read_csv(report.folder / "scores.csv").groupby(["method", "split"])["value"]
    assert (values.size() == 2).all()
    assert (values.nunique() == 1).all()


@needs_reset
def test_methods_that_could_share_their_work_have_the_same_memory(tmp_path: Path) -> None:
    """An equal method that comes second would else need next to nothing: the products of 600 rows have 2.9 MB.

    On the first split libraries load what they need. The system may take back idle pages at any time, which makes a
    rise smaller: so the largest of several counts.
    """
    arff = small.write_dataset(tmp_path / "wide", n=1200, d=1000, labels=3)
    methods = {name: {"learner": {"ridge": {"alpha": 1.0}}, "threshold": {"maximise": "f1"}} for name in "ABC"}
    splits = {"kind": "shuffle", "repeats": 4, "train_size": 0.5, "seed": 1}
    config = {"methods": methods, "sweep": {}, "splits": splits, "metrics": ["fit_memory", "hamming_loss"]}
    report = run(small.experiment(arff, **config), tmp_path)
    found = memories(report.folder).groupby("method").agg(lambda values: values.iloc[1:].max())
    assert found.min() > 2.8
    assert np.ptp(found.to_numpy()) < SMALLEST
    scores = open_results(report.folder).scores
    plain = run(small.experiment(arff, **config | {"metrics": ["hamming_loss"], "name": "plain"}), tmp_path)
    pd.testing.assert_frame_equal(
        scores[scores["metric"] == "hamming_loss"].astype({"metric": str}).reset_index(drop=True),
        open_results(plain.folder).scores.astype({"metric": str}),
    )


KEPT = """
from mlcdr.execution import memory
from mlcdr.numerics.memo import Memo
from tests.execution.test_memory import MB, hold

of_all, of_split = memory.DataSetMemo(), Memo()
held = [hold(10)]
with memory.rising(True) as rise:
    held.append(hold(20))
    of_all.get("large", lambda: hold(60))
    of_all.get("large", lambda: hold(60))
    of_all.get("of two", lambda: of_all.get("inner", lambda: hold(40))[::2])
    of_split.get("small", lambda: hold(30))
print(rise.bytes / MB)
"""


@needs_reset
def test_what_is_kept_for_a_whole_data_set_counts_for_no_fit() -> None:
    """In a process of its own: what a long one frees meanwhile would be counted, too."""
    assert float(small.python("-c", KEPT).stdout) == pytest.approx(50, abs=SMALLEST)


KEPT_BLOCKS = """
import contextlib, sys, threading
from mlcdr.execution import memory
from tests.execution.test_memory import MB, hold

def measure():
    hold(30)
    kept = [hold(20), hold(20)]
    kept.clear()
    for megabytes in (20, 50, 20):
        with memory.rising(True) as rise:
            hold(megabytes)
        print(rise.bytes / MB)

if sys.argv[1] == "thread":
    threading.Thread(target=measure).start()
else:
    with contextlib.suppress(MemoryError):
        hold(10**10)
    measure()
"""


@pytest.mark.slow
@needs_reset
def test_memory_that_was_freed_before_is_counted_when_it_is_taken_again() -> None:
    """The allocator keeps pages of small arrays; the rise would else begin above them."""
    rises = []
    for _ in range(4):
        with memory.rising(True) as rise:
            held = [np.ones(10_000) for _ in range(500)]
        del held
        rises.append(rise.bytes / MB)
    assert max(rises[1:]) == pytest.approx(40, abs=SMALLEST)


@needs_reset
@pytest.mark.parametrize("where", ["thread", pytest.param("after a MemoryError", marks=pytest.mark.slow)])
def test_what_a_heap_keeps_at_its_end_is_counted_when_it_is_taken_again(where: str) -> None:
    """Of a heap that is not the process's first: that of a thread, and of the main thread once memory was short."""
    printed = small.python("-c", KEPT_BLOCKS, where).stdout
    assert list(map(float, printed.split())) == pytest.approx([20, 50, 20], abs=SMALLEST)


@needs_reset
def test_the_choice_of_parameters_counts(arff: Path, tmp_path: Path) -> None:
    tune = {"grid": {"learner.megabytes": [35, 50]}, "folds": 2, "metric": "hamming_loss"}
    methods = {"tuned": {"learner": "tests.small.Allocating", "tune": tune}}
    report = run(small.experiment(arff, methods=methods, sweep={}, metrics=["fit_memory"]), tmp_path)
    assert memories(report.folder).max() == pytest.approx(50, abs=SMALLEST)  # 35 is chosen, the first of equals


def test_fits_that_share_a_process_with_others_have_no_value(arff: Path) -> None:
    """As on a Dask worker of several threads."""
    experiment = small.experiment(arff, metrics=["fit_memory", "f1"])
    data = small.read_data(experiment)
    (group, *_) = group_by_split(experiment, data.source, small.planned(experiment)[1])
    alone, beside = (Computer(data).compute(replace(group, alone=each)).results for each in (True, False))
    for one, other in zip(alone, beside, strict=True):
        assert one.values is not None
        assert other.values is not None
        assert math.isnan(one.values["fit_memory"]) is not memory.can_measure()
        assert math.isnan(other.values["fit_memory"])
        assert one.values["f1"] == other.values["f1"]


def test_nothing_is_measured_unless_it_is_asked_for(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise AssertionError("measured")

    monkeypatch.setattr(memory, "_settle", refuse)
    report = run(small.experiment(arff, metrics=["fit_seconds", "f1"]), tmp_path)
    assert not report.failures


def test_where_the_system_does_not_tell_there_is_no_value(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    listener = Listener()
    monkeypatch.setattr(listener, "notice", notices.append)
    memory.can_measure.cache_clear()
    monkeypatch.setattr(memory, "_RESET", tmp_path / "no" / "clear_refs")
    report = run(small.experiment(arff, metrics=["fit_memory", "f1"]), tmp_path, listener=listener)
    memory.can_measure.cache_clear()
    assert set(pd.read_csv(report.folder / "scores.csv")["metric"]) == {"f1"}
    assert notices == ["fit_memory: no value, since only Linux tells it (by /proc/self/clear_refs)"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_manifest_has_the_peak_of_the_run_and_of_its_workers(arff: Path, tmp_path: Path, jobs: int) -> None:
    learner = {"tests.small.Allocating": {"megabytes": 400}}
    experiment = small.experiment(arff, methods={"A": {"learner": learner}}, sweep={}, metrics=["f1"])
    peaks = json.loads((run(experiment, tmp_path, jobs).folder / "manifest.json").read_text())["peak_megabytes"]
    assert (peaks["worker"] is None) == (jobs == 1)
    assert peaks["run"] > 20
    assert peaks["run" if jobs == 1 else "worker"] > 400


@needs_reset
def test_the_peak_of_a_process_outlasts_a_measurement() -> None:
    del_me = [hold(100)]
    before = memory.peak()
    del_me.clear()
    with memory.rising(True):
        pass
    assert memory.peak() / MB == pytest.approx(before / MB, abs=SMALLEST)


@pytest.mark.skipif(sys.platform == "win32", reason="resource is of POSIX")
def test_without_proc_the_peak_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = memory.peak()
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    resident = psutil.Process().memory_info().rss
    assert resident / MB - SMALLEST < memory.peak() / MB < told / MB + SMALLEST


def test_no_parameter_is_chosen_by_memory(arff: Path) -> None:
    tune = {"grid": {"learner.alpha": [1, 2]}, "folds": 2, "metric": "fit_memory"}
    with pytest.raises(ConfigError, match="'fit_memory' cannot be chosen by"):
        small.experiment(arff, methods={"A": {"learner": "ridge", "tune": tune}}, metrics=["f1", "fit_memory"])
