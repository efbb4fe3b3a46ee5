"""Runs the benchmarks, and prints one table of what was measured, with the marks.

    python -m tools.benchmarks [BENCHMARK...] [--data DATA...]

Each data set of each benchmark has a process of its own, with one BLAS thread, one after the other; what fails or
misses its mark does not end the rest. What was measured of a benchmark's own data sets takes the place of the same
lines in docs/benchmarks.csv, and of all lines if nothing is named; the pages that show it are written anew. Exit code 1
if something failed or missed its mark; a package to compare with that is not installed is no failure.
"""

from __future__ import annotations

import argparse
import sys
import traceback

from tools.benchmarks.measuring import alone
from tools.benchmarks.ratios import Ratio, aligned, measured, store, stored

BENCHMARKS = {
    "table3": ("yeast", "enron", "bibtex"),
    "end_to_end": ("yeast_cplst", "four trials", "chen_lin_2012/table3"),
    "dual_space": ("enron",),
    "feature_space": ("bibtex",),
    "kernel_ridge": ("yeast",),
    "occ": ("medical", "corel5k", "yeast"),
    "mlknn": ("emotions", "scene", "yeast", "medical", "enron"),
    "hinge_svm": ("rcv1s1",),
    "label_dependent": ("enron",),
    "clmlc": ("bibtex", "corel16k1", "delicious"),
    "reader": ("enron",),
    "m5p": ("emotions", "yeast", "genbase"),
    "metrics": ("bibtex", "delicious"),
    "reading": ("several",),
}
FAILED = "FAILED"


def updated(before: list[Ratio], found: list[Ratio]) -> list[Ratio]:
    """What is stored, with what was found in the place of the same benchmark's and data set's, in the order of all."""
    places: list[tuple[str, str]] = []
    for benchmark, own in BENCHMARKS.items():
        places += [(benchmark, data) for data in own]
    again = {(ratio.benchmark, ratio.data) for ratio in found}
    kept = [ratio for ratio in before if (ratio.benchmark, ratio.data) not in again]
    return sorted(kept + found, key=lambda ratio: places.index((ratio.benchmark, ratio.data)))


def attempt(benchmark: str, data: str) -> tuple[list[Ratio], str]:
    """What a benchmark measures, and a line on why it does not."""
    try:
        return alone(measured, benchmark, data), ""
    except Exception as error:
        lacking = isinstance(error, ModuleNotFoundError) and not str(error.name).startswith(("mlcdr", "tools"))
        if not lacking:
            traceback.print_exc()
        return [], f"{'not measured' if lacking else FAILED}: {benchmark}, {data}: {error!r}"


def main() -> int:
    """Run what is asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks", description="Ratios, with their marks.")
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help=f"any of {', '.join(BENCHMARKS)}")
    parser.add_argument("--data", nargs="+", metavar="DATA", help="other data sets than its own")
    asked = parser.parse_args()
    if unknown := set(asked.benchmarks) - set(BENCHMARKS):
        parser.error(f"no benchmark: {', '.join(sorted(unknown))}")
    ratios, notes = [], []
    for benchmark in asked.benchmarks or BENCHMARKS:
        for data in asked.data or BENCHMARKS[benchmark]:
            print(f"{benchmark}, {data}", flush=True)
            found, note = attempt(benchmark, data)
            ratios += found
            notes += [note] if note else []
            if data in BENCHMARKS[benchmark]:
                store(updated(stored(), found))
    if not asked.benchmarks and not asked.data:
        store(ratios)
    failed, missed = sum(note.startswith(FAILED) for note in notes), sum(ratio.missed for ratio in ratios)
    print(aligned(ratios), *notes, sep="\n")
    print(f"{missed} of {sum(bool(ratio.mark) for ratio in ratios)} marks missed, {failed} failed")
    return int(missed + failed > 0)


if __name__ == "__main__":
    sys.exit(main())
