"""Figures of a results folder: curves along a sweep, boxes over splits, bars, accuracy against time, heat maps.

`write_all` writes those that the experiment asks for into `figures/` of the results folder, as SVG and PNG. What a
layout can say, and which figures it makes, stands in `mlcdr.tables.layouts`; `choose_figures` finds those that show an
experiment which asks for none.

A method keeps its colour and marker in all figures of an experiment (`mlcdr.tables.styles`). The same results give
the same bytes.
"""

from __future__ import annotations

import base64
import html
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import LayoutSpec
from mlcdr.results.results import Results
from mlcdr.tables import checks, layouts, panels
from mlcdr.tables.axes import place_values
from mlcdr.tables.layouts import TIMES, FigureLayout
from mlcdr.tables.panels import Spot, list_datasets, name_metric
from mlcdr.tables.sheet import Shown
from mlcdr.tables.text_format import SPREADS, describe_splits, shorten_name, shorten_path
from mlcdr.whole_files import check_within, write_forms

_LEGEND = 6  # entries in a row of the legend, at most
_SWATCH, _LETTER = 0.7, 0.066  # inches of a legend's entry: line and gaps, and each letter
_MILLIMETRES = 25.4  # an inch
_ROW = 58.0  # millimetres of height for each row of panels, where a layout gives none
_NARROWEST = 50.0  # millimetres of width for each column of panels
_PNG_DPI = 300
_SCREEN_DPI = 144  # twice a notebook's, for sharp screens
_HEADING = 120  # letters

STYLE: dict[Any, Any] = mpl.rc_params_from_file(Path(__file__).with_suffix(".mplstyle"), use_default_template=False)
"""How all figures look, on top of what the user's matplotlib is set to."""


def draw_figure(results: Results, entry: LayoutSpec, *subject: str) -> Figure:
    """One of the figures that an entry of `figures:` describes.

    Parameters
    ----------
    results : Results
    entry : LayoutSpec
        The layout, and any of its keys that shall differ from it.
    subject : str
        What the figure is of, as `list_subjects` gives it: with panels of metrics, the data set.

    Raises
    ------
    ResultsError
        When the layout cannot be read or does not fit the results: a panel's metric, or its swept path, is not there.
    """
    layout = _settle(results, entry)
    _check(results, layout, entry.layout, subject)
    with mpl.rc_context(STYLE):
        return _draw(results, layout, dict(zip(layout.apart, subject, strict=True)))


def list_subjects(results: Results, entry: LayoutSpec) -> list[tuple[str, ...]]:
    """What each of an entry's figures is of: a data set, a metric, a method, or several of them, in this order.

    Raises
    ------
    ResultsError
        When the layout cannot be read.
    """
    layout = _settle(results, entry)
    every = list(itertools.product(*(_possible(results, layout)[each] for each in layout.apart)))
    if "method" not in layout.apart:
        return every
    at = layout.apart.index("method")
    axes = [path for path in layout.paths if path not in layout.at]
    return [each for each in every if not any(results.lacks(each[at], path) for path in axes)]


def write_all(results: Results, asked: Sequence[LayoutSpec] | None = None) -> list[Path]:
    """Write every figure of the experiment into `figures/` of its folder, each as `.svg` and `.png`.

    The stem is the layout's name with `_` for `/`, and the data set's (metric's, method's) name where there are
    several. `asked`: the entries to draw, in place of the experiment's own.

    Raises
    ------
    ResultsError
        As `draw_figure`; or when a file cannot be written.
    """
    asked = results.experiment.figures if asked is None else asked
    return write_drawings(results.folder, draw_all(results, asked))


def write_drawings(folder: Path, drawings: Iterable[Drawing]) -> list[Path]:
    """Write drawings into `figures/` of a results folder."""
    return [path for each in drawings for path in each.write(check_within(folder, folder / "figures" / each.stem))]


@dataclass(frozen=True, repr=False)
class Drawing(Shown):
    """A figure with its title and the stem of its file; a notebook shows it.

    Attributes
    ----------
    figure : matplotlib Figure
    title, stem : str
    """

    figure: Figure
    title: str
    stem: str

    def write(self, stem: str | Path) -> list[Path]:
        """Write `stem`.svg and `stem`.png.

        Raises
        ------
        ResultsError
            When a file cannot be written, or a text of a layout is no mathematics that can be set.
        """
        return save(self.figure, Path(stem), self.title)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """Its title; a terminal shows no pictures."""
        return f"Figure {self.title!r}; write(STEM) writes STEM.svg and STEM.png"

    def _repr_html_(self) -> str:
        picture = base64.b64encode(_picture(self.figure, "png", self.title, self.stem, _SCREEN_DPI)).decode()
        width = round(self.figure.get_figwidth() * 96)
        alt = html.escape(self.title, quote=True)
        return f'<img src="data:image/png;base64,{picture}" alt="{alt}" style="width: {width}px; max-width: 100%">'


def draw_all(results: Results, asked: Sequence[LayoutSpec]) -> Iterator[Drawing]:
    """Every figure of some entries.

    Raises
    ------
    ResultsError
        As `draw_figure`.
    """
    for entry, stem in zip(asked, layouts.stems(asked), strict=True):
        layout = _settle(results, entry)
        several = [len(_all_there(results, layout)[each]) > 1 for each in layout.apart]
        for subject in list_subjects(results, entry):
            names = [layouts.file_name(each) for each, needed in zip(subject, several, strict=True) if needed]
            title = ": ".join([results.name, *filter(None, [", ".join(map(shorten_name, subject))])])
            yield Drawing(draw_figure(results, entry, *subject), title, "_".join([stem, *names]))


def choose_figures(results: Results) -> list[LayoutSpec]:
    """Entries of generic figures for an experiment, by what it sweeps and measures.

    Nothing swept: boxes over the splits. One parameter: curves. Two or more: a heat map of the last two for each method
    that has both, the others at their first values. Methods and a time: accuracy against time.
    """
    swept = [path for path in results.swept if len(results.values(path)) > 1]
    judged = [m for m in results.metrics if not results.metric_facts(m).is_time]
    chosen: dict[str, Any] = {"metrics": judged or list(results.metrics)}
    rest = {path: results.values(path)[0] for path in swept[:-2]}
    both = [m for m in results.methods if len(swept) > 1 and not any(results.lacks(m, path) for path in swept[-2:])]
    found: list[tuple[str, dict[str, Any]]] = []
    if not swept:
        found.append(("boxes", {}))
    elif len(swept) == 1:
        found.append(("curves", {}))
    elif both:
        found.append(("heatmap", {"at": rest}))
    else:  # no method has two of them: each has a figure along its own
        found += [
            ("curves", {"x": path, "at": {p: results.values(p)[0] for p in swept if p != path}}) for path in swept
        ]
    if judged and any(name in results.metrics for name in TIMES):
        found.append(("time", {}))
    return [LayoutSpec(layout=name, options={**chosen, **options}) for name, options in found]


def _settle(results: Results, entry: LayoutSpec) -> FigureLayout:
    layout = layouts.load_figure(entry).settle(results.sweep, results.metrics)
    # times are the x axis of this figure, and are not drawn against themselves
    if layout.draw == "scatter" and layout.chosen_metrics is None:
        judged = tuple(m for m in results.metrics if not results.metric_facts(m).is_time)
        layout = layout.model_copy(update={"metrics": judged})
    return layout


def _all_there(results: Results, layout: FigureLayout) -> dict[str, tuple[str, ...]]:
    """Dimension → what the experiment has there, or will have."""
    metrics = layout.chosen_metrics or results.metrics
    return {"dataset": layout.datasets or results.datasets, "metric": metrics, "method": results.methods}


def _possible(results: Results, layout: FigureLayout) -> dict[str, tuple[str, ...]]:
    """Dimension → what has results."""
    wanted = layout.methods or results.methods
    return _all_there(results, layout) | {
        "dataset": list_datasets(results, layout),
        "method": tuple(m for m in wanted if m in results.with_results),
    }


def write_heading(figure: Figure, heading: str, note: str = "") -> None:
    """Set a figure's heading, and the note at its foot; names in the heading are the user's, without mathematics."""
    figure.suptitle(shorten_name(heading, _HEADING), fontsize=9.5, fontweight="bold", parse_math=False)
    if note:
        figure.supxlabel(note, fontsize=7.0)


def save(figure: Figure, stem: Path, title: str) -> list[Path]:
    """Write `stem`.svg and `stem`.png, without a date, so that the same figure gives the same bytes.

    Raises
    ------
    ResultsError
        When a file cannot be written, or a text of a layout is no mathematics that can be set.
    """
    title = shorten_name(title, _HEADING)
    return write_forms(stem, {ending: _picture(figure, ending, title, stem) for ending in ("svg", "png")})


def _picture(figure: Figure, ending: str, title: str, place: str | Path, dpi: int | None = None) -> bytes:
    """A figure as an SVG or PNG file, without a date; `place` is for the message."""
    about: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": "mlcdr", "Title": title},
        "png": {"Software": "mlcdr", "Title": title},
    }
    image = io.BytesIO()
    try:
        with mpl.rc_context(STYLE):
            figure.savefig(image, format=ending, dpi=dpi or _PNG_DPI, metadata=about[ending])
    except ValueError as error:
        raise ResultsError(f"{place}: cannot be drawn: {' '.join(str(error).split())}") from error
    return image.getvalue()


def _check(results: Results, layout: FigureLayout, name: str, subject: tuple[str, ...]) -> None:
    where = f"{results.folder}: layout {name}"
    checks.refuse_misfits(layout, name, results)
    known = {"data set": results.datasets, "metric": results.metrics, "method": results.methods}
    kinds = ({"dataset": "data set"}.get(each, each) for each in layout.apart)
    for kind, each in [*(("data set", each) for each in layout.datasets or ()), *zip(kinds, subject, strict=True)]:
        if each not in known[kind]:
            raise ResultsError(f"{where}: no {kind} {each!r} (there are: {', '.join(known[kind])})")
    for path, value in layout.at.items():
        if value not in results.values(path):
            there = ", ".join(results.values(path))
            raise ResultsError(f"{where}: at: {path} has no value {value} (it has: {there})")
    places = place_values(results.values(layout.x)) if layout.draw == "curves" else []
    if layout.x_scale == "log" and min(places, default=1) <= 0:
        raise ResultsError(f"{where}: x_scale: log shows positive values only, and {layout.x} has others")


def _spots(results: Results, layout: FigureLayout, subject: Mapping[str, str]) -> tuple[list[Spot], int]:
    """The panels of one figure, row by row, and how many stand side by side."""
    if not isinstance(layout.panels, str):
        spots = [Spot(**subject, metric=panel.metric, title=panel.title, label=panel.label) for panel in layout.panels]
        return spots, min(layout.columns, len(spots))
    there = _possible(results, layout)
    kinds = [kind.removesuffix("s") for kind in layout.panels.split("_by_")]
    spots = [
        Spot(**{**subject, **dict(zip(kinds, each, strict=True))})
        for each in itertools.product(*(there[kind] for kind in kinds))
    ]
    return spots, len(there[kinds[1]]) if len(kinds) > 1 else min(layout.columns, len(spots))


def _draw(results: Results, layout: FigureLayout, subject: Mapping[str, str]) -> Figure:
    spots, columns = _spots(results, layout, subject)
    figure, axes = new_figure(len(spots), columns, layout.size)
    methods = _legend_order(results, layout)
    shown: dict[str, Any] = {}
    for spot, ax in zip(spots, axes, strict=True):
        for label, handle in panels.draw_panel(ax, results, layout, spot, methods).items():
            shown.setdefault(label, handle)
    titles = {**subject, "metric": name_metric(results, subject.get("metric", ""))}
    heading = ", ".join(titles[each] for each in layout.apart) or results.name
    write_heading(figure, heading)
    order = [method for method in methods if method in shown] if layout.lines == "methods" else list(shown)
    add_legend(figure, {label: shown[label] for label in order}, _what_is_shown(results, layout, spots))
    return figure


def new_figure(n: int, columns: int, size: tuple[float, float] | None = None) -> tuple[Figure, list[Axes]]:
    """An empty figure of n panels, row by row; `size` in millimetres."""
    rows = math.ceil(n / columns)
    natural = (max(170.0, _NARROWEST * columns), 16.0 + _ROW * rows)
    width, height = (side / _MILLIMETRES for side in size or natural)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes[n:]:
        ax.set_visible(False)
    return figure, axes[:n]


def add_legend(figure: Figure, shown: Mapping[str, Any], remark: str) -> None:
    """Set a legend below the panels, label → artist, with a remark above it; or the remark alone."""
    if shown:
        legend = figure.legend(
            list(shown.values()),
            [shorten_name(label) for label in shown],
            loc="outside lower center",
            ncols=_legend_columns(list(shown), figure.get_figwidth()),
            frameon=False,
            handlelength=3.0,
            title=remark,
            title_fontsize=7.0,
        )
        for written in (legend.get_title(), *legend.get_texts()):
            written.set_parse_math(False)  # a method's name is the user's: a dollar sign in it is a dollar sign
    elif remark:
        figure.supxlabel(remark, fontsize=7.0, parse_math=False)


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """How many entries stand side by side: rows of one length, none wider than the figure (in inches)."""
    longest = max(len(shorten_name(label)) for label in labels)
    room = max(1, min(_LEGEND, int(width / (_SWATCH + _LETTER * longest))))
    return math.ceil(len(labels) / math.ceil(len(labels) / room))


def _what_is_shown(results: Results, layout: FigureLayout, spots: Sequence[Spot]) -> str:
    """What lines, bands, boxes and colours stand for."""
    counts = []
    for dataset, metric, n in results.summary[["dataset", "metric", "n"]].itertuples(index=False, name=None):
        if any(spot.dataset in ("", dataset) and spot.metric in ("", metric) for spot in spots):
            counts.append(n)
    if not counts:
        return ""
    over = describe_splits(counts)
    spread = SPREADS.get(layout.band) if max(counts) > 1 else None
    text = f"Mean{f' and {spread}' if spread else ''} {over}"
    if layout.draw == "boxes":
        text = f"Box: quartiles {over}; line: median; marker: mean; whiskers: within 1.5 times the box"
    elif layout.draw == "heatmap":
        text = f"Mean {over}; the brighter, the better; framed: the best"
    at = {shorten_path(path, results.swept): value for path, value in layout.at.items()}
    fixed = ", ".join(f"{shorten_name(path)} = {shorten_name(value)}" for path, value in at.items())
    return f"{text}; {fixed}" if fixed else text


def _legend_order(results: Results, layout: FigureLayout) -> list[str]:
    first = [method for method in layout.methods if method in results.methods]
    rest = [method for method in results.methods if method not in first]
    return [method for method in (*first, *rest) if method in results.with_results]
