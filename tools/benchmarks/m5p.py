"""What a fit of M5P costs beside WEKA's own, live and in one run.

    python -m tools.benchmarks m5p [--data DATASET...]

The first code dimension of PLST, and all of them; 90 % of the rows. CPU seconds, those of
Java's compiler and collector included.

ours    `M5P().fit`, checks and sorting included; the least of some, with the machine code loaded;
first   WEKA's `buildClassifier`, the first that its Java machine is asked for; the start of the machine and the reading
        of the data are taken off. Every case has a machine of its own;
again   the least of those that follow on the same data, which Java has compiled by then.

Both must say the same of the other rows. Needs Java and python-weka-wrapper3.
"""

from __future__ import annotations

import numpy as np
import weka.core.jvm  # noqa: F401  (without it nothing is measured)

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners import weka_m5p
from mlcdr.methods.learners.m5p import M5P
from mlcdr.numerics.sums import dense
from tools.benchmarks.measuring import alone, least, timed
from tools.benchmarks.ratios import Ratio

OUTPUTS = ("one", "all")
LEAST_RATIO = 8.0


def weka_seconds(X, Z, new, times):
    """Seconds of each fit of all outputs, and what the models say of new rows."""
    java_class = weka_m5p._started()
    rows, asked = weka_m5p._instances(java_class, X), weka_m5p._instances(java_class, new)
    seconds = []
    for _ in range(times):
        said, spent = [], 0.0
        for target in Z.T.tolist():
            for i, value in enumerate(target):
                rows.instance(i).setClassValue(value)
            model = java_class("weka.classifiers.trees.M5P")()
            spent += timed(model.buildClassifier, rows)[0]
            said.append([model.classifyInstance(asked.instance(i)) for i in range(len(new))])
        seconds.append(spent)
    return seconds, np.array(said).T


def fitted(name, outputs):
    """Seconds of a fit of one output, or all: ours, WEKA's first and WEKA's again.

    Raises
    ------
    AssertionError
        When WEKA's trees say something else than ours.
    """
    dataset = load_dataset(name)
    X, Y = dense(dataset.X), dense(dataset.Y)
    order = np.random.default_rng(2012).permutation(len(X))
    train, test = order[len(X) // 10 :], order[: len(X) // 10]
    Z = PLST().fit(X[train], Y[train]).encode(Y[train])[:, : 1 if outputs == "one" else None]
    M5P.warm_up()
    model = M5P()
    ours = least(lambda: model.fit(X[train], Z), 10 if outputs == "one" else 3)
    (first, *again), said = weka_seconds(X[train], Z, X[test], 6 if outputs == "one" else 2)
    np.testing.assert_allclose(model.predict(X[test]), said, rtol=1e-9, atol=1e-12)
    return ours, first, min(again)


def measure(name: str) -> list[Ratio]:
    """Measure one data set."""
    ratios = []
    for outputs in OUTPUTS:
        ours, first, again = alone(fitted, name, outputs)
        ratios.append(Ratio(f"WEKA's first fit / ours, outputs: {outputs}", first, ours, at_least=LEAST_RATIO))
        ratios.append(Ratio(f"WEKA's later fits / ours, outputs: {outputs}", again, ours))
    return ratios
