"""Features that are texts: an n×1 array of strings, from which a method's vectorizer makes numbers.

This module checks the texts of a column, and converts them to two arrays of numbers, for files and checksums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mlcdr.data.lines import quote
from mlcdr.data.table import Origin, fail_in_row

Texts = NDArray[np.object_]
"""An n×1 array of strings."""


def is_texts(X: Any) -> TypeGuard[Texts]:
    """Whether the X of a data set consists of texts."""
    return isinstance(X, np.ndarray) and X.dtype == object


def as_texts(cells: Iterable[Any], name: str, origins: Sequence[Origin]) -> Texts:
    """The cells of the column `name` as texts (n×1), a missing one (None, NaN) as an empty text.

    Raises
    ------
    DataError
        For a cell of another type.
    """
    texts = []
    for row, cell in enumerate(cells):
        if cell is None or cell != cell:
            cell = ""
        elif not isinstance(cell, str):
            what = f"has {str(cell)[:40]!r}, which is a {type(cell).__name__} and no text"
            fail_in_row(origins, row, f"column {quote(name)} {what}")
        texts.append(cell)
    column = np.empty((len(texts), 1), dtype=object)
    column[:, 0] = texts
    return column


def list_texts(X: Any) -> list[Any] | None:
    """The cells of a list, Series or array (n, or n×1) whose first cell is a text; None for anything else."""
    if not isinstance(X, list | tuple) and getattr(getattr(X, "dtype", None), "kind", "") not in ("O", "U", "T"):
        return None
    cells = list(X[:, 0] if getattr(X, "shape", ())[1:] == (1,) else X)
    return cells if cells and isinstance(cells[0], str) else None


def pack(texts: Texts) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate the texts in UTF-8; return the bytes and the end of each text."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts[:, 0]]
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), np.cumsum([len(each) for each in encoded], dtype=np.int64)


def unpack(content: NDArray[np.uint8], ends: NDArray[np.int64]) -> Texts:
    """The texts from the two arrays that `pack` returned.

    Raises
    ------
    ValueError
        When the arrays are not a result of `pack`.
    """
    starts = np.append(0, ends)
    if (np.diff(starts) < 0).any() or starts[-1] != len(content):
        raise ValueError("ends of texts")
    image, texts = content.tobytes(), np.empty((len(ends), 1), dtype=object)
    for row, (start, end) in enumerate(zip(starts[:-1].tolist(), ends.tolist(), strict=True)):
        texts[row, 0] = image[start:end].decode("utf-8", "surrogatepass")
    return texts
