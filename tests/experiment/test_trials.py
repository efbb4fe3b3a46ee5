"""The plan's keys, the sharing of one fit, and the running of components that know nothing of moments."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from mlcdr import processes
from mlcdr.data.dataset import load_dataset
from mlcdr.errors import DataError
from mlcdr.execution import fitting
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import group_by_split
from mlcdr.experiment import estimators
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.estimators import build
from mlcdr.experiment.loading import experiment_yaml, load_experiment
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import TrialResult, plan_trials
from mlcdr.methods.component import Component
from mlcdr.methods.component_changes import separated
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.numerics.moments import Moments
from tests import small
from tests.small import FOUR, SIZES


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def keys(experiment: Experiment) -> dict[tuple, str]:
    return {(t.method, t.point, t.split): t.key for t in small.planned(experiment)[1]}


def scores_of(experiment: Experiment, method: str | None = None) -> dict[tuple, dict[str, float]]:
    """(method, point, split) → values, computed here and now; a failure is raised."""
    data = small.read_data(experiment)
    computer = Computer(data)
    chosen = [t for t in plan_trials(experiment, data) if method in (None, t.method)]
    by_key = {t.key: t for t in chosen}
    result = {}
    for group in group_by_split(experiment, data.source, chosen):
        for score in computer.compute(group).results:
            assert score.values is not None, score.error
            trial = by_key[score.key]
            result[trial.method, trial.point, trial.split] = dict(score.values)
    return result


# -------------------------------------------------------------------- keys


def test_every_trial_has_a_key_of_its_own(arff: Path) -> None:
    found = keys(small.experiment(arff))
    assert len(found) == len(set(found.values())) == 2 * 2 * 4


def test_keys_are_the_same_in_another_process(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff)
    (tmp_path / "e.yaml").write_text(experiment_yaml(experiment))
    code = (
        "import sys; from tests import small; from mlcdr.experiment.loading import load_experiment\n"
        "print(*[t.key for t in small.planned(load_experiment(sys.argv[1]))[1]])"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(small.__file__).parents[1]), "PYTHONHASHSEED": "7"}
    line = [sys.executable, "-c", code, str(tmp_path / "e.yaml")]
    printed = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout
    assert printed.split() == list(keys(experiment).values())


SPLITS = {"kind": "shuffle", "repeats": 4, "train_size": 0.75, "seed": 1}


@pytest.mark.parametrize(
    "changes",
    [
        {"splits": {**SPLITS, "seed": 2}},
        {"splits": {**SPLITS, "train_size": 0.5}},
        {"splits": {"kind": "kfold", "folds": 4, "seed": 1}},
        {"metrics": ["hamming_loss", {"f1": {"zero_division": 0}}, "encoding_error"]},
        {"metrics": ["hamming_loss", "f1", "encoding_error", "recall"]},
        {"metrics": ["hamming_loss", {"f1": {"as": "F"}}, "encoding_error"]},
        {"methods": {name: {**FOUR[name], "learner": "ridge"} for name in ("PBR", "PLST")}},
        {"methods": {n: {**FOUR[n], "threshold": {"fixed": 0.4}} for n in ("PBR", "PLST")}},
    ],
    ids=str,
)
def test_what_changes_scores_changes_every_key(arff: Path, changes: dict) -> None:
    assert not set(keys(small.experiment(arff)).values()) & set(keys(small.experiment(arff, **changes)).values())


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "other words"},
        {"name": "other"},
        {"splits": {**SPLITS, "repeats": 9}},
        {"methods": {name: FOUR[name] for name in ("CPLST", "PLST", "PBR", "OCCA")}},
        {"sweep": {SIZES: ["50%", 2, 1]}},
        {"metrics": ["encoding_error", "hamming_loss", "f1"]},
    ],
    ids=str,
)
def test_what_changes_no_score_changes_no_key(arff: Path, changes: dict) -> None:
    before, after = keys(small.experiment(arff)), keys(small.experiment(arff, **changes))
    assert before == {where: after[where] for where in before}


def test_a_parameter_is_part_of_the_key(arff: Path) -> None:
    one, two = ({"M": {"learner": {"ridge": {"alpha": alpha}}}} for alpha in (1.0, 2.0))
    before, after = (keys(small.experiment(arff, methods=m, sweep={})) for m in (one, two))
    assert not set(before.values()) & set(after.values())


def test_the_data_their_name_and_the_methods_name_are_part_of_the_key(arff: Path, tmp_path: Path) -> None:
    folds = tmp_path / "folds.csv"
    folds.write_text("fold\n" + "0\n1\n" * 30)
    splits = {"kind": "file", "path": str(folds)}
    before = set(keys(small.experiment(arff, splits=splits)).values())
    renamed = {"A": FOUR["PBR"], "B": FOUR["PLST"]}
    assert not before & set(keys(small.experiment(arff, splits=splits, methods=renamed)).values())
    twin = small.write_dataset(tmp_path / "twin", "twin")
    for suffix in (".arff", ".xml"):
        twin.with_suffix(suffix).write_bytes(arff.with_suffix(suffix).read_bytes())
    assert not before & set(keys(small.experiment(twin, splits=splits)).values())
    arff.write_text(arff.read_text() + "1,2,3,4,5,0,0,0,0,1,1\n")
    folds.write_text(folds.read_text() + "0\n")
    assert not before & set(keys(small.experiment(arff, splits=splits)).values())


def test_the_kfold_keys_do_not_depend_on_the_number_of_repeats(arff: Path) -> None:
    once, thrice = ({"kind": "kfold", "folds": 3, "repeats": r, "seed": 5} for r in (1, 3))
    before, after = keys(small.experiment(arff, splits=once)), keys(small.experiment(arff, splits=thrice))
    assert before == {where: after[where] for where in before}


def test_a_split_is_a_group(arff: Path) -> None:
    experiment = small.experiment(arff)
    _, trials = small.planned(experiment)
    made = list(group_by_split(experiment, DataSource.of(experiment.datasets[0], experiment.splits), reversed(trials)))
    assert [group.split for group in made] == [0, 1, 2, 3]
    assert {trial.key for group in made for trial in group.trials} == {trial.key for trial in trials}
    assert all(trial.split == group.split for group in made for trial in group.trials)


# -------------------------------------------------------------------- one fit for all sizes


@pytest.mark.parametrize("threshold", ["round", "maximise"])
@pytest.mark.parametrize("name", FOUR)
def test_one_fit_serves_all_sizes_as_a_fit_for_each_would(
    name: str, threshold: str, arff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = {name: {**FOUR[name], "threshold": threshold}}
    sizes = [3, "20%", 1, "100%", "60%"]
    fits = []
    fit = ComposedClassifier.fit_moments

    def counted(self, *arguments, **options):
        fits.append(self)
        return fit(self, *arguments, **options)

    monkeypatch.setattr(ComposedClassifier, "fit_moments", counted)
    metrics = ["hamming_loss", "f1", "encoding_error", "prediction_error", "loss_bound"]
    together = scores_of(small.experiment(arff, methods=method, sweep={SIZES: sizes}, metrics=metrics))
    assert len(fits) == 4, "a split of a method is to cost one fit"
    for size in sizes:
        alone = scores_of(small.experiment(arff, methods=method, sweep={SIZES: [size]}, metrics=metrics))
        assert len(alone) == 4
        for where, values in alone.items():
            assert together[where] == pytest.approx(values, rel=1e-9, abs=1e-12)
    assert len(fits) == 4 + 4 * len(sizes)
    assert len({tuple(values.values()) for values in together.values()}) > len(sizes), "sizes must differ for a test"


@pytest.mark.parametrize(("rounding", "sizes"), [("floor", (4, 1)), ("nearest", (4, 2)), ("ceiling", (5, 2))])
@pytest.mark.parametrize("name", FOUR)
def test_one_fit_serves_the_sizes_as_the_label_space_rounds_them(
    name: str, rounding: str, sizes: tuple[int, int], arff: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 6 labels 75 % are 4.5, and 25 % are 1.5: the fit of the largest must be large enough, and cut as asked."""
    method = {name: {"label_space": {name.lower(): {"rounding": rounding}}, "learner": "least_squares"}}
    as_numbers = {name: FOUR[name]}
    metrics = ["hamming_loss", "encoding_error", "prediction_error"]
    fits = []
    fit = ComposedClassifier.fit_moments
    monkeypatch.setattr(ComposedClassifier, "fit_moments", lambda *a, **o: (fits.append(a), fit(*a, **o))[1])
    found = scores_of(small.experiment(arff, methods=method, sweep={SIZES: [4, "75%", "25%"]}, metrics=metrics))
    assert len(fits) == 4
    plain = scores_of(small.experiment(arff, methods=as_numbers, sweep={SIZES: [*sizes]}, metrics=metrics))
    for written, size in zip(("75%", "25%"), sizes, strict=True):
        for split in range(4):
            expected = plain[name, ((SIZES, str(size)),), split]
            assert found[name, ((SIZES, written),), split] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("source", ["tiny", "yeast"])
def test_trials_score_as_the_estimator_does_point_for_point(
    name: str, source: str, arff: Path, real_dataset: Callable
) -> None:
    splits = {**SPLITS, "repeats": 2}
    if source == "yeast":
        real_dataset("yeast")
    of = arff if source == "tiny" else Path("yeast")
    experiment = small.experiment(of, splits=splits, methods={name: FOUR[name]}, sweep={SIZES: [1, "40%", "100%"]})
    dataset, trials = small.planned(experiment)
    divided = small.read_data(experiment).splits
    found = scores_of(experiment)
    for trial in trials:
        split = divided[trial.split]
        estimator = estimators.seeded(build(trial.spec), experiment.seed, trial)
        said = estimator.fit(dataset.X[split.train], dataset.Y[split.train]).predict(dataset.X[split.test])
        wrong = np.mean(said != dataset.Y[split.test])
        assert found[trial.method, trial.point, trial.split]["hamming_loss"] == pytest.approx(wrong, abs=1e-12)


def test_a_size_that_is_too_large_fails_alone(arff: Path) -> None:
    experiment = small.experiment(arff, methods={"PLST": FOUR["PLST"]}, sweep={SIZES: [2, 200, 4]})
    data = small.read_data(experiment)
    trials = plan_trials(experiment, data)
    by_key = {trial.key: trial for trial in trials}
    scores = [
        s for group in group_by_split(experiment, data.source, trials) for s in Computer(data).compute(group).results
    ]
    assert {dict(by_key[s.key].point)[SIZES] for s in scores if s.values is None} == {"200"}
    assert len(scores) == 12
    error = next(s.error for s in scores if s.error)
    assert "Traceback" in error
    assert "200" in error.splitlines()[-1]


# -------------------------------------------------------------------- foreign components

KNN = {"learner": {"sklearn.neighbors.KNeighborsRegressor": {"n_neighbors": 3}}}


def halves(experiment: Experiment, split: int):
    dataset, _ = small.planned(experiment)
    part = small.read_data(experiment).splits[split]
    return dataset.X[part.train], dataset.Y[part.train], dataset.X[part.test], dataset.Y[part.test]


def test_a_regressor_of_scikit_learn_learns_codes(arff: Path) -> None:
    experiment = small.experiment(arff, methods={"M": {"label_space": "plst", **KNN}}, sweep={SIZES: [2, 4]})
    found = scores_of(experiment)
    for size in (2, 4):
        for split in range(4):
            X, Y, X_test, Y_test = halves(experiment, split)
            space = PLST(size).fit(X, Y)
            codes = KNeighborsRegressor(n_neighbors=3).fit(X, space.encode(Y)).predict(X_test)
            wrong = np.mean((space.decode(codes) > 0.5) != Y_test)
            assert found["M", ((SIZES, str(size)),), split]["hamming_loss"] == pytest.approx(wrong, abs=1e-12)


def test_a_classifier_of_scikit_learn_learns_label_sets(arff: Path) -> None:
    methods = {"M": {"learner": {"sklearn.neighbors.KNeighborsClassifier": {"n_neighbors": 3}}}}
    found = scores_of(small.experiment(arff, methods=methods, sweep={}))
    for split in range(4):
        X, Y, X_test, Y_test = halves(small.experiment(arff), split)
        said = KNeighborsClassifier(n_neighbors=3).fit(X, Y).predict(X_test)
        values = found["M", (), split]
        assert values["hamming_loss"] == np.mean(said != Y_test)
        assert np.isnan(values["encoding_error"]), "a classifier has no code"


def test_a_transformer_of_scikit_learn_reduces_the_features(arff: Path) -> None:
    methods = {"M": {"feature_space": {"sklearn.decomposition.PCA": {"n_components": 2}}, "learner": "least_squares"}}
    found = scores_of(small.experiment(arff, methods=methods, sweep={}))
    for split in range(4):
        X, Y, X_test, Y_test = halves(small.experiment(arff), split)
        pca = PCA(2).fit(X)
        said = LinearRegression().fit(pca.transform(X), Y).predict(pca.transform(X_test)) > 0.5
        assert found["M", (), split]["hamming_loss"] == np.mean(said != Y_test)


def test_randomness_is_seeded_by_data_set_split_and_method(arff: Path) -> None:
    part = {"learner": {"sklearn.ensemble.RandomForestClassifier": {"n_estimators": 3}}}
    experiment = small.experiment(arff, methods={"A": part, "B": part}, sweep={}, metrics=["hamming_loss"])
    _, trials = small.planned(experiment)
    seeds = {}
    for trial in trials:
        estimator = estimators.seeded(build(trial.spec), experiment.seed, trial)
        seeds[trial.method, trial.split] = estimator.learner.random_state
    assert len(set(seeds.values())) == 8
    assert all(isinstance(seed, int) for seed in seeds.values())
    found = scores_of(experiment)
    assert found == scores_of(experiment)
    for (method, split), seed in seeds.items():
        X, Y, X_test, Y_test = halves(experiment, split)
        said = RandomForestClassifier(3, random_state=seed).fit(X, Y).predict(X_test)
        assert found[method, (), split]["hamming_loss"] == np.mean(said != Y_test)


def test_a_seed_that_the_config_gives_is_kept(arff: Path) -> None:
    part = {"learner": {"tests.small.Guess": {"random_state": 5}}}
    experiment = small.experiment(arff, methods={"M": part}, sweep={})
    trial = small.planned(experiment)[1][0]
    assert estimators.seeded(build(trial.spec), 1, trial).learner.random_state == 5


# -------------------------------------------------------------------- data that change


def test_data_that_change_between_plan_and_work_are_refused(arff: Path) -> None:
    experiment = small.experiment(arff)
    data = small.read_data(experiment)
    group = next(group_by_split(experiment, data.source, plan_trials(experiment, data)))
    arff.write_text(arff.read_text() + "1,2,3,4,5,0,0,0,0,1,1\n")
    with pytest.raises(DataError, match="changed while the run was going on"):
        Computer().compute(group)


def test_the_resolved_experiment_has_the_same_keys(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff, methods={**FOUR, "Mine": {"learner": {"tests.small.Guess": {"seconds": 0.0}}}})
    (tmp_path / "experiment.yaml").write_text(experiment_yaml(experiment))
    assert keys(load_experiment(tmp_path / "experiment.yaml")) == keys(experiment)


def test_the_default_learner_shares_its_fit() -> None:
    assert LeastSquares().independent_outputs, "or one fit would not serve all sizes and the tests above say nothing"


# -------------------------------------------------------------------- nothing shared


LINES = {
    "BR": {"learner": {"binary_relevance": {"estimator": {"least_squares": "drop_aliased"}}}},
    "BR+": {"learner": "br_plus"},
    "CC": {"learner": {"classifier_chain": {"estimator": {"ridge": {"alpha": 0.1}}}}},
    "PLST": {"label_space": "plst", "learner": "least_squares"},
    "kernel-CPLST": {"label_space": "kernel_cplst", "learner": {"kernel_ridge": {"alpha": 0.25, "gamma": 0.1}}},
    "kernel OCCA": {"label_space": {"kernel_occa": {"regression": "kernel_ridge"}}, "learner": "least_squares"},
    "DDSR": {"dual_space": "ddsr", "learner": "least_squares", "threshold": {"maximise": "f1"}},
    "IDSR": {"dual_space": {"idsr": {"n_features": 3}}, "learner": "ridge", "threshold": {"maximise": "f1"}},
    "kNN": {"feature_space": {"pca": 4}, "learner": "sklearn.neighbors.KNeighborsClassifier"},
}


def test_nothing_shared_gives_the_same_scores(arff: Path) -> None:
    sweep = {SIZES: [1, 3], "dual_space.n_labels": [2, 4], "dual_space.n_components": [2, 4]}
    shared, alone = (
        scores_of(small.experiment(arff, methods=LINES, sweep=sweep, share=share)) for share in (True, False)
    )
    assert shared.keys() == alone.keys()
    for at, values in shared.items():
        assert alone[at] == pytest.approx(values, rel=1e-12, nan_ok=True), at


def test_nothing_shared_is_nothing_shared(arff: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial has moments of its own, and each output a fit of its own, of one output."""
    seen, outputs = [], []
    fit = ComposedClassifier.fit_moments
    solve = LeastSquares._solve
    monkeypatch.setattr(ComposedClassifier, "fit_moments", lambda self, m, **k: (seen.append(m), fit(self, m, **k))[1])
    monkeypatch.setattr(LeastSquares, "_solve", lambda self, m: (outputs.append(m), solve(self, m))[1])
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.75, "seed": 1}
    methods = {name: LINES[name] for name in ("BR", "BR+", "PLST")}
    scores_of(small.experiment(arff, methods=methods, sweep={SIZES: [1, 3]}, splits=splits, share=False))
    assert len(seen) == len(set(map(id, seen))) == 4  # BR, BR+ and two sizes of PLST
    assert [m.n_labels for m in outputs] == [1] * (6 + 2 * 6 + 1 + 3)
    assert len({id(m.memo) for m in outputs}) == len(outputs)


def test_sharing_is_part_of_the_key_and_of_the_resolved_config(arff: Path) -> None:
    shared, alone = (small.experiment(arff, share=share) for share in (True, False))
    assert not set(keys(shared).values()) & set(keys(alone).values())
    assert "share" not in shared.resolved()
    assert alone.resolved()["share"] is False


def test_what_stands_in_for_a_learner_where_nothing_is_shared() -> None:
    def parted(written):
        return separated(Component.parse("learner", written)).plain()

    assert parted({"ridge": 0.1}) == {"separate": {"estimator": {"ridge": {"alpha": 0.1}}}}
    assert parted("br_plus") == {"br_plus": {"estimator": "separate"}}
    assert parted({"classifier_chain": {"estimator": "ridge", "order": [1, 0]}}) == {
        "classifier_chain": {"estimator": {"separate": {"estimator": "ridge"}}, "order": [1, 0]}
    }
    for unchanged in ("sklearn.neighbors.KNeighborsClassifier", "separate"):
        assert parted(unchanged) == unchanged


# -------------------------------------------------------------------- what is kept of the features


def test_what_is_told_of_the_dimensions_kept(arff: Path) -> None:
    methods = {
        "two steps": {"feature_space": ["sklearn.preprocessing.StandardScaler", {"pca": 2}], "learner": "ridge"},
        "Share": {"feature_space": "tests.experiment.plugged.HalfOfAll", "learner": "ridge"},
        "DDSR": {"dual_space": "ddsr", "learner": "ridge"},
        "Ridge": {"learner": "ridge"},
    }
    metrics = ["n_dimensions", "eigenvalue_share"]
    found = scores_of(small.experiment(arff, methods=methods, metrics=metrics, sweep={}))
    told = {method: list(values.values()) for (method, _, split), values in found.items() if split == 0}
    assert told["two steps"][0] == 2
    assert told["Share"] == [4, 0.5]
    assert np.isnan(told["DDSR"] + told["Ridge"]).all()


def test_shuffled_rows_as_many_as_the_train_files(tmp_path: Path) -> None:
    """The rows are the full file's: those of a train and a test file beside it only count."""
    full = small.write_dataset(tmp_path / "both", "both", n=60)
    for part, n in (("train", 25), ("test", 35)):
        small.write_dataset(tmp_path / "other", "both", n=n, seed=n)
        (tmp_path / "other" / "both.arff").rename(tmp_path / "both" / f"both-{part}.arff")
    splits = {"kind": "shuffle", "repeats": 2, "train_size": "predefined", "seed": 1}
    described = small.experiment(full, splits=splits)
    source = DataSource.of(described.datasets[0], described.splits)
    dataset = source.load()
    assert dataset.n_instances == 60
    assert dataset.X[0].tolist() == load_dataset(full).X[0].tolist()
    assert [len(split.train) for split in source.divide(dataset).splits] == [25, 25]


class Wraps(BaseEstimator):
    """As compiled code does, raises a SystemError about an interrupt that came while it ran."""

    def fit(self, X, y):
        try:
            processes._received.append(signal.SIGINT)
            raise processes.Stop
        except processes.Stop as error:
            raise SystemError("returned a result with an exception set") from error

    def predict(self, X):
        raise NotImplementedError


def test_an_interrupt_inside_compiled_code_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_received", [])
    arff = small.write_dataset(tmp_path / "data")
    experiment = small.experiment(arff, methods={"A": {"learner": f"{__name__}.Wraps"}}, sweep={})
    data = small.read_data(experiment)
    (group, *_) = group_by_split(experiment, data.source, small.planned(experiment)[1])
    with pytest.raises(processes.Stop):
        Computer(data).compute(group)


class Square:
    """What `KeepsProducts` keeps of a split; `alive` are those that exist."""

    made: ClassVar[int] = 0
    most: ClassVar[int] = 0
    alive: ClassVar[weakref.WeakSet[Square]] = weakref.WeakSet()

    def __init__(self, of: Any):
        Square.made += 1
        self.of = of  # as moments and what they keep refer to each other
        self.alive.add(self)
        Square.most = max(Square.most, len(self.alive))


class KeepsProducts(LeastSquares):
    def fit_moments(self, moments: Moments) -> KeepsProducts:
        moments.labels.once("an n×n matrix", lambda: Square(moments.labels))
        return super().fit_moments(moments)


TUNED = {"grid": {"learner.rank_deficient": ["minimum_norm", "drop_aliased"]}, "folds": 5, "metric": "hamming_loss"}


def _count_squares(arff: Path, **changes: Any) -> None:
    """Compute an experiment of two splits, without the garbage collector as the command line, and count `Square`s."""
    splits = {"kind": "shuffle", "repeats": 2, "train_size": 0.9, "seed": 1}
    experiment = small.experiment(arff, **{"sweep": {}, "splits": splits, "metrics": ["hamming_loss"], **changes})
    data = small.read_data(experiment)
    computer = Computer(data)
    Square.made = Square.most = 0
    gc.disable()
    try:
        for group in group_by_split(experiment, data.source, plan_trials(experiment, data)):
            for score in computer.compute(group).results:
                assert score.values is not None, score.error
            assert not Square.alive
            assert not gc.isenabled(), "as it was before"
    finally:
        gc.enable()


@pytest.mark.parametrize(("tune", "made"), [(None, 2), (TUNED, 12)], ids=["split", "folds"])
def test_what_is_computed_of_a_split_or_of_a_fold_is_freed_after_it(arff: Path, tune: Any, made: int) -> None:
    _count_squares(arff, methods={"A": {"learner": f"{__name__}.KeepsProducts", "tune": tune}})
    assert Square.made == made
    assert Square.most == 1


def test_what_is_computed_for_one_fit_is_freed_after_it(arff: Path) -> None:
    method = {"learner": f"{__name__}.KeepsProducts"}
    _count_squares(arff, methods={"A": method}, sweep=TUNED["grid"], share=False)
    n_fits = 4
    assert Square.made == n_fits * Square.most, "there are several, since outputs are fitted one by one"


def test_the_seed_of_the_methods_is_in_every_key(arff: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself: it is that of the splits, whose identity need not tell it."""
    before = set(keys(small.experiment(arff)).values())
    monkeypatch.setattr(Experiment, "seed", 2)
    assert not before & set(keys(small.experiment(arff)).values())


def test_refitting_a_threshold_is_a_part_of_fitting(arff: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block that is measured counts a million seconds here: with a learned threshold there is one more."""

    @contextlib.contextmanager
    def a_million() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(seconds=1e6)

    monkeypatch.setattr(fitting, "metered", a_million)
    methods = {"fixed": FOUR["PLST"], "learned": {**FOUR["PLST"], "threshold": {"maximise": "f1"}}}
    found = scores_of(small.experiment(arff, methods=methods, metrics=["fit_seconds"]))
    for (method, point, split), values in found.items():
        if method == "learned":
            added = values["fit_seconds"] - found["fixed", point, split]["fit_seconds"]
            assert added == pytest.approx(1e6, abs=1e5)


def test_what_was_planned_and_what_came_of_it_stay_as_they_are(arff):
    for each in (small.planned(small.experiment(arff))[1][0], TrialResult("a", {"f1": 1.0})):
        with pytest.raises(FrozenInstanceError):
            each.key = "b"
