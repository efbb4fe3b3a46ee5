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

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from mlcdr.data.files import NotFetchedError, data_folders, locate
from mlcdr.data.sources import entries, find, how_to_get
from mlcdr.errors import ConfigError, DataError, UserError, join_words, suggest_name
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.model import Experiment, LayoutSpec
from mlcdr.experiment.shipped import shipped_folder
from mlcdr.experiment.splits import FromFile
from mlcdr.experiment.yaml_reader import dump_line
from mlcdr.papers import printed
from mlcdr.papers.printed import full_name, plain_name
from mlcdr.results.joining import LARGE
from mlcdr.tables import layouts
from mlcdr.tables.layouts import FigureLayout, TableLayout

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

    @property
    def paper(self) -> str:
        """`PAPER`."""
        return self.name.partition("/")[0]

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment, whether or not its data sets are at hand."""
        return load_experiment(self.path, look_up=False)

    @cached_property
    def outline(self) -> Experiment:
        """The experiment without its components' classes, which may need an extra that is not installed."""
        return load_experiment(self.path, look_up=False, instances=False)

    def lacks(self) -> list[str]:
        """Why the experiment cannot be run here, whatever data sets are at hand: an extra that is not installed."""
        try:
            self.experiment  # noqa: B018
        except ConfigError as error:  # `file:line: key.path: what is wrong`, often of each method alike
            reasons = [problem.split(": ", 2)[-1] for problem in error.problems]
            return list(dict.fromkeys(reasons))
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
    """All configs of papers, by name, sorted. A process reads each of them once."""
    return _find_recipes(config_folder())


@cache
def _find_recipes(folder: Path) -> dict[str, Recipe]:
    paths = {f"{path.parent.name}/{path.stem}": path for path in sorted(folder.glob("*/*.yaml"))}
    tables = printed.list_tables()
    found = {}
    for name, path in paths.items():
        table = max(_beginnings_of(name, tables), key=len, default="")
        of = table or min(_beginnings_of(name, paths), key=len)
        variant = name[len(of) + 1 :]
        found[name] = Recipe(name, path, of, variant, table)
    return found


def _beginnings_of(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are a name, or its beginning before a `_`."""
    return [each for each in known if f"{name}_".startswith(f"{each}_")]


def facts_table(target: str) -> str:
    """The published table of data sets that a target names; empty if it names none."""
    tables = sorted(set(layouts.names()).intersection(printed.list_facts_tables()))
    full = full_name(target, tables)
    return full if full in tables else ""


def prints_times(experiment: Experiment) -> bool:
    """Whether an experiment shows times and nothing else."""
    return _shows_times(experiment.tables, experiment.figures)


def _shows_times(tables: Iterable[LayoutSpec], figures: Iterable[LayoutSpec] = ()) -> bool:
    shown: set[str] = set()
    for entry in tables:
        table = layouts.load(TableLayout, entry)
        shown.update(table.metrics or [str(table.metric)])
    for entry in figures:
        shown.update(layouts.load(FigureLayout, entry).chosen_metrics or ())
    return bool(shown) and shown.issubset(layouts.TIMES)


def tables_of(recipe: Recipe, experiment: Experiment) -> list[str]:
    """The published tables to compare an experiment with: its recipe's, and others that it is laid out as.

    The first is empty where the paper prints no numbers.
    """
    known = printed.list_tables()
    others = [spec.layout for spec in experiment.tables if spec.layout in known]
    return list(dict.fromkeys([recipe.table, *others]))


def filled_by_others() -> dict[str, list[Recipe]]:
    """Published table without a config of its own → the configs whose runs fill it; sorted."""
    known = recipes()
    found: dict[str, list[Recipe]] = {}
    whole = [recipe for recipe in known.values() if not recipe.variant]
    for recipe in whole:
        for table in tables_of(recipe, recipe.outline):
            if table and table not in known:
                found.setdefault(table, []).append(recipe)
    return dict(sorted(found.items()))


def compared_tables(target: str, step: Step, experiment: Experiment) -> list[str]:
    """The published tables to compare a run for `target` with.

    A table of times that other configs fill is among them only if `target` names it.
    """
    times = _times_of_others(step, experiment)
    tables = tables_of(step.recipe, experiment)
    return [table for table in tables if table not in times or _names(target, table)]


def measures_times(target: str, step: Step, experiment: Experiment) -> bool:
    """Whether a run for `target` is for its times, so that one trial should run at a time."""
    others = _times_of_others(step, experiment)
    return prints_times(experiment) or any(_names(target, table) for table in others)


def _times_of_others(step: Step, experiment: Experiment) -> list[str]:
    """The tables of times of an experiment that are not its recipe's."""
    others = [spec for spec in experiment.tables if spec.layout != step.recipe.table]
    return [spec.layout for spec in others if _shows_times([spec])]


def _names(target: str, table: str) -> bool:
    return plain_name(target).startswith(plain_name(table))


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
    name = plain_name(target)
    if name.endswith(f"_{SMALL}"):
        name = name.removesuffix(f"_{SMALL}")
        small = True
    elif name.endswith(f"_{LARGE}") and not small:
        name = name.removesuffix(f"_{LARGE}")
        large = True
    if small and large:
        raise UserError("--small and --large do not go together; choose one")
    wanted = _recipes_named(name)
    if not wanted:
        raise UserError(_describe_unknown(target))
    if small:
        return [_small(recipe) for recipe in wanted]
    parts = _large_parts(target, wanted) if large else []
    return [Step(recipe) for recipe in [*wanted, *parts]]


def _recipes_named(name: str) -> list[Recipe]:
    """The recipes that a plain name means: a config, all that begin with it, or those that fill a table."""
    known = recipes()
    full = full_name(name, list(known))
    if full in known:
        return [known[full]]
    has_year = re.search(r"_\d{4}", name)
    beginning = _recipes_beginning(name) if has_year else []
    if beginning:
        return beginning
    filled = filled_by_others()
    return filled.get(full_name(name, list(filled)), [])


def _recipes_beginning(name: str) -> list[Recipe]:
    """The recipes, variants aside, whose plain names begin with a name, in which `tables` means each table."""
    beginning = re.sub("(figure|table)s", r"\1", name)
    whole = [recipe for recipe in recipes().values() if not recipe.variant]
    return [recipe for recipe in whole if beginning and plain_name(recipe.name).startswith(beginning)]


def _describe_unknown(target: str) -> str:
    """What is known that a target could mean."""
    meant = {repr(recipe.paper): None for recipe in _recipes_beginning(plain_name(target))}
    if meant:  # it lacks the year
        hint = f"; did you mean {join_words(list(meant), 'or')}?"
    else:
        known = recipes()
        papers = [recipe.paper for recipe in known.values()]
        names = [*known, *filled_by_others(), *papers]
        if "-" in target:  # as it is typed
            names = [re.sub("[/_]", "-", each) for each in names]
        hint = suggest_name(target, names)
    return f"nothing here reproduces {target!r}{hint}; `mlcdr reproduce` lists what can be reproduced"


def _large_parts(target: str, wanted: Sequence[Recipe]) -> list[Recipe]:
    """The recipes of the large data sets of some tables."""
    large = {recipe.of: recipe for recipe in recipes().values() if recipe.variant == LARGE}
    found = [large[recipe.name] for recipe in wanted if recipe.name in large]
    if not found:
        raise UserError(f"{target} has no part of its own for large data sets (having one: {', '.join(large)})")
    return found


def _small(recipe: Recipe) -> Step:
    """The small variant of a recipe, or a reduction of it."""
    ready = recipes().get(f"{recipe.name}_{SMALL}")
    if ready is not None:
        return Step(ready, description=f"small: {ready.outline.description or ready.path.name}")
    experiment = recipe.outline
    sizes = {spec.name: n_values(spec.name) for spec in experiment.datasets}
    most = max(_MAX_VALUES, min(sizes.values()))
    kept = [name for name, size in sizes.items() if size <= most]
    datasets = [spec.plain() for spec in experiment.datasets if spec.name in kept]
    changes = [f"datasets={dump_line(datasets)}", f"name={experiment.name}_{SMALL}"]
    reduced = [f"{len(kept)} of {len(sizes)} data sets ({', '.join(kept)})"]
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
    n, d = facts.get("n_instances", 0), facts.get("n_features", 0)
    return float(n) * float(d)


def missing(experiments: Iterable[Experiment]) -> list[str]:
    """The data sets of some experiments of the catalogue that are not available."""
    names: dict[str, None] = {}
    for experiment in experiments:
        part = experiment.splits.part
        for spec in experiment.datasets:
            if not (spec.source and find(spec.source)):
                continue  # the check of the config says what is wrong, with its line
            try:
                locate(spec.name, part)
            except DataError:
                names[spec.name] = None
    return list(names)


def missing_folds(experiments: Iterable[Experiment]) -> list[str]:
    """The data sets of some experiments whose fixed folds can be downloaded and are not at hand."""
    names: dict[str, None] = {}
    for experiment in experiments:
        for spec in experiment.datasets:
            try:
                if isinstance(experiment.splits, FromFile):
                    experiment.splits.find(spec.name)
            except NotFetchedError as error:
                names[error.name] = None
            except DataError:
                pass  # the config's own check reports it, with its line
    return list(names)


def require_data(experiments: Sequence[Experiment], target: str) -> None:
    """Refuse to begin without the data sets, in one line with the ways to get them or to do without.

    Raises
    ------
    DataError
        When some are not at hand.
    """
    names, of_folds = missing(experiments), missing_folds(experiments)
    lacking = list(dict.fromkeys([*names, *of_folds]))
    if not lacking:
        return
    needs = []
    if names:
        folders = ", ".join(map(str, data_folders()))
        needs.append(f"{', '.join(names)}, not found in the folders {folders}")
    if of_folds:
        needs.append(f"the folds of {', '.join(of_folds)}")
    named = []
    for experiment in experiments:
        named.append([spec.name for spec in experiment.datasets])
    common = set.intersection(*map(set, named)) - set(lacking)
    kept = ", ".join(name for name in named[0] if name in common)
    without = f"; or leave them out: --set 'datasets=[{kept}]'" if kept else ""
    raise DataError(f"{target} needs {', and '.join(needs)}; {how_to_get(lacking, bool(of_folds))}{without}")


def data_sets_of(paper: str) -> list[str]:
    """The data sets of the catalogue that a paper's configs name, in the catalogue's order.

    Raises
    ------
    UserError
        When there is no such paper; names those there are.
    """
    named: dict[str, set[str]] = {}
    for recipe in recipes().values():
        sources = [find(spec.name) for spec in recipe.outline.datasets]
        of_paper = named.setdefault(recipe.paper, set())
        of_paper.update(source.name for source in sources if source)
    full = full_name(paper, list(named))
    if full not in named:
        raise UserError(f"no configs of a paper {paper!r}{suggest_name(paper, named)} (known: {', '.join(named)})")
    return [known.name for known in entries() if known.name in named[full]]


def experiment_of(step: Step, overrides: Sequence[str] = ()) -> Experiment:
    """The experiment of a step, with `--set` options of the user's, whether or not its data sets are at hand."""
    return load_experiment(step.recipe.path, [*step.overrides, *overrides], look_up=False)
