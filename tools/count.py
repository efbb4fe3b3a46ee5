"""Counts the package's code by room: lines, tokens and their ratio, without docstrings, comments and blank lines.

python -m tools.count
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "mlcdr"
CORE = ("methods", "numerics", "metrics")
"""What the project is for; all other rooms are the machinery around it."""

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass
class Count:
    """The tokens, the lines that hold code and the lines with a comment of one or more files."""

    tokens: int = 0
    lines: int = 0
    comments: int = 0

    def add(self, other: Count) -> None:
        """Add what was counted elsewhere."""
        self.tokens += other.tokens
        self.lines += other.lines
        self.comments += other.comments

    def row(self, name: str) -> str:
        """A row of the table that `main` prints."""
        lines = max(self.lines, 1)
        return f"{name:16} {self.tokens:9,} {self.lines:8,} {self.tokens / lines:8.1f} {self.comments / lines:10.3f}"


def count(text: str) -> tuple[Count, set[int]]:
    """What is counted in a module's text, and the numbers of the lines that hold code."""
    words = _docstring_lines(ast.parse(text))
    found = Count()
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.comments += 1
        if token.type in _NO_CODE or token.start[0] in words:
            continue
        found.tokens += 1
        lines.update(range(token.start[0], token.end[0] + 1))
    found.lines = len(lines)
    return found, lines


def _docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of strings that stand alone."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def main() -> None:
    """Print the counts."""
    rooms: dict[str, Count] = defaultdict(Count)
    longest: dict[str, list[tuple[int, str]]] = {"file": [], "class": [], "function": []}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(PACKAGE).as_posix()
        found, lines = count(text)
        room = name.split("/")[0] if "/" in name else "(top)"
        rooms[room].add(found)
        longest["file"].append((found.lines, name))
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef):
                continue
            own = lines.intersection(range(node.lineno, (node.end_lineno or 0) + 1))
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            longest[kind].append((len(own), f"{node.name} ({name})"))
    sums = {"machinery": Count(), "in all": Count()}
    print(f"{'room':16} {'tokens':>9} {'lines':>8} {'tokens/line':>8} {'comments':>8}")
    for room in sorted(rooms, key=lambda each: -rooms[each].tokens):
        print(rooms[room].row(room))
        sums["in all"].add(rooms[room])
        if room not in CORE:
            sums["machinery"].add(rooms[room])
    for name, total in sums.items():
        print(total.row(name))
    for kind, found_lines in longest.items():
        top = sorted(found_lines, reverse=True)[:5]
        print(f"longest {kind}:", ", ".join(f"{what} {n}" for n, what in top))


if __name__ == "__main__":
    main()
