"""CSV as text, and strict reading of a CSV file."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcdr.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def open_reader(text: Iterable[str], strict: bool = True, **dialect: Any) -> Any:
    """A `csv.reader`, strict by default; it takes cells of any length, where Python refuses those over 128 KiB."""
    csv.field_size_limit(2**31 - 1)
    return csv.reader(text, strict=strict, **dialect)


def format_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated text, quoted where it must be."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A finite number as programs write it. Python also takes `1_0` and the digits of other scripts."""


def is_number(text: str) -> bool:
    """Whether a text is a number, or infinite, as the files of a results folder have it."""
    return text in ("inf", "-inf") or NUMBER.fullmatch(text) is not None


def as_numbers(texts: pd.Series) -> pd.Series:
    """A column of texts as whole numbers or numbers, if all of them are; else the texts as they are."""
    if not texts.map(lambda text: text == "nan" or is_number(text)).all():
        return texts
    for kind in (int, float) if len(texts) else ():
        with contextlib.suppress(ValueError, OverflowError):  # of more than 64 bits
            return texts.astype(kind)
    return texts


def read_text(path: Path, error: type[UserError], what: str = "", most_bytes: float = math.inf) -> str:
    """A text file in UTF-8.

    Raises
    ------
    error
        When it cannot be read, or is larger than `most_bytes` (and so not `what` it should be).
    """
    try:
        if path.stat().st_size > most_bytes:
            raise error(f"{path}: larger than {most_bytes / 1024:.0f} KiB; not {what}")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from None
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise error(f"{path}:{line}: not UTF-8 text") from None


def read_csv(
    path: Path, error: type[UserError], what: str = "", most_bytes: float = math.inf
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file in UTF-8, header first, each with its line; all of one length.

    Raises
    ------
    error
        As `read_text`, and when the file is broken; the message begins with `file:line`.
    """
    rows = open_reader(io.StringIO(read_text(path, error, what, most_bytes), newline=""))
    columns = None
    try:
        for row in rows:
            columns = len(row) if columns is None else columns
            if len(row) != columns:
                raise error(f"{path}:{rows.line_num}: {len(row)} values where the header has {columns} columns")
            yield rows.line_num, row
    except csv.Error as problem:
        raise error(f"{path}:{rows.line_num}: not a CSV file: {problem}") from None
