"""Commands on methods of one's own: `new method` and `test`."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli.arguments import argument, option
from mlcdr.errors import UserError, plural
from mlcdr.standard_streams import print_lines, print_notice

if TYPE_CHECKING:
    from mlcdr.testing.checking import Outcome
    from mlcdr.testing.subject import Subject

_CASES = 3  # the most data that are named with which a check failed


def new_method(
    name: Annotated[str, argument("NAME", "Of the file, such as my_reducer; its class is MyReducer.")],
    part: Annotated[
        str | None,
        option("label_space|feature_space|selector|learner|classifier|threshold|metric", "What it is to be; needed."),
    ] = None,
) -> None:
    """Write the file of a method of your own.

    NAME.py has a method that works, to be changed into yours.

    The file has the contract of the part: which methods it must have, and the shapes of what they get and return.
    """
    from mlcdr.testing.new_method import KINDS, draft_method

    if part is None:
        raise UserError(f"--part is needed, which part of a method it is: {', '.join(KINDS)}")
    new = draft_method(name, part)
    with Path(new.file).open("x", encoding="utf-8") as file:
        file.write(new.text)
    module = Path(new.file).stem
    drafted = f"--metric hamming_loss --metric {module}.{new.name}"
    if part != "metric":
        family = {"selector": "feature_space", "classifier": "learner"}.get(part, part)
        drafted = f"-m {family}:{module}.{new.name} -m plst"
    print_notice(
        f"written: {new.file}, with the {part} {new.name}; change it into yours\n"
        f"check it:         mlcdr test {new.file}\n"
        f"write a config:   mlcdr new {drafted} --out {module}.yaml\n"
        f"run it:           mlcdr run {module}.yaml\n"
        "or add it to a config in this folder:"
    )
    print(new.config)


def check_methods(
    what: Annotated[
        str, argument("FILE", "A Python file with methods (my_method.py), or the name of an installed component.")
    ],
    set_: Annotated[list[str] | None, option("NAME=VALUE", "A parameter of the classes. Repeatable.", "--set")] = None,
    without: Annotated[list[str] | None, option("CHECK", "A check to exclude, by its name. Repeatable.")] = None,
) -> None:
    """Check your methods against required properties.

    Exit code 1 if one does not hold. Metrics are checked likewise. A plug-in of an installed package is named as in a
    config. Failures of the same cause are printed together.
    """
    from mlcdr.testing.candidates import load

    import_from_here()
    found = [(subject, _check(subject, without or ())) for subject in load(what, set_ or ())]
    code = 0
    for subject, outcomes in found:
        verdict = "ok"
        if any(outcome.verdict == "FAILED" for outcome in outcomes):
            verdict, code = "FAILED", 1
        print_lines(f"{verdict:<6}  {subject.family} {subject.name}: {_count(outcomes)}")
    for subject, outcomes in found:
        print()
        print(subject.name)
        _print_failures(outcomes)
        for verdict in ("skipped", "ok"):
            for outcome in outcomes:
                if outcome.verdict == verdict:
                    _print_outcome(verdict, outcome.law, outcome.why or outcome.requires)
    raise typer.Exit(code)


def _check(subject: Subject, without: Sequence[str]) -> list[Outcome]:
    """Check one class or metric; remarks if it prints."""
    from mlcdr.testing.checking import check

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        outcomes = list(check(subject, without))
    lines = printed.getvalue().splitlines()
    if lines:
        print_notice(f"remark: {subject.name} prints while it is fitted, as in every trial of a run: {lines[0]!r}")
    return outcomes


def _count(outcomes: list[Outcome]) -> str:
    """`3 FAILED (2 causes), 12 ok, 4 skipped`: checks by their verdicts."""
    from mlcdr.testing.checking import group_by_cause

    verdicts = {outcome.law: outcome.verdict for outcome in outcomes}
    texts = []
    for verdict, number in sorted(Counter(verdicts.values()).items()):
        causes = f" ({plural(len(group_by_cause(outcomes)), 'cause')})" if verdict == "FAILED" else ""
        texts.append(f"{number} {verdict}{causes}")
    return ", ".join(texts)


def _print_failures(outcomes: list[Outcome]) -> None:
    """Print each cause of failures, and below it the checks that failed by it, with the data they failed with."""
    from mlcdr.testing.checking import group_by_cause

    for group in group_by_cause(outcomes):
        line = group[0].place.removeprefix(":")
        place = f"  (line {line})" if line else ""
        print_lines(f"  FAILED  {group[0].why}{place}")
        for law, failures in itertools.groupby(group, lambda outcome: outcome.law):
            same = list(failures)
            cases = [outcome.case for outcome in same if outcome.case]
            more = f" and {len(cases) - _CASES} more" if len(cases) > _CASES else ""
            shown = f"  [{', '.join(cases[:_CASES])}{more}]" if cases else ""
            _print_outcome("", law, same[0].requires + shown)


def _print_outcome(verdict: str, law: str, text: str) -> None:
    print_lines(f"  {verdict:<8}{law:<18}{text}")
