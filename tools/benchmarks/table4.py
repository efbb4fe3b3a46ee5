"""Table 4 of Pacharawongsakda & Theeramunkong 2012: how learning time grows, as predicted and as measured, in one run.

    python -m tools.benchmarks.table4 [--repeats N]

The paper gives the cost of learning in units of f(n, p), one regression on n objects and p features:

    BR      L f(N, M)                           PLST    K f(N, M)
    BR+     L f(N, M) + L f(N, M + L − 1)       DDSR    K f(N, K)
    CC      L f(N, M + L/2)                     IDSR    K f(N, D)

with L labels, K dimensions of the code and D of the features. Least squares from the moments of the rows is
f(n, p) = np² + p³/3 here (the paper's own, 4np² + n³ + 2np, is of R's), so that each formula predicts how the time
grows if N, the labels or the features alone are doubled. That growth is measured on random data, every output being
fitted by itself (the learner `separate`), in seconds of one processor, as the least of some repeats.

A growth exponent is log₂ of the ratio of times. Measured ones also hold what the formulas leave out as trivial: the
decomposition of the spaces, and the constant cost of a call, which dominates where the work is small (DDSR's always).
Prints both; asserts nothing, since times are of a machine and a moment.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from mlcdr.methods.chains.binary_relevance import BinaryRelevance
from mlcdr.methods.chains.br_plus import BRPlus
from mlcdr.methods.chains.classifier_chain import ClassifierChain
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.dual_space.ddsr import DDSR
from mlcdr.methods.dual_space.idsr import IDSR
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.separate import Separate
from mlcdr.numerics.moments import Moments
from mlcdr.tables.sheet import make_sheet
from tools.benchmarks.measuring import least


@dataclass(frozen=True)
class Problem:
    """N objects, M features, L labels; the shares of L that a code keeps (K) and of M that IDSR's features do (D)."""

    n: int = 2000
    m: int = 200
    labels: int = 40
    share_k: float = 0.5
    share_d: float = 0.5

    @property
    def k(self) -> int:
        """K."""
        return round(self.share_k * self.labels)

    @property
    def d(self) -> int:
        """D."""
        return round(self.share_d * self.m)


def regression(n: float, p: float) -> float:
    """f(n, p): the products of a least-squares regression from moments."""
    return n * p**2 + p**3 / 3


PREDICTED: dict[str, Callable[[Problem], float]] = {
    "BR": lambda q: q.labels * regression(q.n, q.m),
    "BR+": lambda q: q.labels * (regression(q.n, q.m) + regression(q.n, q.m + q.labels - 1)),
    "CC": lambda q: q.labels * regression(q.n, q.m + q.labels / 2),
    "PLST": lambda q: q.k * regression(q.n, q.m),
    "DDSR": lambda q: q.k * regression(q.n, q.k),
    "IDSR": lambda q: q.k * regression(q.n, q.d),
}


def estimator(name: str, problem: Problem) -> ComposedClassifier:
    """The method, every output fitted by itself."""
    one = Separate()
    if name in ("BR", "BR+", "CC"):
        chain = {"BR": BinaryRelevance, "BR+": BRPlus, "CC": ClassifierChain}[name]
        return ComposedClassifier(chain(one))
    if name == "PLST":
        return ComposedClassifier(one, label_space=PLST(problem.k))
    space = DDSR(problem.k) if name == "DDSR" else IDSR(n_features=problem.d, n_labels=problem.k)
    return ComposedClassifier(one, dual_space=space)


def seconds(name: str, problem: Problem, repeats: int) -> float:
    """The least of `repeats` fits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(problem.n, problem.m))
    Y = (X @ rng.normal(size=(problem.m, problem.labels)) + rng.normal(size=(problem.n, problem.labels)) > 0).astype(
        np.uint8
    )
    return least(lambda: estimator(name, problem).fit_moments(Moments.from_arrays(X, Y)), repeats)


def doubled(problem: Problem) -> dict[str, Problem]:
    """The problem with one size doubled: with the labels K is doubled, with the features D."""
    return {
        "N": replace(problem, n=2 * problem.n),
        "M (and D)": replace(problem, m=2 * problem.m),
        "L (and K)": replace(problem, labels=2 * problem.labels),
        "K alone": replace(problem, share_k=2 * problem.share_k),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Growth of learning times: predicted beside measured.")
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    problem = Problem()
    rows = []
    with threadpool_limits(1):
        for name, cost in PREDICTED.items():
            base = seconds(name, problem, repeats)
            cells = [name, f"{base:.3f}", f"{base / cost(problem) * 1e9:.2f}"]
            for larger in doubled(problem).values():
                predicted = math.log2(cost(larger) / cost(problem))
                measured = math.log2(seconds(name, larger, repeats) / base)
                cells.append(f"{predicted:.2f} / {measured:.2f}")
            rows.append(cells)
    header = ("Method", "seconds", "ns a product", *doubled(problem))
    caption = (
        f"Growth exponents of learning time, predicted / measured, from N = {problem.n}, M = {problem.m}, "
        f"L = {problem.labels}, K = {problem.k}, D = {problem.d}, one size doubled at a time"
    )
    print(make_sheet(caption, header, rows, 1).terminal(120))


if __name__ == "__main__":
    main()
