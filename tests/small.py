"""A small data set, experiments on it, and methods of a user's own, for the tests of running."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from packaging.version import Version
from sklearn.base import BaseEstimator, ClassifierMixin

from mlcdr.data.dataset import Dataset
from mlcdr.errors import UserError
from mlcdr.execution.executors import PART_SECONDS
from mlcdr.experiment.data_source import DataSource, DividedData
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.model import Experiment
from mlcdr.experiment.trials import Trial, plan_trials
from mlcdr.methods.component import Component

SIZES = "label_space.n_components"
READS_ALL_SPARSE_LABELS = Version(pd.__version__) >= Version("3.1")
"""Older versions of pandas lose what the columns of a sparse DataFrame leave out if it is not 0 (docs/data.md)."""
FOUR = {name.upper(): {"label_space": name, "learner": "least_squares"} for name in ("pbr", "occa", "plst", "cplst")}


def write_dataset(folder: Path, name: str = "tiny", n: int = 60, d: int = 5, labels: int = 6, seed: int = 0) -> Path:
    """An ARFF file and its XML, with labels that depend on the features; gives the ARFF's path."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(3)
    Y = (X @ rng.normal(size=(d, labels)) + rng.normal(size=(n, labels)) > 0.5).astype(int)
    lines = [f"@relation {name}", *(f"@attribute x{j} numeric" for j in range(d))]
    lines += [*(f"@attribute y{k} {{0,1}}" for k in range(labels)), "@data"]
    lines += [",".join(map(str, [*x, *y])) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.arff").write_text("\n".join(lines) + "\n")
    names = "".join(f'<label name="y{k}"></label>' for k in range(labels))
    (folder / f"{name}.xml").write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">{names}</labels>\n')
    return folder / f"{name}.arff"


def plain(arff: Path, **changes: Any) -> dict[str, Any]:
    """A config on `arff` as plain data: four splits, three metrics, two methods at two sizes; with `changes`."""
    return {
        "name": "small",
        "datasets": [str(arff)],
        "splits": {"kind": "shuffle", "repeats": 4, "train_size": 0.75, "seed": 1},
        "metrics": ["hamming_loss", "f1", "encoding_error"],
        "sweep": {SIZES: [1, "50%"]},
        "methods": {name: FOUR[name] for name in ("PBR", "PLST")},
    } | changes


def experiment(arff: Path, **changes: Any) -> Experiment:
    """The experiment of `plain`."""
    return experiment_from(plain(arff, **changes))


def planned(an_experiment: Experiment) -> tuple[Dataset, list[Trial]]:
    """The first data set of an experiment and its trials."""
    data = read_data(an_experiment)
    return data.dataset, plan_trials(an_experiment, data)


def read_data(an_experiment: Experiment) -> DividedData:
    """The first data set of an experiment, with its splits."""
    return DataSource.of(an_experiment.datasets[0], an_experiment.splits).read()


def learner(name: str, **params: Any) -> Component:
    """A learner by name or dotted path."""
    return Component("learner", name, params)


@dataclass(frozen=True)
class Outcome:
    """Exit code and what was printed by a command run in this process, as `main` would end it."""

    code: int
    out: str
    err: str


def skip_without_extra(family: str, name: str) -> None:
    """Skip the test of a component whose optional package is not installed, or that is another program."""
    import pytest  # here, as runs import this module for its methods, and so do their workers

    if Component(family, name).declaration().runs_command:
        pytest.skip("a command has no defaults; tests/methods/test_external.py")
    try:
        Component(family, name).build()
    except UserError as error:
        pytest.skip(str(error))


def command(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`mlcdr` with these arguments, in a process of its own, as on a terminal of 100 columns wherever the tests run."""
    return python("-m", "mlcdr", *arguments, cwd=cwd, **{"COLUMNS": "100", **environment})


def python(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, in a process of its own that finds this checkout."""
    line = [sys.executable, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environment}
    return subprocess.run(line, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


class Warns(ClassifierMixin, BaseEstimator):
    """A classifier that warns twice of each fit, with a number in the text, and predicts no label."""

    def fit(self, X: Any, y: Any) -> Warns:
        for k in range(2):
            warnings.warn(f"label {k} is\nodd", UserWarning, stacklevel=1)
        warnings.warn("of the library", DeprecationWarning, stacklevel=1)
        self.shape_ = y.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros((len(X), self.shape_), dtype=int)


class Counting(ClassifierMixin, BaseEstimator):
    """A classifier that cannot be fitted, and says of how many rows."""

    def fit(self, X: Any, y: Any) -> Counting:
        raise RuntimeError(f"{len(X)} rows")

    def predict(self, X: Any) -> Any:
        raise NotImplementedError


class Failing(ClassifierMixin, BaseEstimator):
    """A classifier that raises on some training sets: those whose number of rows leaves 0 modulo `modulus`."""

    def __init__(self, modulus: int = 1):
        self.modulus = modulus

    def fit(self, X: Any, y: Any) -> Failing:
        if len(X) % self.modulus == 0:
            raise RuntimeError("no luck today\nand no more to say")
        return self

    def predict(self, X: Any) -> Any:
        raise NotImplementedError


class Guess(ClassifierMixin, BaseEstimator):
    """A classifier that guesses at random after `seconds`, and once `gate` (a path) lets it through.

    It makes the file `began`, if one is named, when it begins to wait.
    """

    def __init__(self, seconds: float = 0.0, gate: str = "", began: str = "", random_state: int | None = None):
        self.seconds = seconds
        self.gate = gate
        self.began = began
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Guess:
        time.sleep(self.seconds)
        if self.began:
            Path(self.began).touch()
        if self.gate:
            Gate(Path(self.gate)).let_through()
        self.n_labels_ = y.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.random.default_rng(self.random_state).integers(0, 2, size=(X.shape[0], self.n_labels_))


class Deadly(ClassifierMixin, BaseEstimator):
    """A classifier that ends its process, or goes on for ever, on the training set whose features sum to `total`.

    `how`: a signal's name, `exit`, `memory` (more and more of it), `compiled` (C that keeps the interpreter's lock),
    `child` (waits for a process of its own, whose number is put into `once`). With `once` (a path)
    only the first to come, which leaves that file behind; without `total` on any.
    """

    def __init__(self, how: str, once: str = "", total: float | None = None):
        self.how = how
        self.once = once
        self.total = total

    def fit(self, X: Any, y: Any) -> Deadly:
        if (self.total is None or abs(X.sum() - self.total) < 1e-6) and not (self.once and Path(self.once).exists()):
            if self.once and self.how != "child":
                Path(self.once).touch()
            self._die()
        self.n_labels_ = y.shape[1]
        return self

    def _die(self) -> None:
        if self.how == "exit":
            os._exit(3)
        if self.how == "memory":
            taken = []
            for _ in range(100):  # 1 GB in all, or the machine might go with it
                taken.append(np.ones(10**7 // 8))
                time.sleep(0.02)
            time.sleep(100)  # to look at this process's memory may take long on a loaded machine
            raise RuntimeError("nobody minded")
        if self.how == "child":
            child = subprocess.Popen(["sleep", "1000"])
            part = Path(f"{self.once}.part")
            part.write_text(str(child.pid))
            part.rename(self.once)  # whoever sees the file can read the whole number
            child.wait()
        if self.how == "compiled":
            ctypes.PyDLL(None).sleep(1000)
        os.kill(os.getpid(), signal.Signals[self.how])

    def predict(self, X: Any) -> Any:
        return np.zeros((X.shape[0], self.n_labels_), dtype=int)


class Gate:
    """A folder of tickets, each for one to pass; where there is no such folder, everybody may."""

    def __init__(self, path: Path):
        self.path = path

    def close(self, tickets: int) -> None:
        """Let no more than that many pass from now on."""
        self.open()
        ready = self.path.with_name("tickets")
        ready.mkdir()
        for number in range(tickets):
            (ready / str(number)).touch()
        ready.rename(self.path)

    def open(self) -> None:
        """Let everybody pass."""
        if self.path.exists():
            gone = self.path.with_name("no gate")
            self.path.rename(gone)
            shutil.rmtree(gone)

    def let_through(self) -> None:
        """Wait for a ticket and take it, or for the gate to open; who took one is so slow that a run records it at
        once.
        """
        while self.path.exists():
            with contextlib.suppress(FileNotFoundError):  # somebody else took it, or the gate has opened
                for ticket in self.path.iterdir():
                    ticket.unlink()
                    time.sleep(PART_SECONDS)
                    return
            time.sleep(0.01)


class Allocating(ClassifierMixin, BaseEstimator):
    """A classifier whose fit holds `megabytes` (10⁶ bytes) for a moment, and that predicts no label."""

    def __init__(self, megabytes: int = 50):
        self.megabytes = megabytes

    def fit(self, X: Any, y: Any) -> Allocating:
        held = np.ones(self.megabytes * 10**6, dtype=np.uint8)
        self.shape_ = y.shape[1] * held[0]
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros((len(X), self.shape_), dtype=int)
