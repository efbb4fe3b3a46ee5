"""`mlcdr datasets …`: list the data sets, describe one, download, verify, divide, tabulate, draw."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import mlcdr
from mlcdr.cli.arguments import DataOptions, DataSet, argument, number, option, read_options, switch
from mlcdr.cli.printing import join_file_names, print_columns, print_table, rows_of
from mlcdr.errors import plural
from mlcdr.standard_streams import print_lines, print_notice

# Keys of `Dataset.statistics` that are printed as words.
_WORDS = {
    "unlabelled": "instances without labels",
    "empty_labels": "labels without instances",
    "distinct": "distinct label sets",
    "unique": "label sets of one instance",
    "mean_ir": "MeanIR",
    "cv_ir": "CVIR",
    "scumble": "SCUMBLE",
    "missing": "missing values",
    "characters": "characters of a text",
    "zeros": "zeros among the values",
    "constant": "constant columns",
    "duplicate": "columns equal to another",
}


def list_datasets() -> None:
    """List the catalogue, with sizes and availability."""
    found = mlcdr.list_datasets().astype(object)
    print_columns(rows_of(found.where(found.notna(), "")))


def info(
    name: Annotated[str, argument("DATASET", "A name from the catalogue, or a path.")],
    settings: DataOptions = None,
) -> None:
    """Describe a data set, and what is made of its files."""
    from mlcdr.data import catalog
    from mlcdr.experiment.yaml_reader import dump_yaml

    facts = catalog.info(name, **read_options(settings))
    for key in ("expected", "statistics"):
        facts[key] = _put_in_words(facts.get(key, {}))
    known = {key: value for key, value in facts.items() if value or value in (0, False)}
    print_lines(dump_yaml(known).rstrip("\n"))


def _put_in_words(facts: dict[str, Any]) -> dict[str, Any]:
    """Statistics under the words for them, numbers with six digits; those that are not defined are left out."""
    shown = {}
    for key, value in facts.items():
        word = _WORDS.get(key, key)
        if isinstance(value, float):
            shown[word] = float(f"{value:.6g}")
        elif value is not None:
            shown[word] = value
    return shown


def fetch(
    names: Annotated[list[str] | None, argument("DATASET", "Names from the catalogue.")] = None,
    paper: Annotated[str | None, option("PAPER", "All that the configs of a paper name: chen_lin_2012.")] = None,
    all_: Annotated[bool, switch("All that can be downloaded.", "--all")] = False,
    folds: Annotated[bool, switch("Also the fixed folds (NAME.5fold.csv).", "--folds")] = False,
) -> None:
    """Download data sets, checked against the catalogue.

    They are written into the user's cache. bogatinovski_2022, the results of a study for `mlcdr compare --published`,
    is fetched likewise. A download that was cut is resumed. $MLCDR_MIRROR, a folder or an address that has the files as
    OWNER/REPOSITORY/COMMIT/PATH, stands in for the public hosts.
    """
    from mlcdr.data import catalog

    if bool(names) + bool(paper) + all_ != 1:
        raise typer.BadParameter("give names of data sets, or --paper, or --all", param_hint="DATASET")
    folders = catalog.fetch(names or _list_fetchable(paper), sys.stderr.isatty(), folds=folds)
    for name, folder in folders.items():
        print(f"{name}: {folder}")


def _list_fetchable(paper: str | None) -> list[str]:
    """The data sets of a paper, or all, that can be downloaded; prints how to get the others."""
    from mlcdr.data import catalog
    from mlcdr.data.sources import how_to_get
    from mlcdr.papers import recipes

    names = recipes.data_sets_of(paper) if paper else [entry.name for entry in catalog.entries()]
    by_hand = [name for name in names if not catalog.entry(name).fetchable]
    if by_hand:
        print_notice(how_to_get(by_hand))
    return [name for name in names if name not in by_hand]


def verify(
    name: Annotated[
        str | None, argument("DATASET", "A name from the catalogue; default: all available data sets.")
    ] = None,
) -> None:
    """Compare available data sets with the catalogue.

    Exit code 1 if one differs.
    """
    from mlcdr.data import catalog, files

    known = [entry.name for entry in catalog.entries()]
    differs = False
    for each in [name] if name else filter(files.find_folder, known):
        checks = catalog.verify(each)
        wrong = [check for check in checks if not check.ok]
        if not wrong:
            print(f"{each}: OK ({plural(len(checks), 'check')} passed)")
            continue
        differs = True
        print(f"{each}: differs ({len(wrong)} of {len(checks)} checks failed)")
        for check in wrong:
            print(f"  {_WORDS.get(check.fact, check.fact)}: expected {check.expected}, found {check.found}")
    raise typer.Exit(1 if differs else 0)


def table(
    names: Annotated[list[str] | None, argument("DATASET", "Data sets; default: those of the published table.")] = None,
    layout: Annotated[str, option("LAYOUT", "The layout: which statistics, and their format.")] = "datasets",
    published: Annotated[
        str | None, option("PAPER/TABLE", "Compare with a published table, e.g. pacharawongsakda_2012/table1.")
    ] = None,
    out: Annotated[Path | None, option("DIR", "Also write the table (md, tex, csv) into this folder.")] = None,
    settings: DataOptions = None,
) -> None:
    """Tabulate sizes and label statistics of data sets.

    They are counted on the data, which must be available.
    """
    from mlcdr.papers import data_sets
    from mlcdr.tables import layouts

    shown = names or []
    compared = None
    if published:
        compared = data_sets.check_facts(shown, published)
        shown = shown or list(compared.datasets)
    elif not names:
        raise typer.BadParameter("give names of data sets, or a published table of data sets", param_hint="DATASET")
    tabulated = data_sets.tabulate_facts(shown, layout, **read_options(settings))
    print_table(tabulated)
    if compared is not None:
        print()
        print_table(compared)
    if out is not None:
        written = tabulated.write(out / layouts.stem(layout))
        print_notice(f"written: {join_file_names(written, out)}")


def export(
    name: DataSet,
    form: Annotated[str, option("arff|meka|csv|svmlight|xmc|npz|parquet", "The form of the files.", "--format")],
    out: Annotated[Path, option("DIR", "The folder to write into.")] = Path("exported"),
    settings: DataOptions = None,
) -> None:
    """Write a data set in another form.

    Its division for training and testing is written, too, if it has one.
    """
    from mlcdr.data import export as exporting
    from mlcdr.data.files import NoDivisionError
    from mlcdr.experiment.yaml_reader import dump_line

    options = read_options(settings)
    dataset = mlcdr.load_dataset(name, **options)
    parts = {"": dataset}
    with contextlib.suppress(NoDivisionError):
        divided = mlcdr.load_dataset(name, **options | {"part": "predefined"})
        parts["train"] = divided.rows(slice(divided.n_train))
        parts["test"] = divided.rows(slice(divided.n_train, None))
    written: list[Path] = []
    for part, rows in parts.items():
        written += exporting.export(rows, form, out, part)
    for path in dict.fromkeys(written):
        print(path)
    if form in ("csv", "parquet"):
        about: dict[str, Any] = {"labels": -dataset.n_labels}
        if dataset.kind_of_features == "texts":
            about["text"] = dataset.feature_names[0]
        print_notice(f"in a config: {dump_line({str(written[0]): about})}")


def plot(
    name: DataSet,
    out: Annotated[Path, option("DIR", "The folder to write into.")] = Path("figures"),
    order: Annotated[
        Literal["auto", "file", "frequency", "similar"],
        option(
            "auto|file|frequency|similar",
            "Order of labels in heat maps: file, frequency, similar; auto: similar for many.",
        ),
    ] = "auto",
    projection: Annotated[Literal["opls", "pca"], option("opls|pca", "opls is supervised.")] = "opls",
    settings: DataOptions = None,
) -> None:
    """Draw the labels of a data set.

    The figures show correlations, imbalance, label sets, and a projection.
    """
    from mlcdr.tables import data_figures

    dataset = mlcdr.load_dataset(name, **read_options(settings))
    for path in data_figures.write_all(dataset, out, order, projection):
        print_lines(path)


def splits(
    names: Annotated[list[str], argument("DATASET", "Data sets, by name or path.")],
    folds: Annotated[int, number("N", "Number of folds.", least=2)] = 10,
    seed: Annotated[int, number("N", "As `seed` of a config's splits.", least=0)] = 1,
    groups: Annotated[str | None, option("FEATURE", "Keep rows with the same value of a feature together.")] = None,
    stratified: Annotated[
        Literal["blind", "labels", "pairs"],
        option("blind|labels|pairs", "What --to writes: folds drawn blind, stratified by labels, or by pairs."),
    ] = "labels",
    to: Annotated[
        Path | None, option("FILE", "Write the folds for `splits: {kind: file}`; {dataset} is the name.")
    ] = None,
    settings: DataOptions = None,
) -> None:
    """Compare folds drawn blindly with stratified ones.

    It shows how far shares of labels are off, and writes the folds.
    """
    from mlcdr.data.files import short_name
    from mlcdr.experiment import fold_files
    from mlcdr.experiment.splits import FromFile, KFold
    from mlcdr.tables import split_shares

    file = None if to is None else FromFile(kind="file", path=str(to))
    if file is not None and len({file.file_for(short_name(name)) for name in names}) < len(names):
        why = "{dataset} must be in the name of the file, and no two data sets may have the same name"
        raise typer.BadParameter(why, param_hint="--to")
    asked = KFold(kind="kfold", folds=folds, seed=seed, groups=groups)
    options = read_options(settings)
    drawn = [split_shares.draw_folds(name, asked, options) for name in names]
    print_table(split_shares.tabulate_folds(drawn))
    if file is None:
        return
    for dataset, found in drawn:
        path = file.file_for(dataset.name)
        fold_files.write(path, found[stratified])
        print_notice(f"written: {path}")
