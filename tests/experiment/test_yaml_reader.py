"""Strict YAML: every refused input with its whole message, PyYAML as the oracle of what both accept, round trips."""

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcdr.errors import ConfigError
from mlcdr.experiment.yaml_reader import Place, dump_yaml, read_yaml, read_yaml_text


def read(text):
    return read_yaml_text(text, "f.yaml").data


QUOTE = "a quote is opened here and never closed"
COLON = "expected `key: value`; a missing colon, or a wrong indentation"
TAB = "a tab cannot indent; use spaces"
STRAY = "`: ` cannot stand here; a wrong indentation, or text that needs quotes"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# only a comment\n\n", "f.yaml:3: the file is empty"),
        ("a: 1\n\tb: 2", f"f.yaml:2: {TAB}"),
        ("a: b: c", f"f.yaml:1: {STRAY}"),
        ("x: 1\na: 'b\nc: 2\n", f"f.yaml:2: {QUOTE}"),
        ("a: 'b\n\n---\n c'", f"f.yaml:1: {QUOTE}"),
        ("a: 1\nb\nc: 1\n", f"f.yaml:2: {COLON}"),
        (
            "x: 1\ny:\n  - b\n - c",
            "f.yaml:4: expected a key as in the block that begins on line 1; a wrong indentation?",
        ),
        ("a: [1, 2\nb: 3", "f.yaml:2: expected `,` or `]` in the list in brackets that begins on line 1"),
        ("a: {b: 1\nc: 2", "f.yaml:2: expected `,` or `}` in the mapping in braces that begins on line 1"),
        ("a: {b: 1}}", "f.yaml:1: expected a key as in the block that begins on line 1; a wrong indentation?"),
        ("{a: 1}}", "f.yaml:1: more follows where the file should end; wrong indentation or a bracket too many"),
        ("a: - b", "f.yaml:1: `- ` cannot stand here; put the list's items on lines of their own"),
        ("a: %x", "f.yaml:1: text cannot begin with this character; put it in quotes"),
        ("a: *", "f.yaml:1: `&` and `*` begin the name of an anchor; put text in quotes"),
        (
            'a: "C:\\data"',
            "f.yaml:1: unknown escape in double quotes; write \\\\ for a backslash, or use single quotes",
        ),
        ("a: [}", "f.yaml:1: not valid YAML: expected the node content, but found '}' (while parsing a flow node)"),
        ('a: "\\UFFFFFFFF"', "f.yaml:1: not valid YAML: a value that cannot be read (an escape of no character?)"),
        ("a: 1\nb: *x", "f.yaml:2: the alias *x repeats nothing: no &x ends above it (put text in quotes)"),
        ("a: &x [1,\n  *x]", "f.yaml:2: the alias *x repeats nothing: no &x ends above it (put text in quotes)"),
        (
            "a: &x 1\nb: &x 2",
            "f.yaml:2: there is an anchor of this name above; give this one another name (or quote the text)",
        ),
        ("a: &x [1]\nb:\n  <<: *x", "f.yaml:3: `<<` takes a mapping, or a list of mappings: `<<: *name`"),
        ("a: &x {b: 1}\nb:\n  <<: *x\n  <<: *x", "f.yaml:4: repeated key '<<', first on line 3; keep one"),
        (
            f"a: &a {'[' * 20}1{']' * 20}\nb: &b {'[' * 9}*a{']' * 9}\nc: {'[' * 9}*b{']' * 9}",
            "f.yaml:3: nested more than 32 levels deep",
        ),
        ("*x : 1", "f.yaml:1: the alias *x repeats nothing: no &x ends above it (put text in quotes)"),
        ("!!int 1: x", "f.yaml:1: the tag !!int is not allowed here; leave it out"),
        ("[a]: 1", "f.yaml:1: a key must be text, found a list or a mapping"),
        ("{? : 1}", "f.yaml:1: a key is missing before `:`"),
        (
            "a: 1\nb: !!python/object/apply:os.system [x]",
            "f.yaml:2: the tag !!python/object/apply:os.system is not allowed here; leave it out",
        ),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second document begins here; only one is allowed in a file"),
        ("a: 1\nb:\n  c: 1\n  c: 2", "f.yaml:4: repeated key 'c', first on line 3; keep one"),
        ("a: 010", "f.yaml:1: 010 is read differently by different programs; write 10, or '010' for text"),
        ("a: [1, -007]", "f.yaml:1: -007 is read differently by different programs; write -7, or '-007' for text"),
        ("a: 1e999", "f.yaml:1: 1e999 is too large for a number"),
        (f"a: {'1' * 5000}", "f.yaml:1: a number of more than 40 characters; put it in quotes if it is text"),
        (f"a: 0x{'f' * 5000}", "f.yaml:1: a number of more than 40 characters; put it in quotes if it is text"),
        ("a: 1\nb: x\x00y", "f.yaml:2: the character U+0000 is not allowed"),
        ("a: 1\nb: x\x1by", "f.yaml:2: the character U+001B is not allowed"),
        ('a: 1\nb: "\\0"', "f.yaml:2: the character U+0000 is not allowed"),
        ('a: "\\ud800"', "f.yaml:1: the character U+D800 is not allowed"),
        (f"a: {'[' * 10_000}", "f.yaml:1: nested more than 32 levels deep"),
        (f"{'- ' * 10_000}x", "f.yaml:1: nested more than 32 levels deep"),
        ("a: 1\na: 2\nb: 010", "f.yaml:2: repeated key 'a', first on line 1; keep one|f.yaml:3: 010 is read"),
    ],
)
def test_refused_with_line_and_reason(text, message):
    with pytest.raises(ConfigError) as caught:
        read(text)
    expected = message.split("|f.yaml")
    assert len(caught.value.problems) == len(expected)
    assert caught.value.problems[0] == expected[0]
    assert all("\n" not in line for line in caught.value.problems)
    if len(expected) > 1:
        assert caught.value.problems[1].startswith(f"f.yaml{expected[1]}")


LAUGHS = "\n".join(["a0: &a0 [ha, ha]", *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 10))])


@pytest.mark.parametrize(
    ("text", "line", "alias"),
    [
        (LAUGHS, 6, "a4"),
        (LAUGHS.replace("[", "{<<: [").replace("]", "]}").replace("[ha, ha]", "{ha: ha}"), 6, "a4"),
        (f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 30)}]", 2, "a"),
    ],
)
def test_what_aliases_stand_for_is_bounded(text, line, alias):
    with pytest.raises(ConfigError) as caught:
        read(text)
    message = f"f.yaml:{line}: the alias *{alias} makes the file too large: aliases may add up to 256 KiB"
    assert caught.value.problems == [message]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1, {b: 2}]\nc: *x\nd: [*x, *x]",
        "a: &x text\nb: {c: *x}",
        "base: &b {one: 1, two: [2, 3]}\nm:\n  <<: *b\n  two: own\n  three: 3",
        "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], c: 3}",
        "a: &x {b: &y [1]}\nc: {<<: *x, e: *y}",
        "a: {'<<': 1}",
        "&x a: 1\nb: {*x : 2}",
        "a: {<<: {b: 1}, c: {<<: {<<: {d: 2}}}}",
    ],
)
def test_aliases_and_merge_keys_are_as_pyyaml_has_them(text):
    assert read(text) == yaml.safe_load(text)


def test_what_is_repeated_is_a_copy_and_has_the_places_where_it_was_written():
    found = read_yaml_text("a: &x\n  b: [1]\nc: *x\nd:\n  <<: *x\n  e: 2\n", "f.yaml")
    found.data["c"]["b"].append(2)
    assert found.data == {"a": {"b": [1]}, "c": {"b": [1, 2]}, "d": {"b": [1], "e": 2}}
    lines = {".".join(map(str, path)): place.line for path, place in found.places.items()}
    assert lines.items() >= {"": 1, "a": 1, "a.b": 2, "a.b.0": 2, "c": 3, "c.b": 2, "c.b.0": 2}.items()
    assert lines.items() >= {"d": 4, "d.b": 2, "d.b.0": 2, "d.e": 6}.items()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: caf\xe9\n", ":2: not UTF-8 text; save the file as UTF-8"),
        ("a: 1".encode("utf-16"), ":1: not UTF-8 text; save the file as UTF-8"),
        (b"# " + b"x" * 300_000, ": larger than 256 KiB; not an experiment file"),
        (b"\xef\xbb\xbf", ":1: the file is empty"),
    ],
)
def test_refused_files(tmp_path, content, message):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert caught.value.problems == [f"{path}{message}"]


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError) as caught:
        read_yaml(tmp_path / "none.yaml")
    assert str(caught.value) == f"{tmp_path}/none.yaml: no such file"
    with pytest.raises(ConfigError) as caught:
        read_yaml(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb:\r\n  - x\r\n")
    document = read_yaml(path)
    assert document.data == {"a": 1, "b": ["x"]}
    assert str(document.place(("b", 0))) == f"{path}:3"


TEXTS = [
    "no", "yes", "On", "y", "1_000", "1:30", "2012-01-31", "20%", "1e", "e3", ".", "0b1", "nan", "inf", "=", "<<",
    "\u0663",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("-1E+2", -100.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("0.5", 0.5),
        ("0o17", 15),
        ("0x1F", 31),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("", None),
        *((text, text) for text in TEXTS),
    ],
)
def test_scalars_of_yaml_1_2(text, value):
    result = read(f"a: {text}")["a"]
    assert result == value
    assert type(result) is type(value)


def test_quotes_make_text_and_nan_is_a_number():
    assert read("a: '010'\nb: \"1\"\nc: !!str 1\nd: |\n  1\n") == {"a": "010", "b": "1", "c": "1", "d": "1\n"}
    assert math.isnan(read("a: .nan")["a"])
    assert read("1: a\nno: b\n~: c") == {"1": "a", "no": "b", "~": "c"}


def test_every_key_path_has_its_place():
    document = read_yaml_text("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n", "f")
    assert document.places == {
        (): Place("f", 1, 1),
        ("a",): Place("f", 1, 1),
        ("b",): Place("f", 2, 1),
        ("b", 0): Place("f", 3, 5),
        ("b", 1): Place("f", 4, 5),
        ("b", 1, "c"): Place("f", 4, 6),
        ("b", 1, "d"): Place("f", 5, 6),
    }
    assert document.place(("b", 1, "missing", "deeper")) == Place("f", 4, 5)
    assert str(document.place(("b",))) == "f:2"


def test_without_line_numbers():
    with pytest.raises(ConfigError) as caught:
        read_yaml_text("{a: 1, a: 2}", "--set x", numbered=False)
    assert caught.value.problems == ["--set x: repeated key 'a', first on line 1; keep one"]


def outcome(text):
    """The data, or None and the problems."""
    try:
        return read(text), []
    except ConfigError as error:
        return None, error.problems


CHARACTERS = [*"ab:-[]{}#&*!|>'\"%@`,?\n\t 01.e~<\\U", "\x00", "\ufeff", "\u2028", "\u00e9"]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(CHARACTERS), max_size=40))
def test_any_text_is_read_or_refused(text):
    data, problems = outcome(text)
    assert all(line.startswith("f.yaml") and "\n" not in line for line in problems)
    if not problems:
        assert _is_the_same(data, yaml.load(text, Loader=yaml.BaseLoader))


def _is_the_same(data, composed):
    """Whether data have the shape, the keys and the texts of what PyYAML composes, to which every scalar is text."""
    if isinstance(data, dict):
        return data.keys() == composed.keys() and all(_is_the_same(data[key], composed[key]) for key in data)
    if isinstance(data, list):
        return len(data) == len(composed) and all(map(_is_the_same, data, composed))
    return data == composed if isinstance(data, str) else isinstance(composed, str)


plain_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(
        ["010", "1e-3", "no", "20%", "0o7", "~", "", " a", "- x", "a: b", "1_0", "a\x85b", "a\r\nb", "a\u2028"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(plain_data)
def test_what_is_written_reads_back_the_same(data):
    result, problems = outcome(dump_yaml({"root": data}))
    if problems:  # characters that YAML cannot hold
        assert all("is not allowed" in line for line in problems)
    else:
        assert repr(result) == repr({"root": data})
