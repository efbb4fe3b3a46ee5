"""All methods of an experiment against the one that it names: which are better on each data set.

Each is tested against the one over the splits of the data set, as in `within`; Holm's correction is over these tests of
the data set. A size that was tuned is named with its method: M, as often as it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mlcdr.comparison.significance import show_p, show_test
from mlcdr.comparison.statistics import ALPHA
from mlcdr.comparison.within import UNTESTED, Design, compare_within, explain_designs
from mlcdr.results.failures import join_some
from mlcdr.results.frame import group
from mlcdr.results.metric_facts import MetricFacts
from mlcdr.results.results import Results
from mlcdr.tables.sheet import DASH, Sheet, Text, make_sheet, signed
from mlcdr.tables.text_format import count_values, say_where, shorten_path, shorten_paths

_NAMED = 6  # methods that a sentence names
_DIGITS = 4
_TOO_FEW = "which takes two splits or more"
_SPACES = ("feature_space", "label_space", "dual_space")
_SIZES = ("n_components", "n_features", "n_labels")


@dataclass(frozen=True)
class Against:
    """Every method against one of them on each data set, under one metric.

    Attributes
    ----------
    method : str
        The one.
    facts : MetricFacts
        Of the metric.
    datasets : tuple of str
    swept : tuple of str
        The swept paths.
    pairs : frame
        A row for each data set, point and other method, of a data set the best first: dataset, the swept paths (`""`
        where neither of the two has it), method, better_by (in the mean), p and p_holm (NaN where there is no test),
        and sizes: a dict of its tuned dimensions → the values that were chosen. M is a dimension that is the only one.
    designs : mapping
        Data set → how it was tested; the data sets without a test are not in it.
    """

    method: str
    facts: MetricFacts
    datasets: tuple[str, ...]
    swept: tuple[str, ...]
    pairs: pd.DataFrame
    designs: Mapping[str, Sequence[Design]]

    def sentences(self) -> Iterator[str]:
        """Whether a method is better than the one: a sentence for each data set."""
        for dataset in self.datasets:
            own = self.pairs[self.pairs["dataset"] == dataset]
            yield f"{dataset}: {self._judge(own, dataset in self.designs)}."

    def _judge(self, own: pd.DataFrame, has_test: bool) -> str:
        """The sentence on one data set, of which these are the pairs; whether its splits can be tested at all."""
        if own.empty:
            return f"nothing to compare, as {self.method} or all other methods have no result"
        best, *_ = own.to_dict("records")
        where = f"{self.method} in {self.facts.title}"
        if own["p"].isna().all():
            lead = f"the best of the others, {self._name(best)}, {_describe_lead(best)} {where}"
            return f"{lead}; no test, {UNTESTED if has_test else _TOO_FEW}"
        better = own[(own["p_holm"] <= ALPHA) & (own["better_by"] > 0)]
        if better.empty:
            tested = f"no method is shown to be better than {where}; the best of the others, {self._name(best)},"
            if best["p_holm"] <= ALPHA:
                return f"{tested} is worse by {-best['better_by']:.{_DIGITS}f} ({_show_test(best)})"
            return f"{tested} {_describe_lead(best)} it ({_show_test(best)})"
        first, *others = better.to_dict("records")
        gain = f"{first['better_by']:.{_DIGITS}f}"
        found = f"{self._name(first)} is better than {where} by {gain} ({_show_test(first)})"
        if not others:
            return found
        verb = "is" if len(others) == 1 else "are"
        return f"{found}, and so {verb} {join_some(map(self._name, others), _NAMED)}"

    def _name(self, pair: Mapping[Any, Any]) -> str:
        """`MVMD (M = 20% most often)`, `MVMD at n_components = 20%`."""
        at = say_where([pair[path] for path in self.swept], self.swept)
        sizes = []
        for name, values in pair["sizes"].items():
            counts = values.value_counts()
            often = " most often" if len(counts) > 1 else ""
            sizes.append(f"{name} = {counts.index[0]}{often}")
        chosen = f" ({', '.join(sizes)})" if sizes else ""
        return f"{pair['method']}{at}{chosen}"

    @property
    def sheet(self) -> Sheet:
        """A row for each method, of a data set the best first."""
        has_sizes = self.pairs["sizes"].map(bool).any()
        labels = ["Dataset", *shorten_paths(self.swept), "Method"]
        sizes = ["M (how often)"] if has_sizes else []
        rows = [self._show_pair(pair, has_sizes) for pair in self.pairs.to_dict("records")]
        better = "higher" if self.facts.higher_is_better else "lower"
        return make_sheet(
            caption=f"All methods against {self.method}: {self.facts.title}, {better} is better",
            header=[*labels, *sizes, "Better by", "p", "p (Holm)"],
            rows=rows,
            stub=len(labels) + len(sizes),
            notes=[*self._explain()],
            nested=len(labels) - 1,
        )

    def _show_pair(self, pair: Mapping[Any, Any], has_sizes: bool) -> list[str | Text]:
        labels = [pair["dataset"], *(pair[path] or DASH for path in self.swept), pair["method"]]
        if has_sizes:
            labels.append(_count_sizes(pair["sizes"]) or DASH)
        return [*labels, signed(pair["better_by"], _DIGITS), *show_test(pair["p"], pair["p_holm"])]

    def _explain(self) -> Iterator[str]:
        yield from explain_designs(self.designs, {})
        yield f"Better by: than {self.method}, in the mean over the splits."
        if self.pairs["p"].notna().any():
            yield (
                f"Bold: differs from {self.method} on this data set at {ALPHA:g} after Holm's correction over all "
                f"methods of the data set."
            )
        if self.pairs["p"].isna().any():
            yield f"{DASH}: no test, {UNTESTED if self.designs else _TOO_FEW}."
        if self.pairs["sizes"].map(lambda sizes: "M" in sizes).any():
            yield "M: the number of dimensions, or its share of all, that the training rows of each split chose."


def _describe_lead(pair: Mapping[Any, Any]) -> str:
    """`is ahead of`, with how far: `is 0.0130 ahead of`; the same in all digits that are shown is level."""
    lead = f"{abs(pair['better_by']):.{_DIGITS}f}"
    if not float(lead):
        return "is level with"
    side = "ahead of" if pair["better_by"] > 0 else "behind"
    return f"is {lead} {side}"


def _show_test(pair: Mapping[Any, Any]) -> str:
    return "no test" if math.isnan(pair["p_holm"]) else show_p(pair["p_holm"])


def _count_sizes(sizes: Mapping[str, pd.Series]) -> str:
    """`20% (7), 10% (3)`; of several dimensions each with its name."""
    shown = []
    for name, values in sizes.items():
        counts = count_values(values)
        shown.append(counts if len(sizes) == 1 else f"{name}: {counts}")
    return "; ".join(shown)


# -------------------------------------------------------------------- comparing


def compare_against(results: Results, metric: str | None = None) -> Against | None:
    """Compare all methods with the one that the experiment names.

    Parameters
    ----------
    results : Results
        Of one folder.
    metric : str, optional
        The first of the metrics whose better direction is known, if left out.

    Returns
    -------
    Against or None
        None where the experiment names no method, or it is not known which way is better.

    Raises
    ------
    ResultsError
        When the choices of tuned methods cannot be read.
    """
    method = results.experiment.against
    known = [name for name in results.metrics if results.metric_facts(name).higher_is_better is not None]
    chosen = metric or next(iter(known), "")
    if method not in results.methods or chosen not in known:
        return None
    pairs = _list_pairs(results, chosen, method)
    within = compare_within(results, chosen, against=method)
    tests = _list_tests(within.pairs, method) if within else {}
    keys = ["dataset", *results.swept, "method"]
    found = [tests.get(tuple(key), (math.nan, math.nan)) for key in pairs[keys].itertuples(index=False)]
    pairs[["p", "p_holm"]] = pd.DataFrame(found, pairs.index, columns=["p", "p_holm"], dtype=float)
    pairs["sizes"] = [_list_sizes(results, pair) for pair in pairs.to_dict("records")]
    designs = within.designs if within else {}
    return Against(method, results.metric_facts(chosen), results.datasets, results.swept, pairs, designs)


def _list_pairs(results: Results, metric: str, against: str) -> pd.DataFrame:
    """Each other method at each point of each data set, and by how much it is better: the columns but p, sizes.

    Two are at one point if they agree in the swept parameters that both have.
    """
    sign = 1.0 if results.metric_facts(metric).higher_is_better else -1.0
    means = results.summary[results.summary["metric"] == metric]
    means = means[["dataset", *results.swept, "method", "mean"]]
    means = means.astype(dict.fromkeys(["dataset", *results.swept, "method"], object))
    is_one = means["method"] == against
    ones = means[is_one].drop(columns="method")
    pairs = means[~is_one].merge(ones, on="dataset", suffixes=("", "_of_one"))
    for path in results.swept:
        own, of_one = pairs[path], pairs.pop(f"{path}_of_one")
        pairs[path] = own.where(own != "", of_one)
        pairs = pairs[(own == of_one) | (own == "") | (of_one == "")]
    pairs["better_by"] = sign * (pairs.pop("mean") - pairs.pop("mean_of_one"))
    order = {name: number for number, name in enumerate(results.datasets)}
    best_first = pairs.sort_values("better_by", ascending=False, kind="stable")
    return best_first.sort_values("dataset", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def _list_tests(pairs: pd.DataFrame, against: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Data set, point and other method → p and p_holm."""
    others = pairs["method"].where(pairs["method"] != against, pairs["against"])
    keys = pairs.drop(columns=["method", "against", "better_by", "p", "p_holm"]).assign(method=others)
    places = keys.itertuples(index=False, name=None)
    return dict(zip(places, zip(pairs["p"], pairs["p_holm"], strict=True), strict=True))


def _list_sizes(results: Results, pair: Mapping[Any, Any]) -> dict[str, pd.Series]:
    """The number of dimensions that a method tuned → the values that its trials chose at this point; `M` if it is one.

    Several have the last names of their paths.
    """
    chosen = results.chosen
    own = chosen[(chosen["dataset"] == pair["dataset"]) & (chosen["method"] == pair["method"])]
    for path in results.swept:
        if path in own:  # not where there are no choices at all
            own = own[own[path].isin(["", pair[path]])]
    found = {}
    for (parameter,), values in group(own, ["parameter"])["value"]:
        space, *_, last = parameter.split(".")
        if space in _SPACES and last in _SIZES:
            found[parameter] = values
    if len(found) == 1:
        return {"M": next(iter(found.values()))}
    return {shorten_path(path, list(found)): values for path, values in found.items()}
