"""Shell completion: the words that Typer is given to offer, and the script of a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from mlcdr.cli.commands import app
from mlcdr.cli.completion import COMPLETERS
from mlcdr.experiment.loading import experiment_yaml
from tests import small

ROOT = Path(__file__).parents[2]
PACHARAWONGSAKDA, TABLES = "pacharawongsakda_2012", ("table2", "table2_large", "table3", "table3_shared")
FISH = {"_MLCDR_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "COLUMNS": "1000"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: an experiment `e.yaml`, a results folder, and other files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(experiment_yaml(small.experiment(small.write_dataset(tmp_path / "data"))))
    (tmp_path / "results" / "small").mkdir(parents=True)
    (tmp_path / "results" / "small" / "experiment.yaml").touch()
    (tmp_path / "results" / "empty").mkdir()
    (tmp_path / "e$(touch run).yaml").touch()
    return tmp_path


def next_words(line: str) -> list[str]:
    """What may come next on a line, as fish is told."""
    done = CliRunner().invoke(app, env={**FISH, "_TYPER_COMPLETE_ARGS": line}, prog_name="mlcdr")
    return [each.partition("\t")[0] for each in done.stdout.split("\n") if each]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mlcdr ru", ["run"]),
        ("mlcdr datasets ex", ["export"]),
        ("mlcdr run e", ["e.yaml"]),
        ("mlcdr run yeast_cplst", ["yeast_cplst"]),
        ("mlcdr run ./", ["./e.yaml"]),
        ("mlcdr run --jobs ", []),
        ("mlcdr run e.yaml --backend ", ["loky", "dask"]),
        ("mlcdr run e.yaml --set splits.ki", ["splits.kind="]),
        ("mlcdr run e.yaml --set defaults.learner.ridge.al", ["defaults.learner.ridge.alpha="]),
        ("mlcdr run e.yaml --set nothing.", []),
        ("mlcdr status ", ["results/small"]),
        ("mlcdr verify ", ["e.yaml", "results/small"]),
        ("mlcdr status nowhere/", []),
        ("mlcdr methods cpl", ["cplst"]),
        ("mlcdr new -m pca+cpl", ["pca+cplst"]),
        ("mlcdr new --metric ham", ["hamming_loss", "hamming_score"]),
        ("mlcdr datasets info yea", ["yeast"]),
        ("mlcdr datasets info yeast --set sep", ["separator="]),
        ("mlcdr plot results/small --layout heat", ["heatmap"]),
        ("mlcdr compare results/small --published chen_lin_2012/table3", ["chen_lin_2012/table3"]),
        ("mlcdr compare results/small --published bog", ["bogatinovski_2022"]),
        ("mlcdr compare results/small --published sun_2017_thesis/f", []),
        ("mlcdr compare results/small --record board/board_s", ["board/board_slow"]),
        ("mlcdr compare results/small --record chen_lin_2012/table2", []),
        ("mlcdr reproduce chen_lin_2012/figure1_m", ["chen_lin_2012/figure1_m5p"]),
        ("mlcdr reproduce pach", [PACHARAWONGSAKDA, *(f"{PACHARAWONGSAKDA}/{name}" for name in TABLES)]),
        ("mlcdr datasets fetch --paper chen", ["chen_lin_2012"]),
        ("mlcdr completion f", ["fish"]),
    ],
)
def test_what_comes_next(line: str, expected: list[str]) -> None:
    assert next_words(line) == expected


def complete_in_shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What the command itself tells fish, on a narrow terminal."""
    return small.command(cwd=cwd, **{**FISH, "COLUMNS": "20", "_TYPER_COMPLETE_ARGS": line})


def test_a_long_description_stays_in_its_line(here: Path) -> None:
    done = complete_in_shell("mlcdr new --la", here)
    assert done.stdout.startswith("--labels\tWhich columns of your file")
    assert len(done.stdout.splitlines()) == 1


def test_an_error_is_not_printed_into_the_line(here: Path) -> None:
    done = complete_in_shell(f"mlcdr run {'long' * 100}/", here)
    assert (done.stdout, done.stderr) == ("", "")


def test_every_kind_of_parameter_is_known() -> None:
    """Names and numbers of one's own are not completed, and files by the shell itself; all else is."""
    free = {"N", "NUMBER", "NAME", "FEATURE", "ADDRESS", "NAME=VALUE", "CHECK", "FILE", "DIR", "MODEL", "I/N", "N|N%"}
    root = get_command(app)
    groups = [root, root.commands["datasets"], root.commands["new"]]
    for command in [each for group in groups for each in group.commands.values()]:
        for parameter in command.params:
            if not getattr(parameter, "is_flag", False):
                known = parameter.metavar.islower() or parameter.metavar in {*COMPLETERS, *free}
                assert known, (command.name, parameter.name)


@pytest.mark.usefixtures("here")
def test_completion_imports_nothing_heavy() -> None:
    code = (
        "import sys; from mlcdr.cli.completion import COMPLETERS\n"
        "for metavar, complete in COMPLETERS.items():\n"
        "    known = complete('') if 'incomplete' in complete.__code__.co_varnames else complete()\n"
        "    assert known, metavar\n"
        "print([m for m in ('sklearn', 'scipy', 'numpy', 'pandas', 'joblib') if m in sys.modules])"
    )
    assert small.python("-c", code).stdout.strip() == "[]"


def test_bash_completes(here: Path) -> None:
    """And executes nothing that the name of a file has in it."""
    command = here / "bin" / "mlcdr"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m mlcdr "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(mlcdr completion bash)"
        COMP_WORDS=(mlcdr stat); COMP_CWORD=1; _mlcdr_completion mlcdr; printf '[%s]' "${COMPREPLY[@]}"
        COMP_WORDS=(mlcdr run e); COMP_CWORD=2; _mlcdr_completion mlcdr; printf '[%s]' "${COMPREPLY[@]}"
    """
    env = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(here)}
    done = subprocess.run(["bash", "-c", script], cwd=here, env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[status][e.yaml]", "")
    assert not (here / "run").exists()
