"""The feature step `f_score`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlcdr.methods.feature_space.linear import dependence
from mlcdr.methods.feature_space.selection import Array, FeatureSelector
from mlcdr.numerics.moments import Moments


class FScore(FeatureSelector):
    """F-score: Fisher's criterion of each feature by itself, over all labels.

    Source: Duda, Hart & Stork 2001 for one label; Sun 2017 (thesis), section 6.5.2, which evaluates features "one by
    one across all labels" and leaves open how the labels' scores are combined.

    Scores (1/K) Σ_k F_jk, F_jk = Σ_c n_c(μ_c − μ)² / Σ_c n_c σ_c² over the classes c of label k: present or absent.

    Between and within scatter of a feature add up to S_jj, and the former is C_jk²/T_kk: so F = ρ²/(1 − ρ²), with ρ the
    correlation of feature and label, and the moments are all that is needed. It is 0 for a constant feature or label,
    and infinite for a feature that decides a label. Cost: that of C.
    """

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        spread = np.outer(moments.spread(), moments.label_spread())
        between = np.minimum(dependence(moments) ** 2, spread)
        with np.errstate(divide="ignore", invalid="ignore"):
            # to 12 digits: what rounding leaves of a feature that decides the label is nothing, and copies are equal
            share = np.round(between / spread, 12)
            scores = np.where(spread > 0, share / (1.0 - share), 0.0)
        return scores.sum(axis=1) / max(moments.n_labels, 1), {}
