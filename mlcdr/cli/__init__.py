"""The command line: parse, call, print. The work of a command is done by the package that it calls.

Commands are functions of the modules here, one family per module, in the order of `mlcdr --help`. That shows
`short_help`, of at most 50 characters to fit 80 columns. The other packages are imported inside the commands, so that
`mlcdr --help` is fast.
"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from mlcdr.cli import components, configs, data_sets, reproducing, results, running
from mlcdr.errors import UserError, escape_control_characters
from mlcdr.processes import Stop, record_ctrl_c
from mlcdr.standard_streams import describe_failure, protect_streams


def _print_version(requested: bool) -> None:
    if requested:
        from mlcdr import __version__

        print(f"mlcdr {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Reproduce, compare and extend multi-label dimension reduction."""


app = typer.Typer(
    name="mlcdr",
    help="Reproduce, compare and extend multi-label dimension reduction.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(_options)
app.command(short_help="Run experiments; finished trials are not repeated.")(running.run)
app.command(short_help="Run the experiments of a published table.")(reproducing.reproduce)
app.command(short_help="Find the mistakes in an experiment file.")(configs.check)
app.command(short_help="Show what `run` would compute, without running it.")(configs.plan)
app.command(short_help="Show the progress of a run, or how it ended.")(running.status)
app.command(short_help="Compute failed trials again.")(running.retry)
app.command(short_help="Write a first experiment file.")(configs.new)
app.command(short_help="Print the JSON schema of experiment files.")(configs.schema)
app.command(short_help="Write the tables of results again and print them.")(results.table)
app.command(short_help="Draw the figures of results again.")(results.plot)
app.command(short_help="Write one HTML page with all results.")(results.report)
app.command(short_help="Compare methods, published tables, earlier runs.")(results.compare)
app.command("reproduction-status", short_help="Show how well results match published tables.")(
    reproducing.reproduction_status
)
app.command(short_help="Predict with a saved model, as CSV.")(results.predict)
app.command(short_help="List the components of methods, or describe one.")(components.methods)
app.command(short_help="List the metrics.")(components.metrics)
app.command(short_help="Check the installation, data folders and plug-ins.")(components.doctor)
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


def main() -> None:
    """Entry point: user-facing errors become lines and exit code 2.

    Output that cannot be written is dropped, and the command continues. If standard output is incomplete for another
    reason than a pipe closed by its reader (`| head`), the reason is printed, and the exit code is 2.
    """
    protect_streams()
    try:
        _run_command(record_ctrl_c())
    except SystemExit:
        if why := describe_failure():
            print(f"error: standard output: {why}", file=sys.stderr)
            sys.exit(2)
        raise


def _run_command(interrupts: list[int]) -> None:
    try:
        app()
    except (Stop, KeyboardInterrupt):
        sys.exit(130)
    except UserError as error:
        if interrupts:  # an import interrupted by Ctrl-C may look like a module that cannot be imported
            sys.exit(130)
        for line in str(error).split("\n"):
            print(f"error: {escape_control_characters(line)}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:  # of other work than reading, which names what it reads
        print(f"error: not enough memory for {shlex.join(['mlcdr', *sys.argv[1:]])}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a folder without write permission, a full disk
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
