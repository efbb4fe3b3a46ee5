"""What a run would do, without doing it: trials, groups, what shares a fit, what is there already, what it may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcdr.config.loading import experiment_yaml
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import Trial
from mlcdr.results.record import Kept, kept
from mlcdr.run.artifacts import Keeping
from mlcdr.run.runner import Listener, Silent, prepare


@dataclass(frozen=True)
class DatasetSurvey:
    """What a run would do on one data set.

    Attributes
    ----------
    name : str
    n_instances, n_features, n_labels : int
    trials, done, failed : int
        Planned; with scores in the folder (and all that is to be kept); tried in vain, which a run tries again.
    groups, fits : int
        Of what a run would compute now (`pending`): splits, each the work of one worker, and fits in them.
    seconds : float or None
        Of one worker for what a run would compute now, by past timings; None without any.
    """

    name: str
    n_instances: int
    n_features: int
    n_labels: int
    trials: int
    done: int
    failed: int
    groups: int
    fits: int
    seconds: float | None

    @property
    def pending(self) -> int:
        """How many trials a run would compute now."""
        return self.trials - self.done


@dataclass(frozen=True)
class Survey:
    """What a run would do.

    `shared` has a line for each method that one fit serves at several points, or that is tuned in each trial.
    """

    folder: Path
    datasets: tuple[DatasetSurvey, ...]
    shared: tuple[str, ...]


def survey(experiment: Experiment, out: Path, listener: Listener | None = None) -> Survey:
    """What `run` with the same arguments would do; reads the data sets and writes nothing.

    Raises
    ------
    UserError
        When a data set cannot be had, or what is in the folder cannot be read.
    """
    folder = out / experiment.name
    experiment_yaml(experiment)  # what is too long for a run is so for its plan
    there = kept(folder)
    datasets = []
    shared: dict[str, None] = {}
    for spec in experiment.datasets:
        part = prepare(experiment, spec, listener or Silent())
        datasets.append(_of_dataset(part.name, part.facts, part.trials, there, Keeping.of(experiment.keep, folder)))
        shared |= dict.fromkeys(_shared(part.trials))
    return Survey(folder, tuple(datasets), tuple(shared))


def _of_dataset(
    name: str, facts: dict[str, int], trials: Sequence[Trial], there: Kept, keeping: Keeping | None
) -> DatasetSurvey:
    pending = [
        trial
        for trial in trials
        if there.status.get(trial.key) != "done" or (keeping is not None and keeping.lacks(trial))
    ]
    cost = there.costs.get(name)
    return DatasetSurvey(
        name=name,
        n_instances=facts["n_instances"],
        n_features=facts["n_features"],
        n_labels=facts["n_labels"],
        trials=len(trials),
        done=len(trials) - len(pending),
        failed=sum(there.status.get(trial.key) == "failed" for trial in trials),
        groups=len({trial.split for trial in pending}),
        fits=len({(trial.split, id(trial.family)) for trial in pending}),
        seconds=None if cost is None else cost * len(pending),
    )


def _shared(trials: Sequence[Trial]) -> list[str]:
    """`CPLST: one fit (20% …) serves 5 points`, for the methods of one data set."""
    served: dict[tuple[str, int], dict[tuple[tuple[str, str], ...], Trial]] = {}
    for trial in trials:
        served.setdefault((trial.method, id(trial.family)), {})[trial.point] = trial
    lines = []
    for (method, _), points in served.items():
        family = next(iter(points.values())).family
        if family.tune is not None:
            n = 1
            for values in family.tune.grid.values():
                n *= len(values)
            lines.append(
                f"{method}: each choice (scope {family.tune.scope}) fits {n} points on {family.tune.n_folds} folds"
            )
        elif len(points) > 1:
            (at,) = (dict(point) for point, trial in points.items() if trial.spec == family)
            others = [dict(point) for point, trial in points.items() if trial.spec != family]
            varied = [path for path in at if any(each[path] != at[path] for each in others)]
            apart = "; ".join(f"{path} {', '.join(each[path] for each in others)}" for path in varied)
            lines.append(f"{method}: one fit at {', '.join(f'{k} {v}' for k, v in at.items())} serves {apart} too")
    return lines
