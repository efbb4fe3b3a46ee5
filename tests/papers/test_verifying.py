"""The four papers' cells, as anybody would write them down for `mlcdr verify`, have the verdicts that are on record."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
import yaml

from mlcdr.errors import ResultsError
from mlcdr.papers.verifying import Paper, read_paper, verify
from mlcdr.results.results import Results, open_results
from tests.results_folders import PATH, experiment, published, write_folder

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "results" / "record"
PUBLISHED = ROOT / "mlcdr" / "papers" / "published"
KEY = ("dataset", "method", "setting", "metric")


def as_a_reader_writes(table: str, folder: Path) -> Path:
    """A packaged table as the files of `mlcdr verify`: a column for each setting, no cell without a number."""
    rows = [row for row in published(table) if row["mean"]]
    settings = [dict(part.split("=") for part in row["setting"].split(";") if part) for row in rows]
    paths = sorted({path for setting in settings for path in setting})
    with (folder / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["dataset", "method", "metric", "value", "spread", *paths])
        for row, setting in zip(rows, settings, strict=True):
            own = [row["dataset"], row["method"], row["metric"], row["mean"], row["spread"]]
            writer.writerow([*own, *(setting.get(path, "") for path in paths)])
    rules = PUBLISHED / f"{table}.yaml"
    judge = yaml.safe_load(rules.read_text()) if rules.exists() else {}
    if {row["spread_kind"] for row in rows} == {"standard_error"}:
        judge["std"] = "standard_error"
    (folder / "paper.yaml").write_text(yaml.safe_dump({"cells": "cells.csv", "judge": judge}))
    return folder / "paper.yaml"


@pytest.mark.parametrize(
    ("stored", "table"),
    [
        ("chen_lin_2012/table3", "chen_lin_2012/table3"),
        ("chen_lin_2012/table3_as_stated", "chen_lin_2012/table3"),
        ("chen_lin_2012/table4_small", "chen_lin_2012/table4"),
        ("chen_lin_2012/table5", "chen_lin_2012/table5"),
        ("pacharawongsakda_2012/table3", "pacharawongsakda_2012/table3"),
        ("sun_2017_thesis/table3_2_as_stated", "sun_2017_thesis/table3_2"),
        ("sun_2017_thesis/table4_2", "sun_2017_thesis/table4_4"),
        ("sun_2017_thesis/table6_1", "sun_2017_thesis/table6_1"),
        ("sun_2017_thesis/table8_1_large", "sun_2017_thesis/table8_1"),
        ("sun_2017_thesis/script_large", "sun_2017_thesis/script"),
        ("sun_2017_thesis/programs", "sun_2017_thesis/programs"),
    ],
)
def test_cells_of_the_papers_have_the_verdicts_on_record(stored: str, table: str, tmp_path: Path) -> None:
    with (RECORD / stored / "comparison.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == table and row["published"]]
    on_record = {tuple(row[key] for key in KEY): row for row in rows}
    paper = read_paper(as_a_reader_writes(table, tmp_path))
    found = verify(open_results(RECORD / stored), paper)
    cells = found.cells[~found.cells["verdict"].isin(["not run", "not in the config"])]
    # a cell that is not reproducible is not judged, whether it was run or not
    judged = {tuple(cell[key] for key in KEY): cell for cell in cells.to_dict("records")}
    unjudged = {key for key, cell in judged.items() if cell["verdict"] == "not reproducible"}
    assert judged.keys() - unjudged <= on_record.keys() <= judged.keys()
    for key, row in on_record.items():
        assert judged[key]["verdict"] == row["verdict"], key
        if row["z"]:  # of means before they were rounded to six digits
            assert judged[key]["z"] == pytest.approx(float(row["z"]), rel=1e-3, abs=0.02)
    assert found.agreeing == Counter(row["verdict"] for row in rows)["agrees"]
    assert found.counted == len(paper.cells) - len(unjudged)


def test_a_table_that_is_judged_by_repetitions_agrees_with_itself(tmp_path: Path) -> None:
    """The scores of single splits are needed for it, which the record does not have."""
    table = "pacharawongsakda_2012/table2"
    rows = [row for row in published(table) if row["mean"]]
    values = {(row["dataset"], row["method"], row["metric"]): [float(row["mean"])] * 4 for row in rows}
    config = experiment(
        dict.fromkeys(row["dataset"] for row in rows),
        dict.fromkeys(row["method"] for row in rows),
        dict.fromkeys(row["metric"] for row in rows),
    )
    results = open_results(write_folder(tmp_path / "trial", config, values))
    found = verify(results, read_paper(as_a_reader_writes(table, tmp_path)))
    assert found.counted == found.agreeing > 100
    assert found.sheet is None


# -------------------------------------------------------------------- cells and numbers of one's own


def write(folder: Path, cells: str, judge: str = "{}") -> Paper:
    (folder / "cells.csv").write_text(cells)
    (folder / "paper.yaml").write_text(f"cells: cells.csv\njudge: {judge}\n")
    return read_paper(folder / "paper.yaml")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """PLST and CPLST on two data sets at two sizes; of CPLST at 100 % on scene there is no number."""
    values = {
        (dataset, method, size, "hamming_loss"): (0.2, 0.01, 4)
        for dataset in ("yeast", "scene")
        for method in ("PLST", "CPLST")
        for size in ("20%", "100%")
    }
    del values["scene", "CPLST", "100%", "hamming_loss"]
    config = experiment(["yeast", "scene"], ["PLST", "CPLST"], ["hamming_loss"], {PATH: ["20%", "100%"]})
    return open_results(write_folder(tmp_path / "trial", config, values, [PATH]))


HEAD = f"dataset,method,{PATH},metric,value,spread\n"


def verdicts(results: Results, paper: Paper) -> list[str]:
    return verify(results, paper).cells["verdict"].tolist()


def test_a_cell_without_a_number_is_not_run_only_if_the_config_would_give_it(results: Results, tmp_path: Path) -> None:
    cells = [
        "scene,CPLST,100%,hamming_loss,0.2,",
        "scene,CPLST,50%,hamming_loss,0.2,",
        "scene,OCCA,100%,hamming_loss,0.2,",
        "enron,CPLST,100%,hamming_loss,0.2,",
        "scene,CPLST,100%,micro_f1,0.2,",
    ]
    found = verify(results, write(tmp_path, HEAD + "\n".join(cells)))
    assert found.cells["verdict"].tolist() == ["not run", *["not in the config"] * 4]
    assert (found.agreeing, found.counted) == (0, 5)
    assert not found.reaches("1")


def test_a_parameter_of_a_component_in_a_component_is_found(tmp_path: Path) -> None:
    config = experiment(["yeast"], ["PLST"], ["f1"])
    config["methods"]["PLST"] = {"learner": {"binary_relevance": {"estimator": {"ridge": {"alpha": 0.5}}}}}
    results = open_results(write_folder(tmp_path / "trial", config, {("yeast", "PLST", "f1"): (0.2, 0.01, 4)}))
    cells = "dataset,method,learner.estimator.alpha,metric,value,spread\nyeast,PLST,0.5,f1,0.2,0.01\n"
    assert verdicts(results, write(tmp_path, cells)) == ["agrees"]


@pytest.mark.parametrize(
    ("judge", "verdict"),
    [
        ("{}", "differs"),  # the spread is a standard deviation over 4 splits: z = 0.04 / √(0.01² + 0.005²) = 3.6
        ("{std: standard_error}", "agrees"),  # z = 0.04 / √(0.01² + 0.01²) = 2.8
        ("{std: standard_error, max_z: 2}", "differs"),
        ("{tolerance: 0.04}", "agrees"),
        ("{not_reproducible: [{methods: [PLST], why: a misprint}]}", "not reproducible"),
    ],
)
def test_the_rules_are_those_of_the_papers(results: Results, tmp_path: Path, judge: str, verdict: str) -> None:
    assert verdicts(results, write(tmp_path, f"{HEAD}yeast,PLST,0.2,hamming_loss,0.24,0.01\n", judge)) == [verdict]


def test_cells_that_are_not_reproducible_do_not_count_whether_they_are_run_or_not(
    results: Results, tmp_path: Path
) -> None:
    cells = [f"yeast,{method},20%,hamming_loss,0.9,0.01" for method in ("PLST", "OCCA", "CPLST")]
    judge = "{not_reproducible: [{methods: [PLST, OCCA], why: misprints}]}"
    found = verify(results, write(tmp_path, HEAD + "\n".join(cells), judge))
    assert found.cells["verdict"].tolist() == ["not reproducible", "not reproducible", "differs"]
    assert (found.agreeing, found.counted) == (0, 1)
    assert found.sentence().endswith(" Not judged, as not reproducible: 2.")


def test_no_share_of_no_cells_agrees(results: Results, tmp_path: Path) -> None:
    judge = "{not_reproducible: [{why: all of it}]}"
    found = verify(results, write(tmp_path, HEAD + "yeast,PLST,20%,hamming_loss,0.9,0.01", judge))
    assert (found.agreeing, found.counted) == (0, 0)
    assert not found.reaches("100%")


def test_names_of_the_paper_lead_to_those_of_the_config(results: Results, tmp_path: Path) -> None:
    cells = "dataset,method,label_dim,metric,value\nYeast-1,FAIR,20%,HL,0.200\n"
    judge = "{methods: {FAIR: CPLST}, datasets: {Yeast-1: yeast}, metrics: {HL: hamming_loss}}"
    assert verdicts(results, write(tmp_path, cells)) == ["not in the config"]
    assert verdicts(results, write(tmp_path, cells, judge)) == ["agrees"]


def test_several_numbers_for_a_cell_are_a_mistake_in_the_table(results: Results, tmp_path: Path) -> None:
    paper = write(tmp_path, "dataset,method,metric,value\nyeast,PLST,hamming_loss,0.2\n")
    with pytest.raises(ResultsError, match=rf"cells.csv:2: 2 numbers of .*trial fit; a column must state {PATH}"):
        verify(results, paper)


def test_a_cell_of_two_tables_is_two_cells(results: Results, tmp_path: Path) -> None:
    row = "yeast,PLST,20%,hamming_loss,0.300,0.002"
    found = verify(results, write(tmp_path, f"table,{HEAD}2,{row}\n5,{row}\n"))
    assert found.sheet is not None
    shown = [[cell.plain for cell in line] for line in found.sheet.whole_rows]
    same = ["yeast", "PLST", "20%", "0.200 ± 0.010", "0.300 ± 0.002", "−0.100", "−10.0", "differs"]
    assert shown == [["2", *same], ["5", *same]]


@pytest.mark.parametrize(
    ("at_least", "reached"), [("2", True), ("3", False), ("66.6%", True), ("66.7%", False), ("0", True), ("0%", True)]
)
def test_how_many_cells_must_agree(results: Results, tmp_path: Path, at_least: str, reached: bool) -> None:
    cells = [f"yeast,{method}%,hamming_loss,{value}," for method, value in (("PLST,20", 0.2), ("PLST,100", 0.2))]
    found = verify(results, write(tmp_path, HEAD + "\n".join([*cells, "yeast,CPLST,20%,hamming_loss,0.3,"])))
    assert (found.agreeing, found.counted) == (2, 3)
    assert found.reaches(at_least) is reached
