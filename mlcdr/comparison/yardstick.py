"""One's own methods among those of a published study, by measure, and how well the study's ranks are reproduced.

The study's division is not public, so ranks are compared, not cells: on each data set that both have, a method's mean
here is ranked among the study's values there, both rounded to the study's decimal places. Each of one's own methods is
ranked among the study's methods only, so that its place does not depend on one's other methods.

A pair of method and data set that failed in the study is left out: of the k methods k′ are left on that data set, and
rank r among these counts as 1 + (r − 1)(k − 1)/(k′ − 1), which is 1 for the best and k for the worst as elsewhere.
Nemenyi's critical difference is that of k methods on all N data sets, and so approximate where pairs are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from mlcdr.comparison import study
from mlcdr.comparison.significance import ALPHA, format_counts
from mlcdr.comparison.statistics import critical_difference
from mlcdr.comparison.study import MEASURES, METHODS, Measure, Study
from mlcdr.errors import ResultsError, join_words
from mlcdr.metrics.names import METRICS, resolve
from mlcdr.results.metric_facts import describe_metric
from mlcdr.results.results import Results
from mlcdr.results.scores import Point, are_same
from mlcdr.tables import layouts
from mlcdr.tables.sheet import NOTHING, Sheet, Text, make_sheet, signed, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import number

_SHIFTED = ("count",)  # options that change every value, so that no rank could be compared

NOT_CELLS = (
    "Ranks are compared, not cells: the study's division into training and test rows is not public, and its numbers "
    "are of one division."
)


@dataclass(frozen=True)
class Placed:
    """One of one's own methods among the study's.

    Attributes
    ----------
    rank : float
        Its average rank among the study's methods and itself.
    place : int
        One more than how many of these have a better average rank.
    records : dict
        Method of the study → wins, ties and losses against it, over the data sets at which it has a result.
    better, worse : tuple of str
        The study's methods whose average rank is better, or worse, by the critical difference or more.
    """

    rank: float
    place: int
    records: dict[str, tuple[int, int, int]]
    better: tuple[str, ...]
    worse: tuple[str, ...]

    @property
    def beaten(self) -> tuple[str, ...]:
        """The study's methods against which it wins on more data sets than it loses."""
        return tuple(method for method, (wins, _, losses) in self.records.items() if wins > losses)


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
        """Every method in the order of the ranks; one's own bold, each with a column of its record."""
        of_all = {method: (rank, 1, method) for method, rank in self.ranks.items()}
        of_all |= {f"{own}\n": (each.rank, 0, own) for own, each in self.placed.items()}  # it may be a study's name
        rows: list[tuple[str | Text, ...]] = []
        for rank, from_study, method in sorted(of_all.values()):
            shown = text(f"{rank:.2f}", bold=not from_study)
            against = [_show(each.records.get(method)) if from_study else NOTHING for each in self.placed.values()]
            rows.append((text(method, bold=not from_study), "study" if from_study else "here", shown, *against))
        header = ("Method", "From", "Average rank", *(f"{own} W/T/L" for own in self.placed))
        notes = [
            f"On {_count(self.datasets)}. W/T/L: data sets on which the method here wins, ties with and loses to that "
            "of the study. "
            f"Critical difference of two average ranks (Nemenyi, {ALPHA:g}): {self.cd:.2f}.",
            *(self._describe(own, each) for own, each in self.placed.items()),
            *self.notes,
            NOT_CELLS,
        ]
        return make_sheet(f"{study.TITLE}: {self.title}", header, rows, 2, notes)

    def _describe(self, own: str, each: Placed) -> str:
        k = len(self.ranks)
        ahead = f"beats {len(each.beaten)} of {k} on more data sets than it loses to them"
        differs = [
            f"{len(methods)} {word} by the critical difference ({', '.join(methods)})"
            for methods, word in ((each.better, "better"), (each.worse, "worse"))
            if methods
        ]
        return f"{own}: place {each.place} of {k + 1}, {'; '.join([ahead, *differs])}."

    def write(self, folder: Path) -> list[Path]:
        """Write the table as `.md`, `.tex` and `.csv` into `folder`.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        stem = f"study_{layouts.file_name(self.measure.metric)}"
        columns = ("metric", "own", "method", "rank", "own_rank", "own_place", "wins", "ties", "losses")
        records = tuple(
            (
                *(self.measure.metric, own, method, number(self.ranks[method]), number(each.rank), str(each.place)),
                *map(str, each.records.get(method, ("", "", ""))),
            )
            for own, each in self.placed.items()
            for method in self.ranks
        )
        return Table(self.sheet(), columns, records, f"tab:{stem}").write(folder / stem)


@dataclass(frozen=True)
class Agreement:
    """How well the study's ranks are reproduced by methods of the same names, under one measure.

    Attributes
    ----------
    measure : Measure
    title : str
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
    title: str
    ours: pd.Series
    theirs: pd.Series
    spearman: float
    kendall: float
    within: float
    differences: pd.DataFrame

    @property
    def farthest(self) -> str:
        """The method whose rank differs most."""
        return str((self.ours - self.theirs).abs().idxmax())


class Yardstick:
    """The methods of a results folder and those of the study, on the data sets that both have.

    Raises
    ------
    ResultsError
        No data set or no measure is common, or no data set has results of all methods of the folder.
    """

    def __init__(self, results: Results, published: Study):
        self.results, self.study = results, published
        self._contestants: dict[str, tuple[str, Point]] = {
            " ".join((method, *filter(None, point))): (method, point)
            for method in results.methods
            for point in results.points_of(method)
        }
        named = {ours: theirs for ours in results.datasets if (theirs := published.find_dataset(ours))}
        if not named:
            has = ", ".join(map(study.own_name, published.datasets))
            raise ResultsError(f"{results.folder}: no data set of {study.TITLE} (it has {has})")
        self.unknown = tuple(name for name in results.datasets if name not in named)
        self._named = named
        self.labels, self.skipped = self._find_metrics()
        if not self.labels:
            wanted = ", ".join(measure.written() for measure in MEASURES.values())
            raise ResultsError(
                f"{results.folder}: no measure of {study.TITLE}; it has, as `metrics:` of a config, {wanted}"
            )

    def _find_metrics(self) -> tuple[dict[str, str], dict[str, str]]:
        """The label of each measure in the results; and why another cannot be compared."""
        specs = {spec.label: (spec.name, spec.params) for spec in self.results.experiment.metrics}
        labels, skipped = {}, {}
        for measure in MEASURES.values():
            differing = {}
            for label in self.results.metrics:
                name, params = specs.get(label) or resolve(label)
                if name == measure.metric:
                    differing[label] = _differing(measure, params)
            best = min(differing, key=lambda label: len(differing[label]), default=None)
            if best is None:
                skipped[measure.name] = "not measured"
            elif shifted := [option for option in differing[best] if option in _SHIFTED]:
                skipped[measure.name] = f"{best} has another {join_words(shifted)}"
            else:
                labels[measure.name] = best
        return labels, skipped

    def measures(self, metric: str | None = None) -> list[Measure]:
        """The measures that can be compared; or the one of this name.

        Raises
        ------
        ResultsError
            The study has no such measure, or it was not measured here as there.
        """
        if metric is None:
            return [MEASURES[name] for name in self.labels]
        measure = study.find_measure(metric)
        if measure.name not in self.labels:
            raise ResultsError(
                f"{self.results.folder}: {measure.metric}: {self.skipped[measure.name]}; "
                f"write {measure.written()} among the config's metrics"
            )
        return [measure]

    def _values(self, measure: Measure) -> tuple[pd.DataFrame, pd.DataFrame]:
        """One's own means, rounded as the study's values, and these values: common data sets × methods, NaN for none.

        The data sets have the study's names.
        """
        label = self.labels[measure.name]
        own = {
            name: {
                theirs: round(cell.mean, study.PLACES)
                for ours, theirs in self._named.items()
                if (cell := self.results.cell(ours, *at, label))
            }
            for name, at in self._contestants.items()
        }
        datasets = list(self._named.values())
        rivals = [method for method in METHODS if method not in measure.without]
        published = {dataset: self.study.values[dataset, measure.name] for dataset in datasets}
        return pd.DataFrame(own, datasets, dtype=float), pd.DataFrame(published, rivals, dtype=float).T

    def place(self, measure: Measure) -> Standing:
        """One's own methods among the study's under a measure.

        Raises
        ------
        ResultsError
            No data set has results of all of one's own methods.
        """
        own, theirs = self._values(measure)
        own = own.dropna(axis="columns", how="all")
        whole = list(own.dropna().index)
        if not whole:
            raise ResultsError(
                f"{self.results.folder}: {measure.metric}: no data set of {study.TITLE} has results of all methods "
                f"({join_words(list(own))})"
            )
        theirs, better = theirs.loc[whole], measure.higher_is_better
        cd = critical_difference(theirs.shape[1] + 1, len(whole), ALPHA)
        placed = {}
        for name in own:
            averages = average_ranks(pd.concat({"": own.loc[whole, name], **theirs}, axis="columns"), better)
            rank = averages.pop("")
            ahead = sum(other < rank and not are_same(other, rank) for other in averages)
            placed[name] = Placed(
                rank,
                ahead + 1,
                _count_wins(own.loc[whole, name], theirs, better),
                tuple(averages.index[rank - averages >= cd]),
                tuple(averages.index[averages - rank >= cd]),
            )
        called = {theirs: ours for ours, theirs in self._named.items()}
        return Standing(
            measure,
            self._title(measure),
            tuple(called[dataset] for dataset in whole),
            average_ranks(theirs, better).to_dict(),
            placed,
            cd,
            self._notes(measure, whole, called),
        )

    def _title(self, measure: Measure) -> str:
        title = describe_metric(self.results.experiment, self.labels[measure.name]).title
        return f"{title}, {'higher' if measure.higher_is_better else 'lower'} is better"

    def _notes(self, measure: Measure, whole: Sequence[str], called: Mapping[str, str]) -> tuple[str, ...]:
        label = self.labels[measure.name]
        params = next((spec.params for spec in self.results.experiment.metrics if spec.label == label), {})
        notes = [
            f"{option} is {ours} here and {theirs} there, which changes the values on some data sets: write "
            f"{measure.written()}."
            for option, (ours, theirs) in _differing(measure, params).items()
        ]
        absent = [called[dataset] for dataset in called if dataset not in whole]
        notes += [f"Left out, because results are missing here: {join_words(absent)}."] if absent else []
        notes += [f"No data sets of the study: {join_words(self.unknown)}."] if self.unknown else []
        failed = [
            f"{called[dataset]} ({', '.join(self.study.failed[dataset])})"
            for dataset in whole
            if self.study.failed[dataset]
        ]
        n_failed = sum(len(self.study.failed[dataset]) for dataset in whole)
        if failed:
            notes.append(f"Failed in the study, and left out: {_plural(n_failed, 'pair')}, of {join_words(failed)}.")
        if measure.without:
            notes.append(
                f"Left out: {join_words(measure.without)}, whose {measure.metric} in the study cannot be right."
            )
        return tuple(notes)

    def agree(self, measure: Measure) -> Agreement:
        """How well the study's ranks are reproduced here by methods of the same names, on data sets with all of them.

        Raises
        ------
        ResultsError
            Fewer than three such methods, or no data set with all of them.
        """
        own, theirs = self._values(measure)
        named = {method: name for name in own if (method := study.find_method(name)) in theirs}
        own = own[list(named.values())].set_axis(list(named), axis="columns").dropna()
        if len(named) < 3 or own.empty:
            what = "no data set has results of all" if len(named) > 2 else "an agreement needs three or more"
            raise ResultsError(
                f"{self.results.folder}: methods with names of {study.TITLE}: "
                f"{', '.join(named.values()) or 'none'}; {what}"
            )
        theirs = theirs.loc[own.index, own.columns]
        own = own.where(theirs.notna())
        ours, study_s = (average_ranks(values, measure.higher_is_better) for values in (own, theirs))
        within = _mean(_correlate(own.loc[dataset], theirs.loc[dataset])[0] for dataset in own.index)
        title, correlations = self._title(measure), _correlate(ours, study_s)
        return Agreement(measure, title, ours, study_s, *correlations, within, own - theirs)

    def summarise(self, standings: Sequence[Standing]) -> Sheet:
        """The places of one's own methods, a row for each measure."""
        own = list(dict.fromkeys(name for standing in standings for name in standing.placed))
        rows: list[tuple[str, ...]] = []
        for standing in standings:
            shown = [standing.placed.get(name) for name in own]
            rows.append(
                (standing.measure.metric, *(f"{each.place} ({each.rank:.1f})" if each else "" for each in shown))
            )
        if len(standings) > 1:
            places = [[each for s in standings if (each := s.placed.get(name))] for name in own]
            rows.append(
                ("mean", *(f"{_mean(e.place for e in of):.1f} ({_mean(e.rank for e in of):.1f})" for of in places))
            )
        datasets = list(dict.fromkeys(name for standing in standings for name in standing.datasets))
        more = dict.fromkeys(note for standing in standings for note in standing.notes)
        without = [f"{(m := MEASURES[name]).metric} ({why}: {m.written()})" for name, why in self.skipped.items()]
        others = [metric for metric in self.results.metrics if metric not in self.labels.values()]
        notes = [
            f"The place of each method among the study's {len(METHODS)} and itself, and its average rank, on "
            f"{_count(datasets)}. `--metric` shows a measure in full.",
            *more,
            *([f"Measures of the study that are not compared: {', '.join(without)}."] if without else []),
            *([f"Metrics here that are no measures of the study: {', '.join(others)}."] if others else []),
            NOT_CELLS,
        ]
        return make_sheet(f"{self.results.name} among {study.TITLE}", ("Measure", *own), rows, 1, notes)

    def summarise_agreement(self, found: Sequence[Agreement]) -> Sheet:
        """The rank correlations, a row for each measure; with several, their mean."""
        rows: list[tuple[str, ...]] = []
        for each in found:
            far = each.farthest
            difference = f"{far} {each.theirs[far]:.1f} → {each.ours[far]:.1f}"
            numbers = (each.spearman, each.kendall, each.within)
            rows.append((each.measure.metric, str(len(each.ours)), *(_signed(value) for value in numbers), difference))
        if len(found) > 1:
            means = [_mean(getattr(each, what) for each in found) for what in ("spearman", "kendall", "within")]
            rows.append(("mean", "", *map(_signed, means), ""))
        methods = list(dict.fromkeys(method for each in found for method in each.ours.index))
        header = ("Measure", "Methods", "Spearman", "Kendall", "Within a data set", "Farthest, there → here")
        notes = [
            f"Average ranks of {join_words(methods)} among each other, in the study and here, on the data sets that "
            "all of them have here: Spearman's ρ, Kendall's τ_b. Within a data set: ρ on each by itself, in the mean. "
            "Farthest: the method whose average rank differs most.",
            NOT_CELLS,
        ]
        return make_sheet(f"{self.results.name}: how the ranks of {study.TITLE} come out", header, rows, 1, notes, (5,))

    def tabulate_ranks(self, found: Sequence[Agreement]) -> Sheet:
        """The average ranks of the common methods in the study and here, in the mean over the measures.

        Also how far the values are apart: the median over data sets and all measures but coverage, which counts labels.
        """
        means = pd.DataFrame(
            {
                "there": pd.concat([each.theirs for each in found], axis="columns").mean(axis="columns"),
                "here": pd.concat([each.ours for each in found], axis="columns").mean(axis="columns"),
            }
        )
        shares = [each.differences for each in found if each.measure.metric != "coverage"]
        apart = pd.concat([*shares, pd.DataFrame(columns=means.index, dtype=float)]).abs().median()
        rows = [
            (
                *(method, f"{there:.2f}", f"{here:.2f}", signed(here - there, 2)),
                "" if math.isnan(apart[method]) else f"{apart[method]:.3f}",
            )
            for method, there, here in means.sort_values(["there", "here"]).itertuples()
        ]
        caption = f"Average ranks over {_plural(len(found), 'measure')}"
        notes = [
            "Values differ by: the median of |value here − value there| over data sets and measures, coverage aside."
        ]
        return make_sheet(caption, ("Method", "Study", "Here", "Difference", "Values differ by"), rows, 1, notes)


def average_ranks(values: pd.DataFrame, higher_is_better: bool) -> pd.Series:
    """Average ranks of k methods over data sets, each of which may lack some of the methods.

    Rank r among k′ methods of a data set counts as 1 + (r − 1)(k − 1)/(k′ − 1).

    Parameters
    ----------
    values : DataFrame
        Data sets × methods, NaN where a method has no value. One without any is not ranked, but counts in k.
    higher_is_better : bool

    Examples
    --------
    Of three methods C lacks the second data set, where B, the last of two, counts as the last of three:

    >>> average_ranks(pd.DataFrame({"A": [0.9, 0.9], "B": [0.8, 0.8], "C": [0.7, None]}), True).to_dict()
    {'A': 1.0, 'B': 2.5, 'C': 3.0}
    """
    ranks = values.rank(axis="columns", ascending=not higher_is_better)
    stretch = (values.shape[1] - 1) / (values.count(axis="columns") - 1).clip(lower=1)
    return (1 + (ranks - 1).mul(stretch, axis="index")).mean().dropna()


def _count_wins(own: pd.Series, theirs: pd.DataFrame, higher_is_better: bool) -> dict[str, tuple[int, int, int]]:
    """Wins, ties and losses of a method against each of the study's, where the latter has a value."""
    ahead = np.sign(-theirs.sub(own, axis="index") if higher_is_better else theirs.sub(own, axis="index"))
    counts = {method: tuple(int((ahead[method] == sign).sum()) for sign in (1, 0, -1)) for method in ahead}
    return {method: (wins, ties, losses) for method, (wins, ties, losses) in counts.items() if wins + ties + losses}


def _correlate(ours: pd.Series, theirs: pd.Series) -> tuple[float, float]:
    """Spearman's ρ and Kendall's τ_b; NaN where one side is constant or has fewer than two methods."""
    a, b = ours.dropna(), theirs.dropna()[ours.dropna().index]
    if a.nunique() < 2 or b.nunique() < 2:
        return math.nan, math.nan
    return float(stats.spearmanr(a, b).statistic), float(stats.kendalltau(a, b).statistic)


def _mean(values: Iterable[float]) -> float:
    """The mean of those that are defined; NaN where none is."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


def _differing(measure: Measure, params: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """The options that a metric was computed with otherwise than in the study: here, there."""
    ours, theirs = ({**METRICS[measure.metric].parameters, **options} for options in (params, measure.options))
    return {name: (ours[name], value) for name, value in theirs.items() if ours.get(name) != value}


def _show(counts: tuple[int, int, int] | None) -> str | Text:
    return format_counts(counts) if counts else NOTHING


def _signed(value: float) -> str:
    return "" if math.isnan(value) else signed(value, 2)


def _plural(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _count(datasets: Sequence[str]) -> str:
    return f"{_plural(len(datasets), 'data set')} ({', '.join(datasets)})"
