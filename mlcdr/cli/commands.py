"""All commands, in the order of `mlcdr --help`: functions of the modules here, one family per module.

The list of commands shows the first sentence of each docstring, of at most 50 characters to fit 80 columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mlcdr.cli import (
    comparing,
    components,
    configs,
    data_sets,
    models,
    own_methods,
    reproducing,
    results,
    running,
    status,
)
from mlcdr.cli.arguments import switch


def _print_version(requested: bool) -> None:
    if requested:
        from mlcdr import __version__

        print(f"mlcdr {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, switch("Show the version and exit.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Reproduce, compare and extend multi-label dimension reduction."""


_COMMANDS: tuple[Callable[..., None], ...] = (
    running.run,
    reproducing.reproduce,
    reproducing.verify,
    configs.check,
    configs.plan,
    status.status,
    running.retry,
    configs.example,
    configs.schema,
    results.table,
    results.plot,
    results.report,
    comparing.compare,
    models.fit,
    models.predict,
    components.methods,
    components.metrics,
    components.doctor,
    components.completion,
)
_OF_DATASETS: tuple[Callable[..., None], ...] = (
    data_sets.info,
    data_sets.fetch,
    data_sets.verify,
    data_sets.splits,
    data_sets.table,
    data_sets.export,
    data_sets.plot,
)

app = typer.Typer(
    name="mlcdr",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(_options)
for command in _COMMANDS:
    app.command()(command)
app.command("test")(own_methods.check_methods)

new_app = typer.Typer(invoke_without_command=True)
new_app.callback()(configs.new)
new_app.command("method")(own_methods.new_method)
app.add_typer(new_app, name="new")

datasets_app = typer.Typer(help="List, describe, fetch and export data sets.", no_args_is_help=True)
datasets_app.command("list")(data_sets.list_datasets)
for command in _OF_DATASETS:
    datasets_app.command()(command)
app.add_typer(datasets_app, name="datasets")
