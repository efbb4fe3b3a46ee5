"""What a metric is: its definition, direction, options, and the conventions for what a formula leaves open.

Papers treat the undefined cases differently, which changes some results by a factor of two, so each is an option:

`zero_division`
    the value of an instance (or label) whose denominator is 0: a number (`0`, `1`, of AUC also `0.5`), `skip` (left out
    of the mean), or, for instance metrics of label sets, `agree`: 1 if both sets are empty, else 0;
`ties`
    what equal scores count as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mlcdr.lazy_numpy import np
from mlcdr.metrics.outcome import Array, Needs, Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Numbers:
    """An option that is a number: `whole` or not, at least `least` (or more than it)."""

    whole: bool = False
    least: float = 0
    open: bool = False

    def allows(self, value: Any) -> bool:
        """Whether a value is one of these."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return bool(self.least < value < 1e9 or (value == self.least and not self.open))

    def __str__(self) -> str:
        return f"a {'whole ' * self.whole}number {'above' if self.open else 'from'} {self.least}"


_WORDS: Mapping[str, Mapping[Any, str]] = {
    "zero_division": {
        None: "counts as 0",
        "skip": "is left out of the mean",
        "agree": "counts 1 if the true and the predicted set are both empty, else 0",
    },
    "ties": {
        "first": "Of equal scores the first in the data set's order comes first.",
        "mean": "Equal scores count as the mean over their orders.",
        "worst": "Equal scores count together, at the last of their places.",
        "best": "Of equal scores the relevant ones come first.",
        "wrong": "An equal pair counts as wrong.",
        "half": "An equal pair counts ½.",
        "right": "An equal pair counts as right.",
    },
}
"""What the values of options mean in a convention."""


@dataclass(frozen=True)
class Metric:
    """Definition of a metric. `compute(outcome, **options)` returns a float, or NaN if it is not defined.

    `higher_is_better` is None for a metric that describes a method and does not rank it. `convention` is what it does
    where its formula leaves something open, with options in braces: `{ties}` is a sentence, `{zero_division}` a verb,
    and `{value[zero_division]}` the value. `instead` maps option values to the conventions that replace it. `allowed`
    has for each option the values, or the `Numbers`, that it may have.
    """

    name: str
    description: str
    higher_is_better: bool | None
    compute: Callable[..., float]
    convention: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    allowed: Mapping[str, tuple[Any, ...] | Numbers] = field(default_factory=dict)
    needs: Needs = "labels"
    instead: Mapping[str, str] = field(default_factory=dict)

    def of(self, outcome: Outcome, options: Mapping[str, Any]) -> float:
        """Its value; NaN where it is not defined, or the method does not give its input."""
        if not outcome.gives(self.needs):
            return float("nan")
        return float(self.compute(outcome, **{**self.parameters, **options}))

    def convention_of(self, options: Mapping[str, Any]) -> str:
        """The convention with these options."""
        chosen = [self.instead[value] for value in options.values() if isinstance(value, str) and value in self.instead]
        values = {**self.parameters, **options}
        words = {key: _WORDS[key].get(value, f"counts as {value}") for key, value in values.items() if key in _WORDS}
        return chosen[0] if chosen else self.convention.format(**words, value=values)

    def conventions(self) -> list[str]:
        """All conventions: the default, and those of option values that change it."""
        others = [f"Of {value}: {text[0].lower()}{text[1:]}" for value, text in self.instead.items()]
        return [*filter(None, [self.convention_of({})]), *others]

    def allows(self, option: str, value: Any) -> bool:
        """Whether an option may have a value."""
        allowed = self.allowed[option]
        if isinstance(allowed, Numbers):
            return allowed.allows(value)
        return any(type(each) is type(value) and each == value for each in allowed)

    def list_allowed(self, option: str) -> list[str]:
        """What an option may be, as text."""
        allowed = self.allowed[option]
        return [str(allowed)] if isinstance(allowed, Numbers) else [str(each) for each in allowed]

    def label_of(self, options: Mapping[str, Any]) -> str:
        """Its label in the results where the config gives none: `precision_at_3` for `precision_at_k`."""
        if not self.name.endswith("_at_k"):
            return self.name
        return f"{self.name[:-1]}{options.get('k', self.parameters['k'])}"


@dataclass(frozen=True)
class LabelMetric:
    """A metric of each label by itself; `compute(outcome)` gives an array (K,), NaN where it is not defined."""

    name: str
    description: str
    higher_is_better: bool
    compute: Callable[[Outcome], Array]
    needs: Needs = "labels"


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Array:
    """numerator/denominator, NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.full(shape, np.nan), where=np.asarray(denominator) != 0)


def mean(values: Array, undefined: float | str | Array) -> float:
    """The mean of values, with `undefined` in place of NaN ("skip": left out); NaN of nothing."""
    unknown = np.isnan(values)
    values = values[~unknown] if isinstance(undefined, str) else np.where(unknown, undefined, values)
    return float(values.mean()) if len(values) else float("nan")
