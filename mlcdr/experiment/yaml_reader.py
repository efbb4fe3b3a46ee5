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

import copy
import math
import os
import re
from collections.abc import Iterator
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
    "null": "~|null|Null|NULL|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
"""Of scalars that are no text, by the YAML 1.2 core schema."""
_LEADING_ZERO = re.compile(r"([-+]?)0+([0-9].*)")

# PyYAML's words → ours; the first one that is found in its message is used. `{context}` is the line on which the item
# being parsed began; if the mistake is on that line, the explanation is in _AT_ITS_BEGINNING, too.
_EXPLANATIONS = [
    (r"character '\\t' that cannot start", "a tab cannot indent; use spaces"),
    (r"mapping values are not allowed", "`: ` cannot stand here; a wrong indentation, or text that needs quotes"),
    (r"could not find expected ':'", "expected `key: value`; a missing colon, or a wrong indentation"),
    (r"unexpected (end of stream|document separator)", "a quote is opened here and never closed"),
    (r"sequence entries are not allowed", "`- ` cannot stand here; put the list's items on lines of their own"),
    (r"expected '<document start>'", "more follows where the file should end; wrong indentation or a bracket too many"),
    (r"expected ',' or '\]'", "expected `,` or `]` in the list in brackets that begins on line {context}"),
    (r"expected ',' or '\}'", "expected `,` or `}}` in the mapping in braces that begins on line {context}"),
    (
        r"expected <block end>.*'<block mapping start>'",
        "wrong indentation: it fits no key above (the block begins on line {context})",
    ),
    (r"expected <block end>", "expected a key as in the block that begins on line {context}; a wrong indentation?"),
    (r"character '%' that cannot start", "text cannot begin with `%`; put it in quotes"),
    (r"character '@' that cannot start", "text cannot begin with `@`; put it in quotes"),
    (r"character '`' that cannot start", "text cannot begin with a backquote; put it in quotes"),
    (r"unknown escape character", "unknown escape in double quotes; write \\\\ for a backslash, or use single quotes"),
    (r"expected alphabetic or numeric character", "`&` and `*` begin the name of an anchor; put text in quotes"),
    (r"but found another document", "a second document begins here; only one is allowed in a file"),
]
_AT_ITS_BEGINNING = {r"could not find expected ':'", r"unexpected (end of stream|document separator)"}


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
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError([f"{path}:1: UTF-16 text; save the file as UTF-8"])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise ConfigError([f"{path}:{line}: not UTF-8 text (byte 0x{byte:02x}); save the file as UTF-8"]) from None
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

    reading = _Reading(numbered)
    data = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise ConfigError([f"{source}: the file is empty"])
        data = reading.value(root, ())
        reading.marks[()] = root.start_mark
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise ConfigError([f"{place(line, 0)}: {_describe_character(error.character)}"]) from None
    except _RefusedError as error:
        reading.add(error.mark, error.text)
    except yaml.MarkedYAMLError as error:
        reading.add(*_explain(error, numbered))
    except (ValueError, OverflowError):
        # PyYAML converts escapes and version numbers without a look at their size.
        reading.add(loader.get_mark(), "not valid YAML: a value that cannot be read (an escape of no character?)")
    if reading.problems:
        found = sorted(reading.problems.items())
        raise ConfigError([f"{place(*position)}: {problem}" for position, problem in found])
    return Document(data, {path: place(mark.line, mark.column) for path, mark in reading.marks.items()})


def _describe_character(code: int) -> str:
    return f"the character U+{code:04X} is not allowed"


def _explain(error: yaml.MarkedYAMLError, numbered: bool) -> tuple[Any, str]:
    """Where PyYAML found a mistake, and what it is, in our words."""
    problem = error.problem or error.context or ""
    mark: Any = error.problem_mark or error.context_mark
    begin: Any = error.context_mark or mark
    for pattern, explanation in _EXPLANATIONS:
        if re.search(pattern, problem, flags=re.DOTALL):
            line = begin.line + 1 if numbered else 1
            return begin if pattern in _AT_ITS_BEGINNING else mark, explanation.format(context=line)
    message = " ".join(f"{problem} ({error.context})".split()) if error.context else problem
    return mark, f"not valid YAML: {message}"


class _RefusedError(Exception):
    """The reading cannot go on: what PyYAML takes, and we do not, begins at `mark`."""

    def __init__(self, text: str, mark: Any):
        super().__init__(text)
        self.text, self.mark = text, mark


class _Loader(yaml.SafeLoader):
    """PyYAML's composer of nodes, with bounds on their depth and on what aliases repeat."""

    def __init__(self, text: str):
        super().__init__(text)
        self.depth = 0
        self.size = 0  # of all that was read, in characters and values
        self.sizes: dict[str, int] = {}  # of what each anchor names, set when that ends
        self.repeated = 0  # the size of what aliases stand for

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The node that begins with the next event."""
        event: Any = self.peek_event()
        anchor, mark = event.anchor, event.start_mark
        if isinstance(event, yaml.AliasEvent):
            self.repeat(anchor, mark)
            node: Any = copy.copy(super().compose_node(parent, index))
            node.start_mark = mark
            return node
        if anchor in self.anchors:
            text = f"there is an anchor &{anchor} above; give this one another name (or quote the text)"
            raise _RefusedError(text, mark)
        if event.tag not in (None, "!") and not (event.tag == _TEXT and isinstance(event, yaml.ScalarEvent)):
            shown = event.tag.replace(_CORE_TAG, "!!")
            raise _RefusedError(f"the tag {shown} is not allowed here; leave it out", mark)
        if self.depth > MAX_DEPTH:
            raise _RefusedError(_TOO_DEEP, mark)
        before = self.size
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        self.size += 1
        if isinstance(node, yaml.ScalarNode):
            self.size += len(node.value)
        if anchor:
            self.sizes[anchor] = self.size - before
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


_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


class _Reading(yaml.constructor.SafeConstructor):
    """Makes plain data of nodes, those of scalars as PyYAML does; collects what does not stop the reading."""

    def __init__(self, numbered: bool):
        super().__init__()
        self.numbered = numbered
        self.problems: dict[tuple[int, int], str] = {}
        self.marks: dict[KeyPath, Any] = {}

    def add(self, mark: Any, problem: str) -> None:
        """Record a problem; what an alias repeats has it once."""
        self.problems.setdefault((mark.line, mark.column), problem)

    def value(self, node: Any, path: KeyPath) -> Any:
        """The plain data of a node."""
        if len(path) > MAX_DEPTH:  # by aliases
            raise _RefusedError(_TOO_DEEP, self.marks[path[:1]])
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.item(each, (*path, i)) for i, each in enumerate(node.value)]
        return self.scalar(node)

    def item(self, node: Any, path: KeyPath) -> Any:
        """The item of a list."""
        self.marks[path] = node.start_mark
        return self.value(node, path)

    def mapping(self, node: Any, path: KeyPath) -> dict[str, Any]:
        """The mapping of a node, with what is merged into it."""
        result = {}
        for name, (key, value) in self.entries(node, path).items():
            at = (*path, name)
            self.marks[at] = key.start_mark
            result[name] = self.value(value, at)
        return result

    def entries(self, node: Any, path: KeyPath) -> dict[str, tuple[Any, Any]]:
        """The nodes of each key and its value, by the key's text; `<<` is replaced by the entries that it merges."""
        own: dict[str, Any] = {}
        for key, _ in node.value:
            self.check_key(key)
            if key.value in own:
                where = f", first on line {own[key.value].start_mark.line + 1}" if self.numbered else ""
                self.add(key.start_mark, f"{dotted((*path, key.value))}: repeated key{where}; keep one")
            own.setdefault(key.value, key)
        found: dict[str, tuple[Any, Any]] = {}
        for key, value in node.value:
            if key.value == "<<" and key.style is None:
                for name, entry in self.merged(value, key, path):
                    if name not in own:
                        found.setdefault(name, entry)
            else:
                found.setdefault(key.value, (key, value))
        return found

    def merged(self, value: Any, key: Any, path: KeyPath) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """The entries of the mapping, or of each mapping of the list, that a key `<<` has as its value."""
        mappings = value.value if isinstance(value, yaml.SequenceNode) else [value]
        for each in mappings:
            if not isinstance(each, yaml.MappingNode):
                raise _RefusedError("`<<` takes a mapping, or a list of mappings: `<<: *name`", key.start_mark)
            yield from self.entries(each, path).items()

    def check_key(self, key: Any) -> None:
        """Refuse a key that is no text."""
        if not isinstance(key, yaml.ScalarNode):
            raise _RefusedError("a key must be text, found a list or a mapping", key.start_mark)
        if not key.value:
            raise _RefusedError("a key is missing before `:`", key.start_mark)

    def scalar(self, node: Any) -> Any:
        """The value of a scalar; text if it is in quotes."""
        bad = yaml.SafeLoader.NON_PRINTABLE.search(node.value)
        if bad:
            self.add(node.start_mark, _describe_character(ord(bad.group())))
        try:
            return self.number(node) if node.tag in _NUMBERS else self.construct_object(node)
        except ValueError as error:
            self.add(node.start_mark, str(error))
            return None

    def number(self, node: Any) -> int | float:
        """The value of a number.

        Raises
        ------
        ValueError
            When other YAML readers take it for something else (`010`), or it has no finite float or too many digits;
            the message says what to write.
        """
        text = node.value
        zeros = _LEADING_ZERO.fullmatch(text)
        value: Any = text
        if len(text) <= MAX_DIGITS and not zeros:
            value = self.construct_object(node)
        if len(str(value)) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS} characters; put it in quotes if it is text")
        if zeros:
            plain = zeros[1] + zeros[2]
            raise ValueError(f"{text} is read differently by different programs; write {plain}, or '{text}' for text")
        if math.isinf(value) and "inf" not in text.lower():
            raise ValueError(f"{text} is too large for a number")
        return value


class _Dumper(yaml.SafeDumper):
    """Block style, no anchors, and quotes around every text that YAML 1.1 or 1.2 takes for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.yaml_implicit_resolvers = {}  # none of YAML 1.1
for _type, _pattern in _PATTERNS.items():
    yaml.add_implicit_resolver(_CORE_TAG + _type, re.compile(rf"(?:{_pattern})\Z"), Loader=_Loader, Dumper=_Dumper)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Line ends that are folded away unless double quotes escape them.
    style = '"' if re.search("[\r\x85\u2028\u2029]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.SafeDumper, items: list[Any] | tuple[Any, ...]) -> yaml.SequenceNode:
    # A list of plain values reads best on one line.
    flow = not any(isinstance(item, list | tuple | dict) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flow)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(tuple, _represent_list)


def dump_yaml(data: Any) -> str:
    """YAML text of plain data, in the order of its keys, which `read_yaml_text` reads back as equal data."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=118, default_flow_style=False)


class _LineDumper(_Dumper):
    """Writes each list and each mapping in one line."""


_LineDumper.add_representer(list, yaml.SafeDumper.represent_list)


def dump_line(data: Any) -> str:
    """The same in one line, as it can stand in a mapping or a list."""
    listed = yaml.dump(
        [data], Dumper=_LineDumper, sort_keys=False, allow_unicode=True, width=math.inf, default_flow_style=True
    )
    return listed.strip()[1:-1]
