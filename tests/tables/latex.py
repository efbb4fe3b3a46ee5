"""What LaTeX makes of tables."""

import shutil
import subprocess

import pytest


def compile_latex(folder, *tables):
    """Assert that tables compile, that none runs off the page, and that no character is missing; or skip."""
    if shutil.which("pdflatex") is None:
        pytest.skip("no LaTeX on this machine")
    head = r"\documentclass[a4paper]{article}\usepackage{booktabs,graphicx}\usepackage[margin=2cm]{geometry}"
    body = "\n\\clearpage\n".join(tables)
    (folder / "t.tex").write_text(rf"{head}\begin{{document}}{body}\end{{document}}", encoding="utf-8")
    line = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout
    assert "Missing character" not in (folder / "t.log").read_text(errors="replace")
