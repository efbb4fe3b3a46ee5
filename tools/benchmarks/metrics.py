"""What all metrics of one test fold cost, beside those that scikit-learn has.

    python -m tools.benchmarks metrics [--data DATASET...]

A tenth of the rows: the true labels of the data set, and scores that are made of them and noise; in full, with ties,
and the 100 highest.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import metrics as sk

from mlcdr.data.dataset import load_dataset
from mlcdr.metrics import METRICS, Array, Counts, Outcome, Scores
from tools.benchmarks.measuring import least
from tools.benchmarks.ratios import Ratio


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


def measure(name: str) -> list[Ratio]:
    """Measure a fold of one data set."""
    warnings.simplefilter("ignore")
    Y = np.asarray(load_dataset(name).Y[::10].astype(np.uint8).todense())
    scores = 2.0 * Y + np.random.default_rng(0).standard_normal(Y.shape)
    rounded = np.round(5 * scores) / 5
    ours = least(lambda: evaluate_all(Y, scores))
    theirs = least(lambda: of_scikit_learn(Y, scores), 1)
    return [
        Ratio(f"seven metrics of scikit-learn / all of ours, {len(Y)} × {Y.shape[1]}", theirs, ours),
        Ratio("all metrics, scores with ties", 1000 * least(lambda: evaluate_all(Y, rounded)), unit="ms"),
        Ratio("all metrics, keep_top 100", 1000 * least(lambda: evaluate_all(Y, scores, 100)), unit="ms"),
    ]
