"""Metrics of predicted label sets, from shared counts (`Counts`): a second one on the same prediction costs nothing.

Y, P are the n×K true and predicted label matrices; for instance i, |Y_i|, |P_i| and |Y_i ∩ P_i| are row sums; for label
k, TP, |P|, |Y| are column sums. A statistic is a numerator and a denominator of these three and of the number of cells;
it is averaged over instances, over labels (`macro_`), or taken once of the sums over all labels (`micro_`). With β, F1
is F_β = (1+β²)TP / (β²|Y|+|P|).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mlcdr.lazy_numpy import np
from mlcdr.metrics.definition import LabelMetric, Metric, Numbers, mean, ratio
from mlcdr.metrics.outcome import Array, Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

Statistic = Callable[..., tuple[Any, Any]]
"""(hits, |P|, |Y|, cells, **options) → numerator, denominator."""


def _precision(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    return hits, predicted


def _recall(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    return hits, true


def _specificity(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    return cells - predicted - true + hits, cells - true


def _f(hits: Array, predicted: Array, true: Array, cells: int, beta: float = 1) -> tuple[Any, Any]:
    return (1 + beta**2) * hits, predicted + beta**2 * true


def _jaccard(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    return hits, predicted + true - hits


def _balanced_accuracy(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    rejected = cells - predicted - true + hits
    both = np.array([ratio(hits, true), ratio(rejected, cells - true)])
    there = ~np.isnan(both)
    return np.where(there, both, 0.0).sum(axis=0), there.sum(axis=0)


def _kappa(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    predicted, true = np.asarray(predicted, float), np.asarray(true, float)
    chance = predicted * true + (cells - predicted) * (cells - true)
    return cells * (cells - predicted - true + 2 * hits) - chance, float(cells) ** 2 - chance


def _mcc(hits: Array, predicted: Array, true: Array, cells: int) -> tuple[Any, Any]:
    predicted, true = np.asarray(predicted, float), np.asarray(true, float)
    product = np.sqrt(predicted * (cells - predicted)) * np.sqrt(true * (cells - true))
    return cells * hits - predicted * true, product


# name → statistic, what it is of an instance, of a label
_STATISTICS: Mapping[str, tuple[Statistic, str, str]] = {
    "precision": (_precision, "|Y∩P| / |P|", "TP / |P|"),
    "recall": (_recall, "|Y∩P| / |Y|", "TP / |Y|"),
    "specificity": (_specificity, "", "TN / (n−|Y|)"),
    "f1": (_f, "2|Y∩P| / (|Y|+|P|)", "2TP / (|P|+|Y|)"),
    "jaccard": (_jaccard, "|Y∩P| / |Y∪P|", "TP / (|P|+|Y|−TP)"),
    "balanced_accuracy": (_balanced_accuracy, "", "½ (TP/|Y| + TN/(n−|Y|))"),
    "kappa": (_kappa, "", "Cohen's κ = (p_o − p_e) / (1 − p_e)"),
    "mcc": (_mcc, "", "Matthews' correlation (n·TP − |P||Y|) / √(|P||Y|(n−|P|)(n−|Y|))"),
}

_BETA = {"beta": 1}, {"beta": Numbers(open=True)}


def _by_instance(o: Outcome, zero_division: float | str, statistic: Statistic, **options: Any) -> float:
    hits, predicted, true = o.counts.of_instances
    values = ratio(*statistic(hits, predicted, true, o.counts.n_labels, **options))
    return mean(values, (predicted + true == 0).astype(float) if zero_division == "agree" else zero_division)


def _of_labels(o: Outcome, statistic: Statistic, **options: Any) -> Array:
    """The statistic of each label (K,), NaN where its denominator is 0."""
    return ratio(*statistic(*o.counts.of_labels, o.counts.n_instances, **options))


def _of_each_label(o: Outcome, statistic: Statistic) -> Array:
    """The statistic of each label (K,), 0 where its denominator is 0: what the macro average counts by default."""
    return np.nan_to_num(_of_labels(o, statistic))


def _macro(o: Outcome, zero_division: float | str, statistic: Statistic, **options: Any) -> float:
    return mean(_of_labels(o, statistic, **options), zero_division)


def _micro(o: Outcome, zero_division: float | str, statistic: Statistic, **options: Any) -> float:
    sums = (a.sum(keepdims=True) for a in o.counts.of_labels)
    return mean(ratio(*statistic(*sums, o.counts.n_instances * o.counts.n_labels, **options)), zero_division)


def _macro_f1(o: Outcome, zero_division: float | str | None, of: str, beta: float = 1) -> float:
    if zero_division is None:
        zero_division = 0 if of == "label_f1" else "skip"
    if of == "label_f1":
        return _macro(o, zero_division, _f, beta=beta)
    precision, recall = _macro(o, zero_division, _precision), _macro(o, zero_division, _recall)
    if precision + recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def _hamming_loss(o: Outcome) -> float:
    return o.counts.wrong / (o.counts.n_instances * o.counts.n_labels)


def _exact_match(o: Outcome) -> float:
    return o.counts.exact / o.counts.n_instances


_EMPTY = "An instance with an empty denominator {zero_division}."
_EITHER: Mapping[str, str] = {
    "precision": "A label that is never predicted",
    "recall": "A label that is never true in the test set",
    "specificity": "A label that is always true in the test set",
    "kappa": "A label that is constant, and predicted to be so,",
    "mcc": "A label that is always or never true or predicted in the test set",
}
_ALONE = "Of a label that is always or never true in the test set, the recall of the one class that is there."


def _instance_metric(name: str, statistic: str, description: str = "") -> Metric:
    compute, formula, _ = _STATISTICS[statistic]
    more: tuple[Mapping[str, Any], Mapping[str, Any]] = _BETA if statistic == "f1" else ({}, {})
    return Metric(
        name,
        f"mean over instances of {formula}{description}",
        True,
        partial(_by_instance, statistic=compute),
        _EMPTY,
        {"zero_division": "agree", **more[0]},
        {"zero_division": (0, 1, "skip", "agree"), **more[1]},
    )


def _label_metrics(name: str) -> tuple[Metric, Metric]:
    """The macro- and the micro-averaged metric of a statistic (but for F1)."""
    statistic, _, formula = _STATISTICS[name]
    either = _EITHER.get(name, "A label that is neither true nor predicted in the test set")
    made = []
    for average, compute in (("macro", _macro), ("micro", _micro)):
        choices: tuple[Any, ...] = (0, 1, "skip") if average == "macro" else (0, 1)
        options: dict[str, Any] = {"zero_division": 0}
        convention = (
            f"{either} {{zero_division}}."
            if average == "macro"
            else "{value[zero_division]} where its denominator is 0."
        )
        if name == "balanced_accuracy":
            options, convention = {}, _ALONE if average == "macro" else ""
        made.append(
            Metric(
                f"{average}_{name}",
                f"mean over labels of {formula}" if average == "macro" else f"{formula}, of the sums over labels",
                True,
                partial(compute, statistic=statistic)
                if options
                else partial(compute, statistic=statistic, zero_division=0),
                convention,
                options,
                {"zero_division": choices} if options else {},
            )
        )
    return made[0], made[1]


METRICS: tuple[Metric, ...] = (
    Metric("hamming_loss", "share of wrong cells of the n×K label matrix", False, _hamming_loss),
    Metric("hamming_score", "1 - hamming_loss", True, lambda o: 1 - _hamming_loss(o)),
    Metric("zero_one_loss", "share of instances whose label set is not exact", False, lambda o: 1 - _exact_match(o)),
    Metric("exact_match", "share of instances whose label set is exact (subset accuracy)", True, _exact_match),
    _instance_metric("accuracy", "jaccard", " (Jaccard)"),
    _instance_metric("precision", "precision"),
    _instance_metric("recall", "recall"),
    _instance_metric("f1", "f1"),
    Metric(
        "macro_f1",
        "mean over labels of 2TP / (|P|+|Y|); of mean_precision_recall: 2PR / (P+R) of the labels' means",
        True,
        _macro_f1,
        "A label that is neither true nor predicted in the test set {zero_division}.",
        {"zero_division": None, "of": "label_f1", **_BETA[0]},
        {"zero_division": (0, 1, "skip"), "of": ("label_f1", "mean_precision_recall"), **_BETA[1]},
        instead={
            "mean_precision_recall": "A label that is never predicted is left out of P, one that is never true out "
            "of R (R's mean(na.rm = TRUE)), and P = R = 0 gives 0; where no label is predicted at all it is not "
            "defined."
        },
    ),
    Metric(
        "micro_f1",
        "2ΣTP / Σ(|P|+|Y|), summed over labels",
        True,
        partial(_micro, statistic=_f),
        "{value[zero_division]} where no label is true or predicted in the whole test set.",
        {"zero_division": 0, **_BETA[0]},
        {"zero_division": (0, 1), **_BETA[1]},
    ),
    *(metric for name in _STATISTICS if name != "f1" for metric in _label_metrics(name)),
)


def _wrong(o: Outcome) -> Array:
    hits, predicted, true = o.counts.of_labels
    return (predicted + true - 2 * hits) / o.counts.n_instances


BY_LABEL: tuple[LabelMetric, ...] = (
    LabelMetric("hamming_loss", "share of instances for which the label is wrong", False, _wrong),
    *(
        LabelMetric(name, formula, True, partial(_of_each_label, statistic=statistic))
        for name, (statistic, _, formula) in _STATISTICS.items()
    ),
)


LOSSES_OF_PAIRS: tuple[str, ...] = (
    "hamming_loss",
    "zero_one_loss",
    "ranking_loss",
    "accuracy",
    "f1",
    "precision",
    "recall",
)
"""The metrics that `losses_of_pairs` accepts."""


def losses_of_pairs(metric: str, true: NDArray[Any], predicted: NDArray[Any]) -> Array:
    """The loss (n×m) of each of m label sets (m×K) as the prediction where each of n (n×K) is true.

    By a metric of instances, or 1 less it where higher is better, at its defaults. The ranking loss is that of
    the predicted set as scores, an equal pair counting ½; 0 where there is no pair.
    """
    true, predicted = np.asarray(true, float), np.asarray(predicted, float)
    cells = true.shape[1]
    hits, n_true, n_predicted = true @ predicted.T, true.sum(axis=1)[:, None], predicted.sum(axis=1)
    missed, wrong = n_true - hits, n_predicted - hits
    if metric == "hamming_loss":
        return (missed + wrong) / cells
    if metric == "zero_one_loss":
        return (missed + wrong > 0).astype(float)
    if metric == "ranking_loss":
        pairs = n_true * (cells - n_true)
        disordered = missed * wrong + (missed * (cells - n_true - wrong) + hits * wrong) / 2
        return np.nan_to_num(ratio(disordered, pairs))
    statistic = _STATISTICS["jaccard" if metric == "accuracy" else metric][0]
    values = ratio(*statistic(hits, n_predicted, n_true, cells))
    return 1 - np.where(np.isnan(values), n_predicted + n_true == 0, values)
