"""The metrics of a prediction, without an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlcdr.errors import UserError
from mlcdr.experiment.loading import read_metrics
from mlcdr.methods.contracts import as_dense
from mlcdr.metrics import Counts, Outcome, Scores
from mlcdr.metrics import evaluate as evaluate_outcome
from mlcdr.numerics.label_forms import holds_names, read_label_sets
from mlcdr.numerics.other_frames import as_pandas, is_frame

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
        The true and the predicted label sets, in any form that `fit` takes.
    scores : array of shape (n, K), optional
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
        When the shapes or the names of the labels disagree, or a label is neither 0 nor 1.

    Examples
    --------
    >>> evaluate([[1, 0], [0, 1]], [[1, 1], [0, 1]], metrics=["hamming_loss", "exact_match"])
    {'hamming_loss': 0.25, 'exact_match': 0.5}
    """
    specs = read_metrics([metrics] if isinstance(metrics, str | Mapping) else [*metrics])
    _refuse_other_columns(Y, predicted, scores)
    truth = _read_labels("Y", Y)
    labels = _read_labels("predicted", predicted)
    values = None if scores is None else as_dense(scores).astype(float)
    # what is from 0 to 1 throughout may be probabilities
    are_shares = values is not None and ((values >= 0) & (values <= 1)).all()
    try:
        counts = Counts(truth, labels)
        ranked = None if values is None else Scores(truth, values)
        outcome = Outcome(counts, ranked, probabilities=values if are_shares else None)
    except ValueError as error:
        raise UserError(str(error)) from None
    return evaluate_outcome(outcome, {each.label: (each.name, each.params) for each in specs})


def _refuse_other_columns(*given: Any) -> None:
    """Raise a UserError where two DataFrames have other columns."""
    columns = [list(as_pandas(each).columns) for each in given if is_frame(each)]
    if any(each != columns[0] for each in columns):
        raise UserError("the columns of Y, predicted and scores must be the same labels in the same order")


def _read_labels(name: str, given: Any) -> Any:
    """Label sets as a matrix (n×K) of 0 and 1."""
    if holds_names(given):
        raise UserError(f"{name}: must be a matrix (n×K) of 0 and 1, not lists of names")
    try:
        return as_dense(read_label_sets(given).matrix)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
