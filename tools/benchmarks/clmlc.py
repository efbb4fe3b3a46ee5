"""What CLMLC costs beside ECC, MLHSL, CPLST and CBMLC (Table 8.2 of Sun 2017), and what it holds, in one run.

    python -m tools.benchmarks.clmlc [--alone [--dense]] [DATASET...]

Each method of configs/sun_2017_thesis/table8_2_shared.yaml trains on four fifths of each data set and predicts the
rest, in a process of its own with one BLAS thread. Prints CPU seconds, their shares of ECC's, those of the table, and
the peak of the process's memory before training and at most. Chains of ridge regressions share one factorisation here,
so that ECC and CBMLC cost a fraction of what they did for the table. With --alone each label is a regression of its
own, formed and solved anew, as for the table: minutes for each data set, hours for delicious. With --dense the rows are
dense, as those of a program without sparse matrices: the products that a regression is made of then cost what their
shapes say. Exit code 1 if CLMLC holds 1 GB or more on delicious, or, with --alone --dense, if MLHSL or CLMLC costs as
much as any other method.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

CONFIG = Path(__file__).parents[2] / "configs" / "sun_2017_thesis" / "table8_2_shared.yaml"
DATASETS = ("bibtex", "corel16k1", "delicious")
METHODS = ("ECC", "MLHSL", "CPLST", "CBMLC", "CLMLC")
PRINTED = {
    "bibtex": (1285, 15, 223, 1002, 14),
    "corel16k1": (229, 8, 42, 131, 10),
    "delicious": (6042, 528, 558, 1916, 567),
}
MOST_MEGABYTES = {"delicious": 1000}


def peak() -> float:
    """Megabytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(dataset_name: str, method: str, alone: bool = False, dense: bool = False) -> dict[str, float]:
    """CPU seconds of training and predicting, and megabytes before and at most; to be run in a process of its own.

    `alone`: each label is a regression of its own. `dense`: the rows are made dense beforehand.
    """
    from threadpoolctl import threadpool_limits

    from mlcdr.data.dataset import load_dataset
    from mlcdr.experiment.estimators import build
    from mlcdr.experiment.loading import load_experiment
    from mlcdr.methods.component_changes import separated
    from mlcdr.numerics.moments import Moments

    spec = load_experiment(CONFIG, look_up=False).methods[method]
    if alone:
        spec = spec.model_copy(update={"learner": separated(spec.learner)})
    dataset = load_dataset(dataset_name)
    rows = np.random.default_rng(2017).permutation(dataset.n_instances)
    train, test = np.split(np.arange(len(rows))[rows], [len(rows) * 4 // 5])
    with threadpool_limits(1):
        estimator = build(spec)
        X, Y, new = dataset.X[np.sort(train)], dataset.Y[np.sort(train)], dataset.X[np.sort(test)]
        if dense and sp.issparse(X):
            X, new = X.toarray(), new.toarray()
        before, start = peak(), time.process_time()
        estimator.fit_moments(Moments.from_arrays(X, Y), own_parts=True)
        fitted = time.process_time()
        estimator.labels_of(estimator.output(new))
        return {"fit": fitted - start, "predict": time.process_time() - fitted, "before": before, "most": peak()}


def main(names: list[str]) -> int:
    """Measure and print; the exit code."""
    failed, flags = False, [name for name in names if name.startswith("--")]
    names = [name for name in names if name not in flags] or list(DATASETS)
    print(f"{'':10} {'':6} {'fit s':>8} {'predict s':>9} {'of ECC':>8} {'printed':>8} {'MB':>6} {'peak MB':>8}")
    for name in names:
        seconds = {}
        for method in METHODS:
            call = [sys.executable, "-m", "tools.benchmarks.clmlc", "--one", name, method, *flags]
            found = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
            seconds[method] = found["fit"] + found["predict"]
            printed = PRINTED.get(name, (np.nan,) * 5)
            theirs = printed[METHODS.index(method)] / printed[0]
            share = seconds[method] / seconds["ECC"]
            print(
                f"{name:10} {method:6} {found['fit']:8.2f} {found['predict']:9.2f} {share:8.3f} {theirs:8.3f} "
                f"{found['before']:6.0f} {found['most']:8.0f}",
                flush=True,
            )
            if method == "CLMLC" and found["most"] >= MOST_MEGABYTES.get(name, np.inf):
                failed = True
                print(f"  CLMLC should stay below {MOST_MEGABYTES[name]} MB")
        most = max(seconds["MLHSL"], seconds["CLMLC"])
        if {"--alone", "--dense"} <= set(flags) and most >= min(seconds[m] for m in ("ECC", "CPLST", "CBMLC")):
            failed = True
            print("  MLHSL and CLMLC should cost less than any other method")
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3], "--alone" in sys.argv, "--dense" in sys.argv)))
    else:
        sys.exit(main(sys.argv[1:]))
