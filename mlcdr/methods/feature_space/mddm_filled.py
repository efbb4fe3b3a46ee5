"""The feature step `mddm_filled`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import COUNT, FRACTION, SEED, parameter
from mlcdr.methods.feature_space.linear import Array, LinearFeatureSpace
from mlcdr.methods.feature_space.mddm import MDDM
from mlcdr.numerics.linalg import n_kept, signed
from mlcdr.numerics.moments import Moments


class FilledMDDM(LinearFeatureSpace):
    """MDDMp with as many directions as are asked for, although at most K of them have a positive eigenvalue.

    Source: Sun 2017, section 6.5.1 (30 dimensions, also of data with 6 labels), and the author's program `FSDR`.

    CCᵀp = λp with C = XᵀY_c (d×K), as `mddm` has it. The program takes the m largest eigenvalues by an iterative solver
    (MATLAB's `eigs`). Where m exceeds the rank q of C, it returns m − q directions with λ = 0 too, which depend on the
    solver's start: here they are drawn at random, uniformly among the orthonormal ones that are orthogonal to the first
    q. In the training set, the features along them are uncorrelated with every single label. They may help a learner
    nevertheless, since a label may depend on several features together.

    Cost: that of `mddm`, dK², and dm² for the directions drawn.

    Parameters
    ----------
    n_components : int, float or None
        Number of directions m: an int, a fraction p of the d features (max(1, ⌊pd⌋)), or None for those with a positive
        eigenvalue alone.
    random_state : int, RandomState instance or None
        The seed of the directions drawn.

    Attributes
    ----------
    eigenvalues_ : array of shape (q,)
        The positive eigenvalues, descending: those of the first q directions.
    """

    n_components: int | float | None = parameter(None, [*COUNT, *FRACTION, None])
    random_state: Any = parameter(None, SEED, last=True)

    def fit_moments(self, moments: Moments) -> Self:
        """Find the directions from the moments of a training set (without checks of parameters and data).

        Raises
        ------
        ValueError
            When an int `n_components` exceeds the number of features.
        """
        super().fit_moments(moments)
        wanted = self.n_components_ if self.n_components is None else n_kept(self.n_components, self.n_features_in_)
        if wanted > self.n_components_:
            drawn = check_random_state(self.random_state).normal(
                size=(self.n_features_in_, wanted - self.n_components_)
            )
            basis, _ = scipy.linalg.qr(np.column_stack([self.components_.T, drawn]), mode="economic")
            self.components_ = np.vstack([self.components_, signed(basis[:, self.n_components_ :])])
            self.n_components_ = wanted
        return self

    def _find_directions(self, moments: Moments) -> tuple[Array, Array]:
        return MDDM()._find_directions(moments)
