"""What all tests share: where the real data are, and a parsed-data cache that is not the user's.

Real data sets, the fixed folds and the authors' outputs are not part of the repository. The environment says where they
are: MLCDR_DATASETS (as for the program), MLCDR_FOLDS and MLCDR_REFERENCE. A test that needs one that is not there
skips.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("MPLBACKEND", "agg")
# As in a run, and before numpy is imported: on small matrices more threads wait for one another more than they compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.small import Outcome


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected and imported stays: the garbage collector need not look at it, now or in any test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["MLCDR_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True, scope="session")
def _coarse_pictures() -> None:
    """PNGs of few dots take a fraction of the time."""
    from mlcdr.tables import canvas

    canvas._PNG_DPI = 30


@cache
def _load(name: str):
    from mlcdr.data.dataset import load_dataset
    from mlcdr.errors import DataError

    try:
        return load_dataset(name)
    except DataError:
        return None


@pytest.fixture(scope="session")
def real_dataset() -> Callable:
    """`real_dataset(name)`: a data set of Mulan's, or skip."""

    def get(name: str):
        dataset = _load(name)
        if dataset is None:
            pytest.skip(f"needs the data set {name}: set MLCDR_DATASETS to a folder that holds it")
        return dataset

    return get


@pytest.fixture(scope="session")
def reference() -> Callable[[str], Path]:
    """`reference(name)`: a folder of outputs of an author's program, or skip."""

    def get(name: str) -> Path:
        root = os.environ.get("MLCDR_REFERENCE")
        if not root or not (Path(root) / name).is_dir():
            pytest.skip(f"needs the authors' outputs {name}: set MLCDR_REFERENCE to the folder that holds them")
        return Path(root) / name

    return get


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forks, even of a process of tests that has other threads: these hold no lock that a worker takes.

    For tests of what the run makes of its workers.
    """
    from mlcdr.execution import workers

    serve = workers.serve

    def serve_quietly(*arguments: Any) -> None:
        faulthandler.disable()  # pytest's, which shows every thread of a process that a signal ends
        serve(*arguments)

    monkeypatch.setattr(workers, "serve", serve_quietly)
    monkeypatch.setattr(workers, "may_fork", lambda: "fork" in multiprocessing.get_all_start_methods())


@pytest.fixture
def new_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are new interpreters, as where a fork is not safe; each costs some seconds of computing."""
    from mlcdr.execution import workers

    monkeypatch.setattr(workers, "may_fork", lambda: False)


@pytest.fixture
def mlcdr(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`mlcdr("run", "e.yaml")`: the command in this process."""
    from mlcdr import cli

    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["mlcdr", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Outcome(ended.value.code or 0, out, err)  # type: ignore[arg-type]

    return call
