"""Pages of Markdown with examples in Python: their blocks of `>>>` are run, and compared with what they show.

A block of ```python whose first line is `# NAME.py` is written to that file; the others are one session.
`python -m tools.python_pages` puts the output of now into the pages.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import tempfile
import traceback
from pathlib import Path
from typing import Any

from tools.pages import DOCS, working_in

PAGES = (DOCS / "python.md",)
_BLOCK = re.compile(r"^```python\n(?P<body>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"# ([\w/-]+\.py)\n")


def run(body: str, names: dict[str, Any]) -> str:
    """A block with the output of now."""
    lines = []
    for example in doctest.DocTestParser().get_examples(body):
        prompts = example.source.rstrip("\n").split("\n")
        lines += [f"{'...' if k else '>>>'} {line}".rstrip() for k, line in enumerate(prompts)]
        shown = io.StringIO()
        try:
            with contextlib.redirect_stdout(shown):
                exec(compile(example.source, "<page>", "single"), names)
        except Exception as error:
            last = traceback.format_exception_only(error)[-1].rstrip()
            lines += ["Traceback (most recent call last):", "    ...", last]
        lines += shown.getvalue().rstrip("\n").split("\n") if shown.getvalue() else []
    return "\n".join(line.rstrip() for line in lines) + "\n"


def renewed(page: Path, folder: Path) -> str:
    """The page with the output of now."""
    names: dict[str, Any] = {"__name__": "__page__"}

    def block(match: re.Match[str]) -> str:
        named = _FILE.match(match["body"])
        if not named:
            return f"```python\n{run(match['body'], names)}```"
        (folder / named[1]).write_text(match["body"], encoding="utf-8")
        return match[0]

    with working_in(folder):
        return _BLOCK.sub(block, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    for each in PAGES:
        with tempfile.TemporaryDirectory() as name:
            each.write_text(renewed(each, Path(name)), encoding="utf-8")
        print(each)
