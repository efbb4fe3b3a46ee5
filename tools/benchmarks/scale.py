"""Large problems and many machines: CPU seconds and peak memory, each part in a process of its own.

    python -m tools.benchmarks.scale [PART...]                   all parts, if none is named
    python -m tools.benchmarks.scale page                        docs/scaling.md from what was measured

bookmarks   the shape of that data set (87,856 × 2,150 sparse, 208 labels), made; PLST, CPLST, DDSR, PCA and MVMD with
            ridge regression or least squares, ten folds, by the engine that runs experiments;
extreme     100,000 × 50,000 sparse, 20,000 labels: PLST, CPLST, LEML (each with ridge regression of the codes), MVMD and
            a learner of SLEEC;
stream      moments of 10⁷ rows that come in blocks;
dense       2,000,000 × 100 dense, 50 labels, in memory: PLST with ridge regression in three folds by `mlcdr.run`;
sparse      100,000 × 100,000 sparse, 20,000 labels: the same on one split by `mlcdr.run`, with precision at 5;
cluster     the same run on 1 and 2 Dask workers, what a task and a data set cost to send, and a simulation of more.

What is measured is kept in results/scale/PART.json. CPU seconds, since a machine may have other work; wall time beside.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tools.benchmarks.measuring import alone, peak_memory, timing, work_of

HERE = Path("results/scale")


def made(n: int, d: int, k: int, per_row: int, labels_per_row: float) -> tuple[Any, Any]:
    """Sparse X (n×d, 1 where there is a word) and Y (n×K): words by Zipf's law, a half of them from a row's topic, and
    labels that go with the topic, or with nothing.
    """
    rng = np.random.default_rng(0)

    def zipf(size: int, count: int) -> Any:
        return np.minimum((size ** rng.random(count) - 1).astype(np.int64), size - 1)

    topic = zipf(400, n)

    def draw(size: int, counts: Any, own: int) -> Any:
        rows = np.repeat(np.arange(n), counts)
        common = rng.permutation(size)[zipf(size, len(rows))]
        special = (topic[rows] * 7919 + zipf(own, len(rows)) * 104729) % size
        columns = np.where(rng.random(len(rows)) < 0.5, common, special)
        found = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, size))
        found.sum_duplicates()
        found.data[:] = 1.0
        return sp.csr_array((found.data, found.indices.astype(np.int32), found.indptr.astype(np.int32)), found.shape)

    X = draw(d, rng.poisson(per_row, n), max(per_row * 2, 20))
    Y = draw(k, 1 + rng.poisson(labels_per_row - 1, n), 6).astype(np.int8)
    return X, Y


def bookmarks() -> dict[str, Any]:
    """Ten folds of five methods."""
    from mlcdr.data.dataset import Dataset
    from mlcdr.execution.computing import Computer
    from mlcdr.execution.groups import group_by_split
    from mlcdr.experiment import data_source, trials
    from mlcdr.experiment.loading import experiment_from

    n, d, k = 87_856, 2_150, 208
    X, Y = made(n, d, k, per_row=180, labels_per_row=2.2)
    names = tuple(map(str, range(d))), tuple(map(str, range(k)))
    dataset = Dataset("bookmarks-like", X, Y, *names, names[1], "made", d, 0, d, (), None)
    ridge = {"ridge": {"alpha": 1.0}}
    experiment = experiment_from(
        {
            "name": "scale",
            "datasets": ["bookmarks-like"],
            "splits": {"kind": "kfold", "folds": 10, "seed": 1},
            "metrics": ["hamming_loss", "f1"],
            "methods": {
                "PLST": {"label_space": {"plst": {"n_components": "20%"}}, "learner": ridge},
                "CPLST": {"label_space": {"cplst": {"n_components": "20%", "alpha": 1.0}}, "learner": ridge},
                "DDSR": {"dual_space": {"ddsr": {"n_components": "20%"}}, "learner": ridge},
                "PCA": {"feature_space": {"pca": {"n_components": 100}}, "learner": ridge},
                "MVMD": {"feature_space": {"mvmd": {"n_components": 100}}, "learner": ridge},
            },
        },
        look_up=False,
    )
    source = data_source.DataSource.of(experiment.datasets[0], experiment.splits)
    data = source.divide(dataset)
    computer = Computer(data)
    told: dict[str, Any] = {"n": n, "d": d, "K": k, "nnz": int(X.nnz), "cardinality": float(Y.sum() / n)}
    scores = []
    with timing() as seconds:
        for group in group_by_split(experiment, data.source, trials.plan_trials(experiment, data)):
            scores += computer.compute(group).results
    failed = [score.error for score in scores if score.values is None]
    if failed or len(scores) != 50:
        raise AssertionError(failed[:1])
    return told | seconds | {"peak": round(peak_memory()), "trials": len(scores)}


def extreme() -> dict[str, Any]:
    """Directions and regressions without a square matrix."""
    from mlcdr.methods.classifiers.sleec import SLEEC
    from mlcdr.methods.feature_space.mvmd import MVMD
    from mlcdr.methods.label_space.cplst import CPLST
    from mlcdr.methods.label_space.leml import LEML
    from mlcdr.methods.label_space.plst import PLST
    from mlcdr.methods.learners.ridge import Ridge
    from mlcdr.numerics.moments import Moments

    n, d, k = 100_000, 50_000, 20_000
    m, alpha = 10, 10.0
    X, Y = made(n, d, k, per_row=40, labels_per_row=4)
    told: dict[str, Any] = {"n": n, "d": d, "K": k, "nnz": int(X.nnz), "labels": int(Y.nnz), "m": m, "alpha": alpha}
    told["peak_before"], told["methods"] = round(peak_memory()), {}
    steps = {
        "PLST": PLST(m),
        "MVMD": MVMD(m),
        "CPLST": CPLST(m, alpha=alpha),
        "LEML": LEML(m, alpha=alpha),
        "SLEEC": SLEEC(2 * m, n_learners=1, max_iter=10, random_state=0),
    }
    for name, method in steps.items():
        moments = Moments.from_arrays(X, Y)
        with timing() as row:
            method.fit_moments(moments)
        if name not in ("MVMD", "SLEEC"):
            with timing() as regression:
                learner = Ridge(alpha).fit_moments(method.encode_moments(moments))
            row["regression"] = regression["cpu"]
            if not np.isfinite(learner.coef_).all():
                raise AssertionError(name)
        told["methods"][name] = row | {"peak": round(peak_memory())}
        print(name, told["methods"][name], flush=True)
    return told | {"peak": round(peak_memory())}


def stream() -> dict[str, Any]:
    """Peak memory after 10⁵ rows, and after 10⁷; the sums are compared with a formula that needs no stream."""
    from mlcdr.numerics.moments import Moments

    n, d, k, rows = 10_000_000, 50, 10, 10_000
    rng = np.random.default_rng(0)
    base, labels = rng.normal(size=(rows, d)), (rng.random((rows, k)) < 0.2).astype(np.uint8)

    def blocks(count: int) -> Any:
        for i in range(count):
            yield base * (1 + i % 2), labels

    Moments.from_blocks(blocks(100_000 // rows))
    before = round(peak_memory())
    with timing() as seconds:
        moments = Moments.from_blocks(blocks(n // rows))
    mean, half = 1.5 * base.mean(axis=0), n // rows / 2
    expected = half * (5 * base.T @ base) - n * np.outer(mean, mean)
    error = np.abs(moments.xx - expected).max() / np.abs(expected).max()
    memory = {"peak_before": before, "peak": round(peak_memory())}
    return seconds | memory | {"n": n, "d": d, "K": k, "error": float(error)}


def dense() -> dict[str, Any]:
    """A run on data that fill much of a machine's memory."""
    n, d, k, rows = 2_000_000, 100, 50, 50_000
    rng = np.random.default_rng(0)
    X, Y = np.empty((n, d)), np.empty((n, k), dtype=np.uint8)
    for start in range(0, n, rows):
        block = slice(start, start + rows)
        X[block] = rng.standard_normal(X[block].shape)
        Y[block] = X[block, :k] > 0.5
    return _run(X, Y, {"kind": "kfold", "folds": 3, "seed": 1}, ["hamming_loss"], X.nbytes + Y.nbytes)


def sparse() -> dict[str, Any]:
    """A run on an extreme label space."""
    X, Y = made(100_000, 100_000, 20_000, per_row=40, labels_per_row=4)
    n_bytes = sum(a.data.nbytes + a.indices.nbytes + a.indptr.nbytes for a in (X, Y))
    splits = {"kind": "shuffle", "repeats": 1, "train_size": 0.9, "seed": 1}
    return _run(X, Y, splits, ["hamming_loss", "precision_at_k"], n_bytes)


def _run(X: Any, Y: Any, splits: dict[str, Any], metrics: list[str], n_bytes: int) -> dict[str, Any]:
    """`mlcdr.run` of PLST with ridge regression; memory beside that of Python, its packages and the data."""
    import mlcdr
    from mlcdr.execution import computing  # noqa: F401  what is imported is not part of what a run takes

    method = {"label_space": {"plst": {"n_components": 10}}, "learner": {"ridge": {"alpha": 10.0}}}
    config = {"name": "scale", "datasets": ["made"], "splits": splits, "metrics": metrics, "methods": {"PLST": method}}
    before = round(peak_memory())
    with tempfile.TemporaryDirectory() as folder, timing() as seconds:
        results = mlcdr.run(config, datasets={"made": (X, Y)}, out=folder, jobs=1, quiet=True)
        if len(results.failures):
            raise AssertionError(results.failures)
    (n, d), k, data = X.shape, Y.shape[1], n_bytes / 2**20
    return seconds | {"n": n, "d": d, "K": k, "data": data, "peak_before": before, "peak": round(peak_memory())}


# -------------------------------------------------------------------- many machines


def cluster() -> dict[str, Any]:
    """One run on 1 and 2 workers, and what the simulation needs to know."""
    from mlcdr.experiment.loading import experiment_from
    from tests.execution.test_machines import Cluster

    plain = {
        "name": "cluster",
        "datasets": ["yeast"],
        "splits": {"kind": "shuffle", "repeats": 40, "train_size": 0.8, "seed": 1},
        "metrics": ["hamming_loss"],
        "methods": {"M5P": {"label_space": {"plst": {"n_components": 7}}, "learner": "m5p"}},
    }
    experiment = experiment_from(plain)
    data, work = work_of(experiment)
    import cloudpickle

    told: dict[str, Any] = {
        "task_bytes": len(pickle.dumps(work[0])),
        "data_bytes": len(cloudpickle.dumps(data)),
        "workers": {},
    }
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            running = Cluster(Path(folder) / "cluster", workers=workers)
            try:
                told["workers"][workers] = _run_on(running, experiment, Path(folder))
            finally:
                running.stop()
    # a task that does nothing: what the scheduler and the client spend on each
    from distributed import Client, LocalCluster

    with (
        LocalCluster(1, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        Client(local) as client,
    ):
        client.gather(client.map(_nothing, range(50)))
        count = 2000
        with timing() as seconds:
            client.gather(client.map(_nothing, range(count), pure=False))
    told["overhead"] = {clock: total / count for clock, total in seconds.items()}
    return told


def _nothing(i: int) -> int:
    return i


def _run_on(running: Any, experiment: Any, folder: Path) -> dict[str, float]:
    from mlcdr.execution.runner import run
    from mlcdr.results.manifest import Manifest

    run(experiment.model_copy(update={"name": "warm"}), folder, backend="dask", scheduler=running.address)
    start = time.perf_counter()
    with running.client() as client:
        before = sum(client.run(time.process_time).values())
        report = run(experiment, folder, backend="dask", scheduler=running.address)
        wall = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values()) - before
    if report.done != report.planned:
        raise AssertionError(Manifest.read(report.folder).plain()["trials"])
    return {"wall": wall, "cpu": cpu, "tasks": float(report.planned)}


def simulate(workers: int, tasks: int, seconds: float, each: float, data: float, rate: float, spread: float) -> Any:
    """Seconds that a run takes, and the share of them that the scheduler is busy.

    Parameters
    ----------
    workers, tasks : int
    seconds : float
        Mean time of a task; log-normal, `spread` being the deviation of the logarithm.
    each : float
        The scheduler's (and client's) time for a task, one after another.
    data, rate : float
        Bytes of the data set, and bytes a second of a link; workers that have it send it on, one to one.
    """
    rng = np.random.default_rng(0)
    times = rng.lognormal(np.log(seconds) - spread**2 / 2, spread, tasks)
    # a binary tree: after r rounds 2ʳ workers have the data
    ready = [np.ceil(np.log2(i + 2)) * data / rate for i in range(workers)]
    heapq.heapify(ready)
    scheduler = end = 0.0
    for each_time in times:
        free = heapq.heappop(ready)
        scheduler = max(scheduler, free) + each if free > scheduler else scheduler + each
        finish = max(free, scheduler) + each_time
        heapq.heappush(ready, finish)
        end = max(end, finish)
    return end, tasks * each / end


# -------------------------------------------------------------------- the page


def page() -> None:
    """docs/scaling.md, of what was measured."""
    told = {part: json.loads((HERE / f"{part}.json").read_text()) for part in PARTS if (HERE / f"{part}.json").exists()}
    template = (Path(__file__).parent / "scaling.md").read_text()
    sections = [_section(part, told.get(part)) for part in PARTS]
    Path("docs/scaling.md").write_text(template.replace("<!-- measured -->", "\n\n".join(sections)))


def _section(part: str, told: Any) -> str:
    if told is None:
        return f"## {part.capitalize()}\n\nNot measured: `python -m tools.benchmarks.scale {part}`."
    _, describe = PARTS[part]
    load = f"{told['load']:.0f}, with {os.cpu_count()} processors"
    return f"{describe(told)}\n\nLoad of the machine at the end, by the system's count: {load}."


def _dense(t: Any) -> str:
    return f"""## Dense data in memory

`mlcdr.run` on {t["n"]:,} × {t["d"]} dense features and {t["K"]} labels, {t["data"]:,.0f} MB: PLST and ridge regression, three folds,
{t["cpu"]:.0f} CPU s. Peak {t["peak"]:,} MB, of which {t["peak_before"]:,} MB are the data and Python before the run: the run adds
{(t["peak"] - t["peak_before"]) / t["data"]:.2f} times the data."""


def _sparse(t: Any) -> str:
    return f"""## An extreme label space, by a run

`mlcdr.run` on {t["n"]:,} × {t["d"]:,} sparse features and {t["K"]:,} labels, {t["data"]:,.0f} MB: PLST and ridge regression, one split,
precision at 5, {t["cpu"]:.0f} CPU s. Peak {t["peak"]:,} MB, most of it the dense scores of the test rows."""


def _bookmarks(t: Any) -> str:
    return f"""## A data set of the size of bookmarks

{t["n"]:,} × {t["d"]:,} sparse features ({t["nnz"] / t["n"] / t["d"]:.1%} of them not 0), {t["K"]} labels, {t["cardinality"]:.2f} to a row, made. PLST,
CPLST, DDSR (20 % of the labels), PCA and MVMD (100 dimensions), each with ridge regression; ten folds, one process.

| trials | CPU s | wall s | peak MB |
| ---: | ---: | ---: | ---: |
| {t["trials"]} | {t["cpu"]:.0f} | {t["wall"]:.0f} | {t["peak"]} |"""


def _extreme(t: Any) -> str:
    lines = []
    for name, row in t["methods"].items():
        regression = f"{row['regression']:.0f}" if "regression" in row else "–"
        lines.append(f"| {name} | {row['cpu']:.0f} | {regression} | {row['peak']} |")
    rows = "\n".join(lines)
    return f"""## An extreme label space

{t["n"]:,} × {t["d"]:,} sparse features ({t["nnz"] / t["n"]:.0f} to a row), {t["K"]:,} labels ({t["labels"] / t["n"]:.1f} to a row), made; {t["m"]} directions, α = {t["alpha"]:g}.
A d×d matrix would have {t["d"] ** 2 * 8 / 1e9:.0f} GB, C (d×K) {t["d"] * t["K"] * 8 / 1e9:.0f} GB, a K×K one {t["K"] ** 2 * 8 / 1e9:.1f} GB; none is formed. The data alone: {t["peak_before"]} MB.

| method | CPU s, directions | CPU s, ridge regression of the codes | peak MB so far |
| --- | ---: | ---: | ---: |
{rows}

SLEEC: one learner of 16 clusters, 20 dimensions, ten rounds.

That the subspaces are ARPACK's, to a sine of 1e-8, is tested on smaller problems (`tests/methods/test_wide_labels.py`)."""


def _stream(t: Any) -> str:
    return f"""## A stream

`Moments.from_blocks` of {t["n"]:,} rows × {t["d"]} features, {t["K"]} labels: {t["cpu"]:.0f} CPU s. Peak memory {t["peak_before"]} MB after 10⁵ rows,
{t["peak"]} MB after {t["n"]:,}. Largest error of S against its closed form: {t["error"]:.0e} of its largest entry."""


def _cluster(t: Any) -> str:
    one, two = t["workers"]["1"], t["workers"]["2"]
    task = one["cpu"] / one["tasks"]
    each, data, rate = t["overhead"]["wall"], float(t["data_bytes"]), 1.25e8
    lines = []
    cases = (
        ("as measured", task, data, 10_000),
        ("as measured", task, data, 100_000),
        ("tasks of 1 s", 1.0, data, 100_000),
        ("tasks of 10 s", 10.0, data, 100_000),
        ("tasks of 10 s, 200 MB of data", 10.0, 2e8, 100_000),
    )
    for (label, seconds, size, tasks), workers in itertools.product(cases, (1, 10, 100, 1000)):
        end, busy = simulate(workers, tasks, seconds, each, size, rate, 0.5)
        speed = tasks * seconds / end
        most = "the end, or sending the data"
        if busy > 0.9:
            most = "scheduler"
        elif speed > 0.8 * workers:
            most = "workers"
        lines.append(f"| {label} | {tasks:,} | {workers:,} | {speed:,.1f} | {busy:.0%} | {most} |")
    table = "\n".join(lines)
    return f"""## Many machines

Measured: one run of {one["tasks"]:.0f} tasks (M5P on codes of yeast) on Dask workers of this machine, warm.

| workers | wall s | CPU s of the workers | speed-up by the wall | CPU s of one worker over those of the busiest of two, about |
| ---: | ---: | ---: | ---: | ---: |
| 1 | {one["wall"]:.1f} | {one["cpu"]:.1f} | 1 | 1 |
| 2 | {two["wall"]:.1f} | {two["cpu"]:.1f} | {one["wall"] / two["wall"]:.2f} | {2 * one["cpu"] / two["cpu"]:.2f} |

{_busy(t["load"])}A task is {t["task_bytes"]:,} bytes to send, whatever the data; the data set {t["data_bytes"]:,}, once to each worker. The scheduler and the
client spend {t["overhead"]["wall"] * 1e3:.2f} ms on a task that does nothing (wall, this machine as it was).

Simulated with these numbers (log-normal task times, data sent on from worker to worker at 1 Gbit/s each, one scheduler
that handles one task at a time):

| tasks | number | workers | speed-up | scheduler busy | bottleneck |
| --- | ---: | ---: | ---: | ---: | --- |
{table}

The scheduler limits the scaling: it handles {1 / each:,.0f} tasks a second, so that workers beyond {task / each:,.0f} (task time over the
scheduler's) have nothing to do with tasks as short as these. A task is a split with all its methods: a cluster is for
more methods, or more expensive ones, not for more machines."""


def _busy(load: float) -> str:
    """What a wall time is worth on a machine with other work."""
    if load <= 3:
        return ""
    return (
        f"Some {load:.0f} processes shared this machine's {os.cpu_count()} processors meanwhile: the wall times, and the speed-up by them, tell\n"
        "of those as much as of the workers. The work is the same for one and for two, as the CPU seconds show.\n\n"
    )


PARTS: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]] = {
    "bookmarks": (bookmarks, _bookmarks),
    "extreme": (extreme, _extreme),
    "stream": (stream, _stream),
    "dense": (dense, _dense),
    "sparse": (sparse, _sparse),
    "cluster": (cluster, _cluster),
}
"""What measures each part, and what writes its section."""


def main(parts: list[str]) -> None:
    """Measure each part in a process of its own."""
    if parts == ["page"]:
        page()
        return
    HERE.mkdir(parents=True, exist_ok=True)
    for part in parts or PARTS:
        measure, _ = PARTS[part]
        told = alone(measure)
        told["load"] = os.getloadavg()[0]
        (HERE / f"{part}.json").write_text(json.dumps(told, indent=2))
        print(part, json.dumps(told), flush=True)
    if len(parts) != 1:
        page()


if __name__ == "__main__":
    main(sys.argv[1:])
