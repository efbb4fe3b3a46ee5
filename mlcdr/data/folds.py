"""Conversion of the fixed folds of published data sets from MATLAB files to CSV, for `splits: {kind: file}`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy import sparse

from mlcdr.data.lines import fail
from mlcdr.data.matlab import read_matrices
from mlcdr.whole_files import write_atomically


def write_fold_csv(path: Path) -> None:
    """Write the divisions in a MATLAB file as a CSV file in the same folder.

    The MATLAB file has `indices` (n×r): each column is a division of n rows into folds numbered from 1. The CSV has a
    column for each division (fold, fold2, fold3, ...), with folds numbered from 0.

    Raises
    ------
    DataError
        When the file cannot be read or has other content.
    ResultsError
        When the CSV cannot be written.
    """
    (indices,) = read_matrices(path, ["indices"])
    if sparse.issparse(indices):
        indices = indices.toarray()
    if not indices.size or (indices < 1).any() or (indices % 1 != 0).any():
        fail(path, "indices: the numbers of folds are whole numbers from 1 on")
    names = ["fold", *(f"fold{k}" for k in range(2, indices.shape[1] + 1))]
    divisions = pd.DataFrame((indices - 1).astype(int), columns=names)
    write_atomically(path.with_suffix(".csv"), divisions.to_csv(index=False, lineterminator="\n"))
