"""Methods label by label: which labels each wins, and its mean over frequent and rare ones (`labels.csv`)."""

from __future__ import annotations

import itertools

import pandas as pd

from mlcdr.results.frame import summarise
from mlcdr.results.labels import PARTS, find_winners
from mlcdr.tables.sheet import DASH, Sheet, make_sheet

_MOST = 5  # labels that are listed


def tabulate_wins(labels: pd.DataFrame, dataset: str, metric: str) -> Sheet:
    """How many labels each method wins alone, in all and of each part, and the most frequent of them.

    Parameters
    ----------
    labels : frame
        As `mlcdr.results.labels.read_label_scores` gives it.
    """
    labels = labels[labels["dataset"] == dataset]
    cells = labels[labels["metric"] == metric]
    won = find_winners(cells, metric)
    rows = []
    for method in cells["method"].unique():
        own = won[won["method"] == method]
        counts = [str((own["part"] == part).sum()) for part in PARTS]
        listed = ", ".join(own["label"][:_MOST])
        if len(own) > _MOST:
            listed += f" and {len(own) - _MOST} more"
        rows.append((method, str(len(own)), *counts, listed or DASH))
    n = labels["label"].nunique()
    note = f"{len(won)} of {n} labels have a single winner. {_describe(labels)}"
    header = ("Method", "Labels won", *PARTS, "Most frequent of them")
    return make_sheet(f"{dataset}: {metric} by label", header, rows, 1, (note,), (5,))


def tabulate_parts(labels: pd.DataFrame, dataset: str) -> Sheet:
    """The mean of each metric over frequent and rare labels."""
    labels = labels[labels["dataset"] == dataset]
    means = summarise(labels, ["method", "metric", "part"]).set_index(["method", "metric", "part"])["mean"].to_dict()
    columns = list(itertools.product(labels["metric"].unique(), PARTS))
    rows = []
    for method in labels["method"].unique():
        cells = [means.get((method, metric, part)) for metric, part in columns]
        rows.append((method, *(DASH if mean is None else f"{mean:.4f}" for mean in cells)))
    header = ("Method", *(f"{metric}, {part}" for metric, part in columns))
    notes = ("Mean over the labels of which it is defined. " + _describe(labels),)
    return make_sheet(f"Labels of {dataset} by frequency", header, rows, 1, notes)


def _describe(labels: pd.DataFrame) -> str:
    """`Thirds by frequency: head 0.43 to 0.21, …`."""
    shown = []
    for part in PARTS:
        shares = labels.loc[labels["part"] == part, "frequency"]
        if len(shares):
            shown.append(f"{part} {shares.max():.2g} to {shares.min():.2g}")
    return f"Thirds of the labels by frequency: {', '.join(shown)}."
