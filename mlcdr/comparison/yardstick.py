"""One's own methods among those of a published study, measure by measure, and how well the study's ranks come out.

The study's division is not public, so ranks are compared, not cells: on each data set that both have, a method's mean
here is ranked among the study's values there, both to the study's places. Each of one's own methods is placed by
itself, among the study's methods and itself, so that its place does not depend on how many others are placed.

A pair of method and data set that failed in the study is left out: of the k methods k′ are left on that data set, and
rank r among these counts as 1 + (r − 1)(k − 1)/(k′ − 1), which is 1 for the best and k for the worst as elsewhere.
Nemenyi's critical difference is that of k methods on all N data sets, and so approximate where pairs are left out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from mlcdr.comparison import study
from mlcdr.comparison.significance import ALPHA, record
from mlcdr.comparison.statistics import critical_difference
from mlcdr.comparison.study import MEASURES, METHODS, Measure, Study
from mlcdr.errors import ResultsError, join_words
from mlcdr.metrics.names import METRICS, resolve
from mlcdr.results.metric_facts import describe_metric
from mlcdr.results.ranking import are_same, rank_means
from mlcdr.results.results import Results
from mlcdr.results.scores import Point
from mlcdr.tables import layouts
from mlcdr.tables.sheet import NOTHING, Sheet, Text, make_sheet, signed, text
from mlcdr.tables.tables import Table
from mlcdr.tables.text_format import number

_SHIFTED = ("count",)  # options that change every value, so that no rank could be compared

NOT_CELLS = (
    "Ranks are compared, not cells: the study's division into training and test rows is not public, and its numbers "
    "are of one division."
)

Values = Mapping[str, Mapping[str, float]]
"""Data set → method → value."""


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
        The metric for people, with its direction.
    datasets : tuple of str
        Those that are common, by their names here.
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
    """How well the study's ranks come out for methods of its names, under one measure.

    Attributes
    ----------
    measure : Measure
    title : str
    ours, theirs : dict
        Method → average rank among these methods, here and in the study.
    spearman, kendall : float
        Of the average ranks: Spearman's ρ and Kendall's τ_b; NaN where one side ties everywhere.
    within : float
        Spearman's ρ on each data set by itself, in the mean over the data sets.
    differences : dict
        Method → value here − value there on each data set.
    """

    measure: Measure
    title: str
    ours: dict[str, float]
    theirs: dict[str, float]
    spearman: float
    kendall: float
    within: float
    differences: dict[str, tuple[float, ...]]

    @property
    def farthest(self) -> str:
        """The method whose rank differs most."""
        return max(self.ours, key=lambda method: abs(self.ours[method] - self.theirs[method]))


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

    def _own_values(self, measure: Measure) -> Values:
        """By the study's name of each common data set: the means here, to the study's places."""
        label = self.labels[measure.name]
        found: dict[str, dict[str, float]] = {}
        for ours, theirs in self._named.items():
            cells = {name: self.results.cell(ours, *at, label) for name, at in self._contestants.items()}
            found[theirs] = {name: round(cell.mean, study.PLACES) for name, cell in cells.items() if cell}
        return found

    def _study_values(self, measure: Measure) -> Values:
        return {
            dataset: {m: v for m, v in self.study.values[dataset, measure.name].items() if m not in measure.without}
            for dataset in self._named.values()
        }

    def place(self, measure: Measure) -> Standing:
        """One's own methods among the study's under a measure.

        Raises
        ------
        ResultsError
            No data set has results of all of one's own methods.
        """
        own, theirs = self._own_values(measure), self._study_values(measure)
        contestants = [name for name in self._contestants if any(name in found for found in own.values())]
        whole = [dataset for dataset, found in own.items() if all(name in found for name in contestants)]
        if not whole:
            raise ResultsError(
                f"{self.results.folder}: {measure.metric}: no data set of {study.TITLE} has results of all methods "
                f"({join_words(contestants)})"
            )
        rivals = [method for method in METHODS if method not in measure.without]
        cd = critical_difference(len(rivals) + 1, len(whole), ALPHA)
        placed = {}
        for name in contestants:
            values = {dataset: {**theirs[dataset], "": own[dataset][name]} for dataset in whole}
            averages = average_ranks(values, measure.higher_is_better, len(rivals) + 1)
            rank = averages.pop("")
            ahead = sum(other < rank and not are_same(other, rank) for other in averages.values())
            placed[name] = Placed(
                rank,
                ahead + 1,
                _count_wins(values, measure.higher_is_better),
                tuple(m for m, other in averages.items() if rank - other >= cd),
                tuple(m for m, other in averages.items() if other - rank >= cd),
            )
        ranks = average_ranks({dataset: theirs[dataset] for dataset in whole}, measure.higher_is_better, len(rivals))
        called = {theirs: ours for ours, theirs in self._named.items()}
        return Standing(
            measure,
            self._title(measure),
            tuple(called[dataset] for dataset in whole),
            ranks,
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
            f"{option} is {ours} here and {theirs} there, which moves values on data sets where it matters: write "
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
        """How well the study's ranks come out here for methods of its names, on the data sets that all of these have.

        Raises
        ------
        ResultsError
            Fewer than three such methods, or no data set with all of them.
        """
        own, theirs = self._own_values(measure), self._study_values(measure)
        named = {name: method for name in self._contestants if (method := study.find_method(name))}
        named = {name: method for name, method in named.items() if method not in measure.without}
        whole = [dataset for dataset, found in own.items() if all(name in found for name in named)]
        if len(named) < 3 or not whole:
            what = "no data set has results of all" if len(named) > 2 else "an agreement needs three or more"
            raise ResultsError(
                f"{self.results.folder}: methods with names of {study.TITLE}: {', '.join(named) or 'none'}; {what}"
            )
        both: tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]] = ({}, {})
        for dataset in whole:
            there = {method: v for method, v in theirs[dataset].items() if method in named.values()}
            both[0][dataset] = {method: own[dataset][name] for name, method in named.items() if method in there}
            both[1][dataset] = there
        better = measure.higher_is_better
        ours, study_s = (average_ranks(values, better, len(named)) for values in both)
        within = [_correlate(both[0][dataset], both[1][dataset])[0] for dataset in whole]
        spearman, kendall = _correlate(ours, study_s)
        differences = {
            method: tuple(both[0][d][method] - both[1][d][method] for d in whole if method in both[1][d])
            for method in ours
        }
        return Agreement(measure, self._title(measure), ours, study_s, spearman, kendall, _mean(within), differences)

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
        methods = list(dict.fromkeys(method for each in found for method in each.ours))
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

        With how far the values are apart: the median over data sets and measures, but coverage, which counts labels.
        """
        methods = dict.fromkeys(method for each in found for method in each.ours)
        means = {
            method: [
                _mean(side[method] for each in found if method in (side := getattr(each, which)))
                for which in ("theirs", "ours")
            ]
            for method in methods
        }
        shares = [each for each in found if each.measure.metric != "coverage"]
        apart = {
            method: [abs(value) for each in shares for value in each.differences.get(method, ())] for method in methods
        }
        rows = [
            (
                *(method, f"{there:.2f}", f"{here:.2f}", signed(here - there, 2)),
                f"{statistics.median(apart[method]):.3f}" if apart[method] else "",
            )
            for method, (there, here) in sorted(means.items(), key=lambda item: item[1])
        ]
        caption = f"Average ranks over {_plural(len(found), 'measure')}"
        notes = [
            "Values differ by: the median of |value here − value there| over data sets and measures, coverage aside."
        ]
        return make_sheet(caption, ("Method", "Study", "Here", "Difference", "Values differ by"), rows, 1, notes)


def average_ranks(values: Values, higher_is_better: bool, k: int) -> dict[str, float]:
    """Average ranks of k methods over data sets of which each may lack some.

    Rank r among k′ methods of a data set counts as 1 + (r − 1)(k − 1)/(k′ − 1).

    Examples
    --------
    Of three methods C lacks the second data set, where B, the last of two, counts as the last of three:

    >>> average_ranks({"x": {"A": 0.9, "B": 0.8, "C": 0.7}, "y": {"A": 0.9, "B": 0.8}}, True, 3)
    {'A': 1.0, 'B': 2.5, 'C': 3.0}
    """
    found: dict[str, list[float]] = {}
    for of_dataset in values.values():
        ranks = rank_means(of_dataset, higher_is_better)
        stretch = (k - 1) / (len(ranks) - 1) if len(ranks) > 1 else 1.0
        for method in of_dataset:
            found.setdefault(method, []).append(1 + (ranks[method] - 1) * stretch)
    return {method: sum(ranks) / len(ranks) for method, ranks in found.items()}


def _count_wins(values: Values, higher_is_better: bool) -> dict[str, tuple[int, int, int]]:
    """Wins, ties and losses of the method named "" against each other."""
    counts: dict[str, list[int]] = {}
    for of_dataset in values.values():
        own = of_dataset[""]
        for method, value in of_dataset.items():
            if method:
                better = own > value if higher_is_better else own < value
                counts.setdefault(method, [0, 0, 0])[1 if are_same(own, value) else 0 if better else 2] += 1
    return {method: (wins, ties, losses) for method, (wins, ties, losses) in counts.items()}


def _correlate(ours: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[float, float]:
    """Spearman's ρ and Kendall's τ_b; NaN where one side is constant or has fewer than two methods."""
    a, b = [ours[method] for method in ours], [theirs[method] for method in ours]
    if len(a) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
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
    return record(counts) if counts else NOTHING


def _signed(value: float) -> str:
    return "" if math.isnan(value) else signed(value, 2)


def _plural(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _count(datasets: Sequence[str]) -> str:
    return f"{_plural(len(datasets), 'data set')} ({', '.join(datasets)})"
