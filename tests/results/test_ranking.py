import numpy as np
import pytest
from scipy.stats import rankdata

from mlcdr.results.frame import rank_means


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
