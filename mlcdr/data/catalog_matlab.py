"""Reading of the catalogue's MATLAB files: `data` (n×d) and `target` (K×n), with the names of the catalogue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from mlcdr.data.arrays import tables_of
from mlcdr.data.files import sha256
from mlcdr.data.label_xml import read_label_xml
from mlcdr.data.lines import fail
from mlcdr.data.matlab import read_matrices
from mlcdr.data.sources import Entry, find
from mlcdr.data.table import Origin, Origins, Table, Tables

_BINARY = {"0": 0, "1": 1}


def find_matlab_entry(name: str, path: Path) -> Entry | None:
    """The catalogue's entry `name`, if `path` is a MATLAB file of it (the same SHA-256); else None."""
    known = find(name)
    if known is None or known.matlab is None or path.suffix.lower() != ".mat":
        return None
    return known if sha256(path) in {file.sha256 for file in known.files} else None


def read_matlab_entry(path: Path, known: Entry, xml: Path | None) -> Tables:
    """Read a MATLAB file of the catalogue; a train and a test part of it are two origins.

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
    matrices = [sparse.csr_array(each) for each in read_matrices(path, names)]
    data = sparse.vstack(matrices[::2])
    target = sparse.hstack(matrices[1::2])
    n = known.statistics["n_instances"]
    d = known.statistics["n_features"]
    K = known.statistics["n_labels"]
    both = sparse.csr_array(sparse.hstack([data, target.T]))
    if both.shape != (n, d + K):
        fail(path, f"[data, target'] is {both.shape[0]}x{both.shape[1]}, which is not {known.name}")
    X, Y = both[:, :d], both[:, d:]
    if said.leading_labels:
        X, Y = both[:, K:], both[:, :K]
    if known.statistics["format"] == "dense":
        X = X.toarray()
    label_names = _count_on(said.labels, K)
    if xml is not None and not said.labels:
        label_names = tuple(name for name, _ in read_label_xml(xml))
    if len(label_names) != K:
        fail(xml or path, f"{len(label_names)} label names for {K} labels")
    Y = Y.maximum(0)  # some have -1 for 0
    features, labels = tables_of(path, X, Y, _count_on(said.features, d), label_names)
    attributes = features.attributes
    if np.isin(matrices[0].data, (0, 1)).all():
        attributes = tuple(each._replace(codes=_BINARY) for each in attributes)
    origins = Origins(*(Origin(path, part.shape[0]) for part in matrices[::2]))
    return Table(attributes, features.values, origins), Table(labels.attributes, labels.values, origins)


def _count_on(names: str | tuple[str, ...], n: int) -> tuple[str, ...]:
    """The n names: `names`, or, if only the first is given, those that continue its number; none for an empty one."""
    if isinstance(names, tuple) or not names:
        return tuple(names)
    stem = names.rstrip("0123456789")
    first = int(names.removeprefix(stem))
    return tuple(f"{stem}{number}" for number in range(first, first + n))
