"""A ratio that was measured, with its mark; those of docs/benchmarks.csv, and the pages that show them."""

from __future__ import annotations

import csv
import datetime
import importlib
import math
import os
import typing
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from tools.benchmarks.measuring import ROOT

STORED = ROOT / "docs" / "benchmarks.csv"
BEGIN, END = "<!-- measured by make bench -->", "<!-- the end of what was measured -->"
HEADER = ("benchmark", "data", "what is compared", "measured", "mark", "")


@dataclass(frozen=True)
class Ratio:
    """What was measured: the CPU seconds `above` in those `below`, or one figure of its own `unit`; with its mark.

    `compared` says in words what is above and below. The program that runs the benchmarks adds which it is, and when.
    """

    benchmark: str = field(default="", kw_only=True)
    data: str = field(default="", kw_only=True)
    compared: str
    above: float
    below: float = 1.0
    unit: str = "times"
    at_least: float = -math.inf
    at_most: float = math.inf
    date: str = ""
    processors: int = 0
    load: int = 0

    @property
    def measured(self) -> float:
        """The ratio."""
        return self.above / self.below

    @property
    def mark(self) -> str:
        """The mark in words; empty without one."""
        if self.at_least > -math.inf:
            return f"at least {self.at_least:,g}"
        return f"at most {self.at_most:,g}" if self.at_most < math.inf else ""

    @property
    def missed(self) -> bool:
        """Whether there is a mark that is not met."""
        return not self.at_least <= self.measured <= self.at_most

    def cells(self) -> tuple[str, ...]:
        """The line of a table."""
        of = "" if self.below == 1 else f" ({short(self.above)} s / {short(self.below)} s)"
        verdict = "MISSED" if self.missed else "met" * bool(self.mark)
        measured = f"{short(self.measured)} {self.unit}{of}"
        return self.benchmark, self.data, self.compared, measured, self.mark, verdict


def short(value: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def aligned(ratios: Iterable[Ratio]) -> str:
    """The table, for a terminal."""
    rows = [HEADER, *(ratio.cells() for ratio in ratios)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [map(str.ljust, row, widths) for row in rows]
    return "\n".join("  ".join(row).rstrip() for row in padded)


def measured(benchmark: str, data: str) -> list[Ratio]:
    """What a benchmark measures of a data set, and when."""
    module = importlib.import_module(f"tools.benchmarks.{benchmark}")
    with threadpool_limits(1):  # of the libraries that are loaded by now
        found = list(module.measure(data))
    here = {"date": datetime.date.today().isoformat(), "processors": os.cpu_count(), "load": round(os.getloadavg()[0])}
    return [replace(ratio, benchmark=benchmark, data=data, **here) for ratio in found]


def stored() -> list[Ratio]:
    """What was measured last."""
    types = typing.get_type_hints(Ratio)
    ratios = []
    with STORED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values = {name: types[name](text) for name, text in row.items()}
            ratios.append(Ratio(**values))
    return ratios


def store(ratios: Iterable[Ratio]) -> None:
    """Write the file, and what the pages show of it."""
    with STORED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Ratio)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, ratios))
    for page in PAGES:
        page.write_text(filled(page), encoding="utf-8")


def filled(page: Path) -> str:
    """A page with what is stored between its marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n\n{PAGES[page](stored())}\n\n{END}{rest.partition(END)[2]}"


def of_benchmarks(ratios: list[Ratio], *names: str) -> str:
    """The table of some benchmarks in Markdown, and when it was measured."""
    shown = [ratio for ratio in ratios if ratio.benchmark in names]
    if not shown:
        return "Not measured."
    first = 1 if len({ratio.data for ratio in shown}) > 1 else 2  # the column of data sets, if they differ
    rows = [HEADER, ("---",) * len(HEADER), *(ratio.cells() for ratio in shown)]
    table = "\n".join(f"| {' | '.join(row[first:])} |" for row in rows)
    told = []
    for name in ("date", "processors", "load"):
        values = {str(getattr(ratio, name)) for ratio in shown}
        told.append(", ".join(sorted(values)))
    days, processors, loads = told
    return f"{table}\n\nMeasured {days}; {processors} processors, load {loads}."


def why_quick(ratios: list[Ratio]) -> str:
    """The README's sentence."""
    of = [f"{short(ratio.measured)} ({ratio.data})" for ratio in ratios if ratio.compared == LOOP]
    return (
        "In CPU seconds, the cells of Chen & Lin's Table 3 are computed\n"
        f"{', '.join(of) or '(not measured)'} times as fast as by a plain loop over scikit-learn's `LinearRegression`."
    )


LOOP = "a loop over scikit-learn's LinearRegression / ours, a split"
PAGES = {
    ROOT / "README.md": why_quick,
    ROOT / "docs" / "concepts.md": lambda ratios: of_benchmarks(ratios, "table3", "end_to_end"),
    ROOT / "docs" / "hard_use_reading.md": lambda ratios: of_benchmarks(ratios, "reading"),
}
