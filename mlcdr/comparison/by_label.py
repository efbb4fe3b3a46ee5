"""Methods label by label: which labels each wins, and its mean over frequent and rare ones (`labels.csv`)."""

from __future__ import annotations

import math

from mlcdr.results.labels import PARTS, LabelScores
from mlcdr.tables.sheet import DASH, Sheet, make_sheet

_MOST = 5  # labels that are listed


def tabulate_wins(found: LabelScores, dataset: str, metric: str) -> Sheet:
    """How many labels each method wins alone, in all and of each part, and the most frequent of them."""
    won, parts = found.winners(dataset, metric), found.parts[dataset]
    rows = []
    for method in found.means[dataset, metric]:
        own = [label for label, winner in won.items() if winner == method]
        counts = [sum(label in parts[part] for label in own) for part in PARTS]
        listed = ", ".join(own[:_MOST]) + (f" and {len(own) - _MOST} more" if len(own) > _MOST else "")
        rows.append((method, str(len(own)), *map(str, counts), listed or DASH))
    n = len(found.frequencies[dataset])
    note = f"{len(won)} of {n} labels have a single winner. {_describe(found, dataset)}"
    header = ("Method", "Labels won", *PARTS, "Most frequent of them")
    return make_sheet(f"{dataset}: {metric} by label", header, rows, 1, (note,), (5,))


def tabulate_parts(found: LabelScores, dataset: str) -> Sheet:
    """The mean of each metric over frequent and rare labels."""
    metrics = [metric for name, metric in found.means if name == dataset]
    methods = dict.fromkeys(method for metric in metrics for method in found.means[dataset, metric])
    rows = []
    for method in methods:
        means = [found.mean(dataset, metric, method, part) for metric in metrics for part in PARTS]
        rows.append((method, *(DASH if math.isnan(m) else f"{m:.4f}" for m in means)))
    header = ("Method", *(f"{metric}, {part}" for metric in metrics for part in PARTS))
    notes = ("Mean over the labels of which it is defined. " + _describe(found, dataset),)
    return make_sheet(f"Labels of {dataset} by frequency", header, rows, 1, notes)


def _describe(found: LabelScores, dataset: str) -> str:
    """`Thirds by frequency: head 0.43 to 0.21, …`."""
    shown = []
    for part, labels in found.parts[dataset].items():
        if labels:
            highest, lowest = (found.frequencies[dataset][labels[i]] for i in (0, -1))
            shown.append(f"{part} {highest:.2g} to {lowest:.2g}")
    return f"Thirds of the labels by frequency: {', '.join(shown)}."
