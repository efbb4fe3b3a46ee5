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

from mlcdr.comparison.significance import ALPHA
from mlcdr.comparison.statistics import corrected_t, holm, paired_differences, wilcoxon
from mlcdr.errors import ResultsError, join_words
from mlcdr.experiment.splits import FromFile, KFold, Shuffle
from mlcdr.results.exports import NoResults
from mlcdr.results.frame import paths_of
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

    columns = (
        *("dataset", "method", "setting", "metric", "change"),
        *("old", "new", "n", "loss", "effect", "p_worse", "p_better"),
    )

    @property
    def regressions(self) -> pd.DataFrame:
        """The cells that got worse."""
        return self.cells[self.cells["change"] == "worse"]

    def count(self, change: Change) -> int:
        """How many cells have this verdict."""
        return int((self.cells["change"] == change).sum())

    def summary(self) -> str:
        """One line: how many cells got worse, better or neither."""
        counts = {change: self.count(change) for change in _COUNTED}
        parts = [f"{n} {_COUNTED[change]}" for change, n in counts.items() if n or change in ("worse", "better")]
        s = "" if len(self.cells) == 1 else "s"
        return f"{len(self.cells)} cell{s}: {', '.join(parts)}."

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
        by_change = [self.cells[self.cells["change"] == change] for change in _LISTED]
        listed = pd.concat(by_change)
        labels = ["dataset", "method", "setting", "metric"]
        if (listed["setting"] == "").all():
            labels.remove("setting")
        rows = []
        for cell in listed.itertuples():
            left = [getattr(cell, label) or DASH for label in labels]
            rows.append((*left, *_show_change(cell)))
        header = (*map(str.capitalize, labels), "Old", "New", "Change", "Effect", "p (Holm)", "Verdict")
        caption = f"{self.new} against {self.old}: {self.summary()}"
        return make_sheet(caption, header, rows, len(labels), self._notes(listed), (len(header) - 1,))

    def _notes(self, listed: pd.DataFrame) -> list[str]:
        if self.of_means:
            return [f"Worse: more than {self.margin:.3g} of the old mean lost; only means are compared.", *self.remarks]
        is_time = self.cells["is_time"]
        rules = []
        if not is_time.all():
            rules.append(f"a metric: more than {self.margin:.3g} of the old mean lost")
        if is_time.any():
            rules.append(f"a time: a ratio of geometric means above {self.time_margin:g}")
        notes = [
            f"Worse: {'; '.join(rules)}. One-sided t test over the common splits, corrected for overlapping training "
            f"sets (Nadeau & Bengio 2003), level {ALPHA:g}, Holm's correction."
        ]
        if len(listed):
            notes.append("Effect: rank-biserial correlation over splits, +1 where new is better in all.")
        for metric, logs in self.cells[is_time].groupby("metric", sort=False, observed=True)["loss"]:
            ratio = math.exp(math.fsum(logs) / len(logs))
            notes.append(f"{metric}: × {ratio:.2f} in the geometric mean of {len(logs)} cells.")
        return [*notes, *self.remarks]


def _show_change(cell: Any) -> tuple[str | Text, ...]:
    """Old, new, change, effect, p and verdict of a row of `cells`."""
    digits = "4g" if cell.is_time else "4f"
    change = f"× {math.exp(cell.loss):.2f}" if cell.is_time else signed(cell.new - cell.old, 4)
    verdict = text(cell.change, bold=cell.change == "worse")
    return f"{cell.old:.{digits}}", f"{cell.new:.{digits}}", change, signed(cell.effect, 2), _show_p(cell), verdict


def _show_p(cell: Any) -> str | Text:
    p = min(cell.p_worse, cell.p_better)
    if cell.change == "untested" or math.isnan(p):
        return NOTHING
    return f"{p:.4f}" if p >= _LEAST else "< 0.0001"


# -------------------------------------------------------------------- pairing


def compare_runs(
    old: Results, new: Results, metric: str | None = None, margin: float = 0.01, time_margin: float = 1.5
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
    before, after, of_means = _list_values(old, new)
    if metric is not None:
        before = before[before["metric"] == old.metric_named(metric)]
    key = [name for name in before if name not in ("split", "value")]
    every = before.merge(after, "left", [*key, "split"], suffixes=("_old", "_new"), indicator="there")
    every["paired"] = every["there"] == "both"
    paired = every[every["paired"]]
    if paired.empty:
        raise ResultsError(f"{new.folder} has nothing in common with {old.folder}: {_unlike(old, new)}")
    facts = _common_facts(old, new, paired["metric"].unique())
    ratios = {dataset: _test_to_train(old, dataset, before) for dataset in paired["dataset"].unique()}
    left_out = [name for name, known in facts.items() if known.higher_is_better is None or (of_means and known.is_time)]
    paired = paired[~paired["metric"].isin(left_out)]
    times = paired["metric"].isin([name for name, known in facts.items() if known.is_time])
    usable = paired[~times | ((paired["value_old"] > 0) & (paired["value_new"] > 0))]
    tested = []
    for place, splits in usable.groupby(key, sort=False):
        cell = dict(zip(key, place, strict=True))
        known = facts[cell["metric"]]
        allowed = time_margin if known.is_time else margin
        found = _test(splits.sort_values("split"), known, allowed, ratios[cell["dataset"]])
        tested.append(cell | found)
    cells = _judge(pd.DataFrame(tested, columns=[*key, *_TESTED]).astype(_TESTED), key, of_means)
    remarks = [
        f"Not the methods of {old.folder}: in {new.folder} {change}."
        for change in list_other_methods(new.experiment, old.experiment.methods)
    ]
    remarks += _list_missing(new, old, every.groupby(key, sort=False)["paired"].agg(["sum", "size"]).reset_index())
    undefined = paired.groupby(key).ngroups - len(cells)
    if undefined:
        remarks.append(f"{undefined} times are zero, and have no ratio.")
    unknown = [name for name, known in facts.items() if known.higher_is_better is None]
    if unknown:
        remarks.append(f"Not judged, because which way is better is not known: {join_words(unknown)}.")
    return BaselineComparison(str(old.folder), str(new.folder), cells, margin, time_margin, of_means, tuple(remarks))


def _list_values(old: Results, new: Results) -> tuple[pd.DataFrame, pd.DataFrame, bool]:
    """The scores of both runs, at all points of grids; or their means, each as the value of a single split.

    Both frames have the columns of all paths, a path that a run does not vary being empty. The last value says whether
    these are means: of a folder of the record, for example, there is nothing else.
    """
    try:
        values = [each.scores for each in (old, new)]
        of_means = False
    except NoResults:
        values = [_means_as_scores(each) for each in (old, new)]
        of_means = True
    before, after = values
    paths = dict.fromkeys([*paths_of(before), *paths_of(after)])
    columns = ["dataset", "method", *paths, "metric"]
    texts = dict.fromkeys(columns, object)
    before, after = (frame.reindex(columns=[*columns, "split", "value"], fill_value="") for frame in values)
    return before.astype(texts), after.astype(texts), of_means


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


def _list_missing(new: Results, old: Results, cells: pd.DataFrame) -> Iterator[str]:
    """What the new run lacks: each cell of the old one is there in `sum` of `size` splits."""
    missing = cells[cells["sum"] == 0]
    if len(missing):
        named = (missing["dataset"] + " " + missing["method"]).unique().tolist()
        yield f"Not in {new.folder}: {len(missing)} cells of {old.folder} ({join_words(named[:_NAMED])})."
    shorter = cells["sum"].between(0, cells["size"], inclusive="neither").sum()
    if shorter:
        yield f"{shorter} cells lack splits in {new.folder}; paired are the common ones."


# -------------------------------------------------------------------- testing

_TESTED: Mapping[str, type] = {
    **{"is_time": bool, "n": int, "unchanged": bool},
    **dict.fromkeys(("old", "new", "loss", "margin", "effect", "p_worse", "p_better"), float),
}
"""What is known of a cell, with its types."""


def _test(splits: pd.DataFrame, known: MetricFacts, margin: float, test_to_train: float) -> dict[str, Any]:
    """What is known of a cell, its p-values not yet corrected; of a time, by the logarithms of its values."""
    old, new = splits["value_old"].to_numpy(), splits["value_new"].to_numpy()
    if known.is_time:
        old, new = np.log(old), np.log(new)
        signs = losses = new - old
        allowed = math.log(margin)
    else:
        worse, better = (old, new) if known.higher_is_better else (new, old)
        signs = paired_differences(worse, better)
        losses = np.where(signs == 0, 0.0, worse - better)
        allowed = margin * abs(float(old.mean()))
    means = [float(values.mean()) for values in (old, new)]
    if known.is_time:
        means = [math.exp(mean) for mean in means]
    is_worse, is_better = (corrected_t(each, test_to_train, allowed) for each in (losses, -losses))
    changed = losses.any()
    return {
        "is_time": known.is_time,
        "n": len(losses),
        "unchanged": not changed,
        "old": means[0],
        "new": means[1],
        "loss": is_worse.mean,
        "margin": allowed,
        "effect": wilcoxon(-signs).rank_biserial,
        "p_worse": is_worse.p if changed else math.nan,
        "p_better": is_better.p if changed else math.nan,
    }


def _judge(cells: pd.DataFrame, key: list[str], of_means: bool) -> pd.DataFrame:
    """The verdicts, after Holm's correction over the cells that changed, of metrics and of times by themselves."""
    for name in ("p_worse", "p_better"):
        cells[name] = cells.groupby("is_time")[name].transform(holm)
    paths = key[2:-1]
    settings = [", ".join(filter(None, point)) for point in cells[paths].to_numpy()]
    cells.insert(2, "setting", pd.Series(settings, cells.index, dtype=object))
    worse, better = cells["p_worse"] <= ALPHA, cells["p_better"] <= ALPHA
    untested = cells["p_worse"].isna() & (cells["loss"].abs() > cells["margin"])
    if of_means:
        worse, better = cells["loss"] > cells["margin"], -cells["loss"] > cells["margin"]
        untested &= False
    verdicts = ["unchanged", "untested", "worse", "better"]
    cells["change"] = np.select([cells["unchanged"], untested, worse, better], verdicts, "same")
    return cells.drop(columns=[*paths, "unchanged"])


# -------------------------------------------------------------------- what cannot be paired


def _refuse_unlike(old: Results, new: Results) -> None:
    """Refuse runs whose splits are not the same rows: other settings (but the number of repeats), or other data."""
    rows, new_rows = (each.experiment.splits.plain() for each in (old, new))
    for key in ("repeats", "folders"):
        rows.pop(key, None)
        new_rows.pop(key, None)
    if rows != new_rows:
        differing = [f"{key}: {value}" for key, value in rows.items() if new_rows.get(key) != value]
        specs = ", ".join(differing) or "see `splits:`"
        raise ResultsError(f"{new.folder}: its splits are not those of {old.folder} ({specs})")
    for dataset in old.datasets:
        before, after = (each.facts(dataset).get("checksum", "") for each in (old, new))
        if before and after and before != after:
            raise ResultsError(
                f"{new.folder}: {dataset} is not the data set it was in {old.folder} (its checksum differs)"
            )


def _unlike(old: Results, new: Results) -> str:
    """Why no cell is common, in a few words."""
    for what in ("datasets", "methods", "metrics"):
        ours, theirs = getattr(old, what), getattr(new, what)
        if not set(ours) & set(theirs):
            name = "data sets" if what == "datasets" else what
            return f"its {name} are {join_words(theirs)}, not {join_words(ours)}"
    return "no data set, method, setting, metric and split is in both"


def _test_to_train(results: Results, dataset: str, values: pd.DataFrame) -> float:
    """n_test / n_train of a split of a data set."""
    splits = results.experiment.splits
    if isinstance(splits, KFold):
        return 1 / (splits.folds - 1)
    if isinstance(splits, Shuffle) and isinstance(splits.train_size, float):
        return (1 - splits.train_size) / splits.train_size
    if isinstance(splits, Shuffle) and isinstance(splits.train_size, int):
        n = int(results.facts(dataset, "n_instances")["n_instances"])
        return (n - splits.train_size) / splits.train_size
    if not isinstance(splits, FromFile):
        return 1.0  # how many rows the train file has is not known here
    n_splits = 1 + int(values.loc[values["dataset"] == dataset, "split"].max())
    whole = n_splits % splits.repeats == 0 and n_splits > splits.repeats  # else it was interrupted
    folds = n_splits // splits.repeats if whole else n_splits
    return 1 / (folds - 1) if folds > 1 else 1.0
