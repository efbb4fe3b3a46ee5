"""From label scores to label sets: `apply` gives the sets, `margin` the distance of each score from its threshold.

A threshold that has `fit(scores, Y)` is learned, from the scores of the training instances and their label sets. The
three families of Yang 2001 (A study of thresholding strategies for text categorization, SIGIR) are here: SCut, a
threshold for each label (`Fixed`, `Zero`, `Round`; learned, `Maximise`); RCut, a number of labels for each instance
(`RCut`); PCut, a share of the instances for each label (`PCut`). A margin is positive where the label is predicted,
except by a threshold's fallback.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from mlcdr.methods.constraints import BOOLEAN, COUNT, FINITE, one_of, parameter
from mlcdr.methods.contracts import CERTAIN_SCORE, Threshold
from mlcdr.numerics.entry import as_label_matrix

Scores = NDArray[np.float64]
Labels = NDArray[np.uint8]


class Cut(Threshold):
    """Base of the thresholds that predict a label where its score exceeds a cut, which a method defines (`_cuts`)."""

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        return (scores > self._cuts(scores)).astype(np.uint8)

    def margin(self, scores: Scores) -> Scores:
        """How far scores (n×K) lie above the cuts; ±1e300 where a cut is infinite, as metrics want finite scores."""
        return np.clip(scores - self._cuts(scores), -CERTAIN_SCORE, CERTAIN_SCORE)

    def _cuts(self, scores: Scores) -> Any:
        """The cut of all labels, or of each (K,)."""
        raise NotImplementedError


class Fixed(Cut):
    """Predict a label where its score exceeds `value`.

    Parameters
    ----------
    value : float
        The threshold.
    fallback : {"none", "top"}
        What an instance without a score above the threshold gets: no label, or the one with the highest score (ties:
        the first).
    ties : {"absent", "present"}
        What a score equal to the threshold predicts.
    """

    value: float = parameter(0.5, FINITE)
    fallback: str = parameter("none", one_of("none", "top"))
    ties: str = parameter("absent", one_of("absent", "present"))

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        labels = super().apply(scores)
        if self.fallback == "top" and scores.shape[1]:
            empty = np.flatnonzero(~labels.any(axis=1))
            labels[empty, np.argmax(scores[empty], axis=1)] = 1
        return labels

    def _cuts(self, scores: Scores) -> Any:
        # to reach a number is to exceed the one before it
        return np.nextafter(self.value, -np.inf) if self.ties == "present" else self.value


class Round(Cut):
    """Round-based decoding: the nearest of 0 and 1, with ½ going to 0 (Tai & Lin 2012)."""

    def _cuts(self, scores: Scores) -> Any:
        return 0.5


class Zero(Fixed):
    """Predict a label where its score is positive, for scores of labels coded ±1 (`identity: plus_minus_one`).

    Parameters
    ----------
    fallback : {"none", "top"}
        What an instance with no positive score gets: no label, or the one with the highest score.
    ties : {"absent", "present"}
        What a score of 0 predicts.
    """

    value = 0.0


class RCut(Threshold):
    """Rank-based cut: every instance gets the n labels with its highest scores (Yang 2001, RCut).

    Ties go to the first label in the data set's order. Every instance gets n labels, however low their scores are.
    Cost: K log K for each instance.

    Parameters
    ----------
    n : int
        Number of labels of an instance; where it exceeds K, all.
    """

    n: int = parameter(1, COUNT, at_most="labels")

    def apply(self, scores: Scores) -> Labels:
        """Label sets (n×K of {0, 1}) of scores (n×K)."""
        labels = np.zeros(scores.shape, dtype=np.uint8)
        np.put_along_axis(labels, self._ranked(scores)[:, : self.n], 1, axis=1)
        return labels

    def margin(self, scores: Scores) -> Scores:
        """How far scores (n×K) lie above the midpoint between the lowest predicted and the highest not predicted.

        If these two are equal, predicted labels get the least positive number, the others 0. Where all labels are
        predicted: how far they lie above the lowest, which gets the least positive number.
        """
        if self.n >= scores.shape[1]:
            return np.maximum(scores - scores.min(axis=1, keepdims=True), np.nextafter(0, 1))
        ranked = np.take_along_axis(scores, self._ranked(scores), axis=1)
        margins = scores - (ranked[:, self.n - 1 : self.n] / 2 + ranked[:, self.n : self.n + 1] / 2)
        # rounding, like a tie, may leave nothing between the two
        margins = np.clip(margins, -CERTAIN_SCORE, CERTAIN_SCORE)
        return np.where(self.apply(scores) > 0, np.maximum(margins, np.nextafter(0, 1)), np.minimum(margins, 0))

    @staticmethod
    def _ranked(scores: Scores) -> NDArray[np.intp]:
        return np.argsort(-scores, axis=1, kind="stable")


class PCut(Cut):
    """Proportional cut: a label gets the share of the instances it is given that it had in training (Yang 2001, PCut).

    With a share p_k of the training instances positive, the round(p_k·n) highest of the n scores of label k are
    predicted, a half going to the even number. Equal scores (up to rounding, as in `Maximise`) are predicted all or
    none: they are predicted if the number with them is at least as near to round(p_k·n) as without them. A label
    without positives is never predicted (unless `single`). So a prediction depends on the *batch* that it is made with,
    and one instance alone gets the labels that most instances have, whatever its scores. (Yang multiplies the shares by
    a factor to be tuned; here it is 1.) Cost: n log n for each label.

    Parameters
    ----------
    single : bool
        One cut for all labels, so that round(Σ_k p_k n) of the nK scores are above it and label sets are as large, on
        average, as in training; scores equal to the last of these are predicted, too, unless they are the lowest of
        all, as those of labels without a vote are. It is MEKA's PCut1, which its evaluation applies to all scores by
        default (Read, Pfahringer, Holmes & Frank 2011, section 4.2), but that MEKA wants one score fewer. Scores must
        be comparable between labels, as probabilities are.

    Attributes
    ----------
    shares_ : array of shape (K,)
        p_k.
    """

    single: bool = parameter(False, BOOLEAN)

    def fit(self, scores: Scores, Y: Any) -> Self:
        """Learn the shares from the label sets Y (n×K of {0, 1}, dense); the scores (n×K) are not used."""
        scores = validate_data(self, scores, dtype=np.float64)
        self.shares_ = np.mean(as_label_matrix(Y, len(scores)), axis=0, dtype=np.float64)
        return self

    def _cuts(self, scores: Scores) -> Scores | float:
        """The cut of each label (K,), or of all, for a batch, midway between two scores; infinite: all, or none."""
        if not self.single:
            return _proportional_cuts(scores, self.shares_)
        wanted = np.round(self.shares_.mean() * scores.size, 9)
        return _cut_below(scores, int(np.round(wanted)))


def _cut_below(scores: Scores, n: int) -> float:
    """A cut that has the n highest scores above it, and all that equal the last of these if any is lower."""
    if n == 0:
        return np.inf
    if n == scores.size:
        return -np.inf
    ranked = np.sort(scores, axis=None)
    last = ranked[-n]
    rounding = 1e-12 * np.abs(last)
    lower = ranked[ranked < last - rounding]
    if not len(lower):
        return float(ranked[ranked <= last + rounding][-1])
    return float((last + lower[-1]) / 2)


def _proportional_cuts(scores: Scores, shares: Any) -> Scores:
    """The cut of each column (K,) of scores (n×K) that has the column's share (K,) above it, as near as can be."""
    n, n_labels = scores.shape
    ranked = -np.sort(-scores, axis=0)
    # the numbers of instances that a cut can part from the others, and how far off each is
    counts = np.arange(n + 1)[:, None]
    tolerance = 1e-12 * np.max(np.abs(scores), axis=0, initial=0.0)
    possible = np.vstack([[True] * n_labels, ranked[:-1] - ranked[1:] > tolerance, [True] * n_labels])[: n + 1]
    wanted = np.round(np.round(shares * n, 9))
    off = np.where(possible, np.abs(counts - wanted), np.inf)
    off[1:, shares == 0] = np.inf
    chosen = n - np.argmin(off[::-1], axis=0)  # of equally near numbers the larger
    bounds = np.vstack([np.full(n_labels, np.inf), ranked, np.full(n_labels, -np.inf)])
    above, below = bounds[chosen, np.arange(n_labels)], bounds[chosen + 1, np.arange(n_labels)]
    with np.errstate(invalid="ignore"):
        middle = (above + below) / 2
    # where rounding brings the middle up to the upper score, the lower one parts them as well
    return np.select([chosen == 0, chosen == n, middle < above], [np.inf, -np.inf, middle], below)


class Maximise(Cut):
    """For each label the threshold that serves the training instances best (SCut of Yang 2001).

    The training scores of a label are sorted in descending order, and each place where two of them differ is tried as
    the cut, above which instances are predicted; so is predicting all instances, and none (Pacharawongsakda &
    Theeramunkong 2012, section 3.3). Of equally good cuts the first is taken, which predicts the fewest instances. A
    label without positives is never predicted. Scores that differ by less than 1e-12 of the label's largest are treated
    as equal: no cut separates them, so rounding errors have no influence. Cost: n log n for each label.

    The macro-averaged F that the paper reports, 2PR/(P+R) of the labels' mean precision P (of those predicted) and mean
    recall R (of those with positives), is not a sum over labels. Its cuts are found by coordinate ascent: label by
    label, all others held, the cut is moved to where the F of all is greatest, until no move of a single label raises
    it. It is done from 16 starts, and the best result is taken (ties: the first): the cuts that maximise each label's
    own F1, and those that maximise wP + (1−w)R, label by label, for w = 1/16, …, 15/16. (F is concave in P and R, so
    over mixtures of cuts some w would be exact.) The result is never below the F of the cuts for the labels' own F1,
    and no move of one label improves it; but it need not be the global maximum. With least squares, and every label
    predicted, no cuts could exceed it by more than 1.4e-4 on yeast, 5e-5 on bibtex, 6e-3 on enron. Cost: about 50 to
    100 passes over the n×K scores.

    Parameters
    ----------
    metric : {"f1", "accuracy", "macro_f"}
        What is maximised: for each label 2TP / (|P|+|Y|), so that the mean over labels, `macro_f1`, is maximised, too;
        or the share of instances for which the label is right; or, for all labels at once, 2PR/(P+R), which is
        `macro_f1: {of: mean_precision_recall}`.
    at : {"midpoint", "score"}
        Where the threshold lies: midway between the lowest score predicted and the next; or at the lowest score
        predicted. (Predicting none, it is infinite; predicting all, it is minus infinity or the lowest score.)

    Attributes
    ----------
    values_ : array of shape (K,)
        The thresholds; a label is predicted where its score exceeds its own.
    """

    metric: str = parameter("f1", one_of("f1", "accuracy", "macro_f"))
    at: str = parameter("midpoint", one_of("midpoint", "score"))

    def fit(self, scores: Scores, Y: Any) -> Self:
        """Learn from the training scores (n×K) and the label sets Y (n×K of {0, 1}, dense)."""
        scores = validate_data(self, scores, dtype=np.float64)
        n, n_labels = scores.shape
        Y = as_label_matrix(Y, n)
        labels = np.arange(n_labels)
        # label by label in contiguous memory; in any order within a tie, which no cut parts
        columns, truth = np.ascontiguousarray(scores.T), np.ascontiguousarray(np.asarray(Y).T)
        order = np.argsort(-columns, axis=1)
        ranked = np.take_along_axis(columns, order, axis=1)
        tolerance = 1e-12 * np.maximum(np.abs(ranked[:, 0]), np.abs(ranked[:, -1]))
        # hits[c], cuts[c]: true positives if the c highest are predicted, and whether a cut may fall there
        hits, cuts = np.zeros((n_labels, n + 1)), np.ones((n_labels, n + 1), dtype=bool)
        np.cumsum(np.take_along_axis(truth, order, axis=1), axis=1, out=hits[:, 1:])
        np.greater(ranked[:, :-1] - ranked[:, 1:], tolerance[:, None], out=cuts[:, 1:-1])
        ranked, hits, cuts = ranked.T, hits.T, cuts.T
        positives, predicted = hits[-1], np.arange(n + 1.0)[:, None]
        if self.metric == "macro_f":
            best = _jointly_best(hits, cuts)
        else:  # accuracy: TP + TN, but for a constant
            value = _f1(hits) if self.metric == "f1" else 2 * hits - predicted
            best = np.argmax(np.where(cuts, value, -np.inf), axis=0)
        lowest, following = ranked[np.maximum(best - 1, 0), labels], ranked[np.minimum(best, n - 1), labels]
        below = np.minimum(lowest - tolerance, np.nextafter(lowest, -np.inf))
        values = below if self.at == "score" else (lowest + following) / 2
        if self.at == "midpoint":
            values[best == n] = -np.inf
        values[(best == 0) | (positives == 0)] = np.inf
        self.values_ = values
        return self

    def _cuts(self, scores: Scores) -> Scores:
        return self.values_


def _f1(hits: Scores) -> Scores:
    """F1 of each label for each number of instances predicted ((n+1)×K), from the true positives among them."""
    return 2 * hits / np.maximum(np.arange(len(hits))[:, None] + hits[-1], 1)


def _jointly_best(hits: Scores, cuts: NDArray[np.bool_]) -> NDArray[np.intp]:
    """How many instances to predict each label for (K,), for a large 2PR/(P+R): see `Maximise`."""
    best = np.zeros(hits.shape[1], dtype=np.intp)
    learned = np.flatnonzero(hits[-1])  # of the others nothing is to be had, and precision to be lost
    if not len(learned):
        return best
    hits, cuts = hits[:, learned], cuts[:, learned]
    columns = np.arange(len(learned))
    precision, recall = hits / np.maximum(np.arange(len(hits)), 1)[:, None], hits / hits[-1]

    def macro_f(precisions: Any, recalls: Any, predicted: Any) -> Any:
        p, r = precisions / np.maximum(predicted, 1), recalls / len(learned)
        return 2 * p * r / np.maximum(p + r, np.finfo(float).tiny)

    def of(chosen: NDArray[np.intp]) -> float:
        return float(macro_f(precision[chosen, columns].sum(), recall[chosen, columns].sum(), (chosen > 0).sum()))

    weighted = (w * precision + (1 - w) * recall for w in np.arange(1, 16) / 16)
    starts = [np.argmax(np.where(cuts, value, -np.inf), axis=0) for value in (_f1(hits), *weighted)]

    def ascended(chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        reached, moved = of(chosen), True
        while moved:
            moved = False
            for k in columns:
                rest = columns != k
                others = precision[chosen[rest], columns[rest]].sum(), recall[chosen[rest], columns[rest]].sum()
                some = np.arange(len(hits)) > 0
                values = macro_f(others[0] + precision[:, k], others[1] + recall[:, k], (chosen[rest] > 0).sum() + some)
                at = int(np.argmax(np.where(cuts[:, k], values, -np.inf)))
                if values[at] > reached * (1 + 1e-12):
                    chosen[k], reached, moved = at, float(values[at]), True
        return chosen

    chosen = max(map(ascended, starts), key=of)
    best[learned] = chosen
    return best
