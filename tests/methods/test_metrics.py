"""The macro-averaged F of Pacharawongsakda & Theeramunkong 2012 beside the ordinary one."""

from __future__ import annotations

import numpy as np
import pytest

from mlcdr.metrics import Counts, Outcome, evaluate


def macro_f1(truth, predicted, **options):
    return evaluate(Outcome(Counts(truth, predicted)), {"F": ("macro_f1", options)})["F"]


def by_loops(truth, predicted):
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
    rng = np.random.default_rng(0)
    truth, predicted = (rng.random((2, 30, 7)) < 0.3).astype(int)
    truth[:, 2] = 0  # no recall
    predicted[:, 4] = 0  # no precision
    F = macro_f1(truth, predicted, of="mean_precision_recall")
    assert pytest.approx(by_loops(truth, predicted)) == F
    assert macro_f1(truth, predicted, of="mean_precision_recall", zero_division="skip") == F
    assert macro_f1(truth, predicted, of="mean_precision_recall", zero_division=0) < F
    assert abs(macro_f1(truth, predicted) - F) > 0.01, "the two must differ for a test"
    assert macro_f1(truth, predicted) == macro_f1(truth, predicted, zero_division=0, of="label_f1")


def test_macro_f1_of_means_where_nothing_is_right_or_nothing_is_defined():
    truth, predicted = np.array([[1, 0], [1, 0]]), np.array([[0, 1], [0, 1]])
    assert macro_f1(truth, predicted, of="mean_precision_recall") == 0.0
    nothing = np.zeros((3, 2), dtype=int)
    assert np.isnan(macro_f1(nothing, nothing, of="mean_precision_recall"))
    assert macro_f1(nothing, nothing) == 0.0
