"""The command line: parse, call, print. What a command does is in the package it calls.

Imports are inside the commands, so that `mlcdr --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcdr.errors import ConfigError, UserError, did_you_mean

if TYPE_CHECKING:
    from mlcdr.experiment.model import Experiment
    from mlcdr.experiment.runner import RunReport
    from mlcdr.experiment.trials import Trial
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
    try:
        app()
    except UserError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # `mlcdr methods | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a folder that may not be written, a full disk
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)


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
    backend: Annotated[str, typer.Option(help="loky (processes) or threading.")] = "loky",
) -> None:
    """Run experiments; what is already in the results folder is not computed again."""
    from mlcdr.experiment.runner import BACKENDS
    from mlcdr.experiment.runner import run as run_experiment
    from mlcdr.progress import listener

    if backend not in BACKENDS:
        raise typer.BadParameter(f"{backend!r} is none of {', '.join(BACKENDS)}", param_hint="--backend")
    experiments = [_load(config, set_) for config in configs]
    _all_different(configs, [experiment.name for experiment in experiments])
    worst = 0
    for experiment in experiments:
        with listener(quiet) as told:
            report = run_experiment(experiment, out, jobs, backend, fresh, told)
        worst = max(worst, _conclude(experiment, report, quiet))
        if report.interrupted:
            break
    raise typer.Exit(worst)


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
    experiment = load_experiment(config, overrides or ())
    if experiment.tables or experiment.figures:
        from mlcdr.reporting import checks

        problems = checks.problems(experiment.resolved())
        if problems:
            raise ConfigError([experiment.placed(problem) for problem in problems])
    return experiment


def _import_from_here() -> None:
    """Let a dotted path lead to a module in the current folder."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # last: a file here must not stand in for a library's module


def _conclude(experiment: Experiment, report: RunReport, quiet: bool) -> int:
    """Write tables and figures, print the tables and what went wrong; gives the exit code."""
    from mlcdr.reporting import results, tables

    if report.done:
        found = results.load(report.folder)
        written = tables.write_all(found)
        if not quiet:
            _print_tables(found)
        if experiment.figures and not report.interrupted and not report.failures:
            from mlcdr.reporting import figures

            written += figures.write_all(found)
        if not quiet:
            _say(f"{report.planned} trials, {report.computed} computed now, in {report.seconds:.1f} s")
            _say(f"results in {report.folder}: scores.csv, summary.csv, {_listed(written, report.folder)}")
    kinds: dict[tuple[str, str, str], list[Trial]] = {}
    for trial, error in report.failures:
        kinds.setdefault((trial.dataset, trial.method, _reason(error)), []).append(trial)
    for (dataset, method, reason), trials in list(kinds.items())[:10]:
        point = ", ".join(f"{path} {value}" for path, value in trials[0].point)
        first = f"{dataset}, {method}{f' ({point})' if point else ''}, split {trials[0].split}"
        more = f" (and {len(trials) - 1} more trials of {method})" if len(trials) > 1 else ""
        print(f"failed: {first}: {reason}{more}", file=sys.stderr)
    if report.failures:
        rest = f"; {len(kinds) - 10} more kinds of failure" if len(kinds) > 10 else ""
        print(
            f"error: {len(report.failures)} of {report.planned} trials failed{rest}; "
            f"tracebacks are in {report.folder / 'trials.sqlite'} (table trials, column error)",
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


def _reason(error: str) -> str:
    """What a traceback ends with, in one line: the exception and the first line of its message."""
    lines = error.splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith('  File "')]
    after = [line for line in lines[frames[-1] + 1 if frames else 0 :] if line and not line.startswith(" ")]
    return after[0] if after else lines[-1]


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
    """Check an experiment file without running it; every mistake is reported with its line."""
    experiment = _load(config, set_)
    points = sum(len(experiment.points(method)) for method in experiment.methods)
    splits = getattr(experiment.splits, "repeats", 1) * getattr(experiment.splits, "folds", 1)
    several = "" if experiment.splits.kind != "file" else " (as many splits as the file has folds)"
    counts = [(len(experiment.datasets), "data set"), (len(experiment.methods), "method"), (splits, "split")]
    sets, methods_, splits_ = (f"{number} {what}{'s' * (number != 1)}" for number, what in counts)
    size = f"{sets} × {methods_} ({points} points) × {splits_}"
    print(f"{config}: no mistake found; {experiment.name}: {size}{several}")


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
def plot(folder: Folder) -> None:
    """Draw the figures of a results folder anew."""
    from mlcdr.errors import ResultsError
    from mlcdr.reporting import figures, results

    written = figures.write_all(results.load(folder))
    if not written:
        raise ResultsError(f"{folder / 'experiment.yaml'}: asks for no figures; add them under `figures:`")
    print("\n".join(map(str, written)))


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
) -> None:
    """Compare all methods of a results folder with one another, or with a paper's table."""
    from mlcdr.reporting import comparison, results
    from mlcdr.reporting import published as published_tables

    if published and metric:
        raise typer.BadParameter(
            "a published table has its own metric; leave one of the two out", param_hint="--metric"
        )
    if published:
        for beside in published_tables.compare_all([results.load(folder) for folder in folders], published):
            _show(beside)
    else:
        for found in map(results.load, folders):
            compared = [comparison.compare(found, metric)] if metric else comparison.compare_all(found)
            for each in compared:
                _show(each)
                print()


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
                summary = (inspect.getdoc(registry.resolve(family, each)) or "").splitlines()[:1]
                print(f"  {each:<20}{' '.join(summary)}")
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
    shown = names or list(dict.fromkeys(row.published.dataset for row in compared.rows)) if compared else names
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


# -------------------------------------------------------------------- printing


def _show(text: Any) -> None:
    """A table, for this terminal."""
    import shutil

    width = shutil.get_terminal_size((100, 24)).columns
    print(text.terminal(max(width, 60), colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))


def _say(text: str) -> None:
    """A remark, apart from what a command prints."""
    print(text, file=sys.stderr)


def _print_columns(rows: list[tuple[str, ...]]) -> None:
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
                print(f"{indent}  {item}")
        else:
            print(f"{indent}{key}: {value}")
