"""The selector `mlfs` of features for each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mlcdr.methods.constraints import NOT_NEGATIVE, SIZE, one_of, parameter
from mlcdr.methods.feature_space.informative import discrete_variables, label_information
from mlcdr.methods.local_features.selector import Columns, LocalSelector
from mlcdr.numerics.discretise import RULES
from mlcdr.numerics.forward_selection import forward_selection, most_relevant
from mlcdr.numerics.information import conditional_on_each, joint_entropy
from mlcdr.numerics.linalg import n_kept
from mlcdr.numerics.moments import Moments

Array = NDArray[np.float64]

# Up to so many features, what each adds to each is computed at once.
_TABULATED = 4096
# The author's program chooses among so many features, and does not choose where more are to be selected.
_PROGRAM_MOST = 100


class LocalMLFS(LocalSelector):
    """Multi-label feature selection for one label (local MLFS): relevance, the parents' labels, and redundancy.

    Source: Sun 2017, (4.41) and Algorithm 3.

    Greedy choice, for a label Y_j with parents Pa_j (labels), of features X_θ: the next is the X_m that maximises

        I(X_m; Y_j) + β Σ_(k ∈ Pa_j) I(Y_j; Y_k | X_m) + γ Σ_(n ∈ θ) I(Y_j; X_n | X_m)        (4.41)

    with information in bits, of features made discrete (`numerics.discretise`); ties go to the feature that comes
    first. Cost for a label: about d² look-ups of counts and, for sparse rows, the non-zeros of XᵀX; where few of very
    many features are selected, dM_s.

    The author's program (`variant: published_code`) discretises features differently, chooses the first feature by
    I(X_m; Y_j) alone, considers only the 100 features with the largest I(X_m; Y_j), and where 100 or more are to be
    selected takes those with the largest, without (4.41).

    Parameters
    ----------
    n_features : int, float or None
        M_s: a number of features, a share p of the d features (max(1, ⌊pd⌋); the program rounds), or all.
    beta, gamma : float or None
        The weights. None: 1/|Pa_j| and 1/|X_θ|.
    variant : {"text", "published_code"}
        The text, or the author's program.
    discretise : {"mean_std", "published_code", "equal_frequency", "none"} or None
        How features are made discrete. None: as the variant does ("mean_std" in the text).
    """

    n_features: float | int | None = parameter(0.8, SIZE)
    beta: float | None = parameter(None, [*NOT_NEGATIVE, None])
    gamma: float | None = parameter(None, [*NOT_NEGATIVE, None])
    variant: str = parameter("text", one_of("text", "published_code"))
    discretise: str | None = parameter(None, [*one_of(*RULES, "none"), None])

    def fit(self, X: Any, Y: Any) -> Self:
        """Keep features X (n×d, dense or CSR) and label sets Y (n×K of {0, 1}, dense or CSR)."""
        return self.fit_moments(Moments.from_arrays(*self._checked_rows(X, Y)))

    def fit_moments(self, moments: Moments) -> Self:
        """Keep a training set, which must have its rows; what is computed is kept with it."""
        self._moments = moments
        return self

    def __getstate__(self) -> dict[str, Any]:
        base: Any = super()  # scikit-learn's, which has no types
        state: dict[str, Any] = dict(base.__getstate__())
        if "_moments" in state:  # they hold functions, which no pickle can
            state["_moments"] = self._moments.rows()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_moments" in state:
            state = {**state, "_moments": Moments.from_arrays(*state["_moments"])}
        base: Any = super()
        base.__setstate__(state)

    def beside(self, label: int, parents: Sequence[int]) -> Columns:
        """The features chosen for a label with these parents, ascending; for a label that is constant, the first."""
        if not self._live(label):
            return np.zeros(1, dtype=np.intp)
        return np.sort(self.select(label, parents))

    def alone(self, label: int) -> Columns:
        """The features chosen for a label without parents, ascending."""
        return self.beside(label, ())

    def select(self, label: int, parents: Sequence[int] = ()) -> Columns:
        """The features chosen for a label with these parents, in the order of choice.

        All numbers of features share one choice, kept with the training set.
        """
        moments = self._moments
        rounding = "nearest" if self.variant == "published_code" else "floor"
        n = n_kept(self.n_features, moments.n_features, rounding, "n_features")
        tabulated = moments.n_features <= _TABULATED
        by_relevance = self.variant == "published_code" and n >= _PROGRAM_MOST
        most = moments.n_features if tabulated or by_relevance else n
        key = ("local MLFS", self.rule, self.beta, self.gamma, self.variant, by_relevance, most)
        order = moments.once(
            (*key, label, tuple(parents)), lambda: self._ranked(moments, label, list(parents), most, by_relevance)
        )
        return np.array(order[:n], dtype=np.intp)

    @property
    def rule(self) -> str:
        """How features are made discrete."""
        if self.discretise is not None:
            return self.discretise
        return "published_code" if self.variant == "published_code" else "mean_std"

    def _live(self, label: int) -> bool:
        counts = discrete_variables(self._moments, self.rule)[1].counts
        return bool(0 < counts[label] < self._moments.n)

    def _ranked(self, moments: Moments, label: int, parents: list[int], most: int, by_relevance: bool) -> list[int]:
        X, Y = discrete_variables(moments, self.rule)
        y = Y.take([label])
        informative = label_information(moments, self.rule)[:, label]
        if by_relevance:
            return most_relevant(informative, most)
        candidates = np.arange(len(X))
        if self.variant == "published_code":
            candidates = np.sort(most_relevant(informative, _PROGRAM_MOST))
            X = X.take(candidates)
        joint = None
        if len(X) <= _TABULATED:
            whole = len(candidates) == moments.n_features
            joint = moments.once(("joint entropy", self.rule), lambda: joint_entropy(X, X)) if whole else None
            table = conditional_on_each(X, y, X, joint)
        relevance = informative[candidates]
        if parents:
            on_parents = conditional_on_each(Y.take(parents), y, X).sum(axis=0)
            relevance = relevance + on_parents * (1.0 / len(parents) if self.beta is None else self.beta)

        def related(chosen: int) -> Array:
            if len(X) <= _TABULATED:
                return table[chosen]
            return conditional_on_each(X.take([chosen]), y, X)[0]

        first_by = informative[candidates] if self.variant == "published_code" else None
        return candidates[forward_selection(most, relevance, related, self.gamma, first_by)].tolist()
