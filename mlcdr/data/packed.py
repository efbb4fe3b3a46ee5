"""Opening of text data files, compressed or not, and the limit on the memory that is taken for a file."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from mlcdr.data.forms import PACKED
from mlcdr.data.lines import Line, fail, fail_unreadable

FREE_BYTES = 1 << 28
GROWTH = 250
"""What is made of a file may take FREE_BYTES of memory or GROWTH times the file's size, whichever is larger."""

# What readers hold of compressed text: so many times the bytes of small files, and more for each line.
_TIMES_HELD = 12
_BYTES_A_LINE = 64

_UNPACKS = f"unpacks to more than {GROWTH} times its size; unpack it first if that is no mistake"
_DAMAGES = (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile, NotImplementedError)


class _Checked(io.RawIOBase):
    r"""A stream of bytes; DataError for too many of them or, if `plain`, for a NUL byte.

    In text whose lines end in \r alone, as on old Macintoshes, they end in \n.
    """

    def __init__(self, path: Path, file: Any, plain: bool):
        self._path = path
        self._file = file
        self._plain = plain
        self._is_packed = path.suffix.lower() in PACKED
        self._size = 0
        self._has_old_ends: bool | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self._file.readinto(buffer)
        read = bytes(buffer[:n])
        if self._has_old_ends is None:
            self._has_old_ends = b"\r" in read and b"\n" not in read and b"\0" not in read
        if self._has_old_ends:
            read = read.replace(b"\r", b"\n")
            buffer[:n] = read
        if self._is_packed:
            self._size += n + _BYTES_A_LINE * read.count(b"\n")
            if self._size > max(FREE_BYTES // _TIMES_HELD, GROWTH * self._path.stat().st_size):
                fail(self._path, _UNPACKS)
        if self._plain and b"\0" in read:
            with open_data(self._path, plain=False) as file:
                number = next(number for number, raw in enumerate(file, 1) if b"\0" in raw)
            line = Line(self._path, number)
            line.fail("a NUL byte; it is text in UTF-8 (`encoding: utf-16` reads CSV of that kind)")
        return n


def check_growth(path: Path, n_bytes: int) -> None:
    """Raise DataError if a compressed file expands to more bytes than it may."""
    if n_bytes > most_bytes(path.stat().st_size):
        fail(path, _UNPACKS)


def check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Raise DataError for a member that zipfile decompresses at once, whatever size is stated: by bzip2 or LZMA."""
    for member in archive.infolist():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            fail(path, f"{member.filename[:40]!r} is packed by another method than deflate; unpack it first")


def most_bytes(size: float) -> float:
    """How much memory may be taken for what is made of a file of `size` bytes."""
    return max(FREE_BYTES, GROWTH * size)


@contextlib.contextmanager
def open_data(path: Path, plain: bool = True) -> Iterator[io.BufferedReader]:
    """Open a data file; one that ends in .gz, .xz or .zip (with one member) is decompressed as it is read.

    Raises
    ------
    DataError
        When it cannot be read, is damaged, expands beyond the limit, or (if `plain`) has a NUL byte.
    """
    try:
        with path.open("rb") as file, _unpacked(path, file) as content:
            yield io.BufferedReader(_Checked(path, content, plain), 1 << 18)
    except _DAMAGES as error:
        fail(path, f"cannot be unpacked: {error}")
    except OSError as error:
        fail_unreadable(path, error)


def _unpacked(path: Path, file: BinaryIO) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=file)
    if suffix == ".xz":
        return lzma.LZMAFile(file)
    if suffix != ".zip":
        return contextlib.nullcontext(file)
    archive = zipfile.ZipFile(file)
    check_members(path, archive)
    members = [each for each in archive.infolist() if not each.is_dir()]
    if len(members) != 1 or members[0].flag_bits & 1:
        fail(path, f"a zip file of {len(members)} files; one is needed, and without a password")
    return archive.open(members[0])
