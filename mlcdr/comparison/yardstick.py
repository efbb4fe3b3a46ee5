"""One's own results beside those of a published study, by measure.

The study's division is not public, so ranks are compared, not cells: on each data set that both have, a method's mean
here is ranked among the study's values there, both rounded to the study's decimal places. `mlcdr.comparison.standing`
places one's own methods among the study's; `mlcdr.comparison.agreement` says how well the study's ranks are reproduced.

A pair of method and data set that failed in the study is left out: of the k methods k′ are left on that data set, and
rank r among these counts as 1 + (r − 1)(k − 1)/(k′ − 1), which is 1 for the best and k for the worst as elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mlcdr.comparison import study
from mlcdr.comparison.study import MEASURES, Measure
from mlcdr.errors import ResultsError
from mlcdr.metrics.names import METRICS, resolve
from mlcdr.results.metric_facts import describe_metric
from mlcdr.results.results import Results

_SHIFTED = "count"  # an option that changes every value, so that no rank could be compared

NOT_CELLS = (
    "Ranks are compared, not cells: the study's division into training and test rows is not public, and its numbers "
    "are of one division."
)


class Yardstick:
    """The methods of a results folder and those of the study, on the data sets that both have.

    Attributes
    ----------
    results : Results
    study : frame
        As `mlcdr.comparison.study.read` gives it.
    named : dict
        Data set here → its name in the study.
    labels : dict
        Name of a measure → the metric here that computes it.
    differences : dict
        Name of a measure → the options that this metric was computed with otherwise than in the study: here, there.
    skipped : dict
        Name of a measure that cannot be compared → why.

    Raises
    ------
    ResultsError
        No data set or no measure is common.
    """

    def __init__(self, results: Results, published: pd.DataFrame):
        self.results = results
        self.study = published
        datasets = published.index.unique(0)
        self.named: dict[str, str] = {}
        for ours in results.datasets:
            theirs = study.find_name(ours, datasets)
            if theirs:
                self.named[ours] = theirs
        if not self.named:
            has = ", ".join(map(study.own_name, datasets))
            raise ResultsError(f"{results.folder}: no data set of {study.TITLE} (it has {has})")
        self.labels: dict[str, str] = {}
        self.differences: dict[str, dict[str, tuple[object, object]]] = {}
        self.skipped: dict[str, str] = {}
        for measure in MEASURES.values():
            self._find_metric(measure)
        if not self.labels:
            wanted = ", ".join(measure.written() for measure in MEASURES.values())
            raise ResultsError(
                f"{results.folder}: no measure of {study.TITLE}; it has, as `metrics:` of a config, {wanted}"
            )

    def _find_metric(self, measure: Measure) -> None:
        """Find the metric that was computed most as the measure is; or say why there is none."""
        specs = {spec.label: (spec.name, spec.params) for spec in self.results.experiment.metrics}
        measured = {}
        for label in self.results.metrics:
            name, params = specs.get(label) or resolve(label)
            if name == measure.metric:
                measured[label] = _list_differences(measure, params)
        if not measured:
            self.skipped[measure.name] = "not measured"
            return
        label = min(measured, key=lambda label: len(measured[label]))
        if _SHIFTED in measured[label]:
            self.skipped[measure.name] = f"{label} has another {_SHIFTED}"
        else:
            self.labels[measure.name] = label
            self.differences[measure.name] = measured[label]

    def measures(self, metric: str | None = None) -> list[Measure]:
        """The measures that can be compared; or the one of this name.

        Raises
        ------
        ResultsError
            The study has no such measure, or it was not measured here as there.
        """
        if metric is None:
            return [MEASURES[name] for name in self.labels]
        measure = study.find_measure(metric)
        if measure.name not in self.labels:
            raise ResultsError(
                f"{self.results.folder}: {measure.metric}: {self.skipped[measure.name]}; "
                f"write {measure.written()} among the config's metrics"
            )
        return [measure]

    def own_values(self, measure: Measure) -> pd.DataFrame:
        """One's own means, rounded as the study's values: the common data sets, by the study's names, × methods.

        A method at a point of the sweep counts as one; NaN where there is no result.
        """
        varied = ["method", *self.results.swept]
        summary = self.results.summary.sort_values(varied)
        places = summary[varied].to_numpy()
        summary["name"] = [" ".join(filter(None, place)) for place in places]
        summary["dataset"] = summary["dataset"].map(self.named)
        # Python's rounding of 0.0625 and the like is not numpy's
        summary["mean"] = [round(mean, study.PLACES) for mean in summary["mean"]]
        of_measure = summary[summary["metric"] == self.labels[measure.name]]
        cells = of_measure.dropna(subset="dataset")
        values = cells.pivot(index="dataset", columns="name", values="mean")
        datasets = list(self.named.values())
        return values.reindex(index=datasets, columns=summary["name"].unique())

    def study_values(self, measure: Measure) -> pd.DataFrame:
        """The study's values: the common data sets × its methods; NaN where a method failed."""
        of_measure = self.study.xs(measure.name, level=1)
        of_common = of_measure.loc[list(self.named.values())]
        return of_common.drop(columns=list(measure.without))

    def title(self, measure: Measure) -> str:
        """The printed name of the metric, with its direction."""
        title = describe_metric(self.results.experiment, self.labels[measure.name]).title
        return f"{title}, {'higher' if measure.higher_is_better else 'lower'} is better"


def _list_differences(measure: Measure, params: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """The options in which a metric's are not those of a measure: here, there."""
    defaults = METRICS[measure.metric].parameters
    differences = {}
    for option, there in {**defaults, **measure.options}.items():
        here = params.get(option, defaults.get(option))
        if here != there:
            differences[option] = (here, there)
    return differences


def average_present_ranks(values: pd.DataFrame, higher_is_better: bool) -> pd.Series:
    """Average ranks of k methods over data sets, each of which may lack some of the methods.

    Rank r among k′ methods of a data set counts as 1 + (r − 1)(k − 1)/(k′ − 1).

    Parameters
    ----------
    values : DataFrame
        Data sets × methods, NaN where a method has no value. One without any is not ranked, but counts in k.
    higher_is_better : bool

    Examples
    --------
    Of three methods C lacks the second data set, where B, the last of two, counts as the last of three:

    >>> average_present_ranks(pd.DataFrame({"A": [0.9, 0.9], "B": [0.8, 0.8], "C": [0.7, None]}), True).to_dict()
    {'A': 1.0, 'B': 2.5, 'C': 3.0}
    """
    ranks = values.rank(axis="columns", ascending=not higher_is_better)
    n_rivals = (values.count(axis="columns") - 1).clip(lower=1)
    stretch = (values.shape[1] - 1) / n_rivals
    stretched = 1 + (ranks - 1).mul(stretch, axis="index")
    return stretched.mean().dropna()
