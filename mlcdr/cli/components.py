"""Commands on what there is: `methods`, `metrics`, `doctor`, `completion`; and `test`, for methods of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli.arguments import one_of
from mlcdr.cli.printing import print_columns
from mlcdr.errors import UserError, suggest_name


def methods(
    name: Annotated[str | None, typer.Argument(metavar="COMPONENT", help="Show this one in full.")] = None,
) -> None:
    """List the components a method can be made of, or describe one."""
    import inspect

    from mlcdr.methods import registry

    if name is None:
        for family in registry.BUILT_IN:
            print(f"{family}:" if registry.names(family) else f"{family}: none yet (a dotted path to your own class)")
            for each in registry.names(family):
                declared = registry.declared(family, each)
                print(f"  {each:<19} {declared.summary}" + (f" [{declared.gives}]" if declared.gives else ""))
        return
    families = [family for family in registry.BUILT_IN if name in registry.names(family)]
    if not families and "." not in name:
        known = dict.fromkeys(each for family in registry.BUILT_IN for each in registry.names(family))
        hint = suggest_name(name, known)
        raise UserError(f"unknown component {name!r}{hint} (known: {', '.join(known)}; or a dotted path to a class)")
    import_from_here()
    for family in families or ["learner"]:  # a class of one's own is of whatever family a config uses it in
        cls = registry.resolve(family, name)
        defaults = registry.parameters(cls).items()
        shown = ", ".join(key if value is inspect.Parameter.empty else f"{key}={value!r}" for key, value in defaults)
        gives = registry.declared(family, name).gives if families else ""
        print(f"{family if families else 'class'}: {name}({shown})\n\n{inspect.getdoc(cls) or ''}\n")
        print(f"Gives {gives}.\n" if gives else "", end="")
        if families:
            print((inspect.getdoc(inspect.getmodule(cls)) or "").strip())


def metrics() -> None:
    """List the metrics, their direction, and what 0/0 counts as."""
    from mlcdr.metrics import METRICS

    indent = " " * (max(map(len, METRICS)) + 2)
    for metric in METRICS.values():
        better = {True: "higher is better", False: "lower is better", None: "neither way is better"}
        print(f"{metric.name:<{len(indent)}}{better[metric.higher_is_better]}: {metric.description}")
        for convention in metric.conventions():
            print(f"{indent}{convention}")
        for option, default in metric.parameters.items():
            shown = default if default is not None else "see above"
            print(f"{indent}option {option}: {', '.join(metric.list_allowed(option))} (default {shown})")


def doctor() -> None:
    """Print the versions, threads, data folders and plug-ins that are found; exit code 1 if one is not as required."""
    from mlcdr.cli.doctor import examine

    findings = examine()
    print_columns([("" if each.ok else "!", each.topic, each.found) for each in findings])
    raise typer.Exit(0 if all(each.ok for each in findings) else 1)


def completion_script(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", callback=one_of("bash", "zsh", "fish"), help="bash, zsh or fish.")
    ],
) -> None:
    """Print the script by which a shell completes commands, options, names, keys for --set and paths.

    In bash, put `eval "$(mlcdr completion bash)"` into ~/.bashrc.

    In zsh, put `eval "$(mlcdr completion zsh)"` into ~/.zshrc, below `autoload -Uz compinit; compinit`.

    In fish, save what `mlcdr completion fish` prints as ~/.config/fish/completions/mlcdr.fish.
    """
    from mlcdr.cli.completion import SCRIPTS

    print(SCRIPTS[shell], end="")


def check_methods(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A Python file with methods, such as my_method.py.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the classes. Repeatable."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="CHECK", help="A check to exclude, by its name. Repeatable.")
    ] = None,
) -> None:
    """Check the methods of a file against the required properties of methods; exit code 1 if one fails."""
    from mlcdr.laws import checking, classes, statements

    found = classes.load_classes(path)
    params = classes.read_parameters(set_ or (), found)
    failed = 0
    for name, cls in found.items():
        print(f"{classes.find_family(cls)}: {cls.__module__}.{name}")
        verdicts: list[str] = []
        for outcome in checking.check(cls, params[name], tuple(without or ())):
            text = statements.DESCRIPTIONS[outcome.law] + (f": {outcome.why}" if outcome.why else "")
            print(f"  {outcome.verdict:<8}{outcome.law:<18}{text}", flush=True)
            verdicts.append(outcome.verdict)
        counts = [(verdicts.count("ok"), "ok"), (verdicts.count("FAILED"), "failed")]
        counts += [(verdicts.count("skipped"), "skipped")]
        print("  " + ", ".join(f"{number} {what}" for number, what in counts))
        failed += verdicts.count("FAILED")
    raise typer.Exit(1 if failed else 0)
