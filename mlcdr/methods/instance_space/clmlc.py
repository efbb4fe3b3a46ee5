"""The instance space `clmlc`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.classifiers.meta_label_chain import MetaLabelChain
from mlcdr.methods.constraints import COUNT, POSITIVE, one_of, parameter
from mlcdr.methods.feature_space.opls import OPLS
from mlcdr.methods.instance_space.clusters import ClusteredClassifier
from mlcdr.methods.multilabel import Array
from mlcdr.numerics.meta_labels import VARIANTS
from mlcdr.numerics.moments import Moments


class CLMLC(ClusteredClassifier):
    """Clustering-based local multi-label classification (CLMLC): clusters of a supervised projection, each with a chain
    of meta-labels.

    Source: Sun 2017, chapter 8 (Sun, Kudo & Kimura 2016).

    h_c(z), z = Uᵀ(x − x̄) (m×1), for the cluster c with the centre nearest to z (Algorithms 16-18).

    U (d×m): U₁ = (S + γI)⁻¹C the ridge regression of the centred labels, H = U₁ᵀC = U_H Λ U_Hᵀ (K×K) its leading m
    eigenpairs, U = U₁U_H Λ^(-½), which solves CCᵀu = λ(S + γI)u (8.6): the feature step `opls`. Directions with λ = 0,
    from labels that no row has, are left out (they are NaN in the author's program). In each cluster labels are grouped
    into meta-labels, which form a chain (`mlcdr.methods.classifiers.meta_label_chain`). Cost: d³/3 + d²K + 9K³ for U,
    shared with other methods' moments; nKm an iteration of k-means; a cluster with N^c rows and L^c labels
    (m + L^c)²N^c for the sums that all its models share, and (m + L^c)³ for the models, where they are linear. Nothing
    larger than X, Y, n×m and K×d is held.

    Parameters
    ----------
    classifier : estimator or None
        The multi-label classifier of a meta-label; in a config, what the other keys of the method make. None: a
        classifier chain in random order, of ridge regressions with α = 0.1 and a penalised intercept.
    n_clusters : int
        K, the clusters; where there are fewer rows, as many as rows.
    n_components : int
        m, at most; there are no more than features, labels and directions with λ > 0.
    alpha : float
        γ > 0.
    meta_labels : {"spectral", "label_rows"} or None
        How labels are grouped: "spectral", by spectral clustering; "label_rows", by k-means on the columns of Y
        (`MetaLabelChain`). None: not at all, the classifier fits all labels of a cluster.
    meta_label_size : int
        How many labels are a meta-label, on average (all, where there are fewer): there are n = ⌈L^c/size⌉.
    n_members : int
        How many classifiers vote in a meta-label.
    variant : {"text", "published_code"}
        Details of the meta-labels (see `MetaLabelChain`). The author's program is `published_code` with
        `meta_labels: label_rows`.

    Attributes
    ----------
    projection_ : OPLS
        U and x̄.
    n_components_ : int
        The number of directions found.
    """

    n_components: int = parameter(30, COUNT, at_most="labels")
    alpha: float = parameter(1.0, POSITIVE)
    meta_labels: str | None = parameter("spectral", [*one_of("spectral", "label_rows"), None])
    meta_label_size: int = parameter(5, COUNT, at_most="labels")
    n_members: int = parameter(2, COUNT)
    variant: str = parameter("text", one_of(*VARIANTS))

    def _learn_encoding(self, moments: Moments) -> Array:
        self.projection_ = OPLS(min(self.n_components, moments.n_features), alpha=self.alpha).fit_moments(moments)
        self.n_components_ = self.projection_.n_components_
        return self._encode(moments.rows()[0])

    def _encode(self, X: Any) -> Array:
        if not self.n_components_:  # no label depends on any feature
            return np.zeros((X.shape[0], 1))
        return X @ self.projection_.components_.T - self.projection_.components_ @ self.projection_.mean_

    def _local(self) -> Any:
        if self.meta_labels is None:
            return super()._local()
        return MetaLabelChain(self.classifier, self.meta_labels, self.meta_label_size, self.n_members, self.variant)
