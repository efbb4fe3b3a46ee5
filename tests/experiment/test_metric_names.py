"""Metrics by other names, hints on wrong ones, and metrics of one's own, from the config to the comparison."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from mlcdr.cli.components import methods
from mlcdr.comparison.comparison import compare_methods
from mlcdr.errors import ConfigError
from mlcdr.execution.runner import run
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.model import LayoutSpec
from mlcdr.metrics import METRICS, names, resolve
from mlcdr.metrics.names import ALIASES
from mlcdr.results.results import open_results
from mlcdr.tables import tables
from tests import small
from tests.small import FOUR


def share_of_predicted(Y, labels, scores):  # type: ignore[no-untyped-def]
    """Share of cells that are predicted.

    What a metric of one's own gets is checked here.
    """
    assert Y.shape == labels.shape
    assert scores is None or scores.shape == Y.shape
    assert set(np.unique(Y)) <= {0, 1}
    return labels.mean()


share_of_predicted.higher_is_better = True  # type: ignore[attr-defined]


def undirected(Y, labels, scores):  # type: ignore[no-untyped-def]
    return 0.0


OWN = "tests.experiment.test_metric_names.share_of_predicted"


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def test_another_name_of_a_metric_is_resolved_to_one(arff: Path) -> None:
    written = ["subset_accuracy", "p@3", {"p@5": {"ties": "mean"}}, {"precision_at_k": 1}, "LRAP", "ndcg_at_2"]
    config = small.plain(arff, metrics=written, tables=[{"layout": "generic", "metric": "lrap"}])
    found = experiment_from(config)
    assert [spec.label for spec in found.metrics] == [
        "exact_match", "precision_at_3", "precision_at_5", "precision_at_1", "label_ranking_average_precision",
        "ndcg_at_2",
    ]  # fmt: skip
    assert found.metrics[2].params == {"k": 5, "ties": "mean"}
    assert found.tables[0].metric == "label_ranking_average_precision"
    assert experiment_from(found.resolved()) == found
    assert all(resolve(alias)[0] in METRICS for alias in ALIASES)
    assert not ALIASES.keys() & METRICS.keys()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"metrics": ["auc"]}, "unknown metric 'auc'; write macro_auc, micro_auc or example_auc"),
        ({"metrics": ["hamming_los"]}, "did you mean 'hamming_loss'?"),
        ({"metrics": [{"precision_at_k": {"k": 0}}]}, "k must be a whole number from 1, found 0"),
        ({"metrics": [{"f1": {"beta": 0}}]}, "beta must be a number above 0, found 0"),
        ({"metrics": [{"coverage": {"ties": "wors"}}]}, "ties must be one of worst, first, best"),
        ({"metrics": [OWN.replace("share", "sh")]}, "cannot be imported"),
        ({"metrics": ["tests.experiment.test_metric_names.undirected"]}, "write `undirected.higher_is_better = True`"),
        ({"metrics": ["tests.small.Guess"]}, "is no function"),
        ({"metrics": [{OWN: {"higher_is_better": False}}]}, "higher_is_better must be True, found false"),
        ({"methods": {"A": {"learner": "ecc"}}}, "write `learner: {ensemble: classifier_chain}`"),
        ({"methods": {"A": {"learner": "BR"}}}, "write `learner: binary_relevance`"),
        ({"methods": {"A": {"learner": "rf"}}}, "write `learner: sklearn.ensemble.RandomForestClassifier`"),
    ],
)
def test_what_is_wrong_is_told_with_what_is_meant(changes: dict[str, object], told: str, arff: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        experiment_from(small.plain(arff, **changes))
    assert len(caught.value.problems) == 1
    assert told in caught.value.problems[0]


def test_a_metric_of_ones_own_is_measured_tuned_by_tabled_and_compared(arff: Path, tmp_path: Path) -> None:
    chosen = {"learner": "ridge", "tune": {"grid": {"learner.alpha": [1e-3, 1e6]}, "metric": OWN, "folds": 2}}
    config = small.plain(
        arff,
        metrics=["hamming_loss", {OWN: {"as": "predicted"}}],
        methods={"PLST": FOUR["PLST"], "Ridge": chosen},
        tables=[{"layout": "generic", "metric": "predicted"}],
    )
    report = run(experiment_from(config), tmp_path / "out")
    assert not report.failures
    found = open_results(report.folder)
    assert found.metric_facts("predicted").higher_is_better is True, "known without the function"
    assert compare_methods(found, "predicted").average_ranks
    assert "small: predicted" in tables.make_table(found, found.experiment.tables[0]).sheet.terminal(200)
    # all of α = 10⁶ is the mean, by which least is predicted
    assert set(found.chosen["value"]) == {"0.001"}


def test_a_metric_of_a_package_is_found_by_its_entry_point(
    arff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("predicted_share", OWN[::-1].replace(".", ":", 1)[::-1], "mlcdr.metric")
    monkeypatch.setattr(names, "plug_ins", lambda group: [point] * (group == point.group))
    names.offered.cache_clear()
    try:
        report = run(experiment_from(small.plain(arff, metrics=["hamming_loss", point.name])), tmp_path / "out")
        assert not report.failures
        assert open_results(report.folder).metrics == ("hamming_loss", point.name)
    finally:
        names.offered.cache_clear()


def test_a_metric_that_a_method_cannot_have_is_a_dash_with_a_note(arff: Path, tmp_path: Path) -> None:
    metrics = ["brier_score", "one_error"]
    logistic = {"learner": {"binary_relevance": "logistic_regression"}}
    config = small.plain(
        arff,
        metrics=metrics,
        sweep={},
        methods={"PLST": {"label_space": "plst", "learner": "ridge"}, "BR": logistic},
        tables=[{"layout": "generic", "metric": "brier_score"}],
    )
    report = run(experiment_from(config), tmp_path / "out")
    table = tables.make_table(
        open_results(report.folder), LayoutSpec(layout="generic", metric="brier_score")
    ).sheet.terminal(200)
    (row,) = [line for line in table.splitlines() if "PLST" in line]
    assert "–" in row
    assert "or of a method without probabilities" in table


def test_methods_say_what_they_give(capsys: pytest.CaptureFixture[str]) -> None:
    methods()
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert lines["mlknn"].endswith("[scores, and probabilities]")
    assert lines["classifier_chain"].endswith("[scores, and probabilities, if its estimator does]")
    assert lines["rakel"].endswith("[scores]")
    assert "[" not in lines["ridge"]
