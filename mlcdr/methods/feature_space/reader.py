"""The feature step `reader`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, SEED, SIZE, one_of, parameter
from mlcdr.methods.feature_space.linear import label_sets
from mlcdr.methods.feature_space.row_sparse import RowSparseSelector
from mlcdr.methods.feature_space.selection import Array
from mlcdr.numerics import graphs, row_sparse, sums
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

_SMALL = 2000  # features and embedded rows together, up to which the constrained problem is solved by default


class READER(RowSparseSelector):
    """READER: robust semi-supervised feature selection by a row-sparse regression on embedded labels.

    Source: Sun 2017 (thesis), sections 6.3 and 6.4; the options, its author's program.

    Scores ‖W_j‖₂ of the features from (6.17), over W (d×k) and an embedding V (n×k) of the label sets,

        min ‖XW − V‖₂,₁ + α‖W‖₂,₁ + βTr(WᵀX̃ᵀL_xX̃W) + γTr(VᵀL_yV),

    with X (n×d) the labelled rows, X̃ (N×d) these and the unlabelled ones, none of them centred, L_x and L_y the
    Laplacians of their graphs of p neighbours (`heat_graph`, (6.13); `label_graph`, (6.16)).

    algorithm "constrained" (Algorithm 12): U = [W; V] are the k eigenvectors of E u = λ F u with the largest λ, (6.25);
    then F is reweighted. With the E-orthonormal U of the text, UᵀEU = I, each step decreases Tr(UᵀFU), so that
    Σ√(‖·‖² + ε), which is the objective up to 1.5e-8 a row (`numerics.row_sparse`), does not rise after the first
    iteration (Theorem 5). The author's program scales U to UᵀFU = I (`variant`): as F changes, this is not a fixed
    constraint, and its objective rises at times. Neither is known to converge to the global optimum: UᵀEU = I is not a
    convex set. It is also weaker than (6.17), where W and V have constraints of their own. An instance without
    neighbours in the label graph, such as one without labels, is not constrained.

    algorithm "alternating" (Algorithm 13) has no constraint: V and then W are solved for in turn, (6.37), and
    reweighted. The optimum is W = V = 0; the result found before it depends on the start, W uniform in [0, 1], and on
    `tol`. The objective does not rise from the first iteration on (in the sense above); the first one may raise it,
    since the weights begin at 1. The printed algorithm has XW − Y (of different widths) where (6.37) has XW − V, and α
    where (6.37) has α². The latter is used: with H_M of the rows of αW, as in Theorem 4, it is α/2‖W_j‖. An instance
    without neighbours in the label graph is fitted exactly from the first iteration on, since no other term restricts
    its V_i; it then has a weight of 3e7, and W hardly changes along x_i. With d such instances W hardly changes at all,
    and rounding errors influence the scores. They also do where few features meet many labels and the objective falls
    to a fiftieth of its first value or less.

    Without embedding (γ = 0) V is Y, and both algorithms are the iteration for W, which is convex. version "improved"
    (6.43) has N rows in the first norm, with weights c_a and c_b for labelled and unlabelled ones, and an L_Y of them
    all. That is the Laplacian of the sum that (6.42) begins with; the matrix printed there lacks its degrees between
    labelled and unlabelled rows and is indefinite: the objective would have no lower bound.

    Cost of an iteration: a sparse factorisation of H_n + γL_y and d³/3 + nd² (nnz(row)² for a sparse row); constrained,
    nd products with the factor besides, and products for Lanczos' iteration. No matrix over the rows is dense, except
    in the constrained problem where N + n is 500 at most (4,000 if Lanczos' iteration fails).

    Parameters
    ----------
    alpha, beta, gamma : float
        α > 0, β ≥ 0 and γ ≥ 0: row sparsity; manifold term (0: none; unlabelled rows then enter the constraint only);
        label embedding (0: none).
    n_components : int, float or None
        k: an int, a fraction of the labels (max(1, ⌊pK⌋)), or None for as many as labels. Without embedding k is K.
    algorithm : {"auto", "constrained", "alternating"}
        "auto": constrained where features and rows of V are 2000 at most together.
    loss : {"l21", "squared"}
        The norm of XW − V: ℓ2,1, or the squared Frobenius norm (READER-F).
    version : {"plain", "improved"}
        (6.17) or (6.43).
    label_weights : pair of float
        c_a > c_b ≥ 0 of the improved version.
    n_neighbors : int
        p (all others, where there are fewer).
    sigma : float
        σ of (6.13). The author's program has exp(−d²/2), which is σ = √2, where the text has σ = 1.
    variant : {"text", "published_code"}
        Scaling of U in the constrained algorithm: UᵀEU = I, or UᵀFU = I.
    tol : float
        Relative change of the objective at which to stop (text 1e-5, program 1e-3).
    random_state : int, RandomState instance or None
        Seed of the alternating algorithm's start.
    """

    uses_unlabelled: ClassVar[bool] = True
    sizes_of_labels: ClassVar[tuple[str, ...]] = ("n_components",)  # parameters that count dimensions of label sets

    beta: float = parameter(0.1, NOT_NEGATIVE)
    gamma: float = parameter(10.0, NOT_NEGATIVE)
    n_components: float | int | None = parameter(0.3, SIZE)
    algorithm: str = parameter("auto", one_of("auto", "constrained", "alternating"))
    loss: str = parameter("l21", one_of("l21", "squared"))
    version: str = parameter("plain", one_of("plain", "improved"))
    label_weights: tuple[float, float] = parameter((1.0, 0.1), ["array-like"])
    n_neighbors: int = parameter(5, COUNT, at_most="rows")
    sigma: float = parameter(1.0, POSITIVE)
    variant: str = parameter("text", one_of("text", "published_code"))
    random_state: Any = parameter(None, SEED, last=True)

    def _validate_params(self) -> None:
        super()._validate_params()
        pair = row_sparse.pair_of_weights(self.label_weights)
        if pair is None or not pair[0] > pair[1] >= 0:
            raise ValueError(f"label_weights must be two numbers c_a > c_b >= 0, got {self.label_weights}")

    def _minimise(self, moments: Moments) -> tuple[Array, Array]:
        problem = self._problem(moments)
        k = n_kept(self.n_components, moments.n_labels)
        if self.gamma == 0:
            coef, objective = without_embedding(problem, label_sets(moments), self.tol, self.max_iter)
        elif self._is_constrained(problem):
            coef, _, objective = constrained(problem, k, self.variant, self.tol, self.max_iter)
        else:
            start = check_random_state(self.random_state).uniform(size=(moments.n_features, k))
            coef, _, objective = alternating(problem, start, self.tol, self.max_iter)
        return coef, objective

    def _is_constrained(self, problem: Problem) -> bool:
        if self.algorithm == "auto":
            return sum(problem.X.shape) <= _SMALL
        return self.algorithm == "constrained"

    def _problem(self, moments: Moments) -> Problem:
        X, unlabelled = moments.rows()[0], moments.unlabelled
        n = X.shape[0]
        everything = X if unlabelled is None else row_sparse.stacked(X, unlabelled)
        of_rows = moments.once(
            ("row graph", self.n_neighbors, self.sigma),
            lambda: graphs.heat_graph(everything, self.n_neighbors, self.sigma),
        )
        of_labels = moments.once(
            ("label graph", self.n_neighbors), lambda: graphs.label_graph(label_sets(moments), self.n_neighbors)
        )
        manifold = None
        if self.beta > 0:
            key = ("manifold", self.n_neighbors, self.sigma)
            manifold = self.beta * moments.once(key, lambda: row_sparse.between(everything, graphs.laplacian(of_rows)))
        scale, rows = np.ones(n), X
        if self.version == "improved" and self.gamma > 0:
            a, b = map(float, self.label_weights)
            of_labels, scale = a * of_labels, np.full(n, a)
            if b > 0:  # else no term holds the unlabelled rows of V
                of_labels, rows = _extended(of_labels, b * of_rows, n), everything
                scale = np.where(np.arange(everything.shape[0]) < n, a, b)
        return Problem(
            rows,
            scale,
            self.alpha,
            manifold,
            self.gamma * graphs.laplacian(of_labels),
            row_sparse.times_rows(everything, np.sqrt(graphs.degrees(of_rows))),
            np.sqrt(graphs.degrees(of_labels)),
            self.loss == "l21",
        )


@dataclass(frozen=True)
class Problem:
    """The data of (6.17) or (6.43), with r rows in the first norm.

    X (r×d); c (r,) the weights of its rows; α; `manifold` (d×d) βX̃ᵀL_xX̃, or None; `embedding` (r×r, sparse) γL_y;
    `root_x` (N×d) D_x^½X̃ and `root_y` (r,) D_y^½ of the constraint; and whether the loss is ℓ2,1.
    """

    X: Any
    c: Array
    alpha: float
    manifold: Array | None = None
    embedding: Any = None
    root_x: Any = None
    root_y: Any = None
    robust: bool = True

    def row_weights(self, residual: Array | None) -> Array:
        """c²H_n (r,) at a residual XW − V; at the start (None) H_n is I, and always where the loss is squared."""
        return self.c**2 if residual is None or not self.robust else row_sparse.weights(residual, self.c)

    def feature_weights(self, W: Array | None) -> Array:
        """α²H_M (d,) at W; at the start (None) H_M is I."""
        d = self.X.shape[1]
        return np.full(d, self.alpha**2) if W is None else row_sparse.weights(W, self.alpha)

    def objective(self, W: Array, residual: Array, V: Array) -> float:
        """(6.17) or (6.43); without its last term where there is no embedding."""
        squares = self.c**2 * sums.row_squares(residual)
        value = np.sum(np.sqrt(squares) if self.robust else squares) + self.alpha * row_sparse.norm(W)
        if self.manifold is not None:
            value += np.sum(W * (self.manifold @ W))
        if self.embedding is not None:
            value += np.sum(V * (self.embedding @ V))
        return float(value)


Find = Callable[[Array, Array, Array], tuple[Array, Array]]
"""From the weights of rows and of features, and W, to the next W and V."""


def reweighted(problem: Problem, find: Find, start: Array, tol: float, max_iter: int) -> tuple[Array, Array, Array]:
    """W and V by iterative reweighting, and the objectives."""
    W, V = start, np.zeros((0, 0))
    h, penalty = problem.row_weights(None), problem.feature_weights(None)

    def step() -> float:
        nonlocal W, V, h, penalty
        W, V = find(h, penalty, W)
        residual = problem.X @ W - V
        h, penalty = problem.row_weights(residual), problem.feature_weights(W)
        return problem.objective(W, residual, V)

    objective = row_sparse.descend(step, tol, max_iter)
    return W, V, objective


def without_embedding(problem: Problem, Y: Array, tol: float, max_iter: int) -> tuple[Array, Array]:
    """W (d×K) and the objectives, with V = Y (r×K) as it is: a convex problem."""
    free = replace(problem, embedding=None)
    regression = row_sparse.Penalised(free.X, free.manifold)

    def find(h: Array, penalty: Array, W: Array) -> tuple[Array, Array]:
        return regression.solve(h, penalty, Y), Y

    W, _, objective = reweighted(free, find, np.zeros((0, 0)), tol, max_iter)
    return W, objective


def alternating(problem: Problem, start: Array, tol: float, max_iter: int) -> tuple[Array, Array, Array]:
    """Algorithm 13 from W = `start` (d×k): W, V (r×k) and the objectives."""
    regression = row_sparse.Penalised(problem.X, problem.manifold)

    def find(h: Array, penalty: Array, W: Array) -> tuple[Array, Array]:
        V = row_sparse.graph_solver(h, problem.embedding)(h[:, None] * (problem.X @ W))
        return regression.solve(h, penalty, V), V

    return reweighted(problem, find, start, tol, max_iter)


def constrained(problem: Problem, k: int, variant: str, tol: float, max_iter: int) -> tuple[Array, Array, Array]:
    """Algorithm 12: W (d×k), V (r×k) and the objectives; fewer columns where the rank of E is below k.

    Raises
    ------
    ValueError
        When E is 0: no two rows are near enough for the graphs' weights.
    """
    scaled_by = "constraint" if variant == "text" else "objective"
    if not (problem.root_y.any() or abs(problem.root_x).max() > 0):
        raise ValueError(
            "no two rows are near enough for a weight in either graph (or there is one sample only), so that there is "
            "no constraint: take a larger sigma, or the alternating algorithm"
        )
    fixed = problem.embedding, problem.root_x, sp.diags_array(problem.root_y), k, scaled_by

    def find(h: Array, penalty: Array, W: Array) -> tuple[Array, Array]:
        return row_sparse.coupled_eigenvectors(problem.X, None, h, penalty, problem.manifold, *fixed)[1:]

    return reweighted(problem, find, np.zeros((0, 0)), tol, max_iter)


def _extended(of_labels: Any, of_rows: Any, n: int) -> Any:
    """The graph (N×N) of labelled rows by their labels, and of all other pairs by their features; (6.42)."""
    return sp.csr_array(sp.block_array([[of_labels, of_rows[:n, n:]], [of_rows[n:, :n], of_rows[n:, n:]]]))
