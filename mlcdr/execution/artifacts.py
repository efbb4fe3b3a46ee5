"""What a run keeps of each trial besides its values of metrics, if the config has `keep: {scores: true, models: true}`.

The files stand in `kept/` of the results folder, by data set and method, and are named by split and the trial's key, so
that files of a method before it was edited are not taken for those of the new version. `keep` is not part of the key:
if it is added later, only what is missing is computed, and no score on record changes. `kept/index.csv` lists the
files.

`split0-KEY.npz` has arrays that any NumPy reads without pickles: `rows` (the test rows in the data set), `labels` (n×K,
predicted), `truth` (n×K), `label_names`, and, of a method with scores, `scores` (n×K): how far each lies above its
threshold; with `keep_top: m` these are the m highest of each row (n×m), and `score_labels` (n×m) their labels.
`split0-KEY.skops` or `.joblib` is the model (`mlcdr.execution.models`).
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcdr.csv_files import format_csv
from mlcdr.errors import ResultsError
from mlcdr.execution.models import ENDINGS, Model, spell_point, write_model
from mlcdr.execution.rows import Rows
from mlcdr.experiment.model import Experiment, KeepSpec
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.metrics.outcome import highest
from mlcdr.whole_files import TEMPORARY_PREFIX, check_within, is_regular_file, write_atomically

if TYPE_CHECKING:
    from mlcdr.experiment.trials import Trial

FOLDER = "kept"
INDEX = "index.csv"


@dataclass(frozen=True)
class Keeping:
    """What is kept of each trial of a results folder, and where.

    Attributes
    ----------
    folder : Path
        `kept/` of the results folder.
    spec : KeepSpec
    keep_top : int or None
        How many scores of each row.
    """

    folder: Path
    spec: KeepSpec
    keep_top: int | None

    @classmethod
    def of(cls, experiment: Experiment, results: Path) -> Keeping | None:
        """The `Keeping` of an experiment; None if nothing is to be kept."""
        spec = experiment.keep
        if not (spec.scores or spec.models):
            return None
        return cls(results.resolve() / FOLDER, spec, experiment.keep_top)

    def _stem(self, trial: Trial) -> Path:
        return self.folder / _name(trial.dataset) / _name(trial.method) / f"split{trial.split}-{trial.key}"

    def scores_file(self, trial: Trial) -> Path:
        """Where the scores and label sets of a trial stand."""
        stem = self._stem(trial)
        return stem.with_name(f"{stem.name}.npz")

    def model_file(self, trial: Trial) -> Path | None:
        """Where the model of a trial stands; None if it is not there."""
        stem = self._stem(trial)
        paths = (stem.with_name(stem.name + ending) for ending in ENDINGS)
        return next((path for path in paths if is_regular_file(path)), None)

    def lacks(self, trial: Trial) -> bool:
        """Whether anything that is to be kept of a trial is missing."""
        if self.spec.scores and not is_regular_file(self.scores_file(trial)):
            return True
        return self.spec.models and self.model_file(trial) is None

    def keep(self, trial: Trial, model: ComposedClassifier, rows: Rows) -> None:
        """Write what is to be kept of a trial: the fitted model, and its scores and label sets for the test rows.

        Raises
        ------
        ResultsError
            When it cannot be written.
        """
        if self.spec.scores:
            self._write_scores(trial, model, rows)
        if self.spec.models:
            self._write_model(trial, model, rows)

    def _write_scores(self, trial: Trial, model: ComposedClassifier, rows: Rows) -> None:
        X = rows.X
        arrays: dict[str, Any] = {
            "rows": np.asarray(rows.numbers),
            "truth": np.asarray(rows.Y, dtype=np.uint8),
            "label_names": np.array(rows.dataset.label_names, dtype=np.str_),
            "labels": np.asarray(model.predict(X), dtype=np.uint8),
        }
        if model.has_scores:
            arrays["scores"] = model.decision_function(X)
            if self.keep_top is not None:
                arrays["score_labels"], arrays["scores"] = highest(arrays["scores"], self.keep_top)
        image = io.BytesIO()
        np.savez_compressed(image, **arrays)
        write_atomically(self.scores_file(trial), image.getvalue())

    def _write_model(self, trial: Trial, model: ComposedClassifier, rows: Rows) -> None:
        about = {
            "dataset": trial.dataset,
            "method": trial.method,
            "point": spell_point(trial.point),
            "split": str(trial.split),
        }
        whole = Model.of(model, rows.dataset, about)
        write_model(self._stem(trial), whole, rows.X)

    def begin(self, alone: bool = True) -> None:
        """Make the folder, and, unless parts of the run write it at once, remove what a killed run left half written.

        Raises
        ------
        ResultsError
            When it cannot be written, or has a link in it that leads elsewhere.
        """
        check_within(self.folder.parent, self.folder / INDEX)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in self.folder.rglob("*"):
                if alone and path.name.startswith(TEMPORARY_PREFIX):
                    path.unlink(missing_ok=True)
                elif path.is_symlink():
                    is_regular_file(path)  # which refuses a link
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be written: {error.strerror or error}") from error

    def write_index(self, trials: Iterable[Trial], swept: Sequence[str]) -> dict[str, Any]:
        """Write `index.csv`: a line for each trial of which something is kept, with paths below `kept/`.

        Returns
        -------
        dict
            What the manifest says: the index, how many files there are of each kind, and their bytes.

        Raises
        ------
        ResultsError
            When it cannot be written.
        """
        counts = {"scores": 0, "models": 0, "bytes": 0}
        rows = []
        for trial in trials:
            names = []
            for what, path in (("scores", self.scores_file(trial)), ("models", self.model_file(trial))):
                if path is None or not is_regular_file(path):
                    names.append("")
                    continue
                names.append(path.relative_to(self.folder).as_posix())
                counts[what] += 1
                counts["bytes"] += path.stat().st_size
            point = dict(trial.point)
            values = [point.get(path, "") for path in swept]
            if any(names):
                rows.append([trial.dataset, trial.method, *values, trial.split, trial.key, *names])
        header = ["dataset", "method", *swept, "split", "key", "scores", "model"]
        write_atomically(self.folder / INDEX, format_csv(header, rows))
        return {"index": f"{FOLDER}/{INDEX}", **counts}


def forget(results: Path) -> None:
    """Remove all that is kept in a results folder; if `kept/` is a link to another folder, only the link."""
    if (results / FOLDER).is_symlink():
        (results / FOLDER).unlink()
    shutil.rmtree(results / FOLDER, ignore_errors=True)


def _name(text: str) -> str:
    """`text` as a folder's name, of 255 bytes at most; where two texts get one name, their files differ by keys."""
    name = re.sub(r"[^\w.+-]", "_", text).lstrip(".") or "_"
    return name.encode()[:255].decode(errors="ignore")
