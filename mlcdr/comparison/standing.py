"""One's own methods among those of a published study: ranks, wins, and Nemenyi's critical difference.

Each of one's own methods is ranked among the study's methods only, so that its place does not depend on one's other
methods. The critical difference is that of k methods on all N data sets, and so approximate where pairs that failed in
the study are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from mlcdr.comparison import study
from mlcdr.comparison.significance import format_counts
from mlcdr.comparison.statistics import ALPHA, critical_difference
from mlcdr.comparison.study import MEASURES, METHODS, Measure
from mlcdr.comparison.yardstick import NOT_CELLS, Yardstick, average_present_ranks
from mlcdr.errors import ResultsError, join_words, plural
from mlcdr.experiment.model import file_name
from mlcdr.results.frame import are_same
from mlcdr.results.joining import join_names
from mlcdr.tables.sheet import NOTHING, Sheet, make_sheet, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import as_texts

_COUNTS = ["wins", "ties", "losses"]
_PLACED = ["own_place", "own_rank"]


@dataclass(frozen=True, eq=False)
class Standing:
    """One's own methods among the study's under one measure.

    Attributes
    ----------
    yardstick : Yardstick
    measure : Measure
    datasets : tuple of str
        The common data sets, by their names here.
    pairs : frame
        A row for each of one's own methods (`own`) and method of the study (`method`): `rank`, the average rank of the
        latter among the study's methods, and `beside`, among these and one's own; `own_rank`, that of one's own, and
        `own_place`, one more than how many of them have a better one; `wins`, `ties` and `losses` of one's own method
        over the data sets at which the other has a result.
    cd : float
        Nemenyi's critical difference of the study's methods and one more.
    """

    yardstick: Yardstick
    measure: Measure
    datasets: tuple[str, ...]
    pairs: pd.DataFrame
    cd: float

    def sheet(self) -> Sheet:
        """Every method in the order of the ranks; one's own bold, each with a column of its wins, ties and losses."""
        by_own = dict(list(self.pairs.groupby("own", sort=False)))
        # one's own method comes before one of the study's with the same rank, and may have the same name
        ranked = set()
        records = {}
        for pair in self.pairs.itertuples():
            ranked.add((pair.own_rank, False, pair.own))
            ranked.add((pair.rank, True, pair.method))
            records[pair.own, pair.method] = format_counts([pair.wins, pair.ties, pair.losses])
        rows = []
        for rank, is_of_study, name in sorted(ranked):
            shown = text(f"{rank:.2f}", bold=not is_of_study)
            if is_of_study:
                counts = [text(records[own, name]) for own in by_own]
                rows.append([text(name), text("study"), shown, *counts])
            else:
                nothing = [NOTHING] * len(by_own)
                rows.append([text(name, bold=True), text("here"), shown, *nothing])
        header = ("Method", "From", "Average rank", *(f"{own} W/T/L" for own in by_own))
        notes = [
            f"On {describe_datasets(self.datasets)}. W/T/L: data sets on which the method here wins, ties with and "
            "loses to that of the study. "
            f"Critical difference of two average ranks (Nemenyi, {ALPHA:g}): {self.cd:.2f}.",
            *(self._describe(own, pairs) for own, pairs in by_own.items()),
            *self.notes,
            NOT_CELLS,
        ]
        return make_sheet(
            caption=f"{study.TITLE}: {self.yardstick.title(self.measure)}",
            header=header,
            rows=rows,
            stub=2,
            notes=notes,
        )

    def _describe(self, own: str, pairs: pd.DataFrame) -> str:
        """The place of one's own method, and how it does against the others."""
        k = len(pairs)
        beaten = (pairs["wins"] > pairs["losses"]).sum()
        parts = [f"beats {beaten} of {k} on more data sets than it loses to them"]
        behind = pairs["own_rank"] - pairs["beside"]
        for apart, word in ((behind, "better"), (-behind, "worse")):
            methods = pairs.loc[apart >= self.cd, "method"]
            if len(methods):
                parts.append(f"{len(methods)} {word} by the critical difference ({', '.join(methods)})")
        return f"{own}: place {pairs['own_place'].iloc[0]} of {k + 1}, {'; '.join(parts)}."

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What else a reader must know."""
        return tuple(_list_notes(self))

    def write(self, folder: Path) -> list[Path]:
        """Write the table as `.md`, `.tex` and `.csv` into `folder`.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        stem = f"study_{file_name(self.measure.metric)}"
        columns = ("metric", "own", "method", "rank", "own_rank", "own_place", *_COUNTS)
        records = as_texts(self.pairs[list(columns)])
        return Table(self.sheet(), columns, records, f"tab:{stem}").write(folder / stem)


def place_methods(yardstick: Yardstick, measure: Measure) -> Standing:
    """One's own methods among the study's under a measure.

    Raises
    ------
    ResultsError
        No data set has results of all of one's own methods.
    """
    own = yardstick.own_values(measure).dropna(axis="columns", how="all")
    whole = own.dropna()
    if whole.empty:
        raise ResultsError(
            f"{yardstick.results.folder}: {measure.metric}: no data set of {study.TITLE} has results of all methods "
            f"({join_words(list(own))})"
        )
    theirs = yardstick.study_values(measure).loc[whole.index]
    better = measure.higher_is_better
    pairs = [rank_among(theirs, values, better).assign(metric=measure.metric, own=own) for own, values in whole.items()]
    return Standing(
        yardstick=yardstick,
        measure=measure,
        datasets=tuple(ours for ours, named in yardstick.named.items() if named in whole.index),
        pairs=pd.concat(pairs, ignore_index=True),
        cd=critical_difference(theirs.shape[1] + 1, len(whole)),
    )


def rank_among(theirs: pd.DataFrame, own: pd.Series, higher_is_better: bool) -> pd.DataFrame:
    """One method of one's own among others, which may lack some of its data sets.

    Parameters
    ----------
    theirs : DataFrame
        Data sets × other methods, rounded; NaN where a method has no value.
    own : Series
        One's own method on the same data sets, rounded alike.
    higher_is_better : bool

    Returns
    -------
    DataFrame
        A row for each of the others that has a value; the columns are those of `Standing.pairs` without `own`.
    """
    every = pd.concat({"": own, **theirs}, axis="columns")
    ranks = average_present_ranks(every, higher_is_better)
    own_rank = ranks.pop("")
    is_ahead = (ranks < own_rank) & ~are_same(ranks, own_rank)
    gains = theirs.sub(own, axis="index")
    if higher_is_better:
        gains = -gains
    pairs = pd.DataFrame({
        "method": ranks.index,
        "beside": ranks,
        "rank": average_present_ranks(theirs, higher_is_better),
        "own_rank": own_rank,
        "own_place": 1 + is_ahead.sum(),
        "wins": (gains > 0).sum(),
        "ties": (gains == 0).sum(),
        "losses": (gains < 0).sum(),
    }, ranks.index)  # fmt: skip
    return pairs.reset_index(drop=True)


def describe_datasets(datasets: Sequence[str]) -> str:
    """`2 data sets (scene, yeast)`."""
    return f"{plural(len(datasets), 'data set')} ({', '.join(datasets)})"


def _list_notes(standing: Standing) -> Iterator[str]:
    yardstick, measure = standing.yardstick, standing.measure
    for option, (ours, theirs) in yardstick.differences[measure.name].items():
        yield (
            f"{option} is {ours} here and {theirs} there, which changes the values on some data sets: write "
            f"{measure.written()}."
        )
    absent = [name for name in yardstick.named if name not in standing.datasets]
    if absent:
        yield f"Left out, because results are missing here: {join_words(absent)}."
    unknown = [name for name in yardstick.results.datasets if name not in yardstick.named]
    if unknown:
        yield f"No data sets of the study: {join_words(unknown)}."
    n_failed = 0
    failed = []
    for name in standing.datasets:
        values = yardstick.study.loc[yardstick.named[name]]
        lacking = values.columns[values.isna().all()]
        if len(lacking):
            n_failed += len(lacking)
            failed.append(f"{name} ({', '.join(lacking)})")
    if failed:
        yield f"Failed in the study, and left out: {plural(n_failed, 'pair')}, of {join_words(failed)}."
    if measure.without:
        yield f"Left out: {join_words(measure.without)}, whose {measure.metric} in the study cannot be right."


# -------------------------------------------------------------------- all measures


def summarise_standings(yardstick: Yardstick, standings: Sequence[Standing]) -> Sheet:
    """The places of one's own methods, a row for each measure, and with several their mean."""
    pairs = pd.concat([standing.pairs for standing in standings])
    placed = pairs.drop_duplicates(["metric", "own"])
    names = placed["own"].unique()
    rows = []
    for metric, of_metric in placed.groupby("metric", sort=False):
        shown = {each.own: f"{each.own_place} ({each.own_rank:.1f})" for each in of_metric.itertuples()}
        rows.append((metric, *(shown.get(own, "") for own in names)))
    if len(standings) > 1:
        means = placed.groupby("own", sort=False)[_PLACED].mean()
        rows.append(("mean", *(f"{each.own_place:.1f} ({each.own_rank:.1f})" for each in means.itertuples())))
    notes = list(_summarise_notes(yardstick, standings))
    return make_sheet(
        caption=f"{yardstick.results.name} among {study.TITLE}",
        header=("Measure", *names),
        rows=rows,
        stub=1,
        notes=notes,
    )


def _summarise_notes(yardstick: Yardstick, standings: Sequence[Standing]) -> Iterator[str]:
    datasets = join_names(standing.datasets for standing in standings)
    yield (
        f"The place of each method among the study's {len(METHODS)} and itself, and its average rank, on "
        f"{describe_datasets(datasets)}. `--metric` shows a measure in full."
    )
    yield from join_names(standing.notes for standing in standings)
    without = []
    for name, why in yardstick.skipped.items():
        measure = MEASURES[name]
        without.append(f"{measure.metric} ({why}: {measure.written()})")
    if without:
        yield f"Measures of the study that are not compared: {', '.join(without)}."
    others = [metric for metric in yardstick.results.metrics if metric not in yardstick.labels.values()]
    if others:
        yield f"Metrics here that are no measures of the study: {', '.join(others)}."
    yield NOT_CELLS
