"""The names that a config can use: data sets, components of methods, metrics, published tables; as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_SIZES = ("instances", "features", "labels")


def list_datasets() -> pd.DataFrame:
    """The data sets of the catalogue, and your own in the data folders.

    Returns
    -------
    DataFrame
        name, domain, instances, features, labels (empty if unknown), and available: "yes", "fetch" (`mlcdr datasets
        fetch NAME` downloads it), "by hand", or the folder of one of your own.
    """
    import pandas as pd

    from mlcdr.data import catalog, files

    rows: list[tuple[Any, ...]] = []
    for entry in catalog.entries():
        sizes = [entry.statistics.get(f"n_{what}") for what in _SIZES]
        available = catalog.availability(entry)
        rows.append((entry.name, entry.domain, *sizes, available))
    for own in files.list_own():
        folder = str(own.paths[0].parent)
        rows.append((own.name, "your own", None, None, None, folder))
    frame = pd.DataFrame(rows, columns=["name", "domain", *_SIZES, "available"])
    return frame.astype(dict.fromkeys(_SIZES, "Int64"))


def list_methods() -> pd.DataFrame:
    """The components that methods are made of.

    Returns
    -------
    DataFrame
        family (the key of a method in a config), name, class (of `mlcdr`), and what it is.
    """
    import pandas as pd

    from mlcdr.methods import registry

    rows = []
    for family in registry.BUILT_IN:
        for name in registry.names(family):
            declared = registry.find_declaration(family, name)
            _, _, cls = declared.target.rpartition(":")
            rows.append((family, name, cls, declared.summary))
    return pd.DataFrame(rows, columns=["family", "name", "class", "description"])


def list_metrics() -> pd.DataFrame:
    """The metrics.

    Returns
    -------
    DataFrame
        name, better ("higher", "lower", or "neither"), options (name → default), and what it is.
    """
    import pandas as pd

    from mlcdr.metrics import METRICS

    ways = {True: "higher", False: "lower", None: "neither"}
    rows = []
    for metric in METRICS.values():
        better = ways[metric.higher_is_better]
        rows.append((metric.name, better, dict(metric.parameters), metric.description))
    return pd.DataFrame(rows, columns=["name", "better", "options", "description"])


def list_published() -> pd.DataFrame:
    """The published tables that a run can be compared with (`mlcdr.compare(..., published=name)`).

    Returns
    -------
    DataFrame
        name, and what it has: data sets, methods, metrics (lists of names), and the number of cells.
    """
    import pandas as pd

    from mlcdr.papers import printed

    rows = []
    for name in printed.list_tables():
        cells = printed.read_cells(name)
        parts = [list(cells[part].unique()) for part in ("dataset", "method", "metric")]
        rows.append((name, *parts, len(cells)))
    return pd.DataFrame(rows, columns=["name", "datasets", "methods", "metrics", "cells"])
