"""Text that tables, comparisons, figures and the report share: numbers with their spread, and names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mlcdr.errors import escape_control_characters, plural
from mlcdr.tables.escaping import escape_latex
from mlcdr.tables.sheet import DASH, Text

if TYPE_CHECKING:
    import pandas as pd

SPREADS = {"standard_error": "standard error", "std": "standard deviation"}
"""What a layout calls a spread → what people call it."""
SPREAD_COLUMNS = {"standard_error": ["se"], "std": ["std"], "none": []}
"""What a layout calls a spread → the columns of a summary that have it."""

_MOST = 5  # values of a tuned parameter that are shown


def shorten_name(name: str, longest: int = 40) -> str:
    """A name as a picture shows it: without control characters, and cut off where it is long."""
    name = escape_control_characters(name[: longest + 1])
    return name if len(name) <= longest else name[: longest - 1] + "…"


def number(value: float) -> str:
    """A number in full, empty if it is NaN."""
    return "" if math.isnan(value) else repr(float(value))


def as_texts(frame: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """The rows of a frame as texts; numbers in full, and empty where they are not known."""
    shown = frame.astype(object)
    for name in frame.select_dtypes("float"):
        shown[name] = frame[name].map(number)
    return tuple(shown.astype(str).itertuples(index=False, name=None))


def format_mean(mean: float, spread: float | None, digits: int, bold: bool = False, raised: str = "") -> Text:
    """`0.2069 ± 0.0008`; an unknown spread (NaN) is a dash, and None leaves it out. `raised`: a superscript."""
    plain = latex = f"{mean:.{digits}f}"
    if spread is not None:
        known = not math.isnan(spread)
        plain += f" ± {spread:.{digits}f}" if known else f" ± {DASH}"
        latex += rf" \pm {spread:.{digits}f}" if known else r" \pm \mbox{--}"
    if raised:
        plain += f" {raised}"
        latex += rf"^{{\mbox{{\scriptsize {escape_latex(raised)}}}}}"
    return Text(plain, f"${latex}$", bold)


def describe_splits(counts: Iterable[int]) -> str:
    """`over 100 splits`, or `over 98 to 100 splits`."""
    found = set(counts)
    low, high = min(found), max(found)
    return f"over {plural(high, 'split')}" if low == high else f"over {low} to {high} splits"


def count_values(values: pd.Series) -> str:
    """`1 (2), 0.1 (1)`: how often each value of a tuned parameter was chosen, the most frequent first."""
    counts = values.value_counts()
    shown = [f"{value} ({n})" for value, n in counts.head(_MOST).items()]
    more = f" and {len(counts) - _MOST} more" if len(counts) > _MOST else ""
    return ", ".join(shown) + more


def shorten_path(path: str, swept: Sequence[str]) -> str:
    """A swept path's last name, if no other swept path ends in it."""
    last = path.split(".")[-1]
    same = [other for other in swept if other.split(".")[-1] == last]
    return path if len(same) > 1 else last


def shorten_paths(swept: Sequence[str]) -> list[str]:
    """The short names of all swept paths."""
    return [shorten_path(path, swept) for path in swept]


def say_where(point: Sequence[str], swept: Sequence[str]) -> str:
    """` at n_components = 20%`: the values of the swept paths, but for those that are empty; nothing without any."""
    named = zip(shorten_paths(swept), point, strict=True)
    values = [f"{path} = {value}" for path, value in named if value]
    return f" at {', '.join(values)}" if values else ""


def plain_word(name: str) -> str:
    """A name of a data set or a method without case and punctuation, but for `+`: BR+ is not BR."""
    return re.sub(r"[^\w+]|_", "", name.casefold())
