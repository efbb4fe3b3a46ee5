"""The tests of significance against other programs, worked examples, and enumeration."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mlcdr.comparison import statistics as module

# Demšar (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on fourteen data sets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # printed 0.975 both, ranked 2 and 3
        [0.957, 0.978, 0.946, 0.970],
    ]
).T


def problem(k, n, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(k, n)) + np.linspace(0, 1, k)[:, None]
    return values.round(0) if ties else values


def plain_friedman(averages, n):
    """χ²_F and F_F of average ranks over n blocks, as Demšar's text has them, without a correction for ties."""
    k = len(averages)
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(averages**2) - k * (k + 1) ** 2 / 4)
    return chi2, (n - 1) * chi2 / (n * (k - 1) - chi2)


# -------------------------------------------------------------------- Demšar's example


def test_demsars_friedman_test():
    """Section 3.2.2: ranks, χ²_F = 9.28, F_F = 3.69 against F(3, 39) = 2.85, the text's formula not minding ties."""
    averages = module.average_ranks(DEMSAR, True)
    assert averages.round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    assert tuple(np.round(plain_friedman(averages, 14), 2)) == (9.28, 3.69)
    got = module.friedman(DEMSAR, True)
    assert round(got.f_critical, 2) == 2.85
    assert (got.df, got.f_df, got.n_blocks) == (3, 39, 14)


def test_demsars_wilcoxon_test():
    """Section 3.1.3: R⁺ = 93, R⁻ = 12, with two zeros; shared out there (1.5 to each sum), discarded here."""
    differences = module.paired_differences(DEMSAR[1], DEMSAR[0])
    # fourteen ranks less the zeros' 1 and 2, so each remaining rank is two lower
    n_positive, n_negative = 10, 2
    positive, negative = 93 - 1.5 - 2 * n_positive, 12 - 1.5 - 2 * n_negative
    assert module.rank_biserial(differences) == pytest.approx((positive - negative) / (positive + negative))
    assert module.wilcoxon(differences) < 0.05


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (6, 2.850), (10, 3.164)])
def test_the_critical_values_of_demsars_table_5(k, q):
    unit = math.sqrt(k * (k + 1) / (6 * 20))
    assert module.critical_difference(k, 20) / unit == pytest.approx(q, abs=0.0011)


# -------------------------------------------------------------------- against scipy


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("k", "n"), [(3, 4), (4, 12), (7, 30)])
def test_friedman_is_scipys(k, n, ties):
    values = problem(k, n, seed=k, ties=ties)
    for higher in (True, False):
        got = module.friedman(values, higher)
        expected = stats.friedmanchisquare(*values)
        assert got.statistic == pytest.approx(expected.statistic)
        assert got.p == pytest.approx(expected.pvalue)
    assert ties == any(len(set(block)) < k for block in values.T)


def test_friedman_of_two_methods_is_the_sign_test():
    """(wins − losses)² / N; scipy refuses two methods."""
    got = module.friedman(np.array([[1.0, 2, 3, 4, 5], [2.0, 3, 4, 5, 4]]), True)
    assert got.statistic == pytest.approx((4 - 1) ** 2 / 5)


def test_one_order_everywhere_and_ties_everywhere():
    got = module.friedman(np.array([[1.0] * 6, [2.0] * 6, [3.0] * 6]), False)
    assert got.statistic == pytest.approx(12.0)
    assert (got.f, got.f_p) == (math.inf, 0.0)
    tied = np.ones((3, 6))
    assert math.isnan(module.friedman(tied, False).p)
    assert math.isnan(module.friedman(problem(3, 1), True).f)


@pytest.mark.parametrize("n", [5, 9, 20, 40])
def test_wilcoxon_without_ties_is_scipys_exact_test(n):
    d = np.random.default_rng(n).normal(0.4, size=n)
    expected = stats.wilcoxon(d, method="exact")
    assert module.wilcoxon(d) == pytest.approx(expected.pvalue, rel=1e-10)


@pytest.mark.parametrize("d", [[1, 1, 2, -1, 3, 3], [0, 2, 2, 2, -2, -5, 7, 7], [1, 1, 1, 1, 1, 1, -1], [4, 0, 0]])
def test_wilcoxon_with_ties_is_exact(d):
    """All 2ⁿ patterns of signs, one by one."""
    kept = np.array([x for x in d if x])
    order = stats.rankdata(abs(kept))
    low = min(order[kept > 0].sum(), order[kept < 0].sum())
    sums = [order[np.array(signs, dtype=bool)].sum() for signs in itertools.product((0, 1), repeat=len(kept))]
    assert module.wilcoxon(d) == pytest.approx(min(1.0, 2 * np.mean(np.array(sums) <= low)))


@pytest.mark.parametrize("ties", [False, True])
def test_wilcoxon_of_many_is_scipys_approximation(ties):
    d = np.random.default_rng(1).normal(0.2, size=80)
    d = d.round(1) if ties else d
    with np.errstate(all="ignore"):
        try:
            expected = stats.wilcoxon(d, method="asymptotic")
        except ValueError:  # its name in scipy before 1.15
            expected = stats.wilcoxon(d, method="approx")
    assert module.wilcoxon(d) == pytest.approx(expected.pvalue)


def test_wilcoxon_of_zeros_is_not_defined():
    assert math.isnan(module.wilcoxon([0.0, 0.0]))
    for differences, effect in (([0.0, 0.0], 0.0), ([1.0, 2.0, 3.0], 1.0), ([-3.0, 1.0, 2.0], 0.0)):
        assert module.rank_biserial(differences) == effect
    with pytest.raises(ValueError, match="missing"):
        module.wilcoxon([1.0, math.nan])


def test_rounding_neither_breaks_ties_nor_makes_differences():
    got = module.paired_differences([0.3, 0.2, 0.1 + 0.2, 5e8], [0.2, 0.1, 0.3, 5e8])
    assert got[0] == got[1]
    assert got[2] == got[3] == 0
    assert module.paired_differences([0, 0], [0, 0]).tolist() == [0, 0]
    small = module.paired_differences([0.3, 0.2, 0.1 + 0.2], [0.2, 0.1, 0.3])
    assert small.tolist() == pytest.approx([0.1, 0.1, 0])
    assert small[0] == small[1]


def test_holm_by_hand():
    """0.01 · 4, 0.02 · 3, 0.03 · 2 pulled up to 0.06, 0.9; without a fifth that is not defined."""
    got = module.holm([0.03, 0.01, math.nan, 0.9, 0.02])
    np.testing.assert_allclose(got, [0.06, 0.04, np.nan, 0.9, 0.06])
    assert module.holm([0.7, 0.6]).tolist() == [1.0, 1.0]
    assert module.holm([]).tolist() == []


# -------------------------------------------------------------------- against scikit-posthocs, baycomp


def test_maximal_cliques_are_those_of_scikit_posthocs():
    plots = pytest.importorskip("scikit_posthocs._plotting", reason="needs scikit-posthocs")
    rng = np.random.default_rng(5)
    for k in (2, 3, 5, 8):
        for share in (0.2, 0.5, 0.8):
            differs = np.triu(rng.random((k, k)) < share, 1)
            differs |= differs.T
            expected = plots._find_maximal_cliques(pd.DataFrame(~differs & ~np.eye(k, dtype=bool)))
            got = module.cliques(differs, range(k))
            assert {frozenset(c) for c in got} == {frozenset(map(int, c)) for c in expected if len(c) > 1}


@pytest.mark.parametrize(("shift", "rope"), [(0.3, 0.2), (0.05, 0.2), (-0.5, 0.1), (0.3, 0.0)])
def test_the_bayesian_test_is_baycomps(shift, rope):
    """Both are Monte Carlo: 20 000 and 50 000 samples, so within four standard errors of a difference."""
    baycomp = pytest.importorskip("baycomp", reason="needs baycomp (comes with autorank)")
    rng = np.random.default_rng(8)
    a = rng.normal(size=15)
    b = a + rng.normal(shift, 0.5, size=15)
    np.random.seed(1)  # noqa: NPY002 (where baycomp takes its samples from)
    expected = baycomp.SignedRankTest.probs(a, b, rope, nsamples=20_000)
    worse, equal, better = module.bayesian_signed_rank(b - a, rope)
    ours = [worse, equal, better] if rope else [worse, better]
    assert ours == pytest.approx(list(expected), abs=4 * math.sqrt(0.25 / 20_000 + 0.25 / 50_000))
    assert worse + equal + better == pytest.approx(1)


# -------------------------------------------------------------------- properties


def test_one_difference_has_a_closed_form():
    """N = 1, r = 0: θ_better − θ_worse = w₁² + 2 w₀w₁ > 0 always; with z inside the region all is equal."""
    assert module.bayesian_signed_rank([1.0]) == (0.0, 0.0, 1.0)
    assert module.bayesian_signed_rank([-1.0]) == (1.0, 0.0, 0.0)
    assert module.bayesian_signed_rank([0.01], rope=0.02) == (0.0, 1.0, 0.0)
    # z = 3r: w₀ with w₁ and w₁ with itself lie beyond, so θ_equal = w₀², w₀ ~ Beta(1/2, 1): largest where w₀² > 1/2
    _, equal, _ = module.bayesian_signed_rank([3.0], rope=1.0)
    assert equal == pytest.approx(1 - 0.5**0.25, abs=0.01)


def test_the_bayesian_test_is_even_handed():
    both = np.array([0.3, -0.1, 0.2, 0.05, -0.4, 0.6])
    one, other = module.bayesian_signed_rank(both, 0.1), module.bayesian_signed_rank(-both, 0.1)
    assert one == other[::-1]
    assert module.bayesian_signed_rank(np.zeros(5)) == (0.5, 0.0, 0.5)
    assert module.bayesian_signed_rank(np.zeros(5), 0.01) == (0.0, 1.0, 0.0)
    one_hundredth = module.paired_differences([0.7777, 0.82327], [0.3, 0.81327])[1]
    assert module._beyond(np.array([2 * one_hundredth]), 0.02) == 0.5, "0.82327 − 0.81327 is 0.01"
    at_the_limit = module._beyond(np.array([1.0, 2.0, 2.0 + 1e-13, 3.0]), 2.0)
    np.testing.assert_array_equal(at_the_limit, [0.0, 0.5, 0.5, 1.0])
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="region"):
            module.bayesian_signed_rank(both, wrong)


def test_pairs_are_turned_by_the_direction():
    values = np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.1]])
    low, high = module.pairwise(values, False), module.pairwise(values, True)
    assert low.counts[0, 1].tolist() == [1, 1, 1]
    assert low.counts[1, 1].tolist() == [0, 0, 0]
    values[0, 2] = 0.0
    low, high = module.pairwise(values, False), module.pairwise(values, True)
    assert low.counts[0, 1].tolist() == high.counts[1, 0].tolist() == [2, 1, 0]
    assert low.advantage[0, 1] == pytest.approx(0.2 / 3)
    np.testing.assert_allclose(low.advantage, -high.advantage)
    np.testing.assert_array_equal(low.p, high.p)
    assert low.p[0, 1] == low.p[1, 0] == 0.5
    assert np.isnan(np.diag(low.holm)).all()


def test_cliques_follow_the_ranks():
    differs = np.zeros((4, 4), dtype=bool)
    differs[0, 3] = differs[3, 0] = True
    assert module.cliques(differs, [4.0, 3.0, 2.0, 1.0]) == [(3, 2, 1), (2, 1, 0)]
    assert module.cliques(np.ones((3, 3), dtype=bool), [1, 2, 3]) == []
    tied = module.pairwise(np.ones((3, 4)), True)
    assert np.isnan(tied.holm).all()
    assert module.cliques(tied.holm <= 0.05, [2, 2, 2]) == [(0, 1, 2)]


def test_what_cannot_be_ranked_is_refused():
    for wrong in (np.ones(3), np.ones((1, 3)), np.array([[1.0, math.nan], [1, 2]]), np.ones((3, 0))):
        with pytest.raises(ValueError, match=r"two and one are needed|missing or infinite"):
            module.friedman(wrong, True)


# -------------------------------------------------------------------- the corrected t test


@pytest.mark.parametrize(("margin", "overlap"), [(0.1, 0.0), (0.0, 1 / 9)])
def test_it_is_the_t_test_with_another_variance(margin, overlap):
    """With ten-fold cross-validation repeated: 1/n + 1/9 in place of 1/n, so t shrinks; without overlap not at all."""
    d = np.random.default_rng(9).normal(0.2, size=100)
    t = stats.ttest_1samp(d, margin).statistic * math.sqrt(0.01 / (0.01 + overlap))
    assert module.corrected_t(d, overlap, margin) == pytest.approx(stats.t.sf(t, 99))


def test_no_spread_and_one_split():
    assert module.corrected_t([0.1] * 5, 0.1) == 0.0
    for d, margin in (([-0.1] * 5, 0.0), ([0.1] * 5, 0.1), ([0.1 + 0.2, 0.3], 0.3), ([0.0] * 5, 0.0)):
        assert module.corrected_t(d, 0.1, margin) == 1.0
    assert math.isnan(module.corrected_t([0.1], 0.1))
    with pytest.raises(ValueError, match="no difference"):
        module.corrected_t([], 0.1)


def test_two_sided_it_is_twice_the_smaller_tail():
    d = np.random.default_rng(4).normal(0.1, size=(3, 30))
    expected = [2 * min(module.corrected_t(row, 0.25), module.corrected_t(-row, 0.25)) for row in d]
    assert module.corrected_t_two_sided(d, 0.25) == pytest.approx(expected)
    same = module.corrected_t_two_sided(np.array([[0.1, 0.1, 0.1], [0.0, 0.0, 0.0]]), 0.25)
    assert same[0] == 0
    assert math.isnan(same[1])
    assert math.isnan(module.corrected_t_two_sided(np.array([0.1]), 0.25))


# -------------------------------------------------------------------- five times two folds


def test_the_combined_f_test_is_alpaydins_formula():
    """Written out as in the paper, one repeat after the other; its critical value at 0.05 is 4.74."""
    d = np.random.default_rng(5).normal(0.3, size=10)
    numerator, denominator = 0.0, 0.0
    for one, other in zip(d[::2], d[1::2], strict=True):
        mean = (one + other) / 2
        numerator += one**2 + other**2
        denominator += (one - mean) ** 2 + (other - mean) ** 2
    expected = stats.f.sf(numerator / (2 * denominator), 10, 5)
    swapped = d.reshape(5, 2)[:, ::-1].ravel()
    assert module.five_times_two_f(np.array([d, swapped, -d])) == pytest.approx([expected] * 3)
    at = np.sqrt(4.74) * np.array([0.0, 1.0] * 5) + np.array([1.0, 0.0] * 5)  # one fold of 1, one of √4.74
    f = (5 + 5 * 4.74) / (5 * (np.sqrt(4.74) - 1) ** 2)
    assert module.five_times_two_f(at) == pytest.approx(stats.f.sf(f, 10, 5))
    constant = module.five_times_two_f(np.array([[0.1] * 10, [0.0] * 10]))
    assert constant[0] == 0
    assert math.isnan(constant[1])


# -------------------------------------------------------------------- the Bayesian correlated t test

# By `CorrelatedTTest.probs` of baycomp 1.0 (Benavoli et al. 2017): differences over ten folds, rope, and how likely the
# first is better, practically equal and worse.
_BAYCOMP = np.random.default_rng(3)
OF_BAYCOMP = [
    (_BAYCOMP.normal(0.01, 0.03, size=10), 0.0, (0.6056183744699162, 0.0, 0.3943816255300838)),
    (_BAYCOMP.normal(0.01, 0.03, size=10), 0.01, (0.2896830147752984, 0.6685466096254794, 0.04177037559922214)),
    (_BAYCOMP.normal(0.01, 0.03, size=100), 0.01, (0.4866776477975861, 0.47407201705403024, 0.03925033514838372)),
]


@pytest.mark.parametrize(("d", "rope", "expected"), OF_BAYCOMP)
def test_it_is_the_test_of_its_authors(d, rope, expected):
    assert module.bayesian_correlated_t(d, 1 / 9, rope)[::-1] == pytest.approx(expected, abs=1e-9)
    assert module.bayesian_correlated_t(-d, 1 / 9, rope) == pytest.approx(expected, abs=1e-9)


def test_a_mean_that_is_certain():
    d = np.array([[0.1] * 4, [-0.1] * 4, [0.05] * 4, [0.0] * 4])
    assert module.bayesian_correlated_t(d, 0.25, 0.05).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert module.bayesian_correlated_t(d[3], 0.25).tolist() == [0.5, 0, 0.5]
    assert np.isnan(module.bayesian_correlated_t(np.array([0.1]), 0.25)).all()
    with pytest.raises(ValueError, match="missing"):
        module.bayesian_correlated_t(np.array([0.1, math.nan]), 0.25)


# -------------------------------------------------------------------- zeros of Wilcoxon's test


@pytest.mark.parametrize("d", [[0, 2, 2, 2, -2, -5, 7, 7], [0, 0, 0, 1, -3, 4], [4, 0, 0], [1, -2, 3]])
def test_pratts_zeros_take_the_lowest_ranks(d):
    """All 2ⁿ patterns of signs of the differences that are not zero, with the ranks that zeros leave them."""
    ranks = stats.rankdata(np.abs(d))[np.array(d) != 0]
    kept = np.array([x for x in d if x])
    low = min(ranks[kept > 0].sum(), ranks[kept < 0].sum())
    sums = [ranks[np.array(signs, dtype=bool)].sum() for signs in itertools.product((0, 1), repeat=len(kept))]
    assert module.wilcoxon(d, "pratt") == pytest.approx(min(1.0, 2 * np.mean(np.array(sums) <= low)))
    effect = (ranks[kept > 0].sum() - ranks[kept < 0].sum()) / ranks.sum()
    assert module.rank_biserial(d, "pratt") == pytest.approx(effect)


def test_pratts_test_of_many_is_scipys():
    d = np.random.default_rng(2).normal(0.2, size=120).round(1)
    d[:15] = 0
    with np.errstate(all="ignore"):
        try:
            expected = stats.wilcoxon(d, zero_method="pratt", method="asymptotic")
        except ValueError:  # its name in scipy before 1.15
            expected = stats.wilcoxon(d, zero_method="pratt", method="approx")
    assert module.wilcoxon(d, "pratt") == pytest.approx(expected.pvalue)
    assert module.wilcoxon(d) != pytest.approx(expected.pvalue)
