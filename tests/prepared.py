"""`mlcdr` in a process of its own that has its imports behind it: most of what a small run costs is to import.

A server, a Python that has imported what runs import and done nothing else, forks itself when asked; the child is given
its folder, environment, arguments and files for what it prints, leads a session, and is the command from there on: it
has its own exit code, dies of its signals and starts its own workers. Only the start of the interpreter is not tested.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IMPORTED = (
    "mlcdr.cli.commands",
    "mlcdr.execution.runner",
    "mlcdr.execution.workers",
    "mlcdr.api.progress",
    "mlcdr.results.results",
    "mlcdr.tables.tables",
    "tests.small",
)
METHODS = (
    *(("label_space", name) for name in ("pbr", "occa", "plst", "cplst")),
    ("learner", "least_squares"),
    ("learner", "tests.small.Guess"),
)


class Prepared:
    """A command begun by the server: of `subprocess.Popen` what the tests use.

    `forked`: its workers are forks of it, as on Linux; else they are new interpreters, as elsewhere, which cost some
    seconds of computing each. `terminal`: the device that it prints to, instead of files; `out`: that of its standard
    output alone.
    """

    def __init__(
        self,
        arguments: list[str],
        cwd: Path,
        env: dict[str, str],
        forked: bool = False,
        terminal: str | None = None,
        out: str | None = None,
    ):
        self._folder = tempfile.TemporaryDirectory()
        self._out, self._err = Path(self._folder.name) / "out", Path(self._folder.name) / "err"
        files = {"out": out or terminal or str(self._out), "err": terminal or str(self._err)}
        request = {"arguments": arguments, "cwd": str(cwd), "env": env, "forked": forked, **files}
        self.pid = _server().ask(request)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = _server().ask({"poll": self.pid})
        return self.returncode

    def errors(self) -> str:
        """Standard error so far."""
        return self._err.read_text(encoding="utf-8", errors="replace")

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for the end; standard output and standard error."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("mlcdr", timeout)
            time.sleep(0.01)
        printed = self._out.read_text(encoding="utf-8", errors="replace") if self._out.exists() else ""
        return printed, self.errors()


def command(*arguments: str | Path, cwd: Path, forked: bool = False) -> subprocess.CompletedProcess[str]:
    """As `tests.small.command`."""
    line = list(map(str, arguments))
    begun = Prepared(line, cwd, {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}, forked)
    out, err = begun.communicate(timeout=300)
    assert begun.returncode is not None
    return subprocess.CompletedProcess(line, begun.returncode, out, err)


class _Server:
    """The test process' end of a server, which ends with it."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.prepared"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        return json.loads(self._process.stdout.readline())


@cache
def _server() -> _Server:
    return _Server()


# -------------------------------------------------------------------- in the server


def _serve() -> None:
    """Answer until there is nobody to ask; returns in the children, which are the command then."""
    for name in IMPORTED:
        __import__(name)
    from mlcdr.methods.component import Component

    for family, name in METHODS:  # to find the sources of a method takes longer than a small run
        Component(family, name).version()
    from mlcdr.execution import writing

    for name in writing._PACKAGES:
        writing.installed_version(name)
    ended: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            pid = request["poll"]
            if pid not in ended:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    ended[pid] = os.waitstatus_to_exitcode(status)
            answer = ended.get(pid)
        else:
            ready, tell = os.pipe()
            answer = os.fork()
            if answer == 0:
                os.close(ready)
                _become(request, tell)
                return
            os.close(tell)
            os.read(ready, 1)  # it leads its session, or is dead
            os.close(ready)
        print(json.dumps(answer), flush=True)
    os._exit(0)  # what the imports leave to be done at the end is the commands'


def _become(request: dict[str, Any], tell: int) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    out, err = (os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("out", "err"))
    for place, file in enumerate((nothing, out, err)):
        os.dup2(file, place)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    sys.argv = ["mlcdr", *request["arguments"]]
    if not request["forked"]:
        from mlcdr.execution import workers

        workers.may_fork = lambda: False
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which may be ignored where the tests run
    with contextlib.suppress(OSError):
        os.write(tell, b".")
    os.close(tell)


if __name__ == "__main__":
    _serve()
    from mlcdr.cli import main

    main()
