"""What a split of Chen & Lin 2012's Table 3 costs: ours, a plain loop, and a bare Cholesky factorisation, in one run.

    python -m tools.benchmarks.table3 [DATASET...]

For each data set, on the same splits and one BLAS thread:

ours    the ten cells of a split (PLST, CPLST × five M) as a run computes them, from row numbers to Hamming losses;
loop    the same cells with scikit-learn's `LinearRegression` refitted for each method and M, and ZᵀHZ from `pinv`;
floor   LAPACK's Cholesky factorisation of the training set's d×d Gram matrix, and nothing else.

The Hamming losses of both must be the same. Prints the ratios and, for ours, the peak memory of a process that does
nothing else; of all data sets, writes them into docs/concepts.md. Exit code 1 if a ratio or the memory misses its mark.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import lapack
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import groups
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.loading import experiment_from
from mlcdr.experiment.trials import plan
from mlcdr.methods.contracts import as_dense
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

PAGE = Path(__file__).parents[2] / "docs" / "concepts.md"
BEGIN, END = "<!-- measured by make bench -->", "<!-- the end of what was measured -->"

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
SPLITS = {"yeast": (30, 5), "enron": (10, 3), "bibtex": (5, 2)}  # in each round, and rounds (one loop in each)

LEAST_SPEED_UP = 40.0  # of ours over the loop
MOST_FLOORS = {"enron": 4.0, "bibtex": 4.0}  # ours in bare factorisations
MOST_MEMORY = {"bibtex": 600.0}  # MB


def experiment(name: str, repeats: int):
    """Table 3's experiment on one data set."""
    return experiment_from(
        {
            "name": "benchmark",
            "datasets": [name],
            "splits": {"kind": "shuffle", "repeats": repeats, "train_size": 0.9, "seed": 2012},
            "metrics": ["hamming_loss"],
            "sweep": {"label_space.n_components": [f"{share:.0%}" for share in SHARES]},
            "methods": {
                "PLST": {"label_space": "plst", "learner": "least_squares"},
                "CPLST": {"label_space": "cplst", "learner": "least_squares"},
            },
        }
    )


def prepared(name: str, repeats: int):
    """The data set, its splits, and the work of each; what is summed over the whole data set is made once for all."""
    described = experiment(name, repeats + 1)
    source = DataSource.of(described.datasets[0], described.splits)
    data = source.read()
    work = list(groups(described, data.source, plan(described, data)))
    computer = Computer(data)
    computer.compute(work.pop())
    return data.dataset, data.splits, work, computer


def timed(function, *arguments):
    """CPU seconds, and what the function gives."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def loop(X, Y, train, test) -> list[float]:
    """The ten cells of a split by a plain loop."""
    mean = Y[train].mean(axis=0)
    z = Y[train] - mean
    x = X[train] - X[train].mean(axis=0)
    losses = []
    for explained in (z.T @ z, (z.T @ x) @ (np.linalg.pinv(x, rcond=1e-12) @ z)):
        directions = np.linalg.eigh(explained)[1][:, ::-1].T
        for share in SHARES:
            v = directions[: n_kept(share, Y.shape[1])]
            codes = LinearRegression().fit(X[train], z @ v.T).predict(X[test]).reshape(len(test), -1)
            losses.append(float(np.mean((codes @ v + mean > 0.5) != (Y[test] > 0))))
    return losses


def floor(matrix) -> None:
    """One Cholesky factorisation, in place."""
    _, info = lapack.dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    assert info == 0


def gram(moments: Moments):
    """The training set's Gram matrix, made safely positive definite."""
    matrix = np.asfortranarray(moments.xx)
    matrix[np.diag_indices_from(matrix)] += 1e-3 * np.trace(matrix) / len(matrix)
    return matrix


def peak_memory() -> float:
    """Peak resident memory of this process, MB (getrusage would count the parent's, from before exec)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass
class Row:
    """One data set's figures: CPU seconds a split (medians) and MB."""

    name: str
    ours: float
    loop: float
    floor: float
    memory: float

    @property
    def speed_up(self) -> float:
        """How many times ours the loop takes."""
        return self.loop / self.ours

    @property
    def floors(self) -> float:
        """How many bare factorisations ours takes."""
        return self.ours / self.floor

    def misses(self) -> list[str]:
        """The marks that are missed."""
        found = []
        if self.speed_up < LEAST_SPEED_UP:
            found.append(f"{self.name}: {self.speed_up:.1f} times faster than the loop, wanted {LEAST_SPEED_UP:.0f}")
        if self.floors > MOST_FLOORS.get(self.name, np.inf):
            found.append(f"{self.name}: {self.floors:.2f} factorisations, wanted {MOST_FLOORS[self.name]:.1f} at most")
        if self.memory > MOST_MEMORY.get(self.name, np.inf):
            found.append(f"{self.name}: {self.memory:.0f} MB, wanted {MOST_MEMORY[self.name]:.0f} at most")
        return found


def measure(name: str) -> Row:
    """Measure one data set.

    Raises
    ------
    AssertionError
        When the two ways disagree on a Hamming loss.
    """
    repeats, rounds = SPLITS.get(name, (5, 1))
    dataset, splits, work, computer = prepared(name, repeats)
    X, Y = as_dense(dataset.X), as_dense(dataset.Y).astype(float)
    whole = Moments.from_arrays(dataset.X, dataset.Y)
    floors, seconds, loop_seconds = [], [], []
    for i in range(rounds):  # in rounds, so that a slow minute of the machine is slow for all
        for split in splits[:repeats]:
            floors.append(timed(floor, gram(whole.without(split.test)))[0])
        for group in work:  # one after the other, as in a run
            cost, scores = timed(lambda group: computer.compute(group).scores, group)
            seconds.append(cost)
            if group.split == i:
                found = [score.values["hamming_loss"] for score in scores]
        cost, expected = timed(loop, X, Y, splits[i].train, splits[i].test)
        loop_seconds.append(cost)
        # where rounding decides a cell the two may differ in it; in no more than two of a million
        assert np.allclose(found, expected, atol=2e-6), (name, found, expected)
    memory = subprocess.run(
        [sys.executable, "-m", "tools.benchmarks.table3", "--memory", name], capture_output=True, text=True, check=True
    )
    return Row(name, *(float(np.median(s)) for s in (seconds, loop_seconds, floors)), float(memory.stdout))


def main(names: list[str]) -> int:
    """Measure and print."""
    with threadpool_limits(1):
        if names[:1] == ["--memory"]:
            *_, work, computer = prepared(names[1], 3)
            for group in work:
                computer.compute(group)
            print(peak_memory())
            return 0
        lines = [
            f"{'CPU s per split':<16}{'ours':>9}{'loop':>9}{'floor':>9}{'loop/ours':>11}{'ours/floor':>12}"
            f"{'peak MB':>9}"
        ]
        print(lines[0])
        misses = []
        for name in names or SPLITS:
            row = measure(name)
            lines.append(
                f"{row.name:<16}{row.ours:>9.4f}{row.loop:>9.3f}{row.floor:>9.4f}"
                f"{row.speed_up:>11.1f}{row.floors:>12.2f}{row.memory:>9.0f}"
            )
            print(lines[-1], flush=True)
            misses += row.misses()
    if not names:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        table = "\n".join(f"    {line}" for line in lines)
        load = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}."
        PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{load}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print("\n".join(f"missed: {each}" for each in misses) or "every mark is met")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
