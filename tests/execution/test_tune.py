"""Tuning: what a grid means, what a choice may see, and that it is the one a plain loop makes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import MaxAbsScaler

from mlcdr.errors import ConfigError
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import run
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.division import make_splits
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.splits import KFold
from mlcdr.experiment.yaml_reader import read_yaml_text
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.results.failures import describe_error
from tests import small
from tests.experiment.tables import records
from tests.small import FOUR, SIZES, Outcome

ALPHAS = [0.01, 1.0, 100.0, 10000.0]
SPLITS = {"kind": "kfold", "folds": 3, "repeats": 2, "seed": 1}


def tuned(scope: str = "split", metric: str = "hamming_loss", label_space: str | None = None, **more: object) -> dict:
    tune = {"grid": {"learner.alpha": ALPHAS}, "scope": scope}
    if scope != "test":
        tune |= {"metric": metric, "folds": 4}
    return {**({"label_space": label_space} if label_space else {}), "learner": "ridge", "tune": tune | more}


class Noting(Listener):
    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data", n=90, d=12)


def config(arff: Path, methods: dict, **changes: object):
    defaults = {"splits": SPLITS, "sweep": {}, "metrics": ["hamming_loss", "f1"], "methods": methods}
    return small.experiment(arff, **defaults | changes)


# -------------------------------------------------------------------- the grid as data


def test_a_grid_is_written_out(arff: Path) -> None:
    method = tuned() | {"tune": {"grid": {"learner.alpha": {"log2": [-1, 2]}}}}
    experiment = config(arff, {"A": method})
    assert experiment.methods["A"].plain()["tune"] == {
        "grid": {"learner.alpha": [0.5, 1.0, 2.0, 4.0]},
        "scope": "split",
        "metric": "hamming_loss",
        "folds": 5,
    }
    assert experiment_from(experiment.resolved()) == experiment
    half_steps = config(arff, {"A": method | {"tune": {"grid": {"learner.alpha": {"log10": [-1, 1, 0.5]}}}}})
    assert np.allclose(half_steps.methods["A"].tune.grid["learner.alpha"], [0.1, 10**-0.5, 1, 10**0.5, 10])


def test_a_parameter_of_a_nested_component_is_meant(arff: Path) -> None:
    chain = {"learner": {"classifier_chain": {"estimator": "ridge"}}, "tune": {"grid": {"learner.alpha": [1]}}}
    with pytest.raises(ConfigError, match=r"did you mean 'learner\.estimator\.alpha'\?"):
        config(arff, {"A": chain})


@pytest.mark.parametrize(("tune", "message"), records("grids"))
def test_a_wrong_grid_is_one_line(arff: Path, tune: str, message: str) -> None:
    methods = {"A": FOUR["PLST"] | {"learner": "ridge", "tune": read_yaml_text(tune, "a table").data}}
    with pytest.raises(ConfigError) as raised:
        config(arff, methods, sweep={SIZES: [1]})
    (line,) = raised.value.problems
    assert line.split(": ", 1)[1].startswith(message)


def test_a_value_that_the_method_sets_itself_cannot_be_tuned(arff: Path) -> None:
    with pytest.raises(ConfigError, match="the method A sets alpha itself"):
        config(arff, {"A": tuned() | {"learner": {"ridge": {"alpha": 2}}}})


# -------------------------------------------------------------------- scope: test


def test_every_point_of_a_grid_on_the_test_rows_is_a_result(arff: Path, tmp_path: Path) -> None:
    experiment = config(arff, {"A": tuned("test"), "B": {"learner": "least_squares"}})
    assert experiment.varied == ("learner.alpha",)
    report = run(experiment, tmp_path)
    scores = pd.read_csv(report.folder / "scores.csv")
    assert scores.groupby("method")["learner.alpha"].nunique(dropna=False).to_dict() == {"A": 4, "B": 1}
    # a point of a grid is the trial that a sweep makes of it: nothing is computed twice
    sweep = {"learner.alpha": ALPHAS}
    swept = config(arff, {"A": {"learner": "ridge"}, "B": {"learner": "least_squares"}}, sweep=sweep)
    assert run(swept, tmp_path).computed == 0
    assert (report.folder / "scores.csv").read_text() == scores.to_csv(index=False, lineterminator="\n")
    assert not (report.folder / "chosen.csv").exists()


# -------------------------------------------------------------------- scope: split and dataset


def dense(arff: Path, experiment, n_splits: int = 6) -> tuple[np.ndarray, np.ndarray, list]:
    source = DataSource.of(experiment.datasets[0], experiment.splits)
    dataset = source.load()
    return np.asarray(dataset.X), as_dense(dataset.Y), [source.divide(dataset).splits[i] for i in range(n_splits)]


def plain_criterion(X, Y, name: str, alpha: float, sizes: list[int] | None = None) -> float:
    """Hamming loss by four folds of these rows, with ridge on PLST's codes, summed over sizes; or on the labels."""
    total = 0.0
    folds = make_splits(KFold(kind="kfold", folds=4, seed=1), name, len(X))
    for fold in (folds[i] for i in range(4)):
        for size in sizes or [None]:
            space = PLST(n_components=size or Y.shape[1]).fit(X[fold.train], Y[fold.train])
            model = Ridge(alpha=alpha).fit(X[fold.train], space.encode(Y[fold.train]))
            labels = space.decode(model.predict(X[fold.test])) > 0.5
            total += np.mean(labels != Y[fold.test])
    return total


def test_a_choice_for_a_split_is_that_of_a_plain_loop_in_its_training_rows(arff: Path, tmp_path: Path) -> None:
    experiment = config(arff, {"A": tuned(), "B": {"learner": "ridge"}}, sweep={})
    report = run(experiment, tmp_path)
    assert report.failures == []
    chosen = pd.read_csv(report.folder / "chosen.csv")
    X, Y, splits = dense(arff, experiment)
    expected = [
        min(ALPHAS, key=lambda a: round(plain_criterion(X[s.train], Y[s.train], f"tiny, split {i}, tuning", a), 10))
        for i, s in enumerate(splits)
    ]
    assert chosen["value"].tolist() == expected
    assert len(set(expected)) > 1  # else nothing was shown
    scores = pd.read_csv(report.folder / "scores.csv").query("method == 'A' and metric == 'hamming_loss'")
    for split, alpha, value in zip(splits, expected, scores["value"], strict=True):
        model = Ridge(alpha=alpha).fit(X[split.train], Y[split.train])
        assert value == pytest.approx(np.mean((model.predict(X[split.test]) > 0.5) != Y[split.test]))


def test_a_choice_by_all_sizes_is_made_once_for_a_data_set(arff: Path, tmp_path: Path) -> None:
    method = tuned("dataset", "hamming_loss_all_dims", "plst")
    experiment = config(arff, {"A": method}, sweep={SIZES: [1, 3]})
    report = run(experiment, tmp_path)
    chosen = pd.read_csv(report.folder / "chosen.csv")
    X, Y, _ = dense(arff, experiment)
    sizes = list(range(1, Y.shape[1] + 1))
    best = min(ALPHAS, key=lambda a: round(plain_criterion(X, Y, "tiny, tuning", a, sizes), 10))
    assert chosen["value"].tolist() == [best] * 12
    assert chosen["parameter"].unique().tolist() == ["learner.alpha"]


class Needy(PLST):
    """PLST with a parameter that must be given, and changes nothing."""

    def __init__(self, needed, n_components=None):
        self.needed = needed
        self.n_components = n_components


@pytest.mark.parametrize("metric", ["hamming_loss", "hamming_loss_all_dims"])
def test_a_parameter_that_a_label_space_needs_may_be_tuned(metric: str, arff: Path, tmp_path: Path) -> None:
    changed = {"grid": {"label_space.needed": [1, 2]}}
    needy = tuned("split", metric, "tests.execution.test_tune.Needy", **changed)
    plain = {"label_space": "plst", "learner": "ridge"}
    report = run(config(arff, {"needy": needy, "plain": plain}, sweep={SIZES: [1, 3]}), tmp_path)
    scores = report.scores.set_index("method")["value"]
    assert scores["needy"].tolist() == scores["plain"].tolist()


def test_the_file_of_choices_has_no_empty_column(arff: Path, tmp_path: Path) -> None:
    """A swept path that only methods without `tune` have is none of its columns; one that a tuned method has is."""
    methods = {"tuned": tuned(), "swept": {"label_space": "plst", "learner": "least_squares"}}
    report = run(config(arff, methods, sweep={SIZES: [1, 2]}), tmp_path)
    header = (report.folder / "chosen.csv").read_text().splitlines()[0]
    assert header == "dataset,method,split,parameter,value"
    assert SIZES in (report.folder / "scores.csv").read_text().splitlines()[0]
    both = {"tuned": tuned("split", "hamming_loss", "plst"), "swept": methods["swept"]}
    report = run(config(arff, both, sweep={SIZES: [1, 2]}, name="both"), tmp_path)
    assert not pd.read_csv(report.folder / "chosen.csv").isna().any(axis=None)
    assert SIZES in pd.read_csv(report.folder / "chosen.csv")


def test_the_test_rows_of_a_split_are_not_seen(arff: Path, tmp_path: Path) -> None:
    """Other labels in the test rows of a split change none of what is chosen for it."""
    base = small.plain(arff, sweep={}, methods={"A": tuned()}, splits={"kind": "predefined"})
    lines = arff.read_text().splitlines()
    start = lines.index("@data") + 1
    train, test = lines[start : start + 60], lines[start + 60 :]
    flipped = [",".join(v if i < 12 else str(1 - int(v)) for i, v in enumerate(r.split(","))) for r in test]
    found = []
    for name, rows in (("one", test), ("two", flipped)):
        folder = tmp_path / name / "tiny"
        folder.mkdir(parents=True)
        (folder / "tiny-train.arff").write_text("\n".join([*lines[:start], *train]) + "\n")
        (folder / "tiny-test.arff").write_text("\n".join([*lines[:start], *rows]) + "\n")
        (folder / "tiny.xml").write_text(arff.with_suffix(".xml").read_text())
        report = run(experiment_from(base | {"datasets": [str(folder)]}), tmp_path / name / "out")
        found.append((report.folder / "chosen.csv").read_text())
    assert found[0] == found[1]


@pytest.mark.usefixtures("forked_workers")
def test_choices_are_the_same_for_any_jobs_and_survive_a_rerun(arff: Path, tmp_path: Path) -> None:
    methods = {"A": tuned(), "B": tuned("dataset", "f1"), "C": tuned("test")}
    drawn = {"grid": {"learner.alpha": {"loguniform": [0.01, 1000]}}, "points": 4}
    methods |= {name: tuned("split", **drawn, search=name) for name in ("random", "halving", "optuna")}
    methods["shown"] = tuned("test", **drawn, search="random")
    files = []
    for name, jobs in (("one", 1), ("two", 2)):
        report = run(config(arff, methods), tmp_path / name, jobs=jobs)
        files.append([(report.folder / f).read_text() for f in ("scores.csv", "chosen.csv", "summary.csv")])
    assert files[0] == files[1]
    assert run(config(arff, methods), tmp_path / "one").computed == 0
    assert (tmp_path / "one" / "small" / "chosen.csv").read_text() == files[0][1]


def test_the_time_of_a_choice_is_a_part_of_the_fit(arff: Path, tmp_path: Path) -> None:
    methods = {"A": tuned(), "B": {"learner": "ridge"}}
    report = run(config(arff, methods, metrics=["fit_seconds"]), tmp_path)
    seconds = pd.read_csv(report.folder / "scores.csv").groupby("method")["value"].sum()
    assert seconds["A"] > seconds["B"]


def test_a_point_that_fails_is_not_chosen(arff: Path, tmp_path: Path) -> None:
    def method(sizes: list) -> dict:
        grid = {"feature_space.n_components": sizes}
        return {"feature_space": "pca", "learner": "least_squares", "tune": {"grid": grid, "folds": 3}}

    report = run(config(arff, {"A": method([99, 12])}), tmp_path / "one")
    assert report.failures == []
    assert set(pd.read_csv(report.folder / "chosen.csv")["value"]) == {12}
    report = run(config(arff, {"A": method([99, 98])}), tmp_path / "two")
    assert report.failures


@pytest.mark.parametrize("scope", ["split", "dataset"])
def test_a_search_that_fails_at_every_point_says_why(
    arff: Path, tmp_path: Path, mlcdr: Callable[..., Outcome], scope: str
) -> None:
    grid = {"feature_space.n_components": [99, 98]}
    tune = {"grid": grid, "folds": 3, "scope": scope}
    methods = {"A": {"feature_space": "pca", "learner": "least_squares", "tune": tune}, "PLST": FOUR["PLST"]}
    report = run(config(arff, methods), tmp_path)
    _, error = report.failures[0]
    first, _, traceback = error.partition("\n\n")
    assert first == describe_error(error)
    assert first.count(": ValueError: n_components=99 ") == 1, "one cause, but for its numbers"
    assert "times)" not in first
    assert traceback.startswith("Traceback (most recent call last):")
    assert "in fit_moments" in traceback
    assert f"failed: A on tiny, splits 0–5: {first} (6 trials)" in mlcdr("status", report.folder).out
    assert mlcdr("report", report.folder).code == 0
    assert first in (report.folder / "report.html").read_text()


def test_the_causes_of_a_search_are_counted_where_they_differ(arff: Path, tmp_path: Path) -> None:
    grid = {"learner.modulus": [1, 7]}  # of 40 rows: all fits fail, and none, but then no prediction succeeds
    methods = {"A": {"learner": "tests.small.Failing", "tune": {"grid": grid, "folds": 3}}, "PLST": FOUR["PLST"]}
    report = run(config(arff, methods), tmp_path)
    _, error = report.failures[0]
    assert describe_error(error).endswith(": RuntimeError: no luck today (3 times); NotImplementedError (3 times)")


def test_a_search_whose_criterion_is_not_defined_has_no_cause(arff: Path, tmp_path: Path) -> None:
    methods = {"A": tuned(metric="log_loss"), "PLST": FOUR["PLST"]}
    report = run(config(arff, methods), tmp_path)
    assert {error for _, error in report.failures} == {
        "tune: no point of the search could be fitted and measured by log_loss"
    }


def test_a_grid_of_one_point_is_a_setting(arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a data set, perhaps; nothing is fitted to choose it, and a run that fails says why."""
    from mlcdr.execution import tuning

    monkeypatch.setattr(tuning.Tuning, "_measure", lambda *_: pytest.fail("there is nothing to choose"))
    tune = {"grid": {"feature_space.n_components": [2]}, "grids": {"tiny": {"feature_space.n_components": [3]}}}
    method = {"feature_space": "pca", "learner": "least_squares"}
    report = run(config(arff, {"A": method | {"tune": tune}}), tmp_path / "own")
    assert set(pd.read_csv(report.folder / "chosen.csv")["value"]) == {3}
    fixed = run(config(arff, {"A": {**method, "feature_space": {"pca": 3}}}), tmp_path / "fixed")
    ours, theirs = (pd.read_csv(each.folder / "scores.csv") for each in (report, fixed))
    assert ours["value"].tolist() == theirs["value"].tolist()
    tune = {"grid": {"feature_space.n_components": [99]}}
    report = run(config(arff, {"A": method | {"tune": tune}}), tmp_path / "fails")
    assert report.failures
    assert all("n_components=99" in error for _, error in report.failures)


def test_grid_points_in_order(arff: Path) -> None:
    grid = {"learner.alpha": ALPHAS, "label_space.n_components": [1, 2]}
    tune = config(arff, {"A": FOUR["PLST"] | {"learner": "ridge", "tune": {"grid": grid}}}).methods["A"].tune
    own = tune.model_copy(update={"grids": {"tiny": {"label_space.n_components": (3,), "learner.alpha": (9.0,)}}})
    assert own.candidates(1, "tiny") == [{"learner.alpha": 9.0, "label_space.n_components": 3}]
    assert own.candidates(1, "other") == tune.candidates(2)
    assert [tuple(p.values()) for p in tune.candidates(1)] == list(itertools.product(ALPHAS, [1, 2]))


# -------------------------------------------------------------------- kernel ridge regression


def kernel_methods(scope: str, metric: str) -> dict:
    grid = {"learner.gamma": [0.01, 0.1, 1.0], "learner.alpha": {"log2": [-8, 2, 5]}}
    tune = {"grid": grid, "folds": 4, "metric": metric, "scope": scope}
    parts = {"PLST": "plst", "kernel-CPLST": "kernel_cplst", "kernel OCCA": "kernel_occa", "Binary": None}
    parts["Signs"] = {"identity": {"coding": "plus_minus_one"}}
    return {
        name: {**({"label_space": space} if space else {}), "learner": "kernel_ridge", "tune": tune}
        for name, space in parts.items()
    }


def test_kernel_ridge_is_chosen_as_by_a_plain_loop(arff: Path, tmp_path: Path) -> None:
    experiment = config(arff, {"Binary": kernel_methods("dataset", "hamming_loss")["Binary"]})
    chosen = pd.read_csv(run(experiment, tmp_path).folder / "chosen.csv")
    X, Y, _ = dense(arff, experiment)
    folds = make_splits(KFold(kind="kfold", folds=4, seed=1), "tiny, tuning", len(X))

    def loss(point: tuple[float, float]) -> float:
        total = 0.0
        for fold in (folds[i] for i in range(4)):
            mean = Y[fold.train].mean(axis=0)
            model = KernelRidge(alpha=point[1], kernel="rbf", gamma=point[0]).fit(X[fold.train], Y[fold.train] - mean)
            total += np.mean((model.predict(X[fold.test]) + mean > 0.5) != Y[fold.test])
        return round(total, 10)

    grid = list(itertools.product([0.01, 0.1, 1.0], 2.0 ** np.linspace(-8, 2, 5)))
    best = min(grid, key=loss)
    found = chosen.groupby("parameter")["value"].unique()
    assert (found["learner.gamma"].tolist(), found["learner.alpha"].tolist()) == ([best[0]], [best[1]])
    assert best != grid[0]  # else nothing was shown


# -------------------------------------------------------------------- what may go wrong for one and not for others


def test_an_impossible_size_fails_alone(arff: Path, tmp_path: Path) -> None:
    grid = {"learner.alpha": [0.1, 1.0]}
    for learner in ("ridge", "kernel_ridge"):  # fitted in every fold, and not
        methods = {"A": {"label_space": "plst", "learner": learner, "tune": {"grid": grid, "folds": 3}}}
        report = run(config(arff, methods, sweep={SIZES: [2, 100]}), tmp_path / learner)
        assert {dict(trial.point)[SIZES] for trial, _ in report.failures} == {"100"}
        assert report.done == 6


def test_a_kernel_that_overflows_is_not_chosen(arff: Path, tmp_path: Path) -> None:
    grid = {"learner.gamma": [1e-3, 1e200]}
    learner = {"kernel_ridge": {"kernel": "poly"}}
    report = run(config(arff, {"A": {"learner": learner, "tune": {"grid": grid, "folds": 3}}}), tmp_path)
    assert report.failures == []
    assert set(pd.read_csv(report.folder / "chosen.csv")["value"]) == {1e-3}


def test_methods_that_share_nothing_are_tuned_to_the_same(arff: Path, tmp_path: Path) -> None:
    kernel = kernel_methods("split", "f1")["PLST"]
    kernel["tune"] = kernel["tune"] | {"grid": {"learner.gamma": [0.01, 1.0], "learner.alpha": [0.01, 1.0]}}
    methods = {"A": tuned(label_space="plst"), "K": kernel}
    one = SPLITS | {"repeats": 1}
    shared = run(config(arff, methods, splits=one), tmp_path / "shared")
    alone = run(config(arff, methods, splits=one, share=False), tmp_path / "alone")
    assert shared.failures == alone.failures == []
    for name in ("chosen.csv", "summary.csv"):
        assert (shared.folder / name).read_text() == (alone.folder / name).read_text()


def test_a_choice_is_by_the_experiments_own_metric(arff: Path, tmp_path: Path) -> None:
    mine = {"macro_f1": {"of": "mean_precision_recall", "as": "mine"}}
    experiment = config(arff, {"A": tuned(metric="mine")}, metrics=["hamming_loss", mine])
    criterion = experiment.methods["A"].tune.criterion(experiment.metrics)
    assert (criterion.name, criterion.params) == ("macro_f1", {"of": "mean_precision_recall"})
    assert run(experiment, tmp_path).failures == []


def test_all_sizes_of_ddsr_are_no_more_than_the_features(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data", n=90, d=3, labels=6)
    method = {"dual_space": "ddsr", "learner": "ridge", "tune": {"grid": {"learner.alpha": [1, 2]}, "folds": 3}}
    method["tune"]["metric"] = "hamming_loss_all_dims"
    assert run(config(arff, {"A": method}), tmp_path).failures == []


def test_a_choice_by_the_test_rows_is_remarked(arff: Path, tmp_path: Path) -> None:
    listener = Noting()
    run(config(arff, {"A": tuned("test"), "B": tuned()}), tmp_path, listener=listener)
    assert listener.notices[0] == "A: `tune: {scope: test}` chooses by the test rows; its numbers are too good"


def test_all_points_after_one_scaler_share_its_moments(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scaler is fitted once to each training set of the search, and once to that of the split."""
    sizes: list[int] = []
    fit_scaler = MaxAbsScaler.fit

    def fit(scaler: MaxAbsScaler, X: np.ndarray, y: object = None) -> MaxAbsScaler:
        sizes.append(len(X))
        return fit_scaler(scaler, X, y)

    monkeypatch.setattr(MaxAbsScaler, "fit", fit)
    scale = "sklearn.preprocessing.MaxAbsScaler"
    grid = {"feature_space.1.n_components": [2, 3, 5], "learner.alpha": [0.1, 10]}
    method = tuned() | {"feature_space": [scale, "pca"]}
    method["tune"] |= {"grid": grid}
    splits = {"kind": "kfold", "folds": 3, "seed": 1}
    shared = run(config(arff, {"A": method}, splits=splits), tmp_path / "a")
    assert sizes == [45, 45, 45, 45, 60] * 3
    alone = run(config(arff, {"A": method}, splits=splits, share=False), tmp_path / "b")
    assert len(sizes) == 3 * 5 + 3 * (4 * 6 + 1)
    assert (shared.folder / "scores.csv").read_text() == (alone.folder / "scores.csv").read_text()
