"""The catalogue of data sets: list them, describe one, download it, verify it. No function prints results.

Downloads go to the user's cache folder; the SHA-256 of each file is checked before it is written.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from mlcdr.data.download import Downloader
from mlcdr.data.files import cache_folder, find_folder, locate, sha256
from mlcdr.data.forms import OPENML, SOURCES
from mlcdr.data.sources import Entry, SourceFile, entries, entry, find, hosts, studies
from mlcdr.data.studies import study_folder
from mlcdr.errors import DataError, plural

__all__ = ["Check", "Entry", "entries", "fetch", "find", "find_folder", "info", "verify"]

_AT_ONCE = 4


class Check(NamedTuple):
    """An expected fact and the fact found; the check holds if the two are equal."""

    fact: str
    expected: Any
    found: Any

    @property
    def ok(self) -> bool:
        """Whether the check holds."""
        return bool(self.expected == self.found)


def availability(entry: Entry) -> str:
    """Return "yes" if a data set of the catalogue is in a data folder, else how to get it: "fetch" or "by hand"."""
    if find_folder(entry.name):
        return "yes"
    return "fetch" if entry.fetchable else "by hand"


def info(name: str, /, **options: Any) -> dict[str, Any]:
    """Everything known about a data set, as plain data.

    Parameters
    ----------
    name : str
        A name of the catalogue, or of a data set found in the data folders, or a path.
    **options
        As in `load_dataset`, such as `labels`.

    Returns
    -------
    dict
        name; if it is in the catalogue, also domain, citation, page, note, fetchable, urls, expected (statistics),
        expected_from ("measured" or "mulan"); folder (or None). If the data are available, also statistics (with those
        of `describe_dataset`), missing (number of values by feature), labels (instances and IRLbl), notices, checksum.
        Missing values that a run would refuse are kept, with a notice.

    Raises
    ------
    DataError
        When it is neither in the catalogue nor in the data folders, or cannot be read.
    """
    known = find(name)
    facts: dict[str, Any] = {"name": name}
    if known is not None:
        for key in ("name", "domain", "citation", "page", "note", "fetchable"):
            facts[key] = getattr(known, key)
        facts["urls"] = [file.address(hosts()[0]) for file in known.files]
        facts["expected"] = dict(known.statistics)
        facts["expected_from"] = "measured" if known.measured else "mulan"
    facts["folder"] = None
    if name.startswith(OPENML) or not options.keys().isdisjoint(SOURCES):
        return facts | _describe(name, options)
    folder = find_folder(name)
    if folder is None:
        if known is None:
            locate(name)  # raises the error that names the folders
        return facts
    return facts | {"folder": str(folder)} | _describe(name, options)


def _describe(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a data set that is available."""
    from mlcdr.data.dataset import load_dataset  # imports numpy and scipy, needed only here
    from mlcdr.data.description import describe_dataset, imbalance_ratios
    from mlcdr.data.encoding import MissingValueError

    refused = []
    try:
        data = load_dataset(name, **options)
    except MissingValueError as error:
        refused = [f"a run refuses this: {error}"]
        data = load_dataset(name, **{**options, "missing": "keep"})
    counts = data.Y.sum(axis=0).astype(int).tolist()
    labels = {}
    for label, n, ratio in zip(data.label_names, counts, imbalance_ratios(data.Y), strict=True):
        labels[label] = f"{plural(n, 'instance')}, IRLbl {ratio:.3g}"
    return {
        "statistics": data.statistics() | describe_dataset(data),
        "missing": dict(data.missing),
        "labels": labels,
        "notices": [*data.notices, *refused],
        "checksum": data.checksum,
    }


def verify(name: str) -> list[Check]:
    """Compare the data set in the data folders with the facts of the catalogue.

    Returns
    -------
    list of Check
        One for each statistic, and one for each file in its folder for which the catalogue has a checksum.

    Raises
    ------
    DataError
        When it is not in the catalogue, not in the data folders, or cannot be read.
    """
    from mlcdr.data.dataset import load_dataset

    known = entry(name)
    found = load_dataset(known.name).statistics()
    digits = 6 if known.measured else 3
    checks = []
    for fact, expected in known.statistics.items():
        measured = round(found[fact], digits) if isinstance(expected, float) else found[fact]
        checks.append(Check(fact, expected, measured))
    folder = locate(known.name).paths[0].parent
    here = {path.name.casefold(): path for path in folder.iterdir()}
    for file in known.files:
        path = here.get(file.name.casefold())
        if path is not None:
            digest = sha256(path)
            right = digest if digest == file.embedded else file.sha256
            checks.append(Check(f"sha256 of {path.name}", right, digest))
    return checks


def fetch(names: Sequence[str], progress: bool = True, *, folds: bool = False) -> dict[str, Path]:
    """Download the files of data sets, several at once, except files that are there already with the right content.

    $MLCDR_MIRROR, a folder or an address with OWNER/REPOSITORY/COMMIT/PATH, replaces the catalogue's hosts.

    Parameters
    ----------
    names : sequence of str
        Names of the catalogue, of data sets or of studies.
    progress : bool
        Show one progress bar (on standard error).
    folds : bool
        Download the fixed folds of the data sets, too, and write them as CSV files to `folds` in the user's cache.

    Returns
    -------
    dict
        The folder of each data set and study by its name.

    Raises
    ------
    DataError
        When a name is not in the catalogue, no checksum is recorded, or an address is not allowed; or (after all other
        downloads) when downloads failed, with one line for each reason. The files of a data set are written all or not
        at all, and only with the right SHA-256; other bytes that were received are kept for the next call.
    ResultsError
        When a file cannot be written.
    """
    places: dict[str, Path] = {}
    groups: dict[str, dict[Path, SourceFile]] = {}
    fold_files: list[Path] = []
    for name in names:
        if name in studies():
            places[name] = study_folder(name)
            groups[name] = {places[name] / studies()[name].name: studies()[name]}
            continue
        known = entry(name)
        folder = cache_folder() / "datasets" / known.name
        if not known.files:
            raise DataError(
                f"{known.name}: no checksum of its public files is recorded, so they are not downloaded; get them from "
                f"{known.page} and put {known.name}.arff and {known.name}.xml into {folder}"
            )
        places[known.name] = folder
        groups[known.name] = {folder / file.name: file for file in known.files}
        if folds:
            of_folds = {cache_folder() / "folds" / file.name: file for file in known.folds.values()}
            groups[f"folds of {known.name}"] = of_folds
            fold_files += of_folds
    _download(groups, progress)
    for path in fold_files:
        from mlcdr.data.folds import write_fold_csv

        write_fold_csv(path)
    return places


def _is_there(path: Path, file: SourceFile) -> bool:
    try:
        return sha256(path) == file.sha256
    except OSError:
        return False


def _download(groups: Mapping[str, Mapping[Path, SourceFile]], progress: bool) -> None:
    """Download what is absent of groups of files, each group completely or not at all; errors name the groups."""
    wanted = {}
    for name, files in groups.items():
        absent = {path: file for path, file in files.items() if not _is_there(path, file)}
        if absent:
            wanted[name] = absent
    if not wanted:
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    n_bytes = 0
    for files in wanted.values():
        n_bytes += sum(file.n_bytes for file in files.values())
    failures: dict[str, list[str]] = {}
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bars:
        bar = bars.add_task(f"{len(wanted)} to fetch", total=n_bytes)
        downloader = Downloader(functools.partial(bars.advance, bar))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            running = {pool.submit(downloader.get_all, files): name for name, files in wanted.items()}
            try:
                for number, done in enumerate(as_completed(running), 1):
                    bars.update(bar, description=f"{number} of {len(wanted)} fetched")
                    try:
                        done.result()
                    except DataError as error:
                        failures.setdefault(str(error), []).append(running[done])
            except BaseException:
                downloader.stop()
                pool.shutdown(cancel_futures=True)
                raise
    if failures:
        raise DataError("\n".join(f"{', '.join(names)}: not fetched: {why}" for why, names in failures.items()))
