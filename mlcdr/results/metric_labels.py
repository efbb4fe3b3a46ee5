"""The names that metrics bear in results, from a resolved config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def metric_labels(experiment: Mapping[str, Any]) -> list[str]:
    """The names that the metrics of a resolved config bear in the results."""
    labels = []
    for entry in experiment.get("metrics") or []:
        if isinstance(entry, Mapping):
            name, options = next(iter(entry.items()), ("", None))
            labels.append(str(options.get("as", name)) if isinstance(options, Mapping) else str(name))
        else:
            labels.append(str(entry))
    return labels
