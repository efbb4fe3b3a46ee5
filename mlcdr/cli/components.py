"""Commands on what there is: `methods`, `metrics`, `doctor`, `completion`; and `test`, for methods of one's own."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli.arguments import argument, option
from mlcdr.cli.printing import print_columns, print_notice
from mlcdr.errors import UserError, escape_control_characters, list_known, suggest_name

if TYPE_CHECKING:
    from mlcdr.laws.checking import Outcome


def methods(
    name: Annotated[str | None, argument("COMPONENT", "Show this one in full.")] = None,
) -> None:
    """List the components of methods, or describe one."""
    if name is None:
        _list_components()
    else:
        _describe_component(name)


def _list_components() -> None:
    """Print a line for each component, by family."""
    from mlcdr.methods import registry

    known = {family: registry.names(family) for family in registry.BUILT_IN}
    width = max(len(name) for names in known.values() for name in names)
    for family, names in known.items():
        none = "" if names else " none built in; give a dotted path to your own class"
        print(f"{family}:{none}")
        for name in names:
            declared = registry.declared(family, name)
            gives = f" [{declared.gives}]" if declared.gives else ""
            print(f"  {name:<{width}} {declared.summary}{gives}")


def _describe_component(name: str) -> None:
    """Print the parameters and the docstring of a component, in each family that has one of this name."""
    from mlcdr.methods import registry

    families = [family for family in registry.BUILT_IN if name in registry.names(family)]
    if not families and "." not in name:
        known = dict.fromkeys(each for family in registry.BUILT_IN for each in registry.names(family))
        hint = registry.describe_elsewhere(name) or suggest_name(name, known)
        listing = list_known(known, "`mlcdr methods`")
        raise UserError(f"unknown component {name!r}{hint} ({listing}; or a dotted path to your own class)")
    import_from_here()
    for family in families or ["learner"]:  # a class of one's own is of whatever family a config uses it in
        cls = registry.resolve(family, name)
        parameters = []
        for key, default in registry.parameters(cls).items():
            parameters.append(key if default is inspect.Parameter.empty else f"{key}={default!r}")
        print(f"{family if families else 'class'}: {name}({', '.join(parameters)})")
        print()
        print(inspect.getdoc(cls) or "")
        print()
        gives = registry.declared(family, name).gives if families else ""
        if gives:
            print(f"Gives {gives}.")
            print()


def metrics(
    name: Annotated[str | None, argument("METRIC", "Show this one only.")] = None,
) -> None:
    """List the metrics.

    Each has its direction, and what 0/0 counts as.
    """
    from mlcdr.metrics import METRICS, hint, resolve

    shown = list(METRICS.values())
    if name is not None:
        meant = resolve(name)[0]
        if meant not in METRICS:
            raise UserError(f"unknown metric {name!r}{hint(name)} ({list_known(METRICS, '`mlcdr metrics`')})")
        shown = [METRICS[meant]]
    better = {True: "higher is better", False: "lower is better", None: "neither way is better"}
    width = max(len(metric.name) for metric in shown) + 2
    indent = " " * width
    for metric in shown:
        print(f"{metric.name:<{width}}{better[metric.higher_is_better]}: {metric.description}")
        for convention in metric.conventions():
            print(f"{indent}{convention}")
        for key, default in metric.parameters.items():
            value = "see above" if default is None else default
            print(f"{indent}option {key}: {', '.join(metric.list_allowed(key))} (default {value})")


def doctor() -> None:
    """Check the installation, data folders and plug-ins.

    It prints what a report of a bug needs, and what is missing. Exit code 1 if something is not as required.
    """
    from mlcdr.cli.doctor import examine

    findings = examine()
    print_columns([("" if each.ok else "!", each.topic, each.found) for each in findings])
    raise typer.Exit(0 if all(each.ok for each in findings) else 1)


def completion_script(
    shell: Annotated[Literal["bash", "zsh", "fish"], argument("SHELL", "bash, zsh or fish.")],
) -> None:
    """Print a script that completes words in a shell.

    It completes commands, options, names, keys for --set and paths. `mlcdr --install-completion` installs it.

    In bash, put `eval "$(mlcdr completion bash)"` into ~/.bashrc.

    In zsh, put `eval "$(mlcdr completion zsh)"` into ~/.zshrc, below `autoload -Uz compinit; compinit`.

    In fish, save what `mlcdr completion fish` prints as ~/.config/fish/completions/mlcdr.fish.
    """
    from typer.completion import get_completion_script

    print(get_completion_script(prog_name="mlcdr", complete_var="_MLCDR_COMPLETE", shell=shell))


def check_methods(
    what: Annotated[
        str, argument("FILE", "A Python file with methods (my_method.py), or the name of an installed component.")
    ],
    set_: Annotated[list[str] | None, option("NAME=VALUE", "A parameter of the classes. Repeatable.", "--set")] = None,
    without: Annotated[list[str] | None, option("CHECK", "A check to exclude, by its name. Repeatable.")] = None,
) -> None:
    """Check your methods against required properties.

    Exit code 1 if one does not hold. Metrics are checked likewise. A plug-in of an installed package is named as in a
    config. Failures of the same cause are printed together.
    """
    import_from_here()
    from mlcdr.laws.candidates import load
    from mlcdr.laws.checking import check

    found = []
    for each in load(what, set_ or ()):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            outcomes = list(check(each, without or ()))
        found.append((each, outcomes))
        if lines := printed.getvalue().splitlines():
            print_notice(f"remark: {each.name} prints while it is fitted, as in every trial of a run: {lines[0]!r}")
    for each, outcomes in found:
        print(escape_control_characters(f"{_judge(outcomes):<6}  {each.family} {each.name}: {_count(outcomes)}"))
    for each, outcomes in found:
        print(f"\n{each.name}")
        for line in _list_outcomes(outcomes):
            print(escape_control_characters(f"  {line}"))
    failed = any(_judge(outcomes) == "FAILED" for _, outcomes in found)
    raise typer.Exit(1 if failed else 0)


def _judge(outcomes: list[Outcome]) -> str:
    return "FAILED" if any(each.verdict == "FAILED" for each in outcomes) else "ok"


def _count(outcomes: list[Outcome]) -> str:
    """`3 checks fail (2 causes), 12 hold, 4 do not apply`."""
    from mlcdr.laws.checking import group_by_cause

    numbers = Counter(str(each.verdict) for each in {each.law: each for each in outcomes}.values())
    causes = len(group_by_cause(outcomes))
    texts: list[str] = []
    for verdict, one, several in (
        ("FAILED", "fails", "fail"),
        ("ok", "holds", "hold"),
        ("skipped", "does not apply", "do not apply"),
    ):
        if number := numbers[verdict]:
            checks = "" if texts else f" check{'s' * (number != 1)}"
            causes_ = f" ({causes} cause{'s' * (causes != 1)})" if verdict == "FAILED" else ""
            texts.append(f"{number}{checks} {one if number == 1 else several}{causes_}")
    return ", ".join(texts)


def _list_outcomes(outcomes: list[Outcome]) -> Iterator[str]:
    """Lines on the checks of one class: those that fail, by their causes; those that do not apply; those that hold."""
    from mlcdr.laws.checking import group_by_cause

    requires = {each.law: each.requires for each in outcomes}
    for group in group_by_cause(outcomes):
        yield f"FAILED  {group[0].why}" + (f"  (line {group[0].place.removeprefix(':')})" if group[0].place else "")
        cases: dict[str, list[str]] = {}
        for each in group:
            cases.setdefault(each.law, []).extend([each.case] if each.case else [])
        for law, named in cases.items():
            more = f" and {len(named) - 3} more" if len(named) > 3 else ""
            shown = f"  [{', '.join(named[:3])}{more}]" if named else ""
            yield f"        {law:<18}{requires[law]}{shown}"
    for each in outcomes:
        if each.verdict == "skipped":
            yield f"skipped {each.law:<18}{each.why}"
    for each in outcomes:
        if each.verdict == "ok":
            yield f"ok      {each.law:<18}{each.requires}"
