"""What a component declares: its parameters with their constraints, and the class attributes of `contracts`.

Importing a method imports SciPy and scikit-learn, which takes a second. So the declarations of all built-in components
are kept in `index.json`, which `make docs` writes from the classes. Configs are checked against it; the schema and the
list of methods are made from it. For any other component the class itself is inspected.
"""

from __future__ import annotations

import builtins
import inspect
import json
import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from mlcdr.errors import suggest_name
from mlcdr.methods.provenance import is_foreign

INDEX = Path(__file__).with_name("index.json")

RENAMED = {"base": "estimator", "of": "estimator", "learner": "estimator"}
"""Former names of parameters, where a component has the new one."""

_OURS = {
    "n_neighbors": ("k",),
    "n_estimators": ("n_members", "n_models", "n_trees", "n_learners", "n_rounds"),
    "base_estimator": ("estimator", "classifier"),
}
"""scikit-learn's names of parameters, and what they are called here."""

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that has none."""

_WORDED = {
    "boolean": "true or false",
    "array-like": "a list",
    "random_state": "an int in the range [0, 4294967295] or None",
}
_METHODS = ("fit", "predict", "predict_proba", "transform")
_PERCENTAGE = re.compile(r"\d+(\.\d+)?%")

# Parameters whose names mean a place to load from or to write to: `memory`, `cache_dir`, `log_file`, `model_path`.
_PLACES = re.compile(
    r"(.*_)?(memory|cache.*|.*(file|path|dir|folder)s?|.*(filename|director(y|ies))s?|locations?|ur[il]s?)(_.*)?", re.I
)
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
# Text that names no file but perhaps one without a suffix in the folder the command is run in.
_WORDS = re.compile(r"[\w+ -]*")


def as_number(written: Any) -> Any:
    """A percentage as a fraction; any other value as it is."""
    if isinstance(written, str) and _PERCENTAGE.fullmatch(written):
        return float(written[:-1]) / 100
    return written


def is_component(written: Any) -> bool:
    """Whether a value is a component by its form: a mapping with one key, which is a dotted path to a class."""
    return isinstance(written, Mapping) and len(written) == 1 and _is_dotted(next(iter(written)))


def _is_dotted(text: Any) -> bool:
    return isinstance(text, str) and _DOTTED.fullmatch(text) is not None


@dataclass(frozen=True)
class Constraint:
    """One kind of value that a parameter may have.

    Attributes
    ----------
    kind : str
        "int" and "float": in an interval; "options": one of some texts; "methods": an object that has these;
        "instance": of a type; "boolean", "array-like", "random_state" and "none": as scikit-learn has them; "other":
        what only scikit-learn's constraint object can tell, never in the index.
    text : str
        In scikit-learn's words, or plainer ones for what a config cannot hold.
    details : tuple
        Of an interval: the bounds (None: none) and the closed sides ("left", "right", "both", "neither"); the options;
        the methods; the type's name; the constraint object.
    """

    kind: str
    text: str
    details: tuple[Any, ...] = ()

    @classmethod
    def from_scikit_learn(cls, written: Any) -> Constraint:
        """From an item of `_parameter_constraints`."""
        from sklearn.utils._param_validation import HasMethods, Interval, StrOptions, make_constraint

        found = make_constraint(written)
        if written is None:
            return cls("none", "None")
        if written in _WORDED:
            return cls(written, _WORDED[written])
        if isinstance(written, Interval) and written.type in (Integral, Real):
            kind = "int" if written.type is Integral else "float"
            return cls(kind, str(found), (written.left, written.right, written.closed))
        if isinstance(written, StrOptions):
            options = tuple(sorted(written.options))
            return cls("options", f"a str among {{{', '.join(map(repr, options))}}}", options)
        if isinstance(written, HasMethods):
            return cls("methods", str(found), tuple(written.methods))
        if isinstance(written, type) and written.__module__ == "builtins":
            return cls("instance", str(found), (written.__name__,))
        return cls("other", str(found), (found,))

    @property
    def is_interval(self) -> bool:
        """Whether it is of numbers."""
        return self.kind in ("int", "float")

    @property
    def is_share(self) -> bool:
        """Whether it is of real numbers up to 1."""
        return self.kind == "float" and self.details[1] is not None and self.details[1] <= 1

    def allows(self, value: Any) -> bool:
        """Whether a value that a config can hold (text, number, list, mapping) is of that kind."""
        match self.kind:
            case "none":
                return value is None
            case "boolean":
                return isinstance(value, bool)
            case "array-like":
                return hasattr(value, "__len__") and not isinstance(value, str)
            case "random_state":
                return value is None or (isinstance(value, int) and 0 <= value < 2**32)
            case "options":
                return isinstance(value, str) and value in self.details
            case "methods":
                return all(hasattr(value, name) for name in self.details)
            case "instance":
                return isinstance(value, getattr(builtins, self.details[0]))
            case "other":
                return bool(self.details[0].is_satisfied_by(value))
        low, high, closed = self.details
        kind: Any = Integral if self.kind == "int" else Real
        if not isinstance(value, kind) or value != value:
            return False
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        above = low < value or (low == value and closed in ("left", "both"))
        return bool(above and (value < high or (value == high and closed in ("right", "both"))))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Parameter:
    """A parameter of a component: its default (or REQUIRED), and what it may be (empty: not known)."""

    default: Any = REQUIRED
    constraints: tuple[Constraint, ...] = ()

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def to_plain(self) -> dict[str, Any]:
        """In the form that the index stores."""
        default = {} if self.required else {"default": self.default}
        return default | {"constraints": [[each.kind, each.text, *each.details] for each in self.constraints]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Parameter:
        """From the index."""
        default = plain.get("default", REQUIRED)
        constraints = tuple(Constraint(kind, text, tuple(details)) for kind, text, *details in plain["constraints"])
        return cls(tuple(default) if isinstance(default, list) else default, constraints)


@dataclass(frozen=True)
class Declaration:
    """What is known of a component without an instance of it.

    Attributes
    ----------
    target : str
        `module:class`.
    summary, source, extra : str
        What it is, in a line; the papers; the optional extra of mlcdr that it needs.
    parameters : dict
        Those of the constructor, in order.
    components, one_label, at_most, sizes_of_labels, parts_of_all_labels, nested, size_parameter, independent_outputs
        As in `contracts` (`components`: `component_parameters`).
    checks_of_labels : tuple of str
        The parameters that the class has such a check for.
    sizes_members : bool
        Whether it has `sizes_of_a_member(n, d)`: how many of n rows and d features a member of it gets.
    methods : tuple of str
        Those of its methods that other components require of their parts.
    is_classifier : bool
        Whether it is a classifier (None: an instance must tell).
    judges_learner : bool
        Whether it has a `misfit` of its own.
    checks_itself : bool
        Whether only an instance can tell that all parameters are right: the class has checks beyond its constraints.
    is_indexed, is_foreign : bool
        Whether this is from the index; whether the class is of another installed package, with other conventions.
    steps : str
        The parameter that lists named estimators (`steps` of scikit-learn's `Pipeline`); empty where there is none.
    """

    target: str
    summary: str = ""
    source: str = ""
    extra: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    components: Mapping[str, str] = field(default_factory=dict)
    one_label: bool = False
    at_most: Mapping[str, str] = field(default_factory=dict)
    sizes_of_labels: tuple[str, ...] = ()
    parts_of_all_labels: tuple[str, ...] = ()
    checks_of_labels: tuple[str, ...] = ()
    sizes_members: bool = False
    nested: bool = False
    size_parameter: str = "n_components"
    independent_outputs: bool = False
    methods: tuple[str, ...] = ()
    is_classifier: bool | None = None
    judges_learner: bool = False
    checks_itself: bool = False
    is_indexed: bool = False
    is_foreign: bool = False
    steps: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is a class of this package, which declares the components among its parameters."""
        return self.target.startswith("mlcdr.")

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.target.rpartition(":")[2].rpartition(".")[2]

    @property
    def gives(self) -> str:
        """What a multi-label classifier gives beside label sets; empty for any other component (codes decode to
        scores).
        """
        if not self.is_classifier or self.one_label:
            return ""
        own = "" if "estimator" not in self.components else ", if its estimator does"
        return f"scores, and probabilities{own}" if "predict_proba" in self.methods else "scores"

    def to_plain(self) -> dict[str, Any]:
        """In the form that the index stores: what differs from the defaults."""
        plain = {}
        for each in fields(self):
            value = getattr(self, each.name)
            default = each.default_factory() if each.default_factory is not MISSING else each.default
            if each.name == "parameters":
                plain[each.name] = {key: parameter.to_plain() for key, parameter in value.items()}
            elif value != default:
                plain[each.name] = value
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Declaration:
        """From the index."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()
        }
        values["parameters"] = {key: Parameter.from_plain(value) for key, value in plain["parameters"].items()}
        return cls(**values, is_indexed=True)

    def describe_unknown(self, parameter: str, component: str) -> str:
        """Why there is no such parameter of the component (`learner 'ridge'`)."""
        new = RENAMED.get(parameter)
        if new in self.parameters:
            return f"the parameter {parameter!r} of {component} is now called {new!r}"
        hint, listed = suggest_name(parameter, self.parameters), ", ".join(self.parameters) or "none"
        if meant := next((name for name in _OURS.get(parameter, ()) if name in self.parameters), ""):
            hint = f"; did you mean {meant!r}?"
        return f"unknown parameter of {component}{hint} (known: {listed})"

    def surely_takes(self, parameter: str, part: Declaration | None) -> bool:
        """Whether an instance of a built-in component surely is what a parameter may be."""
        asked = [each.details for each in self.parameters[parameter].constraints if each.kind == "methods"]
        return part is not None and part.is_indexed and any(set(names) <= set(part.methods) for names in asked)

    def find_problem(self, parameter: str, written: Any) -> str | None:
        """Why a parameter cannot have a plain value, in scikit-learn's words; None if it can, or nothing is known.

        A percentage is a fraction, and wrong for a parameter whose numbers go beyond 1; true and false are not numbers.
        """
        value = as_number(written)
        if self.is_foreign and value is not written:
            return f"a percentage means nothing to {self.name}: write the value of {parameter!r} that it takes"
        if self.is_foreign:
            return self._find_place(parameter, written)
        allowed, shown = self.parameters[parameter].constraints, repr(value)
        fitting = list(allowed)
        if any(each.is_interval for each in allowed):
            if isinstance(written, bool):
                fitting, shown = [each for each in allowed if not each.is_interval], str(written).lower()
            elif value is not written:
                fitting, shown = [each for each in allowed if each.is_share], written
        if not allowed or any(each.allows(value) for each in fitting):
            return None
        *others, last = map(str, allowed)
        listed = f"{', '.join(others)} or {last}" if others else last
        return f"The {parameter!r} parameter of {self.name} must be {listed}. Got {shown} instead."

    def _find_place(self, parameter: str, written: Any, inner: str = "") -> str | None:
        """Why a class of another package may not be given a value, None if it may. The value could name a file to load
        (some classes load pickles), and a config must not run code.

        What such a class does with its parameters is not known. So a parameter whose name means a place (a path) gets
        only numbers, true, false and null. Any other also gets components, which are checked by themselves, texts, and
        lists and mappings of all these. A text, also a key of a mapping, has only letters, digits, `_`, `-`, `+` and
        spaces, and is not `filename` (vectorizers would open files). `inner`: the key of the mapping that contains the
        value; it counts as the parameter's name.
        """
        shown = f"The {parameter!r} parameter of {self.name}"
        if written is None or isinstance(written, bool | int | float):
            return None
        if _PLACES.fullmatch(inner or parameter):
            meant = f", in {inner!r}," if inner and inner != parameter else ""
            return f"{shown}{meant} names a place to load from or to write to, which no config may set"
        if is_component(written):
            return None
        if isinstance(written, Mapping):
            inside = [(each, str(key)) for key, each in written.items()] + [(str(key), inner) for key in written]
        elif isinstance(written, list | tuple):
            inside = [(each, inner) for each in written]
        elif written == "filename":  # of a vectorizer's `input`
            return f"{shown} would make it open files that the data name, which no config may set. Got 'filename'."
        elif not _WORDS.fullmatch(written):
            hint = f" (A component is a mapping: `{{{written}: {{}}}}`.)" if _is_dotted(written) else ""
            return (
                f"{shown} must be no text that could name a file: a config may give a class of another package words "
                f"only (letters, digits, `_`, `-`, `+`, spaces). Got {written!r} instead.{hint}"
            )
        else:
            return None
        problems = (self._find_place(parameter, value, key) for value, key in inside)
        return next(filter(None, problems), None)


@cache
def parameters(cls: type) -> dict[str, Any]:
    """The constructor's parameters and their defaults, in order (REQUIRED where there is none)."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p.default for p in list(signature.parameters.values())[1:] if p.kind in kinds}


@cache
def declaration_of(cls: type) -> Declaration:
    """What a class declares."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    from mlcdr.methods.contracts import LabelSpace, Learner, declared

    foreign, ours = is_foreign(cls), cls.__module__.startswith("mlcdr.")
    constraints = {} if foreign else declared(cls, "_parameter_constraints")
    text = inspect.getdoc(cls) or ""
    extra = re.search(r"optional extra `(\w+)`", text)
    sources = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith("Source: ")]
    misfits = [inspect.getattr_static(each, "misfit", None) for each in (cls, LabelSpace)]
    return Declaration(
        target=f"{cls.__module__}:{cls.__qualname__}",
        summary=_in_a_line(text.partition("\n\n")[0]),
        source=_in_a_line(sources[0].removeprefix("Source: ")) if sources else "",
        extra=extra[1] if extra else "",
        parameters={
            key: Parameter(default, tuple(map(Constraint.from_scikit_learn, constraints.get(key, ()))))
            for key, default in parameters(cls).items()
        },
        components=dict(declared(cls, "component_parameters")),
        one_label=declared(cls, "one_label", Learner),
        at_most=dict(declared(cls, "at_most")),
        sizes_of_labels=tuple(declared(cls, "sizes_of_labels")),
        parts_of_all_labels=tuple(declared(cls, "parts_of_all_labels")),
        checks_of_labels=tuple(declared(cls, "checks_of_labels")),
        sizes_members=hasattr(cls, "sizes_of_a_member"),
        nested=declared(cls, "nested", LabelSpace),
        size_parameter=declared(cls, "size_parameter", LabelSpace),
        independent_outputs=declared(cls, "independent_outputs", Learner),
        methods=tuple(name for name in _METHODS if hasattr(cls, name) or hasattr(cls, "__getattr__")),
        is_classifier=issubclass(cls, ClassifierMixin) if ours else None,
        judges_learner=misfits[0] not in (None, misfits[1]),
        checks_itself=getattr(cls, "_validate_params", None) is not BaseEstimator._validate_params,
        is_foreign=foreign,
        steps=_steps_of(cls),
    )


def _steps_of(cls: type) -> str:
    """`Declaration.steps` of a class."""
    if all(base.__name__ != "_BaseComposition" for base in cls.__mro__):
        return ""
    return next(
        (name for name in ("steps", "transformer_list", "transformers", "estimators") if name in parameters(cls)), ""
    )


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


@cache
def read_index() -> dict[str, dict[str, Declaration]]:
    """Family → name → declaration, of all built-in components."""
    index = json.loads(INDEX.read_bytes()) if INDEX.exists() else {}
    return {
        family: {name: Declaration.from_plain(plain) for name, plain in known.items()}
        for family, known in index.items()
    }
