"""The examples of other programs, each run where its interpreter is: they give the numbers of the same method here."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import mlcdr
from mlcdr.experiment import shipped
from mlcdr.experiment.loading import load_experiment

EXAMPLES = [name for name in shipped.shipped_examples() if name.startswith("external/")]


def numbers(name: str, folder: Path, *, needs: str, **changes: Any) -> dict[str, list[float]]:
    """Method → all its scores but times, of an example that is run in an empty folder."""
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    for path in shipped.shipped_files(f"external/{name}"):
        shutil.copy(path, folder)
    results = mlcdr.run(folder / f"{name}.yaml", out=folder / "out", set=changes, trust=True, quiet=True, jobs=1)
    assert results.failures.empty, results.failures["traceback"][0]
    by_method = results.scores.groupby("method", sort=False)["value"]
    return {method: list(values) for method, values in by_method}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_right_where_its_program_is_not(name: str, tmp_path: Path) -> None:
    for path in shipped.shipped_files(name):
        shutil.copy(path, tmp_path)
    experiment = load_experiment(tmp_path / f"{Path(name).name}.yaml")
    assert experiment.name == Path(name).name


SMALL = {"datasets": [{"synthetic": {"n_instances": 60, "n_features": 5, "n_labels": 4, "seed": 1}}]}


def test_octave_is_our_ridge_regression_of_labels_and_of_codes(tmp_path: Path) -> None:
    found = numbers("octave_ridge", tmp_path, needs="octave", **SMALL)
    assert found["Octave"] == pytest.approx(found["Own"], abs=1e-9)
    assert found["Octave, CPLST"] == pytest.approx(found["Own, CPLST"], abs=1e-9)


def test_r_is_our_logistic_regression(tmp_path: Path) -> None:
    found = numbers("r_logistic", tmp_path, needs="Rscript", **SMALL)
    assert found["R"] == pytest.approx(found["Own"], abs=1e-9)


def test_weka_is_our_c45_fold_by_fold(tmp_path: Path) -> None:
    if "WEKA_JAR" not in os.environ and importlib.util.find_spec("weka") is None:
        pytest.skip("weka.jar is not at hand: set WEKA_JAR, or install python-weka-wrapper3")
    try:
        mlcdr.load_dataset("emotions")
    except mlcdr.DataError as error:
        pytest.skip(str(error))
    found = numbers("weka_j48", tmp_path, needs="java", datasets=["emotions"])
    assert found["WEKA"] == found["Own"]
