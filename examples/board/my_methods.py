"""A row of one's own on the board: a small label space, and what to do with it.

In the folder of this file,

    mlcdr test my_methods.py                             # has it the properties that every method must have?
    mlcdr run board --method my_methods.ScaledPLST       # the row: minutes; --set 'datasets=[yeast]' takes seconds

runs it as the config `board` runs all methods: behind the same scaling, with ridge regression and the same threshold,
on the same splits, its number of dimensions tuned like theirs. It prints the row, its place among the stored rows in
each measure of quality, and a sentence: place in micro F1, and on how many data sets it is better than no reduction.
The results are in `results/board_scaledplst`.

To add the row to the board, give the file and the class names of their own (`jones_2027.py`), put the file into
`examples/board/` of a checkout, run it there, and store the results: `python -m tools.record results/board_NAME`. A
pull request has two things, the file and `results/record/board/board_NAME`. docs/how-to/board.md has all steps.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mlcdr import LabelSpace


class ScaledPLST(LabelSpace):
    """PLST of labels in units of their standard deviations, so that rare labels count as much as frequent ones.

    V: the M leading eigenvectors of the labels' correlation matrix (K×K); codes are Z V with Z = (Y − ȳ)/σ. In O(nK² +
    K³). A label that never varies has σ = 1.

    Parameters
    ----------
    n_components : int, float or None
        Number of dimensions M: a number, a share of the K labels, or None for K.

    Attributes
    ----------
    directions_ : array of shape (K, M)
        V.
    mean_, scale_ : array of shape (K,)
        ȳ and σ.
    """

    def __init__(self, n_components=None):
        self.n_components = n_components

    def fit(self, X, Y):
        """Learn from label sets Y (n×K of {0, 1}); the features X (n×d, dense or CSR) are not used."""
        X, Y = validate_data(self, X, Y, accept_sparse="csr", multi_output=True, y_numeric=True)
        Y = np.reshape(Y, (len(Y), -1)).astype(float)
        m = self.n_dimensions(self.n_components, Y.shape[1])
        self.mean_ = Y.mean(axis=0)
        deviations = Y.std(axis=0)
        self.scale_ = np.where(deviations > 0, deviations, 1.0)
        scaled = (Y - self.mean_) / self.scale_
        _, vectors = np.linalg.eigh(scaled.T @ scaled)
        self.directions_ = vectors[:, ::-1][:, :m]
        return self

    def encode(self, Y):
        """Codes (n×M) of label sets Y (n×K)."""
        check_is_fitted(self)
        return (Y - self.mean_) / self.scale_ @ self.directions_

    def decode(self, codes):
        """Scores (n×K) of predicted codes (n×M)."""
        check_is_fitted(self)
        return codes @ self.directions_.T * self.scale_ + self.mean_
