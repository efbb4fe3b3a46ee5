"""The ARFF reader: what it accepts, that rows read at once are read right, and liac-arff as the oracle."""

from pathlib import Path

import arff as liac
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from mlcdr.data import arff
from mlcdr.data.arff import read_arff
from mlcdr.data.table import Table
from mlcdr.errors import DataError


def _read(tmp_path: Path, text: str | bytes) -> Table:
    path = tmp_path / "t.arff"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_arff(path)


def _lines(table: Table) -> list[int]:
    (origin,) = table.origins.files
    return [origin.line_of(row) for row in range(origin.n_rows)]


def _dense(table: Table) -> np.ndarray:
    return table.values.toarray() if sparse.issparse(table.values) else table.values


# --- what the format allows ---------------------------------------------------------------------------------------


AS_WRITTEN = ["data", "end", "class", "relation", "0", "-", "/", "0;", r"TAG_dise\~no", r"TAG_m\'usica", "é", "50%"]
UNQUOTED = {
    r"'Swainson\'s Thrush'": "Swainson's Thrush",
    "'a name, with {all} of it %'": "a name, with {all} of it %",
    '"double"': "double",
    r"'tab\tquote\"backslash\\'": 'tab\tquote"backslash\\',
    r"'unknown \~ stays'": r"unknown \~ stays",
    r"'\u00e9'": "é",
    r"'\ud83d\ude00'": "😀",
}


@pytest.mark.parametrize(("declared", "name"), [*UNQUOTED.items(), *zip(AS_WRITTEN, AS_WRITTEN, strict=True)])
def test_attribute_names(declared: str, name: str, tmp_path: Path) -> None:
    table = _read(tmp_path, f"@relation r\n@attribute {declared} numeric\n@attribute z {{0,1}}\n@data\n1,0\n")
    assert [a.name for a in table.attributes] == [name, "z"]


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("{0,1}", ("0", "1")),
        ("{ 0 , 1 }", ("0", "1")),
        ("\t{1, 0}  ", ("1", "0")),
        ("{'a b', \"c,}\", d} % a comment", ("a b", "c,}", "d")),
        ("{''}", ("",)),
        ("numeric", None),
        ("REAL % a comment", None),
        ("Integer", None),
    ],
)
def test_attribute_types(declared: str, values: tuple[str, ...] | None, tmp_path: Path) -> None:
    header = f"@RELATION 'my relation'\n\n% a comment\n  @Attribute\ta\t{declared}\n@ATTRIBUTE b{{x,y}}\n@DATA % now\n"
    try:
        table = _read(tmp_path, header + ("1,x" if values is None else f"'{values[0]}',x"))
    except DataError as error:  # pragma: no cover - the message is the finding
        pytest.fail(str(error))
    assert table.relation == "my relation"
    assert [a.values for a in table.attributes] == [values, ("x", "y")]
    assert table.attributes[0].integer == (declared == "Integer")


def test_rows_have_their_lines(tmp_path: Path) -> None:
    text = (
        "\ufeff@relation r\r\n@attribute a numeric\r\n@attribute b {no, 'so so'}\r\n@attribute c {1,0}\r\n@data\r\n"
        "% a comment\r\n\r\n1e-31,no,1\r\n  +2.5 ,\t'so so' , 0\r\n.5,\"no\",'1'\r\n-7.,no,?"
    )
    table = _read(tmp_path, text)
    expected = [[1e-31, 0, 0], [2.5, 1, 1], [0.5, 0, 0], [-7, 0, np.nan]]
    assert_array_equal(table.values, expected)
    assert _lines(table) == [8, 9, 10, 11]


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.arff: cannot be read: No such file"):
        read_arff(tmp_path / "none.arff")


# --- rows read at once and token by token agree -------------------------------------------------------------------


def _read_token_by_token(path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    with monkeypatch.context() as patch:
        patch.setattr(arff._SparseRows, "add_block", lambda *_: 0)
        patch.setattr(arff._DenseRows, "_convert", lambda *_: None)
        return read_arff(path)


def _read_both_ways(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "t.arff"
    path.write_text(text)
    results: list[object] = []
    monkeypatch.setattr(arff, "BLOCK_BYTES", 64)  # so that there are several blocks
    for read in (read_arff, lambda path: _read_token_by_token(path, monkeypatch)):
        try:
            table = read(path)
            results.append((_dense(table).tolist(), _lines(table)))
        except DataError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_ordinary_rows_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arff, "_value", lambda *_: pytest.fail("read token by token"))
    header = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute c {2,10,1}\n@data\n"
    assert_array_equal(_read(tmp_path, header + "1.5e-3,1,10\n-2, 0, 2\n").values, [[0.0015, 1, 1], [-2, 0, 0]])
    monkeypatch.setattr(arff._SparseRows, "add", lambda *_: pytest.fail("read line by line"))
    digits = "@relation r\n" + "".join(f"@attribute a{i} {{0,1,2}}\n" for i in range(12)) + "@data\n"
    table = _read(tmp_path, digits + "{0 1,5 2,11 1}\r\n{}\n{3 0,10 2}")
    assert table.values.indices.tolist() == [0, 5, 11, 10]
    assert table.values.data.tolist() == [1, 2, 1, 2]
    assert (table.values.indptr.tolist(), _lines(table)) == ([0, 3, 3, 4], [15, 16, 17])


NUMBERS = st.text(alphabet="0123456789+-.e ", min_size=0, max_size=6)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tokens=st.lists(NUMBERS, min_size=1, max_size=6), is_sparse=st.booleans())
def test_rows_read_at_once_are_those_that_are_right(
    tokens: list[str], is_sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "@relation r\n@attribute a numeric\n@attribute b {0,1,2}\n@attribute c integer\n@data\n"
    cells = iter(tokens)
    if is_sparse:
        text = "\n".join("{" + ",".join(f"{cell}" for cell in pair) + "}" for pair in zip(cells, cells, strict=False))
    else:
        text = "\n".join(",".join(row) for row in zip(cells, cells, cells, strict=False))
    _read_both_ways(tmp_path, header + text, monkeypatch)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.sampled_from(["{", "}", "\n", ",", " ", "}\n{", " 1,", "0", "1", "9", "10"]), max_size=14))
@example(pieces=["{", "1 1", "0 1", "}\n"])
@example(pieces=["{", ",0 1", "}\n"])
@example(pieces=["{0 1}", ",", "\n"])
@example(pieces=["10 1,0 1"])
@example(pieces=["11 1"])
@example(pieces=["1 9"])
def test_blocks_of_digits_are_those_that_are_right(
    pieces: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "@relation r\n" + "".join(f"@attribute a{i} {{0,1}}\n" for i in range(11)) + "@data\n"
    _read_both_ways(tmp_path, header + "{0 1,10 1}\n" + "".join(pieces), monkeypatch)
    _read_both_ways(tmp_path, header + "{" + "".join(pieces) + "}", monkeypatch)


# --- long lines: quadratic work on these would take minutes ------------------------------------------------------


HOSTILE = {
    "escapes": "'" + "\\'" * 100_000,
    "blanks": "{" + "0 " * 100_000,
    "backslashes": "{0 '" + "\\" * 100_001,
    "digits": "1" * 200_000 + "x",
    "spaces": " " * 200_000 + "x",
    "commas": "1," * 100_000,
    "header": "@relation r\n\n\n@attribute 'a" + "\\'" * 100_000 + " {" + "x, " * 100_000 + "\n@data\n",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_the_message_about_a_hostile_line_is_short(line: str, tmp_path: Path) -> None:
    header = "@relation r\n@attribute a numeric\n@data\n"
    with pytest.raises(DataError, match=r"t\.arff:4: ") as raised:
        _read(tmp_path, line if line.startswith("@") else f"{header}{line}\n")
    assert len(str(raised.value)) < len(str(tmp_path)) + 200


# --- liac-arff writes, we read ------------------------------------------------------------------------------------

# liac-arff writes braces, a value "?" and quotes or backslashes in an attribute's name as they are, against the format.
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="{}?"), min_size=1, max_size=8
)
SPACED = st.builds(lambda a, b: f"{a} {b}", TEXT, TEXT)
VALUES = st.one_of(
    TEXT, SPACED, st.sampled_from(["data", "end", "class", "0", "-", "@data", "it's", 'a"b', "50%", "a\\b"])
)
NAMES = VALUES.map(lambda text: "".join(c for c in text if c not in "'\"\\\\")).filter(bool)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def _tables(draw: st.DrawFn) -> tuple[list[tuple[str, object]], list[list[object]]]:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    attributes: list[tuple[str, object]] = []
    cells = []
    for name in names:
        values = draw(st.none() | st.lists(VALUES, min_size=1, max_size=4, unique=True))
        attributes.append((name, "REAL" if values is None else values))
        cells.append(st.none() | (FLOATS if values is None else st.sampled_from(values)))
    rows = draw(st.lists(st.tuples(*cells).map(list), min_size=1, max_size=5))
    return attributes, rows


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=_tables(), is_sparse=st.booleans())
def test_round_trip_from_liac(
    table: tuple[list[tuple[str, object]], list[list[object]]], is_sparse: bool, tmp_path: Path
) -> None:
    attributes, rows = table
    codes = [None if kind == "REAL" else {value: code for code, value in enumerate(kind)} for _, kind in attributes]
    expected = np.array(
        [
            [
                np.nan if cell is None else cell if book is None else book[cell]
                for cell, book in zip(row, codes, strict=True)
            ]
            for row in rows
        ],
        dtype=float,
    )
    data = [dict(enumerate(row)) for row in rows] if is_sparse else rows
    text = liac.dumps({"relation": "r", "attributes": attributes, "data": data})
    ours = _read(tmp_path, text)
    assert [a.name for a in ours.attributes] == [name for name, _ in attributes]
    assert [a.values for a in ours.attributes] == [None if k == "REAL" else tuple(k) for _, k in attributes]
    assert_array_equal(_dense(ours), expected)
