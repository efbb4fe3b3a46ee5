"""Adapts classes of other packages, and user classes without a base, to estimators that can be cloned and declare their
kind.
"""

from __future__ import annotations

import inspect
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state, get_tags

from mlcdr.methods.contracts import Part, as_dense

# The generators of a process are its own, and threads share them.
_ALONE = threading.RLock()


def build(cls: type, parameters: Mapping[str, Any]) -> Any:
    """An object of a class of any origin as an estimator: itself, or `Adapted` where scikit-learn cannot tell its kind.

    It is `Adapted` for a class which scikit-learn cannot clone (no `get_params`) or which has no tags; and for a
    classifier that derives from `BaseEstimator` first and from `ClassifierMixin` behind it (scikit-multilearn's,
    BOOMER's), so that its tags are those of no classifier.
    """
    if issubclass(cls, Part):
        return cls(**parameters)
    if not (hasattr(cls, "get_params") and hasattr(cls, "__sklearn_tags__")):
        return Adapted(cls, **_divided(cls, parameters))
    made = cls(**parameters)
    if issubclass(cls, ClassifierMixin) and not is_classifier(made):
        return Adapted(cls, **_divided(cls, parameters))
    return made


def adapted(estimator: Any) -> Any:
    """An estimator that was made elsewhere, as `build` would give it.

    Raises
    ------
    TypeError
        When it is one that must be made again for each fit, and does not keep an argument of its constructor under the
        argument's name.
    """
    cls = type(estimator)
    if estimator is None or isinstance(estimator, Part | Adapted):
        return estimator
    if hasattr(cls, "get_params") and hasattr(cls, "__sklearn_tags__"):
        if not (issubclass(cls, ClassifierMixin) and not is_classifier(estimator)):
            return estimator
    elif isinstance(estimator, type) or not hasattr(cls, "fit"):
        return estimator
    names = _arguments(cls)
    if missing := [name for name in names if not hasattr(estimator, name)]:
        raise TypeError(
            f"{cls.__name__} cannot be copied: it has no attribute {missing[0]!r} with what its constructor was given "
            f"(or derive it from sklearn.base.BaseEstimator)"
        )
    return Adapted(cls, **_divided(cls, {name: getattr(estimator, name) for name in names}))


class Adapted(BaseEstimator):
    """An estimator that makes an object of a class for each fit, and delegates calls to it.

    The object is made of copies of the parameters. Matrices that it returns are made dense. A class that is not a
    `BaseEstimator` also receives dense ones. Where the class draws from the global generators of Python or NumPy, these
    are seeded by `random_state` during the call, so that the numbers are the same for any number of jobs.

    Parameters
    ----------
    cls : type
        The class: `fit(X, Y)` and `predict(X)`, and perhaps `predict_proba` or `decision_function`; or what another
        part of a method needs (`transform`, or `encode` and `decode`).
    parameters : dict, optional
        The arguments of its constructor, but for `random_state`.
    random_state : int, optional
        The seed; also the argument of that name, if there is one.

    Attributes
    ----------
    model_ : object
        The fitted object.
    """

    model_: Any

    def __init__(self, cls: type, parameters: dict[str, Any] | None = None, random_state: int | None = None):
        self.cls, self.parameters, self.random_state = cls, parameters, random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; `deep`: those of the class as well, and of the estimators among them."""
        found: dict[str, Any] = super().get_params(deep=False)
        for name, value in (self.parameters or {}).items() if deep else ():
            found[name] = value
            if hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{below}": each for below, each in value.get_params().items()}
        return found

    def set_params(self, **parameters: Any) -> Adapted:
        """Change parameters, named as by `get_params`."""
        for path, value in parameters.items():
            name, _, below = path.partition("__")
            if below:
                (self.parameters or {})[name].set_params(**{below: value})
            elif name in ("cls", "parameters", "random_state"):
                setattr(self, name, value)
            else:
                self.parameters = {**(self.parameters or {}), name: value}
        return self

    def make(self) -> Any:
        """A new object of the class."""
        given = {name: _bare(deepcopy(value)) for name, value in (self.parameters or {}).items()}
        if "random_state" in _arguments(self.cls):
            given["random_state"] = self.random_state
        return self.cls(**given)

    def fit(self, *data: Any, **more: Any) -> Self:
        """Make the object and fit it: features X (n×d), label sets Y (n×K) or one label y (n,)."""
        self._fit("fit", *data, **more)
        return self

    def _fit(self, method: str, *data: Any, **more: Any) -> Any:
        if len(data) > 1 and np.ndim(data[1]) == 1:
            self.classes_ = np.unique(data[1])
        self.model_ = self.make()
        result = self._call(getattr(self.model_, method), *data, **more)
        return self if result is self.model_ or method == "fit_moments" else result

    def _call(self, method: Callable[..., Any], *data: Any, **more: Any) -> Any:
        if not issubclass(self.cls, BaseEstimator):
            data = tuple(as_dense(each) if sp.issparse(each) else each for each in data)
        with seeded_generators(self.random_state):
            result = method(*data, **more)
        return as_dense(result) if sp.issparse(result) or isinstance(result, np.matrix) else result

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        if name.startswith("_") or "cls" not in own:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name.startswith("fit"):
            getattr(own["cls"], name)
            return partial(self._fit, name)
        found = getattr(own.get("model_", own["cls"]), name)
        if not callable(found):
            return found
        return partial(self._call, found) if "model_" in own else self._refuse

    def _refuse(self, *data: Any, **more: Any) -> Any:
        raise NotFittedError(f"{self.cls.__name__} is not fitted yet")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        scored = any(hasattr(self.cls, name) for name in ("predict_proba", "decision_function"))
        kind = getattr(self.cls, "_estimator_type", None)
        if issubclass(self.cls, ClassifierMixin) or kind == "classifier" or (scored and kind is None):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_label=True)
        elif issubclass(self.cls, RegressorMixin) or kind == "regressor":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        tags.target_tags.multi_output = tags.input_tags.sparse = True
        return tags


def class_of(part: Any) -> type:
    """The class of a part, or of what is adapted in it."""
    return part.cls if isinstance(part, Adapted) else type(part)


def is_of_unknown_kind(part: Any) -> bool:
    """Whether a part is adapted and its class does not tell whether it is a classifier or a regressor."""
    return isinstance(part, Adapted) and get_tags(part).estimator_type is None


def _bare(value: Any) -> Any:
    """The value of a parameter for a class that cannot be cloned: an object of the named class, not `Adapted`."""
    if isinstance(value, Adapted):
        return value.make()
    if isinstance(value, list | tuple):
        return type(value)(map(_bare, value))
    return {key: _bare(each) for key, each in value.items()} if type(value) is dict else value


def _divided(cls: type, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a class as those of `Adapted`."""
    default = _arguments(cls).get("random_state")
    others = {"random_state": None if default is inspect.Parameter.empty else default, **parameters}
    return {"random_state": others.pop("random_state"), "parameters": others}


def _arguments(cls: Any) -> dict[str, Any]:
    """The constructor's arguments and their defaults."""
    if cls.__init__ is object.__init__:
        return {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {each.name: each.default for each in known if each.kind in kinds}


@contextmanager
def seeded_generators(seed: int | None) -> Iterator[None]:
    """Seed the global generators of Python and NumPy, and restore their state afterwards."""
    if seed is None:
        yield
        return
    with _ALONE, kept_generators():
        random.seed(seed)
        check_random_state(None).seed(seed)
        yield


@contextmanager
def kept_generators() -> Iterator[None]:
    """Leave the global generators of Python and NumPy as they are."""
    numpys = check_random_state(None)  # what `np.random.rand` draws from
    states = random.getstate(), numpys.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        numpys.set_state(states[1])
