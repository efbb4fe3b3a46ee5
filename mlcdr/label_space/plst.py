"""Principal label space transformation (PLST): the directions that lose least of the labels.

Source: Tai & Lin 2012; Chen & Lin 2012, section 2.1 and Table 1.
"""

from __future__ import annotations

from mlcdr.label_space.linear import Array, LinearLabelSpace
from mlcdr.linalg import leading_eigenvectors
from mlcdr.moments import Moments


class PLST(LinearLabelSpace):
    """V: the M leading eigenvectors of ZᵀZ (K×K), Z = Y − ȳ; they minimise the encoding error ‖Z − ZVᵀV‖².

    Blind to the features. Cost about 9K³ (a truncated solver takes over where K is large and M small).
    """

    def _find_directions(self, moments: Moments, n: int) -> Array:
        self.eigenvalues_, directions = leading_eigenvectors(moments.yy, n)
        return directions
