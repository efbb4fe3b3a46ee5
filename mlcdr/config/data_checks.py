"""An experiment compared with its data sets, which are read before anything is computed.

These are mistakes, which the config alone does not show: data that cannot be read, too few rows for the splits, a file
of folds with another number of rows, more dimensions than there are labels or features, and names of labels (a chain's
order, sets of labels) that the data set does not have.

Other numbers, of neighbours, clusters or labels of a group, are cut down to what there is, which differs from one part
of the data to the next. A number that is larger than even the whole data set allows is reported as a remark.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from mlcdr.data.dataset import Dataset
from mlcdr.errors import ConfigError, UserError
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.model import LABELLED, Experiment, MethodSpec, method_text
from mlcdr.experiment.splits import read_labelled
from mlcdr.experiment.tune import listed
from mlcdr.methods import contracts, registry
from mlcdr.methods.component import Component
from mlcdr.methods.declarations import Declaration


@dataclass(frozen=True)
class Findings:
    """The result of comparing an experiment with its data sets, or of trying it: lines `key.path: what is wrong`.

    Attributes
    ----------
    mistakes : list of str
        What the data sets do not allow. A parameter that does not fit a data set's size makes its trials fail; any
        other mistake prevents the run.
    remarks : list of str
        Numbers that are cut down to what there is.
    """

    mistakes: list[str]
    remarks: list[str]


def compare_with_data(experiment: Experiment) -> Findings:
    """Compare an experiment with its data sets, which are read."""
    found: dict[str, None] = {}
    remarks: dict[str, None] = {}
    for i, spec in enumerate(experiment.datasets):
        source = DataSource.of(spec, experiment.splits)
        try:
            dataset = source.load()
        except UserError as error:
            found[f"datasets.{i}: {error}"] = None
            continue
        n_train = dataset.n_instances
        try:
            divided = source.divide(dataset)
            first = divided.splits[0]
            n_train = len(first.train) + len(first.unlabelled)
            for value in experiment.sweep.get(LABELLED, ()):
                divided.split(0, read_labelled(value))
        except ConfigError as error:
            found |= dict.fromkeys(error.problems)
        except UserError as error:
            found[f"splits: {error}"] = None
        found |= dict.fromkeys(find_unfit_features(experiment, dataset))
        for k, metric in enumerate(experiment.metrics):
            if (at := metric.params.get("k", 0)) > dataset.n_labels:
                remarks[
                    f"metrics.{k}: {metric.label}: {dataset.name} has {dataset.n_labels} labels, fewer than {at}"
                ] = None
        for line, fails in find_misfits(experiment, dataset, n_train):
            (found if fails else remarks)[line] = None
    return Findings(list(found), list(remarks))


def find_unfit_features(experiment: Experiment, dataset: Dataset) -> Iterator[str]:
    """The methods whose first part does not take the data set's kind of features: texts, numbers with gaps, numbers."""
    for name, spec in experiment.methods.items():
        first = spec.instance_space or next(iter(spec.feature_space), spec.dual_space or spec.learner)
        why = contracts.find_misfit(first.build(check=False), dataset.kind_of_features)
        if why:
            step = "; for all methods `defaults: {feature_space: sklearn.impute.SimpleImputer}`" * ("missing" in why)
            yield f"methods.{name}: {why}{step} ({dataset.name})"


def find_misfits(experiment: Experiment, dataset: Dataset, n_train: int) -> Iterator[_Line]:
    """The parameters that do not fit a data set of this size, with their places; and whether trials fail then."""
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
            written += [(path, f"{key}.{path}", value) for path, v in grid.items() for value in listed(v)]
        varied: dict[str, list[Any]] = {}
        for path, _, value in written:
            varied.setdefault(path, []).append(value)
        places = {place.path: place for place in _places(spec)}
        sizes: dict[str, _Sizes] = {}
        for place in places.values():  # each component before its parts
            seen = sizes.get(place.path.rpartition(".")[0], whole)
            for parameter, value in place.component.params.items():
                yield from place.find_misfits(parameter, value, seen, f"methods.{name}.{place.written}.{parameter}")
            for path, key, value in written:
                of, _, parameter = path.rpartition(".")
                # later steps see what the first one leaves
                of = "feature_space" if of == "feature_space.0" and len(spec.feature_space) == 1 else of
                if of == place.path:
                    yield from place.find_misfits(parameter, value, seen, key)
            sizes[place.path] = place.of_parts(seen, varied)


_Line = tuple[str, bool]  # what does not fit, and whether trials fail by it


@dataclass(frozen=True)
class _Sizes:
    """How many training rows, features and labels of a data set a component sees; `member`: why it sees fewer."""

    dataset: str
    rows: int
    features: int
    labels: int
    member: str = ""

    @property
    def of(self) -> str:
        """The data set, and the member, that has these sizes."""
        return f"{self.dataset}{self.member}"


@dataclass(frozen=True)
class _Place:
    """A component of a method, and whether its input is what the data set has or is computed from it.

    Attributes
    ----------
    path, written : str
        Its path in a sweep, and its path in the config's file.
    features, labels : bool
        Whether its features are the data set's own, and whether it sees all labels.
    """

    component: Component
    path: str
    written: str
    features: bool
    labels: bool

    def find_misfits(self, parameter: str, value: Any, seen: _Sizes, key: str) -> Iterator[_Line]:
        """What is wrong with a parameter's value, which stands at `key`."""
        number = isinstance(value, int) and not isinstance(value, bool)
        for bound, fails in ((self._bound(parameter, seen), True), (self._limit(parameter, seen), False)):
            if bound is not None and number and value > bound[0]:
                message = f"{key}: {method_text(value)} is more than the {bound[0]} {bound[1]} of {seen.of}"
                yield message if fails else f"{message}, and means all of them", fails
        of_rows = parameter == "instances" and self.labels
        if number and (self.features or of_rows) and self._declared.sizes_members:
            try:
                self._with({parameter: value}).sizes_of_a_member(seen.rows, seen.features)
            except ValueError as error:
                if str(error).startswith(f"{parameter}="):
                    yield f"{key}: {str(error).removeprefix(f'{parameter}=')} ({seen.of})", True
        if self.labels and parameter in self._declared.checks_of_labels:
            try:
                cls: Any = registry.resolve(self.component.family, self.component.name)
                cls.checks_of_labels[parameter](value, seen.labels)
            except (TypeError, ValueError) as error:
                yield f"{key}: {str(error).removeprefix(f'{parameter}: ')} ({seen.of})", True

    def of_parts(self, seen: _Sizes, varied: Mapping[str, list[Any]]) -> _Sizes:
        """The sizes that its parts see: for a member with drawn rows and features, the smallest possible sizes."""
        if not self._declared.sizes_members:
            return seen
        own = {
            path.rpartition(".")[2]: values for path, values in varied.items() if path.rpartition(".")[0] == self.path
        }
        found = []
        for values in product(*own.values()):
            with contextlib.suppress(ValueError):  # which is reported where the number stands
                member = self._with(dict(zip(own, values, strict=True)))
                found.append(member.sizes_of_a_member(seen.rows, seen.features))
        if not found:
            return seen
        rows, features = map(min, zip(*found, strict=True))
        return replace(seen, rows=rows, features=features, member=f" that a member of the {self.component.name} gets")

    def _with(self, values: Mapping[str, Any]) -> Any:
        """The estimator with other values of some parameters, without the components in it."""
        parts = self._declared.components
        plain = {key: value for key, value in {**self.component.params, **values}.items() if key not in parts}
        return Component(self.component.family, self.component.name, plain).build(check=False)

    def parts(self) -> Iterator[_Place]:
        """The components in it; some of them have the same input."""
        for parameter, part in self.component.parts().items():
            path, written = (f"{place}.{parameter}" for place in (self.path, self.written))
            of_all = parameter in self._declared.parts_of_all_labels
            features, labels = (sees and of_all for sees in (self.features, self.labels))
            place = _Place(part, path, f"{written}.{part.name}", features, labels)
            yield place
            yield from place.parts()

    @property
    def _declared(self) -> Declaration:
        return self.component.declaration()

    def _limit(self, parameter: str, seen: _Sizes) -> tuple[int, str] | None:
        """The number above which a parameter has no further effect, as its class declares it, and what is counted."""
        counts = self._declared.at_most.get(parameter, "")
        return {"rows": (seen.rows, "training rows"), "labels": (seen.labels, "labels")}.get(counts)

    def _bound(self, parameter: str, seen: _Sizes) -> tuple[int, str] | None:
        """The largest value that a class of mlcdr allows for a number of dimensions; None for any other parameter."""
        if not self._declared.target.startswith("mlcdr."):
            return None  # what a class of the user's own allows is not known
        features, labels = (seen.features, "features") if self.features else None, (seen.labels, "labels")
        if parameter in self._declared.sizes_of_labels:
            return labels
        if parameter == "n_features":
            return features
        known: dict[str, dict[str, tuple[int, str] | None]] = {
            "feature_space": {"n_components": features},
            "label_space": {"n_components": labels},
            "dual_space": {"n_components": min(features or labels, labels), "n_labels": labels},
        }
        return known.get(self.component.family, {}).get(parameter)


def _places(spec: MethodSpec) -> Iterator[_Place]:
    """The components of a method, each before its parts."""
    alone = spec.instance_space is None and spec.dual_space is None  # whether nothing else is between
    own_features, own_labels = alone and not spec.feature_space, alone and spec.label_space is None
    steps = [
        (f"feature_space.{i}" if i or len(spec.feature_space) > 1 else "feature_space", step, not i)
        for i, step in enumerate(spec.feature_space)
    ]
    others = [
        ("dual_space", spec.dual_space, not spec.feature_space),
        ("label_space", spec.label_space, True),
        ("learner", spec.learner, own_features),
        ("threshold", spec.threshold, own_features),
        ("instance_space", spec.instance_space, True),
    ]
    for path, component, features in (*steps, *others):
        if component is not None:
            place = _Place(component, path, f"{path}.{component.name}", features, own_labels)
            yield place
            yield from place.parts()
