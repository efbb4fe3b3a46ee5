"""What is said of tests, and what is drawn."""

import csv
import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mlcdr.comparison import comparison, diagrams
from mlcdr.comparison.significance import assess, show_test
from mlcdr.results.results import open_results
from tests.comparison.test_statistics import DEMSAR
from tests.results_folders import experiment, write_folder

METRIC = "accuracy"
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def of(values, names=None, higher=True, rope=None, datasets=None):
    values = np.asarray(values, dtype=float)
    names = names or [chr(65 + k) for k in range(len(values))]
    return assess(names, values, higher, datasets or values.shape[1], rope)


def compared(tmp_path, array, metric=METRIC, names=None, rope=None):
    names = names or [chr(65 + k) for k in range(len(array))]
    datasets = [f"d{k}" for k in range(len(array[0]))]
    values = {
        (d, m, metric): (array[i][j], 0.01, 4)
        for i, m in enumerate(names)
        for j, d in enumerate(datasets)
        if not np.isnan(array[i][j])
    }
    folder = write_folder(tmp_path / "trial", experiment(datasets, names, [metric]), values)
    return comparison.compare_methods(open_results(folder), metric, rope)


def test_demsars_example_in_words():
    friedman, nemenyi, wilcoxon = of(DEMSAR, NAMES).notes()
    assert friedman.startswith("Friedman over 14 data sets, corrected for ties: χ²(3) = ")
    assert friedman.endswith("(critical value 2.85), p = 0.012: the methods differ.")
    # by the critical difference no two average ranks are far enough apart at 0.05: 3.143 − 1.964 < 1.25
    assert nemenyi == "Nemenyi, critical difference 1.25: no significant difference: C4.5+m+cf, C4.5+m, C4.5+cf, C4.5."
    assert wilcoxon.startswith("Wilcoxon signed-rank over 14 data sets, Holm's correction over 6 pairs: ")


def test_pairs_that_differ_are_named_the_better_first():
    rng = np.random.default_rng(0)
    base = rng.random(12)
    values = np.array([base, base + 0.2 + 0.01 * rng.random(12), base + 0.5])
    higher = of(values).notes()[-1]
    for pair in ("B over A", "C over A", "C over B"):
        assert pair in higher
    assert "no other difference" not in higher
    lower = of(values, higher=False).notes()[-1]
    assert "A over B" in lower
    assert of(np.array([base, rng.random(12)])).notes()[-1].endswith(").")


def test_few_data_sets_give_numbers_but_no_verdict():
    friedman, wilcoxon = of(np.array([[1, 2, 3], [2, 3, 4], [3, 4, 5]]) / 10).notes()
    assert friedman.endswith("too few data sets for a verdict.")
    assert "F(2, 4) = ∞" in friedman
    assert wilcoxon.endswith("too few data sets to tell any two methods apart (the smallest p that can arise is 0.75).")


def test_points_of_a_sweep_do_not_make_up_for_data_sets():
    """Three data sets at ten points each: thirty blocks that all say the same, and still no verdict."""
    base = np.random.default_rng(5).random(30)
    friedman, wilcoxon, warning = of(np.array([base, base + 0.1, base + 0.2]), datasets=3).notes()
    assert friedman.startswith("Friedman over 30 blocks (points of 3 data sets)")
    assert friedman.endswith("p < 0.0001: too few data sets for a verdict.")
    assert "too few data sets" in wilcoxon
    assert "with one point of each, the smallest p that can arise is 0.75" in wilcoxon
    assert warning == "The points of a data set are not independent of one another: these p-values are too small."


def test_two_methods_have_wilcoxons_test_alone():
    (line,) = of(np.array([np.arange(8), np.arange(8) + 1]) / 10).notes()
    assert line == "Wilcoxon signed-rank over 8 data sets: B over A (p = 0.0078)."


def test_all_ties():
    got = of(np.ones((3, 8)))
    assert got.notes() == ["All methods tie in all 8 data sets: nothing to test."]
    sheet = got.sheet("pairs")
    assert {row[5].plain for row in sheet.rows} == {"–"}
    assert any("no test" in note for note in sheet.notes)
    assert got.nemenyi_cliques() == got.wilcoxon_cliques() == [(0, 1, 2)]


def test_a_pair_that_ties_does_not_count_in_holms_correction():
    base = np.random.default_rng(1).random(9)
    got = of(np.array([base, base, base + 0.1]))
    assert "over 2 pairs: " in got.notes()[-1]
    assert got.pairs.holm[0, 2] == pytest.approx(2 * 2 / 2**9)


def test_a_p_value_is_never_shown_as_zero():
    better = np.random.default_rng(0).random(20) + 1
    (pair,) = of([better, better - 0.5]).sheet("pairs").rows
    assert [cell.plain for cell in pair[-2:]] == ["< 0.0001", "< 0.0001"]
    assert [cell.plain for cell in show_test(1e-9, 0.0006, places=3)] == ["< 0.001", "0.001"]


def test_what_is_left_out_is_left_out_of_the_tests(tmp_path):
    array = np.random.default_rng(2).random((3, 9))
    array[1, 4] = np.nan
    got = compared(tmp_path, array)
    assert got.significance.n_blocks == 8
    assert "Left out of ranks and tests, because results are missing: d4." in got.sheet.notes
    expected = of(np.delete(array, 4, axis=1))
    assert got.significance.friedman == expected.friedman
    assert got.sheet.rows[1][5].plain == "–"


@pytest.mark.parametrize("array", [[[0.1], [0.2]], [[0.1, np.nan], [0.2, 0.3]], [[0.1, np.nan], [np.nan, 0.3]]])
def test_no_tests_over_one_data_set(tmp_path, array):
    got = compared(tmp_path, np.array(array))
    assert got.significance is None
    assert diagrams.write_all(got, tmp_path / "out") == []
    said = any(note.startswith("No tests over data sets:") for note in got.sheet.notes)
    assert said == bool(got.ranked)
    with pytest.raises(ValueError, match="no tests"):
        got.pairs()


def test_the_files_hold_the_numbers(tmp_path):
    got = compared(tmp_path, DEMSAR, names=NAMES, rope=0.01)
    written = {path.name: path for path in got.write(tmp_path / "out")}
    rows = list(csv.DictReader(io.StringIO(written["accuracy.csv"].read_text())))
    assert len(rows) == 56
    assert float(rows[0]["mean"]) == DEMSAR[0, 0]
    assert {row["rank"] for row in rows if row["dataset"] == "d9"} == {"2.5"}
    pairs = list(csv.DictReader(io.StringIO(written["accuracy_pairs.csv"].read_text())))
    assert len(pairs) == 6
    found = got.significance
    for row in pairs:
        i, j = NAMES.index(row["method"]), NAMES.index(row["against"])
        assert float(row["p_holm"]) == found.pairs.holm[i, j]
        assert float(row["better_by"]) == pytest.approx(np.mean(DEMSAR[i] - DEMSAR[j]))
        assert [int(row[name]) for name in ("wins", "ties", "losses")] == found.pairs.counts[i, j].tolist()
        assert sum(float(row[name]) for name in ("p_worse", "p_equal", "p_better")) == pytest.approx(1)
        assert found.averages[i] <= found.averages[j]
    tex = written["accuracy.tex"].read_text()
    assert r"$\chi$$^2$(3)" in tex
    assert "χ" not in tex


def test_the_diagram_leads_every_method_to_its_rank():
    found = of(DEMSAR, NAMES)
    for test in ("nemenyi", "wilcoxon"):
        figure = diagrams.draw_critical_difference(found, "title", test)
        (ax,) = figure.axes
        texts = [text.get_text().strip() for text in ax.texts]
        for name, rank in zip(NAMES, found.averages, strict=True):
            assert f"{name}  {rank:.2f}" in texts or f"{rank:.2f}  {name}" in texts
        bars = [line for line in ax.lines if line.get_linewidth() == 2.4]
        cliques = found.nemenyi_cliques() if test == "nemenyi" else found.wilcoxon_cliques()
        assert len(bars) == len(cliques)
        leads = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 0.9]
        assert sorted(float(x[0]) for x in leads) == sorted(found.averages)
        assert ("CD = 1.25" in texts) == (test == "nemenyi")


def test_bars_that_skip_a_method_have_dots_and_bars_never_touch():
    base = np.random.default_rng(3).random(14)
    found = of(np.array([base, base - 0.001, base + 0.1, base + 0.2]))
    levels = diagrams._levels(found, [(3, 2, 0), (2, 0, 1), (0, 1)])
    assert levels == [0, 1, 2]
    skipping = diagrams.draw_critical_difference(found, "t", "wilcoxon")
    assert not [line for line in skipping.axes[0].lines if line.get_marker() == "o" and line.get_color() == "black"]
    axes = diagrams.Figure().subplots()
    diagrams._draw_bar(axes, found, (3, 0), 0.5)
    assert [line for line in axes.lines if line.get_marker() == "o" and line.get_color() == "black"]


def test_the_matrix_shows_every_pair_both_ways():
    found = of(DEMSAR, NAMES)
    figure = diagrams.draw_matrix(found, "title")
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == [NAMES[j] for j in found.order]
    cells = {text.get_position(): text for text in ax.texts}
    assert len(cells) == 16
    for a, i in enumerate(found.order):
        for b, j in enumerate(found.order):
            shown = cells[b, a].get_text()
            if i == j:
                assert shown == f"rank {found.averages[i]:.2f}"
            else:
                wins, ties, losses = found.pairs.counts[i, j]
                assert f"\n{wins}/{ties}/{losses}\n" in shown
                assert (cells[b, a].get_fontweight() == "bold") == (found.pairs.holm[i, j] <= 0.05)


@pytest.mark.parametrize("array", [np.ones((2, 3)), np.arange(6).reshape(2, 3)])
def test_pictures_are_written_and_the_same_each_time(tmp_path, array):
    got = compared(tmp_path, array, names=["$method_1$", "B"])
    one, two = diagrams.write_all(got, tmp_path / "one"), diagrams.write_all(got, tmp_path / "two")
    assert len(one) == 6
    for a, b in zip(one, two, strict=True):
        assert a.read_bytes() == b.read_bytes()
    for path in one[::2]:
        assert ET.fromstring(path.read_text()).tag.endswith("svg")


def test_many_methods_keep_their_names_apart():
    found = of(np.random.default_rng(4).random((14, 30)), [f"method number {k}" for k in range(14)])
    for figure in (diagrams.draw_critical_difference(found, "t", "nemenyi"), diagrams.draw_matrix(found, "t")):
        figure.canvas.draw()
        labels = [
            text
            for text in (*figure.axes[0].texts, *figure.axes[0].get_yticklabels())
            if "method number" in text.get_text()
        ]
        boxes = [label.get_window_extent() for label in labels]
        assert len(boxes) == 14
        assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
