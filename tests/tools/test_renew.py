"""Digests of the record are made anew only where the present code is proved to compute the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mlcdr.experiment.keys import codes
from mlcdr.methods.provenance import ROOMS
from mlcdr.papers import recipes
from mlcdr.papers.stored import StoredRun, read_record
from tools.renew import find_code_in, read_data_of, renewed_checksums, renewed_code

HERE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run() -> StoredRun:
    """The stored run of PLST and CPLST on the embedded data set and others."""
    return next(run for run in read_record() if run.name == "chen_lin_2012/table3_small")


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """A checkout of the rooms that compute."""
    for room in ROOMS:
        shutil.copytree(HERE / "mlcdr" / room, tmp_path / "mlcdr" / room)
    return tmp_path


def test_code_that_differs_in_words_alone_is_renewed(run: StoredRun, former: Path) -> None:
    path = former / "mlcdr" / "numerics" / "linalg.py"
    path.write_text(f'"""Other words."""\n{path.read_text()}')
    assert renewed_code(run, find_code_in(former), find_code_in(HERE)) == codes(run.experiment)


def test_code_that_differs_keeps_its_digest(run: StoredRun, former: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, *others = run.manifest.code
    path = former / "mlcdr" / "methods" / "label_space" / f"{name.lower()}.py"
    path.write_text(f"{path.read_text()}\nFACTOR = 2\n")
    found = renewed_code(run, find_code_in(former), find_code_in(HERE))
    assert found[name] == run.manifest.code[name]
    assert {other: found[other] for other in others} == {other: codes(run.experiment)[other] for other in others}
    expected = f"{run.name}: {name} is computed by other code now: mlcdr.methods.label_space.{name.lower()}\n"
    assert capsys.readouterr().out == expected


def test_a_data_set_is_renewed_where_the_same_was_read_from_the_same_files(run: StoredRun) -> None:
    lacking = recipes.missing([run.experiment])
    known = read_data_of(HERE, [run], lacking)
    of_yeast = known["yeast full"]
    assert of_yeast[0] == of_yeast[1], "a checksum is of X and Y"
    stored = run.manifest.datasets["yeast"]["checksum"]
    assert renewed_checksums(run, {"yeast full": [stored, of_yeast[1]]}, lacking) == {"yeast": of_yeast[1]}
    assert renewed_checksums(run, {"yeast full": [stored, "other"]}, lacking) == {}
    assert renewed_checksums(run, {"yeast full": ["other", of_yeast[1]]}, lacking) == {}
