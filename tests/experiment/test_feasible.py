"""What the data sets do not allow, told before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlcdr.errors import UserError
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import run
from mlcdr.experiment.data_checks import compare_with_data
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.method import FAMILIES
from mlcdr.experiment.yaml_reader import read_yaml_text
from tests.experiment.tables import records
from tests.small import FOUR, SIZES, plain, write_dataset


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    """60 rows, 5 features, 6 labels."""
    return write_dataset(tmp_path / "data")


def told(arff: Path, **changes: Any) -> list[str]:
    return [*map(str, compare_with_data(experiment_from(plain(arff, **changes))).mistakes)]


def of(parts: dict[str, Any]) -> dict[str, Any]:
    """Changes to the config: one method, nothing swept."""
    return {"sweep": {}, "methods": {"A": {"learner": "least_squares", **parts}}}


def test_what_fits_is_not_told(arff: Path) -> None:
    assert told(arff) == []
    assert told(arff, **of({"feature_space": {"pca": {"n_components": 5}}, "label_space": {"plst": 6}})) == []
    assert told(arff, **of({"label_space": {"plst": "100%"}})) == []
    assert told(arff, **of({"feature_space": {"reader": {"n_components": 6, "n_features": 5}}})) == []
    assert told(arff, **of({"learner": {"occ": {"n_features": 5, "order": [5, 4, 3, 2, 1, 0]}}})) == []
    assert told(arff, **of({"learner": {"rakel": {"labelsets": [[0, 1], [5]]}}})) == []
    ensemble = {"estimator": {"occ": {"n_features": 4}}, "features": 4, "instances": 45}
    assert told(arff, **of({"learner": {"ensemble": ensemble}})) == []
    assert told(arff, **of({"learner": {"ensemble": {"estimator": {"occ": {"n_features": "100%"}}}}})) == []
    reduced = {
        "feature_space": "pca",
        "learner": {"ensemble": {"estimator": {"occ": {"n_features": 6}}, "features": 6}},
    }
    assert told(arff, **of(reduced)) == [], "a step may leave the learner any number of features"
    reduced = {"feature_space": "pca", "learner": {"occ": {"n_features": 6}}}
    assert told(arff, **of(reduced)) == [], "a step may leave the learner any number of features"
    chain = {"classifier_chain": {"order": [1, 0]}}
    parts = {"instance_space": {"cbmlc": {"n_clusters": 2}}, "learner": chain}
    assert told(arff, **of(parts)) == [], "an instance space may show its parts fewer labels than there are"


def read(written: str) -> dict[str, Any]:
    """The changes to the config that a record of a table has."""
    changes = read_yaml_text(written, "a table").data
    parts = {key: changes.pop(key) for key in (*FAMILIES, "tune") if key in changes}
    return (of(parts) if parts else {}) | changes


@pytest.mark.parametrize(("written", "expected"), records("misfits"))
def test_what_does_not_fit_is_told(arff: Path, written: str, expected: str) -> None:
    (line,) = told(arff, **read(written))
    assert line.startswith(expected)


def test_the_grid_of_a_data_set_of_its_own_is_looked_at_whatever_its_case(arff: Path) -> None:
    size = "label_space.n_components"
    tune = {"grid": {size: [1]}, "grids": {"TINY": {size: [1, 9]}}, "metric": "hamming_loss"}
    (line,) = told(arff, **of({"label_space": "plst", "tune": tune}))
    assert line.startswith(f"methods.A.tune.grids.TINY.{size}: ")


@pytest.mark.parametrize(("written", "expected"), records("cut_down"))
def test_what_is_cut_down_is_remarked(arff: Path, written: str, expected: str) -> None:
    found = compare_with_data(experiment_from(plain(arff, **read(written))))
    assert found.mistakes == []
    (line,) = map(str, found.remarks)
    assert line.startswith(expected)
    assert line.endswith(", and means all of them")


def test_what_is_not_cut_down_is_not_remarked(arff: Path) -> None:
    for learner in (
        {"rakel": {"k": 6}},
        {"mlknn": 45},
        {"occ": {"n_parents": "100%"}},
        "clmlc",
        {"ensemble": {"estimator": {"mlknn": 45}, "instances": None}},
    ):
        family = "instance_space" if learner == "clmlc" else "learner"
        assert compare_with_data(experiment_from(plain(arff, **of({family: learner})))).remarks == [], (
            "a default least of all"
        )


class Notices(Listener):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, text: str) -> None:
        self.texts.append(text)


def test_what_is_told_is_what_fails_and_nothing_else(arff: Path, tmp_path: Path) -> None:
    """Sizes up to the bound and beyond it, as a run has it: of 45 training rows, 5 features and 6 labels."""
    for parts, path, sizes in (
        ({"label_space": "plst"}, SIZES, (1, 5, 6, 7)),
        ({"feature_space": "pca"}, "feature_space.n_components", (1, 5, 6, 7)),
        ({"dual_space": "idsr"}, "dual_space.n_features", (1, 5, 6, 7)),
        ({"learner": {"ensemble": {"estimator": "occ"}}}, "learner.estimator.n_features", (1, 2, 3, 4)),
        ({"learner": {"ensemble": {"estimator": "binary_relevance"}}}, "learner.instances", (44, 45, 46)),
    ):
        changes = {"sweep": {path: list(sizes)}, "methods": {"A": {"learner": "least_squares", **parts}}}
        experiment = experiment_from(plain(arff, **changes, name=path.replace(".", "_")))
        notices = Notices()
        report = run(experiment, tmp_path / "results", listener=notices)
        failing = {int(trial.point[0][1]) for trial, _ in report.failures}
        named = {int(each.text.split()[0]) for each in compare_with_data(experiment).mistakes}
        assert failing == named != set()
        assert compare_with_data(experiment).remarks == []
        found = [each.removesuffix("; these trials fail") for each in notices.texts if each.endswith("trials fail")]
        mistakes = [experiment.placed(line) for line in compare_with_data(experiment).mistakes]
        assert found == mistakes, "a run says it before it computes"
    changes = {"sweep": {"learner.k": [6, 99]}, "methods": {"A": {"learner": "rakel"}}}
    experiment = experiment_from(plain(arff, **changes, name="cut_down"))
    assert run(experiment, tmp_path / "results").failures == compare_with_data(experiment).mistakes == []
    assert len(compare_with_data(experiment).remarks) == 1


def test_a_class_of_ones_own_may_be_of_any_size(arff: Path) -> None:
    parts = {"feature_space": {"sklearn.decomposition.PCA": {"n_components": 50}}}
    assert told(arff, **of(parts)) == []


def test_a_parameter_that_a_class_needs_may_be_varied(arff: Path) -> None:
    parts: dict[str, Any] = {"feature_space": "tests.experiment.plain_classes.FirstColumns"}
    values = {"feature_space.number": [2, 3]}
    assert told(arff, **of(parts) | {"sweep": values}) == []
    assert told(arff, **of(parts | {"tune": {"grid": values}})) == []


def test_a_file_that_cannot_be_read_and_folds_that_do_not_fit(arff: Path, tmp_path: Path) -> None:
    (tmp_path / "folds.csv").write_text("fold\n0\n1\n")
    splits = {"kind": "file", "path": str(tmp_path / "folds.csv")}
    (line,) = told(arff, splits=splits)
    assert line.startswith("splits: ")
    assert "the file ends after 2 folds; tiny has 60 rows" in line
    arff.write_text(arff.read_text().replace("@data\n", "@data\nnot,a,row\n"))
    (line,) = told(arff)
    assert line.startswith("datasets.0: ")
    with pytest.raises(UserError):
        run(experiment_from(plain(arff)), tmp_path / "results")


def test_every_method_of_the_config_is_looked_at(arff: Path) -> None:
    methods = {"PBR": FOUR["PBR"], "A": {"feature_space": {"pca": 6}, "learner": "least_squares"}}
    lines = told(arff, sweep={SIZES: [7]}, methods=methods)
    assert [line.split(":")[0] for line in lines] == [
        f"sweep.{SIZES}.0",
        "methods.A.feature_space.pca.n_components",
    ]
