"""Running an experiment, and writing its tables and figures: what the command `run` and `mlcdr.run` share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from mlcdr.api.loading import load_experiment
from mlcdr.api.memory import as_datasets
from mlcdr.api.progress import make_listener
from mlcdr.errors import FailedTrialsWarning, ResultsError, UserError, describe, plural
from mlcdr.standard_streams import print_notice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlcdr.api.loading import Changes, Config
    from mlcdr.api.results import Results
    from mlcdr.execution.writing import RunReport
    from mlcdr.experiment.model import Experiment
    from mlcdr.results.results import Results as Found


def run(
    config: Config,
    *,
    datasets: Mapping[str, Any] | None = None,
    out: str | Path | None = "results",
    set: Changes = (),
    jobs: int = 0,
    fresh: bool = False,
    quiet: bool = False,
    backend: Literal["loky", "dask"] = "loky",
    scheduler: str | None = None,
    trust: bool = False,
    part: str | tuple[int, int] | None = None,
) -> Results:
    """Run an experiment as `mlcdr run` does; trials that are finished in the results folder are not computed again.

    Parameters
    ----------
    config : path, mapping or Experiment
        The YAML file, or what it would hold.
    datasets : mapping, optional
        Data in memory, name → `(X, Y)` or a `Dataset`; X and Y are arrays, sparse matrices or DataFrames. They
        replace the config's data sets of these names; if it has none of these names, they replace all its data sets.
        Data with the same content are the same data set: the same call computes nothing again.
    out : path or None
        The folder of results folders; the run writes `out/NAME/`. None keeps nothing: a temporary folder is removed
        when the returned `Results` are no longer used.
    set : mapping of key path to value, or sequence of "key.path=value"
        Changes of the config: `{"splits.repeats": 10}`.
    jobs : int
        Number of workers; 0 means one for each core. A single worker is this process.
    fresh : bool
        Discard earlier results and compute all trials.
    quiet : bool
        Show no progress.
    backend, scheduler
        Processes of this machine ("loky"), or the workers of the Dask cluster whose address, or scheduler file, is
        `scheduler` ("dask").
    trust : bool
        Whether commands that the config names may be run (`learner: external`).
    part : str or (int, int), optional
        Compute one part of the trials, `"3/10"`; other processes, which may be on other machines, compute the others
        into the same `out`. Tables are written by the part that sees that no trial is left.

    Returns
    -------
    Results

    Raises
    ------
    UserError
        When the config, a data set or the folder is wrong, with the message of the command. A trial that fails raises
        nothing: `FailedTrialsWarning` is given once, and `Results.failures` has them.
    KeyboardInterrupt
        When the run is interrupted. What was finished is kept, and the same call continues.
    """
    from mlcdr.api.results import Results
    from mlcdr.data import held
    from mlcdr.execution import warned
    from mlcdr.results.part import RunPart

    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 0:
        raise UserError(f"jobs: must be a whole number, and 0 means one worker for each core; found {describe(jobs)}")
    of_run = None if part is None else RunPart.parse(part)
    if of_run is not None and out is None:
        raise UserError("part: needs `out`, the folder that all parts share")
    given = as_datasets(datasets)
    digests = {name: dataset.checksum for name, dataset in given.items()}
    temporary = TemporaryDirectory(prefix="mlcdr-", ignore_cleanup_errors=True) if out is None else None
    folder = Path(temporary.name if temporary else out or "")
    try:
        with held.holding(given.values()), _as_user_errors():
            experiment = load_experiment(config, set, announce=None if quiet else print_notice, held=digests)
            options: Any = {"fresh": fresh, "backend": backend, "scheduler": scheduler, "trust": trust, "part": of_run}
            report = compute(experiment, folder, jobs, quiet, **options)
            if report.stamp is not None:
                _write_whatever_there_is(report)
        if not quiet:
            for line in warned.describe(report.warned):
                print_notice(line)
        if report.lost:
            raise UserError(f"{report.lost}; what was finished is kept")
        if report.interrupted:
            text = f"{experiment.name}: interrupted"
            if temporary is None:
                text += f"; {report.done} of {report.planned} trials are kept: the same call continues"
            raise KeyboardInterrupt(text)
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise
    results = Results(report.folder, temporary, report.stamp)
    if report.failures:
        _warn_of_failures(results, report)
    return results


def _warn_of_failures(results: Results, report: RunReport) -> None:
    """Warn the caller of `run` of the trials that failed, with the first kind of failure."""
    kinds = results.failures.groupby(["dataset", "method", "reason"], sort=False).size()
    (dataset, method, reason), number = next(kinds.items())
    more = f"; {plural(len(kinds) - 1, 'more kind')} of failure" if len(kinds) > 1 else ""
    warnings.warn(
        f"{len(report.failures)} of {report.planned} trials failed: {dataset}, {method}: {reason} "
        f"({plural(number, 'trial')}){more}; `.failures` of the results has their tracebacks",
        FailedTrialsWarning,
        stacklevel=3,
    )


@contextmanager
def _as_user_errors() -> Iterator[None]:
    """Raise ResultsError, a message of one line, for an error with a file (no permission, a full disk)."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise ResultsError(f"{error.filename}: {error.strerror}") from error


def compute(experiment: Experiment, out: Path, jobs: int = 0, quiet: bool = False, **options: Any) -> RunReport:
    """Call `mlcdr.execution.runner.run`, which takes the `options`, and show its progress on standard error."""
    from mlcdr.execution import runner
    from mlcdr.tables.layouts import write_out

    with make_listener(quiet) as listener:
        return runner.run(write_out(experiment), out, jobs, listener=listener, **options)


def write_outputs(report: RunReport) -> tuple[Found, list[Path], str]:
    """Write the tables and figures of a run that has results; returns these, the files, and why there is no table.

    The last is empty unless a table cannot be made in a run with failed trials.

    Raises
    ------
    ResultsError
        When a layout does not fit the results.
    """
    from mlcdr.results.results import read_experiment, results_of
    from mlcdr.tables import tables
    from mlcdr.tables.planned_figures import are_drawn

    assert report.stamp is not None, "the run has written its folder"
    assert report.scores is not None
    stamp = replace(report.stamp, folder=report.folder)
    found = results_of(stamp, read_experiment(report.folder), report.scores)
    written: list[Path] = []
    problem = ""
    try:
        written += tables.write_all(found)
    except ResultsError as error:
        if not report.failures:
            raise
        problem = str(error)
    complete = not report.interrupted and not report.failures
    # where trials were computed, the times of files do not count: the clock may have been set
    if found.experiment.figures and complete and (report.computed or not are_drawn(found)):
        from mlcdr.tables import figures

        written += figures.write_all(found)
    return found, written, problem


def _write_whatever_there_is(report: RunReport) -> None:
    """`write_outputs` of a run that may have no result, where trials failed or it was interrupted."""
    from mlcdr.results.exports import NoResults

    try:
        write_outputs(report)
    except NoResults:
        if not report.failures and not report.interrupted:
            raise
