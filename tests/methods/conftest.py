"""What the tests of methods share: the outputs of authors' programs, and what these were given."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def sun2017(reference: Callable[[str], Path]) -> Callable[[str], np.ndarray]:
    """`sun2017(name)`: a matrix that the programs of Sun 2017 were given or put out, or skip."""
    folder = reference("sun2017_small")
    return lambda name: np.loadtxt(folder / f"{name}.csv", delimiter=",", ndmin=2)


@pytest.fixture
def training_rows() -> Callable[[str], np.ndarray]:
    """`training_rows(name)`: which rows of a data set the programs were given: all but fold 0."""

    def get(name: str) -> np.ndarray:
        path = Path(os.environ.get("MLCDR_FOLDS", "").split(os.pathsep)[0]) / f"{name}.5fold.csv"
        if not path.is_file():
            pytest.skip(f"set MLCDR_FOLDS to a folder with {path.name}")
        return np.loadtxt(path, skiprows=1, dtype=int) != 0

    return get


@pytest.fixture
def given(
    real_dataset: Callable[[str], Any], reference: Callable[[str], Path], training_rows: Callable[[str], np.ndarray]
) -> Callable[..., Any]:
    """`given(name, program)`: what a program was given (X, Y), and what it put out (a mapping), of a folder."""

    def get(name: str, program: str, folder: str = "extraction") -> Any:
        rows = training_rows(name)
        dataset = real_dataset(name)
        return dataset.X[rows], dataset.Y[rows], np.load(reference(folder) / f"{name}_{program}.npz")

    return get
