"""What is handed in, made what all that follows expects: checked, in doubles, dense or CSR.

scikit-learn's checks let every sparse format of a kind through. A `csr_matrix` multiplies otherwise than a `csr_array`
(`X * X` is a product of matrices), entries that are stored twice are counted twice by what squares them, and an index
that points outside is read and written outside by compiled loops. So one class comes in, here, and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data


def checked(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """scikit-learn's `validate_data`: X (n×d) in doubles, dense or a `csr_array`; and y, where it is given.

    Raises
    ------
    ValueError
        When X or y is not what `options` allow, is not finite, or is a sparse matrix with indices out of range.
    """
    return validate_data(estimator, as_csr(X), as_csr(y), accept_sparse="csr", dtype=np.float64, **options)


def checked_targets(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """`checked` for y of numbers, one column a label or target (n×K or n)."""
    X, y = checked(estimator, X, y, multi_output=True, y_numeric=True)
    return X, y


def checked_array(a: Any, **options: Any) -> Any:
    """scikit-learn's `check_array`, dense or a `csr_array`."""
    return check_array(as_csr(a), accept_sparse="csr", **options)


def as_csr(a: Any) -> Any:
    """A sparse matrix of any class as a `csr_array` whose rows are sorted, nothing twice and no zero; else `a` itself.

    Raises
    ------
    ValueError
        When an index is out of range.
    """
    if not sp.issparse(a):
        return a
    if hasattr(a, "check_format"):  # of compressed formats; the others are checked when they are made
        try:
            a.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"a sparse matrix is damaged: {error}") from None
    rows = a if isinstance(a, sp.csr_array) else sp.csr_array(a)
    if not rows.has_canonical_format or not np.all(rows.data):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows
