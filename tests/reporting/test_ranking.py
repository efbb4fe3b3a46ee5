import numpy as np
import pytest
from scipy.stats import rankdata

from mlcdr.results.scores import rank_means


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
