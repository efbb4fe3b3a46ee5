"""What an experiment varies of its methods: the parameters in its sweep, and those in the grids of single methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlcdr.experiment.method import MethodSpec
from mlcdr.experiment.model import LABELLED
from mlcdr.experiment.problems import KeyPath
from mlcdr.experiment.tune import listed
from mlcdr.methods.component import Component


@dataclass(frozen=True)
class Varied:
    """A parameter that a sweep or a grid varies.

    Attributes
    ----------
    here : tuple
        The keys at which its values stand.
    path : str
        Its path in a method.
    values : sequence
    among : mapping
        The methods that are meant, by name: all in a sweep, one in a grid.
    """

    here: KeyPath
    path: str
    values: Sequence[Any]
    among: Mapping[str, MethodSpec]

    @property
    def in_sweep(self) -> bool:
        """Whether it is in the sweep, and not in a method's own grid."""
        return self.here[0] == "sweep"

    @property
    def parameter(self) -> str:
        """The last key of its path."""
        return self.path.rpartition(".")[2]

    def parts(self, value: Any) -> dict[str, Component]:
        """Method → the component that has the parameter, with this value put in."""
        parts = {}
        for name, spec in self.among.items():
            part = spec.part_with(self.path, value)
            if part is not None:
                parts[name] = part
        return parts

    def methods_that_set_it(self) -> list[str]:
        """The methods that have a value for it themselves."""
        setting = []
        for name, spec in self.among.items():
            found = spec.component_at(self.path)
            if found is None:
                continue
            component, keys, _ = found
            if keys == (self.parameter,) and self.parameter in component.params:
                setting.append(name)
        return setting


def list_varied(sweep: Mapping[str, Any], methods: Mapping[str, MethodSpec]) -> Iterator[Varied]:
    """All that is varied of some methods; `splits.labelled` is none of their parameters, and not listed."""
    for path, values in sweep.items():
        if path != LABELLED:
            found = values if isinstance(values, list | tuple) else ()
            yield Varied(("sweep", path), path, found, methods)
    for name, spec in methods.items():
        if spec.tune is None:
            continue
        here = ("methods", name, "tune")
        grids: list[tuple[KeyPath, Mapping[str, Any]]] = [((*here, "grid"), spec.tune.grid)]
        grids += [((*here, "grids", dataset), grid) for dataset, grid in spec.tune.grids.items()]
        for place, grid in grids:
            for path, values in grid.items():
                yield Varied((*place, path), path, listed(values), {name: spec})


def at_first_values(spec: MethodSpec, sweep: Mapping[str, Any]) -> MethodSpec:
    """A method with the first value of each parameter that a sweep or its own grids vary; its classes may need one."""
    for varied in list_varied(sweep, {"": spec}):
        spec = spec.with_value(varied.path, varied.values[0]) or spec
    return spec
