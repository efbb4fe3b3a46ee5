"""Tests of several methods over several data sets, as pure functions on arrays.

`values` is everywhere an array (methods × blocks), without gaps: one number for each method in each block (a data set,
say). `higher_is_better` gives the direction. Two numbers that differ only in the last places
are one number (`mlcdr.results.frame.are_same`): they tie, and their difference is zero.

Sources. Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7 (2006): Friedman, Iman and
Davenport, Nemenyi, Wilcoxon, Holm, the critical-difference diagram. Pratt, *Remarks on zeros and ties in the Wilcoxon
signed rank procedures*, JASA 54 (1959). Benavoli, Corani, Demšar & Zaffalon, *Time for a
change: a tutorial for comparing multiple classifiers through Bayesian analysis*, JMLR 18 (2017): the Bayesian
signed-rank test. Nadeau & Bengio, *Inference for the generalization error*, Machine Learning 52 (2003): the corrected
resampled t test. Alpaydin, *Combined 5×2 cv F test for comparing supervised classification learning algorithms*, Neural
Computation 11 (1999). Corani & Benavoli, *A Bayesian approach for comparing cross-validated algorithms on multiple data
sets*, Machine Learning 100 (2015): the Bayesian correlated t test.

The distributions and the ranks of differences are scipy's; its own tests refuse what occurs here
(`friedmanchisquare` two methods, `wilcoxon` exact p-values of tied differences), and it has no Holm correction.

Whatever is not defined (no block to rank, all differences zero, one split) is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import stats

from mlcdr.results.frame import are_same, rank_means

ALPHA = 0.05
"""The level of all tests."""

Zeros = Literal["discard", "pratt"]
"""What Wilcoxon's test does with differences that are zero: leave them out, or rank them before it leaves them out."""

_EXACT_UP_TO = 50  # differences; 2⁵⁰ sign patterns are still counted exactly by a double
_PLACES = 10  # of a difference, relative to the largest of the numbers: what lies beyond is rounding
_PRIOR = 0.5  # strength of the Bayesian test's prior
_SAMPLES = 50_000  # of its posterior
_SEED = 2017


@dataclass(frozen=True)
class Friedman:
    """Friedman's test, corrected for ties, and Iman and Davenport's version of it.

    Attributes
    ----------
    n_blocks : int
        N.
    statistic, p : float
        χ²_F with `df` = k − 1 degrees of freedom, and its p-value.
    f, f_p, f_critical : float
        F_F with `df` and `f_df` = (k − 1)(N − 1) degrees of freedom, its p-value, and the critical value at level 0.05.
    """

    n_blocks: int
    df: int
    f_df: int
    statistic: float
    p: float
    f: float
    f_p: float
    f_critical: float


@dataclass(frozen=True)
class Pairwise:
    """All pairs of methods, as k × k matrices.

    Attributes
    ----------
    p, holm : ndarray
        Wilcoxon's p-value, as it is and after Holm's correction; NaN on the diagonal and where it is not defined.
    counts : ndarray (k, k, 3)
        Wins, ties and losses of the row's method against the column's.
    advantage : ndarray
        How much better the row's method is in the mean over the blocks; negative where it is worse.
    effect : ndarray
        The rank-biserial correlation, positive where the row's method is better.
    likely : ndarray (k, k, 3) or None
        How likely the row's method is worse than, practically equal to and better than the column's, if requested.
    """

    p: np.ndarray
    holm: np.ndarray
    counts: np.ndarray
    advantage: np.ndarray
    effect: np.ndarray
    likely: np.ndarray | None


# -------------------------------------------------------------------- ranks


def block_ranks(values: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """Ranks within each block, 1 the best; equal values share the average of their ranks.

    Parameters
    ----------
    values : ndarray (methods, blocks)
    higher_is_better : bool

    Raises
    ------
    ValueError
        When a value is missing or infinite.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("an array (methods × blocks) is needed without a missing or infinite value")
    return rank_means(values, higher_is_better)


def average_ranks(values: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """R_j = (1/N) Σᵢ rᵢʲ, one for each method (Demšar 2006, section 3.2.2).

    Examples
    --------
    Two methods on three data sets, of which they tie on the last:

    >>> average_ranks(np.array([[0.20, 0.31, 0.10], [0.21, 0.29, 0.10]]), higher_is_better=False).tolist()
    [1.5, 1.5]
    """
    return block_ranks(values, higher_is_better).mean(axis=1)


# -------------------------------------------------------------------- all methods at once


def friedman(values: np.ndarray, higher_is_better: bool) -> Friedman:
    """Whether k methods differ over N blocks: Friedman's χ²_F, corrected for ties, and Iman and Davenport's F_F.

    χ²_F = (k−1) B / S        F_F = (N−1) χ²_F / (N(k−1) − χ²_F) = (N−1) B / (N S − B)

    where B = Σⱼ (Σᵢ dᵢⱼ)², S = Σᵢⱼ dᵢⱼ² and dᵢⱼ = rᵢⱼ − (k+1)/2, with χ² of k−1 and F of k−1, (k−1)(N−1) degrees of
    freedom (Conover 1999; so do R and scipy). Without ties χ²_F is the number of Demšar 2006, section 3.2.2; with ties
    the test that is given there rejects too seldom. If all methods tie in all blocks, it is 0/0 and NaN.

    Where every block has the methods in one and the same order, F_F is infinite and its p-value 0. Both distributions
    are approximations, rough for ten blocks or fewer. One block has no F_F.

    Raises
    ------
    ValueError
        When a value is missing, or there are fewer than two methods or no block.
    """
    ranks = block_ranks(values, higher_is_better)
    k, n = ranks.shape
    if k < 2 or n < 1:
        raise ValueError(f"{k} methods over {n} blocks: two and one are needed at least")
    df = k - 1
    f_df = df * (n - 1)
    deviations = ranks - (k + 1) / 2  # multiples of one half, so that all sums are exact
    between = float(np.sum(deviations.sum(axis=1) ** 2))
    spread = float(np.sum(deviations**2))
    chi2 = df * between / spread if spread else math.nan
    f = f_p = critical = math.nan
    if n > 1 and spread:
        rest = n * spread - between
        f = (n - 1) * between / rest if rest else math.inf
        f_p = float(stats.f.sf(f, df, f_df))
        critical = float(stats.f.isf(ALPHA, df, f_df))
    return Friedman(
        n_blocks=n,
        df=df,
        f_df=f_df,
        statistic=chi2,
        p=float(stats.chi2.sf(chi2, df)),
        f=f,
        f_p=f_p,
        f_critical=critical,
    )


def critical_difference(n_methods: int, n_blocks: int) -> float:
    """Nemenyi's critical difference of two average ranks, CD = q_α √(k(k+1) / (6N)) (Demšar 2006, section 3.2.2).

    q_α is the quantile of the studentised range of k groups and infinite degrees of freedom, over √2; α is 0.05.

    Examples
    --------
    Demšar's own example, four classifiers on fourteen data sets; four times the data sets halve it:

    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 56), 2)
    (1.25, 0.63)
    """
    q = _studentised_range(n_methods) / math.sqrt(2)
    return q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_blocks))


@cache
def _studentised_range(groups: int) -> float:
    return float(stats.studentized_range.isf(ALPHA, groups, np.inf))


def cliques(differs: np.ndarray, averages: Sequence[float]) -> list[tuple[int, ...]]:
    """The largest sets of two or more methods of which no two differ, for the bars of a critical-difference diagram.

    Maximal cliques of the graph that joins methods not shown to differ, found by adding one method at a time. With
    Nemenyi's test these are runs of neighbours in the order of the ranks; with pairwise tests one may skip a method.

    Parameters
    ----------
    differs : ndarray of bool (k, k)
        Symmetric; its diagonal is not looked at.
    averages : sequence of float
        Average ranks: each clique lists its methods, and the cliques follow one another, from the best to the worst.
    """
    order = np.argsort(averages, kind="stable").tolist()
    # of places in this order, in which a clique is sorted
    found: set[frozenset[int]] = {frozenset()}
    for place, method in enumerate(order):
        joined = np.flatnonzero(~differs[order[:place], method]).tolist()
        found |= {clique.intersection(joined) | {place} for clique in found}
        found = {clique for clique in found if not any(map(clique.__lt__, found))}
    whole = sorted(sorted(clique) for clique in found if len(clique) > 1)
    return [tuple(order[place] for place in clique) for clique in whole]


# -------------------------------------------------------------------- pairs


def paired_differences(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> np.ndarray:
    """The differences a − b, in which rounding neither makes a difference nor breaks a tie.

    Numbers that are the same give 0, and differences are rounded to ten places of the largest of all numbers: 0.3 − 0.2
    and 0.2 − 0.1 are one difference.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    scale = np.abs([a, b]).max(initial=0.0)
    if scale == 0:
        return np.zeros(a.shape)
    rounded = np.round((a - b) / scale, _PLACES) * scale
    return np.where(are_same(a, b), 0.0, rounded)


def wilcoxon(differences: Sequence[float] | np.ndarray, zeros: Zeros = "discard") -> float:
    """Wilcoxon's signed-rank test that differences are symmetric about zero: the two-sided p-value.

    Zeros are discarded (Wilcoxon 1945); or they are ranked with the others, and their ranks, the lowest, discarded
    (`pratt`: Pratt 1959), so that ties of the methods make small differences count less. Equal sizes share the average
    of their ranks. Up to 50 differences the p-value
    is exact, also where sizes tie: R⁺ under all 2ⁿ patterns of signs of the ranks at hand, counted one rank at a time.
    Beyond, R⁺ is normal with mean Σ rank / 2 and variance Σ rank² / 4 (which is the usual correction for ties). With no
    difference left the p-value is NaN.

    Cost: n · n(n+1) additions.
    """
    signed = _signed_ranks(differences, zeros)
    ranks = np.abs(signed)
    least = min(ranks[signed > 0].sum(), ranks[signed < 0].sum())
    if not len(ranks):
        return math.nan
    if len(ranks) <= _EXACT_UP_TO:
        tail = _exact_tail(ranks, least)
    else:
        deviation = math.sqrt(np.sum(ranks**2) / 4)
        tail = float(stats.norm.cdf(least, ranks.sum() / 2, deviation))
    return min(2 * tail, 1.0)


def rank_biserial(differences: Sequence[float] | np.ndarray, zeros: Zeros = "discard") -> float:
    """The effect size of Wilcoxon's test, (R⁺ − R⁻) / (R⁺ + R⁻), from −1 to 1 (Kerby 2014); 0 if all are zero."""
    ranks = _signed_ranks(differences, zeros)
    return float(ranks.sum() / np.abs(ranks).sum()) if len(ranks) else 0.0


def _signed_ranks(differences: Sequence[float] | np.ndarray, zeros: Zeros) -> np.ndarray:
    """The ranks of the sizes of those differences that are not zero, with their signs."""
    d = np.asarray(differences, dtype=float)
    if not np.isfinite(d).all():
        raise ValueError("a difference is missing or infinite")
    ranked = d if zeros == "pratt" else d[d != 0]
    ranks: np.ndarray = np.sign(ranked) * stats.rankdata(np.abs(ranked))
    return ranks[ranked != 0]


def _exact_tail(ranks: np.ndarray, most: float) -> float:
    """The share of all patterns of signs with which the positive ranks add up to `most` or less."""
    doubled = np.round(2 * ranks).astype(int)  # shared ranks are halves
    counts = np.zeros(doubled.sum() + 1)
    counts[0] = 1
    for step in doubled:
        counts[step:] += counts[:-step].copy()
    return float(counts[: round(2 * most) + 1].sum()) / 2.0 ** len(ranks)


def least_p(n: int, n_tests: int) -> float:
    """The smallest p-value that Wilcoxon's test of n differences can have, after Holm's correction over some tests."""
    return min(1.0, n_tests * 2.0 ** (1 - n))  # all in one direction: 2 / 2ⁿ


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's step-down correction: p₍ᵢ₎ → maxⱼ≤ᵢ min(1, (m − j + 1) p₍ⱼ₎) (Demšar 2006, section 3.2.3).

    NaN (a test that is not defined, and so can reject nothing) stays NaN and does not count in m.
    """
    p = np.asarray(p_values, dtype=float)
    n_defined = np.count_nonzero(~np.isnan(p))
    order = np.argsort(p, kind="stable")[:n_defined]  # NaN comes last
    steps = p[order] * np.arange(n_defined, 0, -1)
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def pairwise(
    values: np.ndarray,
    higher_is_better: bool,
    rope: float | None = None,
    zeros: Zeros = "discard",
) -> Pairwise:
    """Every pair of methods: Wilcoxon's signed-rank test with Holm's correction over all pairs, and the wins.

    With `rope`, also the Bayesian signed-rank test with this region of practical equivalence.
    """
    k = len(values)
    better = values if higher_is_better else -values
    p = np.full((k, k), np.nan)
    effect = np.zeros((k, k))
    for i, j in combinations(range(k), 2):
        differences = paired_differences(better[i], better[j])
        p[i, j] = p[j, i] = wilcoxon(differences, zeros)
        effect[i, j] = rank_biserial(differences, zeros)
        effect[j, i] = -effect[i, j]
    adjusted = p.copy()
    above = np.triu_indices(k, 1)
    adjusted[above] = adjusted[above[::-1]] = holm(p[above])
    means = better.mean(axis=1)
    counts = _count_wins(block_ranks(values, higher_is_better))
    likely = None if rope is None else _compare_likely(better, rope)
    return Pairwise(p, adjusted, counts, means[:, None] - means, effect, likely)


def _count_wins(ranks: np.ndarray) -> np.ndarray:
    """For each pair how often the row's method wins, ties with and loses to the column's, (k, k, 3)."""
    own = ranks[:, None, :]
    wins = (own < ranks).sum(axis=2)
    ties = (own == ranks).sum(axis=2)
    counts = np.stack([wins, ties, wins.T], axis=2)
    counts[np.diag_indices(len(ranks))] = 0  # a method has no record against itself
    return counts


def _compare_likely(better: np.ndarray, rope: float) -> np.ndarray:
    """For each pair the probabilities of the Bayesian signed-rank test, (k, k, 3)."""
    k = len(better)
    likely = np.zeros((k, k, 3))
    for i, j in combinations(range(k), 2):
        likely[i, j] = bayesian_signed_rank(paired_differences(better[i], better[j]), rope)
        likely[j, i] = likely[i, j, ::-1]
    return likely


def bayesian_signed_rank(advantages: Sequence[float] | np.ndarray, rope: float = 0.0) -> tuple[float, float, float]:
    """The Bayesian signed-rank test (Benavoli et al. 2014; 2017, section 4.2.1).

    Returns how sure it is that in a new block the first method is most likely worse than the second, most likely
    practically equal to it, or most likely better.

    The differences z₁ … z_N come from a distribution with a Dirichlet-process prior of strength s whose base measure
    sits at z₀ = 0, inside the region of practical equivalence [−r, r]. In the posterior

        θ_better = Σᵢⱼ wᵢwⱼ 1[zᵢ + zⱼ > 2r],   θ_worse = Σᵢⱼ wᵢwⱼ 1[zᵢ + zⱼ < −2r],   θ_equal = 1 − the two,

    with (w₀, …, w_N) ~ Dirichlet(s, 1, …, 1); a sum of exactly ±2r counts half. A probability is the share of Monte
    Carlo samples in which that θ is the largest of the three. With r = 0 nothing is practically equal: a tie
    counts half as better and half as worse, and two probabilities remain.

    Parameters
    ----------
    advantages : sequence of float
        One for each block: how much better the first method is.
    rope : float
        r, in the metric's own unit.

    Raises
    ------
    ValueError
        When a difference is missing, or `rope` is negative.

    Notes
    -----
    s is 0.5. The same differences give the same probabilities P, with a Monte Carlo error of √(P(1 − P) / 50 000).

    Cost: 50 000 · N² multiplications.
    """
    z = np.concatenate([[0.0], np.asarray(advantages, dtype=float)])
    if not (np.isfinite(z).all() and rope >= 0):
        raise ValueError("a difference is missing, or the region is negative")
    sums = z[:, None] + z[None, :]
    rng = np.random.Generator(np.random.PCG64(_SEED))
    weights = rng.dirichlet([_PRIOR, *np.ones(len(z) - 1)], _SAMPLES)
    better = ((weights @ _beyond(sums, 2 * rope)) * weights).sum(axis=1)
    worse = ((weights @ _beyond(-sums, 2 * rope)) * weights).sum(axis=1)
    if rope == 0:
        even = np.isclose(better, worse, rtol=1e-12)
        ahead = float(np.mean((better > worse) + 0.5 * even))
        return 1 - ahead, 0.0, ahead
    equal = 1 - better - worse
    largest = np.argmax(np.stack([equal, worse, better]), axis=0)
    n_equal, n_worse, n_better = np.bincount(largest, minlength=3).tolist()
    return n_worse / _SAMPLES, n_equal / _SAMPLES, n_better / _SAMPLES


def _beyond(sums: np.ndarray, limit: float) -> np.ndarray:
    """1 where a sum is above the limit, one half where it is the limit up to rounding.

    Differences may have been rounded to ten places (`paired_differences`), which is much of a small limit.
    """
    rounding = 1e-12 * max(1.0, np.abs(sums).max())
    is_limit = np.isclose(sums, limit, rtol=1e-7, atol=rounding)
    return np.where(is_limit, 0.5, sums > limit)


# -------------------------------------------------------------------- one data set, several splits


def corrected_t(differences: Sequence[float] | np.ndarray, test_to_train: float, margin: float = 0.0) -> float:
    """Whether the mean of differences over resampled splits exceeds `margin`: the p-value of the corrected t test.

    t = (d̄ − margin) / √((1/n + n_test/n_train) s²),    n − 1 degrees of freedom, one-sided (Nadeau & Bengio 2003)

    s² the variance (n − 1) of the n differences. The training sets of the splits overlap, so the differences are not
    independent, and s²/n would be far too small a variance of their mean; the second term makes up for it. If all
    differences are the same, there is no spread to test against: p is 0 where they exceed the margin, else 1. With
    one split there is no test, and p is NaN.

    Parameters
    ----------
    differences : sequence of float
    test_to_train : float
        n_test / n_train: 1/(k−1) in k-fold cross-validation, (1 − p)/p where a share p of the rows trains.
    margin : float
    """
    d = np.asarray(differences, dtype=float)
    n = len(d)
    if n == 0 or not np.isfinite(d).all():
        raise ValueError("no difference, or one that is missing or infinite")
    if n == 1:
        return math.nan
    beyond = math.fsum(d) / n - margin
    variance = float(np.var(d, ddof=1))
    spread = math.sqrt((1 / n + test_to_train) * variance)
    rounding = 1e-9 * max(float(np.abs(d).max()), abs(margin))
    if abs(beyond) <= rounding:
        beyond = 0.0
    if spread <= rounding:
        return 0.0 if beyond > 0 else 1.0
    return float(stats.t.sf(beyond / spread, n - 1))


def corrected_t_two_sided(differences: np.ndarray, test_to_train: float) -> np.ndarray:
    """Whether the mean of differences over resampled splits is not zero: two-sided p-values of the corrected t test.

    The t of `corrected_t`, with margin 0. Where all differences are the same, p is 0; NaN where they are zero, and with
    one split.

    Parameters
    ----------
    differences : ndarray (…, n)
        Over the n splits.
    test_to_train : float
        n_test / n_train, as in `corrected_t`.

    Returns
    -------
    ndarray (…)
    """
    mean, scale, df = _correlated_mean(differences, test_to_train)
    with np.errstate(divide="ignore", invalid="ignore"):
        p: np.ndarray = 2 * stats.t.sf(np.abs(mean) / scale, df)
    return p


def five_times_two_f(differences: np.ndarray) -> np.ndarray:
    """Whether two methods differ in five times two-fold cross-validation: p-values of the combined F test.

    F = Σᵢⱼ dᵢⱼ² / (2 Σᵢ sᵢ²),    sᵢ² = (dᵢ₁ − d̄ᵢ)² + (dᵢ₂ − d̄ᵢ)²

    with 10 and 5 degrees of freedom, where dᵢⱼ is the difference on fold j of repeat i (Alpaydin 1999). Unlike the 5×2
    cv t test it does not depend on which fold is the first. Where both folds of each repeat have the same difference, p
    is 0; NaN where all are zero.

    Parameters
    ----------
    differences : ndarray (…, 10)
        The two folds of the first repeat, then those of the second, and so on.

    Returns
    -------
    ndarray (…)
    """
    d = np.asarray(differences, dtype=float)
    repeats = d.reshape(*d.shape[:-1], 5, 2)
    spreads = ((repeats - repeats.mean(axis=-1, keepdims=True)) ** 2).sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        p: np.ndarray = stats.f.sf((d**2).sum(axis=-1) / (2 * spreads), 10, 5)
    return p


def bayesian_correlated_t(differences: np.ndarray, test_to_train: float, rope: float = 0.0) -> np.ndarray:
    """The Bayesian correlated t test (Corani & Benavoli 2015, section 3): how likely the first method is worse,
    practically equal or better on this data set.

    In the posterior the mean difference has Student's distribution with n − 1 degrees of freedom about d̄, of scale
    √((1/n + ρ/(1 − ρ)) s²): that of the corrected t test, as ρ = n_test / (n_test + n_train). The mean is practically
    zero within [−rope, rope]. Where all differences are the same, their mean is certain; one of zero counts, with rope
    0, half as better and half as worse. With one split it is NaN.

    Parameters
    ----------
    differences : ndarray (…, n)
        How much better the first method is on each of the n splits.
    test_to_train : float
        n_test / n_train, as in `corrected_t`.
    rope : float
        In the metric's own unit.

    Returns
    -------
    ndarray (…, 3)
    """
    mean, scale, df = _correlated_mean(differences, test_to_train)
    likely = []
    for side in (-mean, mean):
        excess = side - rope
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = stats.t.cdf(excess / scale, df)
        is_certain = scale == 0
        certain = np.where(excess == 0, 0.5 if rope == 0 else 0.0, excess > 0)
        likely.append(np.where(is_certain, certain, beyond))
    worse, better = likely
    return np.stack([worse, 1 - worse - better, better], axis=-1)


def _correlated_mean(differences: np.ndarray, test_to_train: float) -> tuple[np.ndarray, np.ndarray, int]:
    """The mean of differences over splits whose training sets overlap, its standard error, and degrees of freedom.

    The error is NaN for one split.
    """
    d = np.asarray(differences, dtype=float)
    if not np.isfinite(d).all():
        raise ValueError("a difference is missing or infinite")
    n = d.shape[-1]
    if n == 1:
        return d[..., 0], np.full(d.shape[:-1], np.nan), 1
    is_constant = np.ptp(d, axis=-1) == 0
    variance = np.where(is_constant, 0.0, d.var(axis=-1, ddof=1))  # rounding of the mean is no spread
    return d.mean(axis=-1), np.sqrt((1 / n + test_to_train) * variance), n - 1
