"""Runs and writers killed at random moments; `make torture` does so more often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import harness

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


def test_runs_killed_at_random_moments(tmp_path: Path) -> None:
    harness.prepare(tmp_path)
    tally = harness.kill_runs(tmp_path, 25, seed=1)
    assert sum(tally[kind] for kind in harness.KINDS) == 25
    assert tally["trials kept"] > 0
    assert tally["ends"] > 0


def test_writers_killed_at_random_moments(tmp_path: Path) -> None:
    tally = harness.kill_writers(tmp_path, 300, seed=1)
    assert tally["writers"] == 300
    assert tally["groups recorded"] > 100
