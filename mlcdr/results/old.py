"""What `Results` had before its numbers were frames, for the rooms that are not made of frames yet. It goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlcdr.results.frame import paths_of
from mlcdr.results.scores import Cell, Choices, Key, Point, Setting, SplitScores, over_all_splits

if TYPE_CHECKING:
    import pandas as pd


class OldResults:
    """Cells, single splits and choices as dictionaries."""

    if TYPE_CHECKING:
        summary: pd.DataFrame
        scores: Any
        chosen: Any
        tried: Any
        repetition_means: Any
        joined: bool
        swept: Any
        grids: dict[str, tuple[str, ...]]

        @property
        def points(self) -> tuple[Point, ...]: ...  # noqa: D102
        def lacks(self, method: str, path: str) -> bool: ...  # noqa: D102

    @cached_property
    def cells(self) -> dict[Key, Cell]:  # noqa: D102
        found = {}
        for row in self.summary.to_dict("records"):
            grid = self.grids.get(row["method"], ())
            setting = tuple((path, row[path]) for path in grid)
            key = (row["dataset"], row["method"], tuple(row[path] for path in self.swept), row["metric"])
            found[key] = Cell(row["mean"], row["std"], row["se"], row["n"], setting)
        return found

    @cached_property
    def split_scores(self) -> SplitScores:  # noqa: D102
        paths = paths_of(self.scores)
        found: dict[Key, dict[int, float]] = {}
        for dataset, method, *point, split, metric, value in self.scores.itertuples(index=False, name=None):
            found.setdefault((dataset, method, tuple(point), metric), {})[split] = value
        return SplitScores(paths, found)

    @cached_property
    def choices(self) -> Choices:  # noqa: D102
        paths = tuple(name for name in self.chosen if name not in ("dataset", "method", "split", "parameter", "value"))
        counts: dict[Key, Counter[str]] = {}
        for dataset, method, *point, _, parameter, value in self.chosen.itertuples(index=False, name=None):
            counts.setdefault((dataset, method, tuple(point), parameter), Counter())[value] += 1
        tried: dict[tuple[str, str], dict[Setting, list[float]]] = {}
        names = list(self.tried)[3:-1]
        for dataset, method, _, *point, value in self.tried.itertuples(index=False, name=None):
            setting = tuple(each for each in zip(names, point, strict=True) if each[1])
            tried.setdefault((dataset, method), {}).setdefault(setting, []).append(value)
        return Choices(paths, counts, tried)

    def repetitions(self, dataset: str, method: str, point: Point, metric: str) -> tuple[float, ...]:  # noqa: D102
        wanted = self.key(dataset, method, point, metric)
        frame = self.repetition_means
        for name, value in zip(["dataset", "method", *self.swept, "metric"], self._flat(wanted), strict=True):
            frame = frame[frame[name] == value]
        return tuple(frame["value"])

    def split_values(  # noqa: D102
        self, dataset: str, method: str, point: Point, metric: str, setting: Setting = ()
    ) -> Mapping[int, float]:
        at = dict(zip(self.swept, self._own_point(method, point), strict=True)) | dict(setting)
        whole = tuple(at.get(path, "") for path in self.split_scores.paths)
        return self.split_scores.values.get((dataset, method, whole, metric), {})

    def comparable(self, cells: Iterable[Cell]) -> list[Cell]:  # noqa: D102
        return list(cells) if self.joined else over_all_splits(cells)

    def cell(self, dataset: str, method: str, point: Point, metric: str) -> Cell | None:  # noqa: D102
        return self.cells.get(self.key(dataset, method, point, metric))

    def key(self, dataset: str, method: str, point: Point, metric: str) -> Key:  # noqa: D102
        return dataset, method, self._own_point(method, point), metric

    def points_of(self, method: str) -> tuple[Point, ...]:  # noqa: D102
        own = {key[2] for key in self.cells if key[1] == method}
        return tuple(point for point in self.points if point in own)

    def _own_point(self, method: str, point: Point) -> Point:
        named = zip(self.swept, point, strict=True)
        return tuple("" if self.lacks(method, path) else value for path, value in named)

    @staticmethod
    def _flat(key: Key) -> tuple[str, ...]:
        return (*key[:2], *key[2], key[3])
