"""scikit-learn's own checks, on every estimator there is."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from unittest import SkipTest

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

import mlcdr
from mlcdr import IDSR, PLST, ComposedClassifier, Ensemble, Identity, LeastSquares, Maximise, PCut, Ridge, UserError
from mlcdr.methods import registry
from mlcdr.methods.component import Component
from tests.methods.problems import QUICK

FAMILIES = ("feature_space", "dual_space", "label_space", "learner", "instance_space", "clusterer", "local_features")

THRESHOLDS = (Maximise(), PCut())  # that are learned: of scores in the place of features

# The public classes to which scikit-learn's checks are not put, or which do not keep one of them; `python.md` has them.
UNCHECKED = {
    "FeatureStep": "a base",
    "LabelSpace": "a base",
    "Learner": "a base",
    "LinearLabelSpace": "a base",
    "Threshold": "a base",
    "Fixed": "has nothing to fit",
    "RCut": "has nothing to fit",
    "Round": "has nothing to fit",
    "Zero": "has nothing to fit",
    "External": "needs a command",
    "ExternalRegressor": "needs a command",
    "LibMultiLabelLinear": "needs another package",
    "Omikuji": "needs another package",
    "WekaM5P": "needs another package",
}


def estimators():
    """One of each, at its defaults but for `QUICK`; of those that need an optional package, the ones that have it.

    Commands (`external`) have their own tests: to run a program for each of hundreds of fits would take minutes.
    """
    for family in FAMILIES:
        for name in registry.names(family):
            if Component(family, name).declaration().runs_command:
                continue
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


def test_every_public_estimator_is_checked_or_named_on_the_page():
    checked = {type(each).__name__ for each in (*estimators(), *THRESHOLDS)}
    public = set()
    for name in mlcdr.__all__:
        found = getattr(mlcdr, name)
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            public.add(name)
    assert public - checked <= set(UNCHECKED)
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    assert [name for name in [*UNCHECKED, "Ensemble"] if f"`{name}`" not in page] == []


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


# What a class makes of its own parameters and of little data; the rest asks of what is inherited.
OWN = {
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_estimator_cloneable",
    "check_dont_overwrite_attributes",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
}


def way_of_fitting(estimator):
    """The classes that look at what is given and returned: where they are the same, the same lines check it."""
    methods = ("fit", "predict", "transform", "encode")
    return tuple(next((cls for cls in type(estimator).__mro__ if name in vars(cls)), None) for name in methods)


def cases():
    """All checks for one estimator of each way of fitting, and for the others by default those in `OWN`."""
    ways, found = set(), []
    for each in (*estimators(), *THRESHOLDS):
        name, way = type(each).__name__, way_of_fitting(each)
        found.append(pytest.param(each, "all", id=name, marks=[pytest.mark.slow] * (way in ways)))
        found.append(pytest.param(each, "repeated", id=f"{name}-repeated", marks=pytest.mark.slow))
        if way in ways:
            found.append(pytest.param(each, "own", id=f"{name}-own"))
        ways.add(way)
    return found


LEAST = {"all": 25, "own": 4, "repeated": 1}


@pytest.mark.parametrize(("estimator", "which"), cases())
def test_an_estimator_keeps_the_contract_of_scikit_learn(estimator, which):
    done = 0
    for checked, check in estimator_checks_generator(
        estimator, expected_failed_checks=not_kept(estimator), mark="skip"
    ):
        name = name_of(check)
        if (name in REPEATED) != (which == "repeated") or (which == "own" and name not in OWN):
            continue
        try:
            check(checked)
            done += 1
        except SkipTest:  # an optional package, or what is not kept
            continue
        except Exception as error:
            raise AssertionError(f"{estimator}: {name}") from error
    assert done >= LEAST[which]
