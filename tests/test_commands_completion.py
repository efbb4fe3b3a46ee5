"""Shell completion: what may come next on a line, and the scripts of the shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from mlcdr.cli import completion
from mlcdr.cli.commands import app
from mlcdr.config.loading import experiment_yaml
from tests import small

ROOT = Path(__file__).parents[1]
COMMANDS = get_command(app)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: an experiment `e.yaml` with the methods PBR and PLST, its results, and other files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(experiment_yaml(small.experiment(small.write_dataset(tmp_path / "data"))))
    (tmp_path / "results" / "small").mkdir(parents=True)
    (tmp_path / "results" / "small" / "summary.csv").write_text("dataset,method,metric,mean\ntiny,PBR,f1,0.1\n")
    (tmp_path / "results" / "small" / "scores.csv").touch()
    (tmp_path / "results" / "empty").mkdir()
    (tmp_path / "my file.yaml").touch()
    (tmp_path / ".hidden.yaml").touch()
    return tmp_path


def next_words(line: str) -> list[str]:
    """What may come next on a line."""
    words, last, _ = completion.split_line(line)
    return [value for value, _ in completion.complete(words[1:], last)]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mlcdr ru", ["run"]),
        ("mlcdr datasets ex", ["export"]),
        ("mlcdr nothing ", []),
        ("mlcdr run ", ["data/", "e.yaml", "my file.yaml", "results/"]),
        ("mlcdr run .h", [".hidden.yaml"]),
        ("mlcdr run e.yaml e", []),
        ("mlcdr run e.yaml --q", ["--quiet"]),
        ("mlcdr run --quiet --q", []),
        ("mlcdr run --set a=1 --se", ["--set"]),
        ("mlcdr run --jobs ", []),
        ("mlcdr run e.yaml --backend ", ["loky", "dask"]),
        ("mlcdr run --backend=l", ["--backend=loky"]),
        ("mlcdr status ", ["results/small"]),
        ("mlcdr status results/e", ["results/empty/"]),
        ("mlcdr methods cpl", ["cplst"]),
        ("mlcdr new -m pca+cpl", ["pca+cplst"]),
        ("mlcdr new --metric ham", ["hamming_loss", "hamming_score"]),
        ("mlcdr compare results/small --metric ", ["f1"]),
        ("mlcdr datasets info yea", ["yeast"]),
        ("mlcdr datasets info data/", ["data/tiny.arff"]),
        ("mlcdr datasets export yeast --format par", ["parquet"]),
        ("mlcdr datasets info yeast --set sep", ["separator="]),
        ("mlcdr plot results/small --layout heat", ["heatmap"]),
        ("mlcdr compare results/small --published chen_lin_2012/table3", ["chen_lin_2012/table3"]),
        ("mlcdr reproduce chen_lin_2012/table2", ["chen_lin_2012/table2"]),
        ("mlcdr test --without refi", ["refit"]),
        ("mlcdr completion f", ["fish"]),
    ],
)
def test_what_comes_next(line: str, expected: list[str]) -> None:
    assert next_words(line) == expected


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("splits.ki", ["splits.kind="]),
        ("splits.kind=", ["shuffle", "kfold", "predefined", "file"]),
        ("methods.", ["methods.PBR.", "methods.PLST."]),
        ("methods.PLST.le", ["methods.PLST.learner.", "methods.PLST.learner="]),
        ("methods.PLST.learner=kernel_r", ["kernel_ridge"]),
        ("methods.PLST.learner.ridge.al", ["methods.PLST.learner.ridge.alpha="]),
        ("defaults.feature_space.mddm.centred=", ["true", "false"]),
        ("methods.PLST.tune.scope=d", ["dataset"]),
        ("sweep.label_space.n_components", ["sweep.label_space.n_components="]),
        ("metrics=[f1, hamming_l", ["[f1, hamming_loss"]),
        ("datasets=yea", ["yeast"]),
        ("tables=heat", ["heatmap"]),
        ("by_label=[kap", ["[kappa"]),
        ("nothing.", []),
        ("name=", []),
    ],
)
@pytest.mark.parametrize("option", ["--set ", "--set="])
def test_what_a_setting_may_be(option: str, typed: str, expected: list[str]) -> None:
    words, last, _ = completion.split_line(f"mlcdr run e.yaml {option}")
    found = [value for value, _ in completion.complete(words[1:], last + typed)]
    key, equals, _ = typed.partition("=")
    values = [f"{key}={each}" for each in expected] if equals else expected
    assert list(dict.fromkeys(found)) == [last + each for each in values]


def test_every_kind_of_parameter_is_known() -> None:
    """Numbers, names and addresses of one's own are not completed; all else is."""
    free = {"N", "NUMBER", "NAME", "FEATURE", "ADDRESS", "NAME=VALUE"}
    groups = [COMMANDS, COMMANDS.commands["datasets"]]
    for command in [each for group in groups for each in group.commands.values() if not hasattr(each, "commands")]:
        for parameter in command.params:
            if not getattr(parameter, "is_flag", False):
                words = parameter.metavar.islower()
                assert words or parameter.metavar in {*completion.COMPLETERS, *free}, (command.name, parameter.name)


def ask(line: str, cwd: Path, shell: str = "fish", **environment: str) -> subprocess.CompletedProcess[str]:
    """What the command answers to a shell."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "_MLCDR_COMPLETE": shell, "_MLCDR_LINE": line, **environment}
    return subprocess.run([sys.executable, "-m", "mlcdr"], cwd=cwd, env=env, capture_output=True, text=True)


def test_the_answer_to_a_shell(here: Path) -> None:
    done = ask("mlcdr ru", here)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "run\tRun experiments; finished trials are not repeated.\n",
        "",
    )
    assert ask("mlcdr run my", here, "zsh").stdout == "my\\ file.yaml \t\n"
    bash = {"_MLCDR_BREAKS": " =:", "_MLCDR_PROGRAM": "mlcdr"}
    assert ask("X=1 mlcdr run e.yaml --set splits.kind=k", here, "bash", **bash).stdout == "kfold \n"
    assert ask("mlcdr run 'my", here, "bash", **bash).stdout == "my file.yaml \n"


def test_nothing_is_printed_where_nothing_can_be_completed(here: Path) -> None:
    (here / "e.yaml").write_text("methods: [")
    for line in ("mlcdr run e.yaml --set methods.", "mlcdr run nowhere/", "mlcdr x y", "mlcdr run '", ""):
        done = ask(line, here)
        assert (done.returncode, done.stderr) == (0, ""), line
    assert ask("mlcdr run e.yaml --set splits.ki", here).stdout.startswith("splits.kind=\t"), "a broken config"


@pytest.mark.usefixtures("here")
def test_completion_imports_nothing_heavy() -> None:
    lines = ["mlcdr run e.yaml --set methods.PLST.learner=", "mlcdr datasets info y", "mlcdr compare --metric "]
    code = (
        "import os, sys; from mlcdr.cli import main\n"
        "os.environ['_MLCDR_COMPLETE'] = 'fish'\n"
        f"for os.environ['_MLCDR_LINE'] in {lines!r}: main()\n"
        "print([m for m in ('sklearn', 'scipy', 'numpy', 'pandas', 'pydantic', 'joblib') if m in sys.modules],"
        " file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in ("ridge", "yeast", "hamming_loss"))


# -------------------------------------------------------------------- shells


def in_shell(shell: str, script: str, here: Path) -> str:
    """What a script prints in a shell that has the command and its completion."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = here / "bin" / "mlcdr"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m mlcdr "$@"\n')
    command.chmod(0o755)
    env = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(here)}
    done = subprocess.run([shell, "-c", script], cwd=here, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_bash_completes(here: Path) -> None:
    script = """
        eval "$(mlcdr completion bash)"
        for COMP_LINE in "mlcdr stat" "mlcdr run my" "mlcdr run --set splits.kind=k" "mlcdr nothing "; do
            COMP_POINT=${#COMP_LINE}; _mlcdr_completion mlcdr; printf '[%s]' "${COMPREPLY[@]}"
        done
        complete -p mlcdr
    """
    expected = "[status ][my\\ file.yaml ][kfold ][]complete -o nospace -F _mlcdr_completion mlcdr\n"
    assert in_shell("bash", script, here) == expected


def test_fish_completes(here: Path) -> None:
    script = "mlcdr completion fish | source; complete -C 'mlcdr stat'; complete -C 'mlcdr run --set splits.kind=k'"
    out = in_shell("fish", script, here)
    assert out == "status\tShow the progress of a run, or how it ended.\nsplits.kind=kfold\n"


def test_zsh_takes_the_script(here: Path) -> None:
    script = 'compdef() { print "compdef $@" }; eval "$(mlcdr completion zsh)"; functions _mlcdr | grep -c compadd'
    assert in_shell("zsh", script, here) == "compdef _mlcdr mlcdr\n2\n"
