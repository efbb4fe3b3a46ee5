"""What CLMLC costs beside ECC, MLHSL, CPLST and CBMLC (Table 8.2 of Sun 2017), and what it holds, in one run.

    python -m tools.benchmarks clmlc [--data "DATASET [alone [dense]]"...]

Each method of configs/sun_2017_thesis/table8_2_shared.yaml trains on four fifths of each data set and predicts the
rest, in a process of its own. CPU seconds as shares of ECC's, and the peak of CLMLC's memory. Chains of ridge
regressions share one factorisation here, so that ECC and CBMLC cost a fraction of what they did for the table. With
`alone` each label is a regression of its own, formed and solved anew, as for the table: minutes for each data set,
hours for delicious. With `dense` the rows are dense, as those of a program without sparse matrices: the products that a
regression is made of then cost what their shapes say. With both, MLHSL and CLMLC should cost less than any other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mlcdr.data.dataset import load_dataset
from mlcdr.experiment.estimators import build
from mlcdr.experiment.loading import load_experiment
from mlcdr.methods.component_changes import separated
from mlcdr.numerics.moments import Moments
from tools.benchmarks.measuring import alone, peak_memory, timed
from tools.benchmarks.ratios import Ratio

CONFIG = Path(__file__).parents[2] / "configs" / "sun_2017_thesis" / "table8_2_shared.yaml"
METHODS = ("ECC", "MLHSL", "CPLST", "CBMLC", "CLMLC")
PRINTED = {
    "bibtex": (1285, 15, 223, 1002, 14),
    "corel16k1": (229, 8, 42, 131, 10),
    "delicious": (6042, 528, 558, 1916, 567),
}
MOST_MEGABYTES = {"delicious": 1000}


def trained(name: str, method: str, ways: list[str]) -> tuple[float, float]:
    """CPU seconds of training and predicting, and the peak of memory."""
    spec = load_experiment(CONFIG, look_up=False).methods[method]
    if "alone" in ways:
        spec = spec.model_copy(update={"learner": separated(spec.learner)})
    dataset = load_dataset(name)
    rows = np.random.default_rng(2017).permutation(dataset.n_instances)
    train, test = map(np.sort, np.split(rows, [len(rows) * 4 // 5]))
    X, Y, new = dataset.X[train], dataset.Y[train], dataset.X[test]
    if "dense" in ways and sp.issparse(X):
        X, new = X.toarray(), new.toarray()
    estimator = build(spec)

    def train_and_predict():
        estimator.fit_moments(Moments.from_arrays(X, Y), own_parts=True)
        return estimator.labels_of(estimator.output(new))

    return timed(train_and_predict)[0], peak_memory()


def measure(data: str) -> list[Ratio]:
    """Measure one data set."""
    name, *ways = data.split()
    found = {method: alone(trained, name, method, ways) for method in METHODS}
    printed = dict(zip(METHODS, PRINTED.get(name, (np.nan,) * len(METHODS)), strict=True))
    seconds = {method: cost for method, (cost, _) in found.items()}
    ratios = []
    for method in METHODS[1:]:
        theirs = printed[method] / printed["ECC"]
        ratios.append(Ratio(f"{method} / ECC (in the paper {theirs:.2g})", seconds[method], seconds["ECC"]))
    if len(ways) == 2:
        most, others = max(seconds["MLHSL"], seconds["CLMLC"]), min(seconds[each] for each in ("ECC", "CPLST", "CBMLC"))
        ratios.append(Ratio("the dearer of MLHSL, CLMLC / the cheapest other", most, others, at_most=1))
    memory = found["CLMLC"][1]
    ratios.append(Ratio("peak memory of CLMLC", memory, unit="MB", at_most=MOST_MEGABYTES.get(name, np.inf)))
    return ratios
