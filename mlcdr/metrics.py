"""The metrics: definition, direction, and the convention for 0/0.

Every metric is a `Metric` in `METRICS`. Label metrics are computed from shared counts (`Counts`), so a second metric on
the same prediction costs almost nothing. Symbols: Y, P are the n×K true and predicted label matrices; for instance i,
|Y_i|, |P_i| and |Y_i ∩ P_i| are row sums; for label k, TP, |P|, |Y| are column sums.

Papers treat the undefined cases differently, which changes some results by a factor of two, so each is an option:

`zero_division`
    the value of an instance (or label) whose denominator is 0: `0`, `1`, `skip` (left out of the mean), or, for
    instance metrics, `agree`: 1 if both sets are empty, else 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Needs = Literal["labels", "bound", "timing", "features"]


class Counts:
    """Counts of one prediction, each computed once and on demand.

    Parameters
    ----------
    truth, predicted : array of shape (n, K)
        Label matrices of {0, 1}, dense.
    """

    def __init__(self, truth: NDArray[Any], predicted: NDArray[Any]):
        if truth.shape != predicted.shape:
            raise ValueError(f"the true labels have shape {truth.shape}, the predicted ones {predicted.shape}")
        self.truth = truth.astype(bool, copy=False)
        self.predicted = predicted.astype(bool, copy=False)
        self.n_instances, self.n_labels = truth.shape

    @cached_property
    def wrong(self) -> int:
        """Number of cells in which the two matrices differ."""
        return int(np.count_nonzero(self.truth != self.predicted))

    @cached_property
    def exact(self) -> int:
        """Number of instances whose label set is predicted exactly."""
        return int((self.truth == self.predicted).all(axis=1).sum())

    @cached_property
    def _hits(self) -> NDArray[np.bool_]:
        return self.truth & self.predicted

    @cached_property
    def of_instances(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """|Y_i ∩ P_i|, |P_i|, |Y_i|, each of shape (n,)."""
        return tuple(np.count_nonzero(a, axis=1) for a in (self._hits, self.predicted, self.truth))

    @cached_property
    def of_labels(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """TP, |P|, |Y| for each label, each of shape (K,)."""
        return tuple(np.count_nonzero(a, axis=0) for a in (self._hits, self.predicted, self.truth))


@dataclass(frozen=True)
class Outcome:
    """The input of a metric: one prediction for one test set.

    Attributes
    ----------
    counts : Counts
    encoding_error, prediction_error : float or None
        The two terms of the bound (1) of Chen & Lin 2012 on the test set, *per instance*; None where the method has no
        linear code.
    fit_seconds, predict_seconds : float
        Wall time. Work shared by several methods counts in full for each of them. If one fit serves several code sizes,
        each of them gets the time of that fit.
    n_dimensions, eigenvalue_share : float or None
        The number of dimensions that the last step of the feature space keeps, and their share of the sum of its
        positive eigenvalues; None without a feature space, or if it does not provide them.
    objective : float or None
        Final value of the objective that the last step of the feature space minimises iteratively; None likewise.
    cluster_instances, cluster_labels : array or None
        Per cluster of an instance space, the number of training instances and of their labels; None without clusters.
    """

    counts: Counts
    encoding_error: float | None = None
    prediction_error: float | None = None
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    n_dimensions: float | None = None
    eigenvalue_share: float | None = None
    objective: float | None = None
    cluster_instances: NDArray[Any] | None = None
    cluster_labels: NDArray[Any] | None = None


@dataclass(frozen=True)
class Metric:
    """Definition of a metric. `compute(outcome, **options)` returns a float, or NaN if it is not defined.

    `higher_is_better` is None for a metric that describes a method and does not rank it. `convention` is the convention
    for denominators of 0; `instead` maps option values to the conventions that replace it.
    """

    name: str
    description: str
    higher_is_better: bool | None
    compute: Callable[..., float]
    convention: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    allowed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    needs: Needs = "labels"
    instead: Mapping[str, str] = field(default_factory=dict)

    def convention_of(self, options: Mapping[str, Any]) -> str:
        """The convention for denominators of 0, with these options."""
        chosen = [self.instead[value] for value in options.values() if isinstance(value, str) and value in self.instead]
        return chosen[0] if chosen else self.convention

    def conventions(self) -> list[str]:
        """All conventions for denominators of 0: the default, and those of option values that change it."""
        others = [f"Of {value}: {text[0].lower()}{text[1:]}" for value, text in self.instead.items()]
        return [*filter(None, [self.convention]), *others]


def _mean(numerator: NDArray[Any], denominator: NDArray[Any], undefined: NDArray[Any] | float | None) -> float:
    """Mean of numerator/denominator, with the value `undefined` for denominators of 0 (None: left out)."""
    defined = denominator > 0
    ratio = np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=defined)
    if undefined is None:
        return float(ratio[defined].mean()) if defined.any() else float("nan")
    return float(np.where(defined, ratio, undefined).mean())


def _instance_mean(
    numerator: NDArray[Any], denominator: NDArray[Any], other: NDArray[Any], zero_division: float | str
) -> float:
    if zero_division == "skip":
        return _mean(numerator, denominator, None)
    undefined = (other == 0).astype(float) if zero_division == "agree" else float(zero_division)
    return _mean(numerator, denominator, undefined)


def _hamming_loss(o: Outcome) -> float:
    return o.counts.wrong / (o.counts.n_instances * o.counts.n_labels)


def _exact_match(o: Outcome) -> float:
    return o.counts.exact / o.counts.n_instances


def _accuracy(o: Outcome, zero_division: float | str) -> float:
    hits, predicted, true = o.counts.of_instances
    return _instance_mean(hits, predicted + true - hits, predicted + true, zero_division)


def _precision(o: Outcome, zero_division: float | str) -> float:
    hits, predicted, true = o.counts.of_instances
    return _instance_mean(hits, predicted, true, zero_division)


def _recall(o: Outcome, zero_division: float | str) -> float:
    hits, predicted, true = o.counts.of_instances
    return _instance_mean(hits, true, predicted, zero_division)


def _f1(o: Outcome, zero_division: float | str) -> float:
    hits, predicted, true = o.counts.of_instances
    return _instance_mean(2 * hits, predicted + true, predicted + true, zero_division)


def _macro_f1(o: Outcome, zero_division: float | str | None, of: str) -> float:
    hits, predicted, true = o.counts.of_labels
    if zero_division is None:
        zero_division = 0 if of == "label_f1" else "skip"
    undefined = None if zero_division == "skip" else float(zero_division)
    if of == "label_f1":
        return _mean(2 * hits, predicted + true, undefined)
    precision, recall = _mean(hits, predicted, undefined), _mean(hits, true, undefined)
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def _micro_f1(o: Outcome, zero_division: float | str) -> float:
    hits, predicted, true = (a.sum(keepdims=True) for a in o.counts.of_labels)
    return _mean(2 * hits, predicted + true, float(zero_division))


def _as_float(value: float | None) -> float:
    return float("nan") if value is None else value


def _summarise_clusters(values: NDArray[Any] | None, of: str) -> float:
    if values is None or (of == "std" and len(values) < 2):
        return float("nan")
    return float(np.mean(values) if of == "mean" else np.std(values, ddof=1))


def _loss_bound(o: Outcome) -> float:
    return _as_float(o.encoding_error) + _as_float(o.prediction_error)


_AGREE = "An instance with an empty denominator counts 1 if the true and the predicted set are both empty, else 0."


def _instance_metric(name: str, description: str, compute: Callable[..., float]) -> Metric:
    allowed = {"zero_division": (0, 1, "skip", "agree")}
    return Metric(name, description, True, compute, _AGREE, {"zero_division": "agree"}, allowed)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("hamming_loss", "share of wrong cells of the n×K label matrix", False, _hamming_loss),
        Metric("hamming_score", "1 - hamming_loss", True, lambda o: 1 - _hamming_loss(o)),
        Metric(
            "zero_one_loss",
            "share of instances whose label set is not exact",
            False,
            lambda o: 1 - _exact_match(o),
        ),
        Metric("exact_match", "share of instances whose label set is exact (subset accuracy)", True, _exact_match),
        _instance_metric("accuracy", "mean over instances of |Y∩P| / |Y∪P| (Jaccard)", _accuracy),
        _instance_metric("precision", "mean over instances of |Y∩P| / |P|", _precision),
        _instance_metric("recall", "mean over instances of |Y∩P| / |Y|", _recall),
        _instance_metric("f1", "mean over instances of 2|Y∩P| / (|Y|+|P|)", _f1),
        Metric(
            "macro_f1",
            "mean over labels of 2TP / (|P|+|Y|); of mean_precision_recall: 2PR / (P+R) of the labels' means",
            True,
            _macro_f1,
            "A label that is neither true nor predicted in the test set counts as 0.",
            {"zero_division": None, "of": "label_f1"},
            {"zero_division": (0, 1, "skip"), "of": ("label_f1", "mean_precision_recall")},
            instead={
                "mean_precision_recall": "A label that is never predicted is left out of P, one that is never true out "
                "of R (R's mean(na.rm = TRUE)), and P = R = 0 gives 0; where no label is predicted at all it is not "
                "defined."
            },
        ),
        Metric(
            "micro_f1",
            "2ΣTP / Σ(|P|+|Y|), summed over labels",
            True,
            _micro_f1,
            "0 where no label is true or predicted in the whole test set.",
            {"zero_division": 0},
            {"zero_division": (0, 1)},
        ),
        Metric(
            "encoding_error",
            "‖Z − ZVᵀV‖² per test instance, Z = Y − mean of the training labels (Chen & Lin 2012, (1))",
            False,
            lambda o: _as_float(o.encoding_error),
            needs="bound",
        ),
        Metric(
            "prediction_error",
            "‖r(X) − ZVᵀ‖² per test instance (Chen & Lin 2012, (1))",
            False,
            lambda o: _as_float(o.prediction_error),
            needs="bound",
        ),
        Metric("loss_bound", "encoding_error + prediction_error", False, _loss_bound, needs="bound"),
        Metric(
            "fit_seconds",
            "wall time of fitting, seconds; shared work counts in full for each method that uses it",
            False,
            lambda o: o.fit_seconds,
            needs="timing",
        ),
        Metric(
            "predict_seconds",
            "wall time of predicting the test set, seconds",
            False,
            lambda o: o.predict_seconds,
            needs="timing",
        ),
        Metric(
            "execution_seconds",
            "fit_seconds + predict_seconds",
            False,
            lambda o: o.fit_seconds + o.predict_seconds,
            needs="timing",
        ),
        Metric(
            "n_dimensions",
            "number of dimensions that the feature space keeps (its last step)",
            None,
            lambda o: _as_float(o.n_dimensions),
            needs="features",
        ),
        Metric(
            "eigenvalue_share",
            "share of the kept dimensions in the sum of the feature space's positive eigenvalues",
            None,
            lambda o: _as_float(o.eigenvalue_share),
            needs="features",
        ),
        Metric(
            "objective",
            "final objective of the feature space's last step on the training rows",
            None,
            lambda o: _as_float(o.objective),
            needs="features",
        ),
        Metric(
            "n_clusters",
            "number of clusters of training instances",
            None,
            lambda o: _as_float(None if o.cluster_instances is None else len(o.cluster_instances)),
            needs="features",
        ),
        *(
            Metric(
                name,
                f"{what} of a cluster: mean over the clusters, or their standard deviation",
                None,
                compute,
                "Sample standard deviation (n − 1); not defined for one cluster.",
                parameters={"of": "mean"},
                allowed={"of": ("mean", "std")},
                needs="features",
            )
            for name, what, compute in (
                ("cluster_instances", "training instances", lambda o, of: _summarise_clusters(o.cluster_instances, of)),
                (
                    "cluster_labels",
                    "labels of the training instances",
                    lambda o, of: _summarise_clusters(o.cluster_labels, of),
                ),
            )
        ),
    )
}


def evaluate(outcome: Outcome, metrics: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, float]:
    """All `metrics` of one outcome: label → value.

    Parameters
    ----------
    outcome : Outcome
    metrics : mapping of label → (metric name, options)
        The label is the name of the recorded value.
    """
    values = {}
    for label, (name, options) in metrics.items():
        metric = METRICS[name]
        values[label] = float(metric.compute(outcome, **{**metric.parameters, **options}))
    return values
