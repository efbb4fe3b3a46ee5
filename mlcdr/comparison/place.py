"""One's own rows of the board among its stored rows: place, average rank, and wins against no reduction.

Each of one's own methods is ranked among the stored ones only, so that its place does not depend on one's other rows.
It counts on the data sets that it has finished, and its rivals are the stored methods with results on all of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.comparison.significance import format_counts, show_p, show_short
from mlcdr.comparison.standing import describe_datasets, rank_among
from mlcdr.comparison.statistics import ALPHA, holm, least_p, paired_differences, wilcoxon
from mlcdr.errors import ResultsError, join_words, plural
from mlcdr.experiment.splits import number_of_splits
from mlcdr.results.failures import join_some
from mlcdr.results.frame import group, round_columns
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import as_texts

_NAMED = 6  # stored methods that a note names


@dataclass(frozen=True, eq=False, repr=False)
class Place(ShownSheet):
    """Where one's own methods stand on the board.

    Attributes
    ----------
    name : str
        Of one's own experiment.
    against : str
        The stored method without a reduction; empty where there is none on the same data sets.
    metric : str
        The measure by which the board tunes, of which the sentence is.
    rows : frame
        A row for each of one's own methods (`own`) and each measure (`metric`; printed: `title`): `place` among `of`,
        which are the stored methods and itself, average `rank`, and on how many data sets (`n`); against the method
        without a reduction the mean `difference`, wins, ties and losses, Wilcoxon's p-value, and p_holm, corrected over
        the method's measures (NaN where all data sets tie; `least`: the smallest that so many data sets can give).
        The `best` stored method and those just `above` and `below` are texts with their average ranks.
    notes : tuple of str
        On which data sets, and what was left out.
    """

    name: str
    against: str
    metric: str
    rows: pd.DataFrame
    notes: tuple[str, ...]

    columns = ("method", "metric", "place", "of", "rank", "n", "difference", "wins", "ties", "losses", "p", "p_holm")

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """A row for each method and measure."""
        return as_texts(self.rows.rename(columns={"own": "method"})[list(self.columns)])

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return f"tab:place_{self.name}"

    @property
    def sheet(self) -> Sheet:
        """A row for each method and measure."""
        return make_sheet(
            caption=f"{self.name} on the board",
            header=["Method", "Measure", "Place", "Average rank", "W/T/L", "p (Holm)"],
            rows=[_show_row(row) for row in self.rows.to_dict("records")],
            stub=2,
            notes=self.notes,
            nested=1,
        )

    def sentences(self) -> Iterator[str]:
        """The place of each method in the measure by which the board tunes, and what it is compared with there."""
        of_metric = self.rows[self.rows["metric"] == self.metric]
        for row in of_metric.to_dict("records"):
            n_tests = self.rows.loc[self.rows["own"] == row["own"], "p"].count()
            test = f"{show_p(row['p_holm'])}, Holm over {plural(n_tests, 'measure')}"
            if math.isnan(row["p"]):
                test = "no test, as they are the same everywhere"
            elif row["least"] > ALPHA:
                test = "too few data sets for a test"
            ties = f", the same on {row['ties']}" if row["ties"] else ""
            yield (
                f"{row['own']}: place {row['place']} of {row['of']} in {row['title']} on "
                f"{plural(row['n'], 'data set')}; better than {self.against} on {row['wins']}, worse on "
                f"{row['losses']}{ties} ({test})."
            )
            yield (
                f"{row['own']}: average rank {row['rank']:.2f}; the best stored method: {row['best']}, just above: "
                f"{row['above']}, just below: {row['below']}. Mean difference to {self.against} in {row['title']}: "
                f"{signed(row['difference'], 4)}."
            )


def _show_row(row: Mapping[Any, Any]) -> list[str | Text]:
    p = text(show_short(row["p_holm"]), row["p_holm"] <= ALPHA) if _is_tested(row) else NOTHING
    counts = format_counts([row["wins"], row["ties"], row["losses"]])
    return [row["own"], row["title"], f"{row['place']} of {row['of']}", f"{row['rank']:.2f}", counts, p]


def _is_tested(row: Mapping[Any, Any]) -> bool:
    """Whether the p-value of a row says something: not all data sets tie, and there are enough of them."""
    return not math.isnan(row["p"]) and row["least"] <= ALPHA


# -------------------------------------------------------------------- placing


def place_methods(results: Results, board: Results) -> Place:
    """Place the methods of a run among the stored ones, under each measure of quality that both have.

    Parameters
    ----------
    results : Results
        One's own, with the splits and metrics of the board.
    board : Results
        All stored rows, joined; they name the method without a reduction by `against`.

    Raises
    ------
    ResultsError
        When no method has finished a data set of the board, or the stored rows have no method without a reduction.
    """
    against = board.experiment.against
    if against is None or against not in board.methods:
        raise ResultsError(f"{board.folder}: have no common method that others are compared with (`against`)")
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for own in results.methods:
        common = [name for name in _list_finished(results, own) if name in board.datasets]
        rivals = _list_rivals(board, common)
        if against in rivals:
            rows += _place(results.select("dataset", common), board.select("method", rivals), own, against)
        notes += _list_notes(results, board, own, common, rivals)
    if not rows:
        raise ResultsError(f"{results.folder}: no method has finished a data set of the board yet")
    tune = board.experiment.methods[against].tune
    return Place(
        name=results.name,
        against=against,
        metric=str(tune.metric) if tune else rows[0]["metric"],
        rows=pd.DataFrame(rows),
        notes=(*notes, *_explain(rows, against)),
    )


def _list_finished(results: Results, own: str) -> list[str]:
    """The data sets of which a method has all splits; a metric may not be defined on some of them."""
    summary = results.summary
    n_splits = group(summary[summary["method"] == own], ["dataset"])["n"].max()
    return list(n_splits[n_splits >= number_of_splits(results.experiment.splits)].index)


def _list_rivals(board: Results, datasets: list[str]) -> list[str]:
    """The stored methods that have results on all of some data sets."""
    there = board.summary[board.summary["dataset"].isin(datasets)]
    n_datasets = group(there, ["method"])["dataset"].nunique()
    return list(n_datasets[n_datasets == len(datasets)].index)


def _place(results: Results, board: Results, own: str, against: str) -> list[dict[str, Any]]:
    """A row for each measure of one of one's own methods, on the data sets of `results`."""
    rows = []
    for metric in results.metrics:
        facts = results.metric_facts(metric)
        if metric not in board.metrics or facts.is_cost or facts.higher_is_better is None:
            continue
        values = _tabulate_means(results, metric).get(own, pd.Series(dtype=float)).dropna()
        theirs = _tabulate_means(board, metric).reindex(values.index).dropna(axis="columns")
        if values.empty or against not in theirs:
            continue
        pairs = rank_among(theirs, values, facts.higher_is_better).set_index("method")
        rows.append({
            "own": own,
            "metric": metric,
            "title": facts.title,
            "place": pairs["own_place"].iloc[0],
            "of": len(pairs) + 1,
            "rank": pairs["own_rank"].iloc[0],
            "n": len(values),
            **_name_neighbours(pairs["beside"], pairs["own_place"].iloc[0]),
            "difference": (values - theirs[against]).mean(),
            **pairs.loc[against, ["wins", "ties", "losses"]],
            "p": wilcoxon(paired_differences(values, theirs[against])),
        })  # fmt: skip
    corrected = holm([row["p"] for row in rows])
    n_tests = int(np.count_nonzero(~np.isnan(corrected)))
    for row, p in zip(rows, corrected, strict=True):
        row |= {"p_holm": p, "least": least_p(row["n"], n_tests)}
    return rows


def _name_neighbours(ranks: pd.Series, place: int) -> dict[str, str]:
    """The best of the stored methods and those just above and below a place, each with its average rank."""
    named = [f"{method} ({rank:.2f})" for method, rank in ranks.sort_values(kind="stable").items()]
    above, below = named[: place - 1], named[place - 1 :]
    return {"best": named[0], "above": above[-1] if above else "none", "below": below[0] if below else "none"}


def _tabulate_means(results: Results, metric: str) -> pd.DataFrame:
    """Data sets × methods, NaN where there is no result; to six digits, as in the record."""
    summary = results.summary[results.summary["metric"] == metric]
    cells = round_columns(summary, "mean", digits=6).astype({"dataset": object, "method": object})
    return cells.pivot(index="dataset", columns="method", values="mean")


def _list_notes(results: Results, board: Results, own: str, common: list[str], rivals: list[str]) -> Iterator[str]:
    """On which data sets a method was placed, among which stored ones, and what of it and of the board was left out."""
    if common:
        yield f"{own}: on {describe_datasets(common)}."
    left_out = [name for name in results.datasets if name not in common]
    unfinished = [name for name in left_out if name in board.datasets]
    if unfinished:
        yield f"{own}: not finished, and left out: {join_words(unfinished)}."
    unknown = [name for name in left_out if name not in board.datasets]
    if unknown:
        yield f"{own}: not of the board, and left out: {join_words(unknown)}."
    if own in rivals:
        yield f"{own}: a stored method has the same name, and is among those that it is compared with."
    lacking = [method for method in board.methods if method not in rivals]
    if common and lacking:
        stored = plural(len(lacking), "stored method")
        yield f"{own}: left out, as not on all of these data sets: {stored}, {join_some(lacking, _NAMED)}."


def _explain(rows: list[dict[str, Any]], against: str) -> Iterator[str]:
    yield "Average rank: over the data sets, among the stored methods and itself. Place: in the order of these means."
    bold = f"; bold: at most {ALPHA:g}" if any(_is_tested(row) for row in rows) else ""
    yield (
        f"W/T/L: data sets on which it wins, ties with and loses to {against}. p: Wilcoxon's signed-rank test over "
        f"them, with Holm's correction over the measures of a method{bold}."
    )
    if any(math.isnan(row["p"]) for row in rows):
        yield f"{DASH}: no test, as all data sets tie."
    few = [row for row in rows if row["least"] > ALPHA]
    if few:
        least = min(few, key=lambda row: row["least"])
        yield (
            f"{DASH}: too few data sets for a test: the smallest p (Holm) that {plural(least['n'], 'data set')} can "
            f"give is {least['least']:.2g}."
        )
