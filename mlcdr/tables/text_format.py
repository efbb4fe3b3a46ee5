"""Text that tables, comparisons, figures and the report share: numbers, their spread, and notes on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from mlcdr.errors import escape_control_characters, join_words
from mlcdr.experiment.splits import KFold, Shuffle, number_of_splits
from mlcdr.results.best import tuned_paths
from mlcdr.results.failures import join_some
from mlcdr.results.metric_facts import MetricFacts, explain_missing
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, Text, escape_latex

BOLD = "Bold: within one standard error of the best"
_NAMED = 5  # cells that a note names
SPREADS = {"standard_error": "standard error", "std": "standard deviation"}


def shorten_name(name: str, longest: int = 40) -> str:
    """A name as a picture shows it: without control characters, and cut off where it is long."""
    name = escape_control_characters(name[: longest + 1])
    return name if len(name) <= longest else name[: longest - 1] + "…"


def number(value: float) -> str:
    """A number in full, empty if it is NaN."""
    return "" if math.isnan(value) else repr(float(value))


def format_mean(mean: float, spread: float | None, digits: int, bold: bool = False, raised: str = "") -> Text:
    """`0.2069 ± 0.0008`; an unknown spread (NaN) is a dash, and None leaves it out. `raised`: a superscript."""
    plain = latex = f"{mean:.{digits}f}"
    if spread is not None:
        known = not math.isnan(spread)
        plain += f" ± {spread:.{digits}f}" if known else f" ± {DASH}"
        latex += rf" \pm {spread:.{digits}f}" if known else r" \pm \mbox{--}"
    if raised:
        plain += f" {raised}"
        latex += rf"^{{\mathrm{{{escape_latex(raised)}}}}}"
    return Text(plain, f"${latex}$", bold)


def describe_splits(counts: Iterable[int]) -> str:
    """`over 100 splits`, or `over 98 to 100 splits`."""
    low, high = min(found := list(counts)), max(found)
    return f"over {low} to {high} splits" if low != high else f"over {high} split{'s' if high > 1 else ''}"


def note_incomplete(results: Results, cells: Iterable[tuple[str, str, str, int]]) -> list[str]:
    """Notes on splits without results, for a single folder; `cells`: data set, metric, method and number of splits."""
    return [] if results.joined else [*_note_unfinished(results), *_note_fewer_splits(cells)]


def _note_fewer_splits(cells: Iterable[tuple[str, str, str, int]]) -> list[str]:
    """A note on means over fewer splits than others; `cells`: data set, metric, method and number of splits."""
    found = list(cells)
    most: dict[tuple[str, str], int] = {}
    for dataset, metric, _, n in found:
        most[dataset, metric] = max(n, most.get((dataset, metric), 0))
    fewer = [
        f"{method} on {dataset} ({n} of {most[dataset, metric]})"
        for dataset, metric, method, n in found
        if n < most[dataset, metric]
    ]
    return [f"Over fewer splits than others, so neither bold nor ranked: {join_some(fewer, _NAMED)}."] if fewer else []


def note_tuning(results: Results, methods: Sequence[str]) -> list[str]:
    """Notes on methods whose parameters were chosen with the test rows seen."""
    tuned = {scope: tuned_paths(results.experiment, scope) for scope in ("test", "dataset")}
    best, once = ([method for method in methods if method in found] for found in tuned.values())
    notes = []
    if best:
        why = "of each grid the best on the test rows for each metric, so these numbers are too good"
        notes.append(f"{join_words(best)}: {why}.")
    if once:
        notes.append(f"{join_words(once)}: parameters chosen once for a data set, on all its rows, also the test rows.")
    return [f"{note} `tune: {{scope: split}}` chooses inside the training rows." for note in notes]


def _note_unfinished(results: Results) -> list[str]:
    """A note on data sets of which splits have no result of any method."""
    splits = results.experiment.splits
    planned = number_of_splits(splits) if isinstance(splits, Shuffle | KFold) else 0
    most: dict[str, int] = {}
    for (dataset, *_), cell in results.cells.items():
        most[dataset] = max(cell.n, most.get(dataset, 0))
    short = [f"{dataset} ({n} of {planned})" for dataset, n in most.items() if n < planned]
    return [f"Not all splits have results: {join_words(short)}."] if short else []


def note_missing(results: Results, facts: Iterable[MetricFacts]) -> list[str]:
    """Notes on dashes: why there may be no number, and swept values at which no trial of any method has a result."""
    by_path: dict[str, list[str]] = {}
    for path, value in results.without_result:
        by_path.setdefault(path, []).append(value)
    return [f"{DASH}: {explain_missing(facts)}."] + [
        f"No method has a result at {shorten_path(path, results.swept)} = {', '.join(values)}."
        for path, values in by_path.items()
    ]


def shorten_path(path: str, swept: Sequence[str]) -> str:
    """A swept path's last name, if no other swept path ends in it."""
    last = path.rsplit(".", 1)[-1]
    return path if sum(p.rsplit(".", 1)[-1] == last for p in swept) > 1 else last
