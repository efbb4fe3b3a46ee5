"""The laws: each a function that raises `Broken` where the part does not hold it, or `DoesNotApply`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier

from mlcdr.experiment.families import size_parameter_of
from mlcdr.laws.classes import said
from mlcdr.laws.subject import Array, Subject, count_features, of_label_sets, problem
from mlcdr.methods import registry
from mlcdr.methods.contracts import LabelSpace, Learner, declared, is_fitted_to_scores, takes_moments
from mlcdr.methods.feature_space.pca import PCA
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.numerics.moments import Moments

_CLOSE = 1e-6  # of the largest score: far above rounding, far below a mistake


class Broken(Exception):
    """A law does not hold."""


class DoesNotApply(Exception):
    """A law says nothing of this part."""


def _same(ours: Array, theirs: Array, what: str) -> None:
    if ours.shape != theirs.shape:
        raise Broken(f"{what}: shape {ours.shape} where {theirs.shape} was expected")
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    apart = float(np.max(np.abs(ours - theirs), initial=0.0))
    if not apart <= _CLOSE * scale:
        raise Broken(f"{what}: scores differ by up to {apart:.2g}")


def _clone(subject: Subject) -> None:
    part = subject.make()
    params = part.get_params(deep=False)
    for name in registry.parameters(subject.cls):
        if name not in params:
            raise Broken(f"get_params says nothing of {name!r}")
        if not hasattr(part, name):
            raise Broken(f"__init__ does not store {name!r} as it came")
    twin = clone(part)
    for name, value in twin.get_params(deep=False).items():
        if type(value) is not type(params[name]) or repr(value) != repr(params[name]):
            raise Broken(f"a clone has {name}={value!r} where {params[name]!r} was given")


def _predicts(subject: Subject) -> None:
    X, Y = problem()
    _check_labels(subject, X, Y, "plain data")


def _check_labels(subject: Subject, X: Any, Y: Array, what: str, first: Sequence[Any] = ()) -> None:
    """Whether the part predicts label sets, behind the feature steps `first`."""
    model = subject.composed()
    model.feature_space = [*first, *(model.feature_space or ())]
    try:
        predicted = np.asarray(model.fit(X, Y).predict(X))
    except Exception as error:
        raise Broken(f"{what}: {said(error)}") from error
    if predicted.shape != Y.shape:
        raise Broken(f"{what}: predictions of shape {predicted.shape} where {Y.shape} was expected")
    if not np.isin(predicted, (0, 1)).all():
        raise Broken(f"{what}: predictions other than 0 and 1")


def _repeatable(subject: Subject) -> None:
    X, Y = problem()
    new = problem(seed=1)[0]
    _same(subject.scores(X, Y, new), subject.scores(X, Y, new), "fitted twice")


def _forgets(subject: Subject) -> None:
    X, Y = problem()
    part, fresh = subject.make(), subject.make()
    _says(subject, part, *problem(60, 6, 3, seed=2))
    _same(_says(subject, part, X, Y), _says(subject, fresh, X, Y), "fitted to other data before")


def _says(subject: Subject, part: Any, X: Array, Y: Array) -> Array:
    """What a part by itself says of the data that it is fitted to."""
    if subject.family == "threshold":
        scores = Y + 0.1 * np.arange(Y.shape[1]) - 0.2 * X[:, :1]
        return np.asarray((part.fit(scores, Y) if is_fitted_to_scores(part) else part).apply(scores), dtype=float)
    if subject.family == "clusterer":
        return np.asarray(part.fit_predict(X), dtype=float)
    if subject.family == "learner" and of_label_sets(part) is not part:
        return np.asarray(part.fit(X, Y[:, 0]).predict(X), dtype=float)
    part.fit(X, Y if is_classifier(part) else Y.astype(float))
    if subject.family == "local_features":
        columns = np.arange(X.shape[1])
        chosen = [part.beside(j, [i for i in (0, 1) if i < j]) for j in range(Y.shape[1])]
        return np.array([np.isin(columns, columns if each is None else each) for each in chosen], dtype=float)
    if subject.family in ("label_space", "dual_space"):
        return np.asarray(part.encode(Y))
    return np.asarray(part.predict(X) if hasattr(part, "predict") else part.transform(X), dtype=float)


def _untouched(subject: Subject) -> None:
    X, Y = problem()
    copies = X.copy(), Y.copy()
    model = subject.composed().fit(X, Y)
    model.predict(X)
    if not (np.array_equal(X, copies[0]) and np.array_equal(Y, copies[1])):
        raise Broken("fit or predict writes into what it was given")
    for each in (X, Y):
        each.setflags(write=False)
    subject.composed().fit(X, Y).predict(X)


def _rows(subject: Subject) -> None:
    X, Y = problem()
    new = problem(seed=1)[0]
    order = np.random.default_rng(3).permutation(len(X))
    _same(subject.scores(X[order], Y[order], new), subject.scores(X, Y, new), "training rows in another order")


def _labels(subject: Subject) -> None:
    X, Y = problem()
    new = problem(seed=1)[0]
    order = np.random.default_rng(3).permutation(Y.shape[1])
    _same(subject.scores(X, Y[:, order], new), subject.scores(X, Y, new)[:, order], "labels in another order")


def _sparse(subject: Subject) -> None:
    X, Y = count_features()
    new = count_features(seed=1)[0]
    try:
        sparse = subject.scores(sp.csr_array(X), Y, sp.csr_array(new))
    except (TypeError, ValueError) as error:
        if "sparse" in str(error).lower():
            raise DoesNotApply("refuses sparse features, so it runs on dense data sets only") from error
        raise
    _same(sparse, subject.scores(X, Y, new), "the same features sparse and dense")


class _ByRows(BaseEstimator):
    """A part that is fitted from rows, whatever else it could be fitted from."""

    def __init__(self, part: Any):
        self.part = part

    def fit(self, X: Any, y: Any) -> _ByRows:
        self.part.fit(X, np.asarray(y, dtype=float))
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("part", "fit_moments"):
            raise AttributeError(name)
        return getattr(self.part, name)

    def __sklearn_tags__(self) -> Any:
        return self.part.__sklearn_tags__()


def _moments(subject: Subject) -> None:
    if not takes_moments(subject.cls) or issubclass(subject.cls, KernelLabelSpace):
        raise DoesNotApply("is not fitted from moments")
    X, Y = problem(100)
    new = problem(seed=1)[0]
    by_rows = subject.reduced()
    place = {"instance_space": "learner", "local_features": "learner__features"}.get(subject.family, subject.family)
    part = by_rows.feature_space[0] if by_rows.feature_space else by_rows.get_params()[place]
    by_rows.set_params(**{place: [_ByRows(part)] if by_rows.feature_space else _ByRows(part)})
    from_rows = by_rows.fit(X[:80], Y[:80]).decision_function(new)
    split = Moments.from_arrays(X, Y).without(np.arange(80, 100))
    _same(subject.reduced().fit_moments(split).decision_function(new), from_rows, "fit_moments of a split and fit")


def _sized(subject: Subject) -> bool:
    """Whether a part has a parameter for the number of label dimensions."""
    spaces = ("label_space", "dual_space")
    return subject.family in spaces and size_parameter_of(subject.cls) in registry.parameters(subject.cls)


def _sizes(subject: Subject) -> None:
    if not _sized(subject):
        raise DoesNotApply("has no number of label dimensions")
    X, Y = problem()
    for size in (1, 3, Y.shape[1]):
        space = subject.make(**{size_parameter_of(subject.cls): size}).fit(X, Y)
        codes = space.encode(Y)
        if codes.shape != (len(Y), size):
            raise Broken(f"{size} dimensions asked for: codes of shape {codes.shape}")
        scores = np.asarray(space.decode(codes))
        if scores.shape != Y.shape:
            raise Broken(f"{size} dimensions: decoded to shape {scores.shape} where {Y.shape} was expected")


def _nested(subject: Subject) -> None:
    if not _sized(subject):
        raise DoesNotApply("has no number of label dimensions")
    if not declared(subject.cls, "nested", LabelSpace):
        raise DoesNotApply("does not claim nested dimensions, so a sweep fits each number of them")
    X, Y = problem()
    new = problem(seed=1)[0]
    size = size_parameter_of(subject.cls)
    whole = subject.composed(**{size: Y.shape[1]}).fit(X, Y)
    output = whole.output(new)
    for m in range(1, Y.shape[1] + 1):
        alone = subject.composed(**{size: m}).fit(X, Y)
        if not np.array_equal(whole.labels_of(output, m), alone.predict(new)):
            raise Broken(f"the first {m} of {Y.shape[1]} dimensions predict otherwise than a fit with {m}")


def _independent(subject: Subject) -> None:
    if subject.family != "learner" or not declared(subject.cls, "independent_outputs", Learner):
        raise DoesNotApply("does not claim independent outputs")
    X, Y = problem()
    new = problem(seed=1)[0]
    whole, first = (subject.make().fit(X, Z).predict(new) for Z in (Y.astype(float), Y[:, :2].astype(float)))
    _same(np.asarray(first), np.asarray(whole)[:, :2], "two outputs alone and among five")


def _awkward_labels(subject: Subject) -> None:
    X, Y = problem()
    never, always, empty = Y.copy(), Y.copy(), Y.copy()
    never[:, 1] = 0
    always[:, 1] = 1
    empty[::2] = 0
    same = Y.copy()
    same[:, 2] = same[:, 0]
    for what, labels in (
        ("a label that is never there", never),
        ("a label that is always there", always),
        ("instances without labels", empty),
        ("two equal labels", same),
        ("a single label", Y[:, :1]),
        ("no label anywhere", np.zeros_like(Y)),
    ):
        _check_labels(subject, X, labels, what)


def _awkward_features(subject: Subject) -> None:
    X, Y = problem()
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
        ("constant features alone", np.ones_like(X)),
        ("features of zeros alone", np.zeros_like(X)),
    ):
        _check_labels(subject, features, Y, what)
    _check_labels(subject, np.ones_like(X), Y, "a reduction before it that leaves no feature", first=[PCA()])


def _one_instance(subject: Subject) -> None:
    X, Y = problem()
    try:
        subject.composed().fit(X[:1], Y[:1])
    except ValueError as error:
        if re.search("sample|instance|row", str(error)):
            raise DoesNotApply(f"refuses a single instance: {said(error)}") from error
        raise
    _check_labels(subject, X[:1], Y[:1], "a single instance")


LAWS: dict[str, Callable[[Subject], None]] = {
    "parameters": _clone,
    "predicts": _predicts,
    "repeatable": _repeatable,
    "refit": _forgets,
    "input": _untouched,
    "row-order": _rows,
    "label-order": _labels,
    "sparse": _sparse,
    "moments": _moments,
    "sizes": _sizes,
    "nested": _nested,
    "independent": _independent,
    "awkward-labels": _awkward_labels,
    "awkward-features": _awkward_features,
    "one-instance": _one_instance,
}

CONTRACT = "scikit-learn"

MEANING = {
    "parameters": "__init__ stores its parameters, get_params and clone give them back",
    "predicts": "in a method (a classifier of one label: in binary relevance), it predicts label sets",
    "repeatable": "the same data and seed give the same scores",
    "refit": "a second fit forgets the first",
    "input": "what it is given stays as it was",
    "row-order": "the order of the training rows does not matter",
    "label-order": "labels in another order get the same scores in that order",
    "sparse": "sparse and dense features give the same scores",
    "moments": "fit_moments of a split's moments is fit of its rows",
    "sizes": "codes have as many dimensions as were asked for, and decode to all labels",
    "nested": "fewer dimensions are the leading ones of more",
    "independent": "each output is fitted as if it were alone",
    "awkward-labels": "labels never or always there, equal, single, missing",
    "awkward-features": "features constant, equal, single, many, none, of any scale",
    "one-instance": "one training instance is enough, or refused as too few",
    CONTRACT: "scikit-learn's own checks (check_estimator)",
}
