"""What the tests of methods share: the outputs of an author's program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def sun2017(reference: Callable[[str], Path]) -> Callable[[str], np.ndarray]:
    """`sun2017(name)`: a matrix that the programs of Sun 2017 were given or put out, or skip."""
    folder = reference("sun2017_small")
    return lambda name: np.loadtxt(folder / f"{name}.csv", delimiter=",", ndmin=2)
