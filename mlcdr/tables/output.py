"""How tables and figures are written: their file names, and each file whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mlcdr.experiment.model import LayoutSpec
from mlcdr.tables import layouts
from mlcdr.whole_files import write_atomically


def stems(asked: Sequence[LayoutSpec]) -> list[str]:
    """A file stem for each entry: the layout's, with the metric where the layout comes twice, then a number."""
    plain = [layouts.stem(entry.layout) for entry in asked]
    longer = [
        f"{stem}_{layouts.file_name(entry.metric)}" if plain.count(stem) > 1 and entry.metric else stem
        for stem, entry in zip(plain, asked, strict=True)
    ]
    return [f"{s}_{longer[: k + 1].count(s)}" if longer.count(s) > 1 else s for k, s in enumerate(longer)]


def write(stem: Path, contents: Mapping[str, bytes | str]) -> list[Path]:
    """Write `stem`.ENDING for each ending; a reader finds the old file or the new one, never a part.

    Raises
    ------
    ResultsError
        When a file, or its folder, cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_atomically(path, content)
    return paths
