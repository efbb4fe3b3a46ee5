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
    reader = _Reader(Path(path))
    try:
        reader.parser.Parse(reader.path.read_bytes(), True)
    except OSError as error:
        fail_unreadable(reader.path, error)
    except expat.ExpatError as error:
        Line(reader.path, error.lineno).fail(f"not well-formed XML: {expat.ErrorString(error.code)}")
    except (LookupError, ValueError) as error:  # an encoding that Python does not have, or not one of text
        reader.line.fail(f"not well-formed XML: {error}")
    if not reader.labels:
        reader.line.fail("no <label> in the file")
    return tuple(reader.labels.items())


class _Reader:
    """The labels of an XML, collected as its parser comes to them."""

    def __init__(self, path: Path):
        self.path = path
        self.labels: dict[str, int] = {}
        self.depth = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start_element
        self.parser.EndElementHandler = self._end_element
        self.parser.CharacterDataHandler = self._check_text

    @property
    def line(self) -> Line:
        """The line that the parser has come to."""
        return Line(self.path, self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: Any) -> None:
        self.line.fail("a DOCTYPE; label files must not have one")

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rsplit(" ", 1)[-1]
        expected = "label" if self.depth else "labels"
        if tag != expected:
            self.line.fail(f"element <{tag[:40]}> where <{expected}> is expected")
        self.depth += 1
        if tag == "labels":
            return
        name = attributes.get("name", "")
        if not name:
            self.line.fail("a <label> without a name")
        if name in self.labels:
            self.line.fail(f"label {quote(name)} is listed twice (first on line {self.labels[name]})")
        self.labels[name] = self.line.number

    def _end_element(self, _: str) -> None:
        self.depth -= 1

    def _check_text(self, content: str) -> None:
        if content.strip():
            self.line.fail(f'unexpected text {content.strip()[:40]!r}; a label is <label name="..."/>')
