"""The label space `cplst`."""

from __future__ import annotations

from mlcdr.methods.label_space.hat import HatLabelSpace
from mlcdr.methods.label_space.implicit import explained_operator, leading
from mlcdr.methods.label_space.linear import Array
from mlcdr.numerics.moments import Moments


class CPLST(HatLabelSpace):
    """Conditional principal label space transformation (CPLST): directions that keep much and are easy to learn.

    Source: Chen & Lin 2012, section 3.1, equation (6) and Algorithm 1.

    V: the M leading eigenvectors of ZᵀHZ (K×K), H the hat matrix of the regression on the features.

    They minimise the sum of encoding and prediction error, the bound (1) of the Hamming loss, for least squares. Cost:
    the split's factorisation, about r K² for ZᵀHZ (r the rank of X) and 9K³. From 5000 labels on, for a tenth of them
    at most, Lanczos' iteration on v ↦ ZᵀHZv needs no K×K matrix, and where X has 15,000 rows and features or more, X
    and Y are sparse and α > 0, conjugate gradients no d×d one either.
    """

    def _find_directions(self, moments: Moments, n: int) -> Array:
        features = self._regressors(moments)
        self.eigenvalues_, directions = leading(
            moments, n, lambda: explained_operator(features, self.alpha), lambda: self._explained(moments)
        )
        return directions
