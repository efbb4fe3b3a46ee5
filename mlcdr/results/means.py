"""The means of a results folder, or of several that were joined, and how they are looked up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlcdr.errors import ResultsError, suggest_name
from mlcdr.experiment.model import Experiment
from mlcdr.metrics import names
from mlcdr.results.best import swept_of
from mlcdr.results.frame import group, keys_of, list_keys, order_columns
from mlcdr.results.metric_facts import MetricFacts, describe_metric

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, eq=False)
class Means:
    """The means over the splits, at every point of the sweep.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
    summary : frame
        The means; of a grid (`grids`) the best.
    grids : dict
        Method → the paths of its grid, for methods of which only the best of a grid is shown.
    remarks : tuple of str
        What a reader must know of several folders that were joined: which of them have other splits.
    joined : bool
        Whether these are of several folders, whose numbers of splits may differ by intent, and which have only means.
    """

    folder: Path
    experiment: Experiment
    summary: pd.DataFrame
    grids: dict[str, tuple[str, ...]]
    remarks: tuple[str, ...] = ()
    joined: bool = False

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment.name

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept config paths (`label_space.n_components`); not those of a grid of which only the best is shown."""
        return tuple(swept_of(self.summary, self.grids))

    @property
    def keys(self) -> list[str]:
        """The columns that tell the rows of the summary apart: data set, method, swept paths and metric."""
        return list_keys(self.swept)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets; those that never got a result are among them."""
        return tuple(self.summary["dataset"].cat.categories)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods; those that never got a result are among them."""
        return tuple(self.summary["method"].cat.categories)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics; those that never got a result are not among them."""
        return tuple(self.summary["metric"].cat.categories)

    def values(self, path: str) -> tuple[str, ...]:
        """The values a swept path takes, as the config wrote them."""
        return tuple(value for value in self.summary[path].cat.categories if value)

    @cached_property
    def sweep(self) -> dict[str, int]:
        """Swept path → how many values it takes."""
        return {path: len(self.values(path)) for path in self.swept}

    @cached_property
    def points(self) -> tuple[tuple[str, ...], ...]:
        """The points of the sweep, a value of each of `swept`.

        Methods without a swept parameter have `""` there. A value at which nothing has a result (all trials failed,
        say) has its points, too, so that a comparison keeps its column: those of the other values.
        """
        if not self.swept:
            return ((),)
        paths = list(self.swept)
        found = self.summary[paths].drop_duplicates().astype(object)
        points = [found]
        for path, value in self.without_result:
            others = found[found[path] != ""]
            if others.empty:
                others = pd.DataFrame([dict.fromkeys(paths, "")])
            points.append(others.assign(**{path: value}))
        every = self.in_order(pd.concat(points)).drop_duplicates()
        every = every.sort_values(paths)
        return tuple(every.itertuples(index=False, name=None))

    @cached_property
    def with_results(self) -> frozenset[str]:
        """The data sets and methods that have a number."""
        return frozenset([*self.summary["dataset"], *self.summary["method"]])

    @cached_property
    def without_result(self) -> tuple[tuple[str, str], ...]:
        """The swept values, each with its path, at which nothing has a result."""
        absent = []
        for path in self.swept:
            found = set(self.summary[path])
            absent += [(path, value) for value in self.values(path) if value not in found]
        return tuple(absent)

    def in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A frame with its columns as ordered categories, as the summary has them."""
        orders = {name: self.summary[name].cat.categories for name in keys_of(self.summary)}
        return order_columns(frame, orders)

    def at(self, places: pd.DataFrame) -> pd.DataFrame:
        """The numbers that stand at some places: `places` with the columns mean, std, se, n and those of grids.

        Parameters
        ----------
        places : frame
            With the columns dataset, method, metric, and those of swept paths; a path that it has not means its first
            value. A method that does not have a parameter has the same number at all values of it.

        Returns
        -------
        frame
            Its rows are those of `places`, in their order, and its first columns, too. Where there is no number, mean,
            std and se are NaN and n is 0.
        """
        whole = places.reset_index(drop=True)
        for path in self.swept:
            if path not in whole:
                whole[path] = (*self.values(path), "")[0]
        own = whole[self.keys].astype(object)
        for path in self.swept:
            without = own["method"].isin(self._lacking[path])
            own.loc[without, path] = ""
        summary = self.summary.astype(dict.fromkeys(self.keys, object))
        found = own.merge(summary, how="left", on=self.keys)
        found = found.drop(columns=self.keys)
        found["n"] = found["n"].fillna(0).astype(int)
        return pd.concat([whole, found], axis=1)

    @cached_property
    def _lacking(self) -> dict[str, set[str]]:
        """Swept path → the methods that have results, but no such parameter."""
        methods = self.summary["method"]
        lacking = {}
        for path in self.swept:
            having = methods[self.summary[path] != ""]
            lacking[path] = set(methods) - set(having)
        return lacking

    def lacks(self, method: str, path: str) -> bool:
        """Whether `method` has results but no swept parameter `path`."""
        return method in self._lacking.get(path, ())

    def are_comparable(self, cells: pd.DataFrame, by: Sequence[str]) -> pd.Series:
        """Which rows of a summary can be compared with their group: those over as many splits as any of it.

        A method may fail on the hard splits. In joined folders all can be compared.
        """
        most = group(cells, by)["n"].transform("max")
        return (cells["n"] == most) | self.joined

    def select(self, column: str, values: Collection[str]) -> Self:
        """These results with the rows of the summary that have some values of `dataset`, `method` or `metric`."""
        kept = [value for value in self.summary[column].cat.categories if value in values]
        summary = self.summary[self.summary[column].isin(kept)]
        return replace(self, summary=order_columns(summary, {column: kept}))

    def rename_methods(self, called: Mapping[str, str]) -> Self:
        """These results with other names for methods; a method for which there is none is left out."""
        kept = self.select("method", called)
        methods = kept.summary["method"].cat.rename_categories(called)
        experiment = self.experiment
        specs = {called[name]: spec for name, spec in experiment.methods.items() if name in called}
        return replace(
            kept,
            experiment=experiment.model_copy(update={"methods": specs}),
            summary=kept.summary.assign(method=methods),
            grids={called[name]: paths for name, paths in self.grids.items() if name in called},
        )

    def metric_named(self, written: str) -> str:
        """The label of a metric in these results, from the label itself or from another name of the metric (`lrap`).

        Raises
        ------
        ResultsError
            When it was not measured.
        """
        label = written if written in self.metrics else names.label_of(written)
        if label not in self.metrics:
            hint = suggest_name(written, self.metrics)
            raise ResultsError(f"{self.folder}: no metric {written!r}{hint} (measured: {', '.join(self.metrics)})")
        return label

    def metric_facts(self, metric: str) -> MetricFacts:
        """The printed name and the direction of a metric."""
        return describe_metric(self.experiment, metric)
