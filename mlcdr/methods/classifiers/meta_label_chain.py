"""The learner `meta_label_chain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from mlcdr.methods.chains.binary_relevance import of_label_sets
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.chains.linear import LinearLinks, follow
from mlcdr.methods.chains.links import with_labels
from mlcdr.methods.constraints import COUNT, ESTIMATOR, SEED, learned, one_of, parameter
from mlcdr.methods.contracts import as_dense, fit_label_sets
from mlcdr.methods.multilabel import Array, MultilabelClassifier, answer, seeded
from mlcdr.numerics.meta_labels import VARIANTS, Index, label_affinity, row_groups, spectral_groups
from mlcdr.numerics.moments import Moments, beside


class MetaLabelChain(MultilabelClassifier):
    """A chain of meta-labels: groups of related labels, each with a classifier that uses the groups before it as
    features.

    Source: Sun 2017, section 8.2.2 and Algorithm 17: the local model of CLMLC.

    h_g(x, y of the groups 1, …, g − 1) for each group g of labels, trained on the true labels of the groups before.

    There are ⌈K/size⌉ groups (8.11): k-means on the rows of the leading eigenvectors of D^(-½)AD^(-½), where A is the
    mean of the labels' Jaccard index and exp(−‖μ_j − μ_k‖²), μ_j the mean of the rows with label j
    (`numerics.meta_labels`). For a new instance, the predicted labels of the groups before are used; the members of a
    group vote, and a label is predicted where at least half of them predict it. Cost: the classifier's, for each group
    and member; a classifier chain of linear links costs d²K + dK² + K³ a member, whatever the groups, beside one
    factorisation for the features (`mlcdr.methods.chains.linear`).

    Parameters
    ----------
    classifier : estimator or None
        A multi-label classifier for each group; binary relevance is made of a regressor or a binary classifier. None: a
        classifier chain in random order, of ridge regressions with α = 0.1 and a penalised intercept.
    meta_labels : {"spectral", "label_rows"}
        "spectral": as above; "label_rows": k-means on the columns of Y, as in the author's program.
    size : int
        How many labels are a group, on average (all, where there are fewer).
    n_members : int
        How many classifiers vote in a group.
    variant : {"text", "published_code"}
        The author's program has one member where there are fewer than six labels in all, or at most two in a group; and
        does not square the distance in A, takes eigenvalues by magnitude and leaves out the first eigenvector (where
        its spectral clustering is switched on).
    random_state : int, RandomState or None
        Seed of the groups' k-means and of the members.

    Attributes
    ----------
    groups_ : list of arrays of int
        The labels of each group, in the chain's order.
    members_ : list of lists of estimators, or None
        The members of each group. None: the links are linear, and kept as matrices.
    orders_ : list of lists of int, or None
        Each member's order of all labels if the links are linear; otherwise None.
    """

    members_: Any = learned()
    orders_: list[list[int]] | None = learned()

    classifier: Any = parameter(None, ESTIMATOR, family="learner")
    meta_labels: str = parameter("spectral", one_of("spectral", "label_rows"))
    size: int = parameter(5, COUNT, at_most="labels")
    n_members: int = parameter(2, COUNT)
    variant: str = parameter("text", one_of(*VARIANTS))
    random_state: Any = parameter(None, SEED)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set, which must have its rows."""
        self._begin(moments)
        rng = check_random_state(self.random_state)
        self.groups_ = self._groups(moments, rng)
        classifier = ClassifierChain.of_ridge() if self.classifier is None else of_label_sets(self.classifier)
        self._linear = self._linear_members(classifier, moments, rng)
        self.members_, self.orders_ = None, None
        if self._linear is None:
            self.members_ = self._fitted_members(classifier, moments, rng)
        else:
            self.orders_ = [member.order for member in self._linear]
        return self

    def _groups(self, moments: Moments, rng: Any) -> list[Index]:
        n_labels = moments.n_labels
        n = -(-n_labels // self.size)
        if n == 1 or (self.variant == "published_code" and n_labels < 6):
            return [np.arange(n_labels)]
        X, Y = moments.rows()
        Y = as_dense(Y).astype(np.float64)
        if self.meta_labels == "label_rows":
            return row_groups(Y.T, n, rng)
        return spectral_groups(
            label_affinity(X, Y, 0.5, variant=self.variant), n, rng, self.variant, skip=int(self.variant != "text")
        )

    def _n_members(self, group: Index) -> int:
        single = self.variant == "published_code" and (len(group) < 3 or sum(map(len, self.groups_)) < 6)
        return 1 if single else self.n_members

    def _linear_members(self, classifier: Any, moments: Moments, rng: Any) -> list[_Member] | None:
        """Each member's links of all labels at once, as of one long chain; None if the classifier is not a chain of
        linear links.
        """
        plain = type(classifier) is ClassifierChain and classifier.features is None
        if not plain or (classifier.order is not None and classifier.order != "random"):
            return None
        estimator = classifier._own_estimator()
        grouped = np.concatenate(self.groups_)
        found = []
        for _ in range(max(map(self._n_members, self.groups_))):
            within = [rng.permutation(len(g)) if classifier.order else np.arange(len(g)) for g in self.groups_]
            order = np.concatenate([g[own] for g, own in zip(self.groups_, within, strict=True)]).tolist()
            links = LinearLinks.chained(estimator, moments, order)
            if links is None:
                return None
            on_labels = np.asfortranarray(links.on_labels[np.ix_(grouped, grouped)])
            alone = LinearLinks(links.weights[:, grouped], on_labels, links.intercepts[grouped])
            found.append(_Member(alone, order, [own.tolist() for own in within]))
        return found

    def _fitted_members(self, classifier: Any, moments: Moments, rng: Any) -> list[list[Any]]:
        members: list[list[Any]] = []
        before: list[int] = []
        X, Y = moments.rows()
        for group in self.groups_:
            part = with_labels(moments, before, group.tolist()) if before else Moments.from_arrays(X, Y[:, group])
            members.append(
                [fit_label_sets(seeded(clone(classifier), rng), part) for _ in range(self._n_members(group))]
            )
            before += group.tolist()
        return members

    def _answer(self, X: Any) -> tuple[Array, Array]:
        """Scores, and label sets of {0, 1} (n×K)."""
        grouped = np.concatenate(self.groups_)
        scores = np.zeros((X.shape[0], len(grouped)))  # the labels group by group, until they are put in their places
        predicted = np.zeros_like(scores)
        alone = None if self._linear is None else [member.links.on_features(X) for member in self._linear]
        end = 0
        for i, group in enumerate(self.groups_):
            start, end = end, end + len(group)
            n_members = self._n_members(group)
            if self._linear is not None and alone is not None:
                members = zip(self._linear[:n_members], alone, strict=False)
                found = [member.chained(i, own[:, start:end], predicted[:, :start]) for member, own in members]
                votes = [each > 0 for each in found]
            else:
                extended = beside(X, predicted[:, :start]) if start else X
                answers = [answer(member, extended, len(group)) for member in self.members_[i]]
                found, votes = [each for each, _ in answers], [each for _, each in answers]
            # the median, positive where half of them are
            scores[:, start:end] = found[0] if len(found) == 1 else np.sort(found, axis=0)[len(found) // 2]
            predicted[:, start:end] = 2 * np.sum(votes, axis=0) >= len(votes)
        place = np.argsort(grouped)
        return scores[:, place], predicted[:, place]


@dataclass(frozen=True)
class _Member:
    """A member whose links are linear: one chain of all labels. The labels stand group by group.

    Attributes
    ----------
    links : LinearLinks
        Of all labels.
    order : list of int
        The labels in the chain's order.
    within : list of lists of int
        Each group's order.
    """

    links: LinearLinks
    order: list[int]
    within: list[list[int]]

    def chained(self, i: int, alone: Array, predicted: Array) -> Array:
        """Scores (n×|g|) of the i-th group, from those of the features alone, and the labels of the groups before."""
        start, size = predicted.shape[1], alone.shape[1]
        on_labels = self.links.on_labels
        scores = alone + predicted @ on_labels[:start, start : start + size] if start else alone
        if size == 1:
            return scores
        order = np.asarray(self.within[i])
        own = np.asfortranarray(on_labels[start + order[:, None], start + order])
        result = np.empty(scores.shape, order="F")
        result[:, order] = follow(scores[:, order], own)
        return result
