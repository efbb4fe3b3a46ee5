"""The published results of studies, in which one's own methods are placed: a folder's, or the file that is fetched."""

from __future__ import annotations

import os
from pathlib import Path

from mlcdr.data.files import cache_folder
from mlcdr.data.sources import studies
from mlcdr.errors import DataError

FOLDERS = "MLCDR_PUBLISHED"
"""The variable with folders (a path list) that may hold STUDY/results.csv."""


def study_folder(name: str) -> Path:
    """The folder in the user's cache that `fetch` puts the study's file into."""
    return cache_folder() / "published" / name


def locate_study(name: str) -> Path:
    """The results of a study of the catalogue: `NAME/results.csv` of $MLCDR_PUBLISHED, or the file that was fetched.

    Raises
    ------
    DataError
        It is in none of these; the message says how to get it.
    """
    folders = [Path(part).expanduser() for part in os.environ.get(FOLDERS, "").split(os.pathsep) if part]
    places = [folder / name / "results.csv" for folder in folders]
    places.append(study_folder(name) / studies()[name].name)
    for path in places:
        if path.is_file():
            return path
    raise DataError(
        f"{name}: there is none of {', '.join(map(str, places))}; `mlcdr datasets fetch {name}` downloads it, or "
        f"{FOLDERS} names a folder that has {name}/results.csv"
    )
