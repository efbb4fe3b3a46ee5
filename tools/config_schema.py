"""Makes `mlcdr/experiment/schema.json`: what pydantic knows of experiment files, with the components and metrics."""

import ast
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from mlcdr.data.forms import OPTIONS, Option
from mlcdr.data.synthetic import OPTIONS as OF_SYNTHETIC
from mlcdr.data.synthetic import Synthetic
from mlcdr.experiment.entries import SYNTHETIC
from mlcdr.experiment.model import FAMILIES, LABELLED, Experiment, KeepSpec, LimitsSpec
from mlcdr.experiment.tune import SHORT_FORMS, TuneSpec
from mlcdr.methods import registry
from mlcdr.metrics import METRICS, Numbers
from mlcdr.metrics.names import ALIASES

_ENDS = {"type": "array", "items": {"type": "number"}}
_SPELT = [{"type": "object", "properties": {name: _ENDS}, "required": [name]} for name in SHORT_FORMS]
_GRID_VALUES = {"anyOf": [{"type": "array", "minItems": 1}, *_SPELT]}
_AT_K = r"^[A-Za-z]+(@|_at_)[1-9]\d*$"
_DOTTED = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$"


def config_schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the YAML file, short forms and all."""
    result = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Experiment.model_json_schema()}
    result["title"] = "mlcdr experiment"
    definitions = result["$defs"]
    for described in (Experiment, KeepSpec, LimitsSpec, TuneSpec):
        properties = (result if described is Experiment else definitions[described.__name__])["properties"]
        for name, text in _field_docstrings(described):
            properties[name]["description"] = text
    definitions["DatasetSpec"] = _dataset()
    definitions["MetricSpec"] = _metric()
    definitions["LayoutSpec"] = _layout()
    method = definitions["MethodSpec"]["properties"]
    for family in registry.BUILT_IN:
        definitions[family] = _component(family)
    for family in FAMILIES:
        reference = {"$ref": f"#/$defs/{family}"}
        method[family] = reference
        if family == "feature_space":
            method[family] = {"anyOf": [reference, {"type": "array", "items": reference}], "default": []}
    for name in ("MethodSpec", "TuneSpec"):  # what a method lacks may be among the defaults
        del definitions[name]["required"]
    whole = {"required": ["learner"], "properties": {"tune": {"required": ["grid"]}}}
    result["anyOf"] = [{"required": ["defaults"]}, {"properties": {"methods": {"additionalProperties": whole}}}]
    result["properties"]["defaults"] = {
        "$ref": "#/$defs/MethodSpec",
        "description": "Parts of every method that does not write them itself. Optional.",
    }
    paths = {"pattern": rf"^({'|'.join(FAMILIES)})\..+$"}
    result["properties"]["sweep"]["propertyNames"] = {"anyOf": [paths, {"const": LABELLED}]}
    grid = {"type": "object", "propertyNames": paths, "additionalProperties": _GRID_VALUES}
    definitions["TuneSpec"]["properties"]["grid"] |= grid
    definitions["TuneSpec"]["properties"]["grids"]["additionalProperties"] = grid
    return result


def _field_docstrings(cls: type) -> Iterator[tuple[str, str]]:
    """The docstring below each field of a class; pydantic itself would read them at every start of mlcdr."""
    definition: Any = ast.parse(inspect.getsource(cls)).body[0]
    for field, below in itertools.pairwise(definition.body):
        text = below.value if isinstance(below, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield ast.unparse(field.target), inspect.cleandoc(text.value)


def _one_key(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "minProperties": 1, "maxProperties": 1, "properties": properties, **more}


def _of_keys(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The schema of a mapping that has no other keys, or of null."""
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False, **more}


def _component(family: str) -> dict[str, Any]:
    names = sorted(registry.BUILT_IN[family])
    properties = {name: _parameters(family, name) for name in names}
    return {
        "title": family,
        "anyOf": [
            {"type": "string", "enum": names},
            {"type": "string", "pattern": _DOTTED, "description": "A class of your own: package.module.Class"},
            _one_key(properties, patternProperties={_DOTTED: {}}, additionalProperties=False),
            {"type": "null"},
        ],
    }


def _parameters(family: str, name: str) -> dict[str, Any]:
    """What may be written of a component's parameters: a mapping, nothing, or the value of the first."""
    own = registry.find_declaration(family, name).to_schema()
    first = [{"allOf": [each, {"not": {"type": "object"}}]} for each in own["properties"].values()][:1]
    return {"anyOf": [own, {"type": "null"}, *first]}


_KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "minLength": 1},
    "number": {"type": "integer", "not": {"const": 0}},
    "list": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "switch": {"type": "boolean"},
    "mapping": {"type": "object"},
}


def _data_option(option: Option) -> dict[str, Any]:
    if option.choices:
        return {"enum": list(option.choices), "description": option.description}
    kinds = [_KINDS[kind] for kind in option.kinds]
    return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), "description": option.description}


def _dataset() -> dict[str, Any]:
    options = {key: _data_option(option) for key, option in OPTIONS.items()}
    made = TypeAdapter(Synthetic).json_schema()
    made["description"] = "A synthetic data set, generated from these options."
    made["additionalProperties"] = False
    for key, text in OF_SYNTHETIC.items():
        made["properties"][key]["description"] = text
    named = _one_key({SYNTHETIC: made}, additionalProperties=_of_keys(options | {SYNTHETIC: made}))
    return {"title": "data set", "anyOf": [{"type": "string", "minLength": 1}, named]}


def _metric() -> dict[str, Any]:
    properties = {}
    for name, metric in METRICS.items():
        options: dict[str, Any] = {"as": {"type": "string", "description": "The metric's name in the results."}}
        for key, default in metric.parameters.items():
            allowed = metric.allowed[key]
            options[key] = _numbers(allowed) if isinstance(allowed, Numbers) else {"enum": list(allowed)}
            if default is not None:
                options[key]["default"] = default
        inner = _of_keys(options, description=metric.description)
        scalar = {"type": ["string", "number", "boolean"]}
        properties[name] = {"anyOf": [inner, scalar]} if metric.parameters else inner
    names = [
        {"type": "string", "enum": [*METRICS, *ALIASES]},
        *({"type": "string", "pattern": pattern} for pattern in (_AT_K, _DOTTED)),
    ]
    others: dict[str, Any] = {pattern: {} for pattern in (_AT_K, _DOTTED, "^(" + "|".join(ALIASES) + ")$")}
    return {
        "title": "metric",
        "anyOf": [*names, _one_key(properties, patternProperties=others, additionalProperties=False)],
    }


def _numbers(allowed: Numbers) -> dict[str, Any]:
    bound = "exclusiveMinimum" if allowed.open else "minimum"
    return {"type": "integer" if allowed.whole else "number", bound: allowed.least}


def _layout() -> dict[str, Any]:
    properties = {"layout": {"type": "string"}, "metric": {"type": "string"}}
    mapping = {"type": "object", "properties": properties, "required": ["layout"]}
    return {"title": "layout", "anyOf": [{"type": "string"}, mapping]}
