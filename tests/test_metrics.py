"""The metrics against scikit-learn's, over random and degenerate label matrices, with every convention for 0/0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from mlcdr.metrics import METRICS, Counts, Outcome, evaluate

EXACT = 1e-12


def pairs():
    """Label matrices: random ones of several densities, and all that a test fold can be like."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, k = rng.integers(1, 30), rng.integers(2, 12)
        density = rng.choice([0.02, 0.2, 0.6])
        yield (rng.random((n, k)) < density).astype(np.uint8), (rng.random((n, k)) < density).astype(np.uint8)
    zeros, ones = np.zeros((5, 4), np.uint8), np.ones((5, 4), np.uint8)
    yield from [(zeros, zeros), (zeros, ones), (ones, zeros), (ones, ones), (np.eye(5, 4, dtype=np.uint8), zeros)]


def value(name, Y, P, **options):
    """One metric of one prediction."""
    return evaluate(Outcome(Counts(Y, P)), {"m": (name, options)})["m"]


@pytest.mark.parametrize(("Y", "P"), list(pairs()))
def test_agrees_with_scikit_learn(Y, P):
    assert value("hamming_loss", Y, P) == pytest.approx(sk.hamming_loss(Y, P), abs=EXACT)
    assert value("hamming_score", Y, P) == pytest.approx(1 - sk.hamming_loss(Y, P), abs=EXACT)
    assert value("exact_match", Y, P) == pytest.approx(sk.accuracy_score(Y, P), abs=EXACT)
    assert value("zero_one_loss", Y, P) == pytest.approx(1 - sk.accuracy_score(Y, P), abs=EXACT)
    theirs = {
        "macro_precision": lambda z: sk.precision_score(Y, P, average="macro", zero_division=z),
        "macro_recall": lambda z: sk.recall_score(Y, P, average="macro", zero_division=z),
        "macro_jaccard": lambda z: sk.jaccard_score(Y, P, average="macro", zero_division=z),
        "micro_precision": lambda z: sk.precision_score(Y, P, average="micro", zero_division=z),
        "micro_recall": lambda z: sk.recall_score(Y, P, average="micro", zero_division=z),
        "micro_jaccard": lambda z: sk.jaccard_score(Y, P, average="micro", zero_division=z),
        "accuracy": lambda z: sk.jaccard_score(Y, P, average="samples", zero_division=z),
        "precision": lambda z: sk.precision_score(Y, P, average="samples", zero_division=z),
        "recall": lambda z: sk.recall_score(Y, P, average="samples", zero_division=z),
        "f1": lambda z: sk.f1_score(Y, P, average="samples", zero_division=z),
        "macro_f1": lambda z: sk.f1_score(Y, P, average="macro", zero_division=z),
        "micro_f1": lambda z: sk.f1_score(Y, P, average="micro", zero_division=z),
    }
    for name, score in theirs.items():
        for z in (0, 1):
            assert value(name, Y, P, zero_division=z) == pytest.approx(score(z), abs=EXACT), (name, z)
    for name in ("precision", "recall", "f1", "macro_f1", "macro_precision", "macro_recall"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a mean over nothing
            skipped = theirs[name](np.nan)
        assert value(name, Y, P, zero_division="skip") == pytest.approx(skipped, nan_ok=True, abs=EXACT), name


@pytest.mark.parametrize(("Y", "P"), list(pairs()))
def test_other_statistics_of_labels_agree_with_scikit_learn(Y, P):
    for name, average in (("f1", "samples"), ("macro_f1", "macro"), ("micro_f1", "micro")):
        theirs = sk.fbeta_score(Y, P, beta=2, average=average, zero_division=0)
        assert value(name, Y, P, zero_division=0, beta=2) == pytest.approx(theirs, abs=EXACT), name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels that are constant
        recalls = [sk.recall_score(1 - y, 1 - p, zero_division=0) for y, p in zip(Y.T, P.T, strict=True)]
        assert value("macro_specificity", Y, P) == pytest.approx(np.mean(recalls), abs=EXACT)
        for name, score in (
            ("mcc", sk.matthews_corrcoef),
            ("kappa", sk.cohen_kappa_score),
            ("balanced_accuracy", sk.balanced_accuracy_score),
        ):
            theirs = [score(y, p) for y, p in zip(Y.T, P.T, strict=True)]
            if name == "kappa":
                assert value("macro_kappa", Y, P, zero_division=1) == pytest.approx(
                    np.nan_to_num(theirs, nan=1).mean(), abs=EXACT
                )
                assert value("macro_kappa", Y, P, zero_division="skip") == pytest.approx(
                    np.nanmean(theirs), nan_ok=True, abs=EXACT
                )
            assert value(f"macro_{name}", Y, P) == pytest.approx(np.nan_to_num(theirs).mean(), abs=EXACT), name
            whole = score(Y.ravel(), P.ravel())
            assert value(f"micro_{name}", Y, P) == pytest.approx(np.nan_to_num(whole), abs=EXACT), name


@pytest.mark.parametrize(("Y", "P"), list(pairs()))
def test_agree_counts_an_empty_pair_as_right(Y, P):
    def loop(numerator, denominator):
        """Instance by instance: 0/0 is 1 if both sets are empty, else 0."""
        rows = []
        for y, p in zip(Y.astype(bool), P.astype(bool), strict=True):
            below = denominator(y, p)
            rows.append(numerator(y, p) / below if below else float(not y.any() and not p.any()))
        return np.mean(rows)

    both = lambda y, p: (y & p).sum()  # noqa: E731
    assert value("accuracy", Y, P) == pytest.approx(loop(both, lambda y, p: (y | p).sum()))
    assert value("precision", Y, P) == pytest.approx(loop(both, lambda y, p: p.sum()))
    assert value("recall", Y, P) == pytest.approx(loop(both, lambda y, p: y.sum()))
    assert value("f1", Y, P) == pytest.approx(loop(lambda y, p: 2 * (y & p).sum(), lambda y, p: y.sum() + p.sum()))


def test_terms_of_the_bound_and_times_pass_through():
    Y = np.zeros((2, 2), np.uint8)
    outcome = Outcome(Counts(Y, Y), encoding_error=1.5, prediction_error=2.0, fit_seconds=3.0, predict_seconds=4.0)
    wanted = ("encoding_error", "prediction_error", "loss_bound", "fit_seconds", "predict_seconds", "execution_seconds")
    assert list(evaluate(outcome, {m: (m, {}) for m in wanted}).values()) == [1.5, 2.0, 3.5, 3.0, 4.0, 7.0]
    assert np.isnan(evaluate(Outcome(Counts(Y, Y)), {"m": ("loss_bound", {})})["m"])


def test_what_is_kept_of_the_features_passes_through():
    Y = np.zeros((2, 2), np.uint8)
    outcome = Outcome(Counts(Y, Y), n_dimensions=3, eigenvalue_share=0.75)
    wanted = {m: (m, {}) for m in ("n_dimensions", "eigenvalue_share")}
    assert list(evaluate(outcome, wanted).values()) == [3.0, 0.75]
    assert np.isnan(list(evaluate(Outcome(Counts(Y, Y)), wanted).values())).all()
    assert all(METRICS[name].higher_is_better is None for name in wanted)


def test_every_metric_is_described():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.description
        assert set(metric.parameters) == set(metric.allowed)
        assert metric.convention or not metric.parameters
        # None: the default depends on another option, as the convention says
        assert all(value is None or metric.allows(option, value) for option, value in metric.parameters.items())


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"\(2, 3\), the predicted ones \(3, 2\)"):
        Counts(np.zeros((2, 3)), np.zeros((3, 2)))


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
OF_SETS = {"hamming_score", "exact_match", "accuracy", "precision", "recall", "f1", "hamming_loss", "zero_one_loss"}
STATISTICS = ("precision", "recall", "specificity", "f1", "jaccard", "balanced_accuracy", "kappa", "mcc")
OF_SETS |= {f"{average}_{name}" for average in ("macro", "micro") for name in STATISTICS}
TOP = {"one_error", "precision_at_k", "recall_at_k", "ndcg_at_k", "psp_at_k", "psndcg_at_k"}
RANKINGS = {"coverage", "ranking_loss", "label_ranking_average_precision", "r_precision", "example_auc"}
RANKINGS |= {f"{average}_{name}" for average in ("macro", "micro") for name in ("auc", "average_precision")}
PROBABILITIES = {"log_loss", "brier_score"}
LOSSES = {"hamming_loss", "zero_one_loss", "one_error", "coverage", "ranking_loss"} | PROBABILITIES | BOUND | TIMES
SCORES = (OF_SETS | TOP | RANKINGS) - LOSSES
SIZES = {"n_dimensions", "eigenvalue_share", "objective", "n_clusters", "cluster_instances", "cluster_labels"}


def test_every_metric_says_whether_more_is_better():
    assert METRICS.keys() == LOSSES | SCORES | SIZES
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is False} == LOSSES
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is True} == SCORES
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is None} == SIZES


def test_every_metric_says_what_it_is_computed_from():
    needs = {name: metric.needs for name, metric in METRICS.items()}
    found = {kind: {name for name in needs if needs[name] == kind} for kind in set(needs.values())}
    assert found == {
        "labels": OF_SETS, "scores": RANKINGS, "top": TOP, "probabilities": PROBABILITIES,
        "bound": BOUND, "timing": TIMES, "features": SIZES,
    }  # fmt: skip


def test_sums_of_what_was_measured():
    Y = np.eye(3, dtype=np.uint8)
    found = Outcome(Counts(Y, Y), encoding_error=2.0, prediction_error=3.0, fit_seconds=5.0, predict_seconds=7.0)
    metrics = (
        "loss_bound",
        "encoding_error",
        "prediction_error",
        "execution_seconds",
        "fit_seconds",
        "predict_seconds",
    )
    values = evaluate(found, {name: (name, {}) for name in metrics})
    assert list(values.values()) == [5.0, 2.0, 3.0, 12.0, 5.0, 7.0]
    unknown = evaluate(Outcome(Counts(Y, Y)), {name: (name, {}) for name in metrics[:3]})
    assert np.isnan(list(unknown.values())).all()


def test_what_is_known_of_clusters():
    Y = np.eye(3, dtype=np.uint8)
    spread = {
        "instances spread": ("cluster_instances", {"of": "std"}),
        "labels spread": ("cluster_labels", {"of": "std"}),
    }
    metrics = {name: (name, {}) for name in ("n_clusters", "cluster_instances", "cluster_labels")} | spread
    found = Outcome(Counts(Y, Y), cluster_instances=np.array([1, 3]), cluster_labels=np.array([2, 8]))
    expected = [2, 2.0, 5.0, np.std([1, 3], ddof=1), np.std([2, 8], ddof=1)]
    np.testing.assert_allclose(list(evaluate(found, metrics).values()), expected)
    one = Outcome(Counts(Y, Y), cluster_instances=np.array([3]), cluster_labels=np.array([2]))
    np.testing.assert_array_equal(list(evaluate(one, metrics).values()), [1, 3, 2, np.nan, np.nan])
    assert np.isnan(list(evaluate(Outcome(Counts(Y, Y)), metrics).values())).all()
