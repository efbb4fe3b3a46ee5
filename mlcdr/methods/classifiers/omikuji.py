"""The learner `omikuji`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcdr.errors import UserError
from mlcdr.methods.constraints import COUNT, NOT_NEGATIVE, POSITIVE, learned, one_of, parameter
from mlcdr.methods.multilabel import Array, MultilabelClassifier


class Omikuji(MultilabelClassifier):
    """Trees of labels with linear classifiers in their nodes, by the package omikuji (optional extra `omikuji`).

    Source: Prabhu et al. 2018, "Parabel: partitioned label trees for extreme classification with application to dynamic
    search advertising"; Khandagale, Xiao & Babbar 2020, "Bonsai: diverse and shallow trees for extreme multi-label
    classification".

    For labels by the thousand: each tree divides them by k-means of their centroids, down to leaves of a few.

    A label's score is the mean over the trees of the product of the outputs of the classifiers on the path to it,
    between 0 and 1; 0 for a label that the beam search leaves out. A label is predicted where its score is above ½. The
    score is not a probability but is meant for ranking; a `threshold` can set another cut. omikuji takes no seed: two
    fits to the same rows give slightly different scores. Cost: about n_trees·log K linear models a row.

    Parameters
    ----------
    n_trees : int
        The number of trees.
    arity : int
        Into how many clusters labels are divided; 2 is Parabel's, 100 Bonsai's (which are not of equal size).
    min_branch_size : int
        Nodes with fewer labels than this are not divided; if it exceeds K, each label has a classifier of its own.
    max_depth : int
        The largest depth of a tree.
    loss : {"hinge", "log"}
        Of the linear classifiers: squared hinge, or logistic.
    C : float
        The weight of the loss against the penalty.
    weight_threshold : float
        Weights smaller than this are set to 0.
    beam_size : int
        How many nodes of each level are followed in prediction.

    Attributes
    ----------
    files_ : dict
        The trees as omikuji saves them: a file's name → its content.
    """

    files_: dict[str, bytes] = learned()

    n_trees: int = parameter(3, COUNT)
    arity: int = parameter(2, COUNT)
    min_branch_size: int = parameter(100, COUNT)
    max_depth: int = parameter(20, COUNT)
    loss: str = parameter("hinge", one_of("hinge", "log"))
    C: float = parameter(1.0, POSITIVE)
    weight_threshold: float = parameter(0.1, NOT_NEGATIVE)
    beam_size: int = parameter(10, COUNT)

    def _validate_params(self) -> None:
        _load()
        super()._validate_params()

    def _fit_rows(self, X: Any, Y: Array) -> None:
        omikuji, self._n_labels = _load(), Y.shape[1]
        options = omikuji.Model.default_hyper_param()
        options.n_trees, options.min_branch_size, options.max_depth = self.n_trees, self.min_branch_size, self.max_depth
        options.cluster_k, options.cluster_balanced = self.arity, self.arity == 2
        options.linear_loss_type = getattr(omikuji.LossType, self.loss.upper()).value
        options.linear_c, options.linear_weight_threshold = self.C, self.weight_threshold
        with tempfile.TemporaryDirectory() as folder, _silent():
            _write(Path(folder, "rows.txt"), X, Y)
            model = omikuji.Model.train_on_data(str(Path(folder, "rows.txt")), options, n_threads=1)
            model.save(str(Path(folder, "model")))
            self.files_ = {path.name: path.read_bytes() for path in sorted(Path(folder, "model").iterdir())}

    def _scores(self, X: Any) -> Array:
        omikuji, X = _load(), sp.csr_matrix(X)
        scores = np.zeros((X.shape[0], self._n_labels))
        with tempfile.TemporaryDirectory() as folder, _silent():
            for name, content in self.files_.items():
                Path(folder, name).write_bytes(content)
            model = omikuji.Model.load(folder)
            model.init_prediction_thread_pool(1)
            for i, row in enumerate(scores):
                stored = slice(X.indptr[i], X.indptr[i + 1])
                pairs = list(zip(X.indices[stored].tolist(), X.data[stored].tolist(), strict=True))
                for label, score in model.predict(pairs, self.beam_size, self._n_labels):
                    row[label] = score
        return scores - 0.5


def _load() -> Any:
    try:
        import omikuji
    except ImportError:
        raise UserError("omikuji needs omikuji, which is not installed: pip install 'mlcdr[omikuji]'") from None
    return omikuji


def _write(path: Path, X: Any, Y: Array) -> None:
    """A training set in the form of the Extreme Classification Repository, which is all that omikuji reads."""
    X = sp.csr_matrix(X)
    with path.open("w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for i, row in enumerate(Y):
            stored = slice(X.indptr[i], X.indptr[i + 1])
            features = " ".join(f"{j}:{v:.9g}" for j, v in zip(X.indices[stored], X.data[stored], strict=True))
            file.write(f"{','.join(map(str, np.flatnonzero(row)))} {features}\n")


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress what omikuji's compiled code writes to the terminal: its log and a progress bar."""
    kept = {number: os.dup(number) for number in (1, 2)}
    try:
        with Path(os.devnull).open("w") as sink:
            for number in kept:
                os.dup2(sink.fileno(), number)
        yield
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
