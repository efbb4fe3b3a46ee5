"""The checks of `mlcdr doctor`: what a report of a bug needs, and what is missing here."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy  # noqa: F401  (loads its BLAS, which is examined)
import scipy.linalg  # noqa: F401  (as well)
from packaging.requirements import Requirement
from threadpoolctl import threadpool_info

from mlcdr import __version__
from mlcdr.data import catalog
from mlcdr.data.files import cache_folder, data_folders
from mlcdr.errors import UserError
from mlcdr.execution.writing import installed_version
from mlcdr.methods.registry import BUILT_IN, import_target, resolve
from mlcdr.metrics import METRICS, of_function
from mlcdr.plug_ins import plug_ins

_SHOWN = ("numpy", "scipy", "scikit-learn", "pandas", "joblib", "pydantic", "matplotlib")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_FOLDERS = ("MLCDR_DATASETS", "MLCDR_FOLDS", "MLCDR_PUBLISHED")
_OF_DEVELOPERS = ("dev", "docs", "mutants")  # extras that no user needs


class Finding(NamedTuple):
    """One line of the output: the topic, what was found, and whether it is as required."""

    topic: str
    found: str
    ok: bool = True


def examine() -> list[Finding]:
    """All findings, in a fixed order."""
    return [*_describe_machine(), *_check_packages(), *_check_data(), *_check_plug_ins()]


def _describe_machine() -> list[Finding]:
    usable = joblib.cpu_count()
    limits = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    facts = {
        "mlcdr": f"{__version__} in {Path(__file__).parents[1]}",
        "python": f"{platform.python_version()} ({sys.executable})",
        "machine": platform.platform(),
        "versions": ", ".join(f"{name} {installed_version(name)}" for name in _SHOWN),
        "cores": f"{os.cpu_count()}, {usable} of them usable; --jobs 0 means {usable}",
        "threads": ", ".join(limits) or f"none of {', '.join(_THREADS)} is set",
    }
    findings = [Finding(topic, found) for topic, found in facts.items()]
    for library in threadpool_info():
        if library["user_api"] == "blas":
            about = f"{library['internal_api']} {library['version']}, {library.get('architecture')}"
            threads = f"{library['num_threads']} threads here, 1 in each worker of a run"
            findings.append(Finding("blas", f"{about} ({threads}) {Path(library['filepath']).name}"))
    return findings


def _check_packages() -> list[Finding]:
    """The required packages, and those of each extra: which are missing or of another version."""
    try:
        about = metadata("mlcdr")
    except PackageNotFoundError:
        return [Finding("packages", "mlcdr is not installed as a package, so what it requires is not known")]
    required = [Requirement(line) for line in about.get_all("Requires-Dist") or ()]
    wrong = _list_problems(required, "")
    findings = [Finding("packages", ", ".join(wrong) or "all present", ok=not wrong)]
    for extra in about.get_all("Provides-Extra") or ():
        problems = [problem for problem in _list_problems(required, extra) if problem not in wrong]
        if extra not in _OF_DEVELOPERS and problems:
            findings.append(Finding(f"extra {extra}", f"{', '.join(problems)} (pip install 'mlcdr[{extra}]')"))
    return findings


def _list_problems(required: list[Requirement], extra: str) -> list[str]:
    problems = []
    for each in required:
        if each.marker is not None and not each.marker.evaluate({"extra": extra}):
            continue
        version = installed_version(each.name)
        if version is None:
            problems.append(f"{each.name} is missing")
        elif not each.specifier.contains(version, prereleases=True):
            problems.append(f"{each.name} is {version}, but {each.specifier} is required")
    return problems


def _show_folder(folder: Path) -> str:
    return str(folder) if folder.is_dir() else f"{folder} (missing)"


def _check_data() -> list[Finding]:
    findings = []
    for name in _FOLDERS:
        folders = os.environ.get(name, "").split(os.pathsep)
        gone = [folder for folder in folders if folder and not Path(folder).expanduser().is_dir()]
        if gone:
            findings.append(Finding(name, f"no such folder: {', '.join(gone)}", ok=False))
    known = catalog.entries()
    held = [entry.name for entry in known if catalog.find_folder(entry.name)]
    cache = cache_folder()
    # the cache is made when it is needed, in the nearest folder that exists
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    state = "" if os.access(nearest, os.W_OK) else "; not writable: every run parses the files again"
    return [
        *findings,
        Finding("data folders", ", ".join(map(_show_folder, data_folders()))),
        Finding("data sets", f"{len(held)} of the {len(known)} in the catalogue: {', '.join(held)}", "yeast" in held),
        Finding("cache", f"{cache}{state}"),
    ]


def _check_plug_ins() -> list[Finding]:
    """Each component and metric of another package, imported."""
    findings = []
    for family in (*BUILT_IN, "metric"):
        for point in plug_ins(f"mlcdr.{family}"):
            problem = _find_problem(family, point.name, point.value)
            findings.append(Finding(f"plug-in {family}", f"{point.name} = {point.value}{problem}", ok=not problem))
    return findings


def _find_problem(family: str, name: str, target: str) -> str:
    """Why a component, or a metric, of another package cannot be used; empty if it can be."""
    built_in = METRICS if family == "metric" else BUILT_IN[family]
    if name in built_in:
        return ": hidden by the built-in one of the same name"
    try:
        if family == "metric":
            of_function(name, import_target(f"metric {name!r}", target))
        else:
            resolve(family, name)
    except UserError as error:
        return f": {error}"
    return ""
