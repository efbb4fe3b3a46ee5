"""Shell completion: `mlcdr completion SHELL` prints a script, which runs this module at each press of the Tab key.

The script sets `_MLCDR_COMPLETE` (the shell) and `_MLCDR_LINE` (what is typed up to the cursor) and runs `mlcdr`, which
prints a line for each word that may come next and ends. The metavar of a parameter (`mlcdr.cli.help`) says which words
it takes. Nothing is imported that takes time: commands and names come from `words.json`, which `make docs` writes, and
from the index of components. After any error nothing is completed and nothing is printed.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mlcdr.errors import UserError

Item = tuple[str, str]
"""A completed word, and its description, which may be empty."""

WORDS = Path(__file__).parent / "words.json"
_INDEX = Path(__file__).parents[1] / "methods" / "index.json"
_UNFINISHED = ("=", ".", "/", "[", ",", "+")  # ends of words that are not complete yet
_DESCRIPTION = 60  # characters

SHELLS = ("bash", "zsh", "fish")
"""The shells with a script, `completion.SHELL` next to this module."""


def read_script(shell: str) -> str:
    """The script by which a shell runs this module."""
    return Path(__file__).with_suffix(f".{shell}").read_text(encoding="utf-8")


def answer() -> None:
    """Print what may come next on the line of `_MLCDR_LINE`, as the shell's script reads it.

    After an error, such as a folder that cannot be read or a broken config, nothing is printed.
    """
    with contextlib.suppress(Exception, KeyboardInterrupt):
        shell = os.environ["_MLCDR_COMPLETE"]
        words, last, quoted = split_line(os.environ.get("_MLCDR_LINE", ""))
        program = os.environ.get("_MLCDR_PROGRAM", "")
        start = words.index(program) + 1 if program in words else 1
        found = list(dict.fromkeys(complete(words[start:], last)))
        print("".join(f"{line}\n" for line in format_items(found, shell, last, quoted)), end="")


def split_line(line: str) -> tuple[list[str], str, bool]:
    r"""The finished words of a line, the one at the cursor, and whether a quotation mark is open there.

    Examples
    --------
    >>> split_line("mlcdr run 'my file.yaml' --se")
    (['mlcdr', 'run', 'my file.yaml'], '--se', False)
    >>> split_line("mlcdr run 'my f")
    (['mlcdr', 'run'], 'my f', True)
    """
    end = "\0"  # stands at the cursor, so that a space before it ends a word
    for closing in ("", "'", '"'):
        with contextlib.suppress(ValueError):
            *words, last = shlex.split(line + end + closing)
            return words, last.removesuffix(end), bool(closing)
    return [], "", False


def format_items(items: Sequence[Item], shell: str, last: str, quoted: bool) -> Iterator[str]:
    """The lines that a shell's script reads. A complete word ends with a space, except for fish, which adds it."""
    breaks = "".join(set(os.environ.get("_MLCDR_BREAKS", "")) & set("=:@"))
    # bash replaces only what follows such a character, unless a quotation mark is open
    cut = max((last.rfind(each) + 1 for each in breaks), default=0) if shell == "bash" and not quoted else 0
    for value, text in items:
        word = value if shell == "fish" or quoted else re.sub(r"([^\w@%+=:,./~\[\]{}-])", r"\\\1", value)
        if shell != "fish" and not value.endswith(_UNFINISHED):
            word += " "
        if not word.isprintable():  # a name that no line can hold
            continue
        short = " ".join(text.split())
        short = short if len(short) <= _DESCRIPTION else f"{short[: _DESCRIPTION - 1]}…"
        yield word[cut:] if shell == "bash" else f"{word}\t{short}"


def complete(words: Sequence[str], last: str) -> list[Item]:
    """What may stand in place of `last`, after the words that follow the program's name."""
    command = _words()["commands"]
    used: list[Mapping[str, Any]] = []
    open_option, plain = None, False
    given: list[str] = []
    for word in words:
        if open_option is not None:
            open_option = None
        elif word == "--" and not plain:
            plain = True
        elif word.startswith("-") and len(word) > 1 and not plain:
            name, equals, _ = word.partition("=")
            option = _option(command, name)
            if option is not None:
                used.append(option)
                open_option = option if option["takes"] and not equals else None
        elif "commands" in command:
            command = command["commands"].get(word)
            if command is None:
                return []
        else:
            given.append(word)
    if open_option is not None:
        return _values(open_option["takes"], given, last)
    if last.startswith("-") and not plain:
        name, equals, value = last.partition("=")
        if equals:
            option = _option(command, name)
            items = _values(option["takes"], given, value) if option else []
            return [(f"{name}={each}", text) for each, text in items]
        free = [option for option in command["options"] if option not in used or option.get("repeats")]
        return _beginning_with(last, [(max(option["names"], key=len), option["help"]) for option in free])
    if "commands" in command:
        return _beginning_with(last, [(name, each["help"]) for name, each in command["commands"].items()])
    arguments = command["arguments"]
    if not arguments or (len(given) >= len(arguments) and not arguments[-1].get("repeats")):
        return []
    items = _values(arguments[min(len(given), len(arguments) - 1)]["takes"], given, last)
    return [item for item in items if item[0] not in given]


def _option(command: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((option for option in command["options"] if name in option["names"]), None)


def _beginning_with(start: str, items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item[0].startswith(start)]


# -------------------------------------------------------------------- what a parameter takes


def _values(metavar: str, given: Sequence[str], last: str) -> list[Item]:
    if metavar in COMPLETERS:
        return list(COMPLETERS[metavar](last, given))
    if re.fullmatch(r"[a-z_|]+", metavar):
        return _beginning_with(last, [(word, "") for word in metavar.split("|")])
    return []


@cache
def _words() -> dict[str, Any]:
    return dict(json.loads(WORDS.read_text(encoding="utf-8")))


@cache
def _components() -> dict[str, dict[str, Any]]:
    """Family → component → its facts in the index; also components of other packages, which have no facts there."""
    from importlib.metadata import distributions

    found = dict(json.loads(_INDEX.read_text(encoding="utf-8")))
    for point in (point for each in distributions() for point in each.entry_points):
        package, _, family = point.group.partition(".")
        if package == "mlcdr" and family in found:
            found[family].setdefault(point.name, {"summary": point.value})
    return found


def _component_names(families: Iterable[str]) -> dict[str, str]:
    """Component → what it does."""
    return {name: each.get("summary", "") for f in families for name, each in _components().get(f, {}).items()}


def _complete_component(last: str, _: Sequence[str]) -> list[Item]:
    """A component, or the last of several that are joined by `+`."""
    before = last[: last.rfind("+") + 1]
    names = _component_names(_components())
    return _beginning_with(last, [(before + name, text) for name, text in names.items()])


def _complete_metric(last: str, given: Sequence[str]) -> list[Item]:
    """The metrics of the results folders among the arguments; all metrics if there is no such folder."""
    known = _words()["metrics"]
    measured: list[str] = []
    for folder in given:
        path = Path(folder) / "summary.csv"
        if not path.is_file():  # opening a pipe would wait
            continue
        with contextlib.suppress(OSError, KeyError), path.open(encoding="utf-8") as file:
            measured += [row["metric"] for row in csv.DictReader(file)]
    return _beginning_with(last, [(name, known.get(name, "")) for name in dict.fromkeys(measured) or known])


def _complete_dataset(last: str, _: Sequence[str]) -> list[Item]:
    from mlcdr.data.files import SUFFIXES, list_own
    from mlcdr.data.sources import entry_names

    names = [*((name, "") for name in entry_names()), *((each.name, "your own") for each in list_own())]
    found = _beginning_with(last.casefold(), names)
    return found or list(_list_paths(last, lambda path: path.name.lower().endswith(tuple(SUFFIXES))))


def _complete_results(last: str, _: Sequence[str]) -> list[Item]:
    """Results folders: those in `results` that fit; else the folders that the path may go on with."""
    here = [(str(path), "") for path in sorted(Path("results").glob("*")) if _has_results(path)]
    found = _beginning_with(last, here)
    if found:
        return found
    return [(v.rstrip("/") if _has_results(Path(v).expanduser()) else v, "") for v, _ in _list_paths(last)]


def _has_results(path: Path) -> bool:
    return any((path / name).exists() for name in ("experiment.yaml", "trials.sqlite", "scores.csv"))


def _list_paths(last: str, wanted: Callable[[Path], bool] = lambda _: False) -> Iterator[Item]:
    """The folders that the path may go on with, and the wanted files; hidden ones only after a typed dot."""
    written, slash, start = last.rpartition("/")
    folder = Path(written + slash).expanduser() if slash else Path()
    for path in sorted(folder.iterdir()):
        if path.name.startswith(start) and (start.startswith(".") or not path.name.startswith(".")):
            if path.is_dir():
                yield f"{written}{slash}{path.name}/", ""
            elif wanted(path):
                yield f"{written}{slash}{path.name}", ""


def _complete_list(what: str) -> Callable[[str, Sequence[str]], list[Item]]:
    """A completer of the names that `words.json` has as a list."""
    return lambda last, _: _beginning_with(last, [(name, "") for name in _words()[what]])


def _complete_layout(last: str, _: Sequence[str]) -> list[Item]:
    folder = Path(__file__).parents[1] / "tables" / "layouts"
    names = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    return _beginning_with(last, [(name, "") for name in names])


# -------------------------------------------------------------------- --set


def _complete_setting(last: str, given: Sequence[str]) -> list[Item]:
    """`KEY=VALUE` of a config: a step of the key, or the value; the config may be among the words that are given."""
    key, equals, value = last.partition("=")
    methods = _methods_of(given)
    if not equals:
        before = key[: key.rfind(".") + 1]
        node = _find_key(before.rstrip("."), methods)
        if node is None:
            return []
        steps = [(f"{before}{step}", each) for step, each in node.get("keys", {}).items()]
        # a key with keys below it ends in a dot, one that takes a value in `=`; a key may be offered in both forms
        ends = [(f"{step}.", e) for step, e in steps if "keys" in e or "family" in e]
        ends += [(f"{step}=", e) for step, e in steps if "keys" not in e or "family" in e]
        return _beginning_with(last, sorted((text, each.get("help", "")) for text, each in ends))
    node = _find_key(key, methods)
    before = value[: max(value.rfind("["), value.rfind(",")) + 1].rstrip()
    before += value[len(before) :][: len(value[len(before) :]) - len(value[len(before) :].lstrip())]
    items = _values_of(node or {}, value[len(before) :])
    return [(f"{key}={before}{each}", text) for each, text in items]


def _values_of(node: Mapping[str, Any], start: str) -> list[Item]:
    """The values that a key may have, as far as they are known."""
    if "family" in node:
        return _beginning_with(start, _component_names([node["family"]]).items())
    if node.get("of") in COMPLETERS:
        return list(COMPLETERS[node["of"]](start, ()))
    return _beginning_with(start, [(str(value), "") for value in node.get("values", ())])


def _find_key(key: str, methods: Sequence[str]) -> dict[str, Any] | None:
    """The facts about a key of a config; None if there is no such key."""
    node: dict[str, Any] = {"keys": _top_keys(methods)}
    rest = key
    while rest:
        known = _keys_of(node)
        fitting = [step for step in known if rest == step or rest.startswith(f"{step}.")]
        if not fitting:
            return None
        step = max(fitting, key=len)
        node, rest = known[step], rest[len(step) + 1 :]
    return {**node, "keys": _keys_of(node)} if "family" in node else node


def _top_keys(methods: Sequence[str]) -> dict[str, Any]:
    keys = dict(_words()["keys"])
    method = keys["defaults"]["keys"]
    keys["methods"] = {**keys["methods"], "keys": {name: {"keys": method} for name in methods}}
    paths = {
        family: {
            "keys": {
                parameter: {"help": f"of {name}"}
                for name, each in _components()[family].items()
                for parameter in each.get("parameters", {})
            }
        }
        for family in method
        if "family" in method[family]
    }
    keys["sweep"] = {**keys["sweep"], "keys": paths}
    return keys


def _keys_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """The keys below a key; where a component stands, the names of components, with their parameters below."""
    if "family" not in node:
        return dict(node.get("keys", {}))
    return {
        name: {"help": each.get("summary", ""), "keys": _parameters_of(each)}
        for name, each in _components().get(node["family"], {}).items()
        if each.get("parameters")
    }


def _parameters_of(component: Mapping[str, Any]) -> dict[str, Any]:
    """Each parameter of a component with the words that it takes."""
    found: dict[str, Any] = {}
    for name, declared in component.get("parameters", {}).items():
        constraints = declared.get("constraints") or ()
        words = [word for kind, _, *rest in constraints if kind == "options" for word in rest]
        words += ["true", "false"] if any(kind == "boolean" for kind, *_ in constraints) else []
        found[name] = {"help": f"default {declared.get('default')}", "values": words}
    return found


def _methods_of(given: Sequence[str]) -> list[str]:
    """The names of the methods of the configs on the command line."""
    from mlcdr.config.yaml_reader import read_yaml

    names: list[str] = []
    for path in given:
        with contextlib.suppress(UserError, OSError, AttributeError):  # no config, or a broken one
            names += read_yaml(Path(path)).data["methods"]
    return names


COMPLETERS: dict[str, Callable[[str, Sequence[str]], Iterable[Item]]] = {
    "CONFIG": lambda last, _: _list_paths(last, lambda path: path.suffix in (".yaml", ".yml")),
    "RESULTS": _complete_results,
    "KEY=VALUE": _complete_setting,
    "OPTION=VALUE": lambda last, _: _beginning_with(last, [(f"{k}=", t) for k, t in _words()["data_options"].items()]),
    "COMPONENT": _complete_component,
    "METRIC": _complete_metric,
    "DATASET": _complete_dataset,
    "LAYOUT": _complete_layout,
    "PAPER": _complete_list("papers"),
    "PAPER/TABLE": _complete_list("tables"),
    "PAPER[/TABLE]": _complete_list("targets"),
    "FORM": _complete_list("forms"),
    "CHECK": _complete_list("checks"),
    "SHELL": lambda last, _: _beginning_with(last, [(shell, "") for shell in SHELLS]),
    "FILE": lambda last, _: _list_paths(last, lambda _: True),
    "MODEL": lambda last, _: _list_paths(last, lambda _: True),
    "DIR": lambda last, _: _list_paths(last),
}
"""Metavar → the function that lists possible values, from the typed beginning and the arguments before it."""
