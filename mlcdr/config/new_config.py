"""A first config, with a comment at each line that one would change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Template

from mlcdr.config.loading import experiment_from
from mlcdr.config.yaml_reader import dump_yaml, read_yaml_text
from mlcdr.data.dataset import load_dataset
from mlcdr.data.files import find_folder, is_path, locate, suffix
from mlcdr.data.forms import SUFFIXES
from mlcdr.data.sources import find
from mlcdr.errors import DataError, UserError, list_known, suggest_name
from mlcdr.methods import registry

DATASETS, METHODS, METRICS = ("yeast",), ("plst", "cplst"), ("hamming_loss",)
"""Defaults of a new experiment."""

LABELS = "a pattern (tag_*), or how many (-6: the last six)"
"""How the labels of a table can be stated."""

_ORDER = ("instance_space", "feature_space", "dual_space", "label_space", "learner", "threshold")
_IMPUTER = "sklearn.impute.SimpleImputer"


def write_draft(
    name: str,
    datasets: Sequence[str] = DATASETS,
    methods: Sequence[str] = METHODS,
    metrics: Sequence[str] = METRICS,
    labels: Any = None,
) -> str:
    """The text of a config, checked.

    Parameters
    ----------
    name : str
        Of the experiment.
    datasets, metrics : sequence of str
        Names (or paths of data sets; `synthetic` is one that is generated).
    methods : sequence of str
        A component each (`cplst`), or several joined by `+` (`pca+plst+ridge`); a dotted path is a learner, or what
        stands before it (`label_space:my_method.Mine`). A learner that suits them is added where there is none; one of
        a single label is put into binary relevance.
    labels : int, str or list, optional
        The labels of the data sets that are tables without them, as a config has them.

    Raises
    ------
    UserError
        When a name is unknown, the labels of a table are not given, or the parts of a method do not go together.
    """
    if labels is None and (tables := [each for each in datasets if needs_labels(each)]):
        raise UserError(f"{tables[0]}: which columns are labels? --labels: a name, {LABELS}")
    parts = {written: _parts(written) for written in dict.fromkeys(methods)}
    gaps = [each for each in datasets if needs_labels(each) and _has_gaps(each, labels)]
    for method in parts.values() if gaps else ():
        first = [method["feature_space"]] if "feature_space" in method else []
        method["feature_space"] = f"[{', '.join([_IMPUTER, *first])}]" if first else _IMPUTER
    template = Path(__file__).with_suffix(".yaml.j2").read_text(encoding="utf-8")
    text = Template(template, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True).render(
        name=name,
        plain_name=_plain(name),
        datasets=[_dataset(each, labels, each in gaps) for each in datasets],
        gaps=gaps,
        hints=_hints(datasets),
        metrics=list(map(_plain, metrics)),
        sizes=dict.fromkeys(path for method in parts.values() for path in _size_paths(method)),
        methods=[
            (_plain(_row(written)), ", ".join(f"{family}: {method[family]}" for family in _ORDER if family in method))
            for written, method in parts.items()
        ],
    )
    experiment_from(read_yaml_text(text, "the new config").data, source="the new config", look_up=False)
    return text


def needs_labels(dataset: str) -> bool:
    """Whether a data set is the file of a table without information on which columns are labels."""
    return SUFFIXES.get(suffix(dataset)) in ("csv", "parquet", "feather")


def describe_unreadable(datasets: Sequence[str], labels: Any) -> str:
    """Why a table cannot be read with these labels, for the first such table; empty if all can be read."""
    for table in datasets:
        if needs_labels(table) and Path(table).is_file():
            try:
                load_dataset(table, labels=labels, missing="keep")
            except DataError as error:
                return str(error)
    return ""


def _has_gaps(table: str, labels: Any) -> bool:
    """Whether values are missing in a table that exists and can be read with these labels."""
    there = Path(table).is_file() and not describe_unreadable([table], labels)
    return there and load_dataset(table, labels=labels, missing="keep").kind_of_features == "gaps"


def _dataset(name: str, labels: Any, has_gaps: bool) -> str:
    if name == "synthetic":
        return "{synthetic: {n_instances: 500, n_features: 40, n_labels: 10, noise: 0.05, seed: 1}}"
    if not needs_labels(name):
        return _plain(name)
    written = f"[{', '.join(map(_plain, labels))}]" if isinstance(labels, list) else _plain(labels)
    return f"{{{_plain(name)}: {{labels: {written}{', missing: keep' if has_gaps else ''}}}}}"


def _plain(value: Any) -> str:
    """A text as YAML writes it in a line."""
    return dump_yaml([value]).strip().removeprefix("[").removeprefix("- ").removesuffix("]")


def _row(written: str) -> str:
    """The name of a method in the config and the results: its classes."""
    written = "+".join(part.rpartition(":")[2] for part in written.split("+"))
    return " + ".join(part.rpartition(".")[2] if "." in part else part.upper() for part in written.split("+"))


def _parts(written: str) -> dict[str, str]:
    """Family → component of a method."""
    method: dict[str, str] = {}
    for part in written.split("+"):
        family, name = _component(part.strip())
        if family in method:
            raise UserError(f"the method {written!r} has two components for the {family}; keep one")
        method[family] = name
    return _with_learner(method)


def _component(written: str) -> tuple[str, str]:
    """Family and name of `name`, of a dotted path (a learner), or of `family:name` where a name is in several."""
    chosen, _, name = written.rpartition(":")
    if "." in name and chosen in ("", *_ORDER):
        family = chosen or "learner"
        registry.declared(family, name)
        return family, name
    families = [family for family in _ORDER if name in registry.names(family) and chosen in ("", family)]
    if len(families) > 1:
        which = " or ".join(f"{family}:{name}" for family in families)
        raise UserError(f"{name!r} is the name of several components: write {which}")
    if families:
        return families[0], name
    known = [each for family in _ORDER for each in registry.names(family)]
    listing = f"{list_known(known, '`mlcdr methods`')}; or a dotted path to a learner"
    raise UserError(
        f"unknown component {name!r}{registry.describe_elsewhere(name) or suggest_name(name, known)} ({listing})"
    )


def _with_learner(method: dict[str, str]) -> dict[str, str]:
    if "learner" in method:
        alone = "instance_space" not in method and registry.declared("learner", method["learner"]).one_label
        return {**method, "learner": f"{{binary_relevance: {method['learner']}}}"} if alone else method
    if "label_space" in method and registry.declared("label_space", method["label_space"]).judges_learner:
        return {**method, "learner": "kernel_ridge"}
    if "instance_space" in method:
        return {**method, "learner": "classifier_chain"}
    return {**method, "learner": "ridge" if "feature_space" in method else "least_squares"}


def _size_paths(method: dict[str, str]) -> list[str]:
    """The path of a method's parameter for the number of label dimensions."""
    paths = []
    for family in ("dual_space", "label_space"):
        if family in method:
            space = registry.declared(family, method[family])
            paths += [f"{family}.{space.size_parameter}"] if space.size_parameter in space.parameters else []
    return paths


def _hints(datasets: Sequence[str]) -> list[str]:
    """A comment for each data set that is not available yet, with how to get it; raises for an unknown name."""
    lines = []
    for name in datasets:
        if name != "synthetic" and not is_path(name) and find_folder(name) is None:
            known = find(name)
            if known is None:
                locate(name)  # raises, naming the folders
            else:
                what = "fetch" if known.fetchable else "info"
                lines.append(f"#   {known.name} is not at hand: mlcdr datasets {what} {known.name}")
    return lines
