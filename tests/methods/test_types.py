"""What a type checker, and so an editor, knows of a part: its constructor, and what its methods return."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api", reason="needs mypy")

USE = """
import mlcdr
import numpy as np

X, Y = np.zeros((3, 2)), np.zeros((3, 2), dtype=int)
mlcdr.MVMD(beta=0.5, n_components={"eigenvalues": 0.999})
mlcdr.OCC(mlcdr.Ridge(), n_parents=3)
model: mlcdr.ComposedClassifier = mlcdr.ComposedClassifier(mlcdr.Ridge(2.0), label_space=mlcdr.CPLST(5)).fit(X, Y)
scores: str = mlcdr.PCA().fit(X, Y).transform(X)
mlcdr.CPLST(n_component=3)
mlcdr.Ridge(alfa=2)
mlcdr.Ridge(alpha="many")
"""
WRONG = {
    "scores: str": 'expression has type "ndarray',
    "n_component=3": 'Unexpected keyword argument "n_component" for "CPLST"; did you mean "n_components"?',
    "alfa=2": 'Unexpected keyword argument "alfa" for "Ridge"',
    'alpha="many"': 'Argument "alpha" to "Ridge" has incompatible type "str"; expected "float"',
}


def test_a_type_checker_refuses_wrong_parameters_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "use.py"
    path.write_text(USE)
    settings = Path(__file__).parents[2] / "pyproject.toml"
    found, errors, _ = api.run([str(path), "--config-file", str(settings), "--no-error-summary"])
    wrong = re.findall(r"use\.py:(\d+): error: (.*)", found)
    assert len(wrong) == len(WRONG), found + errors
    for (number, message), (written, expected) in zip(wrong, WRONG.items(), strict=True):
        assert written in USE.splitlines()[int(number) - 1]
        assert expected in message
