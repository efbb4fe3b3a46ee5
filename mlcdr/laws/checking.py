"""Check a class, or a metric, against all laws (required properties), and report the outcome of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import BaseEstimator, is_classifier

from mlcdr.errors import UserError, without_numbers
from mlcdr.laws.classes import (
    DIFFER,
    METRIC,
    DoesNotApply,
    Violation,
    describe_exception,
    find_family,
    find_file,
    find_place,
)
from mlcdr.laws.of_metrics import DESCRIPTIONS_OF_METRICS, LAWS_OF_METRICS
from mlcdr.laws.statements import CONTRACT, DESCRIPTIONS, LAWS
from mlcdr.laws.subject import Subject, make_multi_label
from mlcdr.metrics import of_function

Verdict = Literal["ok", "FAILED", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one law: `why` it failed or was skipped.

    Of one that failed: `case`, the data it failed with; `place`, the last line of the class's file that the exception
    went through (`:12, in transform`; empty where there was none). `cause` is the same for failures of one cause.
    """

    law: str
    verdict: Verdict
    why: str = ""
    case: str = ""
    place: str = ""
    cause: str = ""


def describe_laws(family: str) -> Mapping[str, str]:
    """What each law of a family requires, by its name."""
    return DESCRIPTIONS_OF_METRICS if family == METRIC else DESCRIPTIONS


def group_by_cause(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """The failures, those of one cause together, the cause of most failures first.

    If the same data give different scores each time, other laws that compare scores fail for this reason, too.
    """
    failed = [each for each in outcomes if each.verdict == "FAILED"]
    random = any(each.law == "repeatable" and each.cause.startswith(DIFFER) for each in failed)
    groups: dict[str, list[Outcome]] = {}
    for each in failed:
        cause = each.cause
        if cause.startswith(DIFFER):
            cause = DIFFER if random else f"{each.law}: {cause}"
        groups.setdefault(cause, []).append(each)
    return sorted(groups.values(), key=lambda group: -len({each.law for each in group}))


def check(
    target: Any, params: Mapping[str, Any] | None = None, without: Sequence[str] = (), family: str = ""
) -> Iterator[Outcome]:
    """Check a class, or the function of a metric, against all laws, one after the other.

    Parameters
    ----------
    target : type or function
        A class for which `find_family` finds a family; or a metric.
    params : mapping
        Parameters of the instances of a class.
    family : str
        What it is used as, `METRIC` for a metric; if empty, it follows from the methods of the class.
    without : names of laws
        Laws that are not checked.

    Raises
    ------
    UserError
        When a name in `without` is unknown, no instance can be made with these parameters, or it is no metric.
    """
    for law in without:
        if law not in {**DESCRIPTIONS, **DESCRIPTIONS_OF_METRICS}:
            raise UserError(f"unknown check {law!r} (known: {', '.join(describe_laws(family))})")
    part: Any = of_function(target.__name__, target) if family == METRIC else _make_subject(target, params, family)
    laws: Mapping[str, Callable[[Any], None]] = LAWS_OF_METRICS if family == METRIC else LAWS
    for law, holds in laws.items():
        yield _run_law(law, lambda holds=holds: holds(part), target, without)  # type: ignore[misc]
    if CONTRACT in without and family != METRIC:
        yield Outcome(CONTRACT, "skipped", "excluded by --without")
    elif family != METRIC:
        yield from _run_sklearn_checks(part)


def _make_subject(cls: type, given: Mapping[str, Any] | None, family: str) -> Subject:
    params = dict(given or {})

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
    return Subject(family or find_family(cls), cls, make)


def _read_parameters(part: Any) -> dict[str, Any]:
    """The parameters of a part and of nested parts; empty without `get_params`, which another law checks."""
    try:
        return dict(part.get_params())
    except AttributeError:
        return {}


def _run_law(law: str, holds: Callable[[], None], target: Any, without: Sequence[str]) -> Outcome:
    if law in without:
        return Outcome(law, "skipped", "excluded by --without")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holds()
    except DoesNotApply as why:
        return Outcome(law, "skipped", str(why))
    except Violation as why:
        return _describe_failure(law, why.__cause__ or why, target, why.case)
    except Exception as error:  # a class of the user may raise any exception
        return _describe_failure(law, error, target)
    return Outcome(law, "ok")


def _describe_failure(law: str, error: BaseException, target: Any, case: str = "") -> Outcome:
    """The outcome of a law that an exception, or a `Violation`, shows not to hold."""
    if isinstance(error, Violation):
        return Outcome(law, "FAILED", error.why, case, "", without_numbers(error.why))
    place, why = find_place(error, find_file(target)), describe_exception(error)
    return Outcome(
        law, "FAILED", why, case, place, f"{type(error).__name__} {place}" if place else without_numbers(why)
    )


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
    with warnings.catch_warnings(), _tagged(subject) as of_label_sets:
        warnings.simplefilter("ignore")
        try:
            found = check_estimator(subject.make(), on_skip=None, on_fail=None)
        except Exception as error:
            yield _describe_failure(CONTRACT, error, subject.cls)
            return
    if of_label_sets:  # these are about the classes of a vector
        found = [each for each in found if not each["check_name"].startswith("check_classifier")]
    failed = [each for each in found if each["status"] == "failed"]
    unchecked = {each["check_name"] for each in failed} & _OF_INPUT
    for each in failed:
        name = each["check_name"]
        if name in unchecked and unchecked != {_SPARSE_TAG}:
            yield Outcome(CONTRACT, "FAILED", _UNCHECKED, name, cause=_UNCHECKED)
        elif not str(each["exception"]):  # the name says what it asserts
            yield Outcome(
                CONTRACT, "FAILED", f"not so: {name.removeprefix('check_').replace('_', ' ')}", name, cause=name
            )
        else:
            yield _describe_failure(CONTRACT, each["exception"], subject.cls, name)
    if not failed:
        yield Outcome(CONTRACT, "ok", f"{sum(each['status'] == 'passed' for each in found)} checks")


_UNCHECKED = (
    "the input is not checked: `X, Y = validate_data(self, X, Y, multi_output=True)` in fit, `check_is_fitted(self)` "
    "and `X = validate_data(self, X, reset=False)` in what follows it (sklearn.utils.validation)"
)
"""The usual cause of the failures of `_OF_INPUT`."""

_SPARSE_TAG = "check_estimator_sparse_tag"  # fails as well where input is checked, but sparse features have no tag
_OF_INPUT = {
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    _SPARSE_TAG,
    "check_estimators_empty_data_messages",
    "check_estimators_nan_inf",
    "check_estimators_unfitted",
    "check_fit1d",
    "check_fit2d_predict1d",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_regressor_data_not_an_array",
    "check_supervised_y_no_nan",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
}
"""scikit-learn's checks of what an estimator makes of data that are no valid input."""


@contextmanager
def _tagged(subject: Subject) -> Iterator[bool]:
    """Give a class tags by which scikit-learn's checks fit it to targets (n×1), as a part of a method is.

    One that has tags for several outputs itself keeps them; so does a classifier of one label, and what has no targets.
    It yields whether the class is a classifier that is fitted to label sets by tags that it got here.
    """
    cls: Any = subject.cls
    part = subject.make()
    classifier = is_classifier(part)
    alone = subject.family == "clusterer" or (subject.family == "learner" and make_multi_label(part) is not part)
    if alone or part.__sklearn_tags__().target_tags.multi_output:
        yield False
        return
    own, inherited = vars(cls).get("__sklearn_tags__"), cls.__sklearn_tags__

    def tags(self: Any) -> Any:
        found = inherited(self)
        found.target_tags.multi_output, found.target_tags.single_output = True, False
        if classifier:
            found.classifier_tags.multi_class = False
        return found

    cls.__sklearn_tags__ = tags
    try:
        yield classifier
    finally:
        if own is None:
            del cls.__sklearn_tags__
        else:
            cls.__sklearn_tags__ = own
