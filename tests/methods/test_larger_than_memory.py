"""The example `larger_than_memory`: moments of all rows at once, but for rounding, in memory that does not grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import examples.larger_than_memory
from examples.larger_than_memory import MappedRows, Sums, moments_of_dask, row_blocks
from mlcdr import CPLST, MVMD, Ridge
from mlcdr.numerics.moments import Moments


def data(n: int = 500, d: int = 12, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    X[:, 3] = 7.0  # constant
    X[:, 4] += 1000.0  # an offset that hides the spread
    Y = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)) > 0).astype(np.uint8)
    Y[:, 2] = 0
    return X, Y


def assert_same(found: Moments, expected: Moments) -> None:
    assert found.n == expected.n
    for name in ("mean_x", "mean_y", "xx", "xy", "yy"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        size = np.sqrt(np.outer(np.diag(expected.xx), np.diag(expected.xx))) if name == "xx" else np.abs(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * max(size.max(), 1))
    assert not found.xx[3].any(), "a constant feature has exact zeros"
    assert not found.yy[2].any()


@pytest.mark.parametrize(
    ("rows", "sparse"),
    [
        *((rows, False) for rows in (1, 7, 500, 4096)),
        *((rows, True) for rows in (7, 500)),
        *(pytest.param(rows, True, marks=pytest.mark.slow) for rows in (1, 4096)),
    ],
)
def test_blocks_of_any_size_have_the_moments_of_all_rows(rows: int, sparse: bool) -> None:
    X, Y = data()
    expected = Moments.from_arrays(X, Y)
    if sparse:
        X, Y = sp.csr_array(X), sp.csr_array(Y)
    assert_same(Moments.from_blocks(row_blocks(X, Y, rows)), expected)


def test_memory_maps_have_the_moments_of_their_rows(tmp_path: Path) -> None:
    X, Y = data()
    expected = Moments.from_arrays(X, Y)
    np.save(tmp_path / "x.npy", X)
    assert_same(Moments.from_blocks(row_blocks(np.load(tmp_path / "x.npy", mmap_mode="r"), Y, 64)), expected)
    MappedRows.write(tmp_path / "x", (sp.csr_array(X[i : i + 90]) for i in range(0, 500, 90)), 12)
    MappedRows.write(tmp_path / "y", [sp.csr_array(Y)], 5)
    mapped = MappedRows.open(tmp_path / "x"), MappedRows.open(tmp_path / "y")
    assert mapped[0].shape == X.shape
    np.testing.assert_array_equal(mapped[0][100:237].toarray(), X[100:237])
    assert mapped[1][3:3].shape == (0, 5)
    assert_same(Moments.from_blocks(row_blocks(*mapped, 64)), expected)


@pytest.mark.slow
def test_the_example_fits_arrays_on_disk(tmp_path: Path) -> None:
    X, Y = data()
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    line = [sys.executable, Path(examples.larger_than_memory.__file__), tmp_path / "x.npy", tmp_path / "y.npy"]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "500 rows: weights of shape (5, 12)\n"


def test_mapped_rows_refuse_what_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rows 2 on are 4 columns"):
        MappedRows.write(tmp_path, [sp.csr_array((2, 3)), sp.csr_array((2, 4))], 3)
    with pytest.raises(FileNotFoundError):
        MappedRows.open(tmp_path)
    with pytest.raises(ValueError, match="one after another"):
        MappedRows.write(tmp_path, [sp.csr_array((2, 3))], 3)[::2]
    with pytest.raises(ValueError, match="X has 2 rows and Y has 3"):
        list(row_blocks(np.zeros((2, 1)), np.zeros((3, 1))))


@pytest.mark.parametrize("blocks", [1, 2, 5, 8])
def test_dask_arrays_have_the_moments_of_their_rows_every_time(blocks: int) -> None:
    da = pytest.importorskip("dask.array")
    X, Y = data()
    size = -(-500 // blocks)
    chunked = da.from_array(X, chunks=(size, 12)), da.from_array(Y, chunks=(size, 5))
    found = moments_of_dask(*chunked)
    assert_same(found, Moments.from_arrays(X, Y))
    sparse = chunked[0].map_blocks(sp.csr_array), chunked[1].map_blocks(sp.csr_array)
    assert_same(moments_of_dask(*sparse), Moments.from_arrays(X, Y))
    again = moments_of_dask(*chunked)
    assert all(np.array_equal(getattr(found, name), getattr(again, name)) for name in ("xx", "xy", "yy"))


def test_dask_arrays_on_a_cluster_give_the_same_bits() -> None:
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    X, Y = data()
    chunked = da.from_array(X, chunks=(70, 12)), da.from_array(Y, chunks=(70, 5))
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        found = moments_of_dask(*chunked, client)
    here = moments_of_dask(*chunked)
    assert all(np.array_equal(getattr(found, name), getattr(here, name)) for name in ("xx", "xy", "yy"))


def test_dask_chunks_that_do_not_fit() -> None:
    da = pytest.importorskip("dask.array")
    X, Y = data()
    with pytest.raises(ValueError, match="same blocks of rows"):
        moments_of_dask(da.from_array(X, chunks=(100, 6)), da.from_array(Y, chunks=(100, 5)))
    with pytest.raises(ValueError, match="blocks of"):
        moments_of_dask(da.from_array(X, chunks=(250, 12)), da.from_array(Y, chunks=((200, 300), 5)))


def test_what_moments_tell_is_learned_from_a_stream() -> None:
    X, Y = data()
    X[:, 3] = np.arange(500) % 7
    stream, whole = Moments.from_blocks(row_blocks(X, Y, 60)), Moments.from_arrays(X, Y)
    np.testing.assert_allclose(Ridge(2.0).fit_moments(stream).coef_, Ridge(2.0).fit_moments(whole).coef_, atol=1e-9)
    for method in (CPLST(2), MVMD(2)):
        name = "directions_" if isinstance(method, CPLST) else "components_"
        found, expected = (getattr(method.fit_moments(m), name).copy() for m in (stream, whole))
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_sums_are_plain_arrays() -> None:
    import pickle

    X, Y = data()
    half = [pickle.loads(pickle.dumps(Sums.from_rows(X[part], Y[part]))) for part in (slice(200), slice(200, 500))]
    assert_same(half[0].plus(half[1]).moments(), Moments.from_arrays(X, Y))


GROWTH = """
import resource, sys
import numpy as np
from mlcdr.numerics.moments import Moments

def blocks(n, rows=2000):
    X, Y = np.random.default_rng(0).normal(size=(rows, 40)), np.zeros((rows, 8), dtype=np.uint8)
    for i in range(n // rows):
        Y[:, i % 8] = X[:, i % 40] > 0
        yield X + i % 3, Y.copy()

Moments.from_blocks(blocks(20_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
moments = Moments.from_blocks(blocks(200_000))
assert moments.n == 200_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_rows() -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True, timeout=100)
    # 64 MB of features went through; in KiB where the system is Linux
    assert int(done.stdout) < 8_000 * (1024 if sys.platform == "darwin" else 1)
