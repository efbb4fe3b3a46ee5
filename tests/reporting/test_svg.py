import io
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from mlcdr.report import svg
from mlcdr.tables.curves import Curve


def draw(*curves, ticks=((1, "1"), (2, "2"), (4, "4")), x_label="$M$"):
    return ET.fromstring(svg.chart(list(enumerate(curves)), ticks, x_label, "what it shows"))


def points(element):
    """The corners of a path of straight lines."""
    return [tuple(map(float, corner.split())) for corner in element.get("d").strip("MZ").split("L")]


def by_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


def test_a_line_goes_through_its_means_and_its_band_around_them():
    root = draw(Curve("A", ["1", "2", "4"], [1, 2, 4], [0.0, 1.0, 4.0], [0.5, 0.5, 0.5]))
    (line,), (band,) = by_class(root, "line"), by_class(root, "band")
    (x0, y0), (x1, y1), (x2, y2) = points(line)
    assert (x2 - x0) / (x1 - x0) == pytest.approx(3, abs=0.01), "2 stands a third of the way from 1 to 4"
    assert (y0 - y2) / (y0 - y1) == pytest.approx(4, abs=0.02), "and up is more"
    corners = points(band)
    assert [x for x, _ in corners] == [x0, x1, x2, x2, x1, x0]
    scale = (y0 - y2) / 4.0
    for (_, upper), (_, mean), (_, lower) in zip(corners[:3], points(line), corners[:2:-1], strict=True):
        assert (mean - upper, lower - mean) == (pytest.approx(scale / 2, abs=0.11), pytest.approx(scale / 2, abs=0.11))
    # The scale of the ticks is that of the line.
    ticks = {float(t.text): float(t.get("y")) - 4 for t in by_class(root, "tick") if t.get("text-anchor") == "end"}
    assert ticks[0.0] == pytest.approx(y0, abs=0.1)
    assert ticks[1.0] == pytest.approx(y1, abs=0.1)


def test_all_lies_within_the_picture_even_where_nothing_varies():
    for mean in ([0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [-1e9, 0.0, 1e9], [1e-12, 2e-12, 3e-12]):
        root = draw(Curve("A", ["1", "2", "4"], [1, 2, 4], mean, [0.0] * 3))
        assert not by_class(root, "band"), "no spread, no band"
        width, height = map(float, root.get("viewBox").split()[2:])
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points(by_class(root, "line")[0]))
    assert draw(Curve("A", ["1"], [1], [0.5], [0.1]), ticks=[(1, "1")]) is not None


def test_a_chart_is_an_image_with_a_name_and_no_ids():
    root = draw(Curve('<A> & "B"', ["1", "2"], [1, 2], [0.25, 0.5], [0.0, 0.125]), x_label="$M$ of <K>, 5 $ at most")
    assert (root.get("role"), root.get("aria-label")) == ("img", "what it shows")
    assert not [element for element in root.iter() if "id" in element.attrib]
    assert [t.text for t in root.iter("title")] == ['<A> & "B", 1: 0.25', '<A> & "B", 2: 0.5 ± 0.12']
    assert by_class(root, "label")[0].text == "$M$ of <K>, 5 $ at most", "a dollar sign without a partner is one"
    assert draw(Curve("A", ["1"], [1], [0.5], [0]), x_label="a $M$ b").find(".//tspan").text == "M"


def test_methods_look_different():
    looks = {(k % svg.COLOURS, k % svg.LINES, svg.marker(k, 0, 0)) for k in range(63)}
    assert len(looks) == 63


def test_ticks_are_round_and_have_room():
    assert svg.nice_ticks(0.19, 0.31) == (pytest.approx([0.2, 0.22, 0.24, 0.26, 0.28, 0.3]), 2)
    assert svg.nice_ticks(-3, 30) == ([0, 10, 20, 30], 0)
    for low, high in ((0, 1), (0.001, 0.0012), (-7, 1234567), (5e-9, 8e-9)):
        found, _ = svg.nice_ticks(low, high)
        assert 3 <= len(found) <= 8
        slip = 1e-9 * (high - low)
        assert all(low - slip <= tick <= high + slip for tick in found)
    many = [(k, f"{k}%") for k in range(1, 101)]
    shown = [t.text for t in by_class(draw(Curve("A", ["1%"], [1], [1], [0]), ticks=many), "tick")]
    assert 5 < len([t for t in shown if t.endswith("%")]) < 20


def figure():
    made = Figure(figsize=(3, 2))
    ax = made.subplots()
    ax.plot([0, 1], [0, 1], marker="o", label="<script>", color="black")
    ax.legend()
    return made


def from_figure(made, prefix, label):
    image = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}):
        made.savefig(image, format="svg", transparent=True, metadata={"Date": None})
    return svg.inlined(image.getvalue(), prefix, label)


def test_two_figures_on_a_page_share_no_id_and_find_their_own():
    made = [from_figure(figure(), prefix, "a & b") for prefix in ("one", "two")]
    roots = [ET.fromstring(text) for text in made]
    ids = [{e.get("id") for e in root.iter() if e.get("id")} for root in roots]
    assert ids[0]
    assert not ids[0] & ids[1]
    for root, known in zip(roots, ids, strict=True):
        uses = [e.get("href")[1:] for e in root.iter() if e.get("href")]
        clips = [e.get("clip-path")[5:-1] for e in root.iter() if e.get("clip-path")]
        assert uses
        assert clips
        assert {*uses, *clips} <= known
        assert (root.get("role"), root.get("aria-label")) == ("img", "a & b")
        assert root.tag == "svg"
        assert "<script>" in [t.text for t in root.iter("text")], "text is text"
        assert not {"style", "metadata", "script", "title"} & {e.tag for e in root.iter()}
        assert "stroke-linejoin: round" in root.get("style"), "what its style sheet said of everything"


def test_a_figure_takes_the_pages_colours():
    text = from_figure(figure(), "a", "")
    assert "currentColor" in text
    assert "#000000" not in text
