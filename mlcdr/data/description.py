"""Further statistics of a data set: label sets, imbalance, concurrence of labels, constant and duplicate columns.

Imbalance and SCUMBLE: Charte, Rivera, del Jesus & Herrera 2015, "Addressing imbalance in multilabel classification"
(Neurocomputing 163), and 2014, "Concurrence among imbalanced labels and its influence on multilabel resampling
algorithms" (HAIS); as the R package mldr computes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mlcdr.data.content import Dataset, count_label_sets
from mlcdr.data.table import Matrix
from mlcdr.data.texts import is_texts


def imbalance_ratios(Y: Matrix) -> NDArray[np.float64]:
    """IRLbl (K,) of Y (n×K): the count of the most frequent label divided by that of each label; NaN for count 0."""
    counts = Y.sum(axis=0, dtype=np.float64)
    ratios = np.full(len(counts), np.nan)
    some = counts > 0
    ratios[some] = counts.max(initial=0.0) / counts[some]
    return ratios


def scumble(Y: Matrix) -> float:
    """SCUMBLE: the mean over all instances of 1 − (geometric mean / mean) of their labels' IRLbl; 0 without labels."""
    ratios = np.nan_to_num(imbalance_ratios(Y), nan=1.0)
    sizes = Y.sum(axis=1, dtype=np.float64)
    some = sizes > 0
    means = (Y @ ratios)[some] / sizes[some]
    logs = (Y @ np.log(ratios))[some] / sizes[some]
    return float(np.sum(1 - np.exp(logs) / means) / len(sizes))


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """Statistics of a data set beyond those of `Dataset.statistics`.

    Returns
    -------
    dict
        unique (label sets of only one instance), mean_ir, cv_ir, scumble, missing (number of values); for numbers also
        zeros (share of the entries of X), constant and duplicate (columns of X that are constant, or equal to an
        earlier one); for texts characters (mean length of a text).
    """
    ratios = imbalance_ratios(dataset.Y)
    there = ratios[~np.isnan(ratios)]
    of_labels = {
        "unique": int((count_label_sets(dataset.Y) == 1).sum()),
        "mean_ir": None,
        "cv_ir": None,
        "scumble": scumble(dataset.Y),
        "missing": sum(dataset.missing.values()),
    }
    if len(there):
        of_labels["mean_ir"] = float(there.mean())
    if len(there) > 1:
        of_labels["cv_ir"] = float(there.std(ddof=1) / there.mean())
    if is_texts(dataset.X):
        lengths = [len(text) for text in dataset.X[:, 0]]
        return of_labels | {"characters": float(np.mean(lengths))}
    return of_labels | _describe_columns(dataset.X)


def _describe_columns(X: Matrix) -> dict[str, Any]:
    """The share of zeros, and the numbers of constant and of duplicate columns."""
    n, d = X.shape
    columns = sparse.csc_array(X)
    seen: set[tuple[bytes, bytes]] = set()
    constant = 0
    for j in range(d):
        at = slice(columns.indptr[j], columns.indptr[j + 1])
        values = columns.data[at]
        rows = columns.indices[at]
        if len(values) in (0, n) and len(set(values)) <= 1:
            constant += 1
        seen.add((values.tobytes(), rows.tobytes()))
    zeros = 1 - columns.nnz / (n * d)
    return {"zeros": zeros, "constant": constant, "duplicate": d - len(seen)}
