"""Methods label by label: which labels each wins, and its mean over frequent and rare ones (`labels.csv`)."""

from __future__ import annotations

import itertools
import math

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
    return make_sheet(
        caption=f"{dataset}: {metric} by label",
        header=("Method", "Labels won", *PARTS, "Most frequent of them"),
        rows=rows,
        stub=1,
        notes=(f"{len(won)} of {n} labels have a single winner. {_describe(labels)}",),
        left=(5,),
    )


def tabulate_parts(labels: pd.DataFrame, dataset: str) -> Sheet:
    """The mean of each metric over frequent and rare labels."""
    labels = labels[labels["dataset"] == dataset]
    columns = list(itertools.product(labels["metric"].unique(), PARTS))
    summary = summarise(labels, ["method", "metric", "part"])
    means = summary.pivot(index="method", columns=["metric", "part"], values="mean")
    means = means.reindex(index=labels["method"].unique(), columns=columns)
    rows = []
    for method, *cells in means.itertuples():
        rows.append((method, *(DASH if math.isnan(mean) else f"{mean:.4f}" for mean in cells)))
    return make_sheet(
        caption=f"Labels of {dataset} by frequency",
        header=("Method", *(f"{metric}, {part}" for metric, part in columns)),
        rows=rows,
        stub=1,
        notes=(f"Mean over the labels of which it is defined. {_describe(labels)}",),
    )


def _describe(labels: pd.DataFrame) -> str:
    """`Thirds of the labels by frequency: head 0.43 to 0.21, …`."""
    shown = []
    for part in PARTS:
        shares = labels.loc[labels["part"] == part, "frequency"]
        if len(shares):
            shown.append(f"{part} {shares.max():.2g} to {shares.min():.2g}")
    return f"Thirds of the labels by frequency: {', '.join(shown)}."
