"""The manifest of a results folder: versions, machine, seeds, checksums and timings of its runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlcdr.errors import ResultsError


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a results folder.

    Raises
    ------
    ResultsError
        When there is none, or it is broken.
    """
    try:
        content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultsError(f"{folder / 'manifest.json'}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise ResultsError(f"{folder / 'manifest.json'}: not a manifest")
    return content
