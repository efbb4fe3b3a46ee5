"""What the data sets do not allow, told before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlcdr.config.data_checks import compare_with_data
from mlcdr.config.loading import experiment_from
from mlcdr.errors import UserError
from mlcdr.execution.listener import Listener
from mlcdr.execution.runner import run
from tests.small import FOUR, SIZES, plain, write_dataset


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    """60 rows, 5 features, 6 labels."""
    return write_dataset(tmp_path / "data")


def told(arff: Path, **changes: Any) -> list[str]:
    return compare_with_data(experiment_from(plain(arff, **changes))).mistakes


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


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sweep": {SIZES: [1, 7]}}, f"sweep.{SIZES}.1: 7 is more than the 6 labels of tiny"),
        (of({"label_space": {"plst": 7}}), "methods.A.label_space.plst.n_components: 7 is more than the 6 labels"),
        (of({"feature_space": {"pca": 6}}), "methods.A.feature_space.pca.n_components: 6 is more than the 5 features"),
        (of({"feature_space": {"jmi": 6}}), "methods.A.feature_space.jmi.n_features: 6 is more than the 5 features"),
        (
            of({"feature_space": [{"pca": 6}, {"pca": 9}]}),
            "methods.A.feature_space.0.pca.n_components: 6 is more than the 5 features",
        ),
        (
            of({"feature_space": {"rfs": {"n_features": 6}}}),
            "methods.A.feature_space.rfs.n_features: 6 is more than the 5 features of tiny",
        ),
        (
            of({"feature_space": {"mifs": {"n_components": 7}}}),
            "methods.A.feature_space.mifs.n_components: 7 is more than the 6 labels of tiny",
        ),
        (
            of({"feature_space": {"reader": {"n_components": 7}}}),
            "methods.A.feature_space.reader.n_components: 7 is more than the 6 labels",
        ),
        (
            of({"learner": {"reader_le": {"n_components": 7}}}),
            "methods.A.learner.reader_le.n_components: 7 is more than the 6",
        ),
        (
            of({"learner": {"occ": {"n_features": 6}}}),
            "methods.A.learner.occ.n_features: 6 is more than the 5 features",
        ),
        (
            of({"learner": {"classifier_chain": {"features": {"mlfs": {"n_features": 6}}}}}),
            "methods.A.learner.classifier_chain.features.mlfs.n_features: 6 is more than the 5 features of tiny",
        ),
        (
            of({"learner": {"classifier_chain": {"features": {"same_for_all": {"selector": {"jmi": 6}}}}}}),
            "methods.A.learner.classifier_chain.features.same_for_all.selector.jmi.n_features: 6 is more than the 5",
        ),
        (
            {
                **of({"learner": {"ensemble": {"estimator": {"occ": {}}}}}),
                "sweep": {"learner.estimator.n_features": [2, 3]},
            },
            "sweep.learner.estimator.n_features.1: 3 is more than the 2 features of tiny that a member of the ensemble",
        ),
        (
            of({"learner": {"ensemble": {"estimator": {"occ": {"n_features": 4}}, "variant": "published_code"}}}),
            "methods.A.learner.ensemble.estimator.occ.n_features: 4 is more than the 3 features of tiny that a member",
        ),
        (
            {
                **of({"learner": {"ensemble": {"estimator": {"occ": {"n_features": 4}}}}}),
                "sweep": {"learner.features": ["80%", "40%", None]},
            },
            "methods.A.learner.ensemble.estimator.occ.n_features: 4 is more than the 2 features of tiny that a member",
        ),
        (
            of(
                {
                    "learner": {
                        "ensemble": {
                            "estimator": {"ensemble": {"estimator": {"occ": {"n_features": 2}}}},
                            "features": 3,
                        }
                    }
                }
            ),
            "methods.A.learner.ensemble.estimator.ensemble.estimator.occ.n_features: 2 is more than the 1 features of ",
        ),
        (
            of({"learner": {"ensemble": {"estimator": {"occ": {"n_features": 5}}, "features": 6}}}),
            "methods.A.learner.ensemble.features: 6 is more than the 5 there are (tiny)",
        ),
        (
            {**of({"learner": "ensemble"}), "sweep": {"learner.instances": [45, 46]}},
            "sweep.learner.instances.1: 46 is more than the 45 there are (tiny)",
        ),
        (
            of({"learner": {"classifier_chain": {"order": [0, 1, 2, 4, 3]}}}),
            "methods.A.learner.classifier_chain.order: order must hold each of the 6 labels 0, 1, … once",
        ),
        (
            of({"learner": {"classifier_chain": {"order": ["a", 1, 2, 3, 4, 5]}}}),
            "methods.A.learner.classifier_chain.order: order must hold each of the 6 labels 0, 1, … once",
        ),
        (
            of({"learner": {"classifier_chain": {"order": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}}}),
            "methods.A.learner.classifier_chain.order: order must hold each of the 6 labels 0, 1, … once",
        ),
        (
            of({"learner": {"ensemble": {"estimator": {"occ": {"order": [0, 1, 2, 3, 4, 5, 6]}}}}}),
            "methods.A.learner.ensemble.estimator.occ.order: order must hold each of the 6 labels 0, 1, … once",
        ),
        (
            {**of({"learner": "k_dependence_chain"}), "sweep": {"learner.order": ["random", [1, 1, 2, 3, 4, 5]]}},
            "sweep.learner.order.1: order must hold each of the 6 labels 0, 1, … once",
        ),
        (
            of({"learner": {"bayesian_classifier_chain": {"root": 6}}}),
            "methods.A.learner.bayesian_classifier_chain.root: root 6 is none of the 6 labels (tiny)",
        ),
        (
            of({"learner": {"rakel": {"labelsets": [[0, 1], [5, 6]]}}}),
            "methods.A.learner.rakel.labelsets: a set holds some of the labels 0, …, 5, once each",
        ),
        (
            of({"learner": {"mlsf": {"groups": [[0, 1], [2, 3]]}}}),
            "methods.A.learner.mlsf.groups: groups must hold each of the 6 labels 0, 1, … once",
        ),
        (of({"dual_space": {"ddsr": 6}}), "methods.A.dual_space.ddsr.n_components: 6 is more than the 5 features"),
        (of({"dual_space": {"idsr": {"n_labels": 7}}}), "methods.A.dual_space.idsr.n_labels: 7 is more than the 6"),
        (
            of(
                {
                    "label_space": "plst",
                    "tune": {"grid": {SIZES: [2, 8]}, "folds": 2, "metric": "hamming_loss", "scope": "split"},
                }
            ),
            f"methods.A.tune.grid.{SIZES}: 8 is more than the 6 labels of tiny",
        ),
        ({"splits": {"kind": "kfold", "folds": 61, "seed": 1}}, "splits.folds: 61 folds of the 60 rows of tiny"),
        (
            {"splits": {"kind": "shuffle", "repeats": 2, "train_size": 60, "seed": 1}},
            "splits.train_size: 60 of the 60 rows of tiny leaves 0 rows for testing",
        ),
        (
            {"splits": {"kind": "kfold", "folds": 3, "seed": 1, "labelled": 41}},
            "splits.labelled: 41 rows of the 40 that train on tiny",
        ),
        ({"sweep": {"splits.labelled": [1, 46]}}, "splits.labelled: 46 rows of the 45 that train on tiny"),
        (
            {"splits": {"kind": "shuffle", "repeats": 2, "train_size": 0.001, "seed": 1}},
            "splits.train_size: 0.001 of the 60 rows of tiny leaves 60 rows for testing and 0 for training",
        ),
    ],
)
def test_what_does_not_fit_is(arff: Path, changes: dict[str, Any], expected: str) -> None:
    (line,) = told(arff, **changes)
    assert line.startswith(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (of({"learner": {"rakel": {"k": 99}}}), "methods.A.learner.rakel.k: 99 is more than the 6 labels of tiny"),
        (of({"learner": {"mlknn": 99}}), "methods.A.learner.mlknn.k: 99 is more than the 45 training rows of tiny"),
        (
            of({"instance_space": {"cbmlc": {"n_clusters": 46}}, "learner": {"rakel": {"k": 6}}}),
            "methods.A.instance_space.cbmlc.n_clusters: 46 is more than the 45 training rows of tiny",
        ),
        (
            of({"instance_space": "cbmlc", "learner": {"rakel": {"k": 7}}}),
            "methods.A.learner.rakel.k: 7 is more than the 6 labels of tiny",
        ),
        (
            of({"feature_space": ["pca", {"relieff": {"n_neighbors": 60}}]}),
            "methods.A.feature_space.1.relieff.n_neighbors: 60 is more than the 45 training rows of tiny",
        ),
        (
            of({"learner": {"homer": {"estimator": {"binary_relevance": {"estimator": {"mlknn": 50}}}}}}),
            "methods.A.learner.homer.estimator.binary_relevance.estimator.mlknn.k: 50 is more than the 45 training",
        ),
        (
            of({"learner": {"ensemble": {"estimator": {"mlknn": 40}, "instances": 30}}}),
            "methods.A.learner.ensemble.estimator.mlknn.k: 40 is more than the 30 training rows of tiny that a member",
        ),
        (of({"threshold": {"r_cut": 7}}), "methods.A.threshold.r_cut.n: 7 is more than the 6 labels of tiny"),
        (
            {**of({"learner": "occ"}), "sweep": {"learner.n_parents": [6, 0.8, 7]}},
            "sweep.learner.n_parents.2: 7 is more than the 6 labels of tiny",
        ),
        (
            {
                **of({"learner": {"mlknn": 30}}),
                "splits": {"kind": "kfold", "folds": 2, "seed": 1},
                "datasets": [{"synthetic": {"n_instances": 40, "n_features": 4, "n_labels": 3, "seed": 1}}],
            },
            "methods.A.learner.mlknn.k: 30 is more than the 20 training rows of ",
        ),
    ],
)
def test_what_is_cut_down_is_remarked(arff: Path, changes: dict[str, Any], expected: str) -> None:
    found = compare_with_data(experiment_from(plain(arff, **changes)))
    assert found.mistakes == []
    (line,) = found.remarks
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
        named = {int(line.split(": ")[1].split()[0]) for line in compare_with_data(experiment).mistakes}
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
