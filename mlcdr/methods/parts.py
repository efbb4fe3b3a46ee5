"""The parts that a classifier is made of, as parameters: by their names, and the steps of a list by their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mlcdr.methods.constraints import parameter
from mlcdr.methods.contracts import LabelSpace, Part, has_parameters, validate_parameters

_METHODS = {
    "learner": ("fit", "predict"),
    "label_space": ("encode", "decode"),
    "dual_space": ("transform", "encode", "decode"),
    "feature_space": ("transform",),
    "threshold": ("apply",),
}
"""What a part must have to stand in each place."""

_OF_STEP = re.compile(r"feature_space__\d+(__.*)?")


class Parts(Part):
    """The parameters of `ComposedClassifier`.

    Parameters
    ----------
    learner : estimator
        A multi-output regressor, which fits codes; or a multi-label classifier, which fits label sets.
    label_space : estimator or None
        A label-space reducer. None: the labels are the code.
    feature_space : estimator, list of estimators, or None
        A transformer of the features, or several, applied in order; the parameters of the first one of a list are
        `feature_space__0__n_components` and so on. Where a step keeps no feature, it gives one feature of zeros, so
        that the parts after it learn from the labels alone.
    dual_space : estimator or None
        A feature step, after those of `feature_space`, and a label space, fitted together; it takes the place of a
        `label_space`.
    threshold : estimator or None
        From scores to label sets. None: round-based decoding for regressors (at 0 where a label space gives scores of
        ±1, by its `score_boundary`); a classifier's own decision. One that has `fit(scores, Y)` is fitted to
        the fitted learner's predictions for the training instances.
    """

    learner: Any = parameter(family="learner")
    label_space: Any = parameter(None, family="label_space")
    feature_space: Any = parameter(None, family="feature_space")
    threshold: Any = parameter(None, family="threshold")
    dual_space: Any = parameter(None, family="dual_space")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` also those of the parts, and of the steps of a list by their numbers from 0."""
        found: dict[str, Any] = super().get_params(deep)
        if deep and isinstance(self.feature_space, list):
            for k, step in enumerate(self.feature_space):
                inner = step.get_params() if has_parameters(step) else {}
                found |= {f"feature_space__{k}": step, **{f"feature_space__{k}__{key}": v for key, v in inner.items()}}
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters by the names that `get_params` has."""
        of_steps = {key: value for key, value in params.items() if _OF_STEP.fullmatch(key)}
        super().set_params(**{key: value for key, value in params.items() if key not in of_steps})
        for key, value in sorted(of_steps.items()):  # a step comes before its parameters
            if key not in self.get_params():
                raise ValueError(f"Invalid parameter {key!r} for estimator {self}")
            _, number, *name = key.split("__", 2)
            if name:
                self.feature_space[int(number)].set_params(**{name[0]: value})
            else:
                self.feature_space = [value if k == int(number) else s for k, s in enumerate(self.feature_space)]
        return self

    def _validate_params(self) -> None:
        given = {name: getattr(self, name) for name in _METHODS if name != "feature_space"}
        several = isinstance(self.feature_space, list | tuple)
        given |= {f"feature_space[{k}]" if several else "feature_space": step for k, step in enumerate(self._steps())}
        for name, part in given.items():
            _check_kind(name, part)
            validate_parameters(part)

    def _steps(self) -> Sequence[Any]:
        """The steps of the feature space."""
        if self.feature_space is None or isinstance(self.feature_space, list | tuple):
            return self.feature_space or ()
        return (self.feature_space,)

    @property
    def first_part(self) -> Any:
        """The part that is given X."""
        return next(iter(self._steps()), self.learner)


def _check_kind(name: str, part: Any) -> None:
    """Raise TypeError where a part cannot stand in the place of that name."""
    if isinstance(part, str):
        raise TypeError(f"{name}: {part!r} is a name in configs; here it is an estimator, such as mlcdr.Ridge()")
    if isinstance(part, type):
        raise TypeError(f"{name}: {part.__name__} is a class; write {part.__name__}(...)")
    place = name.partition("[")[0]
    if place == "label_space" and isinstance(part, LabelSpace) and hasattr(part, "transform"):
        raise TypeError(f"label_space: {type(part).__name__} reduces features and labels together; it is a dual_space")
    if (part is None and place != "learner") or all(hasattr(part, each) for each in _METHODS[place]):
        return
    others = [other for other, methods in _METHODS.items() if all(hasattr(part, each) for each in methods)]
    hint = f"; it can be the {' or '.join(others)}" if others else ""
    needed = ", ".join(f"`{each}`" for each in _METHODS[place])
    raise TypeError(f"{name}: {type(part).__name__} is no {place}, which has {needed}{hint}")
