"""The label space `occa`."""

from __future__ import annotations

from mlcdr.methods.label_space.hat import HatLabelSpace
from mlcdr.methods.label_space.linear import Array
from mlcdr.numerics.linalg import leading_eigenvectors
from mlcdr.numerics.moments import Moments


class OCCA(HatLabelSpace):
    """Orthogonally constrained canonical correlation analysis (OCCA): the directions that are easiest to learn.

    Source: Chen & Lin 2012, section 3, equation (4) and Table 1.

    V: the M leading eigenvectors of Zᵀ(H − I)Z (K×K), H the hat matrix of the regression on the features.

    They minimise the prediction error ‖HZVᵀ − ZVᵀ‖² of least squares, and ignore the encoding error. Where the features
    explain the training labels fully (as many independent features as instances), all directions are equally good, and
    rounding errors decide. Cost: the split's factorisation, about r K² for ZᵀHZ (r the rank of X) and 9K³.
    """

    def _find_directions(self, moments: Moments, n: int) -> Array:
        self.eigenvalues_, directions = leading_eigenvectors(self._explained(moments) - moments.yy, n)
        return directions
