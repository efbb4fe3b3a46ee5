"""What each metric says of itself: its direction, what it needs, its options and its conventions."""

from __future__ import annotations

from mlcdr.metrics import METRICS


def test_every_metric_is_described():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.description
        assert set(metric.parameters) == set(metric.allowed)
        assert metric.convention or not metric.parameters
        # None: the default depends on another option, as the convention says
        assert all(value is None or metric.allows(option, value) for option, value in metric.parameters.items())


def test_an_option_that_changes_what_counts_at_0_has_a_convention_of_its_own() -> None:
    macro_f1 = METRICS["macro_f1"]
    assert macro_f1.convention_of({}) == macro_f1.convention_of({"of": "label_f1"}) == macro_f1.conventions()[0]
    of_means = macro_f1.convention_of({"of": "mean_precision_recall"})
    assert "left out of P" in of_means
    assert "left out of P" not in macro_f1.convention
    assert "is left out of the mean" in macro_f1.convention_of({"zero_division": "skip"})
    assert "counts ½" in METRICS["ranking_loss"].convention_of({"ties": "half"})
    assert macro_f1.conventions()[1].casefold() == f"of mean_precision_recall: {of_means}".casefold()
    for metric in METRICS.values():
        assert set(metric.instead) <= {value for option in metric.allowed for value in metric.list_allowed(option)}


BOUND = {"encoding_error", "prediction_error", "loss_bound"}
TIMES = {"fit_seconds", "predict_seconds", "execution_seconds"}
MEMORY = {"fit_memory"}
OF_SETS = {"hamming_score", "exact_match", "accuracy", "precision", "recall", "f1", "hamming_loss", "zero_one_loss"}
STATISTICS = ("precision", "recall", "specificity", "f1", "jaccard", "balanced_accuracy", "kappa", "mcc")
OF_SETS |= {f"{average}_{name}" for average in ("macro", "micro") for name in STATISTICS}
TOP = {"one_error", "precision_at_k", "recall_at_k", "ndcg_at_k", "psp_at_k", "psndcg_at_k"}
RANKINGS = {"coverage", "ranking_loss", "label_ranking_average_precision", "r_precision", "example_auc"}
RANKINGS |= {f"{average}_{name}" for average in ("macro", "micro") for name in ("auc", "average_precision")}
PROBABILITIES = {"log_loss", "brier_score"}
LOSSES = (
    {"hamming_loss", "zero_one_loss", "one_error", "coverage", "ranking_loss"} | PROBABILITIES | BOUND | TIMES | MEMORY
)
SCORES = (OF_SETS | TOP | RANKINGS) - LOSSES
SIZES = {"n_dimensions", "eigenvalue_share", "objective", "n_clusters", "cluster_instances", "cluster_labels"}


def test_every_metric_says_whether_more_is_better():
    assert METRICS.keys() == LOSSES | SCORES | SIZES
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is False} == LOSSES
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is True} == SCORES
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is None} == SIZES


def test_what_may_be_counted_where_a_denominator_is_0():
    choices = {name: set(METRICS[name].allowed.get("zero_division", ())) for name in OF_SETS}
    for name in set(STATISTICS) - {"balanced_accuracy"}:
        assert choices[f"macro_{name}"] == {0, 1, "skip"}
        assert choices[f"micro_{name}"] == {0, 1}
    for name in ("accuracy", "precision", "recall", "f1"):
        assert choices[name] == {0, 1, "skip", "agree"}


def test_every_metric_says_what_it_is_computed_from():
    needs = {name: metric.needs for name, metric in METRICS.items()}
    found = {kind: {name for name in needs if needs[name] == kind} for kind in set(needs.values())}
    assert found == {
        "labels": OF_SETS, "scores": RANKINGS, "top": TOP, "probabilities": PROBABILITIES,
        "bound": BOUND, "timing": TIMES, "memory": MEMORY, "features": SIZES,
    }  # fmt: skip
