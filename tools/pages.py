"""Pages of Markdown whose commands are run, and whose output is compared with what they show.

In a page

- a block of ```yaml, ```python, ```csv or ```arff whose first line is `# NAME` (`% NAME` in ARFF) is written to that
  file;
- a block of ```console is typed: each line that begins with `$ ` is a command, what follows it is its output. A line
  `…` stands for any number of lines. `mlcdr` and `python3 FILE` run in this process, anything else in a shell.
- `<!-- needs: NAME NAME -->` before a block: without these data sets or studies the rest of the page is not run.

Seconds and times of day may be any. The page is run in a folder with nothing but `docs/results`, the stored
results of the checkout, as by a reader who has installed the package.
`python -m tools.pages` puts the output of now into the pages, and their pictures beside them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from mlcdr import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"<!-- needs: (?P<needs>[^>]*?) -->|^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"[#%] ([\w/-]+\.(?:yaml|py|csv|arff))\n")
# What a terminal shows as a bar that goes away, and others as lines.
_PROGRESS = re.compile(r"^[\w.-]+: (\d+/\d+ \(.*|\d+ trials(, \d+ of them done before)?)\n", re.M)
# What differs from run to run: seconds, times of day, and how many checks scikit-learn's release of the day has.
_VARYING = re.compile(r"\b\d+(\.\d+)? (s|min)\b|\b\d{4}-\d\d-\d\dT[\d:]+Z|\b\d+ checks\b")


class Lacking(Exception):
    """Data sets that a page needs are not at hand."""


@dataclass
class Command:
    """A command of a page, the output that the page shows, and the output that it has (None: not run)."""

    line: int
    typed: str
    expected: str
    found: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether the page is right."""
        wanted = [re.escape(part) for part in _settled(self.expected).split("…\n")]
        return re.fullmatch("(?:.*\n)*".join(wanted), _settled(self.found or "")) is not None


def _settled(output: str) -> str:
    """Without what differs from run to run, and without trailing spaces."""
    return _tidy(_VARYING.sub("N", output)) + "\n"


def _tidy(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.splitlines()).strip("\n")


class Session:
    """A terminal in a folder, with the stored results of the checkout's `docs/results`."""

    def __init__(self, folder: Path):
        self.cwd = folder
        self.code = 0
        (folder / "docs").mkdir(parents=True)
        (folder / "docs" / "results").symlink_to(DOCS / "results")

    def type(self, command: str) -> str:
        """What a command prints, both streams together."""
        words = command.split()
        if words[0] == "cd":
            self.cwd = (self.cwd / words[1]).resolve()
            return ""
        if command == "echo $?":
            return f"{self.code}\n"
        if words[0] == "mlcdr" and not set(command) & set("|>&;"):
            return _PROGRESS.sub("", self._here(shlex.split(command), cli.main))
        if re.fullmatch(r"python3 \w+\.py", command):
            return self._here(words[1:], lambda: runpy.run_path(words[1], run_name="__main__"))
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        line = re.sub(r"\bmlcdr\b", f"{sys.executable} -m mlcdr", command) if "mlcdr " in command else command
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.code = done.returncode
        return _PROGRESS.sub("", done.stdout)

    def _here(self, words: list[str], program: Callable[[], object]) -> str:
        """In this process, which is much quicker."""
        printed = io.StringIO()
        self.code = 0
        try:
            with (
                working_in(self.cwd),
                mock.patch.object(sys, "argv", words),
                mock.patch.dict(os.environ, {"COLUMNS": "100", "LOKY_MAX_CPU_COUNT": "1"}),
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
            ):
                program()
        except SystemExit as ended:
            self.code = int(ended.code or 0)
        return printed.getvalue()


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """A Python session in a folder: its modules and its path are forgotten afterwards."""
    before, path, place = set(sys.modules), list(sys.path), Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        os.chdir(place)
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]


def run(page: Path, folder: Path) -> Iterator[Command]:
    """The commands of a page, each when it has been run in `folder`.

    Raises
    ------
    Lacking
        When data sets are not at hand that the rest of the page needs.
    """
    text = page.read_text(encoding="utf-8")
    with _openml_of_our_own() if "openml:" in text else contextlib.nullcontext():
        yield from _run(text, Session(folder))


@contextlib.contextmanager
def _openml_of_our_own() -> Iterator[None]:
    """Let openml.org be a server of this machine that has yeast, which is its number 40597."""
    from mlcdr.data.dataset import load_dataset
    from tests import openml

    yeast = load_dataset("yeast")
    with openml.answering(openml.answers(40597, openml.arff_of(yeast), list(yeast.label_names))):
        yield


def _run(text: str, session: Session) -> Iterator[Command]:
    for block in _BLOCK.finditer(text):
        if block["needs"] is not None:
            _require(block["needs"].split())
        elif block["kind"] == "console":
            for shown in commands(block["body"], text.count("\n", 0, block.start("body")) + 1):
                shown.found = session.type(shown.typed)
                yield shown
        elif named := _FILE.match(block["body"]):
            (session.cwd / named[1]).parent.mkdir(parents=True, exist_ok=True)
            body = block["body"].removeprefix(named[0]) if named[1].endswith(".csv") else block["body"]  # no comments
            (session.cwd / named[1]).write_text(body, encoding="utf-8")


def commands(body: str, first_line: int = 1) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for number, line in enumerate(body.splitlines(), first_line):
        if line.startswith("$ "):
            found.append(Command(number, line[2:], ""))
        elif found and found[-1].typed.endswith("\\"):
            found[-1].typed = f"{found[-1].typed[:-1].rstrip()} {line.strip()}"
        elif found:
            found[-1].expected += line + "\n"
    return found


def _require(names: list[str]) -> None:
    from mlcdr.data.files import find_folder
    from mlcdr.data.sources import studies
    from mlcdr.data.studies import locate_study
    from mlcdr.errors import DataError

    for name in studies().keys() & set(names):
        try:
            locate_study(name)
        except DataError as error:
            raise Lacking(f"needs {error}") from None
    absent = [name for name in names if name not in studies() and not find_folder(name)]
    if absent:
        raise Lacking(f"needs the data sets {', '.join(absent)}: set MLCDR_DATASETS to a folder that holds them")


def renewed(page: Path, folder: Path) -> str:
    """The page with the output of now."""
    found = iter(list(run(page, folder)))

    def block(match: re.Match[str]) -> str:
        if match["kind"] != "console":
            return match[0]
        lines = []
        for each in commands(match["body"]):
            shown = next(found)
            lines.append("$ " + shown.typed)
            # What is left out by `…` stays so where the page is right.
            lines += (each.expected if shown.agrees else _tidy(shown.found or "")).splitlines()
        return "```console\n" + "\n".join(lines) + "\n```"

    return _BLOCK.sub(block, page.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    """The pages that have something to run."""
    return [page for page in sorted(DOCS.rglob("*.md")) if "```console" in page.read_text(encoding="utf-8")]


def pictures(folder: Path) -> dict[str, Path]:
    """The pictures of the pages: name in docs/images → where a run of the page left it."""
    return {path.name: path for path in folder.rglob("*_cd_*.png")}


def compare_pictures(ours: Path, stored: Path) -> None:
    """Let a test fail where a picture of a page differs from what a run makes now."""
    import matplotlib.image
    import numpy as np

    now, before = (matplotlib.image.imread(path)[..., :3] for path in (ours, stored))
    assert now.shape == before.shape, f"{stored.name}: `make docs` renews it"
    assert np.abs(now - before).mean() < 0.01, f"{stored.name}: `make docs` renews it"


def main() -> None:
    """Renew all pages."""
    for page in pages():
        with tempfile.TemporaryDirectory() as name:
            page.write_text(renewed(page, Path(name)), encoding="utf-8")
            for shown, path in pictures(Path(name)).items():
                target = DOCS / "images" / shown
                if target.exists():
                    shutil.copyfile(path, target)
        print(page)


if __name__ == "__main__":
    main()
