"""What parameters of several methods may be, for their `_parameter_constraints`."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import HasMethods, Interval

COUNT: list[Any] = [Interval(Integral, 1, None, closed="left")]
POSITIVE: list[Any] = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE: list[Any] = [Interval(Real, 0, None, closed="left")]
UNIT_INTERVAL: list[Any] = [Interval(Real, 0, 1, closed="both")]
FRACTION: list[Any] = [Interval(Real, 0, 1, closed="right")]
FINITE: list[Any] = [Interval(Real, None, None, closed="neither")]
BOOLEAN: list[Any] = ["boolean"]
SEED: list[Any] = ["random_state"]
ESTIMATOR: list[Any] = [HasMethods(["fit", "predict"]), None]
SIZE: list[Any] = [*COUNT, *FRACTION, None]  # a number of dimensions, features or rows, a fraction of them, or all
N_PARENTS: list[Any] = [Interval(Integral, 0, None, closed="left"), Interval(Real, 0, 1, closed="both"), None]
# of regressions with a row-sparse penalty, and of those that also use graphs of neighbours
ROW_SPARSE: dict[str, list[Any]] = {"alpha": POSITIVE, "tol": NOT_NEGATIVE, "max_iter": COUNT}
ROW_SPARSE_ON_GRAPHS: dict[str, list[Any]] = {
    **ROW_SPARSE,
    "gamma": NOT_NEGATIVE,
    "n_neighbors": COUNT,
    "sigma": POSITIVE,
}
