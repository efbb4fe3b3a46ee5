"""Tests of the methods within a data set, over its splits: they say which methods differ on these data.

With few data sets there is no test over data sets, and a data set is a question of its own. The test follows from the
splits: for five times two folds the combined F test (Alpaydin 1999), for all others the corrected resampled t test
(Nadeau & Bengio 2003; for repeated folds Bouckaert & Frank 2004), since training sets overlap; none for one split.
Repeats of the same folds, in which methods only draw at random again, are averaged first. Two methods are tested if
they have scores on all splits that any method has there. Holm's correction is over all pairs of a data set, at all
points. The Bayesian correlated t test (Corani & Benavoli 2015) is added with a region of practical equivalence.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlcdr.comparison import statistics
from mlcdr.comparison.pairing import compare_sizes
from mlcdr.comparison.ranking import list_points
from mlcdr.comparison.significance import show_p, show_test
from mlcdr.comparison.statistics import ALPHA, holm, paired_differences
from mlcdr.errors import ResultsError, join_words, plural
from mlcdr.experiment.splits import FromFile, KFold, Predefined
from mlcdr.results.exports import NoResults
from mlcdr.results.failures import join_some
from mlcdr.results.frame import group
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, signed
from mlcdr.tables.text_format import say_where, shorten_paths

UNTESTED = "as the two differ by the same on every split, or one lacks splits"  # of a data set with tests
_NAMED = 6  # pairs that a note names
_NUMBERS = ("better_by", "p", "p_holm")
_LIKELY = ("p_worse", "p_equal", "p_better")


@dataclass(frozen=True)
class Design:
    """How differences over the splits of a data set are tested.

    Attributes
    ----------
    n : int
        Splits that are compared.
    test_to_train : float
        Test rows over training rows.
    is_five_times_two : bool
    repeats : int
        How often the same splits were run.
    """

    n: int
    test_to_train: float
    is_five_times_two: bool = False
    repeats: int = 1

    def test(self, differences: np.ndarray) -> np.ndarray:
        """The p-values of differences (…, n)."""
        if self.is_five_times_two:
            return statistics.five_times_two_f(differences)
        return statistics.corrected_t_two_sided(differences, self.test_to_train)

    def describe(self) -> str:
        """`corrected resampled t test (Nadeau & Bengio 2003) over 10 splits`."""
        if self.is_five_times_two:
            return "combined 5×2 cv F test (Alpaydin 1999)"
        ratio = f"{self.test_to_train:.3g} test rows for each training row"
        return f"corrected resampled t test (Nadeau & Bengio 2003) over {plural(self.n, 'split')}, {ratio}"


@dataclass(frozen=True)
class _Scores:
    """The scores of a method at a point, on the splits of a data set, and how they may be compared."""

    splits: tuple[int, ...]
    values: np.ndarray
    design: Design
    plan: str


@dataclass(frozen=True)
class WithinDataSets:
    """Every pair of methods on each data set, under one metric.

    Attributes
    ----------
    swept : sequence of str
        The swept paths.
    pairs : frame
        The columns are dataset, one for each swept path (`""` where neither method has it), method, against (the better
        mean first), better_by (in the mean), p, p_holm, and with a region of practical equivalence how likely the first
        is p_worse, p_equal or p_better. NaN where there is no test.
    designs : dict
        Data set → how it was tested; several where folders with other splits were joined.
    rope : float or None
        Half the width of the region of practical equivalence.
    """

    swept: Sequence[str]
    pairs: pd.DataFrame
    designs: dict[str, list[Design]]
    rope: float | None

    def notes(self) -> Iterator[str]:
        """A few lines to stand below a table of means: which methods differ on each data set."""
        by_dataset = group(self.pairs, ["dataset"])
        for line in explain_designs(self.designs, by_dataset["p"].count()):
            yield f"Within {line}"
        none: list[str] = []
        for (dataset,), own in by_dataset:
            differing = own[own["p_holm"] <= ALPHA].sort_values("p_holm", kind="stable")
            if differing.empty:
                none += [dataset] if self.designs[dataset] else []
                continue
            named = join_some(map(self._name_pair, differing.to_dict("records")), _NAMED)
            rest = "" if len(differing) == len(own) else "; no other difference shown"
            yield f"{dataset}: {named}{rest}."
        if none:
            yield f"No difference shown within {join_words(none)}."

    def _name_pair(self, pair: dict[str, Any]) -> str:
        """`A over B at n_components = 20% (p = 0.012)`."""
        at = say_where([pair[path] for path in self.swept], self.swept)
        return f"{pair['method']} over {pair['against']}{at} ({show_p(pair['p_holm'])})"

    def sheet(self, caption: str) -> Sheet:
        """Every pair of methods on each data set, the better mean first."""
        header = ["Dataset", *shorten_paths(self.swept)]
        header += ["Method", "Against", "Better by", "p", "p (Holm)"]
        if self.rope is not None:
            header += ["P(worse)", "P(equal)", "P(better)"]
        rows = [self._show_pair(pair) for pair in self.pairs.to_dict("records")]
        n_labels = 3 + len(self.swept)
        return make_sheet(
            caption=caption,
            header=header,
            rows=rows,
            stub=n_labels,
            notes=[*self._explain()],
            nested=n_labels - 2,
        )

    def _show_pair(self, pair: dict[str, Any]) -> list[str | Text]:
        point = [pair[path] or DASH for path in self.swept]
        likely = [] if self.rope is None else [_show_share(pair[name]) for name in _LIKELY]
        better = signed(pair["better_by"], 4)
        test = show_test(pair["p"], pair["p_holm"])
        return [pair["dataset"], *point, pair["method"], pair["against"], better, *test, *likely]

    def _explain(self) -> Iterator[str]:
        yield from explain_designs(self.designs, {})
        yield (
            f"Better by: in the mean over the splits. Bold: the two differ on this data set at {ALPHA:g} after Holm's "
            f"correction over all pairs of the data set."
        )
        if self.pairs["p"].isna().any():
            yield f"{DASH}: no test, {UNTESTED}."
        if self.rope is not None:
            yield (
                f"P: Bayesian correlated t test (Corani & Benavoli 2015), the probability that on this data set the "
                f"first is worse, practically equal (within ± {self.rope:g}) or better."
            )


def explain_designs(designs: Mapping[str, Sequence[Design]], n_pairs: Mapping[str, int]) -> Iterator[str]:
    """A note for each test, which says over how many pairs of a data set p-values are corrected, where this is known.

    `flags and yeast: corrected resampled t test …`.
    """
    tested: dict[str, list[str]] = {}
    for dataset, own in designs.items():
        n = n_pairs.get(dataset, 0)
        correction = f", Holm's correction over {n} pairs" if n > 1 else ""
        for design in own:
            tested.setdefault(f"{design.describe()}{correction}", []).append(dataset)
    for test, datasets in tested.items():
        yield f"{join_words(datasets)}: {test}."


def _show_share(share: float) -> str | Text:
    return NOTHING if math.isnan(share) else f"{share:.3f}"


# -------------------------------------------------------------------- testing


def compare_within(
    results: Results, metric: str, rope: float | None = None, against: str | None = None
) -> WithinDataSets | None:
    """Test every pair of methods on each data set, at each point of the sweep; or those only that one method is in.

    Holm's correction is over the pairs that are tested.

    Returns
    -------
    WithinDataSets or None
        None where no data set has two methods with scores on two splits, or which way is better is not known.
    """
    higher = results.metric_facts(metric).higher_is_better
    if higher is None:
        return None
    scores = _list_scores(results, metric)
    pairs = _Pairs(1.0 if higher else -1.0, rope, against)
    for dataset, point in itertools.product(results.datasets, list_points(results)):
        there = {}
        for method in results.methods:
            at = zip(results.swept, point, strict=True)
            own = tuple("" if results.lacks(method, path) else value for path, value in at)
            found = scores.get((dataset, method, own))
            if found is not None:
                there[method, own] = found
        pairs.add(dataset, there)
    if not pairs.rows:
        return None
    frame = pairs.test(list(results.swept))
    return WithinDataSets(results.swept, frame, pairs.designs, rope)


@dataclass
class _Pairs:
    """The pairs of methods that are to be tested; `sign` is −1 where less is better.

    All pairs, or with `against` those that this method is in.
    """

    sign: float
    rope: float | None
    against: str | None = None
    rows: dict[tuple[Any, ...], tuple[float, np.ndarray | None, Design]] = field(default_factory=dict)
    designs: dict[str, list[Design]] = field(default_factory=dict)

    def add(self, dataset: str, there: dict[tuple[str, tuple[str, ...]], _Scores]) -> None:
        """Add every two methods at one point of a data set; two without the swept parameters are there once."""
        ranked = sorted(there.items(), key=self._mean, reverse=True)
        for one, other in itertools.combinations(ranked, 2):
            (first, at), scores = one
            (second, at_second), rival = other
            if scores.plan != rival.plan or self.against not in (None, first, second):
                continue
            point = tuple(a or b for a, b in zip(at, at_second, strict=True))
            differences = None
            if scores.splits == rival.splits and len(scores.splits) == scores.design.n:
                differences = paired_differences(self.sign * scores.values, self.sign * rival.values)
            gain = self.sign * (scores.values.mean() - rival.values.mean())
            self.rows[(dataset, *point, first, second)] = (gain, differences, scores.design)
            known = self.designs.setdefault(dataset, [])
            if differences is not None and scores.design not in known:
                known.append(scores.design)

    def _mean(self, entry: tuple[tuple[str, tuple[str, ...]], _Scores]) -> float:
        """The mean of an entry of `there`; the larger, the better."""
        _, scores = entry
        return self.sign * float(scores.values.mean())

    def test(self, swept: list[str]) -> pd.DataFrame:
        """The frame of `WithinDataSets.pairs`; all differences of one design are tested together.

        Of a data set, what is the same at all points comes first.
        """
        columns = [*_NUMBERS, *(_LIKELY if self.rope is not None else ())]
        labels = pd.DataFrame(list(self.rows), columns=["dataset", *swept, "method", "against"])
        frame = labels.reindex(columns=[*labels, *columns])
        frame["better_by"] = [gain for gain, _, _ in self.rows.values()]
        by_design: dict[Design, list[int]] = {}
        differences = []
        for k, (_, own, design) in enumerate(self.rows.values()):
            differences.append(own)
            if own is not None:
                by_design.setdefault(design, []).append(k)
        for design, numbers in by_design.items():
            of_design = np.array([differences[k] for k in numbers])
            # no test where all differences are equal: on few rows this happens by chance
            varies = np.ptp(of_design, axis=1) > 0
            frame.loc[numbers, "p"] = np.where(varies, design.test(of_design), np.nan)
            if self.rope is not None:
                likely = statistics.bayesian_correlated_t(of_design, design.test_to_train, self.rope)
                ties = ~of_design.any(axis=1)
                frame.loc[numbers, list(_LIKELY)] = np.where((varies | ties)[:, None], likely, np.nan)
        frame = frame.astype(dict.fromkeys(columns, float))
        frame["p_holm"] = frame.groupby("dataset")["p"].transform(holm)
        has_point = (frame[swept] != "").any(axis=1)
        order = frame.assign(dataset=pd.factorize(frame["dataset"])[0], has_point=has_point)
        return frame.loc[order.sort_values(["dataset", "has_point"], kind="stable").index]


def _list_scores(results: Results, metric: str) -> dict[tuple[str, str, tuple[str, ...]], _Scores]:
    """Data set, method and point → the scores of the single splits; nothing of folders that have means only."""
    found: dict[tuple[str, str, tuple[str, ...]], _Scores] = {}
    as_they_are = {method: method for method in results.methods}
    for part, called in results.parts or ((results, as_they_are),):
        try:
            taken = part.taken
        except NoResults:  # there are means only
            continue
        taken = taken[(taken["metric"] == metric) & taken["method"].isin(called)].sort_values("split")
        try:
            designs = {dataset: _choose_design(part, dataset, taken) for dataset in part.datasets}
        except ResultsError:  # nothing tells how many rows there are
            continue
        plan = part.experiment.splits.plain()
        plan.pop("folders", None)
        for (dataset, method, *values), own in group(taken, ["dataset", "method", *part.swept]):
            point = dict(zip(part.swept, values, strict=True))
            key = dataset, called[method], tuple(point.get(path, "") for path in results.swept)
            design = designs.get(dataset)  # None where it has no means
            if design is not None:
                found.setdefault(key, _by_split(own, design, str(plan)))
    return found


def _by_split(own: pd.DataFrame, design: Design, plan: str) -> _Scores:
    """The scores of one method by split; of splits that were repeated, the means."""
    numbers, values = own["split"].to_numpy(int), own["value"].to_numpy(float)
    if design.repeats > 1:
        means = pd.Series(values).groupby(numbers % design.n).agg(["mean", "size"])
        whole = means[means["size"] == design.repeats]
        numbers, values = whole.index.to_numpy(int), whole["mean"].to_numpy(float)
    return _Scores(tuple(numbers.tolist()), values, design, plan)


def _choose_design(results: Results, dataset: str, scores: pd.DataFrame) -> Design | None:
    """How a data set is tested by some scores; None where there is one split only, or repeats are not whole."""
    splits = results.experiment.splits
    n = scores.loc[scores["dataset"] == dataset, "split"].nunique()
    repeats = splits.repeats if isinstance(splits, FromFile) else 1
    n, rest = divmod(n, repeats)
    if isinstance(splits, Predefined) or rest or n < 2:
        return None
    is_five_times_two = isinstance(splits, KFold) and (splits.folds, splits.repeats, n) == (2, 5, 10)
    return Design(n, compare_sizes(results, dataset, scores), is_five_times_two, repeats)
