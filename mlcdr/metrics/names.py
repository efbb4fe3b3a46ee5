"""From a name in a config to the metric: its own name, an alias, or the dotted path of a function.

A user-defined metric is a function `(Y, labels, scores) → float` with an attribute `higher_is_better` (True or False).
It gets the true and the predicted label sets (n×K of {0, 1}) and the scores (n×K; None where the method gives none) of
the test rows. It is named by its dotted path (`my_package.my_metric`), or by the name under which an installed package
offers it in the entry-point group `mlcdr.metric`. A function of NumPy or scikit-learn needs such a wrapper.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from mlcdr.errors import UserError, suggest_name
from mlcdr.lazy_numpy import np
from mlcdr.metrics import label_sets, of_methods, ranking
from mlcdr.metrics.definition import LabelMetric, Metric
from mlcdr.metrics.outcome import Outcome
from mlcdr.plug_ins import plug_ins

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*label_sets.METRICS, *ranking.METRICS, *of_methods.METRICS)
}
BY_LABEL: dict[str, LabelMetric] = {metric.name: metric for metric in (*label_sets.BY_LABEL, *ranking.BY_LABEL)}

ALIASES: dict[str, str] = {
    "subset_accuracy": "exact_match",
    "0/1_loss": "zero_one_loss",
    "subset_zero_one_loss": "zero_one_loss",
    "hamming_accuracy": "hamming_score",
    "jaccard": "accuracy",
    "example_jaccard": "accuracy",
    "lrap": "label_ranking_average_precision",
    "example_average_precision": "label_ranking_average_precision",
    "rank_loss": "ranking_loss",
    "label_ranking_loss": "ranking_loss",
    "one-error": "one_error",
    "macro_roc_auc": "macro_auc",
    "micro_roc_auc": "micro_auc",
    "brier": "brier_score",
    "macro_ap": "macro_average_precision",
    "micro_ap": "micro_average_precision",
} | {
    alias: name
    for of in ("precision", "recall", "f1")
    for alias, name in ((f"example_{of}", of), (f"{of}_samples", of), (f"{of}_macro", f"macro_{of}"))
}
ALIASES |= {f"{of}_micro": f"micro_{of}" for of in ("precision", "recall", "f1")}
_AT_K = re.compile(r"(p|precision|r|recall|ndcg|psp|psndcg)(?:@|_at_)([1-9]\d{0,5})", re.I)
_SHORT = {"p": "precision", "r": "recall"}

MEANINGS: dict[str, str] = {
    "auc": "macro_auc, micro_auc or example_auc",
    "roc_auc": "macro_auc, micro_auc or example_auc",
    "average_precision": "label_ranking_average_precision (of instances), macro_average_precision (of labels) or "
    "micro_average_precision",
    "map": "macro_average_precision (of labels) or label_ranking_average_precision (of instances)",
    "f_beta": "{f1: {beta: 2}}, or the same of macro_f1 and micro_f1",
    "f2": "{f1: {beta: 2}}, or the same of macro_f1 and micro_f1",
    "acc": "exact_match (whole label sets), hamming_score (single labels) or accuracy (Jaccard, of instances)",
    "accuracy_score": "exact_match (whole label sets), hamming_score (single labels) or accuracy (Jaccard)",
    "auroc": "macro_auc, micro_auc or example_auc",
    "f1_score": "f1 (of instances), macro_f1 (of labels) or micro_f1",
    "f_measure": "f1 (of instances), macro_f1 (of labels) or micro_f1",
    "f_score": "f1 (of instances), macro_f1 (of labels) or micro_f1",
    "jaccard_score": "accuracy (of instances), macro_jaccard (of labels) or micro_jaccard",
    "error": "hamming_loss (of single labels) or zero_one_loss (of whole label sets)",
    "kappa": "macro_kappa or micro_kappa",
    "mcc": "macro_mcc or micro_mcc",
    "balanced_accuracy": "macro_balanced_accuracy or micro_balanced_accuracy",
    "coverage_error": "{coverage: {count: labels}}",
    "rp": "{recall_at_k: {k: 5, of: reachable}}",
    "precision_at": "{precision_at_k: {k: 3}}",
    "time": "fit_seconds, predict_seconds or execution_seconds",
    "memory": "fit_memory",
}
"""What is written for a name that means several metrics, or one with options."""


def resolve(written: str) -> tuple[str, dict[str, Any]]:
    """The name of a metric and the options that an alias stands for: `p@3` is `precision_at_k` with k = 3.

    An unknown name is returned unchanged.

    Examples
    --------
    >>> resolve("lrap"), resolve("p@3")
    (('label_ranking_average_precision', {}), ('precision_at_k', {'k': 3}))
    """
    if written in METRICS:
        return written, {}
    if found := _AT_K.fullmatch(written):
        return f"{_SHORT.get(found[1].lower(), found[1].lower())}_at_k", {"k": int(found[2])}
    folded = written.casefold()
    return ALIASES.get(folded, folded if folded in METRICS else written), {}


def label_of(written: str) -> str:
    """The label in results of the metric with this name or alias; an unknown name is returned unchanged."""
    name, options = resolve(written)
    return METRICS[name].label_of(options) if name in METRICS else written


def hint(written: str) -> str:
    """The end of a message on an unknown metric: what is meant by it, or has a similar name."""
    meant = MEANINGS.get(written.casefold())
    return f"; write {meant}" if meant else suggest_name(written, [*METRICS, *ALIASES])


@cache
def offered() -> dict[str, str]:
    """Name → `module:function` of the metrics of other installed packages."""
    return {point.name: point.value for point in plug_ins("mlcdr.metric")}


def target(name: str) -> str | None:
    """`module:function` of a user-defined metric; None for any other."""
    if name in METRICS:
        return None
    if "." in name and all(part.isidentifier() for part in name.split(".")):
        return offered().get(name) or ":".join(name.rpartition(".")[::2])
    return offered().get(name)


def modules_of(name: str) -> list[str]:
    """The modules that define a metric of this package, or a metric of each label by itself."""
    defined: dict[Any, Sequence[Metric | LabelMetric]] = {
        label_sets: (*label_sets.METRICS, *label_sets.BY_LABEL),
        ranking: (*ranking.METRICS, *ranking.BY_LABEL),
        of_methods: of_methods.METRICS,
    }
    return [module.__name__ for module, metrics in defined.items() if name in [metric.name for metric in metrics]]


def find(name: str) -> Metric:
    """The metric of a name; a user-defined function is imported.

    Raises
    ------
    UserError
        When it is not a function, or has no `higher_is_better`.
    """
    own = target(name)
    if own is None:
        return METRICS[name]
    module, _, attribute = own.partition(":")
    return of_function(name, getattr(importlib.import_module(module), attribute))


def of_function(name: str, function: Any) -> Metric:
    """The metric of a user-defined function; errors as `find`.

    Its option `higher_is_better` has one value, and exists to be recorded with the results.
    """
    if not callable(function) or isinstance(function, type):
        raise UserError(f"metric {name!r} is no function")
    higher = getattr(function, "higher_is_better", None)
    if not isinstance(higher, bool):
        raise UserError(
            f"metric {name!r}: which way is better is not known; write "
            f"`{name.rpartition('.')[2]}.higher_is_better = True` (or False) below the function"
        )
    parameters: Mapping[str, Any] = {"higher_is_better": higher}
    summary = " ".join((function.__doc__ or name).partition("\n\n")[0].split())
    compute = partial(_compute_own, function)
    return Metric(name, summary, higher, compute, "", parameters, {"higher_is_better": (higher,)}, "any")


def _compute_own(function: Callable[..., Any], o: Outcome, higher_is_better: bool) -> float:
    counts, scores = o.counts, o.scores if o.scores is not None and o.scores.whole else None
    values = None if scores is None else scores.values.copy()
    return float(function(counts.truth.astype(np.uint8), counts.predicted.astype(np.uint8), values))
