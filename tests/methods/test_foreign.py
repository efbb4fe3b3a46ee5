"""Classes of other packages as learners: those of one label, those with wrong tags, those without any contract."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mlcdr import BinaryRelevance, ComposedClassifier, Fixed, LinearSVM
from mlcdr.methods.contracts import fits_one_label
from mlcdr.methods.foreign import Adapted, adapted, build
from tests.experiment.plain_classes import Drawn, Halves, Probable, Sets
from tests.methods.problems import problem


class Mistagged(BaseEstimator, ClassifierMixin):
    """As scikit-multilearn's classes: the bases in the wrong order, matrices of several forms, dense or not."""

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y):
        assert self.estimator is None or type(self.estimator) is not Adapted
        self.inner_ = MultiOutputClassifier(LogisticRegression()).fit(X, y)
        return "not itself"

    def predict(self, X):
        return sp.lil_matrix(self.inner_.predict(X))

    def predict_proba(self, X):
        return sp.csc_matrix(np.column_stack([p[:, 1] for p in self.inner_.predict_proba(X)]))


def _of_two_classes():
    """A problem in which no label is the same in all training rows."""
    X, Y = problem("plain")
    return X, Y[:, Y[:90].min(axis=0) < Y[:90].max(axis=0)]


@pytest.mark.parametrize(
    ("learner", "one"),
    [
        (LogisticRegression(), True),
        (GaussianNB(), True),
        (CalibratedClassifierCV(LinearSVC()), True),
        (Pipeline([("a", StandardScaler()), ("b", LinearSVC())]), True),
        (GridSearchCV(LogisticRegression(), {"C": [1, 2]}), True),
        (LinearSVM(), True),
        (RandomForestClassifier(), False),
        (DummyClassifier(), False),
        (OneVsRestClassifier(LinearSVC()), False),
        (MultiOutputClassifier(LogisticRegression()), False),
        (Pipeline([("a", StandardScaler()), ("b", RandomForestClassifier())]), False),
        (Pipeline([("a", StandardScaler()), ("b", Adapted(Mistagged))]), False),
        (GridSearchCV(RandomForestClassifier(), {"max_depth": [1, 2]}), False),
        (Mistagged(), False),
        (BinaryRelevance(LinearSVC()), False),
        (Sets(), False),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_classifier_takes_one_label_by_its_tags_where_they_are_scikit_learns(learner, one) -> None:
    assert fits_one_label(learner) is one


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(), LinearSVC(random_state=0), GaussianNB(), CalibratedClassifierCV(LinearSVC(random_state=0))],
    ids=lambda each: type(each).__name__,
)
def test_a_classifier_of_one_label_is_fitted_as_binary_relevance_says(learner) -> None:
    X, Y = problem("plain")
    Y[:90, 0], Y[:90, 1] = 0, 1  # two labels of one class in the training rows
    alone = ComposedClassifier(learner).fit(X[:90], Y[:90])
    told = ComposedClassifier(BinaryRelevance(learner)).fit(X[:90], Y[:90])
    assert np.array_equal(alone.predict(X[90:]), told.predict(X[90:]))
    assert np.array_equal(alone.decision_function(X[90:]), told.decision_function(X[90:]))
    assert not alone.predict(X[90:])[:, 0].any()
    assert alone.predict(X[90:])[:, 1].all()
    assert len(np.unique(alone.decision_function(X[90:])[:, 2])) > 10
    if hasattr(learner, "predict_proba"):
        assert np.array_equal(alone.predict_proba(X[90:]), told.predict_proba(X[90:]))
    assert alone.learner is learner


# -------------------------------------------------------------------- what is adapted


def test_a_classifier_with_wrong_tags_is_adapted() -> None:
    made = build(Mistagged, {})
    assert not is_classifier(Mistagged())
    assert isinstance(made, Adapted)
    assert is_classifier(made)
    X, Y = _of_two_classes()
    fitted = made.fit(X, Y)
    assert fitted is made
    assert type(made.predict(X)) is type(made.predict_proba(X)) is np.ndarray


def test_what_is_within_an_adapted_class_is_bare_and_has_its_seed() -> None:
    X, Y = _of_two_classes()
    inner = build(Mistagged, {"estimator": build(Drawn, {})})
    made = build(Mistagged, {"estimator": inner})
    names = [name for name in made.get_params() if name.endswith("random_state")]
    assert names == ["random_state", "estimator__random_state", "estimator__estimator__random_state"]
    made.set_params(estimator__estimator__share=0.25)
    estimator = made.fit(X, Y).model_.estimator
    assert type(estimator) is Mistagged
    assert type(estimator.estimator) is Drawn
    assert estimator.estimator.share == 0.25


def test_its_probabilities_are_scores() -> None:
    X, Y = _of_two_classes()
    for learner in (build(Mistagged, {}), Mistagged()):
        whole = ComposedClassifier(learner).fit(X[:90], Y[:90])
        expected = MultiOutputClassifier(LogisticRegression()).fit(X[:90], Y[:90])
        assert np.array_equal(whole.predict(X[90:]), expected.predict(X[90:]))
        present = np.column_stack([p[:, 1] for p in expected.predict_proba(X[90:])])
        assert np.allclose(whole.predict_proba(X[90:]), present)
        assert np.allclose(whole.decision_function(X[90:]), present - 0.5)


@pytest.mark.parametrize("cls", [LogisticRegression, GaussianNB, LinearSVM, Pipeline])
def test_what_keeps_the_contract_is_left_as_it_is(cls) -> None:
    made = build(cls, {"steps": [("a", GaussianNB())]} if cls is Pipeline else {})
    assert type(made) is cls
    assert adapted(made) is made


def test_a_plain_class_is_made_again_for_every_fit_from_copies_of_its_arguments() -> None:
    inner = LogisticRegression(C=3.0)
    made = build(Sets, {"threshold": 0.3, "inner": inner})
    X, Y = problem("plain")
    made.fit(X, Y)
    first = made.model_
    assert (first.threshold, first.inner.C) == (0.3, 3.0)
    assert first.inner is not inner
    assert made.fit(X, Y).model_ is not first
    copy = clone(made)
    assert not hasattr(copy, "model_")
    assert copy.set_params(threshold=0.9, inner__C=5.0).fit(X, Y).model_.inner.C == 5.0
    assert (made.get_params()["threshold"], inner.C) == (0.3, 3.0)
    assert copy.predict(X).sum() < made.predict(X).sum()


def test_a_plain_object_is_adapted_by_the_attributes_of_its_arguments() -> None:
    X, Y = problem("plain")
    whole = ComposedClassifier(Sets(threshold=0.3), feature_space=[Halves(4.0)]).fit(X, Y)
    assert whole.learner_.model_.threshold == 0.3
    assert whole.feature_steps_[0].model_.by == 4.0
    assert np.array_equal(whole.predict(X), Adapted(Sets, {"threshold": 0.3}).fit(X, Y).predict(X))

    class Forgets:
        def __init__(self, amount):
            pass

        def fit(self, X, Y):
            pass

    with pytest.raises(TypeError, match="Forgets cannot be copied: it has no attribute 'amount'"):
        adapted(Forgets(3))


def test_a_plain_class_gets_dense_arrays() -> None:
    X, Y = problem("plain")
    made = build(Sets, {})
    dense = made.fit(X, Y).predict(X)
    assert np.array_equal(made.fit(sp.csr_matrix(X), Y).predict(sp.csr_matrix(X)), dense)


def test_one_with_probabilities_is_a_classifier_and_any_other_of_no_known_kind() -> None:
    X, Y = problem("plain")
    assert is_classifier(build(Probable, {}))
    assert not is_classifier(build(Sets, {}))
    sets = ComposedClassifier(build(Sets, {})).fit(X, Y)
    probable = ComposedClassifier(build(Probable, {}), threshold=Fixed(0.5)).fit(X, Y)
    assert np.array_equal(sets.predict(X), probable.predict(X))
    assert set(np.unique(sets.decision_function(X))) == {-0.5, 0.5}
    assert len(np.unique(probable.decision_function(X))) > 10


def test_it_draws_what_its_seed_says_and_leaves_the_generators_as_they_were() -> None:
    import random

    X, Y = problem("plain")
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    expected = np.random.rand(), random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    drawn = [build(Drawn, {"random_state": seed}).fit(X, Y).model_.drawn for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[2][0], "Python's"
    assert drawn[0][1] != drawn[2][1], "NumPy's"
    assert (np.random.rand(), random.random()) == expected  # noqa: NPY002


def test_before_it_is_fitted_it_says_so_and_what_it_has_not_it_has_not() -> None:
    made = build(Probable, {})
    with pytest.raises(NotFittedError, match="Probable is not fitted yet"):
        made.predict(np.zeros((2, 2)))
    assert not hasattr(made, "decision_function")
    assert not hasattr(made, "transform")
    assert hasattr(build(Halves, {}), "transform")


def test_it_is_kept_in_a_file() -> None:
    X, Y = problem("plain")
    made = build(Sets, {}).fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(made)).predict(X), made.predict(X))
