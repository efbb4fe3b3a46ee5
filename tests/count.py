"""Counts the lines of code of the package by folder, without docstrings, comments and blank lines.

python -m tests.count
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "mlcdr"
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def main() -> None:
    """Print the counts."""
    folders: Counter[str] = Counter()
    parts: dict[type, list[tuple[int, str]]] = {ast.ClassDef: [], ast.FunctionDef: []}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(PACKAGE).as_posix()
        lines = code_lines(text)
        folders[name.split("/")[0]] += len(lines)
        for node in ast.walk(ast.parse(text)):
            if type(node) in parts:
                own = lines & set(range(node.lineno, node.end_lineno + 1))
                parts[type(node)].append((len(own), f"{node.name} ({name})"))
    for folder, n in sorted(folders.items(), key=lambda item: -item[1]):
        print(f"{n:7,}  {folder}")
    print(f"{sum(folders.values()):7,}  in all")
    for kind, word in ((ast.ClassDef, "class"), (ast.FunctionDef, "function")):
        print(f"longest {word}:", ", ".join(f"{what} {n}" for n, what in sorted(parts[kind], reverse=True)[:5]))


if __name__ == "__main__":
    main()
