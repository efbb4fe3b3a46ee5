"""The checks of `mlcdr doctor`: versions, threads, data folders, extras, plug-ins."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import joblib
import numpy  # noqa: F401  (loads its BLAS, which is examined)
import scipy.linalg  # noqa: F401  (as well)
from packaging.requirements import Requirement
from threadpoolctl import threadpool_info

from mlcdr import __version__
from mlcdr.data import catalog
from mlcdr.data.files import cache_folder, checkout_folder, data_folders, list_own
from mlcdr.errors import UserError
from mlcdr.execution.writing import installed_version
from mlcdr.methods.registry import BUILT_IN, resolve
from mlcdr.plug_ins import plug_ins
from mlcdr.reproduce import recipes

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PLACES = ("MLCDR_DATASETS", "MLCDR_FOLDS", "MLCDR_PUBLISHED", "MLCDR_CACHE")
_OF_DEVELOPERS = ("dev", "docs", "mutants")  # extras that no user needs


@dataclass(frozen=True)
class Finding:
    """One line of the output: the topic, what was found, and whether it is as required."""

    topic: str
    found: str
    ok: bool = True


def examine() -> list[Finding]:
    """All findings, in a fixed order."""
    return [*_check_program(), *_check_packages(), *_check_machine(), *_check_data(), *_check_components()]


def _check_program() -> list[Finding]:
    folder = Path(__file__).parents[1]
    kind = "a source checkout" if checkout_folder() is not None else "an installed package"
    known = recipes.recipes()
    return [
        Finding("mlcdr", f"{__version__} in {folder} ({kind})"),
        Finding("python", f"{platform.python_version()} ({sys.executable})"),
        Finding("configs", f"{len(known)} of papers in {recipes.config_folder()}", bool(known)),
    ]


def _check_packages() -> list[Finding]:
    """The required packages, with the names of missing or outdated ones; then each optional extra."""
    try:
        about = metadata("mlcdr")
    except PackageNotFoundError:
        return [Finding("packages", "mlcdr is not installed as a package, so its requirements are unknown")]
    required = [Requirement(line) for line in about.get_all("Requires-Dist") or []]
    findings = []
    for extra in ("", *(each for each in about.get_all("Provides-Extra") or () if each not in _OF_DEVELOPERS)):
        needed = [each for each in required if _needs(each, extra) and not (extra and _needs(each, ""))]
        wrong = [problem for each in needed if (problem := _check_requirement(each))]
        there = f"{len(needed) - len(wrong)} of {len(needed)} present"
        missing = f"; {', '.join(wrong)}" if wrong else ""
        way = f" (pip install 'mlcdr[{extra}]')" if wrong and extra else ""
        topic = f"extra {extra}" if extra else "packages"
        findings.append(Finding(topic, there + missing + way, ok=bool(extra) or not wrong))
    shown = ("numpy", "scipy", "scikit-learn", "pandas", "joblib", "pydantic", "matplotlib")
    findings.append(Finding("versions", ", ".join(f"{name} {installed_version(name)}" for name in shown)))
    return findings


def _needs(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _check_requirement(requirement: Requirement) -> str:
    """What is wrong with a requirement; empty if it is met."""
    found = installed_version(requirement.name)
    if found is None:
        return f"{requirement.name} is missing"
    if not requirement.specifier.contains(found, prereleases=True):
        return f"{requirement.name} is {found}, but {requirement.specifier} is required"
    return ""


def _check_machine() -> list[Finding]:
    usable = joblib.cpu_count()
    findings = [
        Finding("machine", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        Finding("cores", f"{os.cpu_count()}, {usable} of them usable; --jobs 0 means {usable}"),
    ]
    for info in threadpool_info():
        if info.get("user_api") == "blas":
            facts = [info.get("internal_api"), info.get("version"), info.get("architecture")]
            shown = " ".join(str(fact) for fact in facts if fact)
            threads = f"{info.get('num_threads')} threads here, 1 in each worker of a run"
            findings.append(Finding("blas", f"{shown} ({threads}) {Path(info.get('filepath', '')).name}"))
    threads = ", ".join(f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ)
    findings.append(Finding("threads", threads or f"none of {', '.join(_THREADS)} is set"))
    return findings


def _check_data() -> list[Finding]:
    findings = []
    for name in _PLACES:
        if name not in os.environ:
            continue
        places = os.environ[name].split(os.pathsep)
        gone = [place for place in places if place and not Path(place).expanduser().is_dir()]
        # a missing cache folder is made when it is needed
        wrong = f"; no such folder: {', '.join(gone)}" if gone and name != "MLCDR_CACHE" else ""
        findings.append(Finding(name, os.environ[name] + wrong, ok=not wrong))
    folders = [f"{folder}{'' if folder.is_dir() else ' (missing)'}" for folder in data_folders()]
    findings.append(Finding("data folders", ", ".join(folders)))
    known = catalog.entries()
    held = [entry.name for entry in known if catalog.find_folder(entry.name)]
    findings.append(
        Finding("data sets", f"{len(held)} of the {len(known)} in the catalogue: {', '.join(held)}", "yeast" in held)
    )
    if own := [each.name for each in list_own()]:
        findings.append(Finding("your data sets", ", ".join(own)))
    cache = cache_folder()
    parsed = list((cache / "parsed").glob("*.npz")) if (cache / "parsed").is_dir() else []
    size = sum(path.stat().st_size for path in parsed) / 1e6
    there = next(each for each in (cache, *cache.parents) if each.exists())
    writable = os.access(there, os.W_OK)
    text = f"{cache}, {len(parsed)} parsed data sets, {size:.0f} MB"
    findings.append(Finding("cache", text if writable else f"{text}; not writable: every run parses the files again"))
    return findings


def _check_components() -> list[Finding]:
    """The built-in components, and each plug-in of another package."""
    count = sum(len(known) for known in BUILT_IN.values())
    findings = [Finding("components", f"{count} built-in")]
    for family in BUILT_IN:
        for point in sorted(plug_ins(f"mlcdr.{family}"), key=lambda point: point.name):
            text, ok = f"{point.name} = {point.value}", True
            try:
                if point.name in BUILT_IN[family]:
                    text, ok = f"{text}: hidden by the built-in component of the same name", False
                else:
                    resolve(family, point.name)
            except UserError as error:
                text, ok = str(error), False
            findings.append(Finding(f"plug-in {family}", text, ok))
    return findings
