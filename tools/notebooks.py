"""The notebooks in `examples`, each executed in a folder of its own.

`python -m tools.notebooks` puts the output of now into them.
"""

from __future__ import annotations

import os
import re
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = tuple(ROOT / "examples" / f"{name}.ipynb" for name in ("from_python", "errata"))
_VARYING = re.compile(r"\d+\.\d s\b|Overwriting|Writing|importing my_method .*\n")


def execute(path: Path, folder: Path) -> Any:
    """A notebook with the output of now, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    before = os.environ.get("PYTHONPATH")
    os.environ |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    try:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    finally:
        os.environ.pop("PYTHONPATH")
        os.environ |= {} if before is None else {"PYTHONPATH": before}
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def texts(notebook: Any) -> list[str]:
    """The text of each output; pictures by the fact that there is one."""
    found = []
    for output in chain.from_iterable(cell.get("outputs", ()) for cell in notebook.cells):
        data = output.get("data", {"text/plain": output.get("text", "")})
        html = re.sub(r"base64,[^\"]*", "", data.get("text/html", ""))
        found.append(_VARYING.sub("", data.get("text/plain", "") + html))
    return found


if __name__ == "__main__":
    for each in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as name:
            nbformat.write(execute(each, Path(name)), each)
        print(each)
