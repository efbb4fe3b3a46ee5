"""The cache of parsed data sets: one `.npz` per key, without pickles, and checked when it is read.

It only saves time. If its file cannot be read, the data set is parsed and stored again; a folder that cannot be written
is not an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlcdr.data.content import Dataset
from mlcdr.data.files import cache_folder
from mlcdr.data.npz import matrix_of, parts_of
from mlcdr.data.synthetic import checksum
from mlcdr.data.table import Matrix
from mlcdr.data.texts import as_column, is_texts
from mlcdr.whole_files import make_temporary_path


def path_of(key: str, folder: Path | None = None) -> Path:
    """The path where the data set of a key is stored: in `folder`, by default in the cache."""
    return (folder or cache_folder() / "parsed") / f"{key}.npz"


def save(key: str, dataset: Dataset, folder: Path | None = None) -> None:
    """Store a parsed data set under a key. A failure to write is not an error."""
    path = path_of(key, folder)
    facts = dict(vars(dataset))
    X, Y = facts.pop("X"), facts.pop("Y")
    arrays = parts_of("Y", Y)
    if is_texts(X):
        arrays["X_text"] = _in_bytes(X[:, 0].tolist())
    else:
        arrays |= parts_of("X", X)
    arrays["header"] = _in_bytes(_sealed(key, facts))
    temporary = make_temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:  # not by a copy in memory: the matrices may fill it
            np.savez(file, allow_pickle=False, **arrays)
        temporary.replace(path)
    except OSError:
        return
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def load(key: str, folder: Path | None = None) -> Dataset | None:
    """What is stored under a key; None if there is no such file or it is damaged."""
    path = path_of(key, folder)
    if not path.is_file():  # opening a pipe would wait for ever
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of headers and values that `save` never writes
            with np.load(path, allow_pickle=False) as stored:
                _refuse_growth(stored.zip)
                header = json.loads(stored["header"].tobytes())
                if header != _sealed(key, header["facts"]):
                    return None
                return _read(stored, header["facts"])
    except Exception:  # NumPy, zipfile, ast and tokenize raise many types of exceptions for a damaged file
        return None


def _refuse_growth(archive: zipfile.ZipFile) -> None:
    """Raise ValueError for compressed members, which could fill the memory: `save` does not compress."""
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError("compressed")


def _sealed(key: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A header: the facts, and a digest of them and the key, by which another file's is told."""
    digest = hashlib.sha256(json.dumps([key, facts]).encode()).hexdigest()
    return {"facts": facts, "digest": digest}


def _in_bytes(plain: Any) -> np.ndarray:
    """Plain data as an array of JSON's bytes."""
    return np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)


def _read(stored: Any, facts: Mapping[str, Any]) -> Dataset:
    """The data set; ValueError if X and Y are not those of its checksum."""
    said = _with_tuples(facts)
    said |= {name: _with_tuples(facts[name]) for name in ("nominal", "dates")}
    X: Matrix = matrix_of(stored, "X")
    if X is None:
        X = as_column(json.loads(stored["X_text"].tobytes()))
    Y = matrix_of(stored, "Y")
    if checksum(X, Y) != said["checksum"]:
        raise ValueError("checksum")
    return Dataset(X=X, Y=Y, **said)


def _with_tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping with tuples in place of JSON's lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}
