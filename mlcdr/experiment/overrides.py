"""What is put into a config before it is read: `--set` options, data sets in memory, and what methods share.

`--set key.path=value` is `set` in Python.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from mlcdr.errors import ConfigError, describe, plural
from mlcdr.experiment.draft import Draft
from mlcdr.experiment.problems import KeyPath, dotted
from mlcdr.experiment.yaml_reader import MAX_BYTES, Document, Place, read_yaml_text

Overrides: TypeAlias = Sequence[str] | Mapping[str, Any]
"""Texts `key.path=value`, whose value is read as strict YAML; or key path → plain data, from Python."""


def apply_overrides(document: Document, overrides: Overrides) -> list[str]:
    """Put values into `document`, one after the other.

    A key that itself contains dots is found as the longest key that fits; keys which do not exist are added (whether
    they are allowed is checked with the rest of the config). A component written as a mere name gets parameters by its
    name: `methods.CPLST.learner.ridge.alpha=1` turns `ridge` into `{ridge: {alpha: 1}}`.

    Returns the overrides that are malformed or lead nowhere, each as a line `--set key.path: what is wrong` (of Python
    `set: key.path: …`); the others are put in all the same, so that everything can be checked and reported at once.
    """
    problems: list[str] = []
    if isinstance(overrides, Mapping):
        changes = [(f"set: {key}", key, value) for key, value in overrides.items()]
    else:
        changes = _read(overrides, problems)
    for source, key, value in changes:
        try:
            path = _put(document.data, key, value)
        except ValueError as error:
            problems.append(f"{source}: {error}")
        else:
            _move(document, path, Place(source))
    return problems


def _read(texts: Sequence[str], problems: list[str]) -> list[tuple[str, str, Any]]:
    """For each text its name in messages, the key path and the value; a malformed text is added to the problems."""
    found = []
    for text in texts:
        try:
            key, value = read_setting(text, "key.path=value")
        except ConfigError as error:
            problems += error.problems
        else:
            found.append((f"--set {key}", key, value))
    return found


def read_setting(text: str, form: str = "NAME=VALUE", option: str = "--set") -> tuple[str, Any]:
    """The name and the value of one `--set`, or another option; the value is read as in a config, None if empty.

    Raises
    ------
    ConfigError
        When the text has not this form, or its value is not YAML.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise ConfigError([f"{option} {text}: expected {form}"])
    if not value.strip():
        return name, None
    return name, read_yaml_text(value, f"{option} {name}", numbered=False).data


def _put(root: Any, key: str, value: Any) -> KeyPath:
    """Set `value` at `key` in `root` (changed in place); returns the path taken.

    Raises
    ------
    ValueError
        When the key leads to something that has no keys.
    """
    node, rest = root, key
    path: KeyPath = ()
    while True:
        step, rest = _step(node, path, rest)
        path = (*path, step)
        if not rest:
            node[step] = value
            return path
        child = node[step] if isinstance(node, list) else node.get(step)
        if child is None:
            child = {}
        elif isinstance(child, str) and (rest == child or rest.startswith(f"{child}.")):
            child = {child: {}}  # a component, and one of its parameters
        elif not isinstance(child, dict | list):
            where = dotted(path)
            hint = f"; its parameters are at {where}.{child}" if path[0] == "methods" else ""
            raise ValueError(f"{where} is {child!r}, which has no key {rest!r}{hint}")
        node[step] = child
        node = child


def _step(node: Any, path: KeyPath, rest: str) -> tuple[Any, str]:
    """The first key or index of `rest` in `node`, and what remains of it."""
    step, _, remains = rest.partition(".")
    if isinstance(node, list):
        if not (step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(node)):
            items = f"a list of {len(node)} items, numbered from 0"
            raise ValueError(f"{dotted(path)} is {items}; it has no item {step!r}")
        return int(step), remains
    known = [key for key in node if rest == key or rest.startswith(f"{key}.")]
    if known:
        step = max(known, key=len)
        return step, rest[len(step) + 1 :]
    if _has_paths_as_keys(path):
        return rest, ""
    if not step:
        raise ValueError("a key is empty; expected key.path=value")
    return step, remains


def _has_paths_as_keys(path: KeyPath) -> bool:
    """Whether the keys of the mapping at a path are key paths themselves, so that the rest of a path is one of them."""
    is_grid = path[-2:] == ("tune", "grid") or path[-3:-1] == ("tune", "grids")
    return path == ("sweep",) or is_grid


def _move(document: Document, path: KeyPath, place: Place) -> None:
    """Set the place of `path`, of what is below it, and of every new key above it to `place`."""
    for known in list(document.places):
        if known[: len(path)] == path:
            del document.places[known]
    document.places[path] = place
    for length in range(1, len(path)):
        document.places.setdefault(path[:length], place)


def put_held(draft: Draft) -> None:
    """Let the data sets in memory stand for all of the config's, if it lists none of them; all must be listed else."""
    data = draft.document.data
    items = data.get("datasets")
    listed: list[str] = []
    for item in items if isinstance(items, list) else ():
        listed += map(str, item if isinstance(item, dict) else [item])
    unlisted = [name for name in draft.held if name not in listed]
    if len(unlisted) == len(draft.held):
        data["datasets"] = unlisted
        return
    for name in unlisted:
        draft.add(("datasets",), f"{name!r} was given in memory and is not listed (listed: {', '.join(listed)})")


def write_out_defaults(draft: Draft) -> None:
    """Give each method of a document the parts in `defaults`, and the keys of `tune`, that it does not have itself.

    `threshold: null` in a method means none.
    """
    data = draft.document.data
    defaults, methods = data.pop("defaults", None), data.get("methods")
    if defaults is None or not isinstance(methods, dict):
        return
    if not isinstance(defaults, dict):
        draft.add(("defaults",), f"must be a mapping of a method's parts, found {describe(defaults)}")
    elif len(json.dumps(defaults)) * len(methods) > MAX_BYTES:
        most = f"{MAX_BYTES // 1024} KiB at most"
        draft.add(("defaults",), f"copied into {plural(len(methods), 'method')} they are too large: {most}")
    draft.raise_any()
    for name, written in methods.items():
        own = {} if written is None else written
        if not isinstance(own, dict):
            continue
        inherited: list[KeyPath] = [(key,) for key in defaults if key not in own]
        methods[name] = {**defaults, **own}
        tune, usual = own.get("tune"), defaults.get("tune")
        if isinstance(tune, dict) and isinstance(usual, dict):
            inherited += [("tune", key) for key in usual if key not in tune]
            methods[name]["tune"] = {**usual, **tune}
        for part in inherited:
            method_part = ("methods", name, *part)
            draft.document.inherited[method_part] = ("defaults", *part)
