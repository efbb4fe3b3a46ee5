"""The notes below tables of numbers: one list of rules, for tables, comparisons and the report.

A table describes what it shows as `Contents`; `list_notes` gives all notes that are true of it. To say something new
below every table, write a rule (a function that yields sentences, or none), and put it into `RULES`, in the order in
which the notes stand. What is true of one kind of table alone (ranks, tests) is added by that table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from mlcdr.errors import join_words
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.splits import KFold, Shuffle, number_of_splits
from mlcdr.results import metric_facts
from mlcdr.results.best import tuned_paths
from mlcdr.results.failures import join_some
from mlcdr.results.frame import group
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.tables.cells import lacks_all
from mlcdr.tables.layouts import TableLayout
from mlcdr.tables.sheet import DASH
from mlcdr.tables.text_format import SPREADS, describe_splits, shorten_path

BOLD = "Bold: within one standard error of the best"
_NAMED = 5  # cells that a note names
_PLAIN = TableLayout(kind="table", columns="auto")
_SEEN = {
    "test": "of each grid the best on the test rows for each metric, so these numbers are too good",
    "dataset": "parameters chosen once for a data set, on all its rows, also the test rows",
}
"""`scope` of `tune` → how it saw test rows."""


@dataclass(frozen=True)
class Contents:
    """What a table of numbers shows.

    Attributes
    ----------
    results : Results
    cells : frame
        One row for each place: at least dataset, method, metric, mean, n (0 where there is no number), and `bold`.
    bold : str
        What bold numbers are, as a sentence without its full stop; empty in a table that sets none.
    along : sequence of tuples of paths
        The swept parameters along the columns; those of one tuple mean one thing.
    layout : TableLayout
        Its `spread`, `relative_to`, `average_rank` and `lacking` say what stands in the table.
    """

    results: Results
    cells: pd.DataFrame
    bold: str = ""
    along: Sequence[tuple[str, ...]] = ()
    layout: TableLayout = _PLAIN

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """The cells that have a number."""
        return self.cells[self.cells["n"] > 0]

    @cached_property
    def facts(self) -> list[MetricFacts]:
        """The facts of each metric."""
        return [self.results.metric_facts(metric) for metric in self.cells["metric"].unique()]


Rule = Callable[[Contents], Iterator[str]]


def list_notes(contents: Contents) -> list[str]:
    """All notes that are true of a table."""
    notes: list[str] = []
    for rule in RULES:
        notes += rule(contents)
    return notes


def _say_what_a_number_is(contents: Contents) -> Iterator[str]:
    if contents.numbers.empty:
        return
    spread = SPREADS.get(contents.layout.spread)
    what = f"Mean ± {spread}" if spread else "Mean"
    if contents.layout.relative_to is not None:
        what = f"Mean, divided by that of {contents.layout.relative_to} on the same data set,"
    yield f"{what} {describe_splits(contents.numbers['n'])}."


def _name_unfinished_data_sets(contents: Contents) -> Iterator[str]:
    splits = contents.results.experiment.splits
    if contents.results.joined or not isinstance(splits, Shuffle | KFold):
        return
    planned = number_of_splits(splits)
    most = group(contents.results.summary, ["dataset"])["n"].max()
    short = [f"{dataset} ({n} of {planned})" for dataset, n in most.items() if n < planned]
    if short:
        yield f"Not all splits have results: {join_words(short)}."


def _name_means_over_fewer_splits(contents: Contents) -> Iterator[str]:
    if contents.results.joined:
        return
    of_one_plan = group(contents.numbers, ["dataset", "metric"])
    cells = contents.numbers.assign(most=of_one_plan["n"].transform("max"))
    fewer = cells[cells["n"] < cells["most"]]
    named = []
    for dataset, method, n, most in fewer[["dataset", "method", "n", "most"]].to_numpy():
        named.append(f"{method} on {dataset} ({n} of {most})")
    if named:
        yield f"Over fewer splits than others, so neither bold nor ranked: {join_some(named, _NAMED)}."


def _warn_of_tuning_on_test_rows(contents: Contents) -> Iterator[str]:
    yield from note_tuning(contents.results, contents.cells["method"].unique())


def note_tuning(results: Results, methods: Iterable[str]) -> Iterator[str]:
    """Notes on methods whose parameters were chosen with the test rows seen."""
    shown = list(methods)
    for scope, why in _SEEN.items():
        tuned = tuned_paths(results.experiment, scope)
        affected = [method for method in shown if method in tuned]
        if affected:
            yield f"{join_words(affected)}: {why}. `tune: {{scope: split}}` chooses inside the training rows."


def _say_what_is_bold(contents: Contents) -> Iterator[str]:
    if contents.bold and contents.cells["bold"].any():
        yield f"{contents.bold}."


def _explain_average_ranks(contents: Contents) -> Iterator[str]:
    if contents.layout.average_rank:
        yield "Average rank: over the rows above it in which every method has a number."


def _explain_metrics(contents: Contents) -> Iterator[str]:
    yield from metric_facts.list_notes(contents.facts)


def _name_metrics_of_unknown_direction(contents: Contents) -> Iterator[str]:
    unknown = [fact.title for fact in contents.facts if fact.higher_is_better is None]
    if unknown and contents.bold:
        yield f"{join_words(unknown)}: which way is better is not known, so nothing is bold."


def _name_methods_without_the_parameter(contents: Contents) -> Iterator[str]:
    where = {
        "repeat": "the same number stands in every column",
        "last": "the number stands in the last column only",
    }
    for paths in contents.along:
        lacking = [method for method in contents.cells["method"].unique() if lacks_all(contents.results, method, paths)]
        if lacking:
            has = "have" if len(lacking) > 1 else "has"
            yield f"{join_words(lacking)} {has} no {join_words(paths, 'or')}: {where[contents.layout.lacking]}."


def _explain_dashes(contents: Contents) -> Iterator[str]:
    if len(contents.numbers) == len(contents.cells):
        return
    yield f"{DASH}: {metric_facts.explain_missing(contents.facts)}."
    for path, values in group_pairs(contents.results.without_result).items():
        yield f"No method has a result at {shorten_path(path, contents.results.swept)} = {', '.join(values)}."


def _explain_missing_spreads(contents: Contents) -> Iterator[str]:
    if contents.layout.spread != "none" and (contents.numbers["n"] == 1).any():
        yield f"± {DASH}: a single split has no {SPREADS[contents.layout.spread]}."


RULES: tuple[Rule, ...] = (
    _say_what_a_number_is,
    _name_unfinished_data_sets,
    _name_means_over_fewer_splits,
    _warn_of_tuning_on_test_rows,
    _say_what_is_bold,
    _explain_average_ranks,
    _explain_metrics,
    _name_metrics_of_unknown_direction,
    _name_methods_without_the_parameter,
    _explain_dashes,
    _explain_missing_spreads,
)
"""What may stand below a table of numbers, in this order."""
