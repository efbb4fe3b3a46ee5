"""What a trial's key is made of: all that determines its scores, and nothing else, so that a run computes what is
missing and no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mlcdr.data.dataset import Dataset
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.methods.component_changes import separated
from mlcdr.methods.registry import version_of_function
from mlcdr.metrics import target
from mlcdr.source_code import code_of_text

COMPUTING = (
    "experiment/data_source.py",
    "experiment/division.py",
    "experiment/estimators.py",
    "experiment/families.py",
    "experiment/outputs.py",
    "experiment/seeds.py",
    "experiment/stratification.py",
    "execution/computing.py",
)
"""The files of this package that decide every trial's scores, besides those that its components and metrics use."""

_LENGTH = 32  # digits of a digest
_write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode

CHOOSING = ("experiment/tune.py", "execution/choose.py")
"""The files that also decide the scores of a tuned trial."""


def _digest_of_files(*names: str) -> str:
    package = Path(__file__).parents[1]
    codes = [code_of_text((package / name).read_text("utf-8")) for name in names]
    return hashlib.sha256(b"".join(codes)).hexdigest()[:16]


# Read as this process starts, which computes with what stands there now.
EVALUATION, TUNING = _digest_of_files(*COMPUTING), _digest_of_files(*CHOOSING)
PROGRAM = _digest_of_files(*COMPUTING, *CHOOSING, "experiment/keys.py", "experiment/trials.py")


def trial_keys(
    experiment: Experiment, method: str, spec: MethodSpec, dataset: Dataset, splits: Iterable[bytes]
) -> list[str]:
    """The keys of one method at one point of the sweep, on splits (`write_split`) of a data set.

    To add an ingredient, add it here. The data set's checksum stands for its files, options and the code that reads
    them; a component's version for its source code and that of the metrics; the names seed what is drawn at random.
    """
    code = code_of(experiment, spec)
    ingredients = {
        "data": [dataset.name, dataset.checksum],
        "method": [method, spec.plain(), code["components"]],
        "metrics": sorted([m.label, m.name, m.params] for m in experiment.metrics),  # their order changes no value
        "own metrics": code["own metrics"],
        "labels": [experiment.by_label, experiment.keep_top],
        "seed": experiment.seed,
        "share": experiment.share,
        "separate": code["separate"],
        "evaluation": code["evaluation"],
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
    """The digests of the source code that decides a method's scores, which are in the keys of its trials.

    Raises
    ------
    UserError
        When a part of the method cannot be imported.
    """
    asked = {m.name for m in experiment.metrics} | ({spec.tune.metric or ""} if spec.tune is not None else set())
    return {
        "components": [component.version() for component in spec.components()],
        "own metrics": {name: version_of_function(where) for name in sorted(asked) if (where := target(name))},
        "separate": None if experiment.share else separated(spec.learner).version(),
        "evaluation": [EVALUATION, TUNING if spec.tune is not None else None],
    }


def write_split(identity: Mapping[str, Any]) -> bytes:
    """A split's identity, as `trial_keys` takes it."""
    return _write({"split": identity})[1:].encode()


def codes(experiment: Experiment) -> dict[str, str]:
    """Method → one digest of `code_of`, which may raise a UserError."""
    return {name: digest(code_of(experiment, spec)) for name, spec in experiment.methods.items()}


def program_version(spec: MethodSpec) -> str:
    """A digest of the source code by which this process computes a method.

    Raises
    ------
    UserError
        When a part of the method cannot be imported.
    """
    return digest([PROGRAM, *(component.version() for component in spec.components())])


def digest(content: Any) -> str:
    """A digest of plain values; the order of a mapping's keys does not count."""
    return hashlib.sha256(_write(content).encode()).hexdigest()[:_LENGTH]
