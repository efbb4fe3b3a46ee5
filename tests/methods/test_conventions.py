"""What scikit-learn's users rely on, of every estimator: names of features, forms of output, no metadata ignored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.decomposition
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline

import mlcdr
from tests.methods.test_estimators import estimators

rng = np.random.default_rng(3)
X = pd.DataFrame(rng.normal(size=(40, 5)), index=np.arange(100, 140)).add_prefix("x")
Y = (X.to_numpy()[:, :3] + rng.normal(size=(40, 3)) > 0).astype(np.uint8)

EVERY = [each for each in estimators() if type(each).__name__ != "SingleStartKMeans"]
NAMES = [type(each).__name__ for each in EVERY]
STEPS = [each for each in EVERY if hasattr(each, "transform")]


def fitted(estimator):
    return clone(estimator).fit(X, Y[:, 0] if getattr(estimator, "one_label", False) is True else Y)


@pytest.mark.parametrize("estimator", EVERY, ids=NAMES)
def test_names_are_checked_and_metadata_are_refused(estimator):
    model = fitted(estimator)
    assert list(model.feature_names_in_) == list(X.columns)
    use = next((getattr(model, name) for name in ("predict", "transform") if hasattr(model, name)), None)
    if use is not None:
        use(X)
        with pytest.raises(ValueError, match="feature names should match"):
            use(X.rename(columns={"x0": "z"}))
    for name in ("sample_weight", "groups"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            clone(estimator).fit(X, Y, **{name: np.ones(len(X))})


@pytest.mark.parametrize("estimator", STEPS, ids=lambda each: type(each).__name__)
def test_steps_name_their_features_and_give_frames(estimator):
    model = fitted(estimator)
    plain = np.asarray(model.transform(X))
    names = list(model.get_feature_names_out())
    assert len(names) == len(set(names)) == plain.shape[1]
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == names
    assert list(frame.index) == list(X.index)
    assert np.array_equal(frame.to_numpy(), plain)
    if hasattr(model, "get_support"):
        assert names == list(X.columns[model.get_support()])


@pytest.mark.parametrize("estimator", [e for e in EVERY if is_classifier(e)], ids=lambda each: type(each).__name__)
def test_probabilities_are_such_where_they_are_offered(estimator):
    model = fitted(estimator)
    if hasattr(model, "predict_proba"):
        given = model.predict_proba(X)
        assert given.shape in (Y.shape, (len(X), 2))
        assert ((given >= 0) & (given <= 1)).all()
    else:
        with pytest.raises(AttributeError):
            model.predict_proba(X)


@pytest.mark.parametrize(
    "learner",
    [
        mlcdr.BinaryRelevance(LogisticRegression()),
        mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.CPLST(2), feature_space=mlcdr.PCA()),
    ],
    ids=["BinaryRelevance", "ComposedClassifier"],
)
def test_routed_metadata_are_refused_and_groups_go_to_the_splitter(learner):
    groups = np.repeat(np.arange(8), 5)
    with sklearn.config_context(enable_metadata_routing=True):
        whole = make_pipeline(mlcdr.PCA(3), learner)
        found = cross_validate(whole, X, Y, cv=GroupKFold(4), params={"groups": groups}, scoring="f1_samples")
        assert len(found["test_score"]) == 4
        for model in (whole, learner):
            with pytest.raises((TypeError, ValueError), match="sample_weight"):
                cross_validate(model, X, Y, cv=2, params={"sample_weight": np.ones(40)}, error_score="raise")
        with pytest.raises(TypeError, match="sample_weight"):
            whole.fit(X, Y, sample_weight=np.ones(40))


@pytest.mark.parametrize(
    "step", [mlcdr.PCA(2), sklearn.decomposition.PCA(2), mlcdr.FScore(2)], ids=["ours", "theirs", "selector"]
)
def test_one_step_is_as_good_as_a_list_and_frames_in_between_change_nothing(step):
    def labels(feature_space):
        model = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.CPLST(2), feature_space=feature_space)
        return model.fit(X, Y).decision_function(X)

    expected = labels([step])
    assert np.array_equal(labels(clone(step)), expected)
    with sklearn.config_context(transform_output="pandas"):
        assert np.array_equal(labels(clone(step)), expected)
    model = mlcdr.ComposedClassifier(mlcdr.Ridge(), feature_space=mlcdr.PCA())
    assert model.set_params(feature_space__n_components=2).feature_space.n_components == 2
