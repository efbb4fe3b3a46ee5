"""What an experiment asks of its data sets that they do not have: found by reading them, before anything is computed.

The config alone cannot tell it: whether the data can be read, rows are enough for the splits, folds are as many as
rows, and no number of dimensions is larger than there are labels or features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlcdr import registry
from mlcdr.data.dataset import Dataset
from mlcdr.errors import ConfigError, UserError
from mlcdr.experiment.config import Experiment, MethodSpec, method_text
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.model import LABELLED
from mlcdr.experiment.splits import read_labelled
from mlcdr.registry import Component


def infeasible(experiment: Experiment) -> list[str]:
    """One line for each thing that the data sets do not allow, `key.path: what is wrong`; empty if all is well.

    A number of dimensions that is too large makes its trials fail; whatever else is told here keeps a run from
    beginning.
    """
    found: dict[str, None] = {}
    for i, spec in enumerate(experiment.datasets):
        source = DataSource.of(spec, experiment.splits)
        try:
            dataset = source.load()
        except UserError as error:
            found[f"datasets.{i}: {error}"] = None
            continue
        try:
            first = source.divide(dataset)[0]
            for value in experiment.sweep.get(LABELLED, ()):
                source.hiding(first, read_labelled(value), dataset)
        except ConfigError as error:
            found |= dict.fromkeys(error.problems)
        except UserError as error:
            found[f"splits: {error}"] = None
        found |= dict.fromkeys(_too_large(experiment, dataset))
    return list(found)


def _too_large(experiment: Experiment, dataset: Dataset) -> Iterator[str]:
    """The numbers of dimensions that are larger than what there is to choose from, where they are written."""
    for name, spec in experiment.methods.items():
        written: list[tuple[str, str, Any]] = [
            (path, f"sweep.{path}.{i}", value)
            for path, values in experiment.sweep.items()
            for i, value in enumerate(values)
        ]
        tune = spec.tune
        if tune is not None:
            grid, key = tune.grid, f"methods.{name}.tune.grid"
            if dataset.name in tune.grids:
                grid, key = tune.grids[dataset.name], f"methods.{name}.tune.grids.{dataset.name}"
            written += [(path, f"{key}.{path}", value) for path, values in grid.items() for value in values]
        for component, place in _placed(spec, name):
            for parameter, value in component.params.items():
                yield from _told(component, parameter, value, dataset, f"{place}.{component.name}.{parameter}")
        for path, key, value in written:
            at = spec.component_at(path)
            if at is not None and len(at[1]) == 1 and not at[2]:  # later steps see what the first one leaves
                yield from _told(at[0], at[1][0], value, dataset, key)


def _placed(spec: MethodSpec, name: str) -> Iterator[tuple[Component, str]]:
    """The components of a method that see the data set's own features and labels, with where they are written."""
    for component in (*spec.feature_space[:1], spec.dual_space, spec.label_space, spec.learner):
        if component is not None and not (component.family == "dual_space" and spec.feature_space):
            step = ".0" if component.family == "feature_space" and len(spec.feature_space) > 1 else ""
            yield component, f"methods.{name}.{component.family}{step}"


def _told(component: Component, parameter: str, value: Any, dataset: Dataset, key: str) -> Iterator[str]:
    bound = _bound(component, parameter, dataset)
    if bound is not None and isinstance(value, int) and not isinstance(value, bool) and value > bound[0]:
        yield f"{key}: {method_text(value)} is more than the {bound[0]} {bound[1]} of {dataset.name}"


def _bound(component: Component, parameter: str, dataset: Dataset) -> tuple[int, str] | None:
    """The largest number that a parameter of ours may be; None where it is no number of dimensions."""
    cls = registry.resolve(component.family, component.name)
    if not cls.__module__.startswith("mlcdr."):
        return None  # what a class of the user's own allows is not known
    features, labels = (dataset.n_features, "features"), (dataset.n_labels, "labels")
    if parameter in getattr(cls, "sizes_of_labels", ()):
        return labels
    known = {
        "feature_space": {"n_components": features, "n_features": features},
        "label_space": {"n_components": labels},
        "dual_space": {"n_components": min(features, labels), "n_features": features, "n_labels": labels},
    }
    return known.get(component.family, {}).get(parameter)
