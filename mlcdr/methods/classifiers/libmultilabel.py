"""The learner `libmultilabel`."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.errors import UserError
from mlcdr.methods.constraints import COUNT, POSITIVE, SEED, learned, one_of, parameter
from mlcdr.methods.foreign import seeded_generators
from mlcdr.methods.multilabel import Array, MultilabelClassifier


class LibMultiLabelLinear(MultilabelClassifier):
    """LibMultiLabel's linear methods, on LIBLINEAR, by the package libmultilabel (optional extra `libmultilabel`).

    Source: Parambath, Usunier & Grandvalet 2014, "Optimizing F-measures by cost-sensitive classification"; Khandagale,
    Xiao & Babbar 2020, "Bonsai: diverse and shallow trees for extreme multi-label classification".

    A linear classifier for each label, with or without misclassification costs of its own; or a tree of labels.

    Squared hinge loss (LIBLINEAR's solver 2, which is deterministic), a constant feature of 1. Its `thresholding` is
    left out: version 0.10.0 fails there with today's SciPy. Cost: K linear classifiers; tens of times as many for the
    cost-sensitive ones, which choose the costs by cross-validation.

    Parameters
    ----------
    technique : {"1vsrest", "cost_sensitive", "cost_sensitive_micro", "tree"}
        "1vsrest": each label alone. "cost_sensitive" (or "…_micro"): the positive rows get the weight with the best
        macro (or micro) F1 in cross-validation. "tree": Bonsai's, for labels by the thousand, with probabilities.
    C : float
        The weight of the loss against the penalty.
    arity : int
        Of a tree: the largest number of clusters that labels are divided into; with no more labels than this, no tree.
    beam_width : int
        Of a tree: how many nodes of each level are followed in prediction.
    random_state : int or None
        Seed of the folds, and of the clusters of a tree.

    Attributes
    ----------
    model_ : object
        The package's fitted model.
    """

    model_: Any = learned()

    technique: str = parameter("1vsrest", one_of("1vsrest", "cost_sensitive", "cost_sensitive_micro", "tree"))
    C: float = parameter(1.0, POSITIVE)
    arity: int = parameter(100, COUNT)
    beam_width: int = parameter(10, COUNT)
    random_state: Any = parameter(None, SEED)

    def _validate_params(self) -> None:
        _load()
        super()._validate_params()

    def _fit_rows(self, X: Any, Y: Array) -> None:
        train = getattr(_load(), f"train_{self.technique}")
        of_tree = {"K": self.arity} if self.technique == "tree" else {}
        with seeded_generators(self.random_state), contextlib.redirect_stdout(io.StringIO()):
            self.model_ = train(
                sp.csr_matrix(Y, dtype=np.int64),
                sp.csr_matrix(X, dtype=np.float64),
                options=f"-s 2 -B 1 -m 1 -c {self.C!r}",
                verbose=False,
                **of_tree,
            )

    def _scores(self, X: Any) -> Array:
        X = sp.csr_matrix(X)
        if self.technique == "tree":  # probabilities
            return np.asarray(self.model_.predict_values(X, beam_width=self.beam_width)) - 0.5
        return np.asarray(self.model_.predict_values(X))


def _load() -> Any:
    try:
        import libmultilabel.linear
    except ImportError:
        raise UserError(
            "libmultilabel needs libmultilabel, which is not installed: pip install 'mlcdr[libmultilabel]'"
        ) from None
    return libmultilabel.linear
