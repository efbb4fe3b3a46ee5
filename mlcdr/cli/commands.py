"""All commands, in the order of `mlcdr --help`; they are functions of the modules here, one family per module.

The list of commands shows the first sentence of each docstring, of at most 50 characters to fit 80 columns.
"""

from __future__ import annotations

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


app = typer.Typer(
    name="mlcdr",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(_options)
app.command("run")(running.run)
app.command("reproduce")(reproducing.reproduce)
app.command("check")(configs.check)
app.command("plan")(configs.plan)
app.command("status")(status.status)
app.command("retry")(running.retry)
app.command("example")(configs.example)
app.command("schema")(configs.schema)
app.command("table")(results.table)
app.command("plot")(results.plot)
app.command("report")(results.report)
app.command("compare")(comparing.compare)
app.command("predict")(results.predict)
app.command("methods")(components.methods)
app.command("metrics")(components.metrics)
app.command("doctor")(components.doctor)
app.command("completion")(components.completion_script)
app.command("test")(own_methods.check_methods)

new_app = typer.Typer(invoke_without_command=True)
new_app.callback()(configs.new)
new_app.command("method")(own_methods.new_method)
app.add_typer(new_app, name="new")

datasets_app = typer.Typer(help="List, describe, fetch and export data sets.", no_args_is_help=True)
datasets_app.command("list")(data_sets.list_datasets)
datasets_app.command("info")(data_sets.info)
datasets_app.command("fetch")(data_sets.fetch)
datasets_app.command("verify")(data_sets.verify)
datasets_app.command("splits")(data_sets.datasets_splits)
datasets_app.command("table")(data_sets.datasets_table)
datasets_app.command("export")(data_sets.datasets_export)
datasets_app.command("plot")(data_sets.datasets_plot)
app.add_typer(datasets_app, name="datasets")
