"""The feature step `scca`."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from mlcdr.methods.constraints import parameter
from mlcdr.methods.feature_space.linear import Array, LinearFeatureSpace, dependence, eigen
from mlcdr.numerics import row_sparse, sums
from mlcdr.numerics.moments import Moments


class SCCA(LinearFeatureSpace):
    """Semi-supervised canonical correlation analysis (SCCA): between CCA of the labelled rows and PCA of all.

    Source: Kimura, Kameoka, Sugiyama et al. 2013 (SemiCCA); Sun 2017 (thesis), equations (6.50) and (6.51).

    The parts w_x (d) of the eigenvectors w = (w_x, w_y) of B w = λ C w, d + K of them,

        B = β [ 0   C_xy ]  + (1−β) [ S̃  0 ]        C = β [ S  0 ]  + (1−β) I,
              [ C_xyᵀ  0 ]          [ 0  T ]              [ 0  T ]

    with S, C_xy and T of the labelled rows and S̃ of these and the unlabelled ones, each centred about its own mean
    (which the text leaves open), and labels of {0, 1}. β = 0 is PCA, in which labels and features are independent of
    each other; β = 1 is CCA, where C may be singular and is therefore excluded. Sums, not means: S̃ grows with the
    unlabelled rows. The first d eigenvectors with a positive eigenvalue and w_x ≠ 0 give the directions, which need be
    neither orthogonal nor linearly independent. Cost: about 9(d + K)³.

    Parameters
    ----------
    beta : float
        β, from 0 to 1, excluded.
    """

    uses_unlabelled: ClassVar[bool] = True

    beta: float = parameter(0.5, [Interval(Real, 0, 1, closed="left")])

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        beta, d, k = self.beta, moments.n_features, moments.n_labels
        within, between = moments.xx, moments.yy
        everywhere = within
        if moments.unlabelled is not None:
            rows = row_sparse.stacked(moments.rows()[0], moments.unlabelled)
            everywhere = sums.symmetric(sums.scatter(rows, sums.total(rows) / rows.shape[0]))
        cross = beta * dependence(moments)
        left = np.block([[(1 - beta) * everywhere, cross], [cross.T, (1 - beta) * between]])
        zeros = np.zeros((d, k))
        right = np.block([[beta * within, zeros], [zeros.T, beta * between]]) + (1 - beta) * np.eye(d + k)
        values, vectors = eigen(left, right)
        of_features = vectors[:d]
        # of an eigenvector of the labels alone nothing is left to be a direction
        there = np.flatnonzero(row_sparse.lengths(of_features.T) > 1e-10 * row_sparse.lengths(vectors.T))
        there = there[::-1][:d]
        return values[there], of_features[:, there]
