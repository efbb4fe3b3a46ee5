"""The feature step `ppt_mi`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, parameter
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.feature_space.informative import InformationSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics.information import Variables, mutual_information
from mlcdr.numerics.moments import Moments


class PPTMI(InformationSelector):
    """PPT-MI: mutual information of each feature and the label set, rare label sets left out.

    Source: Doquire & Verleysen 2011, *Feature selection for multi-label classification problems* (IWANN), and 2013,
    *Mutual information-based feature selection for multilabel classification* (Neurocomputing 122); Read 2008 for the
    pruned problem transformation (PPT).

    Scores I(f; c), c the label set as a class, over the rows whose label set at least t rows have.

    The empty label set is a class too. Features are cut on all rows, before some are left out. The papers choose
    greedily by I(S ∪ {f}; c) of whole sets S of numeric features, which they estimate from nearest neighbours; this is
    the ranking of single, discrete features that public programs have under the name. Where no label set is that
    frequent, it is an error; where a single one is, all scores are 0. Cost: the counts of each feature and the classes,
    of which there are n/t at most.

    Parameters
    ----------
    min_count : int
        t. 1: no label set is left out.
    """

    min_count: int = parameter(6, COUNT)

    def _find_scores(self, moments: Moments) -> tuple[Array, dict[str, Any]]:
        X = self._variables(moments)[0]
        Y = as_dense(moments.rows()[1])
        _, classes, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
        classes = classes.reshape(-1)
        kept = np.flatnonzero(counts[classes] >= self.min_count)
        if len(kept) == 0:
            raise ValueError(
                f"no label set is that of {self.min_count} rows (min_count): the most frequent one is that of "
                f"{counts.max()} of {len(classes)}"
            )
        c = Variables.from_values(sp.csr_array(classes[kept, None]))  # there may be many classes
        return np.round(mutual_information(X.rows(kept), c)[:, 0], 12), {}
