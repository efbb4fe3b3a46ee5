"""What the thesis' ranks of Tables 4.2 to 4.5 are without languagelog, as the findings say."""

from __future__ import annotations

import pandas as pd
import pytest

from mlcdr.papers.printed import FOLDER


def _friedman(means: pd.DataFrame) -> float:
    """F of Iman & Davenport, of mean values (data sets × methods); ties have mean ranks, as in the thesis."""
    ranks = means.rank(axis=1, ascending=False)
    n, k = ranks.shape
    chi = 12 * n / (k * (k + 1)) * ((ranks.mean() ** 2).sum() - k * (k + 1) ** 2 / 4)
    return float((n - 1) * chi / (n * (k - 1) - chi))


@pytest.mark.parametrize(
    ("table", "whole", "without", "place"),
    [("4_2", 23.8, 24.4, 1), ("4_3", 4.1, 3.9, 6), ("4_4", 3.3, 3.8, 1), ("4_5", 4.6, 3.9, 2)],
)
def test_friedman_and_the_place_of_occ_without_languagelog(
    table: str, whole: float, without: float, place: int
) -> None:
    cells = pd.read_csv(FOLDER / f"sun_2017_thesis/table{table}.csv")
    means = cells.pivot_table(index="dataset", columns="method", values="mean")
    assert means.shape == (13, 7)
    assert _friedman(means) == pytest.approx(whole, abs=0.05)
    fewer = means.drop(index="languagelog")
    assert _friedman(fewer) == pytest.approx(without, abs=0.05)
    average = fewer.rank(axis=1, ascending=False).mean()
    assert average.rank()["OCC"] == place
