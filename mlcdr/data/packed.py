"""Opening of text data files, compressed or not, with limits on their size and without NUL bytes."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from mlcdr.data.forms import PACKED
from mlcdr.data.lines import Line, fail, fail_unreadable
from mlcdr.errors import DataError

FREE_BYTES = 1 << 28
GROWTH = 250
"""A compressed file may expand to FREE_BYTES or to GROWTH times its size, whichever is larger."""


class _Checked(io.RawIOBase):
    """A stream of bytes; DataError for more than `most` bytes or, if `plain`, for a NUL byte."""

    def __init__(self, path: Path, file: BinaryIO, most: float, plain: bool):
        self._path = path
        self._file = file
        self._most = most
        self._plain = plain
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._size += n
        if self._size > self._most:
            fail(self._path, f"unpacks to more than {GROWTH} times its size; unpack it first if that is no mistake")
        if self._plain and b"\0" in bytes(buffer[:n]):
            _fail_at_nul(self._path)
        return n


def _fail_at_nul(path: Path) -> NoReturn:
    with open_data(path, plain=False) as file:
        number = next(number for number, raw in enumerate(file, 1) if b"\0" in raw)
    Line(path, number).fail("a NUL byte; it is text in UTF-8 (`encoding: utf-16` reads CSV of that kind)")


def most_bytes(path: Path) -> int:
    """To how many bytes a compressed file may expand."""
    return max(FREE_BYTES, GROWTH * path.stat().st_size)


@contextlib.contextmanager
def open_data(path: Path, plain: bool = True) -> Iterator[io.BufferedReader]:
    """Open a data file; one that ends in .gz, .xz or .zip (with one member) is decompressed as it is read.

    Raises
    ------
    DataError
        When it cannot be read, is damaged, expands beyond the limit, or (if `plain`) has a NUL byte.
    """
    try:
        with contextlib.ExitStack() as stack:
            file: Any = stack.enter_context(path.open("rb"))
            most = float("inf")
            if path.suffix.lower() in PACKED:
                most = most_bytes(path)
                file = stack.enter_context(_unpacked(path, file))
            yield io.BufferedReader(_Checked(path, file, most, plain), 1 << 18)
    except DataError:
        raise
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        fail(path, f"cannot be unpacked: {error}")
    except OSError as error:
        fail_unreadable(path, error)


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if suffix == ".xz":
        return lzma.LZMAFile(file)  # type: ignore[return-value]
    archive = zipfile.ZipFile(file)
    members = [each for each in archive.infolist() if not each.is_dir()]
    if len(members) != 1 or members[0].flag_bits & 1:
        fail(path, f"a zip file of {len(members)} files; one is needed, and without a password")
    try:
        return archive.open(members[0])  # type: ignore[return-value]
    except NotImplementedError as error:
        return fail(path, f"cannot be unpacked: {error}")
