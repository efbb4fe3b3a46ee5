"""Matrices of MATLAB files that scipy wrote; damaged and hostile ones are one line each, and cost little."""

import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.io import loadmat, savemat

from mlcdr.data.matlab import list_variables, read_matrices
from mlcdr.errors import DataError

X = np.arange(60.0).reshape(6, 10) / 7
S = sparse.random_array((20, 9), density=0.2, rng=np.random.default_rng(0), format="csc")
KINDS = {"i": X.astype("i2"), "u": X.astype("u8"), "f": X.astype("f4"), "logical": X > 3, "tall": X[:, :1]}


@pytest.mark.parametrize("compressed", [False, True])
def test_what_scipy_wrote_is_read(compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    unsaid = {"said": "text", "cells": np.array([[1, "a"]], dtype=object), "none": sparse.csc_array((4, 3))}
    savemat(path, {"X": X, "S": S, "B": S > 0.5, **KINDS, **unsaid}, do_compression=compressed)
    theirs = loadmat(path)
    names = ["X", "S", "B", "none", *KINDS]
    for name, ours in zip(names, read_matrices(path, names), strict=True):
        assert ours.dtype == np.float64
        assert sparse.issparse(ours) == (name in ("S", "B", "none"))
        both = [each.toarray() if sparse.issparse(each) else each for each in (ours, theirs[name])]
        assert_array_equal(*both)
    assert [each.name for each in list_variables(path) if each.kind == "cell"] == ["cells"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"Y": X}, "no variable 'X'; it has 'Y'"),
        ({"X": X + 1j}, "variable 'X' is 6x10 complex double; a matrix of real numbers is needed"),
        ({"X": np.zeros((2, 2, 2))}, "variable 'X' is 2x2x2 double; a matrix of real numbers is needed"),
        ({"X": {"field": 1}}, "variable 'X' is 1x1 struct; a matrix of real numbers is needed"),
        (b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM\x89HDF", "a MATLAB file of version 7.3 (HDF5); in MATLAB, .*"),
        (b"@relation r\n" * 20, "no MATLAB file of version 6 or 7; in MATLAB, `save -v7` writes one that is read"),
        (b"", "no MATLAB file of version 6 or 7; .*"),
    ],
)
def test_what_is_no_matrix_is_one_line(content: dict | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(content) if isinstance(content, bytes) else savemat(path, content)
    with pytest.raises(DataError, match=f"^{path}: {message.replace('(', '[(]').replace(')', '[)]')}$"):
        read_matrices(path, ["X"])


def _file(shape: tuple[int, int], size: int, kind: int = 6) -> bytes:
    """A matrix X that states a shape, and so many bytes of zeros as its values."""
    head = struct.pack("<IIII", 6, 8, kind, 0) + struct.pack("<IIii", 5, 8, *shape) + struct.pack("<HHcxxx", 1, 1, b"X")
    inner = head + struct.pack("<II", 9, size) + bytes(size)
    packed = zlib.compress(struct.pack("<II", 14, len(inner)) + inner)
    return b"MATLAB 5.0".ljust(124) + b"\0\1IM" + struct.pack("<II", 15, len(packed)) + packed


@pytest.mark.parametrize(
    ("shape", "size", "kind", "message"),
    [
        ((2, 2), 1 << 24, 6, "variable 'X': damaged (it ends early)"),
        ((1 << 30, 1 << 30), 32, 6, "variable 'X' is 1073741824x1073741824 double, which is too large"),
        ((2, 1 << 30), 32, 5, "variable 'X' is 2x1073741824 sparse, which is too large"),
        ((-2, 2), 32, 6, "variable 'X' is -2x2 double; a matrix of real numbers is needed"),
        ((2, 3), 32, 6, "variable 'X': damaged (cannot reshape array of size 4 into shape (2,3))"),
    ],
)
def test_a_stated_size_is_checked_first(
    shape: tuple[int, int], size: int, kind: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(_file(shape, size, kind))
    with pytest.raises(DataError) as failed:
        read_matrices(path, ["X"])
    assert str(failed.value) == f"{path}: {message}"


def test_damage_at_any_place_is_one_line(tmp_path: Path) -> None:
    """On some of these `scipy.io.loadmat`, or scipy's conversion to CSR, ends the process."""
    path, drawn, outcomes = tmp_path / "a.mat", random.Random(0), set()
    savemat(path, {"X": X, "S": S})
    whole = path.read_bytes()
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(drawn.randint(1, 3)):
            at = drawn.randrange(124, len(content)) if drawn.random() < 0.3 else drawn.randrange(124, 240)
            content[at] = drawn.choice([0, 1, 127, 255])
        path.write_bytes(content[: drawn.choice([len(content), drawn.randrange(len(content))])])
        try:
            read_matrices(path, ["X", "S"])
            outcomes.add("read")
        except DataError as error:
            outcomes.add("several lines" if "\n" in str(error) else "refused")
    assert outcomes == {"read", "refused"}


def test_pointers_that_decrease_are_refused(tmp_path: Path) -> None:
    """With 0 as the last one, scipy checks none of them and then follows them out of the array."""
    path, pointers = tmp_path / "a.mat", S.indptr.astype("<i4").tobytes()
    savemat(path, {"S": S})
    path.write_bytes(path.read_bytes().replace(pointers, pointers[:-4] + bytes(4)))
    with pytest.raises(DataError, match=r"variable 'S': damaged [(]its index pointers decrease[)]$"):
        read_matrices(path, ["S"])
