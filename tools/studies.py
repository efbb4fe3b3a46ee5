"""Tables and figures of docs/studies, from the numbers in docs/studies/*.csv: `python -m tools.studies`.

`python -m tools.studies RESULTS` first writes these files from the results folders that the configs in configs/studies
leave in RESULTS. A test holds the pages to what would be written now.
"""

from __future__ import annotations

import csv
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import kendalltau

from mlcdr.comparison.statistics import average_ranks, corrected_t, holm, paired_differences, rank_biserial, wilcoxon
from mlcdr.results.frame import group
from mlcdr.results.results import open_results
from mlcdr.tables import styles
from mlcdr.tables.canvas import STYLE

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "studies"
IMAGES = DOCS / "images"
RUNS = {
    "labels": ("studies_labels", "studies_labels_learners"),
    "protocol": tuple(
        f"studies_protocol{choice}"
        for choice in ("", "_seed", "_share_50", "_share_90", "_p_cut", "_maximise", "_test")
    ),
    "features": ("studies_features", "studies_features_test"),
}
TITLES = {
    "hamming_loss": "Hamming loss",
    "label_ranking_average_precision": "LRAP",
    "micro_f1": "micro F1",
    "exact_match": "exact match",
    "f1": "F1",
    "macro_f1": "macro F1",
}
LOSSES = {"hamming_loss"}
TEST_TO_TRAIN = 0.25  # of splits with 80 % of the rows for training

Key = tuple[str, str, str, str]
"""Run, data set, method, size of the code (empty where nothing is swept)."""
Numbers = dict[str, dict[Key, np.ndarray]]
"""Metric → key → the values of the splits, or their mean."""


# -------------------------------------------------------------------- the stored numbers


def collect(results: Path) -> None:
    """Write the numbers of the studies' results folders, to four digits; of the one on protocols the means."""
    for study, runs in RUNS.items():
        rows: list[list[str]] = []
        for run in runs:
            found = open_results(results / run)
            metrics = [metric for metric in found.metrics if not metric.endswith("_seconds")]
            for (dataset, method, *point), scores in group(found.taken, ["dataset", "method", *found.swept]):
                row = [run, dataset, method, " ".join(filter(None, point))]
                for metric in metrics:
                    values = scores.loc[scores["metric"] == metric, "value"]
                    shown = [values.mean()] if study == "protocol" else values
                    row.append(" ".join(f"{value:.4g}" for value in shown))
                rows.append(row)
        with (FOLDER / f"{study}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([["run", "dataset", "method", "size", *metrics], *sorted(rows)])


def read(study: str) -> Numbers:
    """The stored numbers of a study."""
    with (FOLDER / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {
        metric: {(row[0], row[1], row[2], row[3]): np.array(row[k].split(), dtype=float) for row in rows}
        for k, metric in enumerate(header[4:], start=4)
    }


# -------------------------------------------------------------------- a method against none


@dataclass(frozen=True)
class Against:
    """A method against its control.

    Attributes
    ----------
    changes : ndarray
        For each data set how much better, as a share of the control's mean.
    better, worse : int
        Data sets on which it is, by the corrected resampled t test, two-sided at level 0.05.
    effect, p : float
        Rank-biserial correlation and Wilcoxon's p-value over the data sets.
    """

    changes: np.ndarray
    better: int
    worse: int
    effect: float
    p: float

    @property
    def median(self) -> float:
        """The median change."""
        return float(np.median(self.changes))


def against(
    numbers: Mapping[Key, np.ndarray],
    metric: str,
    method: tuple[str, str, str],
    control: tuple[str, str, str],
) -> Against:
    """(run, method, size) against (run, method, size) on the data sets that the first has."""
    sign = -1.0 if metric in LOSSES else 1.0
    run, name, size = method
    datasets = [key[1] for key in numbers if (key[0], *key[2:]) == method]
    ours = [numbers[run, dataset, name, size] for dataset in datasets]
    theirs = [numbers[(control[0], dataset, *control[1:])] for dataset in datasets]
    gains = [sign * (a - b) for a, b in zip(ours, theirs, strict=True)]
    ps = [(corrected_t(gain, TEST_TO_TRAIN), corrected_t(-gain, TEST_TO_TRAIN)) for gain in gains]
    means = [np.array([each.mean() for each in several]) for several in (ours, theirs)]
    gain = sign * paired_differences(*means)
    with np.errstate(divide="ignore"):  # against a control of 0 a gain is infinite, which a median can take
        changes = np.divide(gain, means[1], out=np.zeros(len(gain)), where=gain != 0)
    return Against(
        changes,
        sum(better <= 0.025 for better, _ in ps),
        sum(worse <= 0.025 for _, worse in ps),
        rank_biserial(gain),
        wilcoxon(gain),
    )


def grid(rows: Sequence[str], columns: Sequence[str], found: Mapping[tuple[str, str], Against], corner: str) -> str:
    """A table of medians, effects and counts; bold where Holm's correction over all of it leaves p ≤ 0.05."""
    adjusted = dict(zip(found, holm([each.p for each in found.values()]), strict=True))

    def cell(at: tuple[str, str]) -> str:
        if at not in found:
            return ""
        each, mark = found[at], "**" if adjusted[at] <= 0.05 else ""
        return f"{mark}{percent(each.median)}{mark} ({each.effect:+.2f}; {each.better}/{each.worse})".replace("-", "−")

    return table([corner, *columns], [[row, *(cell((row, column)) for column in columns)] for row in rows])


def percent(share: float) -> str:
    """A share as a percentage with its sign."""
    return f"{100 * share:+.1f} %".replace("-", "−")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


# -------------------------------------------------------------------- the three studies

SPACES = ("random projection", "PLST", "CPLST", "OCCA", "CCA")
SIZES = ("10%", "25%", "50%")
COSTLY = ("CSSP", "FaIE")
LEARNERS = ("least squares", "kernel ridge", "neighbours", "trees")
EXTRACTIONS = ("PCA", "MLSI", "MDDM", "MVMD", "CCA", "MLDA")
MEASURES = ("hamming_loss", "label_ranking_average_precision", "micro_f1")


def labels() -> tuple[dict[str, str], Figure]:
    """Label-space reduction against none: the tables of the page by name, and the figure."""
    numbers = read("labels")
    linear, other = RUNS["labels"]
    blocks, panels = {}, []
    for metric in MEASURES:
        control = (linear, "none", "")
        found = {
            (space, size): against(numbers[metric], metric, (linear, space, size), control)
            for space, size in itertools.product(SPACES, SIZES)
        }
        blocks[metric] = grid(SPACES, SIZES, found, TITLES[metric])
        panels.append((TITLES[metric], found))
        pairs = [(space, learner) for learner in LEARNERS for space in SPACES[:3]]
        of_learners = {
            (f"{space}, {learner}", size): against(
                numbers[metric], metric, (other, f"{space}, {learner}", size), (other, f"none, {learner}", "")
            )
            for (space, learner), size in itertools.product(pairs, SIZES[1:])
        }
        of_learners |= {
            (f"{space}, ridge", size): against(numbers[metric], metric, (other, f"{space}, ridge", size), control)
            for space, size in itertools.product(COSTLY, SIZES[1:])
        }
        rows = list(dict.fromkeys(row for row, _ in of_learners))
        blocks[f"learners {metric}"] = grid(rows, SIZES[1:], of_learners, TITLES[metric])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        for ax, (title, found) in zip(figure.subplots(1, 3), panels, strict=True):
            for k, space in enumerate(SPACES):
                changes = [100 * found[space, size].changes for size in SIZES]
                at = np.arange(len(SIZES)) + 0.13 * (k - 2)
                low, middle, high = np.transpose([np.quantile(each, (0.25, 0.5, 0.75)) for each in changes])
                ax.errorbar(at, middle, (middle - low, high - middle), label=space, linestyle="", **styles.mark(k))
            ax.axhline(0, color="black", linewidth=0.8)
            ax.set(title=title, xticks=range(len(SIZES)), xticklabels=SIZES, xlabel="size of the code")
        figure.axes[0].set_ylabel("gain over none, %")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return blocks, figure


CHOICES = {
    "other random splits": "_seed",
    "50 % of the rows for training": "_share_50",
    "90 % of the rows for training": "_share_90",
    "threshold: label cardinality as in training": "_p_cut",
    "threshold: best F1 per label in training": "_maximise",
    "parameters: best on the test set": "_test",
}
CONVENTIONS = {"0/0 is 1": " with 1", "0/0 is left out": " left out", "0/0 is 0": " with 0"}
MOVED = ("hamming_loss", "exact_match", "label_ranking_average_precision", "micro_f1", "f1", "macro_f1")


def protocol() -> tuple[dict[str, str], Figure]:
    """What choices of protocol change: the tables of the page by name, and the figure."""
    numbers = read("protocol")
    reference = RUNS["protocol"][0]
    names = list(dict.fromkeys(key[2] for key in numbers["f1"]))
    datasets = list(dict.fromkeys(key[1] for key in numbers["f1"]))

    def values(metric: str, run: str) -> np.ndarray:
        return np.array([[numbers[metric][run, dataset, name, ""].mean() for dataset in datasets] for name in names])

    def changed() -> Iterator[tuple[str, str, np.ndarray]]:
        for what, run in CHOICES.items():
            yield from ((what, metric, values(metric, reference + run)) for metric in MOVED)
        for what, ending in CONVENTIONS.items():
            yield from ((what, m, values(m + ending, reference)) for m in MOVED if m + ending in numbers)

    agreement: dict[tuple[str, str], float] = {}
    shift: dict[tuple[str, str], float] = {}
    for what, metric, after in changed():
        before = values(metric, reference)
        ranks = [average_ranks(each, metric not in LOSSES) for each in (before, after)]
        agreement[what, metric] = float(kendalltau(*ranks).statistic)
        shift[what, metric] = float(np.abs(after - before).mean() / before.std(axis=0, ddof=1).mean())
    rows = [*CHOICES, *CONVENTIONS]
    blocks = {
        name: table(
            ["", *(TITLES[metric] for metric in MOVED)],
            [[what, *(f"{found[what, m]:.2f}" if (what, m) in found else "" for m in MOVED)] for what in rows],
        )
        for name, found in (("ranks", agreement), ("values", shift))
    }
    leaders = []
    for what, run in {"reference": "", **CHOICES}.items():
        row = [what]
        for metric in ("hamming_loss", "micro_f1"):
            mean = average_ranks(values(metric, reference + run), metric not in LOSSES)
            first = int(np.argmin(mean))
            row += [f"{names[first]} ({mean[first]:.2f})", f"{mean[names.index('none')]:.2f}"]
        leaders.append(row)
    blocks["first"] = table(["", "best in Hamming loss", "rank of none", "best in micro F1", "rank of none"], leaders)
    shares = []
    for metric in MOVED:
        cube = np.array(
            [values(metric, reference + run) for run in ("", *list(CHOICES.values())[1:])]
        )  # choice, method
        cube = cube - cube.mean(axis=(0, 1))
        choice, method = cube.mean(axis=1, keepdims=True), cube.mean(axis=0, keepdims=True)
        parts = [float(np.mean(part**2)) for part in (method, choice, cube - choice - method)]
        shares.append([TITLES[metric], *(f"{100 * part / sum(parts):.0f} %" for part in parts)])
    blocks["variance"] = table(["", "methods", "protocol", "interaction"], shares)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        heads = ("Kendall's τ of the ranks", "shift, in std between methods")
        axes = figure.subplots(1, 2, sharey=True)
        for ax, title, found in zip(axes, heads, (agreement, shift), strict=True):
            for k, metric in enumerate(MOVED):
                at = [y for y, what in enumerate(rows) if (what, metric) in found]
                x = [found[rows[y], metric] for y in at]
                ax.plot(x, np.array(at) + 0.1 * (k - 2.5), label=TITLES[metric], linestyle="", **styles.mark(k))
            ax.set(title=title, yticks=range(len(rows)), yticklabels=rows)
        axes[0].invert_yaxis()
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    return blocks, figure


def features() -> tuple[dict[str, str], Figure]:
    """Feature extraction against none: the tables of the page by name, and the figure."""
    numbers = read("features")
    inside, on_test = RUNS["features"]
    learners = ("least squares", "ridge", "neighbours")
    blocks, panels = {}, {}
    for metric in MEASURES:
        for run, where in ((inside, "inside"), (on_test, "on test")):
            panels[metric, where] = {
                (extraction, learner): against(
                    numbers[metric], metric, (run, f"{extraction}, {learner}", ""), (run, f"none, {learner}", "")
                )
                for extraction, learner in itertools.product(EXTRACTIONS, learners)
            }
            blocks[f"{where} {metric}"] = grid(EXTRACTIONS, learners, panels[metric, where], TITLES[metric])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.0), layout="constrained")
        for ax, learner in zip(figure.subplots(1, 3, sharey=True), learners, strict=True):
            for k, where in enumerate(("inside", "on test")):
                for y, extraction in enumerate(EXTRACTIONS):
                    each = panels["hamming_loss", where][extraction, learner]
                    at = np.full(len(each.changes), y + 0.3 * (k - 0.5))
                    chosen = {"inside": "chosen inside the training set", "on test": "chosen on the test set"}[where]
                    ax.plot(
                        100 * each.changes,
                        at,
                        linestyle="",
                        alpha=0.5,
                        label=chosen if y == 0 else None,
                        **styles.mark(k),
                    )
                    ax.plot(
                        [100 * each.median] * 2, at[0] + np.array([-0.15, 0.15]), color=styles.colour(k), linewidth=2.5
                    )
            ax.axvline(0, color="black", linewidth=0.8)
            ax.set_xscale("symlog", linthresh=10)
            ax.set_xlim(-120, 120)
            ax.set_xticks((-100, -10, 0, 10, 100), ("−100", "−10", "0", "10", "100"))
            ax.set(
                title=learner,
                yticks=range(len(EXTRACTIONS)),
                yticklabels=EXTRACTIONS,
                xlabel="gain in Hamming loss over none, %",
            )
        figure.axes[0].invert_yaxis()
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return blocks, figure


PAGES = {"labels": labels, "protocol": protocol, "features": features}
_BLOCK = re.compile(r"<!-- table: (.+?) -->\n.*?<!-- end -->", re.S)


def filled(study: str, blocks: Mapping[str, str]) -> str:
    """The page of a study with the tables of now."""
    text = (FOLDER / f"{study}.md").read_text(encoding="utf-8")
    return _BLOCK.sub(lambda at: f"<!-- table: {at[1]} -->\n\n{blocks[at[1]]}\n\n<!-- end -->", text)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG."""
    with mpl.rc_context(STYLE):
        figure.savefig(path, dpi=160, metadata={"Software": "mlcdr"})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        collect(Path(sys.argv[1]))
    for study, make in PAGES.items():
        tables, drawn = make()
        (FOLDER / f"{study}.md").write_text(filled(study, tables), encoding="utf-8")
        save(drawn, IMAGES / f"studies_{study}.png")
        print(FOLDER / f"{study}.md")
