"""How a number is judged against a published one: `published/PAPER/TABLE.yaml`, next to the table's CSV.

`mlcdr verify` judges the cells of any paper in the same way. All keys are optional:

    spread: standard_error     # of both numbers, over splits; or `repetitions`, or `printed`: see below
    std: standard_deviation    # what the table calls a standard deviation is one; or `standard_error`: it is over √n
    max_z: 3                   # how large a z agrees
    settings: conditions       # the settings of the CSV are where to look; `results`: they are what was best
    tolerance: 0.0005          # a difference no larger than this agrees, whatever its z
    metrics: {}                # what the CSV calls a metric → what we do
    datasets: {}               # what the CSV calls a data set → what we do
    methods: {}                # what the CSV calls a method → what we do
    not_reproducible:          # cells that are shown but not judged
      - {datasets: […], methods: […], metrics: […], why: …}     # a key left out means all

`spread: printed` is for tables that print a standard deviation over the splits: z is the difference over this standard
deviation.

`spread: repetitions` is for tables without a spread, whose every number is one run of a protocol: z is then the
difference over the standard deviation of our repetitions of it. With fewer than five repetitions this deviation is
unreliable, and z is over the standard error of the mean over splits instead, which for k folds is larger: about twice,
as we measured.

The verdicts. `difference` is ours − published, `z` = difference / √(se² + published se²). A cell *agrees* if |z| ≤ 3 or
|difference| ≤ 0.0005, else it *differs*. Where a standard error is missing on either side there is no z: within the
tolerance the cell agrees, beyond it it is *undecided*. A cell that the results lack is *not run*; one that the paper
does not give, or that cannot be read, is *n/a*. Cells that are known to be *not reproducible* are shown, not judged.

Three things limit what this can show:

- A printed number is rounded: the mean is known to half a unit of its last place, and so is the difference. Nothing
  is shown to more places than the paper prints.
- A standard error printed as 0.0000 only says that it is below 0.00005. It is taken as half of that, 0.000025: the
  middle of what it can be.
- A printed standard deviation becomes a standard error by √n with *our* number of splits, since
  the papers' tables do not give theirs; this is right if the protocol is the same.

The cells of a data set come from the same splits, ours as theirs, so their z move together: ten cells at −2 are one
deviation, not ten.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from mlcdr.experiment.model import AnyNumber
from mlcdr.experiment.problems import Strict
from mlcdr.experiment.yaml_reader import read_yaml_text
from mlcdr.papers.printed import FOLDER, KEY, n_places, read_numbers

Verdict = Literal["agrees", "differs", "undecided", "not reproducible", "not run", "n/a"]

FEWEST = 5
"""Repetitions below which their standard deviation is not used."""

_OF_FEW = f"fewer than {FEWEST}: standard errors over splits"
_ROUNDING = 1e-9  # so that a difference of exactly the tolerance is within it


_NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class NotReproducible(Strict):
    """Cells of a published table that no reading of the paper gives, and why."""

    why: str
    datasets: AnyNumber[str] = ()
    methods: AnyNumber[str] = ()
    metrics: AnyNumber[str] = ()

    def covers(self, dataset: str, method: str, metric: str) -> bool:
        """Whether a cell is one of them."""
        return (
            dataset in (self.datasets or [dataset])
            and method in (self.methods or [method])
            and metric in (self.metrics or [metric])
        )


class Rules(Strict):
    """The rules for one table; the module's docstring explains each key."""

    spread: Literal["standard_error", "repetitions", "printed"] = "standard_error"
    std: Literal["standard_deviation", "standard_error"] = "standard_deviation"
    max_z: _NotNegative = 3.0
    settings: Literal["conditions", "results"] = "conditions"
    tolerance: _NotNegative = 0.0005
    metrics: dict[str, str] = Field(default_factory=dict)
    datasets: dict[str, str] = Field(default_factory=dict)
    methods: dict[str, str] = Field(default_factory=dict)
    not_reproducible: AnyNumber[NotReproducible] = ()

    def describe_limit(self) -> str:
        """How near a number must be to agree: `3 standard errors of the difference or 0.0005`."""
        s = "" if self.max_z == 1 else "s"
        unit = {
            "standard_error": f"standard error{s} of the difference",
            "printed": f"printed standard deviation{s}",
            "repetitions": f"standard deviation{s} of our repetitions ({_OF_FEW})",
        }[self.spread]
        return f"{self.max_z:g} {unit} or {self.tolerance:g}"

    def why_not(self, cells: pd.DataFrame) -> list[str]:
        """For each cell why it is not reproducible; empty if it is."""
        reasons = []
        for cell in cells.itertuples():
            found = [each.why for each in self.not_reproducible if each.covers(cell.dataset, cell.method, cell.metric)]
            reasons.append(found[0] if found else "")
        return reasons


def rules_for(table: str) -> Rules:
    """The rules of a packaged table, `PAPER/TABLE`."""
    path = FOLDER / f"{table}.yaml"
    if not path.is_file():
        return Rules()
    content: Any = read_yaml_text(path.read_text(encoding="utf-8"), f"published {table}.yaml").data
    return Rules.model_validate(content)


def judge(cells: pd.DataFrame, ours: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Printed cells, each with our number and a verdict.

    Parameters
    ----------
    cells : frame
        Of `printed.read_cells`.
    ours : frame
        A row for each cell: `mean`, `se` (the standard error, or what the rules have in its place), `n` (how many
        splits the mean is over; 0 where there is none), and `at` (the point of a grid that it is of, a text).
    rules : Rules

    Returns
    -------
    frame
        The columns dataset, method, setting, metric, verdict, ours, se, n, published, spread (both as printed),
        spread_kind, published_se, difference, z, at. What is not known is NaN.
    """
    judged = cells[KEY].copy()
    judged["ours"] = ours["mean"].to_numpy(float)
    judged["se"] = ours["se"].to_numpy(float)
    judged["n"] = ours["n"].to_numpy(int)
    judged["at"] = ours["at"].to_numpy(object)
    judged["published"] = cells["mean"]
    judged[["spread", "spread_kind"]] = cells[["spread", "spread_kind"]]
    judged["published_se"] = published_errors(judged, rules)
    judged["difference"] = judged["ours"] - read_numbers(judged["published"])
    unit = {
        "standard_error": np.hypot(judged["se"], judged["published_se"]),
        "repetitions": judged["se"],
        "printed": judged["spread"].map(_deviation).astype(float),
    }[rules.spread]
    judged["z"] = judged["difference"] / unit.where(unit > 0)
    judged["verdict"] = _give_verdicts(judged, rules)
    return judged


def _give_verdicts(judged: pd.DataFrame, rules: Rules) -> np.ndarray:
    tolerated = judged["difference"].abs() <= rules.tolerance + _ROUNDING
    within = tolerated | (judged["z"].abs() <= rules.max_z)
    in_turn: dict[Verdict, Any] = {
        "not run": (judged["n"] == 0) & (judged["published"] != ""),
        "n/a": judged["difference"].isna(),
        "not reproducible": np.array(rules.why_not(judged), dtype=object) != "",
        "agrees": within,
        "undecided": judged["z"].isna(),
    }
    return np.select(list(in_turn.values()), list(in_turn), "differs")


def published_errors(judged: pd.DataFrame, rules: Rules) -> pd.Series:
    """The printed spreads as standard errors over our numbers of splits; NaN where there is none."""
    errors = []
    for cell in judged.itertuples():
        error = _deviation(cell.spread) if cell.spread_kind in ("standard_error", "std") else math.nan
        if cell.spread_kind == "std" and rules.std == "standard_deviation":
            error = error / math.sqrt(cell.n) if cell.n else math.nan
        errors.append(error)
    return pd.Series(errors, judged.index, dtype=float)


def _deviation(spread: str) -> float:
    """A printed spread, of which 0 stands for a quarter of its last digit; NaN where none is printed."""
    if not spread:
        return math.nan
    last_digit = 10.0 ** -n_places(spread)
    return float(spread) or 0.25 * last_digit
