"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer


def one_of(*known: str) -> Callable[[str | None], str | None]:
    """The callback of an option that takes one of some words."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}")
        return value

    return check


Configs = Annotated[
    list[Path], typer.Argument(metavar="CONFIG", help="Experiment files (YAML), or names from `mlcdr example`.")
]
Config = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="Experiment file (YAML), or a name from `mlcdr example`.")
]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/yeast_cplst.")]
Folders = Annotated[list[Path], typer.Argument(metavar="RESULTS", help="Results folders.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the config, e.g. splits.repeats=10. Repeatable."
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Number of workers; 0: one per core.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder that contains the results folders.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
NoTry = Annotated[
    bool, typer.Option("--no-try", help="Run even if a method of your own cannot work, and record its failures.")
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Import modules named in the config from any folder; only for code that you trust."),
]
DataOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="An option of the data set, e.g. labels=-6 or separator=';'. Repeatable."
    ),
]


def read_options(settings: list[str] | None) -> dict[str, Any]:
    """The options of a data set, each value read as YAML, as in a config."""
    from mlcdr.config.yaml_reader import read_yaml_text

    options = {}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--set")
        options[key] = read_yaml_text(value, f"--set {key}", numbered=False).data
    return options
