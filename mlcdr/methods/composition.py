"""The estimator that puts a feature space, a label space (or both in one, a dual space), a learner and a threshold
together.

    x ─ feature space ─▶ x' ─ learner ─▶ code ─ label space (decode) ─▶ scores ─ threshold ─▶ label set

All parts but the learner are optional. A part is fitted from `Moments` if it can be (it has `fit_moments`); any other
gets the rows, so that a scikit-learn transformer, regressor or multi-label classifier can stand in each place. Training
rows without labels come with the moments (`Moments.unlabelled`): a part with `uses_unlabelled = True` learns from them,
any other does not get them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods import contracts
from mlcdr.methods.chains.binary_relevance import of_single_labels
from mlcdr.methods.constraints import learned
from mlcdr.methods.contracts import (
    LabelSpace,
    Learner,
    as_dense,
    has_decision_function,
    has_probabilities,
    transform,
    transform_moments,
)
from mlcdr.methods.foreign import adapted, class_of, is_of_unknown_kind
from mlcdr.methods.label_space.identity import Identity
from mlcdr.methods.label_space.linear import LeadingScores, LinearLabelSpace
from mlcdr.methods.learners.linear import LinearLearner
from mlcdr.methods.multilabel import LabelSetClassifier
from mlcdr.methods.parts import Parts
from mlcdr.methods.returned import ReturnedWrong, check_label_sets, check_matrix
from mlcdr.methods.shared_steps import SharedSteps
from mlcdr.methods.thresholds import Fixed, Round
from mlcdr.numerics.entry import as_texts, checked
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]
_NEVER = 1e-12  # the mean of a label without positives, where sums were added up


def _is_probabilistic(whole: ComposedClassifier) -> bool:
    coded = whole.label_space is not None or whole.dual_space is not None
    return not coded and is_classifier(adapted(whole.learner)) and has_probabilities(whole.learner)


class ComposedClassifier(Parts, LabelSetClassifier):
    """A multi-label classifier made of parts.

    A label that is the same in all training rows is no code's business: its decoded score is that value exactly (not
    the value and some rounding, by which such labels would be ranked among each other), unless the label space has a
    rule of its own for it (`decodes_constants`).

    Attributes
    ----------
    feature_steps_, label_space_, learner_, threshold_ : fitted parts
        A dual space is the last of the feature steps and the label space.
    n_labels_ : int
        Number of labels K.
    """

    feature_steps_: list[Any] = learned()
    label_space_: Any = learned()
    _training: tuple[Array, NDArray[Any]] | None = learned()
    _folded: tuple[Array, Array] | None = learned()
    _thresholds: dict[int | None, Any] = learned()
    _constant: NDArray[np.intp] = learned()  # the labels that are the same in all training rows
    _constant_values: Array = learned()
    _leading: float | int | None = learned()
    _decided: Any = learned()

    hands_on_unlabelled: ClassVar[bool] = True

    def _checked(self, X: Any, reset: bool = True) -> Any:
        """Rows as the first part takes them: texts, or numbers, with or without missing values."""
        first = self.first_part
        if contracts.takes_texts(first):
            return as_texts(X)
        return checked(self, X, reset=reset, ensure_all_finite="allow-nan" if contracts.takes_gaps(first) else True)

    def fit_moments(self, moments: Moments, own_parts: bool = False, shared: SharedSteps | None = None) -> Self:
        """Fit from the moments of a training set of label sets (which must still have their rows if a part needs them).

        `own_parts`: the parts were made for this fit alone, so they are fitted themselves, not clones of them.
        `shared`: the feature steps that other fits to the same moments have fitted.
        """
        prepared = (lambda part: part) if own_parts else (lambda part: clone(adapted(part)))
        self._begin(moments)
        steps = [prepared(step) for step in self._steps()]
        self.feature_steps_, moments = (shared or SharedSteps()).fit(steps, moments)
        self.learner_ = prepared(self.learner)
        if self.label_space is None and self.dual_space is None:
            self.learner_ = of_single_labels(self.learner_)
        contracts.check_features(self.dual_space or self.learner_, contracts.kind_of_features(moments))
        if self.dual_space is not None and self.label_space is not None:
            raise ValueError("a dual space reduces the labels itself: leave `label_space` out")
        if is_classifier(self.learner_):
            if self.label_space is not None or self.dual_space is not None:
                raise ValueError(
                    f"{type(self.learner_).__name__} fits label sets, not codes: "
                    f"it cannot follow a label space; take a regressor"
                )
            self.label_space_ = None
            contracts.fit(self.learner_, moments)
            return self._with_threshold(moments)
        unreduced = moments
        if self.dual_space is not None:
            self.label_space_ = contracts.fit(prepared(self.dual_space), moments)
            moments = transform_moments(self.label_space_, moments)
            self.feature_steps_.append(self.label_space_)
        else:
            unknown = self.label_space is None and is_of_unknown_kind(self.learner_)
            own = Identity("zero_one" if unknown else "centred")  # type: ignore[arg-type]  # it has no `n_components`
            self.label_space_ = own if self.label_space is None else prepared(self.label_space)
            contracts.fit_label_space(self.label_space_, self.learner_, moments)
            if unknown:  # whatever it predicts of label sets, sets or scores, is parted at ½
                contracts.fit_label_sets(self.learner_, moments)
                return self._with_threshold(moments)
        contracts.fit_codes(self.learner_, self.label_space_, moments)
        if isinstance(self.label_space_, LabelSpace) and _is_linear(self.learner_):
            weights = self.label_space_.unreduced(self.learner_.coef_.T)
            if weights is not None:  # no row needs to be reduced, neither here nor in `output`
                self._folded = weights, self.learner_.intercept_
        return self._with_threshold(moments if self._folded is None else unreduced)

    def _begin(self, moments: Moments) -> None:
        self.n_features_in_ = moments.n_features
        self.n_labels_ = moments.n_labels
        self._constant = np.flatnonzero((moments.mean_y < _NEVER) | (moments.mean_y > 1 - _NEVER))
        self._constant_values = moments.mean_y[self._constant].round()
        self._keep_form(np.array([0, 1], dtype=np.uint8), False, moments.n_labels)
        self.feature_steps_, self._folded = [], None
        self._leading, self._decided = None, None

    def output_left_out(self, moments: Moments) -> Array | None:
        """The `output` for the rows `without` which `moments` was made; the learner need not be fitted for it.

        Fits the other parts (themselves, not clones). None where this is not possible; then use `fit_moments`.
        """
        learner, space = self.learner, Identity() if self.label_space is None else self.label_space
        learned = contracts.is_fitted_to_scores(self.threshold)
        if self._steps() or self.dual_space is not None or learned or not isinstance(space, LinearLabelSpace):
            return None
        if not contracts.predicts_left_out(learner) or learner.predict_left_out(moments) is None:
            return None
        self._begin(moments)
        self._training, self._thresholds = None, {}
        self.learner_, self.label_space_ = learner, space
        contracts.fit_label_space(space, learner, moments)
        self.threshold_ = self.threshold_of()
        return learner.predict_left_out(space.encode_moments(moments))

    def _with_threshold(self, moments: Moments) -> Self:
        """Fit the threshold, if it is one to be fitted, on the learner's predictions for the training rows."""
        self._training, self._thresholds = None, {}
        if contracts.is_fitted_to_scores(self.threshold):
            X, Y = moments.rows()
            self._training = self._output(contracts.as_taken(X)), as_dense(Y)
        self.threshold_ = self.threshold_of()
        return self

    def threshold_of(self, n_components: float | int | None = None) -> Any:
        """The threshold (None: a classifier's own decision) for scores decoded from `n_components` of the dimensions.

        A threshold with a `fit` is fitted again for each number of dimensions, since the scores differ. The codes of
        the training instances, and the fitted thresholds, are kept.
        """
        if self._decided is not None:
            return self._decided
        if self._training is None:
            return self._midway() if self.threshold is None and self.label_space_ is not None else self.threshold
        output, Y = self._training
        size = None
        if self.label_space_ is not None:
            size = output.shape[1] if n_components is None else self.label_space_.size_of(n_components)
        if size not in self._thresholds:
            scores = output if size is None else self._decode(output[:, :size])
            self._thresholds[size] = clone(self.threshold).fit(scores, Y)
        return self._thresholds[size]

    def _midway(self) -> Any:
        """The default threshold: half-way between the scores of absence and presence."""
        boundary = contracts.score_boundary(self.label_space_)
        return Round() if boundary == 0.5 else Fixed(boundary)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label sets (n×K) of X (n×d), in the values and the shape that y had."""
        check_is_fitted(self, "learner_")
        X = self._checked(X, reset=False)
        return self._in_form_of_y(self.labels_of(self.output(X), self._leading))

    def decision_function(self, X: Any) -> Array:
        """How far each label's score lies above the threshold (n×K, or n where y was a vector), for X (n×d).

        Positive where the label is predicted (except for a label that a threshold predicts as its fallback).
        """
        check_is_fitted(self, "learner_")
        X = self._checked(X, reset=False)
        if self.label_space_ is None:
            scores = _scores(self.learner_, self._transform(X))
            if self.threshold is not None:
                margins = self.threshold_.margin(scores)
            else:  # probabilities are decided at ½
                margins = scores if has_decision_function(self.learner_) else scores - 0.5
        else:
            output = self.output(X)
            if self._leading is not None:
                output = output[:, : self.label_space_.size_of(self._leading)]
            margins = self.threshold_.margin(self._decode(output))
        return margins.ravel() if self._is_vector else margins

    @available_if(_is_probabilistic)
    def predict_proba(self, X: Any) -> Array:
        """The probability of each label (n×K; n×2, absent and present, where y was a vector), if the learner has one.

        No threshold changes it.
        """
        check_is_fitted(self, "learner_")
        present = self.probabilities(self._checked(X, reset=False))
        assert present is not None
        return np.hstack([1 - present, present]) if self._is_vector else present

    def probabilities(self, X: Any) -> Array | None:
        """The probabilities (n×K) of the labels of checked X (n×d); None where the learner gives none."""
        if self.label_space_ is not None or not has_probabilities(self.learner_):
            return None
        return _probabilities(self.learner_, self._transform(X))

    def scores(self, X: Any, output: Array, n_components: float | int | None = None) -> Array | None:
        """Scores (n×K) of checked X (n×d), whose `output` is given: see `Decoding.scores`."""
        return Decoding(self, output).scores(X, n_components)

    def own_scores(self, X: Any) -> Array | None:
        """The scores (n×K) that a classifier without label space gives of checked X (n×d); None if it gives none."""
        return _scores(self.learner_, self._transform(X)) if self.has_scores else None

    @property
    def has_scores(self) -> bool:
        """Whether there is a `decision_function`: a classifier's own, or that of codes that are decoded."""
        check_is_fitted(self, "learner_")
        own = has_decision_function(self.learner_) or has_probabilities(self.learner_)
        return own or self.label_space_ is not None

    def settled(self, n_components: float | int | None = None) -> ComposedClassifier:
        """The final fitted classifier, which predicts from the leading dimensions of the code (see `labels_of`).

        The predictions for the training rows, needed for the thresholds of other numbers of dimensions, are dropped.
        """
        check_is_fitted(self, "learner_")
        result = copy(self)
        result._leading = n_components
        result.threshold_ = result._decided = self.threshold_of(n_components)
        result._training, result._thresholds = None, {}
        return result

    def output(self, X: Any) -> Array:
        """The learner's predictions for checked X (n×d): codes r(x) (n×M), or a classifier's scores or label sets."""
        return self._output(self._transform(X))

    def _output(self, X: Any) -> Array:
        """`output` of features already transformed by the feature space (except by a dual space folded into the
        weights).
        """
        if self._folded is not None:
            return X @ self._folded[0] + self._folded[1]
        if self.label_space_ is None and self.threshold is not None:
            return _scores(self.learner_, X)
        if isinstance(self.learner_, Learner):
            return self.learner_.predict_valid(X)
        predicted = as_dense(self.learner_.predict(X))
        predicted = predicted[:, None] if predicted.ndim == 1 else predicted
        self._check_output(predicted, X.shape[0])
        return predicted

    def _check_output(self, predicted: NDArray[Any], n: int) -> None:
        """Refuse predictions of a learner of another package that have the wrong shape or values."""
        name = class_of(self.learner_).__name__
        width = self.n_labels_ if self.label_space_ is None else self.label_space_.encode(_no_labels(self)).shape[1]
        if predicted.shape != (n, width):
            raise ReturnedWrong(f"{name}.predict returned shape {predicted.shape} where {(n, width)} was expected")
        wrong = ~np.isfinite(predicted) if self.label_space_ is not None else ~np.isin(predicted, (0, 1))
        if wrong.any():
            kind = "a number" if self.label_space_ is not None else "0 or 1"
            raise ReturnedWrong(f"{name}.predict returned {predicted[wrong][0]} (and more) where {kind} was expected")

    def labels_of(self, output: Array, n_components: float | int | None = None) -> NDArray[np.uint8]:
        """Label sets (n×K of {0, 1}) of the learner's `output`, from this one fit: see `Decoding.labels`."""
        return Decoding(self, output).labels(n_components)

    def _decode(self, codes: Array) -> Array:
        """The scores (n×K) that codes (n×m) decode to."""
        return self.completed(self.label_space_.decode(codes), len(codes))

    def completed(self, scores: Any, n: int) -> Array:
        """The scores (n×K) that the label space has decoded, checked, and with those of labels that do not vary."""
        space = self.label_space_
        found: Array = check_matrix(space, "decode", scores, n, self.n_labels_, "scores")
        if not len(self._constant) or contracts.decodes_constants(space):
            return found
        found = np.array(found)
        absence = 2 * contracts.score_boundary(space) - 1
        found[:, self._constant] = np.where(self._constant_values > 0, 1.0, absence)
        return found

    def _transform(self, X: Any) -> Any:
        steps = self.feature_steps_ if self._folded is None else self.feature_steps_[:-1]
        for step, following in zip(steps, [*steps[1:], self.learner_], strict=bool(steps)):
            X = transform(step, X)
            if contracts.takes_gaps(step) and contracts.has_gaps(X):
                contracts.check_features(following, "gaps")
        return contracts.as_taken(X)


class Decoding:
    """What the learner's output for some rows decodes to, at one size of the code after the other, from one fit.

    Sizes in ascending order cost least. The latest is kept, since label sets and scores are often both asked for.

    Parameters
    ----------
    classifier : ComposedClassifier
        Fitted.
    output : array of shape (n, M)
        Its `output`: codes; or, without a label space, a classifier's scores or label sets.
    """

    def __init__(self, classifier: ComposedClassifier, output: Array):
        self._classifier, self._output = classifier, output
        self._latest: tuple[int, Array] | None = None
        space = classifier.label_space_
        if isinstance(space, LinearLabelSpace) and type(space).decode is LinearLabelSpace.decode:
            self._decode: Callable[[int], Any] = LeadingScores(output, space.directions_, space.mean_).of
        else:
            self._decode = lambda size: space.decode(output[:, :size])

    def labels(self, n_components: float | int | None = None) -> NDArray[np.uint8]:
        """Label sets (n×K of {0, 1}).

        Parameters
        ----------
        n_components : int, float or None
            Use only the leading dimensions of the code: a value of the label space's `n_components` no larger than
            the one fitted (for label spaces with nested directions); None uses all.

        Raises
        ------
        ValueError
            When `n_components` means more dimensions than were fitted.
        """
        classifier = self._classifier
        if classifier.label_space_ is None and classifier.threshold_ is None:
            return self._output.astype(np.uint8)
        return _apply(classifier.threshold_of(n_components), self._decoded(n_components))

    def scores(self, X: Any, n_components: float | int | None = None) -> Array | None:
        """Scores (n×K), before any threshold; None where a classifier gives none. Parameters and errors as `labels`.

        X, the checked rows (n×d), are predicted once more where a classifier decides itself.
        """
        classifier = self._classifier
        if classifier.label_space_ is None and classifier.threshold_ is None:
            return classifier.own_scores(X)
        return self._decoded(n_components)

    def _decoded(self, n_components: float | int | None) -> Array:
        space = self._classifier.label_space_
        if space is None:
            return self._output
        size = self._output.shape[1] if n_components is None else space.size_of(n_components)
        if self._latest is None or self._latest[0] != size:
            scores = self._classifier.completed(self._decode(size), len(self._output))
            self._latest = size, np.asarray(scores)
        return self._latest[1]


def _apply(threshold: Any, scores: Array) -> NDArray[Any]:
    """The label sets (n×K of {0, 1}) that a threshold makes of scores (n×K)."""
    labels: NDArray[Any] = check_label_sets(threshold, "apply", threshold.apply(scores), scores.shape)
    return labels


def _is_linear(learner: Any) -> bool:
    """Whether a fitted learner predicts X coef_ᵀ + intercept_, and nothing else."""
    return isinstance(learner, LinearLearner) and type(learner).predict_valid is LinearLearner.predict_valid


def _no_labels(classifier: ComposedClassifier) -> NDArray[np.uint8]:
    """The empty label set, as a 1×K matrix."""
    return np.zeros((1, classifier.n_labels_), dtype=np.uint8)


def _scores(classifier: Any, X: Any) -> Array:
    """A classifier's scores (n×K): `decision_function`, or the probability of each label being 1."""
    if has_decision_function(classifier):
        return np.asarray(classifier.decision_function(X), dtype=np.float64)
    if has_probabilities(classifier):
        return _probabilities(classifier, X)
    raise ValueError(f"{type(classifier).__name__} gives no scores for a threshold; leave `threshold` out")


def _probabilities(classifier: Any, X: Any) -> Array:
    """A classifier's probability of each label being 1 (n×K)."""
    probabilities = classifier.predict_proba(X)
    if isinstance(probabilities, list):  # scikit-learn: one n×2 array a label, n×1 where only one class was seen
        columns = [
            p[:, -1] if p.shape[1] == 2 else np.full(len(p), float(seen[0]))
            for p, seen in zip(probabilities, classifier.classes_, strict=True)
        ]
        return np.column_stack(columns)
    return np.asarray(probabilities, dtype=np.float64)
