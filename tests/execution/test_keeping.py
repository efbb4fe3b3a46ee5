"""What a run keeps beside scores: that it is there, that it is right, and that nothing else changes for it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, f1_score, label_ranking_loss

from mlcdr.data.dataset import load_dataset
from mlcdr.errors import ResultsError
from mlcdr.execution.models import load_model
from mlcdr.execution.plan import survey
from mlcdr.execution.runner import RunReport, run
from tests import small
from tests.small import FOUR, SIZES

BOTH = {"scores": True, "models": True}
METHODS: dict[str, Any] = {
    "PLST": FOUR["PLST"],
    "Cut": {**FOUR["PLST"], "threshold": {"maximise": "f1"}},
    "KNN": {"learner": "sklearn.neighbors.KNeighborsClassifier"},
    "Guess": {"learner": "tests.small.Guess"},
}


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def index(report: RunReport) -> list[dict[str, str]]:
    with (report.folder / "kept" / "index.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_is_kept_is_what_was_measured(arff: Path, tmp_path: Path) -> None:
    """Scores recomputed from the files are those on record; the models say of the test rows what the files say."""
    metrics = ["hamming_loss", "f1", "ranking_loss", "brier_score"]
    report = run(small.experiment(arff, methods=METHODS, keep=BOTH, metrics=metrics), tmp_path / "out")
    assert not report.failures
    scores = pd.read_csv(report.folder / "scores.csv", dtype={SIZES: str}, keep_default_na=False)
    dataset = load_dataset(arff)
    listed = index(report)
    assert len(listed) == report.planned == 4 * (2 + 2 + 1 + 1)
    for line in listed:
        with np.load(report.folder / "kept" / line["scores"], allow_pickle=False) as kept:
            arrays = dict(kept)
        truth, labels = arrays["truth"], arrays["labels"]
        np.testing.assert_array_equal(truth, dataset.Y[arrays["rows"]])
        assert arrays["label_names"].tolist() == list(dataset.label_names)
        at = (scores["method"] == line["method"]) & (scores[SIZES] == line[SIZES])
        at &= scores["split"] == int(line["split"])
        measured = dict(zip(scores[at]["metric"], scores[at]["value"], strict=True))
        assert measured["hamming_loss"] == pytest.approx(np.mean(truth != labels), abs=1e-12)
        assert measured["f1"] == pytest.approx(f1_score(truth, labels, average="samples", zero_division=1), abs=1e-12)
        model = load_model(report.folder / "kept" / line["model"], trust=True)
        assert model.about["method"] == line["method"]
        np.testing.assert_array_equal(model.classifier.predict(dataset.X[arrays["rows"]]), labels)
        assert ("scores" in arrays) == model.classifier.has_scores == (line["method"] != "Guess")
        if "scores" in arrays:
            np.testing.assert_allclose(model.classifier.decision_function(dataset.X[arrays["rows"]]), arrays["scores"])
            if line["method"] != "KNN":  # which has ties, at probabilities of one half
                np.testing.assert_array_equal(arrays["scores"] > 0, labels)
            if line["method"] != "Cut":  # which has a threshold for each label: metrics see the scores before it
                assert measured["ranking_loss"] == pytest.approx(label_ranking_loss(truth, arrays["scores"]), abs=1e-12)
        assert ("ranking_loss" in measured) == ("scores" in arrays)
        assert ("brier_score" in measured) == (line["method"] == "KNN")
        if line["method"] == "KNN":
            present = model.classifier.predict_proba(dataset.X[arrays["rows"]])
            theirs = [brier_score_loss(y, p) for y, p in zip(truth.T, present.T, strict=True)]
            assert measured["brier_score"] == pytest.approx(np.mean(theirs), abs=1e-12)


def test_of_two_sizes_that_share_a_fit_each_keeps_its_own_model(arff: Path, tmp_path: Path) -> None:
    report = run(small.experiment(arff, methods={"Cut": METHODS["Cut"]}, keep={"models": True}), tmp_path / "out")
    alone = run(
        small.experiment(arff, methods={"Cut": METHODS["Cut"]}, sweep={SIZES: [1]}, keep={"models": True}),
        tmp_path / "alone",
    )
    X = load_dataset(arff).X
    one = next(line for line in index(report) if line[SIZES] == "1" and line["split"] == "2")
    same = next(line for line in index(alone) if line["split"] == "2")
    files = [report.folder / "kept" / one["model"], alone.folder / "kept" / same["model"]]
    loaded = [load_model(path, True).classifier for path in files]
    np.testing.assert_allclose(loaded[0].decision_function(X), loaded[1].decision_function(X), atol=1e-9)
    assert loaded[0]._training is None  # the training rows' scores are not a part of the model


def test_keeping_computes_what_is_missing_and_leaves_the_record_alone(arff: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = run(small.experiment(arff), out)
    files = ["scores.csv", "summary.csv"]
    contents = [(before.folder / name).read_bytes() for name in files]
    wanted = small.experiment(arff, keep={"scores": True})
    assert survey(wanted, out).datasets["pending"][0] == 16
    report = run(wanted, out)
    assert (report.planned, report.kept, report.computed) == (16, 0, 16)
    assert [(report.folder / name).read_bytes() for name in files] == contents
    told = json.loads((report.folder / "manifest.json").read_text())["kept"]
    assert (told["index"], told["scores"], told["models"]) == ("kept/index.csv", 16, 0)
    again = run(wanted, out)
    assert (again.kept, again.computed) == (16, 0)
    # one file is lost, and one was being written when a run was killed
    lost = report.folder / "kept" / index(report)[3]["scores"]
    content = lost.read_bytes()
    lost.unlink()
    half = lost.with_name(f".writing-{lost.name}.123")
    half.write_bytes(content[:100])
    assert survey(wanted, out).datasets["pending"][0] == 1
    mended = run(wanted, out)
    assert (mended.kept, mended.computed) == (15, 1)
    assert lost.read_bytes() == content
    assert not half.exists()
    more = run(small.experiment(arff, keep=BOTH), out)
    assert (more.kept, more.computed) == (0, 16)
    assert {line["model"] != "" for line in index(more)} == {True}
    assert run(small.experiment(arff), out).kept == 16
    assert [(report.folder / name).read_bytes() for name in files] == contents


def test_a_fresh_run_keeps_nothing_of_the_one_before(arff: Path, tmp_path: Path) -> None:
    report = run(small.experiment(arff, keep={"scores": True}), tmp_path / "out")
    assert len(index(report)) == 16
    run(small.experiment(arff, sweep={SIZES: [1]}), tmp_path / "out", fresh=True)
    assert not (report.folder / "kept").exists()


@pytest.mark.usefixtures("forked_workers")
def test_the_same_files_for_any_number_of_workers(arff: Path, tmp_path: Path) -> None:
    experiment = small.experiment(arff, methods={"PLST": FOUR["PLST"]}, keep={"scores": True})
    one, two = run(experiment, tmp_path / "one"), run(experiment, tmp_path / "two", jobs=2)
    assert index(one) == index(two)
    for line in index(one):
        a, b = (report.folder / "kept" / line["scores"] for report in (one, two))
        assert a.read_bytes() == b.read_bytes()


def test_tuning_keeps_the_chosen_model_only(arff: Path, tmp_path: Path) -> None:
    tune = {"grid": {"learner.alpha": [0.1, 1.0]}, "folds": 2, "metric": "hamming_loss", "scope": "split"}
    methods = {"Ridge": {"learner": "ridge", "tune": tune}}
    report = run(small.experiment(arff, methods=methods, sweep={}, keep=BOTH), tmp_path / "out")
    assert not report.failures
    assert len(list((report.folder / "kept").rglob("*.npz"))) == 4
    chosen = {r["split"]: float(r["value"]) for r in csv.DictReader((report.folder / "chosen.csv").open(newline=""))}
    for line in index(report):
        model = load_model(report.folder / "kept" / line["model"], True)
        assert model.classifier.learner.alpha == chosen[line["split"]]


def test_names_that_no_folder_can_have(arff: Path, tmp_path: Path) -> None:
    methods = {"../a/b": FOUR["PLST"], ".. a b": FOUR["PBR"], "é + 1%": FOUR["PLST"]}
    report = run(small.experiment(arff, methods=methods, sweep={SIZES: [1]}, keep={"scores": True}), tmp_path / "out")
    kept = report.folder / "kept"
    for line in index(report):
        path = (kept / line["scores"]).resolve()
        assert path.is_file()
        assert kept.resolve() in path.parents
    assert len({line["scores"] for line in index(report)}) == 12


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_computed(arff: Path, tmp_path: Path) -> None:
    done = run(small.experiment(arff), tmp_path / "out")
    (done.folder / "kept").write_text("in the way")
    with pytest.raises(ResultsError, match="kept: not a folder"):
        run(small.experiment(arff, keep=BOTH), tmp_path / "out")


def test_what_cannot_be_kept_is_a_failure_and_the_record_stays(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(small.experiment(arff), tmp_path / "out")
    before = (done.folder / "scores.csv").read_bytes()

    really = Path.replace

    def full(path: Path, target: Path) -> Path:
        if ".npz" in path.name:
            raise OSError(28, "No space left on device")
        return really(path, target)

    monkeypatch.setattr(Path, "replace", full)
    report = run(small.experiment(arff, keep={"scores": True}), tmp_path / "out")
    assert len(report.failures) == 16
    assert report.failures[0][1].endswith(".npz: cannot be written: No space left on device")
    assert (done.folder / "scores.csv").read_bytes() == before
    monkeypatch.undo()
    assert run(small.experiment(arff, keep={"scores": True}), tmp_path / "out").computed == 16
