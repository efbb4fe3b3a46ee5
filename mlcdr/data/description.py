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

from mlcdr.data.dataset import Dataset
from mlcdr.data.table import Matrix
from mlcdr.data.texts import is_texts


def imbalance_ratios(Y: Matrix) -> NDArray[np.float64]:
    """IRLbl (K,) of Y (n×K): the count of the most frequent label divided by that of each label; NaN for count 0."""
    counts = np.asarray(Y.sum(axis=0, dtype=np.float64)).ravel()
    return np.divide(counts.max(initial=0.0), counts, out=np.full(len(counts), np.nan), where=counts > 0)


def scumble(Y: Matrix) -> float:
    """SCUMBLE: the mean over all instances of 1 − (geometric mean / mean) of their labels' IRLbl; 0 without labels."""
    ratios = np.nan_to_num(imbalance_ratios(Y), nan=1.0)
    sizes = np.asarray(Y.sum(axis=1, dtype=np.float64)).ravel()
    some = sizes > 0
    total, logs = (np.asarray(Y @ each).ravel()[some] / sizes[some] for each in (ratios, np.log(ratios)))
    return float(np.sum(1 - np.exp(logs) / total) / len(sizes))


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """Statistics of a data set beyond those of `Dataset.statistics`.

    Returns
    -------
    dict
        unique (label sets of only one instance), mean_ir, cv_ir, scumble, missing (number of values); for numbers also
        zeros (share of the entries of X), constant and duplicate (columns of X that are constant, or equal to an
        earlier one); for texts characters (mean length of a text).
    """
    X, Y = dataset.X, dataset.Y
    ratios = imbalance_ratios(Y)
    there = ratios[~np.isnan(ratios)]
    rows = np.packbits((Y.toarray() if sparse.issparse(Y) else Y).astype(np.uint8), axis=1)
    _, of_sets = np.unique(rows, axis=0, return_counts=True)
    of_labels = {
        "unique": int((of_sets == 1).sum()),
        "mean_ir": float(there.mean()) if len(there) else None,
        "cv_ir": float(there.std(ddof=1) / there.mean()) if len(there) > 1 else None,
        "scumble": scumble(Y),
        "missing": sum(dataset.missing.values()),
    }
    if is_texts(X):
        return of_labels | {"characters": float(np.mean([len(text) for text in X[:, 0]]))}
    seen, constant, duplicate = set(), 0, 0
    columns = sparse.csc_array(X) if sparse.issparse(X) else None
    for j in range(dataset.n_features):
        if columns is None:
            values = np.ascontiguousarray(X[:, j])
            key, full = hash(values.tobytes()), True
        else:
            at = slice(columns.indptr[j], columns.indptr[j + 1])
            values = columns.data[at]
            key, full = hash((values.tobytes(), columns.indices[at].tobytes())), len(values) in (0, len(rows))
        constant += bool(full and (not len(values) or values.min() == values.max()))
        duplicate += key in seen
        seen.add(key)
    return of_labels | {
        "zeros": 1 - float(X.nnz if columns is not None else np.count_nonzero(X)) / (X.shape[0] * X.shape[1]),
        "constant": constant,
        "duplicate": duplicate,
    }
