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
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.comparison import statistics
from mlcdr.comparison.statistics import ALPHA, Friedman, Pairwise, Zeros
from mlcdr.errors import plural
from mlcdr.results.failures import join_some
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, signed, text

FEW = 5
_NAMED = 6  # pairs that a note names; if there are more, it has their number
_ZEROS: Mapping[Zeros, str] = {
    "discard": "zero differences discarded",
    "pratt": "zero differences ranked, then discarded (Pratt 1959)",
}
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
    zeros : str
        What Wilcoxon's test did with differences that are zero.
    """

    methods: tuple[str, ...]
    n_datasets: int
    averages: np.ndarray
    friedman: Friedman
    cd: float
    pairs: Pairwise
    rope: float | None
    zeros: Zeros

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
        order: list[int] = np.argsort(self.averages, kind="stable").tolist()
        return order

    @property
    def is_significant(self) -> bool:
        """Whether the methods are shown to differ at all (Iman and Davenport's test)."""
        return not self.few and self.friedman.f_p <= ALPHA

    def nemenyi_cliques(self) -> list[tuple[int, ...]]:
        """Sets of methods whose average ranks lie within the critical difference."""
        apart = np.abs(self.averages[:, None] - self.averages) >= self.cd
        return statistics.cliques(apart, self.averages.tolist())

    def wilcoxon_cliques(self) -> list[tuple[int, ...]]:
        """Sets of methods of which no two differ by Wilcoxon's test with Holm's correction."""
        return statistics.cliques(self.pairs.holm <= ALPHA, self.averages.tolist())

    def notes(self) -> list[str]:
        """A few lines to stand below a table."""
        if np.isnan(self.pairs.p).all():
            return [f"All methods tie in all {self._blocks()}: nothing to test."]
        lines = []
        if len(self.methods) > 2:
            lines.append(self._friedman())
            if self.is_significant:
                lines.append(self._nemenyi())
        pratt = f", {_ZEROS['pratt']}" if self.zeros == "pratt" else ""
        lines.append(f"Wilcoxon signed-rank over {self._blocks()}{pratt}{self._wilcoxon()}.")
        if self.n_blocks > self.n_datasets:
            lines.append("The points of a data set are not independent of one another: these p-values are too small.")
        return lines

    def _blocks(self) -> str:
        of_data = plural(self.n_datasets, "data set")
        return of_data if self.n_blocks == self.n_datasets else f"{self.n_blocks} blocks (points of {of_data})"

    def _friedman(self) -> str:
        test = self.friedman
        f = "∞" if math.isinf(test.f) else f"{test.f:.2f}"
        verdict = "the methods differ" if self.is_significant else "no difference shown"
        if self.few:
            verdict = "too few data sets for a verdict"
        return (
            f"Friedman over {self._blocks()}, corrected for ties: χ²({test.df}) = {test.statistic:.2f}, "
            f"{show_p(test.p)}; Iman-Davenport F({test.df}, {test.f_df}) = {f} (critical value "
            f"{test.f_critical:.2f}), {show_p(test.f_p)}: {verdict}."
        )

    def _nemenyi(self) -> str:
        groups = []
        for clique in self.nemenyi_cliques():
            groups.append(", ".join(self.methods[j] for j in clique))
        what = f"no significant difference: {'; '.join(groups)}" if groups else "all differ"
        return f"Nemenyi, critical difference {self.cd:.2f}: {what}."

    def _wilcoxon(self) -> str:
        """How many pairs were tested, and which of them differ, the smallest p-value first."""
        pairs = list(itertools.combinations(range(len(self.methods)), 2))
        tested = [pair for pair in pairs if not math.isnan(self.pairs.holm[pair])]
        head = f", Holm's correction over {len(tested)} pairs: " if len(tested) > 1 else ": "
        least = statistics.least_p(self.n_datasets, len(tested))
        if least > ALPHA:
            once = "with one point of each, " if self.n_blocks > self.n_datasets else ""
            why = f"({once}the smallest p that can arise is {least:.2g})"
            return f"{head}too few data sets to tell any two methods apart {why}"
        differing = [pair for pair in tested if self.pairs.holm[pair] <= ALPHA]
        if not differing:
            only = f" ({show_p(self.pairs.holm[0, 1])})" if len(pairs) == 1 else ""
            return f"{head}no difference shown{only}"
        differing.sort(key=lambda pair: self.pairs.holm[pair])
        named = join_some(map(self._name_pair, differing), _NAMED)
        rest = "" if len(differing) == len(pairs) else "; no other difference shown"
        return f"{head}{named}{rest}"

    def _name_pair(self, pair: tuple[int, int]) -> str:
        """`A over B (p = 0.012)`, the better first."""
        better, worse = pair if self.pairs.effect[pair] > 0 else pair[::-1]
        return f"{self.methods[better]} over {self.methods[worse]} ({show_p(self.pairs.holm[pair])})"

    def list_pairs(self) -> pd.DataFrame:
        """A row for each pair of methods, the better average rank first; the last columns if Bayes' test was asked for.

        Returns
        -------
        frame
            The columns method, against, better_by (in the mean), wins, ties, losses, rank_biserial, p, p_holm, and how
            likely the first is p_worse, p_equal or p_better.
        """
        pairs = self.pairs
        columns = list(_PAIR)
        if pairs.likely is not None:
            columns += ["p_worse", "p_equal", "p_better"]
        rows = []
        for at in itertools.combinations(self.order, 2):
            names = [self.methods[j] for j in at]
            tested = [pairs.effect[at], pairs.p[at], pairs.holm[at]]
            likely = () if pairs.likely is None else pairs.likely[at]
            rows.append([*names, pairs.advantage[at], *pairs.counts[at], *tested, *likely])
        return pd.DataFrame(rows, columns=columns)

    def sheet(self, caption: str) -> Sheet:
        """Every pair of methods, the better average rank first."""
        pairs = self.list_pairs()
        header = ["Method", "Against", "Better by", "W/T/L", "Rank-biserial", "p", "p (Holm)"]
        notes = [
            f"Over {self._blocks()}. Better by: in the mean. W/T/L: wins, ties and losses. Wilcoxon's signed-rank test,"
            f" {_ZEROS[self.zeros]}. Bold: the two differ at {ALPHA:g} after Holm's correction."
        ]
        if pairs["p"].isna().any():
            notes.append(f"{DASH}: the two tie everywhere, so there is no test.")
        if self.pairs.likely is not None:
            header += ["P(worse)", "P(equal)", "P(better)"]
            notes.append(
                f"P: Bayesian signed-rank test, the probability that on a further data set the first is most likely "
                f"worse, practically equal (within ± {self.rope:g}) or better."
            )
        rows = [_show_pair(pair) for pair in pairs.itertuples(index=False)]
        return make_sheet(
            caption=caption,
            header=header,
            rows=rows,
            stub=2,
            notes=notes,
        )


def _show_pair(pair: Any) -> list[str | Text]:
    """The cells of a row of `list_pairs`."""
    better, effect = signed(pair.better_by, 4), signed(pair.rank_biserial, 2)
    counts = format_counts([pair.wins, pair.ties, pair.losses])
    likely = [f"{share:.3f}" for share in pair[len(_PAIR) :]]
    return [pair.method, pair.against, better, counts, effect, *show_test(pair.p, pair.p_holm), *likely]


def assess(
    methods: Sequence[str],
    values: np.ndarray,
    higher_is_better: bool,
    n_datasets: int,
    rope: float | None = None,
    zeros: Zeros = "discard",
) -> Significance:
    """All tests of `values` (methods × blocks, nothing missing); with `rope`, the Bayesian one too.

    Raises
    ------
    ValueError
        When a value is missing, or there are fewer than two methods or no block.
    """
    return Significance(
        methods=tuple(methods),
        n_datasets=n_datasets,
        averages=statistics.average_ranks(values, higher_is_better),
        friedman=statistics.friedman(values, higher_is_better),
        cd=statistics.critical_difference(*values.shape),
        pairs=statistics.pairwise(values, higher_is_better, rope, zeros),
        rope=rope,
        zeros=zeros,
    )


def format_counts(counts: Sequence[int] | np.ndarray) -> str:
    """`wins/ties/losses`."""
    return "/".join(str(int(count)) for count in counts)


def show_test(p: float, p_holm: float, places: int = 4) -> list[Text]:
    """The cells of a p-value and of the corrected one, which is bold where the two differ."""
    if math.isnan(p):
        return [NOTHING, NOTHING]
    return [text(show_short(p, places)), text(show_short(p_holm, places), p_holm <= ALPHA)]


def show_short(p: float, places: int = 4) -> str:
    """A p-value as a cell: `0.0120`, `< 0.0001`."""
    least = 10.0**-places
    return f"{p:.{places}f}" if p >= least / 2 else f"< {least:g}"


def show_p(p: float) -> str:
    """`p = 0.012`, `p < 0.0001`."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.4f}" if p < 0.01 else f"p = {p:.3f}"
