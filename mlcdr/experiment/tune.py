"""`tune:` of a method, as data: the grid that is searched, and on which rows the search looks.

    tune: {grid: {learner.alpha: {log2: [-10, 0, 1]}}, metric: hamming_loss, folds: 5, scope: split}

(and `grids: {yeast: {learner.alpha: …}}` for data sets with a grid of their own; where a grid is a single point, it is
a setting for that data set, and nothing is chosen).

`scope` says what the choice is made for, and thereby what it may see:

`split`     for each training set by itself, by cross-validation within it: nothing of the test set is seen;
`dataset`   once for a data set, by cross-validation over all its rows: the test rows have been seen;
`test`      not at all: every point of the grid is run, and a table shows for each metric the best *on the test rows*.
            That is how many papers report; it flatters, and is named for what it is.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mlcdr.errors import suggest_name
from mlcdr.metrics import METRICS, Metric, find

ALL_SIZES = "_all_dims"
MAX_POINTS = 100_000
"""Of a grid: each is fitted, and each is kept in memory."""

_STEPS = {"log2": 2.0, "log10": 10.0}


def _values(written: object) -> object:
    """A list of values, or {log2: [from, to, step]} spelt out: 2^from, …, 2^to."""
    if isinstance(written, dict) and len(written) == 1:
        ((name, numbers),) = written.items()
        if name in _STEPS:
            right = f"must be `{name}: [from, to, step]` with numbers, from ≤ to, step > 0"
            if not isinstance(numbers, list | tuple) or len(numbers) not in (2, 3):
                raise ValueError(right)
            if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
                raise ValueError(right)
            first, last, step = (*numbers, 1)[:3]
            if step <= 0 or last < first or last > 300 or first < -300:
                raise ValueError(right)
            count = (last - first) / step + 1e-9 + 1
            if count > MAX_POINTS:  # before they are spelt out, which would fill any memory
                raise ValueError(f"`{name}` gives {count:.3g} values; {MAX_POINTS:,} are the most")
            count = int(count)
            return tuple(_STEPS[name] ** (first + i * step) for i in range(count))
    return tuple(written) if isinstance(written, list) else written


@dataclass(frozen=True)
class Criterion:
    """What a choice is made by: a metric of METRICS and its options; `summed` over all sizes of the code."""

    name: str
    options: Mapping[str, Any]
    summed: bool

    @property
    def metric(self) -> Metric:
        """The metric."""
        return find(self.name)


Values = Annotated[tuple[Any, ...], Field(min_length=1), BeforeValidator(_values)]


class TuneSpec(BaseModel):
    """How a method's parameters are chosen; see the module's text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    grid: Annotated[
        dict[str, Values],
        Field(min_length=1, description="Key path of the method → list of values, or {log2: [from, to, step]}."),
    ]
    grids: Annotated[
        dict[str, dict[str, Values]],
        Field(description="Data set → the grid that it has in place of `grid`; over the same paths."),
    ] = {}
    scope: Annotated[
        Literal["split", "dataset", "test"],
        Field(description="What the choice is made for, and may see: a training set, all rows, or the test rows."),
    ] = "split"
    metric: Annotated[
        str | None,
        Field(
            description="One of the experiment's metrics, or any by its name, to choose by (hamming_loss); ending in "
            f"`{ALL_SIZES}`, summed over all sizes of the code."
        ),
    ] = None
    folds: Annotated[int | None, Field(ge=2, description="Folds of the cross-validation (5).")] = None

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("scope") != "test":
            return {"metric": "hamming_loss", "folds": 5} | {k: v for k, v in data.items() if v is not None}
        return data

    @model_validator(mode="after")
    def _fits_scope(self) -> "TuneSpec":
        if self.scope == "test":
            for name in ("metric", "folds"):
                if getattr(self, name) is not None:
                    raise ValueError(f"`scope: test` takes each metric's own best on the test rows; leave out `{name}`")
            if self.grids:
                raise ValueError("`scope: test` has one grid for all data sets; leave out `grids`")
        for grid in (self.grid, *self.grids.values()):
            points = math.prod(map(len, grid.values()))
            if points > MAX_POINTS:
                raise ValueError(f"a grid has {points:,} points; {MAX_POINTS:,} are the most")
        for dataset, grid in self.grids.items():
            if set(grid) != set(self.grid):
                raise ValueError(f"grids: that of {dataset} must be over the paths of `grid`: {', '.join(self.grid)}")
        return self

    def grid_of(self, dataset: str) -> dict[str, tuple[Any, ...]]:
        """The grid of a data set, its paths in the order of `grid`."""
        own = {name.casefold(): grid for name, grid in self.grids.items()}.get(dataset.casefold(), self.grid)
        return {path: own[path] for path in self.grid}

    def criterion(self, metrics: Iterable[tuple[str, str, Mapping[str, Any]]]) -> "Criterion":
        """What to choose by, from the experiment's metrics (label, name, options): one of them, or any by its name.

        Raises
        ------
        ValueError
            When there is no such metric, or it is a time or has no better direction.
        """
        written = self.metric or ""
        summed = written.endswith(ALL_SIZES)
        wanted = written.removesuffix(ALL_SIZES)
        labelled = {label: (name, options) for label, name, options in metrics}
        name, options = labelled.get(wanted, (wanted, {}))
        known = [n for n, m in METRICS.items() if m.needs != "timing" and m.higher_is_better is not None]
        if name not in known:
            raise ValueError(
                f"{written!r} cannot be chosen by{suggest_name(wanted, known)} (known: {', '.join(known)})"
            )
        return Criterion(name, dict(options), summed)

    @property
    def n_folds(self) -> int:
        """Folds of the cross-validation (`scope: test` has none)."""
        return self.folds or 0

    def plain(self) -> dict[str, Any]:
        """As a config writes it, the grid spelt out."""
        result: dict[str, Any] = {"grid": {path: list(values) for path, values in self.grid.items()}}
        if self.grids:
            result["grids"] = {name: {p: list(v) for p, v in grid.items()} for name, grid in self.grids.items()}
        result["scope"] = self.scope
        if self.scope != "test":
            result |= {"metric": self.metric, "folds": self.n_folds}
        return result
