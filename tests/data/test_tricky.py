"""Files that look wrong and are right, each with the exact values that it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from mlcdr.data.arff import read_arff
from mlcdr.data.dataset import load_dataset
from mlcdr.data.label_xml import read_label_xml

NAN = float("nan")
ONE = "@relation r\n@attribute a numeric\n@data\n"
TWO = "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n"
NOMINAL = "@relation r\n@attribute a {x,'y z',\"q\"}\n@attribute b numeric\n@data\n"
BINARY = "@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute c numeric\n@data\n"

# The file, and its values: nominal ones as positions in the declaration, a missing one NaN.
DENSE: dict[str, tuple[str, list[list[float]]]] = {
    # numbers
    "leading zeros": (ONE + "007\n", [[7]]),
    "negative zero": (ONE + "-0\n", [[-0.0]]),
    "exponents": (ONE + "1e3\n1E+3\n1.e-3\n.1e1\n", [[1000], [1000], [0.001], [1]]),
    "smallest number": (ONE + "5e-324\n", [[5e-324]]),
    "underflow": (ONE + "1e-400\n", [[0]]),
    "largest number": (ONE + "1.7976931348623157e308\n", [[1.7976931348623157e308]]),
    "all seventeen digits": (ONE + "0.1234567890123456789\n", [[0.1234567890123456789]]),
    "whole number beyond 2^53": (ONE + "9007199254740993\n", [[9007199254740992]]),
    "twenty digits": (ONE + "99999999999999999999\n", [[1e20]]),
    "integer with a point": ("@relation r\n@attribute a integer\n@data\n3.0\n2e1\n", [[3], [20]]),
    "four hundred zeros": (ONE + "0" * 400 + "1\n", [[1]]),
    # blanks, line ends, comments
    "blanks around values": (TWO + " 1 ,\t2 \n", [[1, 2]]),
    "no line end at the end": (TWO + "1,2", [[1, 2]]),
    "lines of blanks": (TWO + "  \n1,2\n\t\n", [[1, 2]]),
    "comments among the rows": (TWO + "% a\n1,2\n  % b, {0 1}\n3,4\n", [[1, 2], [3, 4]]),
    "DOS line ends": (TWO.replace("\n", "\r\n") + "1,2\r\n3,4\r\n", [[1, 2], [3, 4]]),
    "mixed line ends": (TWO + "1,2\r\n3,4\n", [[1, 2], [3, 4]]),
    "comment behind @data": (TWO.replace("@data", "@data % rows") + "1,2\n", [[1, 2]]),
    "one row, one column": (ONE + "1", [[1]]),
    # the header
    "keywords in capitals": (ONE.replace("@r", "@R").replace("attribute", "ATTRIBUTE").upper() + "1\n", [[1]]),
    "relation with blanks": (ONE.replace(" r\n", " a b: -C 2\n", 1) + "1\n", [[1]]),
    "name that is a keyword": (ONE.replace("attribute a", "attribute @data") + "1\n", [[1]]),
    "name that is a number": (ONE.replace("attribute a", "attribute 000") + "1\n", [[1]]),
    "names that differ in case": (TWO.replace("attribute b", "attribute A") + "1,2\n", [[1, 2]]),
    "name of another script": (ONE.replace("attribute a", "attribute 標籤") + "1\n", [[1]]),
    "quoted name with everything": (ONE.replace("attribute a", "attribute 'a, {b} % \\\\ c'") + "1\n", [[1]]),
    "brace glued to the name": ("@relation r\n@attribute a{0,1}\n@data\n1\n", [[1]]),
    # nominal values
    "labels in the other order": ("@relation r\n@attribute a {1,0}\n@data\n1\n0\n", [[0], [1]]),
    "numerals in no order": ("@relation r\n@attribute a {7,3,10}\n@data\n10\n7\n3\n", [[2], [0], [1]]),
    "numerals with zeros in front": ("@relation r\n@attribute a {01,1}\n@data\n1\n01\n", [[1], [0]]),
    "a value of a comma": ("@relation r\n@attribute a {',',b}\n@data\n','\nb\n", [[0], [1]]),
    "a value that is empty": ("@relation r\n@attribute a {'',b}\n@data\n''\nb\n", [[0], [1]]),
    "a quoted question mark": ("@relation r\n@attribute a {'?',b}\n@data\n'?'\nb\n", [[0], [1]]),
    "values that differ in case": ("@relation r\n@attribute a {x,X}\n@data\nX\nx\n", [[1], [0]]),
    "escapes in a value": ("@relation r\n@attribute a {'a\\'b','\\u0041'}\n@data\nA\n'a\\'b'\n", [[1], [0]]),
    "quoted number": (TWO + "'1',\"2\"\n", [[1, 2]]),
    # gaps
    "missing values": (TWO + "?,2\n1, ? \n", [[NAN, 2], [1, NAN]]),
}  # fmt: skip

SPARSE: dict[str, tuple[str, list[list[float]]]] = {
    "empty rows": (BINARY + "{}\n{ }\n{0 1}\n", [[0, 0, 0], [0, 0, 0], [1, 0, 0]]),
    "only empty rows": (BINARY + "{}\n{}\n", [[0, 0, 0], [0, 0, 0]]),
    "explicit zeros": (BINARY + "{0 0,2 0}\n", [[0, 0, 0]]),
    "blanks everywhere": (BINARY + " { 0 1 , 2\t5 } \n", [[1, 0, 5]]),
    "index with zeros in front": (BINARY + "{002 5}\n", [[0, 0, 5]]),
    "first value omitted": ("@relation r\n@attribute a {1,0}\n@attribute b real\n@data\n{}\n{0 0}\n", [[0, 0], [1, 0]]),
    "gaps": (BINARY + "{0 1,2 ?}\n{1 ?}\n", [[1, 0, NAN], [0, NAN, 0]]),
    "large and small numbers": (BINARY + "{2 -2.5e3}\n{2 1e-300}\n", [[0, 0, -2500], [0, 0, 1e-300]]),
    "comment behind a row": (BINARY + "{0 1} % c\n{1 1}\n", [[1, 0, 0], [0, 1, 0]]),
    "DOS line ends": (BINARY.replace("\n", "\r\n") + "{0 1}\r\n{2 7}\r\n", [[1, 0, 0], [0, 0, 7]]),
    "an integer column": ("@relation r\n@attribute a integer\n@data\n{0 12}\n{0 3.0}\n", [[12], [3]]),
}  # fmt: skip

XML: dict[str, tuple[bytes, list[str]]] = {
    "prefix": (b'<m:labels xmlns:m="u"><m:label name="a"/></m:labels>', ["a"]),
    "entities of XML": (b'<labels><label name="&lt;a&gt; &amp; &#233;"/></labels>', ["<a> & \xe9"]),
    "comments and instructions": (b"<!-- c --><?p q?><labels><!-- d --><label name='a'/></labels>", ["a"]),
    "Latin 1, declared": (b'<?xml version="1.0" encoding="latin1"?><labels><label name="\xe9"/></labels>', ["\xe9"]),
    "UTF-16, with its mark": ('<labels><label name="\xe9"/></labels>'.encode("utf-16"), ["\xe9"]),
    "a name of markup": (b'<labels><label name="&lt;script&gt;"/></labels>', ["<script>"]),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
def test_dense(name: str, tmp_path: Path) -> None:
    text, values = DENSE[name]
    (tmp_path / "t.arff").write_bytes(text.encode())
    table = read_arff(tmp_path / "t.arff")
    assert not table.is_sparse
    assert table.values.dtype == np.float64
    assert_array_equal(table.values, np.array(values, dtype=float), strict=True)
    assert_array_equal(np.signbit(table.values), np.signbit(values))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse(name: str, tmp_path: Path) -> None:
    text, values = SPARSE[name]
    (tmp_path / "t.arff").write_bytes(text.encode())
    table = read_arff(tmp_path / "t.arff")
    assert sparse.issparse(table.values)
    assert_array_equal(table.values.toarray(), np.array(values, dtype=float), strict=True)
    assert table.values.nnz == np.count_nonzero(values)
    assert table.values.has_canonical_format
    assert (table.values.indices.dtype, table.values.indptr.dtype) == (np.int32, np.int32)


@pytest.mark.parametrize("name", XML)
def test_label_xml(name: str, tmp_path: Path) -> None:
    content, names = XML[name]
    (tmp_path / "t.xml").write_bytes(content)
    assert [each for each, _ in read_label_xml(tmp_path / "t.xml")] == names


def test_labels_in_the_other_order_mean_what_they_say(tmp_path: Path) -> None:
    text = "@relation r\n@attribute a {1,0}\n@attribute b real\n@data\n"
    for rows, is_sparse in (("0,5\n1,6\n", False), ("{0 0,1 5}\n{1 6}\n", True)):
        (tmp_path / "t.arff").write_text(text + rows)
        Y = load_dataset(tmp_path / "t.arff", labels=1).Y
        assert sparse.issparse(Y) == is_sparse
        assert (Y.toarray() if is_sparse else Y).tolist() == [[0], [1]]
