"""How a number is judged against a published one: `published/PAPER/TABLE.yaml`, next to the table's CSV.

All keys are optional:

    spread: standard_error     # of both numbers, over splits; or `repetitions`, or `printed`: see below
    std: standard_deviation    # what the table calls a standard deviation is one; or `standard_error`: it is over √n
    max_z: 3                   # how large a z agrees
    settings: conditions       # the settings of the CSV are where to look; `results`: they are what was best
    tolerance: 0.0005          # a difference no larger than this agrees, whatever its z
    metrics: {}                # what the CSV calls a metric → what we do
    datasets: {}               # what the CSV calls a data set → what we do
    not_reproducible:          # cells that are shown but not judged
      - {datasets: […], methods: […], metrics: […], why: …}     # a key left out means all

`spread: printed` is for tables that print a standard deviation over the splits: z is the difference over this standard
deviation.

`spread: repetitions` is for tables without a spread, whose every number is one run of a protocol: z is then the
difference over the standard deviation of our repetitions of it. With fewer than five repetitions this deviation is
unreliable, and z is over the standard error of the mean over splits instead, which for k folds is larger: about twice,
as we measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from mlcdr.config.yaml_reader import read_yaml_text

FOLDER = Path(__file__).parent / "published"
"""The published tables, each with its rules."""

FEWEST = 5
"""Repetitions below which their standard deviation is not used."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NotReproducible(_Strict):
    """Cells of a published table that no reading of the paper gives, and why."""

    why: str
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def covers(self, dataset: str, method: str, metric: str) -> bool:
        """Whether a cell is one of them."""
        wanted = ((self.datasets, dataset), (self.methods, method), (self.metrics, metric))
        return all(not names or name in names for names, name in wanted)


class Rules(_Strict):
    """The rules for one table; the module's docstring explains each key."""

    spread: Literal["standard_error", "repetitions", "printed"] = "standard_error"
    std: Literal["standard_deviation", "standard_error"] = "standard_deviation"
    max_z: float = 3.0
    settings: Literal["conditions", "results"] = "conditions"
    tolerance: float = 0.0005
    metrics: dict[str, str] = {}
    datasets: dict[str, str] = {}
    not_reproducible: tuple[NotReproducible, ...] = ()

    def describe_limit(self) -> str:
        """How near a number must be to agree: `3 standard errors of the difference or 0.0005`."""
        s = "" if self.max_z == 1 else "s"
        few = f"fewer than {FEWEST}: standard errors over splits"
        unit = {
            "standard_error": f"standard error{s} of the difference",
            "printed": f"printed standard deviation{s}",
            "repetitions": f"standard deviation{s} of our repetitions ({few})",
        }[self.spread]
        return f"{self.max_z:g} {unit} or {self.tolerance:g}"

    def why_not(self, dataset: str, method: str, metric: str) -> str:
        """Why a cell is not reproducible; empty if it is."""
        found = (each.why for each in self.not_reproducible if each.covers(dataset, method, metric))
        return next(found, "")


def rules_for(table: str) -> Rules:
    """The rules of a packaged table, `PAPER/TABLE`."""
    path = FOLDER / f"{table}.yaml"
    if not path.is_file():
        return Rules()
    content: Any = read_yaml_text(path.read_text(encoding="utf-8"), f"published {table}.yaml").data
    return Rules.model_validate(content)
