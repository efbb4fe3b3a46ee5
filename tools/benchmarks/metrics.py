"""What all metrics of one test fold cost: CPU milliseconds beside the products that predict it, and scikit-learn's.

    python -m tools.benchmarks.metrics

A fold of bibtex (740 of 7,395 rows, 159 labels) and one of delicious (1,611 of 16,105, 983 labels): the true labels of
the data set, scores of ridge regression's kind (a matrix product with noise), in full, with ties, and the 100 highest.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn import metrics as sk

from mlcdr.data.dataset import load_dataset
from mlcdr.metrics import METRICS, Array, Counts, Outcome, Scores

REPEATS = 5


def milliseconds(what: Callable[[], object], repeats: int = REPEATS) -> float:
    """The least CPU time of several."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        what()
        spent.append(time.process_time() - start)
    return 1000 * min(spent)


def evaluate_all(Y: Array, scores: Array, keep_top: int | None = None) -> None:
    """Every metric once, with its own options."""
    probabilities = 1 / (1 + np.exp(-scores))
    outcome = Outcome(
        Counts(Y, scores > 1), Scores(Y, scores, keep_top), probabilities, 9 * len(Y), 9.0 * Y.sum(axis=0)
    )
    for metric in METRICS.values():
        metric.of(outcome, {})


def of_scikit_learn(Y: Array, scores: Array) -> None:
    """The seven metrics of scores that scikit-learn has."""
    there = np.flatnonzero(Y.any(axis=0))
    sk.coverage_error(Y, scores)
    sk.label_ranking_loss(Y, scores)
    sk.label_ranking_average_precision_score(Y, scores)
    sk.ndcg_score(Y, scores, k=5)
    sk.average_precision_score(Y, scores, average="micro")
    for average in ("macro", "micro"):
        sk.roc_auc_score(Y[:, there], scores[:, there], average=average)


def main() -> None:
    """Print a line for each data set and kind of scores."""
    warnings.simplefilter("ignore")
    print(f"{'fold':<12}{'rows × labels':>14}  {'scores':<14}{'all metrics, ms':>16}{'7 of scikit-learn, ms':>23}")
    for name in ("bibtex", "delicious"):
        Y = np.asarray(load_dataset(name).Y[::10].astype(np.uint8).todense())
        rng = np.random.default_rng(0)
        scores = 2.0 * Y + rng.standard_normal(Y.shape)
        kinds = {
            "all different": (scores, None),
            "with ties": (np.round(5 * scores) / 5, None),
            "keep_top 100": (scores, 100),
        }
        for kind, (given, keep_top) in kinds.items():
            ours = milliseconds(partial(evaluate_all, Y, given, keep_top))
            theirs = milliseconds(partial(of_scikit_learn, Y, scores), 1) if kind == "all different" else 0
            print(f"{name:<12}{f'{Y.shape[0]} × {Y.shape[1]}':>14}  {kind:<14}{ours:>16.1f}{theirs:>23.0f}", flush=True)


if __name__ == "__main__":
    main()
