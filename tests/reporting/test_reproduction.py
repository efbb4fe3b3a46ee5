"""The record: what is stored of a run is its comparison with the papers, and it is known when it is out of date."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import mlcdr as api
from mlcdr.errors import ResultsError, UserError
from mlcdr.experiment.keys import codes
from mlcdr.reproduce import making, published, recipes, record, reproduction
from mlcdr.reproduce.recipes import Step
from mlcdr.results.results import open_results, read_experiment
from tests.reporting.results_folders import PATH, as_printed, write_folder
from tests.small import command

pytestmark = pytest.mark.usefixtures("configs_read_once")

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
    record.store(run_of(tmp_path, *args, **changes), "c0ffee", tmp_path / "record")
    return record.read(tmp_path / "record")


def row_of(page, beginning):
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {beginning}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_what_is_stored_is_the_comparison_of_the_run(tmp_path):
    off = {("yeast", "CPLST", "label_dim=20%"): 0.02, ("scene", "PLST", "label_dim=60%"): -0.01}

    def shifted(row):
        return float(row["mean"]) + off.get((row["dataset"], row["method"], row["setting"]), 0)

    (entry,) = stored(tmp_path, TABLE3, as_printed(TABLE3, shifted))
    status = reproduction.status([entry])
    (found,) = status.found
    of_run = published.compare(open_results(tmp_path / "chen_lin_2012_table3"), TABLE3)
    for ours, theirs in zip(found.comparison.rows, of_run.rows, strict=True):
        assert (ours.published, ours.verdict, ours.n) == (theirs.published, theirs.verdict, theirs.n)
        numbers = ("ours", "ours_se", "published_se", "difference", "z")
        assert [getattr(ours, k) for k in numbers] == pytest.approx([getattr(theirs, k) for k in numbers], rel=1e-5)
    assert {(r.published.dataset, r.published.method, r.published.setting) for r in found.worst[:2]} == set(off)
    assert entry.results.cells.keys() == open_results(tmp_path / "chen_lin_2012_table3").cells.keys()
    page = status.markdown()
    counts = ("80", "80", "78", "2", "0", "0", "0")
    assert row_of(page, TABLE3) == [TABLE3, "–", *counts, "1 min 52 s", "2026-03-02"]
    assert "- Note" not in page, "the experiment is the config's"
    assert f"does not have: {', '.join(n for n in published.names() if n != TABLE3)}." in page


def test_the_parts_of_a_table_are_one_comparison_and_variants_stand_apart(tmp_path):
    """Each part of the table has its own folder; a number judged by repetitions keeps their standard deviation."""
    cells = {
        (r.dataset, r.method, r.metric): [float(r.mean) + (0.001, -0.001)[k // 10 % 2] for k in range(100)]
        for r in published.load(TABLE2)
        if r.mean and r.method in ("BR", "BR+", "CC")
    }
    for part in ("", "_large"):
        recipe = recipes.recipes()[f"{TABLE2}{part}"]
        here = {spec.name for spec in recipe.experiment.datasets}
        methods = recipe.experiment.resolved()["methods"]
        untuned = {name: {k: v for k, v in spec.items() if k != "tune"} for name, spec in methods.items()}
        mine = {key: values[: 100 if not part else 10] for key, values in cells.items() if key[0] in here}
        stored(tmp_path, f"{TABLE2}{part}", mine, methods=untuned)
    entries = stored(tmp_path, f"{TABLE3}_as_stated", as_printed(TABLE3))
    as_stated, both = reproduction.status(entries).found
    assert (as_stated.table, as_stated.variant) == (TABLE3, "as_stated")
    assert (both.table, both.variant, [e.name for e in both.entries]) == (TABLE2, "", [TABLE2, f"{TABLE2}_large"])
    # 7 data sets × 3 methods × 4 metrics, but for the cells of bibtex that nothing reproduces
    assert (both.comparison.count("agrees"), both.comparison.count("not reproducible")) == (7 * 12 - 12, 12)
    spread = {row.ours_se for row in both.comparison.rows if row.published.dataset == "yeast" and row.n}
    assert [*spread] == pytest.approx([0.001 * math.sqrt(10 / 9)] * len(spread), rel=1e-4)
    assert any("methods.PLST.tune.scope: none" in note for note in both.notes())


def test_a_run_that_holds_several_tables_is_compared_with_each(tmp_path):
    """Tables 4.2 to 4.5 of Sun 2017 are one run, each of another metric."""
    tables = [f"sun_2017_thesis/table4_{k}" for k in (2, 3, 4, 5)]
    values = {}
    for table in tables:
        values |= {(d, m, metric): v for (d, m, _, metric), v in as_printed(table).items()}
    # also one whose config had a single table when it ran
    entries = stored(tmp_path, tables[0], values, tables=[{"layout": tables[0]}])
    found = reproduction.status(entries).found
    assert [each.table for each in found] == [spec.layout for spec in entries[0].experiment.tables] == tables
    assert all(each.comparison.compared == each.comparison.count("agrees") > 70 for each in found)


def test_a_record_of_other_code_or_of_another_config_is_out_of_date(tmp_path, mlcdr):
    splits = {"kind": "shuffle", "repeats": 4, "train_size": 0.9, "seed": 2012}
    (entry,) = stored(tmp_path, TABLE3, as_printed(TABLE3))
    assert record.outdated(entry) == []
    entry.manifest.code["PLST"] = "of long ago"
    assert record.outdated(entry) == ["computed by other code: PLST"]
    stored(tmp_path, TABLE3, as_printed(TABLE3), splits=splits)
    told = mlcdr("reproduction-status", tmp_path / "record", "--check")
    assert (told.code, told.out) == (1, f"{TABLE3}: splits.repeats: 4 (config: 100)\n")
    page = mlcdr("reproduction-status", tmp_path / "record", "--to", tmp_path / "page.md")
    assert (page.code, page.out) == (0, "")
    assert (
        "- Note: chen_lin_2012/table3 differs from its config: splits.repeats: 4" in (tmp_path / "page.md").read_text()
    )
    assert mlcdr("reproduction-status", tmp_path / "nowhere").code == 2


def test_the_record_is_read_where_an_extra_is_not_installed(monkeypatch):
    monkeypatch.setattr(recipes.Recipe, "lacks", lambda self: ["m5p needs numba"])
    monkeypatch.setattr(recipes.Recipe, "experiment", property(lambda self: pytest.fail("imports the classes")))
    (entry,) = (each for each in record.read() if each.name == "chen_lin_2012/table4_small")
    assert entry.changes() == []


def test_a_run_that_did_not_end_is_not_stored(tmp_path):
    for trials, why in ({"interrupted": True}, "was interrupted"), ({"failed": 3}, "has 3 failed trials"):
        with pytest.raises(ResultsError, match=why):
            stored(tmp_path, TABLE3, as_printed(TABLE3), trials)


def test_a_run_of_other_code_is_not_stored(tmp_path, monkeypatch):
    folder = run_of(tmp_path, TABLE3, as_printed(TABLE3))
    monkeypatch.setattr(record, "codes", lambda experiment: codes(experiment) | {"PLST": "edited since"})
    with pytest.raises(ResultsError, match="computed by code other than that of the commit: PLST; run it again"):
        record.store(folder, "c0ffee", tmp_path / "record")


def test_a_row_that_the_published_table_does_not_have_is_refused(tmp_path):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    path = tmp_path / "record" / TABLE3 / "comparison.csv"
    path.write_text(path.read_text().replace("CPLST", "CPLSD"))
    with pytest.raises(ResultsError, match=r"a row for bibtex CPLSD .*, which chen_lin_2012/table3 lacks"):
        record.read(tmp_path / "record")


def only_line(path, old, new):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]).replace(old, new))


COMPARISON, MANIFEST = "comparison.csv", "manifest.json"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda at: (at / COMPARISON).write_bytes(b"\xff\x00\xfe"), "comparison.csv:1: not UTF-8 text"),
        (lambda at: (at / COMPARISON).write_text(""), "comparison.csv:1: the columns should be table,dataset,method,"),
        (lambda at: only_line(at / COMPARISON, "verdict,", ""), "comparison.csv:1: the columns should be table,"),
        (lambda at: only_line(at / COMPARISON, "agrees", "maybe"), "comparison.csv:2: the verdict 'maybe' is not one"),
        (lambda at: only_line(at / COMPARISON, ",100,", ",many,"), "comparison.csv:2: column n: 'many' is not a numb"),
        (lambda at: only_line(at / COMPARISON, ",100,", ",,"), "comparison.csv:2: column n: '' is not a number"),
        (lambda at: only_line(at / COMPARISON, ",100,", ",-1,"), "comparison.csv:2: a number is infinite, se is neg"),
        (lambda at: only_line(at / COMPARISON, TABLE3, "../x"), "comparison.csv:2: a row for bibtex PLST"),
        (lambda at: (at / COMPARISON).unlink(), "comparison.csv: missing"),
        (lambda at: (at / MANIFEST).unlink(), "manifest.json: cannot be read: "),
        (lambda at: (at / MANIFEST).write_text("{}"), "manifest.json: commit: Field required"),
        (lambda at: (at / MANIFEST).write_text('{"commit": "c0ffee"}'), "manifest.json: experiment: Field required"),
        (
            lambda at: (at / MANIFEST).write_text((at / MANIFEST).read_text().replace("60.2", '"long"')),
            "manifest.json: computed_by.0.seconds: Input should be a valid number",
        ),
    ],
)
def test_a_damaged_folder_of_the_record_is_refused(tmp_path, mlcdr, damage, why):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    at = tmp_path / "record" / TABLE3
    damage(at)
    for options in (), ("--check",):
        told = mlcdr("reproduction-status", tmp_path / "record", *options)
        assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
        assert f"{at}: damaged: {why}" in told.err


def test_a_folder_without_a_record_is_refused(tmp_path, mlcdr):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    for folder in tmp_path / "record" / TABLE3, (tmp_path / "record" / TABLE3).parent:
        told = mlcdr("reproduction-status", folder)
        assert (told.code, told.out) == (2, "")
        assert f"{folder}: holds no record, which has a PAPER/CONFIG/manifest.json" in told.err


def test_options_that_would_be_ignored_are_refused(tmp_path, mlcdr):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    told = mlcdr("reproduction-status", tmp_path / "record", "--check", "--to", tmp_path / "page.md")
    assert (told.code, told.out) == (2, "")
    assert "--to: cannot be combined with --check" in told.err
    for options in ("--plan",), ("--small",), ("--out", "elsewhere"), ("--jobs", "2"):
        told = mlcdr("record", tmp_path / "chen_lin_2012_table3", *options, "--dirty", "--to", tmp_path / "other")
        assert (told.code, told.out) == (2, "")
        assert f"{options[0]}: cannot be combined with results folders" in told.err
    assert not (tmp_path / "other").exists()


def test_another_experiment_of_the_same_name_is_not_replaced(tmp_path):
    mine = {("yeast", "Mine", "hamming_loss"): (0.19, 0.001, 100)}
    methods = {"Mine": {"label_space": "plst", "learner": "least_squares"}}

    def store(seed, mean):
        values = {key: (mean, *rest) for key, (_, *rest) in mine.items()}
        splits = {"kind": "shuffle", "repeats": 100, "train_size": 0.9, "seed": seed}
        stored(tmp_path, TABLE3, values, name="mine", methods=methods, datasets=["yeast"], sweep={}, splits=splits)

    summary = tmp_path / "record" / "others" / "mine" / "summary.csv"
    store(1, 0.19)
    store(1, 0.18)
    assert ",0.18," in summary.read_text(), "the same experiment, run again"
    with pytest.raises(ResultsError, match=r"another experiment of this name, which differs in splits\.seed; give"):
        store(2, 0.17)
    assert ",0.18," in summary.read_text()


def test_other_data_under_a_name_of_the_catalogue_are_refused(tmp_path):
    mine = {("yeast", "PLST", "20%", "hamming_loss"): (0.19, 0.001, 100)}
    run = run_of(tmp_path, TABLE3, mine, name="mine", datasets=["yeast"])
    manifest = json.loads((run / "manifest.json").read_text())
    for rows in (2417, 300):
        manifest["datasets"] = {"yeast": {"n_instances": rows, "n_labels": 14}}
        (run / "manifest.json").write_text(json.dumps(manifest))
        if rows == 2417:
            record.store(run, "c0ffee", tmp_path / "record")
    with pytest.raises(ResultsError, match="its yeast has 300 instances, that of the catalogue 2417; rename"):
        record.store(run, "c0ffee", tmp_path / "record")


def test_a_method_in_the_current_folder_is_found_and_printed(tmp_path):
    """In a process of its own, since tests may have other folders from which modules are imported."""
    (tmp_path / "my_reducer.py").write_text(
        "from mlcdr.methods.label_space.plst import PLST\n\n\nclass MyReducer(PLST):\n    pass\n"
    )
    methods = {"Mine": {"label_space": "my_reducer.MyReducer", "learner": "least_squares"}}
    config = recipes.recipes()[TABLE3].experiment.resolved()
    config |= {"name": "mine", "methods": methods, "datasets": ["yeast"], "sweep": {}}
    write_folder(tmp_path / "mine", config, {("yeast", "Mine", "hamming_loss"): (0.19, 0.001, 100)})
    find = "from pathlib import Path; from mlcdr.api.loading import import_from_here; import_from_here(); "
    find += "from mlcdr.experiment.keys import codes; from mlcdr.results.results import read_experiment; "
    find += "import json; print(json.dumps({'code': codes(read_experiment(Path('mine')))}))"
    root = str(Path(__file__).parents[2])
    manifest = subprocess.run(
        [sys.executable, "-c", find], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}, capture_output=True
    )
    (tmp_path / "mine" / "manifest.json").write_bytes(manifest.stdout)
    done = command("record", "mine", "--dirty", "--to", "record", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "record/others/mine\n"), done.stderr
    assert "importing my_reducer (my_reducer.py)" in done.stderr
    for named in "record", str(tmp_path / "record"), str(tmp_path):
        refused = command("reproduction-status", named, "--check", cwd=tmp_path, PYTHONPATH=str(tmp_path))
        assert refused.returncode in (1, 2)
        assert "importing" not in refused.stdout + refused.stderr
    assert (
        "my_reducer.MyReducer' is not imported"
        in command("reproduction-status", "record", "--check", cwd=tmp_path).stdout
    )
    assert command("reproduction-status", "record", "--check", "--trust", cwd=tmp_path).returncode == 0


def test_a_run_whose_name_leads_elsewhere_is_not_stored(tmp_path):
    run = run_of(tmp_path, TABLE3, {("yeast", "PLST", "20%", "hamming_loss"): (0.19, 0.001, 100)}, datasets=["yeast"])
    config = yaml.safe_load((run / "experiment.yaml").read_text()) | {"name": "../../elsewhere", "methods": {}}
    (run / "experiment.yaml").write_text(yaml.safe_dump(config))
    manifest = json.loads((run / "manifest.json").read_text())
    unknown = "its manifest does not say what code gave it"
    for code, message in ([], unknown), ({"PLST": 5}, unknown), ({}, "cannot name the results folder"):
        (run / "manifest.json").write_text(json.dumps(manifest | {"code": code}))
        with pytest.raises(ResultsError, match=message):
            record.store(run, "c0ffee", tmp_path / "record")


def test_the_record_is_of_a_commit_without_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "checkout_folder", lambda: tmp_path / "datasets")
    with pytest.raises(UserError, match="in a checkout of the source code with git"):
        record.commit_of_checkout()
    (tmp_path / "a.py").write_text("1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a"]
    for words in ["init", "-q"], ["add", "a.py"], ["commit", "-qm", "a"]:
        subprocess.run([*git, *words], check=True)
    commit = record.commit_of_checkout()
    assert len(commit) == 40
    (tmp_path / "notes.txt").write_text("")
    assert record.commit_of_checkout() == commit
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my method.py").write_text("")
    with pytest.raises(UserError, match=r"my method\.py\"? is in no commit"):
        record.commit_of_checkout()
    assert record.commit_of_checkout(dirty=True) == f"{commit} with changes"
    (tmp_path / "mine" / "my method.py").unlink()
    (tmp_path / "a.py").write_text("2")
    with pytest.raises(UserError, match=r"a\.py differs from its commit"):
        record.commit_of_checkout()
    assert record.commit_of_checkout(dirty=True) == f"{commit} with changes"


def test_own_methods_are_compared_with_stored_rows_on_the_same_data(tmp_path, mlcdr, monkeypatch):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    monkeypatch.setattr(record, "record_folder", lambda: tmp_path / "record")
    mine = {
        ("yeast", "Mine", size, "hamming_loss"): (0.19, 0.001, 100) for size in ("20%", "40%", "60%", "80%", "100%")
    }
    methods = {"Mine": {"label_space": "plst", "learner": "least_squares"}}
    run_of(tmp_path, TABLE3, mine, name="mine", methods=methods, datasets=["yeast"])
    shown = mlcdr("compare", tmp_path / "mine", "--record", TABLE3, "--metric", "hamming_loss")
    assert shown.code == 0, shown.err
    assert [name in shown.out for name in ("Mine", "PLST", "CPLST", "yeast", "scene")] == [True] * 4 + [False]
    wrong = mlcdr("compare", tmp_path / "mine", "--record", "chen_lin_2012/table9")
    assert (wrong.code, "did you mean 'chen_lin_2012/table3'" in wrong.err) == (2, True)
    other = {("made", *key[1:]): value for key, value in mine.items()}
    run_of(tmp_path, TABLE3, other, name="other", methods=methods, datasets=["made"])
    apart = mlcdr("compare", tmp_path / "other", "--record", TABLE3)
    assert (apart.code, f"record {TABLE3}: has no data set of yours (made), only" in apart.err) == (2, True)
    from_python = api.compare(tmp_path / "mine", record=TABLE3, metric="hamming_loss")
    names = {"Mine", *recipes.recipes()[TABLE3].experiment.methods}
    assert (set(from_python.frame()["method"]), set(from_python.frame()["dataset"])) == (names, {"yeast"})
    with pytest.raises(ResultsError, match=r"published: cannot be combined with .* record"):
        api.compare(tmp_path / "mine", record=TABLE3, published=TABLE3)


def test_stored_rows_are_found_by_the_name_of_a_printed_table_that_another_config_fills():
    assert [each.name for each in record.find("sun_2017_thesis/table4_3")] == [
        "sun_2017_thesis_table4_2",
        "sun_2017_thesis_table4_2_large",
    ]
    with pytest.raises(ResultsError, match="is a table of data sets, which has no methods"):
        record.find("chen_lin_2012/table2")


def test_how_many_cells_lie_beyond_so_many_standard_errors():
    cell = published.load(TABLE3)[0]
    z = (0.0, 1.5, 2.5, -2.5, 3.5)
    rows = [published.ComparedCell(cell, 0, 0.03, 0.04, 0.05 * k, k, "agrees", n=100) for k in z]
    cells, beyond, expected = record.count_beyond(
        [*rows, published.ComparedCell(cell, 0, 1, 1, 9, 9, "not reproducible", n=100)]
    )
    assert (cells, beyond) == (5, {2: 3, 3: 1})
    assert expected == pytest.approx({2: 5 * 0.0470, 3: 5 * 0.0031}, rel=0.02)  # t with 169 degrees of freedom
    *_, few = record.count_beyond([published.ComparedCell(cell, 0, 0.1, 0.0, 0, 0, "agrees", n=5)])
    assert few[2] == pytest.approx(0.1161, rel=1e-3), "t with 4 degrees of freedom"


# -------------------------------------------------------------------- making it


def test_the_plan_leaves_out_data_that_cannot_be_had_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "missing", lambda experiments: ["delicious"])
    monkeypatch.setattr(recipes, "missing_folds", lambda experiments: [])
    planned = {each.name: each for each in making.plan(False, tmp_path)}
    large = planned["sun_2017_thesis/table8_1_large"]
    assert large.lacks[0].startswith("delicious: ")
    assert "delicious" not in large.step.overrides[-1]
    assert "bibtex" in large.step.overrides[-1]
    assert planned["sun_2017_thesis/table8_2_shared"].timed
    tables = {each.step.recipe.table for each in planned.values()} - {""}
    laid_out = {spec.layout for each in planned.values() for spec in each.step.recipe.outline.tables}
    assert set(published.names()) <= tables | laid_out, "every table that can be computed"
    assert {"sun_2017_thesis/table6_1", "sun_2017_thesis/table6_2_random"} <= set(planned), "parts of what is too long"
    small = making.plan(True, tmp_path)
    assert {each.name for each in small} >= {f"{TABLE3}_small", f"{TABLE2}_small"}
    assert not any(each.timed for each in small)


def test_what_takes_hours_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "missing", lambda experiments: [])
    monkeypatch.setattr(recipes, "missing_folds", lambda experiments: [])
    planned = {each.name: each for each in making.plan(False, tmp_path)}
    for name, some in making.TOO_LONG.items():
        assert not some or name in planned or recipes.recipes()[name].variant == "as_stated"
        if name in planned:
            assert planned[name].lacks == (f"{', '.join(some)}: only with --all",)
            kept = json.loads(planned[name].step.overrides[-1].removeprefix("datasets="))
            assert [*kept, *some] == [spec.name for spec in recipes.recipes()[name].outline.datasets]
        assert name in recipes.recipes()


def test_other_readings_and_what_takes_hours_are_run_on_demand(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "missing", lambda experiments: [])
    monkeypatch.setattr(recipes, "missing_folds", lambda experiments: [])
    planned = {each.name for each in making.plan(False, tmp_path)}
    everything = {each.name: each for each in making.plan(False, tmp_path, everything=True)}
    assert planned < set(everything)
    assert set(making.TOO_LONG) < set(everything)
    assert not any(each.lacks for each in everything.values())
    variants = {recipes.recipes()[name].variant for name in planned} - {"", recipes.LARGE}
    assert variants == {"random", "fixed_folds", "shared"}, "of tables that take hours themselves"


def test_what_is_up_to_date_is_left_out_on_demand(tmp_path, mlcdr):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    plan = "record", "--outdated", "--plan", "--to", tmp_path / "record"
    lines = mlcdr(*plan).out.splitlines()
    assert not any(line.startswith(f"{TABLE3} ") for line in lines)
    assert any(line.startswith(f"{TABLE2} ") for line in lines), "the record does not have it"
    at = tmp_path / "record" / TABLE3 / "manifest.json"
    at.write_text(at.read_text().replace('"PLST": "', '"PLST": "0'))
    assert any(line.startswith(f"{TABLE3} ") for line in mlcdr(*plan).out.splitlines()), "of other code"


def test_long_runs_get_all_workers_first_and_timed_ones_one(tmp_path, monkeypatch):
    calls = []

    def popen(line, **_):
        calls.append((line[line.index("run") + 1], line[line.index("--jobs") + 1]))
        return SimpleNamespace(communicate=lambda: ("", "wrong\n"), returncode=len(calls) == 2, poll=lambda: 0)

    monkeypatch.setattr(subprocess, "Popen", popen)

    def planned(name, seconds, timed=False):
        return making.Planned(Step(SimpleNamespace(path=name)), name, seconds, False, timed)

    ended = []
    every = [planned("long", 70), planned("timed", 20, True), planned("short", 10)]
    making.run(every, tmp_path, 4, lambda each, error: ended.append((each.experiment, error)))
    assert calls[0] == ("long", "4")
    assert sorted(calls[1:]) == [("short", "2"), ("timed", "1")]
    assert sorted(error for _, error in ended) == ["", "", "wrong"]


_MAKING = """
import subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from mlcdr.reproduce import making
from mlcdr.reproduce.recipes import Step

started = subprocess.Popen

def popen(line, **options):
    process = started([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
    process.stdout.read(1)
    print(process.pid, flush=True)
    return process

subprocess.Popen = popen
planned = [making.Planned(Step(SimpleNamespace(path=name)), name, 1.0, False, False) for name in "ab"]
making.run(planned, Path("."), 2, lambda each, error: None)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_runs_end_with_the_command_that_started_them(tmp_path):
    making_it = subprocess.Popen([sys.executable, "-c", _MAKING], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    pids = [int(making_it.stdout.readline()) for _ in range(2)]
    making_it.send_signal(signal.SIGTERM)
    making_it.communicate(timeout=60)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
