"""Fixed folds of published data sets, which are MATLAB files, as the CSV files that `splits: {kind: file}` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from mlcdr.data.matlab import read_matrices
from mlcdr.data.text import fail
from mlcdr.whole_files import write_atomically


def write_fold_csv(path: Path) -> Path:
    """Write the divisions of a MATLAB file beside it; returns the CSV file's path.

    The file has `indices` (n×r), whose columns are r divisions of n rows into folds numbered from 1. The CSV has a
    column of fold numbers from 0 for each: fold, fold2, fold3, ...

    Raises
    ------
    DataError
        A file that cannot be read, or one of other content.
    ResultsError
        A CSV that cannot be written.
    """
    (indices,) = read_matrices(path, ["indices"])
    if sparse.issparse(indices) or not indices.size or (indices < 1).any() or (indices != np.floor(indices)).any():
        fail(path, "indices: the numbers of folds are whole numbers from 1 on")
    rows = (indices - 1).astype(int).tolist()
    names = ["fold", *(f"fold{k}" for k in range(2, indices.shape[1] + 1))]
    csv = path.with_suffix(".csv")
    write_atomically(csv, "".join(f"{','.join(map(str, row))}\n" for row in [names, *rows]))
    return csv
