"""What a notebook shows beside single tables and figures: several of them in a row, and the page of all results."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mlcdr.tables.sheet import ShownSheet
from mlcdr.tables.shown import Shown

if TYPE_CHECKING:
    import pandas as pd

_Item = TypeVar("_Item", bound=Shown)


class Several(Shown, tuple[_Item, ...]):
    """Several tables, figures or comparisons in a row; a notebook and `print` show all of them."""

    _stems: Sequence[str]

    def __new__(cls, items: Iterable[_Item], stems: Sequence[str] = ()) -> Several[_Item]:  # noqa: D102
        made = super().__new__(cls, items)
        made._stems = stems
        return made

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """All of them for a terminal of `width` characters."""
        return "\n".join(item.terminal(width, colour) for item in self)

    def markdown(self) -> str:
        """All tables as Markdown; figures have none."""
        return "\n".join(table.markdown() for table in self._tables())

    def latex(self) -> str:
        """All tables as LaTeX; figures have none."""
        return "\n".join(table.latex() for table in self._tables())

    def frame(self) -> pd.DataFrame:
        """The plain data of all tables, below one another; figures have none."""
        import pandas as pd

        frames = [table.frame() for table in self._tables()]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _tables(self) -> list[ShownSheet]:
        return [item for item in self if isinstance(item, ShownSheet)]

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write each of them as files into a folder; returns the files.

        Raises
        ------
        ResultsError
            When a file cannot be written.
        """
        written: list[Path] = []
        for k, item in enumerate(self):
            stem = self._stems[k] if self._stems else getattr(item, "stem", "")  # a comparison names its own files
            written += item.write(Path(folder) / stem)  # type: ignore[attr-defined]
        return written

    def _repr_html_(self) -> str:
        return "\n".join(item._repr_html_() for item in self)


class Page(Shown):
    """The HTML page of all results; a notebook shows it in a frame.

    Attributes
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path):
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """Where the page is."""
        return str(self.path)

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" title="report" style="width: 100%; height: 80vh; border: 0"></iframe>'
