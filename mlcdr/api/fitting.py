"""`fit`: a method of an experiment fitted to all rows of a data set, as a model for new data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.api.loading import find_folder, load_experiment
from mlcdr.api.memory import as_datasets
from mlcdr.errors import UserError, suggest_name
from mlcdr.standard_streams import print_notice

if TYPE_CHECKING:
    from mlcdr.api.loading import Changes, Config
    from mlcdr.api.results import Results
    from mlcdr.execution.models import Model
    from mlcdr.experiment.model import DatasetSpec, Experiment


def fit(
    config: Config,
    method: str | None = None,
    *,
    dataset: str | None = None,
    at: Mapping[str, Any] | None = None,
    results: Results | str | Path | None = None,
    metric: str | None = None,
    out: str | Path | None = None,
    datasets: Mapping[str, Any] | None = None,
    set: Changes = (),
    quiet: bool = False,
    trust: bool = False,
) -> Model:
    """Fit a method of an experiment to all rows of a data set.

    A method that the experiment runs at several points (a sweep, or `tune: {scope: test}`) is fitted at one of them:
    the best one of its run. What it tunes itself is chosen again, by cross-validation within all rows. All labels are
    used, also where the experiment hides some.

    Parameters
    ----------
    config : path, mapping or Experiment
        As for `run`.
    method : str, optional
        A method of the experiment; it may be left out where there is one.
    dataset : str, optional
        A data set of the experiment; it may be left out where there is one.
    at : mapping of key path to value, optional
        Values of the sweep: only points that have them are candidates. `{"label_space.n_components": "40%"}`.
    results : Results or path, optional
        The results of the experiment, by which the best of several candidates is found.
    metric : str, optional
        The metric by whose mean over the splits a point is the best; default: the experiment's first.
    out : path, optional
        Write the model to this file, which ends in `.skops` or `.joblib`.
    datasets, set
        As for `run`.
    quiet : bool
        Do not print which point was taken and what was chosen.
    trust : bool
        As for `run`.

    Returns
    -------
    Model
        With `predict` for new rows, whose columns are read as those of the data set.

    Raises
    ------
    UserError
        When the config, the data set or the results are wrong, or the method cannot be fitted.
    """
    from mlcdr.data import held
    from mlcdr.execution.models import check_model_path, write_model_as
    from mlcdr.experiment.commands import refuse_commands

    if out is not None:
        check_model_path(Path(out))
    announce = _say_nothing if quiet else print_notice
    given = as_datasets(datasets)
    digests = {name: each.checksum for name, each in given.items()}
    with held.holding(given.values()):
        experiment = load_experiment(config, set, announce=announce, held=digests)
        name = _find(experiment, "method", method, experiment.methods)
        specs = {spec.short_name(experiment.splits.part): spec for spec in experiment.datasets}
        spec = specs[_find(experiment, "data set", dataset, specs)]
        if not trust:
            refuse_commands(experiment, [name])
        folder = None if results is None else find_folder(results)
        model, X = _fit(experiment, name, spec, at or {}, folder, metric, announce)
    if out is not None:
        write_model_as(Path(out), model, X)
    return model


def _fit(
    experiment: Experiment,
    method: str,
    spec: DatasetSpec,
    at: Mapping[str, Any],
    folder: Path | None,
    metric: str | None,
    announce: Callable[[str], None],
) -> tuple[Model, Any]:
    """The model, and the rows (n×d) that it was fitted to."""
    from mlcdr.execution.all_rows import Candidates, fit_to_all_rows

    candidates = Candidates.of(experiment, method, spec, at)
    dataset = candidates.data.dataset
    for text in dataset.notices:
        announce(f"{dataset.name}: {text}")
    trial, found = candidates.choose(folder, metric)
    if found:
        announce(f"{method}: {found}")
    model, chosen = fit_to_all_rows(candidates, trial)
    if chosen:
        announce(f"{method}: {chosen}")
    return model, dataset.X


def _find(experiment: Experiment, what: str, name: str | None, known: Collection[str]) -> str:
    """The name of a method, or a data set, of an experiment; of its only one if none is given."""
    if name is None and len(known) == 1:
        (name,) = known
    if name is None:
        raise UserError(f"{experiment.name}: which {what}? ({', '.join(known)})")
    if name not in known:
        raise UserError(f"{experiment.name}: no {what} {name!r}{suggest_name(name, known)} ({', '.join(known)})")
    return name


def _say_nothing(text: str) -> None:
    """Where a caller is quiet."""
