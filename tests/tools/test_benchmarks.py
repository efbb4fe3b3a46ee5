"""What `python -m tools.benchmarks` stores, prints and returns; nothing is measured."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.small import Outcome
from tools.benchmarks import ratios
from tools.benchmarks.measuring import alone
from tools.benchmarks.ratios import Ratio

Measure = Callable[[str], list[Ratio]]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program with two benchmarks that have stored ratios, and no pages."""
    module = importlib.import_module("tools.benchmarks.__main__")
    monkeypatch.setattr(ratios, "STORED", tmp_path / "stored.csv")
    monkeypatch.setattr(ratios, "PAGES", {})
    monkeypatch.setattr(module, "BENCHMARKS", {"one": ("a", "b"), "two": ("c",)})
    ratios.store([ratio("old", of) for of in ("a", "b", "c")])
    return module


def ratio(compared: str, data: str, **mark: float) -> Ratio:
    """A ratio of 6 to 4."""
    return Ratio(compared, 6.0, 4.0, benchmark="two" if data == "c" else "one", data=data, date="2012-01-01", **mark)


@pytest.fixture
def run(
    program: ModuleType, script: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Outcome, list[str]]]:
    """`run(measure, "one")`: what it prints, and what is stored then, with `measure(data)` in the benchmarks' place."""

    def call(measure: Measure, *arguments: str) -> tuple[Outcome, list[str]]:
        def instead(_function: Any, _benchmark: str, data: str) -> list[Ratio]:
            return measure(data)

        monkeypatch.setattr(program, "alone", instead)
        outcome = script(program, *arguments)
        return outcome, [f"{each.compared} {each.data}" for each in ratios.stored()]

    return call


def measured(data: str) -> list[Ratio]:
    """A mark that is just met, and none."""
    return [ratio("new", data, at_least=1.5), ratio("more", data)]


def raising(error: Exception) -> Measure:
    """Measures all but `a`."""

    def measure(data: str) -> list[Ratio]:
        if data == "a":
            raise error
        return measured(data)

    return measure


def test_a_run_of_some_replaces_their_lines_alone(run: Callable[..., Any]) -> None:
    assert run(measured, "one", "--data", "b") == (
        Outcome(
            0,
            "one, b\n"
            "benchmark  data  what is compared  measured               mark\n"
            "one        b     new               1.5 times (6 s / 4 s)  at least 1.5  met\n"
            "one        b     more              1.5 times (6 s / 4 s)\n"
            "0 of 1 marks missed, 0 failed\n",
            "",
        ),
        ["old a", "new b", "more b", "old c"],
    )


def test_other_data_sets_are_not_stored(run: Callable[..., Any]) -> None:
    assert run(measured, "one", "--data", "other")[1] == ["old a", "old b", "old c"]


def test_a_mark_that_is_missed_is_said_and_the_rest_goes_on(run: Callable[..., Any]) -> None:
    outcome, kept = run(lambda data: [ratio("new", data, at_most=1.4)], "one")
    assert outcome.code == 1
    assert outcome.out.count("at most 1.4  MISSED\n") == 2
    assert outcome.out.endswith("2 of 2 marks missed, 0 failed\n")
    assert kept == ["new a", "new b", "old c"]


def test_a_run_of_all_rewrites_the_file_and_goes_on_after_a_failure(run: Callable[..., Any]) -> None:
    outcome, kept = run(raising(AssertionError("labels differ")))
    assert kept == ["new b", "more b", "new c", "more c"]
    assert outcome.code == 1
    assert outcome.out.endswith("FAILED: one, a: AssertionError('labels differ')\n0 of 2 marks missed, 1 failed\n")
    assert "Traceback" in outcome.err


@pytest.mark.parametrize(("name", "code"), [("skmultilearn.adapt", 0), ("mlcdr.gone", 1)])
def test_a_package_of_others_that_is_not_there_is_no_failure(run: Callable[..., Any], name: str, code: int) -> None:
    outcome, kept = run(raising(ModuleNotFoundError("none", name=name)), "one")
    assert outcome.code == code
    assert "one, a: ModuleNotFoundError('none')\n" in outcome.out
    assert kept == ["old a", "new b", "more b", "old c"]


def test_what_is_stored_is_read_as_it_was(program: ModuleType) -> None:
    some = Ratio("x, y", 1 / 3, 7.0, "ms", 2.0, 3.0, "2012-01-01", 2, 5, benchmark="one", data="a b")
    every = [some, Ratio("none", 1.0)]
    ratios.store(every)
    assert ratios.stored() == every


def test_a_function_runs_in_a_process_of_its_own() -> None:
    assert alone(os.getpid) != os.getpid()
    with pytest.raises(ValueError, match="invalid literal"):
        alone(int, "x")
