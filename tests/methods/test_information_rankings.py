"""LRFS, FIMF and PPT-MI against public programs, by plain loops, and where labels or label sets are few."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.sparse as sp

from mlcdr import FIMF, LRFS, MRMR, PMU, PPTMI
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.forward_selection import forward_selection
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem
from tests.methods.test_information import by_counting as h
from tests.methods.test_occ import cmi, greedy, mi, small

AS_IT_IS = {"discretise": None}


def equal_width(X, n_bins):
    """The number of each value's interval, of intervals of equal width in each feature."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0) / n_bins
    return np.minimum(np.floor((X - low) / width), n_bins - 1)


def pairs_of_most_entropy(Y, n):
    order = sorted(range(Y.shape[1]), key=lambda j: -round(h(Y[:, j]), 12))
    return list(combinations(sorted(order[:n]), 2))


# ------------------------------------------------------------------------------------------------- public programs


@pytest.mark.parametrize("name", ["emotions", "scene"])
def test_lrfs_is_pyit_mlfs(given, name):
    """The largest difference of relevances is 2e-14. The rankings are the same; the first 40 take less time."""
    X, Y, put_out = given(name, "selection", "selection")
    X, Y = as_dense(X), as_dense(Y)
    codes = equal_width(X, 3)
    np.testing.assert_array_equal(codes[:20], put_out["disc3_first20rows"])
    method, moments = LRFS(**AS_IT_IS), Moments.from_arrays(codes, Y)
    relevance = method._relevance(moments)
    np.testing.assert_allclose(relevance, put_out["lrfs_LR"].ravel(), atol=1e-13)
    chosen = forward_selection(40, relevance, method._added(moments), method.weight)
    assert chosen == put_out["lrfs_pyit_rank"][:40].tolist()


# Differences: 5e-13, of the rounding to 12 digits. Of medical's ranking nine places differ, of features that tie.
@pytest.mark.parametrize(
    ("name", "case"),
    [
        *((name, case) for name in ("emotions", "scene") for case in ("P_all_Q1", "P_all_Q10", "P_half_Q10")),
        *(("medical", case) for case in ("P_all_Q2", "P_half_Q10")),
        *((name, "raw_P_all_Q2") for name in ("emotions", "scene", "medical")),
    ],
)
def test_fimf_is_its_authors_program_up_to_a_constant(given, name, case):
    """The program has no terms of labels alone. The copy that was run has one line more: it makes X binary at ½.

    It was given X scaled to [0, 1], or as it is (`raw`).
    """
    X, Y, put_out = given(name, "selection", "selection")
    X, Y = as_dense(X), as_dense(Y)
    scaled = X
    if not case.startswith("raw"):
        span = np.ptp(X, axis=0)
        scaled = (X - X.min(axis=0)) / np.where(span > 0, span, 1.0)
    binary = (scaled > 0.5).astype(float)
    n_paired = int(case.split("Q")[1])
    half = (X.shape[1] + 1) // 2 if "half" in case else None
    fitted = FIMF(n_paired_labels=n_paired, n_candidates=half, **AS_IT_IS).fit(binary, Y)
    expected = put_out[f"fimf_{case}_score"]
    np.testing.assert_array_equal(np.isfinite(fitted.scores_), np.isfinite(expected))
    there = np.isfinite(expected)
    of_pairs = sum(mi(Y[:, i], Y[:, j]) for i, j in pairs_of_most_entropy(Y, n_paired))
    constant = sum(h(y) for y in Y.T) - of_pairs
    np.testing.assert_allclose(fitted.scores_[there], expected[there] + constant, atol=2e-12)
    ranks = put_out[f"fimf_{case}_rank"]
    if name != "medical":
        np.testing.assert_array_equal(fitted.ranking_[there[fitted.ranking_]], ranks[there[ranks]])


# Differences: 5e-13, of the rounding to 12 digits. PyIT drops label sets of fewer than t rows, NMS those of x at most.
@pytest.mark.parametrize(
    ("name", "case", "min_count"),
    [
        ("emotions", "pyit_t6_mi", 6),
        ("emotions", "pyit_t3_mi", 3),
        ("emotions", "nms_eqw3_x5_score", 6),
        ("emotions", "nms_eqw3_x6_score", 7),
        ("emotions", "nms_efi2_x6_score", 7),
        ("medical", "pyit_t6_mi", 6),
    ],
)
def test_ppt_mi_is_the_ranking_of_two_programs(given, name, case, min_count):
    X, Y, put_out = given(name, "selection", "selection")
    X, Y = as_dense(X), as_dense(Y)
    if "efi2" in case:
        middle = np.sort(X, axis=0)[(len(X) + 1) // 2 - 1]
        codes = (middle < X).astype(float)
    else:
        codes = equal_width(X, 3)
    fitted = PPTMI(min_count=min_count, **AS_IT_IS).fit(codes, Y)
    np.testing.assert_allclose(fitted.scores_, put_out[f"pptmi_{case}"], atol=2e-12)
    if name == "emotions":
        program, setting = case.split("_", 1)
        key = f"pre_t{min_count}" if program == "pyit" else setting.replace("score", "rank")
        expected = put_out[f"pptmi_pyit_{key}_rank" if program == "pyit" else f"pptmi_nms_{key}"]
        np.testing.assert_array_equal(fitted.ranking_, expected)


# ---------------------------------------------------------------------------------------------------- plain loops


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_lrfs_by_plain_loops(form, n_labels):
    X, Y = small(3)
    X[:, 6] = 1  # a constant feature comes last
    Y = Y[:, :n_labels]

    def relevance(m):
        return sum(cmi(X[:, m], a, b) for a, b in permutations(Y.T, 2))

    def score(m, chosen):
        return relevance(m) - np.mean([mi(X[:, m], X[:, s]) for s in chosen])

    ranking = LRFS(**AS_IT_IS).fit(form(X), form(Y)).ranking_.tolist()
    assert ranking == greedy(7, range(7), relevance, score)


@pytest.mark.parametrize("n_paired", [1, 2, 3, None])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_fimf_by_plain_loops(form, n_paired):
    X, Y = small(4)
    X[:, 6] = 1
    pairs = pairs_of_most_entropy(Y, n_paired or Y.shape[1])
    assert len(pairs) == {1: 0, 2: 1, 3: 3, None: 10}[n_paired]
    expected = []
    for x in X.T:
        interaction = sum(mi(x, Y[:, i]) - cmi(x, Y[:, i], Y[:, j]) for i, j in pairs)
        expected.append(sum(mi(x, y) for y in Y.T) - interaction)
    fitted = FIMF(n_paired_labels=n_paired, **AS_IT_IS).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.scores_, expected, atol=1e-11)
    assert fitted.scores_[6] == 0


@pytest.mark.parametrize("min_count", [1, 3, 6])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_ppt_mi_by_plain_loops(form, min_count):
    X, Y = small(5)
    of_rows = [tuple(y) for y in Y.tolist()]
    frequent = {each for each, n in Counter(of_rows).items() if n >= min_count}
    kept = [i for i, each in enumerate(of_rows) if each in frequent]
    assert (len(kept) < len(Y)) == (min_count > 1)
    numbers = {each: k for k, each in enumerate(frequent)}
    classes = np.array([numbers[of_rows[i]] for i in kept])
    fitted = PPTMI(min_count=min_count, **AS_IT_IS).fit(form(X), form(Y))
    np.testing.assert_allclose(fitted.scores_, [mi(x[kept], classes) for x in X.T], atol=1e-11)


# --------------------------------------------------------------------------------------------- what one may rely on


def test_fimf_with_all_pairs_is_pmus_first_choice_and_without_them_mim():
    X, Y = problem("plain")
    moments = Moments.from_arrays(X, Y)
    all_pairs = FIMF(n_paired_labels=None).fit_moments(moments)
    np.testing.assert_allclose(all_pairs.scores_, PMU()._relevance(moments), atol=1e-11)
    assert all_pairs.ranking_[0] == PMU().fit_moments(moments).ranking_[0]
    alone = FIMF(n_paired_labels=1).fit_moments(moments)
    np.testing.assert_allclose(alone.scores_, alone._information(moments).sum(axis=1), atol=1e-11)
    assert np.abs(alone.scores_ - all_pairs.scores_).max() > 1e-3


def test_features_of_little_entropy_that_fimf_does_not_score_come_last_in_their_order():
    X, Y = small()
    X[:50, [1, 4]] = 0
    fitted = FIMF(n_candidates=5, **AS_IT_IS).fit(X, Y)
    assert fitted.ranking_[5:].tolist() == [1, 4]
    assert np.isneginf(fitted.scores_[[1, 4]]).all()
    assert FIMF(n_candidates=0.72, **AS_IT_IS).fit(X, Y).ranking_.tolist() == fitted.ranking_.tolist()
    with pytest.raises(ValueError, match="n_candidates=8 is more than the 7"):
        FIMF(n_candidates=8).fit(X, Y)


def test_lrfs_with_one_label_is_mrmr_also_beside_a_constant_one():
    X, Y = problem("plain")
    expected = MRMR().fit(X, Y[:, :1]).ranking_.tolist()
    assert LRFS().fit(X, Y[:, :1]).ranking_.tolist() == expected
    assert LRFS().fit(X, Y[:, [0, 4]]).ranking_.tolist() == expected  # label 4 is never positive


def test_ppt_mi_sees_what_no_label_alone_shows():
    """Feature 3 is the exclusive or of two labels, independent of each."""
    rng = np.random.default_rng(0)
    Y = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 20)
    X = rng.integers(0, 2, (80, 5)).astype(float)
    X[:, 3] = Y[:, 0] ^ Y[:, 1]
    fitted = PPTMI(**AS_IT_IS).fit(X, Y)
    assert fitted.ranking_[0] == 3
    assert fitted.scores_[3] == pytest.approx(1)
    assert mi(X[:, 3], Y[:, 0]) == pytest.approx(0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_ppt_mi_where_few_label_sets_are_frequent(form):
    X, Y = small()
    without = np.zeros_like(Y)
    assert PPTMI().fit(form(X), form(without)).scores_.tolist() == [0] * 7  # all in one class
    distinct = (np.arange(32)[:, None] >> np.arange(5)) % 2
    with pytest.raises(ValueError, match=r"no label set is that of 2 rows \(min_count\).* of 1 of 32"):
        PPTMI(min_count=2).fit(form(X[:32]), form(distinct))
