"""What a trial's key is made of: all that determines its scores, and nothing else, so that a run computes what is
missing and no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from mlcdr.data.dataset import Dataset
from mlcdr.experiment.commands import without_folders
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.methods.component_changes import separated
from mlcdr.methods.provenance import digest_of_code, find_code, version_of
from mlcdr.methods.registry import import_target
from mlcdr.metrics import modules_of, target

ENGINE = 2
"""Raised by hand whenever `experiment` or `execution` comes to compute other scores from the same methods and data: how
splits, seeds and hidden labels are drawn, how fits are shared, how parameters are tuned, what is measured."""

_LENGTH = 32  # digits of a digest
_write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def trial_keys(
    experiment: Experiment, method: str, spec: MethodSpec, dataset: Dataset, splits: Iterable[bytes]
) -> list[str]:
    """The keys of one method at one point of the sweep, on splits (`write_split`) of a data set.

    To add an ingredient, add it here. The data set's checksum stands for its rows; the names seed what is drawn at
    random.
    """
    ingredients = {
        "data": [dataset.name, dataset.checksum],
        "method": [method, without_folders(spec.plain())],
        "metrics": sorted([m.label, m.name, m.params] for m in experiment.metrics),  # their order changes no value
        "labels": [experiment.by_label, experiment.keep_top],
        "seed": experiment.seed,
        "share": experiment.share,
        "code": code_of(experiment, spec),
    }
    # `digest` of all of them: `split` is the last by name, so what comes before is hashed once.
    start = hashlib.sha256(f"{_write(ingredients)[:-1]},".encode())
    keys = []
    for split in splits:
        whole = start.copy()
        whole.update(split)
        keys.append(whole.hexdigest()[:_LENGTH])
    return keys


def code_of(experiment: Experiment, spec: MethodSpec) -> dict[str, Any]:
    """Digests of the code that decides a method's scores: of its components, and of what is measured.

    Raises
    ------
    UserError
        When a part of the method cannot be imported.
    """
    asked = {metric.name for metric in experiment.metrics}
    asked |= set(experiment.by_label)
    if spec.tune is not None and spec.tune.metric:
        asked.add(spec.tune.metric)
    components = [*spec.components()]
    if not experiment.share:
        components.append(separated(spec.learner))
    return {
        "engine": ENGINE,
        "components": [component.version() for component in components],
        "metrics": {name: version_of_metric(name) for name in sorted(asked)},
    }


def version_of_metric(name: str) -> str:
    """A digest of all code that decides a metric, or a metric of each label by itself.

    Raises
    ------
    UserError
        When a metric of the user's cannot be imported.
    """
    own = target(name)
    return version_of(import_target(own, own)) if own else _version_of_ours(name)


@cache
def _version_of_ours(metric: str) -> str:
    return digest_of_code(modules_of(metric), find_code)


def write_split(identity: Mapping[str, Any]) -> bytes:
    """A split's identity, as `trial_keys` takes it."""
    return _write({"split": identity})[1:].encode()


def codes(experiment: Experiment) -> dict[str, str]:
    """Method → one digest of `code_of`, which may raise a UserError."""
    return {name: digest(code_of(experiment, spec)) for name, spec in experiment.methods.items()}


def program_version(spec: MethodSpec) -> str:
    """A digest of the code by which this process computes a method.

    Raises
    ------
    UserError
        When a part of the method cannot be imported.
    """
    return digest([ENGINE, *(component.version() for component in spec.components())])


def digest(content: Any) -> str:
    """A digest of plain values; the order of a mapping's keys does not count."""
    return hashlib.sha256(_write(content).encode()).hexdigest()[:_LENGTH]
