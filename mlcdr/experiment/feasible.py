"""What an experiment asks of its data sets that they do not have: found by reading them, before anything is computed.

The config alone cannot tell it: whether the data can be read, rows are enough for the splits, folds are as many as
rows, no number of dimensions is larger than there are labels or features, and what names labels (a chain's order, sets
of labels) names those there are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
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
        n_train = dataset.n_instances
        try:
            first = source.divide(dataset)[0]
            n_train = len(first.train) + len(first.unlabelled)
            for value in experiment.sweep.get(LABELLED, ()):
                source.hiding(first, read_labelled(value), dataset)
        except ConfigError as error:
            found |= dict.fromkeys(error.problems)
        except UserError as error:
            found[f"splits: {error}"] = None
        found |= dict.fromkeys(_unfit(experiment, dataset, n_train))
    return list(found)


def _unfit(experiment: Experiment, dataset: Dataset, n_train: int) -> Iterator[str]:
    """The parameters that a data set of this size does not allow, where they are written."""
    whole = _Sizes(dataset.name, n_train, dataset.n_features, dataset.n_labels)
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
        varied: dict[str, list[Any]] = {}
        for path, _, value in written:
            varied.setdefault(path, []).append(value)
        places = {place.path: place for place in _places(spec)}
        sizes: dict[str, _Sizes] = {}
        for place in places.values():  # those that others are parts of first
            seen = sizes.get(place.path.rpartition(".")[0], whole)
            for parameter, value in place.component.params.items():
                yield from place.told(parameter, value, seen, f"methods.{name}.{place.written}.{parameter}")
            for path, key, value in written:
                of, _, parameter = path.rpartition(".")
                # later steps see what the first one leaves
                of = "feature_space" if of == "feature_space.0" and len(spec.feature_space) == 1 else of
                if of == place.path:
                    yield from place.told(parameter, value, seen, key)
            sizes[place.path] = place.of_parts(seen, varied)


@dataclass(frozen=True)
class _Sizes:
    """What a component sees of a data set: how many training rows, features and labels; or some of them as a member."""

    dataset: str
    rows: int
    features: int
    labels: int
    member: str = ""

    @property
    def of(self) -> str:
        """Whose sizes they are."""
        return f"{self.dataset}{self.member}"


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

    def told(self, parameter: str, value: Any, seen: _Sizes, key: str) -> Iterator[str]:
        """What is wrong with a parameter's value, which stands at `key`."""
        bound = self._bound(parameter, seen)
        number = isinstance(value, int) and not isinstance(value, bool)
        if bound is not None and number and value > bound[0]:
            yield f"{key}: {method_text(value)} is more than the {bound[0]} {bound[1]} of {seen.of}"
        if number and self.features and hasattr(self._class, "sizes_of_a_member"):
            try:
                self._with({parameter: value}).sizes_of_a_member(seen.rows, seen.features)
            except ValueError as error:
                if str(error).startswith(f"{parameter}="):
                    yield f"{key}: {str(error).removeprefix(f'{parameter}=')} ({seen.of})"
        check = getattr(self._class, "checks_of_labels", {}).get(parameter) if self.labels else None
        if check is not None:
            try:
                check(value, seen.labels)
            except (TypeError, ValueError) as error:
                yield f"{key}: {str(error).removeprefix(f'{parameter}: ')} ({seen.of})"

    def of_parts(self, seen: _Sizes, varied: Mapping[str, list[Any]]) -> _Sizes:
        """What its parts see: of a member that draws from the rows and the features, the fewest that it may get."""
        if not hasattr(self._class, "sizes_of_a_member"):
            return seen
        own = {
            path.rpartition(".")[2]: values for path, values in varied.items() if path.rpartition(".")[0] == self.path
        }
        found = []
        for values in product(*own.values()):
            with contextlib.suppress(ValueError):  # which is told where the number stands
                member = self._with(dict(zip(own, values, strict=True)))
                found.append(member.sizes_of_a_member(seen.rows, seen.features))
        if not found:
            return seen
        rows, features = map(min, zip(*found, strict=True))
        return replace(seen, rows=rows, features=features, member=f" that a member of the {self.component.name} gets")

    def _with(self, values: Mapping[str, Any]) -> Any:
        """The estimator with other values of some parameters."""
        component = self.component
        return Component(component.family, component.name, {**component.params, **values}).build(check=False)

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

    def _bound(self, parameter: str, seen: _Sizes) -> tuple[int, str] | None:
        """The largest number that a parameter of ours may be; None where it is no number of dimensions."""
        if not self._class.__module__.startswith("mlcdr."):
            return None  # what a class of the user's own allows is not known
        features, labels = (seen.features, "features"), (seen.labels, "labels")
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
