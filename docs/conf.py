"""The site (`make site`): Sphinx and MyST on the Markdown pages of this folder, as they are read on GitHub, too."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import mlcdr  # noqa: E402

REPOSITORY = "https://github.com/mlcdr/mlcdr"

project = "mlcdr"
author = copyright = "the mlcdr developers"
version = release = mlcdr.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
root_doc = "index"
exclude_patterns = ["_build", "README.md"]  # README.md is the contents on GitHub, index.md those of the site
templates_path = ["_templates"]
smartquotes = False  # two hyphens are an option's
html_theme = "furo"
html_title = f"mlcdr {release}"
html_static_path = ["_static", "../mlcdr/report/templates/report.js"]  # the report's script sorts tables here, too
html_css_files = ["site.css"]
html_js_files = [("report.js", {"defer": "defer"}), ("board.js", {"defer": "defer"})]
html_theme_options = {"source_repository": REPOSITORY, "top_of_page_buttons": []}
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
suppress_warnings = ["myst.header"]  # a docstring's sections are level 4 wherever they are
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_show_class_members = False
linkcheck_ignore = [rf"{REPOSITORY}/(security|blob|tree|edit|issues).*"]  # of a repository that may not be public yet

_SECTIONS = ("Parameters", "Attributes", "Raises", "Returns", "Yields", "See Also")


def adapt_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Change what GitHub and MyST read differently: anchors, links to them, and links to files outside this folder."""
    text = re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", source[0], flags=re.M)
    text = re.sub(rf"\]\((?:\w+\.md)?#((?:{'|'.join(_families())})-\w+)\)", r"](#\1)", text)
    folder = (DOCS / name).parent

    def lead(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        if target.is_relative_to(DOCS) and target.name != "generate.py":
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{target.relative_to(DOCS.parent).as_posix()}{match[2] or ''})"

    source[0] = re.sub(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)", lead, text)


def _families() -> list[str]:
    from mlcdr.methods import registry

    return list(registry.BUILT_IN)


def adapt_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make reStructuredText of a docstring, which is plain text: indented formulas are literal, `|` is itself."""
    result: list[str] = []
    section, base, literal = "", 0, False
    for k, line in enumerate(lines):
        underline = lines[k + 1].strip() if k + 1 < len(lines) else ""
        if re.fullmatch(r"-{3,}", underline) or re.fullmatch(r"-{3,}", line.strip()):
            section = line.strip() if re.fullmatch(r"-{3,}", underline) else section
            literal, base = False, 4 if section in _SECTIONS else 0
            result.append(line)
            continue
        indent = len(line) - len(line.lstrip())
        text = line.strip()
        if not text:
            result.append("")
            continue
        before = result[-1] if result else ""
        if not literal and indent >= base + 4 and not before and not text.startswith(">>>"):
            result += [" " * base + "::", ""]
            literal = True
        elif literal and indent < base + 4:
            literal = False
            if before:
                result.append("")
        result.append(line if literal or text.startswith(">>>") else " " * indent + _escape(text))
    lines[:] = result


def _escape(text: str) -> str:
    """A line of plain text with code between single backticks as reStructuredText."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", text)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = part if part.startswith("``") else f"`{part}`"
        else:
            own = part.replace("\\", "\\\\")
            bullet = re.match(r"[*] ", own)
            own = re.sub(r"([|*])", r"\\\1", own[2:] if bullet else own)
            parts[k] = ("* " if bullet else "") + re.sub(r"(?<=\w)_(?!\w)", r"\\_", own)
    # code that touches a letter is none for reStructuredText
    return re.sub(r"(``[^`]+``)(?=\w)", r"\1\\ ", re.sub(r"(?<=\w)(``[^`]+``)", r"\\ \1", "".join(parts)))


# What Furo and docutils leave out for those who use a keyboard or a screen reader.
_ACCESSIBLE = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    ('<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
    ('<th class="head"><p></p></th>', "<td></td>"),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('<div class="content-icon-container">', '<div class="content-icon-container" role="region" aria-label="Page">'),
    ('<header class="mobile-header">', '<header class="mobile-header" role="banner">'),
)


def make_accessible(app: Sphinx, error: Exception | None) -> None:
    """Amend the pages that were written."""
    for path in [] if error else Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found, better in _ACCESSIBLE:
            text = text.replace(found, better)
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the changes above, before numpydoc's own."""
    for name in ("arff", "csv"):
        app.add_lexer(name, TextLexer)
    app.connect("source-read", adapt_page)
    app.connect("build-finished", make_accessible)
    app.connect("autodoc-process-docstring", adapt_docstring, priority=100)
