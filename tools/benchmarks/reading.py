"""What reading and starting cost, as docs/hard_use_reading.md shows.

    python -m tools.benchmarks reading

CPU seconds, the least of several runs:

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
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
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
from tools.benchmarks.measuring import least, spent
from tools.benchmarks.ratios import Ratio

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


def process(arguments: list[str], folder: Path, expected: int = 0) -> float:
    """CPU seconds of `mlcdr` in a process of its own, with an empty cache; the least of three."""
    command = ["-m", "mlcdr", *arguments]
    places = [Path(tempfile.mkdtemp(dir=folder)) for _ in range(3)]
    return min(spent(command, place, expected, MLCDR_CACHE=str(place / "cache"))[0] for place in places)


def mistake(text: str, folder: Path) -> float:
    """CPU seconds until a config's mistake is told, by `mlcdr run` or `mlcdr check`, whichever takes longer."""
    config = folder / "mistaken.yaml"
    config.write_text(text)
    return max(process([command, str(config)], folder, expected=2) for command in ("run", "check"))


def printed(script: str, *paths: Path) -> float:
    """The number that a script prints; with an empty cache, which knows files by what they hold."""
    command = [sys.executable, "-c", script, *map(str, paths)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "MLCDR_CACHE": cache}
        return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def forms(folder: Path) -> Iterator[Ratio]:
    """Of CSV and svmlight: the CPU of the readers that are used, and the peak beside the matrices."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20_000, 100)), (rng.random((20_000, 10)) < 0.2).astype(int)
    columns = [pd.DataFrame(each).add_prefix(name) for name, each in (("x", X), ("y", Y))]
    pd.concat(columns, axis=1).to_csv(folder / "all.csv", index=False)
    many = sparse.random_array((20_000, 5_000), density=0.01, rng=rng, format="csr")
    dump_svmlight_file(many, Y, str(folder / "all.svm"), multilabel=True)
    svmlight = partial(load_svmlight_file, multilabel=True)
    for form, ending, options, reader in (
        ("CSV", "csv", {"labels": -10}, pd.read_csv),
        ("svmlight", "svm", {}, svmlight),
    ):
        path, small = folder / f"all.{ending}", folder / f"few.{ending}"
        small.write_text("".join(path.read_text().splitlines(keepends=True)[:100]))
        theirs = least(partial(reader, str(path)))
        ours = least(FileSource(locate(str(path)), "error", "full", options).read)
        yield Ratio(
            f"{form} read, checked and encoded / the reader of pandas or scikit-learn", ours, theirs, at_most=1.5
        )
        found = printed(PEAK_OF_FORM, path, small)
        yield Ratio(f"peak of memory reading {form} / its matrices", found, at_most=4)


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


def measure(_: str) -> Iterator[Ratio]:
    """Measure them all."""
    for name in ("delicious", "bibtex"):
        (path,) = locate(name).paths
        loop, read = least(lambda p=path: splitting(p), 9), least(lambda p=path: read_arff(p), 9)
        yield Ratio(f"{name} parsed / the splitting loop", read, loop, at_most=4)
    (flags,) = locate("flags").paths
    for name in ("scene", "bibtex", "tmc2007-500"):
        found = printed(PEAK, locate(name).paths[0], flags)
        yield Ratio(f"peak of memory reading {name} / its matrix", found, at_most=4)
    with tempfile.TemporaryDirectory() as temporary:
        yield from forms(Path(temporary))
    for name in ("delicious", "bibtex"):
        load_dataset(name)
        seconds = least(lambda n=name: load_dataset(n))
        yield Ratio(f"{name} loaded from the cache", 1000 * seconds, unit="ms", at_most=30)
    yield Ratio("all metrics of a fold of bibtex", 1000 * all_metrics(), unit="ms", at_most=5)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "run.yaml").write_text(RUN)
        yield Ratio("`mlcdr --help`", process(["--help"], folder), unit="s", at_most=0.4)
        for what, text in MISTAKES.items():
            yield Ratio(f"a config that {what}", mistake(text, folder), unit="s", at_most=0.5)
        yield Ratio(
            "one with a mistake that only a class of scikit-learn can find", mistake(OF_A_CLASS, folder), unit="s"
        )
        run = ["run", str(folder / "run.yaml"), "--jobs", "1"]
        yield Ratio("five folds of enron and bibtex, constant classifier", process(run, folder), unit="s", at_most=2.5)
