"""Commands in a config: run with `--trust` only, in the config's folder, and part of a trial's key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mlcdr
from mlcdr.errors import ConfigError
from mlcdr.execution import runner
from mlcdr.experiment import keys
from mlcdr.experiment.commands import has_commands, refuse_commands, runs_command, without_folders
from mlcdr.experiment.loading import experiment_from, load_experiment
from tests import small
from tests.small import Outcome

GUESS = "{python} guess.py {train} {test} {out} {n_labels}"

EXTERNAL = {"mlcdr.External": GUESS}

# Predicts no label, and says that it was called.
SCRIPT = """
import pathlib, sys
rows = len(open(sys.argv[2]).readlines()) - 1
pathlib.Path(sys.argv[3]).write_text((",".join("0" * int(sys.argv[4])) + "\\n") * rows)
pathlib.Path("called").touch()
"""

CONFIG = """name: e
datasets: [tiny.arff]
splits: {{kind: kfold, folds: 2, seed: 1}}
metrics: [hamming_loss]
methods:
  Ridge: {{learner: ridge}}
  Program: {method}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    small.write_dataset(folder)
    (folder / "guess.py").write_text(SCRIPT)
    (folder / "e.yaml").write_text(CONFIG.format(method=f'{{learner: {{external: "{GUESS}"}}}}'))
    return folder / "e.yaml"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory is not the config's folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_a_command_is_run_with_trust_only(config: Path, elsewhere: Path, mlcdr: Callable[..., Outcome]) -> None:
    for command in ("check", "plan", "run"):
        done = mlcdr(command, str(config))
        assert done.code == (2 if command == "run" else 0), done.err
        assert not (config.parent / "called").exists(), command
    refusal = f"{config}:7: methods.Program.learner: runs the command '{GUESS}'; `--trust` (in Python trust=True)"
    assert refusal in done.err
    assert not (elsewhere / "results").exists()
    assert refusal in mlcdr("check", str(config), "--try").err
    assert mlcdr("check", str(config), "--try", "--trust").code == 0
    (config.parent / "called").unlink()
    done = mlcdr("run", str(config), "--trust")
    assert done.code == 0, done.err
    assert (config.parent / "called").exists()
    fitting = ("fit", str(config), "--method", "Program", "--out", "m.joblib")
    assert "methods.Program.learner: runs the command" in mlcdr(*fitting).err
    assert not Path("m.joblib").exists()
    assert mlcdr(*fitting, "--trust").code == 0
    assert mlcdr("retry", "results/e").code == 2
    assert mlcdr("retry", "results/e", "--trust").code == 0


def test_from_python_too(config: Path, elsewhere: Path) -> None:
    with pytest.raises(ConfigError, match="runs the command"):
        mlcdr.run(config, quiet=True)
    results = mlcdr.run(config, quiet=True, trust=True, jobs=1)
    share = results.scores.set_index("method")["value"]["Program"]
    assert (share > 0).all()
    with pytest.raises(ConfigError, match="runs the command"):
        mlcdr.fit(config, "Program", quiet=True)
    with pytest.raises(ConfigError, match="runs the command"):
        runner.run(load_experiment(config), elsewhere)


@pytest.mark.parametrize(
    "changes",
    [
        {"methods": {"M": {"learner": {"mlcdr.External": {"command": GUESS}}}}},
        {"methods": {"M": {"learner": {"rakel": {"estimator": {"external": GUESS}}}}}},
        {"methods": {"M": {"learner": {"sklearn.multioutput.MultiOutputClassifier": {"estimator": EXTERNAL}}}}},
        {"methods": {"M": {"label_space": "plst", "learner": {"external_regressor": GUESS}}}},
        {
            "methods": {"M": {"learner": {"ensemble": {"random_state": 1}}}},
            "sweep": {"learner.estimator": ["mlknn", {"external": GUESS}]},
        },
        {
            "methods": {
                "M": {
                    "learner": {"ensemble": {"random_state": 1}},
                    "tune": {"grid": {"learner.estimator": ["mlknn", {"external": GUESS}]}, "folds": 2, "metric": "f1"},
                }
            }
        },
        {"sweep": {"learner.command": [GUESS]}, "methods": {"M": {"learner": {"external": {"form": "csv"}}}}},
    ],
)
def test_no_command_is_overlooked(changes: dict[str, Any], tmp_path: Path) -> None:
    plain = small.plain(small.write_dataset(tmp_path), sweep={}) | changes
    with pytest.raises(ConfigError, match=r"runs the command.*guess\.py"):
        refuse_commands(experiment_from(plain))


def test_a_method_or_a_data_set_may_be_called_external(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path, "external")
    experiment = experiment_from(small.plain(arff, sweep={}, methods={"external": {"learner": "ridge"}}))
    refuse_commands(experiment)
    assert not has_commands(experiment.resolved())
    assert not runs_command(experiment.methods["external"])
    assert experiment.methods["external"].plain() == {"learner": "ridge"}


def keys_of(config: Path) -> dict[str, list[str]]:
    """Method → the keys of its trials on two splits."""
    experiment = load_experiment(config)
    dataset = small.read_data(experiment).dataset
    splits = [keys.write_split({"split": number}) for number in range(2)]
    return {name: keys.trial_keys(experiment, name, spec, dataset, splits) for name, spec in experiment.methods.items()}


def test_the_key_has_the_command_and_the_files_that_it_names(config: Path, tmp_path: Path) -> None:
    before = keys_of(config)
    (config.parent / "other.py").write_text("nothing that the command names")
    assert keys_of(config) == before
    config.parent.rename(tmp_path / "moved")
    moved = tmp_path / "moved" / "e.yaml"
    assert keys_of(moved) == before, "another folder with the same files"
    script = moved.with_name("guess.py")
    script.write_text(SCRIPT + "\n")
    changed = keys_of(moved)
    assert changed["Program"] != before["Program"]
    assert changed["Ridge"] == before["Ridge"]
    script.write_text(SCRIPT)
    assert keys_of(moved) == before
    moved.write_text(moved.read_text().replace("{n_labels}", "{n_labels} 1"))
    assert keys_of(moved)["Program"] != before["Program"]


def test_the_folder_is_that_of_the_config_unless_it_is_written(config: Path) -> None:
    def folder() -> str:
        return load_experiment(config).methods["Program"].learner.params["folder"]

    assert folder() == str(config.parent.resolve())
    config.write_text(CONFIG.format(method=f'{{learner: {{external: {{command: "{GUESS}", folder: /srv}}}}}}'))
    assert folder() == "/srv"
    assert without_folders({"learner": {"external": {"command": GUESS, "folder": "/srv"}}}) == {
        "learner": {"external": {"command": GUESS}}
    }


def test_a_command_that_fails_is_recorded_as_any_method(config: Path, elsewhere: Path) -> None:
    config.with_name("guess.py").write_text("import sys\nprint('no licence', file=sys.stderr)\nsys.exit(7)\n")
    with pytest.warns(mlcdr.FailedTrialsWarning):
        results = mlcdr.run(config, quiet=True, trust=True, jobs=1)
    assert list(results.failures["reason"]) == [f"exit code 7: `{GUESS}`: no licence"] * 2
    assert results.failures["traceback"][0].endswith("\n  no licence")
    assert set(results.scores["method"]) == {"Ridge"}
