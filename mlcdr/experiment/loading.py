"""From an experiment's YAML to a validated, frozen `Experiment`, or to the list of all that is wrong with it.

`load_experiment` reads the file strictly (`yaml_reader`) and puts `--set` options in (`overrides`). The models of
`mlcdr.experiment` read the data, each key and each entry by itself. What could be read is then compared: whether its
parts agree (`consistency`), and whether the files of data sets and of folds are there (`presence`). What depends on the
data (are there rows enough) is checked later, in `data_checks` and by the run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mlcdr.errors import ConfigError, describe, report_memory
from mlcdr.experiment import consistency
from mlcdr.experiment.draft import Draft
from mlcdr.experiment.entries import LayoutSpec, MeasuredMetric, MetricSpec
from mlcdr.experiment.from_python import copy_plain
from mlcdr.experiment.model import Experiment, RecordedExperiment
from mlcdr.experiment.overrides import Overrides, apply_overrides, put_held, write_out_defaults
from mlcdr.experiment.presence import part_of, settle_datasets, settle_folds
from mlcdr.experiment.problems import problems_of
from mlcdr.experiment.shipped import find_config
from mlcdr.experiment.splits import FromFile
from mlcdr.experiment.yaml_reader import MAX_RESOLVED, Document, Place, dump_yaml, read_yaml
from mlcdr.metrics import METRICS, resolve


@report_memory
def load_experiment(
    path: str | Path,
    overrides: Overrides = (),
    look_up: bool = True,
    also: consistency.Check | None = None,
    held: Mapping[str, str] | None = None,
    instances: bool = True,
    recorded: bool = False,
) -> Experiment:
    """Read and check an experiment file.

    Relative paths of data sets and layouts that exist beside the file, or else in the working directory, are made
    absolute; those of fold files are looked up for each data set (`FromFile.folders`).

    Parameters
    ----------
    path : path
        The YAML file, or the name of a config that comes with mlcdr (`yeast_cplst`).
    overrides : sequence of str, or mapping
        `key.path=value` texts, or key path → value, put in before anything is checked.
    look_up : bool
        Whether the data sets and fold files must be there, as a run needs them.
    also : callable, optional
        Finds problems of the tables and figures, which this module cannot check: `tables.0: what is wrong` for each.
    held : mapping, optional
        Data sets in memory, name → digest (`mlcdr.data.held`). They replace the config's data sets of these names; if
        it has none of these names, they replace all its data sets.
    instances : bool
        Whether components may be made, if nothing else is wrong, to check what only instances of their classes tell.
    recorded : bool
        Whether it is the experiment of a results folder, of which only the form is checked (`Draft`).

    Raises
    ------
    ConfigError
        With all problems, each `file:line: key.path: what is wrong`. A file that is not YAML reports just that. What
        only instances of mlcdr's own classes tell is reported when nothing else is wrong: importing these classes takes
        a second.
    """
    given, path = path, find_config(Path(path))
    document = read_yaml(path)
    if recorded:
        return _read_recorded(document, path.parent.name)
    if path != Path(given):  # the name of a config says more than the folder where mlcdr is installed
        source = f"the config {given} of mlcdr"
        document.places = {key: place._replace(source=source) for key, place in document.places.items()}
    return _read(document, overrides, path.resolve().parent, look_up, also, held, instances)


def experiment_from(
    data: Mapping[str, Any],
    overrides: Overrides = (),
    source: str = "experiment",
    look_up: bool = True,
    also: consistency.Check | None = None,
    held: Mapping[str, str] | None = None,
) -> Experiment:
    """As `load_experiment`, from plain data such as `Experiment.resolved()` gives.

    Numbers of NumPy, paths, tuples and arrays become what YAML has for them.

    Raises
    ------
    ConfigError
        With all problems, each `source: key.path: what is wrong`.
    """
    plain = copy_plain(data, source)  # a copy, which overrides may change
    return _read(Document(plain, {(): Place(source)}), overrides, Path.cwd(), look_up, also, held)


def experiment_yaml(experiment: Experiment) -> str:
    """`Experiment.resolved()` as YAML text, which `load_experiment` reads back as an equal experiment.

    Raises
    ------
    ConfigError
        When it is longer than the longest file that is read of a results folder.
    """
    text = dump_yaml(experiment.resolved())
    size = len(text.encode())
    if size > MAX_RESOLVED:
        raise ConfigError(
            [
                f"{experiment.name}: with all defaults written out it takes {size // 1024} KiB, more than the "
                f"{MAX_RESOLVED // 1024} KiB of a results folder; divide its methods among several experiments"
            ]
        )
    return text


def _read(
    document: Document,
    overrides: Overrides,
    folder: Path,
    look_up: bool,
    also: consistency.Check | None,
    held: Mapping[str, str] | None,
    instances: bool = True,
) -> Experiment:
    draft = Draft(document, folder)
    if not isinstance(document.data, dict):
        draft.add((), f"an experiment is a mapping (`name: ...`), found {describe(document.data)}")
        draft.raise_any()
    misdirected = apply_overrides(document, overrides)
    if held:
        put_held(document.data, held, draft)
    write_out_defaults(draft)
    experiment = _validate(Experiment, draft)
    settled = _settle(draft, look_up)
    consistency.check_metrics(draft)
    consistency.check_tuning(draft, [spec.short_name(part_of(draft)) for spec in settled["datasets"]])
    consistency.check_labelled(draft)
    consistency.check_varied(draft)
    if also is not None:
        consistency.check_layouts(draft, also)
    draft.raise_any(misdirected)
    assert experiment is not None  # else something would have been reported
    experiment = experiment.model_copy(update=settled)
    if instances and not draft.complete:
        consistency.check_instances(draft)
    consistency.check_size(experiment, draft)
    draft.raise_any()
    return experiment.written_in(document)


def _validate(model: type[Experiment], draft: Draft) -> Experiment | None:
    """The experiment that is written; what is wrong is reported to the draft, which has what could be read."""
    # An optional key whose lines below are all commented out is empty, and counts as left out.
    optional = [key for key, field in model.model_fields.items() if not field.is_required()]
    data = {key: value for key, value in draft.document.data.items() if value is not None or key not in optional}
    try:
        return model.model_validate(data, context=draft)
    except ValidationError as error:
        for problem in problems_of(error):
            draft.report(problem)
    return None


def _settle(draft: Draft, look_up: bool) -> dict[str, Any]:
    """The keys whose values are to be spelt as in the results, so spelt; they replace what the draft has, too."""
    datasets = settle_datasets(draft, look_up)
    settled: dict[str, Any] = {"datasets": tuple(datasets.values())}
    splits = draft.values.get("splits")
    if isinstance(splits, FromFile):
        names = [spec.short_name() for spec in datasets.values()]
        settled["splits"] = settle_folds(splits, names, draft, look_up)
    labels = [metric.label for metric in draft.entries("metrics").values()]
    for key in ("tables", "figures"):
        layouts = draft.values.get(key) or ()
        settled[key] = tuple(each and _with_label(each, labels) for each in layouts)
    draft.values |= settled
    return settled


def _with_label(layout: LayoutSpec, labels: list[str]) -> LayoutSpec:
    """The layout with its metric's name as in the results, if another name of this metric is written."""
    if layout.metric is None or layout.metric in labels:
        return layout
    name, options = resolve(layout.metric)
    meant = METRICS[name].label_of(options) if name in METRICS else name
    return layout.model_copy(update={"metric": meant}) if meant in labels else layout


def _read_recorded(document: Document, name: str) -> Experiment:
    """The experiment of a results folder of this name."""
    if not isinstance(document.data, dict):
        source = document.place(()).source
        raise ConfigError([f"{source}: holds no experiment (a mapping with `datasets:`, `methods:` …)"])
    document.data = {"name": name} | {key: value for key, value in document.data.items() if value is not None}
    draft = Draft(document, recorded=True)
    experiment = _validate(RecordedExperiment, draft)
    draft.raise_any()
    assert experiment is not None
    return experiment


def read_metrics(written: list[Any]) -> list[MetricSpec]:
    """Metrics as a config lists them.

    Raises
    ------
    ConfigError
        With all problems, each `metrics: NUMBER: what is wrong`.
    """
    draft = Draft(Document(written, {(): Place("metrics")}))
    specs = []
    try:
        specs = TypeAdapter(list[MeasuredMetric]).validate_python(written)
    except ValidationError as error:
        for problem in problems_of(error):
            draft.report(problem)
    draft.raise_any()
    return specs
