"""Tables of text: what is written, and how the line begins that tells what is wrong with it."""

from pathlib import Path

import pytest


def records(name: str) -> list:
    """The records of `NAME.txt`, each two lines, with an empty line after it."""
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").strip()
    pairs = [record.split("\n") for record in text.split("\n\n")]
    return [pytest.param(*pair, id=pair[0]) for pair in pairs]
