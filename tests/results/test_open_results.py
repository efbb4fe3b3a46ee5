"""A folder is opened from its record of trials; one without, from the CSV files that are exported from it."""

import contextlib
import shutil
import sqlite3
import subprocess
import sys

import pytest
from pandas.testing import assert_frame_equal

from mlcdr.errors import ResultsError
from mlcdr.execution.runner import run
from mlcdr.experiment.loading import experiment_from
from mlcdr.results.exports import NoResults
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import import_results, open_results
from tests import small

GRID = {"learner": "ridge", "tune": {"grid": {"learner.alpha": [0.1, 10]}, "scope": "test"}}

TUNED = {"learner": "ridge", "tune": {"grid": {"learner.alpha": [0.1, 10]}, "folds": 2}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with a sweep, a grid of which the best is shown, and a method that fails."""
    place = tmp_path_factory.mktemp("results")
    arff = small.write_dataset(place / "data", n=40)
    methods = {"PLST": small.FOUR["PLST"], "Grid": GRID, "Tuned": TUNED, "Bad": {"learner": "tests.small.Failing"}}
    splits = {"kind": "kfold", "folds": 2, "repeats": 2, "seed": 1}
    plain = small.plain(arff, methods=methods, splits=splits, metrics=["hamming_loss", "fit_seconds"])
    return run(experiment_from(plain), place, jobs=1).folder


def test_the_record_and_its_exports_are_the_same_results(folder):
    recorded, imported = open_results(folder), import_results(folder)
    for name in ("summary", "scores", "taken", "repetition_means"):
        assert_frame_equal(getattr(recorded, name), getattr(imported, name))
    for name in ("experiment", "points", "grids", "n_scored"):
        assert getattr(recorded, name) == getattr(imported, name), name
    # an export leaves out the columns of paths that no tuned method has
    columns = ["dataset", "method", "split", "parameter", "value"]
    assert recorded.chosen[columns].astype(str).equals(imported.chosen[columns].astype(str))
    assert set(recorded.chosen["method"]) == {"Tuned"}
    assert set(recorded.chosen["parameter"]) == {"learner.alpha"}
    # every trial tried both values; an export does not have them
    assert recorded.tried["learner.alpha"].to_list() == ["0.1", "10"] * 4
    assert imported.tried.empty
    assert recorded.grids == {"Grid": ("learner.alpha",)}
    assert "Bad" in recorded.methods
    assert "Bad" not in recorded.with_results


def without_record(folder):
    (folder / "trials.sqlite").unlink()


def without_exports(folder):
    for name in ("scores.csv", "summary.csv"):
        (folder / name).unlink()


def without_plan(folder):
    with contextlib.closing(sqlite3.connect(folder / "trials.sqlite")) as db, db:
        db.execute("DELETE FROM planned")


@pytest.mark.parametrize("lose", [without_record, without_exports, without_plan])
def test_the_numbers_are_those_of_the_record_or_else_of_the_exports(folder, tmp_path, lose):
    copy = shutil.copytree(folder, tmp_path / "copy")
    lose(copy)
    assert_frame_equal(open_results(copy).summary, open_results(folder).summary)


def test_a_plan_of_which_nothing_has_a_result_is_no_result(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(copy / "trials.sqlite")) as db, db:
        db.execute("DELETE FROM trials")
    with pytest.raises(NoResults, match="no trial has a result"):
        open_results(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("""UPDATE trials SET scores = '{"f1": "high"}'""", "damaged: 'high' in its table `trials`"),
        ("UPDATE trials SET point = '[1]'", "damaged: [1] in its table `trials`"),
        ("DROP TABLE planned", "damaged: its tables are not as mlcdr makes them"),
    ],
)
def test_a_damaged_record_is_refused(folder, tmp_path, change, message):
    copy = shutil.copytree(folder, tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(copy / "trials.sqlite")) as db, db:
        db.execute(change)
    with pytest.raises(ResultsError) as error:
        open_results(copy)
    assert message in str(error.value)


def test_the_experiment_is_that_of_the_run_whatever_its_components(folder):
    found = open_results(folder).experiment
    assert found.methods["Bad"].learner.name == "tests.small.Failing"
    text = (folder / "experiment.yaml").read_text(encoding="utf-8")
    (folder / "experiment.yaml").write_text(text.replace("tests.small.Failing", "gone.Away"), encoding="utf-8")
    try:
        assert open_results(folder).experiment.methods["Bad"].learner.name == "gone.Away"
    finally:
        (folder / "experiment.yaml").write_text(text, encoding="utf-8")


def test_the_manifest_has_types(folder, tmp_path):
    manifest = Manifest.read(folder)
    assert (manifest.trials.planned, manifest.trials.failed) == (24, 4)
    assert manifest.computed_by[0].trials.computed == 24
    (tmp_path / "manifest.json").write_text('{"trials": {"failed": "many"}}')
    with pytest.raises(ResultsError, match=r"manifest\.json: trials\.failed: "):
        Manifest.read(tmp_path)


def test_results_are_opened_without_the_packages_that_methods_compute_with(folder):
    code = f"import sys; from mlcdr.results.results import open_results; open_results({str(folder)!r}); "
    code += "print(*{'sklearn', 'scipy', 'matplotlib'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
