"""Mulan's label XML, which says which attributes of an ARFF file are labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

from mlcdr.data.lines import Line, fail_unreadable, quote


def read_label_xml(path: Path | str) -> tuple[tuple[str, int], ...]:
    """Read Mulan's label XML: each label's name and line, in the file's order; in a hierarchy, parents come first.

    The file is `<labels><label name="..."/>...</labels>`, in Mulan's namespace or none. A DOCTYPE is refused: label
    files need none, and its entities can expand to a huge text.

    Raises
    ------
    DataError
        With file and line, for: XML that is not well-formed, a DOCTYPE, an unexpected element or text, a label without
        a name, a name given twice, no label at all.
    """
    path = Path(path)
    labels: dict[str, int] = {}
    depth = 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def line() -> Line:
        return Line(path, parser.CurrentLineNumber)

    def start_doctype(*_: Any) -> None:
        line().fail("a DOCTYPE; label files must not have one")

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        tag = tag.rsplit(" ", 1)[-1]
        expected = "label" if depth else "labels"
        if tag != expected:
            line().fail(f"element <{tag[:40]}> where <{expected}> is expected")
        depth += 1
        if tag == "labels":
            return
        name = attributes.get("name", "")
        if not name:
            line().fail("a <label> without a name")
        if name in labels:
            line().fail(f"label {quote(name)} is listed twice (first on line {labels[name]})")
        labels[name] = line().number

    def end_element(_: str) -> None:
        nonlocal depth
        depth -= 1

    def check_text(content: str) -> None:
        if content.strip():
            line().fail(f'unexpected text {content.strip()[:40]!r}; a label is <label name="..."/>')

    parser.StartDoctypeDeclHandler = start_doctype
    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    parser.CharacterDataHandler = check_text
    try:
        parser.Parse(path.read_bytes(), True)
    except OSError as error:
        fail_unreadable(path, error)
    except expat.ExpatError as error:
        Line(path, error.lineno).fail(f"not well-formed XML: {expat.ErrorString(error.code)}")
    except (LookupError, ValueError) as error:  # an encoding that Python does not have, or not one of text
        line().fail(f"not well-formed XML: {error}")
    if not labels:
        line().fail("no <label> in the file")
    return tuple(labels.items())
