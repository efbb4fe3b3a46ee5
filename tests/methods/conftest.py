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
def given(real_dataset: Callable[[str], Any], reference: Callable[[str], Path]) -> Callable[[str, str], Any]:
    """`given(name, program)`: what a program was given, folds 1 to 4 (X, Y), and what it put out (a mapping)."""
    folder = reference("extraction")
    folds = Path(os.environ.get("MLCDR_FOLDS", "").split(os.pathsep)[0])

    def get(name: str, program: str) -> Any:
        if not (folds / f"{name}.5fold.csv").is_file():
            pytest.skip(f"set MLCDR_FOLDS to a folder with {name}.5fold.csv")
        dataset = real_dataset(name)
        train = np.loadtxt(folds / f"{name}.5fold.csv", skiprows=1, dtype=int) != 0
        return dataset.X[train], dataset.Y[train], np.load(folder / f"{name}_{program}.npz")

    return get
