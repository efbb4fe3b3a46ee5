"""The metrics: definition, direction, options and conventions.

Every metric is a `Metric` in `METRICS`, and a metric of each label by itself a `LabelMetric` in `BY_LABEL`; what they
share is counted and sorted once (`outcome`). May import errors and numerics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mlcdr.metrics.definition import LabelMetric as LabelMetric
from mlcdr.metrics.definition import Metric as Metric
from mlcdr.metrics.definition import Numbers as Numbers
from mlcdr.metrics.names import BY_LABEL as BY_LABEL
from mlcdr.metrics.names import METRICS as METRICS
from mlcdr.metrics.names import find as find
from mlcdr.metrics.names import hint as hint
from mlcdr.metrics.names import modules_of as modules_of
from mlcdr.metrics.names import of_function as of_function
from mlcdr.metrics.names import resolve as resolve
from mlcdr.metrics.names import target as target
from mlcdr.metrics.outcome import Array
from mlcdr.metrics.outcome import Counts as Counts
from mlcdr.metrics.outcome import Outcome as Outcome
from mlcdr.metrics.outcome import Scores as Scores


def evaluate(outcome: Outcome, metrics: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, float]:
    """All `metrics` of one outcome: label → value, NaN where the method does not give a metric's input.

    Parameters
    ----------
    outcome : Outcome
    metrics : mapping of label → (metric name, options)
        The label is the name of the recorded value.
    """
    return {label: find(name).of(outcome, options) for label, (name, options) in metrics.items()}


def evaluate_labels(outcome: Outcome, names: Iterable[str]) -> dict[str, Array]:
    """Metrics of each label by itself: name → values (K,), NaN where one is not defined.

    A metric whose input the method does not give is left out.
    """
    metrics = (BY_LABEL[name] for name in names)
    return {each.name: each.compute(outcome) for each in metrics if outcome.gives(each.needs)}
