"""Classes of users that derive from ours: what they override is called, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlcdr
from mlcdr.testing.subject import make_problem

FOLDS = {"kind": "kfold", "folds": 4, "seed": 0}


def run(learner: Any, label_space: Any = None, sparse: bool = False) -> np.ndarray:
    X, Y = make_problem(60, 6, 4)
    X = np.where(X > 0.5, X, 0)
    given = (sp.csr_array(X), sp.csr_array(Y)) if sparse else (X, Y)
    method = {"learner": learner} | ({"label_space": label_space} if label_space else {})
    config = {"name": "mine", "splits": FOLDS, "metrics": ["hamming_loss"], "methods": {"A": method}}
    found = mlcdr.run(config, datasets={"data": given}, out=None, quiet=True, jobs=1)
    return found.scores["value"].to_numpy()


class Silent(mlcdr.Ridge):
    """Predicts the means of the labels, by which codes are centred."""

    def predict_valid(self, X):
        return 0 * super().predict_valid(X)


class ByRows(mlcdr.Learner):
    """Its own, in the form that each learner may have."""

    def fit(self, X, Z):
        self.inner_ = mlcdr.Ridge().fit(X, Z)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_rows_left_out_are_predicted_by_what_a_class_overrides() -> None:
    """Not by the closed form of the class that it derives from."""
    np.testing.assert_array_equal(run(Silent()), run(mlcdr.Ridge(alpha=1e12)))
    assert not np.array_equal(run(Silent()), run(mlcdr.Ridge()))
    np.testing.assert_allclose(run(ByRows()), run(mlcdr.Ridge()))


@pytest.mark.parametrize(
    ("base", "method"),
    [
        (mlcdr.Ridge, "fit"),
        (mlcdr.Ridge, "predict"),
        (mlcdr.CPLST, "fit"),
        (mlcdr.CPLST, "encode"),
        (mlcdr.PCA, "fit"),
        (mlcdr.PCA, "transform"),
    ],
)
def test_a_method_that_would_not_be_called_is_refused(base: type, method: str) -> None:
    with pytest.raises(TypeError, match=rf"Mine\.{method} would not be called, but {method}_\w+ of \w+: override that"):
        type("Mine", (base,), {method: lambda self, X: X, "__module__": "mine"})


def test_a_run_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_ridge.py").write_text(
        "import mlcdr\n\nclass Mine(mlcdr.Ridge):\n    def predict(self, X):\n        return X\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(mlcdr.UserError, match=r"my_ridge.*Mine\.predict would not be called") as caught:
        run("my_ridge.Mine")
    assert "\n" not in str(caught.value)


class Counting(mlcdr.LabelSpace):
    """Codes that overflow a byte, and need a sign."""

    def fit(self, X, Y):
        self.n_labels_ = Y.shape[1]
        return self

    def encode(self, Y):
        return Y * 100 + Y * 100 - 100

    def decode(self, codes):
        return (codes + 100) / 200


class CountingMoments(Counting):
    def fit_moments(self, moments):
        self.n_labels_ = moments.n_labels
        return self


@pytest.mark.parametrize("sparse", [False, True])
def test_label_sets_are_numbers_that_can_be_counted_with(sparse: bool) -> None:
    plain = run("ridge")
    np.testing.assert_array_equal(run("ridge", Counting(), sparse), plain)
    if not sparse:  # with `fit_moments` it gets label sets as CSR, from which no number can be subtracted
        np.testing.assert_array_equal(run("ridge", CountingMoments()), plain)
