"""The page on what is reproduced: which folder belongs to which table, and that its numbers are the comparison's."""

import json
import shutil

import pytest

from mlcdr.errors import ResultsError
from mlcdr.reproduce import published, recipes, reproduction
from mlcdr.results.results import open_results
from tests.reporting.results_folders import PATH, as_printed, write_folder

pytestmark = pytest.mark.usefixtures("configs_read_once")

TABLE3, TABLE2 = "chen_lin_2012/table3", "pacharawongsakda_2012/table2"


def stored(folder, recipe, values, **changes):
    """A results folder of a config that comes with mlcdr, with made-up numbers."""
    config = recipes.recipes()[recipe].experiment.resolved() | changes
    write_folder(folder / config["name"], config, values, [PATH] if config.get("sweep") else [])
    return folder / config["name"]


def manifest(folder, *seconds, jobs=2, failed=0, interrupted=False):
    runs = [{"seconds": s, "jobs": jobs, "started": f"2026-03-0{i + 1}T10:00:00+00:00"} for i, s in enumerate(seconds)]
    trials = {"planned": 10, "failed": failed, "interrupted": interrupted}
    (folder / "manifest.json").write_text(json.dumps({"trials": trials, "computed_by": runs}))


def lines(page, beginning):
    return [line for line in page.splitlines() if line.startswith(beginning)]


def test_a_table_that_agrees_with_itself(tmp_path):
    folder = stored(tmp_path, TABLE3, as_printed(TABLE3))
    manifest(folder, 60.2, 12.3)
    page = reproduction.status(tmp_path).markdown()
    (row,) = lines(page, f"| {TABLE3}")
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        *(TABLE3, "–", "80", "80", "80", "0", "0", "0", "0", "1 min 12 s (2 workers)", "2026-03-02")
    ]
    assert "- Note" not in page, "the experiment is the config's, and all went well"
    assert f"Published tables without results here: {', '.join(n for n in published.names() if n != TABLE3)}." in page
    (protocol,) = lines(page, "- `chen_lin_2012_table3`: ")
    assert protocol.endswith("Splits: shuffle, repeats 100, train_size 0.9, seed 2012.")
    assert reproduction.status(folder).markdown().splitlines()[3:] == page.splitlines()[3:], "or the folder itself"


def test_cells_that_differ_come_first(tmp_path):
    off = {("yeast", "CPLST", "label_dim=20%"): 0.02, ("scene", "PLST", "label_dim=60%"): -0.01}

    def shifted(row):
        return float(row["mean"]) + off.get((row["dataset"], row["method"], row["setting"]), 0)

    folder = stored(tmp_path, TABLE3, as_printed(TABLE3, shifted))
    (found,) = reproduction.status(tmp_path).found
    beside = published.compare(open_results(folder), TABLE3)
    differing = [row for row in beside.rows if row.verdict == "differs"]
    assert {(r.published.dataset, r.published.method, r.published.setting) for r in differing} == set(off)
    assert found.comparison == beside
    assert {(r.published.dataset, r.published.method, r.published.setting) for r in found.worst[:2]} == set(off)
    assert abs(found.worst[0].z) == max(abs(row.z) for row in beside.rows)
    page = reproduction.status(tmp_path).markdown()
    assert f"- Result: {beside.summary()}." in page
    assert "78 of 80 cells" in page
    first = lines(page, "| yeast")[0]
    assert "+0.0200" in first
    assert "differs" in first


def test_the_parts_of_a_table_are_compared_together(tmp_path):
    cells = {
        (r.dataset, r.method, r.metric): [float(r.mean)] * 100
        for r in published.load(TABLE2)
        if r.mean and r.method in ("BR", "BR+", "CC")
    }
    both = {part: recipes.recipes()[f"{TABLE2}{part}"] for part in ("", "_large")}
    for part, recipe in both.items():
        here = {spec.name for spec in recipe.experiment.datasets}
        mine = {key: values for key, values in cells.items() if key[0] in here}
        plain = recipe.experiment.resolved()
        untuned = {name: {k: v for k, v in spec.items() if k != "tune"} for name, spec in plain["methods"].items()}
        stored(tmp_path, f"{TABLE2}{part}", mine, methods=untuned)
    (found,) = reproduction.status(tmp_path).found
    assert [each.folder.name for each in found.results] == [both[part].experiment.name for part in ("", "_large")]
    assert (found.table, found.variant) == (TABLE2, "")
    # 7 data sets × 3 methods × 4 metrics, but for the cells of bibtex that nothing reproduces
    assert (found.comparison.count("agrees"), found.comparison.count("not reproducible")) == (7 * 12 - 12, 12)
    page = reproduction.status(tmp_path).markdown()
    assert "- Not reproducible (12), bibtex BR, bibtex BR+ and bibtex CC: the printed values look like" in page
    assert 'methods.PLST.tune.scope: none (config: "test")' in page


def test_a_run_that_holds_several_tables_is_held_against_each(tmp_path):
    """Tables 4.2 to 4.5 of Sun 2017 are one run, each of another metric."""
    tables = [f"sun_2017_thesis/table4_{k}" for k in (2, 3, 4, 5)]
    values = {}
    for table in tables:
        values |= {(d, m, metric): v for (d, m, _, metric), v in as_printed(table).items()}
    stored(tmp_path, tables[0], values)
    found = reproduction.status(tmp_path).found
    assert [each.table for each in found] == tables
    for each in found:
        judged = len(published.load(each.table)) - each.comparison.count("not reproducible")
        assert each.comparison.compared == each.comparison.count("agrees") == judged


def test_what_must_be_known_of_a_folder_is_said(tmp_path):
    splits = {"kind": "shuffle", "repeats": 4, "train_size": 0.9, "seed": 2012}
    folder = stored(tmp_path, TABLE3, as_printed(TABLE3), splits=splits)
    manifest(folder, 5.0, jobs=1, failed=3, interrupted=True)
    page = reproduction.status(tmp_path).markdown()
    notes = lines(page, "- Note: ")
    name = "`chen_lin_2012_table3`"
    assert notes == [
        f"- Note: {name} differs from the config {TABLE3}: splits.repeats: 4 (config: 100).",
        f"- Note: {name}: 3 of 10 trials failed.",
        f"- Note: {name}: the last run was interrupted; the means are of what was done.",
    ]
    (folder / "manifest.json").unlink()
    page = reproduction.status(tmp_path).markdown()
    assert "the last run was broken off, or never ended" in page
    assert lines(page, "- Wall time") == ["- Wall time –, –."]


def test_variants_stand_apart_and_other_folders_do_not_count(tmp_path):
    whole = stored(tmp_path, TABLE3, as_printed(TABLE3))
    stored(tmp_path, f"{TABLE3}_as_stated", as_printed(TABLE3))
    small = stored(tmp_path, TABLE3, as_printed(TABLE3), name="chen_lin_2012_table3_small")
    stored(tmp_path, TABLE3, as_printed(TABLE3), name="mine")
    shutil.copytree(whole, tmp_path / "copy")
    (tmp_path / "empty").mkdir()
    found = reproduction.status(tmp_path).found
    assert sorted((each.variant, [r.folder.name for r in each.results]) for each in found) == [
        ("", ["chen_lin_2012_table3"]),
        ("", ["copy"]),  # two folders with the same cells are compared one by one
        ("as_stated", ["chen_lin_2012_table3_as_stated"]),
        ("small", ["chen_lin_2012_table3_small"]),
    ]
    (note,) = [n for each in found if each.variant == "small" for n in each.notes if "differs from the config" in n]
    assert "splits.repeats: 100 (config: 20)" in note, "compared with the reduction, not with the config"
    (small / "summary.csv").write_text("")
    assert "`chen_lin_2012_table3_small` cannot be compared: " in reproduction.status(tmp_path).markdown()


def test_where_nothing_is(tmp_path):
    assert reproduction.status(tmp_path).found == ()
    assert "Published tables without results here: " in reproduction.status(tmp_path).markdown()
    with pytest.raises(ResultsError, match="no such folder"):
        reproduction.status(tmp_path / "nowhere")


def test_the_command(tmp_path, mlcdr):
    stored(tmp_path, TABLE3, as_printed(TABLE3))
    done = mlcdr("reproduction-status", tmp_path)
    assert (done.code, done.err) == (0, "")
    assert mlcdr("reproduction-status", tmp_path, "--to", tmp_path / "page.md").out == ""
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == done.out
    wrong = mlcdr("reproduction-status", tmp_path / "nowhere")
    assert (wrong.code, wrong.out, len(wrong.err.splitlines())) == (2, "", 1)
