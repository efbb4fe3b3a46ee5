"""What metrics of other programs are called here: the table `elsewhere.csv`, which the page of metrics shows, too.

A row has the name of a metric here, the names that each program has for it, separated by `; `, and where conventions
differ. `1 - NAME` is one less the other program's value, `NAME {option: value}` needs this option here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("elsewhere.csv")

_NAME = re.compile(r"(?P<less>1 - )?(?P<name>.+?)(?: \{(?P<option>\w+): (?P<value>\w+)\})?")


@dataclass(frozen=True)
class Counterpart:
    """The metric here that another program's metric is.

    Attributes
    ----------
    metric : str
        Its name.
    options : dict
        Options that it must have.
    is_complement : bool
        Whether it is one less the other program's value.
    convention : str
        Where the two may differ; empty where they do not.
    """

    metric: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_complement: bool = False
    convention: str = ""


def simplified(name: str) -> str:
    """A name without case, blanks and punctuation, by which names are compared."""
    return re.sub(r"[^\w/]|_", "", name.casefold())


@cache
def counterparts(program: str) -> dict[str, Counterpart]:
    """Each metric of a program that is one here, by its `simplified` name; `program` is the head of a column.

    Examples
    --------
    >>> counterparts("MEKA")[simplified("Jaccard distance")].metric
    'accuracy'
    """
    found = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            metric = row["here"]
            if metric in ("none", "by_label"):
                continue
            for written in filter(None, row[program].split("; ")):
                parts = _NAME.fullmatch(written)
                assert parts is not None, written
                options = {parts["option"]: parts["value"]} if parts["option"] else {}
                convention = row["convention or why not"]
                found[simplified(parts["name"])] = Counterpart(metric, options, bool(parts["less"]), convention)
    return found
