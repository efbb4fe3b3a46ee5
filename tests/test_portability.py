"""What other systems lack: a run without it, and files of the project that name the same things."""

from __future__ import annotations

import fnmatch
import os
import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest
import yaml

import mlcdr
from mlcdr.execution import workers
from tests import small

ROOT = Path(__file__).parents[1]

# What Windows has not, in every process of a run: Python imports a module of this name as it starts.
WINDOWS = """
import os, signal, sys
sys.modules["fcntl"] = None
for module, names in (
    (os, ("killpg", "setpgid", "getpgrp", "O_NOFOLLOW", "O_NONBLOCK")),
    (signal, ("SIGHUP", "SIGKILL", "pthread_sigmask")),
):
    for name in names:
        delattr(module, name)
"""


@pytest.mark.slow  # workers of their own, with their imports
def test_a_run_needs_nothing_that_windows_lacks(tmp_path: Path) -> None:
    small.write_dataset(tmp_path / "datasets" / "tiny")
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking" / "sitecustomize.py").write_text(WINDOWS)
    (tmp_path / "e.yaml").write_text(
        "name: e\ndatasets: [tiny]\nsplits: {kind: shuffle, repeats: 2, train_size: 0.5, seed: 1}\n"
        "metrics: [hamming_loss]\nmethods: {LS: {learner: least_squares}}\nlimits: {memory: 9 GB}\n"  # new workers
    )
    path = os.pathsep.join([str(tmp_path / "lacking"), str(ROOT)])
    done = small.command("run", "e.yaml", "--jobs", "2", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "e" / "scores.csv").read_text().count("\n") == 3


def test_the_memory_of_a_process() -> None:
    assert workers._resident(os.getpid()) > 10**7
    assert workers._resident(2**22 + 1) == 0, "no such process"


def test_the_version_is_one() -> None:
    """That of the package, of the conda recipe, of the citation, and the newest of the changelog, with its date."""
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == mlcdr.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = f"## {citation['version']} ({citation['date-released']})"
    assert citation["version"] == mlcdr.__version__
    assert re.findall(r"^## .*", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[0] == newest


def test_conda_requires_what_the_package_does() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {re.split(r"[;\s]", each)[0].replace("lazy-loader", "lazy_loader") for each in project["dependencies"]}
    run = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))["requirements"]["run"]
    theirs = {each.replace("-base", "").replace(" ", "") for each in run}
    assert theirs == ours | {f"python{project['requires-python']}"}


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    written = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    (names,) = re.findall(r"\[(.*)\]", written[1])
    bounds = list(project["dependencies"])
    for name in names.split(","):
        bounds += project["optional-dependencies"][name]
    assert written[2:] == [each.replace(">=", "==").replace("[array]", "") for each in bounds]
    line = written[1].removeprefix("# pip ")
    assert line in (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")


def test_the_image_has_what_the_wheel_includes() -> None:
    """Of .dockerignore the last line that fits a file or a folder above it decides."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for included in map(PurePosixPath, settings["targets"]["wheel"]["force-include"]):
        above = {str(each) for each in (included, *included.parents)}
        fitting = [line for line in lines if fnmatch.filter(above, line.removeprefix("!"))]
        assert not fitting or fitting[-1].startswith("!"), included


def test_actions_are_pinned() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", used), f"{path.name}: {used}"
