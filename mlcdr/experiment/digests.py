"""What tells one computation from another: digests of what goes into it, and of the program that does it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_EVALUATING = ("experiment/data_source.py", "experiment/families.py", "experiment/estimators.py", "run/computing.py")
_TUNING = ("run/choose.py", "run/choose_kernel.py", "experiment/tune.py", "numerics/held_out.py")


def _of_files(names: Sequence[str]) -> str:
    here = Path(__file__).parents[1]
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in names)).hexdigest()[:16]


# How a trial is computed is a part of what its scores depend on.
EVALUATION, TUNING = _of_files(_EVALUATING), _of_files(_TUNING)
PROGRAM = _of_files(
    (*_EVALUATING, *_TUNING, "experiment/trials.py")
)  # to tell whether another process would compute alike


def digest(content: Any) -> str:
    """That of plain values; the order of a mapping's keys does not count."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
