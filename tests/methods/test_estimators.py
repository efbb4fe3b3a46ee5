"""scikit-learn's own checks, on every estimator there is."""

from __future__ import annotations

import contextlib
from functools import partial
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from mlcdr.errors import UserError
from mlcdr.methods import registry
from mlcdr.methods.component import Component
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.dual_space.idsr import IDSR
from mlcdr.methods.ensembles.ensemble import Ensemble
from mlcdr.methods.label_space.identity import Identity
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.thresholds import Maximise, PCut
from tests.methods.problems import QUICK


def estimators():
    """One of each, at its defaults but for `QUICK`; of those that need an optional package, the ones that have it."""
    for family in ("feature_space", "dual_space", "label_space", "learner", "instance_space", "clusterer"):
        for name in registry.names(family):
            with contextlib.suppress(UserError):
                estimator = Component(family, name).build()
                yield estimator.set_params(**QUICK.get(type(estimator).__name__, {}))
    yield ComposedClassifier(LeastSquares())
    yield ComposedClassifier(LeastSquares(), label_space=PLST())
    yield ComposedClassifier(LeastSquares(), dual_space=IDSR(), threshold=Maximise())
    yield ComposedClassifier(LeastSquares(), threshold=Maximise())
    yield ComposedClassifier(LeastSquares(), threshold=Maximise("macro_f"))
    yield ComposedClassifier(LeastSquares(), threshold=PCut())
    yield ComposedClassifier(Ridge(0.1, "penalised"), label_space=Identity("plus_minus_one"))


def not_kept(estimator):
    """What an estimator does not keep of the contract, and why."""
    if isinstance(estimator, ComposedClassifier) and isinstance(estimator.threshold, PCut):
        return {"check_methods_subset_invariance": "a proportional cut looks at the whole batch"}
    if isinstance(estimator, Ensemble):
        return {"check_classifiers_train": "of two features each member sees one"}
    return {}


# The same check in its other form is by default: sparse arrays, and rows in memory that is only read.
REPEATED = {
    "check_estimator_sparse_matrix",
    "check_classifiers_train",
    "check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
    "check_estimators_pickle",
}


def name_of(check):
    """The name of a check, and its options."""
    if not isinstance(check, partial):
        return check.__name__
    options = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{check.func.__name__}({options})" if options else check.func.__name__


# A second of computing and more each; the laws of tests/test_commands_test.py are put to them by default.
SLOW = {"CBMLC", "CLMLC", "Ensemble", "MLkNN", "ReaderLEClassifier", "SLEEC"}


@pytest.mark.parametrize("repeated", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "estimator",
    [pytest.param(each, marks=[pytest.mark.slow] * (type(each).__name__ in SLOW)) for each in estimators()],
    ids=lambda each: type(each).__name__,
)
def test_scikit_learn_contract(estimator, repeated):
    done = 0
    for checked, check in estimator_checks_generator(
        estimator, expected_failed_checks=not_kept(estimator), mark="skip"
    ):
        name = name_of(check)
        if (name in REPEATED) != repeated:
            continue
        try:
            check(checked)
            done += 1
        except SkipTest:  # an optional package, or what is not kept
            continue
        except Exception as error:
            raise AssertionError(f"{estimator}: {name}") from error
    assert done >= (1 if repeated else 25)
