"""What each part of a method must have and what it may offer: one base class for each kind of part.

A class of this package, or of a user, derives from the base of its kind and overrides what differs; the base holds the
default and its meaning. Classes of other packages (such as scikit-learn) have none of these attributes. They enter a
method through the functions at the end of this file, the only place that tests which methods an object has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from mlcdr.methods.bases import BaseEstimator
from mlcdr.methods.constraints import dataclass_transform, learned, write_init
from mlcdr.methods.returned import check_matrix, check_shape
from mlcdr.numerics.entry import as_csr, as_label_matrix, check_index, checked
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments, UnsummedMoments

Array = NDArray[np.float64]
LEAST_LOG = -745.0
CERTAIN_SCORE = 1e300
"""A finite score, as metrics want it, beyond which there is none."""
Kind = Literal["numbers", "gaps", "texts"]
ChecksOfLabels = Mapping[str, Callable[[Any, int], Any]]


@dataclass_transform(field_specifiers=(learned,))
class Part(BaseEstimator):
    """Base of all parts: a scikit-learn estimator, with what `mlcdr check` uses of its parameters.

    Parts have `fit(X, Y)` on rows. One that needs only sums, or shares work with others, has `fit_moments(moments)` as
    well, which is then called instead; `moments.rows()` gives it the rows if it needs them after all.

    Attributes
    ----------
    component_parameters : mapping
        Parameters that are components themselves → the family of that component (`estimator` → `learner`).
    checks_of_labels : mapping
        Parameters whose validity depends on the number of labels K → a function of the value and K that raises
        ValueError where it is invalid.
    at_most : mapping
        Parameters that count "rows" of the training set or "labels", and mean all of them where there are fewer.
    sizes_of_labels : sequence
        Parameters that count dimensions of label sets, of which there are at most K.
    parts_of_all_labels : sequence
        Parameters that are components fitted to all labels, and to features that are all or some of those there are.
    uses_unlabelled : bool
        Whether it learns from training rows without labels, too: `moments.unlabelled`, or `fit(X, Y, X_unlabelled=…)`.
    hands_on_unlabelled : bool
        Whether the parts it is made of get those rows.
    runs_command : bool
        Whether it runs the command that its parameter `command` is, in the folder that `folder` is.
    decomposes_instances : bool
        Whether it is an instance space: it wraps what the other keys of a method make.
    estimator_seed_name : str
        What the parameter `estimator` was called when scores were first recorded: the seeds of what is in it are
        derived from that name, so that scores stay the same.
    """

    component_parameters: ClassVar[Mapping[str, str]] = {}
    checks_of_labels: ClassVar[ChecksOfLabels] = {}
    at_most: ClassVar[Mapping[str, str]] = {}
    sizes_of_labels: ClassVar[Sequence[str]] = ()
    parts_of_all_labels: ClassVar[Sequence[str]] = ()
    uses_unlabelled: ClassVar[bool] = False
    hands_on_unlabelled: ClassVar[bool] = False
    runs_command: ClassVar[bool] = False
    decomposes_instances: ClassVar[bool] = False
    estimator_seed_name: ClassVar[str] = "base"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _refuse_unused_methods(cls)
        write_init(cls)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """The parameters' names; scikit-learn reads them from the constructor at each call, which takes long."""
        return super()._get_param_names()

    @classmethod
    def warm_up(cls) -> None:
        """Load or compile machine code, so that the first fit's time does not include it; nothing to do by default."""

    def _training_set(self, X: Any, Y: Any, X_unlabelled: Any = None) -> Moments:
        """The moments of checked rows X (n×d) and Y (n×K), with rows without labels (u×d), which are checked here."""
        moments = Moments.from_arrays(X, Y)
        if X_unlabelled is None:
            return moments
        if not self._takes_unlabelled():
            raise ValueError(f"{type(self).__name__} does not learn from rows without labels: leave X_unlabelled out")
        if np.ndim(X_unlabelled) == 2 and np.shape(X_unlabelled)[1] != X.shape[1]:
            raise ValueError(f"X_unlabelled has {np.shape(X_unlabelled)[1]} features and X has {X.shape[1]}")
        return moments.with_unlabelled(checked(self, X_unlabelled, reset=False, ensure_min_samples=0))

    def _takes_unlabelled(self) -> bool:
        """Whether this part, or a part in it, may use rows without labels."""
        return self.uses_unlabelled or self.hands_on_unlabelled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_CALLED_INSTEAD = {
    "fit": "fit_moments",
    "transform": "transform_moments",
    "encode": "encode_moments",
    "predict": "predict_valid",
}
"""A method of a part → the one that is called in its place where a class has it."""


def _refuse_unused_methods(cls: type) -> None:
    """Refuse a user's class that overrides a method of ours which would not be called.

    Raises
    ------
    TypeError
    """
    if _is_ours(cls):
        return
    for own in _CALLED_INSTEAD.keys() & vars(cls).keys():
        called = _CALLED_INSTEAD[own]
        base = _defining(cls, called)
        if base is not None and _is_ours(base) and base is not Learner:
            raise TypeError(
                f"{cls.__name__}.{own} would not be called, but {called} of {base.__name__}: override that, "
                "or derive from a contract (LabelSpace, Learner …)"
            )


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("mlcdr.")


def _defining(cls: type, name: str) -> type | None:
    """The class that an attribute of a class comes from."""
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def predicts_left_out(learner: Any) -> bool:
    """Whether a learner's `predict_left_out` is meant for it: a user's class may override what its base relies on."""
    if not isinstance(learner, Learner):
        return False
    cls = type(learner)
    return _is_ours(cls) or _defining(cls, "predict_left_out") is cls


class FeatureStep(Part):
    """A step of the feature space: `fit` or `fit_moments`, `transform(X)` (n×d → n×m), and perhaps:

    `transform_moments(moments)`: the moments of the new features from those of the old ones, without the rows.
    """


class LabelSpace(Part):
    """A label-space reducer: `fit` or `fit_moments`, `encode(Y)` (n×K → n×M), `decode(codes)` (n×m → scores n×K).

    `encode` gets label sets as `fit` got them: whole numbers 0 and 1, dense, also on sparse data sets; with
    `fit_moments` in its place, CSR on sparse ones. There may be `encode_moments(moments)`: the moments of the codes
    from those of the labels; and `error_terms(Y, codes)`, the encoding and the prediction error for the first 1, …, M
    dimensions.

    Attributes
    ----------
    nested : bool
        Whether the first m dimensions of a code are the code of m dimensions, so that one fit serves all m ≤ M. Such a
        class has `size_of(n_components)`: how many of the fitted dimensions another value means.
    size_parameter : str
        The parameter that is the number of dimensions of the code.
    decodes_constants : bool
        Whether the scores of labels that are the same in all training rows are its own, not their value.
    """

    nested: ClassVar[bool] = False
    size_parameter: ClassVar[str] = "n_components"
    decodes_constants: ClassVar[bool] = False

    @property
    def score_boundary(self) -> float:
        """The score half-way between those of absence and presence."""
        return 0.5

    def fit(self, X: Any, y: Any, X_unlabelled: Any = None) -> Self:
        """Fit from features X (n×d, dense or CSR) and labels y (n×K, or n for one label), by `fit_moments`.

        `X_unlabelled` (u×d): rows without labels, for methods that use them (`uses_unlabelled`); others refuse them.
        """
        self._validate_params()
        check_index(X, y)
        X = checked(self, X)
        space: Any = self  # `fit_moments` is the method itself
        return space.fit_moments(self._training_set(X, as_label_matrix(y, X.shape[0]), X_unlabelled))

    def n_dimensions(self, n_components: float | int | None, n_labels: int) -> int:
        """How many dimensions of the code a value of the size parameter means."""
        return n_kept(n_components, n_labels)

    def largest(self, n_features: int, n_labels: int) -> int:
        """How many dimensions the code can have."""
        return n_labels

    @classmethod
    def misfit(cls, learner: Any, regression: Any = None) -> str | None:
        """Why the label space cannot be used with that learner; None if it can."""
        return None

    def fit_moments_for(self, learner: Any, moments: Moments) -> Any:
        """Fit, for codes that `learner` is going to fit."""
        fit(self, moments)
        return self

    def unreduced(self, weights: Array) -> Array | None:
        """For a dual space: the weights (d×q) on the features that are equivalent to `weights` (D×q) on the reduced
        ones.
        """
        return None

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array] | None:
        """The encoding and the prediction error (M,) of label sets Y (n×K) and predicted codes (n×M), if known."""
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags


class Learner(Part):
    """A multi-output regressor, which fits codes: `fit` or `fit_moments`, and `predict(X)` (n×d → n×M).

    One that is kernel ridge regression has `kernel_regression()`, which the kernel label spaces share with it.

    Attributes
    ----------
    independent_outputs : bool
        Whether each output is fitted as if it were alone, so that one fit serves every leading part of a nested code.
    one_label : bool
        Whether it fits one label only, and so has to stand in binary relevance or in a chain.
    """

    independent_outputs: ClassVar[bool] = False
    one_label: ClassVar[bool] = False

    def fit_alone(self, X: Any, z: Array) -> Any:
        """Fit to rows X (n×d, dense or CSR) and one output z (n,), without shared results kept for other outputs."""
        return fit(self, Moments.from_arrays(X, z[:, None]))

    def predict_valid(self, X: Any) -> Array:
        """`predict` of features that have been checked already."""
        predictions: Array = self.predict(X)  # type: ignore[attr-defined]  # every learner has it
        return predictions

    def predict_left_out(self, moments: Moments) -> Array | None:
        """Predictions (m×q) for the rows that `moments` was made `without`, in their order, without fitting this.

        None, the default, where a fit has to come first.
        """
        return None


class Threshold(Part):
    """From scores to label sets: `apply(scores)` gives the sets, `margin(scores)` the distance above the threshold.

    A learned threshold has `fit(scores, Y)`, with the scores (n×K) of the training rows and their label sets.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


# What follows is for parts of any origin: of this package, of a user, of scikit-learn.


def seed_name(part: Any, path: str) -> str:
    """The name from which the seed of a parameter in a part is derived: its path, with `Part.estimator_seed_name`."""
    head, _, rest = path.partition("__")
    if not rest:
        return head
    name = part.estimator_seed_name if isinstance(part, Part) and head == "estimator" else head
    return f"{name}__{seed_name(part.get_params()[head], rest)}"


def may_have_seed(part: Any) -> bool:
    """Whether a part, or an estimator among its parameters, may have a `random_state`.

    Parameters of our classes are read as attributes, since `get_params` takes far longer; in other packages a parameter
    may be a list of steps.
    """
    if not isinstance(part, Part):
        return hasattr(part, "get_params")
    return any(name == "random_state" or hasattr(value, "get_params") for name, value in vars(part).items())


def fitted_attribute(part: Any, name: str) -> Any:
    """A fitted attribute of a part (`n_components_`), a number or an array; None if the part does not have it."""
    value = getattr(part, name, None)
    return value if value is None or np.ndim(value) else float(value)


def warm_up(cls: type) -> None:
    """`Part.warm_up` of a class of any origin."""
    if hasattr(cls, "warm_up"):
        cls.warm_up()


def declared(part: Any, name: str, contract: type[Part] = Part) -> Any:
    """An attribute that a part (or its class) declares, or else the default of its contract."""
    return getattr(part, name, getattr(contract, name))


def fit(part: Any, moments: Moments, dtype: Any = None) -> Any:
    """Fit a part to a training set: from its moments, or else from its rows (and those without labels if it uses them).

    `dtype`: that of the labels, where the part gets rows; None: unchanged.

    Raises
    ------
    ValueError
        When it does not take features of this kind; and whatever its own `fit` raises.
    """
    if not isinstance(part, LabelSpace):  # which may look at the labels alone
        check_features(part, kind_of_features(moments))
    if takes_moments(part):
        return part.fit_moments(moments)
    X, Y = moments.rows()
    X = as_taken(X)
    Y = _labels_for(part, Y, dtype)
    if declared(part, "uses_unlabelled") and moments.unlabelled is not None:
        return part.fit(X, Y, X_unlabelled=moments.unlabelled)
    return part.fit(X, Y)


def _labels_for(part: Any, Y: Any, dtype: Any = None) -> Array:
    """Labels (n×K) as a part that is fitted to rows gets them: dense, and as large numbers where it is not ours."""
    Y = as_dense(Y)
    return _counted(part, Y) if dtype is None else Y.astype(dtype)


def _counted(part: Any, Y: Any) -> Any:
    """Labels (n×K, dense or CSR), for a part of a user or another package as whole numbers of 64 bits.

    It may count from -1, which unsigned numbers do not have, or sum products of labels, which overflow 8 bits.
    """
    return Y if _is_ours(type(part)) or Y.dtype.kind not in "iu" else Y.astype(np.int64)


def check_features(part: Any, kind: Kind) -> None:
    """Raise ValueError where a part does not take features of a kind."""
    if why := find_misfit(part, kind):
        raise ValueError(why)


def kind_of_features(moments: Moments) -> Kind:
    """The kind of features that a training set has."""
    labels = moments.labels  # codes of them come with the same features
    if not isinstance(labels, UnsummedMoments):
        return "numbers"
    return "texts" if labels.are_texts else "gaps"


def find_misfit(part: Any, kind: Kind) -> str:
    """Why a part cannot be fitted to features of a kind, by scikit-learn's tags; empty if it can."""
    name = type(part).__name__
    if takes_texts(part):
        return "" if kind == "texts" else f"{name} takes texts, and the features are numbers"
    if kind == "texts":
        return f"{name} takes no texts: the first step of the feature space must be a vectorizer (TfidfVectorizer)"
    if kind == "gaps" and not takes_gaps(part):
        return f"{name} takes no missing values: the first step of the feature space must fill them (SimpleImputer)"
    return ""


def takes_texts(part: Any) -> bool:
    """Whether a part is a vectorizer, by its tags: its X is n texts."""
    if isinstance(part, Part):  # none of this package is: no time is spent on tags, which are asked for often
        return False
    part = _first_step(part)
    tags = part.__sklearn_tags__().input_tags if has_tags(part) else None
    return tags is not None and tags.string and not tags.two_d_array


def takes_gaps(part: Any) -> bool:
    """Whether missing values (NaN) may be among a part's features, by its tags."""
    part = _first_step(part)
    return bool(has_tags(part) and part.__sklearn_tags__().input_tags.allow_nan)


def _first_step(part: Any) -> Any:
    """The step of a scikit-learn pipeline that receives the features; any other part itself."""
    steps = part.steps if any(base.__name__ == "Pipeline" for base in type(part).__mro__) else ()
    return _first_step(steps[0][1]) if steps else part


def has_gaps(X: Any) -> bool:
    """Whether values of X (n×d, dense or CSR) are missing (NaN)."""
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


def as_taken(X: Any) -> Any:
    """Rows as parts of other packages take them: texts (n×1) as a vector."""
    return X[:, 0] if X.dtype == object else X


def fit_label_sets(classifier: Any, moments: Moments) -> Any:
    """`fit` of a multi-label classifier, to label sets of whole numbers 0 and 1."""
    return fit(classifier, moments, np.uint8)


def fit_selector(selector: Any, moments: Moments) -> Any:
    """Fit a selector of features to a training set: from its moments, or else from its rows (sparse labels stay so)."""
    return selector.fit_moments(moments) if takes_moments(selector) else selector.fit(*moments.rows())


def takes_moments(part: Any) -> bool:
    """Whether a part is fitted from moments."""
    return hasattr(part, "fit_moments")


def fit_label_space(space: Any, learner: Any, moments: Moments) -> None:
    """Fit a label space to a training set; one of this package may depend on the learner of its codes."""
    if isinstance(space, LabelSpace):
        space.fit_moments_for(learner, moments)
    else:
        fit(space, moments)


def fit_codes(learner: Any, space: Any, moments: Moments) -> None:
    """Fit a learner to the codes that a fitted label space makes of a training set."""
    if hasattr(space, "encode_moments"):
        fit(learner, space.encode_moments(moments))
    else:
        X, Y = moments.rows()
        Y = _counted(space, Y) if takes_moments(space) else _labels_for(space, Y)
        learner.fit(as_taken(X), check_matrix(space, "encode", space.encode(Y), X.shape[0], None, "codes"))


def transform(step: Any, X: Any) -> Any:
    """The features (n×m) that a step makes of X (n×d); one feature of zeros if the step keeps none.

    So the parts that follow need no special case for n×0 matrices: they learn from the labels alone. A DataFrame
    (scikit-learn's `set_output`) becomes an array.
    """
    reduced = check_shape(step, "transform", step.transform(as_taken(X)), X.shape[0], None, "features")
    reduced = as_csr(reduced.to_numpy() if hasattr(reduced, "to_numpy") else reduced)
    return reduced if reduced.shape[1] else np.zeros((X.shape[0], 1))


def transform_moments(step: Any, moments: Moments) -> Moments:
    """The moments of what a fitted step makes of a training set, with the rows without labels made the same way."""
    if hasattr(step, "transform_moments"):
        reduced = step.transform_moments(moments)
        if not reduced.n_features:
            reduced = reduced.featureless()
    else:
        X, Y = moments.rows()
        reduced = Moments.from_arrays(transform(step, X), Y)
    if moments.unlabelled is None:
        return reduced
    return reduced.with_unlabelled(lambda: transform(step, moments.unlabelled))


def validate_parameters(part: Any) -> None:
    """Compare the parameters of a part with the constraints that it declares, if any.

    Raises
    ------
    ValueError
        (scikit-learn's `InvalidParameterError`) when a value is impossible; the message names the parameter.
    """
    if hasattr(part, "_parameter_constraints"):
        part._validate_params()


def is_fitted_to_scores(threshold: Any) -> bool:
    """Whether a threshold, or its class, learns from scores and label sets."""
    return hasattr(threshold, "fit")


def score_boundary(space: Any) -> float:
    """`LabelSpace.score_boundary` of a label space of any origin."""
    return float(getattr(space, "score_boundary", 0.5))


def decodes_constants(space: Any) -> bool:
    """`LabelSpace.decodes_constants` of a label space of any origin."""
    return bool(getattr(space, "decodes_constants", False))


def has_tags(estimator: Any) -> bool:
    """Whether an estimator declares its kind, as those of scikit-learn do."""
    return hasattr(estimator, "__sklearn_tags__")


def fits_one_label(learner: Any) -> bool:
    """Whether a learner is a classifier that takes one label only: as it declares or, of scikit-learn, by its tags.

    Tags of other classes are mostly the defaults of `BaseEstimator` and the mixins, and carry no information. For a
    pipeline, or a search over parameters, its own estimator decides.
    """
    if isinstance(learner, Part):
        return bool(declared(learner, "one_label", Learner))
    if not type(learner).__module__.startswith("sklearn."):
        return False
    names = {base.__name__ for base in type(learner).__mro__}
    if "Pipeline" in names:
        return bool(learner.steps) and fits_one_label(learner.steps[-1][1])
    if "BaseSearchCV" in names:
        return fits_one_label(learner.estimator)
    return is_classifier(learner) and not takes_label_sets(learner)


def takes_label_sets(classifier: Any) -> bool:
    """Whether a classifier takes several labels, by scikit-learn's tags."""
    tags = get_tags(classifier)
    several = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(several or tags.target_tags.multi_output)


def has_parameters(part: Any) -> bool:
    """Whether a part has parameters that can be set."""
    return hasattr(part, "get_params")


def has_kernel(learner: Any) -> bool:
    """Whether a learner is a kernel regression, which a kernel label space can share."""
    return hasattr(learner, "kernel_regression")


def has_probabilities(classifier: Any) -> bool:
    """Whether a classifier gives probabilities."""
    return hasattr(classifier, "predict_proba")


def has_decision_function(classifier: Any) -> bool:
    """Whether a classifier gives scores that are positive where it predicts a label."""
    return hasattr(classifier, "decision_function")


def certain_score(estimator: Any) -> float:
    """The size of the score of a label that was the same in all training rows.

    A regressor's is ½, the value 0 or 1 less ½; a classifier's lies beyond those of all other labels, whatever their
    scale.
    """
    return CERTAIN_SCORE if is_classifier(estimator) else 0.5


def log_probabilities(classifier: Any, X: Any) -> Array:
    """The logarithm of the probability of each class (n×C), by a classifier that has `predict_proba`.

    A difference of two of them keeps an order that a difference of probabilities loses: 1e-20 − ½ and 1e-30 − ½ are
    the same number. A probability of 0 counts as `LEAST_LOG`, the logarithm of the smallest positive number.
    """
    with np.errstate(divide="ignore"):
        if hasattr(classifier, "predict_log_proba"):
            logs = classifier.predict_log_proba(X)
        else:
            logs = np.log(classifier.predict_proba(X))
    logs = np.asarray(logs, dtype=np.float64)
    return np.where(np.isneginf(logs), LEAST_LOG, logs)


def as_dense(Y: Any) -> NDArray[Any]:
    """Y as a dense array."""
    return Y.toarray(order="C") if sp.issparse(Y) else np.asarray(Y)


def given(name: str, matrix: Any, width: int, or_fewer: bool = False) -> NDArray[Any]:
    """A matrix (n×width) that a fitted part was given, as a dense array; `or_fewer`: it may have fewer columns.

    Raises
    ------
    ValueError
        When it has another shape.
    """
    matrix = as_dense(matrix)
    if matrix.ndim != 2 or matrix.shape[1] > width or (matrix.shape[1] < width and not or_fewer):
        expected = f"(n, {width})" + (", or fewer columns," if or_fewer else "")
        raise ValueError(f"{name}: shape {matrix.shape} where {expected} is expected")
    return matrix
