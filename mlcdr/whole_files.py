"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mlcdr.errors import ResultsError

TEMPORARY = ".writing-"
"""How the name of a file begins that is being written; one that a killed run left is nobody's."""


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader finds the old one or the new one, never a part; text as UTF-8, with LF.

    Raises
    ------
    ResultsError
        When it, or its folder, cannot be written.
    """
    temporary = path.with_name(f"{TEMPORARY}{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
