"""The page of the board: docs/board.md, and its figure, docs/images/board.svg."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from mlcdr.comparison.significance import FEW, format_counts, show_p, show_test
from mlcdr.comparison.standing import describe_datasets
from mlcdr.comparison.statistics import ALPHA, Friedman
from mlcdr.errors import join_words, plural
from mlcdr.experiment.yaml_reader import read_yaml
from mlcdr.results.failures import join_some
from mlcdr.results.frame import are_best
from mlcdr.tables import styles
from mlcdr.tables.canvas import STYLE, empty_figure
from mlcdr.tables.escaping import escape_markdown
from mlcdr.tables.sheet import DASH, NOTHING, Sheet, Text, make_sheet, signed, text
from mlcdr.tables.text_format import format_mean, shorten_name
from tools.board import (
    FAMILIES,
    LABELS,
    MAIN,
    ROPE,
    SURE,
    Board,
    HeadToHead,
    choose_of_families,
    correlate,
    list_frontier,
)

DOCS = Path(__file__).parents[1] / "docs"
FIGURE = DOCS / "images" / "board.svg"
TITLE = "Cost and quality of the methods of the board"
WORKS = DOCS / "board_works.yaml"
"""The methods of four works, what the works say of them, and the methods they are compared with here."""

_SHORT = {
    "micro_f1": "micro F1",
    "hamming_loss": "Hamming loss",
    "exact_match": "exact match",
    "f1": "F1",
    "macro_f1": "macro F1",
    "ranking_loss": "ranking loss",
    "label_ranking_average_precision": "LRAP",
    "macro_auc": "macro AUC",
    "one_error": "one error",
}
_OF_FAMILIES = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "label_ranking_average_precision")
_NOT_BETTER = ("worse", "the same", "not decided")
_NAMED = 8
_LINEAR = 0.02  # gains up to this are drawn to scale
_TICKS = (-0.5, -0.2, -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_CONTRIBUTED = " †"
_PROTOCOL = (
    "One table for the field: reductions of features and labels with ridge regression, and learners without one, under "
    "one protocol ([its config](../configs/board.yaml)): five stratified folds, everything tuned inside the training "
    "rows by micro F1 over a full grid, and one threshold rule, by which a label is predicted for the share of rows "
    "that has it in training. The rule does not apply to CLEMS, which predicts whole label sets, chosen for F1, and no "
    "scores, nor to reductions with their authors' learner (`… + SVM`), which decide by themselves: these stand next "
    "to their learner alone (`… (own threshold)`). kernel-CPLST has kernel ridge regression (alone: `kernel ridge`).\n"
)


def board_page(board: Board | None) -> str:
    """The text of the page, below its title."""
    if board is None:
        return "\n".join([f"{_PROTOCOL}\n", "No results are stored yet.\n", *_add_a_row()])
    parts = [f"{_find(board)}\n", f"{_PROTOCOL}\n", *_standings(board)]
    parts += ["## Each measure\n", *_measures(board)]
    parts += ["## Families\n", *_families(board)]
    parts += ["## Cost and quality\n", *_frontier(board)]
    parts += ["## When does a reduction pay?\n", *_gains(board)]
    parts += ["## The methods of four works\n", *_works(board)]
    return "\n".join([*parts, *_add_a_row()])


def _fold(summary: str, sheet: Sheet, kind: str = "") -> str:
    """A table that is folded away."""
    kind = f' class="{kind}"' if kind else ""
    return (
        f"<details{kind}>\n<summary>{html.escape(summary)}</summary>\n{sheet.html(sortable=True).strip()}\n</details>\n"
    )


def _name(board: Board, method: str) -> str:
    """The name of a method; one that is contributed is marked."""
    return f"{method}{_CONTRIBUTED}" if method in board.contributed else method


def _say(board: Board, method: str) -> str:
    """The name of a method within a sentence."""
    return escape_markdown(_name(board, method))


# -------------------------------------------------------------------- what the board finds


def _find(board: Board) -> str:
    """Whether reductions are better than none, and what the ranks show: for the first screen."""
    reductions = board.list_reductions(board.datasets)
    if not reductions:
        return "No reduction has results on all data sets yet."
    verdicts = board.list_verdicts(board.datasets)
    n_reductions = plural(len(reductions), "reduction")
    n_datasets = plural(len(board.datasets), "data set")
    better = [_say(board, method) for method in verdicts.get("better", ())]
    lead = f"None of {n_reductions} is shown to be better in micro F1 than ridge regression without one"
    if better:
        verb = "is" if len(better) == 1 else "are"
        lead = f"{len(better)} of {n_reductions} {verb} better in micro F1 than ridge regression without one"
    named = f": {join_some(better, _NAMED)}" if better else ""
    counts = join_words([f"{len(verdicts.get(each, ()))} are {each}" for each in _NOT_BETTER])
    found = [
        f"**{lead}** (`{board.against}`, on {n_datasets}){named}; {counts} (Bayesian signed-rank test; "
        f"differences below {ROPE} count as equal, and a verdict needs a probability of {SURE})."
    ]
    found.append(_describe_largest_gain(board, reductions))
    spaces = [method for method in reductions if board.families[method] == LABELS]
    kept = pd.Series([board.share_all_kept(method, board.datasets) for method in spaces], dtype=float).dropna()
    if len(kept):
        shown = _show_percent(kept.mean())
        found.append(f"Label spaces keep all dimensions, which is no reduction, in {shown} of the splits.")
    ranks = board.rank(MAIN, board.datasets)
    test = board.test(MAIN, board.datasets)
    if test is not None:
        found.append(_describe_ranks(board, ranks, *test))
    enough = [datasets for datasets in board.groups[1:] if len(datasets) > FEW]
    found += [_describe_verdicts(board, datasets) for datasets in enough]
    return " ".join(found)


def _describe_largest_gain(board: Board, reductions: Sequence[str]) -> str:
    """Which reduction has the largest mean difference to none."""
    gains = {method: board.gains(method, board.against, MAIN, board.datasets) for method in reductions}
    best = max(gains, key=lambda method: float(gains[method].mean()))
    mean = signed(float(gains[best].mean()), 4)
    wins, losses = int((gains[best] > 0).sum()), int((gains[best] < 0).sum())
    return f"{_say(board, best)} has the largest mean difference to it, {mean}: better on {wins}, worse on {losses}."


def _describe_verdicts(board: Board, datasets: Sequence[str]) -> str:
    """What is said of the reductions on another group of data sets than the first."""
    reductions = plural(len(board.list_reductions(datasets)), "reduction")
    verdicts = board.list_verdicts(datasets)
    better = [_say(board, method) for method in verdicts.get("better", ())]
    named = f" ({join_some(better, _NAMED)})" if better else ""
    others = [f"{len(verdicts.get(each, ()))} {each}" for each in _NOT_BETTER]
    return f"{reductions} on {plural(len(datasets), 'data set')}: {len(better)} better{named}, {', '.join(others)}."


def _describe_ranks(board: Board, ranks: pd.Series, friedman: Friedman, cd: float) -> str:
    """Which method has the best average rank, and from which others the critical difference tells it apart."""
    best = ranks.index[0]
    is_apart = ranks - ranks.iloc[0] >= cd
    place = ranks.index.get_loc(board.against) + 1
    where = f"`{board.against}` is number {place} ({ranks[board.against]:.1f})"
    also = f", {'also' if is_apart[board.against] else 'not'} from `{board.against}`"
    if best == board.against:
        where = "no reduction comes before it"
        also = ""
    p = show_p(friedman.f_p)
    shown = f"Friedman's test does not show that the methods differ ({p})"
    if friedman.f_p <= ALPHA:
        shown = (
            f"The critical difference of Nemenyi's test, {cd:.1f}, tells it apart from {is_apart.sum()} of the other "
            f"{len(ranks) - 1}{also} (Friedman's test: {p})"
        )
    best_rank = f"{_say(board, best)} has the best average rank of {plural(len(ranks), 'method')} ({ranks.iloc[0]:.1f})"
    return f"{best_rank}; {where}. {shown}."


# -------------------------------------------------------------------- the first table


def _standings(board: Board) -> Iterator[str]:
    """The table of each group of data sets; the first is open, and a script shows another one in its place."""
    for datasets in board.groups:
        sheet = _standing(board, datasets)
        title = describe_datasets(datasets)
        if datasets == board.datasets:
            table = sheet.html(sortable=True).strip()
            yield f'<div class="board-group" data-name="{html.escape(title)}">\n{table}\n</div>\n'
        else:
            yield _fold(title, sheet, "board-group")


def _standing(board: Board, datasets: Sequence[str]) -> Sheet:
    """The methods by average rank in micro F1 over some data sets; those without all results last, without a rank."""
    ranks = {metric: board.rank(metric, datasets) for metric in board.measures}
    n_datasets = board.means(MAIN, datasets).notna().sum()
    unranked = [each for each in board.families if n_datasets[each] and each not in ranks[MAIN]]
    rows: list[list[str | Text]] = []
    for method in [*ranks[MAIN].index, *unranked]:
        row: list[str | Text] = [_name(board, method), board.families[method]]
        for metric in board.measures:
            row.append(f"{ranks[metric][method]:.1f}" if method in ranks[metric] else NOTHING)
        row.append(_show_ratio(board.time_ratio(method, datasets)))
        row.append(_show_memory(board.memory_of(method, datasets[-1])))
        share = board.share_all_kept(method, datasets)
        row.append(NOTHING if math.isnan(share) else _show_percent(share))
        compared = None if method == board.against else board.compare(method, board.against, MAIN, datasets)
        row += _show_gain(compared)
        row += _show_likely(compared)
        rows.append([*row, str(n_datasets[method])])
    measures = [_SHORT.get(each, each) for each in board.measures]
    likely = ["P(better)", "P(same)", "P(worse)"]
    return make_sheet(
        caption=f"Average ranks over {plural(len(datasets), 'data set')}, 1 is the best",
        header=["Method", "Family", *measures, "Fit time", "Memory", "All kept", "Gain", "W/T/L", *likely, "Data sets"],
        rows=rows,
        stub=1,
        left=(1,),
        notes=[*_explain_standing(board, datasets), *_explain_marks(board)],
    )


def _show_ratio(ratio: float) -> str | Text:
    if math.isnan(ratio):
        return NOTHING
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}"


def _show_memory(megabytes: float) -> str | Text:
    return NOTHING if math.isnan(megabytes) else f"{megabytes:.0f}"


def _show_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _show_gain(compared: HeadToHead | None) -> list[str]:
    """The mean difference, and how often the method wins, ties and loses."""
    if compared is None:
        return [DASH] * 2
    return [signed(float(compared.gains.mean()), 4), format_counts(compared.counts)]


def _show_likely(compared: HeadToHead | None) -> list[str | Text]:
    """The probabilities better, the same and worse; bold from `SURE` on. With too few data sets they say nothing."""
    if compared is None or compared.verdict == "too few":
        return [NOTHING] * 3
    return [text(f"{p:.2f}", p >= SURE) for p in (compared.better, compared.same, compared.worse)]


def _explain_standing(board: Board, datasets: Sequence[str]) -> Iterator[str]:
    yield (
        f"Ranked are the methods with results on all of {', '.join(datasets)}; the others come last, without a rank."
    )
    differences: dict[str, list[str]] = {}
    for metric in board.measures:
        found = board.test(metric, datasets)
        if found is not None:
            differences.setdefault(f"{found[1]:.1f}", []).append(_SHORT.get(metric, metric))
    told = list(differences)
    if len(told) > 1:  # a measure is not defined for all methods, or not on all data sets
        told = [f"{cd} in {join_words(measures)}" for cd, measures in differences.items()]
    if told:
        yield f"Critical difference (Nemenyi, level {ALPHA:g}): {'; '.join(told)}."
    yield (
        f"Fit time: a multiple of that of {board.against} in the same run, with the search for parameters; the "
        "geometric mean over data sets. Work that methods share counts for each of them."
    )
    yield (
        f"Memory: the most by which one fit raises the memory of the process on {datasets[-1]}, in MB; a few MB mean "
        "nothing. All kept: in how many splits the search chose all dimensions that the method has; in a label "
        "space this is no reduction."
    )
    yield (
        f"Gain: the mean difference to {board.against} in micro F1. W/T/L: data sets on which the method wins, ties "
        f"and loses. P: how sure it is that better, the same or worse is the most likely outcome on a data set "
        f"(Bayesian signed-rank test; differences below {ROPE} count as equal). Bold: {SURE} or more. {DASH}: too "
        "few data sets."
    )


def _explain_marks(board: Board) -> Iterator[str]:
    if board.contributed:
        yield f"{_CONTRIBUTED.strip()}: a contributed row; its time is of another machine, and not compared."


# -------------------------------------------------------------------- each measure


def _measures(board: Board) -> Iterator[str]:
    yield (
        "Means over the folds, in the order of the average ranks. Bold: within one standard error of the best on the "
        "data set.\n"
    )
    for metric in board.measures:
        facts = board.results.metric_facts(metric)
        direction = "higher" if facts.higher_is_better else "lower"
        yield _fold(f"{facts.heading} ({direction} is better)", _measure(board, metric))


def _measure(board: Board, metric: str) -> Sheet:
    """Methods × data sets in one measure."""
    ranks = board.rank(metric, board.datasets)
    unranked = [method for method in board.means(metric).dropna(axis="columns", how="all") if method not in ranks]
    order = [*ranks.index, *unranked]
    cells = board.results.summary[board.results.summary["metric"] == metric]
    differ = cells.groupby("dataset", observed=True)["mean"].transform("nunique") > 1  # on cal500 no label set is exact
    bold = are_best(cells, ["dataset", "metric"], {metric: board.is_higher_better(metric)}) & differ
    shown = {}
    for cell, is_bold in zip(cells.itertuples(), bold, strict=True):
        shown[cell.method, cell.dataset] = format_mean(cell.mean, None, 4, is_bold)
    datasets = [*board.datasets, *(name for name in board.results.datasets if name not in board.datasets)]
    rows: list[list[str | Text]] = []
    for method in order:
        rank = f"{ranks[method]:.2f}" if method in ranks else NOTHING
        rows.append([_name(board, method), rank, *(shown.get((method, name), NOTHING) for name in datasets)])
    return make_sheet(
        caption=board.results.metric_facts(metric).heading,
        header=["Method", "Average rank", *datasets],
        rows=rows,
        stub=1,
        notes=[*_explain_measure(board, metric), *_explain_marks(board)],
    )


def _explain_measure(board: Board, metric: str) -> Iterator[str]:
    values = board.values(metric, board.datasets)
    yield f"Ranked over {', '.join(values.index)}, if a method has results on all of them."
    test = board.test(metric, board.datasets)
    if test is not None:
        found, cd = test
        verdict = "" if found.f_p <= ALPHA else " The methods are not shown to differ."
        yield f"Critical difference (Nemenyi) {cd:.2f}; Friedman's test, {show_p(found.f_p)}.{verdict}"
    if note := board.results.metric_facts(metric).note:
        yield note


# -------------------------------------------------------------------- families


def _families(board: Board) -> Iterator[str]:
    """The best and the mean rank of the members of each family, on each group of data sets."""
    yield (
        "What a method reduces follows from its parts: a label space, a feature step that makes features or one that "
        "selects them, both, or parts of the rows. *Learner alone* has none of these, though some such learners reduce "
        "inside.\n"
    )
    for datasets in board.groups:
        sheet = _family(board, datasets)
        if datasets == board.datasets:
            yield f"{sheet.html().strip()}\n"
        else:
            yield _fold(describe_datasets(datasets), sheet)


def _family(board: Board, datasets: Sequence[str]) -> Sheet:
    measures = [metric for metric in _OF_FAMILIES if metric in board.measures]
    rows: list[list[str | Text]] = []
    ranks = {metric: board.rank(metric, datasets) for metric in measures}
    for family in FAMILIES:
        members = [method for method in ranks[measures[0]].index if board.families[method] == family]
        if not members:
            continue
        row: list[str | Text] = [family, str(len(members))]
        for metric in measures:
            own = ranks[metric].reindex(members).dropna().sort_values(kind="stable")
            row += _show_members(board, own)
        rows.append(row)
    header = ["Family", "Methods"]
    for metric in measures:
        header += [f"Best in {_SHORT[metric]}", "Rank", "Mean"]
    n_ranked = len(ranks[measures[0]])
    best = tuple(range(2, len(header), 3))
    return make_sheet(
        caption=f"Average ranks of {plural(n_ranked, 'method')} over {plural(len(datasets), 'data set')}, by family",
        header=header,
        rows=rows,
        stub=1,
        left=best,
        notes=["Mean: of the average ranks of all members. A larger family has a better best one by chance alone."],
    )


def _show_members(board: Board, ranks: pd.Series) -> list[str | Text]:
    """The best member, its average rank and the mean of all members."""
    if ranks.empty:
        return [NOTHING] * 3
    return [_name(board, ranks.index[0]), f"{ranks.iloc[0]:.1f}", f"{ranks.mean():.1f}"]


# -------------------------------------------------------------------- cost and quality


def _frontier(board: Board) -> Iterator[str]:
    found = list_frontier(board)
    if found.empty:
        yield "No times are known yet.\n"
        return
    best = found[found["best"]].sort_values("time")
    names = [_say(board, str(name)) for name in best.index]
    listed = []
    for name, row in zip(names, best.itertuples(), strict=True):
        listed.append(f"{name} ({row.time:.2g} times, {signed(row.gain, 4)})")
    yield (
        f"No other method is both quicker and better than these, of {plural(len(found), 'method')} on "
        f"{plural(len(board.datasets), 'data set')} (time of a fit as a multiple of that of `{board.against}`, mean "
        f"gain in micro F1 over it): {join_words(listed)}.\n"
    )
    yield (
        f"![Time of a fit as a multiple of that of {board.against}, and mean gain in micro F1, both logarithmic: a "
        f"point for each method, by family. Named are {join_words(names)}, than which no other is quicker and "
        "better.](images/board.svg)\n"
    )


def draw_frontier(board: Board) -> Figure:
    """Time of a fit against gain over no reduction, by family; those that no other surpasses in both are named."""
    found = list_frontier(board)
    with mpl.rc_context(STYLE):
        figure = empty_figure(140, 110)  # small, so that its letters can be read on a phone
        ax = figure.subplots()
        for k, family in enumerate(FAMILIES):
            own = found[[board.families[method] == family for method in found.index]]
            if len(own):
                ax.plot(own["time"], own["gain"], linestyle="", label=family, **styles.mark(k))
        best = found[found["best"]].sort_values("time")
        ax.plot(best["time"], best["gain"], color="#888888", linewidth=0.8, drawstyle="steps-post", zorder=1)
        for k, row in enumerate(best.itertuples(), 1):
            ax.annotate(
                str(k), (row.time, row.gain), xytext=(-2, 5), textcoords="offset points", fontsize=7, ha="right"
            )
        key = "\n".join(f"{k} {shorten_name(str(name))}" for k, name in enumerate(best.index, 1))
        ax.text(1.02, 1, key, transform=ax.transAxes, va="top", fontsize=7, parse_math=False)
        ax.axhline(0, color="black", linewidth=0.6, zorder=0)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_yscale("symlog", linthresh=_LINEAR)  # one method that learns nothing must not squeeze all others
        shown = [tick for tick in _TICKS if found["gain"].min() <= tick <= found["gain"].max()]
        ax.set_yticks(shown or [0.0], labels=[signed(tick, 2) for tick in shown] or ["0"])
        ax.set(
            xlabel=f"time of a fit, {board.against} = 1",
            ylabel=f"mean gain in micro F1 over {board.against} (logarithmic beyond {_LINEAR})",
        )
        ax.margins(y=0.08)
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def write_figure(board: Board | None) -> None:
    """Write docs/images/board.svg, if there are results."""
    if board is not None and len(list_frontier(board)):
        with mpl.rc_context(STYLE):
            draw_frontier(board).savefig(FIGURE, metadata={"Date": None, "Creator": "mlcdr", "Title": TITLE})


# -------------------------------------------------------------------- when a reduction pays


def _gains(board: Board) -> Iterator[str]:
    chosen = choose_of_families(board)
    if not chosen:
        yield "No reduction has results yet.\n"
        return
    yield (
        f"The gain in micro F1 over `{board.against}` of one method of each family: that with "
        "the largest mean gain among those on the most data sets. Chosen by these numbers, it is flattered a little. "
        f"n rows, d features, K labels; noise is 1 − macro AUC of `{board.against}`, 0.5 where features say nothing "
        "of the labels.\n"
    )
    yield f"{_gain_sheet(board, chosen).html(sortable=True).strip()}\n"
    found = correlate(board, chosen)
    yield _describe_correlations(found) + "\n"
    yield _fold("Spearman's correlations of the gains with n, d, K, density, d/n and noise", _correlation_sheet(found))


def _gain_sheet(board: Board, chosen: Mapping[str, str]) -> Sheet:
    gains = {method: board.gains(method, board.against, MAIN) for method in chosen.values()}
    rows: list[list[str | Text]] = []
    for name, facts in board.facts().iterrows():
        row: list[str | Text] = [str(name)]
        for value, form in zip(facts, (".0f", ".0f", ".0f", ".3f", ".2f", ".2f"), strict=True):
            row.append(NOTHING if math.isnan(value) else f"{value:{form}}")
        row += [signed(own[name], 4) if name in own else NOTHING for own in gains.values()]
        rows.append(row)
    heads = [f"{method}: {family}" for family, method in chosen.items()]
    return make_sheet(
        caption=f"Gain in micro F1 over {board.against}",
        header=["Data set", "n", "d", "K", "density", "d/n", "noise", *heads],
        rows=rows,
        stub=1,
    )


def _describe_correlations(found: pd.DataFrame) -> str:
    """Which correlations are significant after Holm's correction; if none is, how near the nearest comes."""
    tested = found.dropna(subset=["p_holm"])
    if tested.empty:
        return "Too few data sets for a correlation."
    shown = tested[tested["p_holm"] <= ALPHA]
    fewest, most = tested["n"].min(), tested["n"].max()
    n = f"{fewest} to {most}" if fewest < most else f"{most}"
    if shown.empty:
        least = tested.loc[tested["p_holm"].idxmin()]
        nearest = f"{escape_markdown(least.method)} with {least.fact}, ρ = {signed(least.rho, 2)}, {show_p(least.p)}"
        return (
            f"With {n} data sets, none of {len(tested)} rank correlations of a gain with a property of the data is "
            f"significant at {ALPHA:g} after Holm's correction (the nearest: {nearest}, after the correction "
            f"{show_p(least.p_holm)})."
        )
    named = []
    for row in shown.itertuples():
        rho = f"ρ = {signed(row.rho, 2)}, {show_p(row.p_holm)}"
        named.append(f"{escape_markdown(row.method)} with {row.fact} ({rho})")
    return (
        f"With {n} data sets, {len(shown)} of {len(tested)} rank correlations of a gain are significant at {ALPHA:g} "
        f"after Holm's correction: {join_words(named)}. The others are not shown."
    )


def _correlation_sheet(found: pd.DataFrame) -> Sheet:
    rows: list[list[str | Text]] = []
    for row in found.itertuples():
        rho = NOTHING if math.isnan(row.p) else signed(row.rho, 2)
        test = show_test(row.p, row.p_holm, places=3)
        rows.append([f"{row.method}: {row.family}", row.fact, str(row.n), rho, *test])
    return make_sheet(
        caption="Rank correlations of the gain in micro F1",
        header=["Gain of", "With", "Data sets", "ρ", "p", "p (Holm)"],
        rows=rows,
        stub=2,
        notes=[f"Holm's correction over all rows. {DASH}: not defined, or too few data sets."],
    )


# -------------------------------------------------------------------- the methods of four works


def _works(board: Board) -> Iterator[str]:
    """What each work says of its method, and what the board says: the claims, and a table of all pairs."""
    yield (
        "What the works say, in our words, and what comes out where every method is tuned in the same way. It does not "
        "contradict a table of a work, which has other settings ([claim by claim](claims.md)).\n"
    )
    rows: list[list[str | Text]] = []
    for work in read_yaml(WORKS).data:
        method = work["method"]
        rivals = [rival for rival in work["rivals"] if {method, rival} <= board.families.keys()]
        said: dict[str, dict[str, list[str]]] = {}
        for metric in work["metrics"]:
            for rival in rivals:
                compared = board.compare(method, rival, metric)
                if compared is not None:
                    said.setdefault(metric, {}).setdefault(compared.verdict, []).append(rival)
                    rows.append(_show_pair(method, rival, metric, compared))
        if said:
            yield f"- **{method}** ({work['work']}): {work['says']} *The board:* {'; '.join(_tell(said))}."
    yield ""
    if rows:
        yield f"{_pair_sheet(rows).html(sortable=True).strip()}\n"


def _tell(said: Mapping[str, Mapping[str, Iterable[str]]]) -> Iterator[str]:
    """`micro F1 better than A, worse than B, not decided against C`."""
    words = {
        "better": "better than",
        "the same": "the same as",
        "worse": "worse than",
        "not decided": "not decided against",
        "too few": "too few data sets for a verdict against",
    }
    for metric, verdicts in said.items():
        told = [f"{words[verdict]} {join_words(list(verdicts[verdict]))}" for verdict in words if verdict in verdicts]
        yield f"in {_SHORT.get(metric, metric)} {', '.join(told)}"


def _show_pair(method: str, rival: str, metric: str, compared: HeadToHead) -> list[str | Text]:
    counts, mean = format_counts(compared.counts), signed(float(compared.gains.mean()), 4)
    n = str(len(compared.gains))
    return [method, rival, _SHORT.get(metric, metric), n, counts, mean, *_show_likely(compared)]


def _pair_sheet(rows: Sequence[Sequence[str | Text]]) -> Sheet:
    return make_sheet(
        caption="The methods of four works against their rivals",
        header=["Method", "Against", "In", "Data sets", "W/T/L", "Mean difference", "P(better)", "P(same)", "P(worse)"],
        rows=rows,
        stub=1,
        left=(1, 2),
        notes=[
            "On the data sets that both have. W/T/L: data sets on which the method wins, ties and "
            f"loses. P: as in the first table, with ± {ROPE} in the measure of the row."
        ],
    )


# -------------------------------------------------------------------- a row of one's own


def _add_a_row() -> list[str]:
    return [
        "## Add a row\n",
        "1. Write a class, `Mine` in `my_methods.py` ([write a method](how-to/method.md)), in a checkout.",
        "2. `mlcdr run board --method my_methods.Mine` computes its row, tuned as the others are, and prints where it "
        "stands.",
        "3. `python -m tools.record results/board_mine` stores it in `results/record/board/board_mine`.",
        "4. `python docs/generate.py` writes this page with it.",
        "5. Open a pull request with the class's file in `examples/board`, the folder of the record and this page "
        "([more](how-to/board.md)).",
        "6. The checks compute one of its data sets again; the row is accepted if the numbers are the same.",
    ]
