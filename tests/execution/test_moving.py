"""A results folder that was moved: its data are found again, and nothing is computed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import mlcdr
from mlcdr.experiment.loading import experiment_yaml, load_experiment
from mlcdr.experiment.yaml_reader import read_yaml
from tests import small
from tests.conftest import Outcome

CONFIG = """
name: one
datasets: [data/mine.csv: {labels: -2}]
splits: {kind: file, path: "folds/{dataset}.csv"}
metrics: [hamming_loss]
methods: {BR: {learner: ridge}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]) -> Path:
    """A project with data, folds and the results of a run."""
    monkeypatch.delenv("MLCDR_DATASETS", raising=False)
    home = tmp_path / "project"
    for name in ("data", "folds"):
        (home / name).mkdir(parents=True)
    rows = [f"{i},{i * i % 7},{i % 2},{int(i > 10)}\n" for i in range(20)]
    (home / "data" / "mine.csv").write_text("a,b,y1,y2\n" + "".join(rows))
    (home / "folds" / "mine.csv").write_text("fold\n" + "".join(f"{i % 3}\n" for i in range(20)))
    (home / "e.yaml").write_text(CONFIG)
    monkeypatch.chdir(home)
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    return home


def _run(mlcdr: Callable[..., Outcome], results: Path) -> str:
    done = mlcdr("run", results / "experiment.yaml", "--out", results.parent, "-j", 1)
    assert done.code == 0, done.err
    return done.err


def test_paths_are_relative_to_the_results(project: Path) -> None:
    written = read_yaml(project / "results" / "one" / "experiment.yaml").data
    assert written["datasets"] == [{"../../data/mine.csv": {"labels": -2}}]
    assert written["splits"]["folders"] == ["../.."]
    found = mlcdr.open_results(project / "results" / "one")
    assert found.experiment.datasets[0].name == str(project / "data" / "mine.csv")
    assert len(found.splits()) == 3


def test_a_command_is_run_in_the_project_that_was_moved(project: Path) -> None:
    command = {"external": {"command": "{python} guess.py {train} {test} {out}"}}
    (project / "e.yaml").write_text(CONFIG.replace("{BR: {learner: ridge}}", f"{{Guess: {{learner: {command}}}}}"))
    results = project / "results" / "one"
    (results / "experiment.yaml").write_text(experiment_yaml(load_experiment(project / "e.yaml"), results))
    moved = project.rename(project.with_name("elsewhere"))
    again = load_experiment(moved / "results" / "one" / "experiment.yaml")
    assert again.methods["Guess"].learner.params["folder"] == str(moved)


def test_a_project_can_be_moved(project: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]) -> None:
    monkeypatch.chdir(project.parent)
    moved = project.rename(project.with_name("elsewhere"))
    assert "3 trials, none newly computed" in _run(mlcdr, moved / "results" / "one")


@pytest.mark.parametrize("place", ["mine.csv", "mine/mine.csv"])
def test_results_alone_can_be_moved_and_the_data_are_found_in_the_data_folders(
    place: str, project: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(project.parent)
    results = project.parent / "far" / "away" / "results" / "one"
    shutil.copytree(project / "results" / "one", results)
    folder = project.parent / "own"
    (folder / place).parent.mkdir(parents=True)
    (project / "data" / "mine.csv").rename(folder / place)
    monkeypatch.setenv("MLCDR_FOLDS", str(project))
    absent = mlcdr("run", results / "experiment.yaml", "--out", results.parent)
    assert absent.code == 2
    wanted = project.parent / "far" / "away" / "data" / "mine.csv"
    assert f"{wanted}: no such file or folder; it was there, seen from the results folder" in absent.err
    assert mlcdr("table", results).code == 0
    monkeypatch.setenv("MLCDR_DATASETS", str(folder))
    assert "3 trials, none newly computed" in _run(mlcdr, results)


def test_data_outside_of_the_project_keep_their_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    arff = small.write_dataset(tmp_path / "shared")
    home = tmp_path / "home" / "project"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)
    Path("e.yaml").write_text(
        CONFIG.replace("[data/mine.csv: {labels: -2}]", f"[{arff}]").replace(
            'file, path: "folds/{dataset}.csv"', "kfold, folds: 2, seed: 1"
        )
    )
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    assert read_yaml(Path("results/one/experiment.yaml")).data["datasets"] == [str(arff)]


def test_other_content_under_the_same_name_is_said(project: Path, mlcdr: Callable[..., Outcome]) -> None:
    data = project / "data" / "mine.csv"
    data.write_text(data.read_text().replace("19,", "18,"))
    again = _run(mlcdr, project / "results" / "one")
    assert "mine: not the content of the last run in " in again
    assert "3 trials, all newly computed" in again
