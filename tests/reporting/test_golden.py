"""Every packaged layout on a small results folder, in every form, beside the stored text.

The folders in `stored` are of real runs: `sizes` (label spaces at five sizes), `best` (grids of which the best is
shown), `times`, `extractions` (features by eigenvalues) and `dimensions` (features at four sizes). A layout is put to
the folder named here, or, if it is new, to the first that fits.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from mlcdr.reporting import checks, data_sets, figures, layouts, results, tables
from tests.reporting.snapshots import GOLDEN, check

STORED = Path(__file__).parent / "stored"
FOLDER_OF = {
    "generic": "sizes",
    "curves": "sizes",
    "chen_lin_2012/table3": "sizes",
    "chen_lin_2012/table4": "sizes",
    "chen_lin_2012/table5": "sizes",
    "chen_lin_2012/figure1": "sizes",
    "pacharawongsakda_2012/table2": "best",
    "pacharawongsakda_2012/table3": "times",
    "pacharawongsakda_2012/table3_ratios": "times",
    "xu_2016_mvmd/table": "extractions",
    "xu_2016_mvmd/time": "extractions",
    "xu_2016_mvmd/dimensions": "dimensions",
    "xu_2016_mvmd/spectra": "dimensions",
}


def kind_of(name):
    text = (Path(layouts.__file__).parent / "layouts" / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["kind"]


def of_kind(kind):
    return [name for name in layouts.names() if kind_of(name) == kind]


def stored(name):
    """The results that a layout is put to."""
    key = {"table": "tables", "figure": "figures"}[kind_of(name)]
    folders = [FOLDER_OF[name]] if name in FOLDER_OF else sorted(path.name for path in STORED.iterdir())
    for folder in folders:
        experiment = results.read_experiment(STORED / folder / "experiment.yaml") | {"tables": [], "figures": []}
        if not checks.problems(experiment | {key: [name]}):
            return results.load(STORED / folder)
    pytest.fail(f"no folder in tests/reporting/stored fits the layout {name}: add one, and the layout to FOLDER_OF")


def stem(name):
    return f"layouts/{layouts.stem({'layout': name})}"


@pytest.mark.parametrize("name", of_kind("table"))
def test_tables(name):
    table = tables.render(stored(name), {"layout": name})
    check(f"{stem(name)}.md", table.markdown())
    check(f"{stem(name)}.tex", table.latex())
    check(f"{stem(name)}.csv", table.csv())
    check(f"{stem(name)}.html", table.sheet.html(sortable=True))


@pytest.mark.parametrize("name", of_kind("datasets"))
def test_tables_of_data_sets(name):
    table = data_sets.render(["yeast"], name)
    check(f"{stem(name)}.md", table.markdown())
    check(f"{stem(name)}.tex", table.latex())
    check(f"{stem(name)}.csv", table.csv())
    check(f"{stem(name)}.html", table.sheet.html())


@pytest.mark.parametrize("name", of_kind("figure"))
def test_figures(name):
    """What a figure shows; how matplotlib draws it changes with its release."""
    found = stored(name)
    layout = layouts.load_figure({"layout": name})
    of_metrics = layout.panels == "datasets"
    subjects = (layout.chosen_metrics or found.metrics) if of_metrics else found.datasets
    shown = {subject: described(figures.render(found, {"layout": name}, subject)) for subject in subjects}
    check(f"{stem(name)}.json", json.dumps(shown, indent=1, ensure_ascii=False) + "\n")


def described(figure):
    """Titles, axes, and every line with its points and the height of its band."""
    panels = []
    for ax in figure.axes:
        if not ax.get_visible():
            continue
        lines = {}
        for line, band in zip(ax.get_lines(), ax.collections, strict=True):
            points = [[round(float(v), 9) for v in xy] for xy in zip(*line.get_data(), strict=True)]
            (path,) = band.get_paths()
            heights = {x: [y for at, y in path.vertices.tolist() if abs(at - x) < 1e-9] for x, _ in points}
            lines[line.get_label()] = [
                f"{x:g}: {y:.9g} ± {(max(heights[x]) - min(heights[x])) / 2:.6g}" for x, y in points
            ]
        scales = [ax.get_xscale(), ax.get_yscale()]
        panels.append(
            {
                "title": ax.get_title(loc="left"),
                "x": ax.get_xlabel(),
                "y": ax.get_ylabel(),
                "scales": scales,
                "lines": lines,
            }
        )
    legend = figure.legends[0]
    return {
        "title": figure.get_suptitle(),
        "legend": [text.get_text() for text in legend.get_texts()],
        "below": legend.get_title().get_text(),
        "panels": panels,
    }


def test_nothing_else_is_stored():
    names = {path.stem for path in (GOLDEN / "layouts").iterdir()}
    assert names == {layouts.stem({"layout": name}) for name in layouts.names()}
    assert set(FOLDER_OF) <= set(layouts.names())


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX on this machine")
def test_latex_of_every_layout_compiles(tmp_path):
    body = "\n\\clearpage\n".join(
        path.read_text(encoding="utf-8") for path in sorted((GOLDEN / "layouts").glob("*.tex"))
    )
    head = r"\documentclass[a4paper]{article}\usepackage{booktabs,graphicx}\usepackage[margin=2cm]{geometry}"
    (tmp_path / "t.tex").write_text(rf"{head}\begin{{document}}{body}\end{{document}}", encoding="utf-8")
    line = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    run = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout
    assert "Missing character" not in (tmp_path / "t.log").read_text(errors="replace")
