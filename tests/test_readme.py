"""What the README shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlcdr.papers.stored import read_record
from tests import prepared
from tools import pages
from tools.status import make_status

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


def test_what_it_says_of_the_board_is_what_the_page_of_the_board_says() -> None:
    page = (README.parent / "docs" / "board.md").read_text(encoding="utf-8")
    none = re.search(r"\*\*None of (\d+) reductions is shown to .* than ridge regression .*?, on (\d+) data sets", page)
    more = re.search(r"(\d+) reductions on (\d+) data sets: 0 better", page)
    assert none, "README and paper.md say this"
    assert more, "README and paper.md say this"
    counts = "{} reductions on {} data sets, {} of them on {},".format(*none.groups(), *more.groups())
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert "None is shown to be better in micro F1 than ridge regression without one." in text
    assert counts in text
    paper = " ".join((README.parent / "paper.md").read_text(encoding="utf-8").split())
    assert "None of the reductions is shown to be better in micro F1 than ridge regression without one." in paper
    assert counts in paper


def test_the_paper_cites_what_its_bibliography_has_and_counts_what_the_record_has() -> None:
    paper = " ".join((README.parent / "paper.md").read_text(encoding="utf-8").split())
    bibliography = (README.parent / "paper.bib").read_text(encoding="utf-8")
    assert {*re.findall(r"@(\w+)", paper)} == {*re.findall(r"^@\w+{(\w+),", bibliography, re.M)}
    stored = {(each.table, each.variant): each.comparison for each in make_status(read_record()).found}
    table, stated = stored["chen_lin_2012/table3", ""], stored["chen_lin_2012/table3", "as_stated"]
    assert table.count("agrees") == table.compared
    assert f"All {table.compared} cells of Table 3 of @chen2012 agree" in paper
    assert f"but only {stated.count('agrees')} with" in paper


def test_its_counts_are_those_of_the_record() -> None:
    """What the README shows of a table that the record has, whole, with its large data sets, or in minutes."""
    entries = read_record()
    status = make_status(entries)
    stored = {(each.table, each.variant): each.comparison for each in status.found}
    section = README.read_text(encoding="utf-8").partition("## What it reproduces")[2].partition("\n## ")[0]
    shown = re.findall(r"(\d+) of (\d+)", section)
    papers = ("chen_lin_2012", "pacharawongsakda_2012", "sun_2017_thesis")
    tables = [(papers[0], "3"), (papers[0], "4"), (papers[0], "5"), (papers[1], "2"), (papers[2], "3_2")]
    tables += [(papers[2], number) for number in ("3_3", "4_2 4_3 4_4 4_5", "6_1", "6_2", "8_1")]
    commands = re.findall(r"[\w…-]*-?table[\w-]+(?: --(small|large))?", section)
    for (paper, numbers), variant, (agree, judged) in zip(tables, commands, shown, strict=True):
        names = [f"{paper}/table{number}" for number in numbers.split()]
        if variant == "large":
            assert f"{names[0]}_large" in {entry.name for entry in entries}
        found = [stored[name, variant.removeprefix("large")] for name in names]
        counts = [sum(each.count("agrees") for each in found), sum(each.compared for each in found)]
        assert counts == [int(agree), int(judged)], names
