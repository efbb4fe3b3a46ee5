"""What counts in a source text: the code, without the words around it."""

from __future__ import annotations

import tokenize
from functools import cache
from io import StringIO
from tokenize import COMMENT, DEDENT, INDENT, NEWLINE, NL, STRING

_BETWEEN_STATEMENTS = {NEWLINE, INDENT, DEDENT}


@cache  # most modules are those of every method
def code_of_text(source: str) -> bytes:
    """A module's source without comments, blank lines, and strings that stand alone, such as docstrings.

    They change no result, so a result that was computed before such a change need not be computed again.

    Raises
    ------
    SyntaxError, tokenize.TokenError
        When the text is not Python.
    """
    tokens = list(tokenize.generate_tokens(StringIO(source).readline))
    words = [each for each in tokens if each.type == COMMENT]
    code = [each for each in tokens if each.type not in (COMMENT, NL)]
    for before, token, after in zip([None, *code], code, code[1:], strict=False):
        starts = before is None or before.type in _BETWEEN_STATEMENTS
        if token.type == STRING and starts and after.type == NEWLINE:
            words.append(token)
    lines: list[str | None] = [*source.removesuffix("\n").split("\n")]
    for (first, start), (last, end) in sorted(((each.start, each.end) for each in words), reverse=True):
        joined = f"{lines[first - 1]}"[:start] + f"{lines[last - 1]}"[end:]
        lines[first - 1 : last] = [*[None] * (last - first), joined]
    for number in {each.start[0] for each in tokens if each.type in (NEWLINE, NL)}:  # the line does not end in a string
        lines[number - 1] = (lines[number - 1] or "").rstrip() or None
    return "\n".join(line for line in lines if line is not None).encode()
