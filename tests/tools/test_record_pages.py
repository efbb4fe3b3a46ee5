"""The pages that are made of the record: counts add up."""

from __future__ import annotations

import re
import shutil

import pytest

from mlcdr.papers.judging import rules_for
from mlcdr.papers.printed import load_table
from mlcdr.papers.stored import read_record
from tests.results_folders import as_printed
from tests.tools.test_record import TABLE3, row_of_board, run_of
from tools import record_pages
from tools.leaderboard import _common, leaderboard
from tools.status import make_status
from tools.store import store_run

pytestmark = pytest.mark.usefixtures("configs_read_once")

SIZES = ("20%", "40%", "60%", "80%", "100%")
EVERY = "Ranked over bibtex, corel5k, emotions, enron, genbase, medical, scene, yeast."


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """The module, for a record in the test's folder."""
    monkeypatch.setattr(record_pages, "read_runs", lambda: tuple(read_record(tmp_path / "record")))
    monkeypatch.setattr(record_pages, "_status", lambda: make_status(record_pages.read_runs()))
    store_run(run_of(tmp_path, TABLE3, as_printed(TABLE3)), "c0ffee", tmp_path / "record")
    return record_pages


def board_of(page):
    """Method → its average rank and its means, in order; and the notes of the only board."""
    rows = re.findall(r'<tr><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', page)
    cells = {method: re.findall(r"<td>(.*?)</td>", row) for method, row in rows}
    assert len(cells) == len(rows)
    return cells, re.findall(r"<li>(.*?)</li>", page)


def test_points_of_a_sweep_count_as_one_value_of_a_data_set(pages, tmp_path):
    shutil.rmtree(tmp_path / "record")
    datasets = ["bibtex", "corel5k", "emotions", "enron", "genbase", "medical", "scene", "yeast"]
    values = {
        (dataset, method, size, "hamming_loss"): (0.1 + 0.1 * ((method == "PLST") == (dataset > "c")), 0.001, 100)
        for dataset in datasets
        for method in ("PLST", "CPLST")
        for size in SIZES
    }
    store_run(run_of(tmp_path, TABLE3, values), "c0ffee", tmp_path / "record")
    _, notes = board_of(leaderboard(pages.read_runs()))
    assert notes[0] == "Critical difference (Nemenyi) 0.69, over 8 data sets.", "1 of 8 differs: p = 0.02"
    for dataset in "corel5k", "emotions":
        for size in SIZES:
            one, other = ((dataset, method, size, "hamming_loss") for method in ("PLST", "CPLST"))
            values[one], values[other] = values[other], values[one]
    store_run(run_of(tmp_path, TABLE3, values), "c0ffee", tmp_path / "record")
    _, notes = board_of(leaderboard(pages.read_runs()))
    assert notes[0].endswith("8 data sets. The methods are not shown to differ."), "3 of 8"


def test_methods_are_ranked_over_the_data_sets_that_most_have(pages):
    having = {"A": "abcd", "B": "abcd", "C": "abc", "D": "ab", "E": "e"}
    assert _common(having) == ("a", "b", "c"), "nine results of three methods; eight with a and b, or with d"
    assert _common({"A": "ab", "B": "bc", "C": "cd"}) in {("b",), ("c",)}, "none is common to all"
    assert _common({"A": "a", "B": "b"}) == ()


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
    assert "`: Table 3: 80 of 80 cells agree" in page, "a finding on one paper does not repeat its name"


def test_a_stored_figure_has_its_numbers_and_its_claims_in_the_gallery_and_no_row_of_the_leaderboard(pages, tmp_path):
    values = {("data80-10", "PACC", metric): (0.5, 0.1, 5) for metric in ("accuracy", "fit_seconds")}
    store_run(run_of(tmp_path, "sun_2017_thesis/figure3_6", values), "c0ffee", tmp_path / "record")
    _, section = pages.paper_page("sun_2017_thesis").split("### Figure 3.6\n")
    assert "](../../results/record/sun_2017_thesis/figure3_6/summary.csv)" in section
    assert "- PACC-LDF is the best of PACC" in section
    assert "figure3_6" not in leaderboard(pages.read_runs())


def test_the_gallery_is_not_of_the_commits_of_the_board(pages, tmp_path):
    store_run(row_of_board(tmp_path), "b0a2d", tmp_path / "record")
    assert "board/board_mine" in [run.name for run in pages.read_runs()]
    assert "Commit of the record: c0ffee." in pages.gallery()
