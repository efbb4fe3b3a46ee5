"""What is to be computed, and the computing of it: from an experiment to trials, and from a split's trials to scores.

A trial is one method at one point of the sweep on one split of one data set. Its key is a digest of all that determines
its scores, so a rerun does what is missing and nothing else. Trials of one split form a group, which one worker
computes: the methods share the split's `Moments`, and the points of a sweep that differ only in the number of code
dimensions share one fit. With `share: false` they share nothing, and each output is fitted by itself, so that times are
those of a program which does so.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mlcdr import lean_sklearn  # noqa: F401  (before anything of scikit-learn)

# isort: split
from sklearn.base import is_classifier

from mlcdr import held_out, registry
from mlcdr.composition import ComposedClassifier
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.errors import DataError, UserError
from mlcdr.experiment import choose as choose_module
from mlcdr.experiment import choose_kernel
from mlcdr.experiment import tune as tune_module
from mlcdr.experiment.choose import choose, without_tune
from mlcdr.experiment.components import separated
from mlcdr.experiment.config import DatasetSpec, Experiment, MethodSpec, method_text
from mlcdr.experiment.keeping import Keeping
from mlcdr.experiment.model import LABELLED
from mlcdr.experiment.outputs import independent_outputs
from mlcdr.experiment.splits import (
    Split,
    Splits,
    SplitSpec,
    hide_labels,
    make_splits,
    read_labelled,
    seed_of,
    seed_sequence,
)
from mlcdr.experiment.tune import Criterion
from mlcdr.label_space.linear import as_dense
from mlcdr.linalg import n_kept
from mlcdr.metrics import METRICS, Counts, Outcome, evaluate
from mlcdr.moments import Moments
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.sums import frozen
from mlcdr.registry import Component

Keeper = Callable[["Trial", ComposedClassifier], None]

# How a trial is computed is a part of what its scores depend on.
_SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
_TUNING = hashlib.sha256(
    b"".join(
        Path(str(module.__file__)).read_bytes() for module in (choose_module, choose_kernel, tune_module, held_out)
    )
).hexdigest()[:16]
PROGRAM = f"{_SOURCE[:8]}{_TUNING[:8]}"  # to tell whether another process would compute alike


@dataclass(frozen=True)
class Trial:
    """One method at one point of the sweep on one split of one data set.

    Attributes
    ----------
    key : str
        Digest of all that determines the scores.
    point : tuple of (path, text)
        The swept values, as the config wrote them.
    spec : MethodSpec
        The method with the point's values put in.
    family : MethodSpec
        The method to fit: `spec`, or, where one fit serves several sizes of the code, that of the largest.
    labelled : float, int or None
        How many training rows keep their labels, where that is swept.
    """

    key: str
    dataset: str
    method: str
    point: tuple[tuple[str, str], ...]
    split: int
    spec: MethodSpec
    family: MethodSpec
    labelled: float | int | None = None


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


@dataclass(frozen=True)
class DataSource:
    """Where a worker gets the data set and its splits from.

    `stamp` says what was found there when the run was planned; a worker that finds something else refuses it.
    """

    name: str
    options: tuple[tuple[str, Any], ...]
    splits: SplitSpec
    stamp: str = ""

    @classmethod
    def of(cls, spec: DatasetSpec, splits: SplitSpec) -> DataSource:
        """The source of one data set of an experiment."""
        part = "predefined" if splits.kind == "predefined" else "full"
        options = {key: tuple(v.items()) if isinstance(v, dict) else v for key, v in spec.params.items()}
        return cls(spec.name, (*sorted(options.items()), ("part", part)), splits)

    def load(self) -> Dataset:
        """The data set.

        Raises
        ------
        DataError
            When it cannot be found or read.
        """
        return load_dataset(self.name, **dict(self.options))

    def divide(self, dataset: Dataset) -> Splits:
        """Its splits."""
        n_train = dataset.n_train
        if getattr(self.splits, "train_size", None) == "predefined":  # the rows are the full file's all the same
            n_train = load_dataset(self.name, **{**dict(self.options), "part": "predefined"}).n_train
        return make_splits(self.splits, dataset.name, dataset.n_instances, n_train)

    def hiding(self, split: Split, labelled: float | int | None, dataset: Dataset) -> Split:
        """One of its splits with labels hidden, where a sweep says how many are kept."""
        return split if labelled is None else hide_labels(split, labelled, seed_of(self.splits), dataset.name)

    def stamped(self, dataset: Dataset) -> DataSource:
        """The same source, with the data set and the splits that it gives now."""
        return replace(self, stamp=_digest([dataset.checksum, self.divide(dataset)[0].identity]))


@dataclass(frozen=True)
class Score:
    """What came of a trial: values by metric label, or the traceback of what went wrong.

    `chosen`: the parameters that were tuned, as (path, text).
    """

    key: str
    values: Mapping[str, float] | None
    error: str | None = None
    chosen: tuple[tuple[str, str], ...] = ()


# -------------------------------------------------------------------- the plan


def plan(experiment: Experiment, source: DataSource, dataset: Dataset) -> list[Trial]:
    """All trials of one data set: by method, point of the sweep and split, in the config's order."""
    splits = list(source.divide(dataset))
    metrics = sorted([m.label, m.name, m.params] for m in experiment.metrics)  # their order changes no value
    trials = []
    for method in experiment.methods:
        points = experiment.points(method)
        specs = [experiment.method_at(method, point) for point in points]
        families = _families_apart(specs, points, dataset.n_labels) if experiment.share else specs
        for point, spec, family in zip(points, specs, families, strict=True):
            labelled = read_labelled(point.get(LABELLED))
            identities = [source.hiding(split, labelled, dataset).identity for split in splits]
            shown = tuple((path, method_text(value)) for path, value in point.items())
            shared = {
                "data": [dataset.name, dataset.checksum],  # the name seeds a method's randomness
                "method": [method, spec.plain(), [component.version() for component in spec.components()]],
                "metrics": metrics,
                "seed": experiment.seed,
                "share": experiment.share,
                "evaluation": [_SOURCE, _TUNING] if spec.tune is not None else _SOURCE,
            }
            if not experiment.share:
                shared["separate"] = separated(spec.learner).version()
            trials += [
                Trial(_digest({**shared, "split": identity}), dataset.name, method, shown, i, spec, family, labelled)
                for i, identity in enumerate(identities)
            ]
    return trials


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _families_apart(
    specs: Sequence[MethodSpec], points: Sequence[Mapping[str, Any]], n_labels: int
) -> list[MethodSpec]:
    """`_families`, with points that differ in which labels are hidden kept apart: they are fits on other rows."""
    result = list(specs)
    kinds: dict[str, list[int]] = {}
    for i, point in enumerate(points):
        kinds.setdefault(method_text(point.get(LABELLED)), []).append(i)
    for indices in kinds.values():
        for i, family in zip(indices, _families([specs[i] for i in indices], n_labels), strict=True):
            result[i] = family
    return result


def _families(specs: Sequence[MethodSpec], n_labels: int) -> list[MethodSpec]:
    """For each of a method's specs the one to fit in its stead: the same with the largest code, where one fit serves.

    That is so where the label space's directions are nested and the learner fits each output as if it were alone (see
    `mlcdr.experiment.outputs`).
    """
    largest: dict[str, MethodSpec] = {}
    names = []
    for spec in specs:
        name = json.dumps(spec.plain(), sort_keys=True)
        size = _size_path(spec)
        if size is not None:
            bare = spec.with_value(size, None)
            name = json.dumps((bare or spec).plain(), sort_keys=True)
            if name not in largest or _size(spec, n_labels) > _size(largest[name], n_labels):
                largest[name] = spec
        else:
            largest[name] = spec
        names.append(name)
    return [largest[name] for name in names]


def _code(spec: MethodSpec) -> Component | None:
    """What gives the code its size: the dual space, or else the label space; nothing, where each part has its own."""
    return None if spec.instance_space else spec.dual_space or spec.label_space


def _size_path(spec: MethodSpec) -> str | None:
    """The path of the parameter that says how large the code is, if one fit serves all its values."""
    part = _code(spec)
    if part is None:
        return None
    space = registry.resolve(part.family, part.name)
    path = f"{part.family}.{_size_parameter(part)}"
    serves = getattr(space, "nested", False) and independent_outputs(spec.learner)
    return path if serves and spec.with_value(path, None) is not None else None


def _size_parameter(part: Component) -> str:
    return getattr(registry.resolve(part.family, part.name), "size_parameter", "n_components")


def _size(spec: MethodSpec, n_labels: int) -> int:
    part = _code(spec)
    assert part is not None
    dimensions = getattr(part.build(check=False), "n_dimensions", n_kept)  # as its `rounding`, if any, has it
    try:
        return int(dimensions(part.value(_size_parameter(part)), n_labels))
    except ValueError:  # more than there are labels: that trial will say so, and must not be the one fitted for others
        return -1


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


# -------------------------------------------------------------------- the work


@dataclass(frozen=True)
class Handed:
    """A data set and its splits, for a worker that is handed them since it may not have the files.

    Two are equal if they are of the same source: the second that a worker gets is not computed with anew.
    """

    source: DataSource
    dataset: Dataset = field(compare=False, repr=False)
    splits: Splits = field(compare=False, repr=False)

    @classmethod
    def of(cls, source: DataSource) -> Handed:
        """What a source gives.

        Raises
        ------
        DataError
            When it cannot be had any more, or is not what it was when the source was stamped.
        """
        dataset = source.load()
        if source.stamped(dataset) != source:
            raise DataError(f"{source.name}: the data set or its folds changed while the run was going on; run again")
        return cls(source, dataset, source.divide(dataset))


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


def run_group(group: Group, handed: Handed | None = None) -> list[Score]:
    """Compute the trials of one split; a trial that fails has its traceback in its `Score`, and the others go on.

    The data set is the one that is handed over, or else what the group's source gives here.

    Raises
    ------
    UserError
        When the data set cannot be had any more.
    """
    with _lock:
        context = _context(handed or group.source)
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
    except Exception as error:  # no memory for this split, say
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    keep = _keeper(group, context.dataset, split, X_test, Y_test)
    scores = _run_all([t for t in trials if t.family.tune is None], group, moments, X_test, Y_test, keep=keep)
    for tuned in _by_family([t for t in trials if t.family.tune is not None]):
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
                key = _digest([trials[0].method, *(spec.plain() for spec in specs)])
                folds = (group.seed, f"{trials[0].dataset}, tuning")
                everything, name = context.moments, trials[0].dataset
                chosen = context.choices.get(key, lambda: choose(specs, everything, name, folds, criterion, work))
            else:
                folds = (group.seed, f"{trials[0].dataset}, split {group.split}, tuning")
                chosen = choose(specs, moments, trials[0].dataset, folds, criterion, work)
    except Exception as error:
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
        return _families(specs, self.n_labels) if self.group.share else list(specs)

    def size(self, spec: MethodSpec, space: Any) -> int:
        part = _code(spec)
        if part is None or spec.with_value(f"{part.family}.{_size_parameter(part)}", None) is None:
            return space.n_components_
        return space.size_of(part.value(_size_parameter(part)))

    def all_sizes(self, spec: MethodSpec) -> list[MethodSpec]:
        part = _code(spec)
        path = f"{part.family}.{_size_parameter(part)}" if part is not None else ""
        if part is None or spec.with_value(path, 1) is None:
            return [spec]
        space = part.build(check=False)
        largest = space.largest(self.n_features, self.n_labels) if hasattr(space, "largest") else self.n_labels
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
    for family in _by_family(trials):
        own = moments if group.share else Moments.from_arrays(*moments.rows())
        scores += _run_family(family, group, own, X_test, Y_test, seconds, keep)
    return scores


def _alone(trial: Trial) -> Trial:
    """The trial with a learner that fits every output by itself, and a fit of its own."""
    spec = trial.spec.model_copy(update={"learner": separated(trial.spec.learner)})
    return replace(trial, spec=spec, family=spec)


def _by_family(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials that one fit serves, together."""
    families: dict[int, list[Trial]] = {}
    for trial in trials:
        families.setdefault(id(trial.family), []).append(trial)
    return list(families.values())


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
        estimator = _seeded(build(family), group.seed, trials[0])
        with metered() as fitting:
            estimator.fit_moments(moments, own_parts=True)
        start = time.perf_counter()
        output = estimator.output(X_test)
        output_seconds = time.perf_counter() - start
        wanted = {METRICS[name].needs for _, name, _ in group.metrics}
        space, code = estimator.label_space_, _code(family)
        parameter = _size_parameter(code) if code is not None else ""
        learned = hasattr(estimator.threshold, "fit")
        features = _features_kept(estimator) if "features" in wanted else {}
        bound = space.error_terms(Y_test, output) if "bound" in wanted and hasattr(space, "error_terms") else None
    except Exception as error:
        return [Score(trial.key, None, _explain(error)) for trial in trials]
    scores = []
    for trial in trials:
        try:
            part = _code(trial.spec) if trial.spec is not family else None
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
        except Exception as error:
            scores.append(Score(trial.key, None, _explain(error)))
    return scores


def _features_kept(estimator: ComposedClassifier) -> dict[str, Any]:
    """What the last step of the feature space tells of its dimensions (a dual space is none: its code is not kept); of
    an instance space, what that tells of its own, and of its clusters.
    """
    whole = estimator.learner_
    if getattr(whole, "decomposes_instances", False):
        told = {"cluster_instances": "cluster_sizes_", "cluster_labels": "cluster_n_labels_"}
        found = {key: getattr(whole, name) for key, name in told.items() if hasattr(whole, name)}
        kept = getattr(whole, "n_components_", None)
        return found | ({} if kept is None else {"n_dimensions": float(kept)})
    steps = [step for step in estimator.feature_steps_ if step is not estimator.label_space_]
    told = {"n_dimensions": "n_components_", "eigenvalue_share": "eigenvalue_share_", "objective": "final_objective_"}
    return {key: float(getattr(steps[-1], name)) for key, name in told.items() if steps and hasattr(steps[-1], name)}


def build(spec: MethodSpec) -> ComposedClassifier:
    """The estimator of a method, whose parameters have been checked with the config.

    An instance space is a classifier, and so a learner, that has the line as its own `classifier`; or the learner
    alone, if that is a classifier and there is nothing else.
    """
    line = ComposedClassifier(
        learner=spec.learner.build(check=False),
        label_space=spec.label_space.build(check=False) if spec.label_space else None,
        feature_space=[step.build(check=False) for step in spec.feature_space] or None,
        threshold=spec.threshold.build(check=False) if spec.threshold else None,
        dual_space=spec.dual_space.build(check=False) if spec.dual_space else None,
    )
    if spec.instance_space is None:
        return line
    alone = spec.components() == (spec.learner, spec.instance_space) and is_classifier(line.learner)
    whole = spec.instance_space.build(check=False)
    return ComposedClassifier(whole.set_params(classifier=line.learner if alone else line))


def _seeded(estimator: ComposedClassifier, seed: int, trial: Trial) -> ComposedClassifier:
    """Give every part with an open `random_state` one of its own, from the data set's, split's and method's names."""
    parts = [estimator.label_space, estimator.learner, *(estimator.feature_space or ()), estimator.dual_space]
    inner = getattr(estimator.learner, "classifier", None)
    if isinstance(inner, ComposedClassifier):  # `get_params` does not look into a list
        parts += inner.feature_space or ()
    for position, part in enumerate(parts):
        if part is None:
            continue
        # by scikit-learn's convention a parameter is an attribute; asking `get_params` takes far longer
        has_seed = any(name == "random_state" or hasattr(value, "get_params") for name, value in vars(part).items())
        if not has_seed or not hasattr(part, "get_params"):
            continue
        for name, value in sorted(part.get_params().items()):
            if (name == "random_state" or name.endswith("__random_state")) and value is None:
                sequence = seed_sequence(seed, trial.dataset, trial.split, trial.method, position, name)
                part.set_params(**{name: int(sequence.generate_state(1)[0])})
    return estimator


def _explain(error: Exception) -> str:
    """What a failed trial is recorded with; an interrupt that compiled code has wrapped is none and goes on up."""
    cause: BaseException | None = error
    while cause is not None:
        if not isinstance(cause, Exception):
            raise cause
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, UserError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()
