"""Methods are tried on a few rows: what cannot work is reported with its line, and nothing else is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcdr.execution.trying import few_rows
from tests import small
from tests.small import Outcome

pytestmark = pytest.mark.usefixtures("forked_workers")
METHODS = """
import os
import time

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin


class Good(TransformerMixin, BaseEstimator):
    def fit(self, X, Y):
        self.best_ = [int(np.argmax(np.var(X, axis=0)))]
        return self

    def transform(self, X):
        return X[:, self.best_]


class Flat(Good):
    def transform(self, X):
        return X[:, self.best_[0]]


class Typo(Good):
    def transform(self, X):
        return X[:, self.bets_]


class Refuses(Good):
    def fit(self, X, Y):
        raise ValueError("never works")


class AsksForMany(Good):
    def fit(self, X, Y):
        if len(X) < 150:
            raise ValueError("150 rows at least")
        return super().fit(X, Y)


class Changes(Good):
    def fit(self, X, Y):
        X -= 0.5
        return self


class Dies(Good):
    def fit(self, X, Y):
        os._exit(3)


class Sleeps(Good):
    def fit(self, X, Y):
        time.sleep(30)


def broken(Y, labels, scores):
    return Y.total()


broken.higher_is_better = True
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    small.write_dataset(tmp_path / "datasets" / "tiny", n=240)
    (tmp_path / "my_tried.py").write_text(METHODS)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("my_tried", None)


def write_config(*classes: str, more: str = "", metrics: str = "hamming_loss") -> None:
    methods = "".join(f"  {name}: {{feature_space: my_tried.{name}, learner: ridge}}\n" for name in classes)
    Path("t.yaml").write_text(
        "name: t\ndatasets: [tiny]\nsplits: {kind: shuffle, repeats: 2, train_size: 0.75, seed: 1}\n"
        f"metrics: [{metrics}]\n{more}methods:\n  Own: {{learner: ridge}}\n{methods}"
    )


WRONG = {
    "Flat": (8, "Flat.transform returned shape (180,), expected features of shape (180, any)"),
    "Typo": (9, "AttributeError: 'Typo' object has no attribute 'bets_' (my_tried.py:25, in transform)"),
    "Refuses": (10, "ValueError: never works (my_tried.py:30, in fit)"),
    "Dies": (11, "crashed: its worker process was ended by exit 3"),
}


def test_what_cannot_work_is_reported_with_its_lines(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Good", *WRONG, "AsksForMany")
    done = mlcdr("check", "t.yaml", "--try")
    assert (done.code, done.out) == (2, "")
    expected = [
        f"error: t.yaml:{line}: methods.{name}.feature_space: cannot be fitted to tiny's first split: {why}"
        for name, (line, why) in WRONG.items()
    ]
    for line, beginning in zip(done.err.splitlines(), expected, strict=True):
        assert line.startswith(beginning)


def test_what_works_is_not_refused(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Good", "AsksForMany")
    done = mlcdr("check", "t.yaml", "--try", "--set", "methods.Own.learner={mlknn: {k: 100}}")
    assert (done.code, done.err) == (0, "tried: 3 methods on 1 data set\n")
    assert done.out.startswith("t.yaml: no mistake found")
    assert not Path("results").exists()


def test_a_method_that_takes_long_is_no_mistake(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Sleeps", more="limits: {seconds: 0.5}\n")
    done = mlcdr("check", "t.yaml", "--try")
    assert done.code == 0
    (remark, _) = done.err.splitlines()
    assert remark.startswith("remark: t.yaml:8: methods.Sleeps")
    assert remark.endswith("took longer than limits.seconds, 0.5 s; nor to the first split in 0.5 s")


def test_a_method_that_changes_the_data_is_told_to_take_a_copy(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Changes")
    done = mlcdr("check", "t.yaml", "--try")
    assert (done.code, done.out) == (2, "")
    assert "methods.Changes.feature_space: cannot be fitted to tiny's first split: " in done.err
    assert "the data of a run are not to be changed: take a copy (my_tried.py:" in done.err


def test_a_metric_that_cannot_work_is_reported(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config(metrics="my_tried.broken")
    done = mlcdr("check", "t.yaml", "--try")
    assert done.code == 2
    assert "AttributeError: 'numpy.ndarray' object has no attribute 'total'" in done.err


def test_a_run_tries_nothing_and_tells_the_first_failure_of_each_method(
    here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    write_config("Good", "Typo", "Refuses")
    done = mlcdr("run", "t.yaml", "-j", 1)
    assert done.code == 1
    assert [line for line in done.err.splitlines() if line.startswith("first failure of")] == [
        f"first failure of {name} on tiny, split 0: {why}; the run goes on"
        for name, why in (
            ("Typo", "AttributeError: 'Typo' object has no attribute 'bets_'"),
            ("Refuses", "ValueError: never works"),
        )
    ]
    assert "4 of 8 trials failed" in done.err


def test_the_last_point_is_tried_too(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config()
    changes = ["--set", "methods.Own.label_space=plst", "--set", "sweep.label_space.n_components=[1, 2]"]
    assert mlcdr("check", "t.yaml", "--try", *changes).code == 0
    tuned = "methods.Own.tune={grid: {learner.alpha: [0.1, 1.0]}, folds: 3}"
    assert mlcdr("check", "t.yaml", "--try", "--set", tuned).code == 0


def test_few_rows_are_of_the_first_split(tmp_path: Path) -> None:
    data = small.read_data(small.experiment(small.write_dataset(tmp_path, n=600)))
    few = few_rows(data)
    train, test = few.splits[0].train, few.splits[0].test
    assert (len(train), len(test), few.dataset.n_instances) == (60, 20, 80)
    whole = data.splits[0]
    assert set(map(tuple, few.dataset.X[train])) <= set(map(tuple, data.dataset.X[whole.train]))
    assert set(map(tuple, few.dataset.X[test])) <= set(map(tuple, data.dataset.X[whole.test]))
