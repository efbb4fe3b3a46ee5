"""The command `new method`: a file to begin a method of one's own with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from mlcdr.cli.arguments import argument, option
from mlcdr.cli.printing import print_notice
from mlcdr.errors import UserError


def new_method(
    name: Annotated[str, argument("NAME", "Of the file, such as my_reducer; its class is MyReducer.")],
    part: Annotated[
        str | None,
        option("label_space|feature_space|selector|learner|classifier|threshold|metric", "What it is to be."),
    ] = None,
) -> None:
    """Write NAME.py with a method that works, to be changed into one's own; asks for the part, on a terminal.

    The file has the contract of the part: which methods it must have, and the shapes of what they get and return.
    """
    from mlcdr.laws.new_method import KINDS, draft_method

    if part is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UserError(f"--part is needed, which part of a method it is: {', '.join(KINDS)}")
        part = _ask({kind: each.about for kind, each in KINDS.items()})
    new = draft_method(name, part)
    with Path(new.file).open("x", encoding="utf-8") as file:
        file.write(new.text)
    module = Path(new.file).stem
    print_notice(f"written: {new.file}, with the {part} {new.name}; change it into yours")
    print_notice(f"check it:         mlcdr test {new.file}")
    if part == "metric":
        drafted = f"--metric hamming_loss --metric {module}.{new.name}"
    else:
        family = {"selector": "feature_space", "classifier": "learner"}.get(part, part)
        drafted = f"-m {family}:{module}.{new.name} -m plst"
    print_notice(f"write a config:   mlcdr new {drafted} --out {module}.yaml")
    print_notice(f"run it:           mlcdr run {module}.yaml")
    print_notice("or add it to a config in this folder:")
    print(new.config)


def _ask(known: dict[str, str]) -> str:
    """One of some words, typed on the terminal, or its number."""
    width = max(map(len, known))
    for number, (word, about) in enumerate(known.items(), 1):
        print(f"  {number}  {word:<{width}}  {about}", file=sys.stderr)
    print("Part [label_space]: ", end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline().strip() or next(iter(known))
    words = list(known)
    return words[int(typed) - 1] if typed.isdigit() and 0 < int(typed) <= len(words) else typed
