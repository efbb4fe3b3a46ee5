"""Classes of a user's own that derive from nothing, named by dotted path in the tests of configs."""

import random

import numpy as np


class Sets:
    """Label sets by least squares, as a program writes it that has never seen scikit-learn."""

    def __init__(self, threshold=0.5, inner=None):
        self.threshold = threshold
        self.inner = inner

    def fit(self, X, Y):
        self.weights = np.linalg.lstsq(np.c_[X, np.ones(len(X))], Y, rcond=None)[0]

    def predict(self, X):
        return (np.c_[X, np.ones(len(X))] @ self.weights > self.threshold).astype(int)


class Strict(Sets):
    """One that takes label sets of whole numbers and nothing else."""

    def fit(self, X, Y):
        assert (type(X), type(Y), Y.dtype) == (np.ndarray, np.ndarray, np.uint8)
        super().fit(X, Y)


class Probable(Sets):
    """One with probabilities."""

    def predict_proba(self, X):
        return np.clip(np.c_[X, np.ones(len(X))] @ self.weights, 0, 1)


class Drawn:
    """One that draws from the generators of the process, as scikit-multilearn's ensembles do."""

    def __init__(self, share=0.5):
        self.share = share

    def fit(self, X, Y):
        self.drawn = [random.random(), *np.random.rand(Y.shape[1])]  # noqa: NPY002

    def predict(self, X):
        return np.tile(np.array(self.drawn[1:]) > self.share, (len(X), 1)).astype(int)


class Halves:
    """A feature step."""

    def __init__(self, by=2.0):
        self.by = by

    def fit(self, X, Y):
        return self

    def transform(self, X):
        return X / self.by


class Pairs:
    """A label space: the first labels alone."""

    def __init__(self, n=2):
        self.n = n

    def fit(self, X, Y):
        self.width = Y.shape[1]

    def encode(self, Y):
        return np.asarray(Y[:, : self.n], dtype=float)

    def decode(self, codes):
        return np.c_[codes, np.zeros((len(codes), self.width - codes.shape[1]))]


class FirstColumns:
    """A feature step with a parameter that must be given."""

    def __init__(self, number):
        self.number = number

    def fit(self, X, Y=None):
        return self

    def transform(self, X):
        return X[:, : self.number]
