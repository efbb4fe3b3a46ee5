"""Which learners fit each output as if it were alone, so that one fit serves every number of nested dimensions.

A learner of this bench, or a class of the user's own, says so by `independent_outputs = True`. scikit-learn's classes
say nothing of the kind; those known to do so are listed here, with the values their parameters must have. The rule:
what is fitted to one output depends on the features, the parameters and that output, and on no other. Of a class that
is in the list it holds for that very class, not for what is derived from it.

- `LinearRegression`, `Ridge`, `KernelRidge`: one matrix of the features, solved for each output; with one penalty, a
  number. (Solvers that draw lots, "sag" and "saga", are left out.)
- `RidgeCV`: only where each output chooses its own penalty (`alpha_per_target: true`).
- `Lasso`, `ElasticNet`: coordinate descent, output by output, in fixed order. (Their multi-task variants select
  features jointly, and are none.)
- `KNeighborsRegressor`, `RadiusNeighborsRegressor`: neighbours are a matter of the features; an output is their mean.
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
    conditions = _known().get(cls) if cls.__module__.startswith("sklearn.") else None
    return conditions is not None and all(holds(learner.value(name)) for name, holds in conditions.items())


@cache
def _known() -> dict[type, dict[str, Condition]]:
    """Class → the conditions on its parameters (what takes scikit-learn's time to import waits until it is asked)."""
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
