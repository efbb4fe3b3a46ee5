"""How well the ranks of a published study are reproduced here, by methods of the same names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import stats

from mlcdr.comparison import study
from mlcdr.comparison.study import Measure
from mlcdr.comparison.yardstick import NOT_CELLS, Yardstick, average_present_ranks, count_of
from mlcdr.errors import ResultsError, join_words
from mlcdr.tables.sheet import Sheet, make_sheet, signed


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well the study's ranks are reproduced by methods of the same names, under one measure.

    Attributes
    ----------
    measure : Measure
    ours, theirs : Series
        Of each method, the average rank among these methods, here and in the study.
    spearman, kendall : float
        Of the average ranks: Spearman's ρ and Kendall's τ_b; NaN where one side ties everywhere.
    within : float
        Spearman's ρ on each data set by itself, in the mean over the data sets.
    differences : DataFrame
        Value here − value there: data sets × methods, NaN where the method failed in the study.
    """

    measure: Measure
    ours: pd.Series
    theirs: pd.Series
    spearman: float
    kendall: float
    within: float
    differences: pd.DataFrame

    @property
    def correlations(self) -> tuple[float, float, float]:
        """Those of the average ranks, and within a data set."""
        return self.spearman, self.kendall, self.within

    @property
    def farthest(self) -> str:
        """The method whose rank differs most."""
        return str((self.ours - self.theirs).abs().idxmax())


def agree(yardstick: Yardstick, measure: Measure) -> Agreement:
    """How well the study's ranks are reproduced here by methods of the same names, on data sets with all of them.

    Raises
    ------
    ResultsError
        Fewer than three such methods, or no data set with all of them.
    """
    own, theirs = yardstick.own_values(measure), yardstick.study_values(measure)
    found = {name: study.find_method(name) for name in own}
    named = {name: method for name, method in found.items() if method in theirs}
    own = own[list(named)].rename(columns=named).dropna()
    if len(named) < 3 or own.empty:
        what = "no data set has results of all" if len(named) > 2 else "an agreement needs three or more"
        raise ResultsError(
            f"{yardstick.results.folder}: methods with names of {study.TITLE}: {', '.join(named) or 'none'}; {what}"
        )
    theirs = theirs.loc[own.index, own.columns]
    own = own.where(theirs.notna())
    ours, study_s = (average_present_ranks(values, measure.higher_is_better) for values in (own, theirs))
    of_data_sets = [_spearman(own.loc[dataset], theirs.loc[dataset]) for dataset in own.index]
    return Agreement(
        measure=measure,
        ours=ours,
        theirs=study_s,
        spearman=_spearman(ours, study_s),
        kendall=_correlate(stats.kendalltau, ours, study_s),
        within=_mean(pd.Series(of_data_sets)),
        differences=own - theirs,
    )


def _spearman(ours: pd.Series, theirs: pd.Series) -> float:
    return _correlate(stats.spearmanr, ours, theirs)


def _mean(values: pd.Series) -> float:
    """The mean of those that are defined; NaN where none is."""
    defined = values.dropna().tolist()
    return sum(defined) / len(defined) if defined else math.nan


def summarise_agreement(yardstick: Yardstick, found: Sequence[Agreement]) -> Sheet:
    """The rank correlations, a row for each measure; with several, their mean."""
    rows = []
    for each in found:
        far = each.farthest
        difference = f"{far} {each.theirs[far]:.1f} → {each.ours[far]:.1f}"
        shown = map(_show_correlation, each.correlations)
        rows.append((each.measure.metric, str(len(each.ours)), *shown, difference))
    if len(found) > 1:
        every = pd.DataFrame([each.correlations for each in found])
        shown = map(_show_correlation, every.apply(_mean))
        rows.append(("mean", "", *shown, ""))
    methods = pd.concat([each.ours for each in found]).index.unique().tolist()
    header = ("Measure", "Methods", "Spearman", "Kendall", "Within a data set", "Farthest, there → here")
    notes = [
        f"Average ranks of {join_words(methods)} among each other, in the study and here, on the data sets that "
        "all of them have here: Spearman's ρ, Kendall's τ_b. Within a data set: ρ on each by itself, in the mean. "
        "Farthest: the method whose average rank differs most.",
        NOT_CELLS,
    ]
    caption = f"{yardstick.results.name}: how the ranks of {study.TITLE} come out"
    return make_sheet(caption, header, rows, 1, notes, (5,))


def _show_correlation(value: float) -> str:
    return "" if math.isnan(value) else signed(value, 2)


def tabulate_ranks(found: Sequence[Agreement]) -> Sheet:
    """The average ranks of the common methods in the study and here, in the mean over the measures.

    Also how far the values are apart: the median over data sets and all measures but coverage, which counts labels.
    """
    there = pd.concat([each.theirs for each in found], axis="columns")
    here = pd.concat([each.ours for each in found], axis="columns")
    ranks = pd.DataFrame({"there": there.mean(axis="columns"), "here": here.mean(axis="columns")})
    shares = [each.differences for each in found if each.measure.metric != "coverage"]
    nothing = pd.DataFrame(columns=ranks.index, dtype=float)
    ranks["apart"] = pd.concat([*shares, nothing]).abs().median()
    rows = []
    for method, rank_there, rank_here, apart in ranks.sort_values(["there", "here"]).itertuples():
        differ = "" if math.isnan(apart) else f"{apart:.3f}"
        difference = signed(rank_here - rank_there, 2)
        rows.append((method, f"{rank_there:.2f}", f"{rank_here:.2f}", difference, differ))
    caption = f"Average ranks over {count_of(len(found), 'measure')}"
    notes = ["Values differ by: the median of |value here − value there| over data sets and measures, coverage aside."]
    return make_sheet(caption, ("Method", "Study", "Here", "Difference", "Values differ by"), rows, 1, notes)


def _correlate(test: Callable[..., Any], ours: pd.Series, theirs: pd.Series) -> float:
    """A rank correlation; NaN where one side is constant or has fewer than two methods."""
    a, b = ours.dropna(), theirs.dropna()[ours.dropna().index]
    if a.nunique() < 2 or b.nunique() < 2:
        return math.nan
    return float(test(a, b).statistic)
