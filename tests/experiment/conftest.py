"""Tests of this folder can name the classes of `plugged` as an experiment names those in the user's own folder."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
