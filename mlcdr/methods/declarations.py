"""What a component declares: its parameters with their values, and the class attributes of `contracts`.

Importing a method imports SciPy and scikit-learn, which takes a second. So the declarations of all built-in components
are kept in `parts.json`, a JSON Schema that `make docs` writes from the classes: configs are checked against it; the
schema of experiment files, the list of methods and the reference pages are made from it. For any other component the
class itself is inspected.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any

from mlcdr.errors import suggest_name
from mlcdr.methods.foreign_values import find_place
from mlcdr.methods.parts_file import read_definitions
from mlcdr.methods.provenance import is_foreign
from mlcdr.methods.values import Schema, alternatives, as_number, find_misfit, schema_of

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

_METHODS = ("fit", "predict", "predict_proba", "transform")


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
        Those of the constructor, in order: name → what it may be (`mlcdr.methods.values`), with its `default`, if it
        has one.
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
    runs_command : bool
        As in `contracts`.
    is_indexed, is_foreign : bool
        Whether this is from `parts.json`; whether the class is of another installed package, with other conventions.
    steps : str
        The parameter that lists named estimators (`steps` of scikit-learn's `Pipeline`); empty where there is none.
    """

    target: str
    summary: str = ""
    source: str = ""
    extra: str = ""
    parameters: Mapping[str, Schema] = field(default_factory=dict)
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
    runs_command: bool = False
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

    def to_schema(self) -> dict[str, Any]:
        """The JSON Schema of the component's parameters, and under `part` what else differs from the defaults."""
        part = {}
        for each in fields(self):
            value = getattr(self, each.name)
            default = each.default_factory() if each.default_factory is not MISSING else each.default
            if each.name not in ("parameters", "summary") and value != default:
                part[each.name] = value
        properties = {name: dict(schema) for name, schema in self.parameters.items()}
        return {
            "title": self.name,
            "description": self.summary,
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            "part": part,
        }

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any]) -> Declaration:
        """From an entry of `parts.json`."""
        part: dict[str, Any] = {}
        for name, value in schema["part"].items():
            part[name] = tuple(value) if isinstance(value, list) else value
        return cls(parameters=schema["properties"], summary=schema["description"], **part, is_indexed=True)

    def requires(self, parameter: str) -> bool:
        """Whether a parameter must be given."""
        return "default" not in self.parameters[parameter]

    def describe_unknown(self, parameter: str, component: str) -> str:
        """Why there is no such parameter of the component (`learner 'ridge'`)."""
        new = RENAMED.get(parameter)
        if new in self.parameters:
            return f"the parameter {parameter!r} of {component} is now called {new!r}"
        meant = [name for name in _OURS.get(parameter, ()) if name in self.parameters]
        hint = f"; did you mean {meant[0]!r}?" if meant else suggest_name(parameter, self.parameters)
        listed = ", ".join(self.parameters) or "none"
        return f"unknown parameter of {component}{hint} (known: {listed})"

    def find_problem(self, parameter: str, written: Any) -> str | None:
        """Why a parameter cannot have a plain value; None if it can, or nothing is known."""
        shown = f"The {parameter!r} parameter of {self.name}"
        if not self.is_foreign:
            misfit = find_misfit(self.parameters[parameter], written)
            return f"{shown} must be {misfit}." if misfit else None
        if as_number(written) is not written:
            return f"a percentage means nothing to {self.name}: write the value of {parameter!r} that it takes"
        return find_place(shown, parameter, written)


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
    from sklearn.base import ClassifierMixin

    from mlcdr.methods.contracts import LabelSpace, Learner, declared

    text = inspect.getdoc(cls) or ""
    extra = re.search(r"optional extra `(\w+)`", text)
    sources = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith("Source: ")]
    own, inherited = (inspect.getattr_static(each, "misfit", None) for each in (cls, LabelSpace))
    return Declaration(
        target=f"{cls.__module__}:{cls.__qualname__}",
        summary=_in_a_line(text.partition("\n\n")[0]),
        source=_in_a_line(sources[0].removeprefix("Source: ")) if sources else "",
        extra=extra[1] if extra else "",
        parameters=dict(_describe_parameters(cls)),
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
        is_classifier=issubclass(cls, ClassifierMixin) if cls.__module__.startswith("mlcdr.") else None,
        judges_learner=own not in (None, inherited),
        runs_command=declared(cls, "runs_command"),
        is_foreign=is_foreign(cls),
        steps=_steps_of(cls),
    )


def _describe_parameters(cls: type) -> Iterator[tuple[str, Schema]]:
    """Each parameter of a class, and what it may be."""
    from mlcdr.methods.contracts import declared

    constraints = {} if is_foreign(cls) else declared(cls, "_parameter_constraints")
    families = declared(cls, "component_parameters")
    for name, default in parameters(cls).items():
        schema = schema_of(constraints.get(name, ()))
        for each in alternatives(schema):
            if name in families and "methods" in each:
                each["$ref"] = f"#/$defs/{families[name]}"
        yield name, schema if default is REQUIRED else {**schema, "default": default}


def _steps_of(cls: type) -> str:
    """`Declaration.steps` of a class."""
    if all(base.__name__ != "_BaseComposition" for base in cls.__mro__):
        return ""
    known = ("steps", "transformer_list", "transformers", "estimators")
    return next((name for name in known if name in parameters(cls)), "")


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


@cache
def read_parts() -> dict[str, Declaration]:
    """The declarations of all built-in components, by family and name: `learner.ridge`."""
    return {name: Declaration.from_schema(schema) for name, schema in read_definitions().items()}
