"""The label space `plst`."""

from __future__ import annotations

import numpy as np

from mlcdr.methods.constraints import BOOLEAN, parameter
from mlcdr.methods.label_space.implicit import leading
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import Operator


class PLST(LinearLabelSpace):
    """Principal label space transformation (PLST): the directions that lose least of the labels.

    Source: Tai & Lin 2012; Chen & Lin 2012, section 2.1 and Table 1; uncentred: Tai & Lin 2010.

    V: the M leading eigenvectors of ZᵀZ (K×K), Z = Y − ȳ; they minimise the encoding error ‖Z − ZVᵀV‖².

    The features are not used. Cost about 9K³ (a truncated solver takes over where K is large and M small; from 5000
    labels on, for a tenth of them at most, it works on v ↦ Zᵀ(Zv), 4 nnz(Y) for a product, and forms no K×K matrix).

    Parameters
    ----------
    centre : bool
        False: Z = Y, the raw label sets, and no mean is added in decoding (`mean_` is 0), as in the first version of
        the method and in Pacharawongsakda & Theeramunkong 2012.
    """

    centre: bool = parameter(True, BOOLEAN)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        times, mean = moments.label_operator, moments.mean_y
        if self.centre:
            self.eigenvalues_, directions = leading(moments, n, times, lambda: moments.yy)
            return directions

        def raw() -> Operator:
            centred = times()
            return lambda a: centred(a) + moments.n * np.outer(mean, mean @ a)

        self.mean_ = np.zeros(moments.n_labels)
        self.eigenvalues_, directions = leading(moments, n, raw, lambda: moments.yy + moments.n * np.outer(mean, mean))
        return directions
