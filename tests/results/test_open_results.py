"""A folder is opened from its record of trials; one without, from the CSV files that are exported from it."""

import contextlib
import math
import shutil
import sqlite3
import subprocess
import sys

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from mlcdr.errors import ResultsError
from mlcdr.execution.runner import run
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.trials import TrialResult
from mlcdr.results.exports import NoResults, write_frame
from mlcdr.results.manifest import Manifest
from mlcdr.results.results import import_results, open_results
from mlcdr.results.store import Store, list_rows
from mlcdr.results.trials import read_scores
from tests import small
from tests.results_folders import PATH

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
    # every trial tried both values
    assert recorded.tried["learner.alpha"].to_list() == ["0.1", "10"] * 4
    columns = ["dataset", "method", "learner.alpha", "split", "metric", "chosen"]
    assert recorded.tried[columns].astype(str).equals(imported.tried[columns].astype(str))
    assert imported.tried["value"].to_numpy() == pytest.approx(recorded.tried["value"].to_numpy())
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
    with pytest.raises(ResultsError, match=r"manifest\.json: cannot be read: No such file or directory$"):
        Manifest.read(tmp_path)
    (tmp_path / "manifest.json").write_text('{"trials": {"failed": "many"}}')
    with pytest.raises(ResultsError, match=r"manifest\.json: trials\.failed: "):
        Manifest.read(tmp_path)


def test_results_are_opened_without_the_packages_that_methods_compute_with(folder):
    code = f"import sys; from mlcdr.results.results import open_results; open_results({str(folder)!r}); "
    code += "print(*{'sklearn', 'scipy', 'matplotlib'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def trial(key, method, size, split):
    from mlcdr.experiment.model import MethodSpec
    from mlcdr.experiment.trials import Trial

    spec = MethodSpec(learner=small.learner("least_squares"))
    return Trial(key, "tiny", method, ((PATH, size),) if size else (), split, spec, spec, "")


def test_scores_are_in_the_order_of_the_plan_however_they_were_recorded(tmp_path):
    """Of several records too; a metric that is not defined for a trial has no row, nor has what is of no plan."""
    plain = small.plain(small.write_dataset(tmp_path / "data"), metrics=["f1", "hamming_loss"], sweep={PATH: [1, 2]})
    both = experiment_from(plain)
    places = {"a": ("PLST", "1", 0), "b": ("PLST", "1", 1), "c": ("PLST", "2", 0), "d": ("BR", "", 0)}
    trials = {key: trial(key, *place) for key, place in places.items()}
    old = trial("old", "PLST", "1", 0)
    values = {"d": {"f1": 0.1, "hamming_loss": 0.2}, "old": {"f1": 9.0}, "b": {"hamming_loss": 0.3, "f1": math.nan}}
    with Store(tmp_path) as store:
        store.begin(trials, 1)
        scores = [TrialResult(key, of_trial) for key, of_trial in values.items()]
        failed = TrialResult("c", None, "Traceback")
        store.record(list_rows({**trials, "old": old}, [*scores, failed]))
    (tmp_path / "trials.sqlite").rename(tmp_path / "trials.1-of-2.sqlite")
    with Store(tmp_path) as store:
        again = [TrialResult("a", {"hamming_loss": 0.5, "f1": 0.4}), TrialResult("d", {"f1": 8.0})]
        store.record(list_rows(trials, again))
    found = read_scores(tmp_path, both)
    assert list(found) == ["dataset", "method", PATH, "split", "metric", "value"]
    assert found.astype(object).to_numpy().tolist() == [
        ["tiny", "PLST", "1", 0, "f1", 0.4],
        ["tiny", "PLST", "1", 0, "hamming_loss", 0.5],
        ["tiny", "PLST", "1", 1, "hamming_loss", 0.3],
        ["tiny", "BR", "", 0, "f1", 0.1],
        ["tiny", "BR", "", 0, "hamming_loss", 0.2],
    ]


def test_an_export_is_what_pandas_would_write(tmp_path):
    numbers = [0.1 + 0.2, -0.0, math.nan, math.inf, 1e-300, 123456789.123456789, 1.0]
    texts = ["plain", 'a "quote"', "a,comma", "two\nlines", "", " ½ ", "a\rb"]
    frame = pd.DataFrame({"method": pd.Categorical(texts), "a,b": texts, "split": range(7), "value": numbers})
    write_frame(tmp_path / "a.csv", frame)
    expected = frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
    assert (tmp_path / "a.csv").read_bytes() == expected.encode()
    write_frame(tmp_path / "none.csv", frame[:0])
    assert (tmp_path / "none.csv").read_bytes() == b'method,"a,b",split,value\n'
