"""How evenly folds share out labels, drawn blindly and stratified: the table of `mlcdr datasets splits`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mlcdr.data.dataset import Dataset
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.model import DatasetSpec
from mlcdr.experiment.splits import KFold
from mlcdr.experiment.stratification import label_pairs
from mlcdr.tables.sheet import Sheet, make_sheet

KINDS: dict[str, bool | Literal["pairs"]] = {"blind": False, "labels": True, "pairs": "pairs"}
"""What folds are stratified by → the value of `splits.stratified` for it in a config."""


def draw_folds(name: str, folds: KFold, options: dict[str, Any]) -> tuple[Dataset, dict[str, NDArray[np.int64]]]:
    """A data set, and the fold of each of its rows (n) for each of `KINDS`; `options` are those of `load_dataset`.

    Raises
    ------
    UserError
        When the data set is not available, or cannot be divided so.
    """
    source = DataSource.of(DatasetSpec(name=name, params=options), folds)
    dataset = source.load()
    found = {}
    for kind, stratified in KINDS.items():
        asked = replace(source, splits=folds.model_copy(update={"stratified": stratified}))
        found[kind] = np.zeros(dataset.n_instances, dtype=np.int64)
        for split in asked.divide(dataset).splits:
            found[kind][split.test] = split.index
    return dataset, found


def measure_deviation(labels: Any, fold: NDArray[np.int64]) -> tuple[float, int]:
    """How far the shares of labels (n×L of {0, 1}, CSR) in each fold are from those in all rows.

    Returns
    -------
    float, int
        |share in the fold − share in all rows|, the mean over folds and labels; and how many of (fold, label) have no
        row. Labels without any row are left out.
    """
    n = len(fold)
    is_in_fold = sparse.csr_array((np.ones(n), (fold, np.arange(n))))
    counts = (is_in_fold @ sparse.csr_array(labels, dtype=np.float64)).toarray()
    counts = counts[:, counts.any(axis=0)]
    if not counts.size:
        return 0.0, 0
    in_folds = counts / np.bincount(fold)[:, None]
    in_all = counts.sum(axis=0) / n
    off = np.abs(in_folds - in_all).mean()
    return float(off), int((counts == 0).sum())


def tabulate_folds(drawn: Sequence[tuple[Dataset, Mapping[str, NDArray[np.int64]]]]) -> Sheet:
    """The deviations of what `draw_folds` gives for some data sets."""
    rows = []
    for dataset, folds in drawn:
        labels = sparse.csr_array(dataset.Y)
        pairs = label_pairs(labels)
        for kind, fold in folds.items():
            sizes = np.unique(np.bincount(fold))
            smallest, largest = f"{sizes[0]:,}", f"{sizes[-1]:,}"
            size = smallest if len(sizes) == 1 else f"{smallest}–{largest}"
            shown = (*_show_deviation(labels, fold), *_show_deviation(pairs, fold))
            rows.append((dataset.name, kind, size, *shown))
    header = ("Dataset", "Stratified by", "Rows of a fold", "Labels: off by %", "empty", "Pairs: off by %", "empty")
    notes = (
        "Off by: |share in a fold − share in all rows| of a label, or of a pair of labels that some row has, in "
        "percentage points; the mean over labels and folds.",
        "Empty: labels (pairs) that no row of a fold has, counted over all folds.",
    )
    return make_sheet("Labels in folds", header, rows, 2, notes, nested=1)


def _show_deviation(labels: Any, fold: NDArray[np.int64]) -> tuple[str, str]:
    share, empty = measure_deviation(labels, fold)
    return f"{100 * share:.3f}", f"{empty:,}"
