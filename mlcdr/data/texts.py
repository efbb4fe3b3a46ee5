"""Features that are texts: an n×1 array of strings, from which a method's vectorizer makes numbers.

This module checks the texts of a column, and converts them to numbers for a checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mlcdr.data.lines import quote
from mlcdr.data.table import Origins

Texts = NDArray[np.object_]
"""An n×1 array of strings."""


def is_texts(X: Any) -> TypeGuard[Texts]:
    """Whether the X of a data set consists of texts."""
    return isinstance(X, np.ndarray) and X.dtype == object


def as_texts(cells: Sequence[Any], name: str, origins: Origins) -> Texts:
    """The cells of the column `name` as texts (n×1).

    Raises
    ------
    DataError
        For a cell that is no text.
    """
    for row, cell in enumerate(cells):
        if not isinstance(cell, str):
            shown = f"{str(cell)[:40]!r}, which is a {type(cell).__name__} and no text"
            origins.fail(row, f"column {quote(name)} has {shown}")
    return as_column(cells)


def as_column(texts: Sequence[str]) -> Texts:
    """Strings as an n×1 array."""
    column = np.empty((len(texts), 1), dtype=object)
    column[:, 0] = texts
    return column


def list_texts(X: Any) -> list[Any] | None:
    """The cells of a list, Series or array (n, or n×1) whose first cell is a text; None for anything else."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if not isinstance(X, list | tuple) and kind not in ("O", "U", "T"):
        return None
    if getattr(X, "shape", ())[1:] == (1,):
        X = X[:, 0]
    cells = list(X)
    return cells if cells and isinstance(cells[0], str) else None


def pack(texts: Texts) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate the texts in UTF-8, for a checksum; return the bytes and the end of each text."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts[:, 0]]
    sizes = [len(each) for each in encoded]
    content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return content, np.cumsum(sizes, dtype=np.int64)
