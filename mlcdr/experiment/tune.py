"""`tune:` of a method, as data: the points that are searched, and the rows that the search uses.

    tune: {grid: {learner.alpha: {log2: [-10, 0, 1]}}, metric: hamming_loss, folds: 5, scope: split}
    tune: {search: random, points: 60, grid: {learner.alpha: {loguniform: [0.001, 100]}}}

(and `grids: {yeast: {learner.alpha: …}}` for data sets with a grid of their own; where a grid is a single point, it is
a setting for that data set, and nothing is chosen).

`search` says which points are tried:

`grid`      all of the grid;
`random`    `points` of them, all different, drawn from the experiment's seed and the names of the paths: the same for
            all data sets, splits, workers and methods with this grid; fewer points are the first of more;
`halving`   these, or all of the grid, on a part of the rows; the best third of them on three times as many rows; and so
            on, up to all rows (successive halving, Jamieson & Talwalkar 2016);
`optuna`    `points` one after another, each proposed by optuna's sampler (TPE) from what was measured before.

`scope` says what the choice is made for, and thereby what it may see:

`split`     for each training set by itself, by cross-validation within it: nothing of the test set is seen;
`dataset`   once for a data set, by cross-validation over all its rows: the test rows have been seen;
`test`      no choice is made: every point is run, and a table shows for each metric the best *on the test rows*.
            Many papers report this; the numbers are too good, and every table states it.
"""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from mlcdr.errors import describe, list_known
from mlcdr.experiment.entries import MetricSpec
from mlcdr.experiment.problems import Strict
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.lazy_numpy import np
from mlcdr.metrics import METRICS, hint, resolve, target

ALL_SIZES = "_all_dims"
MAX_POINTS = 100_000
"""The most points of a grid: each is fitted, and each is kept in memory."""

MAX_DRAWN = 10_000
"""The largest value of `points`."""

KEPT = 3
"""Halving keeps one in so many points, and measures it on so many times the rows."""

Point = dict[str, Any]


@dataclass(frozen=True)
class Distribution:
    """Numbers between two ends to draw from: `uniform`, or `loguniform`, whose logarithm is uniform."""

    name: str
    low: float
    high: float

    def quantile(self, share: float) -> float:
        """The quantile at `share`, to six digits: the last digits of a logarithm may differ between machines."""
        if self.name == "uniform":
            value = self.low + share * (self.high - self.low)
        else:
            low, high = math.log(self.low), math.log(self.high)
            value = math.exp(low + share * (high - low))
        rounded = float(f"{value:.6g}")
        return min(max(rounded, self.low), self.high)

    def plain(self) -> dict[str, list[float]]:
        """As a config writes it."""
        return {self.name: [self.low, self.high]}


def _spell_powers(base: float, first: float, last: float, step: float = 1) -> tuple[float, ...] | None:
    if not (step > 0 and -300 <= first <= last <= 300):
        return None
    count = _count((last - first) / step + 1e-9 + 1)
    return tuple(base ** (first + i * step) for i in range(count))


def _spell_integers(first: int, last: int) -> tuple[int, ...] | None:
    if not (isinstance(first, int) and isinstance(last, int) and first <= last):
        return None
    return tuple(first + i for i in range(_count(last - first + 1)))


def _count(number: float) -> int:
    """A number of values, if they may be spelt out: any more could fill the memory."""
    if number > MAX_POINTS:
        raise ValueError(f"{number:.3g} values are too many; {MAX_POINTS:,} are the most")
    return int(number)


def _distribution(name: str, low: float, high: float) -> Distribution | None:
    if not (low < high and math.isfinite(high - low) and (low > 0 or name == "uniform")):
        return None
    return Distribution(name, float(low), float(high))


_POWERS = "[from, to, step]` with numbers, from ≤ to, step > 0"
SHORT_FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "log2": (_POWERS, partial(_spell_powers, 2.0)),
    "log10": (_POWERS, partial(_spell_powers, 10.0)),
    "integers": ("[from, to]` with whole numbers, from ≤ to", _spell_integers),
    "uniform": ("[from, to]` with numbers, from < to", partial(_distribution, "uniform")),
    "loguniform": ("[from, to]` with numbers, 0 < from < to", partial(_distribution, "loguniform")),
}
"""Short form → the text of its arguments, and the function that makes values of them (None: of these it cannot)."""


def _values(written: object) -> object:
    """A list of values; one in a short form ({log2: [from, to, step]}: 2^from, …, 2^to) spelt out; a distribution."""
    if isinstance(written, Distribution):
        return written
    if isinstance(written, dict) and len(written) == 1:
        ((name, numbers),) = written.items()
        if name in SHORT_FORMS:
            return _spell(name, numbers)
    if not isinstance(written, list | tuple):
        raise ValueError(f"must be a list of values, or one of {', '.join(SHORT_FORMS)}, found {describe(written)}")
    if not written:
        raise ValueError("must not be empty")
    return tuple(written)


def _spell(name: str, numbers: object) -> Any:
    """The values that a short form stands for."""
    right, make = SHORT_FORMS[name]
    values = None
    if isinstance(numbers, list | tuple) and all(type(number) in (int, float) for number in numbers):
        with contextlib.suppress(TypeError, OverflowError):  # too many numbers, or too few; one beyond any float
            values = make(*numbers)
    if values is None:
        raise ValueError(f"must be `{name}: {right}")
    return values


Values = Annotated[Any, BeforeValidator(_values)]
"""A tuple of values, or a `Distribution`."""


def listed(values: Sequence[Any] | Distribution) -> tuple[Any, ...]:
    """The values, or a distribution's ends."""
    if isinstance(values, Distribution):
        return values.low, values.high
    return tuple(values)


def _size(grid: Mapping[str, Any]) -> float:
    """How many points a grid has; infinite with a distribution."""
    size: float = 1
    for values in grid.values():
        size *= math.inf if isinstance(values, Distribution) else len(values)
    return size


def _plain(grid: Mapping[str, Any]) -> dict[str, Any]:
    plain = {}
    for path, values in grid.items():
        plain[path] = values.plain() if isinstance(values, Distribution) else list(values)
    return plain


class TuneSpec(Strict):
    """How a method's parameters are chosen; see the module's text."""

    grid: Annotated[dict[str, Values], Field(min_length=1)]
    """Key path of the method → list of values, or {log2: [from, to, step]}, {log10: …}, {integers: [from, to]}; to draw
    from, {uniform: [from, to]} or {loguniform: [from, to]}."""

    grids: dict[str, dict[str, Values]] = {}
    """Data set → the grid that it has in place of `grid`; over the same paths."""

    search: Literal["grid", "random", "halving", "optuna"] = "grid"
    """Which points are tried: all of the grid; `points` drawn at random; these, or all, on few rows and ever fewer of
    them on ever more rows; `points` that optuna proposes one after another."""

    points: Annotated[int | None, Field(ge=1, le=MAX_DRAWN)] = None
    """How many points are tried."""

    scope: Literal["split", "dataset", "test"] = "split"
    """What the choice is made for, and may see: a training set, all rows, or the test rows."""

    metric: str | None = None
    """One of the experiment's metrics, or any by its name, to choose by (hamming_loss); ending in `_all_dims`, summed
    over all sizes of the code."""

    folds: Annotated[int | None, Field(ge=2)] = None
    """Folds of the cross-validation (5)."""

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("scope") == "test":
            return data
        written = {key: value for key, value in data.items() if value is not None}
        return {"metric": "hamming_loss", "folds": 5, **written}

    @model_validator(mode="after")
    def _agrees(self) -> "TuneSpec":
        if self.scope == "test":
            unused = [key for key in ("metric", "folds") if getattr(self, key)]
            self._refuse(unused, "takes each metric's own best on the test rows", "` and `".join(unused))
            self._refuse(self.grids, "has one grid for all data sets", "grids")
            self._refuse(self.search in ("halving", "optuna"), "runs every point", f"search: {self.search}")
        if self.search == "grid" and self.points is not None:
            raise ValueError("`search: grid` tries all points; leave out `points`, or take `search: random`")
        if self.search in ("random", "optuna") and self.points is None:
            raise ValueError(f"`search: {self.search}` needs `points`, how many to try")
        for name, grid in {"": self.grid, **self.grids}.items():
            if set(grid) != set(self.grid):
                raise ValueError(f"grids: that of {name} must be over the paths of `grid`: {', '.join(self.grid)}")
            n = self.n_points(name)
            if n == math.inf:
                raise ValueError("a distribution has no end of points; take `search: random` and give `points`")
            if n > MAX_POINTS:
                raise ValueError(f"a grid has {n:,} points; {MAX_POINTS:,} are the most")
        return self

    def _refuse(self, given: object, why: str, key: str) -> None:
        if given:
            raise ValueError(f"`scope: {self.scope}` {why}; leave out `{key}`")

    def grid_of(self, dataset: str) -> dict[str, Any]:
        """The grid of a data set, its paths in the order of `grid`."""
        name = self.find_own_grid(dataset)
        own = self.grid if name is None else self.grids[name]
        return {path: own[path] for path in self.grid}

    def find_own_grid(self, dataset: str) -> str | None:
        """The name in `grids` of a data set, in whatever case; None if it has no grid of its own."""
        return next((name for name in self.grids if name.casefold() == dataset.casefold()), None)

    def n_points(self, dataset: str = "") -> float:
        """How many points are tried (at most, by optuna); infinite where there is no limit."""
        return min(_size(self.grid_of(dataset)), self.points or math.inf)

    def point_at(self, shares: Sequence[float], dataset: str) -> Point:
        """The point that lies, along each path in turn, at a share (0 to 1) of its values."""
        point = {}
        for (path, values), share in zip(self.grid_of(dataset).items(), shares, strict=True):
            if isinstance(values, Distribution):
                point[path] = values.quantile(share)
            else:
                position = int(share * len(values))
                point[path] = values[min(position, len(values) - 1)]
        return point

    def candidates(self, seed: int, dataset: str = "") -> list[Point]:
        """The points to try: all of the grid, the last path changing fastest; or those that are drawn of it."""
        grid = self.grid_of(dataset)
        n = int(self.n_points(dataset))
        if n == _size(grid):
            return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        words = np.random.PCG64(seed_sequence(seed, "tune", *grid))
        drawn: dict[str, Point] = {}
        for _ in range(100 * n):  # a narrow distribution has fewer points than are asked for
            shares = words.random_raw(len(grid)) / 2**64
            point = self.point_at(shares.tolist(), dataset)
            drawn.setdefault(repr(point), point)
            if len(drawn) == n:
                break
        return list(drawn.values())

    def rungs(self, n: int, n_rows: int) -> list[tuple[int, int]]:
        """How many points are measured on how many of `n_rows` rows, one after another, beginning with `n` points.

        As scikit-learn's HalvingGridSearchCV with `min_resources="exhaust"`, but the last rung always uses all rows.
        """
        if self.search != "halving":
            return [(n, n_rows)]
        steps = 0  # of which there may be as many as points last, and as leave each fold two rows
        while KEPT ** (steps + 1) <= n and n_rows // KEPT ** (steps + 1) >= 2 * self.n_folds:
            steps += 1
        rungs = []
        for step in range(steps + 1):
            points = math.ceil(n / KEPT**step)
            rungs.append((points, n_rows // KEPT ** (steps - step)))
        return rungs

    def n_fits(self, dataset: str, n_rows: int) -> int:
        """How many fits a choice from `n_rows` rows takes, at most; none where there is a single point."""
        n = int(self.n_points(dataset))
        if n == 1:
            return 0
        return self.n_folds * sum(points for points, _ in self.rungs(n, n_rows))

    @property
    def summed(self) -> bool:
        """Whether the metric is summed over all sizes of the code."""
        return (self.metric or "").endswith(ALL_SIZES)

    def criterion(self, metrics: Iterable[MetricSpec]) -> MetricSpec:
        """The metric to choose by: one of the experiment's metrics, or any by its name.

        Raises
        ------
        ValueError
            When there is no such metric, or it is a time or memory or has no better direction.
        """
        wanted = (self.metric or "").removesuffix(ALL_SIZES)
        for metric in metrics:
            if metric.label == wanted:
                name, options = metric.name, metric.params
                break
        else:
            name, options = resolve(wanted)
        known = []
        for each in METRICS.values():
            if each.needs not in ("timing", "memory") and each.higher_is_better is not None:
                known.append(each.name)
        if target(name) is None and name not in known:  # a function of one's own has its direction
            listing = list_known(known, "`mlcdr metrics`")
            why = ": it does not say which prediction is better" if name in METRICS else hint(wanted)
            raise ValueError(f"{self.metric!r} cannot be chosen by{why} ({listing})")
        return MetricSpec(name=name, params=dict(options), label="criterion")

    @property
    def n_folds(self) -> int:
        """Folds of the cross-validation (`scope: test` has none)."""
        return self.folds or 0

    @model_serializer
    def plain(self) -> dict[str, Any]:
        """As a config writes it, the grid spelt out."""
        result: dict[str, Any] = {"grid": _plain(self.grid)}
        if self.grids:
            result["grids"] = {name: _plain(grid) for name, grid in self.grids.items()}
        if self.search != "grid":
            result |= {"search": self.search, "points": self.points}
        result["scope"] = self.scope
        if self.scope != "test":
            result |= {"metric": self.metric, "folds": self.n_folds}
        return {key: value for key, value in result.items() if value is not None}
