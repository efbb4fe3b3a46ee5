"""What a report must know of a metric: how to print its name, which way is better, what 0/0 counted as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcdr.metrics import METRICS
from mlcdr.reporting.results import Results

_WORDS = {"hamming": "Hamming", "f1": "F1"}


@dataclass(frozen=True)
class MetricFacts:
    """A metric as a report sees it.

    Attributes
    ----------
    title : str
        For people: `Hamming loss`.
    higher_is_better : bool or None
        None where mlcdr does not know the metric: then nothing is best.
    note : str
        The options it was computed with, or its 0/0 convention; empty where it has neither.
    is_time : bool
        Whether it is a time, of which ratios mean something and differences little.
    """

    title: str
    higher_is_better: bool | None
    note: str
    is_time: bool = False


def metric_facts(results: Results, label: str) -> MetricFacts:
    """The facts of the metric that the results folder calls `label`."""
    name, options = _origin(results.experiment.get("metrics"), label)
    title = " ".join(_WORDS.get(word, word) for word in label.split("_"))
    metric = METRICS.get(name)
    if metric is None:
        return MetricFacts(title, None, "")
    chosen = ", ".join(f"{key} = {value}" for key, value in options.items())
    note = (
        f"{title}: {metric.description}; {chosen}." if chosen else metric.convention and f"{title}: {metric.convention}"
    )
    return MetricFacts(title, metric.higher_is_better, note, metric.needs == "timing")


def _origin(entries: Any, label: str) -> tuple[str, Mapping[str, Any]]:
    """The metric's own name and options behind a label (`as` in `{macro_f1: {zero_division: skip, as: mine}}`)."""
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and len(entry) == 1:
            ((name, written),) = entry.items()
            options = written if isinstance(written, Mapping) else {}
            if options.get("as", name) == label:
                return str(name), {key: value for key, value in options.items() if key != "as"}
    return label, {}
