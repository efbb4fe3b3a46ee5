"""What of a source text is part of a trial's key."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mlcdr.methods import deciding_code
from mlcdr.methods.deciding_code import DecidingCode, read_code

CODE = '''
import warnings

from mlcdr.errors import UserError
from mlcdr.methods.constraints import POSITIVE, parameter
from mlcdr.numerics.linalg import n_kept

FACTOR = 2


class Mine:
    """A method."""

    alpha: float = parameter(1.0, POSITIVE)

    def fit(self, X: int, /, *more: str) -> Mine:
        # a comment
        self.size = 1
        assert FACTOR, "no factor"
        if X < FACTOR:
            raise ValueError(f"{X} is too small")
        warnings.warn("slow", stacklevel=2)
        return n_kept(X)
'''


def read(code: str) -> DecidingCode:
    return read_code(code, "package", frozenset({"mlcdr.errors", "mlcdr.methods.constraints"}))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A method."""', '"""Another text.\n\n    Of lines.\n    """'),
        ('    """A method."""\n', ""),
        ("        # a comment\n", "\n\n"),
        ("{X} is too small", "too small: {X + 1}"),
        ('"slow"', '"it takes long"'),
        ('"no factor"', '"none"'),
        ("parameter(1.0, POSITIVE)", "parameter(1.0, NOT_NEGATIVE, at_most='rows')"),
        ("import POSITIVE, parameter", "import NOT_NEGATIVE, parameter"),
        ("alpha: float", "alpha: float | None"),
        ("alpha: float", "_size: int\n    alpha: float"),
        ("class Mine", "@dataclass_transform()\nclass Mine"),
        ("self.size = 1", "self.size: int = 1"),
        ("X: int, /, *more: str) -> Mine", "X, /, *more)"),
        ("import UserError", "import DataError, UserError"),
        ("return n_kept(X)", "return n_kept(\n            X,\n        )"),
        ("FACTOR = 2\n", 'FACTOR = 2\n"""What it is for."""\n'),
        ("FACTOR = 2\n", "FACTOR = 2\nif TYPE_CHECKING:\n    import other\n"),
    ],
)
def test_words_decide_nothing(before: str, after: str) -> None:
    assert before in CODE
    assert read(CODE.replace(before, after)) == read(CODE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("alpha: float", "size: int\n    alpha: float"),  # a field of a dataclass
        ("class Mine", "@dataclass\nclass Mine"),
        ("parameter(1.0,", "parameter(2.0,"),
        ("X < FACTOR", "X <= FACTOR"),
        ("ValueError", "TypeError"),
        ('ValueError(f"{X} is too small")', "ValueError(X)"),  # what is caught may be read
        ('warnings.warn("slow", stacklevel=2)', 'self.warn("slow", stacklevel=2)'),
        ("assert FACTOR", "assert not FACTOR"),
        ("return n_kept(X)", 'return n_kept("""X""")'),
        ("import n_kept", "import other as n_kept"),
        ("from mlcdr.methods.constraints import POSITIVE, parameter", "from mine import POSITIVE, parameter"),
        ("*more: str", "more: str"),
    ],
)
def test_all_else_decides(before: str, after: str) -> None:
    assert before in CODE
    assert read(CODE.replace(before, after)).digest != read(CODE).digest


def test_parameters_of_others_are_functions_like_any() -> None:
    both = [f"from mine import parameter\nA = parameter(1, {b})" for b in (2, 3)]
    assert read(both[0]).digest != read(both[1]).digest


def test_the_digest_is_the_same_in_every_version_of_python() -> None:
    """As written here once: another digest of the same code would compute everything anew."""
    assert read(CODE).digest == "c77867785e011cd046de5cbb4e2d10461c3163c4b7fcbe72a35996e0221e9660"


def test_imports_are_found_wherever_they_stand() -> None:
    code = """
import a.b, mlcdr as m
from mlcdr import CPLST
from . import near
from ..above.other import name
def f():
    import late
    return m.Ridge
"""
    found = read_code(code, "package.inner")
    assert {"a.b", "mlcdr", "package.inner.near", "package.above.other", "late"} <= set(found.imports)
    assert found.public == ("CPLST", "Ridge")


@pytest.fixture
def collector_lets_others_go_on() -> Iterator[None]:
    """The garbage collector comes often, and lets another thread go on."""

    def pause(phase: str, info: object) -> None:
        time.sleep(0)

    before = gc.get_threshold(), gc.isenabled()
    gc.callbacks.append(pause)
    gc.set_threshold(50)
    gc.enable()
    yield
    gc.callbacks.remove(pause)
    gc.set_threshold(*before[0])
    if not before[1]:
        gc.disable()


@pytest.mark.usefixtures("collector_lets_others_go_on")
def test_two_threads_may_read_code_at_the_same_time() -> None:
    sources = [path.read_text() for path in sorted(Path(deciding_code.__file__).parent.glob("*.py"))]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(read_each, [sources, sources], ["first", "second"]))
    assert found[0] == found[1]


def read_each(sources: list[str], package: str) -> list[str]:
    return [read_code(source, package).digest for source in sources]
