"""The laws (required properties): each is a function that raises `Violation` or `DoesNotApply`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier

from mlcdr.experiment.families import size_parameter_of
from mlcdr.laws.classes import DIFFER, DoesNotApply, Violation, describe_exception
from mlcdr.laws.subject import Array, Subject, make_count_features, make_multi_label, make_problem
from mlcdr.methods import registry
from mlcdr.methods.contracts import LabelSpace, Learner, declared, is_fitted_to_scores, takes_moments
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.numerics.moments import Moments

_CLOSE = 1e-6  # of the largest score: far above rounding, far below a mistake


CONTRACT = "scikit-learn"

LAWS: dict[str, Callable[[Subject], None]] = {}
"""Name of a law → the function that checks it."""
DESCRIPTIONS: dict[str, str] = {}
"""Name of a law → what it requires, in a line."""


def _law(name: str, description: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Make a function the check of a law."""

    def register(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
        LAWS[name], DESCRIPTIONS[name] = check, description
        return check

    return register


def _check_equal(ours: Array, theirs: Array, what: str, hint: str = "") -> None:
    if ours.shape != theirs.shape:
        raise Violation(f"shape {ours.shape}, expected {theirs.shape}", what)
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    apart = float(np.max(np.abs(ours - theirs), initial=0.0))
    if not apart <= _CLOSE * scale:
        raise Violation(f"{DIFFER} by up to {apart:.2g}{hint}", what)


@_law("parameters", "__init__ stores the parameters, get_params and clone return them")
def _check_parameters(subject: Subject) -> None:
    part = subject.make()
    params = part.get_params(deep=False)
    for name in registry.parameters(subject.cls):
        if name not in params:
            raise Violation(f"get_params does not return {name!r}")
        if not hasattr(part, name):
            raise Violation(f"__init__ does not store {name!r} unchanged")
    twin = clone(part)
    for name, value in twin.get_params(deep=False).items():
        if type(value) is not type(params[name]) or repr(value) != repr(params[name]):
            raise Violation(f"a clone has {name}={value!r} instead of {params[name]!r}")


@_law("predicts", "as part of a method (a single-label classifier in binary relevance), it predicts label sets")
def _check_predictions(subject: Subject) -> None:
    X, Y = make_problem()
    _check_labels(subject, X, Y, "plain data")


def _check_labels(subject: Subject, X: Any, Y: Array, what: str, first: Sequence[Any] = ()) -> None:
    """Check that the part, after the feature steps `first`, predicts label sets."""
    model = subject.compose()
    model.feature_space = [*first, *(model.feature_space or ())]
    try:
        predicted = np.asarray(model.fit(X, Y).predict(X))
    except Exception as error:
        raise Violation(describe_exception(error), what) from error
    if predicted.shape != Y.shape:
        raise Violation(f"predictions of shape {predicted.shape}, expected {Y.shape}", what)
    if not np.isin(predicted, (0, 1)).all():
        raise Violation("predictions other than 0 and 1", what)


@_law("repeatable", "the same data and seed give the same scores")
def _check_repeatability(subject: Subject) -> None:
    X, Y = make_problem()
    new = make_problem(seed=1)[0]
    hint = ": draw from check_random_state(self.random_state) of scikit-learn, with a parameter random_state"
    _check_equal(subject.score(X, Y, new), subject.score(X, Y, new), "fitted twice", hint)


@_law("refit", "a second fit does not depend on the first")
def _check_refit(subject: Subject) -> None:
    X, Y = make_problem()
    part, fresh = subject.make(), subject.make()
    _compute_output(subject, part, *make_problem(60, 6, 3, seed=2))
    _check_equal(
        _compute_output(subject, part, X, Y), _compute_output(subject, fresh, X, Y), "fitted to other data before"
    )


def _compute_output(subject: Subject, part: Any, X: Array, Y: Array) -> Array:
    """The output of a part alone for the data that it is fitted to."""
    if subject.family == "threshold":
        scores = Y + 0.1 * np.arange(Y.shape[1]) - 0.2 * X[:, :1]
        return np.asarray((part.fit(scores, Y) if is_fitted_to_scores(part) else part).apply(scores), dtype=float)
    if subject.family == "clusterer":
        return np.asarray(part.fit_predict(X), dtype=float)
    if subject.family == "learner" and make_multi_label(part) is not part:
        return np.asarray(part.fit(X, Y[:, 0]).predict(X), dtype=float)
    part.fit(X, Y if is_classifier(part) else Y.astype(float))
    if subject.family == "local_features":
        columns = np.arange(X.shape[1])
        chosen = [part.beside(j, [i for i in (0, 1) if i < j]) for j in range(Y.shape[1])]
        return np.array([np.isin(columns, columns if each is None else each) for each in chosen], dtype=float)
    if subject.family in ("label_space", "dual_space"):
        return np.asarray(part.encode(Y))
    return np.asarray(part.predict(X) if hasattr(part, "predict") else part.transform(X), dtype=float)


@_law("input", "fit and predict do not modify their input")
def _check_input_unchanged(subject: Subject) -> None:
    X, Y = make_problem()
    copies = X.copy(), Y.copy()
    model = subject.compose().fit(X, Y)
    model.predict(X)
    if not (np.array_equal(X, copies[0]) and np.array_equal(Y, copies[1])):
        raise Violation("fit or predict modifies its input")
    for each in (X, Y):
        each.setflags(write=False)
    subject.compose().fit(X, Y).predict(X)


@_law("row-order", "the order of the training rows does not matter")
def _check_row_order(subject: Subject) -> None:
    X, Y = make_problem()
    new = make_problem(seed=1)[0]
    order = np.random.default_rng(3).permutation(len(X))
    _check_equal(subject.score(X[order], Y[order], new), subject.score(X, Y, new), "training rows in another order")


@_law("label-order", "labels in another order get the same scores, in that order")
def _check_label_order(subject: Subject) -> None:
    X, Y = make_problem()
    new = make_problem(seed=1)[0]
    order = np.random.default_rng(3).permutation(Y.shape[1])
    _check_equal(subject.score(X, Y[:, order], new), subject.score(X, Y, new)[:, order], "labels in another order")


@_law("sparse", "sparse and dense features give the same scores")
def _check_sparse(subject: Subject) -> None:
    X, Y = make_count_features()
    new = make_count_features(seed=1)[0]
    try:
        sparse = subject.score(sp.csr_array(X), Y, sp.csr_array(new))
    except (TypeError, ValueError) as error:
        if "sparse" in str(error).lower():
            raise DoesNotApply("refuses sparse features: it can only be used with dense data sets") from error
        raise
    _check_equal(sparse, subject.score(X, Y, new), "the same features sparse and dense")


class _FittedFromRows(BaseEstimator):
    """A part that is fitted from rows, even if it could be fitted from moments."""

    def __init__(self, part: Any):
        self.part = part

    def fit(self, X: Any, y: Any) -> _FittedFromRows:
        self.part.fit(X, np.asarray(y, dtype=float))
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("part", "fit_moments"):
            raise AttributeError(name)
        return getattr(self.part, name)

    def __sklearn_tags__(self) -> Any:
        return self.part.__sklearn_tags__()


@_law("moments", "fit_moments on the moments of a split gives the same as fit on its rows")
def _check_moments(subject: Subject) -> None:
    if not takes_moments(subject.cls) or issubclass(subject.cls, KernelLabelSpace):
        raise DoesNotApply("is not fitted from moments")
    X, Y = make_problem(100)
    new = make_problem(seed=1)[0]
    by_rows = subject.compose_small()
    place = {"instance_space": "learner", "local_features": "learner__features"}.get(subject.family, subject.family)
    part = by_rows.feature_space[0] if by_rows.feature_space else by_rows.get_params()[place]
    by_rows.set_params(**{place: [_FittedFromRows(part)] if by_rows.feature_space else _FittedFromRows(part)})
    from_rows = by_rows.fit(X[:80], Y[:80]).decision_function(new)
    split = Moments.from_arrays(X, Y).without(np.arange(80, 100))
    _check_equal(
        subject.compose_small().fit_moments(split).decision_function(new), from_rows, "fit_moments of a split and fit"
    )


def _has_size(subject: Subject) -> bool:
    """Whether a part has a parameter for the number of label dimensions."""
    spaces = ("label_space", "dual_space")
    return subject.family in spaces and size_parameter_of(subject.cls) in registry.parameters(subject.cls)


@_law("sizes", "codes have the requested number of dimensions, and decode to all labels")
def _check_sizes(subject: Subject) -> None:
    if not _has_size(subject):
        raise DoesNotApply("has no number of label dimensions")
    X, Y = make_problem()
    for size in (1, 3, Y.shape[1]):
        space = subject.make(**{size_parameter_of(subject.cls): size}).fit(X, Y)
        codes = space.encode(Y)
        if codes.shape != (len(Y), size):
            raise Violation(f"{size} dimensions requested: codes of shape {codes.shape}")
        scores = np.asarray(space.decode(codes))
        if scores.shape != Y.shape:
            raise Violation(f"{size} dimensions: decoded to shape {scores.shape}, expected {Y.shape}")


@_law("nested", "a fit with fewer dimensions equals the leading dimensions of a larger fit")
def _check_nested(subject: Subject) -> None:
    if not _has_size(subject):
        raise DoesNotApply("has no number of label dimensions")
    if not declared(subject.cls, "nested", LabelSpace):
        raise DoesNotApply("does not declare nested dimensions, so a sweep fits each number of dimensions separately")
    X, Y = make_problem()
    new = make_problem(seed=1)[0]
    size = size_parameter_of(subject.cls)
    whole = subject.compose(**{size: Y.shape[1]}).fit(X, Y)
    output = whole.output(new)
    for m in range(1, Y.shape[1] + 1):
        alone = subject.compose(**{size: m}).fit(X, Y)
        if not np.array_equal(whole.labels_of(output, m), alone.predict(new)):
            raise Violation(f"the first {m} of {Y.shape[1]} dimensions predict other labels than a fit with {m}")


@_law("independent", "each output is fitted independently of the others")
def _check_independent_outputs(subject: Subject) -> None:
    if subject.family != "learner" or not declared(subject.cls, "independent_outputs", Learner):
        raise DoesNotApply("does not declare independent outputs")
    X, Y = make_problem()
    new = make_problem(seed=1)[0]
    whole, first = (subject.make().fit(X, Z).predict(new) for Z in (Y.astype(float), Y[:, :2].astype(float)))
    _check_equal(np.asarray(first), np.asarray(whole)[:, :2], "two outputs fitted alone and among five")


@_law("awkward-labels", "labels that never or always occur, are equal, or single; no labels")
def _check_awkward_labels(subject: Subject) -> None:
    X, Y = make_problem()
    never, always, empty = Y.copy(), Y.copy(), Y.copy()
    never[:, 1] = 0
    always[:, 1] = 1
    empty[::2] = 0
    same = Y.copy()
    same[:, 2] = same[:, 0]
    for what, labels in (
        ("a label that never occurs", never),
        ("a label that always occurs", always),
        ("instances without labels", empty),
        ("two equal labels", same),
        ("a single label", Y[:, :1]),
        ("no labels at all", np.zeros_like(Y)),
    ):
        _check_labels(subject, X, labels, what)


@_law("awkward-features", "features that are constant, equal, single, many, none, or of very different scales")
def _check_awkward_features(subject: Subject) -> None:
    X, Y = make_problem()
    constant, doubled = X.copy(), X.copy()
    constant[:, 2] = 7
    doubled[:, 5] = doubled[:, 1]
    wide = np.random.default_rng(5).standard_normal((80, 120))
    for what, features in (
        ("a constant feature", constant),
        ("two equal features", doubled),
        ("more features than rows", wide),
        ("a single feature", X[:, :1]),
        ("features of very different scales", X * 10.0 ** np.arange(-4, 4)),
        ("only constant features", np.ones_like(X)),
        ("only features of zeros", np.zeros_like(X)),
    ):
        _check_labels(subject, features, Y, what)
    _check_labels(subject, np.ones_like(X), Y, "a preceding feature step that leaves no feature", first=[PCA()])


@_law("one-instance", "one training instance can be fitted, or is refused as too few")
def _check_one_instance(subject: Subject) -> None:
    X, Y = make_problem()
    try:
        subject.compose().fit(X[:1], Y[:1])
    except ValueError as error:
        if re.search("sample|instance|row", str(error)):
            raise DoesNotApply(f"refuses a single instance: {describe_exception(error)}") from error
        raise
    _check_labels(subject, X[:1], Y[:1], "a single instance")


DESCRIPTIONS[CONTRACT] = "scikit-learn's own checks (check_estimator)"
