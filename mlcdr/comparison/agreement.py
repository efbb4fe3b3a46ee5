"""How well the ranks of a published study are reproduced here, by methods of the same names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from mlcdr.comparison import study
from mlcdr.comparison.study import METHODS, Measure
from mlcdr.comparison.yardstick import NOT_CELLS, Yardstick, average_present_ranks
from mlcdr.errors import ResultsError, join_words, plural
from mlcdr.tables.sheet import Sheet, make_sheet, signed


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well the study's ranks are reproduced by methods of the same names, under one measure.

    Attributes
    ----------
    measure : Measure
    ranks : frame
        Of each method, the average rank among these methods `there`, in the study, and `here`.
    correlations : tuple of float
        Spearman's ρ and Kendall's τ_b of the average ranks, and Spearman's ρ on each data set by itself, in the mean
        over the data sets; NaN where one side ties everywhere.
    differences : frame
        Value here − value there: data sets × methods, NaN where the method failed in the study.
    """

    measure: Measure
    ranks: pd.DataFrame
    correlations: tuple[float, float, float]
    differences: pd.DataFrame


def agree(yardstick: Yardstick, measure: Measure) -> Agreement:
    """How well the study's ranks are reproduced here by methods of the same names, on data sets with all of them.

    Raises
    ------
    ResultsError
        Fewer than three such methods, or no data set with all of them.
    """
    own = yardstick.own_values(measure)
    theirs = yardstick.study_values(measure)
    found = {name: study.find_name(name, METHODS) for name in own}
    named = {name: method for name, method in found.items() if method in theirs}
    methods = list(named.values())
    twice = [name for name, method in named.items() if methods.count(method) > 1]
    if twice:
        raise ResultsError(f"{yardstick.results.folder}: {join_words(twice)} are one method in {study.TITLE}")
    own = own[list(named)].rename(columns=named).dropna()
    if len(named) < 3 or own.empty:
        what = "no data set has results of all" if len(named) > 2 else "an agreement needs three or more"
        raise ResultsError(
            f"{yardstick.results.folder}: methods with names of {study.TITLE}: {', '.join(named) or 'none'}; {what}"
        )
    theirs = theirs.loc[own.index, own.columns]
    own = own.where(theirs.notna())
    there = average_present_ranks(theirs, measure.higher_is_better)
    here = average_present_ranks(own, measure.higher_is_better)
    ranks = pd.DataFrame({"there": there, "here": here})
    spearman = ranks.corr("spearman").at["there", "here"]
    kendall = ranks.corr("kendall").at["there", "here"]
    own_ranks = own.rank(axis="columns")
    their_ranks = theirs.rank(axis="columns")
    within = own_ranks.corrwith(their_ranks, axis="columns").mean()
    return Agreement(measure, ranks, (spearman, kendall, within), own - theirs)


def summarise_agreement(yardstick: Yardstick, found: Sequence[Agreement]) -> Sheet:
    """The rank correlations, a row for each measure; with several, their mean."""
    rows = []
    for each in found:
        apart = (each.ranks["here"] - each.ranks["there"]).abs()
        farthest = apart.idxmax()
        there, here = each.ranks.loc[farthest]
        correlations = map(_show_correlation, each.correlations)
        n_methods = str(len(each.ranks))
        rows.append((each.measure.metric, n_methods, *correlations, f"{farthest} {there:.1f} → {here:.1f}"))
    if len(found) > 1:
        means = pd.DataFrame([each.correlations for each in found]).mean()
        rows.append(("mean", "", *map(_show_correlation, means), ""))
    methods = pd.concat([each.ranks for each in found]).index.unique()
    notes = [
        f"Average ranks of {join_words(list(methods))} among each other, in the study and here, on the data sets that "
        "all of them have here: Spearman's ρ, Kendall's τ_b. Within a data set: ρ on each by itself, in the mean. "
        "Farthest: the method whose average rank differs most.",
        NOT_CELLS,
    ]
    return make_sheet(
        caption=f"{yardstick.results.name}: how the ranks of {study.TITLE} come out",
        header=("Measure", "Methods", "Spearman", "Kendall", "Within a data set", "Farthest, there → here"),
        rows=rows,
        stub=1,
        notes=notes,
        left=(5,),
    )


def _show_correlation(value: float) -> str:
    return "" if math.isnan(value) else signed(value, 2)


def tabulate_ranks(found: Sequence[Agreement]) -> Sheet:
    """The average ranks of the common methods in the study and here, in the mean over the measures.

    Also how far the values are apart: the median over data sets and all measures but coverage, which counts labels.
    """
    every = pd.concat([each.ranks for each in found])
    ranks = every.groupby(level=0, sort=False).mean()
    shares = [each.differences for each in found if each.measure.metric != "coverage"]
    apart = pd.concat(shares).abs().median() if shares else pd.Series(dtype=float)
    rows = []
    for method, there, here in ranks.sort_values(["there", "here"]).itertuples():
        differ = apart.get(method, math.nan)
        shown = "" if math.isnan(differ) else f"{differ:.3f}"
        rows.append((method, f"{there:.2f}", f"{here:.2f}", signed(here - there, 2), shown))
    return make_sheet(
        caption=f"Average ranks over {plural(len(found), 'measure')}",
        header=("Method", "Study", "Here", "Difference", "Values differ by"),
        rows=rows,
        stub=1,
        notes=[
            "Values differ by: the median of |value here − value there| over data sets and measures, coverage aside."
        ],
    )
