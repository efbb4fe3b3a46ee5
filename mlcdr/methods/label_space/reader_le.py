"""The label space `reader_le`."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, SIZE, UNIT_INTERVAL, parameter
from mlcdr.methods.contracts import Part, as_dense
from mlcdr.methods.label_space.linear import Array, LinearLabelSpace
from mlcdr.numerics import graphs, row_sparse
from mlcdr.numerics.moments import Moments

SINGULAR = 0.01  # of the largest: a smaller singular value makes P nearly singular


class EmbeddingParameters(Part):
    """The parameters of READER-LE, as a label space and as a classifier; see `ReaderLE`."""

    uses_unlabelled: ClassVar[bool] = True

    n_components: float | int | None = parameter(None, SIZE)
    alpha: float = parameter(1.0, POSITIVE)
    beta: float = parameter(0.1, NOT_NEGATIVE)
    gamma: float = parameter(1.0, NOT_NEGATIVE)
    label_weights: tuple[float, float] = parameter((1.0, 0.1), ["array-like"])
    n_neighbors: int = parameter(5, COUNT, at_most="rows")
    sigma: float = parameter(1.0, POSITIVE)
    tol: float = parameter(1e-5, NOT_NEGATIVE)
    max_iter: int = parameter(50, COUNT)
    cut: float = parameter(0.5, UNIT_INTERVAL, last=True)

    def _validate_params(self) -> None:
        super()._validate_params()
        pair = row_sparse.pair_of_weights(self.label_weights)
        if pair is None or min(pair) <= 0:
            raise ValueError(f"label_weights must be two positive numbers, got {self.label_weights}")


class ReaderLE(EmbeddingParameters, LinearLabelSpace):
    """READER-LE: a label embedding that is learned with its regression, and completes the labels of unlabelled rows.

    Source: Sun 2017 (thesis), section 7.2; it has no public program.

    P (K×k) of (7.3), with W (d×k) and the labels Y_u of the unlabelled rows:

        min ‖C(X̃W − ỸP)‖₂,₁ + α‖W‖₂,₁ + βTr(WᵀX̃ᵀL_xX̃W) + γTr(PᵀỸᵀL_yỸP),    WᵀX̃ᵀD_xX̃W + PᵀP = I,

    with X̃ (N×d) and Ỹ = [Y; Y_u] (N×K) of labelled rows, then unlabelled ones, and their graphs as for READER. By
    Algorithm 14: from Y_u = 0, in turn U = [W; P] are k generalised eigenvectors, and Y_u = K₁Y + K₂X_uWPᵀ rounded,
    (7.8), which is (M_u + γL_uu)⁻¹(M_uX_uWPᵀ − γL_ulY): a sparse system, with M = c/2‖(X̃W − ỸP)_i‖ (the printed c² does
    not follow from (7.3)). L_y is then recomputed.

    Theorem 6 does not hold: rounding, the new graph, and PPᵀ taken for I in (7.8) may each raise the objective. It ends
    when neither Y_u nor the objective (by `tol`) changes, or after `max_iter` rounds. And since a small code costs
    little, the best P are directions in which label sets differ little: those in which none differs at all (labels
    never positive, copies of others) are left out, as they would come first and hold no information. With k < K results
    are poor.

    The constraint is on W and P jointly, so P itself is not an isometry. For round-based decoding it is made one:
    P = VᵀSBᵀ, `directions_` are V, and `coef_` is WBS⁺, so that XW ≈ YP reads X coef_ ≈ YVᵀ. The text's inverse divides
    the regression's errors by the values of S, the smallest of which are next to 0 where k = K: on the training labels,
    the Hamming loss was 34 % on emotions and 49 % on 1,500 rows of yeast, while predicting no label at all gives 31 %
    on both. So values below `cut` times the largest count as 0, and so does their part of `coef_`: 22 % and 32 % by
    default, and no change where P is well conditioned. `cut=0` is the text's formula, and warns where P is nearly
    singular.

    Where no instance has a label the code is the first label, which is 0 throughout.

    As a label space it passes the codes of *all* rows, completed ones too, to the learner of the method; Algorithm 15,
    whose regression is `coef_` itself, is the learner `reader_le`. The codes are not nested, and not centred.

    Cost of a round: as for constrained READER, with K³/3 in place of the sparse factorisation.

    Parameters
    ----------
    alpha, beta, gamma : float
        α > 0, β ≥ 0 and γ ≥ 0.
    label_weights : pair of float
        c of labelled and of unlabelled rows, both positive.
    n_neighbors : int
        Neighbours in the graphs (all others, where there are fewer).
    sigma : float
        σ of the weights exp(−d²/σ²) of the rows' graph.
    tol : float
        Relative change of the objective at which to stop.
    max_iter : int
        Most rounds.
    cut : float
        Singular values of P below this share of the largest count as 0 in its pseudo-inverse.

    Attributes
    ----------
    directions_ : array of shape (M, K)
        V, orthonormal rows; M ≤ k, the rank of P.
    coef_ : array of shape (d, M)
        The regression of the codes on the features, without intercept.
    completed_ : array of shape (u, K)
        Y_u.
    objective_ : array of shape (rounds,)
        (7.3) after each eigenproblem.
    """

    nested: ClassVar[bool] = False

    def fit_moments(self, moments: Moments) -> Self:
        """Fit from the moments of a training set that has its rows."""
        self.n_features_in_ = moments.n_features
        self.mean_ = np.zeros(moments.n_labels)
        X, labels = moments.rows()[0], as_dense(moments.rows()[1]).astype(np.float64)
        n, unlabelled = len(labels), moments.unlabelled
        rows = X if unlabelled is None else row_sparse.stacked(X, unlabelled)
        Y = np.vstack([labels, np.zeros((rows.shape[0] - n, labels.shape[1]))])
        k = self.n_dimensions(self.n_components, moments.n_labels)
        if labels.any():
            W, P, self.objective_ = self._iterate(rows, Y, n, k)
        else:
            W, P = np.zeros((moments.n_features, 1)), np.eye(moments.n_labels, 1)
            self.objective_ = np.zeros(1)
        left, sizes, right = scipy.linalg.svd(P, full_matrices=False)
        rank = int(np.count_nonzero(sizes > 1e-10 * float(np.max(sizes, initial=0.0))))
        self.directions_ = np.ascontiguousarray(left[:, :rank].T)
        sizes = sizes[:rank]
        kept = sizes >= self.cut * sizes[0]
        if np.any(sizes[kept] < SINGULAR * sizes[0]):
            warnings.warn(
                f"P is nearly singular: its smallest singular value is {sizes[kept][-1] / sizes[0]:.1g} of the "
                "largest, and `coef_` multiplies errors by its inverse; a larger `cut` leaves such directions out",
                stacklevel=2,
            )
        self.coef_ = np.where(kept, (W @ right[:rank].T) / sizes, 0.0)
        self.n_components_ = rank
        self.completed_ = Y[n:].astype(np.uint8)
        return self

    def _iterate(self, X: Any, Y: Array, n: int, k: int) -> tuple[Array, Array, Array]:
        """Algorithm 14: W, P and the objectives; `Y` is completed in place, below row n."""
        of_rows = graphs.heat_graph(X, self.n_neighbors, self.sigma)
        manifold = self.beta * row_sparse.between(X, graphs.laplacian(of_rows)) if self.beta > 0 else None
        root = row_sparse.times_rows(X, np.sqrt(graphs.degrees(of_rows)))
        a, b = map(float, self.label_weights)
        c = np.where(np.arange(X.shape[0]) < n, a, b)
        h, penalty = c**2, np.full(X.shape[1], self.alpha**2)
        W = P = np.zeros((0, 0))

        def step() -> float:
            nonlocal W, P, h, penalty
            of_labels = self.gamma * graphs.laplacian(graphs.label_graph(Y, self.n_neighbors))
            basis = _range(Y)
            codes = Y @ basis
            _, W, P = row_sparse.coupled_eigenvectors(
                X,
                codes,
                h,
                penalty,
                manifold,
                codes.T @ (of_labels @ codes),
                root,
                np.eye(codes.shape[1]),
                k,
                "constraint",
            )
            residual, embedded = X @ W - codes @ P, codes @ P
            P = basis @ P
            h, penalty = row_sparse.weights(residual, c), row_sparse.weights(W, self.alpha)
            value = float(c @ row_sparse.lengths(residual)) + self.alpha * row_sparse.norm(W)
            value += float(np.sum(embedded * (of_labels @ embedded)))
            if manifold is not None:
                value += float(np.sum(W * (manifold @ W)))
            return value

        objective: list[float] = []
        for _ in range(self.max_iter):
            objective.append(step())
            before = Y[n:].copy()
            Y[n:] = self._completed(X, Y, n, h, (X @ W) @ P.T)
            settled = len(objective) > 1 and abs(objective[-1] - objective[-2]) <= self.tol * objective[-2]
            if settled and np.array_equal(before, Y[n:]):
                break
        return W, P, np.array(objective)

    def _completed(self, X: Any, Y: Array, n: int, h: Array, image: Array) -> Array:
        """Y_u (u×K) of {0, 1} by (7.8), from M = `h` and X̃WPᵀ = `image` (N×K)."""
        if n == len(Y):
            return Y[n:]
        laplacian = self.gamma * graphs.laplacian(graphs.label_graph(Y, self.n_neighbors))
        solve = row_sparse.graph_solver(h[n:], sp.csr_array(laplacian[n:, n:]))
        found = solve(h[n:, None] * image[n:] - laplacian[n:, :n] @ Y[:n])
        return (found > 0.5).astype(np.float64)

    def encode_moments(self, moments: Moments) -> Moments:
        """The moments of the codes of all rows, with the completed ones last."""
        if moments.unlabelled is None:
            return super().encode_moments(moments)
        X, Y = moments.rows()
        rows = row_sparse.stacked(X, moments.unlabelled)
        return super().encode_moments(Moments.from_arrays(rows, np.vstack([as_dense(Y), self.completed_])))


def _range(Y: Array) -> Array:
    """An orthonormal basis (K×r) of the directions in which the label sets Y (N×K), some not empty, are not all 0."""
    values, vectors = scipy.linalg.eigh(Y.T @ Y)
    return vectors[:, values > 1e-10 * values[-1]]
