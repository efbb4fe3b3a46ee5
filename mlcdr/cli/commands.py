"""All commands, in the order of `mlcdr --help`; they are functions of the modules here, one family per module.

The list of commands shows the first sentence of each docstring, of at most 50 characters to fit 80 columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mlcdr.cli import comparing, components, configs, data_sets, own_methods, reproducing, results, running, status
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


_COMMANDS: dict[str, Callable[..., None]] = {
    "run": running.run,
    "reproduce": reproducing.reproduce,
    "check": configs.check,
    "plan": configs.plan,
    "status": status.status,
    "retry": running.retry,
    "example": configs.example,
    "schema": configs.schema,
    "table": results.table,
    "plot": results.plot,
    "report": results.report,
    "compare": comparing.compare,
    "predict": results.predict,
    "methods": components.methods,
    "metrics": components.metrics,
    "doctor": components.doctor,
    "completion": components.completion_script,
    "test": own_methods.check_methods,
}

_OF_DATASETS: dict[str, Callable[..., None]] = {
    "list": data_sets.list_datasets,
    "info": data_sets.info,
    "fetch": data_sets.fetch,
    "verify": data_sets.verify,
    "splits": data_sets.datasets_splits,
    "table": data_sets.datasets_table,
    "export": data_sets.datasets_export,
    "plot": data_sets.datasets_plot,
}

app = typer.Typer(
    name="mlcdr",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(_options)
for name, command in _COMMANDS.items():
    app.command(name)(command)

new_app = typer.Typer(invoke_without_command=True)
new_app.callback()(configs.new)
new_app.command("method")(own_methods.new_method)
app.add_typer(new_app, name="new")

datasets_app = typer.Typer(help="List, describe, fetch and export data sets.", no_args_is_help=True)
for name, command in _OF_DATASETS.items():
    datasets_app.command(name)(command)
app.add_typer(datasets_app, name="datasets")
