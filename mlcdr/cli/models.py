"""Commands on models: `fit` makes one of all rows of a data set, `predict` applies one to new rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Literal

from mlcdr.api.loading import import_from_here, load_experiment
from mlcdr.cli.arguments import (
    Config,
    DataOptions,
    Quiet,
    Set,
    TrustCommands,
    argument,
    option,
    read_options,
    switch,
)
from mlcdr.errors import plural
from mlcdr.standard_streams import print_notice


def fit(
    config: Config,
    out: Annotated[Path, option("FILE", "Write the model to this file, which ends in .skops or .joblib.")],
    method: Annotated[str | None, option("NAME", "A method of the config; may be left out where there is one.")] = None,
    dataset: Annotated[
        str | None, option("DATASET", "A data set of the config; may be left out where there is one.")
    ] = None,
    at: Annotated[
        list[str] | None,
        option("NAME=VALUE", "Only points of the sweep with this value, e.g. learner.alpha=0.1. Repeatable.", "--at"),
    ] = None,
    results: Annotated[
        Path | None, option("RESULTS", "The results folder by which the best point is found (results/NAME).")
    ] = None,
    metric: Annotated[
        str | None, option("METRIC", "The metric by whose mean a point is the best (the first of the config).")
    ] = None,
    set_: Set = None,
    quiet: Quiet = False,
    trust: TrustCommands = False,
) -> None:
    """Fit a method to all rows, for `predict`.

    A method that the config runs at several points is fitted at the one that was best in its results, by the mean over
    the splits of a metric (the config's first, or --metric). What the method tunes itself is chosen again, within all
    rows. The model has the coding of the data's columns.
    """
    from mlcdr.api import fitting

    experiment = load_experiment(config, set_ or (), announce=None if quiet else print_notice)
    folder = results or Path("results") / experiment.name
    model = fitting.fit(
        experiment,
        method,
        dataset=dataset,
        at=read_options(at, "NAME=VALUE", "--at"),
        results=folder,
        metric=metric,
        out=out,
        quiet=quiet,
        trust=trust,
    )
    if not quiet:
        about = model.about
        print_notice(f"written: {out}, {about['method']} fitted to all rows of {about['dataset']}")


def predict(
    model: Annotated[Path, argument("MODEL", "A model file: of `mlcdr fit`, or below RESULTS/kept.")],
    data: Annotated[str, argument("DATASET", "A data set, or the path of its file; it needs no labels.")],
    out: Annotated[Path | None, option("FILE", "Write to this file (CSV) instead of printing.")] = None,
    trust: Annotated[
        bool, switch("Load the model, which can execute any code; only for models that you trust.", "--trust")
    ] = False,
    unknown: Annotated[
        Literal["error", "missing"],
        option("error|missing", "Words that the training data did not have: refuse them, or take them as missing."),
    ] = "error",
    settings: DataOptions = None,
) -> None:
    """Predict with a saved model, as CSV.

    The models are those of `mlcdr fit` and of `keep: {models: true}`; they predict label sets and scores. The column
    `score:LABEL` is how far a label's score lies above its threshold: a label above 0 is in the label set.

    Columns are found by their names, and words and dates are coded as in the training data; other columns, such as
    labels, are not looked at.
    """
    from mlcdr.errors import DataError
    from mlcdr.execution.models import load_model, predictions
    from mlcdr.whole_files import write_atomically

    import_from_here()
    loaded = load_model(model, trust)
    options = {"unknown": unknown, **read_options(settings)}
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", UserWarning)  # not what pandas warns its callers of
        X = loaded.read(data, **options)
    for remark in remarks:
        print_notice(remark.message)
    try:
        text = predictions(loaded, X)
    except ValueError as error:  # such as numbers that are too large
        raise DataError(f"{data}: {error}") from None
    if out is None:
        print(text, end="")
    else:
        write_atomically(out, text)
        rows = plural(X.shape[0], "row")
        print_notice(f"written: {out}, {rows}, predicted by {loaded.about.get('method', 'the model')}")
