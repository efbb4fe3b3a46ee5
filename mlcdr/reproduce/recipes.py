"""What of the papers can be reproduced, and by which configs.

The configs are found by their names, and nothing lists them twice:

    configs/PAPER/TABLE.yaml            the experiment behind published/PAPER/TABLE.csv (or behind a figure)
    configs/PAPER/TABLE_VARIANT.yaml    the same in another way

A file is a variant where its name begins with that of a published table, or of another config of its folder, and `_`.
Two variants have a meaning: `small` is a reduced version that runs in minutes, and `large` holds the data sets that
TABLE.yaml leaves out, so that TABLE.yaml and `large` together are the whole table. Any other (`as_stated`) is one more
reading of the same table, called by its full name. A config's `name:` is `PAPER_TABLE` or `PAPER_TABLE_VARIANT`, by
which its results are found again.

A table without a `small` config has a reduction instead: the data sets of at most a million values, and a fifth of the
repeats (20 at most, one at least).

The configs are those of the source checkout, or, in an installed package, its own copy (`mlcdr/configs`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mlcdr.config.loading import load_experiment
from mlcdr.config.shipped import shipped_folder
from mlcdr.data.files import NotFetchedError, Part, data_folders, locate
from mlcdr.data.sources import entries, find, how_to_get
from mlcdr.errors import ConfigError, DataError, UserError, join_words, suggest_name
from mlcdr.experiment.model import Experiment, LayoutSpec
from mlcdr.experiment.splits import FromFile
from mlcdr.reproduce import published
from mlcdr.results.joining import LARGE
from mlcdr.tables import layouts

SMALL = "small"
_MAX_VALUES = 1_000_000  # instances × features of what counts as a small data set
_MAX_REPEATS = 20


@dataclass(frozen=True)
class Recipe:
    """A config that comes with mlcdr and what it reproduces.

    Attributes
    ----------
    name : str
        `PAPER/CONFIG`: what `mlcdr reproduce` takes.
    path : Path
        The config.
    of : str
        `PAPER/TABLE`: the table or figure that it is a reading of; its own name unless it is a variant.
    variant : str
        What follows the table's name, empty if nothing does.
    table : str
        The published table to compare with; empty where the paper prints no numbers.
    """

    name: str
    path: Path
    of: str
    variant: str
    table: str

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment, whether or not its data sets are at hand."""
        return load_experiment(self.path, look_up=False)

    @cached_property
    def outline(self) -> Experiment:
        """The experiment without its components' classes, which may need an extra that is not installed."""
        return load_experiment(self.path, look_up=False, import_classes=False)

    def lacks(self) -> list[str]:
        """Why the experiment cannot be run here, whatever data sets are at hand: an extra that is not installed."""
        try:
            self.experiment  # noqa: B018
        except ConfigError as error:  # `file:line: key.path: what is wrong`, often of each method alike
            return list(dict.fromkeys(problem.split(": ", 2)[-1] for problem in error.problems))
        return []


@dataclass(frozen=True)
class Step:
    """One experiment of a reproduction: a config, what is changed in it (`--set`), and a line on that."""

    recipe: Recipe
    overrides: tuple[str, ...] = ()
    description: str = ""


def config_folder() -> Path:
    """The folder of the configs: the checkout's, or the package's own copy."""
    return shipped_folder("configs")


def recipes() -> dict[str, Recipe]:
    """All configs of papers, by name, sorted."""
    found = sorted(config_folder().glob("*/*.yaml"))
    tables = published.names()
    stems = [f"{path.parent.name}/{path.stem}" for path in found]
    result = {}
    for name, path in zip(stems, found, strict=True):
        table = max(_beginnings(name, tables), key=len, default="")
        of = table or min(_beginnings(name, stems), key=len)
        result[name] = Recipe(name, path, of, name[len(of) + 1 :], table)
    return result


def _beginnings(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are a name, or its beginning before a `_`."""
    return [each for each in known if name == each or name.startswith(f"{each}_")]


def data_table(target: str) -> str:
    """The published table of data sets that a target names; empty if it names none."""
    names = {published.plain_name(name): name for name in published.data_set_names() if name in layouts.names()}
    return names.get(published.plain_name(target), "")


def prints_times(experiment: Experiment) -> bool:
    """Whether an experiment shows times and nothing else."""
    return _shows_times(experiment.tables, experiment.figures)


def _shows_times(tables: Iterable[LayoutSpec], figures: Iterable[LayoutSpec] = ()) -> bool:
    of_tables = [layout.metrics or (layout.metric,) for layout in map(layouts.load_table, tables)]
    of_figures = [layout.chosen_metrics or () for layout in map(layouts.load_figure, figures)]
    shown = {metric for metrics in (*of_tables, *of_figures) for metric in metrics}
    return bool(shown) and shown <= set(layouts.TIMES)


def tables_of(recipe: Recipe, experiment: Experiment) -> list[str]:
    """The published tables to compare an experiment with: its recipe's, and others that it is laid out as."""
    others = [spec.layout for spec in experiment.tables if spec.layout in published.names()]
    return list(dict.fromkeys([recipe.table, *others]))


def filled_by_others() -> dict[str, list[Recipe]]:
    """Published table without a config of its own → the configs whose runs fill it; sorted."""
    known = recipes()
    found: dict[str, list[Recipe]] = {}
    for recipe in known.values():
        for table in () if recipe.variant else tables_of(recipe, recipe.outline):
            if table and table not in known:
                found.setdefault(table, []).append(recipe)
    return dict(sorted(found.items()))


def compared_tables(target: str, step: Step, experiment: Experiment) -> list[str]:
    """The published tables to compare a run for `target` with.

    A table of times that other configs fill is among them only if `target` names it.
    """
    times = _times_of_others(step, experiment)
    return [each for each in tables_of(step.recipe, experiment) if each not in times or _names(target, each)]


def measures_times(target: str, step: Step, experiment: Experiment) -> bool:
    """Whether a run for `target` is for its times, so that one trial should run at a time."""
    return prints_times(experiment) or any(_names(target, each) for each in _times_of_others(step, experiment))


def _times_of_others(step: Step, experiment: Experiment) -> list[str]:
    return [spec.layout for spec in experiment.tables if _shows_times([spec]) and spec.layout != step.recipe.table]


def _names(target: str, table: str) -> bool:
    return published.plain_name(target).startswith(published.plain_name(table))


def steps(target: str, small: bool = False, large: bool = False) -> list[Step]:
    """The experiments that reproduce `PAPER/TABLE`, or all tables and figures of `PAPER`.

    Parameters
    ----------
    target : str
        `PAPER`, or `PAPER/CONFIG` (a variant may be named in full), or a table that other configs fill. `-` may stand
        for `_` and `/`, the paper may be cut after its year, and `-small` or `-large` may end it:
        `sun-2017-table3-2-large`. The beginning of several names means all of them, with the paper's year at least:
        `sun-2017-figures6`.
    small : bool
        The small variant: TABLE_small.yaml, or the reduction.
    large : bool
        With TABLE_large.yaml.

    Raises
    ------
    UserError
        When there is no such paper, table or part.
    """
    known = recipes()
    plain = {published.plain_name(name): each for name, each in known.items()}
    name = published.plain_name(target)
    for ending in (SMALL, LARGE):
        if name.endswith(f"_{ending}") and (name not in plain or (ending == LARGE and not small)):
            name, small, large = name.removesuffix(f"_{ending}"), small or ending == SMALL, large or ending == LARGE
    if small and large:
        raise UserError("--small and --large do not go together; choose one")
    beginning = re.sub("(figure|table)s", r"\1", name)
    begun = [each for key, each in plain.items() if name and key.startswith(beginning) and not each.variant]
    wanted = [plain[name]] if name in plain else begun if re.search(r"_\d{4}", name) else []
    wanted = wanted or {published.plain_name(table): each for table, each in filled_by_others().items()}.get(name, [])
    if not wanted:
        papers = dict.fromkeys(each.name.partition("/")[0] for each in begun or known.values())
        names = list(papers) if begun else [*known, *filled_by_others(), *papers]
        if "-" in target:  # as it is typed
            names = [re.sub("[/_]", "-", each) for each in names]
        hint = f"; did you mean {join_words(list(map(repr, names)), 'or')}?" if begun else suggest_name(target, names)
        raise UserError(f"nothing here reproduces {target!r}{hint}; `mlcdr reproduce` lists what can be reproduced")
    if small:
        return [_small(each, known) for each in wanted]
    result = [Step(each) for each in wanted]
    if large:
        larger = [known[name] for each in wanted if (name := f"{each.name}_{LARGE}") in known]
        if not larger:
            having = [each.of for each in known.values() if each.variant == LARGE]
            raise UserError(f"{target} has no part of its own for large data sets (having one: {', '.join(having)})")
        result += [Step(each) for each in larger]
    return result


def _small(recipe: Recipe, known: dict[str, Recipe]) -> Step:
    ready = known.get(f"{recipe.name}_{SMALL}")
    if ready is not None:
        return Step(ready, description=f"small: {ready.outline.description or ready.path.name}")
    experiment = recipe.outline
    named = [spec.name for spec in experiment.datasets]
    sizes = {name: n_values(name) for name in named}
    kept = [name for name in named if sizes[name] <= _MAX_VALUES] or [min(named, key=sizes.__getitem__)]
    plain = [spec.plain() for spec in experiment.datasets if spec.name in kept]
    changes = [f"datasets={json.dumps(plain)}", f"name={experiment.name}_{SMALL}"]
    reduced = [f"{len(kept)} of {len(named)} data sets ({', '.join(kept)})"]
    repeats = experiment.splits.repeats
    if repeats > 1:
        fewer = max(1, min(repeats // 5, _MAX_REPEATS))
        changes.append(f"splits.repeats={fewer}")
        reduced.append(f"{fewer} of {repeats} repeats")
    return Step(recipe, tuple(changes), f"small: {', '.join(reduced)}")


def n_values(name: str) -> float:
    """Instances × features of a data set of the catalogue; 0 of any other."""
    known = find(name)
    facts = known.statistics if known else {}
    return float(facts.get("n_instances", 0)) * float(facts.get("n_features", 0))


def missing(experiments: Sequence[Experiment]) -> list[str]:
    """The data sets of some experiments of the catalogue that are not available."""
    names: dict[str, None] = {}
    for experiment in experiments:
        part: Part = "predefined" if experiment.splits.kind == "predefined" else "full"
        for spec in experiment.datasets:
            if spec.source is None or find(spec.source) is None:
                continue  # the check of the config reports it with its line
            try:
                locate(spec.name, part)
            except DataError:
                names[spec.name] = None
    return list(names)


def require_data(experiments: Sequence[Experiment], target: str) -> None:
    """Refuse to begin without the data sets, in one line with the ways to get them or to do without.

    Raises
    ------
    DataError
        When some are not at hand.
    """
    names, of_folds = missing(experiments), missing_folds(experiments)
    if names or of_folds:
        looked = ", ".join(str(folder) for folder in data_folders())
        needs = [f"{', '.join(names)}, not found in the folders {looked}"] if names else []
        needs += [f"the folds of {', '.join(of_folds)}"] if of_folds else []
        get = how_to_get(list(dict.fromkeys([*names, *of_folds])), bool(of_folds))
        lacking = {*names, *of_folds}
        common = [spec.name for spec in experiments[0].datasets if spec.name not in lacking]
        common = [name for name in common if all(name in [spec.name for spec in e.datasets] for e in experiments)]
        without = f"; or leave them out: --set 'datasets=[{', '.join(common)}]'" if common else ""
        raise DataError(f"{target} needs {', and '.join(needs)}; {get}{without}")


def missing_folds(experiments: Sequence[Experiment]) -> list[str]:
    """The data sets of some experiments whose fixed folds can be downloaded and are not at hand."""
    names: dict[str, None] = {}
    for experiment in experiments:
        folds = experiment.splits
        for spec in experiment.datasets:
            try:
                if isinstance(folds, FromFile):
                    folds.find(spec.name)
            except NotFetchedError as error:
                names[error.name] = None
            except DataError:
                pass  # the config's own check reports it, with its line
    return list(names)


def data_sets_of(paper: str) -> list[str]:
    """The data sets of the catalogue that a paper's configs name, in the catalogue's order.

    Raises
    ------
    UserError
        When there is no such paper; names those there are.
    """
    named: dict[str, set[str]] = {}
    for each in recipes().values():
        names = {known.name for spec in each.outline.datasets if (known := find(spec.name)) is not None}
        named.setdefault(each.name.partition("/")[0], set()).update(names)
    by_plain = {published.plain_name(name): names for name, names in named.items()}
    found = by_plain.get(published.plain_name(paper))
    if found is None:
        raise UserError(f"no configs of a paper {paper!r}{suggest_name(paper, named)} (known: {', '.join(named)})")
    return [known.name for known in entries() if known.name in found]


def printed_cells(recipe: Recipe) -> int:
    """How many numbers the published table of a recipe has; 0 without one."""
    return len(published.load(recipe.table)) if recipe.table else 0


def experiment_of(step: Step, overrides: Sequence[str] = ()) -> Experiment:
    """The experiment of a step, with `--set` options of the user's, whether or not its data sets are at hand."""
    return load_experiment(step.recipe.path, [*step.overrides, *overrides], look_up=False)


def by_experiment_name() -> dict[str, tuple[Recipe, str]]:
    """The name of an experiment, which names its results folder → the recipe, and the variant it is run as."""
    known = {name.replace("/", "_"): each for name, each in recipes().items()}
    reduced = {f"{name}_{SMALL}": (each, f"{each.variant}_{SMALL}".lstrip("_")) for name, each in known.items()}
    return reduced | {name: (each, each.variant) for name, each in known.items()}


def expected(recipe: Recipe, variant: str) -> Experiment:
    """The experiment as the config, or its reduction, has it; its outline where an extra is not installed."""
    without = bool(recipe.lacks())
    if variant.endswith(SMALL) and not recipe.variant.endswith(SMALL):
        (step,) = steps(recipe.name, small=True)
        return load_experiment(recipe.path, step.overrides, look_up=False, import_classes=not without)
    return recipe.outline if without else recipe.experiment


def changes(expected: Experiment, stored: Experiment) -> Iterator[str]:
    """`key.path: 4 (config: 100)` for what affects the numbers; the folders of the folds do not."""
    ours, theirs = (dict(_flat(_bearing(each))) for each in (stored, expected))
    for path in dict.fromkeys([*theirs, *ours]):
        if ours.get(path) != theirs.get(path):
            shown = [json.dumps(each[path], ensure_ascii=False) if path in each else "none" for each in (ours, theirs)]
            yield f"{path}: {shown[0]} (config: {shown[1]})"


def _bearing(experiment: Experiment) -> dict[str, Any]:
    """What affects the numbers, as plain data; data sets by the names that the catalogue gives them."""
    datasets = tuple(spec.model_copy(update={"name": spec.short_name()}) for spec in experiment.datasets)
    whole = experiment.model_copy(update={"datasets": datasets}).resolved()
    whole["splits"].pop("folders", None)
    kept = {key: whole[key] for key in ("datasets", "metrics", "sweep", "methods", "splits") if key in whole}
    plain: dict[str, Any] = json.loads(json.dumps(kept))
    return plain


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
