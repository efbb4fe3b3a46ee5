"""The frames of a results folder, and what is computed from them."""

import math
import statistics
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from mlcdr.results.frame import are_best, make_places, rank_means, summarise
from mlcdr.results.results import open_results
from tests.results_folders import PATH, experiment, write_folder

LOSS = "hamming_loss"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """PLST along a sweep, with no result at 60%; BR has no swept parameter; Failed has no result."""
    values = {("yeast", "PLST", "20%", LOSS): [0.2, 0.3, 0.4], ("yeast", "PLST", "40%", LOSS): [0.3, 0.3]}
    values[("yeast", "BR", "", LOSS)] = [0.5]
    config = experiment(["yeast"], ["PLST", "BR", "Failed"], [LOSS], {PATH: ["60%", "40%", "20%"]})
    return open_results(write_folder(tmp_path_factory.mktemp("results") / "trial", config, values, [PATH]))


def test_a_row_is_a_number_and_the_columns_are_in_the_order_of_the_config(found):
    assert list(found.scores) == ["dataset", "method", PATH, "split", "metric", "value"]
    assert found.scores.iloc[1].to_list() == ["yeast", "PLST", "20%", 1, LOSS, 0.3]
    assert list(found.summary) == ["dataset", "method", PATH, "metric", "mean", "std", "se", "n"]
    assert list(found.summary["method"].cat.categories) == ["PLST", "BR", "Failed"]
    assert list(found.summary[PATH].cat.categories) == ["", "60%", "40%", "20%"]
    assert found.summary["n"].to_list() == [3, 2, 1]
    assert found.summary["std"].isna().to_list() == [False, False, True]


def test_a_method_without_the_swept_parameter_has_one_number_everywhere(found):
    wanted = {PATH: ["60%", "20%"], "dataset": ["yeast"], "method": ["PLST", "BR", "Failed"], "metric": [LOSS]}
    got = found.at(make_places(wanted))
    assert list(got) == [*wanted, "mean", "std", "se", "n"]
    assert got[PATH].to_list() == ["60%"] * 3 + ["20%"] * 3
    np.testing.assert_allclose(got["mean"], [math.nan, 0.5, math.nan, 0.3, 0.5, math.nan])
    assert got["n"].to_list() == [0, 1, 0, 3, 1, 0]


def test_a_path_that_is_not_asked_for_has_its_first_value(found):
    places = make_places({"dataset": ["yeast"], "method": ["PLST", "BR"], "metric": [LOSS]})
    np.testing.assert_allclose(found.at(places)["mean"], [math.nan, 0.5])


def test_means_are_exact_and_groups_are_in_the_order_of_their_first_row():
    values = [1e16, 1.0, -1e16, 0.25, 0.5]
    scores = pd.DataFrame({"method": ["B", "B", "B", "A", "A"], "value": values})
    got = summarise(scores, ["method"])
    assert got["method"].to_list() == ["B", "A"]
    assert got["mean"].to_list() == [1 / 3, 0.375]
    assert got["std"].to_list() == pytest.approx([1e16, statistics.stdev(values[3:])])
    assert got["se"][1] == got["std"][1] / math.sqrt(2)
    assert got["n"].to_list() == [3, 2]
    assert list(summarise(scores[:0], ["method"])) == ["method", "mean", "std", "se", "n"]


def test_what_is_out_of_range_has_no_mean():
    scores = pd.DataFrame({"method": ["A", "A", "B", "B"], "value": [math.inf, -math.inf, 1e200, 0.0]})
    got = summarise(scores, ["method"])
    assert math.isnan(got["mean"][0])
    assert got["mean"][1] == 5e199
    assert math.isnan(got["std"][1])


def cells(means, se, n=5, metric=LOSS):
    return pd.DataFrame({"metric": metric, "mean": means, "se": se, "n": n})


def test_the_best_of_each_group_and_what_is_within_the_largest_error_of_the_equal_bests():
    one = cells([0.2, 0.2, 0.22, 0.24, math.nan], [0.01, 0.03, 0.5, 0.5, math.nan])
    for order in (one, one[::-1]):
        got = are_best(order, ["metric"], {LOSS: False}).sort_index()
        assert got.to_list() == [True, True, True, False, False]
    assert are_best(one, ["metric"], {LOSS: True}, within_one_se=False).to_list() == [False, False, False, True, False]
    both = pd.concat([one, cells([1.0, 2.0], 0.0, metric="f1"), cells([3.0], 0.0, metric="alone")], ignore_index=True)
    got = are_best(both, ["metric"], {LOSS: None, "f1": True, "alone": True})
    assert got.to_list() == [False] * 5 + [False, True] + [False]


def test_an_unknown_error_spares_nothing():
    assert are_best(cells([0.2, 0.2001], math.nan, 1), ["metric"], {LOSS: False}).to_list() == [True, False]


def test_only_numbers_over_as_many_splits_are_comparable(found):
    fewer = cells([0.1, 0.2, 0.3], 0.1, [5, 4, 5])
    assert found.are_comparable(fewer, ["metric"]).to_list() == [True, False, True]
    assert replace(found, joined=True).are_comparable(fewer, ["metric"]).all()


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_ranks_are_those_of_scipy(higher_is_better):
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 9):
        for _ in range(50):
            values = rng.integers(-3, 4, size) / 10
            got = rank_means(values, higher_is_better)
            assert got.tolist() == list(rankdata(-values if higher_is_better else values))


def test_what_differs_in_the_last_place_is_the_same():
    assert rank_means(np.array([0.1 + 0.2, 0.3, 0.4]), False).tolist() == [1.5, 1.5, 3.0]
