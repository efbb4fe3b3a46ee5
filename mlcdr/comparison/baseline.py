"""A run against an earlier run of the same experiment: what got worse, split by split.

Two runs are paired (`mlcdr.comparison.pairing`) cell by cell (data set, method, point, metric) over the splits that
both have; every other source of variation is then common to both. A metric of a cell is *worse* if its mean over the
splits lost more than `margin` times the old mean, by the corrected resampled t test
(`mlcdr.comparison.statistics.corrected_t`: the training sets of the splits overlap), one-sided at level 0.05 with
Holm's correction over all cells that changed (of metrics, and of times and memory). A time, or memory, is worse if the
geometric mean of new over old exceeds `time_margin`, by the same test of the logarithms.
*Better* is the same the other way round. Cells that are the same number in every split are unchanged and take no part
in the correction; a cell with a single split has no test, and is *untested* where it changed by more than its margin.

The effect size is the rank-biserial correlation of the splits' differences, 1 where new is better in all of them.

A stored folder (`mlcdr.papers.stored`) has means only, of the same splits with the same seeds. A metric is
then worse if its mean lost more than the margin, without a test; times and memory are left out.

A limitation: a machine that was slower on one day cannot be told from a slower program, since it affects all times of a
run. Hence the wide margin of times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from mlcdr.comparison.pairing import compare_sizes, list_facts, pair_scores
from mlcdr.comparison.significance import show_short
from mlcdr.comparison.statistics import ALPHA, corrected_t, holm, paired_differences, rank_biserial
from mlcdr.errors import join_words, plural
from mlcdr.results.frame import group, keys_of
from mlcdr.results.joining import list_other_methods
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import as_texts

Change = Literal["worse", "better", "untested", "same", "unchanged"]

_LISTED: tuple[Change, ...] = ("worse", "untested", "better")
_COUNTED: Mapping[Change, str] = {
    "worse": "worse",
    "better": "better",
    "untested": "untested",
    "same": "not shown to differ by more than the margin",
    "unchanged": "unchanged in every split",
}
_LABELS = ("dataset", "method", "setting", "metric")
_NUMBERS = ("old", "new", "n", "loss", "effect", "p_worse", "p_better")
_TYPES: Mapping[str, type] = {
    **dict.fromkeys(_LABELS, object),
    **dict.fromkeys((*_NUMBERS, "margin"), float),
    "n": int,
    "is_cost": bool,
}
_NAMED = 6  # data sets and methods that a remark names


@dataclass(frozen=True, repr=False, eq=False)
class BaselineComparison(ShownSheet):
    """All cells that two runs have in common.

    Attributes
    ----------
    cells : frame
        The columns are dataset, method, setting (the values of the swept parameters it has), metric; `is_cost`; `n`,
        the number of common splits; `old` and `new`, the means (of a cost, geometric means); `loss`, how much worse the
        new mean is, in the metric's unit (of a cost, the logarithm of new over old), and `margin`, the loss that is
        allowed; `effect`, the rank-biserial correlation, 1 where new is better in all splits; `p_worse` and `p_better`,
        one-sided, after Holm's correction, NaN where there is no test; and `change`, the verdict.
    margin, time_margin : float
    of_means : bool
        Whether only means are compared.
    remarks : tuple of str
        What was left out.
    """

    old: str
    new: str
    cells: pd.DataFrame
    margin: float
    time_margin: float
    of_means: bool
    remarks: tuple[str, ...]

    columns = (*_LABELS, "change", *_NUMBERS)

    @property
    def regressions(self) -> pd.DataFrame:
        """The cells that got worse."""
        return self.cells[self.cells["change"] == "worse"]

    def count(self, change: Change) -> int:
        """How many cells have this verdict."""
        return int((self.cells["change"] == change).sum())

    def summary(self) -> str:
        """One line: how many cells got worse, better or neither."""
        parts = []
        for change, name in _COUNTED.items():
            n = self.count(change)
            if n or change in ("worse", "better"):
                parts.append(f"{n} {name}")
        return f"{plural(len(self.cells), 'cell')}: {', '.join(parts)}."

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """One for each cell, those that did not change included."""
        return as_texts(self.cells[list(self.columns)])

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return "tab:baseline"

    @property
    def sheet(self) -> Sheet:
        """A row for each cell that changed, the worst first, and what the verdicts mean."""
        listed = pd.concat([self.cells[self.cells["change"] == change] for change in _LISTED])
        labels = [label for label in _LABELS if label != "setting" or listed["setting"].any()]
        rows = []
        for cell in listed.itertuples():
            left = [getattr(cell, label) or DASH for label in labels]
            rows.append((*left, *_show_change(cell)))
        header = (*map(str.capitalize, labels), "Old", "New", "Change", "Effect", "p (Holm)", "Verdict")
        caption = f"{self.new} against {self.old}: {self.summary()}"
        notes = [*self._say_what_is_worse(bool(rows)), *self.remarks]
        return make_sheet(
            caption=caption,
            header=header,
            rows=rows,
            stub=len(labels),
            notes=notes,
            left=(len(header) - 1,),
        )

    def _say_what_is_worse(self, any_changed: bool) -> Iterator[str]:
        if self.of_means:
            yield f"Worse: more than {self.margin:.3g} of the old mean lost; only means are compared."
            return
        costs = self.cells[self.cells["is_cost"]]
        rules = []
        if len(costs) < len(self.cells) or self.cells.empty:
            rules.append(f"a metric: more than {self.margin:.3g} of the old mean lost")
        if len(costs):
            rules.append(f"a time or memory: a ratio of geometric means above {self.time_margin:g}")
        yield (
            f"Worse: {'; '.join(rules)}. One-sided t test over the common splits, corrected for overlapping training "
            f"sets (Nadeau & Bengio 2003), level {ALPHA:g}, Holm's correction."
        )
        if any_changed:
            yield "Effect: rank-biserial correlation over splits, +1 where new is better in all."
        for metric, logs in group(costs, ["metric"])["loss"]:
            ratio = math.exp(math.fsum(logs) / len(logs))
            yield f"{metric[0]}: × {ratio:.2f} in the geometric mean of {plural(len(logs), 'cell')}."


def _show_change(cell: Any) -> tuple[str | Text, ...]:
    """Old, new, change, effect, p and verdict of a row of `cells`."""
    if cell.is_cost:
        old, new, change = f"{cell.old:.4g}", f"{cell.new:.4g}", f"× {math.exp(cell.loss):.2f}"
    else:
        old, new, change = f"{cell.old:.4f}", f"{cell.new:.4f}", signed(cell.new - cell.old, 4)
    p = min(cell.p_worse, cell.p_better)
    shown = NOTHING if math.isnan(p) else show_short(p)
    verdict = text(cell.change, bold=cell.change == "worse")
    return old, new, change, signed(cell.effect, 2), shown, verdict


# -------------------------------------------------------------------- comparing


def compare_runs(
    old: Results,
    new: Results,
    metric: str | None = None,
    margin: float = 0.01,
    time_margin: float = 1.5,
) -> BaselineComparison:
    """Every cell of two runs.

    Parameters
    ----------
    old, new : Results
    metric : str, optional
        Only this one.
    margin : float
        The share of the old mean that a metric may lose.
    time_margin : float
        The factor that a time, or memory, may grow by, at least 1.

    Raises
    ------
    ResultsError
        When the runs have no cell in common, or their splits or data are not the same, so that nothing is paired.
    """
    scores, of_means = pair_scores(old, new, metric)
    paired = scores[scores["paired"]]
    facts = list_facts(old, new, paired["metric"].unique())
    unknown = [name for name, known in facts.items() if known.higher_is_better is None]
    costs = [name for name, known in facts.items() if known.is_cost]
    left_out = [*unknown, *costs] if of_means else unknown
    judged = paired[~paired["metric"].isin(left_out)]
    has_ratio = (judged["value_old"] > 0) & (judged["value_new"] > 0)
    margins = {name: time_margin if name in costs else margin for name in facts}
    ratios = {dataset: compare_sizes(old, dataset, scores) for dataset in paired["dataset"].unique()}
    tested = []
    usable = judged[has_ratio | ~judged["metric"].isin(costs)]
    for (dataset, method, *point, name), splits in group(usable, keys_of(scores)):
        setting = ", ".join(filter(None, point))
        labels = dict(zip(_LABELS, (dataset, method, setting, name), strict=True))
        tested.append(labels | _test(splits, facts[name], margins[name], ratios[dataset]))
    cells = _judge(tested, of_means)
    remarks = list(_list_remarks(old, new, scores))
    n_undefined = judged.groupby(keys_of(scores)).ngroups - len(cells)
    if n_undefined:
        remarks.append(f"Without a ratio, as times or memory are zero: {plural(n_undefined, 'cell')}.")
    if unknown:
        remarks.append(f"Not judged, because which way is better is not known: {join_words(unknown)}.")
    return BaselineComparison(
        old=str(old.folder),
        new=str(new.folder),
        cells=cells,
        margin=margin,
        time_margin=time_margin,
        of_means=of_means,
        remarks=tuple(remarks),
    )


def _list_remarks(old: Results, new: Results, scores: pd.DataFrame) -> Iterator[str]:
    """In what the new run is another, and what it lacks."""
    for change in list_other_methods(new.experiment, old.experiment.methods):
        yield f"Not the methods of {old.folder}: in {new.folder} {change}."
    cells = group(scores, keys_of(scores))["paired"].agg(["any", "all"]).reset_index()
    missing = cells[~cells["any"]]
    if len(missing):
        named = (missing["dataset"] + " " + missing["method"]).unique().tolist()
        yield f"Not in {new.folder}: {plural(len(missing), 'cell')} of {old.folder} ({join_words(named[:_NAMED])})."
    n_shorter = (cells["any"] & ~cells["all"]).sum()
    if n_shorter:
        yield f"Paired by the common splits, as {new.folder} lacks some: {plural(n_shorter, 'cell')}."


# -------------------------------------------------------------------- testing


def _test(
    splits: pd.DataFrame,
    known: MetricFacts,
    margin: float,
    test_to_train: float,
) -> dict[str, Any]:
    """What is known of a cell, its p-values not yet corrected; of a cost, by the logarithms of its values."""
    old, new = splits["value_old"].to_numpy(), splits["value_new"].to_numpy()
    if known.is_cost:
        old = np.log(old)
        new = np.log(new)
        losses = differences = new - old
        allowed = math.log(margin)
        means = math.exp(old.mean()), math.exp(new.mean())
    else:
        worse, better = (old, new) if known.higher_is_better else (new, old)
        differences = paired_differences(worse, better)
        losses = np.where(differences == 0, 0.0, worse - better)
        allowed = margin * abs(float(old.mean()))
        means = old.mean(), new.mean()
    found = {
        "old": means[0],
        "new": means[1],
        "is_cost": known.is_cost,
        "n": len(losses),
        "loss": math.fsum(losses) / len(losses),
        "margin": allowed,
        "effect": rank_biserial(-differences),
    }
    if losses.any():
        found["p_worse"] = corrected_t(losses, test_to_train, allowed)
        found["p_better"] = corrected_t(-losses, test_to_train, allowed)
    return found


def _judge(tested: list[dict[str, Any]], of_means: bool) -> pd.DataFrame:
    """The verdicts, after Holm's correction over the cells that changed, of metrics and of costs by themselves."""
    cells = pd.DataFrame(tested, columns=list(_TYPES)).astype(_TYPES)
    for name in ("p_worse", "p_better"):
        cells[name] = cells.groupby("is_cost")[name].transform(holm)
    is_beyond = cells["loss"].abs() > cells["margin"]
    has_test = cells["p_worse"].notna()
    in_turn: dict[Change, pd.Series] = {
        "unchanged": ~has_test & (cells["loss"] == 0),
        "worse": cells["p_worse"] <= ALPHA,
        "better": cells["p_better"] <= ALPHA,
        "untested": ~has_test & is_beyond,
    }
    if of_means:
        in_turn["worse"] = is_beyond & (cells["loss"] > 0)
        in_turn["better"] = is_beyond & (cells["loss"] < 0)
    cells["change"] = np.select(list(in_turn.values()), list(in_turn), "same")
    return cells
