"""The features as growing and modelling use them: columns sorted once for all outputs, without their zeros."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.numerics.entry import as_csr
from mlcdr.numerics.sums import constant

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Pointers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Non-zero values by column, sorted by value (equal ones by row), and by row; the same for dense and sparse X.

    Only the d features that are not constant are stored: the others are not used. Cost: X once, and nnz log n for
    columns that are not in order already, as those of zeros and ones are. In the sorted order of a column the zeros,
    which are one block in the order of the rows, stand between the negative and the positive values.

    Attributes
    ----------
    features : array of shape (d,)
        Their numbers in X, ascending.
    starts : array of shape (d + 1,)
        Column j is `rows[starts[j]:starts[j + 1]]`, `values[...]`.
    rows, values : arrays of shape (nnz,)
    row_starts, row_columns, row_values : arrays
        The same values by row, columns ascending.
    """

    features: Indices
    starts: Pointers
    rows: Indices
    values: Array
    row_starts: Pointers
    row_columns: Indices
    row_values: Array

    @classmethod
    def of(cls, X: Any) -> Columns:
        """From X (n×d), dense or sparse."""
        X = as_csr(X)
        features = np.flatnonzero(~constant(X))
        by_row = sp.csr_array(X[:, features], dtype=np.float64)
        by_column = sp.csc_array(by_row)
        starts, rows, values = by_column.indptr.astype(np.int64), by_column.indices.astype(np.int32), by_column.data
        for column in itertools.starmap(slice, itertools.pairwise(starts)):
            order = np.argsort(values[column], kind="stable")
            rows[column], values[column] = rows[column][order], values[column][order]
        stored = by_row.indptr.astype(np.int64), by_row.indices.astype(np.int32), by_row.data
        return cls(features.astype(np.int32), starts, rows, values, *stored)

    @property
    def n_features(self) -> int:
        """The number of features that are not constant, d."""
        return len(self.features)
