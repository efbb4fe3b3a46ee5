"""Model files: a fitted classifier with the names of its features and labels, written, loaded and applied to data.

A model is written with skops, whose files name the types in them, if it is installed and the model read back gives the
same predictions; else with joblib, whose files are pickles. Both are loaded only if the user trusts the file: loading a
model can run any code.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mlcdr import __version__
from mlcdr.data.dataset import Dataset
from mlcdr.data.lines import list_values
from mlcdr.data.packed import check_members
from mlcdr.data.rows import Columns
from mlcdr.errors import ResultsError, UserError, escape_control_characters, plural, report_memory
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import takes_gaps, takes_texts
from mlcdr.numerics.other_frames import is_frame
from mlcdr.whole_files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".skops", ".joblib")

_FORMAT = "mlcdr model 3"
_SCHEMA = "schema.json"  # of a file of skops': the parts of the model
_LARGEST_SCHEMA = 4 * 2**20  # the most bytes of it that are read without --trust
_LONGEST = 500  # characters of an error that loading a file raises
_CHECKED = 50  # rows by which a file of skops' is checked


@dataclass(frozen=True, repr=False)
class Model:
    """A fitted classifier that was kept, with what it was fitted to.

    Attributes
    ----------
    classifier : ComposedClassifier
    feature_names, label_names : tuple of str
        Columns of X and Y.
    nominal : mapping
        The values of each feature that was words, as in `Dataset`.
    counted_from, dates, fills
        As in `Dataset`: the number of the first feature in svmlight, what was made of each column of dates, and what
        fills a missing value of each column.
    about : mapping
        Data set, method, point of the sweep, split (if it was trained on one), and the version of mlcdr, as texts.
    """

    classifier: ComposedClassifier
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    about: Mapping[str, str]
    nominal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counted_from: int | None = None
    dates: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fills: Sequence[float] | None = None

    @classmethod
    def of(cls, classifier: ComposedClassifier, dataset: Dataset, about: Mapping[str, str]) -> Model:
        """A classifier that was fitted to rows of a data set."""
        return cls(
            classifier,
            dataset.feature_names,
            dataset.label_names,
            about,
            dataset.nominal,
            dataset.counted_from,
            dataset.dates,
            dataset.fills,
        )

    def read(self, rows: Any, **options: Any) -> Any:
        """X (n×d) of new rows.

        Parameters
        ----------
        rows : str, Path, DataFrame, mapping or array
            The name of a data set, the path of its file, a DataFrame, one row as a mapping or a Series, or a list of
            mappings; with labels or without. Its columns are found by their names, and words are coded as in the
            training data. An array, a sparse matrix or a list is X already.
        **options
            As in `load_dataset`: `delimiter` …, and `missing`, by default as in the training data. And `unknown`:
            "error", or "missing" to take a word that the training data did not have as a missing value, with one
            warning about all of them.

        Raises
        ------
        DataError
            When a column is missing, or has a value that cannot be coded as in the training data.
        UserError
            When the rows are of none of these forms.
        """
        texts = takes_texts(self.classifier.first_part)
        if isinstance(rows, Mapping) or (hasattr(rows, "to_frame") and not texts):
            rows = [dict(rows)]
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            import pandas as pd

            rows = pd.DataFrame(rows)
        if rows is None or isinstance(rows, Dataset):
            raise UserError(f"rows: give X, a DataFrame or the name of a data set, not {type(rows).__name__}")
        if not isinstance(rows, str | Path) and not is_frame(rows):
            return rows
        keeps = self.fills is not None or takes_gaps(self.classifier.first_part)
        gaps = {"missing": "keep"} if keeps else {}
        columns = Columns(self.feature_names, self.nominal, texts, self.counted_from, self.dates)
        X = columns.read(rows, **gaps | options)
        return X if self.fills is None or "missing" in options else _fill(X, np.array(self.fills))

    def predict(self, rows: Any, **options: Any) -> pd.DataFrame:
        """Label sets of new rows (`read`), a column for each label."""
        return self._framed(rows, self.classifier.predict(self.read(rows, **options)).astype(int))

    def decision_function(self, rows: Any, **options: Any) -> pd.DataFrame:
        """How far each label's score lies above its threshold, for new rows (`read`)."""
        return self._framed(rows, self.classifier.decision_function(self.read(rows, **options)))

    def predict_proba(self, rows: Any, **options: Any) -> pd.DataFrame:
        """The probability of each label for new rows (`read`); AttributeError where the method has none."""
        return self._framed(rows, self.classifier.predict_proba(self.read(rows, **options)))

    def _framed(self, rows: Any, values: Any) -> pd.DataFrame:
        import pandas as pd

        values = values.reshape(-1, len(self.label_names))
        index = rows.index if is_frame(rows) and hasattr(rows, "iloc") else None
        return pd.DataFrame(values, columns=list(self.label_names), index=index)

    def __repr__(self) -> str:
        method, dataset = (self.about.get(name) for name in ("method", "dataset"))
        rows = f"split {self.about['split']}" if "split" in self.about else "all rows"
        sizes = f"{plural(len(self.feature_names), 'feature')}, {plural(len(self.label_names), 'label')}"
        return f"Model of {method!r} trained on {dataset!r}, {rows}: {sizes}\n  {self.classifier!r}"


def _fill(X: Any, fills: NDArray[np.float64]) -> Any:
    """X (n×d) with a number for each column in place of missing values."""
    if sparse.issparse(X):
        gaps = np.isnan(X.data)
        X.data[gaps] = fills[X.indices[gaps]]
        return X
    return np.where(np.isnan(X), fills, X)


def spell_point(point: Iterable[tuple[str, str]]) -> str:
    """A point of the sweep, (path, text) each, as `about` has it: `learner.alpha = 1; …`."""
    return "; ".join(f"{path} = {text}" for path, text in point)


def write_model(stem: Path, model: Model, X: Any) -> Path:
    """Write a model to `stem`.skops, or `stem`.joblib where skops cannot, whole or not at all.

    `X` (n×d): some rows, for which the written model must give the same predictions.

    Raises
    ------
    ResultsError
        When it cannot be written.
    """
    by_skops, by_joblib = (stem.with_name(stem.name + ending) for ending in ENDINGS)
    data = _by_skops(_content(model), X[:_CHECKED])
    if data is not None:
        write_atomically(by_skops, data)
        by_joblib.unlink(missing_ok=True)
        return by_skops
    write_atomically(by_joblib, _by_joblib(_content(model)))
    by_skops.unlink(missing_ok=True)
    return by_joblib


def check_model_path(path: Path) -> None:
    """Raise UserError if no model can be written to a path: its ending, or a library that is missing."""
    if path.suffix not in ENDINGS:
        raise UserError(f"{path}: a model file ends in {' or '.join(ENDINGS)}")
    if path.suffix == ".skops" and _skops() is None:
        raise UserError(f"{path}: needs skops: pip install 'mlcdr[models]'; or write a file that ends in .joblib")


def write_model_as(path: Path, model: Model, X: Any) -> None:
    """Write a model to a file, by skops or joblib as its ending says; `X` as in `write_model`.

    Raises
    ------
    UserError
        As `check_model_path`; when skops cannot hold this model, or the file cannot be written.
    """
    check_model_path(path)
    if path.suffix == ".joblib":
        write_atomically(path, _by_joblib(_content(model)))
        return
    data = _by_skops(_content(model), X[:_CHECKED])
    if data is None:
        raise UserError(f"{path}: skops cannot hold this model; write a file that ends in .joblib")
    write_atomically(path, data)


def _content(model: Model) -> dict[str, Any]:
    """What a model file holds."""
    return {
        "format": _FORMAT,
        "about": {**model.about, "mlcdr": __version__},
        "feature_names": list(model.feature_names),
        "label_names": list(model.label_names),
        "nominal": {name: list(words) for name, words in model.nominal.items()},
        "counted_from": model.counted_from,
        "dates": {name: list(parts) for name, parts in model.dates.items()},
        "fills": None if model.fills is None else list(model.fills),
        "classifier": model.classifier,
    }


def _by_joblib(content: dict[str, Any]) -> bytes:
    image = io.BytesIO()
    joblib.dump(content, image, compress=("zlib", 3))
    return image.getvalue()


def _skops() -> Any:
    """Skops' module for files; None where it is not installed."""
    try:
        import skops.io as skops_io
    except ImportError:
        return None
    return skops_io


def _by_skops(content: dict[str, Any], X: Any) -> bytes | None:
    """The file's content; None if skops is not installed, or cannot write and read this model."""
    skops_io = _skops()
    if skops_io is None:
        return None
    try:
        data: bytes = skops_io.dumps(content, compression=zipfile.ZIP_DEFLATED)
        back = skops_io.loads(data, trusted=skops_io.get_untrusted_types(data=data))["classifier"]
        same = np.array_equal(back.predict(X), content["classifier"].predict(X))
    except Exception:  # a class of the user may raise any exception here; joblib is used then
        return None
    return data if same else None


@report_memory
def load_model(path: str | Path, trust: bool = False) -> Model:
    """Load a model that a run has kept (`keep: {models: true}`).

    Parameters
    ----------
    path : path
        A file below `kept/` of a results folder.
    trust : bool
        A model file can run any program when it is loaded; True loads it.

    Returns
    -------
    Model
        With `predict` for new rows.

    Raises
    ------
    UserError
        Without `trust`; or when there is no such file, it is no model, or it cannot be loaded here.
    """
    path = Path(path)
    if not path.is_file():
        raise ResultsError(f"{path}: no such model file; a run with `keep: {{models: true}}` has them below its kept/")
    if path.suffix not in ENDINGS:
        raise ResultsError(f"{path}: not a model file, which ends in {' or '.join(ENDINGS)}")
    if not trust:
        raise UserError(
            f"{path}: a model file can run any program when it is loaded; "
            f"--trust loads it (in Python, trust=True), if you know its origin{_foreign(path)}"
        )
    if path.suffix == ".skops" and _skops() is None:
        raise UserError(f"{path}: needs skops: pip install 'mlcdr[models]'")
    try:
        content = _read(path)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ResultsError(f"{path}: not a model file of mlcdr's, or of another version")
        return Model(
            content["classifier"],
            tuple(content["feature_names"]),
            tuple(content["label_names"]),
            content["about"],
            content["nominal"],
            content.get("counted_from"),
            content.get("dates", {}),
            content.get("fills"),
        )
    except (UserError, MemoryError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:_LONGEST]
        raise ResultsError(f"{path}: cannot be loaded: {type(error).__name__}: {why}") from error


def _read(path: Path) -> Any:
    """What a model file holds. This can run any code."""
    if path.suffix == ".joblib":
        return joblib.load(path)
    skops_io = _skops()
    return skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))


def _foreign(path: Path) -> str:
    """The types that a skops file names and that are not of mlcdr; only its schema is unpacked, which must be small."""
    if path.suffix != ".skops":
        return ""
    try:
        bare = io.BytesIO()
        with zipfile.ZipFile(path) as packed, zipfile.ZipFile(bare, "w") as copy:
            check_members(path, packed)
            if packed.getinfo(_SCHEMA).file_size > _LARGEST_SCHEMA:
                return " (what it names is not shown: its list of parts is too large)"
            schema = json.loads(packed.read(_SCHEMA), object_hook=_alone)
            copy.writestr(_SCHEMA, json.dumps(schema))
            for name in set(packed.namelist()) - {_SCHEMA}:  # skops would read an array each time it is named
                copy.writestr(name, b"")
        named = _skops().get_untrusted_types(data=bare.getvalue())
    except Exception:  # missing, or not a skops file: loading it reports which
        return ""
    foreign = [escape_control_characters(each) for each in named if not each.startswith("mlcdr.")]
    return f" (it names {list_values(foreign)})" if foreign else " (it names parts of mlcdr and its libraries only)"


def _alone(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a skops file's schema that refers to no other part, and to which none refers.

    Skops looks at a part each time that it is referred to, so that 20 lists, each with the last one twice, take it
    2^20 steps. All types are still named, where the parts are written out.
    """
    is_reference = part.keys() >= {"__id__"} and ("__loader__" not in part or part["__loader__"] == "CachedNode")
    if is_reference:
        return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null"}
    part.pop("__id__", None)
    return part


def predictions(model: Model, X: Any) -> str:
    """The label sets and scores of rows as CSV: `row`, a column for each label, one for each score.

    A score is how far the label's lies above its threshold, `score:LABEL`; a model without scores has no such columns.
    """
    columns = model.predict(X)
    if model.classifier.has_scores:
        scores = model.decision_function(X).add_prefix("score:")
        columns = columns.join(scores.map("{:.9g}".format))
    text: str = columns.to_csv(index_label="row", lineterminator="\n")
    return text
