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
from mlcdr.errors import ConfigError, UserError, plural
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.model import LABELLED, Experiment, MethodSpec
from mlcdr.experiment.problems import KeyPath, Problem, dotted
from mlcdr.experiment.splits import read_labelled
from mlcdr.experiment.varied import at_first_values, list_varied
from mlcdr.methods import contracts, registry
from mlcdr.methods.component import Component
from mlcdr.methods.declarations import Declaration


@dataclass(frozen=True)
class Findings:
    """The result of comparing an experiment with its data sets, or of trying it.

    Attributes
    ----------
    mistakes : list of Problem
        What the data sets do not allow. A parameter that does not fit a data set's size makes its trials fail; any
        other mistake prevents the run.
    remarks : list of Problem
        Numbers that are cut down to what there is.
    """

    mistakes: list[Problem]
    remarks: list[Problem]


def compare_with_data(experiment: Experiment) -> Findings:
    """Compare an experiment with its data sets, which are read."""
    mistakes: list[Problem] = []
    remarks: list[Problem] = []
    for i, spec in enumerate(experiment.datasets):
        source = DataSource.of(spec, experiment.splits)
        try:
            dataset = source.load()
        except UserError as error:
            mistakes.append(Problem(("datasets", i), str(error)))
            continue
        n_train = dataset.n_instances
        try:
            divided = source.divide(dataset)
            first = divided.splits[0]
            n_train = len(first.train) + len(first.unlabelled)
            for value in experiment.sweep.get(LABELLED, ()):
                divided.split(0, read_labelled(value))
        except ConfigError as error:
            mistakes += map(Problem.parse, error.problems)
        except UserError as error:
            mistakes.append(Problem(("splits",), str(error)))
        mistakes += find_unfit_methods(experiment, dataset)
        remarks += _remark_on_ranks(experiment, dataset)
        for problem, fails in find_misfits(experiment, dataset, n_train):
            (mistakes if fails else remarks).append(problem)
    return Findings([*dict.fromkeys(mistakes)], [*dict.fromkeys(remarks)])


def _remark_on_ranks(experiment: Experiment, dataset: Dataset) -> Iterator[Problem]:
    """The metrics of the first k labels of a ranking, where a data set has fewer."""
    for i, metric in enumerate(experiment.metrics):
        k = metric.params.get("k", 0)
        if k > dataset.n_labels:
            text = f"{metric.label}: {dataset.name} has {plural(dataset.n_labels, 'label')}, fewer than {k}"
            yield Problem(("metrics", i), text)


def find_unfit_methods(experiment: Experiment, dataset: Dataset) -> Iterator[Problem]:
    """The methods whose first part does not take the data set's kind of features: texts, numbers with gaps, numbers."""
    for name, method in experiment.methods.items():
        spec = at_first_values(method, experiment.sweep)
        first = spec.dual_space or spec.learner
        if spec.feature_space:
            first = spec.feature_space[0]
        first = spec.instance_space or first
        why = contracts.find_misfit(first.build(), dataset.kind_of_features)
        if why:
            fills = "; for all methods `defaults: {feature_space: sklearn.impute.SimpleImputer}`"
            step = fills if dataset.kind_of_features == "gaps" else ""
            yield Problem(("methods", name), f"{why}{step} ({dataset.name})")


_Misfit = tuple[Problem, bool]  # what does not fit, and whether trials fail by it
_Values = dict[str, list[tuple[str, Any, KeyPath]]]  # path of a component → its parameters, values, and their key paths


def find_misfits(experiment: Experiment, dataset: Dataset, n_train: int) -> Iterator[_Misfit]:
    """The parameters that do not fit a data set of this size; and whether trials fail then."""
    whole = _Sizes(dataset.name, n_train, dataset.n_features, dataset.n_labels)
    for name, spec in experiment.methods.items():
        varied = _varied_values(experiment, name, dataset.name)
        for part in _parts(spec, whole, varied):
            here: KeyPath = ("methods", name, *part.written)
            values = [(parameter, value, (*here, parameter)) for parameter, value in part.component.params.items()]
            values += varied.get(part.path, ())
            for parameter, value, key in values:
                for text, fails in part.find_misfits(parameter, value):
                    yield Problem(key, text), fails


def _varied_values(experiment: Experiment, method: str, dataset: str) -> _Values:
    """The values that are tried of a method's parameters on a data set."""
    spec = experiment.methods[method]
    own = spec.tune.find_own_grid(dataset) if spec.tune is not None else None
    chosen = ("grid",) if own is None else ("grids", own)
    found: _Values = {}
    for varied in list_varied(experiment.sweep, {method: spec}):
        if not varied.in_sweep and varied.here[3:-1] != chosen:
            continue
        path = varied.path
        if len(spec.feature_space) == 1:
            path = path.replace("feature_space.0.", "feature_space.", 1)
        place, _, parameter = path.rpartition(".")
        for i, value in enumerate(varied.values):
            key = (*varied.here, i) if varied.in_sweep else varied.here
            found.setdefault(place, []).append((parameter, value, key))
    return found


@dataclass(frozen=True)
class _Sizes:
    """How many training rows, features and labels a component sees, and of what: a data set, or a member's part."""

    of: str
    rows: int
    features: int
    labels: int


_BOUNDED = {
    ("feature_space", "n_components"): ("features",),
    ("label_space", "n_components"): ("labels",),
    ("dual_space", "n_components"): ("features", "labels"),
    ("dual_space", "n_labels"): ("labels",),
}
"""Family and parameter → what there must be so many of."""

_COUNTED = {"rows": "training rows", "features": "features", "labels": "labels"}


@dataclass(frozen=True)
class _Part:
    """A component of a method, and what it sees.

    Attributes
    ----------
    path : str
        Its path in a sweep.
    written : tuple
        Its path in a method of the config's file.
    features, labels : bool
        Whether its features are the data set's own, and not computed from these, and whether it sees all labels.
    seen : _Sizes
    """

    component: Component
    path: str
    written: KeyPath
    features: bool
    labels: bool
    seen: _Sizes

    @property
    def declared(self) -> Declaration:
        """What the component declares."""
        return self.component.declaration()

    def find_misfits(self, parameter: str, value: Any) -> Iterator[tuple[str, bool]]:
        """What is wrong with a parameter's value; and whether trials fail by it."""
        if isinstance(value, int) and not isinstance(value, bool):
            yield from self._find_wrong_number(parameter, value)
        if self.labels and parameter in self.declared.checks_of_labels:
            cls: Any = registry.resolve(self.component.family, self.component.name)
            try:
                cls.checks_of_labels[parameter](value, self.seen.labels)
            except (TypeError, ValueError) as error:
                text = str(error).removeprefix(f"{parameter}: ")
                yield f"{text} ({self.seen.of})", True

    def _find_wrong_number(self, parameter: str, value: int) -> Iterator[tuple[str, bool]]:
        for counted, fails in self._limits(parameter):
            n = getattr(self.seen, counted)
            if value > n:
                text = f"{value} is more than the {n} {_COUNTED[counted]} of {self.seen.of}"
                yield text if fails else f"{text}, and means all of them", fails
        of_rows = parameter == "instances" and self.labels
        if (self.features or of_rows) and self.declared.sizes_members:
            try:
                self._with({parameter: value}).sizes_of_a_member(self.seen.rows, self.seen.features)
            except ValueError as error:
                start = f"{parameter}="
                if str(error).startswith(start):
                    yield f"{str(error).removeprefix(start)} ({self.seen.of})", True

    def _limits(self, parameter: str) -> Iterator[tuple[str, bool]]:
        """What there must be as many of as a parameter says, and whether trials fail where there are fewer."""
        declared = self.declared
        counted = declared.at_most.get(parameter)
        if counted in _COUNTED:
            yield counted, False
        if not declared.is_ours:
            return  # what a class of the user's own allows is not known
        bounding = _BOUNDED.get((self.component.family, parameter), ())
        if parameter in declared.sizes_of_labels:
            bounding = ("labels",)
        elif parameter == "n_features":
            bounding = ("features",)
        for counted in bounding:
            if self.features or counted != "features":
                yield counted, True

    def inner(self, varied: _Values) -> Iterator[_Part]:
        """The components in it, and all in these; some of them have the same input."""
        seen = self._seen_by_members(varied)
        for parameter, component in self.component.parts().items():
            of_all = parameter in self.declared.parts_of_all_labels
            part = _Part(
                component,
                f"{self.path}.{parameter}",
                (*self.written, parameter, component.name),
                self.features and of_all,
                self.labels and of_all,
                seen,
            )
            yield part
            yield from part.inner(varied)

    def _seen_by_members(self, varied: _Values) -> _Sizes:
        """The sizes that its parts see: for a member with drawn rows and features, the smallest possible sizes."""
        if not self.declared.sizes_members:
            return self.seen
        tried = group_pairs((parameter, value) for parameter, value, _ in varied.get(self.path, ()))
        rows, features = [], []
        for point in product(*tried.values()):
            member = self._with(dict(zip(tried, point, strict=True)))
            with contextlib.suppress(ValueError):  # which is reported where the number stands
                n, d = member.sizes_of_a_member(self.seen.rows, self.seen.features)
                rows.append(n)
                features.append(d)
        if not rows:
            return self.seen
        of = f"{self.seen.of} that a member of the {self.component.name} gets"
        return _Sizes(of, min(rows), min(features), self.seen.labels)

    def _with(self, values: Mapping[str, Any]) -> Any:
        """The estimator with other values of some parameters, without the components in it."""
        given = {**self.component.params, **values}
        plain = {key: value for key, value in given.items() if key not in self.declared.components}
        return replace(self.component, params=plain).build()


def _parts(spec: MethodSpec, whole: _Sizes, varied: _Values) -> Iterator[_Part]:
    """The components of a method, each before those in it."""
    alone = spec.instance_space is None and spec.dual_space is None  # whether nothing else is between
    unreduced = alone and not spec.feature_space
    has_own_features = {
        "dual_space": not spec.feature_space,
        "label_space": True,
        "learner": unreduced,
        "threshold": unreduced,
        "instance_space": True,
    }
    for at, component in spec.by_path().items():
        # later steps see what the first one leaves
        is_first_step = component.family == "feature_space" and at[-1] in ("feature_space", 0)
        features = is_first_step or has_own_features.get(component.family, False)
        path = dotted(at)
        labels = alone and spec.label_space is None
        part = _Part(component, path, (*at, component.name), features, labels, whole)
        yield part
        yield from part.inner(varied)
