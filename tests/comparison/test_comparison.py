import numpy as np
import pytest
from scipy.stats import rankdata

from mlcdr.comparison import comparison
from mlcdr.errors import ResultsError
from mlcdr.results.results import open_results
from tests.results_folders import PATH, as_printed, experiment, published, render_table, write_folder

METRIC = "hamming_loss"


def load(tmp_path, values, swept=(), datasets=None, methods=None):
    datasets = datasets or list(dict.fromkeys(key[0] for key in values))
    methods = methods or list(dict.fromkeys(key[1] for key in values))
    metrics = list(dict.fromkeys(key[-1] for key in values))
    sweep = {path: [p for p in dict.fromkeys(key[2 + k] for key in values) if p] for k, path in enumerate(swept)}
    return open_results(write_folder(tmp_path / "trial", experiment(datasets, methods, metrics, sweep), values, swept))


def shown(got):
    return [[cell.plain for cell in row] for row in got.sheet.rows]


@pytest.mark.parametrize("table", ["4_2", "4_3", "4_4", "4_5"])
def test_average_ranks_of_the_thesis(tmp_path, table):
    """Seven methods on thirteen data sets, metrics of either direction, many ties."""
    rows = published(f"sun_2017_thesis/table{table}")
    metric = rows[0]["metric"]
    values = {(r["dataset"], r["method"], metric): (float(r["mean"]), 0.01, 10) for r in rows}
    expected = {
        r["method"]: float(r["recomputed_average_rank"])
        for r in published("sun_2017_thesis/table4_2_to_4_5_average_ranks")
        if r["metric"] == metric
    }
    assert len(expected) == 7
    got = comparison.compare_methods(load(tmp_path, values), metric)
    assert got.average_ranks == pytest.approx(expected, abs=0.0005)
    assert len(got.ranked) == 13
    assert got.left_out == ()


def test_ranks_over_data_sets_and_points(tmp_path):
    values = as_printed("chen_lin_2012/table3")
    got = comparison.compare_methods(load(tmp_path, values, [PATH]), METRIC)
    pairs = np.array([[values[d, m, p, METRIC][0] for m in ("PLST", "CPLST")] for d, m, p, _ in values if m == "PLST"])
    expected = rankdata(pairs, axis=1).mean(axis=0)
    assert pairs.shape == (40, 2)
    assert list(got.average_ranks.values()) == pytest.approx(list(expected))
    rows = shown(got)
    assert [h.plain for h in got.sheet.header] == [
        "Dataset", "Method", "n_components = 20%", "40%", "60%", "80%", "100%", "W/T/L", "Average rank",
    ]  # fmt: skip
    assert len(rows) == 18
    assert rows[-2][:2] == ["average rank", "PLST"]
    assert rows[-2][-1] == f"{expected[0]:.2f}"
    at_20 = rankdata(pairs[::5], axis=1).mean(axis=0)
    assert [rows[-2][2], rows[-1][2]] == [f"{r:.2f}" for r in at_20]
    wins, ties = int((pairs[:, 0] < pairs[:, 1]).sum()), int((pairs[:, 0] == pairs[:, 1]).sum())
    assert [rows[-2][-2], rows[-1][-2]] == [f"{wins}/{ties}/{40 - wins - ties}", f"{40 - wins - ties}/{ties}/{wins}"]
    yeast = rankdata(pairs[-5:], axis=1).mean(axis=0)
    assert [rows[-4][-1], rows[-3][-1]] == [f"{r:.2f}" for r in yeast]


def test_methods_by_data_sets_without_a_sweep(tmp_path):
    values = {
        (d, m, METRIC): (v, 0.01, 10)
        for (d, m), v in zip([(d, m) for d in "de" for m in "ABC"], [0.1, 0.109, 0.3, 0.3, 0.1, 0.1], strict=True)
    }
    got = comparison.compare_methods(load(tmp_path, values), METRIC)
    assert [h.plain for h in got.sheet.header] == ["Method", "d", "e", "W/T/L", "Average rank"]
    assert shown(got) == [
        ["A", "0.1000 ± 0.0100", "0.3000 ± 0.0100", "2/0/2", "2.00"],
        ["B", "0.1090 ± 0.0100", "0.1000 ± 0.0100", "2/1/1", "1.75"],
        ["C", "0.3000 ± 0.0100", "0.1000 ± 0.0100", "1/1/2", "2.25"],
    ]
    assert [[cell.bold for cell in row[1:3]] for row in got.sheet.rows] == [[True, False], [True, True], [False, True]]
    assert got.sheet.caption.plain == "trial: Hamming loss, lower is better"


def test_incomplete_data_sets_are_left_out_and_named(tmp_path):
    values = {(d, m, METRIC): (v, 0.01, 10) for d in "def" for m, v in (("A", 0.1), ("B", 0.2))}
    del values["e", "B", METRIC]
    values["e", "A", METRIC] = (0.9, 0.01, 10)
    got = comparison.compare_methods(load(tmp_path, values, methods=["A", "B", "Failed"]), METRIC)
    assert got.average_ranks == {"A": 1.0, "B": 2.0}
    assert got.ranked == (("d", ()), ("f", ()))
    assert got.left_out == (("e", ()),)
    assert "Left out of ranks and tests, because results are missing: e." in got.sheet.notes
    assert "Without any result, and not ranked: Failed." in got.sheet.notes
    assert shown(got)[2] == ["Failed", "–", "–", "–", "–", "–"]


def test_a_mean_over_fewer_splits_is_neither_bold_nor_ranked(tmp_path):
    values = {(d, m, METRIC): [v - 0.01, v, v + 0.01] for d in "de" for m, v in (("A", 0.3), ("B", 0.4))}
    values["e", "B", METRIC] = [0.1, 0.1]
    results = load(tmp_path, values)
    for got in (
        comparison.compare_methods(results, METRIC).sheet,
        render_table(results, {"layout": "generic"}).sheet,
    ):
        assert "Over fewer splits than others, so neither bold nor ranked: B on e (2 of 3)." in got.notes
        assert "Not all splits have results: d (3 of 4) and e (3 of 4)." in got.notes
        bold = {cell.plain for row in got.rows for cell in row if cell.bold}
        assert bold == {"0.3000 ± 0.0058"}
    assert comparison.compare_methods(results, METRIC).ranked == (("d", ()),)


def test_all_ties(tmp_path):
    values = {(d, m, METRIC): (0.1 + 0.2 if m == "A" else 0.3, 0.0, 10) for d in "de" for m in "ABC"}
    got = comparison.compare_methods(load(tmp_path, values), METRIC)
    assert got.average_ranks == {"A": 2.0, "B": 2.0, "C": 2.0}
    assert all(cell.bold for row in got.sheet.rows for cell in row[1:3])


def test_one_method_is_not_ranked(tmp_path):
    got = comparison.compare_methods(load(tmp_path, {("d", "A", METRIC): [0.1]}), METRIC)
    assert got.average_ranks == {}
    assert shown(got) == [["A", "0.1000 ± –", "–", "–"]]
    assert "A single method: nothing to rank." in got.sheet.notes
    assert not got.sheet.rows[0][1].bold


def test_an_unknown_metric_is_shown_but_not_ranked(tmp_path):
    values = {("d", m, "mine"): (v, 0.1, 10) for m, v in (("A", 0.1), ("B", 0.2))}
    got = comparison.compare_methods(load(tmp_path, values), "mine")
    assert got.average_ranks == {}
    assert "mine: which way is better is not known, so nothing is bold." in got.sheet.notes


def test_a_method_without_the_parameter_is_ranked_everywhere(tmp_path):
    values = {("d", "A", p, METRIC): (v, 0.01, 10) for p, v in (("20%", 0.1), ("40%", 0.3))}
    values["d", "BR", "", METRIC] = (0.2, 0.01, 10)
    got = comparison.compare_methods(load(tmp_path, values, [PATH]), METRIC)
    assert got.average_ranks == {"A": 1.5, "BR": 1.5}
    assert shown(got)[1][2:4] == ["0.2000 ± 0.0100"] * 2
    assert "BR has no label_space.n_components: the same number stands in every column." in got.sheet.notes


def test_points_are_named_with_their_parameter_and_nothing_in_common_is_one_line(tmp_path):
    values = {(d, m, p, METRIC): (0.1, 0.01, 10) for d in "de" for m, p in (("A", "1"), ("A", "2"), ("B", "2"))}
    got = comparison.compare_methods(load(tmp_path / "some", values, [PATH]), METRIC)
    line = "Left out of ranks and tests, because results are missing: d at n_components = 1 and e at n_components = 1."
    assert line in got.sheet.notes
    values = {key: cell for key, cell in values.items() if (key[1], key[2]) != ("A", "2")}
    got = comparison.compare_methods(load(tmp_path / "none", values, [PATH]), METRIC)
    assert "Nothing is ranked: nowhere have all methods a result." in got.sheet.notes
    assert [row[:2] for row in shown(got)] == [["d", "A"], ["", "B"], ["e", "A"], ["", "B"]]


def test_every_metric(tmp_path):
    values = {("d", m, k): (v, 0.1, 10) for m, v in (("A", 0.1), ("B", 0.2)) for k in (METRIC, "accuracy")}
    got = load(tmp_path, values)
    both = [comparison.compare_methods(got, metric) for metric in got.metrics]
    assert [c.metric for c in both] == [METRIC, "accuracy"]
    assert [c.average_ranks["A"] for c in both] == [1.0, 2.0]
    assert "\x1b[1m0.1000 ± 0.1000" in both[0].terminal(80, colour=True)
    assert max(map(len, both[0].terminal(80).splitlines())) <= 80
    assert comparison.compare_methods(got, "jaccard").metric == "accuracy"  # another name of it
    with pytest.raises(ResultsError, match="no metric 'acuracy'; did you mean 'accuracy'"):
        comparison.compare_methods(got, "acuracy")
