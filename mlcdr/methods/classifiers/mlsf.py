"""The learner `mlsf`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from mlcdr.methods.chains.binary_relevance import of_label_sets
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.constraints import COUNT, ESTIMATOR, NOT_NEGATIVE, POSITIVE, SEED, UNIT_INTERVAL, one_of, parameter
from mlcdr.methods.contracts import as_dense, fit_label_sets
from mlcdr.methods.learners.linear_svm import LinearSVM
from mlcdr.methods.multilabel import Array, MultilabelClassifier, answer, seeded, with_part
from mlcdr.numerics.admm import lasso
from mlcdr.numerics.meta_labels import VARIANTS, Index, label_affinity, spectral_groups
from mlcdr.numerics.moments import Moments


def check_groups(groups: Any, n_labels: int) -> None:
    """Raise a ValueError where the groups (disjoint lists of labels) do not hold `n_labels` labels."""
    if groups is not None and sum(map(len, groups)) != n_labels:
        raise ValueError(f"groups must hold each of the {n_labels} labels 0, 1, … once, found {groups}")


class MLSF(MultilabelClassifier):
    """Multi-label classification with meta-label-specific features (MLSF): groups of labels, each with features of its
    own.

    Source: Sun 2017, section 6.2 and Algorithms 9-11 (Sun, Kudo & Kimura 2016).

    h_g(x_F) for each meta-label g of ⌈K/min(size, K)⌉, F = {j : v_jg ≠ 0} the features that a LASSO selects for it.

    Meta-labels: k-means on the rows of the leading eigenvectors of D^(-½)AD^(-½), A = αA⁽ᴸ⁾ + (1 − α)A⁽ᴵ⁾ where that
    exceeds ε ((6.1)-(6.4), `numerics.meta_labels`); labels without affinity form an additional meta-label. Features: V
    (d×q) minimises ½‖XV − Z‖² + γ‖V‖₁ (6.5), by ADMM (`numerics.admm`). Z (n×q): a meta-label's label set, read as a
    binary number with the first label as its lowest digit, replaced by its rank among the numbers that occur, scaled to
    [0, 1]. (The text takes the number itself, which is of order 2^l, so that its scale would decide the LASSO.) A
    meta-label without a feature is predicted by its labels' frequencies. Cost: K²(n + d) + K³ for the meta-labels, the
    LASSO's, and a classifier's for each meta-label.

    Parameters
    ----------
    classifier : estimator or None
        A multi-label classifier for each meta-label; binary relevance is made of a regressor or a binary classifier.
        None: a classifier chain in random order, of linear support vector machines (`linear_svm`) with C = 1. (The
        author's program has LIBSVM's, `hinge_svm`.)
    size : int
        How many labels are a meta-label, on average (all, where there are fewer).
    alpha : float
        α in [0, 1], the label space's share of A.
    epsilon : float
        ε ≥ 0.
    gamma : float
        γ ≥ 0, the sparsity.
    rho : float
        ADMM's ρ > 0.
    max_iter, tol : int, float
        Of ADMM: the maximum number of iterations, and the tolerance for convergence.
    groups : list of lists of int, or None
        The labels of each meta-label, counted from 0, if known. None: learned.
    variant : {"text", "published_code"}
        The author's program does not square the distance in A⁽ᴵ⁾, takes eigenvalues by magnitude (so that negative ones
        slip in), never predicts a label without affinity, and always runs 100 iterations of ADMM.
    random_state : int, RandomState or None
        Seed of k-means and of the classifiers.

    Attributes
    ----------
    groups_ : list of arrays of int
        The labels of each meta-label.
    coefficients_ : array of shape (d, q)
        V.
    n_iter_ : int
        ADMM's iterations.
    models_ : list of q estimators
    """

    hands_on_unlabelled: ClassVar[bool] = True
    classifier: Any = parameter(None, ESTIMATOR, family="learner")
    size: int = parameter(10, COUNT, at_most="labels")
    alpha: float = parameter(0.8, UNIT_INTERVAL)
    epsilon: float = parameter(0.01, NOT_NEGATIVE)
    gamma: float = parameter(0.01, NOT_NEGATIVE)
    rho: float = parameter(1.0, POSITIVE)
    max_iter: int = parameter(1000, COUNT)
    tol: float = parameter(1e-4, NOT_NEGATIVE)
    groups: Sequence[Sequence[int]] | None = parameter(None, ["array-like", None], check=check_groups)
    variant: str = parameter("text", one_of(*VARIANTS))
    random_state: Any = parameter(None, SEED)

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.groups is not None and not _is_partition(self.groups):
            raise ValueError(f"groups must be lists that hold each of the labels 0, 1, … once, found {self.groups}")

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set, which must have its rows."""
        self._begin(moments)
        rng = check_random_state(self.random_state)
        X, Y = moments.rows()
        Y = as_dense(Y).astype(np.float64)
        self._n_labels = Y.shape[1]
        self.groups_ = self._groups(X, Y, rng)
        Z = np.column_stack([encoded(Y[:, group]) for group in self.groups_])
        gram = moments.uncentred().xx if X.shape[1] <= X.shape[0] else None
        limits = (self.max_iter, self.tol) if self.variant == "text" else (100, 0.0)
        self.coefficients_, self.n_iter_ = lasso(X, Z, self.gamma, self.rho, *limits, gram)
        prototype = (
            ClassifierChain(LinearSVM(), order="random") if self.classifier is None else of_label_sets(self.classifier)
        )
        self.models_ = []
        for group, v in zip(self.groups_, self.coefficients_.T, strict=True):
            part = Moments.from_arrays(_features(X, v), Y[:, group])
            loose = None if moments.unlabelled is None else _features(moments.unlabelled, v)
            self.models_.append(fit_label_sets(seeded(clone(prototype), rng), with_part(part, loose)))
        return self

    def _groups(self, X: Any, Y: Array, rng: Any) -> list[Index]:
        n_labels = Y.shape[1]
        if self.groups is not None:
            groups = [np.asarray(group, dtype=np.intp) for group in self.groups]
            check_groups(self.groups, n_labels)
            return groups
        n = -(-n_labels // min(self.size, n_labels))
        if n == 1:
            return [np.arange(n_labels)]
        A = label_affinity(X, Y, self.alpha, self.epsilon, self.variant)
        groups = spectral_groups(A, n, rng, self.variant)
        if self.variant == "published_code" and A.any():
            groups = [group for group in groups if A[group].any()]
        return groups

    def _answer(self, X: Any) -> tuple[Array, NDArray[np.bool_]]:
        """Scores and label sets (n×K)."""
        scores = np.full((X.shape[0], self._n_labels), -0.5)  # of labels that are in no meta-label
        labels = np.zeros(scores.shape, dtype=bool)
        for group, v, model in zip(self.groups_, self.coefficients_.T, self.models_, strict=True):
            scores[:, group], labels[:, group] = answer(model, _features(X, v), len(group))
        return scores, labels


def _is_partition(groups: Any) -> bool:
    """Whether `groups` are lists of whole numbers, none empty, that hold each of 0, 1, … once."""
    if not all(hasattr(group, "__len__") and len(group) and not isinstance(group, str) for group in groups):
        return False
    members = [member for group in groups for member in group]
    if not all(isinstance(member, Integral) and not isinstance(member, bool) for member in members):
        return False
    return len(members) > 0 and sorted(members) == list(range(len(members)))


def encoded(Y: Array) -> Array:
    """The z (n,) of label sets Y (n×l): the rank of each, as a binary number, among those that occur, divided by the
    largest rank.
    """
    _, rank = np.unique(Y[:, ::-1], axis=0, return_inverse=True)
    rank = rank.ravel().astype(np.float64)
    return rank / max(rank.max(), 1.0) if Y.shape[1] > 1 else Y[:, 0]


def _features(X: Any, coefficients: Array) -> Any:
    """The features with a non-zero coefficient; one constant feature if there are none."""
    kept = np.flatnonzero(coefficients)
    if len(kept):
        return X[:, kept]
    return sp.csr_array((X.shape[0], 1)) if sp.issparse(X) else np.zeros((X.shape[0], 1))
