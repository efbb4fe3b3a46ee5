"""The tests of all methods under one metric over several data sets, in words and as a table of pairs.

The tests themselves are in `mlcdr.comparison.statistics`. All are at level 0.05. With `FEW` data sets or fewer
numbers are given but no verdict on all methods together: the tests' distributions do not hold there, and they have
little power. How many points of a sweep each data set has does not help: they are not independent of one another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlcdr.comparison import statistics
from mlcdr.comparison.statistics import Friedman, Pairwise, Posterior
from mlcdr.errors import join_words
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import number

ALPHA = 0.05
FEW = 5
_NAMED = 6  # pairs that a note names; if there are more, it has their number


@dataclass(frozen=True)
class Significance:
    """The tests of k methods over N blocks.

    Attributes
    ----------
    methods : tuple of str
    n_datasets : int
        How many data sets the N blocks come from: fewer than N where each has several points of a sweep.
    averages : ndarray
        Average ranks.
    friedman : Friedman
    cd : float
        Nemenyi's critical difference.
    pairs : Pairwise
    rope : float or None
        Half the width of the region of practical equivalence, if the Bayesian test was requested.
    posteriors : mapping of (i, j) → Posterior
        For i < j, how method i does against j; empty if it was not requested.
    """

    methods: tuple[str, ...]
    n_datasets: int
    averages: np.ndarray
    friedman: Friedman
    cd: float
    pairs: Pairwise
    rope: float | None
    posteriors: Mapping[tuple[int, int], Posterior]

    @property
    def n_blocks(self) -> int:
        """N."""
        return self.friedman.n_blocks

    @property
    def few(self) -> bool:
        """Whether the data sets are too few for a verdict."""
        return self.n_datasets <= FEW

    @property
    def order(self) -> list[int]:
        """The methods from the best average rank to the worst."""
        return [int(j) for j in np.argsort(self.averages, kind="stable")]

    @property
    def shown(self) -> bool:
        """Whether the methods are shown to differ at all (Iman and Davenport's test)."""
        return not self.few and self.friedman.f_p <= ALPHA

    def nemenyi_cliques(self) -> list[tuple[int, ...]]:
        """Sets of methods whose average ranks lie within the critical difference."""
        apart = np.abs(self.averages[:, None] - self.averages[None, :]) >= self.cd
        return statistics.cliques(apart, list(self.averages))

    def wilcoxon_cliques(self) -> list[tuple[int, ...]]:
        """Sets of methods of which no two differ by Wilcoxon's test with Holm's correction."""
        return statistics.cliques(self.pairs.holm <= ALPHA, list(self.averages))

    def notes(self) -> tuple[str, ...]:
        """A few lines to stand below a table."""
        if np.isnan(self.pairs.p).all():
            return (f"All methods tie in all {self._blocks()}: nothing to test.",)
        lines = []
        if len(self.methods) > 2:
            lines.append(self._friedman())
            if self.shown:
                lines.append(self._nemenyi())
        lines.append(self._wilcoxon())
        if self.n_blocks > self.n_datasets:
            lines.append("The points of a data set are not independent of one another: these p-values are too small.")
        return tuple(lines)

    def _blocks(self) -> str:
        if self.n_blocks == self.n_datasets:
            return f"{self.n_datasets} data sets"
        return f"{self.n_blocks} blocks (points of {self.n_datasets} data sets)"

    def _friedman(self) -> str:
        test = self.friedman
        f = "∞" if math.isinf(test.f) else f"{test.f:.2f}"
        verdict = (
            "too few data sets for a verdict"
            if self.few
            else "the methods differ"
            if self.shown
            else "no difference shown"
        )
        return (
            f"Friedman over {self._blocks()}, corrected for ties: χ²({test.df}) = {test.statistic:.2f}, "
            f"{_p(test.p)}; Iman-Davenport F({test.df}, {test.f_df}) = {f} (critical value {test.f_critical:.2f}), "
            f"{_p(test.f_p)}: {verdict}."
        )

    def _nemenyi(self) -> str:
        groups = [", ".join(self.methods[j] for j in clique) for clique in self.nemenyi_cliques()]
        what = f"no significant difference: {'; '.join(groups)}" if groups else "all differ"
        return f"Nemenyi, critical difference {self.cd:.2f}: {what}."

    def _wilcoxon(self) -> str:
        above = list(itertools.combinations(range(len(self.methods)), 2))
        defined = sum(not math.isnan(self.pairs.p[at]) for at in above)
        over = f", Holm's correction over {defined} pairs" if defined > 1 else ""
        head = f"Wilcoxon signed-rank over {self._blocks()}{over}"
        least = min(1.0, defined * 2.0 ** (1 - self.n_datasets))
        if least > ALPHA:
            once = "with one point of each, " if self.n_blocks > self.n_datasets else ""
            return (
                f"{head}: too few data sets to tell any two methods apart "
                f"({once}the smallest p that can arise is {least:.2g})."
            )
        pairs = sorted((at for at in above if self.pairs.holm[at] <= ALPHA), key=lambda at: (self.pairs.holm[at], at))
        named = [f"{self._better(i, j)} ({_p(self.pairs.holm[i, j])})" for i, j in pairs[:_NAMED]]
        if len(pairs) > _NAMED:
            named.append(f"{len(pairs) - _NAMED} more")
        if not named:
            only = _p(float(self.pairs.holm[0, 1])) if len(above) == 1 else ""
            return f"{head}: no difference shown{f' ({only})' if only else ''}."
        rest = "" if len(pairs) == len(above) else "; no other difference shown"
        return f"{head}: {join_words(named)}{rest}."

    def _better(self, i: int, j: int) -> str:
        first, second = (i, j) if self.pairs.effect[i, j] > 0 else (j, i)
        return f"{self.methods[first]} over {self.methods[second]}"

    def records(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Every pair of methods as plain data, the better average rank first: the header and the records."""
        header = ("method", "against", "better_by", "wins", "ties", "losses", "rank_biserial", "p", "p_holm")
        pairs, records = self.pairs, []
        for i, j in self._ordered_pairs():
            counts = format_counts(pairs.records[i, j]).split("/")
            numbers = (each[i, j] for each in (pairs.effect, pairs.p, pairs.holm))
            values = [number(pairs.advantage[i, j]), *counts, *map(number, (*numbers, *self._posterior(i, j)))]
            records.append((self.methods[i], self.methods[j], *values))
        return (*header, *(("p_worse", "p_equal", "p_better") if self.posteriors else ())), tuple(records)

    def _ordered_pairs(self) -> list[tuple[int, int]]:
        return list(itertools.combinations(self.order, 2))

    def _posterior(self, i: int, j: int) -> tuple[float, ...]:
        """How likely method i is worse than, equal to and better than j; empty if that test was not requested."""
        if not self.posteriors:
            return ()
        found = self.posteriors[min(i, j), max(i, j)]
        return (found.worse, found.equal, found.better) if i < j else (found.better, found.equal, found.worse)

    def sheet(self, caption: str, digits: int = 4) -> Sheet:
        """Every pair of methods, the better average rank first."""
        header = ["Method", "Against", "Better by", "W/T/L", "Rank-biserial", "p", "p (Holm)"]
        header += ["P(worse)", "P(equal)", "P(better)"] if self.posteriors else []
        rows: list[list[str | Text]] = []
        for i, j in self._ordered_pairs():
            p, holm = float(self.pairs.p[i, j]), float(self.pairs.holm[i, j])
            cells = [self.methods[i], self.methods[j], signed(self.pairs.advantage[i, j], digits)]
            cells += [format_counts(self.pairs.records[i, j]), signed(self.pairs.effect[i, j], 2)]
            ps = [
                NOTHING if math.isnan(p) else f"{p:.4f}",
                NOTHING if math.isnan(holm) else text(f"{holm:.4f}", holm <= ALPHA),
            ]
            rows.append([*cells, *ps, *(f"{share:.3f}" for share in self._posterior(i, j))])
        notes = [
            f"Over {self._blocks()}. Better by: in the mean. W/T/L: wins, ties and losses. Wilcoxon's signed-rank test,"
            f" zero differences discarded. Bold: the two differ at {ALPHA:g} after Holm's correction."
        ]
        if any(math.isnan(self.pairs.p[pair]) for pair in self._ordered_pairs()):
            notes.append(f"{DASH}: the two tie everywhere, so there is no test.")
        if self.posteriors:
            notes.append(
                f"P: Bayesian signed-rank test, the probability that on a further data set the first is most likely "
                f"worse, practically equal (within ± {self.rope:g}) or better."
            )
        return make_sheet(caption, header, rows, 2, notes)


def assess(
    methods: Sequence[str], values: np.ndarray, higher_is_better: bool, n_datasets: int, rope: float | None = None
) -> Significance:
    """All tests of `values` (methods × blocks, nothing missing); with `rope`, the Bayesian one too.

    Raises
    ------
    ValueError
        When a value is missing, or there are fewer than two methods or no block.
    """
    friedman = statistics.friedman(values, higher_is_better, alpha=ALPHA)
    k, n = values.shape
    better = values if higher_is_better else -values
    posteriors = {
        (i, j): statistics.bayesian_signed_rank(statistics.paired_differences(better[i], better[j]), rope)
        for i in range(k if rope is not None else 0)
        for j in range(i + 1, k)
        if rope is not None
    }
    return Significance(
        methods=tuple(methods),
        n_datasets=n_datasets,
        averages=statistics.average_ranks(values, higher_is_better),
        friedman=friedman,
        cd=statistics.critical_difference(k, n, ALPHA),
        pairs=statistics.pairwise(values, higher_is_better),
        rope=rope,
        posteriors=posteriors,
    )


def format_counts(counts: Sequence[int] | np.ndarray) -> str:
    """`wins/ties/losses`."""
    return "/".join(str(int(count)) for count in counts)


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}" if p < 0.01 else f"p = {p:.3f}"
