"""Data sets through the command line: mistakes in files, and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mlcdr.experiment.loading import experiment_yaml
from tests import small
from tests.data.test_malformed import ARFF, BINARY, DATA, XML, A
from tests.small import Outcome

RIGHT = BINARY + "0,1,5\n1,0,6\n"
WRONG = {name: (ARFF[name][0], A, "bad.arff:{1}: {2}".format(*ARFF[name])) for name in (
    "empty file", "open brace", "too few values", "infinity by size", "nul byte", "index twice",
)} | {name: (RIGHT, XML[name][0], "bad.xml:{1}: {2}".format(*XML[name])) for name in (
    "doctype", "cut", "other element",
)} | {name: (*DATA[name][:2], DATA[name][3].format(arff="bad.arff", xml="bad.xml")) for name in (
    "label not an attribute", "missing value", "no labels known",
)}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_malformed_file_gives_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]
) -> None:
    monkeypatch.chdir(tmp_path)
    arff, xml, message = WRONG[name]
    Path("bad.arff").write_text(arff)
    if xml is not None:
        Path("bad.xml").write_text(xml)
    Path("e.yaml").write_text(experiment_yaml(small.experiment(Path("bad.arff"))))
    commands: list[list[object]] = [["run", "e.yaml", "-j", 1]]
    if name != "missing value":  # which `info` shows
        commands.append(["datasets", "info", "bad.arff"])
    for command in commands:
        done = mlcdr(*command)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert line.startswith("error: ")
        assert message.removesuffix("of d") in line
    assert not Path("results/small/scores.csv").exists()


def test_plot_draws_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]) -> None:
    from mlcdr.tables import data_figures

    def touch(figure: object, stem: Path, title: str) -> list[Path]:
        paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png")]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return paths

    monkeypatch.setattr(data_figures, "save", touch)  # another test draws them
    arff = small.write_dataset(tmp_path / "one", "mine")
    done = mlcdr("datasets", "plot", str(arff), "--out", str(tmp_path / "drawn" / "here"), "--order", "similar")
    assert done.code == 0
    written = [Path(line) for line in done.out.splitlines()]
    assert [path.name for path in written][:3] == [
        "mine_label_correlations.svg", "mine_label_correlations.png", "mine_label_imbalance.svg",
    ]  # fmt: skip
    assert all(path.is_file() for path in written)
    for option, wrong in (("--order", "alphabet"), ("--projection", "lda")):
        mistaken = mlcdr("datasets", "plot", str(arff), option, wrong)
        assert mistaken.code == 2
        assert f"{wrong!r} is not one of" in mistaken.err
    assert mlcdr("datasets", "plot", "nowhere").code == 2
