"""The bagging ensemble: votes by hand, the shares, seeds, and the author's program in its deterministic modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier

from mlcdr import OCC, BinaryRelevance, ClassifierChain, Ensemble, LinearSVM, Ridge
from tests.methods.problems import problem


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_members", [1, 4, 5])
def test_members_vote_and_the_majority_wins(n_members, form):
    X, Y = problem("plain")
    model = Ensemble(BinaryRelevance(Ridge()), n_members, random_state=3).fit(form(X[:100]), Y[:100])
    votes = sum(m.predict(X[100:, f]) for m, f in zip(model.members_, model.features_, strict=True))
    np.testing.assert_array_equal(model.predict(form(X[100:])), 2 * votes >= n_members)
    np.testing.assert_array_equal(model.decision_function(form(X[100:])) > 0, 2 * votes >= n_members)
    np.testing.assert_allclose(model.decision_function(form(X[100:])) + 0.5, votes / n_members, atol=0.25 / n_members)


@pytest.mark.parametrize(("variant", "n", "d"), [("text", 90, 8), ("published_code", 60, 12)])
def test_shares_are_drawn_without_replacement(variant, n, d):
    X, Y = problem("plain")  # 120×17
    for rows, columns, _ in Ensemble(variant=variant, random_state=0)._draws(*X.shape):
        assert len(rows) == len(set(rows.tolist())) == n
        assert len(columns) == len(set(columns.tolist())) == d
    whole = Ensemble(BinaryRelevance(Ridge()), 3, None, None).fit(X, Y)
    np.testing.assert_array_equal(whole.predict(X), BinaryRelevance(Ridge()).fit(X, Y).predict(X))


def test_members_differ_and_seeds_repeat():
    X, Y = problem("plain")
    model = Ensemble(ClassifierChain(Ridge(), "random", random_state=5), 6, random_state=1).fit(X, Y)
    assert len({tuple(m.order_) for m in model.members_}) > 3
    again = Ensemble(ClassifierChain(Ridge(), "random", random_state=8), 6, random_state=1).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    other = Ensemble(ClassifierChain(Ridge(), "random"), 6, random_state=2).fit(X, Y)
    assert not np.array_equal(model.features_, other.features_)
    more = Ensemble(ClassifierChain(Ridge(), "random"), 9, random_state=1).fit(X, Y)
    np.testing.assert_array_equal(more.features_[:6], model.features_)


def test_any_classifier_is_a_member():
    X, Y = problem("plain")
    assert Ensemble(KNeighborsClassifier(3), 3, random_state=0).fit(X, Y).predict(X).shape == Y.shape
    X, Y = problem("sparse counts")
    eocc = Ensemble(OCC(LinearSVM(), variant="published_code"), 3, random_state=0)
    said = eocc.fit(sp.csr_array(X), sp.csr_array(Y)).predict(sp.csr_array(X))
    np.testing.assert_array_equal(said, eocc.fit(X, Y).predict(X))
    assert not said[:, 4].any()


def test_deterministic_modes_of_the_authors_program(sun2017, monkeypatch):
    """Every permutation there is the identity (A), or every second one, in the order of the calls, reversed (B)."""
    X, Y, new = (sun2017(f"clmlc_{name}") for name in ("X", "Y_LxN", "Xt"))

    class Permutations:
        def __init__(self, every):
            self.calls, self.every = 0, every

        def permutation(self, n):
            self.calls += 1
            return np.arange(n)[:: -1 if self.calls % self.every == 0 else 1]

    for mode, n_members, every in (("A", 2, 99), ("B", 3, 2)):
        rng = Permutations(every)

        def draws(self, n, d, rng=rng):
            shares = (self.instances, self.features) if self.variant == "text" else (self.features, self.instances)
            for _ in range(self.n_members):
                columns = rng.permutation(d)[: int(shares[1] * d)]
                yield rng.permutation(n)[: int(shares[0] * n)], columns, np.random.RandomState(0)

        monkeypatch.setattr(Ensemble, "_draws", draws)
        monkeypatch.setattr("mlcdr.methods.chains.order.check_random_state", lambda seed, rng=rng: rng)
        chain = ClassifierChain(Ridge(0.1, "penalised"), "random")
        model = Ensemble(chain, n_members, variant="published_code").fit(X, Y.T)
        theirs = sun2017(f"ecc_m{n_members}_pred_mode{mode}_LxNt")
        np.testing.assert_array_equal(model.predict(new), theirs.T)
