"""Model files: a fitted classifier with the names of its features and labels, written, loaded and put to data.

A model is written with skops, whose files name what they are made of, if that is installed and what it wrote says the
same as the model did; else with joblib, whose files are pickles. Either is loaded only on the user's word: to load a
model is to run it.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from mlcdr import __version__
from mlcdr.data.dataset import Dataset
from mlcdr.errors import ResultsError, UserError, report_memory
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.whole_files import write_atomically

ENDINGS = (".skops", ".joblib")

_FORMAT = "mlcdr model 1"
_SCHEMA = "schema.json"  # of a file of skops': the parts of the model
_LARGEST_SCHEMA = 4 * 2**20  # bytes of it that are looked into without --trust
_CHECKED = 50  # rows by which a file of skops' is checked


@dataclass(frozen=True)
class Model:
    """A fitted classifier, and what it was fitted to.

    `about`: data set, method, point of the sweep, split, and the version of mlcdr, as texts.
    """

    classifier: ComposedClassifier
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    about: Mapping[str, str]


def write_model(stem: Path, model: Model, X: Any) -> Path:
    """Write a model to `stem`.skops or `stem`.joblib, whole or not at all.

    `X` (n×d): some rows, to see whether what was written says the same of them.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    content = {
        "format": _FORMAT,
        "about": {**model.about, "mlcdr": __version__},
        "feature_names": list(model.feature_names),
        "label_names": list(model.label_names),
        "classifier": model.classifier,
    }
    ending, data = ".skops", _by_skops(content, X[:_CHECKED])
    if data is None:
        ending, image = ".joblib", io.BytesIO()
        joblib.dump(content, image, compress=("zlib", 3))
        data = image.getvalue()
    path = stem.with_name(stem.name + ending)
    write_atomically(path, data)
    for other in ENDINGS:
        if other != ending:
            stem.with_name(stem.name + other).unlink(missing_ok=True)
    return path


def _by_skops(content: dict[str, Any], X: Any) -> bytes | None:
    """The file's content; None where skops is not there, or cannot do it."""
    try:
        import skops.io as skops_io
    except ImportError:
        return None
    try:
        data = skops_io.dumps(content, compression=zipfile.ZIP_DEFLATED)
        back = skops_io.loads(data, trusted=skops_io.get_untrusted_types(data=data))["classifier"]
        same = np.array_equal(back.predict(X), content["classifier"].predict(X))
    except Exception:  # a user's own class may do anything to it; joblib is there
        return None
    return data if same else None


@report_memory
def load_model(path: Path, trust: bool) -> Model:
    """A model from its file.

    Raises
    ------
    UserError
        Without `trust`; or when there is no such file, it is no model, or it cannot be loaded here.
    """
    if not path.is_file():
        raise ResultsError(f"{path}: no such model file")
    if path.suffix not in ENDINGS:
        raise ResultsError(f"{path}: not a model file, which ends in {' or '.join(ENDINGS)}")
    if not trust:
        raise UserError(
            f"{path}: a model file can run any program when it is loaded; "
            f"--trust loads it, if you know its origin{_foreign(path)}"
        )
    try:
        if path.suffix == ".skops":
            skops_io = _skops(path)
            content = skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))
        else:
            content = joblib.load(path)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ResultsError(f"{path}: not a model file of mlcdr's, or of another version")
        return Model(
            content["classifier"], tuple(content["feature_names"]), tuple(content["label_names"]), content["about"]
        )
    except (UserError, MemoryError):
        raise
    except Exception as error:
        raise ResultsError(
            f"{path}: cannot be loaded: {type(error).__name__}: {' '.join(str(error).split())}"
        ) from error


def _skops(path: Path) -> Any:
    try:
        import skops.io as skops_io
    except ImportError:
        raise UserError(f"{path}: needs skops: pip install 'mlcdr[models]'") from None
    return skops_io


def _foreign(path: Path) -> str:
    """What a file of skops' names other than parts of mlcdr; only its schema is unpacked, and it must be small."""
    if path.suffix != ".skops":
        return ""
    try:
        import skops.io as skops_io

        bare = io.BytesIO()
        with zipfile.ZipFile(path) as packed, zipfile.ZipFile(bare, "w") as copy:
            if packed.getinfo(_SCHEMA).file_size > _LARGEST_SCHEMA:
                return " (what it names is not shown: its list of parts is too large)"
            for name in set(packed.namelist()):  # skops would read an array each time it is named
                copy.writestr(name, packed.read(name) if name == _SCHEMA else b"")
        named = skops_io.get_untrusted_types(data=bare.getvalue())
    except Exception:  # not there, or not a file of skops': to load it says which
        return ""
    foreign = [each for each in named if not each.startswith("mlcdr.")]
    return f" (it names {', '.join(foreign)})" if foreign else " (it names parts of mlcdr and its libraries only)"


def predictions(model: Model, dataset: Dataset) -> str:
    """The label sets and scores of all rows of a data set as CSV: `row`, a column for each label, one for each score.

    A score is how far the label's lies above its threshold, `score:LABEL`; a model without scores has no such columns.

    Raises
    ------
    UserError
        When the data set has other features than the model was trained on.
    """
    _check_features(model, dataset)
    labels = model.classifier.predict(dataset.X).reshape(dataset.n_instances, -1)
    scores = None
    if model.classifier.has_scores:
        scores = model.classifier.decision_function(dataset.X).reshape(dataset.n_instances, -1)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    of_scores = [] if scores is None else [f"score:{name}" for name in model.label_names]
    writer.writerow(["row", *model.label_names, *of_scores])
    for i, row in enumerate(labels.astype(int).tolist()):
        writer.writerow([i, *row, *([] if scores is None else [f"{score:.9g}" for score in scores[i]])])
    return text.getvalue()


def _check_features(model: Model, dataset: Dataset) -> None:
    have, want = dataset.feature_names, model.feature_names
    if have == want:
        return
    trained = f"the model was trained on {model.about.get('dataset', 'another data set')}"
    if len(have) != len(want):
        raise UserError(f"{dataset.name}: has {len(have)} features; {trained}, with {len(want)}")
    k = next(k for k, (one, other) in enumerate(zip(have, want, strict=True)) if one != other)
    raise UserError(f"{dataset.name}: its feature {k + 1} is {have[k]!r}; {trained}, where it is {want[k]!r}")
