"""Where a data set's files are: a path, or a name looked up in the data folders."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

from mlcdr.errors import DataError

Part = Literal["full", "predefined"]

_SUFFIX = re.compile(r"[-_](train|test|sparse)$", re.IGNORECASE)


@dataclass(frozen=True)
class DataFiles:
    """The files of one data set.

    `arffs` is one ARFF, or the train and the test ARFF in that order; `xml` the label XML if there is one;
    `test_first` is set where the predefined split comes from one full file: its first rows are the test file's.
    """

    name: str
    arffs: tuple[Path, ...]
    xml: Path | None
    test_first: int | None = None


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
    """The `datasets` folder of the source checkout this package lives in, None if it is installed elsewhere."""
    root = Path(__file__).resolve().parents[2]
    return root / "datasets" if (root / "pyproject.toml").is_file() else None


def data_folders() -> list[Path]:
    """The folders that hold data sets, in order: $MLCDR_DATASETS, ./datasets, the checkout's, the user's cache.

    Outside a checkout, the package's own copy of the embedded data set comes last.
    """
    folders = [Path(part).expanduser() for part in os.environ.get("MLCDR_DATASETS", "").split(os.pathsep) if part]
    folders.append(Path("datasets"))
    checkout = checkout_folder()
    if checkout is not None:
        folders.append(checkout)
    folders.append(cache_folder() / "datasets")
    if checkout is None:
        folders.append(Path(__file__).parent / "embedded")
    return folders


def is_path(name_or_path: str) -> bool:
    """Whether the text is a path (has a separator, begins with ~ or ., ends with .arff), not a data set's name."""
    if name_or_path[:1] in ("~", ".") or name_or_path.lower().endswith(".arff"):
        return True
    return "/" in name_or_path or os.sep in name_or_path


def short_name(name_or_path: str, part: Part = "full") -> str:
    """The name that a data set has in the results, and that its splits are seeded with, however it was asked for.

    A path goes by its last part without `.arff` (for the predefined split also without `-train`, `-test`, `-sparse`).
    A name of the catalogue is spelt as there; another is left as it is (`locate` spells it as its folder).
    """
    name = name_or_path
    if is_path(name):
        name = Path(os.path.abspath(_expanded(name))).name  # noqa: PTH100 (a link keeps its name)
        if name.lower().endswith(".arff"):
            name = name[: -len(".arff")]
            while part == "predefined" and (match := _SUFFIX.search(name)):
                name = name[: match.start()]
    from mlcdr.data.sources import find  # the catalogue is read only where it is needed

    known = find(name)
    return known.name if known else name


def _expanded(path: str) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 (an unknown user is a file that is not there, and no error)


def locate(name_or_path: str, part: Part = "full") -> DataFiles:
    """Find a data set's files.

    Parameters
    ----------
    name_or_path : str
        An ARFF file, a folder with the files of one data set, or a name: a folder of that name (without case) in one
        of `data_folders()`.
    part : {"full", "predefined"}
        "full": the full file, else the train and the test file. "predefined": the train and the test file.

    Raises
    ------
    DataError
        Nothing there, or not the files that `part` needs; says where was looked.
    """
    name = short_name(name_or_path, part)
    try:
        if is_path(name_or_path):
            path = _expanded(name_or_path)
            if path.is_dir():
                return _in_folder(path, name, part)
            if path.is_file():
                return _beside(path, name, part)
            raise DataError(f"{name_or_path}: no such file or folder")
        folders = data_folders()
        incomplete: DataError | None = None
        for folder in _folders_named(folders, name):
            try:
                return _in_folder(folder, short_name(folder.name), part)
            except DataError as error:  # a later folder may hold the missing files
                incomplete = incomplete or error
    except OSError as error:  # a name too long, a folder that may not be read
        raise DataError(f"{error.filename or name_or_path}: cannot be read: {error.strerror or error}") from None
    if incomplete is not None:
        raise incomplete
    raise DataError(_not_found(name_or_path, folders))


def held(name: str) -> Path | None:
    """The folder in which the named data set is found, None if it is in no data folder."""
    try:
        return locate(name).arffs[0].parent
    except DataError:
        return None


def _not_found(name: str, folders: list[Path]) -> str:
    from mlcdr.data.sources import close_names, find  # the catalogue is read only where it is needed

    looked = ", ".join(str(folder) for folder in folders)
    known = find(name)
    if known is not None:
        command, what = ("fetch", "downloads it") if known.fetchable else ("info", "says how to get it")
        return f"data set {name!r} is in none of {looked}; `mlcdr datasets {command} {known.name}` {what}"
    close = close_names(name)
    hint = f"; did you mean {close[0]}?" if close else "; give a path, or put its folder into one of them"
    return f"unknown data set {name!r}: not in {looked}{hint}"


def _folders_named(folders: list[Path], name: str) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            continue
        for child in sorted(folder.iterdir()):
            if child.name.casefold() == name.casefold() and child.is_dir():
                yield child


def _test_first(name: str) -> int | None:
    """How many rows of the full file are the test file's, for the full files that are the test then the train file."""
    from mlcdr.data.sources import find

    known = find(name)
    return known.test_first if known else None


def _stem(path: Path) -> tuple[str, str]:
    """The stem without -train, -test, -sparse (folded), and which part it names: "train", "test" or ""."""
    stem, part = path.stem, ""
    while match := _SUFFIX.search(stem):
        if match.group(1).lower() != "sparse":
            part = match.group(1).lower()
        stem = stem[: match.start()]
    return stem.casefold(), part


def _in_folder(folder: Path, name: str, part: Part) -> DataFiles:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    parts: dict[str, list[Path]] = {"": [], "train": [], "test": []}
    for path in files:
        if path.suffix.lower() == ".arff":
            stem, which = _stem(path)
            if stem == name.casefold():
                parts[which].append(path)
    xml = [path for path in files if path.suffix.lower() == ".xml" and _stem(path)[0] == name.casefold()]
    for which, paths in parts.items():
        if len(paths) > 1:
            raise DataError(
                f"{folder}: {' and '.join(p.name for p in paths)} could both be the {which or 'full'} file; keep one"
            )
    split = tuple(parts["train"] + parts["test"])
    if part == "full" and parts[""]:
        arffs: tuple[Path, ...] = (parts[""][0],)
    elif len(split) == 2:
        arffs = split
    elif parts[""] and _test_first(name):
        return DataFiles(name, (parts[""][0],), xml[0] if xml else None, _test_first(name))
    else:
        wanted = f"{name}-train.arff and {name}-test.arff"
        if part == "full":
            wanted = f"{name}.arff, or {wanted}"
        raise DataError(f"{folder}: needs {wanted}, has {', '.join(path.name for path in files) or 'nothing'}")
    return DataFiles(name, arffs, xml[0] if xml else None)


def _beside(path: Path, name: str, part: Part) -> DataFiles:
    """The data set of one ARFF file; its XML has the same stem, with or without -train, -test, -sparse."""
    stem, _ = _stem(path)
    siblings = sorted(p for p in path.parent.iterdir() if p.is_file() and _stem(p)[0] == stem)
    exact = [p for p in siblings if p.suffix.lower() == ".xml" and p.stem.casefold() == path.stem.casefold()]
    xml = exact or [p for p in siblings if p.suffix.lower() == ".xml" and _stem(p)[1] == ""]
    if part == "predefined":
        pair = [
            p for wanted in ("train", "test") for p in siblings if p.suffix.lower() == ".arff" and _stem(p)[1] == wanted
        ]
        if len(pair) != 2:
            raise DataError(f"{path}: the predefined split needs {stem}-train.arff and {stem}-test.arff beside it")
        return DataFiles(name, tuple(pair), xml[0] if xml else None)
    return DataFiles(name, (path,), xml[0] if xml else None)
