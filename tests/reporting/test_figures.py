import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mlcdr.errors import ResultsError
from mlcdr.reporting import figures, results
from tests.reporting.results_folders import PATH, PERCENTS, experiment, write_folder

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
    return results.load(write_folder(tmp_path / "trial", config, values, [PATH]))


def test_every_panel_shows_the_numbers_and_their_bands(tmp_path):
    figure = figures.render(load(tmp_path), FIGURE1, "yeast")
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


def test_a_method_looks_the_same_whatever_the_panel_and_unlike_the_others(tmp_path):
    figure = figures.render(load(tmp_path), FIGURE1, "yeast")
    looks = [{li.get_label(): (li.get_color(), li.get_marker()) for li in ax.lines} for ax in figure.axes]
    assert looks[1:] == looks[:-1]
    assert len({colour for colour, _ in looks[0].values()}) == len({marker for _, marker in looks[0].values()}) == 4


def test_percentages_stand_as_written(tmp_path):
    figure = figures.render(load(tmp_path, PERCENTS), FIGURE1, "yeast")
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == list(PERCENTS)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [20, 40, 60, 80, 100])
    assert ax.get_xlabel() == "Number of dimensions $M$ (percent of $K$)"


def test_files_are_written_and_the_same_each_time(tmp_path):
    first, second = (load(tmp_path / name) for name in "ab")
    one, two = figures.write_all(first), figures.write_all(second)
    assert [p.name for p in one] == ["chen_lin_2012_figure1.svg", "chen_lin_2012_figure1.png"]
    for a, b in zip(one, two, strict=True):
        assert a.read_bytes() == b.read_bytes()
    svg = one[0].read_text(encoding="utf-8")
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<dc:date>" not in svg
    assert one[1].read_bytes().startswith(b"\x89PNG")


def test_one_figure_a_data_set(tmp_path):
    got = load(tmp_path, ("1", "2"), ("yeast", "a/b"), METRICS[:1])
    got.experiment["figures"] = [{**FIGURE1, "panels": [{"metric": METRICS[0]}]}]
    names = [p.name for p in figures.write_all(got)]
    assert names == [f"chen_lin_2012_figure1_{d}.{e}" for d in ("yeast", "a_b") for e in ("svg", "png")]


def test_one_split_one_point_and_a_method_without_the_parameter(tmp_path):
    values = {("y$a$", "PLST", p, METRICS[0]): [0.1] for p in ("1", "2")} | {("y$a$", "_B$R$", "", METRICS[0]): [0.2]}
    config = experiment(["y$a$"], ["PLST", "_B$R$", "Failed"], METRICS[:1], {PATH: ["1", "2"]})
    got = results.load(write_folder(tmp_path / "trial", config, values, [PATH]))
    figure = figures.render(got, {**FIGURE1, "panels": [{"metric": METRICS[0]}]}, "y$a$")
    plst, br = figure.axes[0].lines
    np.testing.assert_allclose(br.get_xydata(), [[1, 0.2], [2, 0.2]])
    np.testing.assert_allclose(plst.get_ydata(), [0.1, 0.1])
    assert figure.axes[0].get_ylabel() == "Hamming loss"
    assert figure.legends[0].get_title().get_text() == "Mean over 1 split"
    assert len(figures.save(figure, tmp_path / "f", "title")) == 2


def test_what_does_not_fit_is_said(tmp_path):
    got = load(tmp_path, metrics=METRICS[:2])
    with pytest.raises(ResultsError, match=r"the results have no prediction_error, loss_bound.*add it to `metrics:`"):
        figures.write_all(got)
    assert not (got.folder / "figures").exists()
    with pytest.raises(ResultsError, match=r"x: learner\.alpha is not swept"):
        figures.render(got, {**FIGURE1, "x": "learner.alpha"}, "yeast")
    with pytest.raises(ResultsError, match="no data set 'scene'"):
        figures.render(load(tmp_path / "all"), FIGURE1, "scene")
    paths = ["learner.alpha", PATH]
    values = {("yeast", "A", a, p, k): (0.1, 0.1, 4) for a in "12" for p in "12" for k in METRICS}
    config = experiment(["yeast"], ["A"], METRICS, {path: ["1", "2"] for path in paths})
    twice = results.load(write_folder(tmp_path / "two", config, values, paths))
    with pytest.raises(ResultsError, match=r"learner\.alpha is swept too"):
        figures.render(twice, FIGURE1, "yeast")


# -------------------------------------------------------------------- curves of any experiment

CURVES = {"layout": "curves"}


def test_a_panel_for_each_metric_without_a_word_in_the_layout(tmp_path):
    got = load(tmp_path)
    figure = figures.render(got, CURVES, "yeast")
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "Hamming loss", "encoding error", "prediction error", "loss bound",
    ]  # fmt: skip
    assert {ax.get_xlabel() for ax in figure.axes} == {"n_components"}
    for ax, metric in zip(figure.axes, METRICS, strict=True):
        lines = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
        assert lines.keys() == set(METHODS)
        for m, line in lines.items():
            assert line == pytest.approx([number(m, p, metric) for p in ("1", "2", "4")])
    chosen = figures.render(got, {**CURVES, "metrics": ["loss_bound"]}, "yeast")
    assert [ax.get_ylabel() for ax in chosen.axes] == ["loss bound"]


def test_a_panel_for_each_data_set_and_a_figure_for_each_metric(tmp_path):
    got = load(tmp_path, datasets=("yeast", "sc$ene"), metrics=METRICS[:2])
    entry = {**CURVES, "panels": "datasets"}
    figure = figures.render(got, entry, "encoding_error")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["yeast", "sc$ene"]
    assert {ax.get_ylabel() for ax in figure.axes} == {"encoding error"}
    assert figure.get_suptitle() == "encoding error"
    got.experiment["figures"] = [entry]
    assert [p.name for p in figures.write_all(got)] == [f"curves_{m}.{e}" for m in METRICS[:2] for e in ("svg", "png")]
    got.experiment["figures"] = [{**entry, "metric": "encoding_error"}]
    assert [p.name for p in figures.write_all(got)] == ["curves.svg", "curves.png"]
    with pytest.raises(ResultsError, match="no metric 'yeast'"):
        figures.render(got, entry, "yeast")


def test_a_logarithmic_axis(tmp_path):
    points = ("1", "2", "3", "5", "10", "100", "105")
    ax = figures.render(load(tmp_path, points), {**CURVES, "x_scale": "log", "y_scale": "log"}, "yeast").axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "5", "10", "100"]  # 105: no room
    assert list(ax.get_xticks(minor=True)) == []
    with pytest.raises(ResultsError, match="x_scale: log shows positive values only, and label_space"):
        figures.render(load(tmp_path / "zero", ("0", "1")), {**CURVES, "x_scale": "log"}, "yeast")


def test_values_too_near_each_other_have_no_tick_each(tmp_path):
    ax = figures.render(load(tmp_path, ("0", "0.01", "0.5", "0.99", "1")), CURVES, "yeast").axes[0]
    ticks = [tick for tick in ax.get_xticks() if -0.1 < tick < 1.1]
    np.testing.assert_allclose(ticks, [0, 0.2, 0.4, 0.6, 0.8, 1.0])


def test_eight_methods_look_unlike_each_other(tmp_path):
    methods = [f"M{k}" for k in range(8)]
    values = {("d", m, p, METRICS[0]): (0.1, 0.01, 4) for m in methods for p in "12"}
    config = experiment(["d"], methods, METRICS[:1], {PATH: ["1", "2"]})
    got = results.load(write_folder(tmp_path / "trial", config, values, [PATH]))
    lines = figures.render(got, CURVES, "d").axes[0].lines
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 8


def test_a_layout_of_curves_that_does_not_fit(tmp_path):
    with pytest.raises(ResultsError, match="metrics: the panels name their metrics themselves"):
        figures.render(load(tmp_path), {**FIGURE1, "metrics": ["loss_bound"]}, "yeast")
    with pytest.raises(ResultsError, match="the results have no f1"):
        figures.render(load(tmp_path), {**CURVES, "metrics": ["f1"]}, "yeast")
