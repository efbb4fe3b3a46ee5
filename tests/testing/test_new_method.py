"""`mlcdr new method`: each file that it writes obeys the laws as it is, and a config runs with it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcdr.testing.new_method import KINDS, draft_method
from tests import small
from tests.small import Outcome


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


@pytest.mark.parametrize("part", KINDS)
def test_what_is_written_obeys_and_runs(here: Path, mlcdr: Callable[..., Outcome], part: str) -> None:
    small.write_dataset(here / "datasets" / "tiny")
    written = mlcdr("new", "method", f"my_{part}", "--part", part)
    assert written.code == 0, written.err
    tested = mlcdr("test", f"my_{part}.py")
    assert (tested.code, tested.err) == (0, ""), tested.out
    (draft,) = re.findall(r"mlcdr (new -.*)", written.err)
    assert mlcdr(*draft.split(), "-d", "tiny").code == 0
    ran = mlcdr("run", f"my_{part}.yaml", "-j", 1, "--set", "splits.repeats=2")
    assert ran.code == 0, ran.err
    assert f"results in results/my_{part}" in ran.err

    head = "name: own\ndatasets: [tiny]\nsplits: {kind: shuffle, repeats: 1, train_size: 0.9, seed: 1}\n"
    rest = (
        "methods: {PLST: {label_space: plst, learner: least_squares}}\n"
        if part == "metric"
        else "metrics: [hamming_loss]\n"
    )
    (here / "own.yaml").write_text(head + rest + written.out)
    checked = mlcdr("check", "own.yaml")
    assert checked.code == 0, checked.err


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("class", "learner", "'class' cannot name a module: take letters (of ASCII), digits and _"),
        ("../outside", "learner", "cannot name a module"),
        ("_mine", "learner", "cannot name a module"),
        ("réduire", "learner", "cannot name a module"),
        ("my_work", "learner", "my_work.py: is there already; choose another name"),
        ("numpy", "learner", "'numpy' is the name of a module that is there already"),
        ("string", "metric", "'string' is the name of a module that is there already"),
        ("label_space", "label_space", "LabelSpace means something else in the file of a label_space"),
        ("none", "learner", "None means something else"),
    ],
)
def test_names_that_cannot_be_take_one_line(
    here: Path, mlcdr: Callable[..., Outcome], name: str, part: str, told: str
) -> None:
    (here / "my_work.py").write_text("work = 1\n")
    done = mlcdr("new", "method", name, "--part", part)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert told in done.err
    assert [path.name for path in here.iterdir()] == ["my_work.py"]
    assert (here / "my_work.py").read_text() == "work = 1\n"


def test_the_class_is_named_after_the_file() -> None:
    assert draft_method("my_own_reducer", "label_space").name == "MyOwnReducer"
    assert draft_method("MyReducer", "label_space").name == "MyReducer"
    assert draft_method("hits", "metric").name == "hits"


def test_without_a_part_the_error_lists_all(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("new", "method", "my_x")
    listed = ", ".join(KINDS)
    assert (done.code, done.err) == (2, f"error: --part is needed, which part of a method it is: {listed}\n")


def test_options_of_a_config_are_refused(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("new", "--dataset", "yeast", "method", "my_x", "--part", "learner")
    assert done.code == 2
    assert done.err == "error: the options of `mlcdr new` are no options of `mlcdr new method`\n"
    assert not list(here.iterdir())
