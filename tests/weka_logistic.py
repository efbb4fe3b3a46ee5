"""Binary relevance with WEKA's own Logistic, converged or stopped early, on the first fold of Table 3.2 of Sun 2017.

    python -m tests.weka_logistic DATASET [ITERATIONS...]

Prints the four metrics of `logistic_regression` with that table's settings and of WEKA's Logistic after so many
iterations (0: until it converges), and how far the probabilities of a converged WEKA are from ours. Needs Java and
python-weka-wrapper3 (the extra `weka`). Minutes for enron, and for rcv1s1 if it is stopped; an hour if it is not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import mlcdr
from mlcdr.config.loading import load_experiment
from mlcdr.experiment.data_source import DataSource
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.learners.weka_m5p import _started, require_weka
from mlcdr.methods.thresholds import PCut

CONFIGS = Path(__file__).parents[1] / "configs" / "sun_2017_thesis"
METRICS = ["exact_match", "accuracy", "macro_f1", "micro_f1"]
RIDGE = 0.1


def probabilities_of_weka(X, y, new, iterations: int):
    """The probabilities (m,) of one label for rows `new` by a Logistic of rows X (n×d) and y (n,)."""
    java = _started()
    attributes = java("java.util.ArrayList")()
    attributes.add(java("weka.core.Attribute")("y", java("java.util.Arrays").asList(["0", "1"])))
    for j in range(X.shape[1]):
        attributes.add(java("weka.core.Attribute")(f"x{j}"))
    rows = [java("weka.core.Instances")("rows", attributes, len(y)) for _ in range(2)]
    for part, values, labels in zip(rows, (X, new), (y, np.zeros(new.shape[0])), strict=True):
        part.setClassIndex(0)
        values = csr_array(values)
        for i, label in enumerate(labels):
            stored = slice(values.indptr[i], values.indptr[i + 1])
            numbers, columns = np.append(label, values.data[stored]), np.append(0, values.indices[stored] + 1)
            part.add(java("weka.core.SparseInstance")(1.0, numbers, columns.astype(np.int32), X.shape[1] + 1))
    model = java("weka.classifiers.functions.Logistic")()
    model.setRidge(RIDGE)
    model.setMaxIts(iterations or -1)
    model.buildClassifier(rows[0])
    return np.array([model.distributionForInstance(rows[1].instance(i))[1] for i in range(new.shape[0])])


def main(name: str, iterations: list[int]) -> None:
    """Print a line for each."""
    large = name in ("rcv1s1", "corel16k1", "bibtex", "corel5k")
    experiment = load_experiment(CONFIGS / f"table3_2{'_large' * large}.yaml")
    data = DataSource.of(next(d for d in experiment.datasets if d.name == name), experiment.splits).read()
    train, test = data.splits[0].train, data.splits[0].test
    X, Y = csr_array(data.dataset.X), as_dense(data.dataset.Y).astype(float)

    def show(what: str, p) -> None:
        cut = PCut(single=True).fit(p, Y[train])
        values = mlcdr.evaluate(Y[test], cut.apply(p), metrics=METRICS)
        print(f"{what:<24}" + "".join(f"{values[m]:12.3f}" for m in METRICS), flush=True)

    print(f"{name:<24}" + "".join(f"{m:>12}" for m in METRICS))
    fitted = LogisticRegression(alpha=2 * RIDGE, intercept="free", scale="unit_variance").fit_each(X[train], Y[train])
    ours = np.column_stack([m.predict_proba(X[test])[:, -1] * (len(m.classes_) > 1) for m in fitted])
    show("logistic_regression", ours)
    for most in iterations:
        p = np.column_stack([probabilities_of_weka(X[train], y, X[test], most) for y in Y[train].T])
        show(f"WEKA, {most} iterations" if most else "WEKA, converged", p)
        if not most:
            print(f"  the probabilities differ from ours by {np.abs(p - ours).max():.1e} at most")


if __name__ == "__main__":
    require_weka()
    main(sys.argv[1], [int(each) for each in sys.argv[2:]] or [0])
