"""One HTML page of a results folder, which needs nothing else: no network, no other file.

`write` leaves `report.html` in the folder: what was run and whether all of it is there, whether a method is better than
the one that the experiment names by `against`, where a row of the board stands, the tables that it asks for, average
ranks, each data set with its curves, numbers and tuned parameters, times, failures with their tracebacks, the manifest,
and the command to repeat it all. A folder of a run that was interrupted, failed in part, or has no number yet gets its
page too, with a remark.

The template escapes all text (names are the user's); only `Sheet` and `Chart`, which escape their own text, pass markup
to it (`__html__`). The page's policy allows its one script and its one style sheet, by their hashes, and `style`
attributes, which matplotlib's figures use for colours and lines; under `default-src 'none'` these can load nothing.
Pictures may only be within the page (`data:`), such as the cells of a matrix that matplotlib draws.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mlcdr import __version__
from mlcdr.comparison import comparison, diagrams
from mlcdr.comparison.against import compare_against
from mlcdr.comparison.by_label import tabulate_parts
from mlcdr.comparison.place import Place, place_methods
from mlcdr.errors import ResultsError, join_words, plural
from mlcdr.experiment.commands import has_commands
from mlcdr.experiment.model import Experiment
from mlcdr.papers import board, published
from mlcdr.papers.printed import tables_behind
from mlcdr.report import sheets
from mlcdr.report.charts import Chart, draw_curves, draw_tried
from mlcdr.results.exports import NoResults
from mlcdr.results.failures import Kind, gather_failures, list_places
from mlcdr.results.labels import read_label_scores
from mlcdr.results.manifest import Manifest
from mlcdr.results.record import command_to_continue
from mlcdr.results.record_file import NoRecord
from mlcdr.results.results import Results, import_results, open_results, read_experiment
from mlcdr.tables import tables
from mlcdr.tables.markup import open_template
from mlcdr.tables.sheet import Sheet
from mlcdr.whole_files import write_forms

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
    page = make_page(folder)
    # A lone surrogate, which YAML can spell, is no character of UTF-8.
    return write_forms(folder / "report", {"html": page.encode("utf-8", "replace")})[0]


def make_page(folder: Path) -> str:
    """The page.

    Raises
    ------
    ResultsError
        When the folder is none, or a file of it is broken.
    """
    problems: list[str] = []
    results = _open(folder, problems)
    experiment = results.experiment if results else read_experiment(folder)
    manifest, whole_manifest = _open_manifest(folder, problems)
    templates = Path(__file__).parent / "templates"
    style = (templates / "report.css").read_text(encoding="utf-8")
    script = (templates / "report.js").read_text(encoding="utf-8")
    return open_template("mlcdr.report", "templates/report.html").render(
        style=Markup(style),
        script=Markup(script),
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        version=__version__,
        experiment=experiment,
        problems=problems,
        summary=_summarise(folder, experiment, manifest, results),
        results=_show_results(results, manifest) if results else None,
        runs=sheets.tabulate_runs(manifest),
        repeat=_repeat(folder, experiment, manifest),
        config=(folder / "experiment.yaml").read_text(encoding="utf-8"),
        manifest=whole_manifest,
        list_places=list_places,
        plural=plural,
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _open(folder: Path, problems: list[str]) -> Results | None:
    """The results; None where there are none. What is wrong is added to `problems`."""
    try:
        return open_results(folder)
    except NoResults as error:
        problems.append(str(error))
    except ResultsError as error:  # the record of trials cannot be read; what was exported from it may be whole
        problems.append(str(error))
        with contextlib.suppress(NoResults):
            return import_results(folder)
    return None


def _open_manifest(folder: Path, problems: list[str]) -> tuple[Manifest, str]:
    """The manifest, and its text; empty where it cannot be read, and `problems` says why."""
    try:
        manifest = Manifest.read(folder)
        return manifest, manifest.to_json()
    except ResultsError as error:
        problems.append(str(error))
    return Manifest(), ""


# -------------------------------------------------------------------- what was run, and what is there of it


def _summarise(folder: Path, experiment: Experiment, manifest: Manifest, results: Results | None) -> dict[str, Any]:
    """The head of the page, and the failures."""
    known = results.datasets if results else ()
    datasets = list(dict.fromkeys([*known, *manifest.datasets]))
    scored = _count_scored(results)
    kinds: list[Kind] = []
    unknown = ""
    damaged = False
    try:
        kinds = gather_failures(folder)
    except ResultsError as error:
        unknown = str(error)
        damaged = not isinstance(error, NoRecord)
    failed = sum(len(kind.failures) for kind in kinds)
    trials = manifest.trials
    complete = scored > 0 and scored == trials.planned
    return {
        "scored": scored,
        "trials": trials,
        "failed": failed,
        "damaged": damaged,
        "whole": complete and not (failed or damaged or trials.interrupted),
        "facts": _list_facts(experiment, manifest, datasets),
        "failures_unknown": unknown,
        "kinds": kinds,
    }


def _count_scored(results: Results | None) -> int:
    """How many trials have a score; none in a folder that was imported without `scores.csv`."""
    if results:
        with contextlib.suppress(NoResults):
            return results.n_scored
    return 0


def _list_facts(experiment: Experiment, manifest: Manifest, datasets: Sequence[str]) -> dict[str, str]:
    """What the experiment is of; what is empty is left out."""
    splits = experiment.resolved()["splits"]
    facts = {
        "Data sets": join_words(list(datasets)),
        "Methods": join_words(list(experiment.methods)),
        "Metrics": join_words([spec.label for spec in experiment.metrics]),
        "Splits": ", ".join(f"{key} {_join(value)}" for key, value in splits.items()),
        "Sweep": "; ".join(f"{path}: {_join(values)}" for path, values in experiment.sweep.items()),
        "Last run": sheets.show_time(manifest.started),
    }
    return {what: value for what, value in facts.items() if value}


def _join(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _repeat(folder: Path, experiment: Experiment, manifest: Manifest) -> dict[str, str]:
    """The commands that repeat the experiment, and that fill in what is missing."""
    path = folder / "experiment.yaml"
    trust = " --trust" if has_commands(experiment.resolved()) else ""
    run = f"mlcdr run {shlex.quote(str(path))}{trust} --out"
    versions = {"mlcdr": manifest.mlcdr, **manifest.packages}
    packages = [f"{name}=={version}" for name, version in versions.items() if version]
    named = experiment.name == folder.name  # a folder that was renamed is not the one a run would write
    return {
        "again": f"{run} again",
        "go_on": command_to_continue(folder) + trust if named else "",
        "packages": f"pip install {shlex.join(packages)}" if packages else "",
    }


# -------------------------------------------------------------------- the results


def _show_results(results: Results, manifest: Manifest) -> dict[str, Any]:
    """Tables, ranks, diagrams, times, and what is shown of each data set."""
    compared = [comparison.compare_methods(results, metric) for metric in results.metrics]
    printed = list(_compare_published(results))
    pictures: list[Chart] = []
    for title, figure in diagrams.draw_all(compared, results.methods).items():
        pictures.append(Chart(title, figure, f"diagram{len(pictures)}"))
    return {
        "against": compare_against(results),
        "place": _place_on_board(results),
        "tables": _make_tables(results, printed),
        "published": printed,
        "ranks": sheets.tabulate_ranks(results, compared),
        "comparisons": {results.metric_facts(each.metric).heading: each.sheet for each in compared},
        "diagrams": pictures,
        "without_diagrams": f"No diagram: {diagrams.WITHOUT_TESTS}.",
        "datasets": [_show_dataset(results, manifest, dataset) for dataset in results.datasets],
        "times": sheets.tabulate_times(results),
    }


def _place_on_board(results: Results) -> Place | None:
    """Where a row of one's own stands on the board; None where it has no place, or is no such row."""
    if board.is_own_row(results.name):
        with contextlib.suppress(ResultsError):
            return place_methods(results, board.read_rows(results))
    return None


def _compare_published(results: Results) -> Iterator[published.PublishedComparison]:
    """The comparison with each published table that the experiment is of."""
    for table in tables_behind(results.experiment):
        with contextlib.suppress(ResultsError):  # none of its cells is here
            yield from published.compare_with_published([results], table)


def _make_tables(
    results: Results, printed: Sequence[published.PublishedComparison]
) -> Iterator[tuple[str, Sheet | None]]:
    """The tables that the experiment asks for, with the published numbers; in place of one that cannot be made, why."""
    marks: dict[Any, tuple[str, str]] = {}
    for each in printed:
        marks |= published.mark_cells(each, results)
    for entry in tables.list_entries(results):
        try:
            yield "", tables.make_table(results, entry, marks).sheet
        except ResultsError as error:
            yield f"The table {entry.layout} cannot be made: {error}", None


def _show_dataset(results: Results, manifest: Manifest, dataset: str) -> dict[str, Any]:
    number = results.datasets.index(dataset)
    measured = dataset in results.with_results
    facts = dict(manifest.facts(dataset))
    labels = read_label_scores(results.folder)
    has_labels = labels is not None and (labels["dataset"] == dataset).any()
    curves, more = draw_curves(results, dataset, f"curves{number}") if measured else ([], 0)
    return {
        "anchor": f"dataset-{number}",
        "name": dataset,
        "notices": facts.pop("notices", []),
        "facts": {key.removeprefix("n_"): value for key, value in facts.items()},
        "curves": curves,
        "more": more,
        "numbers": sheets.tabulate_numbers(results, dataset) if measured else None,
        "labels": tabulate_parts(labels, dataset) if has_labels else None,
        "tuned": sheets.tabulate_choices(results, dataset),
        "tried": draw_tried(results, dataset, f"tried{number}"),
    }
