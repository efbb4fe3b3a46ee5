"""Whether a results folder is still as it was."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from mlcdr.errors import ResultsError
from mlcdr.execution.runner import run
from mlcdr.results.stamp import Stamp
from tests import small


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return run(
        small.experiment(small.write_dataset(tmp_path / "data"), methods={"PLST": small.FOUR["PLST"]}), tmp_path
    ).folder


def rewrite(path: Path, more: str) -> None:
    """Write a file again, under another inode and time."""
    content = path.read_text()
    path.unlink()
    path.write_text(content + more)


@pytest.mark.parametrize("without_record", [False, True])
def test_what_is_written_again_as_it_was_is_unchanged(folder: Path, without_record: bool) -> None:
    if without_record:
        (folder / "trials.sqlite").unlink()
    stamp = Stamp.of(folder)
    for name in ("experiment.yaml", "scores.csv", "summary.csv"):
        rewrite(folder / name, "")
    (folder / "report.html").write_text("a page")
    assert stamp.unchanged("found") == "found"


@pytest.mark.parametrize("name", ["experiment.yaml", "scores.csv", "manifest.json"])
def test_without_a_record_the_exports_tell(folder: Path, name: str) -> None:
    (folder / "trials.sqlite").unlink()
    stamp = Stamp.of(folder)
    rewrite(folder / name, "\n")
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)


def test_another_experiment_is_told_even_if_no_trial_is_computed(folder: Path) -> None:
    stamp = Stamp.of(folder)
    rewrite(folder / "experiment.yaml", "# another\n")
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)


def test_a_trial_that_is_computed_again_is_told(folder: Path, tmp_path: Path) -> None:
    stamp = Stamp.of(folder)
    methods = {"PLST": small.FOUR["PLST"]}
    run(small.experiment(tmp_path / "data" / "tiny.arff", methods=methods), tmp_path, fresh=True)
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)


def test_a_plan_that_changes_before_its_first_trial_is_told(folder: Path) -> None:
    stamp = Stamp.of(folder)
    with contextlib.closing(sqlite3.connect(folder / "trials.sqlite")) as db:
        db.execute("INSERT INTO planned SELECT position + 1000, 'another', dataset, method FROM planned LIMIT 1")
        db.commit()
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)


def test_a_config_that_is_a_link_now_is_told(folder: Path) -> None:
    stamp = Stamp.of(folder)
    config = folder / "experiment.yaml"
    config.symlink_to(config.rename(folder / "moved.yaml"))
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)


def test_a_config_that_cannot_be_read_is_as_it_was_until_it_can(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        stamp = Stamp.of(folder)
        rewrite(folder / "experiment.yaml", "")
        assert stamp.unchanged("found") == "found"
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)


def test_a_folder_that_is_gone_is_told(folder: Path) -> None:
    stamp = Stamp.of(folder)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(ResultsError, match="a later run has changed it"):
        stamp.unchanged(None)
