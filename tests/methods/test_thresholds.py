"""Thresholds that are learned: by brute force, then the laws, then within the composed estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from mlcdr.composition import ComposedClassifier
from mlcdr.label_space.plst import PLST
from mlcdr.learners.least_squares import LeastSquares
from mlcdr.moments import Moments
from mlcdr.thresholds import Fixed, Maximise
from tests.methods.problems import problem


def quality(metric, y, p):
    hits = np.sum(y * p)
    return 2 * hits / (np.sum(y) + np.sum(p)) if metric == "f1" else np.mean(y == p)


def by_trying(metric, at, scores, y):
    """The threshold of one label: every distinct score as the lowest one predicted, from the top."""
    if not y.any():
        return np.inf
    distinct = sorted(set(scores.tolist()), reverse=True)
    best, found = quality(metric, y, np.zeros_like(y)), np.inf
    for i, score in enumerate(distinct):
        value = quality(metric, y, (scores >= score).astype(int))
        if value > best:
            following = distinct[i + 1] if i + 1 < len(distinct) else -np.inf
            best, found = value, score if at == "score" else (score + following) / 2
    return found


@pytest.mark.parametrize("at", ["midpoint", "score"])
@pytest.mark.parametrize("metric", ["f1", "accuracy"])
@pytest.mark.parametrize("seed", range(8))
def test_maximise_is_the_best_of_all_cuts(metric, at, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    scores = rng.normal(size=(n, 6)).round(int(rng.integers(0, 3)))  # with ties
    Y = (scores + rng.normal(size=(n, 6)) > 0.4).astype(np.uint8)
    Y[:, 2], Y[:, 3] = 0, 1
    scores[:, 4] = 0.25
    found = Maximise(metric, at).fit(scores, Y)
    expected = [by_trying(metric, at, scores[:, k], Y[:, k]) for k in range(6)]
    np.testing.assert_allclose(found.values_, expected, atol=1e-9)
    compare = np.greater_equal if at == "score" else np.greater
    np.testing.assert_array_equal(found.apply(scores), compare(scores, expected))
    np.testing.assert_array_equal(found.margin(scores) > 0, found.apply(scores) == 1)
    assert found.apply(scores).dtype == np.uint8


def test_rounding_parts_no_ties():
    """Scores equal but for rounding are all predicted or none is, in training and after."""
    Y = np.array([[1], [0], [1], [0]], dtype=np.uint8)
    noise = np.array([[3e-16], [0], [2e-16], [-1e-16]])
    for at in ("midpoint", "score"):
        threshold = Maximise(at=at).fit(0.5 + noise, Y)
        assert threshold.apply(0.5 + noise[::-1] * 2).all()


def test_a_shift_and_a_scale_of_the_scores_move_the_threshold_alike():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(40, 5))
    Y = (scores + rng.normal(size=(40, 5)) > 1).astype(np.uint8)
    plain = Maximise().fit(scores, Y).values_
    np.testing.assert_allclose(Maximise().fit(3 * scores + 7, Y).values_, 3 * plain + 7)
    order = rng.permutation(40)
    np.testing.assert_array_equal(Maximise().fit(scores[order], Y[order]).values_, plain)


# -------------------------------------------------------------------- in the composed estimator


@pytest.mark.parametrize("learner", [LeastSquares(), KNeighborsRegressor(3)], ids=["moments", "rows"])
def test_composition_fits_the_threshold_to_training_scores_of_each_size(learner):
    X, Y = problem("plain")
    train, test = slice(0, 80), slice(80, 120)
    whole = ComposedClassifier(learner, PLST(), threshold=Maximise()).fit(X[train], Y[train])
    output = whole.output(X[test])
    for m in (1, 3, 6):
        alone = ComposedClassifier(learner, PLST(m), threshold=Maximise()).fit(X[train], Y[train])
        space = alone.label_space_
        scores = space.decode(alone.learner_.predict(X[train])).round(12)  # neighbours' means have ties
        expected = [by_trying("f1", "midpoint", scores[:, k], Y[train][:, k]) for k in range(6)]
        np.testing.assert_allclose(alone.threshold_.values_, expected, atol=1e-9)
        np.testing.assert_array_equal(alone.predict(X[test]), alone.decision_function(X[test]) > 0)
        if isinstance(learner, LeastSquares):
            np.testing.assert_array_equal(whole.labels_of(output, m), alone.predict(X[test]))
    np.testing.assert_array_equal(whole.labels_of(output), whole.predict(X[test]))


def test_composition_fits_the_threshold_to_a_classifiers_scores():
    X, Y = problem("plain")
    Y = Y[:, :4]  # scikit-learn's classifiers want both classes
    model = ComposedClassifier(KNeighborsClassifier(7), threshold=Maximise("accuracy")).fit(X, Y)
    scores = np.column_stack([p[:, 1] for p in KNeighborsClassifier(7).fit(X, Y).predict_proba(X)])
    expected = [by_trying("accuracy", "midpoint", scores[:, k], Y[:, k]) for k in range(4)]
    np.testing.assert_allclose(model.threshold_.values_, expected)
    np.testing.assert_array_equal(model.predict(X), scores > expected)


def test_a_learned_threshold_needs_rows_and_a_fixed_one_none():
    X, Y = problem("plain")
    settled = Moments.from_arrays(X, Y).settled()
    with pytest.raises(ValueError, match="no longer have their rows"):
        ComposedClassifier(LeastSquares(), threshold=Maximise()).fit_moments(settled)
    fixed = ComposedClassifier(LeastSquares(), threshold=Fixed(0.4)).fit_moments(settled)
    assert fixed.threshold_.value == 0.4
