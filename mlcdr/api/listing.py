"""The names that a config can use: data sets, components of methods, metrics, published tables; as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


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

    rows = [
        (each.name, each.domain, *(each.statistics.get(f"n_{what}") for what in _SIZES), catalog.availability(each))
        for each in catalog.entries()
    ]
    own = [(each.name, "your own", None, None, None, str(each.paths[0].parent)) for each in files.list_own()]
    frame = pd.DataFrame([*rows, *own], columns=["name", "domain", *_SIZES, "available"])
    return frame.astype(dict.fromkeys(_SIZES, "Int64"))


_SIZES = ("instances", "features", "labels")


def list_methods() -> pd.DataFrame:
    """The components that methods are made of.

    Returns
    -------
    DataFrame
        family (the key of a method in a config), name, class (of `mlcdr`), and what it is.
    """
    import pandas as pd

    from mlcdr.methods import registry

    rows = [
        (family, name, found.target.rpartition(":")[2], found.summary)
        for family in registry.BUILT_IN
        for name in registry.names(family)
        for found in (registry.declared(family, name),)
    ]
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

    better = {True: "higher", False: "lower", None: "neither"}
    rows = [
        (each.name, better[each.higher_is_better], dict(each.parameters), each.description) for each in METRICS.values()
    ]
    return pd.DataFrame(rows, columns=["name", "better", "options", "description"])


def list_published() -> pd.DataFrame:
    """The published tables that a run can be compared with (`mlcdr.compare(..., published=name)`).

    Returns
    -------
    DataFrame
        name, and what it has: data sets, methods, metrics (lists of names), and the number of cells.
    """
    import pandas as pd

    from mlcdr.reproduce import published

    rows = []
    for name in published.names():
        cells = published.load(name)
        parts = [list(dict.fromkeys(getattr(cell, part) for cell in cells)) for part in ("dataset", "method", "metric")]
        rows.append((name, *parts, len(cells)))
    return pd.DataFrame(rows, columns=["name", "datasets", "methods", "metrics", "cells"])
