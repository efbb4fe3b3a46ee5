"""`splits.labelled`: which labels are hidden, who sees what, and that nothing comes through where it should not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter
from sklearn.base import BaseEstimator, TransformerMixin

from mlcdr.data.dataset import Dataset
from mlcdr.errors import ConfigError
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import group_by_split
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.division import make_splits
from mlcdr.experiment.loading import experiment_from, experiment_yaml
from mlcdr.experiment.splits import SplitSpec
from mlcdr.experiment.trials import plan_trials
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.papers.judging import Rules
from mlcdr.papers.matching import match_rows
from mlcdr.results.results import open_results
from tests import small
from tests.results_folders import write_folder

PATH = "splits.labelled"
KINDS: dict[str, dict[str, Any]] = {
    "shuffle": {"kind": "shuffle", "repeats": 3, "train_size": 0.75, "seed": 5},
    "kfold": {"kind": "kfold", "folds": 4, "seed": 5},
}


def splits_of(n: int = 101, **spec: Any):
    return make_splits(TypeAdapter(SplitSpec).validate_python(spec), "some", n)


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


# -------------------------------------------------------------------- the rows


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_labels_are_nested_and_a_part_of_the_training_rows(kind):
    whole = splits_of(**KINDS[kind])
    before: list[set[int]] = [set() for _ in whole]
    for share, written in ((0.1, "10%"), (0.3, 0.3), (0.5, "50%"), (1.0, "100%")):
        parts = splits_of(**KINDS[kind], labelled=written)
        for full, part, smaller in zip(whole, parts, before, strict=True):
            assert len(part.train) == int(share * len(full.train) + 0.5)
            assert np.array_equal(np.sort(np.r_[part.train, part.unlabelled]), full.train)
            assert np.array_equal(part.test, full.test)
            assert (np.diff(part.train) > 0).all()
            assert (np.diff(part.unlabelled) > 0).all()
            assert smaller <= set(part.train.tolist())
            smaller |= set(part.train.tolist())


def test_rows_are_chosen_at_random_anew_for_each_split_and_seed():
    one, other = (splits_of(**{**KINDS["kfold"], "seed": seed}, labelled=0.5) for seed in (1, 2))
    again = splits_of(**{**KINDS["kfold"], "seed": 1}, labelled=0.5)
    assert all(np.array_equal(a.train, b.train) for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one[0].train, other[0].train)
    whole = splits_of(**KINDS["kfold"])
    places = {tuple(np.searchsorted(w.train, h.train)) for w, h in zip(whole, whole.hiding(5), strict=True)}
    assert len(places) == len(whole)


def test_data_sets_that_are_divided_alike_hide_labels_of_different_rows():
    spec = TypeAdapter(SplitSpec).validate_python({"kind": "predefined", "labelled": "50%"})
    one, other = (make_splits(spec, name, 100, n_train=60)[0] for name in ("some", "other"))
    assert np.array_equal(one.test, other.test)
    assert not np.array_equal(one.train, other.train)
    assert one.identity != other.identity


def test_a_number_of_rows_and_at_least_one():
    assert len(splits_of(**KINDS["shuffle"], labelled=7)[0].train) == 7
    assert len(splits_of(**KINDS["shuffle"], labelled="0.1%")[0].train) == 1
    with pytest.raises(ConfigError, match=r"splits.labelled: 500 rows of the 76 that train on some"):
        splits_of(**KINDS["shuffle"], labelled=500)[0]


def test_other_identities():
    names = [str(splits_of(**KINDS["kfold"], labelled=share)[0].identity) for share in (None, 0.1, 0.3, 1.0)]
    assert len(set(names)) == 4
    assert "labelled" not in names[0]


# -------------------------------------------------------------------- who sees what


class Watcher(TransformerMixin, BaseEstimator):
    """A feature step that writes down what it was given, and changes nothing."""

    uses_unlabelled: ClassVar[bool] = True
    seen: ClassVar[list[tuple[np.ndarray, np.ndarray, Any]]] = []

    def fit(self, X: Any, y: Any = None, X_unlabelled: Any = None) -> Watcher:
        self.seen.append((X, y, X_unlabelled))
        return self

    def transform(self, X: Any) -> Any:
        return X


class Blind(Watcher):
    """The same, but it does not say that it uses rows without labels."""

    uses_unlabelled: ClassVar[bool] = False
    seen: ClassVar[list[tuple[np.ndarray, np.ndarray, Any]]] = []


METHODS = {
    "Watching": {"feature_space": f"{__name__}.Watcher", "learner": "least_squares"},
    "Blind": {"feature_space": f"{__name__}.Blind", "learner": "least_squares"},
    "CSFS": {"feature_space": {"csfs": {"n_features": 2}}, "learner": "least_squares"},
    "READER": {"feature_space": {"reader": {"n_features": 2, "sigma": 3.0}}, "learner": "least_squares"},
    "LE": {"learner": "reader_le"},
    "PLST": {"label_space": {"plst": 2}, "learner": "least_squares"},
    "LE in clusters": {"instance_space": {"cbmlc": {"n_clusters": 2}}, "learner": "reader_le"},
    "CSFS in clusters": {
        "instance_space": {"clmlc": {"n_clusters": 2, "n_components": 3, "meta_labels": None}},
        "feature_space": {"csfs": {"n_features": 2}},
        "learner": {"binary_relevance": None},
    },
}


def scores(arff: Path, **changes: Any) -> dict[tuple, dict[str, float]]:
    """(method, point, split) → values."""
    an_experiment = experiment_from(small.plain(arff, **{"sweep": {}, "metrics": ["hamming_loss"], **changes}))
    data = small.read_data(an_experiment)
    chosen = plan_trials(an_experiment, data)
    by_key = {trial.key: trial for trial in chosen}
    assert len(by_key) == len(chosen)
    found = {}
    for group in group_by_split(an_experiment, data.source, chosen):
        for score in Computer(data).compute(group).results:
            assert score.values is not None, score.error
            trial = by_key[score.key]
            found[trial.method, trial.point, trial.split] = dict(score.values)
    return found


def test_each_method_gets_what_it_may_have(arff):
    Watcher.seen.clear()
    Blind.seen.clear()
    splits = {**KINDS["kfold"], "labelled": "30%"}
    scores(arff, splits=splits, methods={name: METHODS[name] for name in ("Watching", "Blind")})
    dataset = small.planned(experiment_from(small.plain(arff)))[0]
    parts = make_splits(TypeAdapter(SplitSpec).validate_python(splits), dataset.name, dataset.n_instances)
    for part, watched, blind in zip(parts, Watcher.seen, Blind.seen, strict=True):
        for X, y, _ in (watched, blind):
            assert np.array_equal(X, dataset.X[part.train])
            assert np.array_equal(y, dataset.Y[part.train])
        assert np.array_equal(watched[2], dataset.X[part.unlabelled])
        assert blind[2] is None


def test_nothing_leaks(arff, monkeypatch):
    """Other features and labels in the test rows, and other hidden labels, change no fitted model."""
    splits = {**KINDS["kfold"], "labelled": "40%"}
    an_experiment = experiment_from(small.plain(arff, splits=splits, sweep={}, methods=METHODS))
    source = DataSource.of(an_experiment.datasets[0], an_experiment.splits)
    original = source.load()
    part = source.divide(original).splits[1]
    fitted: list[list[np.ndarray]] = []
    new = np.random.default_rng(9).standard_normal((20, original.n_features))
    fit = ComposedClassifier.fit_moments

    def watched(self: Any, moments: Any, **options: Any) -> Any:
        fit(self, moments, **options)
        fitted[-1].append(self.output(new[:, : moments.n_features]))
        return self

    monkeypatch.setattr(ComposedClassifier, "fit_moments", watched)
    rng = np.random.default_rng(0)
    for change in ("none", "hidden labels", "test rows"):
        X, Y = np.array(original.X), np.array(original.Y)
        if change == "hidden labels":
            Y[part.unlabelled] = rng.integers(0, 2, Y[part.unlabelled].shape)
        if change == "test rows":
            X[part.test] += rng.standard_normal(X[part.test].shape) * 10
            Y[part.test] = rng.integers(0, 2, Y[part.test].shape)

        def load(self: DataSource, X: Any = X, Y: Any = Y) -> Dataset:
            return Dataset(**{**vars(original), "X": X, "Y": Y})

        monkeypatch.setattr(DataSource, "load", load)
        fitted.append([])
        data = source.read()
        trials = [t for t in plan_trials(an_experiment, data) if t.split == 1]
        for group in group_by_split(an_experiment, data.source, trials):
            assert all(score.values is not None for score in Computer(data).compute(group).results)
    assert len(fitted[0]) == len(METHODS) + 2  # what is in each cluster of the last
    for other in fitted[1:]:
        for before, after in zip(fitted[0], other, strict=True):
            assert np.array_equal(before, after)


def test_hidden_labels_matter_where_they_are_not_hidden(arff):
    """The converse of the last test: with all labels the scores are others."""
    some = scores(arff, splits={**KINDS["kfold"], "labelled": "40%"}, methods={"PLST": METHODS["PLST"]})
    every = scores(arff, splits=KINDS["kfold"], methods={"PLST": METHODS["PLST"]})
    assert some != every


# -------------------------------------------------------------------- the sweep


def test_a_sweep_is_as_many_experiments(arff):
    methods = {name: METHODS[name] for name in ("CSFS", "PLST")}
    swept = scores(arff, splits=KINDS["kfold"], sweep={PATH: ["20%", 0.5]}, methods=methods)
    assert len(swept) == 2 * 2 * 4
    for written, text in (("20%", "20%"), (0.5, "0.5")):
        alone = scores(arff, splits={**KINDS["kfold"], "labelled": written}, methods=methods)
        for (method, _, split), values in alone.items():
            assert swept[method, ((PATH, text),), split] == pytest.approx(values), (method, text)


def test_a_sweep_of_sizes_within_it_still_shares_fits(arff):
    an_experiment = experiment_from(
        small.plain(arff, splits=KINDS["kfold"], sweep={PATH: ["20%", "50%"], small.SIZES: [1, 2, 3]})
    )
    trials = [t for t in small.planned(an_experiment)[1] if t.method == "PLST" and t.split == 0]
    assert len(trials) == 6
    assert len({id(t.family) for t in trials}) == 2
    assert {t.labelled for t in trials} == {0.2, 0.5}


def test_selected_features_in_a_sweep_are_ranked_once_a_split(arff, monkeypatch):
    from mlcdr.methods.feature_space.csfs import CSFS

    calls: list[int] = []
    original = CSFS._find_scores
    monkeypatch.setattr(CSFS, "_find_scores", lambda self, moments: calls.append(1) or original(self, moments))
    method = {"feature_space": "csfs", "learner": "least_squares"}
    sweep = {PATH: ["20%", "50%"], "feature_space.n_features": [f"{p}%" for p in range(20, 101, 20)]}
    found = scores(arff, splits=KINDS["kfold"], sweep=sweep, methods={"CSFS": method})
    assert len(found) == 2 * 5 * 4
    assert len(calls) == 2 * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"splits": {**KINDS["kfold"], "labelled": "130%"}}, "splits.labelled: must be a share of the training rows"),
        ({"splits": {**KINDS["kfold"], "labelled": 0}}, "splits.labelled: must be a share of the training rows"),
        ({"sweep": {PATH: ["30%", "a lot"]}}, r"sweep.splits.labelled.1: must be a share of the training rows"),
        ({"sweep": {PATH: ["30%", "30%"]}}, "the value 30% is listed twice"),
        ({"sweep": {PATH: ["30%"]}, "splits": {**KINDS["kfold"], "labelled": "30%"}}, "is set, too"),
    ],
)
def test_mistakes(arff, changes, message):
    with pytest.raises(ConfigError, match=message):
        experiment_from(small.plain(arff, **changes))


def test_a_choice_by_all_rows_would_see_hidden_labels(arff):
    tune = {"grid": {"learner.alpha": [0.1, 1]}, "scope": "dataset"}
    method = {"learner": "ridge", "tune": tune}
    with pytest.raises(ConfigError, match="hides some; take `split`"):
        experiment_from(small.plain(arff, sweep={PATH: ["30%"]}, methods={"Ridge": method}))
    method["tune"] = {**tune, "scope": "split"}
    assert scores(arff, sweep={PATH: ["60%"]}, methods={"Ridge": method})


def test_it_is_written_back_and_only_where_it_was_there(arff):
    plain = experiment_from(small.plain(arff))
    assert "labelled" not in experiment_yaml(plain)
    hiding = experiment_from(small.plain(arff, splits={**KINDS["kfold"], "labelled": "30%"}))
    assert experiment_from(hiding.resolved()) == hiding
    assert hiding.resolved()["splits"]["labelled"] == 0.3


@pytest.mark.parametrize(("swept", "found"), [(["10%", "30%"], [0, 1]), ([], [-1, 0])])
def test_published_cells_are_found_by_it(tmp_path, swept, found):
    """`labeled` is the share of rows with labels, swept or fixed (30%)."""
    reader = {"feature_space": {"reader": {"n_features": "60%"}}, "learner": "least_squares"}
    config = {
        "name": "table",
        "datasets": ["enron"],
        "splits": {"kind": "kfold", "folds": 5, "seed": 1, "labelled": "30%"},
        "metrics": ["macro_f1"],
        "sweep": {PATH: swept} if swept else {},
        "methods": {"READER": reader},
    }
    values = {("enron", "READER", *at, "macro_f1"): [0.1, 0.2] for at in ([[each] for each in swept] or [[]])}
    write_folder(tmp_path / "table", config, values, [PATH] if swept else [])
    cells = pd.DataFrame({"dataset": "enron", "method": "READER", "metric": "macro_f1"}, index=[0, 1])
    cells["setting"] = [f"labeled={share};feature_dim=60%" for share in ("10%", "30%")]
    assert match_rows(open_results(tmp_path / "table"), cells, Rules()) == found


def test_one_row_is_not_all_rows(arff):
    """1 is a number of rows and 100% a share, though the numbers are equal."""
    sweep = {"splits.labelled": [1, "100%"]}
    found = scores(arff, splits=KINDS["kfold"], sweep=sweep, methods={"PLST": METHODS["PLST"]})
    alone = scores(arff, splits={**KINDS["kfold"], "labelled": 1}, methods={"PLST": METHODS["PLST"]})
    every = scores(arff, splits=KINDS["kfold"], methods={"PLST": METHODS["PLST"]})
    for (_, point, split), values in found.items():
        expected = alone if dict(point)["splits.labelled"] == "1" else every
        assert values == expected["PLST", (), split]
