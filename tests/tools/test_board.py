"""The board: its ranks, tests and correlations by loops and scipy, on a small record of made-up numbers."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mlcdr.comparison.statistics import bayesian_signed_rank
from mlcdr.errors import ResultsError
from mlcdr.papers.stored import read_record
from tests.results_folders import write_folder
from tools import board_page
from tools.board import (
    ALONE,
    BOTH,
    EXTRACTED,
    INSTANCES,
    LABELS,
    OWN,
    SELECTED,
    Board,
    choose_of_families,
    correlate,
    list_frontier,
    make_board,
    name_family,
)

DATASETS = ("a", "b", "c", "d", "e", "f")
METRICS = ("micro_f1", "hamming_loss", "exact_match", "macro_auc", "fit_seconds")
SCALE = "sklearn.preprocessing.MaxAbsScaler"
METHODS = {
    "ridge": {},
    "forest": {"learner": "sklearn.ensemble.RandomForestRegressor"},
    "PLST": {"label_space": "plst"},
    "CPLST": {"label_space": "cplst"},
    "DDSR": {"dual_space": "ddsr"},
    "PCA": {"feature_space": [SCALE, "pca"]},
    "FIMF": {"feature_space": [SCALE, "fimf"]},
}
FACTS = dict(zip(DATASETS, [(50, 9), (900, 30), (100, 300), (70, 20), (4000, 5), (600, 601)], strict=True))


def value_of(dataset, method, metric):
    """A made-up mean: another one for each cell, with ties, the same in each run."""
    rng = np.random.default_rng(sum(map(ord, dataset + method + metric)))
    base = 0.5 + 0.1 * (ord(dataset[0]) % 3)
    return base if method == "ridge" else round(base + rng.normal(0, 0.02), 2)


def store(folder, name, methods, datasets=DATASETS, against="ridge", metrics=METRICS):
    """A run in the record of a folder, as `tools.record` stores it."""
    specs = {method: {"learner": "ridge", "feature_space": SCALE} | METHODS.get(method, {}) for method in methods}
    config = {
        "name": name,
        "datasets": list(datasets),
        "splits": {"kind": "kfold", "folds": 5, "seed": 1},
        "metrics": list(metrics),
        "methods": specs,
    }
    if against:
        config["against"] = against
    cells = itertools.product(datasets, methods, metrics)
    path = write_folder(folder / "board" / name, config, {cell: (value_of(*cell), 0.01, 4) for cell in cells})
    facts = {
        each: {"n_instances": n, "n_features": d, "n_labels": 7, "label_density": 0.2} for each, (n, d) in FACTS.items()
    }
    (path / "manifest.json").write_text(json.dumps({"commit": "c0ffee", "datasets": facts, "experiment": "1"}))
    (path / "comparison.csv").write_text("table,dataset\n")


@pytest.fixture
def board(tmp_path):
    """Seven methods on six data sets; two of them on two more, one new on three of the six, and a contributed one."""
    store(tmp_path, "board", METHODS)
    store(tmp_path, "board_large", ["ridge", "PLST"], ["g", "h"])
    store(tmp_path, "board_slow", ["ridge", "ReliefF"], ["a", "b", "c"])
    store(tmp_path, "board_mine", ["PLST", "Mine"], against="")
    return make_board(read_record(tmp_path))


def means_of(method, metric="micro_f1", datasets=DATASETS):
    name = method.removesuffix(" (board_mine)")
    return np.array([value_of(dataset, name, metric) for dataset in datasets])


def ranked_by_scipy(methods, metric):
    sign = 1 if metric == "hamming_loss" else -1
    values = np.array([means_of(method, metric) for method in methods])
    return dict(zip(methods, stats.rankdata(sign * values, axis=0).mean(axis=1), strict=True))


WITH_ALL = [*METHODS, "PLST (board_mine)", "Mine"]


@pytest.mark.parametrize("metric", ["micro_f1", "hamming_loss", "exact_match"])
def test_average_ranks_are_scipys_over_the_methods_that_have_all_data_sets(board, metric):
    found = board.rank(metric, board.datasets)
    assert dict(found) == pytest.approx(ranked_by_scipy(WITH_ALL, metric))
    assert list(found) == sorted(found)


def test_friedmans_test_is_scipys_and_the_critical_difference_is_of_the_studentised_range(board):
    found, cd = board.test("micro_f1", board.datasets)
    expected = stats.friedmanchisquare(*[means_of(method) for method in WITH_ALL])
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    k, n = len(WITH_ALL), len(DATASETS)
    assert cd == pytest.approx(stats.studentized_range.ppf(0.95, k, np.inf) / 2**0.5 * (k * (k + 1) / 6 / n) ** 0.5)


def test_a_method_is_ranked_in_the_groups_of_which_it_has_all_data_sets(board):
    assert board.groups == (DATASETS, (*DATASETS, "g", "h"), ("a", "b", "c"))
    assert set(board.rank("micro_f1", board.groups[1]).index) == {"ridge", "PLST"}
    assert set(board.rank("micro_f1", ("a", "b", "c")).index) == {*WITH_ALL, "ReliefF"}
    assert board.measures == ("micro_f1", "hamming_loss", "exact_match", "macro_auc"), "a time is no measure of quality"


def test_contributed_rows_are_marked_and_change_the_name_of_no_other(board):
    assert board.contributed == {"PLST (board_mine)", "Mine"}
    assert set(METHODS) < set(board.families)
    page = board_page.board_page(board)
    assert ">Mine †</th>" in page
    assert ">PLST</th>" in page
    assert "†: a contributed row" in page


def test_a_family_is_told_by_the_parts(board):
    families = dict(zip(METHODS, [ALONE, ALONE, LABELS, LABELS, BOTH, EXTRACTED, SELECTED], strict=True))
    assert {method: board.families[method] for method in METHODS} == families
    spec = board.results.experiment.methods
    wrapped = spec["PCA"].model_copy(update={"instance_space": spec["PLST"].label_space})
    assert name_family(wrapped) == INSTANCES
    both = spec["FIMF"].model_copy(update={"label_space": spec["PLST"].label_space})
    assert name_family(both) == BOTH
    absent = replace(spec["PCA"].feature_space[1], name="nowhere_at_all.Mine")
    assert name_family(spec["PCA"].model_copy(update={"feature_space": (absent,)})) == OWN


@pytest.mark.parametrize("method", ["PLST", "FIMF"])
def test_a_comparison_with_no_reduction_is_over_the_data_sets_that_both_have(board, method):
    datasets = [*DATASETS, "g", "h"] if method == "PLST" else DATASETS
    gains = np.round(means_of(method, datasets=datasets) - means_of("ridge", datasets=datasets), 10)
    found = board.compare(method, "ridge")
    assert found.gains.to_dict() == pytest.approx(dict(zip(datasets, gains, strict=True)))
    assert found.counts == (sum(gains > 0), sum(gains == 0), sum(gains < 0))
    assert (found.worse, found.same, found.better) == bayesian_signed_rank(gains, 0.01)


def test_a_loss_is_better_where_it_is_lower(board):
    gains = board.gains("PLST", "ridge", "hamming_loss", DATASETS)
    assert [*gains] == pytest.approx(means_of("ridge", "hamming_loss") - means_of("PLST", "hamming_loss"))


def test_times_are_compared_within_a_run(board, tmp_path):
    ratios = means_of("PCA", "fit_seconds") / means_of("ridge", "fit_seconds")
    assert board.time_ratio("PCA", DATASETS) == pytest.approx(stats.gmean(ratios))
    assert math.isnan(board.time_ratio("Mine", DATASETS)), "its run has no ridge"


def test_the_memory_is_that_on_the_last_data_set_of_a_group(tmp_path):
    store(tmp_path, "board", ["ridge", "PLST"])
    memory = pd.DataFrame({"PLST": [7.4, 12.6]}, index=["a", "f"])
    page = board_page.board_page(make_board(read_record(tmp_path), memory))
    header = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", page)
    rows = dict(re.findall(r'<tr><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', page.split("</table>")[0]))
    place = header.index("Memory") - 1
    assert re.findall(r"<td[^>]*>(.*?)</td>", rows["PLST"])[place] == "13"
    assert re.findall(r"<td[^>]*>(.*?)</td>", rows["ridge"])[place] == "–", "it was not measured"


def test_all_kept_is_the_share_of_the_splits_that_chose_all_dimensions(tmp_path, monkeypatch):
    size, sizes = "label_space.n_components", ["dual_space.n_features", "dual_space.n_labels"]
    grids = {
        "PLST": {size: ["20%", "100%"], "learner.alpha": [1, 2]},
        "CPLST": {size: ["20%", "50%"]},
        "DDSR": {path: ["20%", "100%"] for path in sizes},
        "PCA": {"feature_space.1.n_components": [5, None]},
    }
    for method, grid in grids.items():
        monkeypatch.setitem(METHODS, method, METHODS[method] | {"tune": {"grid": grid, "metric": "micro_f1"}})
    store(tmp_path, "board", METHODS)
    chosen = [("a", "PLST", size, "100%", 3), ("a", "PLST", size, "20%", 1), ("b", "PLST", size, "20%", 4)]
    chosen += [("a", "CPLST", size, "50%", 4), ("a", "PLST", "learner.alpha", "1", 4)]
    chosen += [("a", "DDSR", path, "100%", 4) for path in sizes]
    chosen += [("a", "PCA", "feature_space.1.n_components", "5", 4)]
    rows = pd.DataFrame(chosen, columns=["dataset", "method", "parameter", "value", "n"])
    rows.to_csv(tmp_path / "board" / "board" / "chosen.csv", index=False)
    board = make_board(read_record(tmp_path))
    assert board.share_all_kept("PLST", ["a", "b", "c"]) == pytest.approx((3 / 4 + 0) / 2)
    assert board.share_all_kept("PCA", ["a"]) == 0, "it could have kept all"
    assert math.isnan(board.share_all_kept("CPLST", ["a"])), "its grid does not have all dimensions"
    assert math.isnan(board.share_all_kept("DDSR", ["a"])), "it has two sizes"
    assert "which is no reduction, in 38 % of the splits" in board_page.board_page(board)


def test_nothing_is_bold_where_all_methods_are_equal(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "value_of", lambda dataset, method, _: float((dataset, method) == ("a", "PLST")))
    store(tmp_path, "board", ["ridge", "PLST"])
    sheet = board_page._measure(make_board(read_record(tmp_path)), "exact_match").html()
    assert sheet.count("<strong>") == 1


def test_the_frontier_has_the_methods_that_none_surpasses(board):
    found = list_frontier(board)
    assert set(found.index) == set(METHODS)
    expected = {}
    for one, mine in found.iterrows():
        surpassed = False
        for other, theirs in found.iterrows():
            as_good = theirs.time <= mine.time and theirs.gain >= mine.gain
            surpassed |= other != one and as_good and (theirs.time, theirs.gain) != (mine.time, mine.gain)
        expected[one] = not surpassed
    assert found["best"].to_dict() == expected
    assert 0 < sum(expected.values()) < len(METHODS)


def test_correlations_are_scipys_with_holms_correction_over_all(board):
    chosen = choose_of_families(board)
    assert chosen[LABELS] == "PLST", "it has results on more data sets"
    assert set(chosen) == {LABELS, BOTH, EXTRACTED, SELECTED}
    found = correlate(board, chosen)
    of_n = found[(found["family"] == EXTRACTED) & (found["fact"] == "n")].iloc[0]
    gains = means_of("PCA") - means_of("ridge")
    expected = stats.spearmanr(np.round(gains, 10), [FACTS[each][0] for each in DATASETS])
    assert (of_n["rho"], of_n["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert found[found["fact"] == "K"]["rho"].isna().all(), "all data sets have 7 labels"
    of_noise = found[(found["family"] == EXTRACTED) & (found["fact"] == "noise")].iloc[0]
    noise = 1 - means_of("ridge", "macro_auc")
    assert of_noise["rho"] == pytest.approx(stats.spearmanr(np.round(gains, 10), noise).statistic)
    p = sorted(found["p"].dropna())
    stepped = itertools.accumulate((min(1, (len(p) - k) * each) for k, each in enumerate(p)), max)
    assert sorted(found["p_holm"].dropna()) == pytest.approx(list(stepped))


def test_five_data_sets_or_fewer_give_no_verdict_and_no_correlation(board):
    assert board.compare("PLST", "ridge", datasets=DATASETS[:5]).verdict == "too few"
    assert board.compare("PLST", "ridge", datasets=DATASETS[:6]).verdict != "too few"
    found = correlate(board, choose_of_families(board))
    assert found.loc[found["n"] <= 5, "p"].isna().all()
    assert found.loc[found["n"] > 5, "p"].notna().any()


def test_the_first_screen_has_the_counts_of_the_verdicts(board):
    verdicts = [board.compare(method, "ridge", datasets=DATASETS).verdict for method in board.list_reductions(DATASETS)]
    (counts,) = re.findall(
        r"(\w+) of (\d+) reductions .*?; (\d+) are worse, (\d+) are the same and (\d+) are not decided",
        board_page.board_page(board),
    )
    expected = [verdicts.count(each) for each in ("worse", "the same", "not decided")]
    assert [int(count) for count in counts[1:]] == [len(verdicts), *expected]
    assert counts[0] == str(verdicts.count("better") or "None")
    assert "forest" not in board.list_reductions(DATASETS)
    assert "ridge" not in board.list_reductions(DATASETS)


@pytest.mark.slow
def test_the_first_screen_counts_the_verdicts_on_other_data_sets_too(board, monkeypatch):
    verdict = board.compare("PLST", "ridge", datasets=board.groups[1]).verdict
    counts = [f"{int(verdict == kind)} {kind}" for kind in ("better", "worse", "the same", "not decided")]
    page = board_page.board_page(board)
    assert f"1 reduction on 8 data sets: {', '.join(counts)}." in page
    assert "on 3 data sets: " not in page, "too few for a verdict"
    monkeypatch.setattr(Board, "list_verdicts", lambda self, datasets: {"better": ["PLST"]})
    assert "1 reduction on 8 data sets: 1 better (PLST), 0 worse" in board_page.board_page(board)


def test_the_first_screen_says_whether_the_ranks_tell_the_best_from_no_reduction(board):
    ranks, (_, cd) = board.rank("micro_f1", DATASETS), board.test("micro_f1", DATASETS)
    test = replace(board.test("micro_f1", DATASETS)[0], f_p=0.01)
    assert ranks["ridge"] > ranks.iloc[0]
    for critical, words in (cd, "not from `ridge`"), (ranks["ridge"] - ranks.iloc[0], "also from `ridge`"):
        assert words in board_page._describe_ranks(board, ranks, test, critical)
    unclear = board_page._describe_ranks(board, ranks, replace(test, f_p=0.2), cd)
    assert unclear.endswith("Friedman's test does not show that the methods differ (p = 0.200).")


def test_a_method_without_all_data_sets_is_listed_without_a_rank(board):
    first = board_page.board_page(board).split("</table>")[0]
    rows = dict(re.findall(r'<tr><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', first))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", rows["ReliefF"])
    assert list(rows)[-1] == "ReliefF"
    assert cells[1:4] == ["–"] * 3
    assert cells[-1] == "3"


def test_without_stored_runs_the_page_says_so(tmp_path):
    assert make_board([]) is None
    store(tmp_path, "board_mine", ["Mine"], against="")
    assert make_board(read_record(tmp_path)) is None, "a contributed row alone is no board"
    assert "No results are stored yet." in board_page.board_page(None)
    assert "## Add a row" in board_page.board_page(None)


def test_a_record_of_one_method_on_one_data_set_has_a_page_and_a_figure(tmp_path, monkeypatch):
    store(tmp_path, "board", ["ridge"], ["a"])
    board = make_board(read_record(tmp_path))
    assert "No reduction has results on all data sets yet." in board_page.board_page(board)
    monkeypatch.setattr(board_page, "FIGURE", tmp_path / "board.svg")
    board_page.write_figure(board)
    assert (tmp_path / "board.svg").read_text().startswith("<?xml")


def test_runs_that_have_a_method_with_other_settings_are_refused(tmp_path, monkeypatch):
    store(tmp_path, "board", ["ridge", "PLST"])
    monkeypatch.setitem(METHODS, "PLST", {"label_space": {"plst": {"n_components": 2}}})
    store(tmp_path, "board_slow", ["ridge", "PLST"])
    with pytest.raises(ResultsError, match="stored runs of the board differ in PLST"):
        make_board(read_record(tmp_path))
