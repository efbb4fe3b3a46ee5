"""The record: what is stored of a run is its comparison with the papers, and it is known when it is out of date."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from mlcdr.errors import ResultsError, UserError
from mlcdr.experiment.keys import codes
from mlcdr.papers import board, printed, published, recipes
from mlcdr.papers.stored import read_record
from mlcdr.results.results import open_results, read_experiment
from tests.results_folders import PATH, as_printed, write_folder
from tools import entries, record, status, store

TABLE3, TABLE2 = "chen_lin_2012/table3", "pacharawongsakda_2012/table2"


def run_of(folder, recipe, values, trials=(), **changes):
    """A results folder of a config that comes with mlcdr, with made-up numbers."""
    config = recipes.recipes()[recipe].experiment.resolved() | changes
    found = folder / config["name"]
    write_folder(found, config, values, [PATH] if config.get("sweep") else [])
    runs = [{"seconds": 60.2, "cpu_seconds": 100.0}, {"seconds": 12.3}]
    manifest = {"started": "2026-03-02T10:00:00+00:00", "trials": dict(trials), "computed_by": runs}
    manifest["code"] = codes(read_experiment(found))
    (found / "manifest.json").write_text(json.dumps(manifest))
    return found


def stored(tmp_path, *args, **changes):
    """The record of one run."""
    store.store_run(run_of(tmp_path, *args, **changes), "c0ffee", tmp_path / "record")
    return read_record(tmp_path / "record")


def row_of(page, beginning):
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {beginning}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_what_is_stored_is_the_comparison_of_the_run(tmp_path):
    off = {("yeast", "CPLST", "label_dim=20%"): 0.02, ("scene", "PLST", "label_dim=60%"): -0.01}

    def shifted(row):
        return float(row["mean"]) + off.get((row["dataset"], row["method"], row["setting"]), 0)

    runs = stored(tmp_path, TABLE3, as_printed(TABLE3, shifted))
    made = status.make_status(runs)
    (found,) = made.found
    (of_run,) = published.compare_with_published([open_results(tmp_path / "chen_lin_2012_table3")], TABLE3)
    kept, ours = found.comparison.cells[list(of_run.cells)], of_run.cells
    numbers = ["ours", "se", "published_se", "difference", "z"]
    pd.testing.assert_frame_equal(kept.drop(columns=numbers), ours.drop(columns=numbers))
    pd.testing.assert_frame_equal(kept[numbers], ours[numbers], rtol=1e-5)
    assert set(found.worst[:2][["dataset", "method", "setting"]].itertuples(index=False, name=None)) == set(off)
    assert len(runs[0].results.summary) == len(open_results(tmp_path / "chen_lin_2012_table3").summary)
    page = made.markdown()
    counts = ("80", "80", "78", "2", "0", "0", "0")
    assert row_of(page, TABLE3) == [TABLE3, "–", *counts, "1 min 52 s", "2026-03-02"]
    assert "- Note" not in page, "the experiment is the config's"
    assert f"does not have: {', '.join(n for n in printed.list_tables() if n != TABLE3)}." in page


def test_the_parts_of_a_table_are_one_comparison_and_variants_stand_apart(tmp_path):
    """Each part of the table has its own folder; a number judged by repetitions keeps their standard deviation."""
    cells = {
        (r.dataset, r.method, r.metric): [float(r.mean) + (0.001, -0.001)[k // 10 % 2] for k in range(100)]
        for r in printed.load_table(TABLE2).itertuples()
        if r.mean and r.method in ("BR", "BR+", "CC")
    }
    for part in ("", "_large"):
        recipe = recipes.recipes()[f"{TABLE2}{part}"]
        here = {spec.name for spec in recipe.experiment.datasets}
        methods = recipe.experiment.resolved()["methods"]
        untuned = {name: {k: v for k, v in spec.items() if k != "tune"} for name, spec in methods.items()}
        mine = {key: values[: 100 if not part else 10] for key, values in cells.items() if key[0] in here}
        stored(tmp_path, f"{TABLE2}{part}", mine, methods=untuned)
    runs = stored(tmp_path, f"{TABLE3}_as_stated", as_printed(TABLE3))
    as_stated, both = status.make_status(runs).found
    assert (as_stated.table, as_stated.variant) == (TABLE3, "as_stated")
    assert (both.table, both.variant, [run.name for run in both.runs]) == (TABLE2, "", [TABLE2, f"{TABLE2}_large"])
    # 7 data sets × 3 methods × 4 metrics, but for the cells of bibtex that nothing reproduces
    assert (both.comparison.count("agrees"), both.comparison.count("not reproducible")) == (7 * 12 - 12, 12)
    cells = both.comparison.cells
    spread = cells.loc[(cells["dataset"] == "yeast") & (cells["n"] > 0), "se"]
    assert [*spread] == pytest.approx([0.001 * math.sqrt(10 / 9)] * len(spread), rel=1e-4)
    there = cells[cells["n"] > 0]
    # a deviation of ten repetitions, of ten folds each; and where there is one repetition, one of its ten folds
    assert sorted(there["n"].unique()) == [10, 100]
    assert set(there["df"]) == {9}
    assert any("methods.PLST.tune.scope: none" in note for note in both.notes())


def test_a_run_that_holds_several_tables_is_compared_with_each(tmp_path):
    """Tables 4.2 to 4.5 of Sun 2017 are one run, each of another metric."""
    tables = [f"sun_2017_thesis/table4_{k}" for k in (2, 3, 4, 5)]
    values = {}
    for table in tables:
        values |= {(d, m, metric): v for (d, m, _, metric), v in as_printed(table).items()}
    # also one whose config had a single table when it ran
    runs = stored(tmp_path, tables[0], values, tables=[{"layout": tables[0]}])
    found = status.make_status(runs).found
    assert [each.table for each in found] == [spec.layout for spec in runs[0].experiment.tables] == tables
    assert all(each.comparison.compared == each.comparison.count("agrees") > 70 for each in found)


def test_a_record_of_other_code_or_of_another_config_is_out_of_date(tmp_path, script):
    splits = {"kind": "shuffle", "repeats": 4, "train_size": 0.9, "seed": 2012}
    (run,) = stored(tmp_path, TABLE3, as_printed(TABLE3))
    assert entries.outdated(run) == []
    run.manifest.code["PLST"] = "of long ago"
    assert entries.outdated(run) == ["computed by other code: PLST"]
    stored(tmp_path, TABLE3, as_printed(TABLE3), splits=splits)
    told = script(status, tmp_path / "record", "--check")
    assert (told.code, told.out.splitlines()[0]) == (1, f"{TABLE3}: splits.repeats: 4 (config: 100)")
    page = script(status, tmp_path / "record", "--to", tmp_path / "page.md")
    assert (page.code, page.out) == (0, "")
    note = f"- Note: {TABLE3} differs from its config: splits.repeats: 4"
    assert note in (tmp_path / "page.md").read_text()
    assert script(status, tmp_path / "record").out == (tmp_path / "page.md").read_text()
    nowhere = script(status, tmp_path / "nowhere")
    assert (nowhere.code, "holds no record" in nowhere.err) == (2, True)


def test_the_record_is_read_where_an_extra_is_not_installed(monkeypatch):
    monkeypatch.setattr(recipes.Recipe, "lacks", lambda self: ["m5p needs numba"])
    monkeypatch.setattr(recipes.Recipe, "experiment", property(lambda self: pytest.fail("imports the classes")))
    (run,) = (each for each in read_record() if each.name == "chen_lin_2012/table4_small")
    assert entries.changes_of(run) == []


def test_a_run_that_did_not_end_is_not_stored(tmp_path):
    for trials, why in ({"interrupted": True}, "was interrupted"), ({"failed": 3}, "has 3 failed trials"):
        with pytest.raises(ResultsError, match=why):
            stored(tmp_path, TABLE3, as_printed(TABLE3), trials)


def test_a_run_of_other_code_is_not_stored(tmp_path, monkeypatch):
    folder = run_of(tmp_path, TABLE3, as_printed(TABLE3))
    monkeypatch.setattr(entries, "codes", lambda experiment: codes(experiment) | {"PLST": "edited since"})
    with pytest.raises(ResultsError, match="computed by code other than that of the commit: PLST; run it again"):
        store.store_run(folder, "c0ffee", tmp_path / "record")


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("comparison.csv", "verdict,", "verdicts,", "comparison.csv:1: the columns should be table,dataset,method,"),
        ("comparison.csv", "agrees", "maybe", "comparison.csv:2: the verdict 'maybe' is not one of agrees"),
        ("comparison.csv", ",100,", ",many,", "comparison.csv:2: column n: 'many' is not a number"),
        (
            "comparison.csv",
            "PLST",
            "PLSD",
            r"comparison.csv:2: a row for bibtex PLSD .*, which chen_lin_2012/table3 ",
        ),
        ("manifest.json", "60.2", '"long"', "manifest.json: computed_by.0.seconds: Input should be a valid number"),
    ],
)
def test_a_damaged_folder_of_the_record_is_refused_with_its_place(tmp_path, script, name, old, new, why):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    at = tmp_path / "record" / TABLE3 / name
    whole = at.read_text() if name == "manifest.json" else "".join(at.read_text().splitlines(keepends=True)[:2])
    at.write_text(whole.replace(old, new))
    told = script(status, tmp_path / "record")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert re.search(f"record/{TABLE3}/{why}", told.err)


def test_options_that_would_be_ignored_are_refused(tmp_path, script):
    for options in ["record", "--check", "--to", "page.md"], ["--small", "--all"], ["folder", "--plan"]:
        told = script(status if "--check" in options else record, *options)
        assert (told.code, told.out) == (2, "")
        assert re.search("not allowed with|cannot be combined", told.err)


def row_of_board(tmp_path, name="board_mine", mean=0.19, **changes):
    """The results folder of a row of one's own on the board."""
    config = {key: value for key, value in board.load_protocol().resolved().items() if key != "against"}
    tune = {"grid": {"learner.alpha": [0.1, 1]}, "folds": 3, "metric": "micro_f1"}
    methods = {"Mine": {"label_space": "plst", "learner": "ridge", "tune": tune}}
    config |= {"name": name, "datasets": ["yeast"], "methods": methods} | changes
    values = {("yeast", method, "micro_f1"): [mean] * 5 for method in config["methods"]}
    found = write_folder(tmp_path / name, config, values)
    code = codes(read_experiment(found))
    (found / "manifest.json").write_text(json.dumps({"started": "2026-03-02T10:00:00+00:00", "code": code}))
    chosen = [("yeast", "Mine", split, "learner.alpha", alpha) for split, alpha in enumerate("01001")]
    columns = ["dataset", "method", "split", "parameter", "value"]
    pd.DataFrame(chosen, columns=columns).to_csv(found / "chosen.csv", index=False)
    return found


def test_a_row_of_the_board_is_stored_with_how_often_a_value_was_chosen(tmp_path):
    folder = store.store_run(row_of_board(tmp_path), "c0ffee", tmp_path / "record")
    assert folder == tmp_path / "record" / "board" / "board_mine"
    assert (folder / "comparison.csv").read_text() == ",".join(entries.COLUMNS) + "\n"
    counts = "dataset,method,parameter,value,n\nyeast,Mine,learner.alpha,0,3\nyeast,Mine,learner.alpha,1,2\n"
    assert (folder / "chosen.csv").read_text() == counts
    (run,) = read_record(tmp_path / "record")
    assert (run.name, run.tables, run.is_of_board, run.manifest.config) == ("board/board_mine", (), True, "")
    assert entries.outdated(run) == []
    assert run.results.chosen["value"].tolist() == list("00011")
    assert run.results.chosen["split"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", ["0", "2.5", "1e9", "many", ""])
def test_a_stored_number_of_choices_that_is_none_is_refused_with_its_line(tmp_path, n):
    folder = store.store_run(row_of_board(tmp_path), "c0ffee", tmp_path / "record")
    (folder / "chosen.csv").write_text(f"dataset,method,parameter,value,n\nyeast,Mine,learner.alpha,0,{n}\n")
    with pytest.raises(ResultsError, match=r"chosen\.csv:2: column n: "):
        len(read_record(tmp_path / "record")[0].results.chosen)


def test_a_config_of_the_board_is_stored_by_its_name_and_is_out_of_date_where_it_changed(tmp_path):
    methods = board.load_protocol().resolved()["methods"]
    store.store_run(row_of_board(tmp_path, "board", methods={"PLST": methods["PLST"]}), "c0ffee", tmp_path / "record")
    (run,) = read_record(tmp_path / "record")
    assert (run.name, run.manifest.config) == ("board/board", "board")
    assert all(each.startswith(("datasets: ", "methods.")) for each in entries.changes_of(run))
    assert any(each.startswith("methods.CPLST.label_space: none (config: ") for each in entries.changes_of(run))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "mine"}, "'mine' is no config of a paper, and no row of the board, whose names begin with `board_`"),
        ({"name": "boards"}, "'boards' is no config of a paper"),
        ({"splits": {"kind": "kfold", "folds": 5, "seed": 1}}, "differs from the config board in splits$"),
        ({"metrics": ["micro_f1"]}, "differs from the config board in metrics$"),
    ],
)
def test_what_is_of_no_paper_is_stored_only_with_the_protocol_of_the_board(tmp_path, changes, why):
    with pytest.raises(ResultsError, match=why):
        store.store_run(row_of_board(tmp_path, **changes), "c0ffee", tmp_path / "record")


def test_a_method_of_the_board_is_tuned_as_the_others_or_not_at_all(tmp_path):
    def departures(**changes):
        spec = {"label_space": "plst", "learner": "ridge"}
        if changes:
            spec["tune"] = {"grid": {"learner.alpha": [1, 2]}} | changes
        return board.list_departures(read_experiment(row_of_board(tmp_path, methods={"Mine": spec})))

    usual = {"folds": 3, "metric": "micro_f1"}
    assert departures() == departures(**usual) == []
    for other in {"folds": 5}, {"search": "random", "points": 8}, {"metric": "f1"}, {"scope": "dataset"}:
        assert departures(**usual | other) == ["methods.Mine.tune"]


def test_another_experiment_of_the_same_name_is_not_replaced(tmp_path):
    summary = tmp_path / "record" / "board" / "board_mine" / "summary.csv"
    store.store_run(row_of_board(tmp_path, mean=0.19), "c0ffee", tmp_path / "record")
    store.store_run(row_of_board(tmp_path, mean=0.18), "c0ffee", tmp_path / "record")
    assert ",0.18," in summary.read_text(), "the same experiment, run again"
    other = row_of_board(tmp_path, mean=0.17, methods={"Mine": {"label_space": "cplst", "learner": "ridge"}})
    with pytest.raises(
        ResultsError, match=r"another experiment of this name, which differs in methods\.Mine\.label_space, "
    ):
        store.store_run(other, "c0ffee", tmp_path / "record")
    assert ",0.18," in summary.read_text()


def test_other_data_under_a_name_of_the_catalogue_are_refused(tmp_path):
    run = row_of_board(tmp_path)
    manifest = json.loads((run / "manifest.json").read_text())
    for rows in (2417, 300):
        manifest["datasets"] = {"yeast": {"n_instances": rows, "n_labels": 14}}
        (run / "manifest.json").write_text(json.dumps(manifest))
        if rows == 2417:
            store.store_run(run, "c0ffee", tmp_path / "record")
    with pytest.raises(ResultsError, match="its yeast has 300 instances, that of the catalogue 2417; rename"):
        store.store_run(run, "c0ffee", tmp_path / "record")


@pytest.mark.slow
def test_a_method_in_the_current_folder_is_found_and_printed(tmp_path):
    """In a process of its own, since tests may have other folders from which modules are imported."""
    (tmp_path / "my_reducer.py").write_text(
        "from mlcdr.methods.label_space.plst import PLST\n\n\nclass MyReducer(PLST):\n    pass\n"
    )
    config = {key: value for key, value in board.load_protocol().resolved().items() if key != "against"}
    methods = {"Mine": {"label_space": "my_reducer.MyReducer", "learner": "least_squares"}}
    config |= {"name": "board_mine", "methods": methods, "datasets": ["yeast"]}
    write_folder(tmp_path / "board_mine", config, {("yeast", "Mine", "micro_f1"): [0.19] * 5})
    find = "from pathlib import Path; from mlcdr.api.loading import import_from_here; import_from_here(); "
    find += "from mlcdr.experiment.keys import codes; from mlcdr.results.results import read_experiment; "
    find += "import json; print(json.dumps({'code': codes(read_experiment(Path('board_mine')))}))"
    root = str(Path(__file__).parents[2])
    manifest = subprocess.run(
        [sys.executable, "-c", find], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}, capture_output=True
    )
    (tmp_path / "board_mine" / "manifest.json").write_bytes(manifest.stdout)
    store_it, check = (
        [sys.executable, "-m", f"tools.{words[0]}", *words[1:]]
        for words in (["record", "board_mine", "--dirty", "--to", "record"], ["status", "record", "--check"])
    )
    env = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run(store_it, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "record/board/board_mine\n"), done.stderr
    assert "importing my_reducer (my_reducer.py)" in done.stderr
    refused = subprocess.run(check, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (refused.returncode, "importing" in refused.stderr) == (1, False), "a folder may be a stranger's"
    assert "my_reducer.MyReducer' is not imported" in refused.stdout


def test_a_run_whose_name_leads_elsewhere_is_not_stored(tmp_path):
    run = run_of(tmp_path, TABLE3, {("yeast", "PLST", "20%", "hamming_loss"): (0.19, 0.001, 100)}, datasets=["yeast"])
    config = yaml.safe_load((run / "experiment.yaml").read_text()) | {"name": "../../elsewhere", "methods": {}}
    (run / "experiment.yaml").write_text(yaml.safe_dump(config))
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["code"]
    for code, message in (
        ({}, "its manifest does not say what code gave it"),
        ({"code": {"PLST": 5}}, r"manifest\.json: code\.PLST: "),
        ({"code": {}}, "cannot name the results folder"),
    ):
        (run / "manifest.json").write_text(json.dumps(manifest | code))
        with pytest.raises(ResultsError, match=message):
            store.store_run(run, "c0ffee", tmp_path / "record")


def test_the_record_is_of_a_commit_without_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "checkout_folder", lambda: tmp_path / "datasets")
    with pytest.raises(UserError, match="in a checkout of the source code with git"):
        store.commit_of_checkout()
    (tmp_path / "a.py").write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a"]
    for words in ["init", "-q"], ["add", "a.py"], ["commit", "-qm", "a"]:
        subprocess.run([*git, *words], check=True)
    commit = store.commit_of_checkout()
    assert len(commit) == 40
    (tmp_path / "notes.txt").write_text("")
    assert store.commit_of_checkout() == commit
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my method.py").write_text("")
    with pytest.raises(UserError, match=r"my method\.py\"? is in no commit"):
        store.commit_of_checkout()
    assert store.commit_of_checkout(dirty=True) == f"{commit} with changes"
    (tmp_path / "mine" / "my method.py").unlink()
    (tmp_path / "a.py").write_text("2")
    with pytest.raises(UserError, match=r"a\.py differs from its commit"):
        store.commit_of_checkout()
    assert store.commit_of_checkout(dirty=True) == f"{commit} with changes"


def test_how_many_cells_lie_beyond_so_many_standard_errors():
    cell = {"published": "0.0129", "spread_kind": "standard_error", "verdict": "agrees", "n": 100, "df": 99}
    judged = [cell | {"se": 0.03, "published_se": 0.04, "difference": 0.05 * z} for z in (0.0, 1.5, 2.5, -2.5, 3.5)]
    unjudged = cell | {"se": 1, "published_se": 1, "difference": 9, "verdict": "not reproducible"}
    n, beyond, expected = status.count_beyond(pd.DataFrame([*judged, unjudged]))
    assert (n, beyond) == (5, {2: 3, 3: 1})
    assert expected == pytest.approx({2: 5 * 0.0470, 3: 5 * 0.0031}, rel=0.02)  # t with 169 degrees of freedom
    few = cell | {"se": 0.1, "published_se": 0.0, "difference": 0, "df": 4}
    assert status.count_beyond(pd.DataFrame([few]))[2][2] == pytest.approx(0.1161, rel=1e-3), "4 degrees of freedom"


@pytest.mark.parametrize("reading", ["", "_as_stated"])
def test_a_reduction_is_stored_as_the_small_variant_of_its_table(tmp_path, reading):
    name = f"{TABLE3}{reading}_small"
    (run,) = stored(tmp_path, TABLE3, as_printed(TABLE3), name=name.replace("/", "_"))
    assert (run.name, run.manifest.config) == (name, f"{TABLE3}{reading}")
    assert run.variant == f"{reading}_small".strip("_")
