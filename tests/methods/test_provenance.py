"""The version of a class: of all code that decides what it computes, and of nothing else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mlcdr
from mlcdr.methods import provenance, registry
from mlcdr.methods.component import Component
from mlcdr.methods.provenance import OF_EVERY_METHOD, collect_code, find_code

WRITTEN = ("mine", "parent", "helpers", "settings")  # the modules of the tests' folders
OWN = """
from sklearn.base import BaseEstimator, RegressorMixin
from {base_module} import {base} as Base

class Mine(Base):
    def predict_valid(self, X):
        return super().predict_valid(X) * {factor}
"""
RIDGE = {"base_module": "mlcdr.methods.learners.ridge", "base": "Ridge"}


@pytest.fixture
def version_of_mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The version of `mine.Mine`, with the modules of the test's folder imported as they are now, some before it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def forget() -> None:
        for name in [each for each in sys.modules if each.partition(".")[0] in WRITTEN]:
            del sys.modules[name]

    def version(*before: str) -> str:
        forget()
        importlib.invalidate_caches()
        for module in before:
            importlib.import_module(module)
        return Component("learner", "mine.Mine", {}).version()

    yield version
    forget()


def test_an_edited_method_and_an_edited_base_have_another_version(
    tmp_path: Path, version_of_mine: Callable[..., str]
) -> None:
    own, parent = tmp_path / "mine.py", tmp_path / "parent.py"
    base = "from mlcdr.methods.learners.least_squares import LeastSquares\nclass Parent(LeastSquares):\n    size = {}\n"
    parent.write_text(base.format(1))
    own.write_text(OWN.format(base_module="parent", base="Parent", factor=1))
    versions = [version_of_mine()]
    own.write_text(OWN.format(base_module="parent", base="Parent", factor=2))
    versions.append(version_of_mine())
    parent.write_text(base.format(2))
    versions.append(version_of_mine())
    assert len(set(versions)) == 3


def test_a_version_is_of_the_modules_that_a_source_names(tmp_path: Path, version_of_mine: Callable[..., str]) -> None:
    """Not of others that somebody has imported of the same package."""
    package = tmp_path / "helpers"
    package.mkdir()
    for name in ("__init__", "part", "other"):
        (package / f"{name}.py").write_text("FACTOR = 1\n")
    (tmp_path / "mine.py").write_text(f"import helpers.part\n{OWN.format(**RIDGE, factor='helpers.part.FACTOR')}")
    version = version_of_mine()
    (package / "other.py").write_text("FACTOR = 2\n")
    assert version_of_mine("helpers.other") == version
    (package / "part.py").write_text("FACTOR = 2\n")
    assert version_of_mine() != version


@pytest.mark.parametrize("line", ["from settings import FACTOR", "from settings.factor import FACTOR"])
def test_a_version_is_of_the_modules_whose_constants_are_imported(
    tmp_path: Path, version_of_mine: Callable[..., str], line: str
) -> None:
    package = tmp_path / "settings"
    package.mkdir()
    edited = package / ("factor.py" if "factor" in line else "__init__.py")
    (package / "__init__.py").touch()
    edited.write_text("FACTOR = 1\n")
    (tmp_path / "mine.py").write_text(f"{line}\n{OWN.format(**RIDGE, factor='FACTOR')}")
    version = version_of_mine()
    edited.write_text("FACTOR = 2\n")
    assert version_of_mine() != version


def test_a_version_is_of_what_is_imported_late_and_does_not_import_it(
    tmp_path: Path, version_of_mine: Callable[..., str]
) -> None:
    (tmp_path / "helpers.py").write_text("FACTOR = 1\n")
    own = OWN.format(**RIDGE, factor="FACTOR")
    (tmp_path / "mine.py").write_text(
        own.replace("        return", "        from helpers import FACTOR\n        return")
    )
    version = version_of_mine()
    assert "helpers" not in sys.modules
    (tmp_path / "helpers.py").write_text("FACTOR = 2\n")
    assert version_of_mine() != version


def test_a_version_is_of_the_public_names_that_a_source_uses(
    tmp_path: Path, version_of_mine: Callable[..., str]
) -> None:
    """`mlcdr` itself has whatever anybody has asked of it, here or in a worker."""
    assert mlcdr.C45 is not mlcdr.M5P  # asked for elsewhere
    for uses in ("", "import mlcdr\n", "import mlcdr as m\nPART = m.C45\n", "from mlcdr import C45\n"):
        (tmp_path / "mine.py").write_text(f"{uses}{OWN.format(**RIDGE, factor=1)}")
        version_of_mine()
        assert ("mlcdr.methods.learners.c45" in collect_code(["mine"], find_code)) == ("C45" in uses)


@pytest.mark.parametrize("name", ["binary_relevance", "br_plus", "classifier_chain"])
def test_a_chain_depends_on_its_default_base_and_on_the_numerics(name: str) -> None:
    found = collect_code([registry.resolve("learner", name).__module__], find_code)
    assert {
        "mlcdr.methods.learners.least_squares",
        "mlcdr.methods.chains.links",
        "mlcdr.numerics.moments",
        "mlcdr.numerics.file_order",
    } <= set(found)


def test_no_method_depends_on_errors_declarations_or_other_rooms() -> None:
    for known in registry.BUILT_IN.values():
        modules = [target.partition(":")[0] for target in known.values()]
        found = set(collect_code([*modules, *OF_EVERY_METHOD], find_code))
        assert all(provenance.decides(name) for name in found)
        assert not found & {"mlcdr.errors", "mlcdr.methods.registry", "mlcdr.methods.constraints"}


def test_methods_of_different_modules_have_different_versions() -> None:
    versions = {name: Component("label_space", name).version() for name in registry.BUILT_IN["label_space"]}
    assert len(set(versions.values())) == len(versions)
