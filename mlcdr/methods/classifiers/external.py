"""The learner `external`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from mlcdr.methods.constraints import FINITE, one_of, parameter
from mlcdr.methods.learners.program import Array, Program
from mlcdr.methods.multilabel import MultilabelClassifier


def _has_scores(classifier: Any) -> bool:
    return bool(classifier.predicts == "scores")


class External(Program, MultilabelClassifier):
    """Any program as a multi-label classifier: a command that reads training and test rows and writes its predictions.

    `fit` keeps the training rows. The command is run when rows are predicted: the training rows and the rows to predict
    are written into a temporary folder, and its predictions are read from there. Those of the latest rows are kept, so
    that label sets and scores cost one run. So the seconds of a fit are next to none, and those of a prediction are the
    program's start, training and prediction, with the writing and reading of the files. A threshold that is fitted
    (`maximise`) costs a second run, for the scores of the training rows.

    Parameters
    ----------
    predicts : {"labels", "scores"}
        What the command writes: label sets of 0 and 1, or a number for each label.
    boundary : float
        Of scores: the number above which a label is predicted. ½ is right for probabilities and for regression on 0
        and 1, 0 for margins.
    """

    predicts: str = parameter("labels", one_of("labels", "scores"))
    boundary: float = parameter(0.5, FINITE)

    def _fit_rows(self, X: Any, Y: Array) -> None:
        self._keep(X, Y)

    def _scores(self, X: Any) -> Array:
        predicted = self._run(X, self.predicts)
        return predicted - (self.boundary if self.predicts == "scores" else 0.5)

    @available_if(_has_scores)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores less the boundary (n×K, or n where y was a vector) of X (n×d), if the command predicts scores."""
        return super().decision_function(X)
