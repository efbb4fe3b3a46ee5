"""One HTML page of a results folder, which needs nothing else: no network, no other file.

`write` leaves `report.html` in the folder: what was run and whether all of it is there, the tables that the experiment
asks for, average ranks, each data set with its curves, numbers and tuned parameters, times, failures with their
tracebacks, the manifest, and the command to repeat it all. A folder of a run that was interrupted, failed in part, or
has no number yet gets its page too, with a remark.

The template escapes all text (names are the user's); only `Sheet.html` and `mlcdr.report.svg`, which escape their own
text, pass markup to it. The page's policy allows its one script and its one style sheet, by their hashes, and `style`
attributes, which matplotlib's figures use for colours and lines; under `default-src 'none'` these can load nothing.
Pictures may only be within the page (`data:`), such as the cells of a matrix that matplotlib draws.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
import math
import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mlcdr import __version__
from mlcdr.comparison import comparison, diagrams
from mlcdr.comparison.by_label import tabulate_parts
from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.model import Experiment
from mlcdr.report import charts, svg
from mlcdr.reproduce import published, reproduction
from mlcdr.results.failures import Place, gather_failures, list_places
from mlcdr.results.labels import LabelScores, read_label_scores
from mlcdr.results.manifest import Manifest, read_manifest
from mlcdr.results.metric_facts import explain_missing, list_notes
from mlcdr.results.results import Results, import_results, open_results, read_experiment
from mlcdr.results.scores import NoResults, Point, is_among_best
from mlcdr.tables import tables, text_format
from mlcdr.tables.notes import BOLD, note_tuning
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet
from mlcdr.whole_files import write_forms

_TIMES = ("fit_seconds", "predict_seconds")
_DIGITS = 4
_MOST = 5  # values of a tuned parameter that are shown
_TRACEBACKS = 100  # kinds of failure that are shown, so that very many different messages do not make the page huge


_POLICY = (
    "default-src 'none'; img-src data:; script-src '{script}'; style-src-elem '{style}'; "
    "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def write(folder: Path) -> Path:
    """Write `report.html` into a results folder; nothing else in it is touched.

    Raises
    ------
    ResultsError
        When the folder is none, a file of it is broken, or the page cannot be written.
    """
    page = render(folder)
    # A lone surrogate, which YAML can spell, is no character of UTF-8.
    return write_forms(folder / "report", {"html": page.encode("utf-8", "replace")})[0]


def render(folder: Path) -> str:
    """The page.

    Raises
    ------
    ResultsError
        When the folder is none, or a file of it is broken.
    """
    problems: list[str] = []
    found: Results | None = None
    try:
        found = open_results(folder)
    except NoResults as error:
        problems.append(str(error))
    except ResultsError as error:  # the record of trials cannot be read; what was exported from it may be whole
        problems.append(str(error))
        with contextlib.suppress(NoResults):
            found = import_results(folder)
    experiment = found.experiment if found else read_experiment(folder)
    manifest, whole_manifest = Manifest(), ""
    try:
        manifest = Manifest.read(folder)
        whole_manifest = json.dumps(read_manifest(folder), indent=2, ensure_ascii=False)
    except ResultsError as error:
        problems.append(str(error))
    compared = comparison.compare_all(found) if found else []
    compared_cells = list(_compare_published(found)) if found else []
    templates = Path(__file__).parent / "templates"
    style, script = ((templates / f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    environment = Environment(
        loader=PackageLoader("mlcdr.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        style=Markup(style),
        script=Markup(script),
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        version=__version__,
        problems=problems,
        **_overview(folder, experiment, manifest, found),
        tables=_tables(found, compared_cells) if found else [],
        published=[_describe(each) for each in compared_cells],
        ranks=_ranks(found, compared) if found else None,
        comparisons=[{"title": _title(found, c.metric), "table": _markup(c.sheet)} for c in compared] if found else [],
        diagrams=[
            {"title": title, "svg": svg.embed(figure, f"diagram{k}", title)}
            for k, (title, figure) in enumerate(diagrams.draw_all(compared, found.methods).items() if found else ())
        ],
        without=f"No diagram: {diagrams.WITHOUT_TESTS}.",
        datasets=_datasets(found, manifest) if found else [],
        times=_times(found) if found else None,
        runs=_runs(manifest),
        repeat=_repeat(folder, experiment, manifest),
        config=(folder / "experiment.yaml").read_text(encoding="utf-8"),
        manifest=whole_manifest,
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _markup(sheet: Sheet, sortable: bool = True) -> Markup:
    return Markup(sheet.html(sortable))  # escaped there


# -------------------------------------------------------------------- what was run, and what is there of it


def _overview(folder: Path, experiment: Experiment, manifest: Manifest, found: Results | None) -> dict[str, Any]:
    """The head of the page, and the failures."""
    scored: Collection[Place] = ()
    if found:
        with contextlib.suppress(NoResults):  # a folder may be imported without scores.csv
            scored = found.scored
    names = found.datasets if found else ()
    datasets = [*dict.fromkeys([*names, *manifest.datasets])]
    unknown = ""
    try:
        kinds = gather_failures(folder, experiment, datasets, scored)
    except ResultsError as error:
        kinds, unknown = [], str(error)
    failed = sum(len(kind.failures) for kind in kinds)
    trials = manifest.trials
    planned = trials.planned
    state = [f"{len(scored)}{f' of {planned}' if planned is not None else ''} trials have results."]
    if failed:
        state.append(f"{failed} failed.")
    if trials.interrupted:
        state.append("The last run was interrupted; the same command goes on from there.")
    damaged = bool(unknown) and os.path.lexists(folder / "trials.sqlite")
    if damaged:
        state.append("The record of trials is damaged, so which of them failed is not known: see Failures.")
    elif trials.failed is not None and trials.failed != failed:
        state.append(f"The manifest of the last run counts {trials.failed} failed trials, the record has {failed}.")
    plain = experiment.resolved()
    facts = [
        ("Data sets", join_words(datasets)),
        ("Methods", join_words(list(experiment.methods))),
        ("Metrics", join_words([spec.label for spec in experiment.metrics])),
        ("Splits", ", ".join(f"{key} {_join(value)}" for key, value in plain["splits"].items())),
        ("Sweep", "; ".join(f"{path}: {_join(values)}" for path, values in experiment.sweep.items())),
        ("Last run", _time(manifest.started)),
    ]
    return {
        "name": experiment.name,
        "description": experiment.description,
        "state": " ".join(state),
        "whole": bool(scored) and len(scored) == planned and not (failed or damaged or trials.interrupted),
        "facts": [(what, value) for what, value in facts if value],
        "failed": failed,
        "failures_unknown": unknown,
        "kinds": [
            {"kind": kind, "places": list_places(kind.failures), "example": kind.failures[0]}
            for kind in kinds[:_TRACEBACKS]
        ],
        "more_kinds": max(0, len(kinds) - _TRACEBACKS),
    }


def _join(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _time(started: str) -> str:
    return started.replace("T", " ").replace("+00:00", " UTC")


# -------------------------------------------------------------------- tables, ranks, diagrams


def _tables(found: Results, compared: Sequence[published.PublishedComparison]) -> list[Markup | str]:
    """The tables that the experiment asks for, with the published numbers; in place of one that cannot be made, why."""
    marks = {key: mark for each in compared for key, mark in published.mark_cells(each, found).items()}
    made: list[Markup | str] = []
    for entry in tables.list_entries(found):
        try:
            made.append(_markup(tables.make_table(found, entry, marks).sheet))
        except ResultsError as error:
            made.append(f"The table {entry.layout} cannot be made: {error}")
    return made


def _compare_published(found: Results) -> Iterator[published.PublishedComparison]:
    """The comparison with each published table that the experiment is of."""
    for table in published.tables_behind(found.experiment):
        with contextlib.suppress(ResultsError):  # none of its cells is here
            yield from reproduction.compare_protocols([found], table)


def _describe(compared: published.PublishedComparison) -> dict[str, Any]:
    """The count of cells that agree with a published table, and every cell."""
    differs = bool(compared.count("differs"))
    cells = _markup(compared.sheet)
    return {"table": compared.table, "summary": f"{compared.summary()}.", "differs": differs, "cells": cells}


def _ranks(found: Results, compared: Sequence[comparison.Comparison]) -> Markup | None:
    """Each method's average rank under each metric."""
    compared = [each for each in compared if each.average_ranks]
    if not compared:
        return None
    rows: list[tuple[str | Text, ...]] = []
    for method in found.methods:
        if any(method in each.average_ranks for each in compared):
            averages = [each.average_ranks.get(method, math.nan) for each in compared]
            best = [min(each.average_ranks.values()) for each in compared]
            shown = [
                Text(DASH if math.isnan(rank) else f"{rank:.2f}", "", math.isclose(rank, lowest))
                for rank, lowest in zip(averages, best, strict=True)
            ]
            rows.append((method, *shown))
    titles = [_title(found, each.metric) for each in compared]
    notes = ["Bold: the lowest of its column."]
    notes += [
        f"{title}: over {len(each.ranked)} of {len(each.ranked) + len(each.left_out)} "
        f"{'data sets at a point of the sweep' if found.swept else 'data sets'}."
        for title, each in zip(titles, compared, strict=True)
        if each.left_out
    ]
    over = {len(each.ranked) for each in compared}
    what = "pairs of data set and point of the sweep" if found.swept else "data sets"
    caption = (
        f"Average rank over {max(over)} {what}; 1 is the best" if len(over) == 1 else "Average rank; 1 is the best"
    )
    return _markup(make_sheet(caption, ("Method", *titles), rows, 1, notes))


def _title(found: Results, metric: str) -> str:
    """A metric's name as a heading: `Encoding error`."""
    title = found.metric_facts(metric).title
    return title[:1].upper() + title[1:]


# -------------------------------------------------------------------- one data set


def _datasets(found: Results, manifest: Manifest) -> list[dict[str, Any]]:
    tuned = _tuned(found)
    of_labels = read_label_scores(found.folder) or LabelScores({}, {})
    shown = []
    for k, dataset in enumerate(found.datasets):
        measured = dataset in found.with_results
        facts = manifest.facts(dataset)
        chosen = tuned.get(dataset)
        curves, more = charts.draw_curves(found, dataset) if measured else ([], 0)
        tried = charts.draw_tried(found, dataset)
        shown.append(
            {
                "anchor": f"dataset-{k}",
                "name": dataset,
                "facts": [(key.removeprefix("n_"), _short(value)) for key, value in facts.items() if key != "notices"],
                "notices": facts.get("notices") or [],
                "curves": [_embed(chart, f"curves{k}-{i}") for i, chart in enumerate(curves)],
                "more": more,
                "numbers": _markup(_numbers(found, dataset)) if measured else None,
                "tuned": _markup(chosen) if chosen else None,
                "labels": _markup(tabulate_parts(of_labels, dataset)) if dataset in of_labels.frequencies else None,
                "tried": [_embed(tried, f"tried{k}")] if tried else [],
            }
        )
    return shown


def _embed(chart: charts.Chart, prefix: str) -> dict[str, str]:
    spoken = f"{chart.title}. The table has the numbers."
    return {"title": chart.title, "svg": svg.embed(chart.figure, prefix, spoken, chart.hover)}


def _short(value: Any) -> Any:
    """A number to four digits; manifest.json has it in full."""
    return f"{value:.4g}" if isinstance(value, float) else value


def _numbers(found: Results, dataset: str) -> Sheet:
    """Every mean of a data set: methods and points down, metrics across."""
    facts = {metric: found.metric_facts(metric) for metric in found.metrics}
    rows: list[tuple[str | Text, ...]] = []
    for method in found.methods:
        for point in found.points_of(method):
            cells = [_number(found, dataset, method, point, metric) for metric in found.metrics]
            if any(cell.plain != DASH for cell in cells):
                rows.append((method, *(value or DASH for value in point), *cells))
    arrows = {True: " ↑", False: " ↓", None: ""}
    heads = ["Method", *(text_format.shorten_path(path, found.swept) for path in found.swept)]
    heads += [_title(found, metric) + arrows[fact.higher_is_better] for metric, fact in facts.items()]
    counts = [cell.n for key, cell in found.cells.items() if key[0] == dataset]
    notes = [f"Mean ± standard error {text_format.describe_splits(counts)}. {BOLD} of its column"]
    notes[0] += ", methods with the same parameters compared." if found.swept else "."
    notes.append("↑ higher is better, ↓ lower is better.")
    notes += list_notes(facts.values())
    if any(cell is NOTHING for row in rows for cell in row):
        notes.append(f"{DASH}: {explain_missing(facts.values())}.")
    notes += note_tuning(found, found.methods)
    nested = 1 if found.swept else 0
    return make_sheet(f"All numbers of {dataset}", heads, rows, 1 + len(found.swept), notes, nested=nested)


def _number(found: Results, dataset: str, method: str, point: Point, metric: str) -> Text:
    cell = found.cell(dataset, method, point, metric)
    if cell is None:
        return NOTHING
    at_point = [found.cell(dataset, rival, point, metric) for rival in found.methods]
    rivals = [rival for rival in at_point if rival]
    bold = is_among_best(cell, rivals, found.metric_facts(metric).higher_is_better)
    setting = f"({', '.join(value for _, value in cell.setting)})" if cell.setting else ""
    return text_format.format_mean(cell.mean, cell.se, _DIGITS, bold, setting)


def _tuned(found: Results) -> dict[str, Sheet]:
    """Data set → which values its trials chose, and how often; empty where nothing is tuned.

    Raises
    ------
    ResultsError
        When the choices cannot be read.
    """
    choices = found.choices
    kept = [k for k in range(len(choices.paths)) if any(key[2][k] for key in choices.counts)]  # paths of a tuned method
    swept = [choices.paths[k] for k in kept]
    heads = ("Method", *(text_format.shorten_path(each, swept) for each in swept), "Parameter", "Chosen (how often)")
    rows: dict[str, list[tuple[str, ...]]] = {}
    for (dataset, method, point, parameter), counts in choices.counts.items():
        labels = (method, *(point[k] or DASH for k in kept), parameter, _most_common(counts))
        rows.setdefault(dataset, []).append(labels)
    last = len(heads) - 1
    return {
        dataset: make_sheet(f"Tuned parameters of {dataset}", heads, lines, last, left=(last,))
        for dataset, lines in rows.items()
    }


def _most_common(counts: Counter[str]) -> str:
    shown = [f"{value} ({n})" for value, n in counts.most_common(_MOST)]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


# -------------------------------------------------------------------- times, and how to do it again


def _times(found: Results) -> Markup | None:
    """What fitting and predicting took, where the experiment measured it."""
    measured = [metric for metric in _TIMES if metric in found.metrics]
    if not measured:
        return None
    spent: dict[tuple[str, str], dict[str, list[tuple[float, int]]]] = {}
    for (dataset, method, _, metric), cell in found.cells.items():
        if metric in measured:
            spent.setdefault((dataset, method), {}).setdefault(metric, []).append((cell.mean, cell.n))
    rows = []
    for dataset, method in itertools.product(found.datasets, found.methods):
        cells = []
        for metric in measured:
            each = spent.get((dataset, method), {}).get(metric, [])
            total, n = math.fsum(mean * n for mean, n in each), sum(n for _, n in each)
            cells += [f"{total / n:.4g}", f"{total:.4g}"] if n else [DASH] * 2
        rows.append((dataset, method, *cells))
    heads = ["Dataset", "Method"]
    for metric in measured:
        what = "Fitting" if metric == "fit_seconds" else "Predicting"
        heads += [f"{what}, s per trial", f"{what}, s in all"]
    note = (
        "Wall time. Work that methods share is charged in full to each that uses it, so the sums exceed the run's time."
    )
    return _markup(make_sheet("Time of each method", heads, rows, 2, (note,)))


def _runs(manifest: Manifest) -> Markup | None:
    """The runs that computed trials of this folder."""
    if not manifest.computed_by:
        return None
    heads = ("Started", "Seconds", "Trials computed", "Failed", "Jobs", "Machine", "Python", "mlcdr")
    rows = []
    for run in manifest.computed_by:
        machine = f"{run.machine.system} {run.machine.processor}, {run.machine.cores or '?'} cores".strip()
        cells = (run.seconds, run.trials.computed, run.trials.failed, run.jobs, machine, run.python, run.mlcdr)
        rows.append((_time(run.started) or DASH, *(DASH if cell is None else str(cell) for cell in cells)))
    return _markup(make_sheet("Runs that computed trials", heads, rows, 1, left=(5, 6, 7)))


def _repeat(folder: Path, experiment: Experiment, manifest: Manifest) -> dict[str, str]:
    """The commands that repeat the experiment, and that fill in what is missing."""
    config = shlex.quote(str(folder / "experiment.yaml"))
    out = shlex.quote(str(folder.parent))
    packages = [f"{name}=={version}" for name, version in manifest.packages.items() if version]
    again = f"mlcdr run {config} --out again"
    goes_on = f"mlcdr run {config} --out {out}"
    named = experiment.name == folder.name  # a folder that was renamed is not the one a run would write
    return {
        "again": again,
        "go_on": goes_on if named else "",
        "packages": f"pip install {shlex.join(packages)}" if packages else "",
    }
