"""The tables of a report that are its own: ranks, the numbers of a data set, choices, times, and the runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pandas as pd

from mlcdr.comparison.comparison import Comparison
from mlcdr.errors import plural
from mlcdr.results import metric_facts
from mlcdr.results.frame import group, make_places, paths_of
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import Results
from mlcdr.tables.cells import mark_best
from mlcdr.tables.notes import BOLD, Contents, list_notes
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, text
from mlcdr.tables.text_format import count_values, format_mean, shorten_paths

_TIMES = {"fit_seconds": "Fitting", "predict_seconds": "Predicting"}
_MEMORY = "fit_memory"
_DIGITS = 4
_ARROWS = {True: " ↑", False: " ↓", None: ""}


def tabulate_ranks(results: Results, compared: Sequence[Comparison]) -> Sheet | None:
    """Each method's average rank under each metric; None where nothing is ranked."""
    compared = [each for each in compared if each.average_ranks]
    if not compared:
        return None
    ranks = pd.DataFrame([each.average_ranks for each in compared])
    rows: list[tuple[str | Text, ...]] = []
    for method in results.methods:
        if method not in ranks:
            continue
        is_best = ranks[method] == ranks.min(axis=1)
        rows.append((method, *map(_show_rank, ranks[method], is_best)))
    titles = [results.metric_facts(each.metric).heading for each in compared]
    over = {len(each.ranked) for each in compared}
    places = f" over {_count_places(results, max(over))}" if len(over) == 1 else ""
    notes = ["Bold: the lowest of its column."]
    for title, each in zip(titles, compared, strict=True):
        n_ranked, n_left_out = len(each.ranked), len(each.left_out)
        if n_left_out:
            notes.append(f"{title}: over {n_ranked} of {_count_places(results, n_ranked + n_left_out)}.")
    return make_sheet(f"Average rank{places}; 1 is the best", ("Method", *titles), rows, 1, notes)


def _count_places(results: Results, number: int) -> str:
    if not results.swept:
        return plural(number, "data set")
    return f"{plural(number, 'pair')} of data set and point of the sweep"


def _show_rank(rank: float, bold: bool) -> Text:
    return NOTHING if math.isnan(rank) else text(f"{rank:.2f}", bold)


def tabulate_numbers(results: Results, dataset: str) -> Sheet:
    """Every mean of a data set: methods and points down, metrics across."""
    cells = _list_cells(results, dataset)
    rows: list[tuple[str | Text, ...]] = []
    for (method, *point), places in group(cells, ["method", *results.swept]):
        shown = [_show_number(results, cell) for cell in places.to_dict("records")]
        rows.append((method, *(value or DASH for value in point), *shown))
    heads = ["Method", *shorten_paths(results.swept)]
    for metric in results.metrics:
        facts = results.metric_facts(metric)
        heads.append(facts.heading + _ARROWS[facts.higher_is_better])
    rivals = ", methods with the same parameters compared" if results.swept else ""
    notes = list_notes(Contents(results, cells, bold=f"{BOLD} of its column{rivals}"))
    notes.append("↑ higher is better, ↓ lower is better.")
    nested = 1 if results.swept else 0
    return make_sheet(f"All numbers of {dataset}", heads, rows, 1 + len(results.swept), notes, nested=nested)


def _list_cells(results: Results, dataset: str) -> pd.DataFrame:
    """A row for each method, point of it and metric, with `bold`.

    The best are found among all methods at one point, also those that do not have its parameters.
    """
    places = make_places({"dataset": [dataset], "method": results.methods})
    numbers = range(len(results.points))
    points = pd.DataFrame(results.points, numbers, list(results.swept))
    for more in (points, pd.DataFrame({"metric": results.metrics})):
        places = places.merge(more, how="cross")
    cells = results.at(places)
    cells["bold"] = mark_best(results, cells, [*results.swept, "metric"])
    summary = results.summary[results.summary["dataset"] == dataset]
    own = summary[["method", *results.swept]].astype(object)
    return cells.merge(own.drop_duplicates())


def _show_number(results: Results, cell: dict) -> Text:
    if not cell["n"]:
        return NOTHING
    taken = [cell[path] for path in results.grids.get(cell["method"], ())]
    setting = f"({', '.join(taken)})" if taken else ""
    return format_mean(cell["mean"], cell["se"], _DIGITS, cell["bold"], setting)


def tabulate_choices(results: Results, dataset: str) -> Sheet | None:
    """Which values the trials of a data set chose for each tuned parameter, and how often; None where none is tuned.

    Raises
    ------
    ResultsError
        When the choices cannot be read.
    """
    chosen = results.chosen[results.chosen["dataset"] == dataset]
    if chosen.empty:
        return None
    # those of a tuned method
    paths = [path for path in paths_of(chosen) if (results.chosen[path] != "").any()]
    rows = []
    groups = group(chosen, ["method", *paths, "parameter"])["value"]
    for (method, *point, parameter), values in groups:
        rows.append((method, *(value or DASH for value in point), parameter, count_values(values)))
    heads = ("Method", *shorten_paths(paths), "Parameter", "Chosen (how often)")
    last = len(heads) - 1
    return make_sheet(f"Tuned parameters of {dataset}", heads, rows, last, left=(last,))


def tabulate_times(results: Results) -> Sheet | None:
    """What time, and memory, fitting and predicting took, where the experiment measured it."""
    measured = [metric for metric in (*_TIMES, _MEMORY) if metric in results.metrics]
    if not measured:
        return None
    cells = results.summary[results.summary["metric"].isin(measured)]
    spent = cells.assign(total=cells["mean"] * cells["n"])
    spent = group(spent, ["dataset", "method", "metric"])[["total", "n"]].sum()
    rows = []
    for dataset, method in itertools.product(results.datasets, results.methods):
        times: list[str] = []
        for metric in measured:
            mean, total = _show_time(spent, (dataset, method, metric))
            times += [mean] if metric == _MEMORY else [mean, total]
        rows.append((dataset, method, *times))
    heads = ["Dataset", "Method"]
    for metric in measured:
        if metric == _MEMORY:
            heads.append("Fitting, MB")
        else:
            heads += [f"{_TIMES[metric]}, s per trial", f"{_TIMES[metric]}, s in all"]
    notes = metric_facts.list_notes(results.metric_facts(metric) for metric in measured)
    return make_sheet("Time and memory of each method", heads, rows, 2, notes)


def _show_time(spent: pd.DataFrame, key: tuple[str, str, str]) -> tuple[str, str]:
    """The mean of one trial, and the sum of all."""
    if key not in spent.index:
        return DASH, DASH
    total, n = spent.loc[key]
    return f"{total / n:.4g}", f"{total:.4g}"


def tabulate_runs(manifest: Manifest) -> Sheet | None:
    """The runs that computed trials of this folder."""
    if not manifest.computed_by:
        return None
    heads: list[str] = []
    rows = []
    for run in manifest.computed_by:
        facts = {
            "Started": show_time(run.started) or None,
            "Seconds": run.seconds,
            "Peak memory, MB": run.peak_megabytes.largest,
            "Trials computed": run.trials.computed,
            "Failed": run.trials.failed,
            "Jobs": run.jobs,
            "Machine": f"{run.machine.system} {run.machine.processor}, {run.machine.cores or '?'} cores".strip(),
            "Python": run.python,
            "mlcdr": run.mlcdr,
        }
        heads = list(facts)
        rows.append([DASH if fact is None else str(fact) for fact in facts.values()])
    return make_sheet("Runs that computed trials", heads, rows, 1, left=(6, 7, 8))


def show_time(started: str) -> str:
    """`2026-01-02 03:04:05 UTC`."""
    return started.replace("T", " ").replace("+00:00", " UTC")
