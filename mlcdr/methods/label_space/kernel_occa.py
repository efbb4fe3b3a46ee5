"""The label space `kernel_occa`."""

from __future__ import annotations

from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.methods.label_space.linear import Array
from mlcdr.numerics.linalg import leading_eigenvectors
from mlcdr.numerics.moments import Moments


class KernelOCCA(KernelLabelSpace):
    """Kernel OCCA: the directions that kernel ridge regression learns best.

    Source: Chen & Lin 2012, section 3.2, which says that OCCA can be treated as CPLST is; the matrix is the printed
    (8).

    V: the M leading eigenvectors of Zᵀ(2KQ − QKKQ − I)Z = −Zᵀ(I − KQ)²Z (K×K), Q = (K + αI)⁻¹, K the kernel matrix.

    They minimise the prediction error ‖KQZVᵀ − ZVᵀ‖² of kernel ridge regression on the training set, and ignore the
    encoding error. Labels that are (nearly) constant come first: nothing is easier to learn. Kernel and α are those of
    the method's learner `kernel_ridge`; for a learner of another kind, `regression: {kernel_ridge: {...}}` sets them.
    Cost: that of the learner `kernel_ridge`, shared with it, about 4nK² and 9K³.
    """

    def _find_directions(self, moments: Moments, n: int) -> Array:
        self.eigenvalues_, directions = leading_eigenvectors(self._explained(moments) - moments.yy, n)
        return directions
