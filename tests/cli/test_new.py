"""`mlcdr new` and `mlcdr doctor`: a first config that runs, and what is found here."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest

from mlcdr import __version__
from mlcdr.cli import doctor
from mlcdr.errors import UserError
from mlcdr.experiment.loading import experiment_from, load_experiment
from mlcdr.experiment.new_config import write_config
from mlcdr.experiment.yaml_reader import read_yaml_text
from mlcdr.methods import registry
from tests import small
from tests.small import SIZES, Outcome

FAMILIES = ("feature_space", "dual_space", "label_space", "learner", "instance_space")  # what a method is drafted of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small.write_dataset(tmp_path / "datasets" / "tiny")
    return tmp_path


# -------------------------------------------------------------------- new


def test_what_is_written_runs(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    methods = ["-m", "cplst", "-m", "mddm+occa+ridge", "-m", "idsr"]
    flags = ["-d", "tiny", *methods, "--metric", "f1", "--metric", "accuracy"]
    done = mlcdr("new", *flags, "--out", "first.yaml")
    assert (done.code, done.out) == (0, "")
    assert done.err == "written: first.yaml; `mlcdr run first.yaml` runs it\n"
    experiment = load_experiment("first.yaml")
    assert experiment.name == "first"
    assert [metric.name for metric in experiment.metrics] == ["f1", "accuracy"]
    assert {name: spec.plain() for name, spec in experiment.methods.items()} == {
        "CPLST": {"label_space": "cplst", "learner": "least_squares"},
        "MDDM + OCCA + Ridge": {"feature_space": "mddm", "label_space": "occa", "learner": "ridge"},
        "IDSR": {"dual_space": "idsr", "learner": "least_squares"},
    }
    assert list(experiment.sweep) == [SIZES, "dual_space.n_labels"]
    ran = mlcdr("run", "first.yaml", "-j", 1, "--set", "splits.repeats=2")
    assert ran.code == 0, ran.err
    assert "CPLST" in ran.out
    again = mlcdr("new", *flags, "--out", "first.yaml")
    assert (again.code, again.err) == (2, "error: first.yaml: is there already; remove it or choose another --out\n")


def test_what_is_left_out_has_a_default(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("new")
    assert (done.code, done.err) == (0, "")
    plain = experiment_from(read_yaml_text(done.out, "new").data)
    assert (plain.name, [spec.name for spec in plain.datasets]) == ("experiment", ["yeast"])
    assert list(plain.methods) == ["PLST", "CPLST"]
    assert any(line.lstrip().startswith("#") for line in done.out.splitlines())


def test_a_table_needs_its_labels(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    (here / "f.csv").write_text("a,b,tag_x,tag_y\n1,2,0,1\n2,1,1,1\n")
    refused = mlcdr("new", "-d", "f.csv")
    assert refused.code == 2
    assert refused.err.startswith("error: f.csv: which columns are labels? --labels")
    assert mlcdr("new", "-d", "f.csv", "-d", "synthetic", "--labels", "tag_*", "-o", "e.yaml").code == 0
    own, made = load_experiment("e.yaml", look_up=False).datasets
    assert (own.params, made.name) == ({"labels": "tag_*"}, "data40-10")


def test_a_table_with_gaps_gets_a_config_that_runs(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    rows = "".join(f"{k % 7},{k % 3 or ''},{k % 2},{k // 2 % 2}\n" for k in range(40))
    (here / "gaps.csv").write_text("a,b,tag_x,tag_y\n" + rows)
    made = mlcdr("new", "-d", "gaps.csv", "--labels", "-2", "-m", "plst", "-m", "pca+ridge", "--out", "e.yaml")
    assert made.code == 0, made.err
    done = mlcdr("run", "e.yaml", "-j", 1, "--set", "splits.repeats=2", "--set", "sweep=")
    assert done.code == 0, done.err


def test_names_of_labels_are_a_list_and_a_run_says_what_keeps_a_table_from_being_read(
    here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    rows = "".join(f"{k},no {k} in all,{k % 2},{k % 3 // 2}\n" for k in range(150))
    (here / "own.csv").write_text("a,b,x,y\n" + rows)
    for labels in (["--labels", "x,y"], ["--labels", "x", "--labels", "y"], ["--labels", "[x, y]"]):
        made = mlcdr("new", "-d", "own.csv", *labels)
        assert "datasets: [{own.csv: {labels: [x, y]}}]" in made.out
        assert made.code == 0
    assert mlcdr("new", "-d", "own.csv", "--labels", "z", "--out", "e.yaml").code == 0
    told = mlcdr("run", "e.yaml")
    assert (told.code, "own.csv:1: labels: no column is called 'z'" in told.err) == (2, True)


@pytest.mark.parametrize(
    ("family", "name"),
    [(f, name) for f in FAMILIES for name in registry.BUILT_IN[f]],
)
def test_every_component_has_a_config(family: str, name: str) -> None:
    small.skip_without_extra(family, name)
    several = sum(name in registry.BUILT_IN[each] for each in FAMILIES) > 1
    written = f"{family}:{name}" if several else name
    if several:
        with pytest.raises(UserError, match=f"{name!r} is the name of several components: write .*{written}"):
            write_config("e", methods=[name])
    (spec,) = experiment_from(read_yaml_text(write_config("e", methods=[written]), "new").data).methods.values()
    one_label = getattr(registry.resolve(family, name), "one_label", False)
    assert spec.plain()[family] == ({"binary_relevance": {"estimator": name}} if one_label else name)
    if name.startswith("kernel_"):
        assert spec.plain()["learner"] == "kernel_ridge"


def test_a_data_set_that_must_be_fetched_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLCDR_DATASETS", raising=False)
    assert (
        "#   scene is not at hand: mlcdr datasets fetch scene"
        in write_config("e", datasets=["yeast", "scene"]).splitlines()
    )


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-m", "plts"], "unknown component 'plts'; did you mean 'plst'?"),
        (["-m", "ridge", "-m", "learner:ridge"], "two methods are called 'Ridge' (ridge, learner:ridge)"),
        (["-m", "plst+occa"], "two components for the label_space"),
        (["-m", "kernel_cplst+ridge"], "has no kernel"),
        (["-m", "nowhere.Thing"], "cannot be imported"),
        (["-d", "yeasst"], "unknown data set 'yeasst'"),
        (["--metric", "f2"], "unknown metric 'f2'"),
        (["--name", "a/b"], "cannot name the results folder"),
        (["-m", "small.Guess+plst+more"], "unknown component 'more'"),
        (["-m", "svm"], "unknown component 'svm'; write `learner: {binary_relevance: linear_svm}`"),
    ],
)
def test_mistakes_take_one_line(here: Path, mlcdr: Callable[..., Outcome], flags: list[str], told: str) -> None:
    (here / "small.py").write_text(
        "from sklearn.base import BaseEstimator\n\n\nclass Guess(BaseEstimator):\n    pass\n"
    )
    done = mlcdr("new", *flags, "--out", "x.yaml")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert told in done.err
    assert not Path("x.yaml").exists()


# -------------------------------------------------------------------- doctor


def test_doctor_finds_what_is_here(here: Path, mlcdr: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    done = mlcdr("doctor")
    assert (done.code, done.err) == (0, ""), done.out
    rows = {line.split(maxsplit=1)[0]: line for line in done.out.splitlines()}
    assert __version__ in rows["mlcdr"]
    assert "OMP_NUM_THREADS=3" in rows["threads"]
    assert "yeast" in next(line for line in done.out.splitlines() if "in the catalogue" in line)
    assert {"python", "machine", "versions", "packages", "blas", "cores", "cache"} <= set(rows)


def test_doctor_says_what_is_amiss(here: Path, mlcdr: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_FOLDS", str(here / "nowhere"))
    about = Message()
    for line in ["numpy>=1.26", "no-such-package>=2", "scipy>=999.1", "also-missing; extra == 'more'"]:
        about["Requires-Dist"] = line
    about["Provides-Extra"] = "more"
    monkeypatch.setattr(doctor, "metadata", lambda name: about)
    done = mlcdr("doctor")
    assert done.code == 1
    packages, folds = [line for line in done.out.splitlines() if line.startswith("!")]
    assert re.fullmatch(r"! +packages +no-such-package is missing, scipy is \S+, but >=999.1 is required", packages)
    assert re.fullmatch(r"! +MLCDR_FOLDS +no such folder: .*/nowhere", folds)
    assert "also-missing is missing (pip install 'mlcdr[more]')" in done.out, "an extra may be absent"


def test_doctor_tries_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    def points(group: str) -> list[EntryPoint]:
        plugged = {
            "mlcdr.learner": [EntryPoint("mine", "no_such_module:Mine", group)],
            "mlcdr.label_space": [EntryPoint("plst", "tests.small:Guess", group)],
            "mlcdr.metric": [
                EntryPoint("mine", "tests.small:Guess", group),
                EntryPoint("gone", "tests.small:no", group),
            ],
        }
        return plugged.get(group, [])

    monkeypatch.setattr(doctor, "plug_ins", points)
    monkeypatch.setattr(registry, "plug_ins", points)
    registry._known.cache_clear()
    try:
        findings = doctor.examine()
    finally:
        registry._known.cache_clear()
    found = {each.topic: each for each in findings if each.topic.startswith("plug-in")}
    assert not found["plug-in learner"].ok
    assert "cannot be imported" in found["plug-in learner"].found
    assert "hidden by the built-in" in found["plug-in label_space"].found
    mine, gone = [each.found for each in findings if each.topic == "plug-in metric" and not each.ok]
    assert mine.endswith("metric 'mine' is no function")
    assert "metric 'gone' cannot be imported" in gone
