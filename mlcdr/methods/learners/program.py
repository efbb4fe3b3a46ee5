"""The base of the learners that are a command of another program: its parameters, its files and its failures."""

from __future__ import annotations

import hashlib
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mlcdr.data.content import Dataset
from mlcdr.data.export import export
from mlcdr.errors import UserError, escape_control_characters
from mlcdr.methods import commands
from mlcdr.methods.constraints import POSITIVE, SEED, learned, one_of, parameter
from mlcdr.methods.contracts import Part
from mlcdr.methods.learners.predictions import READERS, WrongPredictions, read_predictions
from mlcdr.processes import run_command

Array = NDArray[np.float64]

_TAIL_BYTES, _TAIL_LINES = 4_000, 20  # of what a command printed, in the record of its failure
_NAMING = ("arff", "svmlight", "xmc")  # forms with a file of the labels' names
_BEGINNINGS = ("error", "exception", "fatal")
_SHOWN = 100  # characters of a command in a message


class CommandFailed(UserError):
    """A command did not end well, or not in time; the text has its exit code and the end of what it printed."""


class Program(Part):
    """Base of the learners that are a command; `External` says when it is run, and what it gets and gives.

    Parameters
    ----------
    command : str
        The program and its arguments, with the placeholders {train}, {test}, {out}, {xml}, {folder}, {n_features},
        {n_labels}, {python} and {seed}. It is divided into words as a shell does it (quotes, backslashes), and run
        without a shell. A config that has one is run with `--trust` only.
    form : {"csv", "arff", "meka", "npz", "svmlight", "xmc", "parquet"}
        The form of the files, as `mlcdr datasets export` writes it: features x1, x2, …, then labels y1, y2, …
    output : {"table", "arff", "mulan"}
        The form of the predictions: a table of numbers (text or a NumPy file, a line for each row), an ARFF file with
        attributes of the labels' names (MEKA's), or what Mulan prints.
    timeout : float
        The most seconds that a run of the command may take; then it is ended, with all that it has started.
    folder : str or None
        The folder in which the command is run, to which its file names are relative. None: of a config, the folder of
        its file; in Python, the current one.
    random_state : int or None
        The {seed}.

    Attributes
    ----------
    X_ : array or CSR array of shape (n, d)
        The training rows.
    Y_ : array of shape (n, q)
        Their labels or targets.
    """

    X_: Any = learned()
    Y_: Array = learned()
    _latest: tuple[bytes, Array] | None = learned()

    runs_command: ClassVar[bool] = True

    command: str = parameter(constraints=[str])
    form: str = parameter("csv", one_of("csv", "arff", "meka", "npz", "svmlight", "xmc", "parquet"))
    output: str = parameter("table", one_of(*READERS))
    timeout: float = parameter(600.0, POSITIVE)
    folder: str | None = parameter(None, [str, None])
    random_state: Any = parameter(None, SEED, last=True)

    def _validate_params(self) -> None:
        super()._validate_params()
        problem = commands.find_problem(self.command)
        if not problem and "{xml}" in self.command and self.form not in _NAMING:
            problem = f"asks for {{xml}}, which the form {self.form} does not have ({', '.join(_NAMING)} do)"
        if problem:
            raise ValueError(f"The 'command' parameter of {type(self).__name__} {problem}")

    def _keep(self, X: Any, Y: Array) -> None:
        """Keep the training rows."""
        self.X_, self.Y_, self._latest = X, Y, None

    def _run(self, X: Any, kind: str) -> Array:
        """The command's predictions (n×q) for rows X (n×d): labels, or scores.

        Raises
        ------
        CommandFailed
            When it cannot be started, takes too long, or ends with another exit code than 0.
        WrongPredictions
            When it has written no predictions, or others than it should.
        """
        key = _digest(X)
        if self._latest is None or self._latest[0] != key:
            with tempfile.TemporaryDirectory(prefix="mlcdr-", ignore_cleanup_errors=True) as name:
                self._latest = key, self._predict_in(Path(name).resolve(), X, kind)
        return self._latest[1]

    def _predict_in(self, scratch: Path, X: Any, kind: str) -> Array:
        n, q = X.shape[0], self.Y_.shape[1]
        if not n:
            return np.zeros((0, q))
        train = self._data_of(self.X_, self.Y_)
        test = self._data_of(X, np.zeros((n, q)))
        values = {
            "train": export(train, self.form, scratch, "train")[0],
            "folder": scratch,
            "n_features": X.shape[1],
            "n_labels": q,
            "python": sys.executable,
            "seed": 0 if self.random_state is None else self.random_state,
        }
        values["test"], *names = export(test, self.form, scratch, "test")
        values["xml"] = names[-1] if names else scratch / "none"
        values["out"] = scratch / f"out.{'arff' if self.output == 'arff' else 'csv'}"
        self._call(commands.fill(self.command, values), scratch)
        written = values["out"] if "{out}" in self.command else scratch / "stdout"
        if not written.exists():
            raise WrongPredictions(f"no output: {self._shown} ended well and has not written {{out}}")
        targets = [f"y{k + 1}" for k in range(q)]
        return read_predictions(written, self.output, targets, n, kind)

    def _data_of(self, X: Any, Y: Array) -> Dataset:
        """Rows as a data set to be written."""
        return make_dataset(X, sp.csr_array(Y) if sp.issparse(X) else Y.astype(np.uint8))

    def _call(self, words: list[str], scratch: Path) -> None:
        folder = Path.cwd() if self.folder is None else Path(self.folder)
        if not folder.is_dir():
            raise CommandFailed(f"no folder: {folder}, in which {self._shown} is to be run, is not there")
        code, error = run_command(words, folder, scratch, self.timeout)
        if error:
            raise CommandFailed(f"not started: {words[0]!r} in {folder}: {error}")
        if code == 0:
            return
        lines = _tail(scratch / "stderr") or _tail(scratch / "stdout")
        if code is None:
            told = f"timeout: {self._shown} was ended after {self.timeout:g} s"
        else:
            reason = f": {_find_reason(lines)}" if lines else ""
            told = f"{_describe_code(code)}: {self._shown}{reason}"
        raise CommandFailed("\n".join([told, *(f"  {line}" for line in lines)]))

    @property
    def _shown(self) -> str:
        """The command in a message."""
        text = " ".join(self.command.split())
        return f"`{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}`"


def make_dataset(X: Any, Y: Any) -> Dataset:
    """Features (n×d) and labels or targets (n×q) as a data set to be written, with the names x1, … and y1, …"""
    d, K = X.shape[1], Y.shape[1]
    labels = tuple(f"y{k + 1}" for k in range(K))
    return Dataset(
        name="rows",
        X=X,
        Y=Y,
        feature_names=tuple(f"x{j + 1}" for j in range(d)),
        label_names=labels,
        xml_label_names=labels,
        checksum="",
        declared_features=d,
        declared_nominal=0,
        declared_numeric=d,
        notices=(),
    )


def _digest(X: Any) -> bytes:
    """A digest of the values of X (n×d, dense or CSR)."""
    digest = hashlib.sha256(str(X.shape).encode())
    for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def _tail(path: Path) -> list[str]:
    """The last lines of what was printed, without empty ones."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        text = file.read().decode("utf-8", errors="replace")
    lines = [escape_control_characters(line.rstrip()) for line in text.splitlines() if line.strip()]
    return lines[-_TAIL_LINES:]


def _find_reason(lines: list[str]) -> str:
    """The line that says why a program ended: Octave, R and Java say it first, Python in its last line."""
    return next((line for line in lines if line.casefold().startswith(_BEGINNINGS)), lines[-1])


def _describe_code(code: int) -> str:
    """`exit code 1`, or `ended by SIGKILL`."""
    if code > 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"
