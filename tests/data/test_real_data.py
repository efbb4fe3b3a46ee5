"""The real data sets, where $MLCDR_DATASETS holds them: the measured statistics, and liac-arff as the oracle."""

import csv
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import arff as liac
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mlcdr.data.arff import read_arff
from mlcdr.data.dataset import load_dataset
from tools.benchmarks.reading import PEAK

FOLDERS = [Path(part) for part in os.environ.get("MLCDR_DATASETS", "").split(os.pathsep) if part]
FOLDER = next((folder.resolve() for folder in FOLDERS if (folder / "STATS.csv").is_file()), None)
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="$MLCDR_DATASETS names no folder with the data sets and STATS.csv"
)

STATS = list(csv.DictReader((FOLDER / "STATS.csv").open())) if FOLDER else []
FILES = sorted(FOLDER.glob("*/*.arff")) if FOLDER else []
# The smallest of each folder by default: the others of a data set are written alike, and all are read for STATS.csv.
QUICK = {min(of, key=lambda path: path.stat().st_size) for _, of in groupby(FILES, key=lambda path: path.parent)}


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_DATASETS", str(FOLDER))


@pytest.mark.parametrize("expected", STATS, ids=[row["name"] for row in STATS])
def test_statistics(expected: dict[str, str]) -> None:
    data = load_dataset(expected["name"])
    facts = data.statistics()
    found = {
        key: f"{facts[key]:.6f}" if key in ("cardinality", "density") else str(facts[key])
        for key in expected
        if key in facts
    }
    assert found == {key: value for key, value in expected.items() if key in facts}
    assert len(found) == len(expected) - 2  # all but the name and the checksum


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path not in QUICK)) for path in FILES]
)
def test_liac_arff_reads_the_same(path: Path) -> None:
    ours = read_arff(path)
    with path.open(encoding="utf-8") as file:
        theirs = liac.load(file, return_type=liac.LOD if ours.is_sparse else liac.DENSE, encode_nominal=True)
    kinds = [tuple(kind) if isinstance(kind, list) else None for _, kind in theirs["attributes"]]
    assert [a.values for a in ours.attributes] == kinds
    names = [name for name, _ in theirs["attributes"]]
    if path.parent.name == "birds":  # its quoted names hold \', which liac-arff does not undo in names
        names = [name.replace("\\'", "'") for name in names]
    assert [a.name for a in ours.attributes] == names
    if ours.is_sparse:
        rows = [sorted((k, v) for k, v in row.items() if v) for row in theirs["data"]]
        assert_array_equal(np.diff(ours.values.indptr), [len(row) for row in rows])
        assert_array_equal(ours.values.indices, [k for row in rows for k, _ in row])
        assert_array_equal(ours.values.data, [v for row in rows for _, v in row])
    else:
        assert_array_equal(ours.values, np.array(theirs["data"], dtype=float))


TRAIN = {"yeast": 1500, "scene": 1211, "emotions": 391, "medical": 333, "enron": 1123, "birds": 322, "genbase": 463}


@pytest.mark.parametrize(("name", "n_train"), TRAIN.items())
def test_predefined_splits(name: str, n_train: int) -> None:
    split, full = load_dataset(name, part="predefined"), load_dataset(name)
    assert split.n_train == n_train
    assert split.n_instances == full.n_instances
    assert split.label_names == full.label_names
    assert_array_equal(np.sort(split.Y.sum(axis=1)), np.sort(full.Y.sum(axis=1)))


def test_facts_that_other_readers_get_wrong() -> None:
    genbase = load_dataset("genbase")
    assert genbase.n_features == 1185
    assert genbase.notices == ("feature 'protein' dropped: an identifier (662 values in 662 rows)",)
    assert 0 < genbase.X.mean() < 0.05  # {YES, NO}: YES is 1, and rare
    birds = load_dataset("birds")
    assert "location=13" in birds.feature_names
    assert "Swainson's Thrush" in birds.label_names
    assert "hasSegments" in birds.feature_names
    assert r"TAG_m\'usica" in load_dataset("delicious").label_names
    assert load_dataset("medical").label_names[0].startswith("Class-0-")  # its relation says the labels are first


def test_the_embedded_data_set_is_mulans() -> None:
    mulan = load_dataset("yeast")
    embedded = load_dataset(Path(__file__).parents[2] / "datasets" / "yeast")
    assert_array_equal(embedded.X, mulan.X)
    assert_array_equal(embedded.Y, mulan.Y)
    assert (embedded.feature_names, embedded.xml_label_names) == (mulan.feature_names, mulan.xml_label_names)
    for part in ("X", "Y"):
        whole = [
            getattr(load_dataset(p, part="predefined"), part)
            for p in ("yeast", Path(__file__).parents[2] / "datasets" / "yeast")
        ]
        assert_array_equal(*whole)


@pytest.mark.parametrize(
    "name", ["tmc2007-500/tmc2007-500", "scene/scene-train", "delicious/delicious", "bibtex/bibtex"]
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_memory_is_a_small_multiple_of_the_matrix(name: str) -> None:
    assert FOLDER is not None
    command = [sys.executable, "-c", PEAK, str(FOLDER / f"{name}.arff"), str(FOLDER / "flags/flags.arff")]
    assert float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) <= 4
