"""Commands on experiment files, which compute nothing: `check`, `plan`, `new`, `new method`, `example`, `schema`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcdr.api.loading import import_from_here, load_experiment
from mlcdr.cli.arguments import Config, Out, Set, Trust, argument, option, switch
from mlcdr.cli.printing import print_columns, print_notice
from mlcdr.cli.running import size
from mlcdr.errors import ConfigError, UserError
from mlcdr.processes import Stop

if TYPE_CHECKING:
    from mlcdr.config.data_checks import Findings
    from mlcdr.experiment.model import Experiment


def check(
    config: Config,
    set_: Set = None,
    trust: Trust = False,
    try_: Annotated[
        bool, switch("Also fit every method once to a few rows, in a process of its own.", "--try")
    ] = False,
) -> None:
    """Check an experiment file without running it; every mistake is reported with its line.

    Once the file has no mistake, the data sets are read, and sizes, splits and folds are compared with them. A number
    that is cut down to what there is, such as of more neighbours than rows, is reported. With `--try`, a method that
    fails on a few rows, at the first or the last point of its sweep and grid, is tried on the first split; one that
    fails there is a mistake.
    """
    experiment = load_experiment(config, set_ or (), trust=trust)
    # imported late, so that mistakes in the file are reported without the cost of this import
    from mlcdr.config.data_checks import compare_with_data

    _report(experiment, compare_with_data(experiment))
    if try_:
        from mlcdr.execution.trying import check_methods

        _report(experiment, check_methods(experiment))
        methods, sets = len(experiment.methods), len(experiment.datasets)
        print_notice(f"tried: {methods} method{'s' * (methods != 1)} on {sets} data set{'s' * (sets != 1)}")
    print(f"{config}: no mistake found; {experiment.name}: {size(experiment)}")


def _report(experiment: Experiment, found: Findings) -> None:
    """Print the remarks; raise ConfigError if there are mistakes."""
    for remark in found.remarks:
        print_notice(f"remark: {experiment.placed(remark)}")
    if found.mistakes:
        raise ConfigError([experiment.placed(problem) for problem in found.mistakes])


def plan(
    config: Config,
    out: Out = Path("results"),
    set_: Set = None,
    trust: Trust = False,
) -> None:
    """Print what `run` would compute of an experiment, without computing it."""
    from mlcdr.execution.plan import survey
    from mlcdr.results.record import duration

    found = survey(load_experiment(config, set_ or (), trust=trust), out)
    rows: list[tuple[str, ...]] = [
        ("data set", "rows", "features", "labels", "trials", "done", "failed", "pending", "groups", "fits", "cost")
    ]
    for each in found.datasets:
        cost = "–" if not each.pending else "?" if each.seconds is None else duration(each.seconds)
        rows.append((*map(str, each[:-1]), cost))
    print_columns(rows)
    unknown = "; ?: not timed yet" if any(row[-1] == "?" for row in rows) else ""
    print("\n".join(["", f"groups: the trials of a split, computed together; fits: of models{unknown}", *found.shared]))
    pending = sum(each.pending for each in found.datasets)
    timed = [each.seconds for each in found.datasets if each.pending and each.seconds is not None]
    untimed = [each.name for each in found.datasets if each.pending and each.seconds is None]
    costs = [f"about {duration(sum(timed))} of one worker, by past timings in {found.folder}"] if timed else []
    costs += [f"no past timings of {', '.join(untimed)} in {found.folder}"] if untimed else []
    print("; ".join([f"{pending} trials to compute", *costs]))


def new(
    context: typer.Context,
    datasets: Annotated[
        list[str] | None, option("DATASET", "A data set, a file, or `synthetic`. Repeatable.", "--dataset", "-d")
    ] = None,
    labels: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Which columns of your file (CSV, Parquet) are labels: a name, a pattern (tag_*), or how many "
            "(-6: the last six). Repeatable.",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None, option("COMPONENT", "A component, or several: pca+plst+ridge. Repeatable.", "--method", "-m")
    ] = None,
    metrics: Annotated[list[str] | None, option("METRIC", "A metric. Repeatable.", "--metric")] = None,
    name: Annotated[str | None, option("NAME", "The experiment's name; default: the file's.")] = None,
    out: Annotated[Path | None, option("FILE", "Write the config to this file.")] = None,
) -> None:
    """Write a first config with comments; asks for what is left out, on a terminal.

    `mlcdr new method NAME` writes the file of a method of your own.
    """
    if context.invoked_subcommand is not None:
        if any(context.params.values()):
            raise UserError(f"the options of `mlcdr new` are no options of `mlcdr new {context.invoked_subcommand}`")
        return
    from mlcdr.config import new_config

    import_from_here()
    if sys.stdin.isatty() and sys.stderr.isatty():
        draft = new_config.write_draft
        answers: dict[str, list[str]] = {"-d": datasets or [], "-m": methods or [], "--metric": metrics or []}
        questions = {
            "-d": ("Data sets", new_config.DATASETS, lambda names: draft("new", datasets=names, labels=1)),
            "-m": (
                "Methods (`mlcdr methods` lists components; join them by +)",
                new_config.METHODS,
                lambda names: draft("new", methods=names),
            ),
            "--metric": ("Metrics", new_config.METRICS, lambda names: draft("new", metrics=names)),
        }
        try:
            for flag, (what, default, check_names) in questions.items():
                answers[flag] = answers[flag] or _ask(what, default, check_names)
                tables = [each for each in answers["-d"] if new_config.needs_labels(each)]
                if tables and labels is None:
                    labels = [_ask_labels(tables[0], new_config.LABELS)]
            if out is None:
                (line,) = _ask("File", ("experiment.yaml",), lambda lines: _refuse_present(Path(lines[0])), whole=True)
                out = Path(line)
        except (Stop, KeyboardInterrupt):
            given = [word for flag, names in answers.items() for each in names for word in (flag, each)]
            given += [f"--labels={each}" for each in labels or ()]
            if given:
                print_notice(f"\nto continue with these answers: {shlex.join(['mlcdr', 'new', *given])}")
            raise
        datasets, methods, metrics = answers["-d"], answers["-m"], answers["--metric"]
    if out is not None:
        _refuse_present(out)
    if name is None:
        name = out.stem if out is not None else "experiment"
    datasets, columns = datasets or list(new_config.DATASETS), _read_labels(labels)
    text = new_config.write_draft(name, datasets, methods or new_config.METHODS, metrics or new_config.METRICS, columns)
    refused = new_config.describe_unreadable(datasets, columns)
    if out is None:
        print(text, end="")
    else:
        from mlcdr.whole_files import write_atomically

        write_atomically(out, text)
        print_notice(f"written: {out}" if refused else f"written: {out}; `mlcdr run {out}` runs it")
    if refused:
        print_notice(f"before it can be run: {refused}")


def _ask_labels(table: str, how: str) -> str:
    """Ask which columns of a table are labels; the answer is checked by reading the table with it."""
    from mlcdr.data.dataset import load_dataset

    def check_labels(lines: list[str]) -> None:
        load_dataset(table, labels=_read_labels(lines), missing="keep")

    return _ask(f"Labels of {table}: a name, {how}", ("-1",), check_labels, whole=True)[0]


def _read_labels(texts: Sequence[str] | None) -> Any:
    """The option `labels` of a data set: a number, a name, or several names (several texts, or one with commas)."""
    from mlcdr.config.yaml_reader import read_yaml_text

    values = [read_yaml_text(text, "--labels", numbered=False).data for text in texts or ()]
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    names = [name.strip() for value in values for name in str(value).split(",")]
    return names if len(names) > 1 else next(iter(values), None)


def _refuse_present(out: Path) -> None:
    if out.exists():
        raise UserError(f"{out}: is there already; remove it or choose another --out")


def _ask(
    what: str, default: Sequence[str], check_words: Callable[[list[str]], object], whole: bool = False
) -> list[str]:
    """Ask for words on the terminal (the line as one word if `whole`), again if they are wrong; the default for none.

    Raises
    ------
    KeyboardInterrupt
        When the input ends.
    """
    while True:
        print(f"{what} [{' '.join(default)}]: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        typed = [line.strip()] if whole else line.replace(",", " ").split()
        words = typed if any(typed) else list(default)
        try:
            check_words(words)
        except UserError as error:
            print_notice(f"error: {error}")
        else:
            return words


def new_method(
    name: Annotated[str, argument("NAME", "Of the file, such as my_reducer; its class is MyReducer.")],
    part: Annotated[
        str | None,
        option("label_space|feature_space|selector|learner|classifier|threshold|metric", "What it is to be."),
    ] = None,
) -> None:
    """Write NAME.py with a method that works, to be changed into one's own; asks for the part, on a terminal.

    The file has the contract of the part: which methods it must have, and the shapes of what they get and return.
    """
    from mlcdr.laws.new_method import KINDS, draft_method

    if part is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UserError(f"--part is needed, which part of a method it is: {', '.join(KINDS)}")
        part = _ask_part({kind: each.about for kind, each in KINDS.items()})
    new = draft_method(name, part)
    with Path(new.file).open("x", encoding="utf-8") as file:
        file.write(new.text)
    module = Path(new.file).stem
    print_notice(f"written: {new.file}, with the {part} {new.name}; change it into yours")
    print_notice(f"check it:         mlcdr test {new.file}")
    if part == "metric":
        drafted = f"--metric hamming_loss --metric {module}.{new.name}"
    else:
        family = {"selector": "feature_space", "classifier": "learner"}.get(part, part)
        drafted = f"-m {family}:{module}.{new.name} -m plst"
    print_notice(f"write a config:   mlcdr new {drafted} --out {module}.yaml")
    print_notice(f"run it:           mlcdr run {module}.yaml")
    print_notice("or add it to a config in this folder:")
    print(new.config)


def _ask_part(known: dict[str, str]) -> str:
    """Ask on the terminal for one of some words, or for its number."""
    width = max(map(len, known))
    for number, (word, about) in enumerate(known.items(), 1):
        print(f"  {number}  {word:<{width}}  {about}", file=sys.stderr)
    print("Part [label_space]: ", end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline().strip() or next(iter(known))
    words = list(known)
    return words[int(typed) - 1] if typed.isdigit() and 0 < int(typed) <= len(words) else typed


def example(
    name: Annotated[str | None, argument("NAME", "A config or an example; default: list all.")] = None,
    out: Annotated[Path, option("DIR", "The folder to copy into.")] = Path(),
) -> None:
    """List the configs and examples that come with mlcdr, or copy the files of one.

    `mlcdr run` takes the name of a config as it is; a copy is for changing it.
    """
    from mlcdr.config import shipped

    if name is None:
        from mlcdr.config.yaml_reader import read_yaml

        print("Examples, which `mlcdr example NAME` copies:")
        for each, files in shipped.shipped_examples().items():
            print(f"{each}: {', '.join(path.name for path in files)}")
        print("\nConfigs, which `mlcdr run NAME` takes, too:")
        above = ""
        for each, path in sorted(shipped.shipped_configs().items(), key=lambda item: item[0].rpartition("/")):
            folder = each.rpartition("/")[0]
            print("\n" * (folder != above) + f"{each}: {read_yaml(path).data.get('description', '')}")
            above = folder
        return
    from mlcdr.whole_files import write_atomically

    files = shipped.shipped_files(name)
    targets = [out / path.name for path in files]
    for target in targets:
        if target.exists() or target.is_symlink():
            raise UserError(f"{target}: is there already; remove it or choose another --out")
    for path, target in zip(files, targets, strict=True):
        write_atomically(target, path.read_bytes())
        print_notice(f"written: {target}")


def schema() -> None:
    """Print the JSON schema of experiment files (for editors)."""
    import json

    from mlcdr.config.schema import schema as make

    print(json.dumps(make(), indent=2, ensure_ascii=False))
