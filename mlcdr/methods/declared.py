"""What a class declares of its parameters, read from its source and not from the class.

To import a method is to import SciPy and scikit-learn, which takes a second; to parse its file and those of its bases
takes milliseconds. So a mistake in a config is told at once. Only declarations are read: the signature of `__init__`,
`component_parameters`, `one_label` and `_parameter_constraints`, in the class or in a base that is in this package.
What cannot be told so (`Untold`) is the class's own to tell.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

_PACKAGE = "mlcdr"
_PERCENTAGE = re.compile(r"\d+(\.\d+)?%")
# Bases from elsewhere that have neither parameters nor constraints of their own.
_PLAIN = ("sklearn.base", "sklearn.feature_selection", "abc", "typing")


class Untold(Exception):
    """The source does not say it in a form that is understood here."""


@dataclass(frozen=True)
class Declared:
    """What is known of a class without an instance of it.

    Attributes
    ----------
    name : str
        The class.
    parameters : dict
        Of `__init__`, in order: whether it is required.
    components : dict
        `component_parameters`: parameter → family.
    one_label : bool
        Whether it fits one label.
    constraints : dict
        `_parameter_constraints` by parameter, as far as they were read.
    """

    name: str
    parameters: Mapping[str, bool]
    components: Mapping[str, str]
    one_label: bool
    constraints: Mapping[str, tuple[Constraint, ...]]

    @classmethod
    def of(cls, kind: type, defaults: Mapping[str, Any]) -> Declared:
        """From the class itself and its parameters' defaults; `build` checks the constraints."""
        required = {key: default is inspect.Parameter.empty for key, default in defaults.items()}
        components = getattr(kind, "component_parameters", {})
        return cls(kind.__name__, required, components, getattr(kind, "one_label", False), {})

    @classmethod
    def read(cls, module: str, name: str) -> Declared:
        """From the source of a class of this package.

        Raises
        ------
        Untold
            When the source does not say it plainly.
        """
        source = _module(module).get(name)
        if not isinstance(source, _Class):
            raise Untold(f"{module}.{name}")
        rules = {}
        for key, allowed in source.get("_parameter_constraints", {}).items():
            with contextlib.suppress(Untold):
                rules[key] = tuple(map(_constraint, allowed))
        components, one_label = source.get("component_parameters", {}), source.get("one_label", False)
        return cls(name, source.parameters(), components, one_label, rules)

    def problem(self, parameter: str, written: Any) -> str | None:
        """Why a parameter cannot have a plain value, in scikit-learn's words; None if it can, or nothing is known.

        A percentage is a share, and nothing to a parameter whose numbers go beyond 1; true and false are no numbers.
        """
        allowed = self.constraints.get(parameter, ())
        value, shown = as_number(written), repr(as_number(written))
        fitting = list(allowed)
        if any(each.numbers for each in allowed):
            if isinstance(written, bool):
                fitting, shown = [each for each in allowed if not each.numbers], str(written).lower()
            elif value is not written:
                fitting, shown = [each for each in allowed if each.numbers == "shares"], written
        if not allowed or any(each.allows(value) for each in fitting):
            return None
        *others, last = map(str, allowed)
        listed = f"{', '.join(others)} or {last}" if others else last
        return f"The {parameter!r} parameter of {self.name} must be {listed}. Got {shown} instead."


def as_number(written: Any) -> Any:
    """A percentage as a fraction; any other value as it is."""
    if isinstance(written, str) and _PERCENTAGE.fullmatch(written):
        return float(written[:-1]) / 100
    return written


# -------------------------------------------------------------------- constraints


@dataclass(frozen=True)
class Constraint:
    """One of scikit-learn's, for the values that a config can hold (text, numbers, lists, mappings)."""

    text: str
    allows: Callable[[Any], bool]
    numbers: str = ""  # of an interval: `shares` if they are reals up to 1, else `others`

    def __str__(self) -> str:
        return self.text


def _interval(kind: Any, left: float | None, right: float | None, *, closed: str) -> Constraint:
    low, high = (-math.inf if left is None else left), (math.inf if right is None else right)
    begins, ends = closed in ("left", "both"), closed in ("right", "both")

    def allows(value: Any) -> bool:
        if not isinstance(value, kind) or value != value:
            return False
        return (low < value or (begins and low == value)) and (value < high or (ends and value == high))

    what, number = ("an int", str) if kind is Integral else ("a float", lambda bound: str(float(bound)))
    shown = f"{'-inf' if left is None else number(left)}, {'inf' if right is None else number(right)}"
    text = f"{what} in the range {'[' if begins else '('}{shown}{']' if ends else ')'}"
    return Constraint(text, allows, "shares" if kind is not Integral and high <= 1 else "others")


def _str_options(options: set[str]) -> Constraint:
    listed = ", ".join(map(repr, sorted(options)))
    return Constraint(f"a str among {{{listed}}}", lambda value: isinstance(value, str) and value in options)


def _has_methods(methods: str | list[str]) -> Constraint:
    names = [methods] if isinstance(methods, str) else methods
    listed = " and ".join(filter(None, (", ".join(map(repr, names[:-1])), repr(names[-1]))))
    return Constraint(f"an object implementing {listed}", lambda value: all(hasattr(value, name) for name in names))


_SEED = _interval(Integral, 0, 2**32 - 1, closed="both")
_BY_WORD = {
    "boolean": Constraint("true or false", lambda value: isinstance(value, bool)),
    "array-like": Constraint("a list", lambda value: hasattr(value, "__len__") and not isinstance(value, str)),
    "random_state": Constraint(f"{_SEED} or None", lambda value: value is None or _SEED.allows(value)),
    None: Constraint("None", lambda value: value is None),
}
_OF_SCIKIT_LEARN = {"Interval": _interval, "StrOptions": _str_options, "HasMethods": _has_methods}


_UNTOLD = (object(),)  # as if a constraint of unknown kind


def _constraint(written: Any) -> Constraint:
    if isinstance(written, Constraint):
        return written
    if isinstance(written, type):
        return Constraint(f"an instance of {written.__name__!r}", lambda value: isinstance(value, written))
    if not (written is None or isinstance(written, str)) or written not in _BY_WORD:
        raise Untold(f"the constraint {written!r}")
    return _BY_WORD[written]


# -------------------------------------------------------------------- source


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitOr: operator.or_,
    ast.Sub: operator.sub,
    ast.Add: operator.add,
    ast.Pow: operator.pow,
}


class _Module:
    """The names of a module of this package: its classes and constants, and those it imports."""

    def __init__(self, name: str):
        self.name = name
        file = Path(__file__).parents[1].joinpath(*name.split(".")[1:]).with_suffix(".py")
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError) as error:
            raise Untold(f"{name}: {error}") from None
        self.found: dict[str, Any] = {}
        self.constants: dict[str, ast.expr] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                for each in statement.names:
                    self.imported[each.asname or each.name] = (statement.module, each.name)
            elif isinstance(statement, ast.ClassDef):
                self.found[statement.name] = _Class(self, statement)
            else:
                self.constants |= _assigned(statement)

    def get(self, name: str) -> Any:
        """What a name stands for here."""
        if name in self.found:
            return self.found[name]
        if name in self.constants:
            self.found[name] = self.value(self.constants[name])
        elif name in self.imported:
            self.found[name] = self._from_elsewhere(*self.imported[name])
        elif hasattr(builtins, name):
            return getattr(builtins, name)
        else:
            raise Untold(f"{self.name}.{name}")
        return self.found[name]

    def value(self, expression: ast.expr) -> Any:
        """The value of an expression of this module's own text; what is untold in a mapping has the value `_UNTOLD`."""
        if isinstance(expression, ast.Dict):
            return self._mapping(expression)
        if isinstance(expression, ast.Constant):
            return expression.value
        try:
            return self._computed(expression)
        except Untold:
            raise
        except Exception as error:  # whatever our own declaration does with what stands in for the real thing
            raise Untold(f"{self.name}: {ast.unparse(expression)}: {error}") from None

    def _computed(self, node: ast.expr) -> Any:
        """The few kinds of expression that declarations consist of."""
        match node:
            case ast.Name():
                return self.get(node.id)
            case ast.Attribute():
                return getattr(self.value(node.value), node.attr)
            case ast.List() | ast.Tuple() | ast.Set():
                kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
                return kind(self._each(node.elts))
            case ast.Call():
                named = {each.arg: self.value(each.value) for each in node.keywords if each.arg}
                return self.value(node.func)(*self._each(node.args), **named)
            case ast.Subscript():
                return self.value(node.value)[self.value(node.slice)]
            case ast.BinOp(op=ast.BitOr() | ast.Sub() | ast.Add() | ast.Pow()):
                return _OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand)
        raise Untold(f"{self.name}: {ast.unparse(node)}")

    def _each(self, nodes: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += self.value(node.value)
            else:
                values.append(self.value(node))
        return values

    def _mapping(self, expression: ast.Dict) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(expression.keys, expression.values, strict=True):
            if key is None:
                result |= self.value(value)
            else:
                try:
                    result[self.value(key)] = self.value(value)
                except Untold:
                    result[self.value(key)] = _UNTOLD
        return result

    @staticmethod
    def _from_elsewhere(module: str, name: str) -> Any:
        if module.partition(".")[0] == _PACKAGE:
            return _module(module).get(name)
        if module == "sklearn.utils._param_validation" and name in _OF_SCIKIT_LEARN:
            return _OF_SCIKIT_LEARN[name]
        if module in _PLAIN:
            return object
        if module.partition(".")[0] in sys.stdlib_module_names:
            return getattr(importlib.import_module(module), name)
        raise Untold(f"{module}.{name}")


class _Class:
    """A class of this package as its source has it."""

    def __init__(self, module: _Module, node: ast.ClassDef):
        self.module, self.node = module, node
        self.attributes: dict[str, ast.expr] = {}
        self.constructor: ast.FunctionDef | None = None
        for statement in node.body:
            self.attributes |= _assigned(statement)
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                self.constructor = statement

    def __getattr__(self, name: str) -> Any:  # `Base._parameter_constraints` in a declaration
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def line(self) -> Iterator[_Class]:
        """The class and its bases, the nearest first."""
        yield self
        for base in self.node.bases:
            expression = base.value if isinstance(base, ast.Subscript) else base
            if not isinstance(expression, ast.Name):
                raise Untold(f"{self.node.name}({ast.unparse(base)})")
            found = self.module.get(expression.id)
            if isinstance(found, _Class):
                yield from found.line()
            elif found is not object:
                raise Untold(f"{self.node.name}({expression.id})")

    def get(self, name: str, *default: Any) -> Any:
        """The value of an attribute; of the nearest base that has it."""
        for each in self.line():
            if name in each.attributes:
                return each.module.value(each.attributes[name])
        if not default:
            raise Untold(f"{self.node.name}.{name}")
        return default[0]

    def parameters(self) -> dict[str, bool]:
        """Those of the constructor, and whether each is required."""
        given = next((each.constructor.args for each in self.line() if each.constructor), None)
        if given is None:
            return {}
        if given.vararg or given.kwarg or given.posonlyargs:
            raise Untold(f"{self.node.name}.__init__")
        plain, first = given.args[1:], len(given.args) - len(given.defaults) - 1
        result = {each.arg: i < first for i, each in enumerate(plain)}
        return result | {
            each.arg: default is None for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        }


@cache
def _module(name: str) -> _Module:
    return _Module(name)


def _assigned(statement: ast.stmt) -> dict[str, ast.expr]:
    """The names that a statement gives a value, with that."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        return {statement.target.id: statement.value}
    if isinstance(statement, ast.Assign):
        return {target.id: statement.value for target in statement.targets if isinstance(target, ast.Name)}
    return {}
