"""Check a part of a method, or a metric, against all laws, and report the outcome of each."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from mlcdr.errors import UserError, without_numbers
from mlcdr.experiment.grouping import group_pairs
from mlcdr.testing import laws
from mlcdr.testing.exceptions import DoesNotApply, Violation, describe_exception, find_file, find_place
from mlcdr.testing.subject import Subject

Verdict = Literal["ok", "FAILED", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one law; of one that failed with several causes, there are several.

    Attributes
    ----------
    law, requires : str
        Its name, and what it requires.
    why : str
        Why it failed, or was skipped.
    case, place : str
        Of one that failed: the data it failed with, and the last line of the class's file that the exception went
        through (`:12, in transform`; empty where there was none).
    cause : str
        The same for failures of one cause.
    """

    law: str
    requires: str
    verdict: Verdict
    why: str = ""
    case: str = ""
    place: str = ""
    cause: str = ""


def check(subject: Subject, without: Collection[str] = ()) -> Iterator[Outcome]:
    """Check against all laws, one after the other, but for those of the names in `without`.

    Raises
    ------
    UserError
        When one of these names is unknown.
    """
    known = list(map(laws.name_of, laws.LAWS))
    for name in without:
        if name not in known:
            raise UserError(f"unknown check {name!r} (known: {', '.join(known)})")
    for law, kind in laws.LAWS.items():
        if isinstance(subject, kind):
            yield from _run(law, subject, without)


def _run(law: laws.Law, subject: Subject, without: Collection[str]) -> list[Outcome]:
    held = Outcome(laws.name_of(law), law.__doc__ or "", "ok")
    if held.law in without:
        return [replace(held, verdict="skipped", why="excluded by --without")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            failures = law(subject) or ()
    except DoesNotApply as why:
        return [replace(held, verdict="skipped", why=str(why))]
    except Exception as error:  # a class of the user may raise any exception
        failures = [error]
    return [_fail(held, failure, subject) for failure in failures] or [held]


def _fail(held: Outcome, failure: Exception, subject: Subject) -> Outcome:
    """The outcome of a law that does not hold."""
    violation = failure if isinstance(failure, Violation) else Violation(failure)
    found = violation.why
    why, place = str(found), ""
    if isinstance(found, Exception):
        why = describe_exception(found)
        place = find_place(found, find_file(subject.target))
    cause = f"{type(found).__name__} {place}" if place else without_numbers(why)
    return replace(held, verdict="FAILED", why=why, case=violation.case, place=place, cause=cause)


def group_by_cause(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """The failures, those of one cause together, the cause of most failures first."""
    groups = group_pairs((each.cause, each) for each in outcomes if each.verdict == "FAILED")
    return sorted(groups.values(), key=_count_laws, reverse=True)


def _count_laws(outcomes: list[Outcome]) -> int:
    return len({each.law for each in outcomes})
