"""What the laws are put to: a part in its place in a method, and the problems that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from mlcdr.experiment.families import size_parameter_of
from mlcdr.methods import registry
from mlcdr.methods.chains.bayesian_classifier_chain import BayesianClassifierChain
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.instance_space.cbmlc import CBMLC
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.methods.learners.kernel_ridge import KernelRidge
from mlcdr.methods.learners.least_squares import LeastSquares

Array = NDArray[Any]


@dataclass(frozen=True)
class Subject:
    """A part under test: its family, and how to make one anew."""

    family: str
    cls: type
    make: Callable[..., Any]

    def composed(self, **changes: Any) -> ComposedClassifier:
        """The part in its place."""
        part = self.make(**changes)
        if self.family == "learner":
            return ComposedClassifier(of_label_sets(part))
        if self.family == "instance_space":
            return ComposedClassifier(part)
        if self.family == "clusterer":
            return ComposedClassifier(CBMLC(BinaryRelevance(), n_clusters=3, clusterer=part, random_state=0))
        if self.family == "feature_space":
            return ComposedClassifier(LeastSquares(), feature_space=[part])
        if self.family == "local_features":  # a label beside its parent
            return ComposedClassifier(BayesianClassifierChain(root="strongest", features=part))
        learner = KernelRidge() if issubclass(self.cls, KernelLabelSpace) else LeastSquares()
        return ComposedClassifier(learner, **{self.family: part})

    def reduced(self) -> ComposedClassifier:
        """The same where it has to leave something out, if it has a number of dimensions that nobody set."""
        name = size_parameter_of(self.cls)
        free = name in registry.parameters(self.cls) and getattr(self.make(), name, None) is None
        return self.composed(**({name: 3} if free else {}))

    def scores(self, X: Any, Y: Any, new: Any) -> Array:
        """What a fit to (X, Y) says of new rows: real scores, or a classifier's label sets."""
        model = self.reduced().fit(X, Y)
        if is_classifier(model.learner):
            return np.asarray(model.predict(new), dtype=float)
        return np.asarray(model.decision_function(new), dtype=float)


def of_label_sets(learner: Any) -> Any:
    """A learner as it stands in a method: a classifier of one label as the base of binary relevance."""
    if is_classifier(learner) and not get_tags(learner).classifier_tags.multi_label:
        return BinaryRelevance(learner)
    return learner


def problem(n: int = 80, d: int = 8, k: int = 5, seed: int = 0) -> tuple[Array, Array]:
    """Features and labels that depend on them, no two labels equally frequent."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, k)) / np.sqrt(d) + 0.3 * rng.standard_normal((n, k))
    counts = np.linspace(0.6, 0.15, k) * n
    order = np.argsort(np.argsort(-scores, axis=0), axis=0)
    return X, (order < np.round(counts)).astype(np.uint8)


def count_features(seed: int = 0) -> tuple[Array, Array]:
    """The same with features that are mostly zero."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (80, 8)).astype(float) * rng.uniform(0.5, 2, 8)
    return X, problem(seed=seed)[1]
