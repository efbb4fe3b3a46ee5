"""Experiment files: what is accepted and what it means, and every mistake with its line, key path and remedy."""

import itertools
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcdr.data.dataset import load_dataset
from mlcdr.errors import ConfigError
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.loading import experiment_from, experiment_yaml, load_experiment
from mlcdr.experiment.model import MetricSpec, value_text
from mlcdr.experiment.problems import Problem
from mlcdr.experiment.splits import FromFile, KFold, Predefined, Shuffle
from mlcdr.experiment.yaml_reader import read_yaml_text
from mlcdr.methods.component import Component
from tests import small
from tests.experiment.tables import records

CONFIGS = sorted((Path(__file__).parents[2] / "configs").rglob("*.yaml"))

GOOD = """\
name: trial
description: a trial
datasets: [yeast]
splits: {kind: shuffle, repeats: 10, train_size: 0.9, seed: 1}
metrics: [hamming_loss]
sweep:
  label_space.n_components: [20%, 3, 0.5]
methods:
  PLST: {label_space: plst, learner: least_squares}
  Ridge: {learner: {ridge: {alpha: 0.1}}}
tables:
  - {layout: chen_lin_2012/table3, metric: hamming_loss}
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text, *overrides, look_up=False):
        path = tmp_path / "f.yaml"
        path.write_text(textwrap.dedent(text))
        return load_experiment(path, overrides, look_up)

    return load_text


@pytest.fixture
def problems(load, tmp_path):
    """The problem lines of a text, without the folder's path."""

    def of(text, *overrides, look_up=False):
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides, look_up=look_up)
        return [line.replace(f"{tmp_path}/", "") for line in caught.value.problems]

    return of


def changed(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


# -- what is right --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_configs_we_ship_are_right_and_round_trip(path, tmp_path):
    experiment = load_experiment(path, look_up=False)
    assert experiment.description
    copy = tmp_path / "experiment.yaml"
    written = experiment_yaml(experiment)
    copy.write_text(written)
    again = load_experiment(copy, look_up=False)
    assert again == experiment
    assert experiment_yaml(again) == written
    assert experiment_from(experiment.resolved(), look_up=False) == experiment


def test_the_fields_of_an_experiment(load):
    experiment = load(GOOD)
    assert experiment.name == "trial"
    assert [spec.name for spec in experiment.datasets] == ["yeast"]
    assert experiment.splits == Shuffle(kind="shuffle", repeats=10, train_size=0.9, seed=1)
    assert experiment.seed == 1
    assert experiment.metrics == (MetricSpec(name="hamming_loss", label="hamming_loss"),)
    assert experiment.sweep == {"label_space.n_components": ("20%", 3, 0.5)}
    assert list(experiment.methods) == ["PLST", "Ridge"]
    assert experiment.methods["PLST"].label_space == Component("label_space", "plst")
    assert experiment.methods["Ridge"].learner == Component("learner", "ridge", {"alpha": 0.1})
    assert experiment.methods["Ridge"].label_space is None
    assert experiment.tables[0].metric == "hamming_loss"
    assert experiment.figures == ()


def test_every_form_of_every_item(load):
    experiment = load(
        """\
        name: forms
        datasets:
          - emotions
          - birds: {missing: mean}
          - flags:
        splits: {kind: kfold, folds: 3, seed: 0}
        metrics:
          - f1
          - macro_f1: {zero_division: skip, as: macro_f1_present}
          - macro_f1: 1
        sweep:
        methods:
          A:
            learner: {ridge: 0.5}
            threshold: {fixed: {value: 0.3}}
            label_space:
          B:
            feature_space: []
            learner: {least_squares: {}}
        tables: [generic]
        figures:
          - {layout: generic, metric: f1, size: [1, 2]}
        """
    )
    assert [spec.plain() for spec in experiment.datasets] == ["emotions", {"birds": {"missing": "mean"}}, "flags"]
    assert experiment.splits == KFold(kind="kfold", folds=3, repeats=1, seed=0)
    assert [(m.name, m.label, m.params) for m in experiment.metrics] == [
        ("f1", "f1", {}),
        ("macro_f1", "macro_f1_present", {"zero_division": "skip"}),
        ("macro_f1", "macro_f1", {"zero_division": 1}),
    ]
    assert experiment.methods["A"].learner.params == {"alpha": 0.5}
    assert experiment.methods["A"].threshold.params == {"value": 0.3}
    assert experiment.methods["B"].feature_space == ()
    assert experiment.tables[0].layout == "generic"
    assert experiment.figures[0].options == {"size": [1, 2]}
    assert experiment_from(experiment.resolved(), look_up=False) == experiment


def test_kinds_of_splits(load):
    shuffle = "{kind: shuffle, repeats: 10, train_size: 0.9, seed: 1}"
    assert load(changed(shuffle, "{kind: predefined}")).splits == Predefined(kind="predefined")
    experiment = load(changed(shuffle, "{kind: file, path: 'x/{dataset}.csv'}"))
    assert experiment.splits == FromFile(kind="file", path="x/{dataset}.csv", column="fold")
    assert experiment.seed == 0


def test_relative_paths_that_exist_beside_the_config_become_absolute(load, tmp_path):
    for name in ("data/mine.arff", "folds/mine.csv", "layouts/mine.yaml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    experiment = load(
        """\
        name: paths
        datasets: [data/mine.arff, data/other.arff]
        splits: {kind: file, path: 'folds/{dataset}.csv'}
        metrics: [f1]
        methods: {A: {learner: ridge}}
        tables: [layouts/mine.yaml, generic]
        """
    )
    assert [spec.name for spec in experiment.datasets] == [f"{tmp_path}/data/mine.arff", "data/other.arff"]
    assert experiment.splits.path == "folds/{dataset}.csv"
    assert experiment.splits.folders == (str(tmp_path),)
    assert [spec.layout for spec in experiment.tables] == [f"{tmp_path}/layouts/mine.yaml", "generic"]


def test_points_are_the_product_of_what_applies_in_the_order_of_the_config(load):
    text = changed("[20%, 3, 0.5]", "[20%, 3]\n  learner.alpha: [1, 0.5]").replace("{ridge: {alpha: 0.1}}", "ridge")
    text += "figures: []\n"
    text = text.replace("methods:\n", "methods:\n  Both: {label_space: plst, learner: ridge}\n")
    experiment = load(text)
    m, alpha = "label_space.n_components", "learner.alpha"
    assert experiment.points("PLST") == ({m: "20%"}, {m: 3})
    assert experiment.points("Ridge") == ({alpha: 1}, {alpha: 0.5})
    both = itertools.product(["20%", 3], [1, 0.5])
    assert [tuple(point.values()) for point in experiment.points("Both")] == list(both)
    spec = experiment.method_at("Both", experiment.points("Both")[1])
    assert spec.label_space == Component("label_space", "plst", {"n_components": "20%"})
    assert spec.label_space.build().n_components == 0.2
    assert spec.learner.build().alpha == 0.5
    assert experiment.methods["Both"].learner.params == {}  # the experiment itself is unchanged
    with pytest.raises(KeyError, match=r"no parameter learner\.alpha"):
        experiment.method_at("PLST", {alpha: 1})


def test_a_method_without_swept_parameters_runs_once(load):
    assert load(GOOD).points("Ridge") == ({},)
    assert load(GOOD).method_at("Ridge", {}) == load(GOOD).methods["Ridge"]


def test_steps_of_the_feature_space_by_number(load, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    text = changed("{label_space: plst,", "{feature_space: [plugged.Step, {plugged.Step: 3}], label_space: plst,")
    text = text.replace("label_space.n_components: [20%, 3, 0.5]", "feature_space.0.size: [2, 5]")
    experiment = load(text)
    assert experiment.points("PLST") == ({"feature_space.0.size": 2}, {"feature_space.0.size": 5})
    built = [step.build().size for step in experiment.method_at("PLST", experiment.points("PLST")[1]).feature_space]
    assert built == [5, 3]
    with pytest.raises(KeyError, match="no parameter"):
        experiment.method_at("PLST", {f"feature_space.{'9' * 5000}.size": 2})
    single = text.replace("[plugged.Step, {plugged.Step: 3}]", "plugged.Step").replace("space.0.size", "space.size")
    assert load(single).points("PLST")[1] == {"feature_space.size": 5}
    assert experiment_from(experiment.resolved()) == experiment


def test_nested_components_are_checked_and_swept(load, problems, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    text = changed("learner: {ridge: {alpha: 0.1}}", "learner: {plugged.Chain: {estimator: {ridge: {alpha: 0.1}}}}")
    text = text.replace("label_space.n_components: [20%, 3, 0.5]", "learner.estimator.alpha: [2, 5]")
    experiment = load(text)
    assert experiment.points("Ridge") == ({"learner.estimator.alpha": 2}, {"learner.estimator.alpha": 5})
    assert experiment.points("PLST") == ({},)
    assert experiment.method_at("Ridge", {"learner.estimator.alpha": 5}).learner.build().estimator.alpha == 5
    assert problems(text.replace("alpha: 0.1", "alfa: 0.1"))[0].startswith(
        "f.yaml:10: methods.Ridge.learner.plugged.Chain.estimator.ridge.alfa: unknown parameter of learner 'ridge'; "
        "did you mean 'alpha'?"
    )


def test_a_parameter_without_default_must_be_given_or_swept(load, problems, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    text = changed("learner: least_squares", "learner: plugged.Needy")
    assert problems(text) == ["f.yaml:9: methods.PLST.learner: learner 'plugged.Needy' needs the parameter 'amount'"]
    swept = text.replace("label_space.n_components:", "learner.amount:")
    assert load(swept).method_at("PLST", {"learner.amount": 3}).learner.build().amount == 3
    assert problems(swept.replace("[20%, 3, 0.5]", "[-1]")) == [
        "f.yaml:7: sweep.learner.amount.0: impossible for PLST: amount must be positive"
    ]


def test_method_text():
    values = ["20%", 5, 0.1, 1e-05, 1.0, True, None, {"eigenvalues": 0.999}, [1, 2]]
    texts = ["20%", "5", "0.1", "1e-05", "1.0", "true", "", '{"eigenvalues": 0.999}', "[1, 2]"]
    assert [value_text(value) for value in values] == texts


# -- what must be there ---------------------------------------------------------------------------------------------


def test_the_one_name_of_a_data_set(load, tmp_path, monkeypatch):
    small.write_dataset(tmp_path / "datasets" / "Mine", "mine")
    small.write_dataset(tmp_path / "d.v1", "d.v1")
    small.write_dataset(tmp_path / "p", "Part-train")
    monkeypatch.chdir(tmp_path)
    named = changed("[yeast]", "[YEAST, mINE, ./d.v1, p/Part-train.arff]")
    experiment = load(named, look_up=True)
    written = [f"{tmp_path}/d.v1", f"{tmp_path}/p/Part-train.arff"]
    assert [spec.name for spec in experiment.datasets] == ["yeast", "Mine", *written]
    sources = [DataSource.of(spec, experiment.splits) for spec in experiment.datasets]
    assert [source.load().name for source in sources] == ["yeast", "Mine", "d.v1", "Part-train"]
    assert [load_dataset(name).name for name in ("Yeast", "MINE", "./d.v1/")] == ["yeast", "Mine", "d.v1"]
    # so the splits are the same, however it is spelt
    plain = load(changed("[yeast]", "[yeast, mine]"), look_up=True)
    for i in (0, 1):
        dataset = sources[i].load()
        other = DataSource.of(plain.datasets[i], plain.splits)
        assert other.read().splits[0].identity == sources[i].divide(dataset).splits[0].identity


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ("[yeasst]", r"f\.yaml:3: datasets\.0: unknown data set 'yeasst': not in .*; did you mean 'yeast'\?"),
        ("[yeast, emotions]", r"f\.yaml:3: datasets\.1: data set 'emotions' is .*; `mlcdr datasets fetch emotions` .*"),
        ("[MediaMill]", r"f\.yaml:3: datasets\.0: .* in the folders .*; `mlcdr datasets info mediamill` .*"),
        ("\n  - yeast\n  - none/x.arff", r"f\.yaml:5: datasets\.1: none/x\.arff: no such file or folder"),
        ("[~nobody-of-that-name/x]", r"f\.yaml:3: datasets\.0: ~nobody-of-that-name/x: .*"),
        (f"[{'x' * 300}.arff]", r"f\.yaml:3: datasets\.0: x+\.arff: .*"),
        ("[yeast: {labels: 3}]", r"f\.yaml:3: datasets\.0: .*yeast\.xml names the labels; leave out .*"),
        ("[yeast, YEAST]", r"f\.yaml:3: datasets\.1: the data set 'yeast' is listed twice; .*"),
        ("[two/b.arff, ./two/link.arff]", r"f\.yaml:3: datasets\.1: '.*link\.arff' is the same data set as .*"),
        ("[two/b.arff, ./two/b.arff]", r"f\.yaml:3: datasets\.1: the data set 'b' is listed twice; .*"),
    ],
)
def test_data_sets_that_no_run_could_have(datasets, message, problems, tmp_path, monkeypatch):
    monkeypatch.delenv("MLCDR_DATASETS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "b.arff").write_text("")
    (tmp_path / "two" / "link.arff").symlink_to("b.arff")
    (line,) = problems(changed("[yeast]", datasets), look_up=True)
    assert re.fullmatch(message, line), line


def test_predefined_splits_need_the_two_files(problems, load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small.write_dataset(tmp_path, "whole")
    text = changed("[yeast]", "[./whole.arff, yeast]").replace(SHUFFLE, "{kind: predefined}")
    (line,) = problems(text, look_up=True)
    assert line.startswith("f.yaml:3: datasets.0: ")
    assert "the predefined split needs" in line


def test_every_fold_file_must_be_there(problems, load, tmp_path, monkeypatch):
    for folder in ("here", "named"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("MLCDR_FOLDS", str(tmp_path / "named"))
    monkeypatch.chdir(tmp_path / "here")
    small.write_dataset(tmp_path, "other")
    text = changed("[yeast]", "[YEAST, ./other.arff]").replace(SHUFFLE, "\n  kind: file\n  path: '{dataset}.csv'")
    lines = problems(text, look_up=True)
    assert [line.split(";")[0] for line in lines] == [
        f"f.yaml:6: splits.path: {name}.csv: no such file (the folds of {name})" for name in ("yeast", "other")
    ]
    (tmp_path / "yeast.csv").write_text("fold\n" + "0\n1\n" * 1208 + "0\n")
    (tmp_path / "named" / "other.csv").write_text("fold\n" + "0\n1\n2\n" * 20)
    experiment = load(text, look_up=True)
    assert experiment.splits.folders == (str(tmp_path),)
    # the experiment of a results folder finds them too, wherever it is and wherever one stands
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "experiment.yaml").write_text(experiment_yaml(experiment))
    monkeypatch.chdir(tmp_path / "named")
    again = load_experiment(tmp_path / "results" / "experiment.yaml")
    assert [spec.name for spec in again.datasets] == ["yeast", f"{tmp_path}/other.arff"]
    sizes = []
    for spec in again.datasets:
        source = DataSource.of(spec, again.splits)
        sizes.append(len(source.read().splits))
    assert sizes == [2, 3]


def test_a_layout_is_no_folder_of_its_name(load, tmp_path):
    (tmp_path / "chen_lin_2012" / "table3").mkdir(parents=True)
    assert load(GOOD).tables[0].layout == "chen_lin_2012/table3"


def test_what_is_found_later_is_placed(load, tmp_path):
    experiment = load(GOOD, "splits.repeats=2")
    assert experiment.placed(Problem(("tables", 0), "no")) == f"{tmp_path}/f.yaml:12: tables.0: no"
    assert experiment.placed(Problem(("splits", "repeats"), "no")) == "--set splits.repeats: no"
    assert experiment.placed(Problem(("figures", 3, "x"), "no")) == f"{tmp_path}/f.yaml:1: figures.3.x: no"
    assert experiment == load(GOOD.replace("name:", "\nname:"), "splits.repeats=2")


# -- what is wrong --------------------------------------------------------------------------------------------------

SHUFFLE = "{kind: shuffle, repeats: 10, train_size: 0.9, seed: 1}"
FORM = "a name, or a name with its parameters (`{name: {parameter: value}}`)"
FRACTION = "must be a fraction between 0 and 1 (0.9 or 90%), a whole number of rows (1 or more) or `predefined`"
LINE = "must be one line of text without spaces around it"


@pytest.mark.parametrize(("change", "message"), records("mistakes"))
def test_a_mistake_gives_one_line(change, message, problems):
    old, _, new = change.replace("\\n", "\n").partition(" =>")
    (line,) = problems(changed(old, new.removeprefix(" ")))
    assert line.startswith(f"f.yaml:{message}")
    assert "\n" not in line


@pytest.mark.parametrize(
    "learner",
    [
        "sklearn.neighbors.KNeighborsClassifier",
        "sklearn.neural_network.MLPRegressor",  # its tags deny that it has several outputs
        "{sklearn.ensemble.RandomForestClassifier: {n_estimators: 5}}",
    ],
)
def test_what_fits_label_sets_or_several_outputs_is_a_learner(load, learner):
    assert load(changed("{ridge: {alpha: 0.1}}", learner)).methods["Ridge"].learner is not None


def test_a_file_that_is_no_mapping(problems):
    (line,) = problems("- a\n- b\n")
    assert line.startswith("f.yaml:1: an experiment is a mapping (`name: ...`), found ")


def test_all_problems_come_at_once_in_the_order_of_the_file(problems):
    lines = problems(
        """\
        nam: x
        datasets: []
        splits: {kind: kfold, folds: 1, seed: x}
        metrics: [hamming, f1: {zero_division: 7}]
        methods:
          A: {label_space: {plst: {n_components: 0, foo: 1}}, learner: {ridge: {alpha: -1}}}
          B: {learner: {ridge: {alpha: -1, intercept: maybe}}}
        tables:
          - {layout: a, metric: 2}
        """,
        "splits.repeats=0",
    )
    assert [line.split(": ")[:2] for line in lines] == [
        ["f.yaml:1", "nam"],
        ["f.yaml:2", "datasets"],
        ["f.yaml:3", "splits.folds"],
        ["f.yaml:3", "splits.seed"],
        ["f.yaml:4", "metrics.0"],
        ["f.yaml:4", "metrics.1.f1.zero_division"],
        ["f.yaml:6", "methods.A.label_space.plst.n_components"],
        ["f.yaml:6", "methods.A.label_space.plst.foo"],
        ["f.yaml:6", "methods.A.learner.ridge.alpha"],
        ["f.yaml:7", "methods.B.learner.ridge.alpha"],
        ["f.yaml:7", "methods.B.learner.ridge.intercept"],
        ["f.yaml:9", "tables.0.metric"],
        ["--set splits.repeats", "must be at least 1, found 0"],
    ]


# -- --set ----------------------------------------------------------------------------------------------------------


def test_overrides(load):
    experiment = load(
        GOOD,
        "splits.repeats=3",
        "datasets=[emotions, scene]",
        "methods.Ridge.learner.ridge.alpha=1e-2",
        "methods.PLST.learner=ridge",
        "methods.PLST.learner.ridge.alpha=2",
        "sweep.label_space.n_components=[1, 2]",
        "tables.0.layout=generic",
        "metrics=[hamming_loss, {f1: skip}]",
        "description=",
        "methods.New.learner=least_squares",
    )
    assert experiment.splits.repeats == 3
    assert [spec.name for spec in experiment.datasets] == ["emotions", "scene"]
    assert experiment.methods["Ridge"].learner.params == {"alpha": 0.01}
    assert experiment.methods["PLST"].learner == Component("learner", "ridge", {"alpha": 2})
    assert experiment.sweep == {"label_space.n_components": (1, 2)}
    assert experiment.tables[0].layout == "generic"
    assert experiment.metrics[1].params == {"zero_division": "skip"}
    assert experiment.description == ""
    assert experiment.methods["New"].learner.name == "least_squares"


def test_overrides_make_what_is_not_there(load):
    text = changed("sweep:\n  label_space.n_components: [20%, 3, 0.5]\n", "")
    assert load(text, "sweep.label_space.n_components=[1]").points("PLST") == ({"label_space.n_components": 1},)
    experiment = load(GOOD, "methods.PLST.label_space=cplst", "methods.PLST.threshold.fixed.value=0.3")
    assert experiment.methods["PLST"].label_space.name == "cplst"
    assert experiment.methods["PLST"].threshold == Component("threshold", "fixed", {"value": 0.3})


def test_the_keys_of_a_grid_are_paths(load):
    tune = "methods.Ridge.tune={grid: {}, grids: {yeast: {}}, folds: 2, metric: hamming_loss}"
    values = ("tune.grid.learner.alpha=[1, 2]", "tune.grids.yeast.learner.alpha=[3, 4]")
    changes = ("methods.Ridge.learner=ridge", tune, *(f"methods.Ridge.{each}" for each in values))
    search = load(GOOD, *changes).methods["Ridge"].tune
    assert search.grid == {"learner.alpha": (1, 2)}
    assert search.grids["yeast"] == {"learner.alpha": (3, 4)}


def test_the_longest_key_wins(load):
    text = GOOD.replace("  Ridge:", "  PLST.label_space: {learner: ridge}\n  Ridge:")
    experiment = load(text, "methods.PLST.label_space.learner.ridge.alpha=9")
    assert experiment.methods["PLST.label_space"].learner.params == {"alpha": 9}
    assert experiment.methods["PLST"].label_space.name == "plst"


@pytest.mark.parametrize(("override", "message"), records("overrides"))
def test_wrong_overrides(problems, override, message):
    (line,) = problems(GOOD, override)
    assert line.startswith(message)


# -- speed and schema -----------------------------------------------------------------------------------------------


def test_a_syntax_error_is_told_without_importing_scikit_learn(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("name: 'x\n")
    code = (
        "import sys\nfrom mlcdr.errors import ConfigError\nfrom mlcdr.experiment.loading import load_experiment\n"
        f"try:\n    load_experiment({str(path)!r})\nexcept ConfigError as error:\n    print(error)\n"
        "print('sklearn' in sys.modules, 'scipy' in sys.modules)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [f"{path}:1: a quote is opened here and never closed", "False False"]


TOKENS = [
    "[", "]", "{", "}", ":", "-", "null", "3", "-1", ".inf", "'x'", "20%", "yeast", "ridge", "{a:", "1}", "[1]",
    "true", "0.5", "~", ",", "learner", "kind", "file", "kfold",
]  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(0), st.sampled_from([*TOKENS, "", "\n", "  "]), st.booleans()), max_size=3))
def test_any_damage_is_told_in_lines_or_harmless(damage):
    parts = re.split(r"(\W)", GOOD)
    for where, token, insert in damage:
        i = where % len(parts)
        parts[i : i if insert else i + 1] = [token]
    try:
        experiment = experiment_from(read_yaml_text("".join(parts), "f").data)
    except ConfigError as error:
        lines = error.problems
    else:
        lines = ["none"]
        assert experiment_from(experiment.resolved()) == experiment
        assert all(experiment.method_at(m, point) for m in experiment.methods for point in experiment.points(m))
    assert lines
    assert all(line and "\n" not in line for line in lines)


# -------------------------------------------------------------------- defaults

DEFAULTS = """\
name: trial
datasets: [yeast]
splits: {kind: kfold, folds: 3, seed: 1}
metrics: [hamming_loss]
defaults:
  learner: ridge
  threshold: {fixed: 0.3}
  tune: {grid: {learner.alpha: [0.1, 1]}, folds: 3}
methods:
  PLST: {label_space: plst}
  Own: {learner: least_squares, tune: null, threshold: null}
  More: {tune: {folds: 4}}
  All:
"""


def test_defaults_are_parts_of_the_methods_that_do_not_have_them(load):
    experiment = load(DEFAULTS)
    methods = {name: spec.plain() for name, spec in experiment.methods.items()}
    tune = {"grid": {"learner.alpha": [0.1, 1]}, "scope": "split", "metric": "hamming_loss", "folds": 3}
    whole = {"learner": "ridge", "threshold": {"fixed": {"value": 0.3}}, "tune": tune}
    assert methods["PLST"] == {"label_space": "plst", **whole}
    assert methods["Own"] == {"learner": "least_squares"}
    assert methods["More"] == {**whole, "tune": {**tune, "folds": 4}}
    assert methods["All"] == whole
    assert experiment_from(experiment.resolved()) == experiment  # where they are written out
    assert load(DEFAULTS, "defaults.tune.folds=9").methods["All"].tune.folds == 9
    assert experiment.placed(Problem(("methods", "All", "tune", "grid", "learner.alpha"), "x")).endswith(
        "f.yaml:8: methods.All.tune.grid.learner.alpha: x"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("learner: ridge", "learner: rigde", "6: defaults.learner: unknown learner 'rigde'; did you mean 'ridge'?"),
        ("folds: 3}\nm", "folds: 1}\nm", "8: defaults.tune.folds: must be at least 2, found 1 (in PLST and All)"),
        ("threshold: {f", "treshold: {f", "7: defaults.treshold: unknown key; did you mean 'threshold'?"),
        ("alpha: [", "beta: [", "8: defaults.tune.grid.learner.beta: the method PLST has no such parameter"),
        ("name: trial", "name: trial\ndefault: 1", "2: default: unknown key; did you mean 'defaults'?"),
    ],
)
def test_a_mistake_in_defaults_is_reported_where_it_stands(problems, old, new, expected):
    assert problems(DEFAULTS.replace(old, new))[0].startswith(f"f.yaml:{expected}")


def test_defaults_that_are_no_mapping(problems):
    (line,) = problems(re.sub("defaults:\n(  .*\n)*", "defaults: [1]\n", DEFAULTS))
    assert line == "f.yaml:5: defaults: must be a mapping of a method's parts, found a list"


def test_defaults_cannot_grow_with_the_methods(problems):
    text = DEFAULTS.replace("ridge", f"{{ridge: {{alpha: [{'1, ' * 3000}1]}}}}")
    text += "".join(f"  A{k}: {{}}\n" for k in range(100))
    assert problems(text) == ["f.yaml:5: defaults: copied into 104 methods they are too large: 256 KiB at most"]
