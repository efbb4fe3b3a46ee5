import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from mlcdr.report import svg
from mlcdr.tables import styles


def draw_figure():
    made = Figure(figsize=(3, 2))
    ax = made.subplots()
    (line,) = ax.plot([0, 1, 2], [0, 1, 4], label="<script>", **styles.curve(1))
    line.set_gid("line")
    ax.plot([0, 1], [0, 1], marker="o", color="black")
    ax.legend()
    return made


def test_two_figures_on_a_page_share_no_id_and_find_their_own():
    roots = [ET.fromstring(svg.embed(draw_figure(), prefix, "a & b")) for prefix in ("one", "two")]
    ids = [{element.get("id") for element in root.iter() if element.get("id")} for root in roots]
    assert ids[0]
    assert not ids[0] & ids[1]
    for root, known in zip(roots, ids, strict=True):
        uses = [element.get("href")[1:] for element in root.iter() if element.get("href")]
        clips = [element.get("clip-path")[5:-1] for element in root.iter() if element.get("clip-path")]
        assert uses
        assert clips
        assert {*uses, *clips} <= known
        assert (root.tag, root.get("role"), root.get("aria-label")) == ("svg", "img", "a & b")
        assert "<script>" in [text.text for text in root.iter("text")], "text is text"
        assert not {"style", "metadata", "script", "title"} & {element.tag for element in root.iter()}
        assert "stroke-linejoin: round" in root.get("style"), "what its style sheet said of everything"


def test_a_figure_takes_the_pages_colours():
    embedded = svg.embed(draw_figure(), "a", "")
    assert {"currentColor", "var(--paper)", "var(--c1)"} <= set(embedded.replace(";", " ").replace('"', " ").split())
    assert "#000000" not in embedded
    css = (Path(svg.__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")
    for scheme in css.split("@media")[:2]:
        assert all(f"--c{k}: #" in scheme for k in range(len(styles.COLOURS)))


def test_each_point_of_a_line_has_its_text_in_the_order_of_the_points():
    texts = ["A & B, 20%: 0", "<b>", "the last"]
    root = ET.fromstring(svg.embed(draw_figure(), "a", "", {"line": texts}))
    titled = [element for element in root.iter("use") if element.find("title") is not None]
    assert [element.find("title").text for element in titled] == texts
    x = [float(element.get("x")) for element in titled]
    y = [float(element.get("y")) for element in titled]
    assert x[2] - x[1] == pytest.approx(x[1] - x[0])
    assert y[1] - y[2] == pytest.approx(3 * (y[0] - y[1])), "up is more"
