"""The pages that are made of the record: their counts add up, and what is not stored is said."""

from __future__ import annotations

import json

import pytest

from mlcdr.experiment.shipped import record_folder
from mlcdr.papers.judging import rules_for
from mlcdr.papers.printed import load_table
from mlcdr.papers.stored import read_record
from tests.results_folders import as_printed
from tests.tools.test_record import TABLE3, row_of_board, run_of
from tools import record_pages
from tools.status import make_status
from tools.store import store_run


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """The module, for a record in the test's folder."""
    monkeypatch.setattr(record_pages, "read_runs", lambda: tuple(read_record(tmp_path / "record")))
    monkeypatch.setattr(record_pages, "_status", lambda: make_status(record_pages.read_runs()))
    store_run(run_of(tmp_path, TABLE3, as_printed(TABLE3)), "c0ffee", tmp_path / "record")
    return record_pages


def test_the_counts_of_the_gallery_add_up():
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in record_pages.gallery().split("\n")]
    counts = [tuple(map(int, row[1:7])) for row in rows if len(row) == 8 and row[2].isdigit()]
    assert len(counts) > 30
    assert any(undecided for *_, undecided, _ in counts)
    for printed, compared, agree, differ, undecided, not_judged in counts:
        assert compared == agree + differ + undecided
        assert printed >= compared + not_judged


def test_times_are_not_compared(pages, tmp_path):
    table = "sun_2017_thesis/table8_2"
    called = rules_for(table).metrics
    cells = {
        (cell.dataset, cell.method, called.get(cell.metric, cell.metric)): (float(cell.mean), 0.1, 10)
        for cell in load_table(table).itertuples()
        if cell.mean
    }
    store_run(run_of(tmp_path, table, cells), "c0ffee", tmp_path / "record")
    (row,) = [line for line in pages.gallery().split("\n") if "#table-82) |" in line]
    printed, *judged, not_judged = (int(cell) for cell in row.strip("|").split("|")[1:7])
    assert judged == [0, 0, 0, 0]
    assert 0 < not_judged <= printed


def test_a_finding_on_tables_of_several_papers_names_the_paper_of_each(pages):
    page = pages.papers()
    assert "Chen & Lin 2012, Table 2: not in the record yet" in page
    assert "Sun 2017 (thesis), Table 2.1: " in page
    assert ": Table 3: 80 of 80 cells agree" in page, "a finding on one paper does not repeat its name"


def test_a_command_of_a_finding_has_the_cpu_time_of_its_runs_and_the_counts_of_all_their_tables():
    seconds = {}
    for name in ("table4_2", "table4_2_large"):
        manifest = json.loads((record_folder() / "sun_2017_thesis" / name / "manifest.json").read_text())
        seconds[name] = sum(run["cpu_seconds"] for run in manifest["computed_by"])
    hours, minutes = divmod(round(sum(seconds.values()) / 60), 60)
    command = "- `mlcdr reproduce sun_2017_thesis/table4_2 --large`"
    page = (record_pages.FOLDER / "papers.md").read_text(encoding="utf-8")  # which is that of now: test_docs
    (line,) = {line for line in page.split("\n") if line.startswith(command)}
    time, counts = line.removeprefix(f"{command} ").split(": ", 1)
    assert time == f"({hours} h {minutes} min)"
    assert [each.split(":")[0] for each in counts.split("; ")] == [f"Table 4.{k}" for k in range(2, 6)]


def test_the_details_of_a_finding_are_on_the_page_of_its_paper_only():
    texts = [
        (record_pages.FOLDER / name).read_text(encoding="utf-8") for name in ("gallery/chen_lin_2012.md", "papers.md")
    ]
    section, page = texts[0].partition("## Details of the findings\n")[2], texts[1]
    assert "M = ⌊pK⌋" in section
    assert "LIBLINEAR" not in section
    assert "M = ⌊pK⌋" not in page
    assert "](gallery/chen_lin_2012.md#details-of-the-findings)" in page


def test_a_stored_figure_has_its_numbers_and_its_claims_in_the_gallery(pages, tmp_path):
    values = {("data80-10", "PACC", metric): (0.5, 0.1, 5) for metric in ("accuracy", "fit_seconds")}
    store_run(run_of(tmp_path, "sun_2017_thesis/figure3_6", values), "c0ffee", tmp_path / "record")
    _, section = pages.paper_page("sun_2017_thesis").split("### Figure 3.6\n")
    assert "](../../results/record/sun_2017_thesis/figure3_6/summary.csv)" in section
    assert "- PACC-LDF is the best of PACC" in section


def test_the_gallery_is_not_of_the_commits_of_the_board(pages, tmp_path):
    store_run(row_of_board(tmp_path), "b0a2d", tmp_path / "record")
    assert "board/board_mine" in [run.name for run in pages.read_runs()]
    assert "Commit of the record: c0ffee." in pages.gallery()
