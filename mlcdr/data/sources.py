"""The catalogue: facts about each data set of the papers, read from `catalog.yaml`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import yaml

from mlcdr.errors import DataError, suggest_name

_Repositories: TypeAlias = Mapping[str, Mapping[str, str]]

CATALOGUE = Path(__file__).parent / "catalog.yaml"


@dataclass(frozen=True)
class SourceFile:
    """One public file of a data set.

    Attributes
    ----------
    name : str
        The name under which it is stored.
    repository, commit, path : str
        Where it is published: `OWNER/REPOSITORY`, the commit, and the path in it.
    sha256 : str
        SHA-256 (hex) of its content.
    n_bytes : int
        Its size.
    embedded : str or None
        SHA-256 of the copy in this source tree, if its bytes differ (with the same data); else None.
    """

    name: str
    repository: str
    commit: str
    path: str
    sha256: str
    n_bytes: int
    embedded: str | None = None

    def address(self, host: str) -> str:
        """Its address at a host: `host` with `{repository}`, `{commit}`, `{path}` and `{sha256}` filled in."""
        return host.format(repository=self.repository, commit=self.commit, path=quote(self.path), sha256=self.sha256)


@dataclass(frozen=True)
class MatlabNames:
    """Facts that a MATLAB file of `data` (n×d) and `target` (K×n) does not contain.

    Attributes
    ----------
    features : str
        The first feature's name; the other names continue its number.
    labels : str or tuple of str
        As `features`, or all names; empty if an XML has them.
    leading_labels : int
        If not 0: the number of labels K; the first K columns of [data, targetᵀ] are the labels.
    n_train : int or None
        If the file has a train and a test part: the number of train rows.
    """

    features: str
    labels: str | tuple[str, ...] = ""
    leading_labels: int = 0
    n_train: int | None = None


@dataclass(frozen=True)
class Entry:
    """The facts about a data set.

    Attributes
    ----------
    name, domain, citation, page, note : str
        `page` is the web page of the data set; `note` may be empty.
    statistics : dict
        The expected facts, with the keys of `Dataset.statistics()`; facts that are not known are absent.
    measured : bool
        Whether the statistics were computed from the files; else they are from Mulan's page (3 decimals).
    files : tuple of SourceFile
        The files to download; empty if no checksums are recorded.
    folds : dict
        Number of folds → the MATLAB file with ten divisions into that many folds.
    matlab : MatlabNames or None
        Set if the data are in a MATLAB file.
    test_first : int or None
        Number of test rows, if the full file is the test file followed by the train file; else None.
    """

    name: str
    domain: str
    citation: str
    page: str
    statistics: dict[str, Any]
    measured: bool
    note: str = ""
    files: tuple[SourceFile, ...] = ()
    folds: Mapping[int, SourceFile] = field(default_factory=dict)
    matlab: MatlabNames | None = None
    test_first: int | None = None

    @property
    def fetchable(self) -> bool:
        """Whether `fetch` can download it and check the files."""
        return bool(self.files)


class _Catalogue(NamedTuple):
    """The content of the catalogue; entries and studies by name."""

    hosts: tuple[str, ...]
    entries: dict[str, Entry]
    studies: dict[str, SourceFile]


@functools.cache
def _catalogue(path: Path) -> _Catalogue:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    public = raw["repositories"]
    entries = {name: read_entry(name, facts, public) for name, facts in raw["entries"].items()}
    studies = {name: _read_file(facts, public) for name, facts in raw.get("studies", {}).items()}
    return _Catalogue(tuple(raw["hosts"]), entries, studies)


def _read_file(facts: Mapping[str, Any], public: _Repositories, repository: str = "mulan") -> SourceFile:
    """A file, from its facts in the catalogue; `repository`: where it is unless the facts say otherwise."""
    said = {"name": Path(facts["path"]).name, **facts}
    place = public[said.pop("from", repository)]
    said["path"] = f"{place['folder']}/{said['path']}"
    return SourceFile(repository=place["repository"], commit=place["commit"], **said)


def read_entry(name: str, facts: Mapping[str, Any], public: _Repositories) -> Entry:
    """An entry, from its facts in the catalogue; `public`: the repositories."""
    said = dict(facts)
    statistics = dict(said["statistics"])
    said["measured"] = statistics.pop("from") == "measured"
    said["statistics"] = statistics
    said["files"] = tuple(_read_file(each, public) for each in said.get("files", ()))
    said["folds"] = {}
    for k, file in facts.get("folds", {}).items():
        said["folds"][k] = _read_file({**file, "name": f"{name}.{k}fold.mat"}, public, "toolbox")
    if "matlab" in said:
        names = dict(said["matlab"])
        if isinstance(names.get("labels"), list):
            names["labels"] = tuple(names["labels"])
        said["matlab"] = MatlabNames(**names)
    return Entry(name=name, **said)


def hosts() -> tuple[str, ...]:
    """The hosts of the files, in the order in which they are tried; each is an argument of `SourceFile.address`."""
    return _catalogue(CATALOGUE).hosts


def studies() -> Mapping[str, SourceFile]:
    """The files with the results of published studies, by the studies' names."""
    return _catalogue(CATALOGUE).studies


def entries() -> tuple[Entry, ...]:
    """All entries, in the catalogue's order."""
    return tuple(_catalogue(CATALOGUE).entries.values())


def entry_names() -> list[str]:
    """The names of all entries (lower case)."""
    return list(_catalogue(CATALOGUE).entries)


def find(name: str) -> Entry | None:
    """The entry of that name (case is ignored), None if the catalogue has none."""
    return _catalogue(CATALOGUE).entries.get(name.casefold())


def how_to_get(names: Sequence[str], folds: bool = False) -> str:
    """The commands to get data sets of the catalogue, or also their folds, as text for a message."""
    known = [each for each in map(find, names) if each is not None]
    fetchable = [each.name for each in known if each.fetchable]
    said = []
    if fetchable:
        command = " ".join(["mlcdr datasets fetch", *fetchable])
        if folds:
            command += " --folds"
        said.append(f"`{command}` downloads {'them' if len(fetchable) > 1 else 'it'}")
    for each in known:
        if not each.fetchable:
            which = each.name if len(known) > 1 else "it"
            said.append(f"`mlcdr datasets info {each.name}` says how to get {which}")
    return "; ".join(said)


def entry(name: str) -> Entry:
    """The entry of that name (case is ignored).

    Raises
    ------
    DataError
        When the catalogue has no such entry; the message suggests names.
    """
    found = find(name)
    if found is None:
        hint = suggest_name(name, entry_names()) or f"; it has {', '.join(entry_names())}"
        raise DataError(f"the catalogue has no data set {name!r}{hint}")
    return found
