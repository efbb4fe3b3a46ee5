"""A folder is opened from its record of trials; one without, from the CSV files that are exported from it."""

import contextlib
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import fields

import pytest

from mlcdr.config.loading import experiment_from
from mlcdr.errors import ResultsError
from mlcdr.execution.runner import run
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import import_results, open_results
from mlcdr.results.scores import NoResults
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
    for field in fields(recorded):
        if not field.name.startswith("read_"):
            assert repr(getattr(recorded, field.name)) == repr(getattr(imported, field.name)), field.name
    assert repr(recorded.split_scores) == repr(imported.split_scores)
    assert recorded.scored == imported.scored
    # an export leaves out the columns of paths that no tuned method has
    assert [*recorded.choices.counts.values()] == [*imported.choices.counts.values()] != []
    assert [(*key[:2], key[3]) for key in recorded.choices.counts] == [("tiny", "Tuned", "learner.alpha")]
    assert recorded.grids == {"Grid": ("learner.alpha",)}
    assert "Bad" in recorded.methods
    assert "Bad" not in recorded.with_results


def test_a_folder_without_a_record_is_imported(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "trials.sqlite").unlink()
    assert repr(open_results(copy).cells) == repr(open_results(folder).cells)


def test_a_folder_is_opened_without_its_exports(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    for name in ("scores.csv", "summary.csv"):
        (copy / name).unlink()
    assert repr(open_results(copy).cells) == repr(open_results(folder).cells)


def test_a_record_without_a_plan_is_imported(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(copy / "trials.sqlite")) as db, db:
        db.execute("DROP TABLE planned")
    assert repr(open_results(copy).cells) == repr(open_results(folder).cells)


def test_a_plan_of_which_nothing_has_a_result_is_no_result(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(copy / "trials.sqlite")) as db, db:
        db.execute("DELETE FROM scores")
    with pytest.raises(NoResults, match="no trial has a result"):
        open_results(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE scores SET value = 'high'", "damaged: 'high' in its table `scores`"),
        ("UPDATE trials SET point = '[1]'", "damaged: '[1]' in its table `trials`"),
        ("DROP TABLE scores", "damaged: no such table: scores"),
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
