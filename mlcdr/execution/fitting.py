"""From rows to scores: a method is fitted once, and scored for each of the trials that this fit serves.

With `share: false` fits share nothing, and each output is fitted by itself, so that times are those of a program which
does so.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlcdr.errors import UserError
from mlcdr.execution import warned
from mlcdr.execution.groups import Group
from mlcdr.execution.memory import rising
from mlcdr.execution.rows import Rows
from mlcdr.experiment.estimators import build, features_kept, seeded
from mlcdr.experiment.families import code_part
from mlcdr.experiment.trials import Trial, TrialResult, by_family
from mlcdr.methods.component_changes import separated
from mlcdr.methods.composition import Decoding
from mlcdr.methods.contracts import LabelSpace, is_fitted_to_scores
from mlcdr.methods.shared_steps import SharedSteps
from mlcdr.metrics import BY_LABEL, Counts, Outcome, Scores, evaluate, evaluate_labels, find
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.moments import Moments
from mlcdr.processes import protect_process, raise_if_stopped

_FRAMES = -50  # of each traceback that is recorded: the last
_LONGEST = 20_000  # characters of an error that is recorded


@dataclass(frozen=True)
class Spent:
    """What was spent on a trial before its fit: wall time, and how many bytes the memory of the process rose."""

    seconds: float = 0.0
    memory: float = 0.0


NOTHING = Spent()


def run_trials(
    trials: Iterable[Trial],
    group: Group,
    rows: Rows,
    chosen: Spent = NOTHING,
) -> Iterator[TrialResult]:
    """The score of each trial of a group as it is finished, fit by fit; `chosen` was spent on each before its fit."""
    share = group.experiment.share
    if not share:
        trials = [_alone(trial) for trial in trials]
    for family in by_family(trials):
        own = unshared(rows, group) if share else _again(rows, Moments.from_arrays(*rows.moments.rows()))
        yield from _run_family(family, group, own, chosen)
        if not share:
            del own
            gc.collect()  # its moments refer to themselves, and would fill the memory with those of the fits to come


def measures_memory(group: Group) -> bool:
    """Whether the memory of fits is asked for, and can be told from that of others in this process."""
    needs = [find(metric.name).needs for metric in group.experiment.metrics]
    return group.alone and "memory" in needs


def unshared(rows: Rows, group: Group) -> Rows:
    """The rows without what other methods have computed of them, where memory is measured: a fit has its own then."""
    if not measures_memory(group):
        return rows
    return _again(rows, replace(rows.moments, memo=Memo()))


def _again(rows: Rows, moments: Moments) -> Rows:
    """The rows with moments of their own, of which nothing has been computed yet."""
    return replace(rows, moments=moments, steps=SharedSteps())


def _alone(trial: Trial) -> Trial:
    """The trial with a learner that fits every output by itself, and a fit of its own."""
    spec = trial.spec.model_copy(update={"learner": separated(trial.spec.learner)})
    return replace(trial, spec=spec, family=spec)


def _run_family(
    trials: Sequence[Trial],
    group: Group,
    rows: Rows,
    chosen: Spent,
) -> list[TrialResult]:
    """Fit once and score the trials that the fit serves."""
    results: list[TrialResult] = []
    with protect_process():
        warned.of_method(trials[0].method)
        try:
            fit = _Fit(trials[0], group, rows)
        except BaseException as error:
            return fail(trials, error)
        for trial in trials:
            warned.of_method(trial.method)
            try:
                results.append(fit.score(trial, chosen))
            except BaseException as error:
                results += fail([trial], error)
    return results


class _Fit:
    """A fitted method with its output for the test rows, which serves trials that differ in the size of the code.

    Parameters
    ----------
    trial : Trial
        One of them; its `family` is what is fitted.
    group : Group
    rows : Rows
    """

    def __init__(self, trial: Trial, group: Group, rows: Rows):
        self._group = group
        self._rows = rows
        self._family = trial.family
        self._estimator = estimator = seeded(build(trial.family), group.experiment.seed, trial)
        self._metrics = {metric.label: (metric.name, metric.params) for metric in group.experiment.metrics}
        needs = {find(name).needs for name, _ in self._metrics.values()}
        self._wanted = needs | {BY_LABEL[name].needs for name in group.experiment.by_label}
        self._measures = measures_memory(group)
        with rising(self._measures) as memory, metered() as fitting:
            # the test rows are those that the moments leave out
            output = estimator.output_left_out(rows.moments) if group.keeping is None else None
            if output is None:
                estimator.fit_moments(rows.moments, own_parts=True, shared=rows.steps)
        self._spent = Spent(fitting.seconds, memory.bytes)
        start = time.perf_counter()
        if output is None:
            output = estimator.output(rows.X)
        self._output = output
        self._decoding = Decoding(estimator, output)
        self._output_seconds = time.perf_counter() - start
        code = code_part(trial.family)
        self._size_parameter = "" if code is None else code.declaration().size_parameter
        self._facts = self._measure_facts()
        self._bound = self._measure_bound()

    def _measure_facts(self) -> dict[str, Any]:
        """What metrics need to know that is the same for all sizes of the code."""
        moments = self._rows.moments
        facts = features_kept(self._estimator) if "features" in self._wanted else {}
        facts |= {"n_training": moments.n, "label_counts": np.rint(moments.mean_y * moments.n)}
        if "probabilities" in self._wanted:
            facts["probabilities"] = self._estimator.probabilities(self._rows.X)
        return facts

    def _measure_bound(self) -> Any:
        """The errors of encoding and of prediction for each size of the code; None where they are not wanted."""
        space = self._estimator.label_space_
        if "bound" in self._wanted and isinstance(space, LabelSpace):
            return space.error_terms(self._rows.Y, self._output)
        return None

    def score(self, trial: Trial, chosen: Spent) -> TrialResult:
        """The values of the metrics for a trial; `chosen` was spent on it before."""
        estimator, group, rows = self._estimator, self._group, self._rows
        experiment = group.experiment
        size = self._size(trial)
        seconds = chosen.seconds + self._spent.seconds
        memory = [chosen.memory, self._spent.memory]
        if is_fitted_to_scores(estimator.threshold):
            with rising(self._measures) as risen, metered() as refitting:
                estimator.threshold_of(size)
            seconds += refitting.seconds
            memory.append(risen.bytes)
        with metered() as predicting:
            labels = self._decoding.labels(size)
            counts = Counts(rows.Y, labels)
        predict_seconds = self._output_seconds + predicting.seconds
        outcome = Outcome(
            counts,
            fit_seconds=seconds,
            predict_seconds=predict_seconds,
            fit_memory=float(np.max(memory)),  # NaN if one is
            **self._facts,
        )
        if self._wanted & {"scores", "top", "any"}:
            found = self._decoding.scores(rows.X, size)
            if found is not None:
                outcome = replace(outcome, scores=Scores(rows.Y, found, experiment.keep_top))
        if self._bound is not None:
            n_used = self._output.shape[1] if size is None else estimator.label_space_.size_of(size)
            encoding, prediction = (float(errors[n_used - 1]) for errors in self._bound)
            outcome = replace(outcome, encoding_error=encoding, prediction_error=prediction)
        values = evaluate(outcome, self._metrics)
        if group.keeping is not None:
            group.keeping.keep(trial, estimator.settled(size), rows)
        of_labels = evaluate_labels(outcome, experiment.by_label)
        as_tuples = {name: tuple(each.tolist()) for name, each in of_labels.items()}
        return TrialResult(trial.key, values, of_labels=as_tuples)

    def _size(self, trial: Trial) -> Any:
        """The size of the code that a trial asks for; None: that which was fitted."""
        if trial.spec is self._family:
            return None
        part = code_part(trial.spec)
        return None if part is None else part.value(self._size_parameter)


def fail(trials: Iterable[Trial], error: BaseException) -> list[TrialResult]:
    """The scores of trials that failed by an exception.

    If a signal to end the run has been received, `Stop` is raised instead, whatever exception compiled code has made of
    it. Any other exception of a method, SystemExit and KeyboardInterrupt included, is a failure of its trials.
    """
    raise_if_stopped()
    text = _explain(error)
    return [TrialResult(trial.key, None, text) for trial in trials]


def _explain(error: BaseException) -> str:
    """The traceback that is recorded for a failed trial, as text that can be written, and shortened if it is long."""
    text = str(error)
    if not isinstance(error, UserError):
        text = "".join(traceback.format_exception(error, limit=_FRAMES))
    text = text.rstrip().encode(errors="backslashreplace").decode()
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
