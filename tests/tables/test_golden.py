"""Every packaged layout on a small results folder, in every form, beside the stored text.

The folders in `stored` are of real runs: `sizes` (label spaces at five sizes), `best` (grids of which the best is
shown), `times`, `extractions` (features by eigenvalues) and `dimensions` (features at four sizes). For layouts that are
put to none of them, `stored/asked` has an experiment, whose numbers are made up: for a paper's layout, that of its
config when the snapshot was first made.
"""

import json
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from mlcdr.experiment.consistency import Asked
from mlcdr.experiment.loading import experiment_from, load_experiment
from mlcdr.experiment.model import LayoutSpec, value_text
from mlcdr.papers import data_sets, recipes
from mlcdr.results.results import open_results
from mlcdr.tables import checks, layouts
from tests.results_folders import (
    PATH,
    entry_of,
    list_subjects,
    render_figure,
    render_table,
    spread_around,
    write_folder,
)
from tests.snapshots import GOLDEN, RENEWING, check
from tests.tables.latex import compile_latex

STORED = Path(__file__).parents[1] / "stored"
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
    if name in FOLDER_OF:
        return open_results(STORED / FOLDER_OF[name]), {"layout": name}
    asked = STORED / "asked" / f"{layouts.stem(name)}.json"
    if RENEWING and not asked.exists():
        asked.parent.mkdir(exist_ok=True)
        asked.write_text(json.dumps(asked_for(name), ensure_ascii=False) + "\n", encoding="utf-8")
    assert asked.is_file(), f"no {asked.relative_to(STORED.parent)}: `make golden` writes it for a new layout"
    found = json.loads(asked.read_text(encoding="utf-8"))
    if "folder" in found:
        return open_results(STORED / found["folder"]), found["entry"]
    return open_results(made_up(folder / "made", found)), found["entry"]


def asked_for(name):
    """What a new layout is put to from now on, whatever becomes of its config: an experiment, or a stored folder."""
    key = KEYS[kind_of(name)]
    for path in sorted(recipes.config_folder().glob("*/*.yaml")):
        if name in path.read_text(encoding="utf-8"):
            plain = load_experiment(path, look_up=False).resolved()
            entry = next((entry for entry in plain.get(key, ()) if entry["layout"] == name), None)
            if entry:
                return {"entry": entry, **reduced(plain)}
    for path in sorted(STORED.glob("*/experiment.yaml")):
        found = open_results(path.parent)
        sweep = {path: len(found.values(path)) for path in found.swept}
        entries = {"tables": (), "figures": ()} | {key: (LayoutSpec(layout=name),)}
        if not list(
            checks.find_problems(
                Asked(**entries, metrics=found.metrics, methods=found.methods, n_datasets=1, sweep=sweep)
            )
        ):
            return {"entry": {"layout": name}, "folder": path.parent.name}
    plain = ANY
    if key == "tables":
        layout = layouts.load(layouts.TableLayout, entry_of({"layout": name}))
        plain = {**plain, "sweep": {}, "metrics": list(layout.metrics or filter(None, [layout.metric])) or ["f1"]}
    return {"entry": {"layout": name}, **reduced(plain)}


def reduced(plain):
    """An experiment with up to three data sets and values of each sweep, two of each grid, and its methods' points."""
    sweep = {path: values[:3] for path, values in plain.get("sweep", {}).items()}
    plain = {**deepcopy(plain), "datasets": plain["datasets"][:3], "sweep": sweep, "tables": [], "figures": []}
    for method in plain["methods"].values():
        grid = (method.get("tune") or {}).get("grid", {})
        grid.update({path: values[:2] for path, values in grid.items()})
    experiment = experiment_from(plain, look_up=False)
    points = {
        method: [
            [value_text(point[path]) if path in point else "" for path in experiment.varied]
            for point in experiment.points(method)
        ]
        for method in experiment.methods
    }
    return {"experiment": experiment.resolved(), "swept": list(experiment.varied), "points": points}


ANY = {
    "name": "any",
    "datasets": ["emotions", "yeast"],
    "splits": {"kind": "shuffle", "repeats": 4, "train_size": 0.9, "seed": 1},
    "metrics": ["hamming_loss", "f1", "execution_seconds"],
    "sweep": {PATH: ["20%", "100%"], "learner.alpha": [0.1, 1, 10]},
    "methods": {name: {"label_space": name.lower(), "learner": "ridge"} for name in ("PLST", "CPLST", "OCCA")},
}


def made_up(folder, found):
    """A results folder of such an experiment, with numbers that mean nothing."""
    experiment = found["experiment"]
    facts = experiment["splits"]
    splits = facts["folds"] * facts.get("repeats", 1) if "folds" in facts else 4
    datasets = [next(iter(entry)) if isinstance(entry, dict) else entry for entry in experiment["datasets"]]
    labels = [
        (next(iter(entry.values())).get("as") or next(iter(entry))) if isinstance(entry, dict) else entry
        for entry in experiment["metrics"]
    ]
    values = {}
    for i, dataset in enumerate(datasets):
        for j, (method, points) in enumerate(found["points"].items()):
            for p, point in enumerate(points):
                for k, label in enumerate(labels):
                    mean = 0.1 + (3 * i + 7 * j + 5 * p + 11 * k) % 17 / 20
                    spread = spread_around(mean, 0.01, splits + splits % 2)[:splits]
                    values[(dataset, method, *point, label)] = spread
    return write_folder(folder, experiment, values, found["swept"])


def stem(name):
    return f"layouts/{layouts.stem(name)}"


@pytest.mark.parametrize("name", of_kind("table"))
def test_tables(name, tmp_path):
    table = render_table(*results_for(name, tmp_path))
    check(f"{stem(name)}.md", table.markdown())
    check(f"{stem(name)}.tex", table.latex())
    check(f"{stem(name)}.csv", table.csv())
    check(f"{stem(name)}.html", table.sheet.html(sortable=True))


@pytest.mark.parametrize("name", of_kind("datasets"))
def test_tables_of_data_sets(name):
    table = data_sets.tabulate_facts(["yeast"], name)
    check(f"{stem(name)}.md", table.markdown())
    check(f"{stem(name)}.tex", table.latex())
    check(f"{stem(name)}.csv", table.csv())
    check(f"{stem(name)}.html", table.sheet.html())


@pytest.mark.parametrize("name", of_kind("figure"))
def test_figures(name, tmp_path):
    """What a figure shows; how matplotlib draws it changes with its release."""
    found, entry = results_for(name, tmp_path)
    shown = {", ".join(of): described(render_figure(found, entry, *of)) for of in list_subjects(found, entry)[:1]}
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
    assert names == {layouts.stem(name) for name in layouts.names()}
    assert set(FOLDER_OF) <= set(layouts.names())
    asked = {path.stem for path in (STORED / "asked").iterdir()}
    assert asked == names - {layouts.stem(name) for name in (*FOLDER_OF, *of_kind("datasets"))}


def test_latex_of_every_layout_compiles(tmp_path):
    tables = [path.read_text(encoding="utf-8") for path in sorted((GOLDEN / "layouts").glob("*.tex"))]
    compile_latex(tmp_path, *tables)
