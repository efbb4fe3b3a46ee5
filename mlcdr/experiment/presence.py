"""Whether the data sets and the files of folds that a config names are there; and the spelling of their names."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mlcdr.data.files import DataFiles, NotFetchedError, Part, is_path, is_there, locate
from mlcdr.data.forms import check_form_options
from mlcdr.data.moved import explain_absent, is_results_folder
from mlcdr.data.sources import how_to_get
from mlcdr.errors import DataError
from mlcdr.experiment.draft import Draft
from mlcdr.experiment.entries import DatasetSpec
from mlcdr.experiment.problems import KeyPath
from mlcdr.experiment.splits import FromFile


def part_of(draft: Draft) -> Part:
    """Which files of its data sets an experiment reads."""
    splits = draft.values.get("splits")
    return "full" if splits is None else splits.part


def settle_datasets(draft: Draft, look_up: bool) -> dict[int, DatasetSpec]:
    """The data sets with each name spelt as in the results; one that is missing or listed twice is reported.

    Parameters
    ----------
    draft : Draft
    look_up : bool
        Whether the files must be there.
    """
    part = part_of(draft)
    settled: dict[int, DatasetSpec] = {}
    listed: dict[object, str] = {}
    absent: dict[KeyPath, NotFetchedError] = {}
    for i, spec in draft.entries("datasets").items():
        here: KeyPath = ("datasets", i)
        name = spec.short_name(part)
        files = None
        if look_up and spec.source is not None:
            try:
                files = locate(spec.source, part)
                check_form_options(files.paths[0], files.form, spec.params)
            except NotFetchedError as error:
                absent[here] = error
            except DataError as error:
                draft.add(here, _explain(error, spec, draft.folder))
        if name.casefold() in listed:
            draft.add(here, f"the data set {name!r} is listed twice; results are kept by its name")
        elif files is not None:
            same = listed.setdefault(_identity(spec, files), spec.name)
            if same != spec.name:
                draft.add(here, f"{spec.name!r} is the same data set as {same!r}; keep one")
            if files.xml is not None and "labels" in spec.params:
                draft.add(here, f"{files.xml} names the labels; leave out the option `labels`")
            if "path" not in spec.params:
                name = files.name
        listed[name.casefold()] = spec.name
        settled[i] = spec if is_path(spec.name) else spec.model_copy(update={"name": name})
    _report_absent(absent, ("datasets",), draft)
    return settled


def _explain(error: DataError, spec: DatasetSpec, folder: Path) -> str:
    """Why a data set cannot be read; of a results folder that was moved, what to do."""
    if is_results_folder(folder) and spec.source and is_path(spec.source) and not is_there(Path(spec.source)):
        return f"{error}; {explain_absent(spec.source)}"
    return str(error)


def _identity(spec: DatasetSpec, files: DataFiles) -> object:
    """What two data sets share only if they are the same: the files, and the options with which they are read."""
    paths = [path.resolve() for path in files.paths]
    options = {key: value for key, value in spec.params.items() if key != "path"}
    return repr((paths, sorted(options.items())))


def settle_folds(folds: FromFile, names: Sequence[str], draft: Draft, look_up: bool) -> FromFile:
    """The folds with the folders in which their files are; a file that is missing is reported.

    Parameters
    ----------
    folds : FromFile
    names : sequence of str
        Of the data sets.
    draft : Draft
    look_up : bool
        Whether the files must be there.
    """
    absent: dict[KeyPath, NotFetchedError] = {}
    for i, name in enumerate(names if look_up else ()):
        try:
            folds.beside(draft.folder).find(name)
        except NotFetchedError as error:
            absent["splits", "path", i] = error
        except DataError as error:
            draft.add(("splits", "path"), str(error))
    _report_absent(absent, ("splits", "path"), draft)
    return folds.settled(draft.folder, names)


def _report_absent(absent: Mapping[KeyPath, NotFetchedError], path: KeyPath, draft: Draft) -> None:
    """Report what can be downloaded in one line, with one command for all of it."""
    if len(absent) > 1:
        names = [error.name for error in absent.values()]
        of_folds = path[0] == "splits"
        what = f"the folds of {', '.join(names)}" if of_folds else ", ".join(names)
        draft.add(path, f"{what} are not in the data folders; {how_to_get(names, of_folds)}")
        return
    for where, error in absent.items():
        draft.add(where, str(error))
