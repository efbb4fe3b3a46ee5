"""Text as LaTeX and Markdown show it literally."""

from __future__ import annotations

import re

from mlcdr.errors import escape_control_characters

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",  # the straight quote is not in LaTeX's default encoding
    "–": "--",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "Σ": r"$\Sigma$",
    "‖": r"$\|$",
    "²": r"$^2$",
    "χ": r"$\chi$",
    "α": r"$\alpha$",
    "∞": r"$\infty$",
    "ᵀ": r"$^{\top}$",
}


# `_` within a word marks no emphasis; `&` begins an entity, and the last ones a block where they begin a line.
_MARKDOWN = re.compile(r"[\\|*<`\[\]~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|^[>=]|^[#+-](?=[\s#-])")


def escape_latex(text: str) -> str:
    """`text` as LaTeX shows it literally (pdflatex, no package beyond the kernel's own)."""
    return "".join(_LATEX.get(character, character) for character in escape_control_characters(text))


def guard_line(latex: str) -> str:
    r"""LaTeX for the beginning of a line; `[` and `*` there would be read as an argument of the `\\` before them."""
    return "{}" + latex if latex.lstrip().startswith(("[", "*")) else latex


def escape_markdown(text: str) -> str:
    """`text` as Markdown shows it literally inside a table cell or a paragraph."""
    return _MARKDOWN.sub(r"\\\g<0>", escape_control_characters(text))
