"""Curves over a swept parameter: where a method's points lie, whatever draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlcdr.results.results import Results
from mlcdr.tables.layouts import Spread


@dataclass(frozen=True)
class Curve:
    """One method's line: its points from left to right, and half the height of the band around each."""

    method: str
    values: list[str]
    x: list[float]
    mean: list[float]
    spread: list[float]


def trace_curve(
    results: Results,
    path: str,
    band: Spread,
    dataset: str,
    method: str,
    metric: str,
    others: Mapping[str, str] | None = None,
) -> Curve:
    """A method's line along the swept `path`; a method without that parameter has the same number at all its values.

    Parameters
    ----------
    others : mapping or None
        The values of the other swept paths; the first of each where none is given.
    """
    found = Curve(method, [], [], [], [])
    fixed = {other: (results.values(other) or ("",))[0] for other in results.swept} | dict(others or {})
    values = results.values(path)
    for value, x in zip(values, place_values(values), strict=True):
        point = tuple(value if each == path else fixed[each] for each in results.swept)
        cell = results.cell(dataset, method, point, metric)
        if cell is None:
            continue
        spread = cell.spread(band) or 0.0
        found.values.append(value)
        found.x.append(x)
        found.mean.append(cell.mean)
        found.spread.append(0.0 if math.isnan(spread) else spread)
    return found


def place_values(values: Sequence[str]) -> list[float]:
    """Where the values stand on the axis: their own size if all are numbers of one kind, else 0, 1, 2 …"""
    bare = [value.removesuffix("%") for value in values]
    if len({value.endswith("%") for value in values}) == 1:
        try:
            numbers = [float(value) for value in bare]
        except ValueError:
            numbers = []
        if numbers and all(map(math.isfinite, numbers)):
            return numbers
    return [float(k) for k in range(len(values))]
