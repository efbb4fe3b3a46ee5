"""From recorded trials to `scores.csv` and `summary.csv`, which other programs read, and `chosen.csv`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlcdr.csv_files import format_csv
from mlcdr.errors import ResultsError
from mlcdr.results.labels import COLUMNS
from mlcdr.results.scores import LARGEST, summarise
from mlcdr.whole_files import write_atomically

if TYPE_CHECKING:  # planning trials imports what methods compute with
    from mlcdr.experiment.trials import Trial

Scores = Mapping[str, Mapping[str, float | None]]


def write_scores(
    path: Path, trials: Sequence[Trial], scores: Scores, swept: Sequence[str], metrics: Sequence[str]
) -> None:
    """`scores.csv`: dataset, method, a column for each swept path, split, metric, value.

    Rows are in the order of trials and metrics.
    Values have twelve significant digits: enough for any use, and short of where two orders of summation may differ.
    A metric that is not defined for a method has no row.
    """
    rows = [
        [*_at(trial, swept), trial.split, metric, f"{value:.12g}"]
        for trial in trials
        for metric, value in _defined(scores.get(trial.key, {}), metrics)
    ]
    _write(path, swept, ["split", "metric", "value"], rows)


def write_summary(
    path: Path, trials: Sequence[Trial], scores: Scores, swept: Sequence[str], metrics: Sequence[str]
) -> None:
    """`summary.csv`: the mean over splits of every cell, with std (n − 1), se = std/√n and n; empty if not defined."""
    cells: dict[tuple[str, ...], list[float]] = {}
    for trial in trials:
        start = _at(trial, swept)
        for metric, value in _defined(scores.get(trial.key, {}), metrics):
            cells.setdefault((*start, metric), []).append(value)
    rows = []
    for cell, values in cells.items():
        found = summarise(values)
        numbers = [f"{v:.12g}" if abs(v) <= LARGEST else "" for v in (found.mean, found.std, found.se)]
        rows.append([*cell, *numbers, found.n])
    _write(path, swept, ["metric", "mean", "std", "se", "n"], rows)


def write_chosen(
    path: Path, trials: Sequence[Trial], choices: Mapping[str, Mapping[str, str]], swept: Sequence[str]
) -> None:
    """`chosen.csv`: what trials tuned: dataset, method, a column for each swept path, split, parameter, value.

    A swept path that no tuned method has is left out, for its column would be empty.
    """
    tuned = [(trial, choices[trial.key]) for trial in trials if choices.get(trial.key)]
    kept = [each for each in swept if any(dict(trial.point).get(each) for trial, _ in tuned)]
    rows = [
        [*_at(trial, kept), trial.split, parameter, value]
        for trial, chosen in tuned
        for parameter, value in chosen.items()
    ]
    _write(path, kept, ["split", "parameter", "value"], rows)


def write_labels(
    path: Path,
    trials: Sequence[Trial],
    scores: Mapping[str, Mapping[str, Sequence[float | None]]],
    swept: Sequence[str],
    metrics: Sequence[str],
    labels: Mapping[str, Sequence[tuple[str, float]]],
) -> None:
    """`labels.csv` (`mlcdr.results.labels`); `labels`: data set → (name, frequency) of each label.

    Raises
    ------
    ResultsError
        When a trial has not one score for each label, or the file cannot be written.
    """
    rows = []
    for trial in trials:
        start = [*_at(trial, swept), trial.split]
        found = scores.get(trial.key, {})
        for metric in (each for each in metrics if each in found):
            if len(found[metric]) != len(labels[trial.dataset]):
                raise ResultsError(f"{path.parent}: damaged: not one {metric} for each label of {trial.dataset}")
            rows += [
                [*start, label, metric, f"{value:.12g}", f"{frequency:.12g}"]
                for (label, frequency), value in zip(labels[trial.dataset], found[metric], strict=True)
                if value is not None
            ]
    _write(path, swept, COLUMNS, rows)


def _defined(values: Mapping[str, float | None], metrics: Sequence[str]) -> Iterator[tuple[str, float]]:
    for metric in metrics:
        value = values.get(metric)
        if value is not None:
            yield metric, value


def _at(trial: Trial, swept: Sequence[str]) -> tuple[str, ...]:
    """Where a trial stands, but for its split."""
    point = dict(trial.point)
    return (trial.dataset, trial.method, *(point.get(path, "") for path in swept))


def _write(path: Path, swept: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    write_atomically(path, format_csv(["dataset", "method", *swept, *columns], rows))
