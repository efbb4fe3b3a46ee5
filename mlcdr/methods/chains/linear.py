"""All links of a chain of linear models at once, from one regression on the features.

A link regresses a label on the features and some of the other labels. Its coefficients on the labels are those of the
regression among the residuals of the labels given the features; its coefficients on the features follow (Frisch & Waugh
1933; Lovell 1963): with W (d×K) the regression of every label on the features alone, T = Σ(y−ȳ)(y−ȳ)ᵀ and

    M = T − BᵀB    (K×K), BᵀB the part of T that the features explain,

the label k has coefficients a_k = (M_II + αI)⁻¹M_Ik on the labels I and W_k − W_I a_k on the features. Least squares is
α = 0; ridge penalises all coefficients alike. Where the intercept is penalised, too, or absent, T = Σyyᵀ, and the
features are not centred; a constant feature stands for a penalised intercept. So K links cost d²K + dK² + K³ beside the
factorisation for the features. This is the minimum-norm solution, or that of R's `lm`, also where *features* are
linearly dependent. Where labels are, the solution is either found by the rule of `lm`, or marked as not known, and the
link is then fitted by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack
from sklearn.base import clone

from mlcdr.methods.chains.links import Link
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.learners.ridge import Ridge, solved_alone
from mlcdr.methods.learners.separate import Separate
from mlcdr.numerics import regression
from mlcdr.numerics.file_order import FileOrderCholesky
from mlcdr.numerics.linalg import IllConditioned, confirmed
from mlcdr.numerics.moments import Moments, beside
from mlcdr.numerics.sums import dense

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A label of {0, 1} that is not the same in all rows has Σ(y−ȳ)² = n p(1−p) ≥ 1 − 1/n.
_CONSTANT = 0.25
# A smaller share of a label in another (at unit size) is rounding.
_SHARE = 1e-9


@dataclass(frozen=True)
class Regression:
    """The regression of all labels on the features alone, by an estimator whose chains have the form above.

    Attributes
    ----------
    weights : array of shape (d, K)
        W.
    explained : array of shape (K, K)
        BᵀB.
    ridge : float
        α.
    drops : bool
        Whether the estimator follows the rule of R's `lm`.
    scatter : array of shape (K, K)
        T.
    intercepts : array of shape (K,), or None
        The intercepts, where they are penalised or 0. None: those that make the residuals sum to 0.
    """

    weights: Array
    explained: Array
    ridge: float
    drops: bool
    scatter: Array
    intercepts: Array | None = None

    @classmethod
    def of(cls, estimator: Any, moments: Moments) -> Regression | None:
        """None for an estimator without this form, or of a subclass, which may solve the problem differently."""
        if type(estimator) not in (LeastSquares, Ridge):
            return None
        return moments.once(
            (cls, type(estimator), *sorted(estimator.get_params().items())), lambda: cls._found(estimator, moments)
        )

    @classmethod
    def _found(cls, estimator: Any, moments: Moments) -> Regression:
        if type(estimator) is LeastSquares and estimator.rank_deficient == "drop_aliased":
            whitened = regression.whiten_basic(moments)
            return cls(regression.basic_coefficients(moments), whitened.T @ whitened, 0.0, True, moments.yy)
        if type(estimator) is LeastSquares:
            return cls._ridge(moments, 0.0)
        if type(estimator) is Ridge and estimator.intercept == "free":
            return cls._ridge(moments, float(estimator.alpha))
        return cls._about_zero(moments, float(estimator.alpha), estimator.intercept == "penalised")

    @classmethod
    def _ridge(cls, moments: Moments, alpha: float) -> Regression:
        weights, explained = regression.coefficients(moments, alpha), regression.explained_scatter(moments, alpha)
        return cls(weights, explained, alpha, False, moments.yy)

    @classmethod
    def _about_zero(cls, moments: Moments, alpha: float, constant: bool) -> Regression:
        """For uncentred labels and features: the regressions of Y − ȳ and of 1 on the features, combined."""
        raw = (moments.with_constant() if constant else moments).uncentred()
        mean = moments.mean_y
        centred, of_one = regression.coefficients(raw, alpha), regression.constant_coefficients(raw, alpha)
        weights = centred + np.outer(of_one, mean)
        sums = raw.n * raw.mean_x  # Xᵀ1
        crossed = np.outer(centred.T @ sums, mean)
        explained = (
            regression.explained_scatter(raw, alpha) + crossed + crossed.T + (sums @ of_one) * np.outer(mean, mean)
        )
        scatter = moments.yy + moments.n * np.outer(mean, mean)
        if constant:
            return cls(weights[:-1], explained, alpha, False, scatter, weights[-1])
        return cls(weights, explained, alpha, False, scatter, np.zeros(len(mean)))

    def intercepts_of(self, moments: Moments, weights: Array, on_labels: Array) -> Array:
        """The intercepts of links with these weights on the features and the labels."""
        if self.intercepts is not None:
            return self.intercepts - self.intercepts @ on_labels
        return moments.mean_y - moments.mean_x @ weights - moments.mean_y @ on_labels


@dataclass(frozen=True)
class Partialled:
    """The residuals of the labels given the features, in the order of a chain.

    Attributes
    ----------
    factor : FileOrderCholesky
        Of M + αI; constant labels are neither kept nor aliased.
    drops : bool
        Whether aliased labels get coefficient 0 (checked on the rows). Otherwise links that use an aliased label are
        not known.
    """

    factor: FileOrderCholesky
    drops: bool

    @classmethod
    def of(cls, regression: Regression, moments: Moments, order: Sequence[int]) -> Partialled | None:
        """For labels {0, 1}, in this order; None where rounding hides the rank of M."""
        index = list(order)
        scatter = regression.scatter[np.ix_(index, index)]
        left = scatter - regression.explained[np.ix_(index, index)]
        left[np.diag_indices_from(left)] += regression.ridge
        variances = np.diag(scatter)
        spread = np.where(variances < _CONSTANT, 0.0, variances + regression.ridge)
        raw = spread + moments.n * moments.mean_y[index] ** 2 if regression.intercepts is None else spread
        try:
            factor = FileOrderCholesky.factorise(left, spread, raw)
        except IllConditioned:
            return None
        if regression.drops and len(factor.aliased):
            X, Y = moments.rows()
            on_labels = np.zeros((len(index), factor.probe().shape[1]))
            on_labels[index] = factor.probe()
            on_features = regression.weights @ on_labels
            residual = (dense(Y) - moments.mean_y) @ on_labels - (X @ on_features - moments.mean_x @ on_features)
            if not confirmed(residual, np.sqrt(len(factor.aliased))):
                return None
        return cls(factor, regression.drops)

    def on_earlier(self) -> tuple[Array, Mask]:
        """Coefficients (K×K, a column for each label) on the labels before it, and for which labels they are known."""
        f = self.factor
        found = np.zeros((len(f.inverse_scale), len(f.inverse_scale)))
        if f.rank:
            inverse, _ = lapack.dtrtri(f.lower, lower=1)
            # L⁻¹ is, but for the scale of its rows, what each label is less its regression on those before it
            on_kept = -np.tril(inverse * np.diag(f.lower)[:, None], -1).T
            found[np.ix_(f.kept, f.kept)] = self._scaled(on_kept, f.kept)
            found[np.ix_(f.kept, f.aliased)] = self._scaled(f.combinations(), f.aliased)
        known = np.ones(len(found), dtype=bool)
        if not self.drops and len(f.aliased):
            known[f.aliased[0] + 1 :] = False
        return found, known

    def on_others(self) -> tuple[Array, Mask]:
        """Coefficients (K×K, a column for each label) on all other labels, and for which labels they are known."""
        f = self.factor
        found = np.zeros((len(f.inverse_scale), len(f.inverse_scale)))
        known = np.ones(len(found), dtype=bool)
        combinations = f.combinations()
        if f.rank:
            lower, _ = lapack.dpotri(f.lower, lower=1)
            inverse = np.tril(lower) + np.tril(lower, -1).T
            on_kept = -inverse / np.diag(inverse)
            np.fill_diagonal(on_kept, 0.0)
            found[np.ix_(f.kept, f.kept)] = self._scaled(on_kept, f.kept)
            found[np.ix_(f.kept, f.aliased)] = self._scaled(combinations, f.aliased)
        if len(f.aliased):
            if self.drops:  # without a label that an aliased one is made of, that one is no longer aliased
                known[f.kept[np.any(np.abs(combinations) > _SHARE, axis=1)]] = False
            else:
                known[:] = False
        return found, known

    def _scaled(self, coefficients: Array, targets: NDArray[np.intp]) -> Array:
        """Coefficients of `targets` on the kept labels, from those of labels scaled to unit length."""
        scale = self.factor.inverse_scale
        return coefficients * scale[self.factor.kept, None] / scale[targets]


@dataclass(frozen=True)
class LinearLinks:
    """Linear links h_k(x, y) = x·w_k + y·a_k + b_k of all labels.

    Attributes
    ----------
    weights : array of shape (d, K)
        The w_k.
    on_labels : array of shape (K, K)
        The a_k, as columns; 0 where a link does not use a label.
    intercepts : array of shape (K,)
        The b_k.
    """

    weights: Array
    on_labels: Array
    intercepts: Array

    @classmethod
    def alone(cls, estimator: Any, moments: Moments) -> LinearLinks | None:
        """Links that use no label; None if the estimator does not have the linear form."""
        regression = Regression.of(estimator, moments)
        if regression is None:
            return None
        nothing = np.zeros((moments.n_labels, moments.n_labels))
        return cls(regression.weights, nothing, regression.intercepts_of(moments, regression.weights, nothing))

    @classmethod
    def chained(cls, estimator: Any, moments: Moments, order: Sequence[int]) -> LinearLinks | None:
        """Links that use the labels before theirs in `order`; None if the estimator does not have the linear form.

        Ridge regressions in `separate` are solved one by one.
        """
        if (
            type(estimator) is Separate
            and type(estimator.estimator) is Ridge
            and estimator.estimator.intercept != "free"
        ):
            return cls._one_by_one(estimator.estimator, moments, list(order))
        regression = Regression.of(estimator, moments)
        if regression is None:
            return None
        partialled = Partialled.of(regression, moments, order)
        found, known = _nothing_known(moments) if partialled is None else partialled.on_earlier()
        on_labels, is_known = np.empty_like(found), np.empty_like(known)
        on_labels[np.ix_(order, order)], is_known[list(order)] = found, known
        return cls._completed(
            estimator, moments, regression, on_labels, is_known, lambda k: order[: list(order).index(k)]
        )

    @classmethod
    def _one_by_one(cls, ridge: Ridge, moments: Moments, order: list[int]) -> LinearLinks:
        """A chain each link of which is solved anew from the rows, as a program without shared sums does."""
        X, Y = moments.rows()
        rows, Y = ridge.rows(X), dense(Y)[:, order]
        width, d = rows.shape[1], X.shape[1]
        everything = None if sp.issparse(rows) else np.hstack([rows, Y])
        weights, on_labels = np.empty((d, len(order))), np.zeros((len(order), len(order)))
        intercepts = np.zeros(len(order))
        for i, k in enumerate(order):
            seen = beside(rows, Y[:, :i]) if everything is None else everything[:, : width + i]
            try:
                found = solved_alone(seen, Y[:, i], ridge.alpha)
            except IllConditioned:
                model = Link.fitted(ridge, moments, k, order[:i]).model
                weights[:, k], on_labels[order[:i], k] = model.coef_[0, :d], model.coef_[0, d:]
                intercepts[k] = model.intercept_[0]
                continue
            weights[:, k], on_labels[order[:i], k] = found[:d], found[width:]
            intercepts[k] = found[d] if width > d else 0.0
        return cls(weights, on_labels, intercepts)

    @classmethod
    def mutual(cls, estimator: Any, moments: Moments) -> LinearLinks | None:
        """Links that use all other labels; None if the estimator does not have the linear form."""
        regression = Regression.of(estimator, moments)
        if regression is None:
            return None
        labels = range(moments.n_labels)
        partialled = Partialled.of(regression, moments, labels)
        found, known = _nothing_known(moments) if partialled is None else partialled.on_others()
        return cls._completed(estimator, moments, regression, found, known, lambda k: [j for j in labels if j != k])

    @classmethod
    def _completed(
        cls,
        estimator: Any,
        moments: Moments,
        regression: Regression,
        on_labels: Array,
        known: Mask,
        inputs_of: Callable[[int], Sequence[int]],
    ) -> LinearLinks:
        """With the links that are not known fitted one by one."""
        weights = regression.weights - regression.weights @ on_labels
        intercepts = regression.intercepts_of(moments, weights, on_labels)
        for k in np.flatnonzero(~known).tolist():
            inputs = inputs_of(k)
            model = Link.fitted(estimator, moments, k, inputs).model
            weights[:, k], on_labels[:, k] = model.coef_[0, : len(weights)], 0.0
            on_labels[inputs, k] = model.coef_[0, len(weights) :]
            intercepts[k] = model.intercept_[0]
        return cls(weights, on_labels, intercepts)

    def on_features(self, X: Any) -> Array:
        """x·w_k + b_k − ½ (n×K): the scores without the contribution of the labels."""
        return X @ self.weights + (self.intercepts - 0.5)

    def link(self, estimator: Any, label: int, inputs: Sequence[int] = ()) -> Link:
        """The link of one label, as `Link.fitted` gives it."""
        model = clone(estimator.estimator if type(estimator) is Separate else estimator)
        model.coef_ = np.append(self.weights[:, label], self.on_labels[list(inputs), label])[None, :]
        model.intercept_ = self.intercepts[label : label + 1]
        model.n_features_in_ = model.coef_.shape[1]
        return Link(model)


def follow(alone: Array, on_labels: Array) -> Array:
    """Scores (n×m) of a chain's labels, in its order, from the scores by the features alone and the coefficients on the
    labels before (m×m, a column for each label, in Fortran order). Each label's prediction enters the scores of the
    later ones.
    """
    scores, predicted = np.asfortranarray(alone), np.zeros(alone.shape, order="F")
    for i in range(alone.shape[1]):
        scores[:, i] += predicted[:, :i] @ on_labels[:i, i]
        predicted[:, i] = scores[:, i] > 0
    return scores


def _nothing_known(moments: Moments) -> tuple[Array, Mask]:
    return np.zeros((moments.n_labels, moments.n_labels)), np.zeros(moments.n_labels, dtype=bool)
