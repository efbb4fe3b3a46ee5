"""The words that a shell offers where a command takes a name; Typer calls these functions at the Tab key.

Each function gets the beginning of a word, and returns the words that may stand there, with what each of them is.
Typer keeps those that fit the beginning; where there is none, the shell completes the names of files. Nothing is
imported here that takes long to import, such as NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Words: TypeAlias = Sequence[str | tuple[str, str]]
"""Words, each alone or with what it is."""

# A script of a shell may execute what a name has of other characters, and such a name may be a stranger's.
_HARMLESS = re.compile(r"[\w@%+=,./-]+")


def complete_components(incomplete: str) -> Words:
    """The components of methods; of several that are joined by `+`, the last."""
    from mlcdr.methods import registry

    before = incomplete[: incomplete.rfind("+") + 1]
    words = []
    for family, built_in in registry.BUILT_IN.items():
        for name in registry.names(family):
            # a component of another package would have to be imported to say what it is
            summary = registry.find_declaration(family, name).summary if name in built_in else ""
            words.append((before + name, summary))
    return words


def complete_metrics() -> Words:
    """The metrics."""
    from mlcdr.metrics import METRICS

    return [(metric.name, metric.description) for metric in METRICS.values()]


def complete_data_sets() -> Words:
    """The data sets of the catalogue, and those of the data folders."""
    from mlcdr.data.files import list_own
    from mlcdr.data.sources import entry_names

    own = _leave_harmless(files.name for files in list_own())
    return [*entry_names(), *((name, "your own") for name in own)]


def complete_data_options() -> Words:
    """The options of a data set."""
    from mlcdr.data.forms import OPTIONS

    return [(f"{name}=", option.description) for name, option in OPTIONS.items()]


def complete_configs(incomplete: str) -> Words:
    """The experiment files of the folder that is typed, and the configs that come with mlcdr."""
    from mlcdr.experiment.shipped import shipped_configs

    return [*_list_yaml(incomplete), *((name, "comes with mlcdr") for name in shipped_configs())]


def complete_verified(incomplete: str) -> Words:
    """The YAML files of the folder that is typed, and the results folders."""
    return [*_list_yaml(incomplete), *complete_results(incomplete)]


def _list_yaml(incomplete: str) -> list[str]:
    folder = incomplete[: incomplete.rfind("/") + 1]
    return _leave_harmless(sorted(folder + path.name for path in Path(folder).glob("*.y*ml")))


def complete_results(incomplete: str) -> Words:
    """The results folders in the folder that is typed, or in `results`."""
    folder = incomplete[: incomplete.rfind("/") + 1] or "results/"
    return _leave_harmless(sorted(folder + path.parent.name for path in Path(folder).glob("*/experiment.yaml")))


def complete_settings(incomplete: str) -> Words:
    """The keys that every config may have, such as `splits.repeats`, with `=`."""
    from mlcdr.experiment.schema import read_schema

    whole = read_schema()
    keys = whole["properties"]
    path = incomplete.split(".")[:-1]
    for step in path:
        keys = _list_keys(keys.get(step, {}), whole["$defs"])
    before = "".join(f"{step}." for step in path)
    return [(f"{before}{key}=", value.get("description", "")) for key, value in keys.items()]


def _list_keys(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a value in a JSON schema, in any of the forms that it may have."""
    forms = [*value.get("anyOf", ()), *value.get("oneOf", ())]
    if "$ref" in value:
        forms.append(definitions[value["$ref"].rpartition("/")[2]])
    keys = dict(value.get("properties", {}))
    for form in forms:
        keys |= _list_keys(form, definitions)
    return keys


def complete_layouts() -> Words:
    """The layouts of tables and figures."""
    from mlcdr.tables import layouts

    return list(layouts.names())


def complete_published() -> Words:
    """The published tables, and the studies."""
    from mlcdr.data.sources import studies

    files = sorted((Path(__file__).parents[1] / "papers" / "published").glob("*/*.csv"))
    tables = []
    for path in files:
        with path.open(encoding="utf-8") as file:
            if file.readline().startswith("dataset,method,setting,"):  # others have ranks, or costs
                tables.append(f"{path.parent.name}/{path.stem}")
    return [*tables, *studies()]


def complete_stored() -> Words:
    """The configs of which the record has the results of methods."""
    from mlcdr.experiment.shipped import record_folder

    folders = sorted(path.parent for path in record_folder().glob("*/*/experiment.yaml"))
    return [f"{folder.parent.name}/{folder.name}" for folder in folders]


def complete_recipes() -> Words:
    """The papers, and the configs of their tables and figures."""
    return [*complete_papers(), *_list_recipes()]


def complete_papers() -> Words:
    """The papers with tables that can be reproduced."""
    return list(dict.fromkeys(name.partition("/")[0] for name in _list_recipes()))


def _list_recipes() -> list[str]:
    from mlcdr.experiment.shipped import shipped_configs

    return [name for name in shipped_configs() if "/" in name]


def _leave_harmless(names: Iterable[str]) -> list[str]:
    return [name for name in names if _HARMLESS.fullmatch(name)]


COMPLETERS: dict[str, Callable[..., Words]] = {
    "COMPONENT": complete_components,
    "METRIC": complete_metrics,
    "DATASET": complete_data_sets,
    "OPTION=VALUE": complete_data_options,
    "CONFIG": complete_configs,
    "RESULTS": complete_results,
    "RESULTS|FILE": complete_verified,
    "KEY=VALUE": complete_settings,
    "LAYOUT": complete_layouts,
    "PAPER": complete_papers,
    "PAPER/TABLE": complete_published,
    "PAPER/CONFIG": complete_stored,
    "PAPER[/TABLE]": complete_recipes,
}
"""What a parameter takes, as help shows it → the function that lists words for it."""
