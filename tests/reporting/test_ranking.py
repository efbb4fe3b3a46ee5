import math

import numpy as np
import pytest
from scipy.stats import rankdata

from mlcdr.results.scores import Cell, is_among_best, rank_means


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_ranks_are_those_of_scipy(higher_is_better):
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 9):
        for _ in range(50):
            values = rng.integers(-3, 4, size) / 10
            got = rank_means({str(k): v for k, v in enumerate(values)}, higher_is_better)
            assert [got[str(k)] for k in range(size)] == list(rankdata(-values if higher_is_better else values))


def test_what_differs_in_the_last_place_is_the_same():
    assert rank_means({"a": 0.1 + 0.2, "b": 0.3, "c": 0.4}, False) == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_the_errors_of_equal_bests_count_alike():
    cells = [Cell(0.2, 0, 0.01, 5), Cell(0.2, 0, 0.03, 5), Cell(0.22, 0, 0.5, 5), Cell(0.24, 0, 0.5, 5)]
    for order in (cells, cells[::-1]):
        assert [is_among_best(cell, order, False) for cell in cells] == [True, True, True, False]
    assert [is_among_best(cell, cells, True, False) for cell in cells] == [False, False, False, True]


def test_an_unknown_error_spares_nothing():
    cells = [Cell(0.2, math.nan, math.nan, 1), Cell(0.2001, math.nan, math.nan, 1)]
    assert [is_among_best(cell, cells, False) for cell in cells] == [True, False]
