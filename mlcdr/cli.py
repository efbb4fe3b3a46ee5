"""The command line: parse, call, print. What a command does is in the package it calls.

Imports are inside the commands, so that `mlcdr --help` answers at once.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcdr.errors import ConfigError, ResultsError, UserError, did_you_mean, printable

if TYPE_CHECKING:
    from mlcdr.experiment.model import Experiment
    from mlcdr.experiment.runner import RunReport
    from mlcdr.experiment.trials import Trial
    from mlcdr.reporting.recipes import Step
    from mlcdr.reporting.results import Results

app = typer.Typer(
    name="mlcdr",
    help="Reproduce, compare and extend multi-label dimension reduction.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
datasets_app = typer.Typer(
    help="The papers' data sets: list them, look at one, download, verify.", no_args_is_help=True
)
app.add_typer(datasets_app, name="datasets")

Configs = Annotated[list[Path], typer.Argument(metavar="CONFIG", help="Experiment files (YAML).")]
Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Experiment file (YAML).")]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder, such as results/yeast_cplst.")]
Folders = Annotated[list[Path], typer.Argument(metavar="RESULTS", help="Results folders.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the config, e.g. splits.repeats=10. Repeatable."
    ),
]


def main() -> None:
    """Entry point: errors that are the user's to mend become lines and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    heard = _hearing_ctrl_c()
    try:
        app()
    except UserError as error:
        if heard:  # an import that Ctrl-C cut short may look like a module that cannot be imported
            sys.exit(130)
        for line in str(error).split("\n"):
            print(f"error: {printable(line)}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # `mlcdr methods | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a folder that may not be written, a full disk
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)


def _hearing_ctrl_c() -> list[int]:
    """Note every SIGINT in the list that is returned, and raise KeyboardInterrupt as ever.

    C code that is interrupted while it imports, or calls back, may turn that into an exception of its own.
    """
    heard: list[int] = []

    def note(number: int, frame: Any) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        with contextlib.suppress(ValueError):  # outside the main thread it is not ours to take
            signal.signal(signal.SIGINT, note)
    return heard


def _version(wanted: bool) -> None:
    if wanted:
        from mlcdr import __version__

        print(f"mlcdr {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Reproduce, compare and extend multi-label dimension reduction."""


# -------------------------------------------------------------------- experiments


@app.command()
def run(
    configs: Configs,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Workers; 0 means one for each core.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder that holds results folders.")] = Path("results"),
    set_: Set = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results and start over.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    backend: Annotated[str, typer.Option(help="loky (processes), threading, or dask (a cluster).")] = "loky",
    scheduler: Annotated[
        str | None, typer.Option(help="Of --backend dask: tcp://host:port, or the path of a scheduler file.")
    ] = None,
) -> None:
    """Run experiments; what is already in the results folder is not computed again."""
    experiments = [_load(config, set_) for config in configs]  # before the runner: a mistake is told without its cost
    _all_different(configs, [experiment.name for experiment in experiments])
    from mlcdr.experiment.runner import BACKENDS
    from mlcdr.experiment.runner import run as run_experiment
    from mlcdr.progress import listener

    if backend not in BACKENDS:
        raise typer.BadParameter(f"{backend!r} is none of {', '.join(BACKENDS)}", param_hint="--backend")
    if (backend == "dask") != (scheduler is not None):
        raise typer.BadParameter("--backend dask and --scheduler go together", param_hint="--scheduler")
    worst = 0
    for experiment in experiments:
        with listener(quiet) as told:
            report = run_experiment(experiment, out, jobs, backend, fresh, told, scheduler=scheduler)
        worst = max(worst, _conclude(experiment, report, quiet))
        if report.interrupted:
            break
    raise typer.Exit(worst)


@app.command()
def reproduce(
    target: Annotated[
        str | None, typer.Argument(metavar="PAPER[/TABLE]", help="What to reproduce; left out: list what can be.")
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="In minutes: fewer repeats, the small data sets.")] = False,
    large: Annotated[bool, typer.Option("--large", help="With the part that holds the large data sets.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Workers; 0 means one for each core.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder that holds results folders.")] = Path("results"),
    set_: Set = None,
) -> None:
    """Run what reproduces a published table, and show the printed numbers beside ours."""
    from mlcdr.reporting import recipes

    if target is None:
        _list_recipes()
        return
    from mlcdr.experiment.runner import run as run_experiment
    from mlcdr.progress import listener

    steps = recipes.steps(target, small, large)
    recipes.require_data([recipes.experiment_of(step, set_ or ()) for step in steps], target)
    experiments = [_load(step.recipe.path, [*step.overrides, *(set_ or ())]) for step in steps]
    _all_different([step.recipe.path for step in steps], [experiment.name for experiment in experiments])
    if len(steps) > 1:
        _say(f"{target}: {len(steps)} experiments, one after another")
        for step, experiment in zip(steps, experiments, strict=True):
            _say(f"  {_titled(step)}: {_size(experiment)}")
    worst = 0
    finished: dict[str, list[Path]] = {}
    for k, (step, experiment) in enumerate(zip(steps, experiments, strict=True)):
        _say(_titled(step))
        with listener(False) as told:
            report = run_experiment(experiment, out, jobs, listener=told)
        worst = max(worst, _conclude(experiment, report, False))
        if report.interrupted:
            raise typer.Exit(worst)
        table_name = step.recipe.table
        if report.done:
            finished.setdefault(table_name, []).append(report.folder)
        if table_name in finished and all(later.recipe.table != table_name for later in steps[k + 1 :]):
            worst = max(worst, _beside_printed(table_name, finished.pop(table_name)))
    raise typer.Exit(worst)


def _titled(step: Step) -> str:
    return f"{step.recipe.name}{f' ({step.said})' if step.said else ''}"


def _beside_printed(table_name: str, folders: list[Path]) -> int:
    """Show the printed numbers of a table beside those of some folders; the exit code."""
    from mlcdr.reporting import reproduction, results

    if not table_name:
        _say(f"{', '.join(map(str, folders))}: the paper prints no numbers to compare with")
        return 0
    try:
        for beside in reproduction.beside([results.load(folder) for folder in folders], table_name):
            _show(beside)
    except ResultsError as error:  # the tables that follow are worth their run all the same
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 2
    return 0


def _list_recipes() -> None:
    """What can be reproduced: each table and figure with what there is to compare, and what it needs."""
    from mlcdr.reporting import recipes

    known = recipes.recipes().values()
    rows: list[tuple[str, ...]] = [("what", "printed cells", "data sets", "also")]
    for each in known:
        absent = recipes.missing([each.experiment])
        at_hand = len(each.experiment.datasets) - len(absent)
        also = ["--small"] if each.variant != recipes.SMALL else []
        also += ["--large"] if any(e.of == each.name and e.variant == recipes.LARGE for e in known) else []
        rows.append(
            (
                each.name,
                str(recipes.printed_cells(each) or "none"),
                f"{at_hand} of {len(each.experiment.datasets)} at hand",
                " ".join(also),
            )
        )
    _print_columns(rows)
    needed = recipes.missing([each.experiment for each in known])
    if needed:
        _say(f"not at hand: {', '.join(needed)}; {recipes.how_to_get(needed)}")


def _all_different(configs: list[Path], names: list[str]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            first = configs[names.index(name)]
            raise UserError(
                f"{configs[i]}: name: {name!r} is the name of {first} too; they would share a results folder"
            )


def _load(config: Path, overrides: list[str] | None) -> Experiment:
    """The experiment, with its layouts looked up, so that nothing is found wrong after hours of computing."""
    from mlcdr.experiment.config import load_experiment

    if (config / "experiment.yaml").exists():
        raise UserError(f"{config}: a results folder; its experiment is {config / 'experiment.yaml'}")
    _import_from_here()
    return load_experiment(config, overrides or (), also=_layout_problems)


def _layout_problems(experiment: Mapping[str, Any]) -> list[str]:
    """What is wrong with the tables and figures of an experiment; reporting is imported where there are any."""
    if not (experiment["tables"] or experiment["figures"]):
        return []
    from mlcdr.reporting import checks

    return checks.problems(experiment)


def _import_from_here() -> None:
    """Let a dotted path lead to a module in the current folder."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # last: a file here must not stand in for a library's module


def _conclude(experiment: Experiment, report: RunReport, quiet: bool) -> int:
    """Write tables and figures, print the tables and what went wrong; gives the exit code."""
    from mlcdr.reporting import results, tables
    from mlcdr.reporting.failures import reason as reason_of

    if report.done:
        found = results.load(report.folder)
        written: list[Path] = []
        try:
            written += tables.write_all(found)
            if not quiet:
                _print_tables(found)
        except ResultsError as told:  # of what is not there a table cannot be made; the failures say why it is not
            if not report.failures:
                raise
            print(f"no table: {told}", file=sys.stderr)
        if experiment.figures and not report.interrupted and not report.failures:
            from mlcdr.reporting import figures

            written += figures.write_all(found)
        if not quiet:
            _say(f"{report.planned} trials, {report.computed} computed now, in {report.seconds:.1f} s")
            names = ", ".join(filter(None, ("scores.csv, summary.csv", _listed(written, report.folder))))
            _say(f"results in {report.folder}: {names}")
    kinds: dict[tuple[str, str, str], list[Trial]] = {}
    for trial, error in report.failures:
        kinds.setdefault((trial.dataset, trial.method, reason_of(error)), []).append(trial)
    for (dataset, method, reason), trials in list(kinds.items())[:10]:
        point = ", ".join(f"{path} {value}" for path, value in trials[0].point)
        first = f"{dataset}, {method}{f' ({point})' if point else ''}, split {trials[0].split}"
        more = f" (and {len(trials) - 1} more trials of {method})" if len(trials) > 1 else ""
        print(_failure(f"{first}: {reason}{more}", reason), file=sys.stderr)
    if report.failures:
        ended = f" ({report.crashed} of them crashed)" if report.crashed else ""
        rest = f"; {len(kinds) - 10} more kinds of failure" if len(kinds) > 10 else ""
        print(
            f"error: {len(report.failures)} of {report.planned} trials failed{ended}{rest}; "
            f"`mlcdr report {report.folder}` shows their tracebacks",
            file=sys.stderr,
        )
    if report.interrupted:
        so_far = (
            f"{report.done} of {report.planned} trials are done and kept"
            if report.planned
            else "nothing was computed yet"
        )
        print(f"interrupted: {so_far}; the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if report.failures else 0


def _failure(text: str, reason: str) -> str:
    """A line that says of a failed trial what happened to it."""
    crashed = "crashed: "  # the reason begins so
    return crashed + text.replace(crashed, "", 1) if reason.startswith(crashed) else f"failed: {text}"


def _listed(paths: list[Path], folder: Path) -> str:
    return ", ".join(str(path.relative_to(folder)) for path in paths)


def _print_tables(found: Results) -> None:
    from mlcdr.reporting import tables

    for entry in tables.entries(found):
        print()
        _show(tables.render(found, entry))
    print()


@app.command()
def check(config: Config, set_: Set = None) -> None:
    """Check an experiment file without running it; every mistake is reported with its line.

    The data sets are read, so that sizes, splits and folds are compared with them.
    """
    experiment = _load(config, set_)
    from mlcdr.experiment.feasible import infeasible  # after the file: its mistakes are told without this one's cost

    problems = infeasible(experiment)
    if problems:
        raise ConfigError([experiment.placed(problem) for problem in problems])
    print(f"{config}: no mistake found; {experiment.name}: {_size(experiment)}")


def _size(experiment: Experiment) -> str:
    """`1 data set × 4 methods (20 points) × 100 splits`."""
    points = sum(len(experiment.points(method)) for method in experiment.methods)
    splits = getattr(experiment.splits, "repeats", 1) * getattr(experiment.splits, "folds", 1)
    several = "" if experiment.splits.kind != "file" else " (as many splits as the file has folds)"
    counts = [(len(experiment.datasets), "data set"), (len(experiment.methods), "method"), (splits, "split")]
    sets, methods_, splits_ = (f"{number} {what}{'s' * (number != 1)}" for number, what in counts)
    return f"{sets} × {methods_} ({points} points) × {splits_}{several}"


@app.command()
def plan(
    config: Config,
    out: Annotated[Path, typer.Option(help="The folder that holds results folders.")] = Path("results"),
    set_: Set = None,
) -> None:
    """Say what `run` would do with an experiment, without doing it."""
    from mlcdr.experiment.record import duration
    from mlcdr.experiment.survey import survey

    found = survey(_load(config, set_), out)
    rows: list[tuple[str, ...]] = [
        ("data set", "rows", "features", "labels", "trials", "there", "failed", "to do", "groups", "fits", "cost")
    ]
    for each in found.datasets:
        cost = "–" if not each.to_do else "?" if each.seconds is None else duration(each.seconds)
        counts = (each.n_instances, each.n_features, each.n_labels, each.trials, each.done, each.failed, each.to_do)
        rows.append((each.name, *map(str, (*counts, each.groups, each.fits)), cost))
    _print_columns(rows)
    print("\n".join(["", *found.shared]) if found.shared else "")
    to_do = sum(each.to_do for each in found.datasets)
    timed = [each.seconds for each in found.datasets if each.to_do and each.seconds is not None]
    untimed = [each.name for each in found.datasets if each.to_do and each.seconds is None]
    costs = [f"about {duration(sum(timed))} of one worker, by past timings in {found.folder}"] if timed else []
    costs += [f"no past timings of {', '.join(untimed)} in {found.folder}"] if untimed else []
    print("; ".join([f"{to_do} trials to compute", *costs]))


@app.command()
def status(folder: Folder) -> None:
    """How far a run is, or how it ended; may be asked while it is going on."""
    from mlcdr.experiment.record import duration, progress
    from mlcdr.reporting.failures import reason as reason_of

    found = progress(folder)
    last = found.run
    told = {
        "running": f"running since {last.started}, workers: {last.jobs}",
        "finished": f"finished at {last.ended}",
        "interrupted": f"interrupted at {last.ended}; the same command goes on from there",
        "crashed": f"ended by an error at {last.ended}: {last.error}"
        if last.error
        else f"crashed: begun at {last.started}, its process is gone; the same command goes on from there",
        "unknown": f"begun at {last.started} on {last.host}, and not ended; only there one can see whether it runs",
    }
    print(f"{folder}: {told[last.state]}")
    rows: list[tuple[str, ...]] = [("data set", "method", "planned", "done", "failed", "pending")]
    counted = [(e.dataset, e.method, e.planned, e.done, e.failed, e.pending) for e in found.counts]
    totals = (found.total("planned"), found.total("done"), found.total("failed"), found.total("pending"))
    rows += [tuple(map(str, row)) for row in [*counted, ("all", "", *totals)]]
    if found.total("crashed"):  # of those that failed
        crashed = ["crashed", *(str(each.crashed) for each in found.counts), str(found.total("crashed"))]
        rows = [(*row[:5], number, row[5]) for row, number in zip(rows, crashed, strict=True)]
    _print_columns(rows)
    if found.total("pending"):
        timed = f"about {duration(found.seconds_left)}" if len(found.costs) else "an unknown time"
        untimed = f", without {', '.join(found.untimed)}, of which nothing is timed yet" if found.untimed else ""
        left = "left" if last.state == "running" else "to do"
        print(f"{timed} {left} with {last.jobs} worker{'s' * (last.jobs != 1)}{untimed}")
    for (dataset, method, error), number in list(found.errors.items())[:10]:
        reason = reason_of(error)
        print(_failure(f"{dataset}, {method}: {reason} ({number} trial{'s' * (number != 1)})", reason))


@app.command()
def retry(
    folder: Folder,
    failed: Annotated[bool, typer.Option("--failed", help="Compute the failed trials again, and no others.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Workers; 0 means one for each core.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Compute the failed trials of a results folder again; `run` would compute what is pending as well."""
    from mlcdr.experiment.runner import run as run_experiment
    from mlcdr.progress import listener

    config = folder / "experiment.yaml"
    if not config.is_file():
        raise ResultsError(f"{folder}: no such results folder; `mlcdr run CONFIG` makes one")
    if not failed:
        raise UserError(f"say `--failed` to compute what failed; `mlcdr run {config}` computes what is pending, too")
    experiment = _load(config, None)
    if experiment.name != folder.resolve().name:
        raise ResultsError(f"{config}: name: is {experiment.name!r}; give the folder that name, which a run writes to")
    with listener(quiet) as told:
        # as it was given, where that says the name: `results/long` rather than the whole path
        out = folder.parent if folder.name == experiment.name else folder.resolve().parent
        report = run_experiment(experiment, out, jobs, listener=told, failed_only=True)
    if not report.computed and not report.interrupted:
        _say(f"{folder}: no trial failed")
        code = 0
    else:
        code = _conclude(experiment, report, quiet)
    pending = report.planned - report.done - len(report.failures)
    if pending and not quiet:
        are, them = ("trial is", "it") if pending == 1 else ("trials are", "them")
        _say(f"{pending} {are} pending still; `mlcdr run {config}` computes {them}")
    raise typer.Exit(code)


@app.command()
def new(
    datasets: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", metavar="NAME", help="A data set. Repeatable.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", metavar="NAME", help="A component, or several: pca+plst+ridge. Repeatable."),
    ] = None,
    metrics: Annotated[list[str] | None, typer.Option("--metric", metavar="NAME", help="A metric. Repeatable.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the experiment; else that of the file.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the config to this file.")] = None,
) -> None:
    """Write a first config with comments; asks for what is left out, on a terminal."""
    from mlcdr.experiment import draft

    if sys.stdin.isatty() and sys.stderr.isatty():
        datasets = datasets or _listed_names(_asked("Data sets", " ".join(draft.DATASETS)))
        known = "Methods (`mlcdr methods` lists components; join them by +)"
        methods = methods or _listed_names(_asked(known, " ".join(draft.METHODS)))
        metrics = metrics or _listed_names(_asked("Metrics", " ".join(draft.METRICS)))
        out = out or Path(_asked("File", "experiment.yaml"))
    if out is not None and out.exists():
        raise UserError(f"{out}: is there already; remove it or choose another --out")
    if name is None:
        name = out.stem if out is not None else "experiment"
    _import_from_here()
    text = draft.draft(name, datasets or draft.DATASETS, methods or draft.METHODS, metrics or draft.METRICS)
    if out is None:
        print(text, end="")
    else:
        from mlcdr.whole_files import write_whole

        write_whole(out, text)
        _say(f"written: {out}; `mlcdr run {out}` runs it")


def _asked(what: str, default: str) -> str:
    """A line typed on the terminal; the default for an empty one."""
    print(f"{what} [{default}]: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or default


def _listed_names(line: str) -> list[str]:
    return line.replace(",", " ").split()


@app.command()
def schema() -> None:
    """Print the JSON schema of experiment files (for editors)."""
    import json

    from mlcdr.experiment.schema import schema as make

    print(json.dumps(make(), indent=2, ensure_ascii=False))


# -------------------------------------------------------------------- results


@app.command()
def table(folder: Folder) -> None:
    """Write the tables of a results folder anew and print them."""
    from mlcdr.reporting import results, tables

    found = results.load(folder)
    written = tables.write_all(found)
    _print_tables(found)
    _say(f"written: {_listed(written, folder)}")


@app.command()
def plot(
    folder: Folder,
    layout: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Draw this layout (curves, boxes, time, heatmap …) instead. Repeatable."),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help="With --layout: this metric only. Repeatable.")] = None,
) -> None:
    """Draw the figures of a results folder anew; generic ones where the experiment asks for none."""
    from mlcdr.reporting import figures, output, results

    found = results.load(folder)
    if metric and not layout:
        raise typer.BadParameter("needs --layout NAME", param_hint="--metric")
    chosen: dict[str, Any] = {"metrics": metric} if metric else {}
    asked: list[dict[str, Any]] = [{"layout": each, **chosen} for each in layout or ()]
    asked = asked or output.entries(found, "figures") or figures.fitting(found)
    print("\n".join(map(str, figures.write_all(found, asked))))


@app.command()
def report(folder: Folder) -> None:
    """Write report.html into a results folder: all it shows on one page, which needs no network."""
    from mlcdr.experiment.store import read_failures
    from mlcdr.reporting import diagrams
    from mlcdr.reporting import report as page

    print(page.write(folder, diagrams.texts, diagrams.WITHOUT_TESTS))
    try:
        read_failures(folder)
    except ResultsError as told:  # the page says so, too
        _say(str(told))


@app.command()
def compare(
    folders: Folders,
    published: Annotated[
        str | None,
        typer.Option(metavar="PAPER/TABLE", help="Compare with a published table, e.g. chen_lin_2012/table3."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Show this metric only."),
    ] = None,
    bayes: Annotated[
        bool, typer.Option("--bayes", help="Show every pair of methods, with the Bayesian signed-rank test.")
    ] = False,
    rope: Annotated[
        float, typer.Option(min=0, help="For --bayes: differences up to this, in the metric's unit, are none.")
    ] = 0.01,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write tables (md, tex, csv) and diagrams (SVG, PNG) of the comparison here."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="RESULTS", help="Compare with an earlier run of the same, split by split."),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(metavar="regression", help="With --baseline: exit code 1 if anything got worse."),
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0, help="With --baseline: a metric may lose this share of its old mean.")
    ] = 0.01,
    time_margin: Annotated[float, typer.Option(min=1, help="With --baseline: a time may grow by this factor.")] = 1.5,
) -> None:
    """Compare methods with one another, with a paper's table, or with an earlier run.

    Methods of several folders are compared together. `--baseline OLD NEW` compares two runs split by split.
    """
    from mlcdr.reporting import comparison, joining, reproduction, results

    if published and metric:
        raise typer.BadParameter(
            "a published table has its own metric; leave one of the two out", param_hint="--metric"
        )
    for option, value in (("--rope", rope), ("--margin", margin), ("--time-margin", time_margin)):
        if not math.isfinite(value):
            raise typer.BadParameter(f"{value} is no number to compare with", param_hint=option)
    if fail_on not in (None, "regression"):
        raise typer.BadParameter(f"{fail_on!r}: only `regression` is known", param_hint="--fail-on")
    if fail_on and not baseline:
        raise typer.BadParameter("needs --baseline OLD", param_hint="--fail-on")
    if published and (baseline or bayes or out):
        raise typer.BadParameter("does not go with --baseline, --bayes or --out", param_hint="--published")
    if baseline:
        if bayes or out or len(folders) != 1:
            raise typer.BadParameter("takes one other folder, and neither --bayes nor --out", param_hint="--baseline")
        raise typer.Exit(_against(baseline, folders[0], metric, margin, time_margin, bool(fail_on)))
    if published:
        for beside in reproduction.beside([results.load(folder) for folder in folders], published):
            _show(beside)
        return
    found = joining.join([results.load(folder) for folder in folders])
    region = rope if bayes else None
    compared = [comparison.compare(found, metric, region)] if metric else comparison.compare_all(found, region)
    for each in compared:
        _show(each)
        print()
    if out:
        from mlcdr.reporting import diagrams

        out.mkdir(parents=True, exist_ok=True)
        written = [
            path for each in compared for path in (*each.write(out), *diagrams.write_all(each, out, found.methods))
        ]
        _say(f"written in {out}: {_listed(written, out)}")
        untested = [each.metric for each in compared if each.significance is None]
        if untested:
            _say(f"no diagram of {', '.join(untested)}: {diagrams.WITHOUT_TESTS}")


def _against(old: Path, new: Path, metric: str | None, margin: float, time_margin: float, fail: bool) -> int:
    """Show a run beside an earlier one; the exit code."""
    from mlcdr.reporting import baseline, results

    found = baseline.compare(results.load(old), results.load(new), metric, margin, time_margin)
    _show(found)
    return 1 if fail and found.regressions else 0


@app.command("reproduction-status")
def reproduction_status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds results folders.")] = Path(
        "results"
    ),
    to: Annotated[Path | None, typer.Option(help="Write the page to this file instead of printing it.")] = None,
) -> None:
    """Write a page (Markdown) on how far stored results reproduce the published tables."""
    from mlcdr.reporting import reproduction
    from mlcdr.whole_files import write_whole

    page = reproduction.status(folder).markdown()
    if to is None:
        print(page, end="")
    else:
        write_whole(to, page)
        _say(f"written: {to}")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, such as those below RESULTS/kept.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="A data set, or the path of its ARFF file.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file (CSV), not to the screen.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load the model, which may run any program; say so if you know its maker.")
    ] = False,
) -> None:
    """Predict label sets and scores of a data set by a kept model (`keep: {models: true}`), as CSV."""
    from mlcdr.data.dataset import load_dataset
    from mlcdr.experiment.models import load_model, predictions
    from mlcdr.whole_files import write_whole

    _import_from_here()
    loaded = load_model(model, trust)
    dataset = load_dataset(data)
    text = predictions(loaded, dataset)
    if out is None:
        print(text, end="")
    else:
        write_whole(out, text)
        _say(f"written: {out}, {dataset.n_instances} rows by {loaded.about.get('method', 'the model')}")


# -------------------------------------------------------------------- what there is


@app.command()
def methods(name: Annotated[str | None, typer.Argument(help="Show this one in full.")] = None) -> None:
    """List the components a method can be made of, or describe one."""
    import inspect

    from mlcdr import registry

    if name is None:
        for family in registry.BUILT_IN:
            print(f"{family}:" if registry.names(family) else f"{family}: none yet (a dotted path to your own class)")
            for each in registry.names(family):
                print(f"  {each:<19} {registry.summary(family, each)}")
        return
    families = [family for family in registry.BUILT_IN if name in registry.names(family)]
    if not families and "." not in name:
        known = [each for family in registry.BUILT_IN for each in registry.names(family)]
        hint = did_you_mean(name, known)
        raise UserError(f"unknown component {name!r}{hint} (known: {', '.join(known)}; or a dotted path to a class)")
    _import_from_here()
    for family in families or ["learner"]:  # a class of one's own is of whatever family a config uses it in
        cls = registry.resolve(family, name)
        defaults = registry.parameters(cls).items()
        shown = ", ".join(key if value is inspect.Parameter.empty else f"{key}={value!r}" for key, value in defaults)
        print(f"{family if families else 'class'}: {name}({shown})\n\n{inspect.getdoc(cls) or ''}\n")
        if families:
            print((inspect.getdoc(inspect.getmodule(cls)) or "").strip())


@app.command()
def metrics() -> None:
    """List the metrics, their direction, and what 0/0 counts as."""
    from mlcdr.metrics import METRICS

    for metric in METRICS.values():
        better = {True: "higher is better", False: "lower is better", None: "neither way is better"}
        print(f"{metric.name:<18}{better[metric.higher_is_better]}: {metric.description}")
        if metric.convention:
            print(f"{'':<18}{metric.convention}")
        for option, values in metric.allowed.items():
            default = metric.parameters[option] if metric.parameters[option] is not None else "as said above"
            print(f"{'':<18}option {option}: {', '.join(map(str, values))} (default {default})")


@app.command()
def doctor() -> None:
    """Say what mlcdr finds here: versions, threads, data folders, plug-ins; exit code 1 if something is amiss."""
    from mlcdr.doctor import examine

    findings = examine()
    _print_columns([("" if each.ok else "!", each.topic, each.found) for each in findings])
    raise typer.Exit(0 if all(each.ok for each in findings) else 1)


@app.command("test")
def put_to_the_laws(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A Python file with methods, such as my_method.py.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter to make the classes with. Repeatable."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="A check to leave out, by its name. Repeatable.")
    ] = None,
) -> None:
    """Put the methods of a file to the laws that methods here obey; exit code 1 if one fails."""
    from mlcdr import laws

    classes = laws.load_classes(path)
    params = laws.read_parameters(set_ or (), classes)
    failed = 0
    for name, cls in classes.items():
        print(f"{laws.family_of(cls)}: {cls.__module__}.{name}")
        verdicts: list[str] = []
        for outcome in laws.check(cls, params[name], tuple(without or ())):
            told = laws.MEANING[outcome.law] + (f": {outcome.why}" if outcome.why else "")
            print(f"  {outcome.verdict:<8}{outcome.law:<18}{told}", flush=True)
            verdicts.append(outcome.verdict)
        counts = [(verdicts.count("ok"), "ok"), (verdicts.count("FAILED"), "failed")]
        counts += [(verdicts.count("skipped"), "skipped")]
        print("  " + ", ".join(f"{number} {what}" for number, what in counts))
        failed += verdicts.count("FAILED")
    raise typer.Exit(1 if failed else 0)


@datasets_app.command("list")
def list_datasets() -> None:
    """All data sets of the catalogue, and whether they are at hand."""
    from mlcdr.data import catalog, files

    rows: list[tuple[str, ...]] = [("name", "domain", "instances", "features", "labels", "at hand")]
    for entry in catalog.entries():
        sizes = [str(entry.statistics.get(key, "?")) for key in ("n_instances", "n_features", "n_labels")]
        at_hand = "yes" if files.held(entry.name) else "fetch" if entry.fetchable else "by hand"
        rows.append((entry.name, entry.domain, *sizes, at_hand))
    _print_columns(rows)


@datasets_app.command("info")
def info(name: Annotated[str, typer.Argument(help="A name of the catalogue, or a path.")]) -> None:
    """What is known of a data set, and, if it is at hand, what it holds."""
    from mlcdr.data import catalog

    _print_facts(catalog.info(name))


@datasets_app.command("fetch")
def fetch(names: Annotated[list[str], typer.Argument(metavar="NAME")]) -> None:
    """Download data sets to the user's cache, checked against the catalogue."""
    from mlcdr.data import catalog

    for name in names:
        print(f"{name}: {catalog.fetch(name, progress=sys.stderr.isatty())}")


@datasets_app.command("verify")
def verify(
    name: Annotated[
        str | None, typer.Argument(help="A name of the catalogue; all that are at hand if left out.")
    ] = None,
) -> None:
    """Compare data sets at hand with what the catalogue expects; exit code 1 if one differs."""
    from mlcdr.data import catalog, files

    names = [name] if name else [entry.name for entry in catalog.entries() if files.held(entry.name)]
    wrong = 0
    for each in names:
        checks = catalog.verify(each)
        differing = [check for check in checks if not check.ok]
        wrong += bool(differing)
        print(f"{each}: {'differs' if differing else 'right'} ({len(checks)} facts checked)")
        for check in differing:
            print(f"  {check.fact}: expected {check.expected}, found {check.found}")
    raise typer.Exit(1 if wrong else 0)


@datasets_app.command("table")
def datasets_table(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets; those of the published table if left out.")
    ] = None,
    layout: Annotated[str, typer.Option(help="Which facts, and how they look.")] = "datasets",
    published: Annotated[
        str | None,
        typer.Option(metavar="PAPER/TABLE", help="Put a paper's table beside them, e.g. pacharawongsakda_2012/table1."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table (md, tex, csv) into this folder, too.")] = None,
) -> None:
    """What data sets at hand are: sizes, kinds of features, label statistics, counted on the data."""
    from mlcdr.reporting import data_sets, layouts, output

    compared = data_sets.compare(names or [], published) if published else None
    if not names and compared is None:
        raise typer.BadParameter("name data sets, or a published table of them", param_hint="NAME")
    shown = names or (list(compared.datasets) if compared else None)
    made = data_sets.render(shown or [], layout)
    _show(made)
    if compared is not None:
        print()
        _show(compared)
    if out is not None:
        contents = {"md": made.markdown(), "tex": made.latex(), "csv": made.csv()}
        out.mkdir(parents=True, exist_ok=True)
        stem = out / layouts.stem({"layout": layout})
        _say(f"written: {_listed(output.write(stem, {k: v.encode() for k, v in contents.items()}), out)}")


@datasets_app.command("plot")
def datasets_plot(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set, or the path of its ARFF file.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into.")] = Path("figures"),
    order: Annotated[
        str, typer.Option(help="Of labels in heat maps: file, frequency, similar; auto: similar if there are many.")
    ] = "auto",
    projection: Annotated[str, typer.Option(help="opls (it sees the labels) or pca.")] = "opls",
) -> None:
    """Draw what the labels of a data set are like: correlations, imbalance, label sets, and a projection."""
    from mlcdr.data.dataset import load_dataset
    from mlcdr.reporting import data_figures

    chosen_order = next((each for each in data_figures.ORDERS if each == order), None)
    chosen = next((each for each in data_figures.PROJECTIONS if each == projection), None)
    if chosen_order is None:
        raise typer.BadParameter(f"{order!r} is none of {', '.join(data_figures.ORDERS)}", param_hint="--order")
    if chosen is None:
        known = ", ".join(data_figures.PROJECTIONS)
        raise typer.BadParameter(f"{projection!r} is none of {known}", param_hint="--projection")
    print("\n".join(map(str, data_figures.write_all(load_dataset(name), out, chosen_order, chosen))))


# -------------------------------------------------------------------- printing


def _show(text: Any) -> None:
    """A table, for this terminal."""
    import shutil

    width = shutil.get_terminal_size((100, 24)).columns
    print(text.terminal(max(width, 60), colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))


def _say(text: str) -> None:
    """A remark, apart from what a command prints."""
    for line in text.split("\n"):
        print(printable(line), file=sys.stderr)


def _print_columns(rows: list[tuple[str, ...]]) -> None:
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    for key, value in facts.items():
        if isinstance(value, dict):
            print(f"{indent}{key}:")
            _print_facts(value, indent + "  ")
        elif isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
            print(f"{indent}{key}:")
            for item in value:
                print(printable(f"{indent}  {item}"))
        else:
            print(printable(f"{indent}{key}: {value}"))
