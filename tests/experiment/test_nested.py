"""Components within classes of other packages: read and judged, varied, seeded, versioned and written back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import StandardScaler

from mlcdr.errors import ConfigError
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import group_by_split
from mlcdr.experiment.estimators import build, seeded
from mlcdr.experiment.loading import experiment_from, experiment_yaml, load_experiment
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.experiment.schema import read_schema
from mlcdr.methods.component import Component
from mlcdr.methods.foreign import Adapted
from tests import small
from tests.experiment.tables import records

LOGISTIC = "sklearn.linear_model.LogisticRegression"
FOREST = "sklearn.ensemble.RandomForestClassifier"
SCALER = "sklearn.preprocessing.StandardScaler"
CHAIN = {"sklearn.multioutput.ClassifierChain": {"estimator": {LOGISTIC: {"C": 0.5}}, "order": "random"}}
PIPELINE = {"sklearn.pipeline.Pipeline": {"steps": [{"scale": {SCALER: None}}, ["model", {FOREST: {"max_depth": 2}}]]}}


@pytest.fixture(scope="module")
def arff(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_dataset(tmp_path_factory.mktemp("nested"))


def of(arff: Path, methods: dict[str, Any], **changes: Any) -> Experiment:
    return small.experiment(arff, methods=methods, **{"sweep": {}, "metrics": ["hamming_loss"]} | changes)


def made(learner: Any) -> Any:
    return Component.parse("learner", learner).build()


# -------------------------------------------------------------------- what is made


def test_a_parameter_is_a_component_where_it_is_a_mapping_with_one_dotted_key() -> None:
    chain = made(CHAIN)
    assert isinstance(chain, ClassifierChain)
    assert isinstance(chain.estimator, LogisticRegression)
    assert (chain.estimator.C, chain.order) == (0.5, "random")


def test_the_steps_of_a_pipeline_are_pairs_or_mappings_of_one_name() -> None:
    pipeline = made(PIPELINE)
    assert isinstance(pipeline, Pipeline)
    assert [(name, type(step).__name__) for name, step in pipeline.steps] == [
        ("scale", "StandardScaler"),
        ("model", "RandomForestClassifier"),
    ]
    assert all(type(step) is tuple for step in pipeline.steps)


def test_a_union_of_features_and_columns_of_their_own() -> None:
    union = made({"sklearn.pipeline.FeatureUnion": {"transformer_list": [{"a": {SCALER: {}}}, {"b": "passthrough"}]}})
    assert isinstance(union, FeatureUnion)
    columns = made({"sklearn.compose.ColumnTransformer": {"transformers": [["a", {SCALER: {}}, [0, 2]]]}})
    assert isinstance(columns, ColumnTransformer)
    X = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(union.fit_transform(X)[:, 4:], X)
    assert np.array_equal(columns.fit_transform(X), StandardScaler().fit_transform(X[:, [0, 2]]))


def test_nesting_has_no_bound_but_that_of_a_config() -> None:
    inner: Any = {LOGISTIC: {"C": 2.0}}
    for _ in range(5):
        inner = {"sklearn.calibration.CalibratedClassifierCV": {"estimator": inner, "cv": 2}}
    stack = {"sklearn.ensemble.StackingClassifier": {"estimators": [["a", inner]], "final_estimator": {LOGISTIC: {}}}}
    built = made(stack)
    assert isinstance(built, StackingClassifier)
    estimator = built.estimators[0][1]
    for _ in range(5):
        assert isinstance(estimator, CalibratedClassifierCV)
        estimator = estimator.estimator
    assert estimator.C == 2.0


def test_more_levels_than_a_config_may_have_are_one_line(tmp_path: Path) -> None:
    text = f"{{{LOGISTIC}: {{}}}}"
    for _ in range(20):
        text = f"{{sklearn.calibration.CalibratedClassifierCV: {{estimator: {text}}}}}"
    path = tmp_path / "c.yaml"
    path.write_text(f"name: c\ndatasets: [yeast]\nmethods: {{A: {{learner: {text}}}}}\n")
    with pytest.raises(ConfigError, match=r"^[^\n]*c\.yaml:3: nested more than 32 levels deep[^\n]*$"):
        load_experiment(path, look_up=False)


def test_in_our_own_classes_and_in_a_users_own_it_is_the_same() -> None:
    ours = made({"binary_relevance": {"estimator": PIPELINE}})
    assert isinstance(ours.estimator, Pipeline)
    own = made({"tests.experiment.plain_classes.Sets": {"inner": {LOGISTIC: {"C": 3}}}})
    assert own.parameters["inner"].C == 3


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("learner", "line"), records("nested"))
def test_a_mistake_at_any_level_is_one_line_where_it_is(learner: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "name: c\ndatasets: [yeast]\nsplits: {kind: kfold, folds: 2, seed: 1}\nmetrics: [f1]\nmethods:\n"
        f"  A:\n    learner: {learner}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_experiment(path, look_up=False)
    (found,) = caught.value.problems
    assert found.startswith(f"{path}:7: {line}"), found


# -------------------------------------------------------------------- what is varied


def spec(learner: Any, **parts: Any) -> MethodSpec:
    return MethodSpec.model_validate({"learner": Component.parse("learner", learner), **parts})


@pytest.mark.parametrize(
    ("learner", "path", "value", "found"),
    [
        (CHAIN, "learner.estimator.C", 7.0, lambda built: built.estimator.C),
        (CHAIN, "learner.estimator", {LOGISTIC: {"C": 8.0}}, lambda built: built.estimator.C),
        (PIPELINE, "learner.steps.model.max_depth", 9, lambda built: built.steps[1][1].max_depth),
        (PIPELINE, "learner.steps.scale.with_mean", False, lambda built: built.steps[0][1].with_mean),
        (PIPELINE, "learner.steps.1.n_estimators", 11, lambda built: built.steps[1][1].n_estimators),
        (PIPELINE, "learner.steps.scale", "passthrough", lambda built: built.steps[0][1]),
    ],
)
def test_a_path_leads_to_a_nested_parameter(learner: Any, path: str, value: Any, found: Any) -> None:
    changed = spec(learner).with_value(path, value)
    assert changed is not None
    expected = 8.0 if isinstance(value, dict) else value
    assert found(changed.learner.build()) == expected
    assert spec(learner).plain() == {"learner": Component.parse("learner", learner).plain()}


@pytest.mark.parametrize("path", ["learner.estimator.c", "learner.estimator.C.x", "learner.steps.model.C"])
def test_a_path_that_leads_nowhere_is_none(path: str) -> None:
    assert spec(CHAIN).with_value(path, 1) is None


def test_a_sweep_and_a_grid_and_an_override_reach_it(arff: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        f"name: c\ndatasets: [{arff}]\nsplits: {{kind: kfold, folds: 2, seed: 1}}\nmetrics: [hamming_loss]\n"
        "sweep: {learner.estimator.C: [0.1, 1]}\nmethods:\n"
        "  A:\n"
        f"    learner: {{sklearn.multioutput.ClassifierChain: {{estimator: {{{LOGISTIC}: {{max_iter: 50}}}}}}}}\n"
        "    tune: {grid: {learner.estimator.l1_ratio: [0.0, 0.5]}, folds: 2, metric: hamming_loss}\n"
    )
    option = f"methods.A.learner.sklearn.multioutput.ClassifierChain.estimator.{LOGISTIC}.solver=saga"
    loaded = load_experiment(path, [option])
    assert loaded.points("A") == ({"learner.estimator.C": 0.1}, {"learner.estimator.C": 1})
    built = loaded.method_at("A", {"learner.estimator.C": 0.1}).learner.build()
    assert (built.estimator.C, built.estimator.solver, built.estimator.max_iter) == (0.1, "saga", 50)
    path.write_text(path.read_text().replace("C: [0.1, 1]", "C: [0.1, -1]"))
    with pytest.raises(ConfigError, match=r"c\.yaml:5: sweep\.learner\.estimator\.C\.1: impossible for A: The 'C'"):
        load_experiment(path)


def test_a_parameter_that_a_nested_class_needs_may_be_swept(arff: Path) -> None:
    inner = {"sklearn.multioutput.ClassifierChain": {"estimator": {"sklearn.multioutput.ClassifierChain": {}}}}
    loaded = of(arff, {"A": {"learner": inner}}, sweep={"learner.estimator.estimator": [{LOGISTIC: {}}]})
    assert len(loaded.points("A")) == 1


# -------------------------------------------------------------------- keys, seeds, forms


def test_a_nested_parameter_and_a_nested_class_are_part_of_a_trials_key(arff: Path) -> None:
    def keys(learner: Any) -> list[str]:
        return [trial.key for trial in small.planned(of(arff, {"A": {"learner": learner}}))[1]]

    name = "sklearn.multioutput.ClassifierChain"
    one, other = ({name: {"estimator": {LOGISTIC: {"C": c}}}} for c in (1.0, 2.0))
    assert not set(keys(one)) & set(keys(other))
    versions = {
        Component.parse("learner", {name: {"estimator": {inner: {}}}}).version()
        for inner in (LOGISTIC, "tests.small.Guess", "tests.small.Failing")
    }
    bare = Component.parse("learner", LOGISTIC).version()
    assert bare not in versions
    assert len(versions) == 2, "of the same module, a version is of the same source"


def test_the_version_of_a_package_without_a_version_is_that_of_its_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sklearn

    from mlcdr.methods import provenance

    stated = provenance._version("sklearn")
    monkeypatch.delattr(sklearn, "__version__")
    assert provenance._version("sklearn") == f"scikit-learn {stated}"


@pytest.mark.parametrize("learner", [CHAIN, PIPELINE])
def test_it_is_written_back_and_read_again(learner: Any, arff: Path, tmp_path: Path) -> None:
    loaded = of(arff, {"A": {"learner": learner}})
    path = tmp_path / "experiment.yaml"
    path.write_text(experiment_yaml(loaded))
    assert load_experiment(path) == loaded
    assert experiment_from(loaded.resolved()) == loaded


@pytest.mark.parametrize("learner", [CHAIN, PIPELINE, {"binary_relevance": {"estimator": PIPELINE}}])
def test_the_schema_takes_it(learner: Any, arff: Path) -> None:
    rules = read_schema()
    Draft202012Validator(rules).validate(of(arff, {"A": {"learner": learner}}).resolved())


def test_every_open_random_state_has_a_seed_of_its_own(arff: Path) -> None:
    loaded = of(arff, {"A": {"learner": CHAIN}, "B": {"learner": PIPELINE}})
    trials = {trial.method: trial for trial in small.planned(loaded)[1]}
    chain = seeded(build(loaded.methods["A"]), loaded.seed, trials["A"]).learner
    forest = seeded(build(loaded.methods["B"]), loaded.seed, trials["B"]).learner.steps[1][1]
    seeds = [chain.random_state, chain.estimator.random_state, forest.random_state]
    assert all(type(seed) is int for seed in seeds)
    assert len(set(seeds)) == 3
    again = seeded(build(loaded.methods["A"]), loaded.seed, trials["A"]).learner
    assert (again.random_state, again.estimator.random_state) == (seeds[0], seeds[1])


def test_what_a_class_draws_without_a_seed_is_the_same_in_any_order(arff: Path) -> None:
    own = {"tests.experiment.plain_classes.Drawn": {}}
    loaded = of(arff, {"A": {"learner": own}, "B": {"learner": {"sklearn.multioutput.ClassifierChain": {
        "estimator": {FOREST: {"n_estimators": 2}}, "order": "random"}}}})  # fmt: skip

    def scores(backwards: bool) -> dict[str, Any]:
        data, trials = small.read_data(loaded), small.planned(loaded)[1]
        parts = list(group_by_split(loaded, data.source, trials))
        found = [s for part in (parts[::-1] if backwards else parts) for s in Computer().compute(part).results]
        assert all(score.values for score in found), [score.error for score in found]
        return {score.key: score.values["hamming_loss"] for score in found}

    first = scores(False)
    assert first == scores(True)
    assert len(set(first.values())) > 4


def test_a_plain_class_is_adapted_whatever_part_it_is(arff: Path) -> None:
    of_plain = "tests.experiment.plain_classes."
    methods = {
        "alone": {"learner": {f"{of_plain}Strict": {"threshold": 0.4}}},
        "probable": {"learner": f"{of_plain}Probable", "threshold": {"fixed": 0.4}},
        "step": {"feature_space": f"{of_plain}Halves", "learner": "ridge"},
        "space": {"label_space": f"{of_plain}Pairs", "learner": "ridge"},
        "coded": {"label_space": "plst", "learner": f"{of_plain}Sets"},
    }
    loaded = of(arff, methods, metrics=["hamming_loss", "ranking_loss"])
    assert isinstance(loaded.methods["alone"].learner.build(), Adapted)
    data, trials = small.read_data(loaded), small.planned(loaded)[1]
    found = [
        score for part in group_by_split(loaded, data.source, trials) for score in Computer().compute(part).results
    ]
    assert [score.error for score in found if not score.values] == []
    by_method = {trial.method: trial.key for trial in trials if trial.split == 0}
    values = {score.key: score.values for score in found}
    alone, probable = values[by_method["alone"]], values[by_method["probable"]]
    assert alone["hamming_loss"] == probable["hamming_loss"]
    assert probable["ranking_loss"] < alone["ranking_loss"]
