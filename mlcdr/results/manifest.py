"""The manifest of a results folder: versions, machine, seeds, checksums and timings of its runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlcdr.errors import ResultsError
from mlcdr.whole_files import is_own_file

_DEEPEST = 32  # levels


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a results folder.

    Raises
    ------
    ResultsError
        When there is none, or it is broken.
    """
    path = folder / "manifest.json"
    try:
        is_own_file(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(content, ensure_ascii=False).encode()  # JSON can spell half a character, which no file can hold
        shallow = _depth(content) <= _DEEPEST
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}") from None
    except RecursionError:
        shallow = False
    if not shallow:
        raise ResultsError(f"{path}: cannot be read: nested more than {_DEEPEST} levels deep")
    if not isinstance(content, dict):
        raise ResultsError(f"{path}: not a manifest")
    for key in ("datasets", "trials", "packages", "kept"):
        if not isinstance(content.get(key, {}), dict):
            raise ResultsError(f"{path}: {key}: should be a mapping")
    runs = content.get("computed_by", [])
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise ResultsError(f"{path}: computed_by: should be a list of mappings")
    return content


def _depth(content: Any) -> int:
    """How many mappings and lists are nested in one another."""
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else None
    return 0 if parts is None else 1 + max(map(_depth, parts), default=0)
