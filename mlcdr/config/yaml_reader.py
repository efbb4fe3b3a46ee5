"""Strict YAML that keeps the line of every key and value, in which experiment files are read and written.

PyYAML's scanner and parser do the syntax; what a file *means* is decided here, more strictly than PyYAML does:

- Scalars follow the YAML 1.2 core schema: `1e-3` is a number; `no`, `yes`, `on`, `off`, `1_000`, `1:30` and dates are
  text. A decimal number that begins with a zero (`010`) is an error, for YAML 1.1 reads 8 and YAML 1.2 reads 10.
- A repeated key is an error that names both lines. Keys are text, as written (`1:` is the key "1").
- Anchors, aliases and merge keys (`<<: *name`; a key of the mapping itself wins) are written out. Depth and size,
  expanded aliases included, are bounded. Several documents, and tags other than the core ones, are refused.

The result, a `Document`, keeps the place (source, line, column) of every key path, so that a check made much later can
still say `file:line`.
"""

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mlcdr.errors import ConfigError

MAX_BYTES = 256 * 1024
RESOLVED = "experiment.yaml"
"""The file of a results folder that has its experiment with all defaults written out."""
MAX_RESOLVED = 4096 * 1024
"""The most bytes of that file: a config of MAX_BYTES can take ten times as many, written out as indented blocks."""
MAX_DEPTH = 32
MAX_DIGITS = 40

KeyPath = tuple[str | int, ...]

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_CORE_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("str", "int", "float", "bool", "null", "map", "seq")}
# What PyYAML refuses to read, found here first because PyYAML's message has no line.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# PyYAML's words → ours; the first one that is found in the parser's message is used. `{context}` is the line on which
# the item being parsed began; if the mistake is on that line, the explanation is in _AT_ITS_BEGINNING, too.
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

    Attributes
    ----------
    data : the root value.
    places : dict from key path to Place
        The place of a mapping's entry is its key's; that of a list's item is the item's; `()` is the root.
    """

    data: Any
    places: dict[KeyPath, Place] = field(default_factory=dict)

    def place(self, path: KeyPath) -> Place:
        """The place of `path`, or of the nearest part of it that was written."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places[path]


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
        raise ConfigError(
            [f"{path}:{line}: not UTF-8 text (byte 0x{error.object[error.start]:02x}); save the file as UTF-8"]
        ) from None
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
    bad = _UNPRINTABLE.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        place = Place(source, line if numbered else 0)
        raise ConfigError([f"{place}: the character U+{ord(bad.group()):04X} is not allowed"])
    return _Composer(text, source, numbered).document()


def resolve_scalar(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar by the YAML 1.2 core schema.

    Raises
    ------
    ValueError
        For numbers that other YAML readers take for something else (`010`), or that have no finite float or too many
        digits; the message says what to write.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    special = _SPECIAL.fullmatch(text)
    if special:
        return math.nan if special[3] else float(special[1] + "inf")
    if not (_FLOAT.fullmatch(text) or _BASED.fullmatch(text)):
        return text
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS} characters; put it in quotes if it is text")
    if _BASED.fullmatch(text):
        number = int(text, 0)
        if len(str(number)) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS} digits; put it in quotes if it is text")
        return number
    if _LEADING_ZERO.match(text):
        plain = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", text)
        raise ValueError(f"{text} is read differently by different programs; write {plain}, or '{text}' for text")
    if _INTEGER.fullmatch(text):
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large for a number")
    return value


class _Composer:
    """Builds plain data from the parser's events, collecting every problem that does not stop the reading."""

    def __init__(self, text: str, source: str, numbered: bool):
        self.source = source
        self.numbered = numbered
        self.problems: list[tuple[Place, str]] = []
        self.places: dict[KeyPath, Place] = {}
        self.anchors: dict[str, tuple[Any, KeyPath, int]] = {}  # name → value, where it was written, size
        self.size = 0  # of all that was read, in characters and values
        self.repeated = 0  # likewise, of expanded aliases
        self.loader = yaml.SafeLoader(text)
        self.next_event: Callable[[], Any] = self.loader.get_event

    def document(self) -> Document:
        data: Any = None
        try:
            self.next_event()  # the stream's start
            event = self.next_event()
            if isinstance(event, yaml.StreamEndEvent):
                self.stop(Place(self.source), "the file is empty")
            self.places[()] = self.place(event.start_mark)
            data = self.value(self.next_event(), ())
            self.next_event()  # the document's end
            event = self.next_event()
            if not isinstance(event, yaml.StreamEndEvent):
                self.stop(self.place(event.start_mark), "a second document begins here; only one is allowed in a file")
        except yaml.MarkedYAMLError as error:
            self.problems.append(self.explain(error))
        except _StopError:
            pass
        except (ValueError, OverflowError):
            # PyYAML converts escapes and version numbers without a look at their size
            message = "not valid YAML: a value that cannot be read (an escape of no character?)"
            self.problems.append((self.place(self.loader.get_mark()), message))
        if self.problems:
            self.problems.sort(key=lambda problem: problem[0][1:])
            raise ConfigError([f"{place}: {message}" for place, message in self.problems])
        return Document(data, self.places)

    def place(self, mark: Any) -> Place:
        return Place(self.source, mark.line + 1, mark.column + 1) if self.numbered else Place(self.source)

    def stop(self, place: Place, message: str) -> None:
        self.problems.append((place, message))
        raise _StopError

    def explain(self, error: yaml.MarkedYAMLError) -> tuple[Place, str]:
        problem, mark = error.problem or error.context or "", error.problem_mark or error.context_mark
        begin: Any = error.context_mark or mark
        for pattern, explanation in _EXPLANATIONS:
            if re.search(pattern, problem, flags=re.DOTALL):
                if pattern in _AT_ITS_BEGINNING:
                    mark = begin
                line = str(begin.line + 1) if self.numbered else "1"
                return self.place(mark), explanation.format(context=line)
        message = " ".join(f"{problem} ({error.context})".split()) if error.context else problem
        return self.place(mark), f"not valid YAML: {message}"

    def value(self, event: Any, path: KeyPath) -> Any:
        place = self.place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            return self.repeat(str(event.anchor), path, place)
        if len(path) > MAX_DEPTH:
            self.stop(place, f"nested more than {MAX_DEPTH} levels deep")
        if event.anchor in self.anchors:
            self.stop(
                place, f"there is an anchor &{event.anchor} above; give this one another name (or quote the text)"
            )
        before = self.size
        data: Any
        if isinstance(event, yaml.MappingStartEvent):
            self.check_tag(event, place, "map")
            data = self.mapping(path)
        elif isinstance(event, yaml.SequenceStartEvent):
            self.check_tag(event, place, "seq")
            data = self.sequence(path)
        else:
            data = self.scalar(event, place)
            self.size += len(event.value)
        self.size += 1
        if event.anchor:  # set after its content, so that no alias in the content refers to it
            self.anchors[event.anchor] = data, path, self.size - before
        return data

    def repeat(self, anchor: str, path: KeyPath, place: Place) -> Any:
        """What an alias stands for."""
        if anchor not in self.anchors:
            self.stop(place, f"the alias *{anchor} repeats nothing: no &{anchor} ends above it (put text in quotes)")
        data, written, size = self.anchors[anchor]
        self.size += size
        self.repeated += size
        if self.repeated > MAX_BYTES:
            self.stop(
                place, f"the alias *{anchor} makes the file too large: aliases may add up to {MAX_BYTES // 1024} KiB"
            )
        return self.copy(data, written, path, place)

    def copy(self, data: Any, written: KeyPath, path: KeyPath, place: Place) -> Any:
        """A copy for `path`, at `place`, of the value read at `written`; the values in it keep their places."""
        if len(path) > MAX_DEPTH:
            self.stop(place, f"nested more than {MAX_DEPTH} levels deep")
        if not isinstance(data, dict | list):
            return data
        items = data.items() if isinstance(data, dict) else enumerate(data)
        copies: dict[Any, Any] = {}
        for key, value in items:
            self.places[(*path, key)] = self.places[(*written, key)]
            copies[key] = self.copy(value, (*written, key), (*path, key), place)
        return copies if isinstance(data, dict) else list(copies.values())

    def merged(self, own: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        """A mapping with its key `<<` replaced by the entries of the mappings that this key holds."""
        at: KeyPath = (*path, "<<")
        result: dict[str, Any] = {}
        for key, value in own.items():
            if key != "<<":
                result[key] = value
                continue
            several = [((*at, i), each) for i, each in enumerate(value)] if isinstance(value, list) else [(at, value)]
            for where, each in several:
                if not isinstance(each, dict):
                    self.stop(self.places[at], "`<<` takes a mapping, or a list of mappings: `<<: *name`")
                for name in each:
                    if name not in own and name not in result:
                        self.places[(*path, name)] = self.places[(*where, name)]
                        result[name] = self.copy(each[name], (*where, name), (*path, name), self.places[at])
        return result

    def check_tag(self, event: Any, place: Place, kind: str) -> None:
        if event.tag in (None, "!"):
            return
        if _CORE_TAGS.get(event.tag) != kind:
            shown = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.stop(place, f"the tag {shown} is not allowed here; leave it out")

    def mapping(self, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merging = False
        while True:
            event = self.next_event()
            if isinstance(event, yaml.MappingEndEvent):
                return self.merged(result, path) if merging else result
            place = self.place(event.start_mark)
            if not isinstance(event, yaml.ScalarEvent):
                what = "an alias" if isinstance(event, yaml.AliasEvent) else "a list or a mapping"
                self.stop(place, f"a key must be text, found {what}")
            if event.anchor or event.tag not in (None, "!"):
                self.stop(place, "a key cannot have an anchor or a tag")
            key = event.value
            if not key:
                self.stop(place, "a key is missing before `:`")
            if key in result:
                first = self.places[(*path, key)]
                where = f", first on line {first.line}" if first.line else ""
                self.problems.append((place, f"{dotted((*path, key))}: repeated key{where}; keep one"))
            else:
                self.places[(*path, key)] = place
            merging |= key == "<<" and event.style is None
            self.size += len(key)
            value = self.value(self.next_event(), (*path, key))
            result.setdefault(key, value)

    def sequence(self, path: KeyPath) -> list[Any]:
        result: list[Any] = []
        while True:
            event = self.next_event()
            if isinstance(event, yaml.SequenceEndEvent):
                return result
            item = (*path, len(result))
            self.places[item] = self.place(event.start_mark)
            result.append(self.value(event, item))

    def scalar(self, event: Any, place: Place) -> Any:
        bad = _UNPRINTABLE.search(event.value)
        if bad:
            self.problems.append((place, f"the character U+{ord(bad.group()):04X} is not allowed"))
        quoted = event.style is not None or event.tag in ("!", "tag:yaml.org,2002:str")
        if quoted:
            self.check_tag(event, place, "str")
            return event.value
        try:
            value = resolve_scalar(event.value)
        except ValueError as error:
            self.problems.append((place, str(error)))
            return event.value
        self.check_tag(event, place, _kind(value))
        return value


class _StopError(Exception):
    """The reading cannot go on; the problem is recorded."""


def _kind(value: object) -> str:
    return {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}[type(value)]


def dotted(path: KeyPath) -> str:
    """The key path as text: `methods.CPLST.learner`."""
    return ".".join(text if (text := str(step)).isprintable() else repr(step) for step in path)


class _Dumper(yaml.SafeDumper):
    """Block style, no anchors, and quotes around every text that `resolve_scalar` takes for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    try:
        ambiguous = resolve_scalar(text) != text
    except ValueError:
        ambiguous = True
    # Line ends other than \n are folded away unless they are escaped, which double quotes can.
    style = '"' if re.search("[\r\x85\u2028\u2029]", text) else "'" if ambiguous else None
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
