"""Files that must be refused, each with the place and the first words of its message."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mlcdr.data.arff import read_arff
from mlcdr.data.dataset import load_dataset
from mlcdr.data.label_xml import read_label_xml
from mlcdr.errors import DataError

HEADER = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute n integer\n@data\n"  # rows begin on line 6
BINARY = "@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute c numeric\n@data\n"

ARFF = {
    # the header
    "empty file": ("", 1, "the file ends without @data"),
    "no data section": ("@relation r\n@attribute a numeric\n", 2, "the file ends without @data"),
    "no relation": ("@attribute a numeric\n@data\n1\n", 1, "unexpected '@attribute a numeric'"),
    "relation without name": ("@relation\n", 1, "@relation without a name"),
    "text behind quoted relation": ("@relation 'r' s\n", 1, "unexpected 's' after the relation's name"),
    "no attributes": ("@relation r\n@data\n1\n", 2, "@data but no @attribute before it"),
    "attribute without name": ("@relation r\n@attribute\n", 2, "'' is not a name and a type"),
    "attribute without type": ("@relation r\n@attribute a\n", 2, "'a' is not a name and a type"),
    "name with comma": ("@relation r\n@attribute a,b numeric\n", 2, "'a,b numeric' is not a name and a type"),
    "open quote in name": ("@relation r\n@attribute 'a numeric\n", 2, '"\'a numeric" is not a name and a type'),
    "name twice": ("@relation r\n@attribute a numeric\n@attribute 'a' real\n", 3, "attribute 'a' is declared twice"),
    "half a character": ("@relation r\n@attribute '\\ud800' real\n", 2, "'\\\\ud800' has a half of a character"),
    "unknown type": ("@relation r\n@attribute a number\n", 2, "attribute 'a' is of type 'number'"),
    "string attribute": ("@relation r\n@attribute a string\n", 2, "attribute 'a' is of type 'string'"),
    "date attribute": ("@relation r\n@attribute a DATE yyyy\n", 2, "attribute 'a' is of type 'DATE yyyy'"),
    "no values": ("@relation r\n@attribute a { }\n", 2, "attribute 'a' declares an empty value"),
    "empty value": ("@relation r\n@attribute a {x,,y}\n", 2, "attribute 'a' declares an empty value"),
    "value twice": ("@relation r\n@attribute a {x, y, x}\n", 2, "attribute 'a' declares the value 'x' twice"),
    "open brace": ("@relation r\n@attribute a {x, y\n", 2, "the values of attribute 'a': no closing brace"),
    "open quote in values": ("@relation r\n@attribute a {'x, y}\n", 2, "the quote opened by"),
    "junk after quoted value": ("@relation r\n@attribute a {'x' y}\n", 2, "the values of attribute 'a': unexpected 'y"),
    "text behind values": ("@relation r\n@attribute a {x,y} z\n", 2, "unexpected 'z' after the values"),
    "unknown keyword": ("@relation r\n@attrib a numeric\n", 2, "unexpected '@attrib a numeric'"),
    "text in the header": ("@relation r\nattribute a numeric\n", 2, "unexpected 'attribute a numeric'"),
    "row on the data line": ("@relation r\n@attribute a numeric\n@data 1\n", 3, "unexpected '1' after @data"),
    # dense rows
    "no rows": (HEADER + "\n% nothing\n", 7, "no row after @data"),
    "too few values": (HEADER + "1,x,2\n1,x\n", 7, "2 values, but 3 attributes are declared"),
    "infinity by size": (HEADER + "1e999,x,2\n", 6, "attribute 'a' has the value '1e999', which is not a number"),
    "fraction in an integer": (HEADER + "1,x,3.5\n", 6, "attribute 'n' has the value '3.5', which is not an integer"),
    "undeclared value": (HEADER + "1,z,2\n", 6, "attribute 'b' has the value 'z', which is not among {x, y}"),
    "value in the wrong case": (HEADER + "1,X,2\n", 6, "attribute 'b' has the value 'X', which is not among {x, y}"),
    "quoted question mark": (HEADER + "1,'?',2\n", 6, "attribute 'b' has the value '?', which is not among"),
    "open quote in a row": (HEADER + "1,'x,2\n", 6, "the quote opened by \"'x,2\" is never closed"),
    "junk after a quoted value": (HEADER + "1,'x'y,2\n", 6, "unexpected 'y,2' after a quoted value"),
    "sparse row among dense": (HEADER + "1,x,2\n{0 1}\n", 7, "a sparse row in a file that began with dense rows"),
    "nul byte": (HEADER + "1,x,2\n1,\0x,2\n", 7, "a NUL byte"),
    "late mistake": (HEADER + "1,x,2\n" * 60_000 + "1,x\n", 60_006, "2 values, but 3 attributes are declared"),
    # the same among nothing but numerals
    "numeral not declared": (BINARY + "0,1,5\n0,2,5\n", 7, "attribute 'b' has the value '2', which is not among"),
    "numeral spelt otherwise": (BINARY + "0,01,5\n", 6, "attribute 'b' has the value '01', which is not among {0, 1}"),
    "numeral hole": (BINARY + "0,,5\n", 6, "attribute 'b' has the value '', which is not among {0, 1}"),
    # sparse rows
    "open sparse row": (BINARY + "{0 1, 2 5\n", 6, "'' after the value of index 2"),
    "open empty sparse row": (BINARY + "{\n", 6, "'' is not 'index value'"),
    "dense row among sparse": (BINARY + "{0 1}\n0,1,5\n", 7, "a dense row in a file that began with sparse rows"),
    "index too large": (BINARY + "{0 1}\n{3 1}\n", 7, "index 3, but the last of the 3 attributes is 2"),
    "index twice": (BINARY + "{1 1,1 0}\n", 6, "index 1 after index 1"),
    "indices that fall": (BINARY + "{0 1}\n{2 5,0 1}\n", 7, "index 0 after index 2; the indices of"),
    "index without value": (BINARY + "{1}\n", 6, "'1}' is not 'index value'"),
    "index and an empty value": (BINARY + "{2 }\n", 6, "attribute 'c' has the value '', which is not a number"),
    "sparse trailing comma": (BINARY + "{0 1,}\n", 6, "'}' is not 'index value'"),
    "sparse value not declared": (BINARY + "{1 2}\n", 6, "attribute 'b' has the value '2', which is not among"),
    "two values": (BINARY + "{2 5 6}\n", 6, "attribute 'c' has the value '5 6', which is not a number"),
    "instance weight": (BINARY + "{0 1}, {5}\n", 6, "unexpected ', {5}' after the closing brace"),
    "index of 2^63": (BINARY + "{9223372036854775808 1}\n", 6, "'9223372036854775808 1}' is not 'index value'"),
    "index twice, far apart": (BINARY + "{0 1}\n" * 40_000 + "{2 1,2 1}\n", 40_006, "index 2 after index 2"),
    "colon for the blank": (BINARY + "{0:1}\n", 6, "'0:1}' is not 'index value'"),
    "brace within": (BINARY + "{0 {1}\n", 6, "attribute 'a' has the value '{1', which is not among {0, 1}"),
    "row over two lines": (BINARY + "{0 1,\n1 1}\n", 6, "'' is not 'index value'"),
    "sparse number with comma": (BINARY + "{2 1,5}\n", 6, "'5}' is not 'index value'"),
    "labels in the other order": ("@relation r\n@attribute a {1,0}\n@data\n{0 2}\n", 4, "attribute 'a' has the value "),
    "integer with a small fraction": (HEADER + "1,x,1e-400\n1,x,5e-324\n", 7, "attribute 'n' has the value '5e-324', "),
    "terminal's escape": (HEADER + "\x1b[2J,x,2\n", 6, "attribute 'a' has the value '\\x1b[2J', which is not a number"),
    "escape among the values": (
        "@relation r\n@attribute a {\x1b[2J}\n@data\nx\n",
        4, "attribute 'a' has the value 'x', which is not among {\\x1b[2J}",
    ),
    "a number too long": (HEADER + "1" * 400 + ",x,2\n", 6, "attribute 'a' has the value '" + "1" * 37 + "...', which"),
    "type glued to the name": ("@relation r\n@attribute 'a'numeric\n", 2, '"\'a\'numeric" is not a name and a type'),
    "html": ("<!DOCTYPE html>\n<html>\n", 1, "unexpected '<!DOCTYPE html>'"),
}  # fmt: skip

NO_NUMBERS = [
    "",
    "one",
    "nan",
    "-inf",
    "1_000",
    "0x10",
    "--1",
    "1.2.3",
    "1e",
    "٣",
    "1\u00a0",
    "−1",
    "$1",
    "1%",
    "1e0.5",
]
for _word in [*NO_NUMBERS, "1d5", "1+2j", ".", "-"]:
    _right = f"attribute 'a' has the value {_word!r}, which is not a number"
    ARFF[f"{_word!r} for a number"] = HEADER + f"{_word},x,2\n", 6, _right

XML = {
    "doctype": ('<?xml version="1.0"?>\n<!DOCTYPE labels>\n<labels/>', 2, "a DOCTYPE"),
    "cut": ('<labels>\n<label name="a"/>\n', 3, "not well-formed XML: no element found"),
    "unknown encoding": ('<?xml version="1.0" encoding="x-none"?>\n<labels/>', 1, "not well-formed XML: unknown enc"),
    "other root": ('<label name="a"/>', 1, "element <label> where <labels> is expected"),
    "other element": ('<labels>\n<labell name="a"/></labels>', 2, "element <labell> where <label> is expected"),
    "no name": ("<labels>\n<label/></labels>", 2, "a <label> without a name"),
    "name twice": ('<labels>\n<label name="a"/>\n<label name="a"/></labels>', 3, "label 'a' is listed twice (first on"),
    "text": ("<labels>\n  a\n</labels>", 2, "unexpected text 'a'"),
    "no label": ("<labels>\n</labels>", 2, "no <label> in the file"),
    "billion laughs": (
        '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>\n<labels><label name="&b;"/></labels>',
        1, "a DOCTYPE",
    ),
    "a file from elsewhere": (
        '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<labels><label name="&a;"/></labels>', 1, "a DOCTYPE",
    ),
}  # fmt: skip

BYTES = {
    "UTF-16, little end first": ("@relation r\n".encode("utf-16"), 1, "a NUL byte; an ARFF file is text in UTF-8"),
    "a surrogate": (b"@relation r\n@attribute \xed\xa0\x80 real\n", 2, "byte 0xED is not UTF-8"),
    "gzip": (b"\x1f\x8b\x08\x04\xff", 1, "byte 0x8B is not UTF-8"),
    "a second mark": (b"\xef\xbb\xbf\xef\xbb\xbf@relation r\n", 1, "unexpected '\\ufeff@relation r'"),
    "Latin 1 in a row": (HEADER.encode() + b"1,x,2\n1,\xff,2\n", 7, "byte 0xFF is not UTF-8; convert the file"),
}  # fmt: skip

A = '<labels><label name="a"/></labels>'

# ARFF, XML (or None), options: what is only wrong as a data set
DATA = {
    "label not an attribute": (
        BINARY + "0,1,5\n", '<labels>\n<label name="d"/></labels>', {}, "{xml}:2: label 'd' is not an attribute of d",
    ),
    "missing value": (
        BINARY + "0,1,5\n0,1,?\n", A, {}, "{arff}:7: row 2: feature 'c' has no value",
    ),
    "missing value, sparse": (
        BINARY + "{0 1}\n\n{2 ?}\n", A, {}, "{arff}:8: row 2: feature 'c' has no value",
    ),
    "missing values of a nominal": (  # which becomes three columns
        "@relation 'r: -C -1'\n@attribute x real\n@attribute c {a,b,d}\n@attribute v {0,1}\n@data\n"
        "2,?,1\n?,a,0\n1,b,1\n4,a,0\n",
        None, {}, "{arff}:6: row 1: feature 'c' has no value (2 are missing: x (1), c (1)); ",
    ),
    "missing label": (
        BINARY + "?,1,5\n", A, {"missing": "zero"}, "{arff}:6: row 1: label 'a' has no value",
    ),
    "column without any value": (
        BINARY + "1,1,?\n", A, {"missing": "mean"}, "{arff}: feature 'c' has no value in any row",
    ),
    "numeric label": (
        BINARY + "0,1,0\n0,1,2\n", '<labels><label name="c"/></labels>', {}, "{arff}:7: row 2: label 'c' has the val",
    ),
    "nominal label": (
        HEADER + "1,x,2\n", '<labels><label name="b"/></labels>', {}, "{arff}:3: label 'b' has the values {{x, y}}",
    ),
    "no feature left": (
        BINARY + "0,1,1\n", "<labels>" + "".join(f'<label name="{c}"/>' for c in "abc") + "</labels>", {},
        "{arff}: labels: all columns are labels, and at least one must be a feature",
    ),
    "no labels known": (BINARY + "0,1,5\n", None, {}, "{arff}: which attributes are labels?"),
    "too many labels": (BINARY + "0,1,5\n", None, {"labels": 3}, "{arff}: 3 labels (MEKA's -C), but the file has 3"),
    "no labels at all": (BINARY + "0,1,5\n", None, {"labels": 0}, "{arff}: labels: must be a whole number other"),
    "labels said twice": (
        BINARY + "0,1,5\n", A, {"labels": 1}, "{xml}: names the labels; the option labels is only",
    ),
    "no test file": (
        BINARY + "0,1,5\n", A, {"part": "predefined"}, "{arff}: the predefined split needs",
    ),
}  # fmt: skip


def _assert_refused(read: Callable[[Path], object], path: Path, content: bytes, line: int, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}:{line}: {message}")
    assert "\n" not in str(raised.value)


FILES = {name: (text.encode(), line, message) for name, (text, line, message) in ARFF.items()} | BYTES
FILES |= {  # line ends do not move the line
    f"{name}, of DOS": (b"\xef\xbb\xbf" + ARFF[name][0].replace("\n", "\r\n").encode(), *ARFF[name][1:])
    for name in ("too few values", "index twice", "value twice", "numeral not declared")
}


@pytest.mark.parametrize("name", FILES)
def test_malformed_arff(name: str, tmp_path: Path) -> None:
    _assert_refused(read_arff, tmp_path / "bad.arff", *FILES[name])


@pytest.mark.parametrize("name", XML)
def test_malformed_xml(name: str, tmp_path: Path) -> None:
    text, line, message = XML[name]
    _assert_refused(read_label_xml, tmp_path / "bad.xml", text.encode(), line, message)


@pytest.mark.parametrize("name", DATA)
def test_inconsistent_data_set(name: str, tmp_path: Path) -> None:
    arff, xml, options, message = DATA[name]
    paths = {"arff": tmp_path / "d.arff", "xml": tmp_path / "d.xml"}
    paths["arff"].write_text(arff)
    if xml is not None:
        paths["xml"].write_text(xml)
    with pytest.raises(DataError) as raised:
        load_dataset(paths["arff"], **options)
    assert str(raised.value).startswith(message.format(**paths))
