"""The composition with parts of other makers: what they must not do goes no further."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.classifiers.lift import LIFT
from mlcdr.methods.classifiers.mlknn import MLkNN
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.dual_space.ddsr import DDSR
from mlcdr.methods.feature_space import pca
from mlcdr.methods.feature_space.mddm import MDDM
from mlcdr.methods.label_space.cplst import CPLST
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.kernel_ridge import KernelRidge
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.local_features.same_for_all import SameForAll
from mlcdr.methods.thresholds import Fixed, PCut
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse, problem


class Says(RegressorMixin, BaseEstimator):
    """A regressor that says the same whatever it is asked."""

    def __init__(self, value=None):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.value(len(X))


class Scribbles(StandardScaler):
    """A transformer that writes into what it is given."""

    def transform(self, X, copy=None):
        X[:] = 0
        return X


class KeepsNothing(SelectorMixin, BaseEstimator):
    """A selector that finds no feature worth keeping."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return np.zeros(self.n_features_in_, dtype=bool)


class Claims(ClassifierMixin, Says):
    """A classifier that does."""


@pytest.mark.parametrize(
    ("learner", "label_space", "told"),
    [
        (Says(lambda n: np.full((n, 6), np.nan)), None, "Says.predict returned nan .* where a number"),
        (Says(np.zeros), None, r"shape \(30, 1\) where \(30, 6\)"),
        (Says(lambda n: np.zeros((n, 6))), PLST(2), r"shape \(30, 6\) where \(30, 2\)"),
        (Claims(lambda n: -np.ones((n, 6))), None, "Claims.predict returned -1.0 .* where 0 or 1"),
        (Claims(lambda n: 2 * np.ones((n, 6))), None, "where 0 or 1"),
        (Claims(np.zeros), None, r"shape \(30, 1\) where \(30, 6\)"),
    ],
)
def test_an_answer_that_is_none_is_refused(learner, label_space, told):
    X, Y = problem("plain")
    model = ComposedClassifier(learner, label_space=label_space).fit(X[:90], Y[:90])
    with pytest.raises(ValueError, match=told):
        model.predict(X[90:])


def test_a_part_cannot_change_the_rows_that_others_get():
    X, Y = problem("plain")
    part = Moments.from_arrays(X, Y).without(np.arange(9))
    for scaler in (StandardScaler(copy=False), Scribbles()):
        careless = ComposedClassifier(LeastSquares(), feature_space=[scaler])
        with pytest.raises(ValueError, match="read-only") if isinstance(scaler, Scribbles) else nullcontext():
            careless.fit_moments(part)
    np.testing.assert_array_equal(part.rows()[0], X[9:])
    np.testing.assert_array_equal(part.rows()[1], Y[9:])


def test_equals_the_parts_by_hand():
    X, Y = problem("plain")
    new = problem("plain", seed=1)[0]
    space = CPLST(3).fit(X, Y)
    codes = KNeighborsRegressor(3).fit(X, space.encode(Y)).predict(new)
    model = ComposedClassifier(KNeighborsRegressor(3), label_space=CPLST(3)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), space.decode(codes) > 0.5)

    pca = PCA(4).fit(X)
    by_hand = LinearRegression().fit(pca.transform(X), Y).predict(pca.transform(new)) > 0.5
    model = ComposedClassifier(LeastSquares(), feature_space=[PCA(4)]).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), by_hand)

    model = ComposedClassifier(KNeighborsClassifier(3)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), KNeighborsClassifier(3).fit(X, Y).predict(new))
    np.testing.assert_array_equal(model.decision_function(new) > 0, model.predict(new))  # odd neighbours: no ties
    half = ComposedClassifier(KNeighborsClassifier(3), threshold=Fixed(0.9)).fit(X, Y)
    assert half.predict(new).sum() < model.predict(new).sum()


def test_a_class_of_another_package_gets_signed_labels():
    """RidgeClassifier counts them from -1."""
    X, Y = problem("plain")
    model = ComposedClassifier(RidgeClassifier()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), RidgeClassifier().fit(X, Y.astype(int)).predict(X))


class Leaning(Claims):
    """A classifier with scores, of which none is 0."""

    def decision_function(self, X):
        return np.tile([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], (len(X), 1))


class Doubting(Claims):
    """A classifier with probabilities alone."""

    def predict_proba(self, X):
        return np.tile([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], (len(X), 1))


class Both(Leaning, Doubting):
    """A classifier with scores and probabilities."""


@pytest.mark.parametrize(
    ("learner", "of_its_own", "margin"),
    [
        (Leaning, "decision_function", 0.0),
        (Doubting, "predict_proba", 0.5),
        (Both, "decision_function", 0.0),
        (Claims, None, None),
    ],
)
def test_scores_and_probabilities_are_those_that_a_classifier_has(learner, of_its_own, margin):
    X, Y = problem("plain")
    part = learner(lambda n: np.zeros((n, 6)))
    model = ComposedClassifier(part).fit(X, Y)
    assert model.has_scores == (of_its_own is not None)
    assert hasattr(model, "predict_proba") == hasattr(part, "predict_proba")
    found = model.probabilities(X)
    assert (found is None) != hasattr(part, "predict_proba")
    if found is not None:
        np.testing.assert_array_equal(found, part.predict_proba(X))
        np.testing.assert_array_equal(model.predict_proba(X), found)
    if of_its_own is None:
        assert model.scores(X, model.output(X)) is None
        with pytest.raises(ValueError, match="Claims gives no scores for a threshold"):
            model.decision_function(X)
        return
    expected = getattr(part, of_its_own)(X)
    np.testing.assert_array_equal(model.scores(X, model.output(X)), expected)
    np.testing.assert_array_equal(model.decision_function(X), expected - margin)
    parted = ComposedClassifier(part, threshold=Fixed(0.7)).fit(X, Y)
    np.testing.assert_array_equal(parted.scores(X, parted.output(X)), expected)
    np.testing.assert_array_equal(parted.decision_function(X), expected - 0.7)
    np.testing.assert_array_equal(parted.predict(X), expected > 0.7)


def test_codes_are_decoded_to_scores_and_are_no_probabilities():
    X, Y = problem("plain")
    Y[:3, 4] = 1  # what a label that never varies decodes to is not the label space's business
    model = ComposedClassifier(LeastSquares(), label_space=PLST(4)).fit(X, Y)
    assert model.has_scores
    assert model.probabilities(X) is None
    assert not hasattr(model, "predict_proba")
    assert not hasattr(ComposedClassifier(LogisticRegression(), dual_space=DDSR(2)), "predict_proba")
    whole = model.label_space_.decode(model.output(X))
    np.testing.assert_array_equal(model.scores(X, model.output(X)), whole)
    leading = model.label_space_.decode(model.output(X)[:, :2])
    np.testing.assert_array_equal(model.scores(X, model.output(X), 2), leading)
    np.testing.assert_array_equal(model.labels_of(model.output(X), 2), leading > 0.5)
    settled = model.settled(2)
    np.testing.assert_array_equal(settled.predict(X), leading > 0.5)
    np.testing.assert_array_equal(settled.decision_function(X), leading - 0.5)
    np.testing.assert_array_equal(model.decision_function(X), whole - 0.5)


def test_a_label_that_never_varies_scores_its_value_exactly():
    X, Y = problem("plain")
    Y[:, 1], Y[:, 3] = 1, 0
    model = ComposedClassifier(LeastSquares(), label_space=PLST(2)).fit(X, Y)
    scores = model.scores(X, model.output(X))
    np.testing.assert_array_equal(scores[:, [1, 3]], np.tile([1.0, 0.0], (len(X), 1)))


def test_a_threshold_is_fitted_once_for_each_number_of_dimensions():
    X, Y = problem("plain")
    model = ComposedClassifier(LeastSquares(), label_space=PLST(4), threshold=PCut()).fit(X, Y)
    for size, columns in ((None, 4), (2, 2), (0.5, 3)):
        found = model.threshold_of(size)
        assert found is model.threshold_of(columns)
        scores = model.label_space_.decode(model.output(X)[:, :columns])
        np.testing.assert_array_equal(found.apply(scores), PCut().fit(scores, Y).apply(scores))
        np.testing.assert_array_equal(model.labels_of(model.output(X), size), found.apply(scores))
    assert model.threshold_of(2) is not model.threshold_of()
    assert model.threshold_ is model.threshold_of()
    settled = model.settled(2)
    assert settled.threshold_ is settled.threshold_of() is model.threshold_of(2)


def test_parts_are_fitted_themselves_only_where_they_are_the_fits_own():
    X, Y = problem("plain")
    parts = {"learner": LeastSquares(), "label_space": PLST(2), "feature_space": [PCA(4)]}
    model = ComposedClassifier(**parts)
    for own in (False, True):
        model.fit_moments(Moments.from_arrays(X, Y), own)
        assert (model.learner_ is parts["learner"]) == own
        assert (model.label_space_ is parts["label_space"]) == own
        assert (model.feature_steps_[0] is parts["feature_space"][0]) == own


@pytest.mark.parametrize("make", [np.asarray, as_sparse])
@pytest.mark.parametrize(
    "learner",
    [
        *(BinaryRelevance(base) for base in (LinearSVM(), LogisticRegression(), KNeighborsClassifier(120))),
        *(LeastSquares(), KernelRidge(), LinearRegression(), LIFT(random_state=0), MLkNN(k=119)),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_without_a_feature_the_labels_alone_decide(learner, make):
    """A step that leaves none, the one after it, and the learner: a label is there if most instances have it."""
    X, Y = problem("plain")
    Y[:, 0] = np.arange(120) % 3 > 0
    for steps in ([KeepsNothing()], [KeepsNothing(), MDDM()], [KeepsNothing(), KeepsNothing()]):
        model = ComposedClassifier(learner, feature_space=steps).fit(make(X), Y)
        np.testing.assert_array_equal(model.predict(make(X[:7])), np.tile(Y.mean(axis=0) > 0.5, (7, 1)))
    nothing = ComposedClassifier(learner, feature_space=[pca.PCA()]).fit(make(np.ones_like(X)), Y)
    assert nothing.feature_steps_[0].n_components_ == 0
    np.testing.assert_array_equal(nothing.predict(make(X[:7])), np.tile(Y.mean(axis=0) > 0.5, (7, 1)))


@pytest.mark.parametrize("base", [LeastSquares(), LinearSVM(), KNeighborsClassifier(120)], ids=repr)
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_a_link_without_features_goes_by_its_labels(base):
    """The first of a chain goes by its label alone; the second has the first for its only feature."""
    X, Y = problem("plain")
    Y = np.column_stack((np.arange(120) % 3 > 0, np.arange(120) % 3 > 0)).astype(np.uint8)
    chain = ClassifierChain(base, features=SameForAll(KeepsNothing())).fit(X, Y)
    np.testing.assert_array_equal(chain.predict(X[:5]), np.ones((5, 2)))
    assert [link.model.n_features_in_ for link in chain.links_] == [1, 1]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"learner": CPLST(2)}, "learner: CPLST is no learner, which has `fit`, `predict`; it can be the label_space"),
        ({"learner": LeastSquares}, "learner: LeastSquares is a class; write LeastSquares(...)"),
        (
            {"label_space": MDDM()},
            "label_space: MDDM is no label_space, which has `encode`, `decode`; it can be the fe",
        ),
        ({"feature_space": [MDDM(), CPLST()]}, "feature_space[1]: CPLST is no feature_space, which has `transform`;"),
        ({"label_space": DDSR(2)}, "label_space: DDSR reduces features and labels together; it is a dual_space"),
        ({"threshold": 0.5}, "threshold: float is no threshold, which has `apply`"),
        ({"label_space": PLST(), "dual_space": DDSR(2)}, "leave `label_space` out"),
        ({"learner": KNeighborsClassifier(), "dual_space": DDSR(2)}, "fits label sets, not codes"),
        ({"learner": KNeighborsClassifier(), "label_space": PLST()}, "fits label sets, not codes"),
    ],
)
def test_a_part_that_is_out_of_place_is_refused_with_what_is_right(parts, told):
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        ComposedClassifier(**{"learner": LeastSquares(), **parts}).fit(*problem("plain"))


def test_steps_of_a_list_are_parameters_by_their_numbers():
    X, Y = problem("plain")
    model = clone(ComposedClassifier(LeastSquares(), feature_space=[StandardScaler(), pca.PCA(3)]))
    assert model.get_params()["feature_space__1__n_components"] == 3
    found = GridSearchCV(model, {"feature_space__1__n_components": [1, 4]}, cv=2).fit(X, Y)
    best = found.best_params_["feature_space__1__n_components"]
    assert found.best_estimator_.feature_steps_[1].n_components_ == best
    model.set_params(feature_space__1__n_components=2, feature_space__1=MDDM(5), feature_space__0__with_std=False)
    assert repr(model.feature_space) == "[StandardScaler(with_std=False), MDDM(n_components=2)]"
    for wrong in ("feature_space__2__n_components", "feature_space__0__nothing"):
        with pytest.raises(ValueError, match=f"Invalid parameter '{wrong}'"):
            model.set_params(**{wrong: 1})


@pytest.mark.parametrize("estimator", [ComposedClassifier(LeastSquares()), MLkNN(), CPLST()], ids=repr)
def test_names_of_labels_are_label_sets(estimator):
    """As scikit-learn's MultiLabelBinarizer makes them: the labels in the order of their names."""
    X, Y = problem("plain")
    Y = Y[:, Y.any(axis=0)]  # of a label that no row has there is no name
    names = [{f"label{k}" for k in np.flatnonzero(row)} for row in Y]
    by_matrix, by_names = clone(estimator).fit(X, Y), clone(estimator).fit(X, names)
    if hasattr(estimator, "predict"):
        np.testing.assert_array_equal(by_names.predict(X), by_matrix.predict(X))
    else:
        np.testing.assert_array_equal(by_names.encode(Y), by_matrix.encode(Y))


def test_rows_and_columns_are_paired_as_their_names_say_or_not_at_all():
    X, Y = map(pd.DataFrame, problem("plain"))
    X = X.add_prefix("x")
    model = ComposedClassifier(LeastSquares()).fit(X, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="X and y have different indexes"):
        model.fit(X.iloc[::-1], Y)
