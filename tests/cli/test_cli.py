"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from mlcdr import __version__, open_results
from mlcdr.cli.commands import app
from mlcdr.experiment.loading import experiment_from, experiment_yaml
from mlcdr.methods import registry
from mlcdr.metrics import METRICS
from mlcdr.results.store import Store
from tests import prepared, small
from tests.faults.harness import until
from tests.small import FOUR, Outcome

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a data set in `data` and the experiment e.yaml on it."""
    monkeypatch.chdir(tmp_path)
    arff = small.write_dataset(tmp_path / "data")
    (tmp_path / "e.yaml").write_text(experiment_yaml(small.experiment(arff)))
    return tmp_path


def save(here: Path, name: str, **changes: object) -> Path:
    """Another experiment, in a file of its name."""
    path = here / f"{name}.yaml"
    path.write_text(experiment_yaml(experiment_from(small.plain(here / "data" / "tiny.arff", name=name, **changes))))
    return path


def line_of(text: str, part: str) -> int:
    """The number of the first line that has a part."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


# -------------------------------------------------------------------- help


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--help"], 0, "Usage"),
        (["run", "--help"], 0, "Usage"),
        (["--version"], 0, f"mlcdr {__version__}"),
        (["methods"], 0, "label_space:"),
        (["schema"], 0, "properties"),
        (["check", "wrong.yaml"], 2, "error: wrong.yaml:2: metrics.0: unknown metric 'f2'"),
        (["status", "begun"], 0, "begun: interrupted at "),
    ],
    ids=str,
)
def test_what_needs_no_numbers_imports_nothing_heavy(
    tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    (tmp_path / "wrong.yaml").write_text("name: e\nmetrics: [f2]\nmethods: {A: {learner: rige}}\n")
    with Store(tmp_path / "begun") as store:
        store.begin({}, 1)
    script = (
        "import sys; from mlcdr.cli import main\n"
        f"sys.argv = ['mlcdr', *{arguments!r}]\n"
        "try: main()\n"
        "finally: print([m for m in ('sklearn', 'scipy', 'numpy', 'pandas', 'joblib') if m in sys.modules])"
    )
    done = small.python("-c", script, cwd=tmp_path)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "[]"
    assert told in done.stdout + done.stderr


def list_commands(group: Any, name: str = "mlcdr") -> Iterator[tuple[str, Any]]:
    """Every command with what is typed for it, those of groups too."""
    for each, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, f"{name} {each}")
        else:
            yield f"{name} {each}", command


COMMANDS = dict(list_commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_plain_help(name: str) -> None:
    short, long = (CliRunner().invoke(app, [*name.split()[1:], option]) for option in ("-h", "--help"))
    assert (long.exit_code, long.output) == (0, short.output)
    assert long.output.startswith("Usage: ")
    assert len(max(long.output.splitlines(), key=len)) <= 80
    assert not re.search("[\x1b\u2500-\u257f]", long.output), "no colours, no boxes"
    assert COMMANDS[name].help


# -------------------------------------------------------------------- mistakes and their lines


def test_all_mistakes_of_a_table_with_an_unknown_metric_are_reported(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    text = (here / "e.yaml").read_text()
    tables = "tables: [{layout: grid, metric: nope}, {layout: generic, metric: nope, digits: -1}]\n"
    (here / "wrong.yaml").write_text(text + tables)
    errors = mlcdr("check", "wrong.yaml").err
    assert errors.count("'nope' is none of the metrics above") == 2
    assert "tables.0: unknown layout 'grid'" in errors
    assert "digits: must be at least 0, found -1" in errors
    assert len(errors.splitlines()) == 4


@pytest.mark.parametrize("command", ["check", "run"])
def test_all_mistakes_are_told_at_once_each_with_its_line(
    here: Path, mlcdr: Callable[..., Outcome], command: str
) -> None:
    """Those of layouts too, and once; but for their metrics where it is not known what is measured."""
    lines = [
        "name: e",
        f"datasets: [yeasst, {here / 'data' / 'tiny.arff'}]",
        "splits: {kind: shufle, repeats: 2, train_size: 0.8, seed: 1}",
        "metrics: [hamming_loss, f2]",
        "methods:",
        "  A: {label_space: plzt, learner: least_squares}",
        "tables:",
        "  - {layout: genric}",
        "  - {layout: generic, metric: accuracy}",
        "  - {layout: generic, digit: 3}",
        "  - chen_lin_2012/table3",
        "figures:",
        "  - chen_lin_2012/figure1",
    ]
    (here / "wrong.yaml").write_text("\n".join(lines) + "\n")
    done = mlcdr(command, "wrong.yaml")
    assert (done.code, done.out) == (2, "")
    found = [line.removeprefix("error: wrong.yaml:").split(": ")[:2] for line in done.err.splitlines()]
    assert found == [
        ["2", "datasets.0"],
        ["3", "splits.kind"],
        ["4", "metrics.1"],
        ["6", "methods.A.label_space"],
        ["8", "tables.0"],
        ["10", "tables.2"],
        ["11", "tables.3"],
        ["13", "figures.0"],
    ]
    for hint in ("plst", "generic", "digits"):
        assert f"did you mean '{hint}'" in done.err
    assert not (here / "results").exists()
    (here / "wrong.yaml").write_text("\n".join([*lines[:3], "metrics: [haming_loss]", *lines[4:]]) + "\n")
    told = mlcdr(command, "wrong.yaml").err
    assert told.count("hamming_loss'") == 1, "a misspelt metric is told once, not for each layout that needs it"


def test_what_does_not_fit_the_data_has_its_line(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    text = (here / "e.yaml").read_text().replace("train_size: 0.75", "train_size: 5000")
    (here / "e.yaml").write_text(text)
    line = line_of(text, "train_size")
    done = mlcdr("run", "e.yaml", "-j", 1)
    assert done.code == 2
    assert done.err.startswith(f"error: e.yaml:{line}: splits.train_size: 5000 of the 60 rows of tiny leaves 0 rows")
    done = mlcdr("run", "e.yaml", "-j", 1, "--set", "splits.train_size=60")
    assert done.err.startswith("error: --set splits.train_size: 60 of the 60 rows of tiny leaves 0 rows")


# -------------------------------------------------------------------- run


def test_a_run_prints_its_table(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("run", "e.yaml", "-j", 1)
    assert done.code == 0
    for name in ("PBR", "PLST", "tiny", "50%"):
        assert name in done.out
    assert "16 trials, all newly computed" in done.err
    assert "results in results/small: scores.csv, summary.csv, tables/" in done.err
    for line in ("small: 16 trials", "small: 4/16 (tiny)", "small: 16/16 (tiny)"):
        assert any(told.startswith(line) for told in done.err.splitlines()), done.err
    again = mlcdr("run", "e.yaml", "-j", 1)
    assert "small: 16 trials, 16 of them done before" in again.err
    assert "16 trials, none newly computed" in again.err
    assert again.out == done.out
    fresh = mlcdr("run", "e.yaml", "-j", 1, "--fresh")
    assert "16 trials, all newly computed" in fresh.err
    assert fresh.out == done.out


@pytest.mark.parametrize("jobs", [1, 2])
def test_warnings_are_counted_and_shown_once(here: Path, jobs: int) -> None:
    path = save(here, "warns", methods={name: {"learner": "tests.small.Warns"} for name in ("A", "B")}, sweep={})
    done = prepared.command("run", path.name, "-j", str(jobs), cwd=here, forked=True)
    assert done.returncode == 0
    shown = [line for line in done.stderr.splitlines() if "arning" in line]
    assert len(shown) == 1
    assert re.fullmatch(r"warning: A and B, 16 times: UserWarning: label 0 is \(\S*tests/small\.py:\d+\)", shown[0])
    (kept,) = json.loads((here / "results" / "warns" / "manifest.json").read_text())["warnings"]
    assert (kept["count"], kept["methods"], kept["text"]) == (16, ["A", "B"], "label 0 is")
    quiet = prepared.command("run", path.name, "-j", str(jobs), "--fresh", "--quiet", cwd=here, forked=True)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_one_trial_is_counted_in_the_singular(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    once = ("--set", "splits.repeats=1")
    save(here, "good", methods={"PLST": FOUR["PLST"]}, sweep={})
    save(here, "bad", methods={"Bad": {"learner": "tests.small.Failing"}}, sweep={}, metrics=["f1"])
    assert mlcdr("plan", "good.yaml", *once).out.splitlines()[-1].startswith("1 trial to compute")
    done = mlcdr("run", "good.yaml", "-j", 1, *once)
    assert "good: 1 trial\n" in done.err
    assert "1 trial, all newly computed" in done.err
    assert mlcdr("run", "bad.yaml", "-j", 1, "-q", *once).code == 1
    assert "  tiny, Bad, split 0\n" in prepared.command("status", "results/bad", "--details", cwd=here).stdout
    assert "; 1 trial failed" in repr(open_results(Path("results/bad")))


def test_out_and_set(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    changes = ("--set", "splits.repeats=2", "--set", "name=other")
    done = mlcdr("run", "e.yaml", "-j", 1, "--out", "a/b", *changes)
    assert done.code == 0
    assert "8 trials, all newly computed" in done.err
    assert (here / "a" / "b" / "other" / "summary.csv").exists()
    assert not (here / "results").exists()


def test_several_experiments_in_one_run(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    other = save(here, "other", methods={"Bad": {"learner": "tests.small.Failing"}, "OCCA": FOUR["OCCA"]})
    (here / "wrong.yaml").write_text("name: wrong\n")
    done = mlcdr("run", "e.yaml", "wrong.yaml")
    assert done.code == 2
    assert all(line.startswith("error: wrong.yaml") for line in done.err.splitlines())
    assert not (here / "results").exists(), "nothing runs when one is wrong"
    done = mlcdr("run", other, "e.yaml", "-j", 1)
    assert done.code == 1, "the worst of the two"
    for name, method in (("other", "OCCA"), ("small", "PLST")):
        assert (here / "results" / name / "scores.csv").exists()
        assert method in done.out


def test_failed_trials_are_told_and_the_others_shown(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    path = save(here, "failing", methods={"Bad": {"learner": "tests.small.Failing"}, "PLST": FOUR["PLST"]})
    done = mlcdr("run", path, "-j", 1)
    assert done.code == 1
    assert "PLST" in done.out
    failures = [line for line in done.err.splitlines() if line.startswith("failed: ")]
    assert failures == ["failed: Bad on tiny, splits 0–3: RuntimeError: no luck today (4 trials)"]
    assert "error: 4 of 12 trials failed; `mlcdr report" in done.err
    quiet = mlcdr("run", path, "-j", 1, "--quiet")
    assert (quiet.code, quiet.out) == (1, "")
    assert "4 of 12 trials failed" in quiet.err
    one_point = mlcdr("run", "e.yaml", "-j", 1, "--set", "sweep={label_space.n_components: [1, 200]}")
    assert "failed: PBR and PLST (label_space.n_components 200) on tiny, splits 0–3: ValueError: " in one_point.err
    all_fail = mlcdr("run", path, "-j", 1, "--set", "methods={Bad: {learner: tests.small.Failing}}", "--set", "sweep=")
    assert (all_fail.code, all_fail.out) == (1, "")
    assert "error: 4 of 4 trials failed" in all_fail.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Missing argument"),
        (["run", "e.yaml", "--jobs", "many"], "'many' is not a whole number of at least 0"),
        (["datasets", "splits", "yeast", "--folds", "1"], "'1' is not a whole number of at least 2"),
        (["run", "e.yaml", "--backend", "slurm"], "'slurm' is not one of loky, dask"),
        (["completion", "tcsh"], "'tcsh' is not one of bash, zsh, fish"),
        (["new", "method", "mine", "--part", "lerner"], "metric; did you mean 'learner'?"),
        (["datasets", "export", "yeast", "--format", "svm"], "not one of arff, meka, csv, svmlight, xmc, npz, parquet"),
        (["run", "e.yaml", "--sett", "a=1"], "No such option"),
        (["rum", "e.yaml"], "No such command"),
        (["run", "nowhere.yaml"], "error: nowhere.yaml: no such file"),
        (["run", "."], "error: "),
        (["run", "e.yaml", "--set", "splits.repeats"], "error: --set"),
        (["run", "e.yaml", "--set", "splits.repeets=3"], "did you mean"),
        (
            ["run", "e.yaml", "--set", "datasets=[nowhere]"],
            "error: --set datasets: datasets.0: unknown data set 'nowhere'",
        ),
        (["run", "e.yaml", "--out", "/proc/nowhere"], "error: /proc/nowhere/small: cannot be written"),
        (["compare", "nowhere"], "error: nowhere: no such results folder"),
        (["table", "data"], "error: data"),
        (["run", "e.yaml", "e.yaml"], "error: e.yaml: name: 'small' is the name of e.yaml too"),
        (["methods", "plts"], "error: unknown component 'plts'; did you mean 'plst'?"),
        (["methods", "no_such_package.Thing"], "cannot be imported"),
        (["datasets", "info", "nowhere"], "error: "),
        (["datasets", "info", "data/tiny.arff", "--set", "name=x"], "name: unknown option of a data set"),
        (
            ["datasets", "info", "a.csv", "--set", "labels=a", "--set", "labels=b"],
            "error: --set labels: is given twice",
        ),
        (["datasets", "table", "data/tiny.arff", "--set", "name=x"], "name: unknown option of a data set"),
        (["datasets", "fetch", "nowhere"], "error: "),
    ],
    ids=str,
)
def test_mistakes_are_told_in_a_line(
    here: Path, mlcdr: Callable[..., Outcome], arguments: list[str], message: str
) -> None:
    done = mlcdr(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err


def test_a_damaged_record_is_told_in_a_line(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    (here / "results" / "small" / "trials.sqlite").write_bytes(b"spoilt" * 1000)
    done = mlcdr("run", "e.yaml", "-j", 1)
    assert done.code == 2
    assert done.err.startswith("error: results/small/trials.sqlite: ")
    assert len(done.err.splitlines()) == 1
    assert mlcdr("run", "e.yaml", "-q", "-j", 1, "--fresh").code == 0
    folder = mlcdr("run", "results/small")
    assert folder.code == 2
    assert folder.err == "error: results/small: a results folder; its experiment is results/small/experiment.yaml\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_results_folder_that_may_not_be_written(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    (here / "results").mkdir(mode=0o500)
    done = mlcdr("run", "e.yaml")
    assert (done.code, len(done.err.splitlines())) == (2, 1)


@pytest.mark.slow
def test_a_method_beside_the_config_is_found(here: Path) -> None:
    (here / "my_methods.py").write_text(
        "from sklearn.neighbors import KNeighborsRegressor\n\nclass Mine(KNeighborsRegressor):\n    pass\n"
    )
    path = save(here, "mine", methods={"PLST": FOUR["PLST"]})
    path.write_text(path.read_text().replace("learner: least_squares", "learner: {my_methods.Mine: {n_neighbors: 1}}"))
    limited = ("--set", "limits.seconds=500")  # which a worker computes
    done = prepared.command("run", path, "-j", "1", *limited, cwd=here)
    assert done.returncode == 0, done.stderr
    assert "8 trials, all newly computed" in done.stderr
    (here / "my_methods.py").write_text((here / "my_methods.py").read_text() + "    more = 1\n")
    done = prepared.command("run", path, "-j", "1", cwd=here)
    assert "8 trials, all newly computed" in done.stderr, done.stderr


# -------------------------------------------------------------------- terminals


def on_terminal(here: Path, *arguments: str, **environment: str) -> str:
    """What `mlcdr` shows on a terminal of 100 columns."""
    main, terminal = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    process = prepared.Prepared([*arguments], here, env, terminal=os.ttyname(terminal))
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the last holder of the terminal has closed it
            part = b""
        if not part:
            break
        shown += part
    os.close(main)
    until(lambda: process.poll() is not None, "end")
    assert process.returncode == 0, shown.decode()
    return shown.decode()


def test_a_terminal_shows_a_bar_and_colours(here: Path) -> None:
    path = save(
        here, "slow", methods={"Slow": {"learner": {"tests.small.Guess": {"seconds": 0.05}}}, "PLST": FOUR["PLST"]}
    )
    shown = on_terminal(here, "run", str(path), "-j", "1")
    assert "━" in shown
    assert "trials/s" in shown
    assert "slow: tiny" in shown
    assert "12/12" in shown
    assert "\x1b[1m" in shown, "the best cells of the table are bold"
    assert "slow: 12/12 (tiny)" not in shown, "no plain lines beside the bar"
    plain = on_terminal(here, "run", str(path), "-j", "1", "--fresh", NO_COLOR="1")
    assert "12/12" in plain
    assert "\x1b[1m" not in plain
    assert "\x1b[3" not in plain
    quiet = on_terminal(here, "run", str(path), "-j", "1", "--quiet")
    assert quiet == ""


# -------------------------------------------------------------------- the other commands


def test_check_compares_with_the_data(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    methods = {"A": {"learner": {"mlknn": {"k": 99}}}, "PLST": FOUR["PLST"]}
    path = save(here, "large", sweep={small.SIZES: [1, 20]}, methods=methods)
    mistake = f"large.yaml:{line_of(path.read_text(), '1, 20')}: sweep.{small.SIZES}.1: 20 is more than the 6 labels"
    cut = f"large.yaml:{line_of(path.read_text(), 'k: 99')}: methods.A.learner.mlknn.k: 99 is more than the 45 training"
    remark = f"remark: {cut} rows of tiny, and means all of them\n"
    done = mlcdr("check", "large.yaml")
    assert (done.code, done.out, done.err) == (2, "", f"{remark}error: {mistake} of tiny\n")
    done = mlcdr("check", "large.yaml", "--set", f"sweep={{{small.SIZES}: [1]}}")
    assert (done.code, done.err) == (0, remark)
    assert done.out == "large.yaml: no mistake found; large: 1 data set × 2 methods (2 points) × 4 splits\n"
    assert not (here / "results").exists()


def test_methods_lists_every_component(mlcdr: Callable[..., Outcome]) -> None:
    lines = mlcdr("methods").out.splitlines()
    for family, known in registry.BUILT_IN.items():
        assert any(line.startswith(f"{family}:") for line in lines)
        for name in known:
            assert any(line.split()[0] == name and len(line.split()) > 3 for line in lines if line.startswith("  "))


@pytest.mark.parametrize(("family", "name"), [(f, name) for f, known in registry.BUILT_IN.items() for name in known])
def test_methods_describes_a_component(family: str, name: str, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("methods", name)
    assert done.code == 0
    assert f"{family}: {name}(" in done.out
    for parameter in registry.parameters(registry.resolve(family, name)):
        assert parameter in done.out


def test_methods_describes_a_class_of_ones_own(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    (here / "own_methods.py").write_text(
        "class Own:\n    'My own.'\n    def __init__(self, size=3): pass\n    def get_params(self): pass\n"
    )
    assert mlcdr("methods", "own_methods.Own").out.splitlines()[:3] == ["class: own_methods.Own(size=3)", "", "My own."]


def test_metrics_lists_every_metric(mlcdr: Callable[..., Outcome]) -> None:
    lines = mlcdr("metrics").out.splitlines()
    (one,) = mlcdr("metrics", "hamming_loss").out.splitlines()
    assert one.split() == next(line for line in lines if line.startswith("hamming_loss")).split()
    assert "did you mean 'hamming_loss'" in mlcdr("metrics", "haming_loss").err
    for metric in METRICS.values():
        (line,) = [line for line in lines if line.split()[0] == metric.name]
        way = {True: "higher is better", False: "lower is better", None: "neither way is better"}
        assert way[metric.higher_is_better] in line
    assert any("zero_division" in line and "agree" in line for line in lines)


def test_datasets_list(mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("datasets", "list")
    assert done.code == 0
    header, *rows = done.out.splitlines()
    assert header.split()[:2] == ["name", "domain"]
    assert {"yeast", "emotions", "bibtex"} <= {row.split()[0] for row in rows}


def test_datasets_table(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("datasets", "table", "data/tiny.arff", "--out", "written")
    assert done.code == 0
    assert done.out.splitlines()[4].split()[:5] == ["tiny", "–", "60", "–", "5"]
    assert sorted(path.name for path in (here / "written").iterdir()) == [f"datasets.{e}" for e in ("csv", "md", "tex")]
    assert (here / "written" / "datasets.csv").read_text().splitlines()[1].startswith("tiny,,60,0,5,6,")
    (here / "mine.csv").write_text("a,b,c\n1.5,0,1\n2.5,1,1\n")
    done = mlcdr("datasets", "table", "mine.csv", "--set", "labels=-2")
    assert done.out.splitlines()[4].split()[:5] == ["mine", "–", "2", "–", "1"]
    for arguments, told in (
        ((), "give names of data sets, or a published table of data sets"),
        (("data/tiny.arff", "--layout", "generic"), "kind: is 'table'; a datasets was asked for"),
    ):
        done = mlcdr("datasets", "table", *arguments)
        assert done.code == 2
        assert told in " ".join(done.err.split())


def test_datasets_info_says_what_is_known(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("datasets", "info", "data/tiny.arff")
    assert done.code == 0
    lines = [line.strip() for line in done.out.splitlines()]
    assert {"name: data/tiny.arff", "n_instances: 60", "n_features: 5", "n_labels: 6"} <= set(lines)
    assert not [line for line in lines if line.endswith(("null", "[]", "{}"))]
    assert "notices" not in done.out
    assert re.search(r"^  cardinality: \d\.\d{0,5}$", done.out, re.M), done.out  # no digits that nobody asked for
    catalogued = mlcdr("datasets", "info", "bookmarks").out  # nowhere at hand, and nowhere to be downloaded
    assert "fetchable: false\n" in catalogued
    assert "folder" not in catalogued


@pytest.mark.parametrize("arguments", [["--help"], ["datasets", "--help"]])
def test_the_list_of_commands_is_not_cut_short_at_80_columns(
    arguments: list[str], mlcdr: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = mlcdr(*arguments)
    assert done.code == 0
    assert "..." not in done.out.partition("Commands")[2]


# -------------------------------------------------------------------- a real run


def test_tables_that_cannot_be_written_are_printed(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    config = [ROOT / "configs" / "yeast_cplst.yaml", "--set", "splits.repeats=4", "-j", 1]
    (here / "results" / "yeast_cplst").mkdir(parents=True)
    (here / "results" / "yeast_cplst" / "tables").touch()
    for asked in (["run", *config], ["table", here / "results" / "yeast_cplst"]):
        done = mlcdr(*asked)
        assert done.code == 2
        assert "CPLST" in done.out, "the table"
        assert "tables: not a folder" in done.err.splitlines()[-1]


def test_table_and_plot_of_a_real_run(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("run", ROOT / "configs" / "yeast_cplst.yaml", "--set", "splits.repeats=4", "-j", 1)
    assert done.code == 0, done.err
    folder = here / "results" / "yeast_cplst"
    assert "CPLST" in done.out
    assert sorted(path.suffix for path in (folder / "tables").iterdir()) == [".csv", ".md", ".tex"]
    figures = sorted((folder / "figures").iterdir())
    assert [path.suffix for path in figures] == [".png", ".svg"]

    earlier = folder / "figures" / "boxes.svg"
    earlier.touch()
    os.utime(earlier, (0, 0))
    again = mlcdr("run", folder / "experiment.yaml", "-j", 1)
    assert (again.code, again.out) == (0, done.out)
    assert "figures/" not in again.err, "figures of the same results are not drawn again, whatever else lies there"
    earlier.unlink()
    figures[0].unlink()
    assert mlcdr("run", folder / "experiment.yaml", "-j", 10**20).code == 0
    assert figures == sorted((folder / "figures").iterdir()), "what is missing is drawn"

    for path in (folder / "tables").iterdir():
        path.unlink()
    shown = mlcdr("table", folder)
    assert shown.code == 0
    assert shown.out.strip() == done.out.strip()
    assert len(list((folder / "tables").iterdir())) == 3
    assert "prediction error" in mlcdr("table", folder, "--metric", "prediction_error").out.splitlines()[0]
    assert "no metric ''" in mlcdr("table", folder, "--metric", "").err

    for path in figures:
        path.unlink()
    drawn = mlcdr("plot", folder)
    assert drawn.code == 0
    assert sorted(map(Path, drawn.out.split())) == figures == sorted((folder / "figures").iterdir())


def test_plot_without_figures_draws_what_fits(here: Path, mlcdr: Callable[..., Outcome]) -> None:
    assert mlcdr("run", "e.yaml", "-q", "-j", 1).code == 0
    done = mlcdr("plot", "results/small")
    assert done.code == 0
    drawn = sorted(Path(line).name for line in done.out.splitlines())
    assert drawn == ["curves.png", "curves.svg"]
    chosen = mlcdr("plot", "results/small", "--layout", "boxes", "--metric", "hamming_loss")
    assert sorted(Path(line).name for line in chosen.out.splitlines()) == ["boxes.png", "boxes.svg"]
    for wrong, told in (
        (["--metric", "hamming_loss"], "needs --layout NAME"),
        (["--layout", "boxes", "--metric", "exact_match"], "no metric 'exact_match' (measured: "),
        (["--layout", "boxen"], "unknown layout 'boxen'; did you mean 'boxes'?"),
        (["--layout", "time"], "needs a time among the metrics"),
        (["--layout", "heatmap"], "a heat map needs two swept parameters"),
    ):
        mistaken = mlcdr("plot", "results/small", *wrong)
        assert mistaken.code == 2, wrong
        assert told in mistaken.err, mistaken.err


def test_a_reader_that_goes_away_is_no_error(here: Path) -> None:
    line = f"{sys.executable} -m mlcdr metrics | head -1"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(line, shell=True, cwd=here, env=env, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
