"""Every test of this folder has its own cache and sees no data sets but its own and the embedded one."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MLCDR_DATASETS", raising=False)
    monkeypatch.delenv("MLCDR_MIRROR", raising=False)
