"""What is tested, a part of a method or a metric, and the problems that it is tested on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from mlcdr.experiment.families import size_parameter_of
from mlcdr.methods import contracts, registry
from mlcdr.methods.chains.bayesian_classifier_chain import BayesianClassifierChain
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.instance_space.cbmlc import CBMLC
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.methods.learners.kernel_ridge import KernelRidge
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.metrics import Counts, Outcome, Scores, of_function

Array = NDArray[Any]
Order = slice | NDArray[np.intp]

METRIC = "metric"
"""The family of a metric, which is a function and no part of a method."""

_AS_THEY_ARE = slice(None)


def make_problem(n: int = 80, d: int = 8, k: int = 5, seed: int = 0) -> tuple[Array, Array]:
    """Features and labels that depend on them; no two labels have the same frequency. They are read-only."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, k)) / np.sqrt(d) + 0.3 * rng.standard_normal((n, k))
    # one threshold a label: the labels have 60 % of the rows, and so on down to 15 %
    thresholds = np.quantile(scores, np.linspace(0.4, 0.85, k), axis=0).diagonal()
    Y = (scores > thresholds).astype(np.uint8)
    X.setflags(write=False)
    Y.setflags(write=False)
    return X, Y


X, Y = make_problem()
NEW, _ = make_problem(seed=1)
"""What parts are fitted to, and new rows."""


@dataclass(frozen=True)
class Subject:
    """What is tested.

    Attributes
    ----------
    family : str
        The part of a method that a class is used as, or `METRIC`.
    target : type or function
    """

    family: str
    target: Any

    @property
    def name(self) -> str:
        """The name by which a config refers to it: `my_method.Mine`."""
        return f"{self.target.__module__}.{self.target.__qualname__}"

    def scores(self, rows: Order = _AS_THEY_ARE, labels: Order = _AS_THEY_ARE) -> Array:
        """What it gives for the rows and labels of `make_problem` in some order; by label, in the original order."""
        raise NotImplementedError


@dataclass(frozen=True)
class PartSubject(Subject):
    """A class that is used as a part of a method, and parameters of its instances."""

    params: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **changes: Any) -> Any:
        """A new instance; what is random in it has a seed."""
        part = self.target(**{**self.params, **changes})
        if not contracts.has_parameters(part):
            return part
        for name, value in part.get_params().items():
            if name.rpartition("__")[2] == "random_state" and value is None:
                part.set_params(**{name: 0})
        return part

    def compose(self, **changes: Any) -> ComposedClassifier:
        """A method that contains a new instance."""
        part = self.make(**changes)
        if self.family == "feature_space":
            return ComposedClassifier(LeastSquares(), feature_space=[part])
        if self.family == "learner":
            return ComposedClassifier(BinaryRelevance(part) if is_for_one_label(part) else part)
        if self.family == "instance_space":
            return ComposedClassifier(part)
        if self.family == "clusterer":
            return ComposedClassifier(CBMLC(BinaryRelevance(), n_clusters=3, clusterer=part, random_state=0))
        if self.family == "local_features":  # one label with its parent
            return ComposedClassifier(BayesianClassifierChain(root="strongest", features=part))
        learner = KernelRidge() if issubclass(self.target, KernelLabelSpace) else LeastSquares()
        return ComposedClassifier(learner, **{self.family: part})

    def compose_small(self) -> ComposedClassifier:
        """The same with 3 dimensions, or features, if it has a number of them that is not set."""
        part = self.make()
        reduced = {}
        for name in (size_parameter_of(self.target), "n_features"):
            if name in registry.parameters(self.target) and getattr(part, name, 0) is None:
                reduced[name] = 3
        return self.compose(**reduced)

    def score(self, X: Any, Y: Any, new: Any) -> Array:
        """Fit to (X, Y) and score new rows: real scores, or label sets of a classifier."""
        return score(self.compose_small().fit(X, Y), new)

    def scores(self, rows: Order = _AS_THEY_ARE, labels: Order = _AS_THEY_ARE) -> Array:
        """The scores of new rows."""
        order = np.arange(Y.shape[1])[labels]
        found = self.score(X[rows], Y[rows][:, order], NEW)
        return found[:, np.argsort(order)]


@dataclass(frozen=True)
class MetricSubject(Subject):
    """The function of a metric."""

    def measure(self, truth: Array, predicted: Array, scores: Array | None) -> float:
        """The value of predictions, as in a run."""
        ranked = None if scores is None else Scores(truth, scores)
        metric = of_function(self.target.__name__, self.target)
        return metric.of(Outcome(Counts(truth, predicted), ranked), {})

    def scores(self, rows: Order = _AS_THEY_ARE, labels: Order = _AS_THEY_ARE) -> Array:
        """The value of ordinary predictions."""
        truth, predicted, scores = (each[rows][:, labels] for each in make_predictions())
        return np.array([self.measure(truth, predicted, scores)])


def score(model: ComposedClassifier, X: Any) -> Array:
    """Real scores of rows, or label sets of a classifier."""
    found = model.predict(X) if is_classifier(model.learner) else model.decision_function(X)
    return np.asarray(found, dtype=float)


def is_for_one_label(learner: Any) -> bool:
    """Whether a learner is a classifier of one label, which stands in binary relevance.

    A class whose scikit-learn tags do not show this counts as one if it cannot be fitted to label sets.
    """
    if not is_classifier(learner) or contracts.takes_label_sets(learner):
        return False
    if contracts.declared(learner, "one_label", contracts.Learner):
        return True
    try:
        return np.shape(clone(learner).fit(X, Y).predict(X)) != Y.shape
    except Exception:  # the laws report it
        return True


def make_count_features(seed: int = 0) -> Array:
    """Features for the same labels that are not negative, and mostly zero."""
    rng = np.random.default_rng(seed)
    return rng.poisson(0.4, (80, 8)) * rng.uniform(0.5, 2, 8)


def make_predictions() -> tuple[Array, Array, Array]:
    """True label sets, ordinary predictions of them, and the scores of the latter."""
    scores = 0.6 * Y + 0.7 * np.random.default_rng(0).random(Y.shape)
    return Y, (scores > 0.5).astype(np.uint8), scores
