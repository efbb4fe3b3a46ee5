"""The computing of trials: from those of one split to their scores.

Trials of one split form a group, which one worker computes: the methods share the split's `Moments`, and the points of
a sweep that differ only in the number of code dimensions share one fit. With `share: false` they share nothing, and
each output is fitted by itself, so that times are those of a program which does so.
"""

from __future__ import annotations

import gc
import math
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from mlcdr.data.dataset import Dataset
from mlcdr.errors import UserError
from mlcdr.experiment.data_source import DataSource, Handed
from mlcdr.experiment.digests import digest
from mlcdr.experiment.estimators import build, features_kept, seeded
from mlcdr.experiment.families import code_part, families_of, size_parameter
from mlcdr.experiment.model import Experiment, MethodSpec, method_text
from mlcdr.experiment.splits import Split
from mlcdr.experiment.trials import Score, Trial, by_family
from mlcdr.experiment.tune import Criterion
from mlcdr.methods.component_changes import separated
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import LabelSpace, as_dense, is_fitted_to_scores
from mlcdr.metrics import METRICS, Counts, Outcome, evaluate
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen
from mlcdr.processes import protect_process, raise_if_stopped
from mlcdr.run.artifacts import Keeping
from mlcdr.run.choose import choose, without_tune

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


def groups(
    experiment: Experiment, source: DataSource, trials: Iterable[Trial], keeping: Keeping | None = None
) -> Iterator[Group]:
    """The trials by split, in order of the splits."""
    by_split: dict[int, list[Trial]] = {}
    for trial in trials:
        by_split.setdefault(trial.split, []).append(trial)
    metrics = tuple((m.label, m.name, m.params) for m in experiment.metrics)
    for split in sorted(by_split):
        yield Group(source, split, tuple(by_split[split]), metrics, experiment.seed, experiment.share, keeping)


class _Context:
    """A data set in a worker's hands, with its splits and the moments of all its rows."""

    def __init__(self, handed: Handed):
        self.dataset, self.splits = handed.dataset, handed.splits
        # Sums over the whole data set serve every split, and no single method is charged for them.
        self.moments = Moments.from_arrays(self.dataset.X, self.dataset.Y, Memo(charged=False))
        self.choices = Memo(charged=False)  # of parameters, once for the data set
        # moments and what they keep refer to each other: where arrays are large, they must not wait for the collector
        self.large = self.dataset.n_instances * self.dataset.n_features >= 5_000_000

    def training(self, split: Split) -> Moments:
        """The moments of a split's training rows; those whose labels are hidden come along without them."""
        if not len(split.unlabelled):
            return self.moments.without(split.test)
        X, Y = self.dataset.X, self.dataset.Y
        labelled = Moments.from_arrays(frozen(X[split.train]), frozen(Y[split.train]))
        return labelled.with_unlabelled(frozen(X[split.unlabelled]))


_lock = threading.Lock()


@lru_cache(maxsize=2)  # groups come data set by data set; two threads may stand on either side of a border
def _context(given: DataSource | Handed) -> _Context:
    return _Context(given if isinstance(given, Handed) else Handed.of(given))


def read_data(group: Group, handed: Handed | None = None) -> _Context:
    """The data set that is handed over, or else what the group's source gives here, kept for the next group.

    Raises
    ------
    UserError
        When the data set cannot be had any more.
    """
    with _lock:
        return _context(handed or group.source)


def run_group(group: Group, handed: Handed | None = None) -> list[Score]:
    """Compute the trials of one split; a trial that fails has its traceback in its `Score`, and the others go on.

    Raises
    ------
    UserError
        When the data set cannot be had any more.
    """
    context = read_data(group, handed)
    scores = []
    for labelled in dict.fromkeys(trial.labelled for trial in group.trials):
        scores += _run_rows([t for t in group.trials if t.labelled == labelled], labelled, group, context)
    if context.large:
        gc.collect()
    return scores


def _run_rows(trials: Sequence[Trial], labelled: float | int | None, group: Group, context: _Context) -> list[Score]:
    """The scores of those trials of a group that have the same rows with labels."""
    try:
        split = group.source.hiding(context.splits[group.split], labelled, context.dataset)
        moments = context.training(split)
        X_test = frozen(context.dataset.X[split.test])
        Y_test = frozen(as_dense(context.dataset.Y[split.test]))
    except BaseException as error:  # no memory for this split, say
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    keep = _keeper(group, context.dataset, split, X_test, Y_test)
    scores = _run_all([t for t in trials if t.family.tune is None], group, moments, X_test, Y_test, keep=keep)
    for tuned in by_family([t for t in trials if t.family.tune is not None]):
        scores += _run_tuned(tuned, group, context, moments, X_test, Y_test, keep)
    return scores


def _keeper(group: Group, dataset: Dataset, split: Split, X_test: Any, Y_test: Any) -> Keeper | None:
    """What keeps a model and what it says of the test rows; None where nothing is to be kept."""
    keeping = group.keeping
    if keeping is None:
        return None
    return lambda trial, model: keeping.keep(trial, model, dataset, split.test, X_test, Y_test)


def _run_tuned(
    trials: Sequence[Trial],
    group: Group,
    context: _Context,
    moments: Moments,
    X_test: Any,
    Y_test: Any,
    keep: Keeper | None,
) -> list[Score]:
    """Choose the parameters of a family's trials, then run them; a choice for the split is a part of the fit's time."""
    tune = trials[0].family.tune
    assert tune is not None
    work = _Work(trials[0], group, moments.n_features, moments.n_labels)
    try:
        criterion = tune.criterion(group.metrics)
        specs = [trial.spec for trial in trials]
        with metered() as choosing:
            if tune.scope == "dataset":
                key = digest([trials[0].method, *(spec.plain() for spec in specs)])
                folds = (group.seed, f"{trials[0].dataset}, tuning")
                everything, name = context.moments, trials[0].dataset
                chosen = context.choices.get(key, lambda: choose(specs, everything, name, folds, criterion, work))
            else:
                folds = (group.seed, f"{trials[0].dataset}, split {group.split}, tuning")
                chosen = choose(specs, moments, trials[0].dataset, folds, criterion, work)
    except BaseException as error:
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    told = f"tune: no point of the grid could be fitted and measured by {criterion.name}"
    failed = [Score(trial.key, None, told) for trial, point in zip(trials, chosen, strict=True) if point is None]
    points = {trial.key: point for trial, point in zip(trials, chosen, strict=True) if point is not None}
    settled = [replace(t, spec=without_tune(t.spec, points[t.key])) for t in trials if t.key in points]
    families = work.families([trial.spec for trial in settled])
    ready = [replace(trial, family=family) for trial, family in zip(settled, families, strict=True)]
    scores = _run_all(ready, group, moments, X_test, Y_test, choosing.seconds, keep)
    shown = {key: tuple((path, method_text(value)) for path, value in point.items()) for key, point in points.items()}
    return [*failed, *(replace(score, chosen=shown[score.key]) for score in scores)]


@dataclass(frozen=True)
class _Work:
    """`choose.Work` for one method on one split."""

    trial: Trial
    group: Group
    n_features: int
    n_labels: int

    @property
    def may_share(self) -> bool:
        return self.group.share

    def values(
        self, specs: Sequence[MethodSpec], criterion: Criterion, moments: Moments, X: Any, Y: Any
    ) -> list[float]:
        inner = replace(self.group, metrics=(("criterion", criterion.name, criterion.options),))
        pairs = zip(specs, self.families(specs), strict=True)
        every = [replace(self.trial, key=str(i), spec=s, family=f) for i, (s, f) in enumerate(pairs)]
        found = {score.key: score for score in _run_all(every, inner, moments, X, Y)}
        return [(found[trial.key].values or {}).get("criterion", math.nan) for trial in every]

    def families(self, specs: Sequence[MethodSpec]) -> list[MethodSpec]:
        return families_of(specs, self.n_labels) if self.group.share else list(specs)

    def size(self, spec: MethodSpec, space: Any) -> int:
        part = code_part(spec)
        if part is None or spec.with_value(f"{part.family}.{size_parameter(part)}", None) is None:
            return space.n_components_
        return space.size_of(part.value(size_parameter(part)))

    def all_sizes(self, spec: MethodSpec) -> list[MethodSpec]:
        part = code_part(spec)
        path = f"{part.family}.{size_parameter(part)}" if part is not None else ""
        if part is None or spec.with_value(path, 1) is None:
            return [spec]
        space = part.build(check=False)
        largest = space.largest(self.n_features, self.n_labels) if isinstance(space, LabelSpace) else self.n_labels
        sizes = range(1, largest + 1)
        return [sized for size in sizes if (sized := spec.with_value(path, size)) is not None]


def _run_all(
    trials: Sequence[Trial],
    group: Group,
    moments: Moments,
    X_test: Any,
    Y_test: Any,
    seconds: float = 0.0,
    keep: Keeper | None = None,
) -> list[Score]:
    """The scores of trials, family by family; `seconds` were spent on each before it was fitted."""
    scores: list[Score] = []
    if not group.share:
        trials = [_alone(trial) for trial in trials]
    for family in by_family(trials):
        own = moments if group.share else Moments.from_arrays(*moments.rows())
        with protect_process():
            scores += _run_family(family, group, own, X_test, Y_test, seconds, keep)
    return scores


def _alone(trial: Trial) -> Trial:
    """The trial with a learner that fits every output by itself, and a fit of its own."""
    spec = trial.spec.model_copy(update={"learner": separated(trial.spec.learner)})
    return replace(trial, spec=spec, family=spec)


def _run_family(
    trials: Sequence[Trial],
    group: Group,
    moments: Moments,
    X_test: Any,
    Y_test: Any,
    seconds: float,
    keep: Keeper | None,
) -> list[Score]:
    family = trials[0].family
    try:
        estimator = seeded(build(family), group.seed, trials[0])
        with metered() as fitting:
            estimator.fit_moments(moments, own_parts=True)
        start = time.perf_counter()
        output = estimator.output(X_test)
        output_seconds = time.perf_counter() - start
        wanted = {METRICS[name].needs for _, name, _ in group.metrics}
        space, code = estimator.label_space_, code_part(family)
        parameter = size_parameter(code) if code is not None else ""
        learned = is_fitted_to_scores(estimator.threshold)
        features = features_kept(estimator) if "features" in wanted else {}
        bound = space.error_terms(Y_test, output) if "bound" in wanted and isinstance(space, LabelSpace) else None
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
                Counts(Y_test, labels),
                fit_seconds=fit_seconds,
                predict_seconds=output_seconds + time.perf_counter() - start,
                **features,
            )
            if bound is not None:
                last = (output.shape[1] if size is None else space.size_of(size)) - 1
                outcome = replace(outcome, encoding_error=float(bound[0][last]), prediction_error=float(bound[1][last]))
            values = evaluate(outcome, {label: (name, options) for label, name, options in group.metrics})
            if keep is not None:
                keep(trial, estimator.settled(size))
            scores.append(Score(trial.key, values))
        except BaseException as error:
            scores.append(Score(trial.key, None, _explain(error)))
    return scores


def _explain(error: BaseException) -> str:
    """What a failed trial is recorded with: its traceback, as text that can be written, and not without end.

    An exception that came of a signal which asks the run to end, whatever compiled code has made of it, goes on up.
    Anything else that a method raises is its failure, SystemExit and KeyboardInterrupt included.
    """
    raise_if_stopped()
    told = [str(error)] if isinstance(error, UserError) else traceback.format_exception(error, limit=_FRAMES)
    text = "".join(told).rstrip().encode(errors="backslashreplace").decode()
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
