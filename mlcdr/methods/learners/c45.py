"""The learner `c45`."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.bases import ClassifierMixin
from mlcdr.methods.constraints import BOOLEAN, COUNT, learned, one_of, parameter
from mlcdr.methods.contracts import Learner
from mlcdr.methods.learners.c45_tree import Array, ClassTree, fit_tree
from mlcdr.methods.learners.m5.compiled import WARM_UP, require_numba
from mlcdr.numerics.entry import checked


class C45(ClassifierMixin, Learner):
    """C4.5: classification trees by gain ratio, pruned by a pessimistic estimate of their errors.

    Source: Quinlan 1993, "C4.5: programs for machine learning"; Quinlan 1996, "Improved use of continuous attributes in
    C4.5" (Release 8), as WEKA's J48 computes it; base of RAkEL on large sets in Sun 2017, section 3.3.

    One tree of tests x_j ≤ c for all classes.

    Growing: of each feature the cut with the largest information gain H − (n_l/n) H_l − (n_r/n) H_r, in bits, that
    leaves at least max(`min_instances`, min(n/(10C), 25)) of the n rows on either side; log₂(possible cuts)/n is taken
    from its gain. Of the features whose gain is positive and not more than 0.001 bits below the average of these, the
    one with the largest gain ratio: the gain by the entropy of (n_l/n, n_r/n). c is the largest value of x_j in the
    training set not above the middle of the cut. Values nearer than 1e-5 of the feature's range in the training set are
    not cut apart. A node is a leaf if it has fewer than 2 `min_instances` rows, one class, or no such feature.

    Pruning: the expected errors of a node with e errors on n rows are the upper limit of a confidence interval
    (`confidence`) for e. From the bottom up, a subtree is replaced by a leaf, or by its larger child, if that adds at
    most 0.1 to the expected errors. Equal gains and ratios (to 1e-6) go to the first feature, equal classes to the
    first class.

    Features are numeric, without missing values. Sparse and dense X give the same tree. Needs numba (optional extra
    `trees`). Cost: n log n for each feature, and for each level of the tree the non-zeros and d.

    Parameters
    ----------
    min_instances : int
        The least number of rows on a side.
    confidence : float
        Confidence level of the pruning; 0.25 is C4.5's default, smaller values prune more.
    pruned : bool
        False: the tree as it was grown.
    gap : {"relative", "absolute"}
        "absolute": values nearer than 1e-5 are not cut apart, whatever the feature's range, as in C4.5 and WEKA.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The values of y.
    tree_ : ClassTree
        The tree.
    """

    one_label: ClassVar[bool] = True

    tree_: ClassTree = learned()

    min_instances: int = parameter(2, COUNT)
    confidence: float = parameter(0.25, [Interval(Real, 0, 0.5, closed="right")])
    pruned: bool = parameter(True, BOOLEAN)
    gap: str = parameter("relative", one_of("relative", "absolute"))

    def _validate_params(self) -> None:
        require_numba("c45")
        super()._validate_params()

    @classmethod
    def warm_up(cls) -> None:
        """Load the machine code, or compile it, so that the first fit's time does not include this.

        Raises
        ------
        UserError
            When numba is not installed.
        """
        cls().fit(WARM_UP, WARM_UP[:, 0] > 2).predict(WARM_UP)

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree from features X (n×d, dense or CSR) and classes y (n,).

        Raises
        ------
        UserError
            When numba is not installed.
        """
        self._validate_params()
        X, y = checked(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        confidence = self.confidence if self.pruned else 0.0
        self.tree_ = fit_tree(X, codes, len(self.classes_), self.min_instances, confidence, self.gap == "absolute")
        return self

    def predict_proba(self, X: Any) -> Array:
        """The classes' shares (n×C) of the training rows in the leaf that each row of X (n×d) comes to."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        return self.tree_.shares[self.tree_.leaf_of(X)]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most frequent class (n,) in the leaf of each row of X (n×d)."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]
