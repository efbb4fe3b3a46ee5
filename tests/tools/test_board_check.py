"""A part of a stored row is computed again: what differs is told, and by which draw."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import mlcdr as api
from mlcdr.results.results import import_results
from tests.small import FOUR, Outcome, write_dataset
from tools import board_check

SETS = ("first", "second", "third")
SETTINGS = {
    "splits": {"kind": "kfold", "folds": 3, "seed": 1},
    "metrics": ["hamming_loss", "f1", "fit_seconds"],
    "methods": {"PLST": FOUR["PLST"]},
}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A stored row on three data sets."""
    data = [str(write_dataset(tmp_path, name, seed=seed)) for seed, name in enumerate(SETS)]
    config = {"name": "board_mine", "datasets": data, **SETTINGS}
    return api.run(config, out=tmp_path / "results", jobs=1, quiet=True).folder


def change(folder: Path, dataset: str, metric: str, to: str) -> None:
    """Put another mean into a summary; an empty one takes the row away."""
    lines = []
    for line in (folder / "summary.csv").read_text().splitlines():
        cells = line.split(",")
        if cells[:3] == [dataset, "PLST", metric]:
            cells[3] = to
        if cells[3]:
            lines.append(",".join(cells))
    (folder / "summary.csv").write_text("\n".join(lines) + "\n")


def test_what_is_computed_again_is_the_same_but_for_times(stored: Path, script: Callable[..., Outcome]) -> None:
    for dataset in SETS:
        change(stored, dataset, "fit_seconds", "9")
    told = script(board_check, stored, "--share", "1", "--jobs", "1")
    assert (told.code, told.out.splitlines()[-1]) == (0, "all means are the same to six digits"), told.err
    assert told.out.splitlines()[1] == "board_mine: first, second and third again"


def test_each_mean_that_differs_in_six_digits_has_a_line(stored: Path, script: Callable[..., Outcome]) -> None:
    was = import_results(stored).summary.set_index(["dataset", "metric"])["mean"]
    change(stored, "first", "f1", f"{was['first', 'f1'] + 1e-9:.12g}")
    change(stored, "second", "f1", f"{was['second', 'f1'] + 2e-6:.12g}")
    change(stored, "third", "hamming_loss", "")
    told = script(board_check, stored, "--share", "1", "--jobs", "1")
    changed, now = (f"{was['second', 'f1'] + more:.6g}" for more in (2e-6, 0))
    assert told.code == 1
    assert told.out.splitlines()[2:] == [
        f"board_mine: second, PLST, f1: stored {changed}, now {now}",
        f"board_mine: third, PLST, hamming_loss: stored none, now {was['third', 'hamming_loss']:.6g}",
        f"2 means differ; {board_check._ADVICE}",
    ]


def test_a_class_that_is_not_the_stored_one_is_named_before_its_digits(
    stored: Path, script: Callable[..., Outcome]
) -> None:
    manifest = json.loads((stored / "manifest.json").read_text())
    manifest["code"]["PLST"] = "0" * len(manifest["code"]["PLST"])
    (stored / "manifest.json").write_text(json.dumps(manifest))
    change(stored, "first", "f1", "0.123")
    told = script(board_check, stored, "--share", "1", "--jobs", "1")
    assert told.code == 1
    assert told.out.splitlines()[1] == "board_mine: stored of other code than that here: PLST"
    assert told.out.splitlines()[-1].startswith("1 mean differs; run the row again with --fresh")


def test_the_seed_is_printed_and_repeats_the_draw(stored: Path, script: Callable[..., Outcome]) -> None:
    first = script(board_check, stored, "--jobs", "1").out.splitlines()
    again = script(board_check, stored, "--jobs", "1", "--seed", first[0].removeprefix("seed ")).out.splitlines()
    assert first == again
    assert first[1] in [f"board_mine: {name} again" for name in SETS], "one at least"


def test_all_data_sets_are_drawn_in_time_and_about_the_share_at_once(stored: Path) -> None:
    results = import_results(stored)
    draws = [board_check.draw_datasets(results, 0.05, random.Random(seed)) for seed in range(40)]
    assert {tuple(each) for each in draws} == {(name,) for name in SETS}
    assert len(board_check.draw_datasets(results, 0.6, random.Random(0))) == 2


def test_a_share_beyond_one_is_refused(script: Callable[..., Outcome]) -> None:
    told = script(board_check, "folder", "--share", "1.5")
    assert (told.code, "--share: must be greater than 0" in told.err) == (2, True)
    nowhere = script(board_check, "nowhere")
    assert (nowhere.code, nowhere.err) == (2, "error: nowhere: no such results folder; `mlcdr run CONFIG` makes one\n")
