import itertools
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from mlcdr.comparison.comparison import compare_methods
from mlcdr.comparison.diagrams import draw_critical_difference, draw_matrix
from mlcdr.errors import ResultsError
from mlcdr.experiment.model import file_name
from mlcdr.results.results import open_results
from mlcdr.tables import canvas, figures
from mlcdr.tables.axes import label_below, mark_powers, mark_values
from mlcdr.tables.planned_figures import plan_figures
from tests.results_folders import (
    PATH,
    PERCENTS,
    cell_of,
    change_experiment,
    entry_of,
    experiment,
    list_subjects,
    render_figure,
    write_folder,
)

METRICS = ("hamming_loss", "encoding_error", "prediction_error", "loss_bound")
METHODS = ("CPLST", "PBR", "OCCA", "PLST")
FIGURE1 = {"layout": "chen_lin_2012/figure1"}


def number(method, point, metric):
    """Some number that differs everywhere."""
    return METHODS.index(method) + METRICS.index(metric) / 7 + float(point.rstrip("%")) / 1000


def load(tmp_path, points=("1", "2", "4"), datasets=("yeast",), metrics=METRICS, methods=METHODS, n=4):
    values = {
        (d, m, p, k): (number(m, p, k), 0.01, n) if n > 1 else [number(m, p, k)]
        for d in datasets
        for m in methods
        for p in points
        for k in metrics
    }
    config = experiment(datasets, methods, metrics, {PATH: points}, figures=[FIGURE1])
    return open_results(write_folder(tmp_path / "trial", config, values, [PATH]))


def test_every_panel_shows_the_numbers_and_their_bands(tmp_path):
    figure = render_figure(load(tmp_path), FIGURE1, "yeast")
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "(a) Hamming loss", "(b) Encoding error", "(c) Prediction error", "(d) Loss bound",
    ]  # fmt: skip
    for ax, metric in zip(figure.axes, METRICS, strict=True):
        assert [line.get_label() for line in ax.lines] == ["PBR", "OCCA", "PLST", "CPLST"]
        for line, band in zip(ax.lines, ax.collections, strict=True):
            expected = [number(line.get_label(), p, metric) for p in ("1", "2", "4")]
            np.testing.assert_allclose(line.get_xydata(), np.column_stack([[1, 2, 4], expected]))
            corners = band.get_paths()[0].get_extents()
            np.testing.assert_allclose([corners.y0, corners.y1], [expected[0] - 0.01, expected[-1] + 0.01])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PBR", "OCCA", "PLST", "CPLST"]
    assert figure.legends[0].get_title().get_text() == "Mean and standard error over 4 splits"
    assert [ax.get_ylabel() for ax in figure.axes[1:]] == [
        f"{what} per test instance" for what in ("Encoding error", "Prediction error", "Loss bound")
    ]


def test_percentages_stand_as_written(tmp_path):
    figure = render_figure(load(tmp_path, PERCENTS), FIGURE1, "yeast")
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == list(PERCENTS)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [20, 40, 60, 80, 100])
    assert ax.get_xlabel() == "Number of dimensions $M$ (percent of $K$)"


def test_files_are_written_and_the_same_each_time(tmp_path):
    one_panel = [{**FIGURE1, "panels": [{"metric": METRICS[0]}]}]
    got = [change_experiment(load(tmp_path / name, metrics=METRICS[:1]), figures=one_panel) for name in "ab"]
    one, two = map(figures.write_all, got)
    assert [p.name for p in one] == ["chen_lin_2012_figure1.svg", "chen_lin_2012_figure1.png"]
    for a, b in zip(one, two, strict=True):
        assert a.read_bytes() == b.read_bytes()
    svg = one[0].read_text(encoding="utf-8")
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<dc:date>" not in svg
    assert one[1].read_bytes().startswith(b"\x89PNG")


def test_one_figure_a_data_set(tmp_path):
    got = load(tmp_path, ("1", "2"), ("yeast", "a/b"), METRICS[:1])
    got = change_experiment(got, figures=[{**FIGURE1, "panels": [{"metric": METRICS[0]}]}])
    names = [p.name for p in figures.write_all(got)]
    assert names == [f"chen_lin_2012_figure1_{d}.{e}" for d in ("yeast", "a_b") for e in ("svg", "png")]


def test_one_split_one_point_and_a_method_without_the_parameter(tmp_path):
    values = {("y$a$", "PLST", p, METRICS[0]): [0.1] for p in ("1", "2")} | {("y$a$", "_B$R$", "", METRICS[0]): [0.2]}
    config = experiment(["y$a$"], ["PLST", "_B$R$", "Failed"], METRICS[:1], {PATH: ["1", "2"]})
    got = open_results(write_folder(tmp_path / "trial", config, values, [PATH]))
    figure = render_figure(got, {**FIGURE1, "panels": [{"metric": METRICS[0]}]}, "y$a$")
    plst, br = figure.axes[0].lines
    np.testing.assert_allclose(br.get_xydata(), [[1, 0.2], [2, 0.2]])
    np.testing.assert_allclose(plst.get_ydata(), [0.1, 0.1])
    assert figure.axes[0].get_ylabel() == "Hamming loss"
    assert figure.legends[0].get_title().get_text() == "Mean over 1 split"
    assert len(canvas.save(figure, tmp_path / "f", "title")) == 2


def test_nothing_is_written_where_a_layout_does_not_fit(tmp_path):
    got = load(tmp_path, metrics=METRICS[:2])
    with pytest.raises(ResultsError, match="trial: layout chen_lin_2012/figure1: needs the metric prediction_error"):
        figures.write_all(got)
    assert not (got.folder / "figures").exists()


# -------------------------------------------------------------------- curves of any experiment

CURVES = {"layout": "curves"}


def test_a_panel_for_each_metric_without_a_word_in_the_layout(tmp_path):
    got = load(tmp_path)
    figure = render_figure(got, CURVES, "yeast")
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "Hamming loss", "encoding error", "prediction error", "loss bound",
    ]  # fmt: skip
    assert {ax.get_xlabel() for ax in figure.axes} == {"n_components"}
    for ax, metric in zip(figure.axes, METRICS, strict=True):
        lines = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
        assert lines.keys() == set(METHODS)
        for m, line in lines.items():
            assert line == pytest.approx([number(m, p, metric) for p in ("1", "2", "4")])
    chosen = render_figure(got, {**CURVES, "metrics": ["loss_bound"]}, "yeast")
    assert [ax.get_ylabel() for ax in chosen.axes] == ["loss bound"]


def test_a_panel_for_each_data_set_and_a_figure_for_each_metric(tmp_path):
    got = load(tmp_path, datasets=("yeast", "sc$ene"), metrics=METRICS[:2])
    entry = {**CURVES, "panels": "datasets"}
    figure = render_figure(got, entry, "encoding_error")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["yeast", "sc$ene"]
    assert {ax.get_ylabel() for ax in figure.axes} == {"encoding error"}
    assert figure.get_suptitle() == "encoding error"
    got = change_experiment(got, figures=[entry])
    assert [p.name for p in figures.write_all(got)] == [f"curves_{m}.{e}" for m in METRICS[:2] for e in ("svg", "png")]


def test_a_logarithmic_axis(tmp_path):
    points = ("1", "2", "3", "5", "10", "100", "105")
    ax = render_figure(load(tmp_path, points), {**CURVES, "x_scale": "log", "y_scale": "log"}, "yeast").axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "5", "10", "100"]  # 105: no room
    assert list(ax.get_xticks(minor=True)) == []
    with pytest.raises(ResultsError, match="x_scale: log shows positive values only, and label_space"):
        render_figure(load(tmp_path / "zero", ("0", "1")), {**CURVES, "x_scale": "log"}, "yeast")


def test_long_values_of_a_logarithmic_axis_have_round_ticks(tmp_path):
    drawn = ("0.0031622776601683794", "0.0123", "1.7", "31.622776601683793", "4487.51")
    got = load(tmp_path, drawn)
    ax = render_figure(got, {**CURVES, "x_scale": "log", "y_scale": "log"}, "yeast").axes[0]
    shown = [tick for tick in ax.get_xticks() if ax.get_xlim()[0] <= tick <= ax.get_xlim()[1]]
    assert shown == pytest.approx([0.01, 0.1, 1, 10, 100, 1000])
    assert ax.xaxis.get_major_formatter()(0.01, 0) == "0.01"
    assert list(ax.get_yticks(minor=True)) == []


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0.5, 2000, 6, [1, 10, 100, 1000]),
        (3, 40, 6, [5, 10, 20]),
        (0.195, 0.242, 6, [0.2, 0.21, 0.22, 0.23, 0.24]),
        (1e-6, 1e6, 5, [1e-6, 1e-3, 1, 1e3, 1e6]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round(low, high, most, expected):
    (ax,) = Figure().subplots(1, 1, squeeze=False)[0]
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    mark_powers(ax.yaxis, most)
    assert ax.get_yticks() == pytest.approx(expected)


def test_values_too_near_each_other_have_no_tick_each(tmp_path):
    ax = render_figure(load(tmp_path, ("0", "0.01", "0.5", "0.99", "1")), CURVES, "yeast").axes[0]
    ticks = [tick for tick in ax.get_xticks() if -0.1 < tick < 1.1]
    np.testing.assert_allclose(ticks, [0, 0.2, 0.4, 0.6, 0.8, 1.0])


FOUR_SHARES = ("0%", "33%", "67%", "100%")
ELEVEN_SHARES = tuple(f"{10 * k}%" for k in range(11))
TEN_NUMBERS = tuple(str(20 * k) for k in range(1, 11))


@pytest.mark.parametrize(
    ("columns", "points"),
    [
        (4, FOUR_SHARES),
        (4, ELEVEN_SHARES),
        (3, TEN_NUMBERS),
        pytest.param(1, FOUR_SHARES, marks=pytest.mark.slow),  # more room
        pytest.param(2, ELEVEN_SHARES, marks=pytest.mark.slow),
    ],
)
def test_texts_below_the_panels_stand_clear_of_each_other(tmp_path, columns, points):
    """As drawn: the ticks of an axis, and the labels of the panels that stand side by side, whatever their number."""
    layout = {**CURVES, "x_label": "", "x_label_percent": "Percentage of the features that are selected"}
    layout |= {"panels": 4 * [{"metric": METRICS[0]}], "columns": columns}
    figure = render_figure(load(tmp_path, points), layout, "yeast")
    FigureCanvasAgg(figure).draw()
    for ax in figure.axes:
        ticks = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
        low, high = ax.get_xlim()
        ticks = [box for box, x in zip(ticks, ax.get_xticks(), strict=True) if low <= x <= high]
        assert len(ticks) > 2
        assert all(left.x1 < right.x0 for left, right in pairwise(ticks))
    labels = [ax.xaxis.label.get_window_extent() for ax in figure.axes[:columns]]
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))
    assert labels[-1].x1 <= figure.bbox.width


def test_a_panel_may_have_no_room_for_a_letter():
    _, (ax, *_) = canvas.new_figure(25, 25, (40, 40))
    mark_values(ax, ["1", "2", "3"])
    label_below(ax, "M, L", False)
    assert ax.get_xlabel().split() == ["M", ",", "L"]


# -------------------------------------------------------------------- boxes, bars, times, heat maps

ALPHA = "learner.alpha"


def swept_twice(tmp_path, metrics=("hamming_loss", "f1", "fit_seconds"), datasets=("yeast", "scene"), figures=()):
    """A has both parameters, B one of them, C none."""
    values = {}
    for d, dataset in enumerate(datasets):
        for k, metric in enumerate(metrics):
            for i, alpha in enumerate(("0.1", "1", "10")):
                for j, size in enumerate(("1", "2")):
                    values[dataset, "A", alpha, size, metric] = (1 + i + 10 * j + 100 * k + 1000 * d, 0.5, 4)
                values[dataset, "B", alpha, "", metric] = (7 + i + 100 * k + 1000 * d, 0.5, 4)
            values[dataset, "C", "", "", metric] = (5 + 100 * k + 1000 * d, 0.5, 4)
    sweep = {ALPHA: ["0.1", "1", "10"], PATH: ["1", "2"]}
    config = experiment(datasets, ["A", "B", "C"], metrics, sweep, figures=figures)
    return open_results(write_folder(tmp_path / "twice", config, values, [ALPHA, PATH]))


def not_swept(tmp_path, metrics=("hamming_loss", "f1", "execution_seconds"), methods=("A", "B", "C")):
    values = {
        (d, m, k): list(np.arange(5.0) ** 2 + 10 * methods.index(m) + 100 * metrics.index(k) + 1)
        for d in ("yeast", "scene")
        for m in methods
        for k in metrics
    }
    config = experiment(["yeast", "scene"], methods, metrics)
    return open_results(write_folder(tmp_path / "flat", config, values))


def test_a_heat_map_has_every_mean_in_its_place(tmp_path):
    got = swept_twice(tmp_path)
    entry = {"layout": "heatmap", "metrics": ["hamming_loss", "f1"]}
    assert list_subjects(got, entry) == [("yeast", "A"), ("scene", "A")]  # B and C have not both parameters
    figure = render_figure(got, entry, "scene", "A")
    maps = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title(loc="left") for ax in maps] == ["Hamming loss", "F1"]
    for k, ax in enumerate(maps):
        (image,) = ax.images
        expected = [[1001 + i + 10 * j + 100 * k for j in range(2)] for i in range(3)]
        np.testing.assert_array_equal(image.get_array(), expected)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("n_components", "alpha")
        assert [label.get_text() for label in ax.get_yticklabels()] == ["0.1", "1", "10"]
        (frame,) = ax.patches  # the best: the least loss, the most F1
        assert (frame.get_x() + 0.5, frame.get_y() + 0.5) == ((0, 0) if k == 0 else (1, 2))
        low, high = (image.cmap(image.norm(np.array(expected).ravel()[at])) for at in (0, -1))
        brightness = [sum(colour[:3]) for colour in (low, high)]
        assert (brightness[0] > brightness[1]) == (k == 0), "the brighter, the better"
    turned = render_figure(got, {**entry, "x": ALPHA}, "yeast", "A").axes[0]
    assert (turned.get_xlabel(), turned.get_ylabel()) == ("alpha", "n_components")


def test_a_heat_map_with_a_gap_and_one_of_data_sets_by_metrics(tmp_path):
    got = swept_twice(tmp_path)
    there = got.summary
    gone = (there["method"] == "A") & (there[ALPHA] == "1") & (there[PATH] == "2")
    holed = replace(got, summary=there[~gone])
    entry = {"layout": "heatmap", "panels": "datasets_by_metrics", "metrics": ["hamming_loss", "f1"]}
    assert list_subjects(holed, entry) == [("A",)]
    figure = render_figure(holed, entry, "A")
    maps = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title(loc="left") for ax in maps] == [
        f"{d}: {m}" for d in ("yeast", "scene") for m in ("Hamming loss", "F1")
    ]
    assert all(np.isnan(ax.images[0].get_array().filled(np.nan)[1, 1]) for ax in maps)
    assert len(maps[0].texts) == 5
    assert len(canvas.save(figure, tmp_path / "f", "title")) == 2


def test_the_names_at_the_axis_of_a_narrow_heat_map_stand_clear_of_each_other(tmp_path):
    shares = [f"{share}%" for share in range(5, 105, 5)]
    metrics = ("hamming_loss", "f1", "micro_f1")
    values = {}
    for i, alpha in enumerate(shares):
        for j, size in enumerate(shares):
            values |= {("yeast", "A", alpha, size, metric): (i + j, 0.5, 4) for metric in metrics}
    config = experiment(["yeast"], ["A"], metrics, {ALPHA: shares, PATH: shares})
    got = open_results(write_folder(tmp_path / "wide", config, values, [ALPHA, PATH]))
    figure = render_figure(got, {"layout": "heatmap", "metrics": list(metrics), "columns": 3}, "yeast", "A")
    FigureCanvasAgg(figure).draw()
    for ax in figure.axes:
        if ax.images:
            boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
            assert len(boxes) > 2
            assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_lines_for_the_values_of_a_second_sweep_for_data_sets_and_for_metrics(tmp_path):
    got = swept_twice(tmp_path)
    entry = {"layout": "curves", "x": ALPHA, "metrics": ["f1"]}
    assert list_subjects(got, {**entry, "lines": PATH}) == [("yeast", "A"), ("scene", "A")]
    ax = render_figure(got, {**entry, "lines": PATH}, "yeast", "A").axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    assert lines == {"n_components = 1": [101, 102, 103], "n_components = 2": [111, 112, 113]}
    ax = render_figure(got, {**entry, "lines": "datasets", "at": {PATH: 2}}, "A").axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    assert lines == {"yeast": [111, 112, 113], "scene": [1111, 1112, 1113]}
    shares = {"panels": "datasets", "metrics": ["hamming_loss", "f1"], "lines": "metrics", "normalise": "max"}
    figure = render_figure(got, {**entry, **shares, "at": {PATH: "2"}}, "A")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["yeast", "scene"]
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    np.testing.assert_allclose(lines["Hamming loss"], np.array([11, 12, 13]) / 13)
    np.testing.assert_allclose(lines["F1"], np.array([111, 112, 113]) / 113)
    assert figure.legends[0].get_title().get_text().endswith("over 4 splits; n_components = 2")


def test_boxes_are_of_the_single_splits(tmp_path):
    got = not_swept(tmp_path)
    figure = render_figure(got, {"layout": "boxes", "metric": "f1"}, "scene")
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["A", "B", "C"]
    for patch, start in zip(ax.patches, (101, 111, 121), strict=True):  # of 0 1 4 9 16 the quartiles are 1 and 9
        box = patch.get_path().get_extents()
        assert (box.y0, box.y1) == (start + 1, start + 9)
    medians = [line for line in ax.lines if line.get_linewidth() == 1.6]
    assert [line.get_ydata()[0] for line in medians] == [105, 115, 125]
    grouped = render_figure(got, {"layout": "boxes", "metric": "f1", "x": "dataset"})
    assert [label.get_text() for label in grouped.axes[0].get_xticklabels()] == ["yeast", "scene"]
    assert len(grouped.axes[0].patches) == 6
    along = render_figure(swept_twice(tmp_path), {"layout": "boxes", "metric": "f1", "at": {ALPHA: 1}}, "yeast")
    middles = [line.get_ydata()[0] for line in along.axes[0].lines if line.get_linewidth() == 1.6]
    assert middles == pytest.approx([102, 108, 105, 112, 108, 105])  # B and C have no sizes: the same at both


@pytest.mark.parametrize(
    "methods",
    [
        ("A", "B", "C"),
        ("BR", "CC", "MDDM-projected", "MDDM-uncorrelated"),
    ],
)
def test_names_below_boxes_keep_apart(tmp_path, methods):
    figure = render_figure(not_swept(tmp_path, methods=methods), {"layout": "boxes"}, "scene")
    figure.canvas.draw()
    drawn = [ax for ax in figure.axes if ax.axison and ax.get_visible()]
    assert len(drawn) >= 2
    for ax in drawn:
        labels = [label for label in ax.get_xticklabels() if label.get_text()]
        assert [label.get_text() for label in labels] == list(methods)
        slanted = {label.get_rotation() for label in labels}
        assert len(slanted) == 1
        if slanted == {0.0}:
            boxes = [label.get_window_extent() for label in labels]
            gaps = [right.x0 - left.x1 for left, right in itertools.pairwise(boxes)]
            assert min(gaps) > 0.3 * boxes[0].height  # a blank, at least


def test_boxes_of_the_best_of_a_grid(tmp_path):
    values = {("yeast", "A", a, "f1"): (level, 0.01, 4) for a, level in (("1", 0.2), ("2", 0.6), ("3", 0.4))}
    values["yeast", "B", "", "f1"] = (0.5, 0.01, 4)
    config = experiment(["yeast"], ["A", "B"], ["f1"])
    config["methods"]["A"] = {"learner": "ridge", "tune": {"scope": "test", "grid": {ALPHA: ["1", "2", "3"]}}}
    got = open_results(write_folder(tmp_path / "grid", config, values, [ALPHA]))
    (ax,) = render_figure(got, {"layout": "boxes"}, "yeast").axes
    assert [line.get_ydata()[0] for line in ax.lines if line.get_linewidth() == 1.6] == pytest.approx([0.6, 0.5])


def test_bars_as_shares_of_the_largest_of_their_group(tmp_path):
    got = not_swept(tmp_path)
    (ax,) = render_figure(got, {"layout": "bars", "metric": "f1", "normalise": "max"}).axes
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, [107 / 127, 117 / 127, 1] * 2)
    nought = not_swept(tmp_path / "nought")
    without = nought.summary["mean"].where(nought.summary["method"] != "A", 0.0)
    nought = replace(nought, summary=nought.summary.assign(mean=without))
    with pytest.raises(ResultsError, match="normalise: min: the value of yeast to divide by is 0"):
        render_figure(nought, {"layout": "bars", "metric": "f1", "normalise": "min"})


def test_means_against_time(tmp_path):
    got = not_swept(tmp_path)
    figure = render_figure(got, {"layout": "time"}, "yeast")
    assert [ax.get_ylabel() for ax in figure.axes] == ["Hamming loss", "F1"]
    points = {
        line.get_label(): line.get_xydata().tolist() for line in figure.axes[1].lines if line.get_label() in "ABC"
    }
    assert points == {m: [[207 + 10 * k, 107 + 10 * k]] for k, m in enumerate("ABC")}
    assert figure.axes[0].get_xlabel() == "execution seconds (mean)"
    swept = render_figure(swept_twice(tmp_path), {"layout": "time", "metric": "f1", "at": {PATH: 2}}, "yeast").axes[0]
    joined = {line.get_label(): line.get_xydata().tolist() for line in swept.lines}
    assert joined["A"] == [[211, 111], [212, 112], [213, 113]]
    assert joined["C"] == [[205, 105]]
    got = not_swept(tmp_path / "memory", metrics=("f1", "fit_memory"))
    against = render_figure(got, {"layout": "time", "x": "fit_memory", "metric": "f1"}, "yeast")
    assert against.axes[0].get_xlabel() == "fit memory (MB) (mean)"


def test_the_figures_that_fit_an_experiment(tmp_path):
    def layouts(got):
        return [entry.layout for entry in figures.choose_figures(got)]

    assert layouts(not_swept(tmp_path)) == ["boxes", "time"]
    assert layouts(load(tmp_path)) == ["curves"]
    twice = swept_twice(tmp_path)
    assert layouts(twice) == ["heatmap", "time"]
    for got in (not_swept(tmp_path), twice):
        for entry in figures.choose_figures(got):
            assert "seconds" not in " ".join(entry.options["metrics"])
            render_figure(got, entry, *list_subjects(got, entry)[0])
    names = [path.name for path in figures.write_all(twice, figures.choose_figures(twice)[:1])]
    assert names == [f"heatmap_{d}_A.{e}" for d in ("yeast", "scene") for e in ("svg", "png")]


def test_no_figure_overwrites_another(tmp_path):
    values = {(dataset, "PLST", "f1"): [0.1, 0.2] for dataset in ("d", "d+", "d*")}
    got = open_results(write_folder(tmp_path, experiment(["d", "d+", "d*"], ["PLST"], ["f1"]), values))
    planned = plan_figures(got, [entry_of("boxes")])
    assert [each.stem for each in planned] == ["boxes_d", "boxes_d__1", "boxes_d__2"]


def test_what_does_not_go_together(tmp_path):
    got = swept_twice(tmp_path)
    for entry, told in (
        ({"layout": "curves", "at": {ALPHA: 3}}, r"at: learner\.alpha has no value 3 \(it has: 0\.1, 1, 10\)"),
        ({"layout": "curves", "at": {"learner.beta": 3}}, r"needs a sweep of learner\.beta"),
        ({"layout": "curves", "lines": "datasets", "panels": "datasets"}, "one for each of the datasets"),
        ({"layout": "bars", "panels": "datasets"}, "one for each of the datasets"),
        ({"layout": "boxes"}, r"learner\.alpha is swept too; choose a value by `at:`"),
        ({"layout": "boxes", "lines": "metrics"}, "lines: only curves have lines"),
        ({"layout": "boxes", "normalise": "max"}, "normalise: only curves and bars"),
        ({"layout": "boxes", "y": ALPHA}, "y: only a heat map"),
        ({"layout": "curves", "x": "dataset"}, "x: must be a swept path, and not dataset"),
        ({"layout": "curves", "datasets": ["flags"], "at": {ALPHA: 1}}, "no data set 'flags'"),
        ({**FIGURE1, "metrics": ["f1"]}, "metrics: the panels name their metrics themselves"),
    ):
        with pytest.raises(ResultsError, match=told):
            render_figure(got, entry, "yeast")


def test_names_are_cut_off_and_shown_without_control_characters(tmp_path):
    methods, datasets = ("N" * 3000, "C$x$\u202e"), ("d" * 3000, "e\u2066", "f")
    config = experiment(datasets, ["PLST", "CPLST"], ["f1"])
    config["methods"] = dict(zip(methods, config["methods"].values(), strict=True))
    values = {(d, m, "f1"): (0.1 * i, 0.2 * k) for i, d in enumerate(datasets) for k, m in enumerate(methods)}
    results = open_results(write_folder(tmp_path / "r", config, values))
    (one, *_) = drawn = [
        figures.draw_figure(results, entry_of("boxes"), "e\u2066"),
        figures.draw_figure(results, entry_of({"layout": "bars", "x": "dataset", "panels": "metrics"})),
        draw_critical_difference(compare_methods(results, "f1").significance, "t" * 3000, "nemenyi"),
        draw_matrix(compare_methods(results, "f1").significance, "t" * 3000),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = canvas.save(one, tmp_path / file_name("d" * 3000), "d" * 3000)
    assert all(path.stat().st_size < 200_000 for path in written)
    for figure in drawn:
        assert max(figure.get_size_inches()) < 20
        texts = [text.get_text() for text in figure.findobj(Text)]
        assert any("…" in text for text in texts)
        assert all(len(text) < 150 and text.replace("\n", "").isprintable() for text in texts)


def test_scores_too_large_to_compute_with_count_as_not_defined(tmp_path):
    values = {(d, m, "f1"): [0.5, 1.0] for d in "abc" for m in ("PLST", "CPLST")}
    values |= {("a", "PLST", "f1"): [1e308], ("b", "CPLST", "f1"): [-1e308]}
    results = open_results(write_folder(tmp_path / "r", experiment("abc", ["PLST", "CPLST"], ["f1"]), values))
    assert [cell_of(results, d, m, "f1").n for d in "ab" for m in ("PLST", "CPLST")] == [0, 2, 2, 0]
    for dataset in "ab":
        FigureCanvasAgg(figures.draw_figure(results, entry_of("boxes"), dataset)).draw()
    assert compare_methods(results, "f1").ranked == (("c", ()),)
