"""What the README shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import small

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    """The README's code blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def test_the_experiment_and_the_method_of_ones_own(tmp_path: Path) -> None:
    experiment = next(block for block in blocks("yaml") if block.startswith("name:"))
    row = next(block for block in blocks("yaml") if "Frequent" in block)
    (tmp_path / "my_methods.py").write_text(next(block for block in blocks("python") if "MostFrequent" in block))
    config = tmp_path / "mine.yaml"
    config.write_text(experiment.replace("tables:", row + "tables:"))
    done = small.command("run", "mine.yaml", "--set", "splits.repeats=2", "-j", "1", cwd=tmp_path, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "±" in line and "0." in line]
    assert [line.removeprefix("yeast").split()[0] for line in rows] == ["PBR", "OCCA", "PLST", "CPLST", "Frequent"]
    # with all dimensions every label space is binary relevance: the last column is the same for all
    assert len({line.split()[-1].rstrip("*") for line in rows}) == 1


def test_the_python_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    snippet = next(block for block in blocks("python") if "ComposedClassifier" in block)
    exec(snippet, {})
    assert 0.05 < float(capsys.readouterr().out) < 0.3


def test_the_table_is_what_make_run_prints(tmp_path: Path) -> None:
    shown = re.findall(r"^    (?:yeast)? +(PBR|OCCA|PLST|CPLST) +(.*)$", README.read_text(encoding="utf-8"), re.M)
    assert [name for name, _ in shown] == ["PBR", "OCCA", "PLST", "CPLST"]
    done = small.command("run", README.parent / "configs/yeast_cplst.yaml", "-j", "1", cwd=tmp_path, COLUMNS="100")
    printed = re.findall(r"^(?:yeast)? +(PBR|OCCA|PLST|CPLST) +(.*)$", done.stdout, re.M)
    assert printed == shown
