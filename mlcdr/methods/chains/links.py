"""What binary relevance and the chains share: links, which are models of one label each, and the estimator's contract.

A link's estimator is a regressor, which decides at ½, or a binary classifier (also a multi-label one, with a vector y).
If it can, it is fitted from the moments of the features and the labels it uses, which are blocks of those of [X, Y];
otherwise from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone, is_classifier
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import learned, parameter
from mlcdr.methods.contracts import (
    as_dense,
    certain_score,
    declared,
    fit_selector,
    has_decision_function,
    has_probabilities,
    log_probabilities,
    takes_moments,
)
from mlcdr.methods.learners.binary import CERTAIN, LinearBinaryClassifier, LogisticClassifier
from mlcdr.methods.learners.logistic_regression import LogisticRegression
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.methods.multilabel import Array, MetaClassifier, MultilabelClassifier
from mlcdr.numerics.moments import Moments, beside

Inputs = Sequence[Sequence[int]]
"""For each label the other labels that its model uses."""


def with_labels(moments: Moments, inputs: Sequence[int], targets: Sequence[int]) -> Moments:
    """The moments of the labels `targets`, with the labels `inputs` as features behind the others.

    They are blocks of S, C and T: nothing is summed again. The centred sums of an input that is constant on these rows
    are exactly 0, without rounding error.

    Raises
    ------
    ValueError
        When the features are uncentred, or the labels mapped.
    """
    if not moments.centred or moments.labels is not moments:
        raise ValueError("labels become features before the features are uncentred or the labels mapped")
    if not len(inputs):
        return moments.map_labels(np.zeros(moments.n_labels), np.eye(moments.n_labels)[:, list(targets)])
    i, t = np.asarray(inputs), np.asarray(targets)
    before = np.diag(moments.yy if moments.part_of is None else moments.part_of.yy)[i]
    live = (np.diag(moments.yy)[i] > 1e-14 * before).astype(np.float64)

    def inner() -> Array:
        of_inputs = live * moments.xy[:, i]
        return np.block([[moments.xx_lower, of_inputs], [of_inputs.T, moments.yy[np.ix_(i, i)] * np.outer(live, live)]])

    def rows() -> tuple[Any, Any]:
        X, Y = moments.rows()
        return beside(X, as_dense(Y[:, i])), Y[:, t]

    return Moments(
        moments.n,
        np.append(moments.mean_x, moments.mean_y[i]),
        moments.mean_y[t],
        inner,
        lambda: np.vstack([moments.xy[:, t], live[:, None] * moments.yy[np.ix_(i, t)]]),
        lambda: moments.yy[np.ix_(t, t)],
        rows if moments.has_rows else None,
    )


@dataclass(frozen=True)
class Link:
    """A fitted model of one label, that uses the features and some other labels.

    Attributes
    ----------
    model : estimator or None
        None where a classifier's label was the same in all training rows.
    constant : float
        Without a model, the score, `certain_score` of either sign. With a model, 0.
    columns : array of int, or None
        The features that it uses; None: all.
    """

    model: Any
    constant: float = 0.0
    columns: NDArray[np.intp] | None = None

    @classmethod
    def fitted(
        cls,
        estimator: Any,
        moments: Moments,
        label: int,
        inputs: Sequence[int] = (),
        columns: NDArray[np.intp] | None = None,
        near: Link | None = None,
    ) -> Link:
        """Fit a clone of `estimator` to one label, from the features (or some `columns` of them) and labels `inputs`.

        `near`: a link of the same label and features that uses no label, from which an iteration may start.
        """
        if columns is None:
            part = with_labels(moments, inputs, [label])
        else:
            X, Y = moments.rows()
            part = Moments.from_arrays(_beside(X[:, columns], as_dense(Y[:, list(inputs)])), Y[:, [label]])
        model = clone(estimator)
        if isinstance(model, LogisticRegression) and near is not None:
            return cls(model.fit_moments(part, near.model), 0.0, columns)
        if takes_moments(model) and not isinstance(model, MultilabelClassifier):
            return cls(model.fit_moments(part), 0.0, columns)
        X, y = part.rows()
        y = as_dense(y)[:, 0]
        if is_classifier(model) and y.min() == y.max():
            return cls.of_constant_label(estimator, y[0], columns)
        return cls(model.fit(X, y), 0.0, columns)

    @classmethod
    def of_constant_label(cls, estimator: Any, value: float, columns: NDArray[np.intp] | None = None) -> Link:
        """The link of a label that was `value` in all training rows."""
        score = certain_score(estimator)
        return cls(None, score if value else -score, columns)

    @classmethod
    def fitted_each(
        cls, estimator: Any, moments: Moments, selector: LocalSelector, labels: Sequence[int], inputs: Inputs
    ) -> list[Link]:
        """The links of some labels, each with its `inputs` by label; logistic regressions are all fitted at once."""
        if type(estimator) is LogisticRegression and type(selector) is LocalSelector and moments.unlabelled is None:
            X, Y = moments.rows()
            models = estimator.fit_each(X, as_dense(Y).astype(np.float64), inputs)
            return [cls(models[k]) for k in labels]
        return [cls.fitted(estimator, moments, k, inputs[k], selector.beside(k, inputs[k])) for k in labels]

    def score(self, X: Any, values: Array | None = None) -> Array:
        """Scores (n,) for features X (n×d) and the labels used (n×q): positive where the label is predicted.

        They are the estimator's decision function, or its log odds, or (a regressor) its prediction less ½.
        """
        if self.model is None:
            return np.full(X.shape[0], self.constant)
        seen = self._seen(X, values)
        if isinstance(self.model, LinearBinaryClassifier):
            return self.model.scores(seen)
        if has_decision_function(self.model):
            return np.asarray(self.model.decision_function(seen), dtype=np.float64)
        if has_probabilities(self.model):
            logs = log_probabilities(self.model, seen)
            return np.asarray(logs[:, 1] - logs[:, 0])
        return np.asarray(self.model.predict(seen), dtype=np.float64).reshape(X.shape[0]) - 0.5

    def log_odds(self, X: Any, values: Array | None = None) -> Array:
        """Log p(label) − log p(no label) (n,), within ±700; the estimator must have `predict_proba`."""
        if self.model is None:
            return np.full(X.shape[0], np.copysign(CERTAIN, self.constant))
        seen = self._seen(X, values)
        if isinstance(self.model, LogisticClassifier):
            return np.clip(self.model.scores(seen), -CERTAIN, CERTAIN)
        logs = log_probabilities(self.model, seen)
        return np.clip(logs[:, 1] - logs[:, 0], -CERTAIN, CERTAIN)

    def log_odds_at(self, X: Any, rows: NDArray[np.intp], values: Array) -> Array:
        """`log_odds` (m,) of m pairs of a row of X (n×d), by its number, and values of the labels used (m×q).

        Logistic regression uses each row of X once, whatever the number of pairs.
        """
        if isinstance(self.model, LogisticClassifier):
            on_labels = self.model.coef_[0, self.model.n_features_in_ - values.shape[1] :]
            alone = self.model.scores(self._seen(X, np.zeros((X.shape[0], values.shape[1]))))
            return np.clip(alone[rows] + values @ on_labels, -CERTAIN, CERTAIN)
        return self.log_odds(X[rows], values)

    def _seen(self, X: Any, values: Array | None) -> Any:
        return _beside(X if self.columns is None else X[:, self.columns], values)


def _beside(X: Any, values: Array | None) -> Any:
    """The features (n×d) and the labels used (n×q); where there is neither, a feature that is 0 throughout."""
    if values is not None and values.shape[1]:
        return beside(X, values)
    return X if X.shape[1] else np.zeros((X.shape[0], 1))


Of = Callable[[Link, Any, Array | None], Array]  # what is computed of a link: `Link.score` or `Link.log_odds`


def _is_probabilistic(classifier: LinkedClassifier) -> bool:
    return has_probabilities(classifier._own_estimator())


class LinkedClassifier(MetaClassifier):
    """Base of the multi-label classifiers that are made of links.

    Parameters
    ----------
    estimator : estimator or None
        The model of a label: a regressor (a prediction above ½ means that the label is present) or a binary classifier.
        None: least squares.
    features : estimator or None
        A selector of the features that a label's model uses (`mlcdr.methods.local_features`). None: all features.
    """

    _linear: Any = learned()  # the links as matrices, where they are linear and were found all at once
    parts_of_all_labels: ClassVar[tuple[str, ...]] = ("features",)
    features: Any = parameter(None, [HasMethods(["fit", "beside"]), None], last=True, family="local_features")

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set (with its rows, if the estimator needs them)."""
        self._begin(moments)
        self._fit_links(self._own_estimator(), moments)
        return self

    def _takes_unlabelled(self) -> bool:
        return bool(declared(self.features, "hands_on_unlabelled"))

    def _handed_none(self) -> dict[str, Any]:
        parts = super()._handed_none()
        if declared(parts.get("features"), "hands_on_unlabelled"):  # it gets the training set as it is
            return {name: part for name, part in parts.items() if not name.startswith("features__")}
        return parts

    def _selector(self, moments: Moments) -> LocalSelector:
        """The fitted selector of features; one that keeps all of them if `features` is None."""
        if self.features is None:
            return LocalSelector()
        fitted: LocalSelector = fit_selector(clone(self.features), moments)
        return fitted

    def _fit_links(self, estimator: Any, moments: Moments) -> None:
        """Fit the links: the method itself."""
        raise NotImplementedError

    def _walk(self, X: Any, of: Of) -> Array:
        """The value (n×K) of `of` for each link, on checked rows X (n×d) and the predictions of the labels that the
        link uses: the method itself.
        """
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        return self._walk(X, Link.score)

    @available_if(_is_probabilistic)
    def predict_proba(self, X: Any) -> Array:
        """The probability of each label (n×K; n×2, absent and present, where y was a vector), if the estimator has one.

        Where a link uses other labels, it is conditional on their predictions, unless the method differs.
        """
        check_is_fitted(self, "classes_")
        present = self._probabilities(self._valid(X))
        return np.hstack([1 - present, present]) if self._is_vector else present

    def _probabilities(self, X: Any) -> Array:
        """The probabilities (n×K) of checked rows X (n×d)."""
        return np.asarray(expit(self._walk(X, Link.log_odds)))
