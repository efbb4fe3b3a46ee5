"""One's own methods among those of a published study: ranks, wins, and Nemenyi's critical difference.

Each of one's own methods is ranked among the study's methods only, so that its place does not depend on one's other
methods. The critical difference is that of k methods on all N data sets, and so approximate where pairs that failed in
the study are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlcdr.comparison import study
from mlcdr.comparison.significance import ALPHA, format_counts
from mlcdr.comparison.statistics import critical_difference
from mlcdr.comparison.study import MEASURES, METHODS, Measure
from mlcdr.comparison.yardstick import NOT_CELLS, Yardstick, average_present_ranks, count_of, describe_datasets
from mlcdr.errors import ResultsError, join_words
from mlcdr.results.scores import are_same
from mlcdr.tables import layouts
from mlcdr.tables.sheet import NOTHING, Sheet, Text, make_sheet, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import number


@dataclass(frozen=True)
class Placed:
    """One of one's own methods among the study's.

    Attributes
    ----------
    rank : float
        Its average rank among the study's methods and itself.
    place : int
        One more than how many of these have a better average rank.
    counts : dict
        Method of the study → wins, ties and losses against it, over the data sets at which it has a result.
    better, worse : tuple of str
        The study's methods whose average rank is better, or worse, by the critical difference or more.
    """

    rank: float
    place: int
    counts: dict[str, tuple[int, int, int]]
    better: tuple[str, ...]
    worse: tuple[str, ...]

    @property
    def beaten(self) -> tuple[str, ...]:
        """The study's methods against which it wins on more data sets than it loses."""
        return tuple(method for method, (wins, _, losses) in self.counts.items() if wins > losses)


@dataclass(frozen=True)
class Standing:
    """One's own methods among the study's under one measure.

    Attributes
    ----------
    measure : Measure
    title : str
        The metric's printed name, with its direction.
    datasets : tuple of str
        The common data sets, by their names here.
    ranks : dict
        Method of the study → its average rank among the study's methods.
    placed : dict
        Each of one's own methods, placed.
    cd : float
        Nemenyi's critical difference of the study's methods and one more.
    notes : tuple of str
        What else a reader must know.
    """

    measure: Measure
    title: str
    datasets: tuple[str, ...]
    ranks: dict[str, float]
    placed: dict[str, Placed]
    cd: float
    notes: tuple[str, ...]

    def sheet(self) -> Sheet:
        """Every method in the order of the ranks; one's own bold, each with a column of its wins, ties and losses."""
        # one's own method comes before one of the study's with the same rank, and may have the same name
        of_all = [(rank, 1, method) for method, rank in self.ranks.items()]
        of_all += [(each.rank, 0, own) for own, each in self.placed.items()]
        rows: list[tuple[str | Text, ...]] = []
        for rank, of_study, method in sorted(of_all):
            counts = [each.counts.get(method) if of_study else None for each in self.placed.values()]
            against = [text(format_counts(each)) if each else NOTHING for each in counts]
            shown = text(method, bold=not of_study), "study" if of_study else "here"
            rows.append((*shown, text(f"{rank:.2f}", bold=not of_study), *against))
        header = ("Method", "From", "Average rank", *(f"{own} W/T/L" for own in self.placed))
        notes = [
            f"On {describe_datasets(self.datasets)}. W/T/L: data sets on which the method here wins, ties with and "
            "loses to that of the study. "
            f"Critical difference of two average ranks (Nemenyi, {ALPHA:g}): {self.cd:.2f}.",
            *(self._describe(own, each) for own, each in self.placed.items()),
            *self.notes,
            NOT_CELLS,
        ]
        return make_sheet(f"{study.TITLE}: {self.title}", header, rows, 2, notes)

    def _describe(self, own: str, each: Placed) -> str:
        k = len(self.ranks)
        parts = [f"beats {len(each.beaten)} of {k} on more data sets than it loses to them"]
        for methods, word in ((each.better, "better"), (each.worse, "worse")):
            if methods:
                parts.append(f"{len(methods)} {word} by the critical difference ({', '.join(methods)})")
        return f"{own}: place {each.place} of {k + 1}, {'; '.join(parts)}."

    def write(self, folder: Path) -> list[Path]:
        """Write the table as `.md`, `.tex` and `.csv` into `folder`.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        stem = f"study_{layouts.file_name(self.measure.metric)}"
        columns = ("metric", "own", "method", "rank", "own_rank", "own_place", "wins", "ties", "losses")
        records = []
        for own, each in self.placed.items():
            for method, rank in self.ranks.items():
                counts = map(str, each.counts.get(method, ("", "", "")))
                place = (number(rank), number(each.rank), str(each.place))
                records.append((self.measure.metric, own, method, *place, *counts))
        return Table(self.sheet(), columns, tuple(records), f"tab:{stem}").write(folder / stem)


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
    higher_is_better = measure.higher_is_better
    cd = critical_difference(theirs.shape[1] + 1, len(whole), ALPHA)
    called = {theirs: ours for ours, theirs in yardstick.named.items()}
    return Standing(
        measure=measure,
        title=yardstick.title(measure),
        datasets=tuple(called[dataset] for dataset in whole.index),
        ranks=average_present_ranks(theirs, higher_is_better).to_dict(),
        placed={name: _place(values, theirs, higher_is_better, cd) for name, values in whole.items()},
        cd=cd,
        notes=tuple(_list_notes(yardstick, measure, list(whole.index))),
    )


def _place(own: pd.Series, theirs: pd.DataFrame, higher_is_better: bool, cd: float) -> Placed:
    """One method among the study's."""
    averages = average_present_ranks(pd.concat({"": own, **theirs}, axis="columns"), higher_is_better)
    rank = averages.pop("")
    ahead = sum(other < rank and not are_same(other, rank) for other in averages)
    return Placed(
        rank=rank,
        place=ahead + 1,
        counts=_count_wins(own, theirs, higher_is_better),
        better=tuple(averages.index[rank - averages >= cd]),
        worse=tuple(averages.index[averages - rank >= cd]),
    )


def _count_wins(own: pd.Series, theirs: pd.DataFrame, higher_is_better: bool) -> dict[str, tuple[int, int, int]]:
    """Wins, ties and losses of a method against each of the study's, where the latter has a value."""
    behind = theirs.sub(own, axis="index")
    signs = np.sign(-behind if higher_is_better else behind)
    counts = {}
    for method in signs:
        found = signs[method].value_counts()
        wins, ties, losses = (int(found.get(sign, 0)) for sign in (1, 0, -1))
        if wins + ties + losses:
            counts[method] = (wins, ties, losses)
    return counts


def _list_notes(yardstick: Yardstick, measure: Measure, whole: Sequence[str]) -> Iterator[str]:
    """What a reader of a standing must know; `whole` are the data sets of the study that it is over."""
    for option, (ours, theirs) in yardstick.differences(measure).items():
        yield (
            f"{option} is {ours} here and {theirs} there, which changes the values on some data sets: write "
            f"{measure.written()}."
        )
    absent = [ours for ours, theirs in yardstick.named.items() if theirs not in whole]
    if absent:
        yield f"Left out, because results are missing here: {join_words(absent)}."
    if yardstick.unknown:
        yield f"No data sets of the study: {join_words(yardstick.unknown)}."
    called = {theirs: ours for ours, theirs in yardstick.named.items()}
    failed = {called[dataset]: yardstick.study.failed[dataset] for dataset in whole}
    named = [f"{dataset} ({', '.join(methods)})" for dataset, methods in failed.items() if methods]
    if named:
        n_failed = sum(map(len, failed.values()))
        yield f"Failed in the study, and left out: {count_of(n_failed, 'pair')}, of {join_words(named)}."
    if measure.without:
        yield f"Left out: {join_words(measure.without)}, whose {measure.metric} in the study cannot be right."


# -------------------------------------------------------------------- all measures


def summarise_standings(yardstick: Yardstick, standings: Sequence[Standing]) -> Sheet:
    """The places of one's own methods, a row for each measure, and with several their mean."""
    placed = pd.DataFrame([standing.placed for standing in standings])
    rows = []
    for standing in standings:
        places = [_show_place(standing.placed.get(own)) for own in placed]
        rows.append((standing.measure.metric, *places))
    if len(standings) > 1:
        rows.append(("mean", *(_show_mean_place(placed[own].dropna()) for own in placed)))
    notes = list(_summarise_notes(yardstick, standings))
    return make_sheet(f"{yardstick.results.name} among {study.TITLE}", ("Measure", *placed), rows, 1, notes)


def _show_place(placed: Placed | None) -> str:
    return f"{placed.place} ({placed.rank:.1f})" if placed else ""


def _show_mean_place(placed: pd.Series) -> str:
    places, ranks = [each.place for each in placed], [each.rank for each in placed]
    return f"{sum(places) / len(placed):.1f} ({sum(ranks) / len(placed):.1f})"


def _summarise_notes(yardstick: Yardstick, standings: Sequence[Standing]) -> Iterator[str]:
    datasets = dict.fromkeys(itertools.chain(*(standing.datasets for standing in standings)))
    yield (
        f"The place of each method among the study's {len(METHODS)} and itself, and its average rank, on "
        f"{describe_datasets(list(datasets))}. `--metric` shows a measure in full."
    )
    yield from dict.fromkeys(itertools.chain(*(standing.notes for standing in standings)))
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
