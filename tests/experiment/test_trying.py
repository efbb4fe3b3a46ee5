"""Methods are tried on a few rows: what cannot work is reported with its line, and nothing else is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from mlcdr.execution import trying
from mlcdr.execution.trying import few_rows
from tests import small
from tests.small import Outcome

pytestmark = pytest.mark.usefixtures("forked_workers")
METHODS = '''
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


class Rolls(RegressorMixin, BaseEstimator):
    """Draws from the generator of the process."""

    def fit(self, X, Y):
        self.n_ = Y.shape[1]
        return self

    def predict(self, X):
        return np.random.random_sample((len(X), self.n_))


def broken(Y, labels, scores):
    return Y.total()


broken.higher_is_better = True
'''


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
    "Flat": "Flat.transform returned shape (60,), expected features of shape (60, any)",
    "Typo": "AttributeError: 'Typo' object has no attribute 'bets_' (my_tried.py:25, in transform)",
}


def test_what_cannot_work_is_reported_with_its_lines(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Good", *WRONG, "Refuses", "AsksForMany", "Dies")
    done = mlcdr("check", "t.yaml", "--try")
    assert (done.code, done.out) == (2, "")
    fitted = {name: f"cannot be fitted to 60 rows of tiny: {why}" for name, why in WRONG.items()}
    fitted["Refuses"] = "cannot be fitted to tiny's first split: ValueError: never works (my_tried.py:30, in fit)"
    fitted["Dies"] = "cannot be fitted to 60 rows of tiny: crashed: its worker process was ended by exit 3"
    lines = {"Flat": 8, "Typo": 9, "Refuses": 10, "Dies": 12}
    expected = [f"error: t.yaml:{lines[name]}: methods.{name}.feature_space: {why}" for name, why in fitted.items()]
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


def test_a_run_stops_before_it_computes(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Good", "Flat", "Refuses")
    done = mlcdr("run", "t.yaml", "-j", 1)
    assert (done.code, done.out) == (2, "")
    first, last = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert first == f"error: t.yaml:8: methods.Flat.feature_space: cannot be fitted to 60 rows of tiny: {WRONG['Flat']}"
    assert last.startswith("error: nothing was computed; `--no-try` ")
    assert not Path("results/t/scores.csv").exists()
    on = mlcdr("run", "t.yaml", "-j", 1, "--no-try")
    assert on.code == 1
    assert "4 of 8 trials failed" in on.err
    again = mlcdr("run", "t.yaml", "-j", 1, "--set", "methods.Flat.feature_space=my_tried.Good")
    assert again.code == 1, "what may have too few rows is left for the run"
    assert "2 of 8 trials failed" in again.err


def test_a_run_and_a_check_refuse_a_method_that_changes_the_data(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Changes")
    for command in (["check", "t.yaml", "--try"], ["run", "t.yaml", "-j", 1]):
        done = mlcdr(*command)
        assert (done.code, done.out) == (2, "")
        assert "methods.Changes.feature_space: cannot be fitted to 60 rows of tiny: " in done.err
        assert "the data of a run are not to be changed: take a copy (my_tried.py:" in done.err


def test_workers_try_where_workers_compute(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config("Good", "Typo", "Dies")
    done = mlcdr("run", "t.yaml", "-j", 2)
    assert done.code == 2
    assert "Typo" in done.err
    assert "Dies" not in done.err, "a crash is recorded by the run"


def test_a_metric_that_cannot_work_is_reported(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config(metrics="my_tried.broken")
    done = mlcdr("run", "t.yaml", "-j", 1)
    assert done.code == 2
    assert "AttributeError: 'numpy.ndarray' object has no attribute 'total'" in done.err


def test_built_in_methods_are_not_tried_by_a_run(
    here: Path, mlcdr: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("tried")

    monkeypatch.setattr(trying, "_failures", refuse)
    write_config()
    assert mlcdr("run", "t.yaml", "-j", 1).code == 0
    write_config("Good")
    mlcdr("run", "t.yaml", "-j", 1, "--no-try")
    assert mlcdr("run", "t.yaml", "-j", 1).code == 0, "nor is what has been computed"


def test_a_try_draws_no_random_number(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config()
    own = "methods.Own.learner=my_tried.Rolls"
    found = []
    for flags in (["--no-try"], []):
        np.random.seed(3)  # noqa: NPY002
        assert mlcdr("run", "t.yaml", "-j", 1, "--fresh", "--set", own, *flags).code == 0
        found.append(Path("results/t/scores.csv").read_text())
    assert found[0] == found[1]


def test_the_last_point_is_tried_too(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write_config()
    changes = ["--set", "methods.Own.label_space=plst", "--set", "sweep.label_space.n_components=[1, 2]"]
    assert mlcdr("check", "t.yaml", "--try", *changes).code == 0
    tuned = "methods.Own.tune={grid: {learner.alpha: [0.1, 1.0]}, folds: 3}"
    assert mlcdr("check", "t.yaml", "--try", "--set", tuned).code == 0


def test_few_rows_show_each_label(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path, n=600, labels=6)
    data = small.read_data(small.experiment(arff))
    rare = np.zeros((600, 1), dtype=np.uint8)
    rare[data.splits[0].train[::50]] = 1
    data.dataset.Y[:, 0] = rare[:, 0]
    few = few_rows(data)
    split = few.split(0)
    counts = few.dataset.Y[split.train].sum(axis=0)
    assert len(split.train) < 100
    assert (len(split.test), few.dataset.n_instances) == (20, len(split.train) + 20)
    assert counts.min() >= 8
    assert (len(split.train) - counts).min() >= 8
