"""One look for each method, whatever shows it; colours told apart with any colour vision."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from mlcdr.comparison import diagrams
from mlcdr.comparison.comparison import compare_methods
from mlcdr.report import svg
from mlcdr.results.results import open_results
from mlcdr.tables import styles
from tests.results_folders import PATH, experiment, render_figure, write_folder

# Machado, Oliveira & Fernandes 2009, severity 1: what is left of linear RGB
MACHADO = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour, vision):
    """CIELAB (D65) of a colour as a vision sees it."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(MACHADO[vision]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.asarray(to_xyz) @ linear / [0.9505, 1, 1.089]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", MACHADO)
def test_any_two_colours_are_told_apart_with_any_colour_vision(vision):
    """A difference of 2.3 is just seen; of neighbouring lines it should be several times that."""
    for one, other in itertools.combinations(styles.COLOURS, 2):
        assert np.linalg.norm(lab(one, vision) - lab(other, vision)) > 11, (one, other)


def test_twenty_one_methods_differ_in_colour_and_line_and_63_in_colour_and_marker():
    assert len({(styles.colour(k), styles.line(k)) for k in range(21)}) == 21
    assert len({(styles.colour(k), styles.bar(k)["hatch"]) for k in range(21)}) == 21
    assert len({(styles.colour(k), styles.marker(k)) for k in range(63)}) == 63


def test_a_page_has_the_same_colours_in_the_same_order():
    css = (Path(svg.__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")
    light = css.split("@media")[0]
    shown = dict(re.findall(r"--c(\d): (#[0-9a-f]{6})", light))
    assert [shown[str(k)] for k in range(6)] == list(styles.COLOURS[:6])


METHODS = ["Failed", "PLST", "CPLST", "PBR"]


def test_curves_boxes_points_and_diagrams_agree(tmp_path):
    """Failed has no numbers: the others keep their looks all the same."""
    metrics = ["hamming_loss", "fit_seconds"]
    values = {
        (d, m, p, k): (0.1 * (1 + METHODS.index(m)) + i, 0.01, 4)
        for i, d in enumerate(("a", "b", "c"))
        for m in METHODS[1:]
        for p in "12"
        for k in metrics
    }
    config = experiment("abc", METHODS, metrics, {PATH: ["1", "2"]})
    got = open_results(write_folder(tmp_path / "trial", config, values, [PATH]))
    wanted = {m: (styles.colour(k), styles.marker(k)) for k, m in enumerate(METHODS) if k}
    for layout in ("curves", "time"):
        ax = render_figure(got, {"layout": layout, "metric": "hamming_loss"}, "a").axes[0]
        assert {
            li.get_label(): (li.get_color(), li.get_marker()) for li in ax.lines if li.get_label() in wanted
        } == wanted
    boxes = render_figure(got, {"layout": "boxes", "metric": "hamming_loss"}, "a")
    names = [text.get_text() for text in boxes.legends[0].get_texts()]
    looks = [(handle.get_color(), handle.get_marker()) for handle in boxes.legends[0].legend_handles]
    assert dict(zip(names, looks, strict=True)) == wanted
    assert [patch.get_edgecolor()[:3] for patch in boxes.axes[0].patches[:3]] == [
        tuple(int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)) for c, _ in wanted.values()
    ]
    found = compare_methods(got, "hamming_loss").significance
    (ax,) = diagrams.draw_critical_difference(found, "title", "nemenyi", got.methods).axes
    marks = [
        (li.get_color(), li.get_marker()) for li in ax.lines if li.get_markersize() == 4.0 and len(li.get_xdata()) == 1
    ]
    leads = {li.get_color() for li in ax.lines if li.get_linewidth() == 0.9}
    assert {marker for _, marker in marks} == {marker for _, marker in wanted.values()}
    assert leads == {colour for colour, _ in wanted.values()}
    inlined = svg.embed(
        next(iter(diagrams.draw_all([compare_methods(got, metric) for metric in got.metrics], got.methods).values())),
        "d",
        "label",
    )
    assert "var(--c1)" in inlined  # the methods' colours are the page's own, in the dark as well
    assert "var(--c0)" not in inlined  # that of the method without numbers
