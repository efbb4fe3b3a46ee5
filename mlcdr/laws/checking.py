"""The laws put to a class, one after the other, and what came of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import BaseEstimator

from mlcdr.errors import UserError
from mlcdr.laws.classes import family_of, said
from mlcdr.laws.statements import CONTRACT, LAWS, MEANING, Broken, DoesNotApply
from mlcdr.laws.subject import Subject

Verdict = Literal["ok", "FAILED", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """What came of one law: `why` it failed or was skipped."""

    law: str
    verdict: Verdict
    why: str = ""


def check(cls: type, params: Mapping[str, Any] | None = None, without: Sequence[str] = ()) -> Iterator[Outcome]:
    """Put all laws to a class, one after the other.

    Parameters
    ----------
    cls : type
        A class of which `family_of` knows the family.
    params : mapping
        Parameters to make it with.
    without : names of laws
        Laws that are not put.

    Raises
    ------
    UserError
        When a law to leave out is unknown, or the class cannot be made with these parameters.
    """
    for law in without:
        if law not in MEANING:
            raise UserError(f"unknown check {law!r} (known: {', '.join(MEANING)})")
    params = dict(params or {})

    def make(**changes: Any) -> Any:
        part = cls(**{**params, **changes})
        for name, value in _parameters(part).items():
            if name.rpartition("__")[2] == "random_state" and value is None:
                part.set_params(**{name: 0})
        return part

    try:
        make()
    except TypeError as error:
        raise UserError(f"{cls.__name__} cannot be made: {error}; give its parameters by `--set NAME=VALUE`") from error
    subject = Subject(family_of(cls), cls, make)
    for law, holds in LAWS.items():
        yield Outcome(law, "skipped", "left out as asked") if law in without else _outcome(law, holds, subject)
    if CONTRACT in without:
        yield Outcome(CONTRACT, "skipped", "left out as asked")
    else:
        yield from _contract(subject)


def _parameters(part: Any) -> dict[str, Any]:
    """The parameters of a part and those inside it; none where it does not give them, which is a law of its own."""
    try:
        return dict(part.get_params())
    except AttributeError:
        return {}


def _outcome(law: str, holds: Callable[[Subject], None], subject: Subject) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holds(subject)
    except DoesNotApply as why:
        return Outcome(law, "skipped", str(why))
    except Broken as why:
        return Outcome(law, "FAILED", str(why))
    except Exception as error:  # whatever the user's class may raise
        return Outcome(law, "FAILED", said(error))
    return Outcome(law, "ok")


def _contract(subject: Subject) -> Iterator[Outcome]:
    """scikit-learn's checks: one outcome for all if they pass, else one for each that fails."""
    from sklearn.utils.estimator_checks import check_estimator

    if not issubclass(subject.cls, BaseEstimator):
        yield Outcome(CONTRACT, "skipped", "no BaseEstimator of scikit-learn's")
        return
    if subject.family == "threshold":
        yield Outcome(CONTRACT, "skipped", "a threshold sees scores, not features")
        return
    if subject.family == "local_features":
        yield Outcome(CONTRACT, "skipped", "a selector for single labels is asked by the classifier that it is in")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = check_estimator(subject.make(), on_skip=None, on_fail=None)
        except Exception as error:
            yield Outcome(CONTRACT, "FAILED", said(error))
            return
    failed = [each for each in found if each["status"] == "failed"]
    for each in failed:
        yield Outcome(CONTRACT, "FAILED", f"{each['check_name']}: {said(each['exception'])}")
    if not failed:
        yield Outcome(CONTRACT, "ok", f"{sum(each['status'] == 'passed' for each in found)} checks")
