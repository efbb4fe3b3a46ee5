"""`load_dataset`, which loads a `Dataset` by its name or its path, or generates it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from mlcdr.data import cache, held
from mlcdr.data.content import Dataset, named
from mlcdr.data.encoding import Missing
from mlcdr.data.files import NoDivisionError, Part, is_path, locate
from mlcdr.data.forms import FORMS, MEMORY, OPENML, check_form_options, read_options
from mlcdr.data.reading import FileSource
from mlcdr.data.synthetic import Synthetic
from mlcdr.errors import DataError, report_memory

__all__ = ["Dataset", "load_dataset"]


@report_memory
def load_dataset(
    name_or_path: str | Path, *, missing: Missing = "error", part: Part = "full", **options: Any
) -> Dataset:
    """Load a data set, or generate it.

    Parameters
    ----------
    name_or_path : str or Path
        A name, looked up in `mlcdr.data.files.data_folders()`; the path of a data file or of a data set's folder; or
        `openml:NUMBER`. A str is a path if it contains a separator, ends in a form's suffix, or begins with `.` or `~`.
        With an option of `mlcdr.data.forms.SOURCES` (`path`, `synthetic` …) it is a name that you choose.
    missing : {"error", "keep", "mean", "zero"}
        "error": a missing feature value raises DataError; it becomes NaN ("keep"), the mean of its encoded column over
        all rows, test rows included ("mean"), or 0 ("zero"). An empty text is allowed with "keep" only.
    part : {"full", "predefined"}
        "full" reads the full file or, if there is none, the train and the test file. "predefined" gives the training
        rows, then the test rows, and sets `n_train`.
    **options
        The other options of `mlcdr.data.forms.OPTIONS`, such as `labels`.

    Raises
    ------
    DataError
        When the data are not found, cannot be read or are inconsistent; the message begins with the place.
        `NoDivisionError` when "predefined" is asked for and there is no such division.
    """
    text = str(name_or_path)
    options = _checked(text, missing, part, options)
    if MEMORY in options:
        return _recall(text, part, options[MEMORY])
    for form, make in _MADE.items():
        if form in options:
            check_form_options(text, form, options)
            if part != "full":
                raise NoDivisionError(f"{text}: {FORMS[form].title} data have no predefined split")
            return make(text, missing, options)
    if "path" in options:
        found = load_dataset(Path(options.pop("path")), missing=missing, part=part, **options)
        return replace(found, name=text)
    if isinstance(name_or_path, Path) and not is_path(text):
        text = f"{os.curdir}{os.sep}{text}"  # a Path is a path, even without a separator
    files = locate(text, part)
    check_form_options(files.paths[0], files.form, options)
    if files.xml is not None and "labels" in options:
        raise DataError(f"{files.xml}: names the labels; the option labels is only for files without XML")
    source = FileSource(files, missing, part, options)
    key = source.key()
    dataset = cache.load(key)
    if dataset is None:
        dataset = named(source.read(), files.name)
        cache.save(key, dataset)
    return replace(dataset, name=files.name)


def _checked(name: str, missing: Missing, part: Part, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given; DataError if one is wrong."""
    if part not in get_args(Part):
        raise DataError(f"part: {part!r} is not one of {', '.join(get_args(Part))}")
    said = {key: value for key, value in options.items() if value is not None}
    if name.startswith(OPENML):
        number = name.removeprefix(OPENML)
        said["openml"] = int(number) if number.isdecimal() and len(number) < 10 else number
    return read_options(name, missing, said)


# -------------------------------------------------------------------- data that are in no file


def _recall(name: str, part: Part, checksum: str) -> Dataset:
    """The data set in memory that has this checksum."""
    dataset = named(held.recall(name, checksum), name)
    if part == "full":
        return replace(dataset, n_train=None)
    if dataset.n_train is None:
        raise NoDivisionError(f"{name}: has no predefined split; give a Dataset that has n_train, or other `splits:`")
    return dataset


def _generate(name: str, missing: Missing, options: Mapping[str, Any]) -> Dataset:
    recipe = Synthetic.parse(dict(options["synthetic"]))
    X, Y = recipe.generate()
    made = Dataset.of(X, Y, name=name, feature_names=recipe.feature_names())
    return replace(made, notices=(recipe.describe(),))


def _call(name: str, missing: Missing, options: Mapping[str, Any]) -> Dataset:
    """The data set that a user's function returns as (X, Y)."""
    dotted = options["function"]
    arguments = dict(options.get("arguments", {}))
    module, _, attribute = dotted.rpartition(".")
    try:
        returned = getattr(importlib.import_module(module), attribute)(**arguments)
    except Exception as error:  # a user's function may raise any exception
        raise DataError(f"{name}: {dotted} failed: {type(error).__name__}: {error}") from error
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise DataError(f"{name}: {dotted} returned {type(returned).__name__}, not a pair (X, Y)")
    return Dataset.of(*returned, name=name, missing=missing)


def _fetch_openml(name: str, missing: Missing, options: Mapping[str, Any]) -> Dataset:
    from mlcdr.data.frames import fetch_openml

    frame, targets = fetch_openml(name, options["openml"])
    own = {"labels": targets, **options}
    del own["openml"]
    return Dataset.of(frame, name=name, missing=missing, **own)


_MADE = {"openml": _fetch_openml, "function": _call, "synthetic": _generate}
