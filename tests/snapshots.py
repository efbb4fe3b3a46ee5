"""Texts that are compared with files in `golden`; `make golden` (MLCDR_RENEW_GOLDEN=1) writes those of now."""

import os
import re
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
RENEWING = bool(os.environ.get("MLCDR_RENEW_GOLDEN"))


def check(name, text):
    """Assert that a text is that of `golden/NAME`."""
    path = GOLDEN / name
    if RENEWING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    assert path.is_file(), f"no tests/golden/{name}: look at it after `make golden`"
    stored = path.read_text(encoding="utf-8")
    assert _shortened(text) == _shortened(stored), f"not golden/{name}; is the change meant? `make golden` renews it"


def _shortened(text):
    """Numbers to twelve digits: beyond that the packages' versions differ."""
    return re.sub(r"\d\.\d{13,}", lambda match: f"{float(match[0]):.12g}", text)
