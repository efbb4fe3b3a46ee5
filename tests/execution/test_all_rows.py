"""`mlcdr fit` and `mlcdr.fit`: a method at the best point of its run, fitted to all rows."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import mlcdr
from mlcdr.errors import ResultsError, UserError
from mlcdr.execution.models import load_model
from tests.conftest import Outcome

SIZES = "label_space.n_components"
TUNE = {"grid": {"learner.alpha": [0.01, 1.0, 100.0]}, "folds": 3, "metric": "hamming_loss"}
CONFIG: Mapping[str, Any] = {
    "name": "sizes",
    "datasets": ["mine"],
    "splits": {"kind": "kfold", "folds": 3, "seed": 1},
    "metrics": ["hamming_loss", "micro_f1", "fit_seconds"],
    "sweep": {SIZES: [1, 2, 4]},
    "methods": {
        "PLST": {"label_space": "plst", "learner": "ridge"},
        "Tuned": {"label_space": "plst", "learner": "ridge", "tune": TUNE},
        "Ridge": {"learner": "ridge"},
        "Best": {"learner": "ridge", "tune": {"grid": {"learner.alpha": [0.01, 1000.0]}, "scope": "test"}},
    },
}


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = (X @ rng.standard_normal((5, 4)) + rng.standard_normal((60, 4)) > 0).astype(int)
    return X, Y


@pytest.fixture(scope="module")
def results(data: tuple[np.ndarray, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> mlcdr.Results:
    return mlcdr.run(CONFIG, datasets={"mine": data}, out=tmp_path_factory.mktemp("results"), quiet=True)


def _fit(data: Any, method: str, **options: Any) -> mlcdr.Model:
    return mlcdr.fit(CONFIG, method, datasets={"mine": data}, quiet=True, **options)


def test_the_best_point_by_the_mean_over_the_splits_is_fitted_to_all_rows(data: Any, results: mlcdr.Results) -> None:
    for metric, pick in (("hamming_loss", "idxmin"), ("micro_f1", "idxmax")):
        means = results.scores.query("method == 'PLST' and metric == @metric").groupby(SIZES)["value"].mean()
        size = int(getattr(means, pick)())
        model = _fit(data, "PLST", results=results, metric=metric)
        assert model.about["point"] == f"{SIZES} = {size}"
        by_hand = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.PLST(size)).fit(*data)
        wanted = by_hand.decision_function(data[0])
        np.testing.assert_allclose(model.decision_function(data[0]), wanted, atol=1e-10)


def test_a_stated_point_needs_no_results(data: Any) -> None:
    model = _fit(data, "PLST", at={SIZES: 2})
    by_hand = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.PLST(2)).fit(*data)
    np.testing.assert_allclose(model.decision_function(data[0]), by_hand.decision_function(data[0]), atol=1e-10)


class SeesCollector(mlcdr.LeastSquares):
    """What the garbage collector leaves out, in each fit: how many objects."""

    left_out: ClassVar[list[int]] = []

    def fit_moments(self, moments: Any) -> SeesCollector:
        SeesCollector.left_out.append(gc.get_freeze_count())
        return super().fit_moments(moments)


def test_what_a_fold_computed_is_freed_without_looking_through_what_was_there_before(data: Any) -> None:
    """To look through all modules after each fold takes longer than a small fit."""
    tune = {"grid": {"learner.rank_deficient": ["minimum_norm", "drop_aliased"]}, "folds": 2, "metric": "hamming_loss"}
    method = {"learner": f"{__name__}.SeesCollector", "tune": tune}
    before = gc.get_freeze_count()
    mlcdr.fit({**CONFIG, "methods": {"Own": method}, "sweep": {}}, datasets={"mine": data}, quiet=True)
    assert len(SeesCollector.left_out) == 5, "two points on two folds, and all rows"
    assert min(SeesCollector.left_out) > before


@pytest.mark.slow
def test_what_is_tuned_is_chosen_again_within_all_rows(data: Any) -> None:
    """As `scope: dataset` chooses, whose choice is on record."""
    model = _fit(data, "Tuned", at={SIZES: 4})
    tuned = {**CONFIG["methods"]["Tuned"], "tune": TUNE | {"scope": "dataset"}}
    config = {**CONFIG, "sweep": {SIZES: [4]}, "methods": {"Tuned": tuned}}
    whole = mlcdr.run(config, datasets={"mine": data}, out=None, quiet=True)
    chosen = whole.chosen["value"].unique().tolist()
    assert model.about["point"] == f"{SIZES} = 4; learner.alpha = {chosen[0]}"
    assert f"{model.classifier.learner_.alpha:g}" == f"{float(chosen[0]):g}"


def test_the_best_of_a_grid_that_was_chosen_on_the_test_rows(data: Any, results: mlcdr.Results) -> None:
    scores = results.scores.query("method == 'Best' and metric == 'hamming_loss'")
    best = scores.groupby("learner.alpha")["value"].mean().idxmin()
    assert _fit(data, "Best", results=results).about["point"] == f"learner.alpha = {best}"


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        (None, {}, r"sizes: which method\? \(PLST, Tuned, Ridge, Best\)"),
        ("PLTS", {}, "sizes: no method 'PLTS'; did you mean 'PLST'"),
        ("Ridge", {"dataset": "other"}, "sizes: no data set 'other'"),
        ("PLST", {}, rf"PLST has 3 points; give the results folder of its run, or .*`--at {SIZES}=1`"),
        ("PLST", {"at": {SIZES: 3}}, f"at: {SIZES}: '3' is none of its values in the sweep: 1, 2, 4"),
        ("Ridge", {"at": {SIZES: 2}}, f"at: {SIZES} is not swept for Ridge"),
        ("PLST", {"metric": "fit_secnds", "results": True}, "no metric 'fit_secnds'; did you mean 'fit_seconds'"),
        ("PLST", {"results": 5}, "results: must be Results, or the path of a results folder; found .* type int"),
        ("Ridge", {"out": "model.pkl"}, "model.pkl: a model file ends in .skops or .joblib"),
    ],
)
def test_what_is_wrong_is_said(
    method: str | None, options: dict[str, Any], said: str, data: Any, results: mlcdr.Results
) -> None:
    if options.get("results") is True:
        options = {**options, "results": results}
    with pytest.raises(UserError, match=said):
        _fit(data, method, **options)  # type: ignore[arg-type]


def test_results_that_lack_trials_choose_no_point(data: Any, results: mlcdr.Results) -> None:
    """Those of other data do not count."""
    X, Y = data
    with pytest.raises(ResultsError, match="9 of 9 trials of PLST on mine have no result there"):
        _fit((X + 1, Y), "PLST", results=results)


def test_a_later_run_of_another_plan_does_not_change_the_choice(
    data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {**CONFIG, "methods": {"PLST": CONFIG["methods"]["PLST"]}, "metrics": ["hamming_loss"]}
    told = set()
    for later in ({}, {"splits": {"kind": "kfold", "folds": 3, "seed": 5}}, {"sweep": {}}):
        results = mlcdr.run({**config, **later}, datasets={"mine": data}, out=tmp_path, quiet=True)
        mlcdr.fit(config, datasets={"mine": data}, results=results)
        told.add(capsys.readouterr().err)
    assert len(told) == 1, told


def test_a_method_that_cannot_be_fitted_is_one_line(data: Any) -> None:
    wide = {"feature_space": {"sklearn.decomposition.PCA": {"n_components": 20}}, "learner": "ridge"}
    config = {**CONFIG, "methods": {"Wide": wide}, "sweep": {}}
    with pytest.raises(UserError, match=r"^Wide cannot be fitted to all rows of mine: ValueError: n_components=20"):
        mlcdr.fit(config, datasets={"mine": data}, quiet=True)


@pytest.mark.parametrize("missing", ["mean", "zero"])
def test_gaps_of_new_rows_are_filled_as_those_of_the_training_rows(missing: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.standard_normal((30, 3)) + 5, columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "blue", "green"], 30)
    frame.loc[2, "a"] = np.nan
    data = mlcdr.Dataset.of(frame, rng.integers(0, 2, (30, 2)), missing=missing)
    config = {**CONFIG, "sweep": {}, "methods": {"Ridge": {"learner": "ridge"}}}
    path = tmp_path / "m.joblib"
    mlcdr.fit(config, datasets={"mine": data}, out=path, quiet=True)
    new = frame.head(4).assign(b=[np.nan, 1, 2, 3], colour=["red", None, "blue", "green"])
    found = load_model(path, trust=True).read(new)
    filled = new.assign(b=[frame["b"].mean() if missing == "mean" else 0, 1, 2, 3])
    marks = pd.get_dummies(frame["colour"], dtype=float)
    wanted = np.column_stack([filled[["a", "b", "c"]].to_numpy(), pd.get_dummies(new["colour"], dtype=float)])
    wanted[2, 0] = frame["a"].mean() if missing == "mean" else 0
    wanted[1, 3:] = marks.mean() if missing == "mean" else 0
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("ending", [".joblib", ".skops"])
def test_from_a_messy_csv_to_predictions_of_new_rows(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    """Words, dates and gaps are coded by the model, and unknown words are taken as missing if that is asked for."""
    if ending == ".skops":
        pytest.importorskip("skops")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    n = 40
    frame = pd.DataFrame(
        {"age": rng.integers(20, 80, n).astype(float), "colour": rng.choice(["red", "blue", "green"], n)}
    )
    frame["joined"] = pd.date_range("2020-01-30", periods=n).strftime("%Y-%m-%d")
    frame.loc[3, "age"] = np.nan
    frame["tag_old"] = (frame["age"] > 50).astype(int)
    frame["tag_red"] = (frame["colour"] == "red").astype(int)
    frame.to_csv("people.csv", index=False)
    Path("e.yaml").write_text(
        "name: people\n"
        "datasets: [{people.csv: {labels: tag_*, dates: parts, missing: keep}}]\n"
        "splits: {kind: kfold, folds: 2, seed: 1}\n"
        "metrics: [hamming_loss]\n"
        "sweep: {label_space.n_components: [1, 2]}\n"
        "methods:\n"
        "  PLST: {feature_space: sklearn.impute.SimpleImputer, label_space: plst, learner: ridge}\n"
    )
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    done = mlcdr("fit", "e.yaml", "--out", f"m{ending}")
    assert done.code == 0, done.err
    assert "PLST: label_space.n_components = 2: the best of 2 points by hamming_loss, " in done.err
    assert f"written: m{ending}, PLST fitted to all rows of people" in done.err
    frame.drop(columns=["tag_old", "tag_red"]).head(12).replace({"colour": {"blue": "violet"}}).to_csv(
        "new.csv", index=False
    )
    refused = mlcdr("predict", f"m{ending}", "new.csv", "--trust")
    assert refused.code == 2
    assert "--unknown missing" in refused.err
    predicted = mlcdr("predict", f"m{ending}", "new.csv", "--trust", "--unknown", "missing")
    assert predicted.code == 0, predicted.err
    n_violet = int((frame["colour"].head(12) == "blue").sum())
    assert f"new.csv: {n_violet} word" in predicted.err
    model = load_model(f"m{ending}", trust=True)
    gaps = model.classifier.predict(model.read(frame.head(12).replace({"colour": {"blue": None}})))
    rows = [line.split(",")[1:3] for line in predicted.out.splitlines()[1:]]
    np.testing.assert_array_equal(np.array(rows, dtype=int), gaps)
