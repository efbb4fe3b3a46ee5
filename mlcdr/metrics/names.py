"""From a name in a config to the metric: its own name, another name of it, or the dotted path of a function."""

from __future__ import annotations

from mlcdr.metrics import label_sets, of_methods, ranking
from mlcdr.metrics.definition import LabelMetric, Metric

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*label_sets.METRICS, *ranking.METRICS, *of_methods.METRICS)
}
BY_LABEL: dict[str, LabelMetric] = {metric.name: metric for metric in (*label_sets.BY_LABEL, *ranking.BY_LABEL)}


def find(name: str) -> Metric:
    """The metric of a name."""
    return METRICS[name]
