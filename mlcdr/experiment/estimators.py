"""From a method of the config to its estimator, and the facts of a fitted estimator that metrics show."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.trials import Trial
from mlcdr.methods.chains.binary_relevance import of_single_labels
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import declared, fitted_attribute, may_have_seed, seed_name


def build(spec: MethodSpec) -> ComposedClassifier:
    """The estimator of a method, whose parameters have been checked with the config.

    An instance space is a classifier, so it stands in the learner's place. Its `classifier` is the estimator made of
    the other parts; or the learner itself, if that is a classifier and there are no other parts.
    """
    learner = spec.learner.build()
    line = ComposedClassifier(
        learner=learner if spec.label_space or spec.dual_space else of_single_labels(learner),
        label_space=spec.label_space.build() if spec.label_space else None,
        feature_space=tuple(step.build() for step in spec.feature_space) or None,
        threshold=spec.threshold.build() if spec.threshold else None,
        dual_space=spec.dual_space.build() if spec.dual_space else None,
    )
    if spec.instance_space is None:
        return line
    is_alone = spec.components() == (spec.learner, spec.instance_space)
    inner = line.learner if is_alone and is_classifier(line.learner) else line
    whole = spec.instance_space.build()
    return ComposedClassifier(whole.set_params(classifier=inner))


def seeded(estimator: ComposedClassifier, seed: int, trial: Trial) -> ComposedClassifier:
    """Give every part with an open `random_state` one of its own, from the data set's, split's and method's names."""
    parts = [estimator.label_space, estimator.learner, *(estimator.feature_space or ()), estimator.dual_space]
    inner = vars(estimator.learner).get("classifier")
    if isinstance(inner, ComposedClassifier):  # `get_params` does not look into a tuple
        parts += inner.feature_space or ()
    for position, part in enumerate(parts):
        if not may_have_seed(part):
            continue
        for name, value in sorted(part.get_params().items()):
            is_seed = name == "random_state" or name.endswith("__random_state")
            if is_seed and value is None:
                names = (trial.dataset, trial.split, trial.method, position, seed_name(part, name))
                (drawn,) = seed_sequence(seed, *names).generate_state(1)
                part.set_params(**{name: int(drawn)})
    return estimator


def features_kept(estimator: ComposedClassifier) -> dict[str, Any]:
    """The dimensions of the last step of the feature space, and how well it was fitted (a dual space does not count as
    a step: its code is not kept); the dimensions and the clusters of an instance space.
    """
    part = None
    for step in estimator.feature_steps_:
        if step is not estimator.label_space_:
            part = step
    if declared(estimator.learner_, "decomposes_instances"):
        part = estimator.learner_
    found = {fact: fitted_attribute(part, name) for fact, name in _FACTS.items()}
    return {fact: value for fact, value in found.items() if value is not None}


_FACTS = {
    "n_dimensions": "n_components_",
    "eigenvalue_share": "eigenvalue_share_",
    "objective": "final_objective_",
    "cluster_instances": "cluster_sizes_",
    "cluster_labels": "cluster_n_labels_",
}
"""Metric → the fitted attribute of a part that it shows."""
