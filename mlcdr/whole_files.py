"""Atomic writing of files, and protection against symbolic links.

A results folder may come from an untrusted source: only regular files in it are read and written, and no symbolic link
in it is followed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from mlcdr.errors import ResultsError

TEMPORARY_PREFIX = ".writing-"
"""Prefix of the name of a file that is being written; a killed run may leave one behind."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader sees the old or the new content, never a part; text as UTF-8, with LF.

    A symbolic link of that name is replaced, not followed.

    Raises
    ------
    ResultsError
        When the file or its folder cannot be written.
    """
    temporary = make_temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:  # a new file, never an existing link
            file.write(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_forms(stem: Path, contents: Mapping[str, bytes | str]) -> list[Path]:
    """Write `stem`.ENDING for each ending; a reader finds the old file or the new one, never a part.

    Raises
    ------
    ResultsError
        When a file, or its folder, cannot be written.
    """
    written = []
    for ending, content in contents.items():
        path = stem.with_name(f"{stem.name}.{ending}")
        write_atomically(path, content)
        written.append(path)
    return written


def make_temporary_path(path: Path) -> Path:
    """A path in the same folder that no other process uses, even on another machine or in a container."""
    return path.with_name(f"{TEMPORARY_PREFIX}{path.name}.{os.urandom(4).hex()}")


def is_regular_file(path: Path) -> bool:
    """Whether this file of a results folder exists and is a regular file.

    Raises
    ------
    ResultsError
        When the path exists and is not a regular file, such as a symbolic link.
    """
    return _is_of_kind(path, stat.S_IFREG, "file")


def check_within(folder: Path, path: Path) -> Path:
    """`path`, if each of its parents below `folder` is a real folder or does not exist yet.

    Raises
    ------
    ResultsError
        When a parent is something else, such as a symbolic link.
    """
    for each in path.relative_to(folder).parents:
        if each != Path():
            _is_of_kind(folder / each, stat.S_IFDIR, "folder")
    return path


def _is_of_kind(path: Path, kind: int, name: str) -> bool:
    """Whether a path exists; raises ResultsError where it is not of this kind of files."""
    try:
        found = stat.S_IFMT(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    if found == stat.S_IFLNK:
        raise ResultsError(f"{path}: a symbolic link; links in a results folder are not followed")
    if found != kind:
        raise ResultsError(f"{path}: not a {name}")
    return True
