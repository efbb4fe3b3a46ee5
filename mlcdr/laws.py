"""Laws that a method must obey to be compared with others, put to a class of the user's own.

Each law takes one part of a method (a learner, a label space …) in the place it has in the line
x → feature space → learner → label space → threshold, with least squares for the rest, and asks for nothing that a
method may do otherwise for good reason, but for two: a chain or a random choice of labels depends on their order, and
what is learned row by row depends on the rows' order. Such laws are left out by name.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone, is_classifier
from sklearn.utils import get_tags

from mlcdr import registry
from mlcdr.chains.bayesian_classifier_chain import BayesianClassifierChain
from mlcdr.chains.binary_relevance import BinaryRelevance
from mlcdr.composition import ComposedClassifier
from mlcdr.errors import UserError, did_you_mean
from mlcdr.experiment.yaml_reader import read_yaml_text
from mlcdr.instance_space.cbmlc import CBMLC
from mlcdr.learners.kernel_ridge import KernelRidge
from mlcdr.learners.least_squares import LeastSquares
from mlcdr.moments import Moments

Verdict = Literal["ok", "FAILED", "skipped"]
Array = NDArray[Any]

_CLOSE = 1e-6  # of the largest score: far above rounding, far below a mistake


@dataclass(frozen=True)
class Outcome:
    """What came of one law: `why` it failed or was skipped."""

    law: str
    verdict: Verdict
    why: str = ""


class _Broken(Exception):
    """A law does not hold."""


class _DoesNotApply(Exception):
    """A law says nothing of this part."""


# -------------------------------------------------------------------- the user's classes


def load_classes(path: Path) -> dict[str, type]:
    """The public classes of a Python file that can be a part of a method, in the file's order.

    Raises
    ------
    UserError
        When there is no such file, it cannot be imported, or it has no such class.
    """
    if path.suffix != ".py":
        raise UserError(f"{path}: not a Python file (NAME.py)")
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    name = path.stem
    there = sys.modules.get(name)
    if there is not None and Path(getattr(there, "__file__", None) or "").resolve() != path.resolve():
        raise UserError(f"{path}: there is another module {name!r}, and a config could not tell them apart; rename it")
    if str(path.parent.resolve()) not in sys.path:
        sys.path.append(str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UserError(f"{path}: cannot be imported: {_said(error)}") from error
    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == name and not key.startswith("_") and family_of(value)
    }
    if not found:
        raise UserError(
            f"{path}: no class here can be a part of a method: a learner has fit and predict, a feature space fit and "
            "transform, a label space fit, encode and decode, a selector for single labels fit and beside, a threshold "
            "apply"
        )
    return found


def read_parameters(settings: Sequence[str], classes: Mapping[str, type]) -> dict[str, dict[str, Any]]:
    """`NAME=VALUE` texts, the value as a config writes it, as parameters of each class that has them.

    Raises
    ------
    UserError
        When one is malformed, or no class has the parameter.
    """
    result: dict[str, dict[str, Any]] = {name: {} for name in classes}
    for text in settings:
        key, equals, written = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: expected NAME=VALUE")
        value = read_yaml_text(written, f"--set {key}", numbered=False).data
        having = [name for name, cls in classes.items() if key in registry.parameters(cls)]
        if not having:
            known = list(dict.fromkeys(each for cls in classes.values() for each in registry.parameters(cls)))
            raise UserError(f"--set {key}: no class has this parameter{did_you_mean(key, known)}")
        for name in having:
            result[name][key] = value
    return result


def family_of(cls: type) -> str:
    """Which part of a method a class can be, by what it can do; empty if none.

    An instance space can do what any classifier does, and says itself that it is one.
    """
    if not hasattr(cls, "fit"):
        return "threshold" if hasattr(cls, "apply") else ""
    if getattr(cls, "decomposes_instances", False):
        return "instance_space"
    if issubclass(cls, ClusterMixin):
        return "clusterer"
    if hasattr(cls, "beside"):
        return "local_features"
    if hasattr(cls, "encode") and hasattr(cls, "decode"):
        return "dual_space" if hasattr(cls, "transform") else "label_space"
    for method, family in (("predict", "learner"), ("transform", "feature_space"), ("apply", "threshold")):
        if hasattr(cls, method):
            return family
    return ""


# -------------------------------------------------------------------- problems to put


def _problem(n: int = 80, d: int = 8, k: int = 5, seed: int = 0) -> tuple[Array, Array]:
    """Features and labels that depend on them, no two labels equally frequent."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, k)) / np.sqrt(d) + 0.3 * rng.standard_normal((n, k))
    counts = np.linspace(0.6, 0.15, k) * n
    order = np.argsort(np.argsort(-scores, axis=0), axis=0)
    return X, (order < np.round(counts)).astype(np.uint8)


def _counts(seed: int = 0) -> tuple[Array, Array]:
    """The same with features that are mostly zero."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (80, 8)).astype(float) * rng.uniform(0.5, 2, 8)
    return X, _problem(seed=seed)[1]


# -------------------------------------------------------------------- the laws


@dataclass(frozen=True)
class _Subject:
    """A part under test: its family, and how to make one anew."""

    family: str
    cls: type
    make: Callable[..., Any]

    def composed(self, **changes: Any) -> ComposedClassifier:
        """The part in its place."""
        part = self.make(**changes)
        if self.family == "learner":
            return ComposedClassifier(_of_label_sets(part))
        if self.family == "instance_space":
            return ComposedClassifier(part)
        if self.family == "clusterer":
            return ComposedClassifier(CBMLC(BinaryRelevance(), n_clusters=3, clusterer=part, random_state=0))
        if self.family == "feature_space":
            return ComposedClassifier(LeastSquares(), feature_space=[part])
        if self.family == "local_features":  # a label beside its parent
            return ComposedClassifier(BayesianClassifierChain(root="strongest", features=part))
        misfit = getattr(self.cls, "misfit", None)  # of label spaces that take a kernel from the learner
        learner = KernelRidge() if misfit is not None and misfit(LeastSquares, None) else LeastSquares()
        return ComposedClassifier(learner, **{self.family: part})

    def reduced(self) -> ComposedClassifier:
        """The same where it has to leave something out, if it has a number of dimensions that nobody set."""
        name = _size(self.cls)
        free = name in registry.parameters(self.cls) and getattr(self.make(), name, None) is None
        return self.composed(**({name: 3} if free else {}))

    def scores(self, X: Any, Y: Any, new: Any) -> Array:
        """What a fit to (X, Y) says of new rows: real scores, or a classifier's label sets."""
        model = self.reduced().fit(X, Y)
        if is_classifier(model.learner):
            return np.asarray(model.predict(new), dtype=float)
        return np.asarray(model.decision_function(new), dtype=float)


def _of_label_sets(learner: Any) -> Any:
    """A learner as it stands in a method: a classifier of one label as the base of binary relevance."""
    if is_classifier(learner) and not get_tags(learner).classifier_tags.multi_label:
        return BinaryRelevance(learner)
    return learner


def _same(ours: Array, theirs: Array, what: str) -> None:
    if ours.shape != theirs.shape:
        raise _Broken(f"{what}: shape {ours.shape} where {theirs.shape} was expected")
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    apart = float(np.max(np.abs(ours - theirs), initial=0.0))
    if not apart <= _CLOSE * scale:
        raise _Broken(f"{what}: scores differ by up to {apart:.2g}")


def _clone(subject: _Subject) -> None:
    part = subject.make()
    params = part.get_params(deep=False)
    for name in registry.parameters(subject.cls):
        if name not in params:
            raise _Broken(f"get_params says nothing of {name!r}")
        if not hasattr(part, name):
            raise _Broken(f"__init__ does not store {name!r} as it came")
    twin = clone(part)
    for name, value in twin.get_params(deep=False).items():
        if type(value) is not type(params[name]) or repr(value) != repr(params[name]):
            raise _Broken(f"a clone has {name}={value!r} where {params[name]!r} was given")


def _predicts(subject: _Subject) -> None:
    X, Y = _problem()
    _check_labels(subject, X, Y, "plain data")


def _check_labels(subject: _Subject, X: Any, Y: Array, what: str) -> None:
    try:
        predicted = np.asarray(subject.composed().fit(X, Y).predict(X))
    except Exception as error:
        raise _Broken(f"{what}: {_said(error)}") from error
    if predicted.shape != Y.shape:
        raise _Broken(f"{what}: predictions of shape {predicted.shape} where {Y.shape} was expected")
    if not np.isin(predicted, (0, 1)).all():
        raise _Broken(f"{what}: predictions other than 0 and 1")


def _repeatable(subject: _Subject) -> None:
    X, Y = _problem()
    new = _problem(seed=1)[0]
    _same(subject.scores(X, Y, new), subject.scores(X, Y, new), "fitted twice")


def _forgets(subject: _Subject) -> None:
    X, Y = _problem()
    part, fresh = subject.make(), subject.make()
    _says(subject, part, *_problem(60, 6, 3, seed=2))
    _same(_says(subject, part, X, Y), _says(subject, fresh, X, Y), "fitted to other data before")


def _says(subject: _Subject, part: Any, X: Array, Y: Array) -> Array:
    """What a part by itself says of the data that it is fitted to."""
    if subject.family == "threshold":
        scores = Y + 0.1 * np.arange(Y.shape[1]) - 0.2 * X[:, :1]
        return np.asarray((part.fit(scores, Y) if hasattr(part, "fit") else part).apply(scores), dtype=float)
    if subject.family == "clusterer":
        return np.asarray(part.fit_predict(X), dtype=float)
    if subject.family == "learner" and _of_label_sets(part) is not part:
        return np.asarray(part.fit(X, Y[:, 0]).predict(X), dtype=float)
    part.fit(X, Y if is_classifier(part) else Y.astype(float))
    if subject.family == "local_features":
        columns = np.arange(X.shape[1])
        chosen = [part.beside(j, [i for i in (0, 1) if i < j]) for j in range(Y.shape[1])]
        return np.array([np.isin(columns, columns if each is None else each) for each in chosen], dtype=float)
    if subject.family in ("label_space", "dual_space"):
        return np.asarray(part.encode(Y))
    return np.asarray(part.predict(X) if hasattr(part, "predict") else part.transform(X), dtype=float)


def _untouched(subject: _Subject) -> None:
    X, Y = _problem()
    copies = X.copy(), Y.copy()
    model = subject.composed().fit(X, Y)
    model.predict(X)
    if not (np.array_equal(X, copies[0]) and np.array_equal(Y, copies[1])):
        raise _Broken("fit or predict writes into what it was given")
    for each in (X, Y):
        each.setflags(write=False)
    subject.composed().fit(X, Y).predict(X)


def _rows(subject: _Subject) -> None:
    X, Y = _problem()
    new = _problem(seed=1)[0]
    order = np.random.default_rng(3).permutation(len(X))
    _same(subject.scores(X[order], Y[order], new), subject.scores(X, Y, new), "training rows in another order")


def _labels(subject: _Subject) -> None:
    X, Y = _problem()
    new = _problem(seed=1)[0]
    order = np.random.default_rng(3).permutation(Y.shape[1])
    _same(subject.scores(X, Y[:, order], new), subject.scores(X, Y, new)[:, order], "labels in another order")


def _sparse(subject: _Subject) -> None:
    X, Y = _counts()
    new = _counts(seed=1)[0]
    try:
        sparse = subject.scores(sp.csr_array(X), Y, sp.csr_array(new))
    except (TypeError, ValueError) as error:
        if "sparse" in str(error).lower():
            raise _DoesNotApply("refuses sparse features, so it runs on dense data sets only") from error
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


def _moments(subject: _Subject) -> None:
    if not hasattr(subject.cls, "fit_moments") or hasattr(subject.cls, "fit_moments_for"):
        raise _DoesNotApply("is not fitted from moments")
    X, Y = _problem(100)
    new = _problem(seed=1)[0]
    by_rows = subject.reduced()
    place = {"instance_space": "learner", "local_features": "learner__features"}.get(subject.family, subject.family)
    part = by_rows.feature_space[0] if by_rows.feature_space else by_rows.get_params()[place]
    by_rows.set_params(**{place: [_ByRows(part)] if by_rows.feature_space else _ByRows(part)})
    from_rows = by_rows.fit(X[:80], Y[:80]).decision_function(new)
    split = Moments.from_arrays(X, Y).without(np.arange(80, 100))
    _same(subject.reduced().fit_moments(split).decision_function(new), from_rows, "fit_moments of a split and fit")


def _size(cls: type) -> str:
    return str(getattr(cls, "size_parameter", "n_components"))


def _sized(subject: _Subject) -> bool:
    """Whether a part has a parameter for the number of label dimensions."""
    spaces = ("label_space", "dual_space")
    return subject.family in spaces and _size(subject.cls) in registry.parameters(subject.cls)


def _sizes(subject: _Subject) -> None:
    if not _sized(subject):
        raise _DoesNotApply("has no number of label dimensions")
    X, Y = _problem()
    for size in (1, 3, Y.shape[1]):
        space = subject.make(**{_size(subject.cls): size}).fit(X, Y)
        codes = space.encode(Y)
        if codes.shape != (len(Y), size):
            raise _Broken(f"{size} dimensions asked for: codes of shape {codes.shape}")
        scores = np.asarray(space.decode(codes))
        if scores.shape != Y.shape:
            raise _Broken(f"{size} dimensions: decoded to shape {scores.shape} where {Y.shape} was expected")


def _nested(subject: _Subject) -> None:
    if not _sized(subject):
        raise _DoesNotApply("has no number of label dimensions")
    if not getattr(subject.cls, "nested", False):
        raise _DoesNotApply("does not claim nested dimensions, so a sweep fits each number of them")
    X, Y = _problem()
    new = _problem(seed=1)[0]
    size = _size(subject.cls)
    whole = subject.composed(**{size: Y.shape[1]}).fit(X, Y)
    output = whole.output(new)
    for m in range(1, Y.shape[1] + 1):
        alone = subject.composed(**{size: m}).fit(X, Y)
        if not np.array_equal(whole.labels_of(output, m), alone.predict(new)):
            raise _Broken(f"the first {m} of {Y.shape[1]} dimensions predict otherwise than a fit with {m}")


def _independent(subject: _Subject) -> None:
    if subject.family != "learner" or not getattr(subject.cls, "independent_outputs", False):
        raise _DoesNotApply("does not claim independent outputs")
    X, Y = _problem()
    new = _problem(seed=1)[0]
    whole, first = (subject.make().fit(X, Z).predict(new) for Z in (Y.astype(float), Y[:, :2].astype(float)))
    _same(np.asarray(first), np.asarray(whole)[:, :2], "two outputs alone and among five")


def _awkward_labels(subject: _Subject) -> None:
    X, Y = _problem()
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


def _awkward_features(subject: _Subject) -> None:
    X, Y = _problem()
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


def _one_instance(subject: _Subject) -> None:
    X, Y = _problem()
    try:
        subject.composed().fit(X[:1], Y[:1])
    except ValueError as error:
        if re.search("sample|instance|row", str(error)):
            raise _DoesNotApply(f"refuses a single instance: {_said(error)}") from error
        raise
    _check_labels(subject, X[:1], Y[:1], "a single instance")


LAWS: dict[str, Callable[[_Subject], None]] = {
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
    "awkward-features": "features constant, equal, single, many, of any scale",
    "one-instance": "one training instance is enough, or refused as too few",
    CONTRACT: "scikit-learn's own checks (check_estimator)",
}


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
    subject = _Subject(family_of(cls), cls, make)
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


def _outcome(law: str, holds: Callable[[_Subject], None], subject: _Subject) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holds(subject)
    except _DoesNotApply as why:
        return Outcome(law, "skipped", str(why))
    except _Broken as why:
        return Outcome(law, "FAILED", str(why))
    except Exception as error:  # whatever the user's class may raise
        return Outcome(law, "FAILED", _said(error))
    return Outcome(law, "ok")


def _contract(subject: _Subject) -> Iterator[Outcome]:
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
            yield Outcome(CONTRACT, "FAILED", _said(error))
            return
    failed = [each for each in found if each["status"] == "failed"]
    for each in failed:
        yield Outcome(CONTRACT, "FAILED", f"{each['check_name']}: {_said(each['exception'])}")
    if not failed:
        yield Outcome(CONTRACT, "ok", f"{sum(each['status'] == 'passed' for each in found)} checks")


def _said(error: BaseException) -> str:
    """An exception in a line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = " ".join((lines[0] if lines else "").split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
