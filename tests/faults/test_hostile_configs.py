"""Configs of a stranger: what they name is not imported or loaded from, and what cannot be is refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcdr.data.synthetic import MAX_VALUES
from mlcdr.errors import ConfigError
from mlcdr.experiment.draft import MAX_PROBLEMS
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.tune import MAX_POINTS
from mlcdr.methods.component import Component
from tests.small import Outcome, write_dataset

CONFIG = """
name: c
datasets: [{dataset}]
splits: {splits}
metrics: [hamming_loss]
methods:
  {method}: {parts}
"""
KFOLD = "{kind: kfold, folds: 2, seed: 1}"
METHOD_LINE = 7
OWN = "from sklearn.dummy import DummyClassifier\nclass Own(DummyClassifier):\n    pass\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which will hold the config; `elsewhere` beside it is on Python's path."""
    folder = tmp_path / "here"
    write_dataset(folder / "data")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    return folder


def write(
    folder: Path, parts: str = "{learner: ridge}", splits: str = KFOLD, method: str = "A", more: str = ""
) -> Path:
    path = folder / "c.yaml"
    dataset = folder / "data" / "tiny.arff"
    path.write_text(CONFIG.format(dataset=dataset, splits=splits, method=method, parts=parts) + more)
    return path


def trap(path: Path) -> Path:
    """A module that leaves a file beside it when it is imported."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"from pathlib import Path\nPath({str(path.with_suffix('.made'))!r}).touch()\n{OWN}")
    return path.with_suffix(".made")


# -------------------------------------------------------------------- what is imported


@pytest.mark.parametrize(
    "parts",
    ["{{learner: {0}}}", "{{learner: {{binary_relevance: {0}}}}}", "{{learner: ridge, feature_space: [pca, {0}]}}"],
)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_module_from_elsewhere_is_imported_only_if_trusted(
    command: str, parts: str, here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    made = trap(here.parent / "elsewhere" / "stranger.py")
    write(here, parts.format("stranger.Own"))
    done = mlcdr(command, "c.yaml")
    assert done.code == 2
    assert done.err.startswith("error: c.yaml:7: methods.A.")
    assert f"is not imported: stranger ({made.with_suffix('.py')}) is neither a plug-in" in done.err
    assert done.err.count("\n") == 1
    assert not made.exists()
    mlcdr(command, "c.yaml", "--trust")
    assert made.exists()
    sys.modules.pop("stranger")


@pytest.mark.parametrize(
    "change", ["--set methods.A.learner=stray.Own", "--set sweep.learner.estimator=[stray.Own,c45]"]
)
def test_an_option_is_judged_as_the_file_is(change: str, here: Path, mlcdr: Callable[..., Outcome]) -> None:
    made = trap(here.parent / "elsewhere" / "stray.py")
    write(here, "{learner: binary_relevance}")
    done = mlcdr("check", "c.yaml", *change.split())
    assert done.code == 2
    assert "is not imported: stray" in done.err
    assert not made.exists()


def test_a_grid_is_judged_as_the_method_is(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    made = trap(here.parent / "elsewhere" / "straying.py")
    write(here, "{learner: binary_relevance, tune: {grid: {learner.estimator: [c45, straying.Own]}}}")
    done = mlcdr("check", "c.yaml")
    assert (done.code, made.exists()) == (2, False)
    assert "is not imported: straying" in done.err


def test_nothing_of_python_itself_is_imported(here: Path) -> None:
    """By a process that has not imported it yet: `this` prints, `antigravity` starts a browser."""
    names = ["antigravity.Foo", "this.Foo", "__phello__.Foo", "os.Foo", "__main__.Foo"]
    for number, name in enumerate(names):
        write(here, f"{{learner: {name}}}").rename(here / f"{number}.yaml")
    code = (
        "import sys\nfrom mlcdr.cli import main\n"
        "for number in range(5):\n"
        "    sys.argv = ['mlcdr', 'check', f'{number}.yaml']\n"
        "    try: main()\n"
        "    except SystemExit as ended: assert ended.code == 2\n"
        "    else: raise AssertionError(number)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == 5 * ["error"]
    assert done.stderr.count("is not imported") == 5


def test_no_parent_is_imported_to_find_a_module(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    made = trap(here.parent / "elsewhere" / "parent" / "__init__.py")
    (here / "parent").mkdir()
    (here / "parent" / "child.py").write_text(OWN)
    write(here, "{learner: parent.child.Own}")
    assert "is not imported: parent" in mlcdr("check", "c.yaml").err
    assert not made.exists()


def test_a_package_in_two_places_is_not_below_the_folder(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    made = trap(here.parent / "elsewhere" / "spread" / "other.py")
    (here / "spread").mkdir()
    write(here, "{learner: spread.other.Own}")
    assert "is not imported: spread" in mlcdr("check", "c.yaml").err
    assert not made.exists()


def test_a_link_below_the_folder_leads_out_of_it(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    made = trap(here.parent / "outside.py")
    (here / "linked.py").symlink_to(here.parent / "outside.py")
    write(here, "{learner: linked.Own}")
    assert "is not imported: linked" in mlcdr("check", "c.yaml").err
    assert not made.exists()


def test_what_is_installed_below_the_folder_is_installed_all_the_same(
    here: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    made = trap(here / "venv" / "site-packages" / "installed.py")
    monkeypatch.syspath_prepend(here / "venv" / "site-packages")
    write(here, "{learner: installed.Own}")
    assert "is not imported: installed" in mlcdr("check", "c.yaml").err
    assert not made.exists()


def test_ones_own_and_scikit_learns_need_no_word(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    (here / "mine_alone.py").write_text(OWN)
    for name in ("mine_alone.Own", "sklearn.dummy.DummyClassifier"):
        write(here, f"{{learner: {name}}}")
        assert mlcdr("check", "c.yaml").code == 0


def test_a_run_says_what_it_imports_before_it_does(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    module = here.parent / "elsewhere" / "announced.py"
    module.write_text(f"import sys\nprint('imported', file=sys.stderr)\n{OWN}")
    write(here, "{learner: announced.Own}", more="  B: {learner: announced.Own}\n")
    done = mlcdr("run", "c.yaml", "--jobs", 1)
    assert done.code == 0
    assert done.err.startswith(f"importing announced ({module})\nimported\n")
    assert done.err.count("importing") == 1
    done = mlcdr("fit", "c.yaml", "--method", "B", "--out", "m.joblib")
    assert done.code == 0, done.err
    assert done.err.count("importing") == 1


# -------------------------------------------------------------------- what another package's classes are given

AGGLOMERATION = "sklearn.cluster.FeatureAgglomeration"


@pytest.mark.parametrize(
    ("written", "key", "why"),
    [
        ("memory: kept", "memory", "names a place"),
        ("memory: /tmp/x", "memory", "names a place"),
        ("memory: [x]", "memory", "names a place"),
        ("linkage: ../x", "linkage", "could name a file"),
        ("linkage: x.pkl", "linkage", "could name a file"),
        ("linkage: 'a\\b'", "linkage", "could name a file"),
        ("linkage: ~root", "linkage", "could name a file"),
        ("linkage: [ward, a/b]", "linkage", "could name a file"),
        ("linkage: {x: a/b}", "linkage", "could name a file"),
        ("linkage: {a/b: 1}", "linkage", "could name a file"),
        ("linkage: {cache_dir: x}", "linkage", "in 'cache_dir', names a place"),
    ],
)
def test_a_place_is_refused_where_it_is_written(
    written: str, key: str, why: str, here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    write(here, f"{{learner: ridge, feature_space: {{{AGGLOMERATION}: {{n_clusters: 2, {written}}}}}}}")
    done = mlcdr("check", "c.yaml")
    begins = f"error: c.yaml:{METHOD_LINE}: methods.A.feature_space.{AGGLOMERATION}.{key}: The '{key}' parameter of "
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.err.startswith(begins)
    assert why in done.err


@pytest.mark.parametrize(
    ("parts", "option"),
    [
        (f"{{learner: ridge, feature_space: {AGGLOMERATION}}}", "sweep.feature_space.memory=[kept]"),
        (f"{{learner: ridge, feature_space: {AGGLOMERATION}}}", f"methods.A.feature_space.{AGGLOMERATION}.memory=kept"),
        (f"{{learner: ridge, feature_space: {AGGLOMERATION}}}", "methods.A.tune.grid={feature_space.memory: [kept]}"),
        ("{learner: {binary_relevance: sklearn.svm.SVC}}", "sweep.learner.estimator.kernel=[rbf, a/b]"),
        (
            "{learner: {binary_relevance: sklearn.svm.SVC}}",
            "methods.A.learner={binary_relevance: {estimator: {sklearn.svm.SVC: {kernel: a/b}}}}",
        ),
        ("{learner: binary_relevance}", "sweep.learner.estimator=[c45, {sklearn.svm.SVC: {kernel: a/b}}]"),
    ],
)
def test_a_place_is_refused_wherever_a_value_is_from(
    parts: str, option: str, here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    write(here, parts)
    done = mlcdr("check", "c.yaml", "--set", option)
    assert done.code == 2
    assert "names a place" in done.err or "could name a file" in done.err


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("sklearn.svm.SVC", {"cache_size": 100, "kernel": "rbf", "class_weight": {"0": 1, "1": 2}}),
        ("sklearn.neighbors.KNeighborsClassifier", {"algorithm": "ball_tree", "metric_params": {"p": 3}}),
        ("sklearn.cluster.KMeans", {"init": "k-means++"}),
        ("sklearn.neural_network.MLPClassifier", {"hidden_layer_sizes": (5, 5)}),  # as its default is
        ("sklearn.cluster.FeatureAgglomeration", {"memory": None}),
    ],
)
def test_other_values_are_given_as_they_are(name: str, params: dict) -> None:
    built = Component("learner", name, params).build()
    assert {key: getattr(built, key) for key in params} == params


def test_a_class_of_ones_own_gets_what_it_wants() -> None:
    assert Component("learner", "tests.small.Guess", {"gate": "a/b"}).build().gate == "a/b"


def test_no_build_gives_a_place() -> None:
    with pytest.raises(ValueError, match="'memory' parameter"):
        Component("feature_space", AGGLOMERATION, {"memory": "kept"}).build()


CHAIN = "sklearn.multioutput.ClassifierChain"
PIPELINE = "sklearn.pipeline.Pipeline"


@pytest.mark.parametrize(
    ("learner", "key", "why"),
    [
        (f"{{{CHAIN}: {{estimator: {{sklearn.svm.SVC: {{kernel: a/b}}}}}}}}", "sklearn.svm.SVC.kernel", "a file"),
        (f"{{{PIPELINE}: {{steps: [[a, {{{AGGLOMERATION}: {{memory: x}}}}]]}}}}", "memory", "names a place"),
        (f"{{{PIPELINE}: {{steps: [{{a: {{{AGGLOMERATION}: {{memory: x}}}}}}]}}}}", "memory", "names a place"),
        (f"{{{PIPELINE}: {{memory: x, steps: [{{a: {{sklearn.svm.SVC: }}}}]}}}}", "memory", "names a place"),
        (
            f"{{{PIPELINE}: {{memory: {{joblib.Memory: {{location: x}}}}, steps: [{{a: {{sklearn.svm.SVC: }}}}]}}}}",
            "memory",
            "names a place",
        ),
        (f"{{{PIPELINE}: {{steps: [{{../a: {{sklearn.svm.SVC: }}}}]}}}}", "steps", "could name a file"),
        (f"{{{CHAIN}: {{estimator: {{os.system: touch}}}}}}", "os.system", "is not imported"),
        (f"{{{CHAIN}: {{estimator: {{subprocess.Popen: {{args: x}}}}}}}}", "subprocess.Popen", "is not imported"),
    ],
)
def test_the_rules_hold_at_every_level(
    learner: str, key: str, why: str, here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    write(here, f"{{learner: {learner}}}")
    done = mlcdr("check", "c.yaml")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    where, _, found = done.err.removeprefix(f"error: c.yaml:{METHOD_LINE}: ").partition(": ")
    assert where.endswith(f".{key}")
    assert why in found


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("in_chain", f"{{{CHAIN}: {{estimator: {{in_chain.Own: }}}}}}"),
        ("in_steps", f"{{{PIPELINE}: {{steps: [[a, {{in_steps.Own: }}]]}}}}"),
    ],
)
def test_a_module_from_elsewhere_is_imported_at_no_level(
    name: str, learner: str, here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    made = trap(here.parent / "elsewhere" / f"{name}.py")
    write(here, f"{{learner: {learner}}}")
    done = mlcdr("check", "c.yaml")
    assert done.code == 2
    assert f"is not imported: {name}" in done.err
    assert not made.exists()
    assert mlcdr("check", "c.yaml", "--trust").code == 0
    assert made.exists()


def test_no_build_gives_a_place_at_any_level() -> None:
    inner = {"sklearn.svm.SVC": {"kernel": "a/b"}}
    with pytest.raises(ValueError, match="'kernel' parameter"):
        Component("learner", PIPELINE, {"steps": [["a", inner]]}).build()


# -------------------------------------------------------------------- what cannot be


SHUFFLE = "{{kind: shuffle, repeats: {}, train_size: 0.5, seed: 1}}"


@pytest.mark.parametrize(
    ("splits", "more", "message"),
    [
        (SHUFFLE.format(10**12), "", "c.yaml:4: splits: the plan would have 1,000,000,000,000 trials; "),
        (KFOLD.replace("2", str(10**30)), "", "c.yaml:4: splits: the plan would have 1,000,000,000,000,000,000,"),
        (
            KFOLD,
            f"sweep:\n  learner.alpha: {list(range(1, 3001))}\n  feature_space.n_components: "
            f"{[k / 3000 for k in range(1, 3000)]}\n",
            "c.yaml:8: sweep: the plan would have 17,994,000 trials; ",
        ),
    ],
    ids=["repeats", "folds", "sweep"],
)
def test_a_plan_that_cannot_be_is_refused_with_its_number_of_trials(
    splits: str, more: str, message: str, here: Path, mlcdr: Callable[..., Outcome]
) -> None:
    write(here, "{learner: ridge, feature_space: pca}", splits, more=more)
    done = mlcdr("check", "c.yaml")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("{learner.alpha: {log2: [0, 300, 1e-9]}}", "3e+11 values are too many"),
        ("{learner.alpha: {log10: [-300, 300, 1e-300]}}", "6e+302 values are too many"),
        (
            "{learner.alpha: {log2: [0, 300, 0.1]}, feature_space.n_components: {log2: [-9, 0, 0.01]}}",
            "a grid has 2,703,901 points",
        ),
    ],
)
def test_a_grid_does_not_fill_the_memory(grid: str, message: str, here: Path) -> None:
    path = write(here, f"{{learner: ridge, feature_space: pca, tune: {{grid: {grid}}}}}")
    with pytest.raises(ConfigError) as raised:
        load_experiment(path)
    assert f"c.yaml:{METHOD_LINE}: methods.A.tune" in str(raised.value)
    assert f"{message}; {MAX_POINTS:,} are the most" in str(raised.value)


@pytest.mark.parametrize(
    "sizes",
    ["n_instances: 1000000000000, n_features: 4, n_labels: 2", "n_instances: 1, n_features: 4, n_labels: 1000000"],
)
def test_a_made_data_set_fits_into_memory(sizes: str, here: Path) -> None:
    path = write(here)
    text = path.read_text().replace(str(here / "data" / "tiny.arff"), f"{{synthetic: {{{sizes}}}}}")
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"c\.yaml:3: .* generated; at most {MAX_VALUES:,} are allowed$"):
        load_experiment(path)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("memory: " + "9" * 39 + " GB", "no amount of memory"),
        ("memory: '" + "9" * 1000 + " GB'", "no amount of memory"),
        ("memory: '" + "9" * 5000 + " GB'", "no amount of memory"),
        ("memory: 0.1 B", "no amount of memory"),
        ("seconds: 1e300", "must be at most 1000000000"),
        ("seconds: " + "9" * 39, "must be at most 1000000000"),
    ],
)
def test_limits_are_amounts_that_can_be(limits: str, message: str, here: Path) -> None:
    path = write(here, more=f"limits: {{{limits}}}\n")
    with pytest.raises(ConfigError, match=message) as raised:
        load_experiment(path)
    assert "c.yaml:8: limits." in str(raised.value)
    assert len(str(raised.value)) < 300


def test_the_name_of_a_method_fits_into_a_files(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    write(here, method="M" * 101)
    done = mlcdr("check", "c.yaml")
    assert done.code == 2
    assert "has 101 characters; 100 at most" in done.err
    write(here, method="長" * 100, more="keep: {scores: true}\n")  # 300 bytes
    done = mlcdr("run", "c.yaml", "--jobs", 1, "--quiet")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "line",
    ["metrics: [{}]", "datasets: [{}]", "sweep: {{learner.alpha: [{}]}}"],
    ids=lambda line: line[:4],
)
def test_no_more_mistakes_are_looked_for_than_anybody_reads(line: str, here: Path) -> None:
    """A file within the bound of its size may hold 40,000 mistakes, each compared with all that is known."""
    path = write(here)
    key = line.partition(":")[0]
    text = "".join(each + "\n" for each in path.read_text().split("\n") if not each.startswith(f"{key}:"))
    path.write_text(text + line.format(", ".join(f"x{k}" for k in range(5_000))) + "\n")
    with pytest.raises(ConfigError) as raised:
        load_experiment(path)
    assert len(raised.value.problems) == MAX_PROBLEMS + 1
    assert raised.value.problems[-1] == f"{path}: more than {MAX_PROBLEMS} mistakes; the others are not listed"


# -------------------------------------------------------------------- files that a config names


@pytest.mark.parametrize("what", ["layout", "folds"])
def test_a_file_without_end_is_not_read(what: str, here: Path, mlcdr: Callable[..., Outcome]) -> None:
    (here / "large.yaml").touch()
    os.truncate(here / "large.yaml", 2**40)  # of which the disk holds nothing
    if what == "layout":
        write(here, more="tables: [large.yaml]\n")
    else:
        write(here, splits="{kind: file, path: large.yaml, column: fold}")
    done = mlcdr("check", "c.yaml")
    assert done.code == 2
    assert "large.yaml: larger than" in done.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_without_a_writer_is_an_empty_config(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    os.mkfifo(here / "c.yaml")
    assert mlcdr("check", "c.yaml").code == 2


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_a_pipe_with_a_writer_is_read_to_its_end(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    """As `mlcdr check <(make-config)` gives it; the writer takes its time."""
    text = write(here).read_text()
    script = f"import sys, time\nfor part in {text.splitlines(keepends=True)!r}:\n    print(part, end='', flush=True)\n"
    with subprocess.Popen([sys.executable, "-c", script + "    time.sleep(0.05)"], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        done = mlcdr("check", f"/dev/fd/{writer.stdout.fileno()}")
    assert (done.code, done.err) == (0, "")
