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
from mlcdr.data.arff import ArffTable, read_arff
from mlcdr.data.arff_header import meka_label_count
from mlcdr.data.catalog_matlab import find_matlab_entry, read_matlab_entry
from mlcdr.data.content import Dataset
from mlcdr.data.encoding import Missing, Selected, encode
from mlcdr.data.files import DataFiles, NoDivisionError, Part, names_beside, sha256, suffix
from mlcdr.data.label_xml import read_label_xml
from mlcdr.data.lines import Line, fail, fail_unreadable, quote
from mlcdr.data.table import find_columns, stack_tables


@functools.cache
def readers_version() -> str:
    """The SHA-256 (hex) of this folder's source: a parsed copy that other code made is not used again."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
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
            whole.update(f"{known.matlab}\n".encode())
        paths = [*self.files.paths, *names_beside(self.files)]
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
        if known is not None:
            dataset = read_matlab_entry(path, known, self.files.xml)
        elif self.files.form == "arff":
            dataset = self._read_arff()
        elif self.files.form in ("npz", "mat", "svmlight"):
            dataset = self._read_arrays()
        else:
            dataset = self._read_frames()
        if self.files.test_first is not None:
            return self._move_train_first(dataset, self.files.test_first)
        return dataset if self.part == "predefined" else replace(dataset, n_train=None)

    def _read_arff(self) -> Dataset:
        first, *others = [read_arff(path) for path in self.files.paths]
        columns, xml_names = self._find_labels(first)
        table = stack_tables(first, others[0]) if others else first
        dataset = encode(Selected(table, columns), self.missing)
        return replace(dataset, xml_label_names=xml_names, n_train=table.origins.n_first)

    def _read_arrays(self) -> Dataset:
        from mlcdr.data.arrays import read_arrays

        arrays = read_arrays(self.files.form, self.files.paths, self.options)
        return replace(arrays.encode(self.missing), n_train=arrays.origins.n_first)

    def _read_frames(self) -> Dataset:
        from mlcdr.data.frames import read_tables

        options = dict(self.options)
        if self.files.xml is not None:
            options["labels"] = [name for name, _ in read_label_xml(self.files.xml)]
        selected = read_tables(self.files.form, self.files.paths, options)
        return replace(encode(selected, self.missing), n_train=selected.table.origins.n_first)

    def _find_labels(self, table: ArffTable) -> tuple[list[int], tuple[str, ...]]:
        """The positions of the labels among the attributes, and their names in the XML's order."""
        names = [attribute.name for attribute in table.attributes]
        if self.files.xml is not None:
            # The XML has priority over -C: that of medical means the first columns, but its labels are the last ones.
            return _find_labels_of_xml(self.files.xml, names, table.path)
        said: int | str | Sequence[str] | None = self.options.get("labels", meka_label_count(table.relation))
        if said is None:
            xml = table.path.with_suffix(".xml").name
            needs = f"Needs {xml} beside it, -C in the relation's name, or the option labels"
            fail(table.path, f"which attributes are labels? {needs}")
        columns = find_columns(Line(table.path, 0), names, said)
        return columns, tuple(names[column] for column in columns)

    def _move_train_first(self, dataset: Dataset, n_test: int) -> Dataset:
        """Move the training rows to the front, of a full file that begins with the test rows."""
        n, n_labels = dataset.Y.shape
        known = sources.entry(self.files.name).statistics
        if n != known["n_instances"] or n_labels != known["n_labels"]:
            stem = self.files.paths[0].parent / self.files.name
            needs = f"the predefined split needs {stem}-train.arff and -test.arff"
            raise NoDivisionError(f"{self.files.paths[0]}: not the known data set; {needs}")
        order = np.roll(np.arange(n), -n_test)
        return replace(dataset.rows(order), n_train=n - n_test)


def _find_labels_of_xml(xml: Path, names: Sequence[str], path: Path) -> tuple[list[int], tuple[str, ...]]:
    where = {name: column for column, name in enumerate(names)}
    columns, labels = [], []
    for label, number in read_label_xml(xml):
        if label not in where:
            Line(xml, number).fail(f"label {quote(label)} is not an attribute of {path.name}")
        columns.append(where[label])
        labels.append(label)
    return sorted(columns), tuple(labels)
