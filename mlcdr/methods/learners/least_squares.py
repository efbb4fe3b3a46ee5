"""The learner `least_squares`."""

from __future__ import annotations

from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.learners.linear import Array, LinearLearner
from mlcdr.numerics import regression
from mlcdr.numerics.left_out import predict_left_out
from mlcdr.numerics.moments import Moments


class LeastSquares(LinearLearner):
    """Linear least squares with intercept, and the minimum-norm solution or that of R's `lm`.

    Source: the linear regression X⁺Z of Chen & Lin 2012, section 3, and of most papers here; with aliased features
    dropped, `lm` of R, which Pacharawongsakda & Theeramunkong 2012 used.

    W = X⁺Z on centred X and Z, with the Moore-Penrose inverse: of all least-squares solutions the shortest.

    Where features are linearly dependent or outnumber the instances, that choice decides the predictions; it depends
    on the scale of the features, as in the papers. Cost, beside the moments: one Cholesky factorisation (d³/3 or, for
    d > n, about n³) and 2d²K; where rounding hides the rank, an SVD of the dense rows instead.

    Parameters
    ----------
    rank_deficient : {"minimum_norm", "drop_aliased"}
        Which of the solutions, where there are many. "drop_aliased" is that of R's `lm`: in file order, the intercept
        first, a feature whose residual given those before it is below 1e-7 of its norm gets coefficient 0. It depends
        on the features' order, not on their scale. Cost, with r features kept: a Cholesky factorisation of S, r³/3 to
        dr²; where rounding in S could hide which are kept, or d > 4n, a QR factorisation of the rows, 4ndr.
    """

    rank_deficient: str = parameter("minimum_norm", one_of("minimum_norm", "drop_aliased"))

    def predict_left_out(self, moments: Moments) -> Array | None:
        """Predictions (m×q) for the rows left out, in closed form (`numerics.left_out`)."""
        return predict_left_out(moments) if self.rank_deficient == "minimum_norm" else None

    def _solve(self, moments: Moments) -> tuple[Array, Array]:
        drop = self.rank_deficient == "drop_aliased"
        weights = regression.basic_coefficients(moments) if drop else regression.coefficients(moments)
        return weights, moments.mean_y - moments.mean_x @ weights
