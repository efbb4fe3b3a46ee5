"""Thresholds that are learned: by brute force, then the laws, then within the composed estimator."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from mlcdr import ComposedClassifier, Fixed, Identity, LeastSquares, Maximise, PCut, RCut, Round, Zero
from mlcdr.metrics import METRICS, Counts, Outcome
from mlcdr.numerics.moments import Moments
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


@pytest.mark.parametrize("large", [1e6, -1e6])
def test_what_is_rounding_depends_on_the_largest_score(large):
    scores, Y = np.array([[large], [1e-8], [0]]), np.array([[large > 0], [1], [0]], dtype=np.uint8)
    alone = Maximise().fit(scores[1:], Y[1:])
    assert alone.apply(scores[1:]).tolist() == [[1], [0]]
    of_all = Maximise().fit(scores, Y)
    assert of_all.apply(scores[1:]).tolist() == [[1], [1]]


# -------------------------------------------------------------------- the macro-averaged F of all labels


def macro_f(Y, P):
    """2PR/(P+R), by the metric that it is the training part of."""
    value = METRICS["macro_f1"].compute(Outcome(Counts(Y, P)), None, "mean_precision_recall")
    return 0.0 if np.isnan(value) else value  # nothing predicted


def all_cuts(scores):
    """For each label all sets of instances that a cut can make, the smaller first."""
    return [[column >= c for c in [np.inf, *sorted(set(column.tolist()), reverse=True)]] for column in scores.T]


def small_problem(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 11)), int(rng.integers(1, 4))
    scores = rng.normal(size=(n, k)).round(1)
    return scores, (scores + 1.5 * rng.normal(size=(n, k)) > 0.5).astype(np.uint8)


@pytest.mark.parametrize("number", [60, pytest.param(120, marks=pytest.mark.slow)])
def test_macro_f_against_every_combination_of_cuts(number):
    """The greatest of all in nearly every problem, and never far from it; the labels' own F1 misses it in many."""
    short, own = [], []
    for seed in range(number):
        scores, Y = small_problem(seed)
        greatest = max(macro_f(Y, np.column_stack(sets)) for sets in itertools.product(*all_cuts(scores)))
        short.append(greatest - macro_f(Y, Maximise("macro_f").fit(scores, Y).apply(scores)))
        own.append(greatest - macro_f(Y, Maximise("f1").fit(scores, Y).apply(scores)))
    assert min(short) >= -1e-12
    assert np.mean(np.array(short) < 1e-12) >= 0.98
    assert max(short) < 0.02
    assert np.mean(np.array(own) < 1e-12) < 0.95
    assert np.all(np.array(short) <= np.array(own) + 1e-12)


def best_of_one_move(scores, Y, P):
    """The greatest macro-averaged F of what differs from P in one label."""
    return max(
        macro_f(Y, np.column_stack([P[:, :k], one, P[:, k + 1 :]]))
        for k, sets in enumerate(all_cuts(scores))
        for one in sets
    )


def test_macro_f_is_not_bettered_by_moving_one_label_and_is_near_its_bound():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(200, 8)).round(2)
    Y = (scores + rng.normal(size=(200, 8)) > np.linspace(0, 2.5, 8)).astype(np.uint8)
    Y[:, 3] = 0
    found = Maximise("macro_f").fit(scores, Y)
    P = found.apply(scores)
    value = macro_f(Y, P)
    assert not P[:, 3].any()
    assert best_of_one_move(scores, Y, P) <= value + 1e-12
    # F(P, R) lies below each of its tangents, and a tangent's maximum is a sum over labels
    learned = [k for k in range(8) if k != 3]
    sets = [np.column_stack(all_cuts(scores)[k][1:]) for k in learned]
    precision = [(s & (Y[:, [k]] > 0)).sum(axis=0) / s.sum(axis=0) for s, k in zip(sets, learned, strict=True)]
    recall = [(s & (Y[:, [k]] > 0)).sum(axis=0) / Y[:, k].sum() for s, k in zip(sets, learned, strict=True)]
    bound = min(
        np.mean([np.max(2 * q**2 * p + 2 * (1 - q) ** 2 * r) for p, r in zip(precision, recall, strict=True)])
        for q in np.linspace(0, 1, 101)
    )
    assert bound - 2e-3 < value <= bound


def test_macro_f_does_not_depend_on_the_order_of_rows_nor_on_a_label_without_positives():
    scores, Y = np.random.default_rng(5).normal(size=(60, 4)), np.random.default_rng(6).integers(0, 2, (60, 4))
    values = Maximise("macro_f").fit(scores, Y).values_
    order = np.random.default_rng(7).permutation(60)
    np.testing.assert_array_equal(Maximise("macro_f").fit(scores[order], Y[order]).values_, values)
    more = Maximise("macro_f").fit(np.column_stack([scores, scores[:, 0]]), np.column_stack([Y, np.zeros(60)]))
    np.testing.assert_array_equal(more.values_, [*values, np.inf])
    assert np.isinf(Maximise("macro_f").fit(scores, np.zeros((60, 4))).values_).all()


# -------------------------------------------------------------------- cuts that are not learned from scores


@pytest.mark.parametrize(
    "threshold", [Fixed(), Fixed(0.25), Fixed(ties="present"), Zero(), Zero(ties="present")], ids=str
)
def test_a_score_at_the_threshold_says_what_ties_says(threshold):
    at = threshold.value
    scores = np.array([[at, np.nextafter(at, -1), np.nextafter(at, 1), at - 3, at + 3]])
    expected = [[threshold.ties == "present", False, True, False, True]]
    np.testing.assert_array_equal(threshold.apply(scores), expected)
    np.testing.assert_array_equal(threshold.margin(scores) > 0, expected)


@pytest.mark.parametrize("cls", [Fixed, Zero])
def test_an_empty_prediction_falls_back_on_its_top_label(cls):
    scores = np.array([[-3.0, -1, -2], [-1, -1, -4], [1, -1, 2], [0, -5, -5]])
    none = [[0, 0, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    top = [[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 0]]
    assert cls().apply(scores).tolist() == none
    assert cls(fallback="top").apply(scores).tolist() == top
    assert cls(fallback="top").apply(np.zeros((2, 0))).shape == (2, 0)
    assert cls(fallback="top").apply(scores).dtype == np.uint8


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("decimals", [0, 6])
def test_rank_cut_takes_the_n_highest(n, decimals):
    scores = np.random.default_rng(n).normal(size=(40, 5)).round(decimals)
    labels, margins = RCut(n).apply(scores), RCut(n).margin(scores)
    for row, said in zip(scores, labels, strict=True):
        order = sorted(range(5), key=lambda k: (-row[k], k))
        assert set(np.flatnonzero(said)) == set(order[:n])
    np.testing.assert_array_equal(margins > 0, labels == 1)
    if n < 5 and decimals:
        ranked = -np.sort(-scores, axis=1)
        np.testing.assert_allclose(margins, scores - (ranked[:, [n - 1]] + ranked[:, [n]]) / 2)


def best_count(column, share):
    """How many instances to predict, of the numbers that ties leave: the nearest to the share; of two, the larger."""
    if share == 0:
        return 0
    n = len(column)
    possible = [c for c in range(n + 1) if c in (0, n) or sorted(column)[n - c] > sorted(column)[n - c - 1]]
    return max(possible, key=lambda c: (-abs(c - round(round(share * n, 9))), c))


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("decimals", [0, 6])
def test_proportional_cut_keeps_the_share_of_each_label(n, decimals):
    rng = np.random.default_rng(n + decimals)
    Y = np.column_stack([np.zeros(50), np.ones(50), rng.integers(0, 2, (50, 3)), np.arange(50) < 5])
    threshold = PCut().fit(rng.normal(size=Y.shape), Y)
    scores = rng.normal(size=(n, 6)).round(decimals)
    labels = threshold.apply(scores)
    for k in range(6):
        count = best_count(scores[:, k], Y[:, k].mean())
        assert labels[:, k].sum() == count
        assert not count or min(scores[labels[:, k] == 1, k]) > max(scores[labels[:, k] == 0, k], default=-np.inf)
    np.testing.assert_array_equal(threshold.margin(scores) > 0, labels == 1)
    assert not labels[:, 0].any()
    assert labels[:, 1].all()
    if decimals:
        assert labels.sum(axis=0).tolist() == [round(round(share * n, 9)) for share in threshold.shares_]
    assert threshold.apply(scores[:0]).shape == (0, 6)


def test_proportional_cut_of_equal_scores():
    """They stand or fall together, whichever comes nearer; both as near, they stand. Row order decides nothing."""
    Y = np.array([[1], [0], [0], [0]])  # a quarter
    said = PCut().fit(Y, Y)
    assert said.apply(np.array([[1.0], [1], [0], [0], [0], [0], [0], [0]])).sum() == 2
    assert said.apply(np.array([[1.0], [1], [1], [0], [0], [0], [0], [0]])).sum() == 3
    assert said.apply(np.array([[1.0], [1], [1], [1], [0], [0], [0], [0]])).sum() == 4  # 2 off, like none
    assert said.apply(np.array([[1.0], [1], [1], [1], [1], [0], [0], [0]])).sum() == 0
    rounding = np.array([[3e-16], [0], [-1e-16], [2e-16]])
    assert not said.apply(1 + rounding).any()
    assert said.apply(np.array([[5e-324], [0.0], [0.0], [0.0]])).ravel().tolist() == [1, 0, 0, 0]


# -------------------------------------------------------------------- in the composed estimator


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_a_single_proportional_cut_makes_label_sets_as_large_as_in_training(n):
    """It is the mean of the two scores that the training cardinality parts."""
    rng = np.random.default_rng(n)
    Y = (rng.random((60, 5)) < [0.1, 0.3, 0.5, 0.2, 0.0]).astype(np.uint8)
    scores = rng.random((n, 5))
    threshold = PCut(single=True).fit(rng.random(Y.shape), Y)
    said = threshold.apply(scores)
    ordered = np.sort(scores.ravel())
    i = len(ordered) - round(Y.sum(axis=1).mean() * n)
    cut = (ordered[i - 1] + ordered[i]) / 2
    np.testing.assert_array_equal(said, scores > cut)
    np.testing.assert_allclose(threshold.margin(scores), scores - cut)
    assert said.sum() == round(Y.sum(axis=1).mean() * n)


def test_a_single_proportional_cut_of_equal_scores_and_of_no_labels():
    Y = np.array([[1, 0], [0, 0], [1, 1], [0, 0]])
    no_vote = -1 / 3
    votes = np.array([[1.0, 0.5], [no_vote, no_vote], [np.nextafter(no_vote, 0), no_vote], [no_vote, no_vote]])
    assert PCut(single=True).fit(Y, Y).apply(votes).tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]], "3 of 8 are wanted"
    tied = np.array([[0.9, 0.2], [0.5, 0.5], [0.5, 0.1], [0.3, 0.4]])  # 3 of 8 are wanted, and 4 are .5 or more
    assert PCut(single=True).fit(Y, Y).apply(tied).tolist() == [[1, 0], [1, 1], [1, 0], [0, 0]]
    certain = np.array([[1e300, -1.0], [2.0, -2.0], [1.0, -3.0], [0.5, -1e300]])  # of a label that never varied
    assert PCut(single=True).fit(Y, Y).apply(certain).tolist() == [[1, 0], [1, 0], [1, 0], [0, 0]]
    assert not PCut(single=True).fit(Y, 0 * Y).apply(np.array([[0.3, 0.9]])).any()
    assert PCut(single=True).fit(Y, 0 * Y + 1).apply(np.array([[0.3, 0.9]])).all()


@pytest.mark.parametrize(
    "threshold", [RCut(2), PCut(), PCut(single=True), Maximise("macro_f"), Fixed(0.3, "top"), Zero()], ids=str
)
def test_each_serves_a_classifier_and_a_regressor(threshold):
    X, Y = problem("plain")
    Y = Y[:, :4]
    for learner in (LeastSquares(), KNeighborsClassifier(7)):
        model = ComposedClassifier(learner, threshold=threshold).fit(X[:90], Y[:90])
        said = model.predict(X[90:])
        sure = said.any(axis=1) if getattr(threshold, "fallback", "none") == "none" else said.sum(axis=1) > 1
        np.testing.assert_array_equal(said[sure], model.decision_function(X[90:])[sure] > 0)
        if isinstance(threshold, RCut):
            assert (said.sum(axis=1) == 2).all()
        if isinstance(threshold, PCut) and isinstance(learner, LeastSquares):  # neighbours' shares have ties
            wanted = 30 * Y[:90].mean(axis=0)
            if threshold.single:
                assert said.sum() == round(wanted.sum())
            else:
                np.testing.assert_array_equal(said.sum(axis=0), np.round(wanted))


def test_without_a_threshold_the_scores_are_parted_half_way():
    X, Y = problem("plain")
    expected = ComposedClassifier(LeastSquares()).fit(X, Y)
    assert isinstance(expected.threshold_, Round)
    for coding in ("centred", "zero_one", "plus_minus_one"):
        model = ComposedClassifier(LeastSquares(), Identity(coding)).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_allclose(model.decision_function(X), 2 * expected.decision_function(X), atol=1e-9)


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


def test_a_cut_that_predicts_all_of_scores_that_are_zero():
    threshold = Maximise("f1", "score").fit(np.zeros((2, 1)), np.array([[1], [0]]))
    assert threshold.apply(np.zeros((2, 1))).tolist() == [[1], [1]]


def test_half_is_rounded_down():
    scores = np.array([[0.5, np.nextafter(0.5, 1), 0.0, 1.0]])
    np.testing.assert_array_equal(Round().apply(scores), [[0, 1, 0, 1]])


@pytest.mark.parametrize("threshold", [Maximise(), PCut(), PCut(single=True), RCut(4), RCut(2)])
@pytest.mark.parametrize("present", [0, 1])
def test_margins_are_finite_and_positive_where_a_label_is_predicted(threshold, present):
    """Also where all are predicted, or none: scikit-learn's metrics take no infinite scores."""
    scores = np.random.default_rng(0).normal(size=(20, 4))
    if hasattr(threshold, "fit"):
        threshold.fit(scores, np.full((20, 4), present))
    margins = threshold.margin(scores)
    assert np.isfinite(margins).all()
    np.testing.assert_array_equal(margins > 0, threshold.apply(scores))
