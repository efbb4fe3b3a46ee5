"""What is to be computed: from an experiment to trials.

A trial is one method at one point of the sweep on one split of one data set. Its key is a digest of all that determines
its scores, so a rerun does what is missing and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mlcdr.data.dataset import Dataset
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.digests import EVALUATION, PROGRAM, TUNING, digest
from mlcdr.experiment.families import families_apart
from mlcdr.experiment.model import LABELLED, Experiment, MethodSpec, method_text
from mlcdr.experiment.splits import read_labelled
from mlcdr.methods.component_changes import separated


@dataclass(frozen=True)
class Trial:
    """One method at one point of the sweep on one split of one data set.

    Attributes
    ----------
    key : str
        Digest of all that determines the scores.
    point : tuple of (path, text)
        The swept values, as the config wrote them.
    spec : MethodSpec
        The method with the point's values put in.
    family : MethodSpec
        The method to fit: `spec`, or, where one fit serves several sizes of the code, that of the largest.
    sources : str
        `sources_of` the method when it was planned.
    labelled : float, int or None
        How many training rows keep their labels, where that is swept.
    """

    key: str
    dataset: str
    method: str
    point: tuple[tuple[str, str], ...]
    split: int
    spec: MethodSpec
    family: MethodSpec
    sources: str
    labelled: float | int | None = None


def sources_of(spec: MethodSpec) -> str:
    """A digest of the source code by which this process computes a method.

    Raises
    ------
    UserError
        When a part of the method cannot be imported.
    """
    return digest([PROGRAM, *(component.version() for component in spec.components())])


@dataclass(frozen=True)
class Score:
    """What came of a trial: values by metric label, or the traceback of what went wrong.

    `chosen`: the parameters that were tuned, as (path, text).
    """

    key: str
    values: Mapping[str, float] | None
    error: str | None = None
    chosen: tuple[tuple[str, str], ...] = ()


def plan(experiment: Experiment, source: DataSource, dataset: Dataset) -> list[Trial]:
    """All trials of one data set: by method, point of the sweep and split, in the config's order."""
    splits = list(source.divide(dataset))
    metrics = sorted([m.label, m.name, m.params] for m in experiment.metrics)  # their order changes no value
    trials = []
    for method in experiment.methods:
        points = experiment.points(method)
        specs = [experiment.method_at(method, point) for point in points]
        families = families_apart(specs, points, dataset.n_labels) if experiment.share else specs
        for point, spec, family in zip(points, specs, families, strict=True):
            labelled = read_labelled(point.get(LABELLED))
            identities = [source.hiding(split, labelled, dataset).identity for split in splits]
            of_point = (spec, family, sources_of(spec), labelled)
            shown = tuple((path, method_text(value)) for path, value in point.items())
            shared = {
                "data": [dataset.name, dataset.checksum],  # the name seeds a method's randomness
                "method": [method, spec.plain(), [component.version() for component in spec.components()]],
                "metrics": metrics,
                "seed": experiment.seed,
                "share": experiment.share,
                "evaluation": [EVALUATION, TUNING] if spec.tune is not None else EVALUATION,
            }
            if not experiment.share:
                shared["separate"] = separated(spec.learner).version()
            trials += [
                Trial(digest({**shared, "split": identity}), dataset.name, method, shown, i, *of_point)
                for i, identity in enumerate(identities)
            ]
    return trials


def by_family(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials that one fit serves, together."""
    families: dict[int, list[Trial]] = {}
    for trial in trials:
        families.setdefault(id(trial.family), []).append(trial)
    return list(families.values())
