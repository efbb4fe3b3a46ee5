"""The declarations of an ARFF file: `@relation`, `@attribute`, up to `@data`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mlcdr.data.text import BLANKS, decode, expect_end, fail, read_quoted, read_token, short, skip_blanks

_NAME_END = re.compile(r"[ \t{]|$")
_BLANK = re.compile(r"[ \t\r\n]")  # what str.split takes for blanks is more
_KEYWORD = re.compile(r"@([A-Za-z]+)(?=[ \t\r\n{'\"%]|$)")


class Attribute(NamedTuple):
    """One `@attribute` declaration.

    `values` are the nominal values in declared order, None for a numeric attribute; `integer` marks `integer`.
    """

    name: str
    values: tuple[str, ...] | None
    integer: bool
    line: int


def read_header(path: Path, file: BinaryIO) -> tuple[str, tuple[Attribute, ...], int]:
    """Read up to and including `@data`; returns the relation, the attributes and the number of lines read."""
    relation: str | None = None
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    kinds: dict[str, tuple[tuple[str, ...] | None, bool]] = {}  # most declarations end alike: parse each ending once
    line = 0
    for raw in file:
        line += 1
        if line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        text = decode(path, line, raw).strip(BLANKS)
        if not text or text[0] == "%":
            continue
        keyword = _KEYWORD.match(text)
        word = keyword.group(1).lower() if keyword else ""
        rest = text[keyword.end() :].strip(BLANKS) if keyword else ""
        if word == "relation":
            if relation is not None:
                fail(path, line, "a second @relation; a file holds one")
            relation = _relation(path, line, rest)
        elif word == "attribute":
            if relation is None:
                fail(path, line, "@attribute before @relation; the file must begin with @relation NAME")
            name, kind_at = _attribute_name(path, line, rest)
            kind = rest[kind_at:]
            if kind not in kinds:
                kinds[kind] = _attribute_kind(path, line, name, kind)
            if name in seen:
                fail(path, line, f"attribute {short(name)} is declared twice (first on line {seen[name]})")
            seen[name] = line
            attributes.append(Attribute(name, *kinds[kind], line))
        elif word == "data":
            if rest and rest[0] != "%":
                fail(path, line, f"unexpected {short(rest)} after @data; rows begin on the next line")
            if relation is None:
                fail(path, line, "@data before @relation; the file must begin with @relation NAME")
            if not attributes:
                fail(path, line, "@data but no @attribute before it")
            break
        elif text[0] == "@":
            fail(path, line, f"unknown declaration {short(text)}; expected @relation, @attribute or @data")
        else:
            fail(
                path,
                line,
                f"unexpected {short(text)} in the header; expected @relation, @attribute, @data or a % comment",
            )
    else:
        fail(path, max(line, 1), "the file ends without @data")
    return relation, tuple(attributes), line


def _relation(path: Path, line: int, rest: str) -> str:
    if not rest:
        fail(path, line, "@relation without a name")
    if rest[0] not in "'\"":
        return rest  # MEKA writes options behind the name, so blanks belong to it
    name, end = read_quoted(path, line, rest, 0)
    expect_end(path, line, rest, end, "the relation's name")
    return name


def _attribute_name(path: Path, line: int, rest: str) -> tuple[str, int]:
    """The name and the position where the type begins."""
    if not rest:
        fail(path, line, "@attribute without a name and a type")
    if rest[0] in "'\"":
        name, end = read_quoted(path, line, rest, 0)
        if end < len(rest) and rest[end] not in " \t{":
            fail(path, line, f"unexpected {short(rest[end:])} after the attribute's name; a blank must follow it")
    else:
        # Backslashes and quotes inside an unquoted name are literal: delicious has TAG_dise\~no and TAG_m\'usica.
        match = _NAME_END.search(rest)
        assert match is not None
        end = match.start()
        name = rest[:end]
        if not name or "," in name or "}" in name or name[0] == "%":
            fail(
                path,
                line,
                f"bad attribute name {short(name or rest)}; a name with , {{ }} or a leading % must be quoted",
            )
    start = skip_blanks(rest, end)
    if start == len(rest):
        fail(path, line, f"attribute {short(name)} has no type; expected numeric, real, integer or {{value, ...}}")
    return name, start


def _attribute_kind(path: Path, line: int, name: str, kind: str) -> tuple[tuple[str, ...] | None, bool]:
    """Parse a declaration's type: the nominal values (None where numeric) and whether only integers are allowed."""
    if kind[0] == "{":
        return _nominal_values(path, line, name, kind), False
    word = _BLANK.split(kind, maxsplit=1)[0]
    lower = word.lower()
    if lower in ("string", "date", "relational"):
        readable = "only numeric, real, integer and nominal can be read"
        fail(path, line, f"attribute {short(name)} is of type {lower}; {readable}")
    if lower not in ("numeric", "real", "integer"):
        expected = "expected numeric, real, integer or {value, ...}"
        fail(path, line, f"attribute {short(name)} has the unknown type {short(word)}; {expected}")
    expect_end(path, line, kind, len(word), f"the type of attribute {short(name)}")
    return None, lower == "integer"


def _nominal_values(path: Path, line: int, name: str, kind: str) -> tuple[str, ...]:
    values: list[str] = []
    where = 1
    while True:
        value, quoted, where = read_token(path, line, kind, where)
        if not value and not quoted and where < len(kind):
            what = "no values" if not values and kind[where] == "}" else "an empty value"
            fail(path, line, f"attribute {short(name)} declares {what}; expected {{value, ...}}")
        if where >= len(kind):
            fail(path, line, f"the values of attribute {short(name)} have no closing brace on this line")
        if kind[where] not in ",}":
            fail(
                path,
                line,
                f"unexpected {short(kind[where:])} in the values of attribute {short(name)}; expected , or }}",
            )
        values.append(value)
        where += 1
        if kind[where - 1] == "}":
            break
    expect_end(path, line, kind, where, f"the values of attribute {short(name)}")
    if len(set(values)) < len(values):
        twice = next(value for i, value in enumerate(values) if value in values[:i])
        fail(path, line, f"attribute {short(name)} declares the value {short(twice)} twice")
    return tuple(values)
