"""Parameters of parts: how a class declares them, and what those of several methods may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, make_dataclass
from inspect import get_annotations, signature
from numbers import Integral, Real
from typing import Any, Literal

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from typing_extensions import dataclass_transform as dataclass_transform

from mlcdr.methods.docstrings import complete_docstring

_LEARNED = object()


@dataclass(frozen=True)
class Parameter:
    """A parameter as `parameter` declares it."""

    default: Any
    constraints: list[Any]
    last: bool
    notes: dict[str, Any]


def parameter(
    default: Any = MISSING,
    constraints: list[Any] | None = None,
    last: bool = False,
    *,
    family: str | None = None,
    at_most: str | None = None,
    check: Callable[[Any, int], Any] | None = None,
) -> Any:
    """Declare a parameter of the constructor, in the body of a class.

    `alpha: float = parameter(1.0, POSITIVE)` is a complete declaration. The constructor has the parameters of the base
    classes before those of the class. A parameter declared again takes its place from the later declaration; one to
    which a derived class assigns a plain value is not a parameter of that class. A class with an `__init__` of its own
    keeps it.

    Parameters
    ----------
    default : any
        Without one, the parameter must be given.
    constraints : list
        What it may be, in scikit-learn's terms (`_parameter_constraints`); None: anything.
    last : bool
        Whether it comes after the parameters of derived classes.
    family, at_most, check : str, str, function
        The parameter's entries in `Part.component_parameters`, `at_most` and `checks_of_labels`.
    """
    notes = {"component_parameters": family, "at_most": at_most, "checks_of_labels": check}
    return Parameter(default, constraints or [], last, notes)


def learned(*, init: Literal[False] = False) -> Any:
    """Declare the type of an attribute that `fit` sets, in the body of a class: no constructor takes it."""
    return _LEARNED


def one_of(*words: str) -> list[Any]:
    """The constraint of a parameter that is one of some strings."""
    return [StrOptions(set(words))]


def write_init(cls: Any) -> None:
    """Give a class the `__init__`, the `_parameter_constraints` and the docstring of the parameters that it and its
    bases declare.
    """
    if any("__init__" in vars(base) and "_parameters" not in vars(base) for base in cls.__mro__[:-1]):
        complete_docstring(cls, list(signature(cls).parameters))
        return
    _take_declarations(cls)
    found = _all_parameters(cls)
    fields = [(name, kind, field(default=each.default)) for name, (kind, each) in found.items()]
    made: Any = make_dataclass(cls.__name__, fields, repr=False, eq=False)
    cls.__init__ = made.__init__
    complete_docstring(cls, found)
    if "_parameter_constraints" not in vars(cls):
        cls._parameter_constraints = {name: each.constraints for name, (_, each) in found.items() if each.constraints}


def _take_declarations(cls: Any) -> None:
    """Put what a class declares into `_parameters`, name → (type, declaration), and the defaults into their places."""
    for name in [name for name, value in vars(cls).items() if value is _LEARNED]:
        delattr(cls, name)
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Parameter)}
    cls._parameters = {name: (kind, own[name]) for name, kind in get_annotations(cls).items() if name in own}
    for name, declared in own.items():
        setattr(cls, name, None if declared.default is MISSING else declared.default)
    for attribute in ("component_parameters", "at_most", "checks_of_labels"):
        noted = {name: each.notes[attribute] for name, each in own.items() if each.notes[attribute]}
        if noted:
            setattr(cls, attribute, {**getattr(cls, attribute), **noted})


def _all_parameters(cls: Any) -> dict[str, tuple[Any, Parameter]]:
    """The declarations of a class and its bases, in the constructor's order."""
    found: dict[str, tuple[Any, Parameter]] = {}
    for base in reversed(cls.__mro__):
        # A plain value in a derived class takes the place of a parameter.
        found = {name: each for name, each in found.items() if name not in vars(base)}
        found |= vars(base).get("_parameters", {})
    first = {name: each for name, each in found.items() if not each[1].last}
    return first | found


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
