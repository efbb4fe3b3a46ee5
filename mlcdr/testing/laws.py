"""The laws: what every method, and every metric, must obey.

A law is a function of what is tested. Its name, with `-` for `_`, is that of the check; the docstring says what it
requires. It raises `Violation`, or any exception of the user's code, where the law does not hold (or returns several of
them), and `DoesNotApply` where it has no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from mlcdr.experiment.families import size_parameter_of
from mlcdr.methods import contracts, registry
from mlcdr.methods.contracts import LabelSpace, Learner, declared
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.numerics.moments import Moments
from mlcdr.testing.exceptions import DoesNotApply, Violation
from mlcdr.testing.subject import (
    NEW,
    Array,
    MetricSubject,
    PartSubject,
    Subject,
    X,
    Y,
    is_for_one_label,
    make_count_features,
    make_predictions,
    make_problem,
    score,
)

Law = Callable[[Any], Sequence[Exception] | None]

_CLOSE = 1e-6  # of the largest score: far above rounding, far below a mistake


def check_equal(ours: Array, theirs: Array, case: str, remedy: str = "") -> None:
    """Raise Violation where two arrays differ by more than rounding."""
    scale = max(1.0, float(np.max(np.abs(theirs))))
    apart = float(np.max(np.abs(ours - theirs)))
    if not apart <= _CLOSE * scale:
        raise Violation(f"{case}: scores differ by up to {apart:.2g}{remedy}")


# ------------------------------------------------------------------ parts and metrics


def repeatable(subject: Subject) -> None:
    """The same data and seed give the same scores."""
    remedy = "; what is random draws from check_random_state(self.random_state) of scikit-learn"
    check_equal(subject.scores(), subject.scores(), "the same data twice", remedy)


def row_order(subject: Subject) -> None:
    """The order of the rows does not matter."""
    order = np.random.default_rng(3).permutation(80)
    check_equal(subject.scores(rows=order), subject.scores(), "rows in another order")


def label_order(subject: Subject) -> None:
    """The order of the labels does not matter: in another order, the scores are the same."""
    order = np.random.default_rng(3).permutation(5)
    check_equal(subject.scores(labels=order), subject.scores(), "labels in another order")


# ------------------------------------------------------------------ parts of a method


def predicts(subject: PartSubject) -> None:
    """As part of a method, it predicts label sets (a classifier of one label: in binary relevance)."""
    check_labels(subject, X, Y, "plain data")


def check_labels(subject: PartSubject, X: Array, Y: Array, case: str, first: Iterable[Any] = ()) -> None:
    """Check that a method with the part predicts label sets; `first`: feature steps that precede the part."""
    model = subject.compose()
    model.feature_space = [*first, *(model.feature_space or ())]
    try:
        model.fit(X, Y).predict(X)
    except Exception as error:
        raise Violation(error, case) from error


def learns(subject: PartSubject) -> None:
    """The label sets of the training rows are predicted better than their opposite would be."""
    predicted = subject.compose_small().fit(X, Y).predict(X)
    wrong = float(np.mean(predicted != Y))
    if wrong > 0.5:
        raise Violation(f"{wrong:.0%} of the labels of the training rows are predicted wrongly")


def row_alone(subject: PartSubject) -> None:
    """The scores of a row do not depend on the rows that are predicted with it."""
    model = subject.compose_small().fit(X, Y)
    alone = np.vstack([score(model, NEW[[i]]) for i in range(5)])
    check_equal(alone, score(model, NEW)[:5], "rows one by one and together")


def refit(subject: PartSubject) -> None:
    """A second fit does not depend on the first."""
    used = subject.compose_small()
    for problem in (make_problem(60, 6, 3, seed=2), (X, Y)):
        used.fit_moments(Moments.from_arrays(*problem), own_parts=True)
    check_equal(score(used, X), subject.score(X, Y, X), "fitted to other data before")


def sparse(subject: PartSubject) -> None:
    """Sparse and dense data give the same scores; label sets are sparse where features are."""
    counts, new = make_count_features(), make_count_features(seed=1)
    try:
        found = subject.score(sp.csr_array(counts), sp.csr_array(Y), sp.csr_array(new))
    except (TypeError, ValueError) as error:
        if "sparse" in str(error).lower():
            raise DoesNotApply("refuses sparse features: it can only be used with dense data sets") from error
        raise
    check_equal(found, subject.score(counts, Y, new), "the same data sparse and dense")


def moments(subject: PartSubject) -> None:
    """fit_moments on the moments of a split gives the same as fit on its rows."""
    if not contracts.takes_moments(subject.target) or issubclass(subject.target, KernelLabelSpace):
        raise DoesNotApply("is not fitted from moments")
    split = Moments.from_arrays(X, Y).without(np.arange(60, 80))
    from_split = score(subject.compose_small().fit_moments(split), X)
    # As if no part could be fitted from moments.
    with mock.patch.object(contracts, "takes_moments", return_value=False):
        from_rows = subject.score(X[:60], Y[:60], X)
    check_equal(from_split, from_rows, "fit_moments of a split and fit")


def find_size(subject: PartSubject) -> str:
    """The parameter for the number of dimensions of a code; raises DoesNotApply where there is none."""
    size = size_parameter_of(subject.target)
    if subject.family not in ("label_space", "dual_space") or size not in registry.parameters(subject.target):
        raise DoesNotApply("has no number of label dimensions")
    return size


def sizes(subject: PartSubject) -> None:
    """Codes have the requested number of dimensions."""
    size = find_size(subject)
    for m in (1, 3, Y.shape[1]):
        found = subject.make(**{size: m}).fit(X, Y).encode(Y).shape
        if found != (len(Y), m):
            raise Violation(f"{m} dimensions requested: codes of shape {found}")


def nested(subject: PartSubject) -> None:
    """A fit with fewer dimensions equals the leading dimensions of a larger fit."""
    size = find_size(subject)
    if not declared(subject.target, "nested", LabelSpace):
        raise DoesNotApply("does not declare nested dimensions, so a sweep fits each number of dimensions separately")
    whole = subject.compose(**{size: Y.shape[1]}).fit(X, Y)
    output = whole.output(NEW)
    for m in range(1, Y.shape[1] + 1):
        alone = subject.compose(**{size: m}).fit(X, Y)
        if not np.array_equal(whole.labels_of(output, m), alone.predict(NEW)):
            raise Violation(f"the first {m} of {Y.shape[1]} dimensions predict other labels than a fit with {m}")


def independent(subject: PartSubject) -> None:
    """Each output is fitted as if it were alone."""
    if subject.family != "learner" or not declared(subject.target, "independent_outputs", Learner):
        raise DoesNotApply("does not declare independent outputs")
    codes = Y.astype(float)
    among_five = subject.make().fit(X, codes).predict(X)
    alone = subject.make().fit(X, codes[:, :2]).predict(X)
    check_equal(alone, among_five[:, :2], "two outputs fitted alone and among five")


def replace_column(matrix: Array, column: int, values: Any) -> Array:
    """A copy of a matrix with other values in a column."""
    changed = matrix.copy()
    changed[:, column] = values
    return changed


def awkward_labels(subject: PartSubject) -> None:
    """Labels that never or always occur, are equal or single, or none at all, cause no failure."""
    every_other = np.arange(len(Y)) % 2 == 1
    cases = {
        "a label that never occurs": replace_column(Y, 1, 0),
        "a label that always occurs": replace_column(Y, 1, 1),
        "instances without labels": Y * every_other[:, None],
        "two equal labels": replace_column(Y, 2, Y[:, 0]),
        "a single label": Y[:, :1],
        "no labels at all": np.zeros_like(Y),
    }
    for case, labels in cases.items():
        check_labels(subject, X, labels, case)


def awkward_features(subject: PartSubject) -> None:
    """Features that are constant, equal, single, many, of very different scales, or none cause no failure."""
    ones = np.ones_like(X)
    cases = {
        "a constant feature": replace_column(X, 2, 7),
        "two equal features": replace_column(X, 5, X[:, 1]),
        "more features than rows": make_problem(d=120)[0],
        "a single feature": X[:, :1],
        "features of very different scales": X * 10.0 ** np.arange(-4, 4),
        "only features of zeros": 0 * ones,
        "only constant features": ones,
    }
    for case, features in cases.items():
        check_labels(subject, features, Y, case)
    check_labels(subject, ones, Y, "a preceding feature step that leaves no feature", first=[PCA()])


def scikit_learn(subject: PartSubject) -> list[Exception]:
    """scikit-learn's own checks hold (check_estimator)."""
    if not issubclass(subject.target, BaseEstimator):
        raise DoesNotApply("not a BaseEstimator of scikit-learn")
    if subject.family == "threshold":
        raise DoesNotApply("a threshold is fitted to scores, not to features")
    if subject.family == "local_features":
        raise DoesNotApply("a selector for single labels is only used within a classifier")
    failed = [each for each in run_checks(subject) if each["status"] == "failed"]
    return [_explain(each["check_name"], each["exception"]) for each in failed]


def run_checks(subject: PartSubject) -> list[dict[str, Any]]:
    """The results of scikit-learn's checks.

    They fit a part of a method to targets (n×1), also one whose tags do not say that it takes several outputs; unless
    it is a classifier of one label, or has no targets.
    """
    from sklearn.utils.estimator_checks import check_estimator

    part = subject.make()
    own_tags = subject.target.__sklearn_tags__
    several = own_tags(part).target_tags.multi_output
    as_they_are = several or subject.family == "clusterer" or is_for_one_label(part)

    def tags(self: Any) -> Any:
        found = own_tags(self)
        found.target_tags.multi_output = True
        found.target_tags.single_output = False
        if found.classifier_tags is not None:
            found.classifier_tags.multi_class = False
        return found

    with mock.patch.object(subject.target, "__sklearn_tags__", own_tags if as_they_are else tags):
        found = check_estimator(part, on_skip=None, on_fail=None)
    # A classifier's are about the classes of a vector.
    return [each for each in found if as_they_are or not each["check_name"].startswith("check_classifier")]


def _explain(check: str, error: Exception) -> Violation:
    """What the failure of one of scikit-learn's checks means."""
    if check in _OF_INPUT:
        return Violation(_UNCHECKED, check)
    if not str(error):  # the name says what it asserts
        return Violation(f"not so: {check.removeprefix('check_').replace('_', ' ')}", check)
    return Violation(error, check)


_UNCHECKED = (
    "the input is not checked: `X, Y = validate_data(self, X, Y, multi_output=True)` in fit, `check_is_fitted(self)` "
    "and `X = validate_data(self, X, reset=False)` in what follows it (sklearn.utils.validation)"
)
"""The usual cause of the failures of `_OF_INPUT`."""

_OF_INPUT = {
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
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


# ------------------------------------------------------------------ metrics


def number(subject: MetricSubject) -> None:
    """A number, with scores or without; NaN where it is not defined: no label, every label, a single label or row."""
    truth, predicted, scores = make_predictions()
    none, every = 0 * truth, 0 * truth + 1
    cases = {
        "scores given": (truth, predicted, scores),
        "no scores (None)": (truth, predicted, None),
        "no true label": (none, predicted, scores),
        "no label predicted": (truth, none, 0 * scores),
        "no label at all": (none, none, 0 * scores),
        "all labels": (every, every, 0 * scores + 1),
        "a single label": (truth[:, :1], predicted[:, :1], scores[:, :1]),
        "a single row": (truth[:1], predicted[:1], scores[:1]),
        "equal scores": (truth, predicted, 0 * scores + 0.5),
    }
    for case, given in cases.items():
        try:
            value = subject.measure(*given)
        except Exception as error:
            raise Violation(error, case) from error
        if np.isinf(value) or (np.isnan(value) and case == "scores given"):
            raise Violation(f"returns {value}", case)


def direction(subject: MetricSubject) -> None:
    """No prediction is better than the true label sets, in the direction of `higher_is_better`."""
    truth, predicted, scores = make_predictions()
    best = subject.measure(truth, truth, truth.astype(float))
    if np.isnan(best):
        raise DoesNotApply("is not defined for the true label sets")
    sign, better = (1, "higher") if subject.target.higher_is_better else (-1, "lower")
    cases = {
        "ordinary predictions": (predicted, scores),
        "no label predicted": (0 * truth, 0 * scores),
        "all labels predicted": (0 * truth + 1, 0 * scores + 1),
        "the opposite predicted": (1 - truth, 1.0 - truth),
    }
    for case, given in cases.items():
        value = subject.measure(truth, *given)
        if sign * value > sign * best + 1e-12:
            raise Violation(f"gives {value:.4g}, the true label sets {best:.4g}, and {better} is better", case)


LAWS: dict[Law, type[Subject]] = {
    predicts: PartSubject,
    number: MetricSubject,
    learns: PartSubject,
    repeatable: Subject,
    row_alone: PartSubject,
    refit: PartSubject,
    row_order: Subject,
    label_order: Subject,
    sparse: PartSubject,
    moments: PartSubject,
    sizes: PartSubject,
    nested: PartSubject,
    independent: PartSubject,
    awkward_labels: PartSubject,
    awkward_features: PartSubject,
    scikit_learn: PartSubject,
    direction: MetricSubject,
}
"""Each law, in the order in which they are checked, and what it is about."""


def name_of(law: Law) -> str:
    """The name of a law's check: `row-order`."""
    return law.__name__.replace("_", "-")
