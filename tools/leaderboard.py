"""The leaderboard: all methods of the record that have the same splits, by metric."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from mlcdr.comparison.significance import Significance, assess
from mlcdr.comparison.statistics import block_ranks
from mlcdr.papers import recipes
from mlcdr.papers.stored import StoredRun
from mlcdr.results import joining
from mlcdr.results.frame import are_best, make_places
from mlcdr.results.results import Results
from mlcdr.tables.notes import note_tuning
from mlcdr.tables.sheet import NOTHING, Sheet, Text, make_sheet
from mlcdr.tables.text_format import format_mean
from tools.entries import is_small
from tools.record_pages import NAMES, name_table, split_name

OTHERS = "others"


def leaderboard(runs: Sequence[StoredRun]) -> str:
    """All methods of the record that have the same splits, by metric."""
    parts = [
        "All methods of the [record](gallery.md) on the same splits, by metric: the average rank, the critical "
        "difference of Nemenyi's test, and the mean on each data set, bold within one standard error of the best. "
        "Ranks need the same data sets for all methods: of all sets of data sets the one is taken for which (data sets "
        "× methods of the papers with results on all of them) is largest. The other methods are at the end, without a "
        "rank. Where methods with different settings have the same name, the name of their table is added.\n",
        "## Add a row\n",
        "All commands are run in the root of a checkout.\n",
        "1. Copy a config that is named under a board below to `my_method.yaml` in the root. Set `name: my_method`, "
        "put your method in place of its `methods`, and keep its `splits` and `metrics`. The class is in "
        "`my_method.py` next to the config ([write a method](how-to/method.md)). A method is ranked if it has "
        "results on all data sets that the board is ranked over; with fewer, its row is at the end, without a rank.\n"
        "2. Commit both files. `mlcdr run my_method.yaml`, then `python -m tools.record results/my_method`: it stores "
        "the means, and the commit and digest of the code that gave them, in `results/record/others/my_method`. "
        "`python -m tools.status --check` shows whether they are of the present code. Both import `my_method.py` from "
        "the folder they are run in.\n"
        "3. `make docs` writes this page. Open a pull request with the two files, the folder of the record and this "
        "page; it is accepted if the run gives the same numbers again. A method that is to become a part of mlcdr "
        "belongs in `mlcdr/methods` instead ([CONTRIBUTING.md](../CONTRIBUTING.md)).\n",
    ]
    boards: dict[tuple[str, tuple[str, ...]], list[StoredRun]] = {}
    stored = [each for each in runs if not each.counts_data and _is_ranked(each)]
    whole = [each for each in stored if not is_small(each)] or stored
    for entry in sorted(whole, key=_is_contributed):
        splits = json.dumps({key: value for key, value in entry.experiment.splits.plain().items() if key != "folders"})
        alike = [key for key in boards if key[0] == splits] if _is_contributed(entry) else []
        for key in alike or [(splits, entry.results.swept)]:
            boards.setdefault(key, []).append(entry)
    for (splits, swept), entries in boards.items():
        parts += _board(json.loads(splits), swept, entries)
    if not boards:
        parts.append("The record has no results yet.")
    return "\n".join(parts)


def _is_ranked(entry: StoredRun) -> bool:
    """Whether a run is of a table, or contributed; a figure, or what a claim needs, is no row."""
    is_table = bool(entry.tables) or entry.name.partition("/")[2].startswith("table")
    return is_table or _is_contributed(entry)


def _is_contributed(entry: StoredRun) -> bool:
    """Whether a run is of no paper's config."""
    return entry.name.startswith(f"{OTHERS}/")


def _config(entry: StoredRun) -> str:
    """The file that has a run's experiment."""
    stored = f"results/record/{entry.name}/experiment.yaml"
    return f"`{stored}`" if _is_contributed(entry) else f"`configs/{entry.manifest.config}.yaml`"


def _board(splits: dict[str, object], swept: Sequence[str], entries: Sequence[StoredRun]) -> Iterator[str]:
    """The runs on the same splits with the same sweep: a table for each metric that has a direction."""
    kind = splits.pop("kind")
    entries = [each for each in entries if not recipes.prints_times(each.experiment)]
    boards = []
    for metric in dict.fromkeys(metric for each in entries for metric in each.results.metrics):
        having = [each for each in entries if metric in each.results.metrics]
        facts = having[0].results.metric_facts(metric)
        same = [each for each in having if each.results.metric_facts(metric) == facts]
        if facts.higher_is_better is not None and not facts.is_cost:
            papers = [each.results.select("metric", [metric]) for each in same if not _is_contributed(each)]
            contributed = [each.results.select("metric", [metric]) for each in same if _is_contributed(each)]
            board = _ranked(papers, contributed, metric)
            if board is not None:
                boards.append(_with_names_of_tables(board.html(), entries))
    if boards:
        along = f"; along {', '.join(f'`{path}`' for path in swept)}" if swept else ""
        yield f"### {kind} splits, {', '.join(f'{key} {value}' for key, value in splits.items())}{along}\n"
        yield f"Configs: {', '.join(dict.fromkeys(map(_config, entries)))}.\n"
        yield from boards


def _with_names_of_tables(page: str, entries: Iterable[StoredRun]) -> str:
    """`CPLST (Table 8.1, as stated)` for `CPLST (sun_2017_thesis_table8_1_as_stated)`."""
    for entry in entries:
        table, variant = split_name(entry.name)
        reading = [name_table(table), variant.replace("_", " ")] if table else [NAMES.get(entry.name, "")]
        if shown := ", ".join(filter(None, reading)):
            page = page.replace(f"({entry.results.name})", f"({shown})")
    return page


def _told_apart(results: Results, papers: Sequence[Results]) -> Results:
    """A contributed run without the methods that a paper's run has too; others of the same name get the run's name."""
    called = {}
    for method in results.methods:
        alike = [each for each in papers if method in each.methods]
        if not any(method in joining.join([each, results]).methods for each in alike):
            called[method] = f"{method} ({results.name})" if alike else method
    return results.rename_methods(called)


def _common(having: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The data sets that all of some methods have, so that data sets × methods is largest; of equals, more methods."""
    shared: set[frozenset[str]] = set()
    for datasets in having.values():
        shared |= {frozenset(datasets), *(each & {*datasets} for each in shared)}
    numbers = {each: sum(each <= {*datasets} for datasets in having.values()) for each in shared}
    best = max(
        (each for each in shared if numbers[each] > 1),
        key=lambda each: (len(each) * numbers[each], numbers[each], sorted(each)),
        default=frozenset(),
    )
    return tuple(dict.fromkeys(name for datasets in having.values() for name in datasets if name in best))


def _ranked(papers: Sequence[Results], contributed: Sequence[Results], metric: str) -> Sheet | None:
    """The methods, each at its last point of the sweep, by average rank; None if nothing can be ranked.

    They are ranked over the data sets on which most methods of the papers have all results (`_common`); if there are
    none, contributed methods count as those of the papers do. A method without a result at one of these comes last,
    without a rank, and changes no rank of the others.
    """
    base = joining.join(papers or contributed)
    results = joining.join([*papers, *(_told_apart(each, papers) for each in contributed)])
    means = _means(results, base, metric)
    points, common = _ranked_over(means, base.methods)
    if not common:  # contributed runs count then
        points, common = _ranked_over(means, results.methods)
    if not common:
        return None
    there = means.loc[common, pd.IndexSlice[:, points]].notna().all().groupby(level="method").all()
    with_results = [method for method in results.methods if method in results.with_results]
    methods = [method for method in with_results if there[method]]
    unranked = [method for method in with_results if not there[method]]
    better = bool(results.metric_facts(metric).higher_is_better)
    tested = _test(means, methods, common, points, better)
    ranks = dict(zip(methods, tested.averages, strict=True))
    order = [*sorted(ranks, key=lambda method: ranks[method]), *unranked]
    datasets = [name for name in (base if papers else results).datasets if name in results.with_results]
    shown = _show_last_points(results, better)
    lines = []
    for method in order:
        rank = f"{ranks[method]:.2f}" if method in ranks else NOTHING
        lines.append((method, rank, *(shown.get((method, dataset), NOTHING) for dataset in datasets)))
    notes = [*_notes(results, base, tested, common, unranked), *note_tuning(results, results.methods)]
    caption = f"{results.metric_facts(metric).title}, {'higher' if better else 'lower'} is better"
    return make_sheet(caption, ("Method", "Average rank", *datasets), lines, 1, notes)


def _means(results: Results, base: Results, metric: str) -> pd.DataFrame:
    """Data sets × (method, number of a point of the papers' sweep), NaN where there is no result."""
    absent = [""] * (len(results.swept) - len(base.swept))  # the parameters that only contributed runs sweep
    points = pd.DataFrame([[*point, *absent] for point in base.points], columns=list(results.swept))
    points["point"] = range(len(points))
    methods = [method for method in results.methods if method in results.with_results]
    others = make_places({"dataset": results.datasets, "method": methods, "metric": [metric]})
    cells = results.at(points.merge(others, how="cross"))
    return cells.pivot(index="dataset", columns=["method", "point"], values="mean").reindex(list(results.datasets))


def _ranked_over(means: pd.DataFrame, methods: Sequence[str]) -> tuple[list[int], list[str]]:
    """The points at which each of some methods has a result, and the data sets on which most have all of them."""
    there = means.notna()
    methods = [method for method in methods if method in means]
    points = [point for point in there[methods[0]] if all(there[method, point].any() for method in methods)]
    if not points:
        return [], []
    having = {method: there.index[there[method][points].all(axis=1)].tolist() for method in methods}
    return points, list(_common(having))


def _test(
    means: pd.DataFrame, methods: Sequence[str], datasets: Sequence[str], points: Sequence[int], better: bool
) -> Significance:
    """The tests of the methods over data sets, of which each has one value: the mean rank over the points of the sweep.

    The points of a data set are not independent of one another, so they count as one.
    """
    ranks = []
    for dataset in datasets:
        values = np.array([[means.at[dataset, (method, point)] for point in points] for method in methods])
        ranks.append(block_ranks(values, better).mean(axis=1))
    return assess(methods, np.transpose(ranks), higher_is_better=False, n_datasets=len(datasets))


def _show_last_points(results: Results, better: bool) -> dict[tuple[str, str], Text]:
    """(method, data set) → the mean at the method's last point of the sweep, bold among the best of its data set."""
    swept = list(results.swept)
    summary = results.summary.sort_values(["method", *swept], kind="stable")
    last = summary[["method", *swept]].drop_duplicates("method", keep="last")
    cells = summary.merge(last, on=["method", *swept])
    bold = are_best(cells, ["dataset", "metric"], dict.fromkeys(results.metrics, better))
    return {
        (cell.method, cell.dataset): format_mean(cell.mean, None, 4, is_bold)
        for cell, is_bold in zip(cells.itertuples(), bold, strict=True)
    }


def _notes(
    results: Results, base: Results, tested: Significance, common: Sequence[str], unranked: Sequence[str]
) -> Iterator[str]:
    if tested.few:
        yield f"Ranked over {', '.join(common)}: too few data sets for a verdict on the methods."
    else:
        verdict = "" if tested.is_significant else " The methods are not shown to differ."
        yield f"Critical difference (Nemenyi) {tested.cd:.2f}, over {len(common)} data sets.{verdict}"
        yield f"Ranked over {', '.join(common)}."
    if unranked:
        what = "a data set or a point of the sweep" if base.swept else "a data set"
        yield f"Not ranked, since {what} is missing: {', '.join(unranked)}."
    if results.swept:
        yield (
            "On each data set methods are ranked by their mean rank over the points of the sweep; means are those of "
            "the last point."
        )
