"""The tests of all methods under one metric over several data sets, in words and as a table of pairs.

The tests themselves are in `mlcdr.comparison.statistics`. All are at level 0.05. With `FEW` data sets or fewer
numbers are given but no verdict on all methods together: the tests' distributions do not hold there, and they have
little power. How many points of a sweep each data set has does not help: they are not independent of one another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.comparison import statistics
from mlcdr.comparison.statistics import Friedman, Pairwise
from mlcdr.errors import join_words
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, signed, text

ALPHA = 0.05
FEW = 5
_NAMED = 6  # pairs that a note names; if there are more, it has their number
_PAIR = ("method", "against", "better_by", "wins", "ties", "losses", "rank_biserial", "p", "p_holm")


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
    likely : ndarray (k, k, 3) or None
        How likely the row's method is worse than, practically equal to and better than the column's, if requested.
    """

    methods: tuple[str, ...]
    n_datasets: int
    averages: np.ndarray
    friedman: Friedman
    cd: float
    pairs: Pairwise
    rope: float | None
    likely: np.ndarray | None

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
        verdict = "the methods differ" if self.shown else "no difference shown"
        if self.few:
            verdict = "too few data sets for a verdict"
        return (
            f"Friedman over {self._blocks()}, corrected for ties: χ²({test.df}) = {test.statistic:.2f}, "
            f"{_show_p(test.p)}; Iman-Davenport F({test.df}, {test.f_df}) = {f} (critical value "
            f"{test.f_critical:.2f}), {_show_p(test.f_p)}: {verdict}."
        )

    def _nemenyi(self) -> str:
        groups = [", ".join(self.methods[j] for j in clique) for clique in self.nemenyi_cliques()]
        what = f"no significant difference: {'; '.join(groups)}" if groups else "all differ"
        return f"Nemenyi, critical difference {self.cd:.2f}: {what}."

    def _wilcoxon(self) -> str:
        pairs = list(itertools.combinations(range(len(self.methods)), 2))
        holm = {pair: float(self.pairs.holm[pair]) for pair in pairs}
        n_tests = sum(not math.isnan(p) for p in holm.values())
        over = f", Holm's correction over {n_tests} pairs" if n_tests > 1 else ""
        head = f"Wilcoxon signed-rank over {self._blocks()}{over}"
        least = min(1.0, n_tests * 2.0 ** (1 - self.n_datasets))
        if least > ALPHA:
            once = "with one point of each, " if self.n_blocks > self.n_datasets else ""
            return (
                f"{head}: too few data sets to tell any two methods apart "
                f"({once}the smallest p that can arise is {least:.2g})."
            )
        apart = sorted((p, pair) for pair, p in holm.items() if p <= ALPHA)
        if not apart:
            only = f" ({_show_p(holm[pairs[0]])})" if len(pairs) == 1 else ""
            return f"{head}: no difference shown{only}."
        named = [f"{self._name_pair(pair)} ({_show_p(p)})" for p, pair in apart[:_NAMED]]
        if len(apart) > _NAMED:
            named.append(f"{len(apart) - _NAMED} more")
        rest = "" if len(apart) == len(pairs) else "; no other difference shown"
        return f"{head}: {join_words(named)}{rest}."

    def _name_pair(self, pair: tuple[int, int]) -> str:
        """`A over B`, the better first."""
        first, second = (self.methods[j] for j in pair)
        return f"{first} over {second}" if self.pairs.effect[pair] > 0 else f"{second} over {first}"

    def list_pairs(self) -> pd.DataFrame:
        """A row for each pair of methods, the better average rank first; the last columns if Bayes' test was asked for.

        Returns
        -------
        frame
            The columns method, against, better_by (in the mean), wins, ties, losses, rank_biserial, p, p_holm, and how
            likely the first is p_worse, p_equal or p_better.
        """
        pairs, rows = self.pairs, []
        for at in itertools.combinations(self.order, 2):
            names = [self.methods[j] for j in at]
            tested = pairs.effect[at], pairs.p[at], pairs.holm[at]
            shares = () if self.likely is None else self.likely[at]
            rows.append((*names, pairs.advantage[at], *pairs.counts[at], *tested, *shares))
        likely = [] if self.likely is None else ["p_worse", "p_equal", "p_better"]
        return pd.DataFrame(rows, columns=[*_PAIR, *likely])

    def sheet(self, caption: str, digits: int = 4) -> Sheet:
        """Every pair of methods, the better average rank first."""
        pairs = self.list_pairs()
        header = ["Method", "Against", "Better by", "W/T/L", "Rank-biserial", "p", "p (Holm)"]
        if self.likely is not None:
            header += ["P(worse)", "P(equal)", "P(better)"]
        rows = [_show_pair(pair, digits) for pair in pairs.itertuples()]
        notes = [
            f"Over {self._blocks()}. Better by: in the mean. W/T/L: wins, ties and losses. Wilcoxon's signed-rank test,"
            f" zero differences discarded. Bold: the two differ at {ALPHA:g} after Holm's correction."
        ]
        if pairs["p"].isna().any():
            notes.append(f"{DASH}: the two tie everywhere, so there is no test.")
        if self.likely is not None:
            notes.append(
                f"P: Bayesian signed-rank test, the probability that on a further data set the first is most likely "
                f"worse, practically equal (within ± {self.rope:g}) or better."
            )
        return make_sheet(caption, header, rows, 2, notes)


def _show_pair(pair: Any, digits: int) -> list[str | Text]:
    """The cells of a row of `list_pairs`."""
    p, holm = NOTHING, NOTHING
    if not math.isnan(pair.p):
        p = text(f"{pair.p:.4f}")
        holm = text(f"{pair.p_holm:.4f}", pair.p_holm <= ALPHA)
    better, effect = signed(pair.better_by, digits), signed(pair.rank_biserial, 2)
    counts = format_counts([pair.wins, pair.ties, pair.losses])
    likely = [f"{share:.3f}" for share in pair[len(_PAIR) + 1 :]]
    return [pair.method, pair.against, better, counts, effect, p, holm, *likely]


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
    likely = None
    if rope is not None:
        likely = np.zeros((k, k, 3))
        for i, j in itertools.combinations(range(k), 2):
            differences = statistics.paired_differences(better[i], better[j])
            found = statistics.bayesian_signed_rank(differences, rope)
            likely[i, j] = found.worse, found.equal, found.better
            likely[j, i] = likely[i, j, ::-1]
    return Significance(
        methods=tuple(methods),
        n_datasets=n_datasets,
        averages=statistics.average_ranks(values, higher_is_better),
        friedman=friedman,
        cd=statistics.critical_difference(k, n, ALPHA),
        pairs=statistics.pairwise(values, higher_is_better),
        rope=rope,
        likely=likely,
    )


def format_counts(counts: Sequence[int] | np.ndarray) -> str:
    """`wins/ties/losses`."""
    return "/".join(str(int(count)) for count in counts)


def _show_p(p: float) -> str:
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.4f}" if p < 0.01 else f"p = {p:.3f}"
