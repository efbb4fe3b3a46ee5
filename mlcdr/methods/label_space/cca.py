"""The label space `cca`."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mlcdr.methods.constraints import NOT_NEGATIVE, parameter
from mlcdr.methods.label_space.hat import HatLabelSpace
from mlcdr.methods.label_space.linear import Array, ObliqueLabelSpace
from mlcdr.numerics.linalg import leading_eigenvectors, scatter_rank, signed
from mlcdr.numerics.moments import Moments


class CanonicalCodes(HatLabelSpace, ObliqueLabelSpace):
    """Canonical correlation analysis (CCA) as label-space reduction: the labels' canonical variates are the code.

    Source: Hotelling 1936; Sun, Ji & Ye 2011, section 2; Chen & Lin 2012, section 2.2 and equation (2), which leaves
    the decoding open.

    V = UᵀW (M×K), W = (ZᵀZ + r′I)^(-½): t = Vz, ẑ = V⁺t; U: the M leading eigenvectors of WZᵀHZW (K×K), as columns.

    With r = r′ = 0 (`alpha`, `label_alpha`) the rows of V are the labels' directions of canonical correlation with the
    features, equation (2): VZᵀZVᵀ = I, and the eigenvalues are the squared canonical correlations ρ², the share of each
    code's variance that least squares explains. So PLST's matrix is ZᵀZ, CPLST's ZᵀHZ, and this one's the
    latter relative to the former. A ridge r makes H = X(XᵀX + rI)⁺Xᵀ. Combinations of labels that do not vary have no
    canonical variate: with q of them, the last q of K rows of V are 0, as are their codes and eigenvalues.

    V's rows are not orthogonal, so Vᵀ does not decode. The Moore-Penrose inverse does: of all label vectors whose code
    is nearest to t (as a rule, all that have the code t) V⁺t + ȳ is the one nearest to ȳ. It is not the regression of
    the labels on their codes, which would be ZᵀZVᵀt. With V = RᵀQᵀ from the QR factorisation Vᵀ = QR (K×M, Q with
    orthonormal columns), V⁺t = Qc, Rᵀc = t, and the first m entries of c depend on the first m of t only: the
    directions are nested, and so is their decoding, at M²/2 + KM an instance.

    Cost: the split's factorisation, about r K² for ZᵀHZ (r the rank of X), 20K³ and 2KM².

    Parameters
    ----------
    alpha : float
        Ridge r ≥ 0 of the features.
    label_alpha : float
        Ridge r′ ≥ 0 of the labels. Canonical correlation favours combinations of labels that the features explain, even
        if they hardly vary; r′ (in units of Σz², as ZᵀZ is) makes these less likely.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        V, its rows signed so that the entry of largest magnitude is positive; unit scatter of the codes, not unit
        length.
    eigenvalues_ : array of shape (M,)
        Those of WZᵀHZW, descending: ρ² where r = r′ = 0.
    """

    label_alpha: float = parameter(0.0, NOT_NEGATIVE)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        values, vectors = moments.once("label axes", lambda: scipy.linalg.eigh(moments.yy, check_finite=False))
        kept = np.arange(len(values)) >= len(values) - moments.once("rank of T", lambda: scatter_rank(moments.yy))
        whitening = vectors[:, kept] / np.sqrt(values[kept] + self.label_alpha)
        relative = whitening.T @ self._explained(moments) @ whitening
        found = min(n, len(relative))
        self.eigenvalues_, directions = np.zeros(n), np.zeros((n, moments.n_labels))
        if found:
            self.eigenvalues_[:found], u = leading_eigenvectors(relative, found)
            directions[:found] = signed(whitening @ u.T)
        self.basis_, self.mixing_ = scipy.linalg.qr(directions[:found].T, mode="economic", check_finite=False)
        return directions
