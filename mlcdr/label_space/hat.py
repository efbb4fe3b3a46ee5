"""ZᵀHZ, the labels' scatter that a regression on the features explains: what OCCA and CPLST diagonalise."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from mlcdr.label_space.linear import Array, LinearLabelSpace
from mlcdr.moments import Moments


class HatLabelSpace(LinearLabelSpace):
    """Base of the reducers that look at the features through the hat matrix H = X(XᵀX + αI)⁺Xᵀ.

    Parameters
    ----------
    n_components : int, float or None
        Number of dimensions M, as in `LinearLabelSpace`.
    alpha : float
        Ridge α of the hat matrix, as in the authors' later program. 0 is the paper's least squares, H the orthogonal
        projection on the range of X; with α > 0 the directions no longer minimise the paper's criterion, which would
        have 2H − H² in place of H (its equation (8)).
    centre : bool
        Whether X is centred in H. True is the regression with intercept that the paper's results come from; the
        authors' later program leaves X as it is.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearLabelSpace._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "centre": ["boolean"],
    }

    def __init__(self, n_components: float | int | None = None, alpha: float = 0.0, centre: bool = True):
        super().__init__(n_components)
        self.alpha = alpha
        self.centre = centre

    def _explained(self, moments: Moments) -> Array:
        """ZᵀHZ (K×K) = BᵀB, shared by all methods of a split."""
        if not self.centre:
            moments = moments.uncentred()
        return moments.explained(self.alpha)
