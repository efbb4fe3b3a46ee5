"""What MLkNN costs: ours and scikit-multilearn-ng's, in one run.

    pip install --no-deps scikit-multilearn-ng
    python -m tools.benchmarks mlknn [--data DATASET...]

k = 10, s = 1, four fifths of the rows for training, a training instance among its own neighbours, as it is there. Label
sets must be the same where no instance has two others equally far away at the end of its ten (emotions, scene, yeast);
elsewhere scikit-multilearn's neighbours depend on the search it takes, and the labels that differ are counted; with
one more feature, random and small, that leaves no such ties, they must be the same again. CPU seconds of fitting and
predicting.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from skmultilearn.adapt import MLkNN as Theirs

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.classifiers.mlknn import MLkNN
from mlcdr.numerics.sums import dense
from tools.benchmarks.measuring import least
from tools.benchmarks.ratios import Ratio

WITHOUT_TIES = ("emotions", "scene", "yeast")

LEAST_SPEED_UP = 3.0


def without_ties(X):
    """The same rows with one feature more, of random values below a thousandth."""
    return sp.csr_array(sp.hstack([X, 1e-3 * np.random.default_rng(7).random((X.shape[0], 1))]))


def ours(X, Y, new):
    return MLkNN(include_itself=True).fit(X, dense(Y)).predict(new)


def theirs(X, Y, new):
    return dense(Theirs(k=10).fit(X, Y).predict(new))


def measure(name: str) -> list[Ratio]:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When a label differs where there are no ties.
    """
    dataset = load_dataset(name)
    order = np.random.default_rng(2012).permutation(dataset.n_instances)
    test, train = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])
    Y = sp.csr_matrix(dataset.Y)[train]

    def rows(X):
        made = sp.csr_matrix if sp.issparse(X) else np.asarray
        return (X[train], Y, X[test]), (made(X[train]), Y, made(X[test]))

    own, other = rows(dataset.X)
    our_seconds, their_seconds = least(lambda: ours(*own), 3), least(lambda: theirs(*other), 2)
    differing = int(np.sum(ours(*own) != theirs(*other)))
    assert differing == 0 or name not in WITHOUT_TIES, f"{differing} labels differ"
    if name not in WITHOUT_TIES:
        apart, others = rows(without_ties(dataset.X))
        assert np.array_equal(ours(*apart), theirs(*others)), "labels differ without ties"
    compared = f"MLkNN of scikit-multilearn / ours, {differing} labels differ"
    return [Ratio(compared, their_seconds, our_seconds, at_least=LEAST_SPEED_UP)]
