"""The help of commands: plain text, broken at words, with what each argument and option takes.

A parameter's `metavar` is its type: `N` is a number, `CONFIG` an experiment file, `a|b` one of two words. Help and
`docs/commands.md` show it, and shell completion uses it (`mlcdr.cli.completion`).
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

NAMES = {"help_option_names": ["--help", "-h"]}
"""The settings of an app that answers to `-h` too; its groups and commands inherit them."""

_TOGETHER = "\N{NO-BREAK SPACE}"  # between words that must stay on one line
_WIDTH, _NARROWEST, _COLUMN = 80, 40, 28


def metavar_of(parameter: Any) -> str:
    """What a parameter takes, as help shows it; empty for a switch."""
    if getattr(parameter, "is_flag", False):
        return ""
    return str(parameter.metavar or parameter.name.upper())


def spell(parameter: Any) -> str:
    """A parameter as the list of help shows it: `CONFIG`, or `-j, --jobs N`."""
    if parameter.param_type_name == "argument":
        return metavar_of(parameter)
    return " ".join(filter(None, (", ".join(sorted(parameter.opts, key=len)), metavar_of(parameter))))


def describe_usage(parameter: Any) -> str:
    """A parameter as a line of usage shows it: `CONFIG...`, `[NAME]`, `--format FORM`, `[--set KEY=VALUE]...`."""
    if parameter.param_type_name == "argument":
        name = metavar_of(parameter) + ("..." if parameter.nargs == -1 else "")
    else:
        name = " ".join(filter(None, (max(parameter.opts, key=len), metavar_of(parameter))))
    name = name if parameter.required else f"[{name}]"
    return f"{name}..." if getattr(parameter, "multiple", False) else name


def _describe(parameter: Any) -> str:
    """The help of a parameter, with its default if that is a value."""
    text = parameter.help or ""
    default = parameter.default
    is_value = isinstance(default, int | float | str | Path) and not isinstance(default, bool)
    return f"{text} [default: {default}]" if is_value else text


def _wrap(text: str, first: str = "", rest: str = "") -> str:
    width = max(_NARROWEST, min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDTH))
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _list_terms(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    """A titled list of two columns; a term that is too wide has its text on the next line."""
    if not rows:
        return
    yield ""
    yield f"{title}:"
    column = min(max(len(term) for term, _ in rows), _COLUMN) + 4
    for term, text in rows:
        if len(term) + 4 > column:
            yield f"  {term}"
            yield _wrap(text, " " * column, " " * column)
        else:
            yield _wrap(text, f"  {term}".ljust(column), " " * column)


def _describe_usage(command: Any, context: Any) -> str:
    """The line of usage of a command: what it needs, without its other options."""
    parameters = command.get_params(context)
    needed = [each for each in parameters if each.param_type_name == "argument" or each.required]
    rest = ["COMMAND", "[ARGS]..."] if hasattr(command, "commands") else []
    start = f"Usage: {context.command_path} "
    whole = [describe_usage(each).replace(" ", _TOGETHER) for each in needed]
    text = _wrap(" ".join(["[OPTIONS]", *whole, *rest]), start, " " * len(start))
    return text.replace(_TOGETHER, " ") + "\n"


def _describe_command(command: Any, context: Any) -> str:
    """All of a command's help."""
    parameters = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    options = [each for each in parameters if each.param_type_name == "option"]
    lines = [_describe_usage(command, context)]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [_wrap(" ".join(paragraph.split()), "  ", "  "), ""]
    lines.pop()
    lines += _list_terms("Arguments", [(spell(each), _describe(each)) for each in arguments])
    lines += _list_terms("Options", [(spell(each), _describe(each)) for each in options])
    commands = getattr(command, "commands", {}).items()
    summaries = [(name, each.short_help or each.help or "") for name, each in commands if not each.hidden]
    lines += _list_terms("Commands", summaries)
    return "\n".join(lines) + "\n"


class _OurHelp:
    """The help of a command or group; the formatter of any version of Typer is used as a buffer only."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the line of usage, which an error shows too."""
        formatter.write(_describe_usage(self, ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(_describe_command(self, ctx))


class Command(_OurHelp, TyperCommand):
    """A command with our help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; a word that should be a number and is none is reported as in a config."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            message = error.message.partition(", unable to parse")[0]  # pydantic's words
            message = message.replace("Input should be a valid integer", "must be a whole number")
            error.message = message.replace("Input should be", "must be")
            raise


class Group(_OurHelp, TyperGroup):
    """A group of commands with our help."""


def add_command(app: typer.Typer, name: str, function: Callable[..., Any], short_help: str | None = None) -> None:
    """Make a function a command of an app; `short_help` is its line in the list of commands."""
    app.command(name, cls=Command, short_help=short_help)(function)
