"""The learner `external_regressor`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mlcdr.data.content import Dataset
from mlcdr.methods.constraints import one_of, parameter
from mlcdr.methods.learners.program import Program, make_dataset
from mlcdr.methods.learners.regressor import Array, Regressor


class ExternalRegressor(Program, Regressor):
    """Any program as a multi-output regressor, for the codes of a label space: a command that reads training and test
    rows and writes its predictions.

    The files have the features x1, x2, … and then the targets y1, y2, … as numeric columns; the targets of the rows to
    predict are 0. All else is as with `external`.

    Parameters
    ----------
    form : {"csv", "arff", "npz"}
        The form of the files.
    output : {"table", "arff"}
        The form of the predictions.
    """

    independent_outputs: ClassVar[bool] = False

    form: str = parameter("csv", one_of("csv", "arff", "npz"))
    output: str = parameter("table", one_of("table", "arff"))

    def _fit_rows(self, X: Any, Z: Array) -> None:
        self._keep(X, Z)

    def _data_of(self, X: Any, Y: Array) -> Dataset:
        rows = make_dataset(X, Y)
        if self.form == "npz":
            return rows
        # numbers stand among the features, as labels are 0 or 1
        columns = sp.csr_array(sp.hstack([X, Y])) if sp.issparse(X) else np.hstack([X, Y])
        names = (*rows.feature_names, *rows.label_names)
        none = np.zeros((X.shape[0], 0), dtype=np.uint8)
        return replace(rows, X=columns, Y=none, feature_names=names, label_names=(), xml_label_names=())

    def predict_valid(self, X: Any) -> Array:
        """The program's predictions (n×q) for checked features X (n×d)."""
        return self._run(X, "scores")
