"""The label space `kernel_cplst`."""

from __future__ import annotations

from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.methods.label_space.linear import Array
from mlcdr.numerics.linalg import leading_eigenvectors
from mlcdr.numerics.moments import Moments


class KernelCPLST(KernelLabelSpace):
    """Kernel-CPLST: the directions that keep much of the labels and that kernel ridge regression learns well.

    Source: Chen & Lin 2012, section 3.2, equation (8).

    V: the M leading eigenvectors of Zᵀ(2KQ − QKKQ)Z (K×K), Q = (K + αI)⁻¹, K the kernel matrix (n×n).

    With H = KQ they minimise ‖HZVᵀ − ZVᵀ‖² + ‖Z − ZVᵀV‖², prediction and encoding error of kernel ridge regression on
    the training set: the bound (1) of the Hamming loss. The paper's (8) has 2KQ − QKKQ − I there, which is the
    prediction error alone (kernel OCCA); the sentence after it has the matrix that follows from its derivation and that
    its numbers come from. Z is centred, K is not. Kernel and α are those of the method's learner `kernel_ridge`; for a
    learner of another kind, `regression: {kernel_ridge: {...}}` sets them. Cost: that of the learner `kernel_ridge`,
    shared with it, about 4nK² and 9K³.
    """

    def _find_directions(self, moments: Moments, n: int) -> Array:
        self.eigenvalues_, directions = leading_eigenvectors(self._explained(moments), n)
        return directions
