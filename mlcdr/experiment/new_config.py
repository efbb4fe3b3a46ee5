"""A first config, with a comment at each line that one would change."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Template

from mlcdr.data.dataset import load_dataset
from mlcdr.data.files import find_folder, is_path, locate, suffix
from mlcdr.data.forms import SUFFIXES, TABLES
from mlcdr.data.sources import find
from mlcdr.errors import DataError, UserError, list_known, suggest_name
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.yaml_reader import dump_line, read_yaml_text
from mlcdr.methods import registry
from mlcdr.methods.kinds import find_family

DATASETS, METHODS, METRICS = ("yeast",), ("plst", "cplst"), ("hamming_loss",)
"""Defaults of a new experiment."""

GAPS = "values are missing: each method must begin with a step that fills them from its training rows"
"""What a config must have for a data set that `has_gaps`."""

_SYNTHETIC = {"n_instances": 500, "n_features": 40, "n_labels": 10, "noise": 0.05, "seed": 1}
_ORDER = ("instance_space", "feature_space", "dual_space", "label_space", "learner", "threshold")
_IMPUTER = "sklearn.impute.SimpleImputer"


def write_config(
    name: str,
    datasets: Sequence[str] = DATASETS,
    methods: Sequence[str] = METHODS,
    metrics: Sequence[str] = METRICS,
    labels: Any = None,
) -> str:
    """Write the text of a config, and check it.

    Parameters
    ----------
    name : str
        Of the experiment.
    datasets, metrics : sequence of str
        Names (or paths of data sets; `synthetic` is one that is generated).
    methods : sequence of str
        A component each (`cplst`), or several joined by `+` (`pca+plst+ridge`); also a dotted path to a class, with
        its part before it where that is to be another than its methods tell (`learner:my_method.Mine`). A learner
        that suits them is added where there is none; one of a single label is put into binary relevance.
    labels : int, str or list, optional
        The labels of the data sets that are tables without them, as a config has them.

    Raises
    ------
    UserError
        When a name is unknown, the labels of a table are not given, or the parts of a method do not go together.
    """
    entries = read_data_sets(datasets, labels)
    rows = {name: _read_method(method) for name, method in name_methods(methods).items()}
    has_gaps = any(entry.has_gaps for entry in entries)
    if has_gaps:
        for parts in rows.values():
            step = parts.get("feature_space")
            parts["feature_space"] = [_IMPUTER, step] if step else [_IMPUTER]
    template = Template(
        Path(__file__).with_suffix(".yaml.j2").read_text(encoding="utf-8"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = template.render(
        line=dump_line,
        name=name,
        datasets=[entry.written for entry in entries],
        gaps=GAPS if has_gaps else "",
        hints=[entry.hint for entry in entries if entry.hint],
        metrics=list(metrics),
        sizes=_list_sizes(rows.values()),
        methods=rows,
    )
    experiment_from(read_yaml_text(text, "the new config").data, source="the new config", look_up=False)
    return text


def read_labels(texts: Sequence[str] | None) -> Any:
    """The option `labels` of a data set: a number, a name, or several names (several texts, or one with commas)."""
    if not texts:
        return None
    value = read_yaml_text(",".join(texts), "--labels", numbered=False).data
    if isinstance(value, str) and "," in value:
        return [name.strip() for name in value.split(",")]
    return value


@dataclass
class WrittenDataSet:
    """A data set of a config.

    Attributes
    ----------
    name : str
        Its name, or the path of its file.
    written : object
        How it is written there: with its options, if it has any.
    has_gaps : bool
        Whether it is a table with missing values.
    hint : str
        How to get it, if it is not available yet.
    """

    name: str
    written: Any
    has_gaps: bool = False
    hint: str = ""


def read_data_sets(names: Sequence[str], labels: Any) -> list[WrittenDataSet]:
    """Data sets as a config has them; the parameters are those of `write_config`.

    Raises
    ------
    UserError
        When a name is unknown, or the labels of a table are not given.
    """
    return [_read_data_set(name, labels) for name in names]


def _read_data_set(name: str, labels: Any) -> WrittenDataSet:
    if name == "synthetic":
        return WrittenDataSet(name, {name: _SYNTHETIC})
    if SUFFIXES.get(suffix(name)) in TABLES[1:]:  # ARFF says which columns are labels
        return _read_table(name, labels)
    if is_path(name) or find_folder(name) is not None:
        return WrittenDataSet(name, name)
    known = find(name)
    if known is None:
        locate(name)  # raises, and names the folders
        return WrittenDataSet(name, name)
    command = "fetch" if known.fetchable else "info"
    return WrittenDataSet(name, name, hint=f"{known.name} is not at hand: mlcdr datasets {command} {known.name}")


def _read_table(name: str, labels: Any) -> WrittenDataSet:
    """A file that does not say which columns are labels; it may be missing, or wrong, which a run will tell."""
    if labels is None:
        how = "a name, a pattern (tag_*), or how many (-6: the last six)"
        raise UserError(f"{name}: which columns are labels? --labels: {how}")
    options = {"labels": labels}
    has_gaps = False
    with contextlib.suppress(DataError):
        has_gaps = load_dataset(name, labels=labels, missing="keep").kind_of_features == "gaps"
    if has_gaps:
        options["missing"] = "keep"
    return WrittenDataSet(name, {name: options}, has_gaps)


# -------------------------------------------------------------------- methods


def name_methods(methods: Sequence[str], known: Collection[str] = ()) -> dict[str, str]:
    """The name of each method in the config and the results → what is written: one of a config's, or components.

    Raises
    ------
    UserError
        When two have one name, or a component is unknown or cannot be imported.
    """
    named: dict[str, str] = {}
    for written in methods:
        name = written if written in known else _name_method(written)
        if name in named:
            raise UserError(f"two methods are called {name!r} ({named[name]}, {written}); results are kept by the name")
        named[name] = written
    return named


def _name_method(written: str) -> str:
    """The classes of a method."""
    classes = [registry.class_name(*_read_component(part.strip())) for part in written.split("+")]
    return " + ".join(classes)


def _read_method(written: str) -> dict[str, Any]:
    """Family → component of a method, in the order of the line; with a learner that suits it, if it has none."""
    method = read_parts(written)
    method["learner"] = choose_learner(method)
    return {family: method[family] for family in _ORDER if family in method}


def read_parts(written: str) -> dict[str, Any]:
    """Family → component of what is written: `pca+plst`, `label_space:cca`, `my_methods.Mine`.

    Raises
    ------
    UserError
        When a component is unknown or cannot be imported, its name is that of several, or two are of one family.
    """
    method: dict[str, Any] = {}
    for part in written.split("+"):
        family, name = _read_component(part.strip())
        if family in method:
            raise UserError(f"the method {written!r} has two components for the {family}; keep one")
        method[family] = name
    return method


def _read_component(written: str) -> tuple[str, str]:
    """Family and name of `name`, of a dotted path, or of `family:name` where a name is in several."""
    chosen, _, name = written.rpartition(":")
    families = [family for family in _ORDER if name in registry.names(family)]
    if "." in name and not chosen:
        chosen = find_family(registry.resolve("method", name)) or "learner"
    if chosen:
        families = [chosen]
    if len(families) == 1:
        registry.find_declaration(families[0], name)  # raises where there is no such class
        return families[0], name
    if families:
        which = " or ".join(f"{family}:{name}" for family in families)
        raise UserError(f"{name!r} is the name of several components: write {which}")
    raise unknown_component(name, list(itertools.chain(*map(registry.names, _ORDER))))


def unknown_component(name: str, known: Collection[str]) -> UserError:
    """The error of a name that is none of the known components'."""
    hint = registry.describe_elsewhere(name) or suggest_name(name, known)
    listing = list_known(known, "`mlcdr methods`")
    return UserError(f"unknown component {name!r}{hint} ({listing}; or a dotted path to your own class)")


def choose_learner(method: dict[str, Any]) -> Any:
    """The learner of a method: the one that it has, or one that suits its other parts."""
    if "learner" in method:
        name = method["learner"]
        of_one_label = registry.find_declaration("learner", name).one_label and "instance_space" not in method
        return {"binary_relevance": name} if of_one_label else name
    if "label_space" in method and registry.find_declaration("label_space", method["label_space"]).judges_learner:
        return "kernel_ridge"
    if "instance_space" in method:
        return "classifier_chain"
    return "ridge" if "feature_space" in method else "least_squares"


def _list_sizes(methods: Iterable[dict[str, Any]]) -> list[str]:
    """The path of each parameter that is the number of label dimensions of a method."""
    paths = []
    for method in methods:
        for family in ("dual_space", "label_space"):
            if family not in method:
                continue
            space = registry.find_declaration(family, method[family])
            if space.size_parameter in space.parameters:
                paths.append(f"{family}.{space.size_parameter}")
    return list(dict.fromkeys(paths))
