"""Small files and sparse arrays that stand for gigabytes are refused before memory of that size is taken."""

import gzip
import io
import lzma
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from scipy.io import savemat

from mlcdr.data import packed
from mlcdr.data.dataset import Dataset, load_dataset
from mlcdr.data.rows import Columns
from mlcdr.errors import DataError

N = K = 6_000
"""Rows and labels: a label matrix of 36 MB, and of 288 MB before its numbers are small ones."""
FREE = 1 << 22
ONE = sparse.csr_array(([1.0], ([0], [0])), shape=(N, K))
NARROW = sparse.csr_array(([1.0], ([0], [0])), shape=(N, 3))
LABELS = f"3 features and {K:,} labels of {N:,} rows take 34 MiB of memory, more than 250 times the size of the data"


def _parts(name: str, matrix: sparse.csr_array) -> dict[str, Any]:
    return {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}


def _npz(**arrays: Any) -> bytes:
    with io.BytesIO() as file:
        np.savez_compressed(file, **arrays)
        return file.getvalue()


def _mat(**matrices: Any) -> bytes:
    with io.BytesIO() as file:
        savemat(file, matrices, do_compression=True)
        return file.getvalue()


def _parquet(**columns: Any) -> bytes:
    with io.BytesIO() as file:
        parquet.write_table(pa.table(columns), file)
        return file.getvalue()


def _zip(name: str, content: bytes) -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
            archive.writestr(name, content)
        return file.getvalue()


def _arff(labels: int, attributes: list[str], n: int = N) -> bytes:
    lines = [f"@relation 'r: -C {labels}'", *(f"@attribute a{j} {kind}" for j, kind in enumerate(attributes)), "@data"]
    return "\n".join([*lines, *["{}"] * n, ""]).encode()


WORDS = "{" + ",".join(f"w{j}" for j in range(K)) + "}"
DENSE = np.zeros((N, 3), dtype=np.uint8)
OTHERWISE = "packed by another method than deflate"
GROWS = "unpacks to more than 250 times its size"
FILES: dict[str, tuple[str, Callable[[], bytes], dict[str, Any], str]] = {
    "dense X, sparse Y": ("a.npz", lambda: _npz(X=DENSE, **_parts("Y", ONE)), {}, f"3 features and {K:,} labels of"),
    "sparse X, sparse Y": ("a.npz", lambda: _npz(**_parts("X", NARROW), **_parts("Y", ONE)), {}, f"{K:,} labels of"),
    "bytes that become numbers": (
        "a.npz", lambda: _npz(X=np.zeros((100, 30_000), np.uint8), Y=np.zeros((100, 2))), {},
        "3,000,000 numbers of X take 23 MiB of memory",
    ),
    "sparse Y of MATLAB": ("a.mat", lambda: _mat(X=DENSE, Y=sparse.csc_matrix(ONE)), {}, f"{K:,} labels of"),
    "dense bytes of MATLAB": (
        "a.mat", lambda: _mat(X=np.zeros((100, 30_000), np.uint8), Y=np.zeros((100, 2))), {},
        "variable 'X' is 100x30000 uint8, which is too large",
    ),
    "sparse X of MATLAB": (
        "a.mat",
        lambda: _mat(X=sparse.csc_matrix((np.zeros(10**6), np.zeros(10**6, int), [0, 10**6]), (N, 1)), Y=DENSE),
        {}, "variable 'X' unpacks to more than 1 MiB",
    ),
    "sizes that a first line states": ("a.txt", lambda: f"{N} 3 {K}\n".encode() + b"\n" * N, {}, f"{K:,} labels of"),
    "a large index": ("a.svm", lambda: b"0 200000:1\n", {}, "the names of 200,000 features and 1 labels"),
    "a large number of labels": ("a.txt", lambda: b"1 3 200000\n0 1:1\n", {}, "the names of 3 features and 200,000"),
    "rows of nothing": ("a.txt.gz", lambda: gzip.compress(b"9000000 3 2\n" + b"\n" * 9_000_000), {}, GROWS),
    "rows of a label": ("a.svm.gz", lambda: gzip.compress(b"0\n" * 1_000_000), {}, GROWS),
    "tags": (
        "a.csv", lambda: ("x,t\n" + "".join(f"1,t{i}\n" for i in range(N))).encode(), {"labels": "t", "separator": ";"},
        f"1 features and {N:,} labels of {N:,} rows take 34 MiB",
    ),
    "words": (
        "a.csv", lambda: ("w,t\n" + "".join(f"w{i // 2},1\n" for i in range(N))).encode(), {"labels": "t"},
        f"{N // 2:,} features and 1 labels of",
    ),
    "lines of a packed CSV": ("a.csv.xz", lambda: lzma.compress(b"x,t\n" + b"1,0\n" * 400_000), {"labels": "t"}, GROWS),
    "blank lines": ("a.csv.xz", lambda: lzma.compress(b"x,t\n" + b"\n" * 400_000), {"labels": "t"}, GROWS),
    "words of sparse ARFF": ("a.arff", lambda: _arff(1, ["{0,1}", WORDS]), {}, f"{K:,} features and 1 labels of"),
    "labels of sparse ARFF": ("a.arff", lambda: _arff(K, ["{0,1}"] * K + ["real"], 2 * N), {}, f"{K:,} labels of"),
    "bits of Parquet": (
        "a.parquet", lambda: _parquet(x=np.zeros(1_000_000, bool), y=np.zeros(1_000_000, bool)), {"labels": "y"}, GROWS,
    ),
    "nothing in Parquet": (
        "a.parquet", lambda: _parquet(x=pa.nulls(1_000_000), y=pa.nulls(1_000_000)), {"labels": "y"}, GROWS,
    ),
    "lists of Parquet": (
        "a.parquet", lambda: _parquet(x=np.zeros(N * 20), t=pa.array([[]] * (N * 20), pa.list_(pa.string()))),
        {"labels": "t", "separator": ";"}, GROWS,
    ),
    "a zip by bzip2": ("a.csv.zip", lambda: _zip("a.csv", b"x,t\n" + b"1,0\n" * 10**6), {"labels": "t"}, OTHERWISE),
    "an array by bzip2": ("a.npz", lambda: _zip("X.npy", bytes(10**7)), {}, OTHERWISE),
    "names of an array": (
        "a.npz", lambda: _npz(X=DENSE, Y=DENSE, feature_names=np.zeros(10**6, "S1")), {},
        "1000000 names of features, of type |S1, for 3 columns",
    ),
    "names of many letters": (
        "a.csv", lambda: (f"{'x' * 10**5},t\n" + "".join(f"w{i // 2},1\n" for i in range(N))).encode(), {"labels": "t"},
        "the names of the columns take",
    ),
    "columns within a column": (
        "a.parquet", lambda: _parquet(x=pa.array([{"a": None}] * N * 20), y=np.zeros(N * 20)), {"labels": "y"},
        "column 'x' holds struct<a: null>",
    ),
}  # fmt: skip


def _peak_of_refusal(read: Callable[[], object], message: str) -> int:
    """The most bytes that were taken until the refusal."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as failed:
            read()
        assert message in str(failed.value)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", FILES)
def test_files_that_stand_for_much_memory(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, content, options, message = FILES[case]
    path = tmp_path / name
    path.write_bytes(content())
    assert path.stat().st_size < 2 * 10**5
    monkeypatch.setattr(packed, "FREE_BYTES", FREE)
    assert _peak_of_refusal(lambda: load_dataset(path, **options), message) < 5 * FREE


def test_sparse_labels_of_dense_features_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", FREE)
    assert _peak_of_refusal(lambda: Dataset.of(DENSE, ONE), f"data: {LABELS}") < 5 * FREE
    monkeypatch.undo()
    tracemalloc.start()
    assert Dataset.of(DENSE, ONE).Y.shape == (N, K)
    assert tracemalloc.get_traced_memory()[1] < 2 * N * K, "one byte a label, and nothing of it in larger numbers"
    tracemalloc.stop()


def test_new_rows_of_a_model_that_has_many_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{j}" for j in range(K)]
    model = Columns([f"c={word}" for word in words], {"c": words})
    path = tmp_path / "new.csv"
    path.write_text("c,d\n" + "w1,0\n" * N)
    monkeypatch.setattr(packed, "FREE_BYTES", FREE)
    assert _peak_of_refusal(lambda: model.read(path), f"{K:,} features of {N:,} rows take 275 MiB") < 5 * FREE


def test_a_frame_of_many_words_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"w": [f"w{i // 2}" for i in range(2 * N)], "t": 1})
    monkeypatch.setattr(packed, "FREE_BYTES", FREE)
    message = f"data: {N:,} features and 1 labels of {2 * N:,} rows take 549 MiB"
    assert _peak_of_refusal(lambda: Dataset.of(frame, labels="t"), message) < 5 * FREE
    assert Dataset.of(frame[:400], labels="t").n_features == 200


def test_masked_values_of_arrays_are_missing() -> None:
    X = np.ma.masked_equal([[1, 2], [3, -1]], -1)
    found = Dataset.of(X, np.eye(2), missing="keep")
    assert (dict(found.missing), np.isnan(found.X[1, 1])) == ({"feature2": 1}, True)
    with pytest.raises(DataError, match=r"^data: row 2: feature 'feature2' has no value;"):
        Dataset.of(X, np.eye(2))
    with pytest.raises(DataError, match=r"^data: row 1: label 'label1' has no value;"):
        Dataset.of(np.eye(2), np.ma.masked_equal([[1, 0], [0, 0]], 1))


def test_an_array_is_taken_as_it_is_and_never_written_into() -> None:
    X, Y = np.random.default_rng(0).standard_normal((30, 4)), np.eye(30)[:, :3]
    assert np.shares_memory(Dataset.of(X, Y).X, X)
    assert X.flags.writeable
    X[3, 2] = np.nan
    filled = Dataset.of(X, Y, missing="mean")
    assert not np.isnan(filled.X).any()
    assert np.isnan(X[3, 2])
