"""Modules that are executed at their first use: what uses them sees no difference."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcdr import lazy_imports
from tests import small

SOURCE = """
import time
from pathlib import Path

Path(__file__).with_name("executed").open("a").write("x")
first = 1
time.sleep({seconds})
from seldom import part
second = part.value


def __getattr__(name):
    if name == "made":
        return "made when asked for"
    raise AttributeError(f"no {{name}}")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `seldom`, which is postponed, with a module `part`; each execution adds a letter to `executed`."""
    package = tmp_path / "seldom"
    package.mkdir()
    (package / "__init__.py").write_text(SOURCE.format(seconds=0))
    (package / "part.py").write_text("value = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(lazy_imports, "SELDOM_USED", {"seldom"})
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    lazy_imports.postpone()
    yield package
    for name in ("seldom", "seldom.part"):
        sys.modules.pop(name, None)


def executed(folder: Path) -> int:
    path = folder / "executed"
    return len(path.read_text()) if path.exists() else 0


def test_an_import_executes_nothing_until_a_name_is_asked_for(folder: Path) -> None:
    import seldom  # type: ignore[import-not-found]
    import seldom as again

    assert again is seldom is sys.modules["seldom"]
    assert seldom.__name__ == seldom.__spec__.name == "seldom"
    assert seldom.__file__ == str(folder / "__init__.py")
    assert executed(folder) == 0
    assert (seldom.first, seldom.second, seldom.made) == (1, 2, "made when asked for")
    with pytest.raises(AttributeError, match="no other"):
        _ = seldom.other
    assert executed(folder) == 1
    assert type(seldom) is type(sys)


def test_a_name_or_a_submodule_that_is_imported_executes_it(folder: Path) -> None:
    import seldom.part  # type: ignore[import-not-found]

    assert executed(folder) == 1
    from seldom import second

    assert (second, seldom.part.value, executed(folder)) == (2, 2, 1)


def test_threads_wait_until_it_is_whole(folder: Path) -> None:
    (folder / "__init__.py").write_text(SOURCE.format(seconds=0.1))
    import seldom

    found = []
    threads = [threading.Thread(target=lambda: found.append((seldom.first, seldom.second))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(1, 2)] * 5
    assert executed(folder) == 1


def test_an_error_is_raised_at_each_use_until_it_is_gone(folder: Path) -> None:
    (folder / "part.py").write_text("value = 1 / 0\n")
    import seldom

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            _ = seldom.second
    (folder / "part.py").write_text("value = 2  # now\n")
    assert seldom.second == 2


LIBRARIES = """
import pickle, sys
sys.argv = ["mlcdr", "--version"]
from mlcdr.cli import main
try:
    main()
except SystemExit:
    pass
import sklearn.base
from mlcdr.lazy_imports import _loaders
assert set(_loaders) >= {"scipy.stats", "numpy.f2py", "narwhals"}, _loaders
import scipy.stats
from scipy import stats
assert "scipy.stats" in _loaders
from scipy.stats import chi2
assert stats is scipy.stats and stats.chi2 is chi2 and "scipy.stats" not in _loaders
assert pickle.loads(pickle.dumps(chi2(3))).cdf(1.0) == chi2(3).cdf(1.0)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
import numpy.f2py
assert numpy.f2py.__version__
import narwhals.stable.v2 as nw
assert nw.DataFrame.__module__ == "narwhals.stable.v2"
"""


def test_libraries_work_under_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(LIBRARIES)
    done = small.python("p.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_program_of_the_users_imports_as_usual(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import sys\nimport mlcdr\nmlcdr.Ridge\nimport scipy.stats\n"
        "assert type(scipy.stats) is type(sys)\nassert hasattr(vars(scipy.stats)['chi2'], 'cdf')\n"
    )
    done = small.python("p.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
