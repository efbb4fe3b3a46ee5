"""The JSON Schema of experiment files, for editors: `make docs` writes it, with the names that mlcdr has itself."""

import json
from pathlib import Path
from typing import Any

from mlcdr.methods import registry

SCHEMA = Path(__file__).with_name("schema.json")


def read_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the YAML file, short forms and all; of plug-ins it has the names."""
    schema: dict[str, Any] = json.loads(SCHEMA.read_bytes())
    for family in registry.BUILT_IN:
        named, _, with_parameters, _ = schema["$defs"][family]["anyOf"]
        named["enum"] = registry.names(family)
        for name in named["enum"]:
            with_parameters["properties"].setdefault(name, {})
    return schema
