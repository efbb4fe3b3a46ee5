"""Metrics of label sets against scikit-learn's, over random and degenerate ones, with every convention for 0/0."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sk

from mlcdr.metrics import BY_LABEL, METRICS, Counts, Outcome, Scores, evaluate, evaluate_labels

EXACT = 1e-12
SCORES = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score, "jaccard": sk.jaccard_score}


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
    theirs = {}
    for name, score in SCORES.items():
        for prefix, average in (("macro_", "macro"), ("micro_", "micro"), ("", "samples")):
            theirs[f"{prefix}{name}"] = partial(score, Y, P, average=average)
    theirs["accuracy"] = theirs.pop("jaccard")
    for name, score in theirs.items():
        for z in (0, 1):
            assert value(name, Y, P, zero_division=z) == pytest.approx(score(zero_division=z), abs=EXACT), (name, z)
    for name in ("precision", "recall", "f1", "macro_f1", "macro_precision", "macro_recall"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a mean over nothing
            skipped = theirs[name](zero_division=np.nan)
        assert value(name, Y, P, zero_division="skip") == pytest.approx(skipped, nan_ok=True, abs=EXACT), name


@pytest.mark.parametrize(("Y", "P"), list(pairs()))
def test_a_macro_average_is_the_mean_of_its_labels(Y, P):
    """Labels that are never true or predicted count in both alike."""
    outcome = Outcome(Counts(Y, P), Scores(Y, P.astype(float)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a mean over nothing
        for name in BY_LABEL:
            if f"macro_{name}" in METRICS:
                mean = np.nanmean(evaluate_labels(outcome, [name])[name])
                assert evaluate(outcome, {"m": (f"macro_{name}", {})})["m"] == pytest.approx(mean, nan_ok=True)


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


def f_of_means_by_loops(truth, predicted):
    """Mean precision over the labels that were predicted, mean recall over those that are there; then their F."""
    precisions, recalls = [], []
    for y, p in zip(truth.T, predicted.T, strict=True):
        hits = sum(a and b for a, b in zip(y, p, strict=True))
        if sum(p):
            precisions.append(hits / sum(p))
        if sum(y):
            recalls.append(hits / sum(y))
    P, R = np.mean(precisions), np.mean(recalls)
    return 2 * P * R / (P + R)


def test_macro_f1_of_mean_precision_and_recall():
    """The F of Pacharawongsakda & Theeramunkong 2012."""
    rng = np.random.default_rng(0)
    truth, predicted = (rng.random((2, 30, 7)) < 0.3).astype(int)
    truth[:, 2] = 0  # no recall
    predicted[:, 4] = 0  # no precision
    of_means = {"of": "mean_precision_recall"}
    F = value("macro_f1", truth, predicted, **of_means)
    assert pytest.approx(f_of_means_by_loops(truth, predicted)) == F
    assert value("macro_f1", truth, predicted, **of_means, zero_division="skip") == F
    assert value("macro_f1", truth, predicted, **of_means, zero_division=0) < F
    ordinary = value("macro_f1", truth, predicted)
    assert abs(ordinary - F) > 0.01, "the two must differ for a test"
    assert value("macro_f1", truth, predicted, of="label_f1", zero_division=0) == ordinary
    assert value("macro_f1", truth, truth, **of_means) == 1, "P = R"
    nothing_right = np.array([[1, 0], [1, 0]]), np.array([[0, 1], [0, 1]])
    assert value("macro_f1", *nothing_right, **of_means) == 0.0
    nothing = np.zeros((3, 2), dtype=int)
    assert np.isnan(value("macro_f1", nothing, nothing, **of_means))
    assert value("macro_f1", nothing, nothing) == 0.0


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"\(2, 3\), the predicted ones \(3, 2\)"):
        Counts(np.zeros((2, 3)), np.zeros((3, 2)))
