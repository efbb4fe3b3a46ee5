"""Results folders made up for tests."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from mlcdr.experiment.model import LayoutSpec
from mlcdr.tables import figures, planned_figures, tables

PATH = "label_space.n_components"
PERCENTS = ("20%", "40%", "60%", "80%", "100%")


def write_folder(folder, experiment, values, swept=()):
    """A results folder. `values`: (dataset, method, *point, metric) → the values over splits, or (mean, se, n)."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = ["dataset", "method", *swept, "metric"]
    scores, summary = [], []
    for key, numbers in values.items():
        *left, metric = key
        given = numbers if isinstance(numbers, tuple) else None
        numbers = spread_around(*given) if given else numbers
        scores += [[*left, split, metric, repr(float(v))] for split, v in enumerate(numbers)]
        n, mean = len(numbers), float(np.mean(numbers))
        std = float(np.std(numbers, ddof=1)) if n > 1 else float("nan")
        mean, se = given[:2] if given else (mean, std / n**0.5)
        summary.append([*key, mean, std, se, n])
    pd.DataFrame(scores, columns=[*keys[:-1], "split", "metric", "value"]).to_csv(folder / "scores.csv", index=False)
    pd.DataFrame(summary, columns=[*keys, "mean", "std", "se", "n"]).to_csv(folder / "summary.csv", index=False)
    (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False), encoding="utf-8")
    return folder


def experiment(datasets, methods, metrics, sweep=None, tables=(), figures=()):
    return {
        "name": "trial",
        "description": "",
        "datasets": list(datasets),
        "splits": {"kind": "shuffle", "repeats": 4, "train_size": 0.9, "seed": 1},
        "metrics": list(metrics),
        "sweep": {path: list(points) for path, points in (sweep or {}).items()},
        "methods": {m: {"label_space": m.lower(), "learner": "least_squares"} for m in methods},
        "tables": list(tables),
        "figures": list(figures),
    }


def cell_of(results, dataset, method, metric, at=()):
    """The number that stands at a place; `n` is 0 where there is none."""
    place = {"dataset": dataset, "method": method, "metric": metric, **dict(at)}
    return results.at(pd.DataFrame([place])).iloc[0]


def spread_around(mean, se, n=4):
    """n values (n even) with this mean and standard error."""
    step = se * np.sqrt(n) * np.sqrt((n - 1) / n)
    return [mean - step, mean + step] * (n // 2)


def published(table):
    """The rows of a packaged table as dictionaries."""
    path = Path(__file__).parents[1] / "mlcdr" / "papers" / "published" / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_printed(table, change=lambda row: float(row["mean"])):
    """A published table as `values` for `write_folder`; `change` gives the mean from the row."""
    return {
        (r["dataset"], r["method"], r["setting"].removeprefix("label_dim="), r["metric"]): (
            change(r),
            float(r["spread"]),
            100,
        )
        for r in published(table)
    }


def entry_of(written):
    """An entry of `tables:` or `figures:`, as a config writes it: a layout's name, or a mapping."""
    if isinstance(written, LayoutSpec):
        return written
    options = dict(written) if isinstance(written, dict) else {"layout": written}
    return LayoutSpec(layout=options.pop("layout"), metric=options.pop("metric", None), options=options)


def render_table(results, written):
    return tables.make_table(results, entry_of(written))


def render_figure(results, written, *subject):
    return figures.draw_figure(results, entry_of(written), *subject)


def list_subjects(results, written):
    return planned_figures.list_subjects(results, entry_of(written))


def change_experiment(results, **changes):
    """The same results of an experiment with other entries in `tables` or `figures`."""
    changes = {key: tuple(map(entry_of, written)) for key, written in changes.items()}
    return replace(results, experiment=results.experiment.model_copy(update=changes))
