"""The results of Bogatinovski, Todorovski, Džeroski & Kocev 2022: 28 methods on 40 data sets by 18 measures.

*Comprehensive comparative study of multi-label classification methods*, Expert Systems with Applications 203, 117215.
The authors' public repository has one number for each method, data set and measure, to three places, and the code that
made them. What is known from there:

- One hold-out of about 60 % of the rows for training, which is not published. So ranks are compared, not cells.
- Parameters were chosen in three folds of the training rows, by Hamming loss, within a limit of 12 hours.
- A pair that failed has the worst value of each measure; it is left out.
- The measures are scikit-learn's of that time: 0/0 counts as 0, but 1 in the accuracy (Jaccard) of two empty sets.
- The scores of most methods are cut at one threshold for all labels, where label sets are as large as in training. LP,
  CC and SSM have label sets of their own, and on most data sets a one-error of 0, which label sets cannot have: for
  one-error these methods are left out.

`read` takes the file of the repository (`index`, many columns of other facts, the 28 methods, `metric`), or a smaller
one with `dataset`, `measure` and the 28 methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from mlcdr.csv_files import read_csv
from mlcdr.errors import ResultsError, join_words, suggest_name
from mlcdr.metrics.names import METRICS, resolve
from mlcdr.results.failures import join_some
from mlcdr.tables.text_format import plain_word

TITLE = "Bogatinovski et al. 2022"

METHODS = (
    "MLkNN", "MLARM", "DEEP1", "PCT", "BPNN", "RFPCT", "MLTSVM", "DEEP4", "CLEMS", "EPS", "CDE", "LP", "BR", "HOMER",
    "Ada300", "RAkEL2", "CC", "CLR", "PSt", "TREMLC", "RFDTBR", "TREMLCnew", "MBR", "CDN", "ECCJ48", "EBRJ48", "SSM",
    "RSMLCC",
)  # fmt: skip
"""The study's names, as its files have them. Published as: Ada300 AdaBoost.MH, RSMLCC RSLP."""

PLACES = 3
"""Decimal places of the study's values."""

_OTHER_NAMES = {"langlog": "languagelog", "ng20": "20ng"}
"""The study's name of a data set → ours, where they differ in more than punctuation."""

_MOST_BYTES = 16_000_000
_COLUMNS = {"index": "dataset", "metric": "measure"}


@dataclass(frozen=True)
class Measure:
    """One of the study's measures, and the metric here that computes it.

    Attributes
    ----------
    name : str
        The study's name.
    metric : str
        The name of the metric here.
    options : dict
        Options of the metric that differ from its defaults.
    without : tuple of str
        Methods whose values cannot be right.
    """

    name: str
    metric: str
    options: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    @property
    def higher_is_better(self) -> bool:
        """The direction."""
        return bool(METRICS[self.metric].higher_is_better)

    def written(self) -> str:
        """The metric as a config has it."""
        options = ", ".join(f"{key}: {value}" for key, value in self.options.items())
        return f"{{{self.metric}: {{{options}}}}}" if options else self.metric


_ZERO = {"zero_division": 0}
MEASURES = {
    measure.name: measure
    for measure in (
        Measure("HAMMING_LOSS_example_based", "hamming_loss"),
        Measure("ACCURACY_example_based", "accuracy"),
        Measure("SUBSET_ACCURACY", "exact_match"),
        Measure("PRECISION_example_based", "precision", _ZERO),
        Measure("RECALL_example_based", "recall", _ZERO),
        Measure("F1_example_based", "f1", _ZERO),
        Measure("MACRO_PRECISION", "macro_precision"),
        Measure("MACRO_RECALL", "macro_recall"),
        Measure("MACRO_F1", "macro_f1"),
        Measure("MICRO_PRECISION", "micro_precision"),
        Measure("MICRO_RECALL", "micro_recall"),
        Measure("MICRO_F1", "micro_f1"),
        Measure("ONE_ERROR", "one_error", without=("LP", "CC", "SSM")),
        Measure("COVARAGE", "coverage", {"count": "labels"}),
        Measure("LABEL_RANKING_LOSS", "ranking_loss"),
        Measure("LABEL_RANKING_AVERAGE_PRECISION", "label_ranking_average_precision"),
        Measure("AUCROC_MICRO", "micro_auc"),
        Measure("AUPRC_MICRO", "micro_average_precision"),
    )
}
"""Every measure of the study, each of which is a metric here."""


def own_name(theirs: str) -> str:
    """The name that the catalogue has for a data set of the study; the study's own where the catalogue lacks it.

    Examples
    --------
    >>> own_name("langlog"), own_name("yeast")
    ('languagelog', 'yeast')
    """
    return _OTHER_NAMES.get(theirs, theirs)


def find_name(ours: str, names: Iterable[str]) -> str | None:
    """That one of the study's names which is this one by the catalogue's name and without case and punctuation.

    Examples
    --------
    >>> find_name("20NG", ["yeast", "ng20"]), find_name("ml-knn", METHODS), find_name("BR+", METHODS)
    ('ng20', 'MLkNN', None)
    """
    for name in names:
        if plain_word(own_name(name)) == plain_word(ours):
            return name
    return None


def find_measure(written: str) -> Measure:
    """The measure of a metric's name, or of the study's own name for it.

    Raises
    ------
    ResultsError
        There is none.
    """
    metric, _ = resolve(written)
    for measure in MEASURES.values():
        if measure.metric == metric or measure.name.casefold() == written.casefold():
            return measure
    known = [measure.metric for measure in MEASURES.values()]
    hint = suggest_name(written, [*known, *MEASURES])
    raise ResultsError(f"{TITLE} has no measure {written!r}{hint} (it has {', '.join(known)})")


def read(path: Path) -> pd.DataFrame:
    """The results of the study.

    Returns
    -------
    frame
        A row for each data set and measure (the index, by the study's names), a column for each method. A method that
        failed on a data set has NaN in all its rows.

    Raises
    ------
    ResultsError
        A file that cannot be read, or that is not of this form: the message has the line.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for line, row in _read_rows(path):
        dataset, measure = row["dataset"], row["measure"]
        where = f"{path}:{line}"
        if not (dataset and len(dataset) <= 100 and dataset.isprintable()):
            raise ResultsError(f"{where}: {dataset[:40]!r} is no name of a data set")
        if measure not in MEASURES:
            raise ResultsError(f"{where}: {measure[:60]!r} is no measure of {TITLE}{suggest_name(measure, MEASURES)}")
        if (dataset, measure) in found:
            raise ResultsError(f"{where}: {measure} of {dataset} stands there twice")
        found[dataset, measure] = [_number(row[method], measure, method, where) for method in METHODS]
    if not found:
        raise ResultsError(f"{path}: has no results")
    values = pd.DataFrame(list(found.values()), pd.MultiIndex.from_tuples(found), METHODS)
    for dataset in values.index.unique(0):
        absent = [name for name in MEASURES if (dataset, name) not in found]
        if absent:
            raise ResultsError(f"{path}: {dataset} lacks {join_words(absent)}")
    return _clear_failed(values)


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows, each with its line, by the names of the columns."""
    rows = read_csv(path, ResultsError, f"the results of {TITLE}", _MOST_BYTES)
    _, names = next(rows, (1, []))
    header = [_COLUMNS.get(name, name) for name in names]
    wrong = [name for name in ("dataset", "measure", *METHODS) if header.count(name) != 1]
    if wrong:
        what = join_some(wrong, 3)
        raise ResultsError(f"{path}:1: the header does not have the column {what} once; see `mlcdr datasets fetch`")
    for line, row in rows:
        yield line, dict(zip(header, row, strict=True))


def _number(written: str, measure: str, method: str, where: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    most = 1e6 if measure == "COVARAGE" else 1.0
    if not 0 <= value <= most:
        raise ResultsError(f"{where}: {method}: {written[:40]!r} is no {measure}, a number from 0 to {most:g}")
    return value


def _clear_failed(values: pd.DataFrame) -> pd.DataFrame:
    """The values without the methods of a data set of which all are the worst possible.

    The worst coverage is the number of labels, which is not known.
    """
    judged = values.drop(index="COVARAGE", level=1)
    worst = [0 if MEASURES[name].higher_is_better else 1 for _, name in judged.index]
    failed = judged.eq(worst, axis="index").groupby(level=0).all()
    return values.mask(failed.loc[values.index.get_level_values(0)].to_numpy())
