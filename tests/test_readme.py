"""What the README shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import pages, prepared

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    """The README's code blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def test_the_experiment_and_the_method_of_ones_own(tmp_path: Path) -> None:
    experiment = next(block for block in blocks("yaml") if block.startswith("name:"))
    row = next(block for block in blocks("yaml") if "Frequent" in block)
    (tmp_path / "my_methods.py").write_text(next(block for block in blocks("python") if "MostFrequent" in block))
    config = tmp_path / "mine.yaml"
    config.write_text(experiment.replace("tables:", row + "tables:"))
    done = prepared.command("run", "mine.yaml", "--set", "splits.repeats=2", "-j", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "±" in line and "0." in line]
    assert [line.removeprefix("yeast").split()[0] for line in rows] == ["PBR", "OCCA", "PLST", "CPLST", "Frequent"]
    # with all dimensions every label space is binary relevance: the last column is the same for all
    assert len({line.split()[-1].rstrip("*") for line in rows}) == 1


def test_the_python_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    snippet = next(block for block in blocks("python") if "ComposedClassifier" in block)
    exec(snippet, {})
    assert 0.05 < float(capsys.readouterr().out) < 0.3


def test_the_table_and_the_figure_are_what_make_run_gives(tmp_path: Path) -> None:
    shown = re.findall(r"^    (?:yeast)? +(PBR|OCCA|PLST|CPLST) +(.*)$", README.read_text(encoding="utf-8"), re.M)
    assert [name for name, _ in shown] == ["PBR", "OCCA", "PLST", "CPLST"]
    done = prepared.command("run", README.parent / "configs/yeast_cplst.yaml", "-j", "1", cwd=tmp_path)
    printed = re.findall(r"^(?:yeast)? +(PBR|OCCA|PLST|CPLST) +(.*)$", done.stdout, re.M)
    assert printed == shown
    folder = tmp_path / "results/yeast_cplst/figures"
    pages.compare_pictures(next(folder.glob("*.png")), README.parent / "docs/images/yeast_cplst_figure1.png")


@pytest.mark.usefixtures("configs_read_once")
def test_the_commands_of_the_synopsis_run(tmp_path: Path) -> None:
    """Each with the forms that the README names; `fetch` is for where there is a network."""
    (tmp_path / "e.yaml").write_text(
        "name: e\ndatasets: [yeast]\nsplits: {kind: shuffle, repeats: 2, train_size: 0.5, seed: 1}\n"
        "metrics: [hamming_loss, f1]\nsweep: {label_space.n_components: [2, 14]}\n"
        "figures: [{layout: curves, metrics: [f1]}]\n"
        "methods:\n  PLST: {label_space: plst, learner: {ridge: {alpha: 1}}}\n"
        "  CPLST: {label_space: cplst, learner: {ridge: {alpha: 1}}}\n"
    )
    session = pages.Session(tmp_path)
    for command in (
        "check e.yaml",
        "plan e.yaml",
        "run e.yaml --jobs 1 --set splits.repeats=1 --quiet --backend loky",
        "run e.yaml --fresh",
        "run e.yaml --out other --quiet",
        "status results/e",
        "retry results/e --failed",
        "table results/e",
        "plot results/e",
        "report results/e",
        "compare results/e --metric f1 --bayes --out results/e/compared",
        "compare --baseline other/e results/e --fail-on regression --time-margin 100",
        "schema",
        "methods",
        "methods cplst",
        "metrics",
        "reproduce",
        "reproduction-status --to status.md",
        "new --dataset yeast --method plst+ridge --out new.yaml",
        "check new.yaml",
        "datasets list",
        "datasets info yeast",
        "datasets verify yeast",
        "datasets table yeast",
    ):
        printed = session.type(f"mlcdr {command}")
        assert session.code == 0, f"mlcdr {command}: {printed}"
        assert printed or "--quiet" in command, command
    synopsis = re.findall(r"^    mlcdr .*", README.read_text(encoding="utf-8"), re.M)
    known = set(re.findall(r"[a-z-]+", " ".join(synopsis)))
    assert {"run", "compare", "table", "report", "reproduce", "plan", "status", "retry", "new"} <= known


def test_its_counts_are_those_of_the_stored_status() -> None:
    """What the README and the page on reproduction say is what docs/reproduction-status.md holds."""
    status = (README.parent / "docs" / "reproduction-status.md").read_text(encoding="utf-8")
    page = (README.parent / "docs" / "reproduces.md").read_text(encoding="utf-8")
    short = README.read_text(encoding="utf-8")
    found = {}
    for table, variant, agree, compared, said in (
        ("chen_lin_2012/table3", "–", 80, 80, "All 80 cells within 3 standard errors"),
        ("chen_lin_2012/table3", "as_stated", 64, 80, "64 of 80 cells"),
        ("chen_lin_2012/table4", "small", 30, 30, "30 of 30 cells"),
        ("chen_lin_2012/table5", "–", 30, 30, "all 30 cells of kernel-CPLST"),
        ("pacharawongsakda_2012/table2", "–", 147, 147, "147 of 147"),
        ("sun_2017_thesis/programs", "draws", 42, 44, "42 of 44"),
        ("sun_2017_thesis/table3_2", "–", 135, 176, "135 of 176"),
        ("sun_2017_thesis/table3_2", "fixed_folds", 74, 80, "74 of 80 cells"),
        ("sun_2017_thesis/table3_3", "–", 150, 176, "150 of 176"),
        ("sun_2017_thesis/table3_3", "fixed_folds", 73, 80, "73 of 80 cells"),
        ("sun_2017_thesis/table4_2", "–", 72, 77, "72, 67, 68 and 65 of 77"),
        ("sun_2017_thesis/table4_3", "–", 67, 77, "72, 67, 68 and 65 of 77"),
        ("sun_2017_thesis/table4_4", "–", 68, 77, "72, 67, 68 and 65 of 77"),
        ("sun_2017_thesis/table4_5", "–", 65, 77, "72, 67, 68 and 65 of 77"),
        ("sun_2017_thesis/table6_1", "small", 56, 60, "56 of 60 cells"),
        ("sun_2017_thesis/table6_2", "small", 55, 72, "55 of 72 cells"),
        ("sun_2017_thesis/table8_1", "–", 294, 317, "294 of 317"),
    ):
        row = next(line for line in status.splitlines() if re.match(rf"\| {table} +\| {variant} ", line))
        counts = [cell.strip() for cell in row.split("|")]
        assert (counts[4], counts[5]) == (str(compared), str(agree))
        assert said in page
        found[table, variant] = (agree, compared)
    tables = [(f"sun_2017_thesis/table4_{k}", "–") for k in (2, 3, 4, 5)]
    found["sun_2017_thesis/table4", "–"] = tuple(map(sum, zip(*(found.pop(table) for table in tables), strict=True)))
    shown = re.findall(r"(\d+) of (\d+)", short.partition("## What it reproduces")[2].partition("\n## ")[0])
    assert len(shown) == 10
    assert {(int(agree), int(compared)) for agree, compared in shown} <= set(found.values())
