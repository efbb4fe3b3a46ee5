"""The base of the kernel label spaces."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils._param_validation import HasMethods

from mlcdr.methods.constraints import parameter
from mlcdr.methods.contracts import has_kernel
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.kernels import KernelRegression
from mlcdr.numerics.moments import Moments


class KernelLabelSpace(LinearLabelSpace):
    """Base of the reducers whose directions depend on what a kernel ridge regression fits of the labels.

    In a method the kernel and α are set once, for the learner `kernel_ridge`, and the label space takes them from
    there, with all that has been computed of them. A learner of another kind needs `regression`.

    Parameters
    ----------
    regression : estimator or None
        The kernel ridge regression, with its kernel and α. None: that of the method's learner (fitted by itself, the
        label space takes a `kernel_ridge` at its defaults).

    Attributes
    ----------
    regression_ : KernelRegression
        The regression that the directions are for.
    """

    regression: Any = parameter(None, [HasMethods(["kernel_regression"]), None], family="learner")

    def fit_moments(self, moments: Moments) -> Self:
        """Find the directions from the moments of a training set, which must have their rows."""
        return self._fit(
            KernelRegression() if self.regression is None else self.regression.kernel_regression(), moments
        )

    def fit_moments_for(self, learner: Any, moments: Moments) -> KernelLabelSpace:
        """`fit_moments`, for codes that `learner` is going to fit.

        Raises
        ------
        ValueError
            When both the learner and the label space have a kernel, or neither.
        """
        problem = self.misfit(learner, self.regression)
        if problem:
            raise ValueError(problem)
        return self._fit((learner if self.regression is None else self.regression).kernel_regression(), moments)

    @classmethod
    def misfit(cls, learner: Any, regression: Any = None) -> str | None:
        """Why the label space and that learner do not go together; None if they do.

        The learner is an estimator, not its class: a meta-estimator has a kernel if its inner estimator has.
        """
        kernel, name = has_kernel(learner), type(learner).__name__
        if kernel and regression is not None:
            return f"{cls.__name__} takes the kernel of the learner {name}: leave its own `regression` out"
        if not kernel and regression is None:
            return (
                f"the learner {name} has no kernel for {cls.__name__} to take: take `kernel_ridge`, "
                f"or give the label space one of its own, `regression: {{kernel_ridge: {{...}}}}`"
            )
        return None

    def _fit(self, regression: KernelRegression, moments: Moments) -> Self:
        self.regression_ = regression
        super().fit_moments(moments)
        return self

    def _explained(self, moments: Moments) -> Array:
        """Zᵀ(2KQ − QKKQ)Z (K×K), shared by all methods of a split."""
        return self.regression_.explained_scatter(moments)
