"""The computing of trials: from those of one split to their scores.

Trials of one split form a group, which one process computes: the methods share the split's `Moments`, and the points of
a sweep that differ only in the number of code dimensions share one fit. With `share: false` they share nothing, and
each output is fitted by itself, so that times are those of a program which does so.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from mlcdr.errors import UserError
from mlcdr.execution import warned
from mlcdr.execution.artifacts import Keeping
from mlcdr.execution.choose import Choice, choose, without_tune
from mlcdr.execution.warned import Warned
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.division import Integers, Split, Splits
from mlcdr.experiment.estimators import build, features_kept, seeded
from mlcdr.experiment.families import code_part, families_of
from mlcdr.experiment.keys import digest, program_version
from mlcdr.experiment.model import Experiment, MethodSpec, method_text
from mlcdr.experiment.trials import Score, Trial, by_family, group_by
from mlcdr.experiment.tune import Point
from mlcdr.methods.component_changes import separated
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import LabelSpace, as_dense, is_fitted_to_scores, warm_up
from mlcdr.metrics import BY_LABEL, Counts, Outcome, Scores, evaluate, evaluate_labels, find
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen
from mlcdr.processes import protect_process, raise_if_stopped

_FRAMES = -50  # of each traceback that is recorded: the last
_LONGEST = 20_000  # characters of an error that is recorded

Keeper = Callable[[Trial, ComposedClassifier], None]


@dataclass(frozen=True)
class Group:
    """The trials of one split, to be computed by one worker, with what it needs to do so."""

    source: DataSource
    split: int
    trials: tuple[Trial, ...]
    metrics: tuple[tuple[str, str, Mapping[str, Any]], ...]
    seed: int
    share: bool = True
    keeping: Keeping | None = None
    by_label: tuple[str, ...] = ()
    keep_top: int | None = None


def groups(
    experiment: Experiment, source: DataSource, trials: Iterable[Trial], keeping: Keeping | None = None
) -> Iterator[Group]:
    """The trials by split, in order of the splits."""
    metrics = tuple((m.label, m.name, m.params) for m in experiment.metrics)
    for of_split in group_by(sorted(trials, key=lambda trial: trial.split), lambda trial: trial.split):
        group = Group(source, of_split[0].split, tuple(of_split), metrics, experiment.seed, experiment.share, keeping)
        yield replace(group, by_label=experiment.by_label, keep_top=experiment.keep_top)


@dataclass(frozen=True)
class GroupResult:
    """The result of a group, or of a part of one.

    Attributes
    ----------
    scores : sequence of Score
    seconds : float
        How long the process took for it.
    crashed : str
        Why the worker with these trials ended: a signal's name (`SIGKILL`), `exit 3`, `seconds` or `memory` (the limit
        that was passed); empty if it did not.
    warned : sequence of Warned
        The warnings that were given.
    """

    scores: Sequence[Score]
    seconds: float
    crashed: str = ""
    warned: Sequence[Warned] = ()


class _Context:
    """A data set with its splits and the moments of all its rows."""

    def __init__(self, data: DividedData):
        self.data, self.dataset = data, data.dataset
        # Sums over the whole data set serve every split, and no single method is charged for them.
        self.moments = Moments.from_arrays(self.dataset.X, self.dataset.Y, Memo(charged=False))
        self.choices = Memo(charged=False)  # of parameters, once for the data set
        # moments and what they keep refer to each other: where arrays are large, they must not wait for the collector
        n, d = self.dataset.n_instances, self.dataset.n_features
        self.large = n * max(n, d) >= 5_000_000

    def training(self, split: Split) -> Moments:
        """The moments of a split's training rows; rows whose labels are hidden are included without labels."""
        if not len(split.unlabelled):
            return self.moments.without(split.test)
        X, Y = self.dataset.X, self.dataset.Y
        labelled = Moments.from_arrays(frozen(X[split.train]), frozen(Y[split.train]))
        return labelled.with_unlabelled(frozen(X[split.unlabelled]))


class Computer:
    """Computes groups in this process, one after another, and keeps what they share: the data set and its moments.

    Parameters
    ----------
    data : DividedData or None
        A data set that has been read already; any other is read when the first of its groups is computed.
    """

    def __init__(self, data: DividedData | None = None):
        self._context = None if data is None else _Context(data)

    def prepare(self, group: Group) -> None:
        """Import and compile all code that a group needs, and read its data set: their time is not that of a trial.

        Raises
        ------
        UserError
            When the data set is not available any more.
        """
        with protect_process():
            for trial in group.trials:
                _warm_up(trial)
            self._read(group.source)

    def compute(self, group: Group) -> GroupResult:
        """Compute the trials of a group; one that fails has its traceback in its `Score`, and the others are computed.

        A trial fails if its method's source code has changed since the run was planned.

        Raises
        ------
        UserError
            When the data set is not available any more.
        """
        self.prepare(group)
        with protect_process():
            context = self._read(group.source)
            scores = []
            trials = []
            for trial in group.trials:
                changed = _changed(trial)
                if changed:
                    scores.append(Score(trial.key, None, changed))
                else:
                    trials.append(trial)
            start = time.perf_counter()
            with warned.counting() as log, _collected() if context.large else contextlib.nullcontext():
                for same_rows in group_by(trials, lambda trial: str(trial.labelled)):
                    scores += _run_rows(same_rows, group, context)
            seconds = time.perf_counter() - start
        return GroupResult(scores, seconds, warned=log.warned())

    def _read(self, source: DataSource) -> _Context:
        if self._context is None or self._context.data.source != source:
            self._context = None  # so that no two data sets are in memory
            self._context = _Context(source.read())
        return self._context


@contextlib.contextmanager
def _collected() -> Iterator[None]:
    """Free unused objects that a `with` block made; older objects, above all modules, are not examined."""
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()


def _changed(trial: Trial) -> str:
    """Why this process cannot compute a trial as it was planned; empty if it can."""
    try:
        here = program_version(trial.spec)
    except UserError as error:  # it cannot be imported any more
        return str(error)
    if here == trial.program:
        return ""
    return f"the source code of {trial.method}, or of what it uses, changed while the run was going on; run again"


def _warm_up(trial: Trial) -> None:
    """Load or compile what a trial's classes need, before anything is timed."""
    with contextlib.suppress(UserError):  # a class whose source has changed, which fails the trial
        for component in trial.family.components():
            for cls in component.classes():
                _warm_up_class(cls)


@cache
def _warm_up_class(cls: type) -> None:
    with contextlib.suppress(Exception, SystemExit):  # the trials that use it will fail by it
        warm_up(cls)


@dataclass(frozen=True)
class _Rows:
    """The data that a split's trials are fitted from and tested on; `keep` writes what is kept of a fitted one."""

    moments: Moments
    X_test: Any
    Y_test: Any
    keep: Keeper | None = None


def _run_rows(trials: Sequence[Trial], group: Group, context: _Context) -> list[Score]:
    """The scores of those trials of a group that have the same rows with labels."""
    try:
        split = context.data.split(group.split, trials[0].labelled)
        X_test = frozen(context.dataset.X[split.test])
        Y_test = frozen(as_dense(context.dataset.Y[split.test]))
        rows = _Rows(context.training(split), X_test, Y_test)
    except BaseException as error:  # no memory for this split, say
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    if group.keeping is not None:
        test = {"dataset": context.dataset, "rows": split.test, "X": X_test, "Y": Y_test}
        rows = replace(rows, keep=partial(group.keeping.keep, **test))
    scores = _run_all([t for t in trials if t.family.tune is None], group, rows)
    for tuned in by_family([t for t in trials if t.family.tune is not None]):
        scores += _run_tuned(tuned, group, context, rows, split.train)
    return scores


def _run_tuned(trials: Sequence[Trial], group: Group, context: _Context, rows: _Rows, train: Integers) -> list[Score]:
    """Choose the parameters of a family's trials, then run them; a choice for the split counts as fit time."""
    tune, dataset = trials[0].family.tune, trials[0].dataset
    assert tune is not None
    specs = [trial.spec for trial in trials]
    n_labels = rows.moments.n_labels

    def measure(specs: Sequence[MethodSpec]) -> Callable[[Moments, Any, Any], list[float]]:
        metrics = (("criterion", criterion.name, criterion.options),)
        families = families_of(specs, n_labels) if group.share else specs
        points = zip(specs, families, strict=True)
        tried = [replace(trials[0], key=str(i), spec=spec, family=family) for i, (spec, family) in enumerate(points)]

        def of_fold(moments: Moments, X: Any, Y: Any) -> list[float]:
            scores = _run_all(tried, replace(group, metrics=metrics, by_label=()), _Rows(moments, X, Y))
            found = {score.key: score.values or {} for score in scores}
            return [found[trial.key].get("criterion", math.nan) for trial in tried]

        return of_fold

    def choose_from(moments: Moments, numbers: Integers, name: str) -> list[Choice]:
        def fold(rows: Integers) -> Splits:
            return context.data.folds(tune.n_folds, numbers[rows], name)

        return choose(specs, tune, moments, dataset, (group.seed, name), fold, criterion, measure)

    try:
        criterion = tune.criterion(group.metrics)
        with metered() as choosing:
            if tune.scope == "dataset":
                key = digest([trials[0].method, *(spec.plain() for spec in specs)])
                every = np.arange(context.dataset.n_instances)
                choices = context.choices.get(key, lambda: choose_from(context.moments, every, f"{dataset}, tuning"))
            else:
                choices = choose_from(rows.moments, train, f"{dataset}, split {group.split}, tuning")
    except BaseException as error:
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    # A choice that serves all splits is recorded with what it tried by one of them.
    recorded = {
        trial.key: tuple((_texts(point), value) for point, value in choice.tried)
        for trial, choice in zip(trials, choices, strict=True)
        if tune.scope == "split" or group.split == 0
    }
    points = {t.key: choice.point for t, choice in zip(trials, choices, strict=True) if choice.point is not None}
    settled = [replace(t, spec=without_tune(t.spec, points[t.key])) for t in trials if t.key in points]
    specs = [trial.spec for trial in settled]
    families = families_of(specs, n_labels) if group.share else specs
    ready = [replace(trial, family=family) for trial, family in zip(settled, families, strict=True)]
    failure = f"tune: no point of the search could be fitted and measured by {criterion.name}"
    scores = [Score(trial.key, None, failure) for trial in trials if trial.key not in points]
    for score in _run_all(ready, group, rows, choosing.seconds):
        scores.append(replace(score, chosen=_texts(points[score.key]), tried=recorded.get(score.key, ())))
    return scores


def _texts(point: Point) -> tuple[tuple[str, str], ...]:
    return tuple((path, method_text(value)) for path, value in point.items())


def _run_all(trials: Sequence[Trial], group: Group, rows: _Rows, seconds: float = 0.0) -> list[Score]:
    """The scores of trials, family by family; `seconds` were spent on each before it was fitted."""
    scores: list[Score] = []
    if not group.share:
        trials = [_alone(trial) for trial in trials]
    for family in by_family(trials):
        own = rows if group.share else replace(rows, moments=Moments.from_arrays(*rows.moments.rows()))
        with protect_process():
            scores += _run_family(family, group, own, seconds)
    return scores


def _alone(trial: Trial) -> Trial:
    """The trial with a learner that fits every output by itself, and a fit of its own."""
    spec = trial.spec.model_copy(update={"learner": separated(trial.spec.learner)})
    return replace(trial, spec=spec, family=spec)


def _run_family(trials: Sequence[Trial], group: Group, rows: _Rows, seconds: float) -> list[Score]:
    """Fit once and score the trials that the fit serves."""
    family = trials[0].family
    warned.of_method(trials[0].method)
    try:
        estimator = seeded(build(family), group.seed, trials[0])
        with metered() as fitting:
            # the test rows are those that the moments leave out
            output = estimator.output_left_out(rows.moments) if rows.keep is None else None
            if output is None:
                estimator.fit_moments(rows.moments, own_parts=True)
        start = time.perf_counter()
        if output is None:
            output = estimator.output(rows.X_test)
        output_seconds = time.perf_counter() - start
        wanted = {find(name).needs for _, name, _ in group.metrics} | {BY_LABEL[name].needs for name in group.by_label}
        space, code = estimator.label_space_, code_part(family)
        parameter = code.declaration().size_parameter if code is not None else ""
        learned = is_fitted_to_scores(estimator.threshold)
        facts = features_kept(estimator) if "features" in wanted else {}
        facts |= {"n_training": rows.moments.n, "label_counts": np.rint(rows.moments.mean_y * rows.moments.n)}
        if "probabilities" in wanted:
            facts["probabilities"] = estimator.probabilities(rows.X_test)
        bound = space.error_terms(rows.Y_test, output) if "bound" in wanted and isinstance(space, LabelSpace) else None
    except BaseException as error:
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    scores = []
    for trial in trials:
        try:
            part = code_part(trial.spec) if trial.spec is not family else None
            size = part.value(parameter) if part is not None else None
            fit_seconds = seconds + fitting.seconds
            if learned:
                with metered() as refitting:
                    estimator.threshold_of(size)
                fit_seconds += refitting.seconds
            start = time.perf_counter()
            labels = estimator.labels_of(output, size)
            outcome = Outcome(
                Counts(rows.Y_test, labels),
                fit_seconds=fit_seconds,
                predict_seconds=output_seconds + time.perf_counter() - start,
                **facts,
            )
            if wanted & {"scores", "top", "any"}:
                found = estimator.scores(rows.X_test, output, size)
                outcome = replace(outcome, scores=None if found is None else Scores(rows.Y_test, found, group.keep_top))
            if bound is not None:
                last = (output.shape[1] if size is None else space.size_of(size)) - 1
                outcome = replace(outcome, encoding_error=float(bound[0][last]), prediction_error=float(bound[1][last]))
            values = evaluate(outcome, {label: (name, options) for label, name, options in group.metrics})
            if rows.keep is not None:
                rows.keep(trial, estimator.settled(size))
            of_labels = {name: tuple(each.tolist()) for name, each in evaluate_labels(outcome, group.by_label).items()}
            scores.append(Score(trial.key, values, of_labels=of_labels))
        except BaseException as error:
            scores.append(Score(trial.key, None, _explain(error)))
    return scores


def _explain(error: BaseException) -> str:
    """The traceback that is recorded for a failed trial, as text that can be written, and shortened if it is long.

    If a signal to end the run has been received, `Stop` is raised instead, whatever exception compiled code has made of
    it. Any other exception of a method, SystemExit and KeyboardInterrupt included, is a failure of its trial.
    """
    raise_if_stopped()
    lines = [str(error)] if isinstance(error, UserError) else traceback.format_exception(error, limit=_FRAMES)
    text = "".join(lines).rstrip().encode(errors="backslashreplace").decode()
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
