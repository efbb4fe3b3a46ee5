"""The pages that are made of the record: contributed rows leave the papers' boards as they are, and counts add up."""

from __future__ import annotations

import re
import shutil

import pytest

from mlcdr.papers import recipes
from mlcdr.papers.judging import rules_for
from mlcdr.papers.printed import load_table
from mlcdr.papers.stored import read_record
from tests.results_folders import as_printed
from tests.tools.test_record import TABLE3, run_of
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


def contribute(tmp_path, datasets, methods, mean=0.9):
    """Store a run with the splits of Table 3 as `others/mine`."""
    values = {
        (dataset, method, size, "hamming_loss"): (mean, 0.001, 100)
        for dataset in datasets
        for method in methods
        for size in SIZES
    }
    run = run_of(tmp_path, TABLE3, values, name="mine", methods=methods, datasets=list(datasets), tables=[], figures=[])
    store_run(run, "c0ffee", tmp_path / "record")


def board_of(page):
    """Method → its average rank and its means, in order; and the notes of the only board."""
    rows = re.findall(r'<tr><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', page)
    cells = {method: re.findall(r"<td>(.*?)</td>", row) for method, row in rows}
    assert len(cells) == len(rows)
    return cells, re.findall(r"<li>(.*?)</li>", page)


@pytest.mark.parametrize(("dataset", "n_means"), [("yeast", 1), ("birds", 0)])
def test_a_contributed_method_without_all_data_sets_changes_no_rank(pages, tmp_path, dataset, n_means):
    before, notes = board_of(leaderboard(pages.read_runs()))
    assert EVERY in notes[1]
    contribute(tmp_path, [dataset], {"Mine": {"label_space": "plst", "learner": "ridge"}})
    page = leaderboard(pages.read_runs())
    after, now = board_of(page)
    assert list(after) == [*before, "Mine"]
    assert {method: after[method] for method in before} == before
    assert (after["Mine"][0], sum(cell != "–" for cell in after["Mine"][1:])) == ("–", n_means)
    assert now[:2] == notes[:2]
    assert now[2] == "Not ranked, since a data set or a point of the sweep is missing: Mine."
    assert "Configs: `configs/chen_lin_2012/table3.yaml`, `results/record/others/mine/experiment.yaml`." in page


def test_a_contributed_method_with_all_data_sets_is_ranked(pages, tmp_path):
    datasets = [spec.name for spec in recipes.recipes()[TABLE3].experiment.datasets]
    contribute(tmp_path, [*datasets, "birds"], {"Mine": {"label_space": "plst", "learner": "ridge"}}, mean=0.0)
    cells, notes = board_of(leaderboard(pages.read_runs()))
    assert next(iter(cells)) == "Mine"
    assert cells["Mine"][0] == "1.00"
    assert len(cells["Mine"]) == 1 + len(datasets), "birds is no data set of the paper's"
    assert EVERY in notes[1]
    assert not any(note.startswith("Not ranked") for note in notes)


def test_a_contributed_method_is_told_apart_from_the_papers_of_that_name(pages, tmp_path):
    before, _ = board_of(leaderboard(pages.read_runs()))
    contribute(tmp_path, ["yeast"], {"PLST": {"label_space": "plst", "learner": "ridge"}})
    assert list(board_of(leaderboard(pages.read_runs()))[0]) == [*before, "PLST (mine)"]
    methods = recipes.recipes()[TABLE3].experiment.resolved()["methods"]
    shutil.rmtree(tmp_path / "record" / "others")
    contribute(tmp_path, ["birds"], {"PLST": methods["PLST"], "Mine": {"label_space": "plst", "learner": "ridge"}})
    assert list(board_of(leaderboard(pages.read_runs()))[0]) == [*before, "Mine"]


def test_a_method_of_the_papers_and_a_contributed_one_are_ranked(pages, tmp_path):
    shutil.rmtree(tmp_path / "record")
    values = {("yeast", "PLST", size, "hamming_loss"): (0.2, 0.001, 100) for size in SIZES}
    store_run(run_of(tmp_path, TABLE3, values), "c0ffee", tmp_path / "record")
    contribute(tmp_path, ["yeast"], {"Mine": {"label_space": "plst", "learner": "ridge"}}, mean=0.1)
    cells, notes = board_of(leaderboard(pages.read_runs()))
    assert [(method, *row) for method, row in cells.items()] == [
        ("Mine", "1.00", "<strong>0.1000</strong>"),
        ("PLST", "2.00", "0.2000"),
    ]
    assert notes[0] == "Ranked over yeast: too few data sets for a verdict on the methods."


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
