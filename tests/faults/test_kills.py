"""Runs and writers killed at random moments; `make torture` does so more often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import harness

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@pytest.mark.parametrize("number", [pytest.param(3, id="few"), pytest.param(25, id="many", marks=pytest.mark.slow)])
def test_runs_killed_at_random_moments(tmp_path: Path, number: int) -> None:
    harness.prepare(tmp_path)
    tally = harness.kill_runs(tmp_path, number, seed=1)
    assert sum(tally[kind] for kind in harness.KINDS) == number
    assert tally["trials kept"] > 0 or number < 25  # few kills may all come before anything is recorded
    assert tally["ends"] > 0


@pytest.mark.parametrize("number", [pytest.param(20, id="few"), pytest.param(300, id="many", marks=pytest.mark.slow)])
def test_writers_killed_at_random_moments(tmp_path: Path, number: int) -> None:
    tally = harness.kill_writers(tmp_path, number, seed=1)
    assert tally["writers"] == number
    assert tally["groups recorded"] > number / 3
