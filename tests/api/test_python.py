"""From Python: `import mlcdr`, `mlcdr.run` on data in memory, `Results`, and what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score

import mlcdr
from mlcdr import processes
from mlcdr.csv_files import as_numbers
from mlcdr.data import held
from mlcdr.experiment import shipped
from mlcdr.results import results as folders
from tests import prepared, small

N = 60


def make_data(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    return X, (X @ rng.normal(size=(5, 4)) + rng.normal(size=(N, 4)) > 0).astype(int)


def config(**changes: Any) -> dict[str, Any]:
    plain = small.plain(Path("unused"), **changes)
    return {key: value for key, value in plain.items() if key != "datasets" or "datasets" in changes}


def run(folder: Path | None, data: Any = None, **options: Any) -> mlcdr.Results:
    given = {"mine": make_data() if data is None else data}
    return mlcdr.run(config(), **{"datasets": given, "out": folder, "jobs": 1, "quiet": True, **options})


def computed(results: mlcdr.Results) -> int:
    """How many trials a run computed; one with nothing to do leaves the manifest as it is, so that is removed."""
    number = results.manifest["trials"]["computed"]
    (results.folder / "manifest.json").unlink()
    return number


def test_labels_of_two_frames_are_compared_in_one_order() -> None:
    Y = pd.DataFrame(np.eye(3, dtype=int), columns=list("abc"))
    assert mlcdr.evaluate(Y, Y)["f1"] == 1
    with pytest.raises(mlcdr.UserError, match="the same labels in the same order"):
        mlcdr.evaluate(Y, Y[list("cba")])
    with pytest.raises(mlcdr.UserError, match=r"^Y and predicted have different indexes"):
        mlcdr.evaluate(Y, Y.set_axis([1, 2, 3]))
    with pytest.raises(mlcdr.UserError, match=r"^scores: label 'a' has the values {high}"):
        mlcdr.evaluate(Y, Y, Y.astype(object).replace(1, "high").replace(0, "high"))


def test_import_is_light_and_lists_every_public_name() -> None:
    told = """
import sys, mlcdr
heavy = {"numpy", "scipy", "sklearn", "pandas", "pydantic", "yaml", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
assert dir(mlcdr) == sorted(mlcdr.__all__) and "run" in dir(mlcdr)
"""
    assert small.python("-c", told).stderr == ""
    from mlcdr.methods.registry import BUILT_IN

    classes = {target.rpartition(":")[2] for known in BUILT_IN.values() for target in known.values()}
    assert classes <= set(mlcdr.__all__)
    for name in mlcdr.__all__:
        assert getattr(mlcdr, name).__name__ == name


def test_what_there_is_to_name_is_listed_without_scikit_learn() -> None:
    told = """
import sys, mlcdr
found = [mlcdr.list_datasets(), mlcdr.list_methods(), mlcdr.list_metrics(), mlcdr.list_published()]
assert "sklearn" not in sys.modules
datasets, methods, metrics, published = (each.set_index("name") for each in found)
assert datasets.loc["yeast", ["instances", "features", "labels"]].tolist() == [2417, 103, 14]
assert methods.loc["cplst", ["family", "class"]].tolist() == ["label_space", "CPLST"]
assert metrics.loc["hamming_loss", "better"] == "lower"
assert published.loc["chen_lin_2012/table3", "methods"] == ["PLST", "CPLST"]
"""
    assert small.python("-c", told).stderr == ""


@pytest.mark.parametrize(
    "form",
    [
        lambda X, Y: (X, Y),
        lambda X, Y: (pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y).add_prefix("y")),
        lambda X, Y: (sp.csr_matrix(X), sp.csr_array(Y)),
        lambda X, Y: mlcdr.Dataset.of(X, Y, name="another name"),
    ],
    ids=["arrays", "frames", "sparse", "Dataset"],
)
def test_data_in_memory_are_run_in_every_form(tmp_path: Path, form: Any) -> None:
    summary = run(tmp_path, form(*make_data())).summary
    assert set(summary["dataset"]) == {"mine"}
    assert np.isfinite(summary["mean"]).all()


def test_the_numbers_are_those_of_the_command_on_the_same_data(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    (tmp_path / "small.yaml").write_text(json.dumps(small.plain(arff)))
    done = prepared.command("run", "small.yaml", "--jobs", "1", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = mlcdr.open_results(tmp_path / "results" / "small").scores
    data = mlcdr.load_dataset(arff)
    ours = mlcdr.run(
        small.plain(arff), datasets={"tiny": (data.X, data.Y)}, out=tmp_path / "python", jobs=1, quiet=True
    )
    pd.testing.assert_frame_equal(ours.scores, told)
    (tmp_path / "results" / "small" / "manifest.json").unlink()  # a run with nothing to do would leave it as it is
    again = mlcdr.run(tmp_path / "small.yaml", out=tmp_path / "results", jobs=1, quiet=True)
    assert computed(again) == 0, "the same keys"


def test_a_second_run_computes_what_is_missing_and_changed_data_are_computed_again(tmp_path: Path) -> None:
    assert computed(run(tmp_path)) == 16
    assert computed(run(tmp_path)) == 0
    assert computed(run(tmp_path, set={"splits.repeats": 5})) == 4
    assert computed(run(tmp_path, set=["splits.repeats=5"])) == 0
    X, Y = make_data()
    X[0, 0] += 1e-9
    assert computed(run(tmp_path, (X, Y))) == 16
    assert computed(run(tmp_path, (X, Y), fresh=True)) == 16
    whole = mlcdr.Dataset.of(*make_data(), name="whole")
    assert computed(run(tmp_path, whole.rows(np.arange(50)))) == 16, "some rows are other data"


def test_nothing_is_kept_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    results = run(None)
    assert len(results.scores) == 16 * 3
    assert list(tmp_path.iterdir())
    del results
    assert not list(tmp_path.iterdir())
    with pytest.raises(mlcdr.ConfigError):
        run(None, set={"splits.kind": "no"})
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()


def test_other_processes_find_the_data_in_files_that_are_removed() -> None:
    data = mlcdr.Dataset.of(sp.csr_array(np.eye(4)), sp.csr_array(np.eye(4, dtype=int)), name="eye")
    with held.holding([data]), held.shared():
        folder = Path(os.environ[held.FOLDER])
        held._held.clear()  # another process has none
        found = mlcdr.load_dataset("mine", memory=data.checksum)
        assert (found.name, found.checksum, found.label_names) == ("mine", data.checksum, data.label_names)
        assert (found.X != data.X).nnz == (found.Y != data.Y).nnz == 0
    assert not folder.exists()
    assert held.FOLDER not in os.environ
    with pytest.raises(mlcdr.DataError, match="was given in memory"):
        mlcdr.load_dataset("mine", memory=data.checksum)


@pytest.mark.slow  # up to three processes import everything
@pytest.mark.parametrize("workers", ["forks", "new interpreters"])
def test_workers_find_the_data_without_a_guarded_main(tmp_path: Path, workers: str) -> None:
    """A script without `if __name__ == "__main__"`; the data are in no file."""
    script = f"""
import json, os, threading
if {workers!r} != "forks":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
import mlcdr
from mlcdr import processes
from mlcdr.csv_files import as_numbers
from mlcdr.data import held
from tests.api.test_python import config, make_data
assert not os.environ.get("AGAIN")
os.environ["AGAIN"] = "a worker does not run the script again"
r = mlcdr.run(config(), datasets={{"mine": make_data()}}, out={str(tmp_path)!r}, jobs=2, quiet=True)
assert r.manifest["jobs"] == 2 and r.manifest["trials"]["computed"] == 16
print(r.scores.to_csv(index=False))
"""
    (tmp_path / "script.py").write_text(script)
    done = small.python("script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == run(None).scores.to_csv(index=False).strip()


def test_the_configs_own_list_stays_where_it_has_the_name(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    both = mlcdr.run(config(datasets=[str(arff), "mine"]), datasets={"mine": make_data()}, out=tmp_path, jobs=1,
                     quiet=True)  # fmt: skip
    assert list(dict.fromkeys(both.scores["dataset"])) == ["tiny", "mine"]
    only = mlcdr.run(config(datasets=[str(arff)]), datasets={"mine": make_data()}, out=None, jobs=1, quiet=True)
    assert set(only.scores["dataset"]) == {"mine"}
    with pytest.raises(mlcdr.ConfigError, match=r"datasets: 'other' was given in memory and is not listed .*mine"):
        mlcdr.run(config(datasets=["mine"]), datasets=dict.fromkeys(["mine", "other"], make_data()), out=None)


def test_options_of_data_in_memory_are_refused_and_given_with_the_data(tmp_path: Path) -> None:
    X, Y = make_data()
    X[3, 1] = np.nan
    filled = mlcdr.Dataset.of(X, Y, missing="mean")
    plain = config(datasets=[{"mine": {"missing": "mean"}}])
    with pytest.raises(mlcdr.ConfigError, match=r"datasets\.0\.mine: .*Dataset\.of\(X, Y, missing='mean'\)"):
        mlcdr.run(plain, datasets={"mine": filled}, out=tmp_path)
    with pytest.raises(
        mlcdr.DataError, match=r"row 4: feature 'feature2' has no value.*datasets=\{'mine': mlcdr\.Dataset\.of\(X, Y"
    ):
        run(tmp_path, (X, Y))
    results = run(tmp_path, filled)
    assert np.isfinite(results.summary["mean"]).all()
    again = mlcdr.run(results.experiment, datasets={"mine": filled}, out=tmp_path, jobs=1, quiet=True)
    assert len(again.scores) == len(results.scores), "a resolved experiment has the digest for an option"


def test_the_command_line_names_data_that_are_gone(tmp_path: Path) -> None:
    run(tmp_path)
    done = prepared.command("run", "small/experiment.yaml", "--out", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "mine: was given in memory" in done.stderr


def test_results_hold_what_the_files_hold(tmp_path: Path) -> None:
    results = run(tmp_path)
    for name in ("scores", "summary"):
        again = pd.read_csv(results.folder / f"{name}.csv", dtype={small.SIZES: str}, keep_default_na=False)
        assert list(getattr(results, name).columns) == list(again.columns)
        assert getattr(results, name).to_csv(index=False) == (results.folder / f"{name}.csv").read_text()
    assert (results.name, results.experiment.name) == ("small", "small")
    assert len(results.failures) == 0
    assert results.scores[small.SIZES].unique().tolist() == ["1", "50%"]


def test_everything_is_shown_as_text_and_as_html(tmp_path: Path) -> None:
    results = run(tmp_path)
    assert "PLST" in str(results.table())
    assert "<table" in results.table()._repr_html_()
    assert "F1" in str(results.table("f1"))
    assert [each.metric for each in results.compare()] == ["hamming_loss", "f1", "encoding_error"]
    assert results.compare("f1").metric == "f1"
    assert "<table" in results.compare("f1")._repr_html_()
    assert 'src="data:image/png;base64,' in results.plot("f1", layout="boxes")._repr_html_()
    page = results.report()
    assert os.fspath(page) == str(results.folder / "report.html")
    assert "<iframe" in page._repr_html_()
    assert "<script" not in page._repr_html_()
    assert "<table" in results._repr_html_()
    assert "2 methods" in repr(results)
    stored = mlcdr.open_results(shipped.record_folder() / "chen_lin_2012" / "table3")
    assert "8 data sets, 2 methods" in repr(stored), "a folder of means only"
    assert "0 worse" in str(mlcdr.compare(results, baseline=results.folder))
    for several, names in (
        (results.table(), {"generic.md", "generic.tex", "generic.csv"}),
        (results.plot("f1", layout="boxes"), {"boxes.svg", "boxes.png"}),
    ):
        assert {path.name for path in several.write(tmp_path / "written") if path.exists()} == names
    with pytest.raises(mlcdr.ResultsError, match="no metric 'f2'"):
        results.compare("f2")
    assert "0.4" not in str(results.table("f1", digits=0))
    with pytest.raises(mlcdr.ResultsError, match=r"no metric 'curves'.*write layout='curves'"):
        results.plot("curves")


def test_every_table_is_had_in_every_form(tmp_path: Path) -> None:
    results = run(tmp_path)
    beside = mlcdr.compare(results, baseline=results.folder)
    for table in (results.table("f1"), results.table(), results.compare("f1"), results.compare(), beside):
        frame = table.frame()
        assert set(frame["dataset"]) == {"mine"}
        measured = frame["old" if table is beside else "mean"]
        assert measured.between(0, 2).all()
        assert "mine" in table.markdown() or table is beside
        assert r"\begin{table}" in table.latex()
        assert table.write(tmp_path / "forms" / "table")
    assert len(results.compare().frame()) == sum(len(each.records) for each in results.compare())


def test_values_of_a_sweep_are_numbers_where_all_are(tmp_path: Path) -> None:
    methods = {"PLST": {"label_space": "plst", "learner": "ridge"}}
    sweep = {"label_space.n_components": [1, 2], "learner.alpha": [0.5, 1]}
    results = run(tmp_path, set={"methods": methods, "sweep": sweep})
    for frame in (results.scores, results.summary, results.table("f1").frame()):
        assert frame[small.SIZES].unique().tolist() == [1, 2]
        assert frame["learner.alpha"].unique().tolist() == [0.5, 1.0]
    assert run(tmp_path).summary[small.SIZES].unique().tolist() == ["1", "50%"]


def test_names_of_data_are_text_in_html(tmp_path: Path) -> None:
    results = mlcdr.run(config(), datasets={"<b>x": make_data()}, out=tmp_path, jobs=1, quiet=True)
    shown = [results, results.table(), results.compare(), results.plot(), results.report()]
    assert all("<b>x" not in each._repr_html_() for each in shown)


def test_failed_trials_are_a_warning_and_a_frame(tmp_path: Path) -> None:
    one = {"learner": {"binary_relevance": {"estimator": {"sklearn.svm.SVC": {"kernel": "precomputed"}}}}}
    with pytest.warns(mlcdr.FailedTrialsWarning, match=r"4 of 20 trials failed: mine, SVC: ValueError") as caught:
        results = run(tmp_path, set={"methods.SVC": one})
    assert len(caught) == 1
    assert caught[0].filename == __file__.replace(".pyc", ".py")
    assert list(results.failures.columns) == ["dataset", "method", small.SIZES, "split", "reason", "traceback"]
    assert results.failures["split"].tolist() == [0, 1, 2, 3]
    assert "Traceback" in results.failures["traceback"][0]
    assert "4 trials failed" in repr(results)
    with pytest.warns(mlcdr.FailedTrialsWarning):  # nothing but failures
        results = run(tmp_path, set={"name": "none", "methods": {"SVC": one}, "sweep": {}})
    assert len(results.failures) == 4
    assert results.scores.empty
    assert "no trial has a result; 4 failed" in results._repr_html_()
    with pytest.raises(mlcdr.ResultsError, match=r"`mlcdr status .*`\.failures`\); the first: ValueError: Precomputed"):
        results.compare()
    both = {"SVC": one, "Ridge": {"learner": "ridge"}}
    with pytest.warns(mlcdr.FailedTrialsWarning):  # and the others have no such number
        results = run(tmp_path, set={"name": "undefined", "methods": both, "sweep": {}, "metrics": ["log_loss"]})
    assert len(results.failures) == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"config": "nowhere.yaml"}, "nowhere.yaml"),
        ({"config": 3}, "config: must be a path, a mapping or an Experiment, found 3"),
        (
            {"config": {"name": object}},
            r"config: name: is the class object; a config holds texts, numbers, lists, mappings and estimators",
        ),
        ({"datasets": {"mine": (pd.DataFrame([[1.0]]), pd.DataFrame([[1]], index=[7]))}}, "have different indexes"),
        ({"datasets": {"mine": (np.eye(2), [["a"], ["b", 0.5]])}}, "mine: row 2: 0.5 where the name of a label"),
        ({"set": {"methods.PLST.learner": "rigde"}}, "^set: methods.PLST.learner: .*did you mean 'ridge'"),
        ({"jobs": -1}, "jobs: must be a whole number"),
        ({"datasets": [1]}, r"datasets: must map names to \(X, Y\)"),
        ({"datasets": {"mine": 1}}, r"datasets: 'mine' must be \(X, Y\) or a Dataset, found .* int"),
        ({"datasets": {"mine": ([[1.0]], [[2]])}}, "mine"),
        ({"backend": "threads"}, "backend: 'threads' is none of loky, dask"),
        ({"out": "/proc/none"}, "/proc/none"),
    ],
    ids=str,
)
def test_what_is_wrong_is_one_line(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    options = {
        "config": config(),
        "datasets": {"mine": make_data()},
        "out": tmp_path,
        "jobs": 1,
        "quiet": True,
        **wrong,
    }
    with pytest.raises(mlcdr.UserError, match=message) as caught:
        mlcdr.run(options.pop("config"), **options)
    assert "\n" not in str(caught.value)


def test_what_are_no_results_is_one_line(tmp_path: Path) -> None:
    results = run(tmp_path)
    for name, call in {
        "folder": lambda: mlcdr.open_results(5),  # type: ignore[arg-type]
        "results": lambda: mlcdr.compare(results, ["small"]),  # type: ignore[arg-type]
        "baseline": lambda: mlcdr.compare(results, baseline=results.scores),  # type: ignore[arg-type]
    }.items():
        with pytest.raises(mlcdr.UserError, match=f"^{name}: must be Results, or the path of a results folder; found"):
            call()


def test_an_estimator_in_a_mapping_is_what_a_config_says_of_it() -> None:
    composed = mlcdr.ComposedClassifier(linear_model.Ridge(3.0), feature_space=[mlcdr.PCA(3), mlcdr.LabelCCA()])
    given = {"A": {"label_space": mlcdr.CPLST(2), "learner": mlcdr.Ridge()}, "B": composed, "C": mlcdr.MLkNN(5)}
    experiment = mlcdr.load_experiment(config(datasets=["yeast"], methods=given, sweep={}))
    steps = [{"pca": {"n_components": 3}}, {"mlcdr.methods.feature_space.cca.LabelCCA": {}}]  # a name of two families
    said = {
        "A": {"label_space": {"cplst": {"n_components": 2}}, "learner": "ridge"},
        "B": {"feature_space": steps, "learner": {"sklearn.linear_model.Ridge": {"alpha": 3.0}}},
        "C": {"learner": {"mlknn": {"k": 5}}},
    }
    assert experiment == mlcdr.load_experiment(config(datasets=["yeast"], methods=said, sweep={}))


class WithoutParameters:
    def fit(self, X: Any, Y: Any) -> WithoutParameters:
        return self


def test_an_object_that_no_config_can_name_is_refused_with_what_to_do() -> None:
    def refused(learner: Any) -> str:
        with pytest.raises(mlcdr.ConfigError) as caught:
            mlcdr.load_experiment(config(datasets=["yeast"], methods={"A": {"learner": learner}}, sweep={}))
        return str(caught.value)

    own = f"write '{__name__}.WithoutParameters', or {{'{__name__}.WithoutParameters': {{parameter: value}}}}"
    assert "has no get_params, from which its parameters would be read; derive the class from" in (
        refused(WithoutParameters())
    )
    assert refused(WithoutParameters()).endswith(f"sklearn.base.BaseEstimator, or {own}")
    assert f"is the class WithoutParameters; {own}, or an est" in refused(WithoutParameters)
    assert "is of type function; a config holds texts" in refused(refused)
    assert "dtype: is the class float32; a config holds texts" in refused(TfidfVectorizer(dtype=np.float32))
    Mine = type("Mine", (linear_model.Ridge,), {"__module__": "__main__"})
    for learner in (Mine(), Mine, {"binary_relevance": {"estimator": Mine()}}):
        assert "a notebook defines itself" in refused(learner)
        assert "write it to a file, my_method.py, and import it from there, or name it my_method.Mine" in refused(
            learner
        )


def test_splits_are_the_rows_that_were_trained_and_tested_on(tmp_path: Path) -> None:
    results = run(tmp_path, set={"keep.scores": True})
    splits = results.splits(data=make_data())
    for path in results.folder.glob("kept/mine/PLST/split*.npz"):
        index = int(path.name[5])
        np.testing.assert_array_equal(np.load(path)["rows"], splits[index].test)
    assert len(splits) == 4
    assert sorted([*splits[0].train, *splits[0].test]) == list(range(N))
    for wrong, message in (({}, "was given in memory; give it again"), ({"dataset": "x"}, r"no data set 'x' \(mine\)")):
        with pytest.raises(mlcdr.ResultsError, match=message):
            results.splits(**wrong)


def test_a_kept_model_is_found_in_the_results_and_predicts(tmp_path: Path) -> None:
    methods = {"BR": {"learner": {"binary_relevance": {"estimator": "logistic_regression"}}}, "R": {"learner": "ridge"}}
    results = run(tmp_path, set={"methods": methods, "sweep": {}, "keep.models": True, "metrics": ["f1"]})
    assert list(results.models.columns) == ["dataset", "method", "split", "path"]
    assert results.models.groupby("method").size().to_dict() == {"BR": 4, "R": 4}
    X, _ = make_data()
    first = {method: rows["path"].iloc[0] for method, rows in results.models.groupby("method")}
    model = mlcdr.load_model(first["BR"], trust=True)
    probable = model.predict_proba(X)
    assert ((probable > 0.5).astype(int) == model.predict(X)).all(axis=None)
    with pytest.raises(AttributeError, match="predict_proba"):
        mlcdr.load_model(first["R"], trust=True).predict_proba(X)
    without = run(tmp_path / "other")
    assert not hasattr(without, "models")
    with pytest.raises(mlcdr.ResultsError, match=r"no models were kept; `keep: \{models: true\}`"):
        without.models  # noqa: B018


@pytest.mark.parametrize("scorer", ["f1_macro", "accuracy", "roc_auc", "average_precision"])
def test_scorers_of_scikit_learn_take_a_composed_classifier(scorer: str) -> None:
    X, Y = make_data()
    for model in (
        mlcdr.ComposedClassifier(mlcdr.BinaryRelevance(mlcdr.LogisticRegression())),
        mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.CPLST(2)),
    ):
        assert (cross_val_score(model, X, Y, cv=2, scoring=scorer, error_score="raise") > 0).all()


def test_an_experiment_is_run_as_it_is_and_with_changes(tmp_path: Path) -> None:
    experiment = mlcdr.load_experiment(config(datasets=["flags", "mine"]) | {"datasets": [small_synthetic()]})
    results = mlcdr.run(experiment, out=tmp_path, jobs=1, quiet=True)
    assert results.experiment.resolved() == experiment.resolved()
    assert computed(mlcdr.run(experiment, set={"splits.repeats": 5}, out=tmp_path, jobs=1, quiet=True)) == 4


def small_synthetic() -> dict[str, Any]:
    return {"made": {"synthetic": {"n_instances": 50, "n_features": 4, "n_labels": 3, "seed": 1}}}


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="no signals")
def test_an_interruption_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcdr.api import progress

    class Interrupts(progress.Listener):
        def advance(self, dataset: str, done: int, failed: int) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("mlcdr.api.running.make_listener", lambda quiet: contextmanager_of(Interrupts()))
    monkeypatch.setattr("mlcdr.execution.runner.PART_SECONDS", 0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt, match="4 of 16 trials are kept: the same call continues"):
            run(tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert computed(run(tmp_path)) == 12


def contextmanager_of(value: Any) -> Any:
    import contextlib

    return contextlib.nullcontext(value)


def test_the_version_is_that_of_the_package() -> None:
    assert mlcdr.__version__
    with warnings.catch_warnings(), pytest.raises(AttributeError):
        mlcdr.nothing  # noqa: B018


def test_what_was_chosen_is_a_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune = {"grid": {"learner.alpha": [0.1, 10]}, "folds": 2, "metric": "hamming_loss"}
    methods = {"PLST": {"label_space": "plst", "learner": "ridge"}}
    tuned = {"PLST": {"label_space": "plst", "learner": "ridge", "tune": tune}}
    for given, rows in ((tuned, 4), (methods, 0)):
        plain = small.plain(small.write_dataset(tmp_path / "data"), methods=given, sweep={}, tables=[], figures=[])
        monkeypatch.chdir(tmp_path)
        results = mlcdr.run(plain, out=f"out{rows}", jobs=1, quiet=True)
        monkeypatch.chdir("/")
        found = results.chosen
        assert list(found) == ["dataset", "method", "split", "parameter", "value"]
        assert len(found) == rows
        assert set(found.parameter) <= {"learner.alpha"}
        assert set(found.value) <= {"0.1", "10"}
        assert results.scores.split.nunique() == 4


def test_a_column_is_of_numbers_if_all_its_texts_are() -> None:
    for texts, values in ((["1", "2"], [1, 2]), (["1", "0.5"], [1, 0.5]), (["1", "20%"], ["1", "20%"])):
        assert as_numbers(pd.Series(texts)).tolist() == values
    assert as_numbers(pd.Series(["1", str(10**20)])).tolist() == [1, 1e20]


@pytest.mark.slow
def test_a_later_run_in_the_same_folder_does_not_change_results(tmp_path: Path) -> None:
    first = run(tmp_path / "one")
    again = mlcdr.open_results(first.folder)
    alone = run(tmp_path / "other")
    late = folders.open_results(first.folder)
    second = run(tmp_path / "one", make_data(seed=5), set={"splits.repeats": 3})
    assert len(second.scores) == 12 * 3
    for earlier in (first, again):
        for name in ("scores", "summary"):
            shown = getattr(earlier, name)
            kept = ~shown["metric"].str.endswith("seconds")
            pd.testing.assert_frame_equal(shown[kept], getattr(alone, name)[kept])
        assert earlier.table("f1").frame().equals(alone.table("f1").frame())
        assert earlier.manifest["trials"]["computed"] == 16
        assert earlier.experiment.splits.repeats == 4
        with pytest.raises(mlcdr.ResultsError, match=r"small: a later run has changed it .*; open it again, or give"):
            earlier.report()
        with pytest.raises(mlcdr.ResultsError, match="a later run has changed it"):
            mlcdr.compare(earlier, second)  # one folder would stand for both
    for name in ("manifest", "chosen", "tried"):
        with pytest.raises(mlcdr.ResultsError, match="a later run has changed it"):
            getattr(late, name)
    second.report()
    run(tmp_path / "one", make_data(seed=5), set={"splits.repeats": 3})
    second.report()  # nothing was computed


def test_figures_are_drawn_of_new_trials_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    changes = {"figures": [{"layout": "boxes"}]}
    run(tmp_path, set=changes)
    (figure,) = tmp_path.glob("small/figures/*.svg")
    before = figure.read_bytes()
    for path in figure.parent.iterdir():
        os.utime(path, (2**31, 2**31))
    run(tmp_path, make_data(seed=5), set=changes)
    assert figure.read_bytes() != before


def test_failures_and_kept_models_are_those_of_the_run(tmp_path: Path) -> None:
    one = {"learner": {"binary_relevance": {"estimator": {"sklearn.svm.SVC": {"kernel": "precomputed"}}}}}
    with pytest.warns(mlcdr.FailedTrialsWarning):
        first = run(tmp_path, set={"methods.SVC": one, "keep.models": True})
    run(tmp_path, make_data(seed=5), set={"splits.repeats": 2, "keep.models": True})
    assert first.failures["split"].tolist() == [0, 1, 2, 3]
    assert len(first.models) == 16


def test_what_changes_between_the_run_and_its_results_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(report: Any) -> None:
        monkeypatch.undo()
        run(tmp_path, make_data(seed=5))  # another process, while this one draws figures

    monkeypatch.setattr("mlcdr.api.running._write_whatever_there_is", slow)
    with pytest.raises(mlcdr.ResultsError, match="a later run has changed it"):
        run(tmp_path)


def test_an_interruption_before_the_plan_is_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise processes.Stop

    monkeypatch.setattr("mlcdr.execution.runner.plan_run", interrupted)
    with pytest.raises(KeyboardInterrupt, match="small: interrupted"):
        run(tmp_path)
