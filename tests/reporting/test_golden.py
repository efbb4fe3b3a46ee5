"""Every packaged layout on a small results folder, in every form, beside the stored text.

The folders in `stored` are of real runs: `sizes` (label spaces at five sizes), `best` (grids of which the best is
shown), `times`, `extractions` (features by eigenvalues) and `dimensions` (features at four sizes). A paper's layout for
which none is named here is put to the experiment of its own config, with made-up numbers; any other to the first folder
that fits, or to one made up for it.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from mlcdr.experiment.config import experiment_from, load_experiment, method_text
from mlcdr.reporting import checks, data_sets, figures, layouts, recipes, results, tables
from tests.reporting.results_folders import PATH, spread_around, write_folder
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
KEYS = {"table": "tables", "figure": "figures"}


def kind_of(name):
    text = (Path(layouts.__file__).parent / "layouts" / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["kind"]


def of_kind(kind):
    return [name for name in layouts.names() if kind_of(name) == kind]


def results_for(name, folder):
    """The results that a layout is put to, and the entry that asks for it; what is made up is made in `folder`."""
    key = KEYS[kind_of(name)]
    if name in FOLDER_OF:
        return results.load(STORED / FOLDER_OF[name]), {"layout": name}
    for path in sorted(recipes.config_folder().glob("*/*.yaml")):
        if name in path.read_text(encoding="utf-8"):
            plain = load_experiment(path, look_up=False).resolved()
            entry = next((entry for entry in plain.get(key, ()) if entry["layout"] == name), None)
            if entry:
                return results.load(made_up(folder / "made", plain)), entry
    for path in sorted(STORED.iterdir()):
        experiment = results.read_experiment(path / "experiment.yaml") | {"tables": [], "figures": []}
        if not checks.problems(experiment | {key: [name]}):
            return results.load(path), {"layout": name}
    plain = ANY
    if key == "tables":
        layout = layouts.load_table({"layout": name})
        plain = {**plain, "sweep": {}, "metrics": list(layout.metrics or filter(None, [layout.metric])) or ["f1"]}
    return results.load(made_up(folder / "made", plain)), {"layout": name}


ANY = {
    "name": "any",
    "datasets": ["emotions", "yeast"],
    "splits": {"kind": "shuffle", "repeats": 4, "train_size": 0.9, "seed": 1},
    "metrics": ["hamming_loss", "f1", "execution_seconds"],
    "sweep": {PATH: ["20%", "100%"], "learner.alpha": [0.1, 1, 10]},
    "methods": {name: {"label_space": name.lower(), "learner": "ridge"} for name in ("PLST", "CPLST", "OCCA")},
}


def made_up(folder, plain):
    """A folder of an experiment, of up to three data sets and values of each sweep, with numbers that mean nothing."""
    sweep = {path: values[:3] for path, values in plain.get("sweep", {}).items()}
    plain = {**plain, "datasets": plain["datasets"][:3], "sweep": sweep}
    experiment = experiment_from(plain, look_up=False)
    splits = plain["splits"].get("folds", 4) * (plain["splits"].get("repeats", 1) if "folds" in plain["splits"] else 1)
    labels = [metric.label for metric in experiment.metrics]
    values = {}
    for i, spec in enumerate(experiment.datasets):
        for j, method in enumerate(experiment.methods):
            for p, point in enumerate(experiment.points(method)):
                written = [method_text(point[path]) if path in point else "" for path in experiment.varied]
                for k, label in enumerate(labels):
                    mean = 0.1 + (3 * i + 7 * j + 5 * p + 11 * k) % 17 / 20
                    key = (spec.name, method, *written, label)
                    values[key] = spread_around(mean, 0.01, splits + splits % 2)[:splits]
    return write_folder(folder, experiment.resolved(), values, list(experiment.varied))


def stem(name):
    return f"layouts/{layouts.stem({'layout': name})}"


@pytest.mark.parametrize("name", of_kind("table"))
def test_tables(name, tmp_path):
    table = tables.render(*results_for(name, tmp_path))
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
def test_figures(name, tmp_path):
    """What a figure shows; how matplotlib draws it changes with its release."""
    found, entry = results_for(name, tmp_path)
    shown = {", ".join(of): described(figures.render(found, entry, *of)) for of in figures.subjects(found, entry)[:3]}
    check(f"{stem(name)}.json", json.dumps(shown, indent=1, ensure_ascii=False) + "\n")


def described(figure):
    """Titles, axes, and what is drawn: lines with the heights of their bands, bars, boxes, the cells of a heat map."""
    legends = [text.get_text() for legend in figure.legends for text in (*legend.get_texts(), legend.get_title())]
    panels = [panel(ax) for ax in figure.axes if ax.get_visible()]
    return {"title": figure.get_suptitle(), "legend": legends, "panels": panels}


def panel(ax):
    """One panel as plain data."""
    told = {"title": ax.get_title(loc="left"), "x": ax.get_xlabel(), "y": ax.get_ylabel()}
    told["scales"] = [ax.get_xscale(), ax.get_yscale()]
    lines = [(str(line.get_label()), line.get_xydata().tolist()) for line in ax.get_lines()]
    told["lines"] = [f"{'' if label.startswith('_') else label}: {points(xy)}" for label, xy in lines]
    told["bands"] = [
        points([path.get_extents().p0, path.get_extents().p1])
        for each in ax.collections
        for path in each.get_paths()[:1]
    ]
    told["bars"] = [f"{bar.get_x():.6g} {bar.get_height():.6g}" for bar in ax.patches if hasattr(bar, "get_height")]
    told["cells"] = [[f"{value:.6g}" for value in row] for image in ax.images for row in image.get_array().tolist()]
    told["texts"] = [text.get_text() for text in ax.texts]
    return {key: value for key, value in told.items() if value}


def points(xy):
    return "  ".join(f"{x:.6g} {y:.6g}" for x, y in xy)


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
