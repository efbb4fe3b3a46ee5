"""The features as growing and modelling want them: each column sorted once, for all outputs; zeros are not stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Pointers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Non-zero values by column, sorted by value (equal ones by row), and by row; the same for dense and sparse X.

    Cost: nnz log n. In the sorted order of a column the zeros, which are one block in the order of the rows, stand
    between the negative and the positive values.

    Attributes
    ----------
    starts : array of shape (d + 1,)
        Column j is `rows[starts[j]:starts[j + 1]]`, `values[...]`.
    negatives : array of shape (d,)
        Where in `values` the first that is not negative stands, for each column.
    rows, values : arrays of shape (nnz,)
    row_starts, row_columns, row_values : arrays
        The same values by row, columns ascending.
    """

    starts: Pointers
    negatives: Pointers
    rows: Indices
    values: Array
    row_starts: Pointers
    row_columns: Indices
    row_values: Array

    @classmethod
    def of(cls, X: Any) -> Columns:
        """From X (n×d), dense or sparse."""
        by_row = sp.csr_array(X, dtype=np.float64, copy=sp.issparse(X))
        by_row.sum_duplicates()
        by_row.eliminate_zeros()
        by_column = by_row.tocsc()
        d = X.shape[1]
        column = np.repeat(np.arange(d), np.diff(by_column.indptr))
        order = np.lexsort((by_column.data, column))  # stable: rows ascend where values are equal
        values = by_column.data[order]
        starts = by_column.indptr.astype(np.int64)
        negatives = starts[:-1] + np.bincount(column[by_column.data < 0], minlength=d)
        return cls(
            starts,
            negatives,
            by_column.indices[order].astype(np.int32),
            values,
            by_row.indptr.astype(np.int64),
            by_row.indices.astype(np.int32),
            by_row.data,
        )

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return len(self.starts) - 1
