"""How wide the terminal is, and what is shown in it and in a notebook."""

from __future__ import annotations

import html
import shutil


def terminal_width() -> int:
    """How wide the terminal is (or `COLUMNS`; else 100); 60 at least."""
    return max(shutil.get_terminal_size((100, 24)).columns, 60)


class Shown:
    """What a notebook shows as HTML, and `print` as text."""

    def terminal(self, width: int = 80, colour: bool = False) -> str:
        """For a terminal of `width` characters."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.terminal(terminal_width())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.terminal(120))}</pre>"
