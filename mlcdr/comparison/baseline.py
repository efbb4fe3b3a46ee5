"""A run against an earlier run of the same experiment: what got worse, split by split.

Two runs are paired cell by cell (data set, method, point, metric) over the splits that both have; every other source
of variation is then common to both. A metric of a cell is *worse* if its mean over the splits lost more than `margin`
times the old mean, by the corrected resampled t test (`mlcdr.comparison.statistics.corrected_t`: the training sets of
the splits overlap), one-sided at level 0.05 with Holm's correction over all cells that changed (of metrics, and of
times). A time is worse if the geometric mean of new over old exceeds `time_margin`, by the same test of the logarithms.
*Better* is the same the other way round. Cells that are the same number in every split are unchanged and take no part
in the correction; a cell with a single split has no test, and is *untested* where it changed by more than its margin.

The effect size is the rank-biserial correlation of the splits' differences, 1 where new is better in all of them.

A folder of the record (`mlcdr.papers.stored`) has means only, of the same splits with the same seeds. A metric is
then worse if its mean lost more than the margin, without a test; times are left out.

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

from mlcdr.comparison.statistics import ALPHA, corrected_t, holm, paired_differences, wilcoxon
from mlcdr.errors import ResultsError, join_words, plural
from mlcdr.experiment.splits import FromFile, KFold, Shuffle
from mlcdr.results.exports import NoResults
from mlcdr.results.frame import group, keys_of, list_keys, paths_of
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
    "is_time": bool,
}
_NAMED = 6  # data sets and methods that a remark names
_LEAST = 0.00005  # a p-value below it is shown as < 0.0001


@dataclass(frozen=True, repr=False, eq=False)
class BaselineComparison(ShownSheet):
    """All cells that two runs have in common.

    Attributes
    ----------
    cells : frame
        The columns are dataset, method, setting (the values of the swept parameters it has), metric; `is_time`; `n`,
        the number of common splits; `old` and `new`, the means (of a time, geometric means); `loss`, how much worse the
        new mean is, in the metric's unit (of a time, the logarithm of new over old), and `margin`, the loss that is
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
        times = self.cells[self.cells["is_time"]]
        rules = []
        if len(times) < len(self.cells) or self.cells.empty:
            rules.append(f"a metric: more than {self.margin:.3g} of the old mean lost")
        if len(times):
            rules.append(f"a time: a ratio of geometric means above {self.time_margin:g}")
        yield (
            f"Worse: {'; '.join(rules)}. One-sided t test over the common splits, corrected for overlapping training "
            f"sets (Nadeau & Bengio 2003), level {ALPHA:g}, Holm's correction."
        )
        if any_changed:
            yield "Effect: rank-biserial correlation over splits, +1 where new is better in all."
        for metric, logs in group(times, ["metric"])["loss"]:
            ratio = math.exp(math.fsum(logs) / len(logs))
            yield f"{metric[0]}: × {ratio:.2f} in the geometric mean of {len(logs)} cells."


def _show_change(cell: Any) -> tuple[str | Text, ...]:
    """Old, new, change, effect, p and verdict of a row of `cells`."""
    if cell.is_time:
        old, new, change = f"{cell.old:.4g}", f"{cell.new:.4g}", f"× {math.exp(cell.loss):.2f}"
    else:
        old, new, change = f"{cell.old:.4f}", f"{cell.new:.4f}", signed(cell.new - cell.old, 4)
    verdict = text(cell.change, bold=cell.change == "worse")
    return old, new, change, signed(cell.effect, 2), _show_p(cell), verdict


def _show_p(cell: Any) -> str | Text:
    p = min(cell.p_worse, cell.p_better)
    if math.isnan(p):
        return NOTHING
    return f"{p:.4f}" if p >= _LEAST else "< 0.0001"


# -------------------------------------------------------------------- pairing


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
        The factor that a time may grow by, at least 1.

    Raises
    ------
    ResultsError
        When the runs have no cell in common, or their splits or data are not the same, so that nothing is paired.
    """
    _refuse_unlike(old, new)
    scores, of_means = _pair_scores(old, new, metric)
    paired = scores[scores["paired"]]
    if paired.empty:
        raise ResultsError(f"{new.folder} has nothing in common with {old.folder}: {_unlike(old, new)}")
    facts = _common_facts(old, new, paired["metric"].unique())
    unknown = [name for name, known in facts.items() if known.higher_is_better is None]
    times = [name for name, known in facts.items() if known.is_time]
    judged = paired[~paired["metric"].isin([*unknown, *times] if of_means else unknown)]
    has_ratio = (judged["value_old"] > 0) & (judged["value_new"] > 0)
    margins = {name: time_margin if name in times else margin for name in facts}
    ratios = {dataset: _test_to_train(old, dataset, scores) for dataset in paired["dataset"].unique()}
    tested = []
    usable = judged[has_ratio | ~judged["metric"].isin(times)]
    for (dataset, method, *point, name), splits in group(usable, keys_of(scores)):
        setting = ", ".join(filter(None, point))
        labels = dict(zip(_LABELS, (dataset, method, setting, name), strict=True))
        tested.append(labels | _test(splits, facts[name], margins[name], ratios[dataset]))
    cells = _judge(tested, of_means)
    remarks = list(_list_remarks(old, new, scores))
    n_undefined = judged.groupby(keys_of(scores)).ngroups - len(cells)
    if n_undefined:
        remarks.append(f"{n_undefined} times are zero, and have no ratio.")
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


def _pair_scores(old: Results, new: Results, metric: str | None) -> tuple[pd.DataFrame, bool]:
    """The scores of the old run, at all points of grids, each with that of the new one where it is `paired`.

    Where a folder has means only, as one of the record, each mean is taken as the score of a single split; the second
    value says whether it is so.
    """
    of_means = False
    try:
        before, after = old.scores, new.scores
    except NoResults:
        before, after = _means_as_scores(old), _means_as_scores(new)
        of_means = True
    if metric is not None:
        before = before[before["metric"] == old.metric_named(metric)]
    # a path that one of the runs does not vary is empty there
    paths = dict.fromkeys([*paths_of(before), *paths_of(after)])
    texts = dict.fromkeys(list_keys(paths), object)
    place = ["dataset", "method", *paths, "split", "metric"]
    before = before.reindex(columns=[*place, "value"], fill_value="").astype(texts)
    after = after.reindex(columns=[*place, "value"], fill_value="").astype(texts)
    scores = before.merge(after, "left", place, suffixes=("_old", "_new"), indicator="paired")
    scores["paired"] = scores["paired"] == "both"
    return scores, of_means


def _means_as_scores(results: Results) -> pd.DataFrame:
    """The mean of each cell, rounded as in the record, as the score of a single split."""
    summary = results.summary
    means = summary["mean"].map("{:.6g}".format).astype(float)
    return summary[["dataset", "method", *results.swept]].assign(split=0, metric=summary["metric"], value=means)


def _common_facts(old: Results, new: Results, metrics: np.ndarray) -> dict[str, MetricFacts]:
    """The facts of the metrics that both have."""
    facts = {name: old.metric_facts(name) for name in metrics}
    for name, known in facts.items():
        if new.metric_facts(name) != known:
            raise ResultsError(f"{new.folder}: {name} is not computed as in {old.folder}: see `metrics:`")
    return facts


def _list_remarks(old: Results, new: Results, scores: pd.DataFrame) -> Iterator[str]:
    """In what the new run is another, and what it lacks."""
    for change in list_other_methods(new.experiment, old.experiment.methods):
        yield f"Not the methods of {old.folder}: in {new.folder} {change}."
    cells = group(scores, keys_of(scores))["paired"].agg(["any", "all"]).reset_index()
    missing = cells[~cells["any"]]
    if len(missing):
        named = (missing["dataset"] + " " + missing["method"]).unique().tolist()
        yield f"Not in {new.folder}: {len(missing)} cells of {old.folder} ({join_words(named[:_NAMED])})."
    n_shorter = (cells["any"] & ~cells["all"]).sum()
    if n_shorter:
        yield f"{n_shorter} cells lack splits in {new.folder}; paired are the common ones."


# -------------------------------------------------------------------- testing


def _test(splits: pd.DataFrame, known: MetricFacts, margin: float, test_to_train: float) -> dict[str, Any]:
    """What is known of a cell, its p-values not yet corrected; of a time, by the logarithms of its values."""
    old, new = splits["value_old"].to_numpy(), splits["value_new"].to_numpy()
    if known.is_time:
        old, new = np.log(old), np.log(new)
        losses = differences = new - old
        allowed = math.log(margin)
        means = {"old": math.exp(old.mean()), "new": math.exp(new.mean())}
    else:
        worse, better = (old, new) if known.higher_is_better else (new, old)
        differences = paired_differences(worse, better)
        losses = np.where(differences == 0, 0.0, worse - better)
        allowed = margin * abs(float(old.mean()))
        means = {"old": float(old.mean()), "new": float(new.mean())}
    found = {
        "is_time": known.is_time,
        "n": len(losses),
        "loss": math.fsum(losses) / len(losses),
        "margin": allowed,
        "effect": wilcoxon(-differences).rank_biserial,
    }
    if losses.any():
        found["p_worse"] = corrected_t(losses, test_to_train, allowed)
        found["p_better"] = corrected_t(-losses, test_to_train, allowed)
    return found | means


def _judge(tested: list[dict[str, Any]], of_means: bool) -> pd.DataFrame:
    """The verdicts, after Holm's correction over the cells that changed, of metrics and of times by themselves."""
    cells = pd.DataFrame(tested, columns=list(_TYPES)).astype(_TYPES)
    for name in ("p_worse", "p_better"):
        cells[name] = cells.groupby("is_time")[name].transform(holm)
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


# -------------------------------------------------------------------- what cannot be paired


def _refuse_unlike(old: Results, new: Results) -> None:
    """Refuse runs whose splits are not the same rows: other settings (but the number of repeats), or other data."""
    before, after = (each.experiment.splits.plain() for each in (old, new))
    for key in ("repeats", "folders"):
        before.pop(key, None)
        after.pop(key, None)
    if before != after:
        differing = [f"{key}: {value}" for key, value in before.items() if after.get(key) != value]
        specs = ", ".join(differing) or "see `splits:`"
        raise ResultsError(f"{new.folder}: its splits are not those of {old.folder} ({specs})")
    for dataset in old.datasets:
        checksums = [each.recorded(dataset).get("checksum") for each in (old, new)]
        if len(set(filter(None, checksums))) > 1:
            raise ResultsError(
                f"{new.folder}: {dataset} is not the data set it was in {old.folder} (its checksum differs)"
            )


def _unlike(old: Results, new: Results) -> str:
    """Why no cell is common, in a few words."""
    parts = {
        "data sets": (old.datasets, new.datasets),
        "methods": (old.methods, new.methods),
        "metrics": (old.metrics, new.metrics),
    }
    for name, (before, after) in parts.items():
        if not set(before) & set(after):
            return f"its {name} are {join_words(after)}, not {join_words(before)}"
    return "no data set, method, setting, metric and split is in both"


def _test_to_train(results: Results, dataset: str, scores: pd.DataFrame) -> float:
    """n_test / n_train of a split of a data set."""
    splits = results.experiment.splits
    if isinstance(splits, Shuffle) and splits.train_size != "predefined":
        n = 1 if isinstance(splits.train_size, float) else int(results.facts(dataset)["n_instances"])
        return (n - splits.train_size) / splits.train_size
    folds = 2  # how many rows a train file has is not known here
    if isinstance(splits, KFold):
        folds = splits.folds
    elif isinstance(splits, FromFile):
        n_splits = 1 + int(scores.loc[scores["dataset"] == dataset, "split"].max())
        is_whole = n_splits % splits.repeats == 0 and n_splits > splits.repeats  # else it was interrupted
        folds = n_splits // splits.repeats if is_whole else n_splits
    return 1 / max(1, folds - 1)
