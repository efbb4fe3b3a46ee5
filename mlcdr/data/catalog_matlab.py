"""Reading of the catalogue's MATLAB files: `data` (n×d) and `target` (K×n), with the names of the catalogue."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from mlcdr.data.arrays import Arrays
from mlcdr.data.content import Dataset
from mlcdr.data.files import sha256
from mlcdr.data.label_xml import read_label_xml
from mlcdr.data.lines import fail
from mlcdr.data.matlab import read_matrices
from mlcdr.data.sources import Entry, find


def find_matlab_entry(name: str, path: Path) -> Entry | None:
    """The catalogue's entry `name`, if `path` is a MATLAB file of it (the same SHA-256); else None."""
    known = find(name)
    if known is None or known.matlab is None or path.suffix.lower() != ".mat":
        return None
    return known if sha256(path) in {file.sha256 for file in known.files} else None


def read_matlab_entry(path: Path, known: Entry, xml: Path | None) -> Dataset:
    """Read a MATLAB file of the catalogue; `n_train` is that of its own division.

    Parameters
    ----------
    path : Path
        A file for which `find_matlab_entry` returned an entry.
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
    names = ["data", "target"]
    if said.n_train:
        names = ["train_data", "train_target", "test_data", "test_target"]
    found = [sparse.csr_array(each) for each in read_matrices(path, names)]
    blocks = []
    for X, Y in zip(found[::2], found[1::2], strict=True):
        blocks.append(sparse.hstack([X, Y.T]))
    both = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    d = known.statistics["n_features"]
    K = known.statistics["n_labels"]
    if both.shape != (known.statistics["n_instances"], d + K):
        fail(path, f"[data, target'] is {both.shape[0]}x{both.shape[1]}, which is not {known.name}")
    X, Y = both[:, :d], both[:, d:]
    if said.leading_labels:
        X, Y = both[:, K:], both[:, :K]
    Y = Y.maximum(0)  # some have -1 for 0
    if known.statistics["format"] == "dense":
        X = X.toarray()
    labels: tuple[str, ...] = ()
    if said.labels:
        labels = _count_on(said.labels, K)
    elif xml:
        labels = tuple(name for name, _ in read_label_xml(xml))
    if len(labels) != K:
        fail(xml or path, f"{len(labels)} label names for {K} labels")
    features = _count_on(said.features, d)
    dataset = Arrays.of(path, X, Y, features, labels).encode("keep")
    is_binary = np.isin(found[0].data, (0, 1)).all()
    n_nominal = d if is_binary else 0
    return replace(dataset, declared_nominal=n_nominal, declared_numeric=d - n_nominal, n_train=said.n_train)


def _count_on(names: str | tuple[str, ...], n: int) -> tuple[str, ...]:
    """The n names: `names`, or, if only the first is given, those that continue its number."""
    if isinstance(names, tuple):
        return names
    match = re.fullmatch(r"(\D*)(\d+)", names)
    assert match is not None
    return tuple(f"{match[1]}{int(match[2]) + j}" for j in range(n))
