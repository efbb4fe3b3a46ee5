"""What a reader of results must know of a metric: its printed name, which way is better, and what 0/0 counted as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mlcdr.errors import join_words
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.model import Experiment
from mlcdr.metrics import METRICS

_WORDS = {"hamming": "Hamming", "brier": "Brier", "f1": "F1", "auc": "AUC", "mcc": "MCC"}
_WORDS |= {"ndcg": "nDCG", "psp": "PSP", "psndcg": "PSnDCG"}
_NEEDS = {"scores": "scores", "top": "scores", "probabilities": "probabilities"}
_SHARED = (
    "wall time in seconds. Work that methods share is charged in full to each of them; the outputs of one method share "
    "it. What is known of the whole data set (its sums, and which features depend on others) is charged to none."
)
_NOT_SHARED = "wall time in seconds. Every output was fitted by itself, and methods, points and splits shared nothing."


@dataclass(frozen=True)
class MetricFacts:
    """A metric as a reader of results sees it.

    Attributes
    ----------
    title : str
        Within a sentence: `Hamming loss`, `micro F1`.
    higher_is_better : bool or None
        None where mlcdr does not know the metric: then nothing is best.
    note : str
        The options it was computed with, its 0/0 convention, or what a cost measures; may be empty.
    is_cost : bool
        Whether it is a time or memory, of which ratios mean something and differences little, and which differs from
        run to run.
    needs : str
        "scores" or "probabilities", where it is not defined of methods without them.
    """

    title: str
    higher_is_better: bool | None
    note: str
    is_cost: bool = False
    needs: str = ""

    @property
    def heading(self) -> str:
        """The title as a heading, or at the beginning of a line: `Micro F1`."""
        return _capitalise(self.title)


def _capitalise(title: str) -> str:
    return title[:1].upper() + title[1:]


def describe_metric(experiment: Experiment, label: str) -> MetricFacts:
    """The facts of the metric that the results of an experiment call `label`."""
    name, options = label, {}
    for spec in experiment.metrics:
        if spec.label == label:
            name, options = spec.name, spec.params
    title = " ".join(_WORDS.get(word, word) for word in label.split("_"))
    metric = METRICS.get(name)
    if metric is None:  # a function of one's own
        recorded = options.get("higher_is_better")
        return MetricFacts(title, recorded if isinstance(recorded, bool) else None, "")
    note = metric.convention_of(options)
    if options:
        chosen = ", ".join(f"{key} = {value}" for key, value in options.items())
        note = f"{metric.description}; {chosen}. {note}".rstrip()
    elif metric.needs == "timing":
        note = _SHARED if experiment.share else _NOT_SHARED
    elif metric.needs == "memory":
        title += " (MB)"
        note = f"{metric.description}. {note}"
    is_cost = metric.needs in ("timing", "memory")
    return MetricFacts(title, metric.higher_is_better, note, is_cost, _NEEDS.get(metric.needs, ""))


def explain_missing(facts: Iterable[MetricFacts]) -> str:
    """Why there may be no number for a metric."""
    needed = dict.fromkeys(fact.needs for fact in facts if fact.needs)
    more = f", or of a method without {' or '.join(needed)}" if needed else ""
    return f"no result (not run, failed, or not defined{more})"


def list_notes(facts: Iterable[MetricFacts]) -> list[str]:
    """The notes that stand below a table: a line for each, headed by the metrics that it is true of."""
    titles = group_pairs((fact.note, fact.title) for fact in facts)
    return [f"{_capitalise(join_words(of))}: {note}" for note, of in titles.items() if note]
