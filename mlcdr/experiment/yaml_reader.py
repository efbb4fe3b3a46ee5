"""Strict YAML that keeps the line of every key and value, in which experiment files are read and written.

PyYAML does the syntax; what a file *means* is decided here, more strictly than PyYAML does:

- Scalars follow the YAML 1.2 core schema: `1e-3` is a number; `no`, `yes`, `on`, `off`, `1_000`, `1:30` and dates are
  text. A decimal number that begins with a zero (`010`) is an error, for YAML 1.1 reads 8 and YAML 1.2 reads 10.
- A repeated key is an error that names both lines. Keys are text, as written (`1:` is the key "1").
- Anchors, aliases and merge keys (`<<: *name`; a key of the mapping itself wins) are written out. Depth and size,
  expanded aliases included, are bounded. Several documents, and tags other than `!!str`, are refused.

The result, a `Document`, keeps the place (source, line, column) of every key path, so that a check made much later can
still say `file:line`.
"""

import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mlcdr.errors import ConfigError
from mlcdr.experiment.problems import KeyPath, Problem, dotted

MAX_BYTES = 256 * 1024
RESOLVED = "experiment.yaml"
"""The file of a results folder that has its experiment with all defaults written out."""
MAX_RESOLVED = 4096 * 1024
"""The most bytes of that file: a config of MAX_BYTES can take ten times as many, written out as indented blocks."""
MAX_DEPTH = 32
MAX_DIGITS = 40

_CORE_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_CORE_TAG}str"
_NUMBERS = f"{_CORE_TAG}int", f"{_CORE_TAG}float"
_PATTERNS = {
    "merge": "<<",
    "null": "~|null|Null|NULL|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
"""Of scalars that are no text, by the YAML 1.2 core schema; and of the key that merges mappings."""
_LEADING_ZERO = re.compile(r"([-+]?)0+([0-9].*)")

_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_QUOTE = r"unexpected (end of stream|document separator)"
_COLON = r"could not find expected ':'"
_MERGED = r"for merging"
_EXPLANATIONS = {
    r"character '\\t' that cannot start": "a tab cannot indent; use spaces",
    r"mapping values are not allowed": "`: ` cannot stand here; a wrong indentation, or text that needs quotes",
    _COLON: "expected `key: value`; a missing colon, or a wrong indentation",
    _QUOTE: "a quote is opened here and never closed",
    r"sequence entries are not allowed": "`- ` cannot stand here; put the list's items on lines of their own",
    r"expected '<document start>'": "more follows where the file should end; wrong indentation or a bracket too many",
    r"expected ',' or '\]'": "expected `,` or `]` in the list in brackets that begins on line {line}",
    r"expected ',' or '\}'": "expected `,` or `}}` in the mapping in braces that begins on line {line}",
    r"expected <block end>": "expected a key as in the block that begins on line {line}; a wrong indentation?",
    r"that cannot start any token": "text cannot begin with this character; put it in quotes",
    r"unknown escape character": "unknown escape in double quotes; write \\\\ for a backslash, or use single quotes",
    r"expected alphabetic or numeric character": "`&` and `*` begin the name of an anchor; put text in quotes",
    r"second occurrence": "there is an anchor of this name above; give this one another name (or quote the text)",
    r"but found another document": "a second document begins here; only one is allowed in a file",
    _MERGED: "`<<` takes a mapping, or a list of mappings: `<<: *name`",
}
"""PyYAML's words → ours; the first that is found counts. `{line}` is that on which the item being parsed began."""
_AT_ITS_BEGINNING = {_QUOTE, _COLON, _MERGED}
"""What is reported where the item began, not where PyYAML noticed it."""


class Place(NamedTuple):
    """Where something was written: `line` and `column` count from 1; line 0 means the source has no lines."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`source:line`, or `source` alone."""
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass
class Document:
    """Plain data (dict, list, str, int, float, bool, None) and the place of each of its key paths.

    Any two are equal, so that where an experiment was written does not count in comparisons.

    Attributes
    ----------
    data : the root value.
    places : dict from key path to Place
        The place of a mapping's entry is its key's; that of a list's item is the item's; `()` is the root.
    inherited : dict
        Path of a part of a method (`methods.A.learner`, `methods.A.tune.folds`) → where in `defaults` it was written.
    """

    data: Any = field(default_factory=dict, compare=False)
    places: dict[KeyPath, Place] = field(default_factory=lambda: {(): Place("config")}, compare=False)
    inherited: dict[KeyPath, KeyPath] = field(default_factory=dict, compare=False)

    def origin(self, path: KeyPath) -> KeyPath:
        """The path at which the value of `path` was written."""
        for n in (3, 4):
            if path[:n] in self.inherited:
                return (*self.inherited[path[:n]], *path[n:])
        return path

    def place(self, path: KeyPath) -> Place:
        """The place of `path`, or of the nearest part of it that was written."""
        path = self.origin(path)
        while path and path not in self.places:
            path = path[:-1]
        return self.places[path]

    def tell(self, problem: Problem) -> str:
        """`file:line: key.path: what is wrong`."""
        place = str(self.place(problem.path))
        # "--set splits.repeats" has the key already.
        said = place.endswith(f" {dotted(problem.path)}")
        return f"{place}: {problem.text if said else problem}"

    def order(self, problem: Problem) -> tuple[bool, int, int]:
        """What problems are sorted by: those with a line come first."""
        place = self.place(problem.path)
        return place.line == 0, place.line, place.column


def read_yaml(path: str | Path) -> Document:
    """Read a YAML file strictly.

    Raises
    ------
    ConfigError
        If the file cannot be read or is not acceptable; each problem is one line, `file:line: what is wrong`.
    """
    most = MAX_RESOLVED if Path(path).name == RESOLVED else MAX_BYTES
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            raw = file.read(most + 1)
    except FileNotFoundError:
        raise ConfigError([f"{path}: no such file"]) from None
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror or error}"]) from None
    if len(raw) > most:
        raise ConfigError([f"{path}: larger than {most // 1024} KiB; not an experiment file"])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{path}:{line}: not UTF-8 text; save the file as UTF-8"]) from None
    return read_yaml_text(text, str(path))


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting: a named pipe that no process writes reads as an empty file."""
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(file, True)  # a pipe with a writer is read to its end
    return file


def read_yaml_text(text: str, source: str, numbered: bool = True) -> Document:
    """Read YAML text strictly; `source` names it in messages, with line numbers if `numbered`.

    Raises
    ------
    ConfigError
        As `read_yaml`.
    """

    def place(line: int, column: int) -> Place:
        return Place(source, line + 1, column + 1) if numbered else Place(source)

    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise ConfigError([f"{place(line, 0)}: {_describe_character(error.character)}"]) from None
    data = loader.read_document()
    if loader.problems:
        found = sorted(loader.problems.items())
        raise ConfigError([f"{place(*position)}: {problem}" for position, problem in found])
    places = {path: place(mark.line, mark.column) for path, mark in loader.places.items()}
    return Document(data, places)


def _describe_character(code: int) -> str:
    return f"the character U+{code:04X} is not allowed"


class _RefusedError(yaml.MarkedYAMLError):
    """The reading cannot go on: what PyYAML takes, and we do not, begins at a mark."""

    def __init__(self, text: str, mark: Any):
        super().__init__(problem=text, problem_mark=mark)


def _explain(error: yaml.MarkedYAMLError) -> tuple[Any, str]:
    """Where PyYAML found a mistake, and what it is, in our words."""
    problem = error.problem or ""
    mark: Any = error.problem_mark
    if isinstance(error, _RefusedError):
        return mark, problem
    begin: Any = error.context_mark or mark
    for pattern, explanation in _EXPLANATIONS.items():
        if re.search(pattern, problem, flags=re.DOTALL):
            place = begin if pattern in _AT_ITS_BEGINNING else mark
            return place, explanation.format(line=begin.line + 1)
    return mark, " ".join(f"not valid YAML: {problem} ({error.context})".split())


class _Loader(yaml.SafeLoader):
    """PyYAML's loader, with places, with bounds on depth and on what aliases repeat, and strict about keys and numbers.

    Attributes
    ----------
    problems : dict
        (line, column) → what is wrong there; what an alias repeats has it once.
    places : dict
        Key path → mark.
    """

    def __init__(self, text: str):
        super().__init__(text)
        self.problems: dict[tuple[int, int], str] = {}
        self.places: dict[KeyPath, Any] = {}
        self.depth = 0
        self.size = 0  # of all that was read, in characters and values
        self.sizes: dict[str, int] = {}  # of what each anchor names, set when that ends
        self.repeated = 0  # the size of what aliases stand for

    def report(self, mark: Any, problem: str) -> None:
        """Record a problem."""
        self.problems.setdefault((mark.line, mark.column), problem)

    def read_document(self) -> Any:
        """The plain data of the only document; None, and a problem, where it cannot be read."""
        try:
            root = self.get_single_node()
            if root is None:
                raise _RefusedError("the file is empty", self.get_mark())
            return self.read_value(root, ())
        except yaml.MarkedYAMLError as error:
            self.report(*_explain(error))
        except (ValueError, OverflowError):
            # PyYAML converts escapes and version numbers without a look at their size.
            self.report(self.get_mark(), "not valid YAML: a value that cannot be read (an escape of no character?)")
        return None

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The node that begins with the next event."""
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            self.repeat(str(event.anchor), event.start_mark)
            return super().compose_node(parent, index)
        is_text = event.tag == _TEXT and isinstance(event, yaml.ScalarEvent)
        if not is_text and event.tag not in (None, "!"):
            shown = event.tag.replace(_CORE_TAG, "!!")
            raise _RefusedError(f"the tag {shown} is not allowed here; leave it out", event.start_mark)
        if self.depth > MAX_DEPTH:
            raise _RefusedError(_TOO_DEEP, event.start_mark)
        before = self.size
        self.depth += 1
        node: Any = super().compose_node(parent, index)
        self.depth -= 1
        self.size += 1
        if isinstance(node, yaml.ScalarNode):
            self.size += len(node.value)
        self.sizes[event.anchor] = self.size - before
        return node

    def repeat(self, anchor: str, mark: Any) -> None:
        """Count what an alias stands for."""
        if anchor not in self.sizes:
            text = f"the alias *{anchor} repeats nothing: no &{anchor} ends above it (put text in quotes)"
            raise _RefusedError(text, mark)
        self.size += self.sizes[anchor]
        self.repeated += self.sizes[anchor]
        if self.repeated > MAX_BYTES:
            most = f"aliases may add up to {MAX_BYTES // 1024} KiB"
            raise _RefusedError(f"the alias *{anchor} makes the file too large: {most}", mark)

    def read_value(self, node: Any, path: KeyPath) -> Any:
        """The plain data of a node."""
        self.places.setdefault(path, node.start_mark)  # a mapping's entry has the place of its key
        if len(path) > MAX_DEPTH:  # by aliases
            raise _RefusedError(_TOO_DEEP, self.places[path[:1]])
        if isinstance(node, yaml.MappingNode):
            return self.read_mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read_value(each, (*path, i)) for i, each in enumerate(node.value)]
        return self.read_scalar(node)

    def read_mapping(self, node: Any, path: KeyPath) -> dict[str, Any]:
        """The mapping of a node, with what is merged into it."""
        self.flatten_mapping(node)
        result = {}
        for key, value in node.value:
            at = (*path, key.value)
            self.places[at] = key.start_mark
            result[key.value] = self.read_value(value, at)
        return result

    def flatten_mapping(self, node: Any) -> None:
        """Replace `<<` by the entries that it merges, after a look at the mapping's own keys."""
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedError("a key must be text, found a list or a mapping", key.start_mark)
            if not key.value:
                raise _RefusedError("a key is missing before `:`", key.start_mark)
            if key.value in lines:
                first = f"first on line {lines[key.value]}"
                self.report(key.start_mark, f"repeated key {key.value!r}, {first}; keep one")
            lines.setdefault(key.value, key.start_mark.line + 1)
        super().flatten_mapping(node)
        # the mapping's own entries come last, and win
        entries = {key.value: (key, value) for key, value in node.value}
        node.value = list(entries.values())

    def read_scalar(self, node: Any) -> Any:
        """The value of a scalar; text if it is in quotes."""
        unprintable = self.NON_PRINTABLE.search(node.value)
        if unprintable:
            self.report(node.start_mark, _describe_character(ord(unprintable.group())))
        if node.tag not in _NUMBERS:
            return self.construct_object(node)
        if len(node.value) > MAX_DIGITS:
            text = f"a number of more than {MAX_DIGITS} characters; put it in quotes if it is text"
            self.report(node.start_mark, text)
            return None
        zeros = _LEADING_ZERO.fullmatch(node.value)
        if zeros:
            right = f"write {zeros[1]}{zeros[2]}, or {node.value!r} for text"
            self.report(node.start_mark, f"{node.value} is read differently by different programs; {right}")
            return None
        value: Any = self.construct_object(node)
        if math.isinf(value) and "inf" not in node.value.lower():
            self.report(node.start_mark, f"{node.value} is too large for a number")
        return value


class _Dumper(yaml.SafeDumper):
    """Block style, no anchors, and quotes around every text that YAML 1.1 or 1.2 takes for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.yaml_implicit_resolvers = {}  # none of YAML 1.1
# `<<` is text where it is no key
_Loader.yaml_constructors[f"{_CORE_TAG}merge"] = yaml.SafeLoader.construct_yaml_str
for _type, _pattern in _PATTERNS.items():
    yaml.add_implicit_resolver(_CORE_TAG + _type, re.compile(rf"(?:{_pattern})\Z"), Loader=_Loader, Dumper=_Dumper)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Line ends that are folded away unless double quotes escape them.
    style = '"' if re.search("[\r\x85\u2028\u2029]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.SafeDumper, items: list[Any] | tuple[Any, ...]) -> yaml.SequenceNode:
    # A list of plain values reads best on one line.
    is_nested = any(isinstance(item, list | tuple | dict) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=None if is_nested else True)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(tuple, _represent_list)


def dump_yaml(data: Any) -> str:
    """YAML text of plain data, in the order of its keys, which `read_yaml_text` reads back as equal data."""
    return _dump(data, width=118, default_flow_style=False)


def dump_line(data: Any) -> str:
    """The same in one line, as it can stand in a mapping or a list."""
    listed = _dump([data], width=math.inf, default_flow_style=True)
    return listed.strip()[1:-1]


def _dump(data: Any, **options: Any) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **options)
