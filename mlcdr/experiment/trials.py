"""What is to be computed: from an experiment to trials.

A trial is one method at one point of the sweep on one split of one data set. Its key is a digest of all that determines
its scores (`mlcdr.experiment.keys`), so a rerun does what is missing and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlcdr.experiment.data_source import DividedData
from mlcdr.experiment.families import families_of
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.keys import program_version, trial_keys, write_split
from mlcdr.experiment.model import LABELLED, Experiment, MethodSpec, point_texts, value_text
from mlcdr.experiment.splits import read_labelled


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
    program : str
        `program_version` of the method when it was planned.
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
    program: str
    labelled: float | int | None = None


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial: values by metric label, or the traceback of its failure.

    `chosen`: the parameters that were tuned, as (path, text); `tried`: the points of the search, with the criterion.
    `of_labels`: metric → value of each label (NaN: not defined).
    """

    key: str
    values: Mapping[str, float] | None
    error: str | None = None
    chosen: tuple[tuple[str, str], ...] = ()
    tried: tuple[tuple[tuple[tuple[str, str], ...], float], ...] = ()
    of_labels: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def plan_trials(experiment: Experiment, data: DividedData) -> list[Trial]:
    """All trials of one data set: by method, point of the sweep and split, in the config's order."""
    dataset = data.dataset
    splits: dict[str, list[bytes]] = {}  # by `labelled` as text: 1 row is not 1.0 of the rows
    trials = []
    for method in experiment.methods:
        points = experiment.points(method)
        specs = [experiment.method_at(method, point) for point in points]
        labelled_texts = [value_text(point.get(LABELLED)) for point in points]
        families = families_of(specs, dataset.n_labels, labelled_texts) if experiment.share else specs
        for point, spec, family in zip(points, specs, families, strict=True):
            labelled = read_labelled(point.get(LABELLED))
            name = str(labelled)
            if name not in splits:
                splits[name] = [write_split(identity) for identity in data.identities(labelled)]
            shown = tuple(point_texts(point).items())
            program = program_version(spec)
            keys = trial_keys(experiment, method, spec, dataset, splits[name])
            for i, key in enumerate(keys):
                trials.append(Trial(key, dataset.name, method, shown, i, spec, family, program, labelled))
    return trials


def by_family(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials that one fit serves, together."""
    return list(group_pairs((id(trial.family), trial) for trial in trials).values())
