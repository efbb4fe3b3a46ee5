"""The bases of the multi-label classifiers: the checks of what they are fitted to, and the form of predictions.

Label powersets, chains, neighbours, ensembles and local models share them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.bases import ClassifierMixin
from mlcdr.methods.constraints import ESTIMATOR, learned, parameter
from mlcdr.methods.contracts import Part, as_dense, declared, has_decision_function, has_parameters
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.numerics.entry import as_binary, check_index, checked
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]


class LabelSetClassifier(ClassifierMixin, Part):
    """Base of the estimators that are fitted to label sets and predict label sets; a subclass has `fit_moments`.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The numbers of the labels, 0 to K − 1, as scikit-learn's MLPClassifier has them; where y was a vector, its two
        values (2,): label absent, label present.
    n_features_in_ : int
        Number of features d.
    """

    classes_: NDArray[Any] = learned()
    _values: NDArray[Any] = learned()  # of y: label absent, label present
    _is_vector: bool = learned()

    def fit(self, X: Any, y: Any, X_unlabelled: Any = None) -> Self:
        """Fit from features X (n×d, dense or CSR) and label sets y (n×K, dense or CSR; or n, for one label).

        y is an array, a sparse matrix or a DataFrame, of 0 and 1, -1 and 1, booleans, or words such as yes and no; or
        the names of each row's labels, whose columns are in the order of their names. A vector may hold any two values,
        of which the larger means that the label is present. `X_unlabelled` (u×d): rows without labels, for methods that
        use them (`uses_unlabelled`); others refuse them.

        Raises
        ------
        ValueError
            When the shapes disagree, a feature is not finite, y is no label sets, or a parameter is wrong.
        """
        self._validate_params()
        check_index(X, y)
        X = self._checked(X)
        Y, values, is_vector = as_binary(y, X.shape[0])
        self.fit_moments(self._training_set(X, Y, X_unlabelled))
        self._keep_form(values, is_vector, Y.shape[1])
        return self

    def _checked(self, X: Any, reset: bool = True) -> Any:
        """The given rows (n×d), checked: those of a training set, which set the number of features (`reset`), or
        others.
        """
        return checked(self, X, reset=reset)

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from a training set of label sets {0, 1}, whose form it keeps (`_keep_form`)."""
        raise NotImplementedError

    def _keep_form(self, values: Any, is_vector: bool, n_labels: int) -> None:
        """Keep the form of y, which predictions have, too: its two values, and whether it was a vector."""
        self._values, self._is_vector = np.asarray(values), is_vector
        self.classes_ = self._values if is_vector else np.arange(n_labels)

    def _in_form_of_y(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Label sets (n×K of {0, 1} or bool) in the values and the shape that y had."""
        values = self._values.take(labels.astype(np.intp, copy=False), mode="clip")
        return values.ravel() if self._is_vector else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


class MultilabelClassifier(LabelSetClassifier):
    """Base of the multi-label classifiers: a method defines what is fitted (`_fit_rows`) and the scores (`_scores`).

    A method that can be fitted from sums has `fit_moments` of its own instead of `_fit_rows`; one whose label sets are
    not simply the labels with a positive score has `_labels`, too, or, where it finds both at once, `_answer` alone.
    """

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from a training set of label sets {0, 1}, which must have its rows."""
        self._begin(moments)
        X, Y = moments.rows()
        self._fit_rows(X, as_dense(Y))
        return self

    def _begin(self, moments: Moments) -> None:
        """Keep the shape of the training set.

        Raises
        ------
        ValueError
            When there are rows without labels, and a part would learn from them but does not get them from this method.
        """
        if not self.hands_on_unlabelled and not _learns(self) and moments.unlabelled is not None:
            nested = [p for part in self._handed_none().values() for p in (part if isinstance(part, list) else [part])]
            if learning := [type(part).__name__ for part in nested if _learns(part)]:
                raise ValueError(
                    f"{learning[0]} learns from rows without labels, and {type(self).__name__} hands it none: use it "
                    f"alone or in an instance space (clmlc: with `meta_labels: null`), or label all rows"
                )
        self.n_features_in_ = moments.n_features
        self._keep_form(np.array([0, 1], dtype=np.uint8), False, moments.n_labels)

    def _handed_none(self) -> dict[str, Any]:
        """The parts (and their parts), by the names of the parameters, that do not get the rows without labels."""
        return self.get_params()

    def _fit_rows(self, X: Any, Y: Array) -> None:
        """Fit from checked rows X (n×d, dense or CSR) and Y (n×K dense, of {0, 1}): the method itself."""
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        """Scores (n×K) of checked rows X (n×d), positive where a label is predicted: the method itself."""
        if type(self)._answer is MultilabelClassifier._answer:
            raise NotImplementedError
        return self._answer(X)[0]

    def _labels(self, X: Any) -> NDArray[Any]:
        """Label sets (n×K of {0, 1} or bool) of checked rows X (n×d)."""
        return self._answer(X)[1] > 0

    def _answer(self, X: Any) -> tuple[Array, NDArray[Any]]:
        """Scores and label sets (n×K each) of checked rows X (n×d)."""
        scores = self._scores(X)
        return scores, scores > 0 if type(self)._labels is MultilabelClassifier._labels else self._labels(X)

    def decision_function(self, X: Any) -> Array:
        """Scores (n×K, or n where y was a vector) of X (n×d)."""
        check_is_fitted(self, "classes_")
        scores = self._scores(self._valid(X))
        return scores.ravel() if self._is_vector else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Label sets (n×K) of X (n×d), in the values and the shape that y had."""
        check_is_fitted(self, "classes_")
        return self._in_form_of_y(self._labels(self._valid(X)))

    def _valid(self, X: Any) -> Any:
        """New rows, checked."""
        return self._checked(X, reset=False)


class MetaClassifier(MultilabelClassifier):
    """Base of the multi-label classifiers that are made of clones of one estimator.

    Parameters
    ----------
    estimator : estimator or None
        A regressor, which decides at ½, or a classifier. None: least squares.
    """

    _default: ClassVar[type] = LeastSquares
    estimator: Any = parameter(None, ESTIMATOR, family="learner")

    def _own_estimator(self) -> Any:
        """The estimator, or the default."""
        return self._default() if self.estimator is None else self.estimator


def seeded(estimator: Any, rng: Any) -> Any:
    """The estimator with every `random_state` in it, set or not, drawn from `rng`, so that clones of one estimator
    differ.
    """
    if has_parameters(estimator):
        names = sorted(name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state")
        estimator.set_params(**{name: int(rng.randint(np.iinfo(np.int32).max)) for name in names})
    return estimator


def _learns(part: Any) -> bool:
    """Whether a part is an estimator that learns from rows without labels itself."""
    return not isinstance(part, type) and declared(part, "uses_unlabelled") is True


def with_part(part: Moments, rows: Any, chosen: Any = None) -> Moments:
    """The moments of a part of a training set with the rows (u×d, or None) without labels that are its own."""
    if rows is None:
        return part
    own = rows if chosen is None else rows[np.flatnonzero(chosen)]
    return part.with_unlabelled(own) if own.shape[0] else part


def answer(classifier: Any, X: Any, n_labels: int) -> tuple[Array, NDArray[np.bool_]]:
    """Scores and label sets (n×K) of checked rows X (n×d), by any fitted multi-label classifier.

    One without a `decision_function` has scores of ±½.
    """
    if isinstance(classifier, MultilabelClassifier):
        scores, predicted = classifier._answer(X)
        return scores, predicted > 0
    shape = (X.shape[0], n_labels)
    labels = np.reshape(as_dense(classifier.predict(X)), shape) > 0
    if has_decision_function(classifier):
        return np.reshape(np.asarray(classifier.decision_function(X), dtype=np.float64), shape), labels
    return np.where(labels, 0.5, -0.5), labels
