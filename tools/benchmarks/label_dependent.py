"""What label-dependent features save: PACC and PACC-LDF in one run, as in Table 3.4 of Sun 2017.

    python -m tools.benchmarks.label_dependent [DATASET...]

As `table3_2.yaml` and `table3_3.yaml` of `configs/sun_2017_thesis` have them: logistic regression as WEKA's, normalised
information, r = 0.1; four fifths of the rows train. CPU seconds of fitting and of predicting, the least of three, one
BLAS thread. On medical they cost the same. Exit code 1 if PACC-LDF does not learn faster.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from mlcdr.data.dataset import load_dataset
from mlcdr.methods.chains.polytree_chain import PolytreeChain
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.local_features.label_dependent import LabelDependentFeatures

DATASETS = ("enron",)


def timed(features, X, Y, new):
    """CPU seconds of fitting and of predicting, and how many features a label has on average."""
    base = LogisticRegression(0.2, "free", "unit_variance")
    model = PolytreeChain(base, mi="normalised", variant="published_code", features=features)
    fitting, predicting = [], []
    for _ in range(3):
        start = time.process_time()
        model.fit(X, Y)
        fitted = time.process_time()
        model.predict(new)
        fitting.append(fitted - start)
        predicting.append(time.process_time() - fitted)
    sizes = [X.shape[1] if link.columns is None else len(link.columns) for link in model.links_]
    return min(fitting), min(predicting), np.mean(sizes)


def main(names: list[str]) -> int:
    missed = 0
    print(f"{'CPU s':<12}{'method':<10}{'features':>10}{'learning':>10}{'predicting':>12}{'PACC / LDF':>12}")
    with threadpool_limits(1):
        for name in names or DATASETS:
            dataset = load_dataset(name)
            n = dataset.X.shape[0]
            order = np.random.default_rng(0).permutation(n)
            train, test = np.sort(order[: n - n // 5]), np.sort(order[n - n // 5 :])
            rows = dataset.X[train], dataset.Y[train], dataset.X[test]
            whole = timed(None, *rows)
            some = timed(LabelDependentFeatures(0.1), *rows)
            missed += some[0] >= whole[0]
            for method, (fit, predict, size) in (("PACC", whole), ("PACC-LDF", some)):
                ratio = f"{whole[0] / some[0]:>12.1f}" if method == "PACC-LDF" else ""
                print(f"{name:<12}{method:<10}{size:>10.1f}{fit:>10.3f}{predict:>12.3f}{ratio}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
