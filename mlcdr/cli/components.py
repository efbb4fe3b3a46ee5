"""Commands on what there is: `methods`, `metrics`, `doctor`, `completion`."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from mlcdr.api.loading import import_from_here
from mlcdr.cli.arguments import argument
from mlcdr.cli.printing import print_columns
from mlcdr.errors import UserError, list_known


def methods(
    name: Annotated[str | None, argument("COMPONENT", "Show this one in full.")] = None,
) -> None:
    """List the components of methods, or describe one."""
    from mlcdr.methods import registry

    known = {family: registry.names(family) for family in registry.BUILT_IN}
    if name is None:
        _list_components(known)
        return
    families = [family for family, names in known.items() if name in names]
    if families:
        for family in families:
            _describe_component(family, name, family)
            gives = registry.find_declaration(family, name).gives
            if gives:
                print(f"Gives {gives}.")
                print()
    elif "." in name:
        # a class of one's own is of whatever family a config uses it in
        _describe_component("class", name, "learner")
    else:
        from mlcdr.experiment.new_config import unknown_component

        every = dict.fromkeys(itertools.chain(*known.values()))
        raise unknown_component(name, every)


def _list_components(known: Mapping[str, list[str]]) -> None:
    """Print a line for each component, by family."""
    from mlcdr.methods import registry

    width = max(map(len, itertools.chain(*known.values())))
    for family, names in known.items():
        none = "" if names else " none built in; give a dotted path to your own class"
        print(f"{family}:{none}")
        for name in names:
            declared = registry.find_declaration(family, name)
            gives = f" [{declared.gives}]" if declared.gives else ""
            print(f"  {name:<{width}} {declared.summary}{gives}")


def _describe_component(what: str, name: str, family: str) -> None:
    """Print the parameters and the docstring of a component."""
    from mlcdr.methods import registry

    import_from_here()
    cls = registry.resolve(family, name)
    print(f"{what}: {write_call(name, cls)}")
    print()
    print(inspect.getdoc(cls) or "")
    print()


def write_call(name: str, cls: type) -> str:
    """`name(alpha=1.0)`: a component with its parameters and their defaults."""
    from mlcdr.methods import registry

    parameters = []
    for key, default in registry.parameters(cls).items():
        parameters.append(key if default is inspect.Parameter.empty else f"{key}={default!r}")
    return f"{name}({', '.join(parameters)})"


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


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], argument("bash|zsh|fish", "The shell.")],
) -> None:
    """Print a script that completes words in a shell.

    It completes commands, options, names, keys for --set and paths. `mlcdr --install-completion` installs it.

    In bash, put `eval "$(mlcdr completion bash)"` into ~/.bashrc.

    In zsh, put `eval "$(mlcdr completion zsh)"` into ~/.zshrc, below `autoload -Uz compinit; compinit`.

    In fish, save what `mlcdr completion fish` prints as ~/.config/fish/completions/mlcdr.fish.
    """
    from typer.completion import get_completion_script

    print(get_completion_script(prog_name="mlcdr", complete_var="_MLCDR_COMPLETE", shell=shell))
