"""What a parameter may be, as JSON Schema: made from scikit-learn's constraints, checked, and put into words.

A schema has `anyOf` where a parameter may be several things; each of these is one of

    {"type": "integer", "minimum": 1}                    a number in an interval (`exclusiveMinimum`, `maximum` …)
    {"type": "string", "pattern": PERCENTAGE}            a share of something, which stands for a number up to 1
    {"enum": ["auto", "dense"]}                          one of some texts
    {"type": "boolean"}, "array", "object", "string", "null"
    {"methods": ["fit", "predict"]}                      an object that has these; `$ref` says of which family
    {}                                                   anything: what only the class itself can tell
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

Schema = Mapping[str, Any]

PERCENTAGE = r"^\d+(\.\d+)?%$"

_KINDS: dict[str, type | tuple[type, ...]] = {
    "array": (list, tuple),
    "boolean": bool,
    "null": type(None),
    "object": Mapping,
    "string": str,
    "integer": Integral,
    "number": Real,
}
_WORDS = {
    "boolean": "true or false",
    "null": "None",
    "array": "a list",
    "object": "an instance of 'dict'",
    "string": "an instance of 'str'",
}
_LARGEST_SEED = 2**32 - 1


def as_number(written: Any) -> Any:
    """A percentage as a fraction; any other value as it is."""
    if isinstance(written, str) and re.search(PERCENTAGE, written):
        return float(written[:-1]) / 100
    return written


def alternatives(schema: Schema) -> list[dict[str, Any]]:
    """The things that a parameter may be."""
    return list(schema.get("anyOf", [schema]))


def is_number(schema: Schema) -> bool:
    """Whether one alternative is a number."""
    return schema.get("type") in ("integer", "number")


def find_misfit(schema: Schema, written: Any) -> str | None:
    """What a parameter must be and a written value is not, `true or false. Got 3 instead`; None if it is.

    A percentage is a fraction, and wrong for a parameter whose numbers go beyond 1; true and false are not numbers.
    """
    allowed = [each for each in alternatives(schema) if "pattern" not in each]
    fitting, value = allowed, as_number(written)
    shown = repr(value)
    numbers = [each for each in allowed if is_number(each)]
    if numbers and isinstance(written, bool):
        fitting = [each for each in allowed if not is_number(each)]
        shown = str(written).lower()
    elif numbers and value is not written:
        fitting = [each for each in numbers if _is_share(each)]
        shown = written
    if any(_allows(each, value) for each in fitting):
        return None
    *others, last = map(_describe, allowed)
    listed = f"{', '.join(others)} or {last}" if others else last
    return f"{listed}. Got {shown} instead"


def _is_share(number: Schema) -> bool:
    """Whether a number is real and at most 1."""
    return number["type"] == "number" and number.get("maximum", number.get("exclusiveMaximum", math.inf)) <= 1


def _allows(schema: Schema, value: Any) -> bool:
    """Whether one alternative allows a value."""
    if "methods" in schema:
        return all(hasattr(value, name) for name in schema["methods"])
    if "enum" in schema:
        return isinstance(value, str) and value in schema["enum"]
    kind = schema.get("type")
    if kind is None:
        return True
    if not isinstance(value, _KINDS[kind]):
        return False
    return not is_number(schema) or _is_between(schema, value)


def _is_between(schema: Schema, number: Any) -> bool:
    """Whether a finite number is in an interval."""
    if not math.isfinite(number):
        return False
    above = number >= schema.get("minimum", -math.inf) and number > schema.get("exclusiveMinimum", -math.inf)
    below = number <= schema.get("maximum", math.inf) and number < schema.get("exclusiveMaximum", math.inf)
    return bool(above and below)


def _describe(schema: Schema) -> str:
    """One alternative in scikit-learn's words."""
    if "methods" in schema:
        *others, last = map(repr, schema["methods"])
        return f"an object implementing {', '.join(others)} and {last}" if others else f"an object implementing {last}"
    if "enum" in schema:
        return f"a str among {{{', '.join(map(repr, schema['enum']))}}}"
    if not is_number(schema):
        return _WORDS[schema["type"]]
    noun, write = ("an int", str) if schema["type"] == "integer" else ("a float", lambda bound: str(float(bound)))
    low, high = "(-inf", "inf)"
    if "minimum" in schema:
        low = f"[{write(schema['minimum'])}"
    elif "exclusiveMinimum" in schema:
        low = f"({write(schema['exclusiveMinimum'])}"
    if "maximum" in schema:
        high = f"{write(schema['maximum'])}]"
    elif "exclusiveMaximum" in schema:
        high = f"{write(schema['exclusiveMaximum'])})"
    return f"{noun} in the range {low}, {high}"


def schema_of(constraints: Iterable[Any]) -> dict[str, Any]:
    """The schema of a parameter with these constraints (an entry of scikit-learn's `_parameter_constraints`)."""
    found: list[dict[str, Any]] = []
    for written in constraints:
        found += [each for each in _alternatives_of(written) if each not in found]
    if not found or {} in found:
        return {}
    if any(is_number(each) and _is_share(each) for each in found):
        found.append({"type": "string", "pattern": PERCENTAGE})
    return found[0] if len(found) == 1 else {"anyOf": found}


def _alternatives_of(written: Any) -> list[dict[str, Any]]:
    """What one of scikit-learn's constraints allows."""
    from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

    match written:
        case None:
            return [{"type": "null"}]
        case "boolean":
            return [{"type": "boolean"}]
        case "array-like":
            return [{"type": "array"}]
        case "random_state":
            return [{"type": "integer", "minimum": 0, "maximum": _LARGEST_SEED}, {"type": "null"}]
        case StrOptions():
            return [{"enum": sorted(written.options)}]
        case HasMethods():
            return [{"methods": list(written.methods)}]
        case Interval(type=kind) if kind in (Integral, Real):
            return [{"type": "integer" if kind is Integral else "number", **_bounds_of(written)}]
    kinds = {dict: "object", list: "array", str: "string", tuple: "array"}
    return [{"type": kinds[written]}] if isinstance(written, type) and written in kinds else [{}]


def _bounds_of(interval: Any) -> dict[str, Any]:
    """The bounds of one of scikit-learn's intervals."""
    found = {}
    if interval.left is not None:
        closed = interval.closed in ("left", "both")
        found["minimum" if closed else "exclusiveMinimum"] = interval.left
    if interval.right is not None:
        closed = interval.closed in ("right", "both")
        found["maximum" if closed else "exclusiveMaximum"] = interval.right
    return found
