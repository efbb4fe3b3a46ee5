"""The search for a data set's files: by a path, or by a name in the data folders."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import platformdirs

from mlcdr.data.forms import FORMS, SUFFIXES
from mlcdr.data.sources import entry_names, find, how_to_get
from mlcdr.errors import DataError, suggest_name

Part = Literal["full", "predefined"]

_SUFFIX = re.compile(r"[-_](train|test|sparse)$", re.IGNORECASE)


class NotFetchedError(DataError):
    """A data set of the catalogue, or its folds, can be downloaded, but are in no folder that was searched."""

    def __init__(self, message: str, name: str):
        self.name = name
        super().__init__(message)


class NoDivisionError(DataError):
    """A data set is there, but has no division into training and test rows of its own."""


@dataclass(frozen=True)
class DataFiles:
    """The files of one data set.

    `paths`: one file, or the train and the test file in this order, of the same form. `xml`: the label XML, or None.
    `test_first`: the number of test rows, if the predefined split is of one full file that begins with them; else None.
    """

    name: str
    paths: tuple[Path, ...]
    xml: Path | None
    test_first: int | None = None

    @property
    def form(self) -> str:
        """The form of the files, a key of `mlcdr.data.forms.FORMS`."""
        return form_of(self.paths[0])


def is_there(path: Path) -> bool:
    """Whether a path exists; False for a name that no file can have."""
    return os.path.exists(path)  # noqa: PTH110 (`Path.exists` raises for a name too long)


def is_file(path: str | Path) -> bool:
    """Whether there is a file of this name, which may be any text."""
    return os.path.isfile(path)  # noqa: PTH113 (`Path.is_file` raises for a name too long)


def sha256(path: Path) -> str:
    """SHA-256 (hex) of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def cache_folder() -> Path:
    """The folder for downloads and parsed data sets: $MLCDR_CACHE, or the user's cache folder."""
    own = os.environ.get("MLCDR_CACHE")
    return Path(own) if own else platformdirs.user_cache_path("mlcdr")


def checkout_folder() -> Path | None:
    """The `datasets` folder of the source checkout that contains this package, None if it is installed elsewhere."""
    root = Path(__file__).resolve().parents[2]
    return root / "datasets" if (root / "pyproject.toml").is_file() else None


def list_folders(variable: str) -> list[Path]:
    """The folders of an environment variable, which is a path list."""
    parts = os.environ.get(variable, "").split(os.pathsep)
    return [Path(part).expanduser() for part in parts if part]


def data_folders() -> list[Path]:
    """The folders of data sets, in order: $MLCDR_DATASETS, ./datasets, the checkout's, the user's cache.

    Outside a checkout, the package's own copy of the embedded data set comes last.
    """
    folders = [*list_folders("MLCDR_DATASETS"), Path("datasets")]
    checkout = checkout_folder()
    if checkout is None:
        return [*folders, cache_folder() / "datasets", Path(__file__).parent / "embedded"]
    return [*folders, checkout, cache_folder() / "datasets"]


def suffix(name: str) -> str:
    """The suffix of a file's name that stands for a form, in lower case (`.csv.gz`); empty for any other."""
    endings = [each for each in SUFFIXES if name.lower().endswith(each)]
    return max(endings, key=len, default="")


def form_of(path: Path) -> str:
    """The form of a file, ARFF if its suffix stands for none."""
    return SUFFIXES.get(suffix(path.name), "arff")


def is_path(name_or_path: str) -> bool:
    """Whether a text is a path (has a separator, a leading ~ or ., or a form's suffix), not a data set's name."""
    marked = name_or_path.startswith(("~", ".")) or suffix(name_or_path)
    return bool(marked) or "/" in name_or_path or os.sep in name_or_path


def short_name(name_or_path: str, part: Part = "full") -> str:
    """The name of a data set in the results, from which its splits are seeded, too; the same for a name and a path.

    For a path, it is the last part without `.arff`, `.csv` ... (and without `-train`, `-test`, `-sparse` for the
    predefined split).
    A name of the catalogue is spelt as in the catalogue; any other stays unchanged (`locate` spells it as its folder).
    """
    name = name_or_path
    if is_path(name):
        path = Path(os.path.abspath(_expand(name)))  # noqa: PTH100 (`resolve` would change a link's name)
        name = path.name
        if suffix(name):
            name = stem(path)[0] if part == "predefined" else name[: -len(suffix(name))]
    known = find(name)
    return known.name if known else name


def _expand(path: str) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 (`Path.expanduser` raises for an unknown user)


def locate(name_or_path: str, part: Part = "full") -> DataFiles:
    """Find a data set's files.

    Parameters
    ----------
    name_or_path : str
        A file, a folder with the files of one data set, or a name: a folder of that name (case is ignored) in one
        of `data_folders()`.
    part : {"full", "predefined"}
        "full": the full file, else the train and the test file. "predefined": the train and the test file.

    Raises
    ------
    DataError
        When nothing is found; the message names the folders searched. `NoDivisionError` when there is no train or no
        test file and `part` needs them.
    """
    try:
        if is_path(name_or_path):
            return _locate_path(name_or_path, part)
        return _locate_name(name_or_path, part)
    except OSError as error:  # a name too long, a folder without read permission
        raise DataError(f"{error.filename or name_or_path}: cannot be read: {error.strerror or error}") from None


def _locate_path(text: str, part: Part) -> DataFiles:
    path = _expand(text)
    name = short_name(text, part)
    if path.is_dir():
        return _choose_in_folder(path, name, part)
    if not path.is_file():
        raise DataError(f"{text}: no such file or folder")
    if path.suffix and not suffix(path.name):
        forms = ", ".join(f"{form.title} ({' '.join(form.suffixes)})" for form in FORMS.values() if form.suffixes)
        raise DataError(
            f"{path}: its form is not known by its suffix; read are {forms}; "
            "convert it to one of these (in pandas: frame.to_csv('data.csv', index=False))"
        )
    there = _list_files(path.parent, stem(path)[0])
    if part == "full":
        return DataFiles(name, (path,), _choose_xml(there, path))
    split = _divided(there, form_of(path)) or _own_parts(path)
    if split is None:
        ending = suffix(path.name) or ".arff"
        wanted = f"{stem(path)[0]}-train{ending} and {stem(path)[0]}-test{ending}"
        raise NoDivisionError(f"{path}: the predefined split needs {wanted} beside it")
    return DataFiles(name, split, _choose_xml(there, path))


def _locate_name(wanted: str, part: Part) -> DataFiles:
    name = short_name(wanted, part)
    incomplete: list[DataError] = []
    for folder in _list_dataset_folders():
        if folder.name.casefold() == name.casefold():
            try:
                return _choose_in_folder(folder, short_name(folder.name), part)
            except DataError as error:  # a later folder may hold the missing files
                incomplete.append(error)
    if incomplete:
        raise incomplete[0]
    where = ", ".join(map(str, data_folders()))
    known = find(name)
    if known is None:
        hint = suggest_name(wanted, entry_names()) or "; give a path, or put its folder into one of them"
        raise DataError(f"unknown data set {wanted!r}: not in {where}{hint}")
    message = f"data set {known.name!r} is not found in the folders {where}; {how_to_get([known.name])}"
    raise NotFetchedError(message, known.name) if known.fetchable else DataError(message)


def path_of_names(path: Path, what: str) -> Path:
    """The path of the file with the names of "features" or "labels", one a line, beside an svmlight file."""
    return path.with_name(f"{stem(path)[0]}.{what}.txt")


def find_folder(name: str) -> Path | None:
    """The folder in which the named data set is found, None if it is in no data folder."""
    try:
        return locate(name).paths[0].parent
    except DataError:
        return None


def list_own() -> list[DataFiles]:
    """The data sets in the data folders that are not in the catalogue, each once, in the order of the folders."""
    found: dict[str, DataFiles] = {}
    for folder in _list_dataset_folders():
        name = folder.name.casefold()
        if find(name) is None and name not in found:
            with contextlib.suppress(DataError, OSError):
                found[name] = _choose_in_folder(folder, folder.name, "full")
    return list(found.values())


def _list_dataset_folders() -> Iterator[Path]:
    """The folders within the data folders, one for each data set."""
    for folder in data_folders():
        children = sorted(folder.iterdir()) if folder.is_dir() else []
        yield from filter(Path.is_dir, children)


def stem(path: Path) -> tuple[str, str]:
    """The stem without -train, -test, -sparse, and the part that these state: "train", "test" or ""."""
    ending = suffix(path.name) or path.suffix
    name = path.name[: len(path.name) - len(ending)]
    part = ""
    while match := _SUFFIX.search(name):
        if match.group(1).lower() != "sparse":
            part = match.group(1).lower()
        name = name[: match.start()]
    return name, part


_Found: TypeAlias = Mapping[tuple[str, str], list[Path]]
"""The files of one data set in a folder, by form (label XMLs: ".xml") and part ("", "train", "test")."""


def _list_files(folder: Path, name: str) -> _Found:
    found = defaultdict(list)
    for path in sorted(folder.iterdir()):
        own, part = stem(path)
        if own.casefold() == name.casefold() and path.is_file():
            form = SUFFIXES.get(suffix(path.name), path.suffix.lower())
            found[form, part].append(path)
    return found


def _choose_xml(there: _Found, path: Path) -> Path | None:
    """The label XML with the same stem as a file, else the one without -train and -test, else any."""
    xmls = there[".xml", ""] + there[".xml", "train"] + there[".xml", "test"]
    same = [xml for xml in xmls if xml.stem.casefold() == path.stem.casefold()]
    return next(iter(same + xmls), None)


def _divided(there: _Found, form: str) -> tuple[Path, ...] | None:
    """The train and the test file of a form, None if there are not both."""
    split = (*there[form, "train"], *there[form, "test"])
    return split if len(split) == 2 else None


def _own_parts(path: Path) -> tuple[Path, ...] | None:
    """The file, if it has a train and a test part itself; else None."""
    if form_of(path) not in ("mat", "npz"):
        return None
    from mlcdr.data.arrays import has_test_part  # imports numpy and scipy, needed only here

    return (path,) if has_test_part(form_of(path), path) else None


def _choose_in_folder(folder: Path, name: str, part: Part) -> DataFiles:
    """Choose files in a data set's folder: of the first form, in the order of FORMS, that has what `part` needs."""
    there = _list_files(folder, name)
    for form in FORMS:
        for which in ("full", "train", "test"):
            paths = there[form, which.removeprefix("full")]
            if len(paths) > 1:
                names = " and ".join(path.name for path in paths)
                raise DataError(f"{folder}: {names} could both be the {which} file; keep one")
        files = _choose_of_form(there, form, name, part)
        if files is not None:
            return files
    wanted = f"{name}-train.arff and {name}-test.arff"
    if part == "full":
        wanted = f"{name}.arff, or {wanted}"
    has = ", ".join(sorted(path.name for path in folder.iterdir() if path.is_file())) or "nothing"
    error = DataError if part == "full" else NoDivisionError
    raise error(f"{folder}: needs {wanted} (or of another form, such as .csv), has {has}")


def _choose_of_form(there: _Found, form: str, name: str, part: Part) -> DataFiles | None:
    """The files of one form, None if they have not what `part` needs; at most one is full, train and test each."""
    full = tuple(there[form, ""])
    split = _divided(there, form)
    if not full:
        return DataFiles(name, split, _choose_xml(there, split[0])) if split else None
    if part == "full":
        return DataFiles(name, full, _choose_xml(there, full[0]))
    split = split or _own_parts(full[0])
    if split:
        return DataFiles(name, split, _choose_xml(there, split[0]))
    known = find(name)
    # a full file of the catalogue may have both parts
    if known is not None and (known.test_first or (known.matlab and known.matlab.n_train)):
        return DataFiles(name, full, _choose_xml(there, full[0]), known.test_first)
    return None
