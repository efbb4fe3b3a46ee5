"""A spot of a figure: what one panel shows, its numbers, and the texts along its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from mlcdr.errors import ResultsError
from mlcdr.results.frame import group
from mlcdr.results.results import Results
from mlcdr.tables.layouts import FigureLayout
from mlcdr.tables.text_format import SPREAD_COLUMNS, shorten_name, shorten_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Legend = dict[str, Any]
"""Label → the artist that shows it."""
_SHARES = {"none": "", "max": " / largest", "min": " / smallest"}


def write_text(write: Callable[..., object], own: str, otherwise: str) -> None:
    """Write a layout's own text, in which there may be mathematics, or else a name, in which there is none."""
    write(own or otherwise, parse_math=bool(own))


@dataclass(frozen=True)
class Spot:
    """What one panel shows.

    Attributes
    ----------
    results : Results
    layout : FigureLayout
        Settled: with its axes, data sets and metrics.
    methods : sequence of str
        Those with results, in the order of the legend.
    dataset, metric, method : str
        What the panel is of; empty for a dimension that its lines or its axis show.
    title, label : str
        Above the panel, and along the axis of the metric, where the layout has them.
    """

    results: Results
    layout: FigureLayout
    methods: Sequence[str]
    dataset: str = ""
    metric: str = ""
    method: str = ""
    title: str = ""
    label: str = ""

    @property
    def datasets(self) -> list[str]:
        """The data sets of the layout that have results."""
        return [name for name in self.layout.datasets or () if name in self.results.with_results]

    @property
    def there(self) -> dict[str, Sequence[str]]:
        """Each of dataset, metric and method → what the spot is of; or all that has results."""
        methods = [method for method in self.methods if method in (self.layout.methods or self.methods)]
        return {
            "dataset": [self.dataset] if self.dataset else self.datasets,
            "metric": [self.metric] if self.metric else self.layout.chosen_metrics or (),
            "method": [self.method] if self.method else methods,
        }

    def number(self, method: str) -> int:
        """The method's number, which sets its colour and marker."""
        return self.results.methods.index(method)

    def look_up(self, places: pd.DataFrame) -> pd.DataFrame:
        """The numbers at some places; the spot's subject and the layout's `at` say what `places` does not."""
        fixed = {
            "dataset": self.dataset,
            "method": self.method,
            "metric": self.metric,
            **self.layout.at,
        }
        whole = places.copy()
        for name, value in fixed.items():
            if name not in whole:
                whole[name] = value
        return self.add_spread(self.results.at(whole))

    def add_spread(self, cells: pd.DataFrame) -> pd.DataFrame:
        """The column `spread` is what the layout's `band` shows: 0 where it shows none, NaN where it is not known."""
        columns = SPREAD_COLUMNS[self.layout.band]
        return cells.assign(spread=cells[columns[0]] if columns else 0.0)

    def normalise(self, cells: pd.DataFrame, by: str) -> pd.DataFrame:
        """Divide the means of each group by the largest or the smallest of them, where the layout asks for it.

        Raises
        ------
        ResultsError
            When that is 0.
        """
        what = self.layout.normalise
        if what == "none":
            return cells
        unit = group(cells, [by])["mean"].transform(what)
        nought = cells.loc[unit == 0, by]
        if len(nought):
            raise ResultsError(f"normalise: {what}: the value of {nought.iloc[0]} to divide by is 0")
        return cells.assign(mean=cells["mean"] / unit, spread=cells["spread"] / unit)

    def name_metric(self, metric: str) -> str:
        """A metric's printed name."""
        return shorten_name(self.results.metric_facts(metric).title)

    def name_path(self, path: str) -> str:
        """A swept path's short name."""
        return shorten_name(shorten_path(path, self.results.swept))

    def head(self, ax: Axes) -> None:
        """Set the title: the layout's; or the data set where there is a panel for each.

        And the metric where no axis has its name.
        """
        panels = self.layout.panels if isinstance(self.layout.panels, str) else ""
        parts = []
        if "datasets" in panels:
            parts.append(shorten_name(self.dataset))
        if "metrics" in panels and self.layout.draw == "heatmap":
            parts.append(self.name_metric(self.metric))
        write_text(ax.set_title, self.title, ": ".join(parts))

    def label_values(self, ax: Axes) -> None:
        """Label the axis of the metric."""
        label = self.label
        if not label:
            label = self.name_metric(self.metric) if self.metric else "value"
        ax.set_ylabel(label + _SHARES[self.layout.normalise], parse_math=bool(self.label))
        ax.set_yscale(self.layout.y_scale)
        if self.layout.y_scale == "log":
            from mlcdr.tables.axes import mark_powers  # it draws; all else here is known without

            mark_powers(ax.yaxis)

    def label_path(self, ax: Axes) -> None:
        """Label the horizontal axis of a swept path."""
        from mlcdr.tables.axes import label_below  # it draws, too

        layout = self.layout
        own = layout.x_label
        values = self.results.values(layout.x)
        if layout.x_label_percent and all(value.endswith("%") for value in values):
            own = layout.x_label_percent
        label_below(ax, own or self.name_path(layout.x), parse_math=bool(own))
