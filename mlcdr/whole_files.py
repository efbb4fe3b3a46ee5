"""Files that are written whole or not at all, and never through a link that leads elsewhere.

A results folder may come from a stranger: what is read and written in it is a regular file in a folder of its own, and
no symbolic link below it is followed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from mlcdr.errors import ResultsError

TEMPORARY = ".writing-"
"""How the name of a file begins that is being written; one that a killed run left is nobody's."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader finds the old one or the new one, never a part; text as UTF-8, with LF.

    A link of that name is replaced, not followed.

    Raises
    ------
    ResultsError
        When it, or its folder, cannot be written.
    """
    temporary = temporary_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:  # a new file: no link that waits for us
            file.write(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    """Beside `path`, a name that no other process has: not one of another machine or container either."""
    return path.with_name(f"{TEMPORARY}{path.name}.{secrets.token_hex(4)}")


def is_own_file(path: Path) -> bool:
    """Whether a results folder has this file.

    Raises
    ------
    ResultsError
        When something of that name is there which is no regular file, such as a symbolic link.
    """
    return _is_own(path, stat.S_ISREG, "file")


def stay_within(folder: Path, path: Path) -> Path:
    """`path`, if every folder on the way to it from `folder` is one, or is yet to be made.

    Raises
    ------
    ResultsError
        When one of them is something else, such as a symbolic link.
    """
    for each in path.relative_to(folder).parents:
        if each != Path():
            _is_own(folder / each, stat.S_ISDIR, "folder")
    return path


def _is_own(path: Path, is_kind: Callable[[int], bool], kind: str) -> bool:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISLNK(mode):
        raise ResultsError(f"{path}: a symbolic link; nothing in a results folder is followed out of it")
    if not is_kind(mode):
        raise ResultsError(f"{path}: not a {kind}")
    return True
