"""Which trials one fit serves: the points of a sweep that differ only in how many dimensions the code has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.outputs import independent_outputs
from mlcdr.experiment.varied import at_first_values
from mlcdr.methods.component import Component
from mlcdr.methods.contracts import LabelSpace, declared
from mlcdr.numerics.linalg import n_kept


def families_of(specs: Sequence[MethodSpec], n_labels: int, labelled: Sequence[str] = ()) -> list[MethodSpec]:
    """For each of a method's specs the spec to fit in its place: that with the largest code, where one fit serves all.

    One fit serves all if the label space's directions are nested and the learner fits each output as if it were alone
    (see `mlcdr.experiment.outputs`). `labelled`: for each spec how many rows keep their labels; specs that differ in
    this are fitted separately.
    """
    largest: dict[str, MethodSpec] = {}
    names = []
    for i, spec in enumerate(specs):
        path = size_path(spec) if _serves_smaller_codes(spec) else None
        bare = spec if path is None else spec.with_value(path, None)
        assert bare is not None  # it has the parameter
        name = json.dumps([*labelled[i : i + 1], bare.plain()], sort_keys=True)
        names.append(name)
        served_by = largest.setdefault(name, spec)
        if path is None or _size(spec, n_labels) > _size(served_by, n_labels):
            largest[name] = spec
    return [largest[name] for name in names]


def _serves_smaller_codes(spec: MethodSpec) -> bool:
    part = code_part(spec)
    if part is None:
        return False
    return part.declaration().nested and independent_outputs(spec.learner)


def _size(spec: MethodSpec, n_labels: int) -> int:
    part = code_part(spec)
    assert part is not None
    space = _build_space(spec, part)
    dimensions = space.n_dimensions if isinstance(space, LabelSpace) else n_kept  # by its `rounding`, if it has one
    try:
        return int(dimensions(part.value(part.declaration().size_parameter), n_labels))
    except ValueError:  # more than there are labels: that trial will say so, and must not be the one fitted for others
        return -1


def _build_space(spec: MethodSpec, part: Component) -> Any:
    """The part that sets the code's size; what its class needs and `tune` chooses has the first of the values tried."""
    if not part.is_whole():
        part = code_part(at_first_values(spec, {})) or part
    return part.build()


def size_path(spec: MethodSpec) -> str | None:
    """The path of the parameter that says how many dimensions the code has; None where there is none."""
    part = code_part(spec)
    if part is None:
        return None
    path = f"{part.family}.{part.declaration().size_parameter}"
    return None if spec.with_value(path, None) is None else path


def at_all_sizes(spec: MethodSpec, n_features: int, n_labels: int) -> list[MethodSpec]:
    """The spec at each size of its code, for the metrics that are summed over them."""
    part, path = code_part(spec), size_path(spec)
    if part is None or path is None:
        return [spec]
    space = _build_space(spec, part)
    largest = space.largest(n_features, n_labels) if isinstance(space, LabelSpace) else n_labels
    sized = [spec.with_value(path, size) for size in range(1, largest + 1)]
    return [each for each in sized if each is not None]


def code_part(spec: MethodSpec) -> Component | None:
    """The part that sets the code's size: the dual space, else the label space; None with an instance space."""
    return None if spec.instance_space else spec.dual_space or spec.label_space


def size_parameter_of(space: Any) -> str:
    """The parameter for the size of the code, of a space's class or instance."""
    return str(declared(space, "size_parameter", LabelSpace))
