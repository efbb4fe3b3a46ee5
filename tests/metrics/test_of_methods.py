"""Metrics of methods: what was measured or learned passes through, and is not defined where it is not known."""

from __future__ import annotations

import numpy as np
import pytest

from mlcdr.metrics import Counts, Outcome, evaluate

Y = np.eye(3, dtype=np.uint8)


@pytest.mark.parametrize(
    ("known", "values"),
    [
        (
            {"encoding_error": 1.5, "prediction_error": 2.0},
            {"encoding_error": 1.5, "prediction_error": 2.0, "loss_bound": 3.5},
        ),
        ({"n_dimensions": 3, "eigenvalue_share": 0.75}, {"n_dimensions": 3.0, "eigenvalue_share": 0.75}),
    ],
)
def test_what_is_known_of_a_method_passes_through(known, values):
    wanted = {name: (name, {}) for name in values}
    assert evaluate(Outcome(Counts(Y, Y), **known), wanted) == values
    assert np.isnan(list(evaluate(Outcome(Counts(Y, Y)), wanted).values())).all()


def test_the_time_of_execution_is_that_of_both():
    wanted = {name: (name, {}) for name in ("fit_seconds", "predict_seconds", "execution_seconds")}
    found = evaluate(Outcome(Counts(Y, Y), fit_seconds=3.0, predict_seconds=4.0), wanted)
    assert list(found.values()) == [3.0, 4.0, 7.0]


def test_what_is_known_of_clusters():
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
