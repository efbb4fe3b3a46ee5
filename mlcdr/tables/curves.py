"""Curves over a swept parameter: where a method's points lie, for any program that draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlcdr.results.results import Results
from mlcdr.results.scores import Point
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
    values = results.values(path)
    for value, x in zip(values, place_values(values), strict=True):
        cell = results.cell(dataset, method, point(results, {**(others or {}), path: value}), metric)
        if cell is None:
            continue
        spread = cell.spread(band) or 0.0
        found.values.append(value)
        found.x.append(x)
        found.mean.append(cell.mean)
        found.spread.append(0.0 if math.isnan(spread) else spread)
    return found


def point(results: Results, at: Mapping[str, str]) -> Point:
    """The point of the sweep with these values, and the first of every path that they do not name."""
    return tuple(at.get(path) or (results.values(path) or ("",))[0] for path in results.swept)


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
