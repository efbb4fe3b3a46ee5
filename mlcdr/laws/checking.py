"""Check a class against all laws (required properties), and report the outcome of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import BaseEstimator

from mlcdr.errors import UserError
from mlcdr.laws.classes import describe_exception, find_family
from mlcdr.laws.statements import CONTRACT, DESCRIPTIONS, LAWS, DoesNotApply, Violation
from mlcdr.laws.subject import Subject

Verdict = Literal["ok", "FAILED", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one law: `why` it failed or was skipped."""

    law: str
    verdict: Verdict
    why: str = ""


def check(cls: type, params: Mapping[str, Any] | None = None, without: Sequence[str] = ()) -> Iterator[Outcome]:
    """Check a class against all laws, one after the other.

    Parameters
    ----------
    cls : type
        A class for which `find_family` finds a family.
    params : mapping
        Parameters of the instances.
    without : names of laws
        Laws that are not checked.

    Raises
    ------
    UserError
        When a name in `without` is unknown, or no instance can be made with these parameters.
    """
    for law in without:
        if law not in DESCRIPTIONS:
            raise UserError(f"unknown check {law!r} (known: {', '.join(DESCRIPTIONS)})")
    params = dict(params or {})

    def make(**changes: Any) -> Any:
        part = cls(**{**params, **changes})
        for name, value in _read_parameters(part).items():
            if name.rpartition("__")[2] == "random_state" and value is None:
                part.set_params(**{name: 0})
        return part

    try:
        make()
    except TypeError as error:
        raise UserError(
            f"{cls.__name__} cannot be instantiated: {error}; set parameters by `--set NAME=VALUE`"
        ) from error
    subject = Subject(find_family(cls), cls, make)
    for law, holds in LAWS.items():
        yield Outcome(law, "skipped", "excluded by --without") if law in without else _run_law(law, holds, subject)
    if CONTRACT in without:
        yield Outcome(CONTRACT, "skipped", "excluded by --without")
    else:
        yield from _run_sklearn_checks(subject)


def _read_parameters(part: Any) -> dict[str, Any]:
    """The parameters of a part and of nested parts; empty without `get_params`, which another law checks."""
    try:
        return dict(part.get_params())
    except AttributeError:
        return {}


def _run_law(law: str, holds: Callable[[Subject], None], subject: Subject) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holds(subject)
    except DoesNotApply as why:
        return Outcome(law, "skipped", str(why))
    except Violation as why:
        return Outcome(law, "FAILED", str(why))
    except Exception as error:  # a class of the user may raise any exception
        return Outcome(law, "FAILED", describe_exception(error))
    return Outcome(law, "ok")


def _run_sklearn_checks(subject: Subject) -> Iterator[Outcome]:
    """scikit-learn's checks: one outcome if all pass, else one per failed check."""
    from sklearn.utils.estimator_checks import check_estimator

    if not issubclass(subject.cls, BaseEstimator):
        yield Outcome(CONTRACT, "skipped", "not a BaseEstimator of scikit-learn")
        return
    if subject.family == "threshold":
        yield Outcome(CONTRACT, "skipped", "a threshold is fitted to scores, not to features")
        return
    if subject.family == "local_features":
        yield Outcome(CONTRACT, "skipped", "a selector for single labels is only used within a classifier")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = check_estimator(subject.make(), on_skip=None, on_fail=None)
        except Exception as error:
            yield Outcome(CONTRACT, "FAILED", describe_exception(error))
            return
    failed = [each for each in found if each["status"] == "failed"]
    for each in failed:
        yield Outcome(CONTRACT, "FAILED", f"{each['check_name']}: {describe_exception(each['exception'])}")
    if not failed:
        yield Outcome(CONTRACT, "ok", f"{sum(each['status'] == 'passed' for each in found)} checks")
