"""`--set key.path=value`: changes to a config before it is checked."""

from collections.abc import Sequence
from typing import Any

from mlcdr.config.yaml_reader import Document, KeyPath, Place, read_yaml_text
from mlcdr.errors import ConfigError

# The keys of this mapping are key paths themselves, so what follows it is one key.
_WHOLE_KEYS = {("sweep",)}


def apply_overrides(document: Document, overrides: Sequence[str]) -> list[str]:
    """Put the values of `key.path=value` texts into `document`, one after the other.

    The value is read as strict YAML. A key that itself contains dots is found as the longest key that fits; keys which
    do not exist are made (whether they may exist is checked with the rest of the config). A component written as a mere
    name gets parameters by its name: `methods.CPLST.learner.ridge.alpha=1` turns `ridge` into `{ridge: {alpha: 1}}`.

    Returns the overrides that are malformed or lead nowhere, each as a line `--set key.path: what is wrong`; the others
    are put in all the same, so that everything can be checked and reported at once.
    """
    problems: list[str] = []
    for text in overrides:
        key, equals, value_text = text.partition("=")
        key = key.strip()
        source = f"--set {key}"
        if not equals or not key:
            problems.append(f"--set {text}: expected key.path=value")
            continue
        try:
            value = read_yaml_text(value_text, source, numbered=False).data if value_text.strip() else None
            path = _put(document.data, key, value)
        except ConfigError as error:
            problems += error.problems
        except _NowhereError as error:
            problems.append(f"{source}: {error}")
        else:
            _move(document, path, Place(source))
    return problems


class _NowhereError(Exception):
    """A key path leads to something that has no keys."""


def _put(root: Any, key: str, value: Any) -> KeyPath:
    """Set `value` at `key` in `root` (changed in place); returns the path taken."""
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
            child = {child: {}}
        elif not isinstance(child, dict | list):
            where = ".".join(map(str, path))
            hint = ""
            if isinstance(child, str) and len(path) == 3 and path[0] == "methods":
                hint = f"; its parameters are at {where}.{child}, and for another component set {where} itself"
            raise _NowhereError(f"{where} is {child!r}, which has no key {rest!r}{hint}")
        node[step] = child
        node = child


def _step(node: Any, path: KeyPath, rest: str) -> tuple[Any, str]:
    """The first key or index of `rest` in `node`, and what remains of it."""
    if isinstance(node, list):
        index, _, rest = rest.partition(".")
        if not (index.isascii() and index.isdigit() and int(index[:9]) < len(node)):
            where = ".".join(map(str, path))
            raise _NowhereError(f"{where} is a list of {len(node)} items, numbered from 0; it has no item {index!r}")
        return int(index), rest
    known = [k for k in node if rest == k or rest.startswith(f"{k}.")]
    if known:
        step = max(known, key=len)
        return step, rest[len(step) + 1 :]
    if path in _WHOLE_KEYS:
        return rest, ""
    step, _, rest = rest.partition(".")
    if not step:
        raise _NowhereError("a key is empty; expected key.path=value")
    return step, rest


def _move(document: Document, path: KeyPath, place: Place) -> None:
    """What is at `path` and below it was written at `place`, and so was every new key on the way there."""
    for known in [p for p in document.places if p[: len(path)] == path]:
        del document.places[known]
    document.places[path] = place
    for length in range(1, len(path)):
        document.places.setdefault(path[:length], place)
