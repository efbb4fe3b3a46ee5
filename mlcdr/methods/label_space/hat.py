"""ZᵀHZ, the labels' scatter that a regression on the features explains: what OCCA and CPLST diagonalise."""

from __future__ import annotations

from mlcdr.methods.constraints import BOOLEAN, NOT_NEGATIVE, one_of, parameter
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.regression import explained_scatter


class HatLabelSpace(LinearLabelSpace):
    """Base of the reducers that use the features through the hat matrix H = X(XᵀX + αI)⁺Xᵀ.

    Parameters
    ----------
    alpha : float
        Ridge α of the hat matrix, as in the authors' later program. 0 is the paper's least squares, H the orthogonal
        projection on the range of X; with α > 0 the directions no longer minimise the paper's criterion, which would
        have 2H − H² in place of H (its equation (8)).
    centre : bool
        Whether X is centred in H. True is the regression with intercept that the paper's results come from; the
        authors' later program leaves X as it is.
    constant : bool
        Whether a column of ones joins the features in H, its coefficient penalised like the others (MLC Toolbox). Only
        where X is not centred: centred, that column is 0 and changes nothing.
    """

    alpha: float = parameter(0.0, NOT_NEGATIVE)
    centre: bool = parameter(True, BOOLEAN, last=True)
    constant: bool = parameter(False, BOOLEAN, last=True)
    rounding: str = parameter("floor", one_of("floor", "nearest", "ceiling"), last=True)

    def _explained(self, moments: Moments) -> Array:
        """ZᵀHZ (K×K) = BᵀB, shared by all methods of a split."""
        return explained_scatter(self._regressors(moments), self.alpha)

    def _regressors(self, moments: Moments) -> Moments:
        """The moments of what H projects on: the features by the options `centre` and `constant`."""
        if self.centre:
            return moments
        return (moments.with_constant() if self.constant else moments).uncentred()
