"""The metrics of a prediction, without an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlcdr.errors import UserError
from mlcdr.experiment.loading import read_metrics
from mlcdr.methods.contracts import as_dense
from mlcdr.metrics import Counts, Outcome, Scores
from mlcdr.metrics import evaluate as evaluate_outcome
from mlcdr.numerics.entry import check_index
from mlcdr.numerics.label_forms import LabelSets, as_numbers, holds_names, read_label_sets

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_USUAL = ("hamming_loss", "exact_match", "f1", "micro_f1", "macro_f1")


def evaluate(
    Y: ArrayLike,
    predicted: ArrayLike,
    scores: ArrayLike | None = None,
    metrics: Sequence[str | Mapping[str, Any]] = _USUAL,
) -> dict[str, float]:
    """Metrics of predicted label sets.

    Parameters
    ----------
    Y, predicted : array, sparse matrix or DataFrame of shape (n, K)
        The true and the predicted label sets, in any form that `fit` takes but lists of names.
    scores : array or DataFrame of shape (n, K), optional
        Real scores or probabilities of the labels, for metrics that rank.
    metrics : sequence
        As in a config: names (`mlcdr metrics` lists them), or `{name: {option: value}}`.

    Returns
    -------
    dict
        Label of the metric → value; NaN where it needs something that was not given.

    Raises
    ------
    ConfigError
        When a metric is unknown.
    UserError
        When the shapes, the names of the labels or those of the rows disagree, or a label is neither 0 nor 1.

    Examples
    --------
    >>> evaluate([[1, 0], [0, 1]], [[1, 1], [0, 1]], metrics=["hamming_loss", "exact_match"])
    {'hamming_loss': 0.25, 'exact_match': 0.5}
    """
    specs = read_metrics([metrics] if isinstance(metrics, str | Mapping) else [*metrics])
    truth = _read_labels("Y", Y)
    labels = _read_labels("predicted", predicted)
    with _as_user_errors():
        check_index(Y, predicted, ("Y", "predicted"))
        check_index(Y, scores, ("Y", "scores"))
    values, names = None, []
    if scores is not None:
        with _as_user_errors("scores: "):
            ranking = as_numbers(scores)
        values, names = as_dense(ranking.values).astype(float), ranking.names
    _refuse_other_names(truth.names, labels.names, names)
    # what is from 0 to 1 throughout may be probabilities
    are_shares = values is not None and ((values >= 0) & (values <= 1)).all()
    with _as_user_errors():
        counts = Counts(as_dense(truth.matrix), as_dense(labels.matrix))
        ranked = None if values is None else Scores(as_dense(truth.matrix), values)
        outcome = Outcome(counts, ranked, probabilities=values if are_shares else None)
    return evaluate_outcome(outcome, {each.label: (each.name, each.params) for each in specs})


def _refuse_other_names(*names: Sequence[str]) -> None:
    """Raise a UserError where two that have names of labels have other ones."""
    given = [each for each in names if each]
    if any(each != given[0] for each in given):
        raise UserError("the columns of Y, predicted and scores must be the same labels in the same order")


def _read_labels(name: str, given: Any) -> LabelSets:
    """Label sets as a matrix (n×K) of 0 and 1."""
    if holds_names(given):
        raise UserError(f"{name}: must be a matrix (n×K) of 0 and 1, not lists of names")
    with _as_user_errors(f"{name}: "):
        return read_label_sets(given)


@contextmanager
def _as_user_errors(place: str = "") -> Iterator[None]:
    """Raise a UserError, which begins with the place, for a ValueError."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{place}{error}") from None
