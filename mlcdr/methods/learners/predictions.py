"""The predictions that a command has written: a table, an ARFF file, or what Mulan prints.

A table is text (a line for each row, with commas, semicolons, tabs or blanks between the numbers) or a NumPy file. It
may have a line of names. If all targets are among these, or among the attributes of an ARFF file, only their columns
count, in whatever order: MEKA writes the labels first and the features behind them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlcdr.csv_files import NUMBER
from mlcdr.data.arff import read_arff
from mlcdr.errors import UserError

Array = NDArray[np.float64]

_SPECIAL = {"nan", "inf", "-inf", "+inf", "infinity", "-infinity"}
_BYTES_OF_A_NUMBER = 64  # at most, with what separates it from the next
_OTHER_BYTES = 1 << 20  # at most, of a header and of what a program prints beside its predictions
# `MultiLabelOutput.toString` of Mulan, and its example GettingPredictionsOnUnlabeledData, write "Bipartion".
_MULAN = {
    "labels": re.compile(r"biparti(?:ti)?on: \[([^\]]*)\]", re.I),
    "scores": re.compile(r"confidences: \[([^\]]*)\]", re.I),
}
_WORDS = {"true": "1", "false": "0"}


class WrongPredictions(UserError):
    """What a command has written is not what its predictions have to be."""


def read_predictions(path: Path, form: str, names: Sequence[str], n: int, kind: str) -> Array:
    """The predictions (n×q) in a file, checked.

    Parameters
    ----------
    path : Path
    form : {"table", "arff", "mulan"}
    names : sequence of str
        The names of the q targets in the files that the command was given.
    n : int
        The number of rows.
    kind : {"labels", "scores"}
        Labels must be 0 or 1, scores finite.

    Raises
    ------
    WrongPredictions
        When the file is not of this form, or has another shape or other values.
    """
    size, most = path.stat().st_size, _BYTES_OF_A_NUMBER * (n + 1) * (len(names) + 1) + _OTHER_BYTES
    if form != "arff" and size > most:  # an ARFF file may have all features
        raise WrongPredictions(f"wrong output: {size:,} bytes, and {n}×{len(names)} numbers take {most:,} at most")
    try:
        values = READERS[form](path, names, kind)
    except (ValueError, OSError, UserError) as error:
        raise WrongPredictions(f"wrong output: not {_CALLED[form]}: {' '.join(str(error).split())}") from None
    if values.shape != (n, len(names)):
        found = "×".join(map(str, values.shape))
        raise WrongPredictions(f"wrong output: {found} numbers, expected {n}×{len(names)} (rows × targets)")
    wrong = ~np.isin(values, (0, 1)) if kind == "labels" else ~np.isfinite(values)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        right = "0 or 1" if kind == "labels" else "a finite number"
        hint = "; `predicts: scores` takes any numbers" if kind == "labels" else ""
        found = f"{values[row, column]:g} in row {row + 1}, column {column + 1}"
        raise WrongPredictions(f"wrong output: {found}, expected {right}{hint}")
    return values


def _read_table(path: Path, names: Sequence[str], kind: str) -> Array:
    with path.open("rb") as file:
        start = file.read(6)
    if start == b"\x93NUMPY":
        return _as_matrix(np.load(path, allow_pickle=False))
    if start[:2] == b"PK":
        with np.load(path, allow_pickle=False) as stored:
            if len(stored.files) != 1:
                raise ValueError(f"the file has the arrays {', '.join(stored.files)}; expected one")
            return _as_matrix(stored[stored.files[0]])
    lines = [line for line in path.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    if not lines:
        raise ValueError("it is empty")
    separator = next((each for each in ",;\t" if each in lines[0]), None)
    header = [word.strip(" \"'") for word in lines[0].split(separator)]
    has_names = not any(map(_is_number, header))
    values = np.loadtxt(lines[has_names:], delimiter=separator, ndmin=2, comments=None, quotechar='"')
    return _choose(values, header, names) if has_names else values


def _is_number(word: str) -> bool:
    return word.casefold() in _SPECIAL or NUMBER.fullmatch(word) is not None


def _as_matrix(values: NDArray[np.generic]) -> Array:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"values of type {values.dtype}")
    matrix = np.asarray(values, dtype=np.float64)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _choose(values: Array, header: Sequence[str], names: Sequence[str]) -> Array:
    """The columns of the targets, if all of them have their names; else all columns."""
    if not set(names) <= set(header) or len(header) != values.shape[1]:
        return values
    return values[:, [header.index(name) for name in names]]


def _read_arff(path: Path, names: Sequence[str], kind: str) -> Array:
    table = read_arff(path)
    columns = {attribute.name: j for j, attribute in enumerate(table.attributes)}
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(f"it has no attribute {absent[0]}")
    chosen = [columns[name] for name in names]
    values = table.values[:, chosen]
    dense: Array = values.toarray() if hasattr(values, "toarray") else np.array(values)
    for k, j in enumerate(chosen):
        nominal = table.attributes[j].values
        if nominal is not None:  # which the table has as their positions
            known = ~np.isnan(dense[:, k])
            numbers = np.array([float(value) for value in nominal])
            dense[known, k] = numbers[dense[known, k].astype(int)]
    return dense


def _read_mulan(path: Path, names: Sequence[str], kind: str) -> Array:
    rows = []
    for line in path.read_text("utf-8", errors="replace").splitlines():
        found = _MULAN[kind].search(line)
        if found:
            words = [word.strip() for word in found[1].split(",")]
            rows.append([float(_WORDS.get(word, word)) for word in words])
    if not rows:
        what = "Bipartion: [true, false]" if kind == "labels" else "Confidences: [0.9, 0.1]"
        raise ValueError(f"no line has `{what}`")
    return np.array(rows)


READERS: dict[str, Callable[[Path, Sequence[str], str], Array]] = {
    "table": _read_table,
    "arff": _read_arff,
    "mulan": _read_mulan,
}

_CALLED = {"table": "a table of numbers", "arff": "an ARFF file with the labels", "mulan": "an output of Mulan"}
