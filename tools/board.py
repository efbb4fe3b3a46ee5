"""The numbers of the board: its stored runs as one, average ranks, families, and tests against no reduction.

The runs are those of the configs `board`, `board_large` and the like, which have one protocol, and the rows that people
contribute, which are under the same folder of the record. Not every method has results on every data set: methods are
ranked on groups of data sets, and a method is ranked in a group if it has results on all of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin

from mlcdr.comparison.significance import FEW
from mlcdr.comparison.statistics import (
    Friedman,
    average_ranks,
    bayesian_signed_rank,
    critical_difference,
    friedman,
    holm,
)
from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.method import MethodSpec
from mlcdr.experiment.model import value_text
from mlcdr.methods import registry
from mlcdr.methods.registry import UnknownComponent
from mlcdr.papers.board import is_own_row
from mlcdr.papers.stored import BOARD, StoredRun
from mlcdr.results import joining
from mlcdr.results.results import Results
from tools.shell import importing_own_methods

MAIN = "micro_f1"
"""The measure by which everything is tuned, and by which methods are compared with no reduction."""

ROPE = 0.01
"""Differences in a measure that are smaller are none in practice."""

SURE = 0.95
"""From this probability on something is said of a method."""

NOISE = "macro_auc"
TIME = "fit_seconds"
_SIZES = (".n_components", ".n_features", ".n_labels")  # how the path of a size ends
_ALL = ("100%", "1.0", "")  # all dimensions that a method has, as a grid may write it
_PLACES = 9  # of a difference: the record has means to six digits, and the rest is rounding, which must break no tie

ALONE = "learner alone"
LABELS = "label space"
BOTH = "features and labels"
EXTRACTED = "features extracted"
SELECTED = "features selected"
OWN = "features, by a class that is not here"
INSTANCES = "instance space"
FAMILIES = (ALONE, LABELS, BOTH, EXTRACTED, SELECTED, OWN, INSTANCES)


# -------------------------------------------------------------------- families


def name_family(method: MethodSpec) -> str:
    """What a method reduces, by its parts; of a feature step the class decides. Scaling is no reduction."""
    kinds = {_kind_of_step(step.name) for step in method.feature_space} - {""}
    if method.instance_space is not None:
        return INSTANCES
    if method.dual_space is not None or (method.label_space is not None and kinds):
        return BOTH
    if method.label_space is not None:
        return LABELS
    return next((family for family in (OWN, EXTRACTED, SELECTED) if family in kinds), ALONE)


def _kind_of_step(name: str) -> str:
    """Whether a feature step extracts or selects; empty where it keeps all features."""
    try:
        step = registry.resolve("feature_space", name)
    except UnknownComponent:
        return OWN
    if issubclass(step, OneToOneFeatureMixin):
        return ""
    return SELECTED if issubclass(step, SelectorMixin) else EXTRACTED


# -------------------------------------------------------------------- the runs as one


@dataclass(frozen=True)
class HeadToHead:
    """A method against another one in one measure, over the data sets that both have.

    Attributes
    ----------
    gains : Series
        Data set → by how much the method is better.
    worse, same, better : float
        How sure it is that this is the most likely outcome (the Bayesian signed-rank test, region of practical
        equivalence `ROPE`).
    """

    gains: pd.Series
    worse: float
    same: float
    better: float

    @property
    def verdict(self) -> str:
        """`better`, `the same` or `worse`, if that is likely enough; else `not decided`, or `too few` data sets."""
        if len(self.gains) <= FEW:
            return "too few"
        likely = {"better": self.better, "the same": self.same, "worse": self.worse}
        return next((said for said, p in likely.items() if p >= SURE), "not decided")

    @property
    def counts(self) -> tuple[int, int, int]:
        """Wins, ties and losses."""
        return int((self.gains > 0).sum()), int((self.gains == 0).sum()), int((self.gains < 0).sum())


@dataclass(frozen=True)
class Board:
    """The stored runs as one.

    Attributes
    ----------
    results : Results
        Of all runs, joined.
    against : str
        The method without a reduction.
    families : dict
        Method → what it reduces.
    contributed : frozenset
        The methods that are not of the configs that come with mlcdr.
    groups : tuple of tuple of str
        The data sets of `BOARD` that have results; then those of each other config, with those of `BOARD` if it adds
        to them. Configs on the same ones are one group.
    times : frame
        Data sets × methods: time of a fit in that of `against` in the same run; NaN where the run lacks one of the two.
    memory : frame
        Data sets × methods: the most by which one fit raises the memory, MB; NaN where it was not measured.
    all_kept : frame
        Data sets × methods: the share of the splits in which the search chose all dimensions that the method has; of
        methods with one size, if their grid has that.
    """

    results: Results
    against: str
    families: Mapping[str, str]
    contributed: frozenset[str]
    groups: tuple[tuple[str, ...], ...]
    times: pd.DataFrame
    memory: pd.DataFrame
    all_kept: pd.DataFrame

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures of quality, that by which is tuned first."""
        facts = {metric: self.results.metric_facts(metric) for metric in self.results.metrics}
        rest = [each for each in facts if facts[each].higher_is_better is not None and not facts[each].is_cost]
        return tuple(sorted(rest, key=lambda metric: metric != MAIN))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets on which methods are ranked first."""
        return self.groups[0]

    def is_higher_better(self, metric: str) -> bool:
        """The direction of a measure of quality."""
        return bool(self.results.metric_facts(metric).higher_is_better)

    @cached_property
    def _means(self) -> dict[str, pd.DataFrame]:
        cells = self.results.summary.astype({"dataset": object, "method": object})
        found = {}
        for metric in self.results.metrics:
            own = cells[cells["metric"] == metric]
            wide = own.pivot(index="dataset", columns="method", values="mean")
            found[metric] = wide.reindex(index=list(self.results.datasets), columns=list(self.families))
        return found

    def means(self, metric: str, datasets: Sequence[str] | None = None) -> pd.DataFrame:
        """Data sets × methods, NaN where there is no result; all data sets if none are given."""
        means = self._means[metric]
        return means if datasets is None else means.loc[list(datasets)]

    def values(self, metric: str, datasets: Sequence[str]) -> pd.DataFrame:
        """The means of the methods that have one on all of these data sets: data sets × methods.

        A data set on which the measure is defined for no method at all is left out.
        """
        means = self.means(metric, datasets).dropna(how="all")
        return means.dropna(axis="columns")

    def rank(self, metric: str, datasets: Sequence[str]) -> pd.Series:
        """Method → average rank over data sets, 1 the best, of the methods that have results on all of them."""
        values = self.values(metric, datasets)
        if values.empty:
            return pd.Series(dtype=float)
        ranks = average_ranks(values.to_numpy().T, self.is_higher_better(metric))
        return pd.Series(ranks, index=values.columns).sort_values(kind="stable")

    def test(self, metric: str, datasets: Sequence[str]) -> tuple[Friedman, float] | None:
        """Friedman's test of the ranked methods, and Nemenyi's critical difference; None if too few are ranked."""
        values = self.values(metric, datasets).to_numpy().T
        if len(values) < 2 or values.shape[1] < 2:
            return None
        return friedman(values, self.is_higher_better(metric)), critical_difference(*values.shape)

    def gains(self, method: str, rival: str, metric: str, datasets: Sequence[str] | None = None) -> pd.Series:
        """By how much a method is better than another one, on the data sets that both have."""
        means = self.means(metric, datasets)
        gains = (means[method] - means[rival]).dropna().round(_PLACES)
        return gains if self.is_higher_better(metric) else -gains

    def compare(
        self, method: str, rival: str, metric: str = MAIN, datasets: Sequence[str] | None = None
    ) -> HeadToHead | None:
        """A method against another one; None if they have no data set in common."""
        gains = self.gains(method, rival, metric, datasets)
        return HeadToHead(gains, *bayesian_signed_rank(gains.to_numpy(), ROPE)) if len(gains) else None

    def time_ratio(self, method: str, datasets: Sequence[str]) -> float:
        """The geometric mean over data sets of the time of a fit in that of no reduction; NaN if it is not known."""
        ratios = self.times.reindex(index=list(datasets), columns=[method])[method].dropna()
        return float(np.exp(np.log(ratios).mean())) if len(ratios) else float("nan")

    def memory_of(self, method: str, dataset: str) -> float:
        """The memory of a method on a data set, MB; NaN if it is not known."""
        return float(self.memory.reindex(index=[dataset], columns=[method]).iloc[0, 0])

    def share_all_kept(self, method: str, datasets: Sequence[str]) -> float:
        """The mean over data sets of `all_kept`; NaN if it is not known."""
        return float(self.all_kept.reindex(index=list(datasets), columns=[method])[method].mean())

    def list_reductions(self, datasets: Sequence[str]) -> list[str]:
        """The methods that reduce something and have results on all of these data sets, by average rank."""
        return [method for method in self.rank(MAIN, datasets).index if self.families[method] != ALONE]

    def list_verdicts(self, datasets: Sequence[str]) -> dict[str, list[str]]:
        """The reductions by what is said of them against no reduction on these data sets, each list by average rank."""
        found = []
        for method in self.list_reductions(datasets):
            compared = self.compare(method, self.against, MAIN, datasets)
            if compared is not None:
                found.append((compared.verdict, method))
        return group_pairs(found)

    def facts(self) -> pd.DataFrame:
        """Data sets × n, d, K, density, d/n and noise; NaN where no manifest has it.

        Noise is 1 − macro AUC of no reduction: ½ where the features say nothing of the labels.
        """
        rows = {}
        for name in self.results.datasets:
            known = self._facts_of(name)
            n, d, labels = (known.get(f"n_{what}", np.nan) for what in ("instances", "features", "labels"))
            rows[name] = {"n": n, "d": d, "K": labels, "density": known.get("label_density", np.nan), "d/n": d / n}
        facts = pd.DataFrame(rows, dtype=float).T
        return facts.assign(noise=1 - self.means(NOISE)[self.against] if NOISE in self.measures else np.nan)

    def _facts_of(self, dataset: str) -> Mapping[str, float]:
        parts = [part for part, _ in self.results.parts] or [self.results]
        for part in parts:
            facts = dict(part.facts(dataset))
            if facts:
                return facts
        return {}


def make_board(runs: Sequence[StoredRun], memory: pd.DataFrame | None = None) -> Board | None:
    """The board of the runs that are of it; None if that of the config `board` is not stored.

    A contributed method whose name is taken has that of its run, too. `memory` is that of `Board`.

    Raises
    ------
    ResultsError
        When two runs have a method of one name with other settings or numbers.
    """
    of_board = [run.results for run in runs if run.is_of_board]
    ours = [each for each in of_board if not is_own_row(each.name)]
    theirs = [each for each in of_board if is_own_row(each.name)]
    ours.sort(key=lambda each: each.name != BOARD)
    if not ours or ours[0].name != BOARD or ours[0].experiment.against is None:
        return None
    configs = {each.name: each for each in ours}
    contributed: set[str] = set()
    for each in theirs:
        taken = contributed.union(*(other.methods for other in configs.values()))
        called = {name: f"{name} ({each.name})" if name in taken else name for name in each.methods}
        contributed |= set(called.values())
        ours.append(each.rename_methods(called))
    results = joining.join(ours)
    named = itertools.chain.from_iterable(each.methods for each in ours)
    unlike = set(named).difference(results.methods)
    if unlike:
        raise ResultsError(f"stored runs of the board differ in {join_words(sorted(unlike))}")
    specs = {name: spec for name, spec in results.experiment.methods.items() if name in results.with_results}
    against = configs[BOARD].experiment.against
    with importing_own_methods():
        families = {method: name_family(spec) for method, spec in specs.items()}
    return Board(
        results=results,
        against=str(against),
        families=families,
        contributed=frozenset(contributed),
        groups=_group_datasets(list(configs.values())),
        times=_compare_times(ours, str(against)),
        memory=pd.DataFrame() if memory is None else memory,
        all_kept=_count_all_kept(ours),
    )


def _group_datasets(configs: Sequence[Results]) -> tuple[tuple[str, ...], ...]:
    """`Board.groups`; the results of `BOARD` come first."""
    first = _list_datasets(configs[0])
    groups = [first]
    for each in configs[1:]:
        own = _list_datasets(each)
        if not set(own).issubset(first):
            own = tuple(dict.fromkeys([*first, *own]))
        groups.append(own)
    return tuple(dict.fromkeys(groups))


def _list_datasets(results: Results) -> tuple[str, ...]:
    return tuple(name for name in results.datasets if name in results.with_results)


def _compare_times(every: Sequence[Results], against: str) -> pd.DataFrame:
    """`Board.times`; of two runs with the same cell the first counts."""
    whole = pd.DataFrame()
    for each in every:
        cells = each.summary[each.summary["metric"] == TIME].astype({"dataset": object, "method": object})
        times = cells.pivot(index="dataset", columns="method", values="mean")
        if against in times:
            whole = whole.combine_first(times.div(times[against], axis="index"))
    return whole


def _count_all_kept(every: Sequence[Results]) -> pd.DataFrame:
    """`Board.all_kept`; of two runs with the same cell the first counts."""
    whole = pd.DataFrame()
    for each in every:
        shares = {}
        for method, spec in each.experiment.methods.items():
            own = each.chosen[(each.chosen["method"] == method) & (each.chosen["parameter"] == _find_size(spec))]
            shares[method] = own["value"].isin(_ALL).groupby(own["dataset"].astype(object)).mean()
        whole = whole.combine_first(pd.DataFrame(shares))
    return whole


def _find_size(method: MethodSpec) -> str:
    """The path of the one size that a search chooses, if it may choose all dimensions; else empty."""
    grid = method.tune.grid if method.tune else {}
    sizes = [path for path in grid if path.endswith(_SIZES)]
    if len(sizes) != 1 or not set(map(value_text, grid[sizes[0]])).intersection(_ALL):
        return ""
    return sizes[0]


# -------------------------------------------------------------------- when a reduction pays


def choose_of_families(board: Board) -> dict[str, str]:
    """Family → the one of its methods with the largest mean gain, of those with results on the most data sets.

    One method for all data sets: the best of a family on each data set would be chosen on its test rows.
    """
    chosen: dict[str, tuple[int, float, str]] = {}
    for method, family in board.families.items():
        gains = board.gains(method, board.against, MAIN)
        if family != ALONE and len(gains):
            chosen[family] = max(chosen.get(family, (0, 0.0, "")), (len(gains), gains.mean(), method))
    return {family: chosen[family][2] for family in FAMILIES if family in chosen}


def correlate(board: Board, chosen: Mapping[str, str]) -> pd.DataFrame:
    """Spearman's correlation of the gain of each chosen method with each property of the data sets.

    Returns
    -------
    frame
        A row for each family and property (`family`, `method`, `fact`), with `n` data sets, `rho`, `p`, and `p_holm`,
        corrected over all rows; NaN where one of the two is constant, or there are `FEW` data sets.
    """
    facts = board.facts()
    rows = []
    for family, method in chosen.items():
        gains = board.gains(method, board.against, MAIN)
        for fact in facts:
            pair = pd.concat([gains, facts[fact].reindex(gains.index)], axis="columns").dropna().to_numpy()
            rho = p = np.nan
            if len(pair) > FEW and (np.ptp(pair, axis=0) > 0).all():
                rho, p = stats.spearmanr(pair[:, 0], pair[:, 1])
            rows.append({"family": family, "method": method, "fact": fact, "n": len(pair), "rho": rho, "p": p})
    found = pd.DataFrame(rows, columns=["family", "method", "fact", "n", "rho", "p"])
    return found.assign(p_holm=holm(found["p"].to_numpy(float)))


# -------------------------------------------------------------------- cost and quality


def list_frontier(board: Board) -> pd.DataFrame:
    """The ranked methods: `time` in that of no reduction, mean `gain` over it, and whether no other is better in both.

    Both are over the data sets on which methods are ranked first; a method whose time is not known is left out.
    """
    rows = {}
    for method in board.rank(MAIN, board.datasets).index:
        gain = board.gains(method, board.against, MAIN, board.datasets).mean()
        rows[method] = {"time": board.time_ratio(method, board.datasets), "gain": gain}
    found = pd.DataFrame(rows, index=["time", "gain"], dtype=float).T.dropna()
    quicker = found["time"].to_numpy()[:, None] <= found["time"].to_numpy()
    as_good = found["gain"].to_numpy()[:, None] >= found["gain"].to_numpy()
    differs = ~(quicker & quicker.T & as_good & as_good.T)
    return found.assign(best=~(quicker & as_good & differs).any(axis=0))
