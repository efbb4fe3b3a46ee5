"""The part under test as part of a method, and the problems that it is fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from mlcdr.experiment.families import size_parameter_of
from mlcdr.methods import registry
from mlcdr.methods.chains.bayesian_classifier_chain import BayesianClassifierChain
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import Learner, declared
from mlcdr.methods.instance_space.cbmlc import CBMLC
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.methods.learners.kernel_ridge import KernelRidge
from mlcdr.methods.learners.least_squares import LeastSquares

Array = NDArray[Any]


@dataclass(frozen=True)
class Subject:
    """A part under test: its family, class, and a function that makes a new instance."""

    family: str
    cls: type
    make: Callable[..., Any]

    def compose(self, **changes: Any) -> ComposedClassifier:
        """A method that contains the part."""
        part = self.make(**changes)
        if self.family == "learner":
            return ComposedClassifier(make_multi_label(part))
        if self.family == "instance_space":
            return ComposedClassifier(part)
        if self.family == "clusterer":
            return ComposedClassifier(CBMLC(BinaryRelevance(), n_clusters=3, clusterer=part, random_state=0))
        if self.family == "feature_space":
            return ComposedClassifier(LeastSquares(), feature_space=[part])
        if self.family == "local_features":  # one label with its parent
            return ComposedClassifier(BayesianClassifierChain(root="strongest", features=part))
        learner = KernelRidge() if issubclass(self.cls, KernelLabelSpace) else LeastSquares()
        return ComposedClassifier(learner, **{self.family: part})

    def compose_small(self) -> ComposedClassifier:
        """The same with 3 dimensions, if it has a number of dimensions that is not set."""
        name = size_parameter_of(self.cls)
        free = name in registry.parameters(self.cls) and getattr(self.make(), name, None) is None
        return self.compose(**({name: 3} if free else {}))

    def score(self, X: Any, Y: Any, new: Any) -> Array:
        """Fit to (X, Y) and score new rows: real scores, or label sets of a classifier."""
        model = self.compose_small().fit(X, Y)
        if is_classifier(model.learner):
            return np.asarray(model.predict(new), dtype=float)
        return np.asarray(model.decision_function(new), dtype=float)


def make_multi_label(learner: Any) -> Any:
    """A learner as it stands in a method: a classifier of one label as the base of binary relevance.

    A class whose scikit-learn tags do not show this counts as one if it cannot be fitted to label sets.
    """
    alone = is_classifier(learner) and not get_tags(learner).classifier_tags.multi_label
    return BinaryRelevance(learner) if alone and not _fits_label_sets(learner) else learner


def _fits_label_sets(classifier: Any) -> bool:
    if declared(classifier, "one_label", Learner):
        return False
    X, Y = make_problem()
    try:
        return np.shape(clone(classifier).fit(X, Y).predict(X)) == Y.shape
    except Exception:  # the laws report the exception
        return False


def make_problem(n: int = 80, d: int = 8, k: int = 5, seed: int = 0) -> tuple[Array, Array]:
    """Features and labels that depend on them; no two labels have the same frequency."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, k)) / np.sqrt(d) + 0.3 * rng.standard_normal((n, k))
    counts = np.linspace(0.6, 0.15, k) * n
    order = np.argsort(np.argsort(-scores, axis=0), axis=0)
    return X, (order < np.round(counts)).astype(np.uint8)


def make_count_features(seed: int = 0) -> tuple[Array, Array]:
    """The same with non-negative features that are mostly zero."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (80, 8)).astype(float) * rng.uniform(0.5, 2, 8)
    return X, make_problem(seed=seed)[1]
