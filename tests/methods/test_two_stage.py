"""The two-stage approach of Sun, Ceran & Ye 2010 is the way in which CCA, OPLS and HSL are solved here."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from mlcdr import HSL, OPLS, PCA, LabelCCA
from mlcdr.methods.feature_space.dependence import directions_of_codes
from mlcdr.methods.feature_space.hsl import label_factor
from mlcdr.numerics.moments import Moments
from tests.methods.problems import problem
from tests.methods.test_hypergraphs import relative


def two_stages(x, targets, ridge):
    """Stage one: W₁, ridge regression of the targets. Stage two: those combinations of W₁ that G = W₁ᵀxᵀtargets has."""
    W = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ targets)
    values, vectors = scipy.linalg.eigh(W.T @ x.T @ targets)
    kept = values > 1e-9 * values[-1]
    return values[kept][::-1], (W @ vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1]


# The largest differences found, relative to the norm of WWᵀ: HSL 5e-13, CCA 1e-13.
@pytest.mark.parametrize("name", ["emotions", "scene"])
def test_the_directions_are_those_of_the_two_stage_program(given, name):
    """MLDR keeps 200 principal directions of X in its first stage: all of emotions, not of scene.

    What it calls OPLS is CCA with label sets that are not centred: codes Y(YᵀY)^(-½).
    """
    X, Y, put_out = given(name, "mldr")
    axes = PCA(200).fit(X).components_ if name == "scene" else np.eye(X.shape[1])
    x = X @ axes.T
    found = HSL(alpha=1.0).fit(x, Y).components_ @ axes
    W = put_out["hsl_clique_2s_reg1"]
    assert relative(found.T @ found, W @ W.T) < 1e-11
    codes = np.linalg.inv(scipy.linalg.sqrtm(Y.T.astype(float) @ Y))
    found = axes.T @ directions_of_codes(Moments.from_arrays(x, Y), codes, 1.0, "dense")[1]
    W = put_out["opls_2s_reg1"]
    assert relative(found @ found.T, W @ W.T) < 1e-11


@pytest.mark.parametrize("name", ["plain", "dependent", "wide", "sparse counts"])
def test_two_stages_by_themselves(name):
    X, Y = problem(name)
    x, y = X - X.mean(axis=0), 2.0 * (Y - Y.mean(axis=0))
    sizes, axes = np.linalg.eigh(y.T @ y)
    varies = sizes > 1e-9
    H = label_factor(Y, "star").toarray()
    for estimator, targets in (
        (OPLS(alpha=0.5), y),
        (LabelCCA(alpha=0.5, label_alpha=0.0), y @ axes[:, varies] / np.sqrt(sizes[varies])),
        (HSL(expansion="star", alpha=0.5), H),
    ):
        values, W = two_stages(x, targets, 0.5)
        fitted = estimator.fit(X, Y)
        np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-8)
        np.testing.assert_allclose(fitted.components_.T @ fitted.components_, W @ W.T, atol=1e-8)
