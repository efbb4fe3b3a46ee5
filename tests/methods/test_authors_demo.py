"""The later program of CPLST's authors, rebuilt from the public pieces, against its printed Hamming losses on yeast.

That program differs from the paper: labels are ±1, the regression is ridge λ = 0.1 on features with a column of ones
(penalised like the rest), CPLST's hat matrix has that ridge, no column of ones and no centring, and a score of 0 means
that the label is absent.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlcdr.methods.label_space.cplst import CPLST
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.ridge import Ridge
from mlcdr.methods.thresholds import Zero


@pytest.fixture(scope="module")
def demo(reference):
    folder = reference("lsdr_authors_demo")
    arrays = [np.loadtxt(folder / f"{name}.txt") for name in ("X_tr", "Y_tr", "X_tt", "Y_tt")]
    return arrays, pd.read_csv(folder / "hamming_loss.csv").set_index(["alg", "M"])["hamming_loss"]


def losses(arrays, space):
    """Hamming loss for each number of dimensions, from one fit."""
    X, Y, X_test, Y_test = arrays
    space.fit(X, Y)
    learner = Ridge(alpha=0.1, intercept="penalised").fit(X, space.encode(Y))
    codes = learner.predict(X_test)
    labels = [Zero().apply(space.decode(codes[:, :m])) for m in range(1, 15)]
    return [np.mean(predicted != (Y_test > 0)) for predicted in labels]


@pytest.mark.parametrize(
    ("name", "space"), [("plst", PLST()), ("cplst", CPLST(alpha=0.1, centre=False))], ids=["PLST", "CPLST"]
)
def test_all_fourteen_hamming_losses_exactly(demo, name, space):
    arrays, published = demo
    assert losses(arrays, space) == pytest.approx(published[name].tolist(), abs=1e-12)


def test_the_paper_itself_gives_others(demo):
    """The test above can fail: least squares of the paper, or its centred hat matrix, give other losses."""
    arrays, published = demo
    assert losses(arrays, CPLST()) != pytest.approx(published["cplst"].tolist(), abs=1e-4)
