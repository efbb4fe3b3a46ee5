"""scikit-learn's own checks, on every estimator there is."""

from __future__ import annotations

import contextlib

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlcdr import registry
from mlcdr.composition import ComposedClassifier
from mlcdr.dual_space.idsr import IDSR
from mlcdr.errors import UserError
from mlcdr.label_space.plst import PLST
from mlcdr.learners.least_squares import LeastSquares
from mlcdr.registry import Component
from mlcdr.thresholds import Maximise


def estimators():
    """One of each, at its defaults; of those that need an optional package, the ones that have it."""
    for family in ("feature_space", "dual_space", "label_space", "learner"):
        for name in registry.names(family):
            with contextlib.suppress(UserError):
                yield Component(family, name).build()
    yield ComposedClassifier(LeastSquares())
    yield ComposedClassifier(LeastSquares(), label_space=PLST())
    yield ComposedClassifier(LeastSquares(), dual_space=IDSR(), threshold=Maximise())
    yield ComposedClassifier(LeastSquares(), threshold=Maximise())


@parametrize_with_checks(list(estimators()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("family", ["feature_space", "dual_space", "label_space", "learner", "threshold"])
def test_docstrings_and_signatures_agree(family):
    """Every parameter is described, and nothing is described that is no parameter."""
    import inspect
    import re

    for name in registry.names(family):
        cls = registry.resolve(family, name)
        described: set[str] = set()
        for base in cls.__mro__:
            text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
            section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+|\Z)", text, re.S)
            if section:
                described |= {
                    n for names in re.findall(r"^(\w[\w, ]*) : ", section[1], re.M) for n in names.split(", ")
                }
        assert set(registry.parameters(cls)) <= described, name
