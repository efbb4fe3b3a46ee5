"""AdaBoost.MH, DiSMEC, SLEEC and CLEMS: by loops over the formulas, by other programs, and by authors' numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from mlcdr import CLEMS, SLEEC, AdaBoostMH, ComposedClassifier, DiSMEC, RCut
from mlcdr.methods.classifiers import sleec
from mlcdr.methods.label_space.clems import _scale
from mlcdr.metrics import METRICS, evaluate
from mlcdr.metrics.label_sets import LOSSES_OF_PAIRS, losses_of_pairs
from mlcdr.metrics.outcome import Counts, Outcome, Scores
from mlcdr.numerics.moments import Moments
from tests.methods.problems import as_sparse, problem

# ------------------------------------------------------------------------------------- AdaBoost.MH


def boost_by_loops(X, Y, rounds):
    """The stumps (m, θ, c) of Schapire & Singer, every threshold tried, and the training scores."""
    n, k = Y.shape
    weights, epsilon = np.full((n, k), 1 / (n * k)), 1 / (n * k)
    stumps, scores, z_product = [], np.zeros((n, k)), 1.0
    for _ in range(rounds):
        best = None
        for m in range(X.shape[1]):
            values = np.unique(X[:, m])
            for theta in (values[:-1] + values[1:]) / 2:
                sides = [X[:, m] <= theta, X[:, m] > theta]
                sums = [[[weights[s, j][Y[s, j] == b].sum() for j in range(k)] for b in (1, 0)] for s in sides]
                z = 2 * sum(np.sqrt(plus * minus) for side in sums for plus, minus in zip(*side, strict=True))
                if best is None or z < best[0] - 1e-12:
                    best = (
                        z,
                        m,
                        theta,
                        0.5 * np.log((np.array(sums)[:, 0] + epsilon) / (np.array(sums)[:, 1] + epsilon)),
                    )
        _, m, theta, votes = best
        h = votes[(X[:, m] > theta).astype(int)]
        weights *= np.exp(-(2.0 * Y - 1) * h)
        z_product *= weights.sum()
        weights /= weights.sum()
        scores += h
        stumps.append((m, theta, votes))
    return stumps, scores, z_product


@pytest.mark.parametrize("name", ["plain", "sparse counts", "dependent"])
def test_adaboost_mh_takes_the_stumps_of_plain_loops(name):
    X, Y = problem(name)
    X, Y = X[:40, :6], Y[:40, :4]
    stumps, scores, z_product = boost_by_loops(X, Y, 6)
    for form in (X, as_sparse(X)):
        model = AdaBoostMH(6).fit(form, Y)
        assert model.features_.tolist() == [m for m, _, _ in stumps]
        np.testing.assert_allclose(model.thresholds_, [theta for _, theta, _ in stumps])
        np.testing.assert_allclose(model.votes_, [votes for _, _, votes in stumps], atol=1e-9)
        np.testing.assert_allclose(model.decision_function(form), scores, atol=1e-9)
    assert np.prod(model.normalisers_) == pytest.approx(z_product)
    assert np.mean(model.predict(X) != Y) <= z_product


def test_adaboost_mh_with_few_thresholds_cuts_the_rows_into_equal_parts():
    X = np.arange(100.0)[:, None] ** 2
    Y = (X[:, 0] >= 50**2).astype(int)[:, None]
    model = AdaBoostMH(1, 3).fit(X, Y)
    assert model.thresholds_[0] == (49**2 + 50**2) / 2
    assert np.array_equal(model.predict(X), Y)
    assert np.isinf(AdaBoostMH(2).fit(np.ones((5, 2)), [[0, 1], [0, 1], [1, 1], [0, 0], [0, 1]]).thresholds_).all()


# ------------------------------------------------------------------------------------- DiSMEC


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_dismec_is_one_versus_rest_with_small_weights_dropped(delta):
    X, Y = problem("sparse counts")
    Y = Y[:, [0, 1, 2, 3, 5]]
    theirs = OneVsRestClassifier(LinearSVC(dual=False, tol=0.01)).fit(X, Y)
    weights = np.vstack([each.coef_ for each in theirs.estimators_])
    kept = np.where(np.abs(weights) >= delta, weights, 0.0)
    expected = X @ kept.T + np.hstack([each.intercept_ for each in theirs.estimators_])
    for x, y in ((X, Y), (as_sparse(X), sp.csr_array(Y))):
        model = DiSMEC(delta).fit_moments(Moments.from_arrays(x, y))
        np.testing.assert_allclose(model.decision_function(x), expected, atol=1e-3)
        assert model.coef_.nnz == np.count_nonzero(kept)
    assert delta == 0 or 0 < np.count_nonzero(kept) < np.count_nonzero(weights)
    top = ComposedClassifier(DiSMEC(delta), threshold=RCut(2)).fit(X, Y).predict(X)
    assert np.array_equal(np.sort(np.argsort(-expected, axis=1)[:, :2], axis=1), np.nonzero(top)[1].reshape(-1, 2))


# ------------------------------------------------------------------------------------- SLEEC


def of_unit_length(Y):
    return Y / np.maximum(np.sqrt(Y.sum(axis=1, keepdims=True)), 1)


def pairs_by_loops(Y, k):
    """Ω of label sets Y of {0, 1}, by exact fractions, and all inner products of the rows of unit length."""
    common, n = Y.astype(int) @ Y.T.astype(int), len(Y)
    size = [max(1, int(common[i, i])) for i in range(n)]
    pairs = set()
    for i in range(n):
        order = sorted(range(n), key=lambda j: (j != i, -Fraction(int(common[i, j] ** 2), size[i] * size[j]), j))
        for j in order[:k]:
            pairs |= {(i, j), (j, i)}
    return pairs, of_unit_length(Y) @ of_unit_length(Y).T


def test_sleec_compares_the_label_sets_with_most_in_common(monkeypatch):
    """Products that are equal, such as 1/√9 and 2/√36, tie, whatever their last bit."""
    rng = np.random.default_rng(0)
    Y = np.zeros((60, 27))
    for row in Y:
        row[rng.choice(27, rng.choice([3, 12, 27]), replace=False)] = 1
    pairs, products = pairs_by_loops(Y, 4)
    monkeypatch.setattr(sleec, "_BLOCK", 7)
    found = sleec.nearest_by_labels(sp.csr_array(of_unit_length(Y)), 4).tocoo()
    stored = {(int(i), int(j)): v for i, j, v in zip(found.row, found.col, found.data, strict=True)}
    assert stored == pytest.approx({pair: products[pair] for pair in pairs}, abs=1e-12)


@pytest.mark.parametrize("size", [3, 12])
def test_sleec_embeds_by_singular_value_projection(size, monkeypatch):
    Y = problem("plain")[1][:60].astype(float)
    pairs, products = pairs_by_loops(Y, 5)
    omega = np.zeros((60, 60), dtype=bool)
    omega[tuple(np.array(sorted(pairs)).T)] = True
    matrix, losses = np.zeros((60, 60)), [np.sum(products[omega] ** 2)]
    for _ in range(8):
        values, vectors = np.linalg.eigh(matrix + np.where(omega, products - matrix, 0.0))
        values = np.where(np.arange(60) >= 60 - size, np.maximum(values, 0.0), 0.0)
        matrix = (vectors * values) @ vectors.T
        losses.append(np.sum((products - matrix)[omega] ** 2))
    assert np.all(np.diff(losses) < 0)
    codes, found = sleec.embed(sp.csr_array(of_unit_length(Y)), size, 5, 0.0, 8)
    np.testing.assert_allclose(found, losses, rtol=1e-8)
    np.testing.assert_allclose(codes @ codes.T, matrix, atol=1e-8)
    monkeypatch.setattr(sleec, "_DENSE", 10)
    codes, found = sleec.embed(sp.csr_array(of_unit_length(Y)), size, 5, 0.0, 8)
    np.testing.assert_allclose(codes @ codes.T, matrix, atol=1e-2)


@pytest.mark.parametrize("form", [np.asarray, as_sparse], ids=["dense", "sparse"])
def test_sleec_lets_the_nearest_codes_vote(form, monkeypatch):
    X, Y = problem("sparse counts")
    if form is as_sparse:
        monkeypatch.setattr(sleec, "_GRADIENTS_FROM", 5)
    model = SLEEC(5, k=4, cluster_size=50, n_learners=2, random_state=0).fit(form(X), Y)
    assert [len(clusters) for clusters in model.learners_] == [2, 2]
    votes = np.zeros(Y.shape)
    for clusters, centres in zip(model.learners_, model._centres, strict=True):
        member = np.argmin(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
        for i, c in enumerate(member):
            rows = np.flatnonzero(member == c)
            codes, _ = sleec.embed(sp.csr_array(of_unit_length(Y[rows])), 5, 15, 1e-3, 50)
            V = np.linalg.solve(X[rows].T @ X[rows] + np.eye(X.shape[1]), X[rows].T @ codes)
            np.testing.assert_allclose(clusters[c].weights, V, atol=1e-6)
            apart = np.round(np.sum((X[rows] @ V - X[i] @ V) ** 2, axis=1), 9)
            votes[i] += Y[rows[np.argsort(apart, kind="stable")[:4]]].mean(axis=0) / 2
            if i == 25:
                break
    np.testing.assert_allclose(model.decision_function(form(X))[:26], votes[:26] - 0.5, atol=1e-9)
    assert len(SLEEC(5, n_learners=3).fit(X, Y).learners_) == 1


# ------------------------------------------------------------------------------------- CLEMS


def label_sets():
    return np.unique(problem("plain")[1], axis=0)


def test_pairs_have_the_costs_of_metrics_of_instances_and_of_the_ranking_loss():
    of_instances = {"hamming_loss", "zero_one_loss", "accuracy", "f1", "precision", "recall"}
    assert set(LOSSES_OF_PAIRS) == of_instances | {"ranking_loss"}


@pytest.mark.parametrize("metric", LOSSES_OF_PAIRS)
def test_costs_of_pairs_are_the_metrics_of_single_instances(metric):
    sets = label_sets()[:12]
    options = {"ties": "half", "zero_division": 0} if metric == "ranking_loss" else {}
    found = losses_of_pairs(metric, sets, sets)
    for i, true in enumerate(sets):
        for j, predicted in enumerate(sets):
            outcome = Outcome(Counts(true[None], predicted[None]), Scores(true[None], predicted[None].astype(float)))
            value = evaluate(outcome, {"it": (metric, options)})["it"]
            expected = 1 - value if METRICS[metric].higher_is_better else value
            assert found[i, j] == pytest.approx(expected), (metric, true, predicted)


@pytest.mark.parametrize("cost", ["f1", "recall", "ranking_loss"])
def test_clems_steps_are_guttmans_transform(cost):
    """The step with two places for each set is that of weighted MDS of 2C points, by a pseudo-inverse."""
    sets = label_sets()[:7]
    wanted, counts = np.sqrt(losses_of_pairs(cost, sets, sets)), np.arange(1.0, 8)
    rng = np.random.default_rng(0)
    t, p = rng.random((7, 3)), rng.random((7, 3))
    new_t, new_p, stress = _scale(wanted, counts, t, p, 0.0, 1)
    weights, delta = np.zeros((14, 14)), np.zeros((14, 14))
    weights[:7, 7:], delta[:7, 7:] = counts[:, None], wanted
    weights, delta, z = weights + weights.T, delta + delta.T, np.vstack([t, p])
    apart = np.linalg.norm(z[:, None] - z, axis=2)
    b = -weights * np.divide(delta, apart, out=np.zeros_like(apart), where=apart > 0)
    v = -weights.copy()
    b[np.diag_indices(14)], v[np.diag_indices(14)] = -b.sum(axis=1), weights.sum(axis=1)
    expected = np.linalg.pinv(v) @ b @ z
    found = np.vstack([new_t, new_p])
    np.testing.assert_allclose(found - found.mean(axis=0), expected - expected.mean(axis=0), atol=1e-10)
    for (a, c), value in zip(((t, p), (new_t, new_p)), stress, strict=True):
        assert value == pytest.approx(
            sum(counts[i] * (np.linalg.norm(a[i] - c[j]) - wanted[i, j]) ** 2 for i in range(7) for j in range(7))
        )


def test_clems_stress_falls_to_a_minimum():
    sets = label_sets()[:6]
    wanted, counts = np.sqrt(losses_of_pairs("recall", sets, sets)), np.ones(6)
    rng = np.random.default_rng(1)
    t, p, stress = _scale(wanted, counts, rng.random((6, 2)), rng.random((6, 2)), 0.0, 20_000)
    assert np.all(np.diff(stress) <= 1e-12)

    def of(flat):
        a, b = flat.reshape(2, 6, 2)
        return np.sum((np.linalg.norm(a[:, None] - b, axis=2) - wanted) ** 2)

    assert minimize(of, np.stack([t, p]).ravel()).fun >= stress[-1] * (1 - 1e-3)


def test_clems_embeds_hamming_losses_exactly():
    """√(Hamming loss) is a distance between label sets, so no stress is left, and codes decode to their sets."""
    X, Y = problem("plain")
    space = CLEMS(cost="hamming_loss").fit(X, Y)
    assert space.stress_[-1] < 1e-10
    apart = np.linalg.norm(space.encode(Y)[:, None] - space.encode(Y), axis=2)
    np.testing.assert_allclose(apart**2, np.mean(Y[:, None] != Y, axis=2), atol=1e-6)
    np.testing.assert_array_equal(space.decode(space.encode(Y)), Y)


@pytest.mark.parametrize("start", ["spectral", "random"])
def test_clems_decodes_to_the_nearest_of_the_training_sets(start):
    X, Y = problem("plain")
    space = CLEMS(3, "f1", start, n_starts=2, random_state=0).fit(X, Y)
    assert space.true_codes_.shape == (len(label_sets()), 3)
    codes = np.random.default_rng(0).standard_normal((30, 3)) * 0.5
    nearest = [int(np.argmin(((space.predicted_codes_ - z) ** 2).sum(axis=1))) for z in codes]
    np.testing.assert_array_equal(space.decode(codes), label_sets()[nearest])
    unknown = np.array([[1, 1, 1, 1, 1, 1]])
    costs = losses_of_pairs("f1", unknown, label_sets())[0]
    np.testing.assert_array_equal(space.encode(unknown)[0], space.true_codes_[np.argmin(costs)])


def test_clems_keeps_the_best_of_its_random_starts():
    X, Y = problem("plain")
    once, often = (CLEMS(2, "f1", "random", n, max_iter=20, random_state=0).fit(X, Y).stress_[-1] for n in (1, 6))
    assert often < once  # the first start is the same


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cost", "metric", "printed"),
    [("hamming_loss", "hamming_loss", 0.0825), ("f1", "f1", 0.7690), ("accuracy", "accuracy", 0.7600)],
)
def test_clems_gets_the_authors_numbers_on_scene(cost, metric, printed):
    """Their program's page: scene, half of the rows for training, random forests of depth 10.

    Which half is not known, nor the forest's random numbers; the tolerance is for these, since the start here is not
    random. What is exact are the tests above: the steps, and the minimum.
    """
    from mlcdr.data.dataset import load_dataset

    scene = load_dataset("scene")
    X, Y = np.asarray(scene.X.toarray() if sp.issparse(scene.X) else scene.X), np.asarray(scene.Y)
    half = len(X) // 2
    forest = RandomForestRegressor(100, max_depth=10, max_features="sqrt", random_state=0)
    model = ComposedClassifier(forest, CLEMS(cost=cost)).fit(X[:half], Y[:half])
    found = evaluate(Outcome(Counts(Y[half:], model.predict(X[half:]))), {"it": (metric, {})})["it"]
    assert found == pytest.approx(printed, abs=0.02)
