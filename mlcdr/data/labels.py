"""Which attributes are labels: Mulan's label XML, and MEKA's `-C` in the relation's name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

from mlcdr.data.text import fail, short

_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]+)(?![0-9])")


def read_label_xml(path: Path | str) -> tuple[tuple[str, int], ...]:
    """Read Mulan's label XML: each label's name and line, in the file's order, a hierarchy flattened parent first.

    The file is `<labels><label name="..."/>...</labels>`, in Mulan's namespace or none. A DOCTYPE is refused: label
    files need none, and entities in one can blow up.

    Raises
    ------
    DataError
        With file and line: not well-formed, a DOCTYPE, an element that is neither `labels` nor `label`, a label
        without a name, a name given twice, no label at all.
    """
    path = Path(path)
    labels: dict[str, int] = {}
    depth = 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def start_doctype(*_: Any) -> None:
        fail(path, parser.CurrentLineNumber, "a DOCTYPE; label files must not have one")

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        line, tag = parser.CurrentLineNumber, tag.rsplit(" ", 1)[-1]
        expected = "label" if depth else "labels"
        if tag != expected:
            fail(path, line, f"element <{tag[:40]}> where <{expected}> is expected")
        depth += 1
        if tag == "labels":
            return
        name = attributes.get("name", "")
        if not name:
            fail(path, line, "a <label> without a name")
        if name in labels:
            fail(path, line, f"label {short(name)} is listed twice (first on line {labels[name]})")
        labels[name] = line

    def end_element(_: str) -> None:
        nonlocal depth
        depth -= 1

    def text(content: str) -> None:
        if content.strip():
            fail(
                path,
                parser.CurrentLineNumber,
                f'unexpected text {content.strip()[:40]!r}; a label is <label name="..."/>',
            )

    parser.StartDoctypeDeclHandler = start_doctype
    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    parser.CharacterDataHandler = text
    try:
        parser.Parse(path.read_bytes(), True)
    except OSError as error:
        fail(path, None, f"cannot be read: {error.strerror or error}")
    except (expat.ExpatError, LookupError, ValueError) as error:
        line = getattr(error, "lineno", parser.CurrentLineNumber)
        reason = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else str(error)
        fail(path, line, f"not well-formed XML: {reason}")
    if not labels:
        fail(path, parser.CurrentLineNumber, "no <label> in the file")
    return tuple(labels.items())


def meka_label_count(relation: str) -> int | None:
    """The number behind `-C` in a MEKA relation name (negative: labels are last), None where there is none."""
    match = _MEKA.search(relation)
    return int(match.group(1)) if match else None
