"""Synthetic data sets: points in hypercubes, one per label, with irrelevant and redundant features and label noise.

Source: Tomás, Spolaôr, Cherman & Monard 2014, "A framework to generate synthetic multi-label datasets" (Mldatagen,
hypercubes), as Sun 2017, section 3.3.1, used it. In a config:

    datasets: [{synthetic: {n_instances: 500, n_features: 40, n_labels: 10, seed: 1}}]

is the data set `data40-10`; `{NAME: {synthetic: {...}}}` gives it another name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from mlcdr.errors import DataError, suggest_name
from mlcdr.lazy_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"

_SIZES = ("n_instances", "n_features", "n_labels")

# Each option described in one line.
OPTIONS = {
    "n_instances": "Number of instances.",
    "n_features": "Number of features of all three kinds.",
    "n_labels": "Number of labels, each a hypercube among the relevant features.",
    "n_irrelevant": "Number of features that are random; default: a quarter of all.",
    "n_redundant": "Number of features that are copies of relevant ones; default: a quarter of all.",
    "noise": "The probability that a label of an instance is flipped.",
    "smallest": "The least half-edge of a hypercube; default: (⌊K/10⌋ + 1)/K for K labels.",
    "largest": "The largest half-edge; default: 0.8.",
    "seed": "The seed of the random numbers.",
}


MAX_VALUES = 10**9
"""The largest number of values (features and labels of all instances) that are generated: 8 GB."""


@dataclass(frozen=True)
class Synthetic:
    """The options of a synthetic data set.

    d_1 features are relevant: the coordinates of points in [−1, 1]^d_1. Label l is a hypercube inside it; its half-edge
    e_l is uniform on [smallest, largest], its centre uniform where it fits. n e_l / Σe instances (rounded so that the
    sum is n) are drawn uniformly from it. An instance has each label whose hypercube contains it. Then each label of
    each instance is flipped with probability `noise`. Irrelevant features are uniform on [−1, 1]; redundant ones are
    copies of relevant ones, each of which is copied once before any is copied again. Columns: relevant, irrelevant,
    redundant.

    Attributes
    ----------
    n_instances, n_features, n_labels : int
        n, d, K.
    n_irrelevant, n_redundant : int or None
        Number of these features; None: a quarter (⌊d/4⌋), so that relevant, irrelevant, redundant are about 2:1:1.
    noise : float
        The probability that a label is flipped.
    smallest, largest : float or None
        The range of the half-edges. None: as in Mldatagen, (⌊K/10⌋ + 1)/K (at most the largest) and 0.8.
    seed : int
        The seed of NumPy's default generator.
    """

    n_instances: int
    n_features: int
    n_labels: int
    n_irrelevant: int | None = None
    n_redundant: int | None = None
    noise: float = 0.02
    smallest: float | None = None
    largest: float | None = None
    seed: int = 0

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Synthetic:
        """Make one from the options of a config.

        Raises
        ------
        DataError
            An option is unknown, missing or impossible; the message names the first that is wrong.
        """
        for key in options:
            if key not in OPTIONS:
                hint = suggest_name(str(key), OPTIONS)
                raise DataError(f"synthetic: unknown option {key!r}{hint} (known: {', '.join(OPTIONS)})")
        for key in _SIZES:
            if key not in options:
                raise DataError(f"synthetic: {key} is missing")
        for key, value in options.items():
            if value is not None or key not in ("n_irrelevant", "n_redundant", "smallest", "largest"):
                _check_number(key, value)
        made = cls(**options)
        values = max(made.n_instances, made.n_labels) * (made.n_features + made.n_labels)  # centres: K×d_1
        if values > MAX_VALUES:
            raise DataError(f"synthetic: {values:,} values would be generated; at most {MAX_VALUES:,} are allowed")
        if made.n_relevant < 1:
            raise DataError(f"synthetic: none of the {made.n_features} features is left to be relevant")
        low, high = made.edges
        if not 0 < low <= high:
            raise DataError(f"synthetic: half-edges must be 0 < smallest ≤ largest, found {low:g} to {high:g}")
        return made

    @property
    def name(self) -> str:
        """The name of such a data set in the thesis: data40-10."""
        return f"data{self.n_features}-{self.n_labels}"

    @property
    def irrelevant(self) -> int:
        """The number of irrelevant features."""
        return self.n_features // 4 if self.n_irrelevant is None else self.n_irrelevant

    @property
    def redundant(self) -> int:
        """The number of redundant features."""
        return self.n_features // 4 if self.n_redundant is None else self.n_redundant

    @property
    def n_relevant(self) -> int:
        """The number d_1 of relevant features."""
        return self.n_features - self.irrelevant - self.redundant

    @property
    def edges(self) -> tuple[float, float]:
        """The smallest and the largest half-edge."""
        high = 0.8 if self.largest is None else float(self.largest)
        if self.smallest is not None:
            return float(self.smallest), high
        return min((self.n_labels // 10 + 1) / self.n_labels, high), high

    def generate(self) -> tuple[Array, NDArray[np.uint8]]:
        """Generate X (n×d) and Y (n×K)."""
        rng = np.random.default_rng(self.seed)
        n = self.n_instances
        d = self.n_relevant
        edges = rng.uniform(*self.edges, self.n_labels)
        centres = rng.uniform(-1, 1, (self.n_labels, d)) * (1 - edges)[:, None]
        home = np.repeat(np.arange(self.n_labels), shares(edges, n))[rng.permutation(n)]
        relevant = centres[home] + rng.uniform(-1, 1, (n, d)) * edges[home, None]
        inside = []
        for centre, edge in zip(centres, edges, strict=True):
            inside.append((np.abs(relevant - centre) <= edge).all(axis=1))
        labels = np.column_stack(inside)
        labels[np.arange(n), home] = True  # already so, except for rounding at a face
        labels ^= rng.random(labels.shape) < self.noise
        irrelevant = rng.uniform(-1, 1, (n, self.irrelevant))
        rounds = -(-self.redundant // d)
        drawn = [np.arange(0), *(rng.permutation(d) for _ in range(rounds))]
        copied = np.concatenate(drawn)[: self.redundant]
        return np.hstack([relevant, irrelevant, relevant[:, copied]]), labels.astype(np.uint8)

    def feature_names(self) -> tuple[str, ...]:
        """Names of X's columns."""
        names: list[str] = []
        for kind in ("relevant", "irrelevant", "redundant"):
            count = self.n_relevant if kind == "relevant" else getattr(self, kind)
            names += [f"{kind}{i + 1}" for i in range(count)]
        return tuple(names)

    def describe(self) -> str:
        """The options as text."""
        said = [f"{key} {value}" for key, value in asdict(self).items() if value is not None]
        return f"synthetic: {', '.join(said)}"


def _check_number(key: str, value: Any) -> None:
    whole = key.startswith("n_") or key == "seed"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise DataError(f"synthetic: {key} must be a {'whole ' if whole else ''}number, found {value!r}")
    least = 1 if key in _SIZES else 0
    if whole and value < least:
        raise DataError(f"synthetic: {key} must be {least} or more, found {value}")
    if not whole and not 0 <= value <= 1:
        raise DataError(f"synthetic: {key} must be between 0 and 1, found {value}")


def shares(weights: Array, n: int) -> NDArray[np.intp]:
    """Whole numbers with sum n, in proportion to the weights: the largest remainders rounded up, the others down."""
    exact = n * weights / weights.sum()
    counts = np.floor(exact).astype(np.intp)
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
    return counts


def checksum(X: Any, Y: Any) -> str:
    """SHA-256 (hex) of the shapes and contents of X (dense, CSR or texts) and Y (dense or CSR)."""
    from scipy import sparse  # here: not needed to check a config

    from mlcdr.data.texts import is_texts, pack

    digest = hashlib.sha256(f"{X.shape} {Y.shape}\n".encode())
    for part in (X, Y):
        pieces: tuple[Any, ...] = (part,)
        if sparse.issparse(part):
            pieces = (part.data, part.indices, part.indptr)
        elif is_texts(part):
            pieces = pack(part)
        for piece in pieces:
            digest.update(np.ascontiguousarray(piece).data)  # not a copy: it may be large
    return digest.hexdigest()
