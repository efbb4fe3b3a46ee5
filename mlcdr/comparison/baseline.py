"""A run against an earlier run of the same experiment: what got worse, split by split.

Two runs are paired cell by cell (data set, method, point, metric) over the splits that both have; every other source
of variation is then common to both. A metric of a cell is *worse* if its mean over the splits lost more than `margin`
times the old mean, by the corrected resampled t test (`mlcdr.comparison.statistics.corrected_t`: the training sets of
the splits overlap), one-sided at level 0.05 with Holm's correction over all cells that changed (of metrics, and of
times). A time is worse if the geometric mean of new over old exceeds `time_margin`, by the same test of the logarithms.
*Better* is the same the other way round. Cells that are the same number in every split are unchanged and take no part
in the correction; a cell with a single split has no test, and is *untested* where it changed by more than its margin.

The effect size is the rank-biserial correlation of the splits' differences, 1 where new is better in all of them.

A folder of the record (`mlcdr.reproduce.stored`) has means only, of the same splits with the same seeds. A metric is
then worse if its mean lost more than the margin, without a test; times are left out.

A limitation: a machine that was slower on one day cannot be told from a slower program, since it affects all times of a
run. Hence the wide margin of times.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from mlcdr.comparison.significance import ALPHA
from mlcdr.comparison.statistics import corrected_t, holm, paired_differences, wilcoxon
from mlcdr.errors import ResultsError, escape_control_characters, join_words
from mlcdr.experiment.splits import FromFile, KFold, Shuffle
from mlcdr.results import scores
from mlcdr.results.joining import list_other_methods
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.results.scores import NoResults, Point, Setting
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, ShownSheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import number

Change = Literal["worse", "better", "untested", "same", "unchanged"]
Key = tuple[str, str, Setting, str]
"""Of a cell: data set, method, the swept parameters it has with their values, metric."""

_LISTED: tuple[Change, ...] = ("worse", "untested", "better")


@dataclass(frozen=True)
class PairedCell:
    """One cell in both runs.

    Attributes
    ----------
    old, new : float
        Means over the `n` common splits; of a time, geometric means.
    loss : float
        How much worse the new mean is, in the metric's unit; of a time, the logarithm of new over old.
    margin : float
        The loss that is allowed, in the same unit.
    effect : float
        Rank-biserial correlation, 1 where new is better in all splits.
    p_worse, p_better : float
        One-sided, after Holm's correction; NaN where there is no test.
    unchanged : bool
        The same number in every split.
    of_means : bool
        Only the means are compared.
    """

    dataset: str
    method: str
    setting: Setting
    metric: str
    is_time: bool
    n: int
    old: float
    new: float
    loss: float
    margin: float
    effect: float
    p_worse: float
    p_better: float
    unchanged: bool
    of_means: bool

    @property
    def change(self) -> Change:
        """The verdict."""
        if self.unchanged:
            return "unchanged"
        if self.of_means:
            return "worse" if self.loss > self.margin else "better" if -self.loss > self.margin else "same"
        if math.isnan(self.p_worse):
            return "untested" if abs(self.loss) > self.margin else "same"
        return "worse" if self.p_worse <= ALPHA else "better" if self.p_better <= ALPHA else "same"


@dataclass(frozen=True, repr=False)
class BaselineComparison(ShownSheet):
    """All cells that two runs have in common.

    Attributes
    ----------
    cells : tuple of PairedCell
    margin, time_margin : float
    remarks : tuple of str
        What was left out.
    """

    old: str
    new: str
    cells: tuple[PairedCell, ...]
    margin: float
    time_margin: float
    remarks: tuple[str, ...]

    @property
    def regressions(self) -> tuple[PairedCell, ...]:
        """The cells that got worse."""
        return tuple(cell for cell in self.cells if cell.change == "worse")

    def count(self, change: Change) -> int:
        """How many cells have this verdict."""
        return sum(cell.change == change for cell in self.cells)

    def summary(self) -> str:
        """One line: how many cells got worse, better or neither."""
        parts = [f"{self.count('worse')} worse", f"{self.count('better')} better"]
        parts += [f"{self.count('untested')} untested"] if self.count("untested") else []
        parts += [f"{self.count('same')} not shown to differ by more than the margin"] if self.count("same") else []
        parts += [f"{self.count('unchanged')} unchanged in every split"] if self.count("unchanged") else []
        return f"{len(self.cells)} cell{'s' * (len(self.cells) != 1)}: {', '.join(parts)}."

    columns: ClassVar[tuple[str, ...]] = (
        *("dataset", "method", "setting", "metric", "change"),
        *("old", "new", "n", "loss", "effect", "p_worse", "p_better"),
    )

    @property
    def records(self) -> tuple[tuple[str, ...], ...]:
        """One for each cell, those that did not change included."""
        return tuple(
            (
                *(cell.dataset, cell.method, _name_setting(cell), cell.metric, cell.change),
                *(number(cell.old), number(cell.new), str(cell.n), number(cell.loss)),
                *(number(cell.effect), number(cell.p_worse), number(cell.p_better)),
            )
            for cell in self.cells
        )

    @property
    def label(self) -> str:
        """LaTeX's label."""
        return "tab:baseline"

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """The cells that changed, the worst first, and what the verdicts mean."""
        sheet = self.sheet
        if sheet.rows:
            return sheet.terminal(width, colour)
        lines = map(escape_control_characters, (sheet.caption.plain, "", *sheet.notes))
        return "\n".join(textwrap.fill(line, width) for line in lines) + "\n"

    @property
    def sheet(self) -> Sheet:
        """A row for each cell that changed, the worst first, and what the verdicts mean."""
        listed = [cell for change in _LISTED for cell in self.cells if cell.change == change]
        caption = f"{self.new} against {self.old}: {self.summary()}"
        notes = self._notes(listed)
        settings = any(cell.setting for cell in listed)
        labels = ["Dataset", "Method", *(["Setting"] if settings else []), "Metric"]
        header = (*labels, "Old", "New", "Change", "Effect", "p (Holm)", "Verdict")
        rows = [_row(cell, settings) for cell in listed]
        return make_sheet(caption, header, rows, len(labels), notes, (len(header) - 1,))

    def _notes(self, listed: list[PairedCell]) -> list[str]:
        if any(cell.of_means for cell in self.cells):
            return [f"Worse: more than {self.margin:.3g} of the old mean lost; only means are compared.", *self.remarks]
        rules = []
        if any(not cell.is_time for cell in self.cells):
            rules.append(f"a metric: more than {self.margin:.3g} of the old mean lost")
        if any(cell.is_time for cell in self.cells):
            rules.append(f"a time: a ratio of geometric means above {self.time_margin:g}")
        notes = [
            f"Worse: {'; '.join(rules)}. One-sided t test over the common splits, corrected for overlapping training "
            f"sets (Nadeau & Bengio 2003), level {ALPHA:g}, Holm's correction."
        ]
        if listed:
            notes.append("Effect: rank-biserial correlation over splits, +1 where new is better in all.")
        for metric in dict.fromkeys(cell.metric for cell in self.cells if cell.is_time):
            logs = [cell.loss for cell in self.cells if cell.metric == metric]
            ratio = math.exp(math.fsum(logs) / len(logs))
            notes.append(f"{metric}: × {ratio:.2f} in the geometric mean of {len(logs)} cells.")
        return [*notes, *self.remarks]


def _name_setting(cell: PairedCell) -> str:
    return ", ".join(value for _, value in cell.setting)


def _row(cell: PairedCell, settings: bool) -> list[str | Text]:
    change = cell.change
    p = min(cell.p_worse, cell.p_better) if change != "untested" else math.nan
    shown = f"× {math.exp(cell.loss):.2f}" if cell.is_time else signed(cell.new - cell.old, 4)
    where = [cell.dataset, cell.method]
    where += [_name_setting(cell) or DASH] if settings else []
    means = [f"{mean:.4g}" if cell.is_time else f"{mean:.4f}" for mean in (cell.old, cell.new)]
    p_shown = NOTHING if math.isnan(p) else f"{p:.4f}" if p >= 0.00005 else "< 0.0001"
    effect = signed(cell.effect, 2)
    return [*where, cell.metric, *means, shown, effect, p_shown, text(change, bold=change == "worse")]


def compare(
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
    if metric is not None:
        metric = old.metric_named(metric)
    of_means = False
    try:
        one, other = (_place(each.split_scores.paths, each.split_scores.values) for each in (old, new))
    except NoResults:
        of_means = True
        one, other = (_place(each.swept, _means(each)) for each in (old, new))
    wanted = [key for key in one if metric in (None, key[3])]
    common = [key for key in wanted if one[key].keys() & other.get(key, {}).keys()]
    if not common:
        raise ResultsError(f"{new.folder} has nothing in common with {old.folder}: {_unlike(old, new)}")
    facts = {name: old.metric_facts(name) for name in dict.fromkeys(key[3] for key in common)}
    for name, known in facts.items():
        if new.metric_facts(name) != known:
            raise ResultsError(f"{new.folder}: {name} is not computed as in {old.folder}: see `metrics:`")
    cells, undefined = [], []
    for key in common:
        known = facts[key[3]]
        if known.higher_is_better is None or (of_means and known.is_time):
            continue
        found = _pair(key, one[key], other[key], known, margin, time_margin, _test_to_train(old, key[0], one))
        if found is None:
            undefined.append(key)
        else:
            cells.append(replace(found, of_means=of_means))
    missing = [key for key in wanted if key not in other]
    shorter = [key for key in common if one[key].keys() - other[key].keys()]
    unknown = [name for name, known in facts.items() if known.higher_is_better is None]
    names = join_words(list(dict.fromkeys(f"{dataset} {method}" for dataset, method, _, _ in missing))[:6])
    remarks = {
        f"Not in {new.folder}: {len(missing)} cells of {old.folder} ({names}).": missing,
        f"{len(shorter)} cells lack splits in {new.folder}; paired are the common ones.": shorter,
        f"{len(undefined)} times are zero, and have no ratio.": undefined,
        f"Not judged, because which way is better is not known: {join_words(unknown)}.": unknown,
    }
    changed = list_other_methods(new.experiment, old.experiment.methods)
    shown = [f"Not the methods of {old.folder}: in {new.folder} {each}." for each in changed]
    shown += [remark for remark, about in remarks.items() if about]
    return BaselineComparison(str(old.folder), str(new.folder), _corrected(cells), margin, time_margin, tuple(shown))


def _pair(
    key: Key,
    one: Mapping[int, float],
    other: Mapping[int, float],
    facts: MetricFacts,
    margin: float,
    time_margin: float,
    test_to_train: float,
) -> PairedCell | None:
    """A cell with its p-values, not yet corrected; None for times without a ratio."""
    splits = sorted(one.keys() & other.keys())
    if facts.is_time:
        splits = [split for split in splits if one[split] > 0 and other[split] > 0]
        if not splits:
            return None
    old, new = np.array([one[s] for s in splits]), np.array([other[s] for s in splits])
    if facts.is_time:
        signs = losses = np.log(new) - np.log(old)
        means = math.exp(float(np.log(old).mean())), math.exp(float(np.log(new).mean()))
        allowed = math.log(time_margin)
    else:
        signs = paired_differences(old, new) if facts.higher_is_better else paired_differences(new, old)
        losses = np.where(signs == 0, 0.0, old - new if facts.higher_is_better else new - old)
        means = float(old.mean()), float(new.mean())
        allowed = margin * abs(means[0])
    unchanged = not losses.any()
    worse = corrected_t(losses, test_to_train, allowed)
    better = corrected_t(-losses, test_to_train, allowed)
    nan = math.nan
    return PairedCell(
        *key,
        is_time=facts.is_time,
        n=len(splits),
        old=means[0],
        new=means[1],
        loss=worse.mean,
        margin=allowed,
        effect=wilcoxon(-signs).rank_biserial,
        p_worse=nan if unchanged else worse.p,
        p_better=nan if unchanged else better.p,
        unchanged=unchanged,
        of_means=False,
    )


def _corrected(cells: list[PairedCell]) -> tuple[PairedCell, ...]:
    """Holm's correction over the cells that changed, metrics and times each by themselves."""
    done = list(cells)
    for is_time in (False, True):
        at = [k for k, cell in enumerate(cells) if cell.is_time == is_time]
        worse, better = holm([cells[k].p_worse for k in at]), holm([cells[k].p_better for k in at])
        for k, p_worse, p_better in zip(at, worse, better, strict=True):
            done[k] = replace(cells[k], p_worse=float(p_worse), p_better=float(p_better))
    return tuple(done)


def _place(paths: Sequence[str], values: Mapping[scores.Key, Mapping[int, float]]) -> dict[Key, Mapping[int, float]]:
    """Cell → split → value; all points of a grid are among the cells."""

    def named(point: Point) -> Setting:
        return tuple((path, value) for path, value in zip(paths, point, strict=True) if value)

    return {(dataset, method, named(at), metric): found for (dataset, method, at, metric), found in values.items()}


def _means(results: Results) -> dict[scores.Key, Mapping[int, float]]:
    """The mean of each cell as the value of a single split, rounded as in the record."""
    return {key: {0: float(f"{cell.mean:.6g}")} for key, cell in results.cells.items()}


def _refuse_unlike(old: Results, new: Results) -> None:
    """Refuse runs whose splits are not the same rows: other settings (but the number of repeats), or other data."""
    rows, new_rows = (
        {key: value for key, value in each.experiment.splits.plain().items() if key not in ("repeats", "folders")}
        for each in (old, new)
    )
    if rows != new_rows:
        specs = ", ".join(f"{key}: {value}" for key, value in rows.items() if new_rows.get(key) != value)
        raise ResultsError(f"{new.folder}: its splits are not those of {old.folder} ({specs or 'see `splits:`'})")
    for dataset in old.datasets:
        sums = [str(each.recorded(dataset).get("checksum", "")) for each in (old, new)]
        if all(sums) and sums[0] != sums[1]:
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


def _test_to_train(results: Results, dataset: str, cells: Mapping[Key, Mapping[int, float]]) -> float:
    """n_test / n_train of a split."""
    spec = results.experiment.splits
    if isinstance(spec, KFold):
        return 1 / (spec.folds - 1)
    if isinstance(spec, Shuffle) and not isinstance(size := spec.train_size, str):
        if isinstance(size, float):
            return (1 - size) / size
        n = int(results.facts(dataset)["n_instances"])
        return (n - size) / size
    if not isinstance(spec, FromFile):
        return 1.0  # how many rows the train file has is not known here
    n_splits, repeats = 1 + max(max(found) for key, found in cells.items() if key[0] == dataset), spec.repeats
    folds = n_splits // repeats if n_splits % repeats == 0 and n_splits > repeats else n_splits  # else interrupted
    return 1 / (folds - 1) if folds > 1 else 1.0
