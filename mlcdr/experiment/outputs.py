"""Which learners fit each output as if it were alone, so that one fit serves every number of nested dimensions.

A learner of this bench, or a class of the user's own, declares this by `independent_outputs = True`. scikit-learn's
classes declare nothing of the kind; those known to fit this way are listed here, with the values that their parameters
must have. The rule: what is fitted to one output depends on the features, the parameters and that output, and on no
other output. The list is for these classes only, not for classes derived from them.

- `LinearRegression`, `Ridge`, `KernelRidge`: one matrix of the features, solved for each output; with one penalty, a
  number. (The random solvers, "sag" and "saga", are left out.)
- `RidgeCV`: only where each output chooses its own penalty (`alpha_per_target: true`).
- `Lasso`, `ElasticNet`: coordinate descent, output by output, in fixed order. (Their multi-task variants select
  features jointly, and do not belong here.)
- `KNeighborsRegressor`, `RadiusNeighborsRegressor`: neighbours depend on the features alone; an output is their mean.
- `DummyRegressor`: a mean, median or quantile for each output.
- `MultiOutputRegressor`: a clone of its estimator for each output.

Not so: trees and forests of all kinds, whose splits serve all outputs at once, neural networks, partial least squares,
Gaussian processes (one kernel is fitted to all outputs), chains. That changes no result: what is not known to be
independent is fitted again for each number of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Any

from mlcdr.methods import registry
from mlcdr.methods.component import Component

Condition = Callable[[Any], bool]


def independent_outputs(learner: Component) -> bool:
    """Whether the learner, with these parameters, fits each output as if it were alone, as far as is known."""
    if learner.declaration().independent_outputs:
        return True
    cls = registry.resolve("learner", learner.name)
    conditions = None
    if cls.__module__.startswith("sklearn."):
        conditions = _known().get(cls)
    if conditions is None:
        return False
    return all(holds(learner.value(name)) for name, holds in conditions.items())


@cache
def _known() -> dict[type, dict[str, Condition]]:
    """Class → the conditions on its parameters (a function, so that scikit-learn is imported only if needed)."""
    from sklearn.dummy import DummyRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge, RidgeCV
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor

    return {
        LinearRegression: {},
        Ridge: {"alpha": _is_number, "solver": lambda solver: solver not in ("sag", "saga")},
        RidgeCV: {"alpha_per_target": bool},
        KernelRidge: {"alpha": _is_number},
        Lasso: {"selection": lambda selection: selection == "cyclic"},
        ElasticNet: {"selection": lambda selection: selection == "cyclic"},
        KNeighborsRegressor: {},
        RadiusNeighborsRegressor: {},
        DummyRegressor: {"strategy": lambda strategy: strategy != "constant"},
        MultiOutputRegressor: {},
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)
