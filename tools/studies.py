"""Tables and figures of docs/studies, from the numbers in docs/studies/*.csv: `python -m tools.studies`.

`python -m tools.studies RESULTS` first writes these files from the results folders that the configs in configs/studies
leave in RESULTS. A test holds the pages to what would be written now.
"""

from __future__ import annotations

import csv
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
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
CHOICES = {
    "other random splits": "_seed",
    "50 % of the rows for training": "_share_50",
    "90 % of the rows for training": "_share_90",
    "threshold: label cardinality as in training": "_p_cut",
    "threshold: best F1 per label in training": "_maximise",
    "parameters: best on the test set": "_test",
}
RUNS = {
    "labels": ("studies_labels", "studies_labels_learners"),
    "protocol": ("studies_protocol", *(f"studies_protocol{choice}" for choice in CHOICES.values())),
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

Method = tuple[str, str, str]
"""Run, method, size of the code (empty where nothing is swept)."""
Numbers = dict[str, dict[Method, dict[str, np.ndarray]]]
"""Metric → method → data set → the values of the splits, or their mean."""


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
    numbers: Numbers = {metric: {} for metric in header[4:]}
    for run, dataset, method, size, *cells in rows:
        for of_metric, cell in zip(numbers.values(), cells, strict=True):
            of_method = of_metric.setdefault((run, method, size), {})
            of_method[dataset] = np.array(cell.split(), dtype=float)
    return numbers


# -------------------------------------------------------------------- a method against none


@dataclass(frozen=True)
class Gain:
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


def against(numbers: Numbers, metric: str, method: Method, control: Method) -> Gain:
    """A method against another one, on the data sets that the first has."""
    sign = -1.0 if metric in LOSSES else 1.0
    better = worse = 0
    means = []
    for dataset, ours in numbers[metric][method].items():
        theirs = numbers[metric][control][dataset]
        gains = sign * (ours - theirs)
        better += corrected_t(gains, TEST_TO_TRAIN) <= 0.025
        worse += corrected_t(-gains, TEST_TO_TRAIN) <= 0.025
        means.append((ours.mean(), theirs.mean()))
    of_ours, of_theirs = np.transpose(means)
    gain = sign * paired_differences(of_ours, of_theirs)
    with np.errstate(divide="ignore"):  # against a control of 0 a gain is infinite, which a median can take
        changes = np.divide(gain, of_theirs, out=np.zeros(len(gain)), where=gain != 0)
    return Gain(changes, better, worse, rank_biserial(gain), wilcoxon(gain))


def grid(found: Mapping[tuple[str, str], Gain], corner: str) -> str:
    """A table, by row and column, of medians, effects and counts; bold: p ≤ 0.05 after Holm's correction over all."""
    adjusted = holm([each.p for each in found.values()])
    rows: dict[str, list[str]] = {}
    for ((row, _), each), p in zip(found.items(), adjusted, strict=True):
        mark = "**" if p <= 0.05 else ""
        cell = f"{mark}{100 * each.median:+.1f} %{mark} ({each.effect:+.2f}; {each.better}/{each.worse})"
        rows.setdefault(row, []).append(cell.replace("-", "−"))
    columns = dict.fromkeys(column for _, column in found)
    return table([corner, *columns], [[row, *cells] for row, cells in rows.items()])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _add_legend(figure: Figure, ncols: int) -> None:
    """The legend of the first axes, below all."""
    named = figure.axes[0].get_legend_handles_labels()
    figure.legend(*named, loc="outside lower center", ncols=ncols, frameon=False)


# -------------------------------------------------------------------- the reduction of labels

MEASURES = ("hamming_loss", "label_ranking_average_precision", "micro_f1")
SPACES = ("random projection", "PLST", "CPLST", "OCCA", "CCA")
SIZES = ("10%", "25%", "50%")
COSTLY = ("CSSP", "FaIE")
LEARNERS = ("least squares", "kernel ridge", "neighbours", "trees")


def labels() -> tuple[dict[str, str], Figure]:
    """Label-space reduction against none: the tables of the page by name, and the figure."""
    numbers = read("labels")
    linear, other = RUNS["labels"]
    none = (linear, "none", "")
    blocks, panels = {}, {}
    for metric in MEASURES:
        found = {}
        for space, size in itertools.product(SPACES, SIZES):
            found[space, size] = against(numbers, metric, (linear, space, size), none)
        panels[TITLES[metric]] = found
        blocks[metric] = grid(found, TITLES[metric])
        of_learners = {}
        for learner, space, size in itertools.product(LEARNERS, SPACES[:3], SIZES[1:]):
            row, control = f"{space}, {learner}", (other, f"none, {learner}", "")
            of_learners[row, size] = against(numbers, metric, (other, row, size), control)
        for space, size in itertools.product(COSTLY, SIZES[1:]):
            row = f"{space}, ridge"
            of_learners[row, size] = against(numbers, metric, (other, row, size), none)
        blocks[f"learners {metric}"] = grid(of_learners, TITLES[metric])
    return blocks, _draw_sizes(panels)


@mpl.rc_context(STYLE)
def _draw_sizes(panels: Mapping[str, Mapping[tuple[str, str], Gain]]) -> Figure:
    """The quartiles of the gains of each space at each size, a panel for each measure."""
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    for ax, (title, found) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        for k, space in enumerate(SPACES):
            quartiles = [np.quantile(100 * found[space, size].changes, (0.25, 0.5, 0.75)) for size in SIZES]
            low, middle, high = np.transpose(quartiles)
            at = np.arange(len(SIZES)) + 0.13 * (k - 2)
            ax.errorbar(at, middle, (middle - low, high - middle), label=space, linestyle="", **styles.mark(k))
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set(title=title, xticks=range(len(SIZES)), xticklabels=SIZES, xlabel="size of the code")
    figure.axes[0].set_ylabel("gain over none, %")
    _add_legend(figure, 5)
    return figure


# -------------------------------------------------------------------- choices of protocol

CONVENTIONS = {"0/0 is 1": " with 1", "0/0 is left out": " left out", "0/0 is 0": " with 0"}
CHANGED = (*CHOICES, *CONVENTIONS)
MOVED = ("hamming_loss", "exact_match", "label_ranking_average_precision", "micro_f1", "f1", "macro_f1")

Changes = dict[tuple[str, str], float]
"""What is changed, and a metric → how much this changes it."""


def protocol() -> tuple[dict[str, str], Figure]:
    """What choices of protocol change: the tables of the page by name, and the figure."""
    numbers = read("protocol")
    agreement, shift = _compare_protocols(numbers)
    blocks = {
        "ranks": _tabulate_changes(agreement),
        "values": _tabulate_changes(shift),
        "first": _tabulate_leaders(numbers),
        "variance": _tabulate_variance(numbers),
    }
    return blocks, _draw_changes({"Kendall's τ of the ranks": agreement, "shift, in std between methods": shift})


def _means(numbers: Numbers, metric: str, choice: str = "") -> np.ndarray:
    """Methods × data sets: the means of the run with a choice of `CHOICES`, or else of the reference."""
    means = []
    for (run, _, _), of_method in numbers[metric].items():
        if run == RUNS["protocol"][0] + choice:
            means.append([values.mean() for values in of_method.values()])
    return np.array(means)


def _compare_protocols(numbers: Numbers) -> tuple[Changes, Changes]:
    """How the ranks of the methods agree with those of the reference (Kendall's τ), and how far the values move."""
    compared = []
    for (what, choice), metric in itertools.product(CHOICES.items(), MOVED):
        compared.append((what, metric, metric, choice))
    for (what, ending), metric in itertools.product(CONVENTIONS.items(), MOVED):
        compared.append((what, metric, metric + ending, ""))
    agreement, shift = {}, {}
    for what, metric, measured, choice in compared:
        if measured not in numbers:
            continue
        before, after = _means(numbers, metric), _means(numbers, measured, choice)
        ranks = [average_ranks(each, metric not in LOSSES) for each in (before, after)]
        agreement[what, metric] = float(kendalltau(*ranks).statistic)
        shift[what, metric] = float(np.abs(after - before).mean() / before.std(axis=0, ddof=1).mean())
    return agreement, shift


def _tabulate_changes(found: Changes) -> str:
    rows = []
    for what in CHANGED:
        cells = [f"{found[what, metric]:.2f}" if (what, metric) in found else "" for metric in MOVED]
        rows.append([what, *cells])
    return table(["", *(TITLES[metric] for metric in MOVED)], rows)


def _tabulate_leaders(numbers: Numbers) -> str:
    """The best method by average rank, and the rank of none, by each choice."""
    names = list(dict.fromkeys(method for _, method, _ in numbers["f1"]))
    rows = []
    for what, choice in {"reference": "", **CHOICES}.items():
        row = [what]
        for metric in ("hamming_loss", "micro_f1"):
            ranks = average_ranks(_means(numbers, metric, choice), metric not in LOSSES)
            first = int(np.argmin(ranks))
            row += [f"{names[first]} ({ranks[first]:.2f})", f"{ranks[names.index('none')]:.2f}"]
        rows.append(row)
    return table(["", "best in Hamming loss", "rank of none", "best in micro F1", "rank of none"], rows)


def _tabulate_variance(numbers: Numbers) -> str:
    """The shares of the variance within a data set that are due to methods, to choices (but of splits), and to both."""
    rows = []
    for metric in MOVED:
        cube = np.array([_means(numbers, metric, choice) for choice in ("", *list(CHOICES.values())[1:])])
        cube = cube - cube.mean(axis=(0, 1))
        choice, method = cube.mean(axis=1, keepdims=True), cube.mean(axis=0, keepdims=True)
        parts = [float(np.mean(part**2)) for part in (method, choice, cube - choice - method)]
        rows.append([TITLES[metric], *(f"{100 * part / sum(parts):.0f} %" for part in parts)])
    return table(["", "methods", "protocol", "interaction"], rows)


@mpl.rc_context(STYLE)
def _draw_changes(panels: Mapping[str, Changes]) -> Figure:
    """A panel for each kind of change, a line for each choice, and a mark for each measure."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (title, found) in zip(axes, panels.items(), strict=True):
        for k, metric in enumerate(MOVED):
            at = [y for y, what in enumerate(CHANGED) if (what, metric) in found]
            x = [found[CHANGED[y], metric] for y in at]
            ax.plot(x, np.array(at) + 0.1 * (k - 2.5), label=TITLES[metric], linestyle="", **styles.mark(k))
        ax.set(title=title, yticks=range(len(CHANGED)), yticklabels=CHANGED)
    axes[0].invert_yaxis()
    _add_legend(figure, 6)
    return figure


# -------------------------------------------------------------------- the extraction of features

EXTRACTIONS = ("PCA", "MLSI", "MDDM", "MVMD", "CCA", "MLDA")
EXTRACTED_FOR = ("least squares", "ridge", "neighbours")
CHOSEN = {"inside": "chosen inside the training set", "on test": "chosen on the test set"}


def features() -> tuple[dict[str, str], Figure]:
    """Feature extraction against none: the tables of the page by name, and the figure."""
    numbers = read("features")
    blocks, drawn = {}, {}
    for (where, run), metric in itertools.product(zip(CHOSEN, RUNS["features"], strict=True), MEASURES):
        found = {}
        for extraction, learner in itertools.product(EXTRACTIONS, EXTRACTED_FOR):
            method, control = (run, f"{extraction}, {learner}", ""), (run, f"none, {learner}", "")
            found[extraction, learner] = against(numbers, metric, method, control)
        blocks[f"{where} {metric}"] = grid(found, TITLES[metric])
        if metric == "hamming_loss":
            drawn[CHOSEN[where]] = found
    return blocks, _draw_gains(drawn)


@mpl.rc_context(STYLE)
def _draw_gains(drawn: Mapping[str, Mapping[tuple[str, str], Gain]]) -> Figure:
    """The gain on each data set, and the median, a panel for each learner."""
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    for ax, learner in zip(figure.subplots(1, 3, sharey=True), EXTRACTED_FOR, strict=True):
        for k, (chosen, found) in enumerate(drawn.items()):
            for y, extraction in enumerate(EXTRACTIONS):
                each = found[extraction, learner]
                height = y + 0.3 * (k - 0.5)
                at = np.full(len(each.changes), height)
                label = None if y else chosen
                ax.plot(100 * each.changes, at, linestyle="", alpha=0.5, label=label, **styles.mark(k))
                ends = (height - 0.15, height + 0.15)
                ax.plot([100 * each.median] * 2, ends, color=styles.colour(k), linewidth=2.5)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xscale("symlog", linthresh=10)
        ax.set_xlim(-120, 120)
        ax.set_xticks((-100, -10, 0, 10, 100), ("−100", "−10", "0", "10", "100"))
        ax.set(title=learner, yticks=range(len(EXTRACTIONS)), yticklabels=EXTRACTIONS)
        ax.set_xlabel("gain in Hamming loss over none, %")
    figure.axes[0].invert_yaxis()
    _add_legend(figure, 2)
    return figure


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
