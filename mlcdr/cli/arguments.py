"""Arguments and options of commands: how one is declared, and those that several commands take.

The metavar of a parameter says what it takes: `N` is a number, `CONFIG` an experiment file. Help shows it, and a shell
completes words by it (`mlcdr.cli.completion`).
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcdr.cli.completion import COMPLETERS
from mlcdr.errors import UserError, suggest_name


def argument(metavar: str, text: str) -> Any:
    """An argument of a command: what it takes, and its help."""
    return typer.Argument(**_describe(metavar, text))


def option(metavar: str, text: str, *names: str) -> Any:
    """An option of a command: what it takes, its help, and its names if they are not the parameter's."""
    return typer.Option(*names, **_describe(metavar, text))


def switch(text: str, *names: str, **more: Any) -> Any:
    """An option that takes nothing."""
    return typer.Option(*names, help=text, **more)


def number(metavar: str, text: str, *names: str, least: int) -> Any:
    """An option that takes a number of at least `least`, a whole one if the metavar is `N`."""
    kind, what = (int, "whole number") if metavar == "N" else (float, "number")

    def read(word: str) -> float:
        with contextlib.suppress(ValueError):
            if least <= kind(word) < math.inf:
                return kind(word)
        raise typer.BadParameter(f"{word!r} is not a {what} of at least {least}")

    return typer.Option(*names, metavar=metavar, help=text, min=least, parser=read)


def _describe(metavar: str, text: str) -> dict[str, Any]:
    """What Typer must know of a parameter; `one|two` as a metavar says that it takes one of these words."""
    about = {"metavar": metavar, "help": text, "autocompletion": COMPLETERS.get(metavar)}
    words = metavar.split("|")

    def read(word: str) -> str:
        if word not in words:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(words)}{suggest_name(word, words)}")
        return word

    return about | {"parser": read} if metavar.islower() else about


Configs = Annotated[list[Path], argument("CONFIG", "Experiment files (YAML), or names from `mlcdr example`.")]
Config = Annotated[Path, argument("CONFIG", "Experiment file (YAML), or a name from `mlcdr example`.")]
Folder = Annotated[Path, argument("RESULTS", "A results folder, such as results/yeast_cplst.")]
Folders = Annotated[list[Path], argument("RESULTS", "Results folders.")]
Set = Annotated[
    list[str] | None, option("KEY=VALUE", "Change a value of the config, e.g. splits.repeats=10. Repeatable.", "--set")
]
Jobs = Annotated[int, number("N", "Number of workers; 0: one per core.", "--jobs", "-j", least=0)]
Out = Annotated[Path, option("DIR", "The folder that contains the results folders.")]
Quiet = Annotated[bool, switch("Print nothing but errors.", "--quiet", "-q")]
Trust = Annotated[
    bool,
    switch(
        "Import modules named in the config from any folder, and let `check --try` run its commands; only for code "
        "that you trust.",
        "--trust",
    ),
]
TrustCommands = Annotated[
    bool, switch("Run the commands that the config names; only if you know what they do.", "--trust")
]
Labels = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Which columns of your file (CSV, Parquet) are labels: a name, a pattern (tag_*), or how many "
        "(-6: the last six). Repeatable.",
    ),
]
Metric = Annotated[str | None, option("METRIC", "Show this metric only.")]
DataSet = Annotated[str, argument("DATASET", "A data set, or the path of its file.")]
DataOptions = Annotated[
    list[str] | None,
    option("OPTION=VALUE", "An option of the data set, e.g. labels=-6 or separator=';'. Repeatable.", "--set"),
]


def read_options(settings: list[str] | None, form: str = "OPTION=VALUE", option: str = "--set") -> dict[str, Any]:
    """What is given by an option of this form, such as the options of a data set; values are YAML, as in a config.

    Raises
    ------
    UserError
        When a text has not this form, its value is not YAML, or a name is given twice.
    """
    from mlcdr.experiment.overrides import read_setting

    given: dict[str, Any] = {}
    for text in settings or ():
        name, value = read_setting(text, form, option)
        if name in given:
            raise UserError(f"{option} {name}: is given twice")
        given[name] = value
    return given
