"""Instance spaces in a config: they wrap what the other keys make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlcdr import CBMLC, CLMLC, BinaryRelevance, ClassifierChain, ComposedClassifier, ConfigError, Experiment
from mlcdr.execution.runner import run
from mlcdr.experiment.estimators import build, seeded
from tests.small import experiment, planned, write_dataset

CHAIN = {"classifier_chain": {"estimator": {"ridge": {"alpha": 0.1}}, "order": "random"}}
CLMLC_20 = {"instance_space": {"clmlc": {"n_clusters": 3, "n_components": 4}}, "learner": CHAIN}


@pytest.fixture(scope="module")
def arff(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("data"), n=80)


def of(arff: Path, methods: dict, **changes: object) -> Experiment:
    return experiment(arff, **({"methods": methods, "sweep": {}, "metrics": ["hamming_loss"]} | changes))


def built(arff: Path, method: dict) -> ComposedClassifier:
    return build(of(arff, {"A": method}).methods["A"])


def test_it_wraps_the_learner(arff: Path) -> None:
    whole = built(arff, CLMLC_20)
    assert isinstance(whole.learner, CLMLC)
    assert isinstance(whole.learner.classifier, ClassifierChain)
    assert whole.learner.classifier.estimator.alpha == 0.1
    assert (whole.learner.n_clusters, whole.learner.n_components) == (3, 4)


def test_it_wraps_the_whole_line(arff: Path) -> None:
    line = {"feature_space": {"pca": 2}, "label_space": {"plst": 2}, "learner": "ridge", "threshold": {"fixed": 0.4}}
    whole = built(arff, {"instance_space": "cbmlc", **line})
    inner = whole.learner.classifier
    assert isinstance(whole.learner, CBMLC)
    assert isinstance(inner, ComposedClassifier)
    assert [inner.feature_space[0].n_components, inner.label_space.n_components, inner.threshold.value] == [2, 2, 0.4]
    # a regressor alone is no classifier, and is made one
    assert isinstance(
        built(arff, {"instance_space": "cbmlc", "learner": "ridge"}).learner.classifier, ComposedClassifier
    )
    # nor is a threshold left behind
    tops = {"instance_space": "cbmlc", "learner": {"binary_relevance": None}, "threshold": {"r_cut": 1}}
    assert built(arff, tops).learner.classifier.threshold is not None


def test_a_run_is_the_estimator_by_hand(arff: Path, tmp_path: Path) -> None:
    """One cluster needs no seed: a method with it is the method without."""
    line = {"label_space": {"plst": 3}, "learner": "ridge"}
    methods = {"Alone": line, "Wrapped": {**line, "instance_space": {"cbmlc": {"n_clusters": 1}}}}
    scores = pd.read_csv(run(of(arff, methods), tmp_path).folder / "scores.csv")
    by_method = [scores.loc[scores["method"] == name, "value"].tolist() for name in methods]
    assert by_method[0] == by_method[1]


def test_it_can_be_swept_and_tuned(arff: Path, tmp_path: Path) -> None:
    sweep = {"instance_space.n_clusters": [1, 2], "learner.estimator.alpha": [0.1, 100]}
    swept = {"instance_space": "cbmlc", "learner": {"classifier_chain": {"estimator": "ridge"}}}
    tuned = {"instance_space": "clmlc", "learner": CHAIN}
    tuned["tune"] = {"grid": {"instance_space.n_components": [1, 5]}, "folds": 2}
    sizes = {"label_space": "plst", "learner": "ridge", "instance_space": "cbmlc"}
    sweep["label_space.n_components"] = [1, 3]
    an_experiment = of(arff, {"Swept": swept, "Tuned": tuned, "Sizes": sizes}, sweep=sweep)
    assert len(an_experiment.points("Swept")) == 4
    _, trials = planned(an_experiment)
    assert all(trial.family == trial.spec for trial in trials)  # no part's code is another's
    report = run(an_experiment, tmp_path)
    assert report.failures == []
    scores = pd.read_csv(report.folder / "scores.csv")
    assert scores.groupby("method").size().to_dict() == {"Swept": 16, "Tuned": 16, "Sizes": 16}
    assert set(pd.read_csv(report.folder / "chosen.csv")["value"]) <= {1, 5}
    assert an_experiment.resolved()["methods"]["Tuned"]["instance_space"] == "clmlc"


def test_its_parameters_and_its_source_are_in_the_keys(arff: Path) -> None:
    methods = {name: CLMLC_20 | {"instance_space": {name.lower(): {"n_clusters": 3}}} for name in ("CBMLC", "CLMLC")}
    keys = [{t.key for t in planned(of(arff, {"A": m}))[1]} for m in (*methods.values(), CLMLC_20)]
    assert not keys[0] & keys[1]
    assert not keys[1] & keys[2]


def test_everything_in_it_is_seeded(arff: Path) -> None:
    base = {"sklearn.linear_model.SGDClassifier": None}
    method = {"instance_space": "clmlc", "learner": {"classifier_chain": {"estimator": base, "order": "random"}}}
    _, (trial, *_) = planned(of(arff, {"A": method}))
    params = seeded(build(trial.spec), 1, trial).learner.get_params()
    seeds = {name: value for name, value in params.items() if name.endswith("random_state")}
    assert set(seeds) == {"random_state", "classifier__random_state", "classifier__estimator__random_state"}
    assert None not in seeds.values()
    assert len(set(seeds.values())) == 3


def test_what_is_known_of_clusters(arff: Path, tmp_path: Path) -> None:
    metrics = [
        "n_clusters",
        "cluster_instances",
        {"cluster_instances": {"of": "std", "as": "spread"}},
        "cluster_labels",
    ]
    methods = {"A": CLMLC_20, "None": {"learner": "ridge"}}
    scores = pd.read_csv(run(of(arff, methods, metrics=[*metrics, "n_dimensions"]), tmp_path).folder / "scores.csv")
    found = scores[scores["method"] == "A"].groupby("metric")["value"].mean()
    assert found["n_clusters"] == 3
    assert found["cluster_instances"] == 60 / 3
    assert found["spread"] > 0
    assert 1 <= found["cluster_labels"] <= 6
    assert found["n_dimensions"] == 4
    assert scores.loc[scores["method"] == "None", "value"].isna().all()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"clmlc": {"classifier": "ridge"}}, "clmlc.classifier: is what the method's other keys make; leave it out"),
        ({"clmlc": {"n_cluster": 3}}, "unknown parameter of instance_space 'clmlc'; did you mean 'n_clusters'"),
        ({"clmlc": {"n_clusters": 0}}, "n_clusters"),
        ("sklearn.cluster.KMeans", "'sklearn.cluster.KMeans' is no instance space: it has no parameter `classifier`"),
        ("clmcl", "unknown instance_space 'clmcl'; did you mean 'clmlc'"),
        ({"clmlc": {"clusterer": "k_meens"}}, "unknown clusterer 'k_meens'; did you mean 'k_means'"),
    ],
)
def test_mistakes_are_told(arff: Path, written: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", r"\(").replace(")", r"\)")):
        of(arff, {"A": {"instance_space": written, "learner": CHAIN}})


def test_a_clusterer_by_name_and_by_path(arff: Path) -> None:
    ours = built(arff, {"instance_space": {"cbmlc": {"clusterer": {"k_means": {"max_iter": 5}}}}, "learner": CHAIN})
    assert ours.learner.clusterer.max_iter == 5
    path = {"sklearn.cluster.MiniBatchKMeans": {"n_init": 3}}
    theirs = built(arff, {"instance_space": {"cbmlc": {"clusterer": path, "n_clusters": 2}}, "learner": CHAIN})
    X = np.random.default_rng(0).standard_normal((30, 3))
    fitted = theirs.fit(X, (X > 0).astype(int)).learner_
    assert len(fitted.models_) == 2


def test_an_instance_space_within_another(arff: Path) -> None:
    """As a learner, by its path: clusters of clusters."""
    inner = {"mlcdr.methods.instance_space.cbmlc.CBMLC": {"n_clusters": 2, "classifier": {"binary_relevance": None}}}
    whole = built(arff, {"instance_space": {"cbmlc": {"n_clusters": 2}}, "learner": inner})
    assert isinstance(whole.learner.classifier.classifier, BinaryRelevance)
    X = np.random.default_rng(0).standard_normal((60, 3))
    Y = (X > 0).astype(int)
    assert (whole.fit(X, Y).predict(X) == Y).mean() > 0.8


@pytest.mark.parametrize("name", ["linear_svm", "logistic_regression", "c45"])
def test_a_classifier_of_one_label_stands_alone_and_in_an_instance_space(arff: Path, name: str) -> None:
    of(arff, {"A": {"learner": name}})
    of(arff, {"A": {"learner": {"binary_relevance": name}}})
    of(arff, {"A": {"instance_space": "cbmlc", "learner": name}})
