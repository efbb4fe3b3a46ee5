"""Metrics that describe how a method was fitted: terms of its bound, times, memory, dimensions and clusters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mlcdr.lazy_numpy import np
from mlcdr.metrics.definition import Metric
from mlcdr.metrics.outcome import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _as_float(value: float | None) -> float:
    return float("nan") if value is None else value


def _summarise_clusters(values: NDArray[Any] | None, of: str) -> float:
    if values is None or (of == "std" and len(values) < 2):
        return float("nan")
    return float(np.mean(values) if of == "mean" else np.std(values, ddof=1))


def _fact(o: Outcome, name: str) -> float:
    return _as_float(getattr(o, name))


_FACTS = {
    "n_dimensions": "number of dimensions that the feature space keeps (its last step)",
    "eigenvalue_share": "share of the kept dimensions in the sum of the feature space's positive eigenvalues",
    "objective": "final objective of the feature space's last step on the training rows",
}

METRICS: tuple[Metric, ...] = (
    Metric(
        "encoding_error",
        "‖Z − ZVᵀV‖² per test instance, Z = Y − mean of the training labels (Chen & Lin 2012, (1))",
        False,
        partial(_fact, name="encoding_error"),
        needs="bound",
    ),
    Metric(
        "prediction_error",
        "‖r(X) − ZVᵀ‖² per test instance (Chen & Lin 2012, (1))",
        False,
        partial(_fact, name="prediction_error"),
        needs="bound",
    ),
    Metric(
        "loss_bound",
        "encoding_error + prediction_error",
        False,
        lambda o: _as_float(o.encoding_error) + _as_float(o.prediction_error),
        needs="bound",
    ),
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
        "fit_memory",
        "the most by which fitting raises the resident memory of the process, MB (10⁶ bytes); measured on Linux only",
        False,
        lambda o: o.fit_memory / 10**6,
        "The data set and what is known of the whole of it, child processes and graphics cards are not counted. All "
        "sizes of a code have the memory of their one fit; methods share nothing while it is measured.",
        needs="memory",
    ),
    *(Metric(name, text, None, partial(_fact, name=name), needs="features") for name, text in _FACTS.items()),
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
