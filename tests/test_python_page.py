"""The page on Python and the notebooks show what comes out of them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tools import notebooks, python_pages


@pytest.mark.parametrize("page", python_pages.PAGES, ids=lambda page: page.name)
def test_the_page_shows_the_output_of_now(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    text = page.read_text(encoding="utf-8")
    assert text.count(">>> ") >= 20
    assert python_pages.renewed(page, tmp_path) == text, "`make docs` renews it"


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_from_its_first_cell_to_its_last(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(cell.outputs for cell in code)
    assert all(output.output_type != "error" for cell in code for output in cell.outputs)
    assert path.stat().st_size < 200_000


@pytest.mark.slow  # the page has the steps of the first, and papers/test_findings.py the numbers of the other
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_the_output_of_now(path: Path, tmp_path: Path) -> None:
    now = notebooks.execute(path, tmp_path)
    assert notebooks.texts(now) == notebooks.texts(nbformat.read(path, as_version=4)), "`make docs`"
    assert not any(tmp_path.glob("mlcdr-*"))
