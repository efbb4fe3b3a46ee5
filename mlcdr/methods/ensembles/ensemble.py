"""The learner `ensemble`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from mlcdr.methods.chains.binary_relevance import of_label_sets
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.constraints import COUNT, SEED, SIZE, one_of, parameter
from mlcdr.methods.contracts import as_dense, fit_label_sets
from mlcdr.methods.multilabel import Array, MetaClassifier, seeded
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

_SEEDS = np.iinfo(np.int32).max


class Ensemble(MetaClassifier):
    """Bagging ensemble of any multi-label classifier, by majority vote: ECC, EBCC and EOCC are ensembles of chains.

    Source: Read, Pfahringer, Holmes & Frank 2011, as in Sun 2017 (section 4.3.3).

    m members, each a clone of one classifier, fitted to some of the instances and some of the features.

    Both are drawn without replacement, separately for each member. A label is predicted where half of the members or
    more predict it; its score is the share of votes less ½ (and a quarter of a vote more, so that an even vote is above
    0). Every `random_state` in a member is drawn again, so that chains of random order are of different orders. Cost: m
    fits of the member, to fewer instances and features.

    The author's programs of the thesis swap the two shares (`variant: published_code`): 50 % of the instances and 75 %
    of the features with the values below.

    Parameters
    ----------
    estimator : estimator or None
        The member: any multi-label classifier; binary relevance is made of a regressor or a binary classifier. None: a
        classifier chain of random order.
    n_members : int
        m.
    instances : int, float or None
        Instances of a member: a number, a share p of the n instances (max(1, ⌊pn⌋)), or all.
    features : int, float or None
        Features of a member, likewise.
    variant : {"text", "published_code"}
        "published_code": the share of the instances is used for the features, and the other way round.
    random_state : int, RandomState instance or None
        Seed of the draws, and of the members.

    Attributes
    ----------
    members_ : list of m estimators
    features_ : list of m arrays of int
        The features that each was fitted to.
    """

    parts_of_all_labels: ClassVar[tuple[str, ...]] = ("estimator",)
    estimator_seed_name: ClassVar[str] = "of"
    n_members: int = parameter(10, COUNT)
    instances: float | int | None = parameter(0.75, SIZE)
    features: float | int | None = parameter(0.5, SIZE)
    variant: str = parameter("text", one_of("text", "published_code"))
    random_state: Any = parameter(None, SEED)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        by_column = sp.csc_array(X) if sp.issparse(X) else X
        self.members_, self.features_ = [], []
        for rows, columns, seeds in self._draws(*X.shape):
            member = ClassifierChain(order="random") if self.estimator is None else clone(of_label_sets(self.estimator))
            part = by_column[:, columns]
            part = sp.csr_array(part)[rows] if sp.issparse(part) else part[rows]
            member = fit_label_sets(seeded(member, seeds), Moments.from_arrays(part, Y[rows]))
            self.members_.append(member)
            self.features_.append(columns)

    def sizes_of_a_member(self, n: int, d: int) -> tuple[int, int]:
        """How many of n instances and of d features a member gets.

        Raises
        ------
        ValueError
            When a number is larger than what there is.
        """
        of_rows, of_columns = ("instances", "features") if self.variant == "text" else ("features", "instances")
        return n_kept(getattr(self, of_rows), n, name=of_rows), n_kept(getattr(self, of_columns), d, name=of_columns)

    def _draws(self, n: int, d: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], np.random.RandomState]]:
        """For each member its instances and features, ascending, and what its own seeds come from."""
        n_rows, n_columns = self.sizes_of_a_member(n, d)
        of_all = check_random_state(self.random_state)
        for _ in range(self.n_members):
            rng = np.random.RandomState(of_all.randint(_SEEDS))
            yield np.sort(rng.permutation(n)[:n_rows]), np.sort(rng.permutation(d)[:n_columns]), rng

    def _scores(self, X: Any) -> Array:
        by_column = sp.csc_array(X) if sp.issparse(X) else X
        votes: Any = 0.0
        for member, columns in zip(self.members_, self.features_, strict=True):
            part = by_column[:, columns]
            predicted = as_dense(member.predict(sp.csr_array(part) if sp.issparse(part) else part))
            votes = votes + (predicted > 0).reshape(X.shape[0], -1)
        return (votes + 0.25) / len(self.members_) - 0.5
