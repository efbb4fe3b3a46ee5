"""Linear least squares with intercept and the minimum-norm solution.

Source: the linear regression X⁺Z of Chen & Lin 2012, section 3, and of most papers here.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mlcdr.learners.linear import Array, LinearLearner
from mlcdr.moments import Moments


class LeastSquares(LinearLearner):
    """W = X⁺Z on centred X and Z, with the Moore-Penrose inverse: of all least-squares solutions the shortest.

    Where features are linearly dependent or outnumber the instances, that choice decides the predictions; it depends
    on the scale of the features, as in the papers. Cost, beside the moments: one Cholesky factorisation (d³/3 or, for
    d > n, about n³) and 2d²K; where rounding hides the rank, an SVD of the dense rows instead.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _solve(self, moments: Moments) -> tuple[Array, Array]:
        weights = moments.coefficients()
        return weights, moments.mean_y - moments.mean_x @ weights
