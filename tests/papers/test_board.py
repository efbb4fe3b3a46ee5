"""Rows of one's own on the board: which results have a place there, and how the commands show it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import mlcdr as api
from mlcdr.errors import ResultsError
from mlcdr.papers import board, stored
from mlcdr.results.results import open_results
from tests.small import Outcome, command, python, write_dataset
from tools.store import store_run

EXAMPLES = Path(__file__).parents[2] / "examples" / "board"
METHODS = """
from mlcdr.methods.label_space.plst import PLST


class Mine(PLST):
    pass
"""
SENTENCE = "Mine: place "


@pytest.fixture
def run(mlcdr: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run methods of the board on a tiny data set in an empty folder, which has the record and one's own methods."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stored, "record_folder", lambda: tmp_path / "record")
    (tmp_path / "my_methods_of_board.py").write_text(METHODS)
    data = write_dataset(tmp_path / "data")

    def call(*methods: str, **changes: str) -> Outcome:
        words = [word for method in methods for word in ("--method", method)]
        words += [word for change in changes.items() for word in ("--set", "=".join(change))]
        return mlcdr("run", "board", *words, "--set", f"datasets=[{data}]", "--jobs", "1")

    return call


def store_board(run: Callable[..., Outcome], tmp_path: Path, *methods: str) -> None:
    """Store rows of the board, as its config would give them: this one, and others."""
    assert run("label prior", *methods, name="board").code == 0
    store_run(tmp_path / "results" / "board", "c0ffee", tmp_path / "record")


def test_without_a_stored_board_the_run_says_so_in_one_line(run: Callable[..., Outcome], tmp_path: Path) -> None:
    done = run("my_methods_of_board.Mine")
    assert done.code == 0, done.err
    assert "no place on the board: the record has no results of it yet\n" in done.err
    with pytest.raises(ResultsError, match="the record has no results of it yet"):
        api.open_results(tmp_path / "results" / "board_mine").place()


def test_a_row_of_ones_own_is_placed_by_run_table_report_and_python(
    run: Callable[..., Outcome], mlcdr: Callable[..., Outcome], tmp_path: Path
) -> None:
    store_board(run, tmp_path, "ridge", "PLST")
    done = run("my_methods_of_board.Mine")
    assert done.code == 0, done.err
    # Mine is PLST with another name, tuned among the same sizes
    assert SENTENCE in done.out
    assert " of 4 in micro F1 on 1 data set; better than ridge on " in done.out
    shown = mlcdr("table", "results/board_mine")
    assert SENTENCE in shown.out
    assert SENTENCE in mlcdr("table", "results/board_mine", "--metric", "micro_f1").out
    found = api.open_results("results/board_mine")
    assert set(found.place().frame()["of"]) == {4}
    assert "board_mine on the board" in found.report().path.read_text()
    assert SENTENCE in found.report().path.read_text()


@pytest.mark.slow
def test_what_is_stored_of_the_same_name_is_no_rival_and_configs_have_no_place(
    run: Callable[..., Outcome], tmp_path: Path
) -> None:
    store_board(run, tmp_path, "ridge", "PLST")
    run("my_methods_of_board.Mine")
    mine = tmp_path / "results" / "board_mine"
    store_run(mine, "c0ffee", tmp_path / "record")
    assert set(api.open_results(mine).place().frame()["of"]) == {4}
    assert SENTENCE not in run("ridge", "PLST", "label prior", name="board").out


def test_results_of_another_protocol_have_no_place(run: Callable[..., Outcome], tmp_path: Path) -> None:
    store_board(run, tmp_path)
    done = run("my_methods_of_board.Mine", **{"splits.folds": "3"})
    assert done.code == 0, done.err
    assert "no place on the board: results/board_mine: differs from the config board in splits\n" in done.err


def test_other_data_of_the_same_name_have_no_place(run: Callable[..., Outcome], tmp_path: Path) -> None:
    store_board(run, tmp_path)
    write_dataset(tmp_path / "data", n=50)
    run("my_methods_of_board.Mine")
    with pytest.raises(ResultsError, match="tiny is not the same data"):
        board.read_rows(open_results(tmp_path / "results" / "board_mine"))


@pytest.mark.parametrize(
    ("name", "is_own"), [("board_mine", True), ("board", False), ("boards", False), ("quick", False), ("mine", False)]
)
def test_a_row_of_ones_own_is_known_by_its_name(name: str, is_own: bool) -> None:
    assert board.is_own_row(name) is is_own


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_methods_of_rows_have_the_properties_of_every_method(path: Path, tmp_path: Path) -> None:
    done = command("test", path, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_methods_of_rows_are_found_by_the_scripts_from_any_folder(tmp_path: Path) -> None:
    """In a process of its own, since tests may have other folders from which modules are imported."""
    find = "from tools.shell import importing_own_methods\nwith importing_own_methods():\n import my_methods\n"
    done = python("-c", f"{find}print(my_methods.__file__)", cwd=tmp_path)
    assert done.stdout.strip() == str(EXAMPLES / "my_methods.py"), done.stderr
