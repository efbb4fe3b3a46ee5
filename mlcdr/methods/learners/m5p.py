"""The learner `m5p`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.methods.constraints import BOOLEAN, COUNT, learned, one_of, parameter
from mlcdr.methods.learners.m5.columns import Array, Columns
from mlcdr.methods.learners.m5.compiled import WARM_UP, require_numba
from mlcdr.methods.learners.m5.grow import grow
from mlcdr.methods.learners.m5.models import fit_models
from mlcdr.methods.learners.m5.prune import ModelTree, assemble, prune
from mlcdr.methods.learners.regressor import Regressor
from mlcdr.numerics.entry import LARGEST


class M5P(Regressor):
    """M5P model trees: regression trees with linear models in their leaves, by WEKA's rules.

    Source: Quinlan 1992, "Learning with continuous classes" (M5); Wang & Witten 1997, "Induction of model trees for
    predicting continuous classes" (M5′), as M5P of WEKA 3.9 computes it; used by Chen & Lin 2012, section 4.2.

    One model tree for each output.

    Growing: of all cuts x_j ≤ c that leave more than max(1, ⌊n/5⌋) rows on either side, the one with the largest
    v^⅕ − (n_l/n) v_l^⅕ − (n_r/n) v_r^⅕, where v is the variance of the targets; a node is a leaf if it has fewer than
    `min_instances` rows, or less than 5 % of the root's standard deviation. Values of a feature, and scores, that
    differ by less than 1e-6 are equal, as in WEKA, whatever their unit. Each inner node has a linear model over
    the features tested below it, simplified by Akaike's criterion (`m5/models.py`). Pruning, from the bottom up: the
    model takes the place of the subtree if its error times (n + 2v)/(n − v), with v parameters, is not larger.
    Smoothing: from leaf to root, a prediction p becomes (n p + 15 q)/(n + 15), with the parent's model's q.

    The trees are sensitive to rounding: where a side of a cut has equal targets, its fifth root turns a rounding error
    into 1e-4, and that decides between attributes that cut the rows alike. So the order of summation belongs to the
    definition. With `ties="weka"` it is WEKA's, and so are the trees, except where two features of a model have the
    same standardised coefficient, or dropping a feature leaves Akaike's criterion unchanged: there WEKA's rounding
    errors decide what is dropped, which cannot be reproduced (found with a few binary features and small integer
    targets: 12 of 5,692 random trees of 4 to 60 rows). Features are numeric, without missing values; WEKA codes a
    nominal of two values by its position in the declaration, and trees on 1 − x need not be those on x. The same trees
    for sparse and dense X.

    Needs numba (optional extra `trees`). The first fit of a process loads the machine code, or compiles it if none is
    stored (`warm_up`, which the bench calls before any timing). Cost of an output: for each level of the tree a walk
    over the non-zeros and, for each feature that can be cut, over the rows ("rows"); over the rows for each feature,
    and a sort of them as far as they tie ("weka": up to twice the cost on dense features, several times on sparse ones;
    "rows" gives trees as good, but not WEKA's where rows tie); the models' np² + p³.

    Parameters
    ----------
    min_instances : int
        A node with fewer rows is a leaf; one with fewer than 4 is in any case.
    pruned : bool
        False: the full tree, with constants in its leaves.
    smoothed : bool
        False: a leaf's value is its own model's.
    ties : {"weka", "rows"}
        The order in which rows with the same value of a feature are summed.

    Attributes
    ----------
    trees_ : list of ModelTree
        One for each output.
    """

    trees_: list[ModelTree] = learned()

    min_instances: int = parameter(4, COUNT)
    pruned: bool = parameter(True, BOOLEAN)
    smoothed: bool = parameter(True, BOOLEAN)
    ties: str = parameter("weka", one_of("weka", "rows"))

    def _validate_params(self) -> None:
        require_numba()
        super()._validate_params()

    @classmethod
    def warm_up(cls) -> None:
        """Load the machine code, or compile it, so that the first fit's time does not include this.

        Raises
        ------
        UserError
            When numba is not installed.
        """
        for rows in (WARM_UP, sp.csr_array(WARM_UP)):
            for ties in ("weka", "rows"):
                cls(ties=ties).fit(rows, WARM_UP[:, 0]).predict(rows)

    def _fit_rows(self, X: Any, Z: Array) -> None:
        """Grow the trees from features X (n×d, dense or CSR) and targets Z (n×q).

        Raises
        ------
        ValueError
            When a target is above 1e70 in size.
        """
        size = float(np.max(np.abs(Z), initial=0.0))
        if size > LARGEST:
            raise ValueError(f"m5p squares its targets, and one of {size:.3g} is too large: scale them")
        columns = Columns.of(X)
        self.trees_ = [self._tree(columns, target) for target in np.array(Z.T, order="C")]

    def _tree(self, columns: Columns, y: Array) -> ModelTree:
        grown = grow(columns, y, self.min_instances, self.ties)
        models = fit_models(columns, grown, y)
        leaves = prune(grown, models, y) if self.pruned else np.flatnonzero(grown.feature < 0)
        return assemble(columns, grown, models, leaves, self.smoothed)

    def predict_valid(self, X: Any) -> Array:
        """The trees' values (n×q) for checked features."""
        by_column = X.tocsc() if sp.issparse(X) else X
        return np.column_stack([tree.predict(by_column) for tree in self.trees_])
