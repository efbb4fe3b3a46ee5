"""Components of a user's own, named by dotted path in the tests of configs."""

from sklearn.base import BaseEstimator, TransformerMixin


class Step(BaseEstimator):
    _parameter_constraints = {"size": [int]}  # noqa: RUF012

    def __init__(self, size=1):
        self.size = size


class Chain(BaseEstimator):
    _parameter_constraints = {}  # noqa: RUF012
    component_parameters = {"estimator": "learner"}  # noqa: RUF012

    def __init__(self, estimator="ridge"):
        self.estimator = estimator

    def predict(self, X):
        raise NotImplementedError


class Needy(BaseEstimator):
    def __init__(self, amount):
        if isinstance(amount, str) or amount <= 0:
            raise ValueError("amount must be positive")
        self.amount = amount

    def predict(self, X):
        raise NotImplementedError


class HalfOfAll(TransformerMixin, BaseEstimator):
    """A feature space that keeps four columns and says that they hold half of all eigenvalues."""

    n_components_ = 4
    eigenvalue_share_ = 0.5

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, :4]
