"""A data set's files read as X, Y and facts."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcdr.data import sources
from mlcdr.data.arff import read_arff
from mlcdr.data.arff_header import meka_label_count
from mlcdr.data.catalog_matlab import find_matlab_entry, read_matlab_entry
from mlcdr.data.content import Dataset
from mlcdr.data.encoding import Missing, encode
from mlcdr.data.files import DataFiles, NoDivisionError, Part, path_of_names, sha256, suffix
from mlcdr.data.label_xml import read_label_xml
from mlcdr.data.lines import Line, fail, fail_unreadable, quote
from mlcdr.data.table import Table, Tables, find_columns, stack_tables


@functools.cache
def readers_version() -> str:
    """The SHA-256 (hex) of the source that reads files: a parsed copy that other code made is not used again."""
    data = Path(__file__).parent
    package = data.parent
    digest = hashlib.sha256((package / "csv_files.py").read_bytes())
    for path in sorted([*data.glob("*.py"), *(package / "numerics").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class FileSource:
    """A data set's files, and how to read them; the options are as in `mlcdr.data.dataset.load_dataset`."""

    files: DataFiles
    missing: Missing
    part: Part
    options: Mapping[str, Any]

    def key(self) -> str:
        """The key of the parsed copy in the cache: a digest of the files' bytes, the readers' code and the options.

        Raises
        ------
        DataError
            When a file cannot be read.
        """
        said = json.dumps(self.options, sort_keys=True, default=list)
        whole = hashlib.sha256(f"mlcdr {readers_version()} {self.missing} {self.part} {said}\n".encode())
        known = sources.find(self.files.name)
        if known is not None and known.matlab is not None:
            whole.update(f"{known.matlab} {known.statistics['format']}\n".encode())
        paths = [*self.files.paths]
        if self.files.form == "svmlight":
            beside = [path_of_names(paths[0], what) for what in ("features", "labels")]
            paths += filter(Path.is_file, beside)
        if self.files.xml is not None:
            paths.append(self.files.xml)
        for path in paths:
            try:
                whole.update(f"{suffix(path.name)} {sha256(path)}\n".encode())
            except OSError as error:
                fail_unreadable(path, error)
        return whole.hexdigest()

    def read(self) -> Dataset:
        """Read the files, without the cache.

        Raises
        ------
        DataError
        """
        path = self.files.paths[0]
        known = find_matlab_entry(self.files.name, path)
        xml_label_names: Sequence[str] = ()
        if known is not None:
            features, labels = read_matlab_entry(path, known, self.files.xml)
        elif self.files.form == "arff":
            features, labels, xml_label_names = self._read_arff()
        elif self.files.form in ("npz", "mat", "svmlight"):
            from mlcdr.data.arrays import read_arrays

            features, labels = read_arrays(self.files.form, self.files.paths, self.options)
        else:
            features, labels = self._read_frames()
        n_train = features.origins.files[0].n_rows
        if self.part == "predefined" and self.files.test_first is None and len(features.origins.files) == 1:
            raise NoDivisionError(f"{path}: the predefined split needs a train and a test part of X and Y in it")
        dataset = encode(features, labels, self.missing)
        if xml_label_names:
            dataset = replace(dataset, xml_label_names=tuple(xml_label_names))
        if self.files.test_first is not None:
            return self._move_train_first(dataset, self.files.test_first)
        return replace(dataset, n_train=n_train if self.part == "predefined" else None)

    def _read_arff(self) -> tuple[Table, Table, Sequence[str]]:
        """The features, the labels, and the names of the labels in the XML's order."""
        table = stack_tables(*map(read_arff, self.files.paths))
        labels: int | str | Sequence[str] | None = self.options.get("labels", meka_label_count(table.relation))
        named: list[str] = []
        # The XML has priority over -C: that of medical means the first columns, but its labels are the last ones.
        if self.files.xml is not None:
            known = set(table.names)
            for name, number in read_label_xml(self.files.xml):
                if name not in known:
                    line = Line(self.files.xml, number)
                    line.fail(f"label {quote(name)} is not an attribute of {table.path.name}")
                named.append(name)
            labels = named
        if labels is None:
            xml = table.path.with_suffix(".xml").name
            fail(
                table.path,
                f"which attributes are labels? Needs {xml} beside it, -C in the relation's name, or the option labels",
            )
        columns = find_columns(Line(table.path, 0), table.names, labels)
        return *table.divide(columns), named

    def _read_frames(self) -> Tables:
        from mlcdr.data.frames import read_tables

        options = {**self.options, "missing": self.missing}
        if self.files.xml is not None:
            options["labels"] = [name for name, _ in read_label_xml(self.files.xml)]
        return read_tables(self.files.form, self.files.paths, options)

    def _move_train_first(self, dataset: Dataset, n_test: int) -> Dataset:
        """Move the training rows to the front, of a full file that begins with the test rows."""
        n, n_labels = dataset.Y.shape
        known = sources.entry(self.files.name).statistics
        if n != known["n_instances"] or n_labels != known["n_labels"]:
            stem = self.files.paths[0].parent / self.files.name
            raise NoDivisionError(
                f"{self.files.paths[0]}: not the known data set; "
                f"the predefined split needs {stem}-train.arff and -test.arff"
            )
        order = np.roll(np.arange(n), -n_test)
        return replace(dataset.rows(order), n_train=n - n_test)
