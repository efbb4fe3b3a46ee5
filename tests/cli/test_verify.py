"""`mlcdr verify`: what is run and printed, exit codes, mistakes in the files, and papers of strangers."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcdr.experiment.loading import experiment_yaml
from tests import small
from tests.small import SIZES, Outcome

Command = Callable[..., Outcome]
HEAD = f"dataset,method,{SIZES},metric,value,spread,note\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Command) -> Path:
    """The current folder, a paper's: e.yaml, which was run, and what it gives as printed cells."""
    folder = tmp_path / "paper"
    experiment = small.experiment(small.write_dataset(folder / "data"))
    (folder / "e.yaml").write_text(experiment_yaml(experiment))
    (folder / "paper.yaml").write_text("config: e.yaml\ncells: cells.csv\n")
    monkeypatch.chdir(folder)
    assert mlcdr("run", "e.yaml", "-j", 1, "--quiet").code == 0
    write_cells(printed())
    return folder


def printed() -> list[list[str]]:
    """The Hamming losses and F1 of the run, rounded to three digits."""
    with Path("results/small/summary.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] in ("hamming_loss", "f1")]
    numbers = [[f"{float(row[key]):.3f}" for key in ("mean", "std")] for row in rows]
    return [
        [row["dataset"], row["method"], row[SIZES], row["metric"], *number, ""]
        for row, number in zip(rows, numbers, strict=True)
    ]


def write_cells(rows: list[list[str]]) -> None:
    Path("cells.csv").write_text(HEAD + "".join(f"{','.join(row)}\n" for row in rows))


def test_a_paper_is_run_and_its_cells_agree(here: Path, mlcdr: Command) -> None:
    done = mlcdr("verify", "paper.yaml", "--jobs", 1, "--out", "anew")
    assert done.code == 0, done.err
    assert done.out == "8 of 8 cells agree. A cell agrees within 3 standard errors of the difference or 0.0005.\n"
    assert (here / "anew" / "small" / "scores.csv").read_bytes() == (here / "results/small/scores.csv").read_bytes()


def test_cells_that_do_not_agree_are_shown_and_decide_the_exit_code(here: Path, mlcdr: Command) -> None:
    rows = printed()
    rows[2][4:6] = "0.999", "0.001"
    write_cells([*rows, ["tiny", "OCCA", "1", "f1", "0.5", "", "a method that the config does not have"]])
    done = mlcdr("verify", "paper.yaml", "-j", 1)
    assert done.code == 1
    (differing,) = [line for line in done.out.splitlines() if line.endswith("differs")]
    assert differing.startswith("tiny     PBR     50%      hamming_loss  0.314±0.017  0.999±0.001  −0.685")
    (lacking,) = [line for line in done.out.splitlines() if line.endswith("not in the config")]
    assert "OCCA" in lacking
    assert "\n7 of 9 cells agree. " in done.out
    for at_least, code in (("7", 0), ("8", 1), ("77%", 0), ("78%", 1), ("77.8%", 1)):
        assert mlcdr("verify", "results/small", "--cells", "paper.yaml", "--at-least", at_least).code == code


def test_a_results_folder_and_a_table_of_cells_need_no_config(here: Path, mlcdr: Command) -> None:
    (here / "e.yaml").unlink()
    (here / "paper.yaml").unlink()
    done = mlcdr("verify", "results/small", "--cells", "cells.csv")
    assert (done.code, done.out[:18]) == (0, "8 of 8 cells agree")


def test_cells_of_failed_trials_are_not_run(here: Path, mlcdr: Command) -> None:
    (here / "verify_failing.py").write_text(
        "from mlcdr import LeastSquares\nclass Failing(LeastSquares):\n"
        "    def fit_moments(self, moments):\n        raise ValueError('no')\n"
    )
    text = (here / "e.yaml").read_text()
    (here / "e.yaml").write_text(text.replace("learner: least_squares", "learner: verify_failing.Failing", 1))
    done = mlcdr("verify", "paper.yaml", "-j", 1, "--trust", "--out", "anew")
    assert done.code == 1
    assert done.out.count("not run") == 4
    assert "4 of 8 cells agree" in done.out
    assert "8 of 16 trials failed" in done.err


# -------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ("", "cells.csv:1: no column dataset, method, metric and value"),
        ("dataset,methods,metric,value\n", "cells.csv:1: unknown column 'methods'; did you mean 'method'?"),
        ("dataset,method,method,metric,value\n", "cells.csv:1: two columns are called 'method'"),
        (HEAD.strip() + "".join(f",a.b{k}" for k in range(44)), "cells.csv:1: more than 50 columns"),
        (HEAD, "cells.csv: has no cells"),
        (HEAD + "tiny,PLST,1,f1,0.5,\n", "cells.csv:2: 6 values where the header has 7 columns"),
        (HEAD + "tiny,PLST,1,f1,,,\n", "cells.csv:2: value: '' is no number such as 0.215"),
        (HEAD + 'tiny,PLST,1,f1,"0,5",,\n', "cells.csv:2: value: '0,5' is no number"),
        (HEAD + "tiny,PLST,1,f1,1e999,,\n", "cells.csv:2: value: '1e999' is no number"),
        (HEAD + "tiny,PLST,1,f1,nan,,\n", "cells.csv:2: value: 'nan' is no number"),
        (HEAD + "tiny,PLST,1,f1,٣,,\n", "cells.csv:2: value: '٣' is no number"),
        (HEAD + "tiny,PLST,1,f1,0.5,± 0.1,\n", "cells.csv:2: spread: '± 0.1' is no number"),
        (HEAD + "tiny,PLST,1,f1,0.5,-0.1,\n", "cells.csv:2: spread: '-0.1' is negative"),
        (HEAD + "tiny,,1,f1,0.5,,\n", "cells.csv:2: method: is empty"),
        (HEAD + f"tiny,{'x' * 201},1,f1,0.5,,\n", "cells.csv:2: method: more than 200 letters"),
        (HEAD + "tiny,PLST,1;2,f1,0.5,,\n", f"cells.csv:2: {SIZES}: '1;2' has a semicolon"),
        (HEAD + 2 * "tiny,PLST,1,f1,0.5,,\n", "cells.csv:3: the same cell as line 2"),
        (HEAD + "tiny,PLST,,f1,0.5,,\n", "cells.csv:2: 2 numbers of results/small fit; a column must state " + SIZES),
        (HEAD + f"tiny,PLST,1,f1,0.5,,{'x' * 2**20}\n", "cells.csv: larger than 1024 KiB"),
    ],
)
def test_a_mistake_in_the_cells_is_one_line(here: Path, mlcdr: Command, cells: str, told: str) -> None:
    Path("cells.csv").write_text(cells)
    done = mlcdr("verify", "paper.yaml", "-j", 1)
    assert (done.code, done.out) == (2, "")
    (line,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert line.startswith(f"error: {told}")


@pytest.mark.parametrize(
    ("paper", "told"),
    [
        ("config: e.yaml\n", "paper.yaml:1: cells: this key is missing"),
        ("cells: cells.csv\n", "paper.yaml: names no config; for a results folder: `mlcdr verify RESULTS --cells"),
        ("cells: [cells.csv]\n", "paper.yaml:1: cells: must be text, found a list"),
        ("- cells.csv\n", "paper.yaml:1: must be a mapping"),
        ("cells: none.csv\n", "paper.yaml:1: cells: 'none.csv': no such file"),
        (f"cells: {'x' * 300}\n", f"paper.yaml:1: cells: '{'x' * 300}': no such file"),
        ("cells: data\n", "paper.yaml:1: cells: 'data': no such file"),
        ("cells: cells.csv\ncells_: x\n", "paper.yaml:2: cells_: unknown key; did you mean 'cells'?"),
        ("cells: cells.csv\njudge:\n  max_z: -1\n", "paper.yaml:3: judge.max_z: must be at least 0.0, found -1"),
        ("cells: cells.csv\njudge: {tolerance: .inf}\n", "paper.yaml:2: judge.tolerance: must be a finite number"),
        ("cells: cells.csv\njudge: {max: 2}\n", "paper.yaml:2: judge.max: unknown key; did you mean 'max_z'?"),
        ("cells: cells.csv\njudge: {methods: {A: 1}}\n", "paper.yaml:2: judge.methods.A: must be text, found 1"),
        (
            "cells: cells.csv\njudge:\n  not_reproducible: [{}]\n",
            "paper.yaml:3: judge.not_reproducible.0.why: this key",
        ),
        ("config: cells.csv\ncells: cells.csv\n", "cells.csv:1: an experiment is a mapping"),
    ],
)
def test_a_mistake_in_the_paper_is_one_line(here: Path, mlcdr: Command, paper: str, told: str) -> None:
    Path("paper.yaml").write_text(paper)
    done = mlcdr("verify", "paper.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {told}"), done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.yaml"], "none.yaml: no such file"),
        (["results/small"], "a results folder needs it"),
        (["paper.yaml", "--cells", "cells.csv"], "needs a results folder, and paper.yaml is none"),
        (["cells.csv"], "cells.csv: names no config"),
        (["data", "--cells", "cells.csv"], "experiment.yaml: missing"),
        (["paper.yaml", "--at-least", "x"], "'x' is neither a number of cells, such as 17, nor a share, such as 95%"),
        (["paper.yaml", "--at-least", "101%"], "'101%' is neither"),
        (["paper.yaml", "--at-least", "-1"], "'-1' is neither"),
        (["paper.yaml", "--at-least", "0.5"], "'0.5' is neither"),
    ],
)
def test_a_mistake_in_the_command_is_told(here: Path, mlcdr: Command, arguments: list[str], told: str) -> None:
    done = mlcdr("verify", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in " ".join(done.err.split())


# -------------------------------------------------------------------- papers of strangers


@pytest.mark.parametrize("key", ["config", "cells"])
@pytest.mark.parametrize("name", ["../secret", "{}/secret", "data/../../secret", "link", "linked/secret"])
def test_a_paper_names_no_file_outside_its_folder(here: Path, mlcdr: Command, key: str, name: str) -> None:
    (here.parent / "secret").write_text("secret\n")
    (here / "link").symlink_to(here.parent / "secret")
    (here / "linked").symlink_to(here.parent)
    keys = {"config": "e.yaml", "cells": "cells.csv", key: name.format(here.parent)}
    (here / "paper.yaml").write_text("".join(f"{key}: {name}\n" for key, name in keys.items()))
    done = mlcdr("verify", "paper.yaml")
    assert done.code == 2
    assert f": {key}: '{keys[key]}' is not below the folder of paper.yaml" in done.err
    assert done.err.count("secret\n") == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_no_file_of_a_paper(here: Path, mlcdr: Command) -> None:
    (here / "cells.csv").unlink()
    os.mkfifo(here / "cells.csv")
    assert "cells: 'cells.csv': no such file" in mlcdr("verify", "paper.yaml").err


@pytest.mark.parametrize(
    "learner",
    [
        "first_mine.Mine",
        "{binary_relevance: {estimator: second_mine.Mine}}",
        "{external: {command: 'touch made {train} {test}'}}",
    ],
)
def test_nothing_of_a_stranger_is_run_unless_it_is_trusted(here: Path, mlcdr: Command, learner: str) -> None:
    for name in ("first", "second"):
        (here / f"{name}_mine.py").write_text(
            "from pathlib import Path\nfrom sklearn.dummy import DummyClassifier\nPath('made').touch()\n"
            "class Mine(DummyClassifier):\n    pass\n"
        )
    config = f"name: own\ndatasets: [data/tiny.arff]\nmetrics: [f1]\nmethods:\n  A: {{learner: {learner}}}\n"
    (here / "e.yaml").write_text(config + "splits: {kind: kfold, folds: 2, seed: 1}\n")
    done = mlcdr("verify", "paper.yaml", "-j", 1)
    assert done.code == 2
    assert "--trust" in done.err
    assert done.err.startswith("error: e.yaml:5: methods.A.learner")
    assert not (here / "made").exists()
    assert not (here / "results" / "own").exists()
    mlcdr("verify", "paper.yaml", "-j", 1, "--trust")
    assert (here / "made").exists()


def test_a_name_with_control_characters_is_shown_and_does_nothing(here: Path, mlcdr: Command) -> None:
    write_cells([["tiny", "\x1b[2J", "1", "f1", "0.5", "", ""]])
    done = mlcdr("verify", "results/small", "--cells", "cells.csv")
    assert "\x1b" not in done.out
    assert "\\x1b[2J" in done.out
