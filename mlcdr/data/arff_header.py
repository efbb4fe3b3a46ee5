"""The declarations of an ARFF file: `@relation`, `@attribute`, up to `@data`; what a relation's name says of labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from mlcdr.data.lines import BLANKS, Line, expect_end, quote, read_quoted, read_token, skip_blanks

_NAME_END = re.compile(r"[ \t{]|$")
_BLANK = re.compile(r"[ \t\r\n]")  # str.split would split at other white space, too
_KEYWORD = re.compile(r"@([A-Za-z]+)(?=[ \t\r\n{'\"%]|$)")

_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]+)(?![0-9])")

Codes: TypeAlias = dict[str, int]


class Attribute(NamedTuple):
    """One `@attribute` declaration.

    `codes`: nominal value → position, in declared order; None for a numeric attribute. `integer`: whether the type is
    `integer`. `line`: the number of its line.
    """

    name: str
    codes: Codes | None = None
    integer: bool = False
    line: int = 0

    @property
    def values(self) -> tuple[str, ...] | None:
        """The nominal values in declared order, None for a numeric attribute."""
        return None if self.codes is None else tuple(self.codes)


def read_header(path: Path, file: BinaryIO) -> tuple[str, tuple[Attribute, ...], int]:
    """Read up to and including `@data`; return the relation, the attributes and the number of lines read."""
    relation: str | None = None
    attributes: dict[str, Attribute] = {}
    types: dict[str, tuple[Codes | None, bool]] = {}  # many attributes have the same type: parse it once
    line = Line(path, 1)
    for number, raw in enumerate(file, 1):
        line = Line(path, number)
        text = line.decode(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
        if not text or text[0] == "%":
            continue
        keyword = _KEYWORD.match(text)
        word = keyword.group(1).lower() if keyword else ""
        rest = text[keyword.end() :].strip(BLANKS) if keyword else ""
        if word in ("attribute", "data") and relation is None:
            line.fail(f"@{word} before @relation; the file must begin with @relation NAME")
        if word == "relation":
            if relation is not None:
                line.fail("a second @relation; a file holds one")
            relation = _read_relation(line, rest)
        elif word == "attribute":
            name, type_at = _read_name(line, rest)
            declared = rest[type_at:]
            if declared not in types:
                types[declared] = _read_type(line, name, declared)
            if name in attributes:
                line.fail(f"attribute {quote(name)} is declared twice (first on line {attributes[name].line})")
            attributes[name] = Attribute(name, *types[declared], number)
        elif word == "data":
            if rest and rest[0] != "%":
                line.fail(f"unexpected {quote(rest)} after @data; rows begin on the next line")
            if not attributes:
                line.fail("@data but no @attribute before it")
            assert relation is not None
            return relation, tuple(attributes.values()), number
        elif text[0] == "@":
            line.fail(f"unknown declaration {quote(text)}; expected @relation, @attribute or @data")
        else:
            expected = "expected @relation, @attribute, @data or a % comment"
            line.fail(f"unexpected {quote(text)} in the header; {expected}")
    return line.fail("the file ends without @data")


def _read_relation(line: Line, rest: str) -> str:
    if not rest:
        line.fail("@relation without a name")
    if rest[0] not in "'\"":
        return rest  # MEKA writes options after the name, so blanks belong to it
    name, end = read_quoted(line, rest, 0)
    expect_end(line, rest, end, "the relation's name")
    return name


def _read_name(line: Line, rest: str) -> tuple[str, int]:
    """The name of an attribute and the position where its type begins."""
    if not rest:
        line.fail("@attribute without a name and a type")
    if rest[0] in "'\"":
        name, end = read_quoted(line, rest, 0)
        if end < len(rest) and rest[end] not in " \t{":
            line.fail(f"unexpected {quote(rest[end:])} after the attribute's name; a blank must follow it")
    else:
        # Backslashes and quotes inside an unquoted name are literal: delicious has TAG_dise\~no and TAG_m\'usica.
        match = _NAME_END.search(rest)
        assert match is not None
        end = match.start()
        name = rest[:end]
        if not name or "," in name or "}" in name or name[0] == "%":
            line.fail(f"bad attribute name {quote(name or rest)}; a name with , {{ }} or a leading % must be quoted")
    start = skip_blanks(rest, end)
    if start == len(rest):
        line.fail(f"attribute {quote(name)} has no type; expected numeric, real, integer or {{value, ...}}")
    return name, start


def _read_type(line: Line, name: str, text: str) -> tuple[Codes | None, bool]:
    """Parse a declaration's type: the nominal values (None where numeric) and whether only integers are allowed."""
    if text[0] == "{":
        return _read_values(line, name, text), False
    word = _BLANK.split(text, maxsplit=1)[0]
    lower = word.lower()
    if lower in ("string", "date", "relational"):
        readable = "only numeric, real, integer and nominal can be read"
        line.fail(f"attribute {quote(name)} is of type {lower}; {readable}")
    if lower not in ("numeric", "real", "integer"):
        expected = "expected numeric, real, integer or {value, ...}"
        line.fail(f"attribute {quote(name)} has the unknown type {quote(word)}; {expected}")
    expect_end(line, text, len(word), f"the type of attribute {quote(name)}")
    return None, lower == "integer"


def _read_values(line: Line, name: str, text: str) -> Codes:
    codes: Codes = {}
    end = 0
    while text[end] != "}":
        value, quoted, end = read_token(line, text, end + 1)
        if end >= len(text):
            line.fail(f"the values of attribute {quote(name)} have no closing brace on this line")
        if not value and not quoted:
            what = "no values" if not codes and text[end] == "}" else "an empty value"
            line.fail(f"attribute {quote(name)} declares {what}; expected {{value, ...}}")
        if text[end] not in ",}":
            line.fail(f"unexpected {quote(text[end:])} in the values of attribute {quote(name)}; expected , or }}")
        if value in codes:
            line.fail(f"attribute {quote(name)} declares the value {quote(value)} twice")
        codes[value] = len(codes)
    expect_end(line, text, end + 1, f"the values of attribute {quote(name)}")
    return codes


def meka_label_count(relation: str) -> int | None:
    """The number after `-C` in a MEKA relation name (negative: the labels are last), None if there is none."""
    match = _MEKA.search(relation)
    return int(match.group(1)) if match else None
