"""The data sets of `mlcdr run --data`, and what it says of the method that others are compared with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcdr.experiment.loading import experiment_from, experiment_yaml, load_recorded
from tests import small
from tests.small import Outcome

LINES = [f"{k % 7},{k % 5},{k % 3},{k % 2},{(k // 2) % 2}\n" for k in range(40)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: own.csv, the data set `data/tiny.arff`, and the experiment e.yaml on it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text("a,b,c,tag_x,tag_y\n" + "".join(LINES))
    plain = small.plain(small.write_dataset(tmp_path / "data"), metrics=["micro_f1"], sweep={}, against="PBR")
    (tmp_path / "e.yaml").write_text(experiment_yaml(experiment_from(plain)))
    return tmp_path


def datasets(folder: str) -> dict[str, dict]:
    """The data sets of a results folder, name → options."""
    found = load_recorded(Path(folder) / "experiment.yaml").datasets
    return {Path(spec.name).name: dict(spec.params) for spec in found}


def sentences(printed: str) -> list[str]:
    """The lines on single data sets."""
    return re.findall(r"^(?:tiny|own): .*\.$", printed, re.M)


@pytest.mark.parametrize("labels", [["--labels", "tag_*"], ["--labels", "-2"]], ids=str)
def test_a_run_takes_a_file_in_place_of_the_data_sets(
    here: Path, mlcdr: Callable[..., Outcome], labels: list[str]
) -> None:
    done = mlcdr("run", "e.yaml", "-j", 1, "--data", "own.csv", *labels)
    assert done.code == 0, done.err
    assert datasets("results/small") == {"own.csv": {"labels": labels[1] if "*" in labels[1] else -2}}
    assert [line.split(":")[0] for line in sentences(done.out)] == ["own"]


def test_a_run_takes_several_data_sets_and_other_changes_go_on_from_them(
    here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    flags = ["--data", "yeast", "--data", "own.csv", "--labels", "tag_x,tag_y"]
    done = mlcdr("run", "e.yaml", "-j", 1, *flags, "--set", "datasets.0=data/tiny.arff")
    assert done.code == 0, done.err
    assert datasets("results/small") == {"tiny.arff": {}, "own.csv": {"labels": ["tag_x", "tag_y"]}}


def test_a_file_is_that_of_the_current_folder_and_not_the_one_beside_the_config(
    here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    (here / "below").mkdir()
    (here / "e.yaml").rename(here / "below" / "e.yaml")
    (here / "below" / "own.csv").write_text("no table")
    done = mlcdr("run", "below/e.yaml", "-j", 1, "--data", "own.csv", "--labels", "tag_*")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--data", "own.csv"], "own.csv: which columns are labels? --labels: a name, a pattern"),
        (["--data", "no_such_set"], "unknown data set 'no_such_set'"),
        (["--data", "no.csv", "--labels", "-2"], "no.csv: no such file"),
        (["--labels", "-2"], "--labels: says what the labels of a file are; name the file by --data"),
        (["--set", "against=PLTS"], "--set against: 'PLTS' is none of the methods; did you mean 'PLST'? (PBR, PLST)"),
    ],
    ids=str,
)
def test_a_mistake_is_told_in_one_line(here: Path, mlcdr: Callable[..., Outcome], flags: list[str], told: str) -> None:
    done = mlcdr("run", "e.yaml", *flags)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert len(done.err.splitlines()) == 1
    assert not (here / "results").exists()


def test_of_missing_values_a_run_says_what_a_new_config_says(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    (here / "gaps.csv").write_text("a,b,c,tag_x,tag_y\n,1,2,0,1\n" + "".join(LINES))
    new = mlcdr("new", "-d", "gaps.csv", "--labels", "-2").out
    (said,) = re.findall(r"# (values are missing: .*)", new)
    told = mlcdr("run", "e.yaml", "--data", "own.csv", "--data", "gaps.csv", "--labels", "-2")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert f"gaps.csv: {said}" in told.err
    *_, remedy = shlex.split(told.err.replace("`", ""))
    assert mlcdr("run", "e.yaml", "-j", 1, "--set", remedy).code == 0
    assert datasets("results/small") == {"own.csv": {"labels": -2}, "gaps.csv": {"labels": -2, "missing": "mean"}}


def test_the_config_quick_answers_for_a_file(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    tiny = ["--set", "splits.folds=2", "--set", "splits.repeats=1"]
    done = mlcdr("run", "quick", "-j", 1, "--data", "data/tiny.arff", *tiny)
    assert done.code == 0, done.err
    assert len(sentences(done.out)) == 1
    for method in ("PLST", "CPLST", "PCA", "MDDM", "MVMD", "F-score", "DDSR"):
        assert re.search(rf"^ +{method} +\d+% \(\d\)|^tiny +{method} +\d+% \(\d\)", done.out, re.M), method


def test_run_and_table_print_the_comparison_with_the_method_that_the_experiment_names(
    here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    run = mlcdr("run", "e.yaml", "-j", 1).out
    assert "All methods against PBR: micro F1, higher is better" in run
    (sentence,) = sentences(run)
    assert sentence.startswith("tiny: ")
    again = mlcdr("table", "results/small").out
    assert sentences(again) == [sentence]
    without = mlcdr("run", "e.yaml", "-j", 1, "--set", "against=")
    assert (sentences(without.out), "against" in without.out) == ([], False)
    assert "none newly computed" in without.err, "it decides no score"


def test_another_metric_is_compared_where_its_table_is_asked_for(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-j", 1, "--set", "metrics=[micro_f1, hamming_loss]").code == 0
    shown = mlcdr("table", "results/small", "--metric", "hamming_loss").out
    assert "All methods against PBR: Hamming loss, lower is better" in shown
    assert "in Hamming loss" in sentences(shown)[0]
