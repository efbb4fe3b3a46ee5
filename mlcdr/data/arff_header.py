"""The declarations of an ARFF file: `@relation`, `@attribute`, up to `@data`; what a relation's name says of labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from mlcdr.data.lines import QUOTED, Line, quote

_KEYWORD = re.compile(r"@(relation|attribute|data)(?=[ \t\r\n{'\"%]|$)[ \t\r\n]*", re.IGNORECASE)
_WHOLE = "a header is @relation NAME, then @attribute NAME TYPE for each column, then @data; % begins a comment"
# Backslashes and quotes inside an unquoted name are literal: delicious has TAG_dise\~no and TAG_m\'usica.
_ATTRIBUTE = re.compile(rf"(?:{QUOTED}|([^ \t,{{}}%'\"][^ \t,{{}}]*))(?:[ \t]+|(?={{))(.+)", re.DOTALL)
_NUMERIC = re.compile(r"(numeric|real|integer)[ \t\r\n]*(?:%|$)", re.IGNORECASE)
_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]{1,9})(?![0-9])")

Codes: TypeAlias = dict[str, int]


class Attribute(NamedTuple):
    """One `@attribute` declaration, or a column of another form.

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
    number = 1
    for number, raw in enumerate(file, 1):
        line = Line(path, number)
        text = line.decode(raw)
        if not text or text[0] == "%":
            continue
        keyword = _KEYWORD.match(text)
        word = keyword[1].lower() if keyword else ""
        if keyword is None or (word == "relation") != (relation is None):
            line.fail(f"unexpected {quote(text)}; {_WHOLE}")
        rest = text[keyword.end() :]
        if word == "relation":
            relation = _read_relation(line, rest)
        elif word == "attribute":
            name, declared = _read_attribute(line, rest)
            if declared not in types:
                types[declared] = _read_type(line, name, declared)
            if name in attributes:
                line.fail(f"attribute {quote(name)} is declared twice (first on line {attributes[name].line})")
            attributes[name] = Attribute(name, *types[declared], number)
        else:
            line.expect_end(rest, 0, "@data; rows begin on the next line")
            if not attributes:
                line.fail("@data but no @attribute before it")
            assert relation is not None
            return relation, tuple(attributes.values()), number
    return Line(path, number).fail("the file ends without @data")


def _read_relation(line: Line, rest: str) -> str:
    if not rest:
        line.fail("@relation without a name")
    if rest[0] not in "'\"":
        return rest  # MEKA writes options after the name, so blanks belong to it
    name, _, end = line.read_token(rest, 0)
    line.expect_end(rest, end, "the relation's name")
    return name


def _read_attribute(line: Line, rest: str) -> tuple[str, str]:
    """The name of an attribute, and its type as it is written."""
    match = _ATTRIBUTE.match(rest)
    if match is None:
        line.fail(
            f"{quote(rest)} is not a name and a type; "
            "a name with a blank, a comma, a brace or a leading % must be within quotes"
        )
    single, double, plain, declared = match.groups()
    return plain or line.unescape(single or double or ""), declared


def _read_type(line: Line, name: str, text: str) -> tuple[Codes | None, bool]:
    """Parse a declaration's type: the nominal values (None where numeric) and whether only integers are allowed."""
    numeric = _NUMERIC.match(text)
    if numeric is not None:
        return None, numeric[1].lower() == "integer"
    if text[0] != "{":
        line.fail(
            f"attribute {quote(name)} is of type {quote(text)}; "
            "only numeric, real, integer and {value, ...} can be read"
        )
    codes: Codes = {}
    end = 0
    while text[end] != "}":
        value, quoted, end = line.read_token(text, end + 1)
        if text[end : end + 1] not in (",", "}"):
            what = f"unexpected {quote(text[end:])}" if text[end:] else "no closing brace"
            line.fail(f"the values of attribute {quote(name)}: {what}; expected {{value, ...}} on one line")
        if value in codes or (not value and not quoted):
            what = f"the value {quote(value)} twice" if value else "an empty value"
            line.fail(f"attribute {quote(name)} declares {what}; expected {{value, ...}}")
        codes[value] = len(codes)
    line.expect_end(text, end + 1, f"the values of attribute {quote(name)}")
    return codes, False


def meka_label_count(relation: str) -> int | None:
    """The number after `-C` in a MEKA relation name (negative: the labels are last), None if there is none."""
    match = _MEKA.search(relation)
    return int(match.group(1)) if match else None
