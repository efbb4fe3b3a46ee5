"""What tables and figures share when they are written: which are asked for, under which names, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from mlcdr.results.results import Results
from mlcdr.tables import layouts
from mlcdr.whole_files import write_whole


def entries(results: Results, key: Literal["tables", "figures"]) -> list[dict[str, Any]]:
    """The entries of `tables:` or `figures:` of the experiment; the generic table where it asks for no table."""
    asked = results.experiment.get(key) or (["generic"] if key == "tables" else [])
    return [dict(entry) if isinstance(entry, Mapping) else {"layout": entry} for entry in asked]


def stems(asked: Sequence[Mapping[str, Any]]) -> list[str]:
    """A file stem for each entry: the layout's, with the metric where the layout comes twice, then a number."""
    plain = [layouts.stem(entry) for entry in asked]
    longer = [
        f"{stem}_{layouts.file_name(entry['metric'])}" if plain.count(stem) > 1 and entry.get("metric") else stem
        for stem, entry in zip(plain, asked, strict=True)
    ]
    return [f"{s}_{longer[: k + 1].count(s)}" if longer.count(s) > 1 else s for k, s in enumerate(longer)]


def write(stem: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write `stem`.ENDING for each ending; a reader finds the old file or the new one, never a part.

    Raises
    ------
    ResultsError
        When a file, or its folder, cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_whole(path, content)
    return paths
