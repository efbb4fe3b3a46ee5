"""BR of Table 3.2 or HOMER of Table 3.3 (Sun 2017) with WEKA's own Logistic, converged or stopped early, on one fold.

    python -m tools.benchmarks.weka_logistic BR|HOMER DATASET [ITERATIONS...]

Prints the four metrics with our `logistic_regression` and with WEKA's, each with the ridge of the config, after so many
iterations (0: until it converges). Needs Java and python-weka-wrapper3 (the extra `weka`). A minute for HOMER after ten
iterations on rcv1s1 or corel5k; minutes for BR on enron, an hour for BR on rcv1s1 until it converges.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

import mlcdr
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.loading import load_experiment
from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.instance_space.homer import HOMER
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.learners.weka_m5p import _started, require_weka
from mlcdr.methods.thresholds import PCut

CONFIGS = Path(__file__).parents[2] / "configs" / "sun_2017_thesis"
METRICS = ["exact_match", "accuracy", "macro_f1", "micro_f1"]
RIDGES = {"BR": 0.1, "HOMER": 1e-8}


class WekaLogistic(ClassifierMixin, BaseEstimator):
    """WEKA's Logistic of one label of {0, 1}; the penalty is on features of unit variance; -1 iterations: no limit."""

    def __init__(self, ridge: float, iterations: int = -1) -> None:
        self.ridge = ridge
        self.iterations = iterations

    def fit(self, X, y):
        X, y = csr_array(X), np.asarray(y, dtype=float).ravel()
        self.classes_, self.coef_ = np.array([0, 1]), np.zeros(X.shape[1])
        self.intercept_ = 700.0 if y[0] else -700.0
        if y.min() == y.max():
            return self
        java = _started()
        attributes = java("java.util.ArrayList")()
        attributes.add(java("weka.core.Attribute")("y", java("java.util.Arrays").asList(["0", "1"])))
        for j in range(X.shape[1]):
            attributes.add(java("weka.core.Attribute")(f"x{j}"))
        rows = java("weka.core.Instances")("rows", attributes, len(y))
        rows.setClassIndex(0)
        for i, label in enumerate(y):
            stored = slice(X.indptr[i], X.indptr[i + 1])
            numbers, columns = np.append(label, X.data[stored]), np.append(0, X.indices[stored] + 1)
            rows.add(java("weka.core.SparseInstance")(1.0, numbers, columns.astype(np.int32), X.shape[1] + 1))
        model = java("weka.classifiers.functions.Logistic")()
        model.setRidge(self.ridge)
        model.setMaxIts(self.iterations)
        model.buildClassifier(rows)
        # of the first class, 0, the intercept first; WEKA takes constant features out
        found = -np.array([float(row[0]) for row in model.coefficients()])
        varying = X.max(axis=0).toarray().ravel() != X.min(axis=0).toarray().ravel()
        self.intercept_, self.coef_[varying] = found[0], found[1:]
        return self

    def predict_proba(self, X):
        present = expit(X @ self.coef_ + self.intercept_)
        return np.column_stack([1 - present, present])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def main(method: str, name: str, iterations: list[int]) -> None:
    """Print a line for each."""
    large = name in ("rcv1s1", "corel16k1", "bibtex", "corel5k")
    experiment = load_experiment(CONFIGS / f"table3_2{'_large' * large}.yaml")
    data = DataSource.of(next(d for d in experiment.datasets if d.name == name), experiment.splits).read()
    train, test = data.splits[0].train, data.splits[0].test
    X, Y = data.dataset.X, as_dense(data.dataset.Y).astype(float)

    def show(what: str, estimator) -> None:
        learner = BinaryRelevance(estimator=estimator)
        if method == "HOMER":
            learner = HOMER(estimator=learner, k=3, random_state=0)
        fitted = ComposedClassifier(learner=learner, threshold=PCut(single=True)).fit(X[train], Y[train])
        values = mlcdr.evaluate(Y[test], fitted.predict(X[test]), metrics=METRICS)
        print(f"{what:<24}" + "".join(f"{values[m]:12.4f}" for m in METRICS), flush=True)

    print(f"{f'{method} on {name}':<24}" + "".join(f"{m:>12}" for m in METRICS))
    ridge = RIDGES[method]
    show("logistic_regression", LogisticRegression(alpha=2 * ridge, intercept="free", scale="unit_variance"))
    for most in iterations:
        show(f"WEKA, {most} iterations" if most else "WEKA, converged", WekaLogistic(ridge, most or -1))


if __name__ == "__main__":
    require_weka()
    main(*sys.argv[1:3], [int(each) for each in sys.argv[3:]] or [0])
