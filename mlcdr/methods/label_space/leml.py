"""The label space `leml`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, parameter
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space.cplst import CPLST
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace, error_terms_projected
from mlcdr.methods.label_space.plst import PLST
from mlcdr.numerics.linalg import Tridiagonal, signed
from mlcdr.numerics.moments import Moments
from mlcdr.numerics.operators import conjugate_gradients
from mlcdr.numerics.principal import rank_coordinates

# Of the solves within a step where S is not formed, relative; the next step starts from what this one leaves.
_TOLERANCE = 1e-6


class LEML(LinearLabelSpace):
    """Low-rank empirical risk minimisation for multi-label learning (LEML), with squared loss.

    Source: Yu, Jain, Kar & Dhillon 2014 (ICML), *Large-scale multi-label learning with missing labels*, equation (3)
    and section 3.1 (squared loss, all labels known).

    min ½‖Z − X̃WHᵀ‖² + ½λ(‖W‖² + ‖H‖²) over W (d×M) and H (K×M), equation (3); ŷ = (x − x̄)WHᵀ + ȳ.

    X̃ = X − x̄ and Z = Y − ȳ are centred, which is a free intercept; the paper has none. From CPLST's directions as H,
    with the same ridge (PLST's where S is not formed), these steps alternate until the relative decrease of the
    objective is below `tol`:

    - W: SWHᵀH + λW = CH, by a tridiagonal form of S = X̃ᵀX̃ (d×d) and the eigenvectors of HᵀH; by conjugate gradients on
      the rows (as in the paper) where X has 15,000 rows and features or more;
    - H = CᵀW(WᵀSW + λI)⁻¹, C = X̃ᵀZ (d×K);
    - with WHᵀ = UΣVᵀ, W = U√Σ and H = V√Σ: of all factors with this product those with the smallest penalty, λ times
      the nuclear norm. The paper has no such step; without it the first two take some ten times as many rounds.

    It needs S, C and ‖Z‖² only. Where M is at least the rank of the solution, this is the solution with the nuclear
    norm, ½‖Z − X̃B‖² + λ‖B‖_*; with λ → 0, reduced-rank regression, which is CPLST with least squares.

    LEML is label space and regression in one. The code t = (y − ȳ)H + (x − x̄)W(I − HᵀH), linear in labels and
    features like FaIE's, is the one for which ridge regression with the same α = λ and a free intercept gives W: with
    `learner: {ridge: {alpha: λ}}` predictions are the paper's (to `tol`, since W is then found again for the last H).
    Another learner fits the same codes. Not nested: each M is fitted by itself, the tridiagonal form serves all.

    Cost: CPLST's, 4d³/3 for the tridiagonal form, once a split (d > n: 9n³, of XXᵀ), and 4dKM + 6(d + K)M² for each
    round, of which there are about five; or, by conjugate gradients, 4 nnz(X)·M for each of their steps.

    Parameters
    ----------
    alpha : float
        λ > 0.
    tol : float
        The relative fall of the objective at which the alternation ends.
    max_iter : int
        The most rounds.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        Hᵀ; its rows are orthogonal, the longest first, and as long as W's columns.
    feature_weights_ : array of shape (d, M)
        W.
    objective_ : array of shape (n_iter_,)
        After each round; it never rises.
    final_objective_ : float
        The last of them.
    n_iter_ : int
    """

    nested: ClassVar[bool] = False

    alpha: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-6, NOT_NEGATIVE)
    max_iter: int = parameter(100, COUNT)

    def _find_directions(self, moments: Moments, n: int) -> Array:
        problem = _Problem.of(moments, self.alpha)
        start = PLST(n) if moments.both_large else CPLST(n, alpha=self.alpha)  # CPLST's own solves take longer there
        H = start.fit_moments(moments).directions_.T
        W, values = np.zeros((problem.n_weights, n)), list[float]()
        while len(values) < self.max_iter:
            W = problem.weights(H, W)
            scatter, product = W.T @ problem.scatter(W), problem.labels_of(W)
            H = scipy.linalg.solve(scatter + self.alpha * np.eye(len(scatter)), product.T, assume_a="pos").T
            misfit = problem.size - 2 * np.sum(product * H) + np.sum(scatter * (H.T @ H))
            W, H, sizes = _balance(W, H)
            values.append(float(0.5 * misfit + self.alpha * sizes.sum()))
            if len(values) > 1 and values[-2] - values[-1] <= self.tol * values[-2]:
                break
        self.feature_weights_, directions = np.zeros((moments.n_features, n)), np.zeros((n, moments.n_labels))
        directions[: H.shape[1]] = signed(H)
        self.feature_weights_[:, : H.shape[1]] = problem.lift(problem.weights(directions[: H.shape[1]].T, W))
        self.objective_, self.n_iter_, self.final_objective_ = np.array(values), len(values), values[-1]
        self._mean_x = moments.mean_x
        return directions

    def encode(self, Y: Any) -> Array:
        """The shortest of the codes (n×M) whose decoding comes nearest to label vectors Y (n×K).

        It is not the code of an instance with these labels, which depends on its features, too: `encode_moments`.
        """
        return (self._given_labels(Y) - self.mean_) @ np.linalg.pinv(self.directions_)

    def encode_moments(self, moments: Moments) -> Moments:
        """The moments of the codes (y − ȳ)H + (x − x̄)W(I − HᵀH), from those of labels and features."""
        check_is_fitted(self, "directions_")
        H, W = self.directions_.T, self.feature_weights_
        of_features = W - W @ (H.T @ H)
        return moments.with_targets(H, of_features, -(self.mean_ @ H) - self._mean_x @ of_features)

    def error_terms(self, Y: Any, codes: Array) -> tuple[Array, Array]:
        """As in `LinearLabelSpace`, of the decoded codes: the part of Z that no code can represent, and the error of
        predicted codes.

        With P the projection on the rows of Hᵀ, ‖Z − ZP‖²/n and ‖ZP − r(X)Hᵀ‖²/n, for the first 1, …, M dimensions.
        """
        return error_terms_projected(as_dense(Y) - self.mean_, self.directions_, codes)


@dataclass(frozen=True)
class _Problem:
    """The sums of a training set, in r coordinates of the features in which the weights are found.

    Attributes
    ----------
    n_weights : int
        r.
    size : float
        ‖Z‖².
    scatter, lift : functions
        W (r×M) ↦ SW (r×M); W as weights (d×M) of the features.
    codes_of, labels_of : functions
        H (K×M) ↦ CH (r×M); W (r×M) ↦ CᵀW (K×M).
    solve : function
        (γ, R, W₀) ↦ the W whose columns satisfy (γ_j S + λI)w_j = r_j, from W₀ on.
    """

    n_weights: int
    size: float
    scatter: Callable[[Array], Array]
    lift: Callable[[Array], Array]
    codes_of: Callable[[Array], Array]
    labels_of: Callable[[Array], Array]
    solve: Callable[[Array, Array, Array], Array]

    @classmethod
    def of(cls, moments: Moments, ridge: float) -> _Problem:
        size = float(moments.label_spread().sum())
        if moments.both_large:
            return cls._implicit(moments, ridge, size)
        inner = rank_coordinates(moments)
        if inner.moments is moments:
            axes = moments.memo.get("tridiagonal scatter", lambda: Tridiagonal.of(moments.xx))
            cross = moments.once("cross, rotated to the tridiagonal scatter", lambda: axes.rotate(moments.xy))
        else:  # S is diagonal
            values = inner.moments.spread()
            axes, cross = (
                Tridiagonal(values, np.zeros(max(0, len(values) - 1)), values[:0], values[:0]),
                inner.moments.xy,
            )
        return cls(
            len(cross),
            size,
            axes.times,
            lambda w: inner.lift(axes.rotate(w, back=True)),
            lambda h: cross @ h,
            lambda w: cross.T @ w,
            lambda gamma, right, _: axes.solve(gamma, ridge, right),
        )

    @classmethod
    def _implicit(cls, moments: Moments, ridge: float, size: float) -> _Problem:
        """With neither S nor, where it is large, C formed."""
        cross, times, spread = moments.cross, moments.scatter_operator(), moments.spread()[:, None]

        def solve(gamma: Array, right: Array, start: Array) -> Array:
            def apply(flat: Array) -> Array:  # all columns as one, since each has a matrix of its own
                w = flat.reshape(right.shape)
                return (gamma * times(w) + ridge * w).reshape(-1, 1)

            left = right.reshape(-1, 1) - apply(start)
            tolerance = _TOLERANCE * float(np.linalg.norm(right)) / max(float(np.linalg.norm(left)), 1e-300)
            if tolerance >= 1:
                return start
            step = conjugate_gradients(apply, (gamma * spread + ridge).ravel(), left, tolerance)
            return start + step.reshape(right.shape)

        return cls(
            moments.n_features,
            size,
            times,
            lambda w: w,
            (lambda h: moments.xy @ h) if cross is None else cross.times,
            (lambda w: moments.xy.T @ w) if cross is None else cross.transposed,
            solve,
        )

    def weights(self, H: Array, start: Array) -> Array:
        """The W that is best for H, whose columns are orthogonal."""
        return self.solve(np.sum(H**2, axis=0), self.codes_of(H), start)


def _balance(W: Array, H: Array) -> tuple[Array, Array, Array]:
    """The factors of WHᵀ = UΣVᵀ with the smallest norms, U√Σ and V√Σ, and the diagonal of Σ."""
    (left, r), (right, q) = (scipy.linalg.qr(a, mode="economic") for a in (W, H))
    u, sizes, v = scipy.linalg.svd(r @ q.T, full_matrices=False)
    return left @ (u * np.sqrt(sizes)), right @ (v.T * np.sqrt(sizes)), sizes
