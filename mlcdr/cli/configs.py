"""Commands on experiment files, which compute nothing: `check`, `plan`, `new`, `example`, `schema`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlcdr.api.loading import import_from_here, load_experiment
from mlcdr.cli.arguments import Config, Labels, Out, Set, Trust, argument, option, switch
from mlcdr.cli.printing import format_size, print_columns, rows_of
from mlcdr.errors import ConfigError, UserError, plural
from mlcdr.standard_streams import print_notice

if TYPE_CHECKING:
    from mlcdr.execution.plan import Survey
    from mlcdr.experiment.data_checks import Findings
    from mlcdr.experiment.model import Experiment


def check(
    config: Config,
    set_: Set = None,
    trust: Trust = False,
    try_: Annotated[
        bool, switch("Also fit every method once to a few rows, in a process of its own.", "--try")
    ] = False,
) -> None:
    """Find the mistakes in an experiment file.

    Every mistake is reported with its line; nothing is run.

    Once the file has no mistake, the data sets are read, and sizes, splits and folds are compared with them. A number
    that is cut down to what there is, such as of more neighbours than rows, is reported. With `--try`, a method that
    fails on a few rows, at the first or the last point of its sweep and grid, is tried on the first split; one that
    fails there is a mistake.
    """
    experiment = load_experiment(config, set_ or (), trust=trust)
    # imported late, so that mistakes in the file are reported without the cost of this import
    from mlcdr.experiment.data_checks import compare_with_data

    _report(experiment, compare_with_data(experiment))
    if try_:
        from mlcdr.execution.trying import check_methods
        from mlcdr.experiment.commands import refuse_commands

        if not trust:
            refuse_commands(experiment)
        _report(experiment, check_methods(experiment))
        methods = plural(len(experiment.methods), "method")
        print_notice(f"tried: {methods} on {plural(len(experiment.datasets), 'data set')}")
    print(f"{config}: no mistake found; {experiment.name}: {format_size(experiment)}")


def _report(experiment: Experiment, found: Findings) -> None:
    """Print the remarks; raise ConfigError if there are mistakes."""
    for remark in found.remarks:
        print_notice(f"remark: {experiment.placed(remark)}")
    if found.mistakes:
        raise ConfigError([experiment.placed(problem) for problem in found.mistakes])


def plan(
    config: Config,
    out: Out = Path("results"),
    set_: Set = None,
    trust: Trust = False,
) -> None:
    """Show what `run` would compute, without running it."""
    from mlcdr.execution.plan import survey

    found = survey(load_experiment(config, set_ or (), trust=trust), out)
    costs = list(map(_format_cost, found.datasets["pending"], found.datasets["seconds"]))
    shown = found.datasets.drop(columns=["choosing", "seconds"]).rename(columns={"dataset": "data set"})
    print_columns(rows_of(shown.assign(cost=costs)))
    print()
    unknown = "; ?: not timed yet" if "?" in costs else ""
    print(f"groups: the trials of a split, computed together; fits: of models{unknown}")
    for line in found.shared:
        print(line)
    print(_format_costs(found))


def _format_cost(pending: int, seconds: float) -> str:
    """The time that the pending trials of a data set take, as a cell of the table."""
    from mlcdr.results.record import duration

    if not pending:
        return "–"
    return "?" if math.isnan(seconds) else duration(seconds)


def _format_costs(found: Survey) -> str:
    """`16 trials to compute; about 3 s of one worker, by past timings in results/small`."""
    from mlcdr.results.record import duration

    pending = found.datasets[found.datasets["pending"] > 0]
    timed = pending.dropna(subset="seconds")
    untimed = pending["dataset"][pending["seconds"].isna()]
    parts = [f"{plural(pending['pending'].sum(), 'trial')} to compute"]
    if len(timed):
        parts.append(f"about {duration(timed['seconds'].sum())} of one worker, by past timings in {found.folder}")
    if len(untimed):
        parts.append(f"no past timings of {', '.join(untimed)} in {found.folder}")
    return "; ".join(parts)


DataSets = Annotated[
    list[str] | None, option("DATASET", "A data set, a file, or `synthetic`. Repeatable.", "--dataset", "-d")
]
Methods = Annotated[
    list[str] | None, option("COMPONENT", "A component, or several: pca+plst+ridge. Repeatable.", "--method", "-m")
]
Metrics = Annotated[list[str] | None, option("METRIC", "A metric. Repeatable.", "--metric")]


def new(
    context: typer.Context,
    datasets: DataSets = None,
    labels: Labels = None,
    methods: Methods = None,
    metrics: Metrics = None,
    name: Annotated[str | None, option("NAME", "The experiment's name; default: the file's.")] = None,
    out: Annotated[Path | None, option("FILE", "Write the config to this file.", "--out", "-o")] = None,
) -> None:
    """Write a first experiment file, or a method's.

    The file has a comment at each line that one would change; what is left out has a default. It is printed without
    `--out`. `mlcdr new method NAME` writes the file of a method of your own.
    """
    if context.invoked_subcommand is not None:
        if any(context.params.values()):
            raise UserError(f"the options of `mlcdr new` are no options of `mlcdr new {context.invoked_subcommand}`")
        return
    from mlcdr.experiment import new_config
    from mlcdr.whole_files import write_atomically

    import_from_here()
    if name is None:
        name = out.stem if out is not None else "experiment"
    text = new_config.write_config(
        name,
        datasets or new_config.DATASETS,
        methods or new_config.METHODS,
        metrics or new_config.METRICS,
        new_config.read_labels(labels),
    )
    if out is None:
        print(text, end="")
    else:
        _refuse_present(out)
        write_atomically(out, text)
        print_notice(f"written: {out}; `mlcdr run {out}` runs it")


def _refuse_present(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UserError(f"{path}: is there already; remove it or choose another --out")


def example(
    name: Annotated[str | None, argument("NAME", "A config or an example; default: list all.")] = None,
    out: Annotated[Path, option("DIR", "The folder to copy into.")] = Path(),
) -> None:
    """List the configs and examples, or copy one.

    They come with mlcdr. `mlcdr run` takes the name of a config as it is; a copy is for changing it.
    """
    from mlcdr.experiment import shipped
    from mlcdr.whole_files import write_atomically

    if name is None:
        _list_examples()
        return
    files = shipped.shipped_files(name)
    for path in files:
        _refuse_present(out / path.name)
    for path in files:
        write_atomically(out / path.name, path.read_bytes())
        print_notice(f"written: {out / path.name}")


def _list_examples() -> None:
    """Print the examples, and the configs with what they show, by folder."""
    from mlcdr.experiment import shipped
    from mlcdr.experiment.yaml_reader import read_yaml

    print("Examples, which `mlcdr example NAME` copies:")
    for name, files in shipped.shipped_examples().items():
        print(f"{name}: {', '.join(path.name for path in files)}")
    print()
    print("Configs, which `mlcdr run NAME` takes, too:")
    configs = shipped.shipped_configs()
    above = ""
    for name in sorted(configs, key=lambda name: name.rpartition("/")):
        folder = name.rpartition("/")[0]
        if folder != above:
            print()
        above = folder
        print(f"{name}: {read_yaml(configs[name]).data.get('description', '')}")


def schema() -> None:
    """Print the JSON schema of experiment files.

    An editor that knows it completes and checks the keys.
    """
    import json

    from mlcdr.experiment.schema import read_schema

    print(json.dumps(read_schema(), indent=2, ensure_ascii=False))
