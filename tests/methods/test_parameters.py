"""Parameters that a class declares: the constructor and the rules that are made of them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from sklearn.base import clone

import mlcdr
from mlcdr.methods.constraints import COUNT, POSITIVE, one_of, parameter
from mlcdr.methods.contracts import Part


class Base(Part):
    size: int = parameter(1, COUNT, at_most="labels")
    rounding: str = parameter("up", one_of("up", "down"), last=True)


class Derived(Base):
    alpha: float = parameter(2.0, POSITIVE)
    estimator: Any = parameter(None, family="learner")


def names(cls: type) -> list[str]:
    return list(inspect.signature(cls).parameters)


def test_those_of_the_bases_come_first_and_last_ones_last():
    assert names(Base) == ["size", "rounding"]
    assert names(Derived) == ["size", "alpha", "estimator", "rounding"]
    assert Derived(3, 0.5, rounding="down").get_params() == {
        "size": 3,
        "alpha": 0.5,
        "estimator": None,
        "rounding": "down",
    }
    assert repr(clone(Derived(alpha=1.0))) == "Derived(alpha=1.0)"
    assert (Derived.at_most, Derived.component_parameters) == ({"size": "labels"}, {"estimator": "learner"})
    assert Base.component_parameters == {}


def test_values_are_judged_by_what_is_declared():
    for wrong in ({"size": 0}, {"alpha": -1.0}, {"rounding": "sideways"}):
        with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter of Derived"):
            Derived(**wrong)._validate_params()
    with pytest.raises(TypeError, match=r"Derived.__init__\(\) got an unexpected keyword argument 'beta'"):
        Derived(beta=1)


def test_a_derived_class_may_declare_again_fix_or_write_its_own_constructor():
    class Again(Derived):
        size: int = parameter(5, COUNT)

    class Fixed(Derived):
        alpha = 7.0

    class Own(Derived):
        def __init__(self, size: int = 1, shift: float = 0.0):
            super().__init__(size, 1.5)
            self.shift = shift

    class Required(Part):
        learner: Any = parameter()

    assert names(Again) == ["alpha", "estimator", "size", "rounding"]
    assert Again().size == 5
    assert names(Fixed) == ["size", "estimator", "rounding"]
    assert Fixed().alpha == 7.0
    assert "alpha" not in Fixed._parameter_constraints
    assert names(Own) == names(type("Heir", (Own,), {})) == ["size", "shift"]
    assert (Own(2).size, Own().alpha) == (2, 1.5)
    with pytest.raises(TypeError):
        Required()
    assert Required(3).learner == 3


def test_help_explains_each_parameter_in_order_and_without_pointing_at_another_class():
    public = [getattr(mlcdr, name) for name in mlcdr.__all__]
    bases = [mlcdr.FeatureStep, mlcdr.LabelSpace, mlcdr.Learner, mlcdr.Threshold]
    for cls in public:
        if not (isinstance(cls, type) and issubclass(cls, Part)) or cls in bases:
            continue
        section = cls.__doc__.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        described = [n for each in re.findall(r"^(\w[\w, ]*) : ", section, re.M) for n in each.split(", ")]
        assert described == names(cls), cls
        assert not re.search(r"\b[Aa]s in `", section), cls


def test_a_class_inherits_descriptions_but_for_those_of_its_own():
    class Told(Derived):
        """Text.

        Parameters
        ----------
        alpha : float
            Mine.
        """

    class More(Told):
        """More.

        Attributes
        ----------
        seen_ : int
        """

    class Silent(Told):
        beta: float = parameter(1.0)

    own = "Parameters\n----------\nalpha : float\n    Mine."
    assert More.__doc__ == f"More.\n\n{own}\n\nAttributes\n----------\nseen_ : int\n"
    assert Told.__doc__ == f"Text.\n\n{own}\n"
    assert Silent.__doc__ is None
