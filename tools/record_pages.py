"""Pages that are made of the record: the gallery, what the papers say, and what comes of each sentence."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.errors import plural
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.model import Experiment, LayoutSpec
from mlcdr.experiment.yaml_reader import read_yaml
from mlcdr.papers import recipes
from mlcdr.papers.judging import Verdict, rules_for
from mlcdr.papers.printed import list_files, list_tables, n_places, read_cells
from mlcdr.papers.published import mark_cells, show_printed
from mlcdr.papers.recipes import Recipe
from mlcdr.papers.stored import StoredRun, read_record
from mlcdr.results import joining
from mlcdr.results.joining import LARGE, join_names
from mlcdr.results.record import duration
from mlcdr.results.results import Results
from mlcdr.tables import tables
from mlcdr.tables.escaping import escape_markdown
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, text
from tools.entries import changes_of, is_small
from tools.plan import facts_tables
from tools.status import Reproduction, Status, date_of, make_status

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parents[1] / "docs"
PAPERS = {
    "chen_lin_2012": "Chen & Lin 2012, *Feature-aware label space dimension reduction*",
    "pacharawongsakda_2012": "Pacharawongsakda & Theeramunkong 2012, *Dependent and independent dual space reduction*",
    "sun_2017_thesis": "Sun 2017 (thesis), *On improving multi-label classification via dimension reduction*",
    "xu_2016_mvmd": "Xu et al. 2016, *MVMD*",
}
_CLASSES = {"agrees": "agrees", "differs": "differs", "undecided": "undecided", "not reproducible": "unjudged"}
_READINGS = {"": "As configured", "small": "Small variant"}
NAMES = {
    "programs": "The author's programs",
    "script": "The author's script",
    "table4_2_to_4_5_average_ranks": "average ranks of Tables 4.2 to 4.5",
    "table8_1_claims": "statements on Table 8.1",
    "xu_2016_mvmd/table": "t = 0.999",
    "xu_2016_mvmd/table_tuned": "dimensions chosen",
}
VERDICTS = {"holds": "agrees", "partly": "undecided", "does not": "differs", "cannot be decided": "unjudged"}
WAITING = "figure not stored"
_MANY = 12
_FACTS = facts_tables()
_LEGEND = (
    'Colours: <span class="agrees">agrees</span> with the printed number, <span class="differs">differs</span>, '
    '<span class="undecided">undecided</span> (no standard error), <span class="unjudged">not judged</span> for the '
    "reason given below the heading of the table. The printed number and z appear when the pointer is on a cell, and "
    "when the page is printed.\n"
)

_DETAILS = "Details of the findings"
_ABOUT_FINDINGS = """\
This page is for the authors of four works on multi-label dimension reduction, and for all who use their numbers. We
computed the tables of these works again with mlcdr, and most of the printed numbers agree: the [gallery](gallery.md)
has every cell, and [claim by claim](claims.md) every sentence that compares methods or gives a number. This page has
the rest: where the settings of the text do not give the printed numbers, which settings do; and where numbers
contradict each other. The most important findings come first.

Nothing here is meant as blame. A text cannot hold every setting of an experiment, and most of this could be found only
because the authors describe their experiments in detail, or published their programs. We may be wrong, too, and will
correct what is.

**How a cell is judged.** A cell is one printed number. It agrees if it differs from ours by no more than three standard
errors of the difference of the two means over the splits, or by no more than 0.0005. Some tables have a rule of their
own, which stands above the table in the gallery. In most tables of the thesis the limit is two standard errors,
or two of the printed standard deviations. Where no spread is printed, the deviation of our own repetitions of the
experiment takes its place. Some cells are not judged, for a reason that the gallery gives; times of other machines
never are.

**Settings.** Where a work does not state a setting, it was taken from the authors' programs, or it is the one with
which a whole table agrees. No setting was chosen for a single cell.

**The commands** need the data sets: `mlcdr datasets fetch --all --folds`. After each is the CPU time of the stored run.
[A notebook](../examples/errata.ipynb), which `mlcdr example errata` copies, shows three of the findings in less than a
minute without other data.
"""


@cache
def read_runs() -> tuple[StoredRun, ...]:
    """The record, read once."""
    return tuple(read_record())


@cache
def _status() -> Status:
    return make_status(read_runs())


def _stored(name: str) -> list[StoredRun]:
    """What the record has of a config."""
    return [each for each in read_runs() if each.name == name]


def _authors(paper: str) -> str:
    """`Chen & Lin 2012`."""
    return PAPERS[paper].partition(",")[0]


def split_name(config: str) -> tuple[str, str]:
    """The published table that a config belongs to (empty if none), and the reading of it."""
    table = max((each for each in list_files() if f"{config}_".startswith(f"{each}_")), key=len, default="")
    return table, config[len(table) + 1 :]


def name_table(table: str, variant: str = "") -> str:
    """`Table 3.2 (as_stated)` of `sun_2017_thesis/table3_2`."""
    stem = table.partition("/")[2]
    number = re.fullmatch(r"(table|figure)(\d+)(?:_(\d+))?", stem)
    name = stem.capitalize()
    if number:
        part = f".{number[3]}" if number[3] else ""
        name = f"{number[1].title()} {number[2]}{part}"
    name = NAMES.get(stem, name)
    return f"{name} ({variant.replace('_', ' ')})" if variant else name


# -------------------------------------------------------------------- the gallery


def gallery() -> str:
    """What the record has of each paper, and the commands of all figures and tables of data sets."""
    status = _status()
    parts = [
        "The results for every published table: a page for each paper has its tables in the paper's layout, and the "
        "colour of each cell shows whether it agrees. The numbers are those of the record (`results/record`), made by "
        "`make record`, `make record-small` and `make record-all`; [what the papers say](papers.md) has the findings, "
        "and the [board](board.md) ranks the methods of the field. The papers' data sets come from "
        "`mlcdr datasets fetch --all --folds`.\n",
        *_commits(read_runs()),
        "Numbers of cells: a compared cell agrees, differs or is undecided (no standard error). Some cells have a "
        "result that is not judged; the page of the paper gives the reasons. Times are never judged, since they depend "
        "on the machine. The other printed cells have no result. The time is that of all runs with cells of the table: "
        "Tables 4.2 to 4.5 come from the same runs, and Table 3.4 from those of 3.2 and 3.3.\n",
    ]
    for paper in PAPERS:
        shown = [name for name in list_files() if name.startswith(f"{paper}/") and _is_shown(name)]
        if not shown:  # no table of Xu et al. is available
            continue
        parts += [
            f"## {_authors(paper)}\n",
            "| table | printed | compared | agree | differ | undecided | not judged | CPU time |",
            f"| --- |{' ---: |' * 7}",
        ]
        for table in shown:
            link = f"[{name_table(table)}](gallery/{paper}.md#{_anchor(table)})"
            found = [each for each in status.found if each.table == table]
            rows = [_counts(each) for each in found] or [("", f"{len(read_cells(table))} | not yet | | | | | ")]
            for variant, counts in rows:
                reading = f", {variant.replace('_', ' ')}" if variant else ""
                parts.append(f"| {link}{reading} | {counts} |")
        parts.append("")
    parts += ["## Figures\n", "| what | command |", "| --- | --- |"]
    for each in recipes.recipes().values():
        if not each.table and each.name.partition("/")[2].startswith("figure"):
            small = " (small variant)" if each.name.endswith("_small") else ""
            parts.append(f"| {_about(each.outline, each.name)}{small} | `mlcdr reproduce {each.name}` |")
    parts += ["", "## Tables of data sets\n", "Counted on the data, not computed by methods:\n"]
    parts += [f"- `mlcdr reproduce {name}`" for name in _FACTS]
    parts += [
        "\nTwo other comparisons: `mlcdr reproduce mlc_toolbox/ridge_5fold` uses the settings and the folds of MLC "
        "Toolbox, and gives its scores. With a [study of 28 methods](yardstick.md), only ranks are compared."
    ]
    return "\n".join(parts)


def _is_shown(table: str) -> bool:
    """Whether methods or the data give a table; others are of tests, ranks and formulas."""
    return table in list_tables() or table in _FACTS


def _commits(entries: Iterable[StoredRun]) -> Iterator[str]:
    of_papers = [each for each in entries if not each.is_of_board]
    commits = dict.fromkeys(each.manifest.commit[:12] for each in of_papers)
    small = all(is_small(each) or each.counts_data for each in of_papers)
    if commits:
        several = "Only the small variants (`make record-small`) are stored so far. " if small else ""
        yield f"{several}Commit{'s' if len(commits) > 1 else ''} of the record: {', '.join(commits)}.\n"
    else:
        yield "The record is empty so far.\n"


def _counts(each: Reproduction) -> tuple[str, str]:
    found = each.comparison
    verdicts: tuple[Verdict, ...] = ("agrees", "differs", "undecided", "not reproducible")
    numbers = (len(found.cells) - found.count("n/a"), found.compared, *map(found.count, verdicts))
    time = each.cpu_time.replace(" ", "\N{NO-BREAK SPACE}")  # in a narrow column
    return each.variant, f"{' | '.join(map(str, numbers))} | {time}"


def _anchor(table: str) -> str:
    return re.sub(r"[^\w]+", "-", name_table(table).lower().replace("'", "").replace(".", "")).strip("-")


def paper_page(paper: str) -> str:
    """Every table of a paper in its layout."""
    known = recipes.recipes()
    parts = [_LEGEND]
    names = [name for name in list_files() if name.startswith(f"{paper}/")]
    for table in filter(_is_shown, names):
        parts += _table(table, [each for each in known.values() if each.table == table])
    without = [name for name in known if name.startswith(f"{paper}/table") and not known[name].table]
    if without:
        parts.append("## Without printed numbers\n")
        parts.append("No table of the paper is available to compare with.\n")
        for name in without:
            parts.append(f"`mlcdr reproduce {name}`: {_described(known[name])}\n")
            for each in _stored(name):
                parts += [_rendered(each.results, spec) for spec in each.experiment.tables[:1]]
    parts += _details(paper)
    if figures := list(_figures(paper)):
        parts += ["## Figures\n", *figures]
    others = [name_table(name) for name in names if name.startswith(f"{paper}/table") and not _is_shown(name)]
    if others:
        parts.append(f"Further tables, which no config computes: {', '.join(others)}.\n")
    return "\n".join(parts)


def _figures(paper: str) -> Iterator[str]:
    """The stored figures: pictures, which `docs/pictures.py` makes from results, numbers, and the claims on them."""
    rows = read_claims().get(paper, [])
    for name, recipe in recipes.recipes().items():
        if not name.startswith(f"{paper}/figure"):
            continue
        pictures = sorted((FOLDER / "images").glob(f"{name.replace('/', '-')}.*.png"))
        stored = _stored(name)
        if not pictures and not stored:
            continue
        yield f"### {name_table(recipe.of, recipe.variant)}\n"
        yield f"`mlcdr reproduce {name}`: {_described(recipe)}\n"
        for run in stored:
            if changed := changes_of(run):
                yield f"The stored run differs from its config: {escape_markdown('; '.join(changed))}.\n"
            file, time = f"../../results/record/{name}/summary.csv", duration(run.manifest.total_cpu_seconds)
            yield f"[The numbers]({file}), {date_of(run)}, CPU time {time}.\n"
        yield from (f"![{recipe.outline.description}](../images/{path.name})\n" for path in pictures)
        for run in stored:
            yield from (_rendered(run.results, spec) for spec in run.experiment.tables)
        of_figure = [row for row in rows if row["command"].split()[2:3] == [name]]
        yield "".join(f"- {row['says']} *{row['verdict'].capitalize()}.* {row['gives']}\n" for row in of_figure)


def _table(table: str, readings: Sequence[Recipe]) -> Iterator[str]:
    """The section of one published table: every reading of it that is stored, and the commands of the others."""
    cells, rules = read_cells(table), rules_for(table)
    yield f"## {name_table(table)}\n"
    if table in _FACTS:
        yield f"`mlcdr reproduce {table}` counts them on the data. A number agrees if ours, rounded, equals it.\n"
    else:
        printed = cells[cells["mean"] != ""]
        datasets = plural(printed["dataset"].nunique(), "data set")
        methods = plural(len(set(printed["method"]) - {""}), "method")
        rule = f" A cell agrees if it differs by at most {rules.describe_limit()}."
        judged = not all(rules.why_not(printed))
        yield f"{len(printed)} printed cells: {datasets}, {methods}."
        yield f"{rule if judged else ' Times are not judged.'}\n"
    if rules.settings == "results":
        yield "The settings printed with the numbers are the best of a grid: results, not conditions.\n"
    stored = [each for each in _status().found if each.table == table]
    reasons = itertools.chain.from_iterable(each.comparison.reasons() for each in stored)
    # no reason where the rule has gone since it was stored
    for why, cells in group_pairs((why, cells) for why, _, cells in reasons if why).items():
        yield f"Not judged, {', '.join(_name_cells(join_names(cells)))}: {why}.\n"
    known: set[str] = set()
    for each in stored:
        yield from _reading(each)
        known |= {entry.name for entry in each.runs}
    missing = [each for each in readings if each.name not in known]
    if missing:
        yield "Not in the record yet:\n"
        yield "\n".join(f"- `mlcdr reproduce {each.name}`: {_described(each)}" for each in missing) + "\n"


def _name_cells(names: Sequence[str]) -> Sequence[str]:
    """Cells (`yeast PLST`); of many only their data sets or their methods, whichever are fewer, if all have one."""
    if len(names) <= _MANY:
        return names
    datasets: dict[str, None] = {}
    methods: dict[str, None] = {}
    for name in names:
        dataset, _, method = name.partition(" ")
        datasets.setdefault(dataset)
        methods.setdefault(method)
    if "" in methods or len(datasets) <= len(methods):
        return list(datasets)
    return list(methods)


def _reading(each: Reproduction) -> Iterator[str]:
    """One reading of a table: command, protocol, time, and the cells in the paper's layout."""
    yield f"### {_READINGS.get(each.variant, each.variant.replace('_', ' ').capitalize())}\n"
    for entry in each.runs:
        if not entry.counts_data:
            reduced = "" if entry.name == entry.manifest.config else " --small"
            command = f"{entry.manifest.config}{reduced}"
            machines = [run.machine for run in entry.manifest.computed_by if run.machine.processor]
            where = f", {machines[-1].cores} cores ({machines[-1].processor})" if machines else ""
            yield f"- `mlcdr reproduce {command}`, {date_of(entry)}{where}. {_described_entry(entry)}"
    time = "" if each.cpu_time == DASH else f"CPU time {each.cpu_time}. "
    yield f"- {time}{escape_markdown(_summary(each))}."
    counted = any(entry.counts_data for entry in each.runs)
    joined = None if counted else joining.join([entry.results for entry in each.runs])
    notes = (*each.notes(), *(joined.remarks if joined else ()))
    yield from (f"- {escape_markdown(note)}" for note in notes)
    yield ""
    if joined is None:
        yield _facts(each).html()
        return
    specs = [spec for spec in each.runs[0].experiment.tables if spec.layout == each.table]
    for spec in specs:
        yield _rendered(joined, spec, each)
    if not specs:
        yield _listed(each).html()


def _summary(each: Reproduction) -> str:
    found = each.comparison
    if any(entry.counts_data for entry in each.runs):
        n = found.count("not reproducible")
        return f"{found.count('agrees')} of {found.compared} numbers are equal{f'; {n} are not judged' if n else ''}"
    return found.summary() if found.compared else "Times, which are not judged"


def _cells_with_result(each: Reproduction) -> pd.DataFrame:
    cells = each.comparison.cells
    return cells[cells["verdict"].isin(_CLASSES)]


def _listed(each: Reproduction) -> Sheet:
    """The printed cells that have a result, one in a row, with its verdict."""
    cells = _cells_with_result(each)
    sheet = replace(each.comparison, cells=cells).sheet
    marked = []
    for verdict, (*shown, last) in zip(cells["verdict"], sheet.rows, strict=True):
        marked.append((*shown, replace(last, mark=_CLASSES[verdict])))
    return replace(sheet, caption=text(name_table(each.table)), rows=tuple(marked), notes=sheet.notes[1:])


def _described_entry(entry: StoredRun) -> str:
    splits = entry.experiment.splits.plain()
    protocol = ", ".join(f"{key} {value}" for key, value in splits.items() if key not in ("kind", "folders"))
    more = f" ({protocol})" if protocol else ""
    return f"{_about(entry.experiment, entry.name)}; {splits['kind']} splits{more}."


def _described(recipe: Recipe) -> str:
    return f"{_about(recipe.outline, recipe.name)}. {plural(len(recipe.outline.datasets), 'data set')}."


def _about(experiment: Experiment, name: str) -> str:
    """The description of an experiment, or else its name, without a full stop."""
    return escape_markdown((experiment.description or name).rstrip("."))


def _rendered(results: Results, spec: LayoutSpec, found: Reproduction | None = None) -> str:
    """A table in the paper's layout, with each cell's verdict."""
    marks = mark_cells(found.comparison, results, _mark) if found is not None else {}
    return tables.make_table(results, spec, marks).sheet.html()


def _mark(cell: Any) -> tuple[str, str]:
    """The class of a cell, and what is printed with the verdict."""
    z = "" if math.isnan(cell.z) else f", z = {cell.z:+.1f}"
    return _CLASSES[cell.verdict], f"printed {show_printed(cell)}{z}: {cell.verdict}"


def _facts(each: Reproduction) -> Sheet:
    """A table of data sets: the counted facts."""
    cells = _cells_with_result(each)
    facts = list(cells["metric"].unique())
    shown: dict[str, dict[str, Text]] = {}
    for cell in cells.itertuples():
        mark, about = _mark(cell)
        counted = text(f"{cell.ours:.{n_places(cell.published)}f}")
        shown.setdefault(cell.dataset, {})[cell.metric] = replace(counted, mark=mark, about=about)
    lines: list[list[str | Text]] = []
    for name, of_it in shown.items():
        lines.append([name, *(of_it.get(fact, NOTHING) for fact in facts)])
    return make_sheet("Counted on the data", ("Dataset", *facts), lines, 1)


# -------------------------------------------------------------------- what the papers say


def _findings() -> list[dict[str, Any]]:
    """The findings, the most important first; `docs/findings.yaml` says what each has."""
    found: list[dict[str, Any]] = read_yaml(FOLDER / "findings.yaml").data
    return found


def papers() -> str:
    """The findings, written for the authors of the works."""
    status = {(each.table, each.variant): each for each in _status().found}
    parts = [_ABOUT_FINDINGS, *_commits(read_runs())]
    for k, each in enumerate(_findings(), 1):
        page = f"gallery/{each['paper']}.md"
        source = _authors(each["paper"])
        gives = each["gives"]
        if "details" in each:
            gives += f"\nThe gallery has [more for whoever repeats it]({page}#{_slug(_DETAILS)}).\n"
        parts += [
            f"## {k}. {each['title']}\n",
            f"**The work** ([{source}]({page}), {each['place']}): {each['says'].rstrip()}\n",
            f"**What comes out:** {gives}",
            "**The commands that show it:**\n",
            *_evidence(each["runs"], status),
            "",
        ]
    if status:
        parts += ["## How many cells would differ by chance\n", f"{_status().multiplicity()}\n"]
    return "\n".join(parts)


def _details(paper: str) -> Iterator[str]:
    """What the findings on a paper leave to whoever repeats the experiments."""
    found = [each for each in _findings() if each["paper"] == paper and "details" in each]
    if found:
        yield f"## {_DETAILS}\n"
    for each in found:
        yield f"*{each['title']}.*\n"
        yield each["details"]


def _evidence(names: Sequence[str], status: dict[tuple[str, str], Reproduction]) -> Iterator[str]:
    """A line for each command: its CPU time, and how many printed cells of each of its tables agree."""
    of_one_paper = len({name.partition("/")[0] for name in names}) == 1
    counts: dict[str, list[str]] = {}
    for name in names:
        command, count = _show(name, status, of_one_paper)
        counts.setdefault(command, []).append(count)
    for command, found in counts.items():
        yield f"- {command}: {'; '.join(found)}."


def _show(name: str, status: dict[tuple[str, str], Reproduction], of_one_paper: bool) -> tuple[str, str]:
    """The command of a config with its CPU time, and `Table 3: 80 of 80 cells agree`.

    The small variant stands in where the record has no other. The paper's name comes first if the finding has tables of
    several papers.
    """
    table, variant = split_name(name)
    if not table:  # no table of the paper is available
        time = duration(math.fsum(run.manifest.total_cpu_seconds for run in read_runs() if run.name == name))
        return f"`mlcdr reproduce {name}` ({time})", "no printed numbers to compare with"
    paper = "" if of_one_paper else f"{_authors(table.partition('/')[0])}, "
    label = f"{paper}{name_table(table, variant)}"
    if found := status.get((table, variant)):
        return _command(found), f"{label}: {_agreement(found)}"
    if found := status.get((table, f"{variant}_small".lstrip("_"))):
        return _command(found), f"{label}, small variant: {_agreement(found)}"
    return f"`mlcdr reproduce {name}`", f"{label}: not in the record yet"


def _command(each: Reproduction) -> str:
    """The command that computes a reading of a table, with the CPU time of its stored runs."""
    configs = [run.manifest.config or run.name for run in each.runs]
    large = " --large" * any(config.endswith(f"_{LARGE}") for config in configs)
    small = " --small" * any(run.name != config for run, config in zip(each.runs, configs, strict=True))
    time = "" if each.cpu_time == DASH else f" ({each.cpu_time})"
    return f"`mlcdr reproduce {configs[0]}{large}{small}`{time}"


def _agreement(each: Reproduction) -> str:
    """`147 of 147 cells agree, 21 are not judged`."""
    agree, judged = each.comparison.count("agrees"), each.comparison.compared
    without = each.comparison.count("not reproducible")
    if not judged:
        return "times, which are not judged"
    return f"{agree} of {judged} cells agree{f', {without} are not judged' if without else ''}"


# -------------------------------------------------------------------- claim by claim


def read_claims() -> dict[str, list[dict[str, str]]]:
    """Paper → its claims, each with its place, what it says, the command, the verdict and what gives it."""
    claims: dict[str, list[dict[str, str]]] = read_yaml(FOLDER / "claims.yaml").data
    return claims


def claims() -> str:
    """Every sentence of the papers that compares or counts, with our verdict."""
    known = read_claims()
    parts = [
        "Every sentence of four works that compares methods or gives a number, in our words, with what comes out here. "
        "The verdict is of our results; where these have too little, of the printed numbers. *By the printed table "
        "itself*: what the work's own table gives, if that is not what the sentence says or if it says more. Means of "
        "ranks are over data sets, 1 is the best. "
        "[What the papers say](papers.md) has the findings behind the differences, the most important first.\n",
        f"| work | {' | '.join(VERDICTS)} | all |",
        f"| --- |{' ---: |' * (len(VERDICTS) + 1)}",
    ]
    for paper, rows in known.items():
        source = _authors(paper)
        given = [row["verdict"] for row in rows]
        counts = map(given.count, VERDICTS)
        parts.append(f"| [{source}](#{_slug(source)}) | {' | '.join(map(str, counts))} | {len(rows)} |")
    waiting = sum(row["gives"].startswith(WAITING) for row in itertools.chain(*known.values()))
    if waiting:
        parts.append(f"\n{waiting} of those that cannot be decided wait for a figure that is not stored yet.")
    for paper, rows in known.items():
        parts += [
            f"\n## {_authors(paper)}\n",
            "| place | the work says | verdict | what comes out |",
            "| --- | --- | --- | --- |",
            *map(_claim, rows),
        ]
    return "\n".join(parts)


def _claim(row: dict[str, str]) -> str:
    verdict = f'<span class="{VERDICTS[row["verdict"]]}">{row["verdict"]}</span>'
    gives = row["gives"]
    ends = "" if gives.endswith(".") else "."
    return f"| {row['place']} | {row['says']} | {verdict} | {gives}{ends} `{row['command']}` |"


def _slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
