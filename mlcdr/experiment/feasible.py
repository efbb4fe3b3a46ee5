"""What an experiment asks of its data sets that they do not have: found by reading them, before anything is computed.

The config alone cannot tell it: whether the data can be read, rows are enough for the splits, folds are as many as
rows, no number of dimensions is larger than there are labels or features, and what names labels (a chain's order, sets
of labels) names those there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

    A parameter that does not fit the data set's size makes its trials fail; whatever else is told here keeps a run from
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
        found |= dict.fromkeys(_unfit(experiment, dataset))
    return list(found)


def _unfit(experiment: Experiment, dataset: Dataset) -> Iterator[str]:
    """The parameters that a data set of this size does not allow, where they are written."""
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
        places = {place.path: place for place in _places(spec)}
        for place in places.values():
            for parameter, value in place.component.params.items():
                yield from place.told(parameter, value, dataset, f"methods.{name}.{place.written}.{parameter}")
        for path, key, value in written:
            of, _, parameter = path.rpartition(".")
            at = places.get("feature_space" if of == "feature_space.0" and len(spec.feature_space) == 1 else of)
            if at is not None:  # later steps see what the first one leaves
                yield from at.told(parameter, value, dataset, key)


@dataclass(frozen=True)
class _Place:
    """A component that sees the data set's own features, or its own labels.

    Attributes
    ----------
    path, written : str
        The path by which a sweep finds it, and that in the config's file.
    features, labels : bool
        Whether it sees no other features than the data set's, and all labels.
    """

    component: Component
    path: str
    written: str
    features: bool
    labels: bool

    def told(self, parameter: str, value: Any, dataset: Dataset, key: str) -> Iterator[str]:
        """What is wrong with a parameter's value, which stands at `key`."""
        bound = self._bound(parameter, dataset)
        if bound is not None and isinstance(value, int) and not isinstance(value, bool) and value > bound[0]:
            yield f"{key}: {method_text(value)} is more than the {bound[0]} {bound[1]} of {dataset.name}"
        check = getattr(self._class, "checks_of_labels", {}).get(parameter) if self.labels else None
        if check is not None:
            try:
                check(value, dataset.n_labels)
            except (TypeError, ValueError) as error:
                yield f"{key}: {str(error).removeprefix(f'{parameter}: ')} ({dataset.name})"

    def parts(self) -> Iterator[_Place]:
        """The components in it that see what it sees."""
        families = getattr(self._class, "component_parameters", {})
        for parameter in getattr(self._class, "parts_of_all_labels", ()):
            if isinstance(self.component.params.get(parameter), str | Mapping):
                part = Component.parse(families[parameter], self.component.params[parameter])
                path, written = (f"{place}.{parameter}" for place in (self.path, self.written))
                place = _Place(part, path, f"{written}.{part.name}", self.features, self.labels)
                yield place
                yield from place.parts()

    @property
    def _class(self) -> Any:
        return registry.resolve(self.component.family, self.component.name)

    def _bound(self, parameter: str, dataset: Dataset) -> tuple[int, str] | None:
        """The largest number that a parameter of ours may be; None where it is no number of dimensions."""
        if not self._class.__module__.startswith("mlcdr."):
            return None  # what a class of the user's own allows is not known
        features, labels = (dataset.n_features, "features"), (dataset.n_labels, "labels")
        if parameter in getattr(self._class, "sizes_of_labels", ()):
            return labels
        if parameter == "n_features":
            return features if self.features else None
        known = {
            "feature_space": {"n_components": features},
            "label_space": {"n_components": labels},
            "dual_space": {"n_components": min(features, labels), "n_labels": labels},
        }
        return known.get(self.component.family, {}).get(parameter)


def _places(spec: MethodSpec) -> Iterator[_Place]:
    """The components of a method that see the data set's own features and labels."""
    alone = spec.instance_space is None and spec.dual_space is None  # whether nothing else is between
    own_features, own_labels = alone and not spec.feature_space, alone and spec.label_space is None
    for component in (*spec.feature_space[:1], spec.dual_space, spec.label_space, spec.learner):
        if component is not None and not (component.family == "dual_space" and spec.feature_space):
            step = ".0" if component.family == "feature_space" and len(spec.feature_space) > 1 else ""
            path = f"{component.family}{step}"
            features = own_features or component is not spec.learner
            place = _Place(component, path, f"{path}.{component.name}", features, own_labels)
            yield place
            yield from place.parts()
