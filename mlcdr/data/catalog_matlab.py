"""Reading of the catalogue's MATLAB files: `data` (n×d) and `target` (K×n), with the names of the catalogue."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from mlcdr.data.arrays import tables_of
from mlcdr.data.files import sha256
from mlcdr.data.label_xml import read_label_xml
from mlcdr.data.lines import fail
from mlcdr.data.matlab import read_matrices
from mlcdr.data.sources import Entry, find
from mlcdr.data.table import Origin, Origins, Tables

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
    prefixes = ("train_", "test_") if said.n_train else ("",)
    blocks = []
    for prefix in prefixes:
        data, target = map(sparse.csr_array, read_matrices(path, [f"{prefix}data", f"{prefix}target"]))
        blocks.append(sparse.csr_array(sparse.hstack([data, target.T])))
    both = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    d = known.statistics["n_features"]
    K = known.statistics["n_labels"]
    if both.shape != (known.statistics["n_instances"], d + K):
        fail(path, f"[data, target'] is {both.shape[0]}x{both.shape[1]}, which is not {known.name}")
    is_binary = np.isin(blocks[0][:, :d].data, (0, 1)).all()
    X, Y = both[:, :d], both[:, d:]
    if said.leading_labels:
        X, Y = both[:, K:], both[:, :K]
    if known.statistics["format"] == "dense":
        X = X.toarray()
    label_names: tuple[str, ...] = ()
    if said.labels:
        label_names = _count_on(said.labels, K)
    elif xml:
        label_names = tuple(name for name, _ in read_label_xml(xml))
    if len(label_names) != K:
        fail(xml or path, f"{len(label_names)} label names for {K} labels")
    Y = Y.maximum(0)  # some have -1 for 0
    features, labels = tables_of(path, X, Y, _count_on(said.features, d), label_names)
    if is_binary:
        features = replace(features, attributes=tuple(each._replace(codes=_BINARY) for each in features.attributes))
    origins = Origins(*(Origin(path, block.shape[0]) for block in blocks))
    return replace(features, origins=origins), replace(labels, origins=origins)


def _count_on(names: str | tuple[str, ...], n: int) -> tuple[str, ...]:
    """The n names: `names`, or, if only the first is given, those that continue its number."""
    if isinstance(names, tuple):
        return names
    match = re.fullmatch(r"(\D*)(\d+)", names)
    assert match is not None
    return tuple(f"{match[1]}{int(match[2]) + j}" for j in range(n))
