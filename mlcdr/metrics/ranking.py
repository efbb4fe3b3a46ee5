"""Metrics of real scores, from one sorting of them by instance, by label and over all cells (`Ranks`).

Where equal scores count together, a label ranks behind all labels with its score; so do average precision and coverage
in scikit-learn. With r_ij the number of labels with a score of at least s_ij (all for instance i), R_i the relevant
labels of i and Ī_i the others:

    coverage  mean max_{j∈R_i} r_ij − 1        (Schapire & Singer 2000; scikit-learn's is one more)
    ranking loss  mean |{(j, l) ∈ R_i × Ī_i: s_ij ≤ s_il}| / (|R_i||Ī_i|)
    label-ranking average precision  mean over i, and over j ∈ R_i, of |{l ∈ R_i: s_il ≥ s_ij}| / r_ij

AUC is Mann & Whitney's share of pairs in the right order. Propensities are those of Jain, Prabhu & Varma 2016: of label
l with n_l of n training instances, 1/p_l = 1 + (ln n − 1)(b + 1)^a (n_l + b)^−a.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mlcdr.lazy_numpy import np
from mlcdr.metrics.definition import LabelMetric, Metric, Needs, Numbers, mean, ratio
from mlcdr.metrics.outcome import Array, Outcome, Ranks, Scores

_Of = Callable[[Ranks], Array]


def _scores(o: Outcome) -> Scores:
    assert o.scores is not None  # `Metric.of` asks for no metric otherwise
    return o.scores


def _instances(o: Outcome) -> Ranks:
    return _scores(o).by_instance


def _one_error(o: Outcome, ties: str, zero_division: float | str) -> float:
    ranks = _instances(o)
    right = ranks.sums(ranks.discounted(np.ones(1), ties))
    return mean(np.where(ranks.n_relevant > 0, 1 - right, np.nan), zero_division)


def _coverage(o: Outcome, count: str, ties: str, zero_division: float | str) -> float:
    ranks = _instances(o)
    together = ranks.relevant_at_least - ranks.relevant_above
    depths = {"worst": ranks.at_least, "first": ranks.place + 1, "best": ranks.above + together}[ties]
    deepest = np.zeros(len(ranks.n_relevant))
    np.maximum.at(deepest, ranks.of, depths)
    return mean(np.where(ranks.n_relevant > 0, deepest - (count == "steps"), np.nan), zero_division)


def _disordered(ranks: Ranks, of_equal: float) -> Array:
    """The share of (relevant, irrelevant) pairs of each list in the wrong order; an equal pair counts `of_equal`."""
    above = ranks.above - ranks.relevant_above
    equal = ranks.at_least - ranks.relevant_at_least - above
    pairs = ranks.n_relevant * (ranks.length - ranks.n_relevant)
    return ratio(ranks.sums(above + of_equal * equal), pairs)


def _ranking_loss(o: Outcome, ties: str, zero_division: float | str) -> float:
    return mean(_disordered(_instances(o), {"wrong": 1.0, "half": 0.5, "right": 0.0}[ties]), zero_division)


def _auc(ranks: Ranks) -> Array:
    return 1 - _disordered(ranks, 0.5)


def _average_precision(ranks: Ranks) -> Array:
    return ratio(ranks.sums(ranks.relevant_at_least / ranks.at_least), ranks.n_relevant)


def _average(o: Outcome, over: str, of: _Of, zero_division: float | str = "skip") -> float:
    scores = _scores(o)
    return mean(of({"instances": scores.by_instance, "labels": scores.by_label}[over]), zero_division)


def _overall(o: Outcome, of: _Of) -> float:
    return float(of(_scores(o).overall)[0])


def _gains(o: Outcome, k: int, ties: str, weights: Array | None = None, discounts: Array | None = None) -> Array:
    """Σ over the first k labels of each instance (n,) that are relevant: weight × discount; NaN where not known."""
    scores = _scores(o)
    if k > scores.top < scores.n_labels or (ties == "mean" and not scores.whole):
        return np.full(len(scores.truth), np.nan)
    ranks = scores.by_instance
    gains = ranks.discounted(np.ones(k) if discounts is None else discounts, ties)
    return ranks.sums(gains if weights is None else gains * weights[ranks.entry])


def _discounts(k: int) -> Array:
    return 1 / np.log2(np.arange(2, k + 2))


def _where_relevant(values: Array, n_relevant: Any) -> Array:
    return np.where(n_relevant > 0, values, np.nan)


def _known(values: Array, zero_division: float | str, n_relevant: Any) -> float:
    """The mean, `zero_division` for instances without labels; NaN where the value of another one is not known."""
    if np.isnan(values[n_relevant > 0]).any():
        return float("nan")
    return mean(_where_relevant(values, n_relevant), zero_division)


def _precision_at_k(o: Outcome, k: int, ties: str, zero_division: float | str) -> float:
    return _known(_gains(o, k, ties) / k, zero_division, _instances(o).n_relevant)


def _recall_at_k(o: Outcome, k: int, ties: str, zero_division: float | str, of: str) -> float:
    n_relevant = _instances(o).n_relevant
    reachable = n_relevant if of == "all" else np.minimum(n_relevant, k)
    return _known(ratio(_gains(o, k, ties), reachable), zero_division, n_relevant)


def _ndcg_at_k(o: Outcome, k: int, ties: str, zero_division: float | str) -> float:
    n_relevant = _instances(o).n_relevant
    discounts = _discounts(k)
    best = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(n_relevant, k)]
    return _known(ratio(_gains(o, k, ties, None, discounts), best), zero_division, n_relevant)


def _r_precision(o: Outcome, ties: str, zero_division: float | str) -> float:
    ranks = _instances(o)
    cut = ranks.n_relevant[ranks.of]
    if ties == "first":
        inside = (ranks.place < cut).astype(float)
    else:
        inside = (np.minimum(ranks.at_least, cut) - np.minimum(ranks.above, cut)) / (ranks.at_least - ranks.above)
    return mean(ratio(ranks.sums(inside), ranks.n_relevant), zero_division)


def _propensity_scored(
    o: Outcome, k: int, ties: str, a: float, b: float, normalise: bool, of: str | None = None
) -> float:
    """The propensity-scored precision; `of` says how many places are discounted, and makes it the nDCG."""
    if o.label_counts is None or not o.n_training:
        return float("nan")
    weights = 1 + (np.log(o.n_training) - 1) * (b + 1) ** a * (o.label_counts + b) ** -a
    truth, n_relevant = _scores(o).truth, _instances(o).n_relevant
    discounts = np.ones(k) if of is None else _discounts(k)
    places = np.clip(n_relevant, 1, k) if of == "reachable" else np.full(len(truth), k)
    total = np.cumsum(discounts)[places - 1]
    gains = _gains(o, k, ties, weights, discounts) / total
    if not normalise:
        return float(gains.mean())
    instances, labels = np.nonzero(truth)
    order = np.lexsort((-weights[labels], instances))
    place = np.arange(len(instances)) - (np.cumsum(n_relevant) - n_relevant)[instances]
    best = np.append(discounts, 0.0)[np.minimum(place, k)] * weights[labels[order]]
    ideal = np.bincount(instances, weights=best, minlength=len(truth)) / total
    return float(ratio(gains.sum(), ideal.sum()))


def _probable(o: Outcome) -> tuple[Array, Array]:
    assert o.probabilities is not None
    return o.counts.truth, o.probabilities


def _log_losses(o: Outcome, clip: float = 2.0**-52) -> Array:
    truth, probabilities = _probable(o)
    of_truth = np.where(truth, probabilities, 1 - probabilities)
    return -np.log(np.clip(of_truth, clip, 1 - clip))


def _squares(o: Outcome) -> Array:
    truth, probabilities = _probable(o)
    return (probabilities - truth) ** 2


def _of_cells(o: Outcome, of: str, losses: Callable[..., Array], **options: Any) -> float:
    found = losses(o, **options)
    return float(found.mean() if of == "cell" else found.sum(axis=1).mean())


_EMPTY = "{ties} An instance without labels {zero_division}."


def _metric(
    name: str,
    description: str,
    higher_is_better: bool,
    compute: Callable[..., float],
    convention: str,
    needs: Needs = "scores",
    **options: tuple[Any, ...],
) -> Metric:
    """A metric whose options are (default, other values …), or (default, Numbers)."""
    parameters = {key: values[0] for key, values in options.items()}
    allowed = {key: values[1] if isinstance(values[1], Numbers) else values for key, values in options.items()}
    return Metric(name, description, higher_is_better, compute, convention, parameters, allowed, needs)


_K = (5, Numbers(whole=True, least=1))
_ORDER = ("first", "mean")
_TOP: tuple[tuple[str, str, Callable[..., float], dict[str, tuple[Any, ...]]], ...] = (
    ("precision_at_k", "share of relevant labels among the k highest", _precision_at_k, {}),
    (
        "recall_at_k",
        "share of the relevant labels that is among the k highest; of reachable: of as many as k can be (RP@k)",
        _recall_at_k,
        {"of": ("all", "reachable")},
    ),
    ("ndcg_at_k", "Σ 1/log₂(1+rank) over relevant labels among the k highest, of the most possible", _ndcg_at_k, {}),
)
_PROPENSITY = (
    "Σ of inverse propensities of relevant labels among the k highest, over all instances, of the most possible"
)

METRICS: tuple[Metric, ...] = (
    _metric(
        "one_error",
        "share of instances whose highest label is not relevant",
        False,
        _one_error,
        _EMPTY,
        "top",
        zero_division=(1, 0, "skip"),
        ties=_ORDER,
    ),
    _metric(
        "coverage",
        "steps down the ranking until all relevant labels are covered, mean over instances; count = labels: one more, "
        "as in scikit-learn",
        False,
        _coverage,
        _EMPTY,
        count=("steps", "labels"),
        ties=("worst", "first", "best"),
        zero_division=(0, "skip"),
    ),
    _metric(
        "ranking_loss",
        "share of pairs of a relevant and an irrelevant label in the wrong order, mean over instances",
        False,
        _ranking_loss,
        "{ties} An instance with no label, or all, {zero_division}.",
        ties=("wrong", "half", "right"),
        zero_division=(0, 1, "skip"),
    ),
    _metric(
        "label_ranking_average_precision",
        "mean over instances, and their relevant labels, of the share of relevant labels among those as high or higher",
        True,
        partial(_average, over="instances", of=_average_precision),
        "Equal scores count together, at the last of their places. An instance without labels {zero_division}.",
        zero_division=(1, 0, "skip"),
    ),
    *(
        _metric(
            f"{average}_auc",
            f"area under the ROC curve, mean over {over}: share of pairs of present and absent in the right order",
            True,
            partial(_average, over=over, of=_auc),
            f"An equal pair counts ½. {which} {{zero_division}}.",
            zero_division=("skip", 0, 0.5, 1),
        )
        for average, over, which in (
            ("macro", "labels", "A label that is always or never there in the test set"),
            ("example", "instances", "An instance with no label, or all,"),
        )
    ),
    _metric(
        "micro_auc",
        "area under the ROC curve of all cells together",
        True,
        partial(_overall, of=_auc),
        "An equal pair counts ½.",
    ),
    _metric(
        "macro_average_precision",
        "average precision Σ (R_n − R_{n−1}) P_n, mean over labels",
        True,
        partial(_average, over="labels", of=_average_precision),
        "Equal scores count together. A label that is never there in the test set {zero_division}.",
        zero_division=("skip", 0, 1),
    ),
    _metric(
        "micro_average_precision",
        "average precision of all cells together",
        True,
        partial(_overall, of=_average_precision),
        "Equal scores count together.",
    ),
    _metric(
        "r_precision",
        "share of relevant labels among the |Y| highest, mean over instances",
        True,
        _r_precision,
        _EMPTY,
        zero_division=(0, 1, "skip"),
        ties=_ORDER,
    ),
    *(
        _metric(
            name,
            f"{description}, mean over instances",
            True,
            compute,
            _EMPTY,
            "top",
            k=_K,
            zero_division=(0, 1, "skip"),
            ties=_ORDER,
            **more,
        )
        for name, description, compute, more in _TOP
    ),
    *(
        _metric(
            name,
            description,
            True,
            _propensity_scored,
            "{ties} 1/p = 1 + (ln n − 1)(b+1)^a (n_l+b)^−a, of the training rows.",
            "top",
            k=_K,
            a=(0.55, Numbers(least=0)),
            b=(1.5, Numbers(open=True)),
            normalise=(True, False),
            ties=_ORDER,
            **more,
        )
        for name, description, more in (
            ("psp_at_k", f"propensity-scored precision: {_PROPENSITY}", {}),
            (
                "psndcg_at_k",
                f"propensity-scored nDCG: {_PROPENSITY}, each divided by log₂(1+rank); an instance's sum is divided by "
                "Σ 1/log₂(1+rank) over min(k, |Y|) places, or, of = k, over k places (Jain et al. 2016)",
                {"of": ("reachable", "k")},
            ),
        )
    ),
    _metric(
        "log_loss",
        "−ln of the probability of what is true, mean over cells; of = instance: summed over labels",
        False,
        partial(_of_cells, losses=_log_losses),
        "Probabilities are kept {value[clip]:.2g} away from 0 and 1.",
        "probabilities",
        of=("cell", "instance"),
        clip=(2.0**-52, Numbers(open=True)),
    ),
    _metric(
        "brier_score",
        "squared difference of probability and label, mean over cells; of = instance: summed over labels",
        False,
        partial(_of_cells, losses=_squares),
        "Every cell counts alike.",
        "probabilities",
        of=("cell", "instance"),
    ),
)


def _of_labels(of: _Of) -> Callable[[Outcome], Array]:
    return lambda o: of(_scores(o).by_label)


BY_LABEL: tuple[LabelMetric, ...] = (
    LabelMetric("auc", "area under the ROC curve", True, _of_labels(_auc), "scores"),
    LabelMetric("average_precision", "average precision", True, _of_labels(_average_precision), "scores"),
    LabelMetric("log_loss", "log loss", False, lambda o: _log_losses(o).mean(axis=0), "probabilities"),
    LabelMetric("brier_score", "Brier score", False, lambda o: _squares(o).mean(axis=0), "probabilities"),
)
