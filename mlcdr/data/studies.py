"""Files of published results of studies, with which a user's own methods are compared: in a folder, or downloaded."""

from __future__ import annotations

from pathlib import Path

from mlcdr.data.files import cache_folder, list_folders
from mlcdr.data.sources import studies
from mlcdr.errors import DataError

FOLDERS = "MLCDR_PUBLISHED"
"""The environment variable with the folders (a path list) that may contain STUDY/results.csv."""


def study_folder(name: str) -> Path:
    """The folder in the user's cache into which `fetch` writes the study's file."""
    return cache_folder() / "published" / name


def locate_study(name: str) -> Path:
    """The path of a study's results: `NAME/results.csv` in a folder of $MLCDR_PUBLISHED, else the downloaded file.

    Raises
    ------
    DataError
        When there is no such file; the message states how to get it.
    """
    places = [folder / name / "results.csv" for folder in list_folders(FOLDERS)]
    places.append(study_folder(name) / studies()[name].name)
    for path in places:
        if path.is_file():
            return path
    raise DataError(
        f"{name}: there is none of {', '.join(map(str, places))}; `mlcdr datasets fetch {name}` downloads it, or "
        f"{FOLDERS} names a folder that has {name}/results.csv"
    )
