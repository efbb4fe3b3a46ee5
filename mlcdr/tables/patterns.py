"""The texts of a layout, with `{name}` for what a table puts in, and `$…$` for mathematics.

A layout may come from a stranger, and its mathematics goes into LaTeX as it is: so it is made of characters and
commands that only set formulas, and a `{name}` is replaced and never formatted.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from mlcdr.errors import escape_control_characters
from mlcdr.tables.escaping import escape_latex
from mlcdr.tables.sheet import Text

# What LaTeX and the figures know without a package.
_COMMANDS = """
    alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|varphi|chi
    |psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|mathrm|mathbf|mathit|mathcal|frac|sqrt|hat|bar|tilde
    |dot|vec|overline|times|cdot|pm|mp|div|ast|circ|leq|geq|ne|neq|approx|equiv|sim|propto|in|notin|subset|subseteq
    |cup|cap|to|rightarrow|leftarrow|mapsto|downarrow|uparrow|infty|top|bot|perp|ell|partial|nabla|sum|prod|int|ldots
    |cdots|dagger|ddagger|prime|star|log|ln|exp|min|max|arg|sin|cos|quad
"""
_NAME = re.compile(r"(?<!\\)\{(\w+)\}")
_LONGEST = 1000  # letters
_DEEPEST = 10  # braces within braces
_FORMULA = re.compile(
    rf"""(?:
        \\(?:{_COMMANDS})(?![A-Za-z])
        | \\[,;:!%_{{}}|\x20]
        | \^(?!\^)
        | [^\\%\#&~^\x00-\x1f]
    )*""",
    re.VERBOSE,
)


def template(pattern: str, **values: str) -> Text:
    """The text of a pattern that was checked, with its names replaced.

    Only the pattern's own dollar signs count, never those of a value.
    """
    plain = _NAME.sub(lambda name: values.get(name[1], name[0]), pattern.replace("$", ""))
    latex = ""
    for k, part in enumerate(pattern.split("$")):
        if k % 2:
            formula = _NAME.sub(lambda name: _in_formula(name, values), part)
            latex += f"${formula}$"
            continue
        latex += escape_latex(_NAME.sub(lambda name: values[name[1]], part))
    return Text(plain, latex)


def _in_formula(name: re.Match[str], values: dict[str, str]) -> str:
    """A value among mathematics; braces around anything else are LaTeX's."""
    return rf"\mbox{{{escape_latex(values[name[1]])}}}" if name[1] in values else name[0]


def check_formulas(text: str) -> str:
    """The text, where what stands between dollar signs only sets a formula.

    Raises
    ------
    ValueError
        When it has another command or character of LaTeX, or when a dollar sign or a brace has no partner.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"{len(text):,} letters; {_LONGEST:,} are taken")
    parts = text.split("$")
    if len(parts) % 2 == 0:
        raise ValueError("a dollar sign has no partner")
    for part in parts[1::2]:
        if not part.strip() or re.search(r"[_^]\s*(\}|$)", part):
            raise ValueError("nothing stands between two dollar signs, or after _ or ^")
        rest = _FORMULA.sub("", part, count=1)
        for strange in re.findall(r"\\[A-Za-z]+|\\.|\^\^|.", rest, re.DOTALL):
            raise ValueError(f"{escape_control_characters(strange)} is not known in mathematics")
        _check_braces(part)
    return text


def _check_braces(formula: str) -> None:
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", formula):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} braces within each other")
    if depth:
        raise ValueError("a brace has no partner")


def check_names(text: str, known: tuple[str, ...]) -> str:
    """A pattern in which all that stands in braces, but for mathematics, is the name of something known.

    Raises
    ------
    ValueError
    """
    text = check_formulas(" ".join(text.split()))
    for part in text.split("$")[::2]:
        for name in _NAME.findall(part):
            if name not in known:
                raise ValueError(f"{{{name}}} is unknown (known: {_list(known)})")
        if re.search("[{}]", _NAME.sub("", part)):
            raise ValueError(f"a brace that is not part of a name (known: {_list(known)})")
    return text


def _list(known: tuple[str, ...]) -> str:
    return ", ".join(f"{{{name}}}" for name in known) or "none"


def naming(*known: str) -> AfterValidator:
    """What checks a pattern that may have these names."""
    return AfterValidator(lambda text: check_names(text, known))


Formulas = Annotated[str, AfterValidator(check_formulas)]
"""A text of a figure, with mathematics."""
