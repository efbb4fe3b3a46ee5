"""What label-dependent features save: PACC and PACC-LDF in one run, as in Table 3.4 of Sun 2017.

    python -m tools.benchmarks label_dependent [--data DATASET...]

As `table3_2.yaml` and `table3_3.yaml` of `configs/sun_2017_thesis` have them: logistic regression as WEKA's, normalised
information, r = 0.1; four fifths of the rows train. CPU seconds of fitting and of predicting, the least of three. On
medical they cost the same; elsewhere PACC-LDF should learn faster.
"""

from __future__ import annotations

import numpy as np

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.chains.polytree_chain import PolytreeChain
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.local_features.label_dependent import LabelDependentFeatures
from tools.benchmarks.measuring import least
from tools.benchmarks.ratios import Ratio


def costs(features, X, Y, new):
    """CPU seconds of fitting and of predicting, and how many features a label has on average."""
    base = LogisticRegression(0.2, "free", "unit_variance")
    model = PolytreeChain(base, mi="normalised", variant="published_code", features=features)
    fitting, predicting = least(lambda: model.fit(X, Y), 3), least(lambda: model.predict(new), 3)
    sizes = [X.shape[1] if link.columns is None else len(link.columns) for link in model.links_]
    return fitting, predicting, np.mean(sizes)


def measure(name: str) -> list[Ratio]:
    """Measure one data set."""
    dataset = load_dataset(name)
    order = np.random.default_rng(0).permutation(dataset.n_instances)
    train, test = map(np.sort, np.split(order, [len(order) - len(order) // 5]))
    rows = dataset.X[train], dataset.Y[train], dataset.X[test]
    whole, some = costs(None, *rows), costs(LabelDependentFeatures(0.1), *rows)
    sizes = f"{whole[2]:.0f} / {some[2]:.0f} features a label"
    return [
        Ratio(f"PACC / PACC-LDF, learning, {sizes}", whole[0], some[0], at_least=1),
        Ratio("PACC / PACC-LDF, predicting", whole[1], some[1]),
    ]
