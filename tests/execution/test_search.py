"""Searches other than a whole grid: which points they try, on which rows, and that they choose as a plain loop does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.dummy import DummyRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV

import mlcdr
from mlcdr.execution.runner import run
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.tune import Distribution, TuneSpec
from mlcdr.report import report as report_page
from mlcdr.results.trials import read_tried
from tests.execution.test_tune import ALPHAS, Noting, arff, config, dense, plain_criterion, tuned
from tests.small import FOUR, SIZES

__all__ = ["arff"]  # a fixture

DRAWN = {"learner.alpha": {"loguniform": [0.01, 1000]}}


def search(kind: str, points: int | None = None, grid: dict | None = None, **more: object) -> TuneSpec:
    return TuneSpec.model_validate({"grid": grid or {"learner.alpha": ALPHAS}, "search": kind, "points": points} | more)


# -------------------------------------------------------------------- which points


def test_random_points_are_drawn_from_the_seed_and_the_names_of_the_paths() -> None:
    grid = {"learner.alpha": {"loguniform": [0.001, 100]}, "a.b": {"uniform": [-1, 1]}, "c": {"integers": [3, 9]}}
    points = search("random", 60, grid).candidates(7)
    assert points == search("random", 60, grid, scope="dataset").candidates(7, "yeast")
    assert search("random", 20, grid).candidates(7) == points[:20]  # fewer are the first of more
    assert search("random", 60, grid).candidates(8) != points
    assert {type(p["c"]) for p in points} == {int}
    assert all(0.001 <= p["learner.alpha"] <= 100 and -1 <= p["a.b"] <= 1 and 3 <= p["c"] <= 9 for p in points)
    assert len({p["c"] for p in points}) == 7


def test_a_finite_grid_is_drawn_without_repetition() -> None:
    grid = {"x": list(range(4)), "y": ["a", None, [1]]}
    points = search("random", 11, grid).candidates(1)
    assert len({repr(p) for p in points}) == 11
    whole = search("grid", grid=grid).candidates(1)
    assert search("random", 12, grid).candidates(1) == search("random", 99, grid).candidates(1) == whole
    with pytest.raises(ValueError, match=r"must be `uniform: \[from, to\]`"):
        search("random", 12, {"x": {"uniform": [0, 10**400]}})
    narrow = {"x": {"uniform": [1, 1.0000001]}}  # has two numbers of six digits: the ends
    assert 1 <= len(search("random", 60, narrow).candidates(1)) <= 2


@pytest.mark.parametrize(("name", "ends"), [("uniform", (-2.0, 5.0)), ("loguniform", (1e-3, 1e2))])
def test_quantiles_are_scipys(name: str, ends: tuple[float, float]) -> None:
    ours = [Distribution(name, *ends).quantile(share) for share in np.linspace(0, 1, 21)]
    law = scipy.stats.loguniform(*ends) if name == "loguniform" else scipy.stats.uniform(ends[0], ends[1] - ends[0])
    np.testing.assert_allclose(ours, law.ppf(np.linspace(0, 1, 21)), rtol=5e-6)


@pytest.mark.parametrize(("n_points", "n_rows"), [(30, 108), (9, 36), (100, 36)])
def test_halving_goes_on_as_scikit_learns(n_points: int, n_rows: int) -> None:
    X = np.arange(n_rows, dtype=float)[:, None]
    grid = {"quantile": np.linspace(0, 1, n_points)}
    theirs = HalvingGridSearchCV(DummyRegressor(strategy="quantile"), grid, min_resources="exhaust", cv=2)
    theirs.fit(X, X[:, 0])
    rungs = search("halving", folds=2).rungs(n_points, n_rows)
    assert [n for n, _ in rungs] == theirs.n_candidates_
    assert [rows for _, rows in rungs][:-1] == theirs.n_resources_[:-1]
    assert rungs[-1][1] == n_rows


# -------------------------------------------------------------------- what is chosen


def test_a_random_search_chooses_as_the_grid_of_its_points(arff: Path, tmp_path: Path) -> None:
    methods = {
        "A": tuned("split", search="random", points=3),
        "B": tuned("split", grid=DRAWN, search="random", points=5),
    }
    report = run(config(arff, methods), tmp_path / "random")
    tunes = [spec.tune for spec in config(arff, methods).methods.values()]
    grids = [{"learner.alpha": [p["learner.alpha"] for p in tune.candidates(1)]} for tune in tunes]
    whole = run(config(arff, {k: tuned("split", grid=g) for k, g in zip("AB", grids, strict=True)}), tmp_path / "grid")
    for name in ("chosen.csv", "scores.csv"):
        assert (report.folder / name).read_text() == (whole.folder / name).read_text()


def test_more_points_on_the_test_rows_are_more_trials(arff: Path, tmp_path: Path) -> None:
    few, more, all_of_them = (
        config(arff, {"A": tuned("test", search=kind, points=n)})
        for kind, n in (("random", 2), ("random", 3), ("grid", None))
    )
    splits = 6
    assert few.n_points("A") == len(few.points("A")) == 2
    assert [run(each, tmp_path).computed for each in (few, more, all_of_them)] == [2 * splits, splits, splits]


def test_halving_leaves_a_third_of_the_points_for_all_rows(arff: Path, tmp_path: Path) -> None:
    alphas = [10.0**k for k in range(-3, 6)]
    experiment = config(arff, {"A": tuned("split", grid={"learner.alpha": alphas}, search="halving")})
    chosen = pd.read_csv(run(experiment, tmp_path).folder / "chosen.csv")["value"].tolist()
    X, Y, splits = dense(arff, experiment)
    expected = []
    for i, split in enumerate(splits):
        name, train = f"tiny, split {i}, tuning", split.train
        order = np.argsort(np.random.PCG64(seed_sequence(1, name, "halving")).random_raw(60), kind="stable")
        few = train[np.sort(order[:20])]
        left = sorted(alphas, key=lambda a, few=few, name=name: round(plain_criterion(X[few], Y[few], name, a), 10))[:3]
        expected.append(min(left, key=lambda a, t=train, n=name: round(plain_criterion(X[t], Y[t], n, a), 10)))
    assert chosen == expected
    assert len(set(expected)) > 1  # else nothing was shown


def test_optuna_is_told_what_its_points_came_to(arff: Path, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tune = {"grid": DRAWN, "search": "optuna", "points": 14}  # the first ten are drawn at random
    experiment = config(arff, {"A": tuned("split", **tune)}, splits={"kind": "kfold", "folds": 3, "seed": 1})
    chosen = pd.read_csv(run(experiment, tmp_path).folder / "chosen.csv")["value"].tolist()
    X, Y, splits = dense(arff, experiment, 3)
    for i, split in enumerate(splits):
        name = f"tiny, split {i}, tuning"
        seed = int(seed_sequence(1, name, "optuna").generate_state(1)[0])
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

        def objective(trial, name=name, rows=split.train) -> float:
            alpha = Distribution("loguniform", 0.01, 1000).quantile(trial.suggest_float("learner.alpha", 0, 1))
            trial.set_user_attr("alpha", alpha)
            return plain_criterion(X[rows], Y[rows], name, alpha)

        study.optimize(objective, n_trials=14)
        best = min(study.trials, key=lambda trial: round(trial.value, 10))
        assert chosen[i] == pytest.approx(best.user_attrs["alpha"])


# -------------------------------------------------------------------- what is recorded and said


def test_what_was_tried_is_recorded_with_its_criterion(arff: Path, tmp_path: Path) -> None:
    methods = {"A": tuned("split", "f1", search="halving"), "B": tuned("dataset")}
    experiment = config(arff, methods)
    report = run(experiment, tmp_path)
    found = read_tried(report.folder, experiment)
    assert found.groupby(["method", "split"]).size().to_dict() == {("A", k): 4 for k in range(6)} | {("B", 0): 4}
    X, Y, _ = dense(arff, experiment)
    sums = [plain_criterion(X, Y, "tiny, tuning", alpha) / 4 for alpha in ALPHAS]
    np.testing.assert_allclose(found.query("method == 'B'")["value"], sums)
    assert found.groupby(["method", "split"])["chosen"].sum().eq(1).all()
    best = found.query("method == 'B'").sort_values("value", kind="stable")
    assert best["chosen"].tolist() == [True, False, False, False]
    results = mlcdr.open_results(report.folder)
    assert list(results.tried) == ["dataset", "method", "learner.alpha", "split", "metric", "value", "chosen"]
    assert results.tried["metric"].tolist() == ["f1"] * 24 + ["hamming_loss"] * 4
    assert results.tried["chosen"].tolist() == found["chosen"].tolist()
    np.testing.assert_allclose(results.tried["value"], found["value"], rtol=1e-11)
    page = report_page.make_page(report.folder)
    assert "tiny: the points tried" in page
    shown = re.findall(r"<title>(.), learner\.alpha", page)
    assert (shown.count("A"), shown.count("B")) == (4, 4)


def test_a_point_that_fails_is_tried_too_and_has_no_value(arff: Path, tmp_path: Path) -> None:
    path = "feature_space.n_components"
    tune = {"grid": {path: [99, 12]}, "folds": 3}
    methods = {"A": {"feature_space": "pca", "learner": "least_squares", "tune": tune}, "PLST": FOUR["PLST"]}
    tried = mlcdr.open_results(run(config(arff, methods, sweep={SIZES: [1, 2]}), tmp_path).folder).tried
    assert SIZES not in tried, "no tuned method has it"
    assert tried[path].tolist() == [99, 12] * 6
    assert (tried["value"].isna() == (tried[path] == 99)).all()
    assert (tried["chosen"] == (tried[path] == 12)).all()


def test_the_budget_is_said_before_a_run(arff: Path, tmp_path: Path) -> None:
    methods = {"A": tuned("split", search="random", points=3), "B": {"learner": "ridge"}, "C": FOUR["PLST"]}
    listener = Noting()
    run(config(arff, methods, splits={"kind": "kfold", "folds": 3, "seed": 1}), tmp_path, listener=listener)
    assert listener.notices == ["small: 45 fits, about 36 of them to choose parameters"]
    run(config(arff, methods), tmp_path, listener=listener)
    assert listener.notices[-1].startswith("small: 45 fits, about 36 of them to choose parameters; about ")
    assert listener.notices[-1].endswith(" s of one worker, by past timings")
