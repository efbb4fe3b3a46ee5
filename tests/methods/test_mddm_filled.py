"""MDDM with as many directions as asked for: those of MDDMp, and others that hold nothing of the labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold

from mlcdr import MDDM, BinaryRelevance, FilledMDDM, HingeSVM
from tests.methods.problems import problem


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_the_first_are_those_of_mddm_and_the_others_do_not_depend_on_the_labels(form):
    X, Y = problem("plain")
    plain = MDDM().fit(X, Y)
    filled = FilledMDDM(n_components=X.shape[1], random_state=0).fit(form(X), Y)
    q = plain.n_components_
    assert q < X.shape[1] == filled.n_components_ == len(filled.components_)
    np.testing.assert_allclose(filled.components_[:q], plain.components_, atol=1e-10)
    np.testing.assert_allclose(filled.components_ @ filled.components_.T, np.eye(X.shape[1]), atol=1e-12)
    dependence = filled.components_ @ (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0))
    assert np.abs(dependence[q:]).max() < 1e-9 < np.abs(dependence[:q]).max()
    np.testing.assert_allclose(filled.transform(form(X)), (X - X.mean(axis=0)) @ filled.components_.T, atol=1e-10)


def test_as_many_as_asked_for_and_the_seed_decides_the_others():
    X, Y = problem("plain")
    q = MDDM().fit(X, Y).n_components_
    for wanted, expected in ((None, q), (q - 1, q - 1), (q, q), (q + 1, q + 1)):
        assert FilledMDDM(wanted, random_state=0).fit(X, Y).components_.shape == (expected, X.shape[1])
    assert FilledMDDM(4, random_state=0).fit(X, 0 * Y).components_.shape == (4, X.shape[1]), "no label varies"
    with pytest.raises(ValueError, match="is more than the"):
        FilledMDDM(X.shape[1] + 1).fit(X, Y)
    one, same, other = (FilledMDDM(q + 2, random_state=seed).fit(X, Y).components_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one[q:] - other[q:]).max() > 0.1


@pytest.mark.slow
def test_on_scene_they_bring_the_printed_numbers(real_dataset):
    """Table 6.1 of Sun 2017, MDDM on scene: exact match .529 ± .007 (a standard error); with 6 directions it is .49."""
    scene = real_dataset("scene")
    exact = {"filled": [], "plain": []}
    for train, test in KFold(5, shuffle=True, random_state=0).split(scene.X):
        for name, step in (("filled", FilledMDDM(30, random_state=0)), ("plain", MDDM(30))):
            reduced = step.fit(scene.X[train], scene.Y[train])
            model = BinaryRelevance(HingeSVM()).fit(reduced.transform(scene.X[train]), scene.Y[train])
            found = model.predict(reduced.transform(scene.X[test]))
            exact[name].append(np.mean(np.all(found == scene.Y[test], axis=1)))
    error = np.std(exact["filled"], ddof=1) / np.sqrt(5)
    assert abs(np.mean(exact["filled"]) - 0.529) < 2 * np.hypot(error, 0.007)
    assert np.mean(exact["plain"]) < np.mean(exact["filled"]) - 0.01
