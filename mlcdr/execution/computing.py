"""The computing of groups: from the trials of one split to their scores.

Trials of one split form a group, which one process computes: the methods share the split's `Moments`, and the points of
a sweep that differ only in the number of code dimensions share one fit.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Generator, Iterator, Sequence
from functools import cache, partial
from typing import Any

from mlcdr.errors import UserError
from mlcdr.execution import warned
from mlcdr.execution.fitting import NOTHING, Spent, fail, measures_memory, run_trials, unshared
from mlcdr.execution.groups import Group, GroupResult
from mlcdr.execution.memory import DataSetMemo, rising
from mlcdr.execution.rows import Rows
from mlcdr.execution.tuning import Choice, Seen, Tuning
from mlcdr.execution.warned import Warned
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.division import Split
from mlcdr.experiment.grouping import group_pairs
from mlcdr.experiment.keys import digest, program_version
from mlcdr.experiment.trials import Trial, TrialResult, by_family
from mlcdr.methods.contracts import as_dense, warm_up
from mlcdr.numerics.memo import Memo, metered
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.sums import frozen
from mlcdr.processes import Stop, protect_process, raise_if_stopped


class _Context:
    """A data set with its splits and the moments of all its rows."""

    def __init__(self, data: DividedData):
        self.data, self.dataset = data, data.dataset
        # Sums over the whole data set serve every split, and no single method is charged for them.
        self.moments = Moments.from_arrays(self.dataset.X, self.dataset.Y, DataSetMemo())
        self._choices = Memo(charged=False)  # of parameters, once for the data set

    def training(self, split: Split, tested: Any) -> Moments:
        """The moments of a split's training rows; rows whose labels are hidden are included without labels.

        `tested` are the test rows of X.
        """
        if not len(split.unlabelled):
            return self.moments.without(split.test, tested)
        X, Y = self.dataset.X, self.dataset.Y
        labelled = Moments.from_arrays(frozen(X[split.train]), frozen(Y[split.train]))
        return labelled.with_unlabelled(frozen(X[split.unlabelled]))

    def choose(self, tuning: Tuning) -> list[Choice]:
        """A choice of parameters by all rows of the data set, made once."""
        seen = Seen.whole(self.moments, self.dataset.name)
        key = digest([tuning.method, *(spec.plain() for spec in tuning.specs)])
        return self._choices.get(key, partial(tuning.choose, seen))


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
            for family in by_family(group.trials):
                _warm_up(family[0])
            self._read(group.source)

    def compute(self, group: Group) -> GroupResult:
        """Compute the trials of a group; see `parts`."""
        results: list[TrialResult] = []
        found: list[Warned] = []
        seconds = 0.0
        for part in self.parts(group, math.inf):
            results += part.results
            found += part.warned
            seconds += part.seconds
        return GroupResult(results, seconds, warned=found)

    def parts(self, group: Group, seconds: float) -> Generator[GroupResult, None, None]:
        """Compute the trials of a group; gives those that are finished after some seconds, and so on to the end.

        A trial that fails has its traceback in its result, and the others are computed. A trial fails if its method's
        source code has changed since the run was planned.

        Raises
        ------
        UserError
            When the data set is not available any more.
        Stop
            When a signal has come; what is finished is given before.
        """
        self.prepare(group)
        with protect_process():
            context = self._read(group.source)
        results = _run_group(group, context)
        with collected():
            more = True
            while more:
                finished: list[TrialResult] = []
                more = stopped = False
                start = time.perf_counter()
                with protect_process(), warned.counting() as log:
                    try:
                        raise_if_stopped()
                        for result in results:
                            finished.append(result)
                            more = time.perf_counter() - start >= seconds
                            if more:
                                break
                    except Stop:
                        stopped = True
                if finished:
                    yield GroupResult(finished, time.perf_counter() - start, warned=log.warned())
                if stopped:
                    raise Stop

    def _read(self, source: DataSource) -> _Context:
        if self._context is None or self._context.data.source != source:
            self._context = None  # so that no two data sets are in memory
            self._context = _Context(source.read())
        return self._context


@contextlib.contextmanager
def collected() -> Iterator[None]:
    """Free unused objects that a `with` block made; older objects, above all modules, are not examined.

    Moments and what they keep refer to each other, and the collector does not know how large their arrays are. It is on
    in the block, and afterwards as before: the command line starts without, and so may a user's program.
    """
    was_on = gc.isenabled()
    gc.enable()
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        if not was_on:
            gc.disable()


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


def _run_group(group: Group, context: _Context) -> Iterator[TrialResult]:
    """The result of each trial of a group as it is finished."""
    trials = []
    for family in by_family(group.trials):
        changed = _changed(family[0])
        if changed:
            for trial in family:
                yield TrialResult(trial.key, None, changed)
        else:
            trials += family
    for same_rows in group_pairs((str(trial.labelled), trial) for trial in trials).values():
        yield from _run_rows(same_rows, group, context)


def _run_rows(trials: Sequence[Trial], group: Group, context: _Context) -> Iterator[TrialResult]:
    """The results of those trials of a group that have the same rows with labels."""
    try:
        split = context.data.split(group.split, trials[0].labelled)
        X = frozen(context.dataset.X[split.test])
        Y = frozen(as_dense(context.dataset.Y[split.test]))
        rows = Rows(context.training(split, X), X, Y, context.dataset, split.test)
    except BaseException as error:  # no memory for this split, say
        yield from fail(trials, error)
        return
    yield from run_trials([trial for trial in trials if trial.family.tune is None], group, rows)
    for tuned in by_family(trial for trial in trials if trial.family.tune is not None):
        yield from _run_tuned(tuned, group, context, rows, split)


def _run_tuned(
    trials: Sequence[Trial],
    group: Group,
    context: _Context,
    rows: Rows,
    split: Split,
) -> Iterator[TrialResult]:
    """Choose the parameters of a family's trials, then compute them; a choice for the split counts as fit time."""
    try:
        tuning = Tuning(trials, group, context.data)
        if tuning.tune.scope == "dataset":
            choices, spent = context.choose(tuning), NOTHING
        else:
            name = f"{context.dataset.name}, split {group.split}, tuning"
            seen = Seen(unshared(rows, group).moments, split.train, name)
            with rising(measures_memory(group)) as memory, metered() as choosing:
                choices = tuning.choose(seen)
            spent = Spent(choosing.seconds, memory.bytes)
    except BaseException as error:
        yield from fail(trials, error)
        return
    yield from tuning.run(choices, rows, spent)
