"""The pages in docs/: generated ones are those of now, and every command in the others prints what they show."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mlcdr.data import sources
from mlcdr.experiment.schema import SCHEMA
from mlcdr.methods import parts_file, registry
from mlcdr.metrics import METRICS
from mlcdr.papers import recipes
from mlcdr.tables import canvas, layouts
from tools import pages, studies
from tools.benchmarks import ratios
from tools.pages import DOCS, ROOT, Lacking

EVERY = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "datasets" / "README.md", *sorted(DOCS.rglob("*.md"))]


def imported(name: str) -> ModuleType:
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """docs/generate.py."""
    return imported("generate")


# -------------------------------------------------------------------- generated pages


@pytest.mark.parametrize(
    "name",
    [
        "methods.md",
        *(f"methods/{family}.md" for family in (*registry.BUILT_IN, "shared")),
        "metrics.md",
        "config.md",
        "layouts.md",
        "commands.md",
        "papers.md",
        "claims.md",
        "api.md",
        "gallery.md",
        pytest.param("board.md", marks=pytest.mark.slow),
        "gallery/chen_lin_2012.md",
        "gallery/pacharawongsakda_2012.md",
        pytest.param("gallery/sun_2017_thesis.md", marks=pytest.mark.slow),
        "gallery/xu_2016_mvmd.md",
        "classes.md",
    ],
)
def test_a_generated_page_is_what_would_be_written_now(generate: ModuleType, name: str) -> None:
    assert set(generate.PAGES) == {
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if "Written by `make docs`" in page.read_text()
    }
    assert (DOCS / name).read_text(encoding="utf-8") == generate.PAGES[name](), (
        f"{name} is stale: `make docs` renews it"
    )


def test_the_schemas_and_the_public_names_are_what_would_be_written_now(generate: ModuleType) -> None:
    assert parts_file.PARTS.read_text(encoding="utf-8") == generate.components_json(), "stale: `make docs` renews it"
    assert SCHEMA.read_text(encoding="utf-8") == generate.config_json(), "stale: `make docs` renews it"
    assert generate.STUB.read_text(encoding="utf-8") == generate.stub(), "stale: `make docs` renews it"


@pytest.mark.parametrize("study", sorted(path.stem for path in (DOCS / "studies").glob("*.csv")))
def test_a_study_shows_the_tables_and_the_figure_of_its_stored_numbers(study: str, tmp_path: Path) -> None:
    """And every number with a decimal point in its text is in a table."""
    tables, figure = studies.PAGES[study]()
    page = (DOCS / "studies" / f"{study}.md").read_text(encoding="utf-8")
    assert page == studies.filled(study, tables), "stale: `make docs` renews it"
    prose = re.sub(r"<!-- table.*?<!-- end -->|`.*?`|^    .*?$", "", page, flags=re.S | re.M)
    assert set(re.findall(r"\d+\.\d+", prose)) <= {"0.05"} | set(re.findall(r"\d+\.\d+", " ".join(tables.values())))
    studies.save(figure, tmp_path / "now.png")
    pages.compare_pictures(tmp_path / "now.png", DOCS / "images" / f"studies_{study}.png")


@pytest.mark.parametrize("page", ratios.PAGES, ids=lambda page: page.name)
def test_a_page_shows_the_figures_that_are_stored(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == ratios.filled(page), "stale: `make bench` renews it"


def test_a_docstring_becomes_markdown(generate: ModuleType) -> None:
    text = (
        "V: the K×K matrix.\n\nWith S_w,\n\n    S_w = Σ <x>\n\nParameters\n----------\nalpha : float\n"
        "    α > 0, or\n    <none>.\nbeta\n    β.\n"
    )
    assert generate.markdown(text, level=4) == (
        "V: the K×K matrix.\n\nWith S_w,\n\n    S_w = Σ &lt;x>\n\n#### Parameters\n\n- `alpha` (float)  \n  α > 0, or\n"
        "  &lt;none>.\n- `beta`  \n  β.\n"
    )


# -------------------------------------------------------------------- commands and their output


# Two tests of significance for each of 18 measures, of the results that a study stores; many small fits.
SLOW = {"board", "data", "other-programs", "quick", "tutorial", "yardstick"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem in SLOW)) for page in pages.pages()],
)
def test_the_commands_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "_PNG_DPI", 300)  # as for a user: the pictures are compared with those of the page
    wrong, lacking = [], ""
    try:
        for shown in pages.run(page, tmp_path):
            if not shown.agrees:
                wrong.append(
                    f"{page.name}:{shown.line}: $ {shown.typed}\n--- shown\n{shown.expected}--- is\n{shown.found}"
                )
    except Lacking as told:
        lacking = str(told)
    assert not wrong, "\n\n".join([*wrong, "`make docs` puts the output of now into the pages"])
    if lacking:
        pytest.skip(f"the rest of {page.name} {lacking}")
    for name, path in pages.pictures(tmp_path).items():
        if (DOCS / "images" / name).exists():
            pages.compare_pictures(path, DOCS / "images" / name)


def test_the_tutorial_states_the_size_of_its_downloads() -> None:
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    (names,) = re.findall(r"^    mlcdr datasets fetch (.*)$", page, re.M)
    size = sum(file.n_bytes for name in names.split() for file in sources.entry(name).files)
    assert f"about {size / 1e6:.0f} MB" in page


def test_every_picture_of_a_page_is_there_and_is_made_by_it() -> None:
    named = [
        (page, name) for page in EVERY for name in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"))
    ]
    assert {Path(name).name for _, name in named} == {path.name for path in (DOCS / "images").iterdir()}
    assert all((page.parent / name).is_file() for page, name in named)


def test_every_page_is_in_the_contents_of_the_site() -> None:
    named = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```{toctree}\n(?::[^\n]*\n)*(.*?)```", page.read_text(encoding="utf-8"), re.S):
            named |= {(page.parent / f"{name}.md").resolve() for name in block.split()}
    assert named == {page for page in EVERY if page.is_relative_to(DOCS)} - {DOCS / "README.md", DOCS / "index.md"}


def test_what_a_page_shows_can_be_wrong(tmp_path: Path) -> None:
    """The comparison itself: output that differs, `…`, times, and a data set that is not there."""
    page = tmp_path / "page.md"
    page.write_text(
        "```yaml\n# a/b.yaml\nx: 1\n```\n```console\n$ cat a/b.yaml; echo 3.5 s\n# a/b.yaml\nx: 1\n7 s\n$ echo two \\\n"
        "   words\ntwo word\n$ printf '1\\n2\\n3\\n'\n1\n…\n3\n$ cat flaw\n```\n<!-- needs: no_such_set -->\n"
        "```console\n$ false\n```\n"
    )
    (tmp_path / "in").mkdir()
    typed = pages.run(page, tmp_path / "in")
    found = [(shown.line, shown.agrees) for shown in itertools.islice(typed, 4)]
    with pytest.raises(Lacking, match="needs the data sets no_such_set"):
        next(typed)
    assert found == [(6, True), (10, False), (13, True), (17, False)]


# -------------------------------------------------------------------- what pages say in passing


def inline(page: Path) -> list[str]:
    """The commands between backticks, and in indented blocks; line breaks within them are spaces."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    spans = [" ".join(span.split()) for span in re.findall(r"`((?:mlcdr|make) [^`]+)`", text)]
    blocks = re.findall(r"^    (?:- run: )?((?:mlcdr|make) .*)$", text, re.M)
    return [*spans, *(re.sub(r"\s+(#.*|\s.*)$", "", block) for block in blocks)]


@pytest.mark.parametrize("page", EVERY, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_passing_are_such_as_there_are(page: Path) -> None:
    """Each names a command, options that it has, and as many arguments as it takes; each `make` a target."""
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")  # a rule may go over several lines
    rules = re.findall(r"^([\w%. -]+?) *:(?!=)", makefile, re.M)
    known = {name for rule in rules for name in rule.split()}
    for line in inline(page):
        if line.startswith("make "):
            for target in set(line.split()[1:]) - known:
                named = target.removeprefix("reproduce-")
                assert named != target, line
                assert recipes.facts_table(named) or recipes.steps(named), line
            continue
        for one in re.split(r" *\|(?= *mlcdr)", line):
            _parsed(one)


@cache
def _command_line() -> Any:
    import typer

    from mlcdr.cli.commands import app

    return typer.main.get_command(app)


def _parsed(line: str) -> None:
    """Ask the command line whether it takes a line, without running it; `A | B` and `[…]` are what a synopsis has."""
    root = _command_line()
    flat = re.sub(r"[\[\]…]|\.\.\.", " ", re.sub(r"\[(/\w+)\]", r"\1", line))
    head, *others = flat.split()[1:]
    names = [name.strip() for name in re.split(r"\|", flat.removeprefix("mlcdr")) if name.strip()]
    group = root
    if head == "datasets" or (head, *others[:1]) == ("new", "method"):
        group, head, others = root.commands[head], others[0] if others else "", others[1:]
    if " | " in flat and "[" not in line.split("|")[0]:  # table | plot | report RESULTS
        for name in names:
            assert name.split()[0] in {**root.commands, **root.commands["datasets"].commands}, line
        return
    if head.startswith("--"):
        assert head in ("--help", "--version", "--install-completion"), line
        return
    if head in ("COMMAND", ""):
        return
    assert head in group.commands, line
    command = group.commands[head]
    options = {name: option for option in command.params for name in option.opts if name.startswith("-")}
    arguments, expecting = 0, False
    for word in others:
        if word.startswith("-"):
            assert word in options or word == "--help", f"{line}: {word}"
            expecting = word in options and not options[word].is_flag
        elif expecting:
            expecting = False
        else:
            arguments += 1
    takes = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    assert arguments <= len(takes) or any(parameter.nargs == -1 for parameter in takes), f"{line}: too many arguments"


def test_links_lead_somewhere() -> None:
    for page in EVERY:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", re.sub(r"`[^`\n]*`", "", text)):
            name, _, anchor = target.partition("#")
            there = (page.parent / name) if name else page
            assert there.exists(), f"{page.name}: {target}"
            if anchor:
                content = there.read_text(encoding="utf-8")
                heads = {
                    re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")
                    for head in re.findall(r"^#+ (.*)$", content, re.M)
                }
                assert anchor in heads or f'id="{anchor}"' in content, f"{page.name}: {target}"


def test_every_layout_key_that_the_reference_names_is_one(generate: ModuleType) -> None:
    """The layouts' text is by hand; its blocks of keys are held to the models."""
    text = generate.layout_page()
    blocks = re.findall(r"```yaml\n(kind: (\w+)\n.*?)```", text, re.S)
    models = {"table": layouts.TableLayout, "figure": layouts.FigureLayout, "datasets": layouts.DatasetsLayout}
    assert {kind for _, kind in blocks} == set(models)
    for body, kind in blocks:
        assert set(re.findall(r"^(\w+):", body, re.M)) <= set(models[kind].model_fields)
        assert all(f"{key}:" in text for key in models[kind].model_fields)


def test_the_architecture_page_names_what_there_is() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\| \d+ \| `(mlcdr/\S+)` \| `(\w+)` \|", text, re.M)
    assert 15 <= len(steps) == len(set(steps)) <= 20
    for file, name in steps:
        assert re.search(rf"^(def|class) {name}\b", (ROOT / file).read_text(encoding="utf-8"), re.M), (file, name)
    for file in re.findall(r"`(mlcdr/\S+\.py)`", text):
        assert (ROOT / file).is_file(), file
    packages = {path.name for path in (ROOT / "mlcdr").iterdir() if (path / "__init__.py").is_file()}
    assert packages <= set(re.findall(r"\b\w+\b", text.partition("## The way")[0]))


def test_every_metric_has_a_row_beside_those_of_other_programs() -> None:
    with (ROOT / "mlcdr" / "metrics" / "elsewhere.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert {len(row) for row in rows} == {len(header)}
    assert all(row[-1] for row in rows if row[0] == "none"), "a metric that is missing has a reason"
    named = {name for row in rows for name in row[0].split("; ")} - {"none", "by_label"}
    computed = {m.name for m in METRICS.values() if m.needs in ("labels", "scores", "top", "probabilities")}
    assert named == computed | {"fit_seconds", "predict_seconds"}
