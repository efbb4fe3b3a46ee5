"""What reading and starting cost, and the mark of each; writes the table in docs/hard_use_reading.md.

    python -m tools.benchmarks.reading [--to FILE]

On one BLAS thread, CPU seconds, the least of several runs:

parse     `read_arff` of delicious and bibtex, beside a loop that reads the file's lines as text and splits each row at
          its commas, and does nothing else;
memory    the peak of resident memory while an ARFF is read, over what was there before, beside the parsed matrix;
forms     a CSV file of 20,000×110 numbers and an svmlight file of 20,000×5,000 (1 %), read, checked and encoded, beside
          the readers of pandas and scikit-learn; and the peak of memory of `load_dataset`, beside the matrices;
cached    `load_dataset` from the cache of parsed data;
metrics   every label metric of one fold of bibtex (1479 × 159), from one pass of counts;
help      `mlcdr --help`, a process of its own, everything included;
mistakes  `mlcdr run` and `mlcdr check` of configs with one mistake each, likewise, the slower of the two; and of one in
          which only the class can tell the mistake, so that it must be imported;
run       a five-fold experiment with a constant classifier (scikit-learn's DummyClassifier) on enron and bibtex,
          likewise, with an empty cache.

Exit code 1 if a mark is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mlcdr.data.arff import read_arff
from mlcdr.data.dataset import load_dataset
from mlcdr.data.files import locate
from mlcdr.data.reading import FileSource
from mlcdr.metrics import METRICS, Counts, Outcome

MOST = """
import sys
from pathlib import Path
from scipy import sparse
def most():  # of this program; ru_maxrss is at least that of the process which started it
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
def size(a):
    return a.data.nbytes + a.indices.nbytes + a.indptr.nbytes if sparse.issparse(a) else a.nbytes
"""
PEAK = f"""{MOST}
from mlcdr.data.arff import read_arff
read_arff(sys.argv[2])
base = most()
values = read_arff(sys.argv[1]).values
print((most() - base) / size(values))
"""
PEAK_OF_FORM = f"""{MOST}
from mlcdr.data.dataset import load_dataset
options = {{'labels': -10}} if sys.argv[1].endswith('csv') else {{}}
load_dataset(sys.argv[2], **options)
base = most()
made = load_dataset(sys.argv[1], missing='zero', **options)  # otherwise than it is in the cache
print((most() - base) / (size(made.X) + size(made.Y)))
"""

RUN = """
name: constant
datasets: [enron, bibtex]
splits: {kind: kfold, folds: 5, seed: 1}
metrics: [hamming_loss, f1]
methods:
  Constant: {learner: sklearn.dummy.DummyClassifier}
"""

CODES = RUN.replace(
    "Constant: {learner: sklearn.dummy.DummyClassifier}",
    "PLST: {label_space: {plst: {n_components: 20%}}, learner: {ridge: {alpha: 1.0}}}",
)
MISTAKES = {
    "is no YAML": "name: x\ndatasets: [yeast\nmetrics: []\n",
    "has an unknown key": CODES.replace("metrics:", "metrisc:"),
    "has an unknown data set": CODES.replace("bibtex", "bibtxe"),
    "has an unknown metric": RUN.replace("f1", "f11"),
    "has an unknown method": CODES.replace("ridge", "rigde"),
    "has an unknown parameter": CODES.replace("alpha", "alhpa"),
    "has an impossible value": CODES.replace("1.0", "-1.0"),
    "has a value of the wrong type": CODES.replace("1.0", "[x]"),
    "has an unknown layout": CODES + "tables: [genric]\n",
    "sweeps what no method has": CODES + "sweep: {label_space.n_component: [1, 2]}\n",
}
OF_A_CLASS = RUN.replace("sklearn.dummy.DummyClassifier", "{sklearn.dummy.DummyClassifier: {strategi: x}}")

BEGIN, END = "<!-- measured by make bench-scale -->", "<!-- the end of what was measured -->"


def least(function: Callable[[], object], times: int = 5) -> float:
    """CPU seconds, the least of several runs."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def splitting(path: Path) -> int:
    """The number of pieces between commas in the rows of an ARFF file."""
    pieces, rows = 0, False
    with path.open(encoding="utf-8") as file:
        for line in file:
            if rows:
                pieces += len(line.split(","))
            elif line.lower().startswith("@data"):
                rows = True
    return pieces


def process(arguments: list[str], folder: Path, times: int = 3, expected: int = 0) -> float:
    """CPU seconds of `mlcdr` in a process of its own, with an empty cache; the least of several."""
    best = float("inf")
    for k in range(times):
        place = folder / f"{time.monotonic_ns()}-{k}"
        place.mkdir()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "mlcdr", *arguments],
            cwd=place,
            env={**os.environ, "MLCDR_CACHE": str(place / "cache"), "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            check=False,
        )
        if done.returncode != expected:
            raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr.decode()[-500:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def mistake(text: str, folder: Path) -> float:
    """CPU seconds until a config's mistake is told, by `mlcdr run` or `mlcdr check`, whichever takes longer."""
    config = folder / "mistaken.yaml"
    config.write_text(text)
    return max(process([command, str(config)], folder, expected=2) for command in ("run", "check"))


def peak(name: str) -> float:
    """The peak of memory while the first file of a data set is read, as a multiple of its matrix."""
    command = [sys.executable, "-c", PEAK, str(locate(name).paths[0]), str(locate("flags").paths[0])]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def forms(folder: Path) -> dict[str, tuple[float, float]]:
    """Of CSV and svmlight: times the CPU of the readers that are used, and the peak beside the matrices."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20_000, 100)), (rng.random((20_000, 10)) < 0.2).astype(int)
    columns = [pd.DataFrame(each).add_prefix(name) for name, each in (("x", X), ("y", Y))]
    many = sparse.random_array((20_000, 5_000), density=0.01, rng=rng, format="csr")
    found = {}
    for ending, label in ((".csv", "CSV"), (".svm", "svmlight")):
        path, small = folder / f"all{ending}", folder / f"few{ending}"
        if ending == ".csv":
            pd.concat(columns, axis=1).to_csv(path, index=False)
        else:
            dump_svmlight_file(many, Y, str(path), multilabel=True)
        small.write_text("".join(path.read_text().splitlines(keepends=True)[:100]))
        options = {"labels": -10} if ending == ".csv" else {}
        theirs = least(
            lambda p=path, e=ending: pd.read_csv(p) if e == ".csv" else load_svmlight_file(p, multilabel=True)
        )

        command = [sys.executable, "-c", PEAK_OF_FORM, str(path), str(small)]
        peak_of = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ours = least(lambda p=path, o=options: FileSource(locate(str(p)), "error", "full", o).read())
        found[label] = ours / theirs, peak_of
    return found


def all_metrics() -> float:
    """CPU seconds of every label metric on a prediction of the size of a fold of bibtex."""
    rng = np.random.default_rng(0)
    truth, predicted = ((rng.random((1479, 159)) < 0.015).astype(np.uint8) for _ in range(2))

    def measure() -> None:
        outcome = Outcome(Counts(truth, predicted))
        for metric in METRICS.values():
            if metric.needs == "labels":
                metric.compute(outcome, **metric.parameters)

    return least(measure, 20)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=Path, default=Path(__file__).parents[2] / "docs" / "hard_use_reading.md")
    to = parser.parse_args().to
    lines: list[tuple[str, str, str, bool]] = []

    def add(what: str, value: float, mark: float, unit: str) -> None:
        lines.append(
            (what, f"{value:.3g} {unit}", f"{mark:g} {unit}" if math.isfinite(mark) else "none", value <= mark)
        )
        print(f"{'' if value <= mark else 'MISSED '}{what}: {value:.3g} {unit} (mark: {mark:g})", flush=True)

    for name in ("delicious", "bibtex"):
        (path,) = locate(name).paths
        loop, read = least(lambda p=path: splitting(p), 9), least(lambda p=path: read_arff(p), 9)
        add(f"{name} parsed, relative to the splitting loop", read / loop, 4, "times")
    for name in ("scene", "bibtex", "tmc2007-500"):
        add(f"peak of memory reading {name}, relative to its matrix", peak(name), 4, "times")
    with tempfile.TemporaryDirectory() as temporary:
        for form, (times, beside) in forms(Path(temporary)).items():
            add(
                f"{form} read, checked and encoded, relative to the reader of pandas or scikit-learn",
                times,
                1.5,
                "times",
            )
            add(f"peak of memory reading {form}, relative to its matrices", beside, 4, "times")
    for name in ("delicious", "bibtex"):
        load_dataset(name)
        add(f"{name} loaded from the cache", 1000 * least(lambda n=name: load_dataset(n)), 30, "ms")
    add("all metrics of a fold of bibtex", 1000 * all_metrics(), 5, "ms")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "run.yaml").write_text(RUN)
        add("`mlcdr --help`", process(["--help"], folder), 0.4, "s")
        for what, text in MISTAKES.items():
            add(f"a config that {what}", mistake(text, folder), 0.5, "s")
        add("one with a mistake that only a class of scikit-learn can find", mistake(OF_A_CLASS, folder), math.inf, "s")
        run = ["run", str(folder / "run.yaml"), "--jobs", "1"]
        add("five folds of enron and bibtex, constant classifier", process(run, folder), 2.5, "s")
    rows = "\n".join(f"| {what} | {value} | {mark} | {'' if ok else '**missed**'} |" for what, value, mark, ok in lines)
    load = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}"
    machine = f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {load}."
    before, _, rest = to.read_text(encoding="utf-8").partition(BEGIN)
    table = f"| what | measured | mark | |\n|---|---|---|---|\n{rows}\n\n{machine}"
    to.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0 if all(ok for *_, ok in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
