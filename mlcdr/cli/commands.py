"""All commands, in the order of `mlcdr --help`; they are functions of the modules here, one family per module.

The list of commands shows `short_help`, of at most 50 characters to fit 80 columns.
"""

from __future__ import annotations

from typing import Annotated

import typer

from mlcdr.cli import components, configs, data_sets, reproducing, results, running
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
    help="Reproduce, compare and extend multi-label dimension reduction.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(_options)
app.command("run", short_help="Run experiments; finished trials are not repeated.")(running.run)
app.command("reproduce", short_help="Run the experiments of a published table.")(reproducing.reproduce)
app.command("check", short_help="Find the mistakes in an experiment file.")(configs.check)
app.command("plan", short_help="Show what `run` would compute, without running it.")(configs.plan)
app.command("status", short_help="Show the progress of a run, or how it ended.")(running.status)
app.command("retry", short_help="Compute failed trials again.")(running.retry)
new_app = typer.Typer(short_help="Write a first experiment file, or a method's.", invoke_without_command=True)
new_app.callback()(configs.new)
new_app.command("method", short_help="Write the file of a method of your own.")(configs.new_method)
app.add_typer(new_app, name="new")
app.command("example", short_help="List the configs and examples, or copy one.")(configs.example)
app.command("schema", short_help="Print the JSON schema of experiment files.")(configs.schema)
app.command("table", short_help="Write the tables of results again and print them.")(results.table)
app.command("plot", short_help="Draw the figures of results again.")(results.plot)
app.command("report", short_help="Write one HTML page with all results.")(results.report)
app.command("compare", short_help="Compare methods, published tables, earlier runs.")(results.compare)
app.command("reproduction-status", short_help="Show how well the record matches the papers.")(
    reproducing.reproduction_status
)
app.command("record", short_help="Run all published tables and store their results.")(reproducing.make_record)
app.command("predict", short_help="Predict with a saved model, as CSV.")(results.predict)
app.command("methods", short_help="List the components of methods, or describe one.")(components.methods)
app.command("metrics", short_help="List the metrics.")(components.metrics)
app.command("doctor", short_help="Check the installation, data folders and plug-ins.")(components.doctor)
app.command("completion", short_help="Print a script that completes words in a shell.")(components.completion_script)
app.command("test", short_help="Check your methods against required properties.")(components.check_methods)

datasets_app = typer.Typer(
    help="The papers' data sets: list them, describe one, download, verify.",
    short_help="Data sets: list, info, fetch, export, plot …",
    no_args_is_help=True,
)
app.add_typer(datasets_app, name="datasets")
datasets_app.command("list")(data_sets.list_datasets)
datasets_app.command("info", short_help="Describe a data set, and what is made of its files.")(data_sets.info)
datasets_app.command("fetch", short_help="Download data sets, checked against the catalogue.")(data_sets.fetch)
datasets_app.command("verify", short_help="Compare available data sets with the catalogue.")(data_sets.verify)
datasets_app.command("splits", short_help="Labels in folds, blind and stratified.")(data_sets.datasets_splits)
datasets_app.command("table", short_help="Sizes and label statistics, counted on the data.")(data_sets.datasets_table)
datasets_app.command("export", short_help="Write a data set in another form.")(data_sets.datasets_export)
datasets_app.command("plot", short_help="Draw the labels of a data set.")(data_sets.datasets_plot)
