"""`mlcdr run CONFIG --method …`: some of a config's methods, or one's own on the terms of its `defaults`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcdr.experiment.model import file_name
from mlcdr.experiment.new_config import choose_learner, name_methods, read_parts
from mlcdr.experiment.shipped import find_config
from mlcdr.experiment.yaml_reader import dump_line, read_yaml
from mlcdr.methods import registry

_SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0]
"""The sizes among which one's own reduction is tuned, as parts of what there is."""


def choose_methods(config: Path, wanted: Sequence[str]) -> list[str]:
    """The changes of a config, `KEY=VALUE` as for `--set`, that leave only the methods `wanted`, in a folder of theirs.

    Each is the name of one of the config's methods, or components as for `mlcdr new -m`: `my_methods.Mine`. What such a
    method lacks it has from the config's `defaults`: its own feature step comes behind theirs, and the number of its
    dimensions is tuned with what they tune. With a learner of its own it is not tuned.

    Raises
    ------
    UserError
        When there is no such config, method or component, or two methods have one name.
    """
    written = _as_mapping(read_yaml(find_config(config)).data)
    known = _as_mapping(written.get("methods"))
    defaults = _as_mapping(written.get("defaults"))
    methods: dict[str, Any] = {}
    for name, each in name_methods(wanted, known).items():
        methods[name] = known[each] if each in known else _complete_method(read_parts(each), defaults)
    changes = [f"methods={dump_line(methods)}"]
    if written.get("against") not in list(methods):  # a list, as what is written may be one, which has no hash
        changes.append("against=")  # the method that others are compared with is not among these
    if written.get("name"):
        names = [re.sub(r"\W+", "_", name).strip("_").lower() for name in methods]
        changes.append(f"name={file_name('_'.join([str(written['name']), *names]))}")
    return changes


def _complete_method(parts: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A method of one's own: its parts, those of `defaults` before its feature step, and what is tuned."""
    method = dict(parts)
    if "feature_space" in parts and "feature_space" in defaults:
        before = defaults["feature_space"]
        before = before if isinstance(before, list) else [before]
        method["feature_space"] = [*before, parts["feature_space"]]
    if "learner" not in parts and "learner" not in defaults:
        method["learner"] = choose_learner(parts)
    if "learner" in parts:
        method["tune"] = None
    elif "grid" in _as_mapping(defaults.get("tune")):
        method["tune"] = {"grid": {**_sizes(parts, method), **_as_mapping(defaults["tune"]["grid"])}}
    return method


def _as_mapping(value: Any) -> dict[str, Any]:
    """A mapping of a config; nothing for what is none: `methods` are replaced, the rest is refused at loading."""
    return value if isinstance(value, dict) else {}


def _sizes(parts: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, list[float]]:
    """The path of each parameter that is a number of dimensions → the values that are tried."""
    found = {}
    for family, name in parts.items():
        path = family
        if isinstance(method[family], list):
            path = f"{family}.{len(method[family]) - 1}"
        for parameter in registry.find_declaration(family, name).parameters:
            if parameter in ("n_components", "n_features", "n_labels"):
                found[f"{path}.{parameter}"] = _SHARES
    return found
