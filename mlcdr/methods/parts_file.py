"""The file with the declarations of all built-in components, which `make docs` writes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

PARTS = Path(__file__).with_name("parts.json")


@cache
def read_definitions() -> dict[str, Any]:
    """The JSON Schema of each built-in component, by family and name: `learner.ridge`; none if there is no file yet."""
    if not PARTS.exists():
        return {}
    definitions: dict[str, Any] = json.loads(PARTS.read_bytes())["$defs"]
    return definitions
