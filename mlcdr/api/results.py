"""Results as Python shows them: `open_results`, `Results` with its tables, figures, comparisons and page, `compare`.

The `Results` here are what a user holds: what the files have, and what is shown of it. Its `found` are the frames from
which all tables and figures are made, the `Results` of `mlcdr.results.results` (here `folders.Results`).
"""

from __future__ import annotations

import contextlib
import html
import itertools
import math
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

from mlcdr.api.loading import find_folder
from mlcdr.api.several import Page, Several
from mlcdr.comparison import baseline as baselines
from mlcdr.comparison import comparison
from mlcdr.comparison.statistics import Zeros
from mlcdr.csv_files import as_numbers
from mlcdr.errors import ResultsError, UserError, describe, plural
from mlcdr.experiment.model import Experiment, LayoutSpec
from mlcdr.results import joining
from mlcdr.results import results as folders
from mlcdr.results.exports import NoResults, import_chosen, import_tried, read_frame
from mlcdr.results.failures import describe_error
from mlcdr.results.frame import CHOSEN, SCORES, SUMMARY, TRIED, paths_of
from mlcdr.results.manifest import Manifest
from mlcdr.results.record import read_failures
from mlcdr.results.stamp import Stamp
from mlcdr.tables import layouts, tables
from mlcdr.tables.tables import Table
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    import pandas as pd

    from mlcdr.comparison.baseline import BaselineComparison
    from mlcdr.comparison.comparison import Comparison
    from mlcdr.comparison.place import Place
    from mlcdr.experiment.division import Split
    from mlcdr.papers.published import PublishedComparison
    from mlcdr.tables.canvas import Drawing

    AnyPath: TypeAlias = str | os.PathLike[str]

# The columns of `kept/index.csv` after those of paths.
_KEPT = {"split": int, "key": str, "scores": str, "model": str}


class NoModels(ResultsError, AttributeError):
    """No models were kept: `hasattr(results, "models")` is False."""


class Results:
    """The results of a run: what its folder holds when they are made; a later run in this folder does not change them.

    What is read or written later (`plot` with `by_label`, `report`) is refused if the folder holds another run's then.

    Parameters
    ----------
    folder : path
    temporary : TemporaryDirectory, optional
        The folder that contains it, which is removed when this object is no longer used.
    stamp : Stamp, optional
        Of the folder as the run left it, else as it is now.

    Attributes
    ----------
    folder : Path
    experiment : Experiment
        What was run, with all defaults.

    Raises
    ------
    ResultsError
        When there is no such folder, its `experiment.yaml` is missing or broken, or a run is just changing it.
    """

    experiment: Experiment

    def __init__(
        self,
        folder: AnyPath,
        temporary: TemporaryDirectory[str] | None = None,
        stamp: Stamp | None = None,
    ):
        self.folder = find_folder(folder, "folder").absolute()
        self._stamp = stamp or Stamp.of(self.folder)
        self.experiment = self._stamp.unchanged(folders.read_experiment(self.folder))
        if temporary is not None:
            weakref.finalize(self, temporary.cleanup)
        for name in ("found", "manifest", "scores", "summary", "chosen", "tried", "models", "failures"):
            with contextlib.suppress(ResultsError):  # which whoever asks for it is told
                getattr(self, name)

    @cached_property
    def found(self) -> folders.Results:
        """The numbers from which tables and figures are made (`mlcdr.results.results`).

        Raises
        ------
        ResultsError
            When they cannot be read; `NoResults` when there are none.
        """
        found = self._stamp.unchanged(folders.open_results(self.folder))
        with contextlib.suppress(ResultsError):  # there may be none
            _ = found.manifest  # which it keeps
        return found

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment.name

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What `manifest.json` holds: versions, machine, seeds, data sets and timings.

        Raises
        ------
        ResultsError
            When it is missing or broken.
        """
        return self._stamp.unchanged(Manifest.read(self.folder)).plain()

    @cached_property
    def scores(self) -> pd.DataFrame:
        """What `scores.csv` holds: dataset, method, a column for each swept path, split, metric, value.

        Raises
        ------
        ResultsError
            When it is missing or broken.
        """
        return _show(self._read("scores.csv", SCORES, gaps=True))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """What `summary.csv` holds: the mean over splits of each cell, with std, se = std/√n and n.

        Raises
        ------
        ResultsError
            When it is missing or broken.
        """
        found = _show(self._read("summary.csv", SUMMARY, gaps=True))
        return found.assign(n=found["n"].fillna(0).astype(int))

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """What `tune` chose: dataset, method, a column for each swept path, split, parameter, value (as texts).

        Without rows where nothing was tuned.

        Raises
        ------
        ResultsError
            When `chosen.csv` is broken.
        """
        return self._read_tuning("chosen.csv", import_chosen, CHOSEN)

    @cached_property
    def tried(self) -> pd.DataFrame:
        """What `tune` tried: dataset, method, a column for each swept and tuned path, split, metric, value, chosen.

        `metric` is the one to choose by, `value` its mean over the folds of the choice (NaN where a fit failed), and
        `chosen` whether the split took this point. A choice for a whole data set stands at split 0. Without rows where
        nothing was tuned.

        Raises
        ------
        ResultsError
            When `tried.csv` is broken.
        """
        return self._read_tuning("tried.csv", import_tried, TRIED)

    def _read_tuning(self, name: str, read: Callable[[Path], pd.DataFrame], columns: Iterable[str]) -> pd.DataFrame:
        import pandas as pd

        path = self.folder / name
        if is_regular_file(path):
            return _show(self._stamp.unchanged(read(path)))
        return pd.DataFrame(columns=["dataset", "method", *self.experiment.varied, *columns])

    @cached_property
    def models(self) -> pd.DataFrame:
        """The models that were kept: dataset, method, a column for each swept path, split, path (for `load_model`).

        Raises
        ------
        ResultsError
            When none were kept (`keep: {models: true}`), so that `hasattr` says so; or the list of them is broken.
        """
        folder = self.folder / "kept"
        if not self.experiment.keep.models:
            raise NoModels(f"{self.folder}: no models were kept; `keep: {{models: true}}` in the config keeps them")
        kept = self._read("kept/index.csv", _KEPT)
        kept = kept[kept["model"] != ""]
        paths = [str(folder / path) for path in kept["model"]]
        return _show(kept.drop(columns=["key", "scores", "model"]).assign(path=paths))

    @cached_property
    def failures(self) -> pd.DataFrame:
        """The trials that failed: dataset, method, a column for each swept path, split, reason (a line), traceback.

        Raises
        ------
        ResultsError
            When the record of trials is missing or broken.
        """
        import pandas as pd

        paths = self.experiment.varied
        rows = []
        for failure in self._stamp.unchanged(read_failures(self.folder)):
            point = dict(failure.point)
            values = [point.get(path, "") for path in paths]
            reason = describe_error(failure.error)
            rows.append((failure.dataset, failure.method, *values, failure.split, reason, failure.error))
        columns = ["dataset", "method", *paths, "split", "reason", "traceback"]
        return _show(pd.DataFrame(rows, columns=columns))

    def splits(self, dataset: str | None = None, data: Any = None) -> Sequence[Split]:
        """The rows of each split, for another program on the same splits: the data set is read and divided again.

        Parameters
        ----------
        dataset : str, optional
            The name of a data set of the results; it may be left out where there is one.
        data : (X, Y) or Dataset, optional
            What `mlcdr.run` was given in memory, if it was.

        Returns
        -------
        sequence of Split
            Each has its `index` (`split` in `scores`), and the numbers of rows that `train` and `test`, ascending from
            0; `unlabelled` are training rows whose labels are hidden.

        Raises
        ------
        UserError
            When there is no such data set, or it is not where it was.
        """
        from mlcdr.api.memory import divide_again

        return divide_again(self.experiment, dataset, data)

    @overload
    def table(self, metric: None = None, *, layout: None = None) -> Several[Table]: ...
    @overload
    def table(self, metric: str, *, layout: str | None = None, **keys: Any) -> Table: ...
    @overload
    def table(self, metric: None = None, *, layout: str, **keys: Any) -> Table: ...
    def table(
        self,
        metric: str | None = None,
        *,
        layout: str | None = None,
        **keys: Any,
    ) -> Table | Several[Table]:
        """The tables that the experiment lists (without any, a generic one); or one of a metric, or in a layout.

        Parameters
        ----------
        metric : str, optional
            The metric that it shows, by any of its names.
        layout : str, optional
            The name of a layout (`generic`, `chen_lin_2012/table3`), or the path of one of your own.
        **keys
            Keys of the layout that shall differ: `digits=3`.

        Raises
        ------
        ResultsError
            When there is no such metric or layout, or the layout does not fit the results.
        """
        if metric is None and layout is None and not keys:
            asked = tables.list_entries(self.found)
            made = [tables.make_table(self.found, entry) for entry in asked]
            return Several(made, layouts.stems(asked))
        chosen = {} if metric is None else {"metric": _find_metric(self.found, metric)}
        spec = LayoutSpec(layout=layout or "generic", options=chosen | keys)
        return tables.make_table(self.found, spec)

    def plot(
        self,
        metric: str | None = None,
        *,
        layout: str | None = None,
        **keys: Any,
    ) -> Several[Drawing]:
        """The figures that the experiment lists, or else standard ones; or those of a metric, or in a layout.

        Parameters
        ----------
        metric : str, optional
            The metric that they show, by any of its names.
        layout : str, optional
            The name of a layout (`curves`, `boxes`, `bars`, `time`, `heatmap`), or the path of one of your own.
        **keys
            Keys of the layout that shall differ: `size=[170, 80]`.

        Raises
        ------
        ResultsError
            When there is no such metric or layout, or the layout does not fit the results.
        """
        from mlcdr.tables import figures

        if metric is None and layout is None and not keys:
            asked = list(self.experiment.figures) or figures.choose_figures(self.found)
            drawn = figures.draw_all(self.found, asked)
            return Several([*drawn, *_draw_labels(self.found, self._stamp)])
        chosen = {} if metric is None else {"metrics": [_find_metric(self.found, metric)]}
        spec = LayoutSpec(layout=layout) if layout else figures.choose_figures(self.found)[0]
        changed = spec.model_copy(update={"options": spec.options | chosen | keys})
        return Several(list(figures.draw_all(self.found, [changed])))

    @overload
    def compare(self, metric: None = None, **options: Any) -> Several[Comparison]: ...
    @overload
    def compare(self, metric: str, **options: Any) -> Comparison: ...
    def compare(self, metric: str | None = None, **options: Any) -> Any:
        """The methods against each other, under one metric or each; `mlcdr.compare` has the options."""
        return compare(self, metric=metric, **options)

    def place(self) -> Place:
        """Where the methods, a row of one's own, stand among the stored rows of the board.

        Raises
        ------
        ResultsError
            When they do not have the protocol of the config `board`, none has finished a data set of it, or the record
            has no results of the board.
        """
        from mlcdr.comparison.place import place_methods
        from mlcdr.papers.board import read_rows

        return place_methods(self.found, read_rows(self.found))

    def report(self) -> Page:
        """Write `report.html` into the folder: all results on one page, which can be read offline.

        Raises
        ------
        ResultsError
            When the folder has changed, or the page cannot be written.
        """
        from mlcdr.report import report

        self._stamp.unchanged(None)
        return Page(report.write(self.folder))

    def _read(self, name: str, columns: Mapping[str, type], gaps: bool = False) -> pd.DataFrame:
        """A CSV file of the folder as it was when these results were made."""
        return self._stamp.unchanged(read_frame(self.folder / name, columns, gaps))

    def __repr__(self) -> str:
        experiment = self.experiment
        datasets = plural(len(experiment.datasets), "data set")
        methods = plural(len(experiment.methods), "method")
        metrics = ", ".join(metric.label for metric in experiment.metrics)
        try:
            failures = len(self.failures)
        except ResultsError:  # a folder of means only
            failures = 0
        failed = f"; {plural(failures, 'trial')} failed" if failures else ""
        folder, here = self.folder, Path.cwd()
        shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
        return f"Results {self.name!r}: {datasets}, {methods}; {metrics}{failed}\n  in {shown}"

    def _repr_html_(self) -> str:
        about = f"<pre>{html.escape(repr(self))}</pre>"
        try:
            return about + self.table()._repr_html_()
        except NoResults as error:
            return about + f"<p>{html.escape(str(error))}</p>"


def _show(frame: pd.DataFrame) -> pd.DataFrame:
    """A file's frame, in which values of a swept parameter are numbers if all of them are."""
    shown = frame.reset_index(drop=True)
    for path in paths_of(frame):
        shown[path] = as_numbers(shown[path])
    return shown


def _find_metric(found: folders.Results, metric: str) -> str:
    """The label of a metric in these results."""
    try:
        return found.metric_named(metric)
    except ResultsError as error:
        hint = f"; for the layout of that name write layout={metric!r}" if metric in layouts.names() else ""
        raise ResultsError(f"{error}{hint}") from None


def _draw_labels(found: folders.Results, stamp: Stamp) -> Iterator[Drawing]:
    """For each metric of a run with `by_label`, a figure of its values against the frequencies of the labels."""
    from mlcdr.results.labels import read_label_scores
    from mlcdr.tables import frequency_figures

    labels = stamp.unchanged(read_label_scores(found.folder))
    if labels is not None:
        yield from frequency_figures.draw_all(found, labels)


def open_results(folder: AnyPath) -> Results:
    """The results in a folder that `mlcdr.run` or the command line wrote.

    Raises
    ------
    ResultsError
        When there is no such folder, or its `experiment.yaml` is missing or broken.
    """
    return Results(folder)


def _read(results: Results | AnyPath, what: str = "results") -> folders.Results:
    """The frames of results, or of a folder, which messages call as it is written; `what` is the argument's name."""
    return results.found if isinstance(results, Results) else folders.open_results(find_folder(results, what))


def compare(
    *results: Results | AnyPath,
    metric: str | None = None,
    rope: float | None = None,
    zeros: Literal["discard", "pratt"] = "discard",
    spread: Literal["se", "std"] = "se",
    published: str | None = None,
    record: str | Sequence[str] = (),
    others: Mapping[str, AnyPath | Sequence[AnyPath]] | None = None,
    baseline: Results | AnyPath | None = None,
    margin: float = 0.01,
    time_margin: float = 1.5,
) -> Several[Comparison] | Comparison | Several[PublishedComparison] | BaselineComparison:
    """Compare methods with each other, with a published table, or with an earlier run.

    Parameters
    ----------
    *results : Results or path
        The methods of several folders are compared together.
    metric : str, optional
        This metric only, of which one `Comparison` is returned; else there is one for each metric.
    rope : float, optional
        Add the Bayesian tests; differences up to this count as none, in units of the metric.
    zeros : {"discard", "pratt"}
        What Wilcoxon's test does with differences that are zero: discard them, or rank them first (Pratt 1959).
    spread : {"se", "std"}
        What stands behind a mean: its standard error, or the standard deviation over the splits.
    published : str, optional
        Compare with this table (`chen_lin_2012/table3`), cell by cell.
    record : str or sequence of str, optional
        Compare also with the record's methods of these tables (`chen_lin_2012/table3`), on your data sets.
    others : mapping, optional
        Compare also with results of other programs: "long", "meka", "mlrl" or "tsml" → a file, or several.
    baseline : Results or path, optional
        Compare with this earlier run of the same experiment, split by split.
    margin, time_margin : float
        With `baseline`: the share of its old mean that a metric may lose, and the factor that a time, or memory, may
        grow by.

    Raises
    ------
    ResultsError
        When the folders do not have what is compared.
    """
    for name, value, known in (("zeros", zeros, get_args(Zeros)), ("spread", spread, get_args(comparison.Spread))):
        if value not in known:
            raise UserError(f"{name}: must be one of {', '.join(known)}; found {describe(value)}")
    for name, number, least in (("rope", rope or 0, 0), ("margin", margin, 0), ("time_margin", time_margin, 1)):
        if not least <= number < math.inf:
            raise UserError(f"{name}: must be a number of at least {least}; found {describe(number)}")
    found = [_read(each) for each in results]
    if not found:
        raise ResultsError("compare: give results, or the path of a results folder")
    for each in results:
        if len(results) > 1 and isinstance(each, Results):  # another run in its folder may be compared, too
            each._stamp.unchanged(None)
    if published is not None:
        if metric is not None or rope is not None or baseline is not None or record or others:
            raise ResultsError("published: cannot be combined with metric, rope, record, others or baseline")
        from mlcdr.papers.published import compare_with_published

        compared = compare_with_published(found, published)
        return Several(compared, layouts.number_repeated([layouts.stem(each.table) for each in compared]))
    if baseline is not None:
        if len(found) != 1 or rope is not None or record or others:
            raise ResultsError("baseline: give exactly one other run, no rope, no record and no others")
        return baselines.compare_runs(_read(baseline, "baseline"), found[0], metric, margin, time_margin)
    if record:
        from mlcdr.papers.stored import stored_on

        named = [record] if isinstance(record, str) else record
        datasets = itertools.chain.from_iterable(each.datasets for each in found)
        found += stored_on(named, list(datasets))
    if others:
        found = _with_others(found, others)
    joined = joining.join(found)
    if metric is not None:
        return comparison.compare_methods(joined, metric, rope, zeros, spread)
    return Several([comparison.compare_methods(joined, each, rope, zeros, spread) for each in joined.metrics])


def _with_others(
    ours: Sequence[folders.Results], others: Mapping[str, AnyPath | Sequence[AnyPath]]
) -> list[folders.Results]:
    """Our results and those of other programs, on the splits that all have."""
    from mlcdr.results.elsewhere import on_common_splits, read_results

    theirs = []
    for source, paths in others.items():
        for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
            theirs.append(read_results(Path(path), source, ours))
    return on_common_splits(ours, theirs)
