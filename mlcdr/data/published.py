"""Reading of the catalogue's MATLAB files: `data` (n×d) and `target` (K×n), with the names of the catalogue."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcdr.data.files import sha256
from mlcdr.data.labels import read_label_xml
from mlcdr.data.matlab import read_matrices
from mlcdr.data.sources import Entry, find
from mlcdr.data.table import Matrix, state_facts
from mlcdr.data.text import fail


def find_published(name: str, path: Path) -> Entry | None:
    """The catalogue's entry `name`, if `path` is a MATLAB file of it (the same SHA-256); else None."""
    known = find(name)
    if known is None or known.matlab is None or path.suffix.lower() != ".mat":
        return None
    return known if sha256(path) in {file.sha256 for file in known.files} else None


def read_published(path: Path, known: Entry, xml: Path | None) -> tuple[Matrix, Matrix, dict[str, Any]]:
    """Read X, Y and the facts of a `Dataset` from a published MATLAB file.

    Parameters
    ----------
    path : Path
        A file for which `find_published` returned an entry.
    known : Entry
        That entry.
    xml : Path or None
        The XML with the label names, for an entry without label names.

    Raises
    ------
    DataError
        When the file cannot be read, or does not fit the entry.
    """
    said = known.matlab
    assert said is not None
    names = [
        f"{part}{what}" for part in (("train_", "test_") if said.n_train else ("",)) for what in ("data", "target")
    ]
    found = [sparse.csr_array(each) for each in read_matrices(path, names)]
    both = sparse.vstack([sparse.hstack([X, Y.T]) for X, Y in zip(found[::2], found[1::2], strict=True)], format="csr")
    d, K = known.statistics["n_features"], known.statistics["n_labels"]
    if both.shape != (known.statistics["n_instances"], d + K):
        fail(path, f"[data, target'] is {both.shape[0]}x{both.shape[1]}, which is not {known.name}")
    X, Y = (both[:, K:], both[:, :K]) if said.leading_labels else (both[:, :d], both[:, d:])
    if not np.isin(Y.data, (-1, 1)).all():
        fail(path, f"a label of {known.name} is neither 1 nor 0 (or -1)")
    Y.data = np.maximum(Y.data, 0)
    Y.eliminate_zeros()
    if known.statistics["format"] == "sparse":
        for matrix in (X, Y):
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
            matrix.sort_indices()
        Y = Y.astype(np.int8)
    else:
        X, Y = X.toarray(), Y.toarray().astype(np.uint8)
    labels = _count_on(said.labels, K) if said.labels else tuple(name for name, _ in read_label_xml(xml)) if xml else ()
    if len(labels) != K:
        fail(xml or path, f"{len(labels)} label names for {K} labels")
    binary = bool(np.isin(found[0].data, (0, 1)).all())
    facts = state_facts(_count_on(said.features, d), labels, d, d if binary else 0, n_train=said.n_train)
    return X, Y, facts


def _count_on(names: str | tuple[str, ...], n: int) -> tuple[str, ...]:
    """The n names: `names`, or, if only the first is given, those that continue its number."""
    if isinstance(names, tuple):
        return names
    match = re.fullmatch(r"(\D*)(\d+)", names)
    assert match is not None
    return tuple(f"{match[1]}{int(match[2]) + j}" for j in range(n))
