"""The criterion of `tune:` for kernel ridge regression: all folds and all α of a kernel from one decomposition.

Where a method is kernel ridge regression of label codes, and these depend on the labels and on what the regression
explains of them (PLST, kernel-CPLST, kernel OCCA, no reduction), `numerics.held_out` gives what each fold's regression
says without ever fitting it. Its scores are kept with the moments, so PLST and kernel-CPLST on one grid pay once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlcdr.experiment.families import size_in
from mlcdr.experiment.model import MethodSpec
from mlcdr.experiment.tune import Criterion
from mlcdr.methods import registry
from mlcdr.methods.contracts import (
    LabelSpace,
    as_dense,
    declared,
    fit_label_space,
    has_kernel,
    is_fitted_to_scores,
    score_boundary,
)
from mlcdr.methods.label_space.identity import Identity
from mlcdr.methods.thresholds import Fixed
from mlcdr.metrics import Counts, Outcome, Scores
from mlcdr.numerics.held_out import HeldOut, held_out
from mlcdr.numerics.kernels import Kernel, KernelRegression
from mlcdr.numerics.moments import Moments

Folds = Sequence[NDArray[np.intp]]


def applies(spec: MethodSpec) -> bool:
    """Whether `totals` can stand in for fitting this method in every fold."""
    if spec.feature_space or spec.dual_space is not None or spec.instance_space is not None:
        return False
    if not has_kernel(registry.resolve("learner", spec.learner.name)):
        return False
    if spec.threshold is not None and is_fitted_to_scores(registry.resolve("threshold", spec.threshold.name)):
        return False
    space = spec.label_space
    return space is None or declared(registry.resolve("label_space", space.name), "from_labels", LabelSpace)


def totals(
    specs: Sequence[MethodSpec], families: Sequence[MethodSpec], criterion: Criterion, moments: Moments, folds: Folds
) -> list[float]:
    """The sum over folds of a metric for each of the specs; NaN where one cannot be computed.

    Parameters
    ----------
    specs : sequence of MethodSpec
        Methods that `applies`.
    families : sequence of MethodSpec
        For each, the spec with the largest code that shares its directions.
    criterion : Criterion
        The metric and its options.
    moments : Moments
        Of the rows of all folds, with their rows.
    folds : sequence of arrays of int
        The rows left out.
    """
    regressions = [spec.learner.build(check=False).kernel_regression() for spec in specs]
    alphas: dict[Kernel, dict[float, None]] = {}
    groups: dict[tuple[Kernel, float, int], list[int]] = {}
    for i, (regression, family) in enumerate(zip(regressions, families, strict=True)):
        alphas.setdefault(regression.kernel, {})[regression.alpha] = None
        groups.setdefault((regression.kernel, regression.alpha, id(family)), []).append(i)
    held_out_of = {kernel: _held_out(kernel, tuple(found), moments, folds) for kernel, found in alphas.items()}
    Y = as_dense(moments.rows()[1])
    counts = Y.sum(axis=0)
    sums = [0.0] * len(specs)
    for (kernel, alpha, _), members in groups.items():
        if alpha not in held_out_of[kernel]:
            for i in members:
                sums[i] = float("nan")
        for held in held_out_of[kernel].get(alpha, ()):
            codes, space, threshold = _predicted(families[members[0]], regressions[members[0]], held)
            truth = Y[held.rows]
            for i in members:
                try:
                    part = codes[:, : size_in(space, specs[i])]
                except ValueError:  # more dimensions than there are: this spec cannot be fitted, others can
                    sums[i] = float("nan")
                    continue
                scores = space.decode(part)
                outcome = Outcome(
                    Counts(truth, threshold.apply(scores)),
                    None if criterion.metric.needs == "labels" else Scores(truth, scores),
                    n_training=len(Y) - len(truth),
                    label_counts=counts - truth.sum(axis=0),
                )
                sums[i] += criterion.metric.of(outcome, criterion.options)
    return sums


def _held_out(
    kernel: Kernel, alphas: tuple[float, ...], moments: Moments, folds: Folds
) -> Mapping[float, list[HeldOut]]:
    """α → what every fold's regression says; an α of which one cannot be computed is not there."""
    key = ("held out", kernel, alphas, tuple(fold.tobytes() for fold in folds))

    def compute() -> dict[float, list[HeldOut]]:
        found: dict[float, list[HeldOut]] = {}
        try:
            matrix = kernel.of_moments(moments)
        except ValueError:  # it overflows, or cannot take these features
            return found
        try:
            for held in held_out(matrix, moments.rows()[1], folds, alphas):
                found.setdefault(held.alpha, []).append(held)
        except ValueError:  # not positive definite: this α (and those after it, which each alone may do) by itself
            found = {}
            for alpha in alphas:
                try:
                    found[alpha] = list(held_out(matrix, moments.rows()[1], folds, [alpha]))
                except ValueError:
                    continue
        return found

    return moments.memo.get(key, compute)


def _predicted(family: MethodSpec, regression: KernelRegression, held: HeldOut) -> tuple[Any, Any, Any]:
    """The predicted codes (m×M) of a fold, the label space that decodes them, and the threshold."""
    space = Identity() if family.label_space is None else family.label_space.build(check=False)
    training = held.training(regression)
    fit_label_space(space, family.learner.build(check=False), training)
    default = Fixed(score_boundary(space))  # as a method without a threshold has it
    threshold = family.threshold.build(check=False) if family.threshold else default
    return space.encode(held.mean + held.deviations), space, threshold
