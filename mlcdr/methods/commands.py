"""The commands of the learners `external` and `external_regressor`: how one is written, and which files it names.

A command is divided into words as a POSIX shell does it (quotes, backslashes), and run without a shell: a `*`, `~`, `|`
or `$HOME` in it means nothing. In each word a placeholder is replaced: `{train}`, `{test}`, `{out}` and so on.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

PLACEHOLDERS = {
    "train": "the file of the training rows",
    "test": "the file of the rows to predict, whose labels are all 0",
    "out": "the file that the command writes; without it in the command, what it prints is read",
    "xml": "the file of the labels' names: of `arff` Mulan's XML, of `svmlight` and `xmc` a line each",
    "folder": "the temporary folder of these files",
    "n_features": "the number d of features",
    "n_labels": "the number of labels K, or of targets",
    "python": "the Python that runs mlcdr",
    "seed": "a seed from the experiment's, another one for each data set, split and method",
}
"""Placeholder → what it stands for."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_PARTS = re.compile(r"[=:;,]")
_LARGEST = 2**30  # bytes of a file that is read for its digest


def split_command(command: str) -> list[str]:
    """The words of a command.

    Raises
    ------
    ValueError
        When a quote is not closed, or there is no word.
    """
    words = shlex.split(command)
    if not words:
        raise ValueError("no program is named")
    return words


def find_problem(command: str) -> str | None:
    """What is wrong with the form of a command; None if nothing is.

    Examples
    --------
    >>> find_problem("octave ridge.m {train} {out}")
    'must name {train} and {test}, the files that it reads (or {folder}, in which they are)'
    """
    try:
        split_command(command)
    except ValueError as error:
        return f"cannot be divided into words: {error}"
    asked = _PLACEHOLDER.findall(command)
    for name in asked:
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            return f"has no placeholder {{{name}}} (it has {known})"
    if "folder" not in asked and not {"train", "test"} <= set(asked):
        return "must name {train} and {test}, the files that it reads (or {folder}, in which they are)"
    return None


def fill(command: str, values: Mapping[str, Any]) -> list[str]:
    """The words of a command with its placeholders replaced: a value stays one word, whatever is in it.

    Examples
    --------
    >>> fill("Rscript 'my script.R' --in={train} {n_labels}", {"train": "/tmp/a b.csv", "n_labels": 6})
    ['Rscript', 'my script.R', '--in=/tmp/a b.csv', '6']
    """
    return [_PLACEHOLDER.sub(lambda found: str(values[found[1]]), word) for word in split_command(command)]


def named_files(command: str, folder: Path) -> Iterator[Path]:
    """The files that a command names: each word, or part of one between `=`, `:`, `;` and `,`, that is one in `folder`.

    So the files of `java -cp weka.jar:lib/mine.jar Mine` are known; a program that is found by the PATH is none.
    """
    for word in split_command(command):
        for part in dict.fromkeys([word, *_PARTS.split(word)]):
            path = folder / part
            if part and path.is_file():
                yield path


def version_of_command(command: Any, folder: Any) -> str:
    """A digest of the files that a command names: change one, and its trials run again."""
    if not isinstance(command, str) or find_problem(command):
        return ""
    place = Path(folder) if isinstance(folder, str) else Path.cwd()
    digests = []
    for path in named_files(command, place):
        stamp = path.stat()
        digests.append(_digest(path, stamp.st_mtime_ns, stamp.st_size))
    return "\n".join(digests)


@cache
def _digest(path: Path, time: int, size: int) -> str:
    """SHA-256 (hex) of a file's content, read again when its time or its size has changed.

    Of a very large file these two count in place of the content. No more is read than its size: some files of the
    system never end.
    """
    digest = hashlib.sha256(f"{time}".encode() if size > _LARGEST else b"")
    left = 0 if size > _LARGEST else size
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()
