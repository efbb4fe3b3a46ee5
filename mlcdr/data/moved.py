"""Data files of a results folder that was moved: where they are now."""

from __future__ import annotations

import os
from pathlib import Path

from mlcdr.data.files import data_folders, is_there, short_name


def is_results_folder(folder: Path) -> bool:
    """Whether a folder is one that a run has written."""
    return (folder / "manifest.json").is_file() and (folder / "experiment.yaml").is_file()


def find_again(path: str, folder: Path) -> str:
    """The absolute path to which a path in a results folder's `experiment.yaml` leads.

    If nothing is there, it is that of a file or folder of the same name in a data folder, or in the data set's folder
    there; and if there is none either, the path at which it should be.
    """
    if path.startswith("~"):
        return path
    there = Path(os.path.normpath(folder / path))
    places = [there]
    for known in data_folders():
        places += [known / there.name, known / short_name(there.name) / there.name]
    found = next(filter(is_there, places), there)
    return str(found.absolute())


def explain_absent(path: str) -> str:
    """What to do where `find_again` found nothing."""
    name = Path(path).name
    return f"it was there, seen from the results folder; put it there, or {name} into a folder of $MLCDR_DATASETS"
