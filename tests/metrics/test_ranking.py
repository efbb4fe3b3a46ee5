"""The metrics of scores against scikit-learn's, and against formulas of other programs written out, on awkward data."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn import metrics as sk

from mlcdr.metrics import BY_LABEL, METRICS, Counts, Outcome, Scores, evaluate_labels, ranking
from mlcdr.metrics.definition import Numbers

EXACT = {"rtol": 1e-12, "atol": 1e-12}
EXACT_ARGS = {"rel": 1e-12, "abs": 1e-12}
EMPTY, ORDER = (0, 1, "skip"), ("first", "mean")
AT_K = {"k": (5, Numbers(whole=True, least=1)), "zero_division": EMPTY, "ties": ORDER}
PROPENSITY = {
    "k": (5, Numbers(whole=True, least=1)),
    "a": (0.55, Numbers(least=0)),
    "b": (1.5, Numbers(open=True)),
    "normalise": (True, False),
    "ties": ORDER,
}
# The options of each metric, the default of each first.
OPTIONS: dict[str, dict[str, tuple[object, ...]]] = {
    "one_error": {"zero_division": (1, 0, "skip"), "ties": ORDER},
    "coverage": {"count": ("steps", "labels"), "ties": ("worst", "first", "best"), "zero_division": (0, "skip")},
    "ranking_loss": {"ties": ("wrong", "half", "right"), "zero_division": EMPTY},
    "label_ranking_average_precision": {"zero_division": (1, 0, "skip")},
    "macro_auc": {"zero_division": ("skip", 0, 0.5, 1)},
    "example_auc": {"zero_division": ("skip", 0, 0.5, 1)},
    "micro_auc": {},
    "macro_average_precision": {"zero_division": ("skip", 0, 1)},
    "micro_average_precision": {},
    "r_precision": {"zero_division": EMPTY, "ties": ORDER},
    "precision_at_k": AT_K,
    "recall_at_k": {**AT_K, "of": ("all", "reachable")},
    "ndcg_at_k": AT_K,
    "psp_at_k": PROPENSITY,
    "psndcg_at_k": PROPENSITY | {"of": ("reachable", "k")},
    "log_loss": {"of": ("cell", "instance"), "clip": (2.0**-52, Numbers(open=True))},
    "brier_score": {"of": ("cell", "instance")},
}
OF_LABELS = {
    "auc": (True, "scores"),
    "average_precision": (True, "scores"),
    "log_loss": (False, "probabilities"),
    "brier_score": (False, "probabilities"),
}


def problems() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Label sets and scores: without ties, with many, and with nothing else; empty and full rows and columns."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, k = rng.integers(3, 40), rng.integers(3, 15)
        Y = (rng.random((n, k)) < rng.choice([0.05, 0.3, 0.7])).astype(np.uint8)
        Y[0], Y[1], Y[:, 0], Y[:, 1] = 0, 1, 0, 1
        scores = rng.standard_normal((n, k))
        yield Y, (scores, np.round(2 * scores) / 2, np.zeros((n, k)))[seed % 3]
        yield Y[2:, 2:], scores[2:, 2:]


PROBLEMS = [(Y, S) for Y, S in problems() if Y.size and Y.any()]


def outcome(Y: np.ndarray, S: np.ndarray, keep_top: int | None = None) -> Outcome:
    """As a trial has it, of a training set with these labels five times and 50 rows more."""
    counts = 5.0 * Y.sum(axis=0)
    return Outcome(Counts(Y, S > 0), Scores(Y, S, keep_top), n_training=5 * len(Y) + 50, label_counts=counts)


def value(name: str, Y: np.ndarray, S: np.ndarray, **options: object) -> float:
    return METRICS[name].of(outcome(Y, S), options)


def test_options_are_those_that_results_were_computed_with() -> None:
    assert [metric.name for metric in ranking.METRICS] == list(OPTIONS)
    for metric in ranking.METRICS:
        options = OPTIONS[metric.name]
        assert metric.parameters == {key: values[0] for key, values in options.items()}, metric.name
        allowed = {key: values[1] if isinstance(values[1], Numbers) else values for key, values in options.items()}
        assert metric.allowed == allowed, metric.name
    assert {each.name: (each.higher_is_better, each.needs) for each in ranking.BY_LABEL} == OF_LABELS


def test_rankings_of_labels_agree_with_scikit_learn() -> None:
    for Y, S in PROBLEMS:
        np.testing.assert_allclose(value("coverage", Y, S, count="labels"), sk.coverage_error(Y, S), **EXACT)
        np.testing.assert_allclose(value("ranking_loss", Y, S), sk.label_ranking_loss(Y, S), **EXACT)
        ours = value("label_ranking_average_precision", Y, S)
        np.testing.assert_allclose(ours, sk.label_ranking_average_precision_score(Y, S), **EXACT)
        for k in (3, 100):
            np.testing.assert_allclose(value("ndcg_at_k", Y, S, k=k, ties="mean"), sk.ndcg_score(Y, S, k=k), **EXACT)
        there = [i for i in range(len(Y)) if 0 < Y[i].sum() < Y.shape[1]]
        theirs = np.mean([sk.roc_auc_score(Y[i], S[i]) for i in there]) if there else np.nan
        np.testing.assert_allclose(value("example_auc", Y, S), theirs, **EXACT)
        halves = value("ranking_loss", Y, S, ties="half", zero_division="skip")
        np.testing.assert_allclose(halves, 1 - theirs, **EXACT)


def test_rankings_of_instances_agree_with_scikit_learn() -> None:
    for Y, S in PROBLEMS:
        n, columns = len(Y), range(Y.shape[1])
        auc = [sk.roc_auc_score(Y[:, k], S[:, k]) if 0 < Y[:, k].sum() < n else np.nan for k in columns]
        ap = [sk.average_precision_score(Y[:, k], S[:, k]) if Y[:, k].any() else np.nan for k in columns]
        found = evaluate_labels(outcome(Y, S), ["auc", "average_precision"])
        np.testing.assert_allclose(found["auc"], auc, **EXACT)
        np.testing.assert_allclose(found["average_precision"], ap, **EXACT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a mean over nothing
            for name, of_labels in (("macro_auc", auc), ("macro_average_precision", ap)):
                np.testing.assert_allclose(value(name, Y, S), np.nanmean(of_labels), **EXACT)
                ours = value(name, Y, S, zero_division=0)
                np.testing.assert_allclose(ours, np.nan_to_num(of_labels).mean(), **EXACT)
        np.testing.assert_allclose(
            value("micro_average_precision", Y, S), sk.average_precision_score(Y.ravel(), S.ravel()), **EXACT
        )
        theirs = sk.roc_auc_score(Y.ravel(), S.ravel()) if not Y.all() else np.nan
        np.testing.assert_allclose(value("micro_auc", Y, S), theirs, **EXACT)


def test_one_error_coverage_and_average_precision_as_mulan_computes_them() -> None:
    """Its formulas on its rankings (1 the best), in which equal scores stand in the order of the labels."""
    for Y, S in PROBLEMS:
        errors, depths, precisions = [], [], []
        for y, s in zip(Y.astype(bool), S, strict=True):
            ranking = np.empty(len(s), dtype=int)
            ranking[np.argsort(-s, kind="stable")] = np.arange(1, len(s) + 1)
            errors.append(not y[ranking == 1][0])
            depths.append(max((ranking[k] - 1 for k in range(len(s)) if y[k]), default=0))
            relevant = np.flatnonzero(y)
            if len(relevant):
                each = [sum(ranking[r] >= ranking[other] for other in relevant) / ranking[r] for r in relevant]
                precisions.append(sum(each) / len(relevant))
        assert value("one_error", Y, S) == pytest.approx(np.mean(errors), **EXACT_ARGS)
        assert value("coverage", Y, S, ties="first") == pytest.approx(np.mean(depths), **EXACT_ARGS)
        assert value("coverage", Y, S, ties="best") <= value("coverage", Y, S, ties="first") <= value("coverage", Y, S)
        if len(np.unique(S)) == S.size:  # otherwise it depends on the order of the labels there
            ours = value("label_ranking_average_precision", Y, S, zero_division="skip")
            assert ours == pytest.approx(np.mean(precisions), **EXACT_ARGS)


def top_by_loops(Y: np.ndarray, S: np.ndarray, k: int, weights: np.ndarray) -> dict[str, float]:
    """precision, recall and nDCG at k, R-precision, and the propensity-scored two as pyxclib defines them."""
    found: dict[str, list[float]] = defaultdict(list)
    for y, s in zip(Y, S, strict=True):
        order = np.argsort(-s, kind="stable")
        best = np.argsort(-(y * weights), kind="stable")
        size = int(y.sum())
        discount = [1 / np.log2(rank + 2) for rank in range(max(k, size))]
        hits = [int(y[label]) for label in order[:k]]
        gains = [y[label] * weights[label] for label in order[:k]]
        most = [y[label] * weights[label] for label in best[:k]]
        found["p"].append(sum(hits) / k)
        found["r"].append(sum(hits) / size if size else 0)
        found["rp"].append(sum(hits) / min(size, k) if size else 0)
        found["R"].append(sum(y[label] for label in order[:size]) / size if size else 0)
        ideal = sum(discount[: min(size, k)])
        found["ndcg"].append(sum(h * d for h, d in zip(hits, discount, strict=False)) / ideal if size else 0)
        found["ps"].append(sum(gains) / k)
        found["ps*"].append(sum(most) / k)
        ideal = sum(discount[: max(1, min(size, k))])
        gain = sum(g * d for g, d in zip(gains, discount, strict=False))
        largest = sum(g * d for g, d in zip(most, discount, strict=False))
        found["psn"].append(gain / ideal)
        found["psn*"].append(largest / ideal)
        ideal = sum(1 / np.log2(rank + 2) for rank in range(k))
        found["psn of k"].append(gain / ideal)
        found["psn* of k"].append(largest / ideal)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    shares = {"psp": "ps", "psndcg": "psn"}
    found_of = {name: means[gain] / means[f"{gain}*"] for name, gain in shares.items()}
    return means | found_of | {"psndcg of k": means["psn of k"] / means["psn* of k"]}


def test_metrics_of_the_highest_labels_as_written_out() -> None:
    for Y, S in PROBLEMS:
        n, counts = 5 * len(Y) + 50, 5.0 * Y.sum(axis=0)
        weights = 1 + (np.log(n) - 1) * 2.5**0.55 * (counts + 1.5) ** -0.55
        for k in (1, 3):
            theirs = top_by_loops(Y, S, k, weights)
            for ours, name, options in (
                ("precision_at_k", "p", {}),
                ("recall_at_k", "r", {}),
                ("recall_at_k", "rp", {"of": "reachable"}),
                ("ndcg_at_k", "ndcg", {}),
                ("psp_at_k", "psp", {}),
                ("psp_at_k", "ps", {"normalise": False}),
                ("psndcg_at_k", "psndcg", {}),
                ("psndcg_at_k", "psndcg of k", {"of": "k"}),
            ):
                np.testing.assert_allclose(value(ours, Y, S, k=k, **options), theirs[name], **EXACT, err_msg=ours)
                few = METRICS[ours].of(outcome(Y, S, keep_top=3), {"k": k, **options})
                np.testing.assert_allclose(few, theirs[name], **EXACT, err_msg=f"{ours} of the three highest")
            np.testing.assert_allclose(value("r_precision", Y, S), theirs["R"], **EXACT)


@pytest.mark.parametrize("name", ["one_error", "precision_at_k", "recall_at_k", "ndcg_at_k", "r_precision"])
def test_an_instance_without_labels_counts_as_documented(name: str) -> None:
    Y, S = np.array([[1, 0, 0], [0, 0, 0]], dtype=np.uint8), np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
    options = {"k": 2} if name.endswith("_k") else {}
    alone = value(name, Y[:1], S[:1], **options)
    for undefined, expected in ((0, alone / 2), (1, (alone + 1) / 2), ("skip", alone)):
        assert value(name, Y, S, zero_division=undefined, **options) == pytest.approx(expected)


def test_ties_may_count_as_the_mean_over_all_orders() -> None:
    rng = np.random.default_rng(0)
    Y, S = (rng.random((6, 5)) < 0.4).astype(np.uint8), rng.integers(0, 2, (6, 5)).astype(float)
    for name, options in (
        ("one_error", {}),
        ("precision_at_k", {"k": 2}),
        ("r_precision", {}),
        ("ndcg_at_k", {"k": 3}),
    ):
        drawn = []
        for _ in range(400):
            order = rng.permutation(5)
            drawn.append(value(name, Y[:, order], S[:, order], **options))
        deviation = np.std(drawn) / np.sqrt(len(drawn))
        assert value(name, Y, S, ties="mean", **options) == pytest.approx(np.mean(drawn), abs=4 * deviation + 1e-12)


def test_of_a_few_highest_scores_only_what_needs_no_other_is_defined() -> None:
    Y, S = PROBLEMS[0]
    few = outcome(Y, S, keep_top=3)
    defined = {name for name, metric in METRICS.items() if not np.isnan(metric.of(few, {}))}
    assert not defined & {"coverage", "ranking_loss", "macro_auc", "precision_at_k"}  # k is 5
    assert METRICS["one_error"].of(few, {}) == value("one_error", Y, S)
    assert np.isnan(METRICS["precision_at_k"].of(few, {"k": 3, "ties": "mean"}))


def test_the_highest_scores_are_kept_also_of_fewer_rows_than_labels() -> None:
    Y, S = np.array([[1, 0, 0, 1], [0, 1, 0, 0]]), np.array([[0.1, 0.4, 0.2, 0.3], [0.4, 0.3, 0.2, 0.1]])
    few = outcome(Y, S, keep_top=3)
    assert METRICS["precision_at_k"].of(few, {"k": 2}) == 0.5
    assert np.isnan(METRICS["precision_at_k"].of(few, {"k": 4}))


def test_losses_of_probabilities_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    Y, P = (rng.random((30, 6)) < 0.3).astype(np.uint8), rng.random((30, 6))
    P[0], Y[0] = 0.0, [1, 0, 1, 0, 1, 0]  # certain, and half of it wrong
    Y[:, 5] = 0
    found = Outcome(Counts(Y, P > 0.5), probabilities=P)
    of_labels = evaluate_labels(found, ["log_loss", "brier_score"])
    for name, score in (("log_loss", sk.log_loss), ("brier_score", sk.brier_score_loss)):
        options = {"labels": [0, 1]} if name == "log_loss" else {"pos_label": 1}
        theirs = [score(Y[:, k], P[:, k], **options) for k in range(6)]
        np.testing.assert_allclose(of_labels[name], theirs, **EXACT)
        np.testing.assert_allclose(METRICS[name].of(found, {}), np.mean(theirs), **EXACT)
        np.testing.assert_allclose(METRICS[name].of(found, {"of": "instance"}), np.sum(theirs), **EXACT)


def test_without_scores_nothing_that_needs_them_is_defined() -> None:
    Y, S = PROBLEMS[0]
    found = Outcome(Counts(Y, S > 0))
    for metric in METRICS.values():
        if metric.needs in ("scores", "top", "probabilities"):
            assert np.isnan(metric.of(found, {})), metric.name
    assert set(evaluate_labels(found, BY_LABEL)) == {each.name for each in BY_LABEL.values() if each.needs == "labels"}
    with pytest.raises(ValueError, match="no number"):
        Scores(Y, np.full(Y.shape, np.nan))
    with pytest.raises(ValueError, match="the scores"):
        Scores(Y, S[:, 1:])
