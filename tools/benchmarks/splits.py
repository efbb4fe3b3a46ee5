"""What stratified folds are worth: beside two packages, and in the variance of macro-F1; as tables in Markdown.

    pip install iterative-stratification; pip install --no-deps scikit-multilearn-ng
    python -m tools.benchmarks.splits [shares | variance]

`shares`: how far the shares of labels, and of pairs of labels, in ten folds are from those in all rows (percentage
points, the mean of three seeds), and CPU seconds. scikit-multilearn needs minutes on delicious and is left out there.
`variance`: ten repeats of ten folds; standard deviations of macro-F1 over the folds of a repeat, and of its mean over
the repeats: each blind / by labels / by pairs. Two minutes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from mlcdr.data.dataset import load_dataset
from mlcdr.execution.runner import run
from mlcdr.experiment.division import make_splits
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.splits import KFold
from mlcdr.experiment.stratification import label_pairs
from mlcdr.tables.split_shares import KINDS, measure_deviation
from tools.benchmarks.measuring import timed

FOLDS, SEEDS, REPEATS = 10, 3, 10
METHODS = {
    "BR of ridge": {"learner": {"ridge": {"alpha": 1.0}}},
    "MLkNN": {"learner": "mlknn"},
}


def ours(Y, stratified, seed):
    spec = KFold(kind="kfold", folds=FOLDS, seed=seed, stratified=stratified)
    return [split.test for split in make_splits(spec, "d", Y.shape[0], labels=Y)]


def iterative_stratification(Y, seed):
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

    dense = Y.toarray()
    splitter = MultilabelStratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(dense, dense)]


def scikit_multilearn(Y, order, seed):
    from skmultilearn.model_selection import IterativeStratification

    order_of_rows = np.random.default_rng(seed).permutation(Y.shape[0])  # what it does with a seed is no split of Y
    shuffled = Y.toarray()[order_of_rows]
    splitter = IterativeStratification(FOLDS, order=order)
    splitter._rng_state = np.random.RandomState(seed)
    return [order_of_rows[test] for _, test in splitter.split(shuffled, shuffled)]


def shares() -> None:
    """Print the deviations."""
    print("| data set | folds | rows of a fold | labels off by % | empty | pairs off by % | empty | CPU s |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in ("emotions", "birds", "medical", "enron", "delicious"):
        Y = sparse.csr_array(load_dataset(name).Y, dtype=np.int64)
        pairs = label_pairs(Y)
        made: dict[str, Callable[..., list]] = {kind: partial(ours, stratified=by) for kind, by in KINDS.items()}
        made["iterative-stratification"] = iterative_stratification
        for order in (1, 2) if name != "delicious" else ():
            made[f"scikit-multilearn-ng, order {order}"] = partial(scikit_multilearn, order=order)
        for kind, make in made.items():
            found, sizes, seconds = [], [], []
            for seed in range(SEEDS):
                cost, tests = timed(partial(make, Y, seed=seed))
                seconds.append(cost)
                fold = np.empty(Y.shape[0], dtype=np.int64)
                for number, test in enumerate(tests):
                    fold[test] = number
                sizes += [len(test) for test in tests]
                found.append([*measure_deviation(Y, fold), *measure_deviation(pairs, fold)])
            share, empty, pair_share, pair_empty = np.mean(found, axis=0)
            cells = [f"{min(sizes)}–{max(sizes)}", f"{100 * share:.3f}", f"{empty:.0f}", f"{100 * pair_share:.3f}"]
            print(f"| {name} | {kind} | {' | '.join(cells)} | {pair_empty:.0f} | {min(seconds):.2f} |")


def variance() -> None:
    """Print the standard deviations."""
    print("| data set | method | labels not in a test fold | macro-F1 | sd over repeats | sd over folds |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    metrics = ["macro_f1", {"macro_f1": {"zero_division": "skip", "as": "skip"}}]
    rows: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, stratified in KINDS.items():
            splits = {"kind": "kfold", "folds": FOLDS, "repeats": REPEATS, "seed": 1, "stratified": stratified}
            config = {"name": kind, "datasets": ["birds", "medical", "enron"], "splits": splits, "metrics": metrics}
            report = run(experiment_from({**config, "methods": METHODS}), Path(folder))
            scores = pd.read_csv(report.folder / "scores.csv").query("metric in ('macro_f1', 'skip')")
            scores["repeat"] = scores.split // FOLDS
            for place, found in scores.groupby(["dataset", "method", "metric"]):
                by_repeat = found.groupby("repeat").value
                spread = by_repeat.mean().std(), by_repeat.var().mean() ** 0.5
                rows.setdefault(place, []).append((found.value.mean(), *spread))
    for (dataset, method, metric), found in rows.items():
        columns = zip(*found, strict=True)
        cells = [" / ".join(map("{:.4f}".format, column)) for column in columns]
        print(f"| {dataset} | {method} | {'count 0' if metric == 'macro_f1' else 'left out'} | {' | '.join(cells)} |")


if __name__ == "__main__":
    for part in sys.argv[1:] or ("shares", "variance"):
        {"shares": shares, "variance": variance}[part]()
        print()
