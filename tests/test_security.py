"""What SECURITY.md claims: nothing in a data set, a config or a results folder runs code or writes elsewhere."""

from __future__ import annotations

import ast
import io
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlcdr.api.progress import make_listener
from mlcdr.data import cache
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.errors import ConfigError, DataError, UserError, escape_control_characters
from mlcdr.execution.artifacts import _name
from mlcdr.execution.models import load_model
from mlcdr.experiment.yaml_reader import MAX_BYTES, read_yaml_text
from mlcdr.methods.component import Component
from mlcdr.methods.registry import UnknownComponent
from tests import small
from tests.small import Outcome, write_dataset

PACKAGE = Path(__file__).parents[1] / "mlcdr"

CONFIG = """
name: {name}
datasets: [{dataset}]
splits: {{kind: kfold, folds: 2, seed: 1}}
metrics: [hamming_loss]
methods:
  A: {{learner: {learner}}}
"""


class Canary:
    """Unpickled, it makes a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def _calls(tree: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_nothing_in_the_package_unpickles_evaluates_or_starts_a_shell() -> None:
    never = {"eval", "exec", "os.system", "yaml.unsafe_load", "yaml.full_load", "pickle.load", "pickle.loads"}
    trusting = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = _calls(tree)
        assert not calls & never, path
        if {"joblib.load", "skops_io.load", "skops_io.loads"} & calls:
            trusting.append(path.relative_to(PACKAGE).as_posix())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                asked = [keyword for keyword in node.keywords if keyword.arg in ("allow_pickle", "shell")]
                said = {keyword.arg: ast.unparse(keyword.value) for keyword in asked}
                assert said.get("allow_pickle", "False") == "False", path
                if ast.unparse(node.func) != "get_completion_script":  # whose `shell` is the name of one
                    assert said.get("shell", "False") == "False", path
                if getattr(node.func, "attr", "") == "load" and ast.unparse(node.func) == "np.load":
                    assert "allow_pickle" in said, path
    assert trusting == ["execution/models.py"]


def test_no_file_beside_a_config_stands_in_for_a_library_here_or_in_a_worker(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_dataset(folder)
    # with this limit a worker is a new interpreter
    text = CONFIG.format(name="c", dataset="tiny.arff", learner="mine.Mine") + "limits: {memory: 9 GB}\n"
    (folder / "c.yaml").write_text(text)
    (folder / "mine.py").write_text(
        "import os\nfrom mlcdr import LeastSquares\n"
        "class Mine(LeastSquares):\n"
        "    def fit_moments(self, moments):\n"
        "        assert 'PYTHONSAFEPATH' not in os.environ\n"
        "        return super().fit_moments(moments)\n"
    )
    for library in ("numpy", "joblib", "random", "yaml"):
        (folder / f"{library}.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'made')!r})\n")
    (tmp_path / "command.py").write_text("from mlcdr.cli import main\nif __name__ == '__main__':\n    main()\n")
    done = small.python(tmp_path / "command.py", "run", "c.yaml", "--jobs", "1", cwd=folder)
    assert not (tmp_path / "made").exists()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.mkdir [{}]", "!!python/name:os.mkdir", "!!python/module:os"])
def test_yaml_tags_construct_nothing(tag: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the tag !!python.* is not allowed"):
        read_yaml_text(f"a: {tag.format(tmp_path / 'made')}\n", "c.yaml")
    assert not (tmp_path / "made").exists()


def test_yaml_does_not_grow(tmp_path: Path) -> None:
    laughs = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 20))
    with pytest.raises(ConfigError, match="aliases may add up to 256 KiB"):
        read_yaml_text(f"a0: &a0 [x, x]\n{laughs}", "c.yaml")
    with pytest.raises(ConfigError, match="nested more than"):
        read_yaml_text("[" * 500, "c.yaml")
    (tmp_path / "large.yaml").write_text("#" * (MAX_BYTES + 1))
    from mlcdr.experiment.yaml_reader import read_yaml

    with pytest.raises(ConfigError, match="larger than"):
        read_yaml(tmp_path / "large.yaml")


@pytest.mark.parametrize("command", [("check", "--trust"), ("run",)])
def test_a_config_constructs_estimators_only(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    arff = write_dataset(tmp_path / "tiny")
    learner = f"{{subprocess.Popen: {{args: [touch, {tmp_path / 'made'}]}}}}"
    (tmp_path / "c.yaml").write_text(CONFIG.format(name="c", dataset=arff, learner=learner))
    outcome = mlcdr(*command, "c.yaml")
    assert outcome.code == 2
    assert "'subprocess.Popen' is not an estimator" in outcome.err
    assert not (tmp_path / "made").exists()


def test_a_nested_component_is_an_estimator_too() -> None:
    with pytest.raises(UnknownComponent, match="is not an estimator"):
        Component("learner", "binary_relevance", {"estimator": {"subprocess.Popen": {"args": "true"}}}).build()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "..", ".x", "a/b", "a\\b", "x.", "C:x", "a\0b", "~x", ""])
def test_the_name_of_an_experiment_stays_in_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    arff = write_dataset(tmp_path / "tiny")
    quoted = '"' + name.replace("\\", "\\\\").replace("\0", "\\0") + '"'
    (tmp_path / "c.yaml").write_text(CONFIG.format(name=quoted, dataset=arff, learner="least_squares"))
    before = sorted(tmp_path.rglob("*"))
    assert mlcdr("run", "c.yaml").code == 2
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", "a/../../b", "C:\\x", "a\0b", "\x1b[2J", "", "...."])
def test_what_names_a_folder_cannot_leave_it(name: str, tmp_path: Path) -> None:
    made = _name(name)
    assert (tmp_path / made).resolve().parent == tmp_path.resolve()
    assert escape_control_characters(made) == made


def test_a_cache_with_a_pickle_in_it_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_CACHE", str(tmp_path / "cache"))
    arff = write_dataset(tmp_path / "tiny")
    right = load_dataset(arff)
    (stored,) = (tmp_path / "cache" / "parsed").glob("*.npz")
    arrays = dict(np.load(stored, allow_pickle=False))
    arrays["X"] = np.array([Canary(tmp_path / "made")], dtype=object)
    np.savez(stored, **arrays)
    again = load_dataset(arff)
    assert not (tmp_path / "made").exists()
    np.testing.assert_array_equal(again.X, right.X)
    stored.write_bytes(pickle.dumps(Canary(tmp_path / "made")))
    np.testing.assert_array_equal(load_dataset(arff).X, right.X)
    assert not (tmp_path / "made").exists()


def test_a_cache_of_another_data_set_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_CACHE", str(tmp_path))
    data = Dataset.of(np.zeros((2, 2)), np.zeros((2, 1)))
    cache.save("a", data)
    assert cache.load("a") is not None
    (tmp_path / "parsed" / "a.npz").rename(tmp_path / "parsed" / "b.npz")
    assert cache.load("b") is None


@pytest.mark.parametrize("name", ["m.joblib", "m.skops"])
def test_a_model_file_is_loaded_on_the_users_word_only(name: str, tmp_path: Path) -> None:
    image = io.BytesIO()
    pickle.dump(Canary(tmp_path / "made"), image)
    (tmp_path / name).write_bytes(image.getvalue())
    with pytest.raises(UserError, match="can run any program"):
        load_model(tmp_path / name, trust=False)
    assert not (tmp_path / "made").exists()


def test_a_results_folder_with_a_program_in_it_is_read_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    arff = write_dataset(tmp_path / "tiny")
    (tmp_path / "c.yaml").write_text(CONFIG.format(name="c", dataset=arff, learner="least_squares"))
    assert mlcdr("run", "c.yaml", "--jobs", 1, "--quiet").code == 0
    hostile = pickle.dumps(Canary(tmp_path / "made"))
    for name in ("experiment.yaml", "summary.csv", "scores.csv", "trials.sqlite", "manifest.json"):
        path = tmp_path / "results" / "c" / name
        kept = path.read_bytes()
        path.write_bytes(hostile)
        for command in (["table"], ["report"], ["compare"]):
            assert mlcdr(*command, "results/c").code in (0, 1, 2)
        path.write_bytes(kept)
    assert not (tmp_path / "made").exists()


def test_the_terminal_obeys_no_data_set(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    (tmp_path / "d.arff").write_text("@relation r\n@attribute a real\n@attribute 'b\x1b[2J' {0,1}\n@data\n1,1\n2,0\n")
    (tmp_path / "d.xml").write_text("<labels><label name='x\u202e'/></labels>")
    with pytest.raises(DataError) as raised:
        load_dataset(tmp_path / "d.arff")
    assert "\\u202e" in str(raised.value)
    (tmp_path / "d.xml").unlink()
    text = (tmp_path / "d.arff").read_text().replace("@relation r", "@relation 'r: -C -1'")
    (tmp_path / "d.arff").write_text(text)
    outcome = mlcdr("datasets", "info", tmp_path / "d.arff")
    assert outcome.code == 0
    assert '"b\\e[2J"' in outcome.out
    assert "\x1b" not in outcome.out + outcome.err


def test_an_audit_that_could_not_be_made_is_not_one_that_found_nothing() -> None:
    from tools.audit import told

    unheard = {"name": "a", "version": "1", "skip_reason": "Dependency not found on PyPI"}
    sound = {"name": "b", "version": "2", "vulns": []}
    holed = {"name": "c", "version": "3", "vulns": [{"id": "CVE-1", "fix_versions": ["3.1"]}]}
    index = "not audited: the package index does not tell known holes"
    assert told([unheard]) == ([f"{index}; 0 of 1 packages, 0 known holes"], 0)
    assert told([unheard, sound]) == (["audited; 1 of 2 packages, 0 known holes"], 0)
    assert told([sound, holed]) == (["c 3: CVE-1, mended in 3.1", "audited; 2 of 2 packages, 1 known holes"], 1)


def test_no_text_commands_a_terminal_with_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with make_listener(quiet=False) as bar:
        bar.begin("e", 1, 0)
        bar.notice("first failure: \x1b]0;title :cat:")
        bar.advance("d[/b]", 1, 0)
    assert r"first failure: \x1b]0;title :cat:" in terminal.getvalue()
    assert "e: d[/b]" in terminal.getvalue()
