"""Gives the record the digests of the present code, for what the present code is proved to compute alike.

`python -m tools.renew`. For each method of each run the modules that decide its scores are read twice, in the commit by
which it was computed and in this checkout. Where their code is the same (`mlcdr.methods.deciding_code`: words, type
hints and allowed values aside), the method's digest is written anew; where it is not, the script says which modules
differ, and leaves the digest as it is. A data set gets the checksum of what is read now, if the code of that commit
reads the same X and Y from the same files.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from io import BytesIO
from itertools import chain
from pathlib import Path

from mlcdr.data.dataset import load_dataset
from mlcdr.data.files import checkout_folder
from mlcdr.data.sources import how_to_get
from mlcdr.errors import UserError
from mlcdr.experiment.keys import codes
from mlcdr.experiment.model import Experiment, MethodSpec
from mlcdr.methods.deciding_code import DecidingCode
from mlcdr.methods.provenance import OF_EVERY_METHOD, FindCode, collect_code, decides, read_module
from mlcdr.metrics import modules_of
from mlcdr.papers import recipes
from mlcdr.papers.stored import StoredRun, read_record
from mlcdr.whole_files import write_atomically
from tools.shell import importing_own_methods, run_script

_READ = """
import json, sys
from mlcdr.data.dataset import load_dataset
from mlcdr.data.synthetic import checksum
found = {}
for name, part, params in json.load(sys.stdin):
    try:
        data = load_dataset(name, part=part, **params)
        found[f"{name} {part}"] = [data.checksum, checksum(data.X, data.Y)]
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr)
print(json.dumps(found))
"""
"""Reads data sets with the package of the working directory: name and part → its checksum, and that of X and Y."""


def find_code_in(checkout: Path) -> FindCode:
    """The function that finds the code of a module in another checkout."""

    @cache
    def find(name: str) -> DecidingCode | None:
        if not decides(name):
            return None
        stem = checkout.joinpath(*name.split("."))
        if stem.with_suffix(".py").is_file():
            return read_module(stem.with_suffix(".py").read_text("utf-8"), name)
        package = stem / "__init__.py"
        return read_module(package.read_text("utf-8"), name, is_package=True) if package.is_file() else None

    return find


def modules_of_method(experiment: Experiment, spec: MethodSpec) -> set[str]:
    """The modules that define a method's components and what is measured of it."""
    parts = chain.from_iterable(component.classes() for component in spec.components())
    classes = chain.from_iterable(part.__mro__ for part in parts)
    asked = {metric.name for metric in experiment.metrics} | set(experiment.by_label)
    found = {cls.__module__ for cls in classes} | set(OF_EVERY_METHOD)
    return found.union(*map(modules_of, asked))


def differing_modules(modules: Iterable[str], before: FindCode, now: FindCode) -> list[str]:
    """The modules whose code is not the same, among some and all that they import."""
    then, today = collect_code(modules, before), collect_code(modules, now)
    digests = {name: (then.get(name), today.get(name)) for name in {*then, *today}}
    return sorted(name for name, (a, b) in digests.items() if a is None or b is None or a.digest != b.digest)


def renewed_code(run: StoredRun, before: FindCode, now: FindCode) -> dict[str, str]:
    """Method → its digest: the present one where the code is proved to be the same, else the stored one."""
    experiment, stored = run.experiment, run.manifest.code
    present = codes(experiment)
    found = {}
    for name, spec in experiment.methods.items():
        differing = differing_modules(modules_of_method(experiment, spec), before, now)
        if differing:
            print(f"{run.name}: {name} is computed by other code now: {', '.join(differing)}")
        found[name] = stored[name] if differing else present[name]
    return found


def renewed_checksums(run: StoredRun, before: Mapping[str, list[str]], lacking: Collection[str] = ()) -> dict[str, str]:
    """Data set → the checksum of what is read now, where the former code read the same from the same files.

    Those that are not at hand (`lacking`) are left out.
    """
    found = {}
    part = run.experiment.splits.part
    for spec in run.experiment.datasets:
        name = spec.short_name(part)
        if spec.name in lacking or name not in run.manifest.datasets:
            continue
        stored = run.manifest.datasets[name]["checksum"]
        now = load_dataset(spec.name, part=part, **spec.params).checksum
        if before.get(f"{spec.name} {part}") == [stored, now]:
            found[name] = now
        elif now != stored:  # else it has been renewed before
            print(f"{run.name}: the data set {name} is not as it was read")
    return found


def read_data_of(checkout: Path, runs: Iterable[StoredRun], lacking: Collection[str] = ()) -> dict[str, list[str]]:
    """The data sets of some runs, read by the code of another checkout; not those that are not at hand."""
    asked = []
    for run in runs:
        part = run.experiment.splits.part
        asked += [(each.name, part, each.params) for each in run.experiment.datasets if each.name not in lacking]
    command = [sys.executable, "-c", _READ]
    given = json.dumps(asked)
    done = subprocess.run(command, cwd=checkout, input=given, capture_output=True, text=True, check=True)
    print(done.stderr, end="", file=sys.stderr)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def renew(
    run: StoredRun, before: FindCode, now: FindCode, data: Mapping[str, list[str]], lacking: Collection[str]
) -> None:
    """Write the digests and checksums of a run anew."""
    path = run.folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["code"] = renewed_code(run, before, now)
    for name, checksum in renewed_checksums(run, data, lacking).items():
        manifest["datasets"][name]["checksum"] = checksum
    write_atomically(path, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def renew_all(checkout: Path, commit: str, runs: list[StoredRun], lacking: Collection[str]) -> None:
    """Renew the runs that were computed by a commit of a checkout."""
    archive = ["git", "archive", commit, "mlcdr", "datasets"]
    packed = subprocess.run(archive, cwd=checkout, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        former = Path(name)
        with tarfile.open(fileobj=BytesIO(packed)) as files:
            files.extractall(former, filter="data")
        data = read_data_of(former, runs, lacking)
        before, now = find_code_in(former), find_code_in(checkout)
        for run in runs:
            renew(run, before, now, data, lacking)


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew the whole record."""
    parser = argparse.ArgumentParser(prog="python -m tools.renew", description=(__doc__ or "").partition("\n")[0])
    parser.parse_args(arguments)
    folder = checkout_folder()
    if folder is None:
        raise UserError("the record is renewed in a checkout of the source code with git")
    runs = [run for run in read_record() if not run.counts_data]
    lacking = recipes.missing(run.experiment for run in runs)
    if lacking:
        print(f"checksums are left as they are of {', '.join(lacking)}: not at hand; {how_to_get(lacking)}")
    with importing_own_methods():
        for commit in sorted({run.manifest.commit for run in runs}):
            renew_all(folder.parent, commit, [run for run in runs if run.manifest.commit == commit], lacking)
    return 0


if __name__ == "__main__":
    run_script(main)
