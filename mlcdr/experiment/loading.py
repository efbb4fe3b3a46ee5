"""From an experiment's YAML to a validated, frozen `Experiment`, or to the list of all that is wrong with it.

`load_experiment` reads the file strictly (`yaml_reader`) and puts `--set` options in (`overrides`). The models of
`mlcdr.experiment` read the data, each key and each entry by itself. What could be read is then compared: whether its
parts agree (`consistency`), and whether the files of data sets and of folds are there (`presence`). What depends on the
data (are there rows enough) is checked later, in `data_checks` and by the run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from mlcdr.errors import ConfigError, describe, report_memory
from mlcdr.experiment import consistency
from mlcdr.experiment.commands import place_commands
from mlcdr.experiment.draft import MAX_PROBLEMS, Draft
from mlcdr.experiment.entries import (
    DatasetSpec,
    LayoutSpec,
    MeasuredMetric,
    MetricSpec,
    check_mapping,
    label_and_params,
    name_and_options,
)
from mlcdr.experiment.from_python import copy_plain
from mlcdr.experiment.method import FAMILIES, MethodSpec, list_steps
from mlcdr.experiment.model import AnyNumber, Experiment
from mlcdr.experiment.moving import relative_paths, with_paths_found
from mlcdr.experiment.overrides import Overrides, apply_overrides, put_held, write_out_defaults
from mlcdr.experiment.presence import part_of, settle_datasets, settle_folds
from mlcdr.experiment.problems import problems_of
from mlcdr.experiment.shipped import find_config
from mlcdr.experiment.splits import FromFile
from mlcdr.experiment.yaml_reader import MAX_RESOLVED, Document, Place, dump_yaml, read_yaml
from mlcdr.methods.component import Component


@report_memory
def load_experiment(
    path: str | Path,
    overrides: Overrides = (),
    look_up: bool = True,
    check_layouts: consistency.LayoutCheck | None = None,
    held: Mapping[str, str] | None = None,
    instances: bool = True,
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
    check_layouts : callable, optional
        Finds problems of the tables and figures, which this module cannot check: `tables.0: what is wrong` for each.
    held : mapping, optional
        Data sets in memory, name → digest (`mlcdr.data.held`). They replace the config's data sets of these names; if
        it has none of these names, they replace all its data sets.
    instances : bool
        Whether components may be made, if nothing else is wrong, to check what only instances of their classes tell.

    Raises
    ------
    ConfigError
        With all problems, each `file:line: key.path: what is wrong`. A file that is not YAML reports just that. What
        shows only where components are built is reported when nothing else is wrong: their classes take a second to
        import.
    """
    path = find_config(Path(path))
    document = read_yaml(path)
    return _read(document, overrides, path.resolve().parent, look_up, check_layouts, held, instances)


def experiment_from(
    data: Mapping[str, Any],
    overrides: Overrides = (),
    source: str = "experiment",
    look_up: bool = True,
    check_layouts: consistency.LayoutCheck | None = None,
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
    document = Document(plain, {(): Place(source)})
    return _read(document, overrides, Path.cwd(), look_up, check_layouts, held)


def experiment_yaml(experiment: Experiment, folder: Path | None = None) -> str:
    """`Experiment.resolved()` as YAML text, which `load_experiment` reads back as an equal experiment.

    In a results folder, paths are relative to it, where the folder can be moved with them (`moving`).

    Raises
    ------
    ConfigError
        When it is longer than the longest file that is read of a results folder.
    """
    text = dump_yaml(experiment.resolved() if folder is None else relative_paths(experiment, folder))
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
    check_layouts: consistency.LayoutCheck | None,
    held: Mapping[str, str] | None,
    instances: bool = True,
) -> Experiment:
    draft = Draft(document, folder, held or {})
    if not isinstance(document.data, dict):
        draft.add((), f"an experiment is a mapping (`name: ...`), found {describe(document.data)}")
        draft.raise_any()
    misdirected = apply_overrides(document, overrides)
    if held:
        put_held(draft)
    write_out_defaults(draft)
    place_commands(document.data, folder)
    experiment = _validate(draft)
    settled = _settle(draft, look_up)
    names = [spec.short_name(part_of(draft)) for spec in settled["datasets"]]
    consistency.check(draft, names, check_layouts)
    draft.raise_any(misdirected)
    assert experiment is not None  # else something would have been reported
    experiment = experiment.model_copy(update=settled)
    consistency.check_size(experiment, draft)
    draft.raise_any()
    if instances:
        consistency.check_builds(draft)
        draft.raise_any()
    return experiment.written_in(document)


def _validate(draft: Draft) -> Experiment | None:
    """The experiment that is written; what is wrong is reported to the draft, which has what could be read."""
    # An optional key whose lines below are all commented out is empty, and counts as left out.
    optional = [key for key, field in Experiment.model_fields.items() if not field.is_required()]
    written = draft.document.data
    data = {key: value for key, value in written.items() if value is not None or key not in optional}
    try:
        return Experiment.model_validate(data, context=draft)
    except ValidationError as error:
        draft.report_error(error)
    return None


def _settle(draft: Draft, look_up: bool) -> dict[str, Any]:
    """The keys whose values are to be spelt as in the results, so spelt; they replace what the draft has, too."""
    datasets = tuple(settle_datasets(draft, look_up).values())
    settled: dict[str, Any] = {"datasets": datasets}
    splits = draft.values.get("splits")
    if isinstance(splits, FromFile):
        names = [spec.short_name() for spec in datasets]
        settled["splits"] = settle_folds(splits, names, draft, look_up)
    labels = [metric.label for metric in draft.entries("metrics").values()]
    for key in ("tables", "figures"):
        layouts = draft.values.get(key) or ()
        settled[key] = tuple(each and each.showing(labels) for each in layouts)
    draft.values |= settled
    return settled


def read_metrics(written: list[Any]) -> list[MetricSpec]:
    """Metrics as a config lists them.

    Raises
    ------
    ConfigError
        With all problems, each `metrics: NUMBER: what is wrong`.
    """
    try:
        return TypeAdapter(list[MeasuredMetric]).validate_python(written)
    except ValidationError as error:
        raise _refusal(Document(written, {(): Place("metrics")}), error) from None


def _refusal(document: Document, error: ValidationError) -> ConfigError:
    """All that pydantic found wrong with a document."""
    problems = problems_of(error)[:MAX_PROBLEMS]
    problems.sort(key=document.order)
    return ConfigError([document.tell(problem) for problem in problems])


# -------------------------------------------------------------------- results folders


def _entry(written: Any, what: str) -> tuple[str, dict[str, Any]]:
    """The name and the options of an entry or a component, which may be any."""
    name, options, at = name_and_options(written, what)
    check_mapping(options, what, at)
    return name, options


def _dataset(written: Any) -> DatasetSpec:
    name, options = _entry(written, "data set")
    return DatasetSpec(name=name, params=options)


def _metric(written: Any) -> MetricSpec:
    name, options = _entry(written, "metric")
    label, params = label_and_params(options)
    return MetricSpec(name=name, params=params, label=str(label or name))


def _method(written: Any) -> Any:
    if not isinstance(written, Mapping):
        return written
    parts = {key: written[key] for key in MethodSpec.model_fields if written.get(key) is not None}
    for family in filter(parts.__contains__, FAMILIES):
        components = []
        for _, step in list_steps(family, parts[family]):
            name, params = _entry(step, family)
            components.append(Component(family, name, params))
        parts[family] = tuple(components) if family == "feature_space" else components[0]
    return MethodSpec.model_validate(parts)


class _Recorded(Experiment):
    """An experiment of any name, with any number of data sets, metrics and methods, none of which is looked up."""

    model_config = ConfigDict(extra="ignore")

    name: str
    datasets: AnyNumber[Annotated[DatasetSpec, BeforeValidator(_dataset)]] = ()
    metrics: AnyNumber[Annotated[MetricSpec, BeforeValidator(_metric)]] = ()
    methods: dict[str, Annotated[MethodSpec, BeforeValidator(_method)]] = Field(default_factory=dict)

    @field_validator("tables", "figures")
    @classmethod
    def _refuse_files(cls, entries: tuple[LayoutSpec, ...]) -> tuple[LayoutSpec, ...]:
        """A stranger's folder would show a file of the reader's."""
        for entry in entries:
            if entry.is_file:
                raise ValueError(
                    f"a results folder names layouts of mlcdr or holds them, not {entry.layout}; "
                    "`mlcdr run` of its config writes it so"
                )
        return entries


@report_memory
def load_recorded(path: Path) -> Experiment:
    """Read the file `experiment.yaml` of a results folder, to interpret the results and not to run it.

    Only its form is checked: no class is imported, and its components, metrics and keys may be those of another version
    of mlcdr or of another program (an unknown key is left out).

    Raises
    ------
    ConfigError
        With all problems, each `file:line: key.path: what is wrong`.
    """
    document = read_yaml(path)
    if not isinstance(document.data, dict):
        raise ConfigError([f"{path}: holds no experiment (a mapping with `datasets:`, `methods:` …)"])
    written = {key: value for key, value in document.data.items() if value is not None}
    try:
        found = _Recorded.model_validate({"name": path.parent.name} | written)
    except ValidationError as error:
        raise _refusal(document, error) from None
    return with_paths_found(found, path.parent)
