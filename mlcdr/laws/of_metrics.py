"""The laws of a metric of one's own: each is a function of the metric that raises `Violation` or `DoesNotApply`.

A metric is a function of the true and the predicted label sets (n×K of {0, 1}) and the scores (n×K, or None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.laws.classes import DIFFER, DoesNotApply, Violation, describe_exception
from mlcdr.laws.subject import make_problem
from mlcdr.metrics import Counts, Metric, Outcome, Scores

Labels = NDArray[Any]
Case = tuple[str, Labels, Labels, Labels]

LAWS_OF_METRICS: dict[str, Callable[[Metric], None]] = {}
"""Name of a law → the function that checks it."""
DESCRIPTIONS_OF_METRICS: dict[str, str] = {}
"""Name of a law → what it requires, in a line."""


def _law(name: str, description: str) -> Callable[[Callable[[Metric], None]], Callable[[Metric], None]]:
    def register(check: Callable[[Metric], None]) -> Callable[[Metric], None]:
        LAWS_OF_METRICS[name], DESCRIPTIONS_OF_METRICS[name] = check, description
        return check

    return register


def _predict(seed: int = 0) -> tuple[Labels, Labels, Labels]:
    """True and predicted label sets, and the scores of the latter."""
    Y = make_problem(seed=seed)[1]
    scores = 0.6 * Y + 0.7 * np.random.default_rng(seed).random(Y.shape)
    return Y, (scores > 0.5).astype(np.uint8), scores


def _measure(metric: Metric, truth: Labels, predicted: Labels, scores: Any = None) -> float:
    ranked = None if scores is None else Scores(truth, scores)
    return metric.of(Outcome(Counts(truth, predicted), ranked), {})


def _check_equal(one: float, other: float, case: str) -> None:
    if not np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise Violation(f"{DIFFER}: {one:.6g} and {other:.6g}", case)


@_law("number", "a number for ordinary predictions, with scores or without")
def _check_number(metric: Metric) -> None:
    truth, predicted, scores = _predict()
    for case, given in (("scores given", scores), ("no scores (None)", None)):
        try:
            value = _measure(metric, truth, predicted, given)
        except Exception as error:
            raise Violation(describe_exception(error), case) from error
        if given is not None and not np.isfinite(value):
            raise Violation(f"returns {value}", case)


@_law("repeatable", "the same predictions give the same value")
def _check_repeatability(metric: Metric) -> None:
    _check_equal(_measure(metric, *_predict()), _measure(metric, *_predict()), "measured twice")


@_law("row-order", "the order of the rows does not matter")
def _check_row_order(metric: Metric) -> None:
    found = _predict()
    order = np.random.default_rng(3).permutation(len(found[0]))
    _check_equal(_measure(metric, *(each[order] for each in found)), _measure(metric, *found), "rows in another order")


@_law("label-order", "the order of the labels does not matter")
def _check_label_order(metric: Metric) -> None:
    found = _predict()
    order = np.random.default_rng(3).permutation(found[0].shape[1])
    one, other = _measure(metric, *(each[:, order] for each in found)), _measure(metric, *found)
    _check_equal(one, other, "labels in another order")


@_law("direction", "no prediction is better than the true label sets, in the direction of `higher_is_better`")
def _check_direction(metric: Metric) -> None:
    truth, predicted, scores = _predict()
    best = _measure(metric, truth, truth, truth.astype(float))
    if np.isnan(best):
        raise DoesNotApply("is not defined for the true label sets")
    sign = 1 if metric.higher_is_better else -1
    for case, labels, given in (
        ("ordinary predictions", predicted, scores),
        ("no label predicted", np.zeros_like(truth), np.zeros(truth.shape)),
        ("all labels predicted", np.ones_like(truth), np.ones(truth.shape)),
        ("the opposite predicted", 1 - truth, 1.0 - truth),
    ):
        value = _measure(metric, truth, labels, given)
        if sign * value > sign * best + 1e-12:
            better = "higher" if metric.higher_is_better else "lower"
            raise Violation(f"gives {value:.4g}, the true label sets {best:.4g}, and {better} is better", case)


def _awkward() -> Iterator[Case]:
    truth, predicted, scores = _predict()
    none, every = np.zeros_like(truth), np.ones_like(truth)
    yield "no true label", none, predicted, scores
    yield "no label predicted", truth, none, np.zeros(truth.shape)
    yield "no label at all", none, none, np.zeros(truth.shape)
    yield "all labels", every, every, np.ones(truth.shape)
    yield "a single label", truth[:, :1], predicted[:, :1], scores[:, :1]
    yield "a single row", truth[:1], predicted[:1], scores[:1]
    yield "equal scores", truth, predicted, np.full(truth.shape, 0.5)


@_law("awkward", "a number, or NaN where it is not defined: labels that never or always occur, single rows and labels")
def _check_awkward(metric: Metric) -> None:
    for case, truth, predicted, scores in _awkward():
        try:
            value = _measure(metric, truth, predicted, scores)
        except Exception as error:
            raise Violation(describe_exception(error), case) from error
        if np.isinf(value):
            raise Violation(f"returns {value}", case)
