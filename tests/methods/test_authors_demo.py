"""The later program of CPLST's and FaIE's authors, rebuilt from the public pieces: its Hamming losses on yeast.

That program differs from the papers: labels are ±1, the regression is ridge λ = 0.1 on features with a column of ones
(penalised like the rest), CPLST's hat matrix has that ridge, no column of ones and no centring, and a score of 0 means
that the label is absent.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlcdr import CPLST, PLST, ComposedClassifier, FaIE, Fixed, Ridge, Zero


@pytest.fixture(scope="module")
def demo(reference):
    folder = reference("lsdr_authors_demo")
    arrays = [np.loadtxt(folder / f"{name}.txt") for name in ("X_tr", "Y_tr", "X_tt", "Y_tt")]
    return arrays, pd.read_csv(folder / "hamming_loss.csv").set_index(["alg", "M"])["hamming_loss"]


def losses(arrays, space):
    """Hamming loss for each number of dimensions, from one fit."""
    X, Y, X_test, Y_test = arrays
    threshold = Zero() if isinstance(space, FaIE) and space.coding == "plus_minus_one" else Fixed(0.5)
    model = ComposedClassifier(Ridge(0.1, "penalised"), space, threshold=threshold).fit(X, (Y > 0).astype(int))
    output = model.output(X_test)
    return [np.mean(model.labels_of(output, m) != (Y_test > 0)) for m in range(1, 15)]


@pytest.mark.parametrize(
    ("name", "space", "other"),
    [
        ("plst", PLST(), CPLST()),
        ("cplst", CPLST(alpha=0.1, centre=False), CPLST()),
        ("faie", FaIE(alpha=0.1, coding="plus_minus_one"), FaIE(alpha=0.1)),
        ("faie", FaIE(alpha=0.1, coding="plus_minus_one"), FaIE(weight=1000.0, alpha=0.1, coding="plus_minus_one")),
    ],
    ids=str,
)
def test_all_fourteen_hamming_losses_exactly(demo, name, space, other):
    """And of another method, as of the paper's own CPLST, not: it can fail."""
    arrays, published = demo
    assert losses(arrays, space) == pytest.approx(published[name].tolist(), abs=1e-12)
    assert losses(arrays, other) != pytest.approx(published[name].tolist(), abs=1e-4)
