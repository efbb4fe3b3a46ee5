"""All commands, in the order of `mlcdr --help`; they are functions of the modules here, one family per module.

The list of commands shows `short_help`, of at most 50 characters to fit 80 columns.
"""

from __future__ import annotations

import copy
from typing import Annotated

import typer

from mlcdr.cli import components, configs, data_sets, reproducing, results, running
from mlcdr.cli.arguments import switch
from mlcdr.cli.help import NAMES, Group, add_command


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
    help="Reproduce, compare and extend multi-label dimension reduction.",
    cls=Group,
    context_settings=NAMES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(_options)
add_command(app, "run", running.run, "Run experiments; finished trials are not repeated.")
add_command(app, "reproduce", reproducing.reproduce, "Run the experiments of a published table.")
add_command(app, "check", configs.check, "Find the mistakes in an experiment file.")
add_command(app, "plan", configs.plan, "Show what `run` would compute, without running it.")
add_command(app, "status", running.status, "Show the progress of a run, or how it ended.")
add_command(app, "retry", running.retry, "Compute failed trials again.")
new_app = typer.Typer(
    short_help="Write a first experiment file, or a method's.", cls=Group, invoke_without_command=True
)
new_app.callback()(configs.new)
add_command(new_app, "method", configs.new_method, "Write the file of a method of your own.")
app.add_typer(new_app, name="new")
add_command(app, "example", configs.example, "List the configs and examples, or copy one.")
add_command(app, "schema", configs.schema, "Print the JSON schema of experiment files.")
add_command(app, "table", results.table, "Write the tables of results again and print them.")
add_command(app, "plot", results.plot, "Draw the figures of results again.")
add_command(app, "report", results.report, "Write one HTML page with all results.")
add_command(app, "compare", results.compare, "Compare methods, published tables, earlier runs.")
add_command(app, "reproduction-status", reproducing.reproduction_status, "Show how well the record matches the papers.")
add_command(app, "record", reproducing.make_record, "Run all published tables and store their results.")
add_command(app, "predict", results.predict, "Predict with a saved model, as CSV.")
add_command(app, "methods", components.methods, "List the components of methods, or describe one.")
add_command(app, "metrics", components.metrics, "List the metrics.")
add_command(app, "doctor", components.doctor, "Check the installation, data folders and plug-ins.")
add_command(app, "completion", components.completion_script, "Print a script that completes words in a shell.")
add_command(app, "test", components.check_methods, "Check your methods against required properties.")

datasets_app = typer.Typer(
    help="The papers' data sets: list them, describe one, download, verify.",
    short_help="Data sets: list, info, fetch, export, plot …",
    cls=Group,
    no_args_is_help=True,
)
app.add_typer(datasets_app, name="datasets")
add_command(datasets_app, "list", data_sets.list_datasets)
add_command(datasets_app, "info", data_sets.info, "Describe a data set, and what is made of its files.")
add_command(datasets_app, "fetch", data_sets.fetch, "Download data sets, checked against the catalogue.")
add_command(datasets_app, "verify", data_sets.verify, "Compare available data sets with the catalogue.")
add_command(datasets_app, "splits", data_sets.datasets_splits, "Labels in folds, blind and stratified.")
add_command(datasets_app, "table", data_sets.datasets_table, "Sizes and label statistics, counted on the data.")
add_command(datasets_app, "export", data_sets.datasets_export, "Write a data set in another form.")
add_command(datasets_app, "plot", data_sets.datasets_plot, "Draw the labels of a data set.")


def take_only(words: list[str]) -> typer.Typer:
    """The app with only the command that the words name, if they name one: to make all commands takes a while."""
    only = copy.copy(app)
    if named := [each for each in app.registered_commands if each.name in words]:
        only.registered_commands, only.registered_groups = named, []
    return only
