"""Two methods of one's own: a learner and a label space.

In the folder of this file, `mlcdr test my_method.py` checks that they have the properties required of every method, and
`mlcdr run my_method.yaml` makes them rows of a table.
"""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mlcdr import LinearLabelSpace


class ScaledRidge(RegressorMixin, BaseEstimator):
    """Ridge regression whose penalty does not depend on the units of the features.

    W = (S + α diag S)⁻¹C with S = Xᵀ(X − x̄) (d×d) and C = Xᵀ(Z − z̄) (d×M), in O(nd² + d³); the same as ridge regression
    with the penalty nα on features divided by their standard deviations. A constant feature has no weight.

    Parameters
    ----------
    alpha : float
        α > 0.

    Attributes
    ----------
    coef_ : array of shape (d, M)
        W.
    intercept_ : array of shape (M,)
        z̄ − x̄W.
    """

    independent_outputs = True  # one fit serves every number of label dimensions

    def __init__(self, alpha=0.1):
        self.alpha = alpha

    def fit(self, X, y):
        """Fit codes or labels y (n×M, or n) from features X (n×d, dense or CSR)."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=float, multi_output=True, y_numeric=True)
        n = X.shape[0]
        mean = np.asarray(X.mean(axis=0)).ravel()
        gram = X.T @ X
        scatter = (gram.toarray() if hasattr(gram, "toarray") else gram) - n * np.outer(mean, mean)
        variances = np.diag(scatter).copy()
        varying = variances > 1e-12 * np.maximum(n * mean**2, np.finfo(float).tiny)
        scale = np.where(varying, 1 / np.sqrt(np.where(varying, variances, 1)), 0)
        correlations = scatter * np.outer(scale, scale) + self.alpha * np.eye(len(scale))
        cross = X.T @ (y - y.mean(axis=0))
        self.coef_ = (scale * np.linalg.solve(correlations, (scale * cross.T).T).T).T
        self.intercept_ = y.mean(axis=0) - mean @ self.coef_
        return self

    def predict(self, X):
        """Scores (n×M, or n) of X (n×d)."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=float) @ self.coef_ + self.intercept_

    def __sklearn_tags__(self):
        """What scikit-learn may expect: sparse features, several outputs."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


class MostFrequent(LinearLabelSpace):
    """The code is the M labels that most instances have; for the others the mean is predicted (V: unit vectors)."""

    def _find_directions(self, moments, n):
        order = np.argsort(-moments.mean_y, kind="stable")[:n]
        return np.eye(moments.n_labels)[order]
