"""The LASSO of several targets by the alternating direction method of multipliers (ADMM).

Source: Boyd et al. 2011; Sun 2017, (6.5)-(6.9) and Algorithm 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from mlcdr.numerics.sums import dense

Array = NDArray[np.float64]


def lasso(
    X: Any, Z: Array, gamma: float, rho: float = 1.0, max_iter: int = 1000, tol: float = 1e-4, gram: Array | None = None
) -> tuple[Array, int]:
    """The V (d×q) that minimises ½‖XV − Z‖² + γ‖V‖₁, exact zeros in it, and the iterations it took.

    W = (XᵀX + ρI)⁻¹(XᵀZ + ρ(V − G)), V = soft(W + G, γ/ρ), G ← G + W − V, from V = G = 0 (G is Λ/ρ), until ‖W − V‖ and
    ρ‖V − V_before‖ are no larger than tol·max(1, ‖V‖), or `max_iter` times. There is no intercept and nothing is
    centred. Cost: d³/3, or nd² + n³/3 where d > n, and d²q (2ndq) an iteration; X (n×d, dense or CSR) stays sparse.

    Parameters
    ----------
    gram : array of shape (d, d), or None
        XᵀX, if it is known; it is looked at where d ≤ n only.
    """
    n, d = X.shape
    target = np.asarray(X.T @ Z)
    if d <= n:
        penalised = np.array(dense(X.T @ X) if gram is None else gram)
        penalised[np.diag_indices(d)] += rho
        factor = cho_factor(penalised, lower=True, overwrite_a=True, check_finite=False)

        def solve(q: Array) -> Array:
            return cho_solve(factor, q, check_finite=False)
    else:
        outer = dense(X @ X.T) / rho
        outer[np.diag_indices(n)] += 1.0
        factor = cho_factor(outer, lower=True, overwrite_a=True, check_finite=False)

        def solve(q: Array) -> Array:
            return q / rho - X.T @ cho_solve(factor, X @ q, check_finite=False) / rho**2

    V, G = np.zeros_like(target), np.zeros_like(target)
    iterations = 0
    while iterations < max_iter:
        iterations += 1
        before = V
        W = solve(target + rho * (V - G))
        shifted = W + G
        V = np.sign(shifted) * np.maximum(np.abs(shifted) - gamma / rho, 0.0)
        G = shifted - V
        small = tol * max(1.0, float(np.linalg.norm(V)))
        if np.linalg.norm(W - V) <= small and rho * np.linalg.norm(V - before) <= small:
            break
    return V, iterations
