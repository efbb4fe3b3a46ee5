"""Numbers larger than what there is: of what is to be kept they are refused, of what is looked at they mean all."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np
import pytest
from sklearn.utils._param_validation import Interval

from mlcdr import MIM
from mlcdr.methods import registry
from mlcdr.testing.subject import PartSubject, make_problem
from tests import small
from tests.methods.problems import QUICK

FAR_TOO_MANY = 10**6
KEPT = {"n_candidates", "n_components", "n_features", "n_labels", "instances", "features"}
# that go with no size of the data: rounds, repetitions, exponents, seeds; or are ceilings that nothing is cut down to
OTHERS = {"max_iter", "steps", "patience", "degree", "random_state", "n_members", "n_models", "width", "min_instances"}
OTHERS |= {"min_count", "n_rounds", "n_thresholds", "n_learners", "n_starts", "cluster_size"}
OTHERS |= {"n_trees", "max_depth", "arity", "min_branch_size", "beam_size", "beam_width"}  # of trees of labels


def counts() -> Iterator[tuple[str, str, str]]:
    """Family, name and parameter, of the parameters that may be any whole number."""
    for family, known in registry.BUILT_IN.items():
        for name in known:
            rules = getattr(registry.resolve(family, name), "_parameter_constraints", {})
            for parameter, allowed in rules.items():
                if any(isinstance(each, Interval) and each.type is Integral and each.right is None for each in allowed):
                    yield family, name, parameter


def at_most(family: str, name: str) -> dict[str, str]:
    return getattr(registry.resolve(family, name), "at_most", {})


def subject(family: str, name: str, **params) -> PartSubject:
    small.skip_without_extra(family, name)
    cls = registry.resolve(family, name)
    needed = {"selector": MIM()} if name in ("same_for_all", "for_each_label") else {}
    return PartSubject(family, cls, {**needed, **QUICK.get(cls.__name__, {}), **params})


def test_every_count_is_of_a_kind():
    """A new method's is one of these, or is declared to be cut down."""
    told = {(name, parameter) for _, name, parameter in counts()}
    known = {(name, p) for family, name, p in counts() if p in KEPT | OTHERS or p in at_most(family, name)}
    # a root is a label's number (`checks_of_labels`); an instance space sets its clusterer's
    assert told - known == {("bayesian_classifier_chain", "root"), ("k_means", "n_clusters")}
    for family, name in {(family, name) for family, name, _ in counts()}:
        assert set(at_most(family, name)) <= {p for f, n, p in counts() if (f, n) == (family, name)}
        assert set(at_most(family, name).values()) <= {"rows", "labels"}


@pytest.mark.parametrize(("family", "name", "parameter"), [each for each in counts() if each[2] in at_most(*each[:2])])
def test_more_than_there_are_means_all(family, name, parameter):
    X, Y = make_problem(24, 5, 4)
    new = make_problem(9, 5, 4, seed=1)[0]
    there_are = {"rows": len(X), "labels": Y.shape[1]}[at_most(family, name)[parameter]]
    fixed = {"n_features": 2} if "n_features" in registry.parameters(registry.resolve(family, name)) else {}
    all_of_them = subject(family, name, **fixed, **{parameter: there_are})
    more = subject(family, name, **fixed, **{parameter: FAR_TOO_MANY})
    np.testing.assert_array_equal(more.score(X, Y, new), all_of_them.score(X, Y, new))


@pytest.mark.parametrize(
    ("family", "name", "parameter"),
    [each for each in counts() if each[2] in KEPT and each[2] not in at_most(*each[:2])],
)
def test_more_than_can_be_kept_is_refused(family, name, parameter):
    X, Y = make_problem(24, 5, 4)
    with pytest.raises(ValueError, match=f"^{parameter}={FAR_TOO_MANY} is more than the [0-9]+ there are$"):
        subject(family, name).compose(**{parameter: FAR_TOO_MANY}).fit(X, Y)
