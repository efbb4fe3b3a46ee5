"""`mlcdr reproduce`: which configs belong to which published table, what a small run is, and what is compared."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlcdr.api import running
from mlcdr.cli import reproducing
from mlcdr.data import sources
from mlcdr.errors import UserError
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.yaml_reader import read_yaml
from mlcdr.papers import recipes
from mlcdr.papers.printed import list_tables
from mlcdr.papers.published import compare_with_published
from mlcdr.results.joining import list_other_methods
from mlcdr.results.results import open_results
from tests import small
from tests.results_folders import write_folder
from tests.small import Outcome

ROOT = Path(__file__).parents[2]
TABLE3, TABLE2 = "chen_lin_2012/table3", "pacharawongsakda_2012/table2"


@pytest.fixture
def only_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder from which no data set but the embedded one is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLCDR_DATASETS", raising=False)
    return tmp_path


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made-up configs in place of those that come with mlcdr: of two tables, a figure and a paper without tables."""
    text = (ROOT / "configs" / f"{TABLE3}.yaml").read_text()
    for name in (
        "chen_lin_2012/table3",
        "chen_lin_2012/table3_as_stated",
        "chen_lin_2012/table3_large",
        "chen_lin_2012/table4_small",
        "chen_lin_2012/table4",
        "chen_lin_2012/figure1",
        "nobody_2020/study",
        "nobody_2020/study_small",
    ):
        path = tmp_path / "configs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        own = text.replace("name: chen_lin_2012_table3", f"name: {name.replace('/', '_')}")
        path.write_text(
            own.replace("layout: chen_lin_2012/table3", "layout: chen_lin_2012/table4") if "table4" in name else own
        )
    monkeypatch.setattr(recipes, "config_folder", lambda: tmp_path / "configs")
    return tmp_path / "configs"


# -------------------------------------------------------------------- which configs there are


def test_every_config_of_a_paper_keeps_the_convention() -> None:
    known = recipes.recipes()
    assert {TABLE3, TABLE2, "chen_lin_2012/figure1"} <= set(known)
    assert {name for name in known if known[name].table} >= {TABLE3, f"{TABLE3}_as_stated", TABLE2, f"{TABLE2}_large"}
    for name, recipe in known.items():
        assert recipe.experiment.name == name.replace("/", "_"), "its results must be found again"
        assert not recipe.table or recipe.table in list_tables()
    for name, recipe in known.items():
        if recipe.variant == recipes.LARGE:
            here, there = ({spec.name for spec in known[n].experiment.datasets} for n in (name, recipe.of))
            assert not here & there, "the two together are the table, without a cell twice"


def test_names_say_what_belongs_together(configs: Path) -> None:
    found = {each.name: (each.of, each.variant, each.table) for each in recipes.recipes().values()}
    assert found == {
        "chen_lin_2012/figure1": ("chen_lin_2012/figure1", "", ""),
        "chen_lin_2012/table3": ("chen_lin_2012/table3", "", "chen_lin_2012/table3"),
        "chen_lin_2012/table3_as_stated": ("chen_lin_2012/table3", "as_stated", "chen_lin_2012/table3"),
        "chen_lin_2012/table3_large": ("chen_lin_2012/table3", "large", "chen_lin_2012/table3"),
        "chen_lin_2012/table4": ("chen_lin_2012/table4", "", "chen_lin_2012/table4"),
        "chen_lin_2012/table4_small": ("chen_lin_2012/table4", "small", "chen_lin_2012/table4"),
        "nobody_2020/study": ("nobody_2020/study", "", ""),
        "nobody_2020/study_small": ("nobody_2020/study", "small", ""),
    }


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        ("chen_lin_2012", {}, ["figure1", "table3", "table4"]),
        ("chen_lin_2012/table3", {}, ["table3"]),
        ("chen_lin_2012/table3/", {"large": True}, ["table3", "table3_large"]),
        ("chen_lin_2012/table3_as_stated", {}, ["table3_as_stated"]),
        ("chen_lin_2012/table4", {"small": True}, ["table4_small"]),
        ("chen_lin_2012", {"small": True}, ["figure1", "table3", "table4_small"]),
        ("nobody_2020", {"small": True}, ["study_small"]),
        ("chen-lin-2012-table3-as-stated", {}, ["table3_as_stated"]),
        ("chen-lin-2012-table3-large", {}, ["table3", "table3_large"]),
        ("chen-lin-2012-table3-small", {}, ["table3"]),
        ("chen-lin-2012-tables", {}, ["table3", "table4"]),
    ],
)
def test_what_is_run(configs: Path, target: str, options: dict, expected: list[str]) -> None:
    assert [step.recipe.path.stem for step in recipes.steps(target, **options)] == expected


@pytest.mark.parametrize(
    ("target", "options", "told"),
    [
        ("chen_lin_2012/tabel3", {}, "did you mean 'chen_lin_2012/table3'"),
        ("chen_lin_2021", {}, "did you mean 'chen_lin_2012'"),
        ("chen", {}, r"nothing here reproduces 'chen'; did you mean 'chen_lin_2012'\?"),
        ("chen-lin-2012-table33", {}, "did you mean 'chen-lin-2012-table3'"),
        ("", {}, "nothing here reproduces"),
        ("chen_lin_2012/table4", {"large": True}, r"no part of its own .*having one: chen_lin_2012/table3\)"),
        ("chen_lin_2012/table3", {"large": True, "small": True}, "do not go together"),
    ],
)
def test_what_cannot_be_run(configs: Path, target: str, options: dict, told: str) -> None:
    with pytest.raises(UserError, match=told):
        recipes.steps(target, **options)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("sun_2017_thesis/table3_4", ["table3_2", "table3_3"]),
        pytest.param(
            "sun-2017-table3-4-large",
            ["table3_2", "table3_3", "table3_2_large", "table3_3_large"],
            marks=pytest.mark.slow,
        ),
        pytest.param("sun-2017-table4-3", ["table4_2"], marks=pytest.mark.slow),
    ],
)
def test_a_table_without_a_config_of_its_own_is_run_by_those_that_fill_it(target: str, expected: list[str]) -> None:
    assert [step.recipe.path.stem for step in recipes.steps(target)] == expected


@pytest.mark.parametrize(
    ("target", "compared", "alone"),
    [
        ("sun-2017-table3-3", ["table3_3"], False),
        ("sun-2017-table3-4-small", ["table3_2", "table3_4"], True),
        pytest.param(
            "sun-2017-table4-3", ["table4_2", "table4_3", "table4_4", "table4_5"], False, marks=pytest.mark.slow
        ),
        ("sun-2017-table8-2", ["table8_2"], True),
    ],
)
def test_times_are_compared_and_measured_where_they_are_asked_for(
    target: str, compared: list[str], alone: bool
) -> None:
    step = recipes.steps(target)[0]
    found = recipes.compared_tables(target, step, step.recipe.outline)
    assert [each.partition("/")[2] for each in found] == compared
    assert recipes.measures_times(target, step, step.recipe.outline) == alone


@pytest.mark.slow
def test_a_table_is_compared_once_with_its_large_data_sets(
    only_embedded: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    calls = []
    monkeypatch.setattr(reproducing, "_compare_with_printed", lambda table, found: calls.append((table, found)) or 0)
    monkeypatch.setattr(recipes, "require_data", lambda *_: None)

    def compute(experiment: Experiment, out: Path, jobs: int) -> SimpleNamespace:
        return SimpleNamespace(interrupted=False, done=1, folder=Path(experiment.name))

    monkeypatch.setattr(running, "compute", compute)
    monkeypatch.setattr(reproducing, "conclude", lambda *_: 0)
    monkeypatch.setattr(
        reproducing, "load_to_run", lambda runs: [load_experiment(path, look_up=False) for path, _ in runs]
    )
    assert mlcdr("reproduce", "sun-2017", "--large").code == 0
    of_table = [[each.name for each in found] for table, found in calls if table == "sun_2017_thesis/table3_2"]
    assert of_table == [["sun_2017_thesis_table3_2", "sun_2017_thesis_table3_2_large"]]


def test_the_reduction_is_stated_and_small() -> None:
    (step,) = recipes.steps(TABLE3, small=True)
    reduced, whole = recipes.experiment_of(step), step.recipe.experiment
    assert step.description == "small: 4 of 8 data sets (emotions, genbase, scene, yeast), 20 of 100 repeats"
    assert [spec.name for spec in reduced.datasets] == ["emotions", "genbase", "scene", "yeast"]
    assert (reduced.name, reduced.splits.repeats) == ("chen_lin_2012_table3_small", 20)  # type: ignore[union-attr]
    assert reduced.methods == whole.methods
    (step,) = recipes.steps(f"{TABLE2}_large", small=True)
    assert step.description == "small: 1 of 2 data sets (corel5k)", "the smallest where none is small"


# -------------------------------------------------------------------- the command


def test_without_an_argument_it_lists(only_embedded: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("reproduce")
    papers = [block.splitlines() for block in done.out.split("\n\n")[1:]]
    assert [len({line.partition("/")[0] for line in paper}) for paper in papers] == [1] * len(papers)
    rows = {line.split()[0]: line for paper in papers for line in paper}
    counted = {"chen_lin_2012/table2", "pacharawongsakda_2012/table1", "sun_2017_thesis/table2_1"}
    assert set(rows) == set(recipes.recipes()) | set(recipes.filled_by_others()) | counted
    assert rows["sun_2017_thesis/table3_4"].split()[1:] == ["192", "by", "table3_2,", "table3_3", "--small", "--large"]
    assert rows[TABLE3].split()[1:] == ["80", "1", "of", "8", "available", "--small"]
    assert rows[TABLE2].split()[1:] == ["168", "1", "of", "5", "available", "--small", "--large"]
    assert rows["chen_lin_2012/figure1"].split()[1] == "none"
    fetched = done.err.partition("`mlcdr datasets fetch ")[2].partition("` downloads them")[0].split()
    assert {"bibtex", "corel5k", "emotions", "enron", "genbase", "medical", "scene"} <= set(fetched)


def test_it_runs_and_compares(only_embedded: Path, mlcdr: Callable[..., Outcome]) -> None:
    options = ["--set", "datasets=[yeast]", "--set", "splits.repeats=4", "-j", 1, "--out", "here"]
    done = mlcdr("reproduce", TABLE3, *options)
    assert done.code == 0, done.err
    assert "here/chen_lin_2012_table3 compared with chen_lin_2012/table3 (hamming_loss)" in done.out
    assert "of 10 cells within 3 standard errors" in done.out
    found = open_results("here/chen_lin_2012_table3")
    (beside,) = compare_with_published([found], TABLE3)
    assert beside.terminal(100) in done.out
    frame = beside.frame()
    there = frame[frame["dataset"] == "yeast"]
    assert len(frame) == len(beside.cells)
    assert (there["ours"] - there["published"] - there["difference"]).abs().max() < 1e-9
    assert "have repeats 4; those that give the printed numbers have repeats 100." in " ".join(done.out.split())
    assert mlcdr("reproduce", TABLE3, *options).err.count("none newly computed") == 1


def test_the_splits_of_the_large_data_sets_are_as_right(
    only_embedded: Path, tmp_path: Path, mlcdr: Callable[..., Outcome]
) -> None:
    """Table 3.2 of Sun 2017 has 5 folds, and 3 for the large data sets; yeast is none."""
    said = {}
    for folds in (3, 5):
        path = tmp_path / f"folds{folds}.yaml"
        path.write_text(
            f"name: folds{folds}\ndatasets: [yeast]\nsplits: {{kind: kfold, folds: {folds}, seed: 1}}\n"
            "metrics: [micro_f1]\nmethods: {BR: {learner: ridge}}\n"
        )
        assert mlcdr("run", path, "-j", 1, "--out", "here").code == 0
        said[folds] = mlcdr("compare", f"here/folds{folds}", "--published", "sun_2017_thesis/table3_2").out
    assert "have folds 3; those that give the printed numbers have folds 5." in " ".join(said[3].split())
    assert "those that give" not in said[5]
    other = "Not the methods that give the printed numbers: in here/folds5 BR has learner ridge, not "
    assert other + "binary_relevance." in " ".join(said[5].split())
    experiment = load_experiment(path)
    theirs = {"BR": experiment.methods["BR"].with_value("learner.alpha", 2)}
    assert list_other_methods(experiment, theirs) == ["BR has learner.alpha unset, not 2"]
    assert list_other_methods(experiment, theirs, ["learner.alpha"]) == []
    large = recipes.recipes()["sun_2017_thesis/table3_2_large"].experiment.resolved()
    write_folder(tmp_path / "large", large, {("bibtex", "BR", "micro_f1"): (0.4, 0.01, 3)})
    (beside,) = compare_with_published([open_results(tmp_path / "large")], "sun_2017_thesis/table3_2")
    assert not beside.remarks


def test_a_paper_is_announced_and_each_table_compared_after_its_run(
    only_embedded: Path, configs: Path, mlcdr: Callable[..., Outcome]
) -> None:
    for path in (configs / "chen_lin_2012").glob("*_*.yaml"):
        path.unlink()
    quick = ["--set", "datasets=[yeast]", "--set", "splits.repeats=2", "-j", 1]
    done = mlcdr("reproduce", "chen_lin_2012", *quick)
    assert done.code == 0, done.err
    told = done.err.splitlines()
    names = [f"chen_lin_2012/{name}" for name in ("figure1", "table3", "table4")]
    assert told[0] == "chen_lin_2012: 3 experiments, one after another"
    assert told[1:4] == [f"  {name}: 1 data set × 2 methods (10 points) × 2 splits" for name in names]
    assert [line for line in told[4:] if line in names] == names
    assert "results/chen_lin_2012_figure1: the paper prints no numbers to compare with" in told
    order = [done.out.index(f"compared with {name}") for name in names[1:]]
    second_run = done.out.index("Dataset", done.out.index("Test", order[0]))
    assert order[0] < second_run < order[1], "the first table is compared before the second is run"


def test_data_sets_that_are_not_there_take_one_line(only_embedded: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("reproduce", TABLE2, "--large")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(
        f"error: {TABLE2} needs enron, medical, emotions, scene, bibtex, corel5k, not found in the folders "
    )
    assert line.endswith("`mlcdr datasets fetch enron medical emotions scene bibtex corel5k` downloads them")
    assert not Path("results").exists()
    one = mlcdr("reproduce", TABLE3)
    assert one.err.strip().endswith("; or leave them out: --set 'datasets=[yeast]'")
    by_hand = next(entry.name for entry in sources.entries() if not entry.fetchable)
    assert sources.how_to_get(["scene", by_hand]) == (
        f"`mlcdr datasets fetch scene` downloads it; `mlcdr datasets info {by_hand}` says how to get {by_hand}"
    )
    facts = mlcdr("reproduce", "chen_lin_2012/table2", "--small")
    assert (facts.code, facts.out) == (2, "")
    wrong = mlcdr("reproduce", "mlc_toolbox/ridge_5fold", "--set", "splits.paht=1")
    assert (wrong.code, wrong.out) == (2, "")


def test_missing_folds_are_in_that_line(
    only_embedded: Path, mlcdr: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLCDR_FOLDS", raising=False)
    monkeypatch.setenv("MLCDR_CACHE", str(only_embedded / "cache"))
    done = mlcdr("reproduce", "mlc_toolbox/ridge_5fold")
    (line,) = done.err.splitlines()
    assert line.endswith(
        "and the folds of emotions, yeast; `mlcdr datasets fetch emotions yeast --folds` downloads them"
    )


def test_the_data_sets_of_a_paper() -> None:
    names = ["emotions", "yeast", "scene", "enron", "medical", "genbase", "bibtex", "corel5k"]
    assert recipes.data_sets_of("chen-lin-2012") == recipes.data_sets_of("chen_lin_2012") == names
    with pytest.raises(UserError, match=r"^no configs of a paper 'chen_lin_2013'; did you mean 'chen_lin_2012'\?"):
        recipes.data_sets_of("chen_lin_2013")


# -------------------------------------------------------------------- an installed package


def test_an_installed_package_has_its_own_copy(tmp_path: Path) -> None:
    """The package as a wheel holds it: no checkout around it, the configs and the embedded data set inside."""
    section = (ROOT / "pyproject.toml").read_text().partition("wheel.force-include]\n")[2].partition("\n\n")[0]
    copied = dict(re.findall(r'"(.+)" = "(.+)"', section))
    assert (copied["configs"], copied["examples"]) == ("mlcdr/configs", "mlcdr/examples")
    installed = tmp_path / "site" / "mlcdr"
    shutil.copytree(ROOT / "mlcdr", installed)  # what is compiled of it, too
    for source, target in copied.items():
        shutil.copytree(ROOT / source, tmp_path / "site" / target)
    line = ["reproduce", TABLE3, "--set", "datasets=[yeast]", "--set", "splits.repeats=2", "-j", "1"]
    done = small.command(*line, cwd=tmp_path, MLCDR_DATASETS="", PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 0, done.stderr
    assert "compared with chen_lin_2012/table3" in done.stdout
    stored = read_yaml(tmp_path / "results" / "chen_lin_2012_table3" / "experiment.yaml").data
    ours = load_experiment(ROOT / "configs" / f"{TABLE3}.yaml", look_up=False).resolved()
    assert stored["methods"] == ours["methods"]


def test_a_missing_extra_costs_its_own_rows_only(tmp_path: Path) -> None:
    """Without numba, which the trees need, in the list and in the plan of the record."""
    trees = {"chen_lin_2012/table4": True, TABLE3: False, TABLE2: False}
    for name in trees:
        path = tmp_path / "configs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "configs" / f"{name}.yaml", path)
    program = """
import sys
from pathlib import Path
sys.modules["numba"] = None
from mlcdr.cli import main
from mlcdr.papers import recipes
recipes.config_folder = lambda: Path("configs").absolute()
from tools import record
for run, words in (main, ["reproduce"]), (lambda: sys.exit(record.main()), ["--plan"]):
    sys.argv = ["mlcdr", *words]
    try:
        run()
    except SystemExit as ended:
        print("exit", ended.code)
"""
    done = small.python("-c", program, cwd=tmp_path)
    assert re.findall(r"^exit (.*)$", done.stdout, re.M) == ["0", "0"], done.stderr
    assert "error" not in done.stderr
    assert re.search(r"^2 runs, .*; 1 more cannot run here$", done.stderr, re.M)
    for name, needed in trees.items():
        row, planned = [each for each in done.stdout.splitlines() if each.split()[:1] == [name]]
        assert ("not installed" in planned) == needed, planned
        assert ("--small" in row) != needed, row
        line = f"cannot be run here: {name}: m5p needs numba, which is not installed: pip install 'mlcdr[trees]'"
        assert (line in done.stderr.splitlines()) == needed
