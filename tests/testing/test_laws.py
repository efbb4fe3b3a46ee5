"""`mlcdr test`: the laws hold for what is here, each fails for a method that breaks it, and the example runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from mlcdr.errors import UserError
from mlcdr.methods import registry
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.contracts import LabelSpace
from mlcdr.methods.kinds import find_family
from mlcdr.methods.label_space.linear import LinearLabelSpace
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.methods.returned import ReturnedWrong
from mlcdr.testing import laws
from mlcdr.testing.candidates import load
from mlcdr.testing.checking import Outcome as Checked
from mlcdr.testing.checking import check, group_by_cause
from mlcdr.testing.subject import METRIC, MetricSubject, PartSubject, make_problem
from tests import prepared, small
from tests.methods.problems import QUICK, problem
from tests.small import Outcome

EXAMPLES = Path(__file__).parents[2] / "examples"

# What depends on an order, and must: a chain on that of its links, and MLFS on a chain's; a tree of labels where
# nothing else says which end is the root; what is held out or drawn at random on that of the rows; random labels, codes
# and clusters of labels on the labels' numbers; MHSL and SLEEC on the rows, of which the first are nearest where label
# sets repeat; LIFT's clusters on both; k-means on the rows drawn first; READER-LE on the rows as MHSL does. And PCut
# on the rows that are predicted together.
ORDERED = {
    "classifier_chain": "label-order",
    "probabilistic_classifier_chain": "label-order",
    "polytree_chain": "label-order row-order",
    "k_dependence_chain": "label-order",
    "meta_label_chain": "label-order",
    "mlsf": "label-order",
    "feature_space mlfs": "label-order",
    "pbr": "label-order",
    "compressed_sensing": "label-order",
    "random_projection": "label-order",
    "cssp": "label-order",
    "reader_le": "row-order",
    "mhsl": "row-order",
    "sleec": "row-order",
    "homer": "label-order",
    "lift": "label-order row-order",
    "cbmlc": "label-order row-order",
    "clmlc": "label-order row-order",
    "k_means": "row-order",
    "ensemble": "label-order row-order",
    "p_cut": "row-alone",
}


# Most of the computing. By default they are put to scikit-learn's checks, or to tests/methods/test_forms_of_input.py;
# of the selectors by information, which have one search, and of the chains the quicker are left.
SLOW = {
    *("clems", "homer", "ldf", "lift", "meta_label_chain", "mlcfs"),
    *("mlsf", "occ", "polytree_chain", "rakel", "wrapper"),
    *("d2f", "jmi", "mdmr", "mlfs", "mlig", "pmu", "reader", "reader_le", "sleec"),
    *("bayesian_classifier_chain", "dismec", "hinge_svm", "ensemble", "pairwise", "probabilistic_classifier_chain"),
}

CONTRACT = laws.name_of(laws.scikit_learn)
NAMES = list(map(laws.name_of, laws.LAWS))
OF_PARTS = [laws.name_of(law) for law, kind in laws.LAWS.items() if issubclass(PartSubject, kind)]
OF_METRICS = [laws.name_of(law) for law, kind in laws.LAWS.items() if issubclass(MetricSubject, kind)]


@pytest.fixture(autouse=True)
def _no_module_stays() -> Iterator[None]:
    before, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


def outcomes(cls: type, without: tuple[str, ...] = (CONTRACT,), **params: object) -> dict[str, Checked]:
    """The outcome of each law, of a class in the part that its methods make it."""
    return {each.law: each for each in check(PartSubject(find_family(cls), cls, params), without)}


def failing(found: dict[str, Checked]) -> set[str]:
    return {law for law, each in found.items() if each.verdict == "FAILED"}


@pytest.mark.parametrize(
    ("family", "name"),
    [
        pytest.param(family, name, marks=[pytest.mark.slow] * (name in SLOW))
        for family, known in registry.BUILT_IN.items()
        for name in known
    ],
)
def test_the_laws_hold_for_what_is_here(family: str, name: str) -> None:
    cls = registry.resolve(family, name)
    assert find_family(cls) == family
    small.skip_without_extra(family, name)
    found = outcomes(cls, **QUICK.get(cls.__name__, {}))
    assert list(found) == OF_PARTS
    expected = ORDERED.get(f"{family} {name}", ORDERED.get(name, ""))
    assert failing(found) == set(expected.split()), found
    claims = getattr(cls, "nested", False) and getattr(cls, "size_parameter", "") in registry.parameters(cls)
    assert (found["nested"].verdict == "ok") == bool(claims)


# -------------------------------------------------------------------- methods that break a law each


class Plain(RegressorMixin, BaseEstimator):
    """Least squares, to be broken."""

    def fit(self, X, y):
        self.inner_ = LeastSquares().fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


class ChangesItsParameter(Plain):
    def __init__(self, alpha=1.0):
        self.alpha = alpha + 1


class SaysTooLittle(Plain):
    def predict(self, X):
        return super().predict(X)[:, :1]


class WritesIntoItsInput(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X -= 1
        return X


class RollsDice(Plain):
    def predict(self, X):
        return super().predict(X) + np.random.default_rng().standard_normal()


class SaysTheOpposite(Plain):
    def predict(self, X):
        return -super().predict(X)


class LooksAround(Plain):
    def predict(self, X):
        said = super().predict(X)
        return said + 0.1 * said.mean(axis=0)


class RemembersTheFirst(Plain):
    def fit(self, X, y):
        if not hasattr(self, "shift_"):
            self.shift_ = X[0, 0]
        return super().fit(X, y)

    def predict(self, X):
        return super().predict(X) + self.shift_


class TrustsTheFirstRow(Plain):
    def fit(self, X, y):
        super().fit(X, y)
        self.first_ = np.asarray(y[0], dtype=float)
        return self

    def predict(self, X):
        return super().predict(X) + 0.1 * self.first_


class PrefersTheFirstLabel(Plain):
    def predict(self, X):
        said = super().predict(X)
        said[:, 0] += 0.1
        return said


class GoesByTheNumber(LocalSelector):
    """The feature of the label's number."""

    def alone(self, label):
        return np.array([label])


class MistakesZeros(Plain):
    def fit(self, X, y):
        return super().fit(X.toarray() + 0.1 * X.toarray() ** 2 if sp.issparse(X) else X, y)


class RefusesSparse(Plain):
    def fit(self, X, y):
        if sp.issparse(X):
            raise TypeError("Sparse data was passed, but dense data is required")
        return super().fit(X, y)


class OtherMoments(Plain):
    def fit_moments(self, moments):
        X, Y = moments.rows()
        return self.fit(X[1:], Y[1:].astype(float))


class OneMore(LinearLabelSpace):
    nested = False

    def _find_directions(self, moments, n):
        return np.eye(moments.n_labels)[: min(n + 1, moments.n_labels)]


class NestsNot(LinearLabelSpace):
    def _find_directions(self, moments, n):
        order = np.argsort(-moments.mean_y, kind="stable")
        return np.eye(moments.n_labels)[order[:n] if n > 2 else order[::-1][:n]]


class Mixes(Plain):
    independent_outputs: ClassVar[bool] = True

    def predict(self, X):
        said = super().predict(X)
        return said + 0.1 * said.mean(axis=1, keepdims=True)


class NeedsBothClasses(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.inner_ = MultiOutputClassifier(LogisticRegression()).fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


class Inverts(Plain):
    def fit(self, X, y):
        x = np.asarray(X) - np.asarray(X).mean(axis=0)
        self.coef_, self.mean_ = np.linalg.inv(x.T @ x) @ x.T @ y, y.mean(axis=0)
        return self

    def predict(self, X):
        return np.asarray(X) @ self.coef_ + self.mean_


class NeverChecks(Plain):
    """Takes any number of features to predict."""

    def fit(self, X, y):
        self.mean_ = np.asarray(y).mean(axis=0)
        return self

    def predict(self, X):
        return np.repeat(self.mean_[None], X.shape[0], axis=0)


class WantsArrays(LabelSpace):
    """Its codes are the labels."""

    def fit(self, X, Y):
        self.n_labels_ = np.asarray(Y).shape[1]
        return self

    def encode(self, Y):
        assert isinstance(Y, np.ndarray), "label sets are not as `fit` got them"
        return Y.astype(float)

    def decode(self, codes):
        return codes


def test_encode_gets_label_sets_as_fit_got_them():
    X, Y = make_problem()
    model = ComposedClassifier(Ridge(), label_space=WantsArrays())
    assert model.fit(sp.csr_array(X), sp.csr_array(Y)).predict(sp.csr_array(X)).shape == Y.shape


@pytest.mark.parametrize(
    ("cls", "law", "why"),
    [
        (ChangesItsParameter, "predicts", "plain data: RuntimeError: Cannot clone object .* modifies parameter alpha"),
        (SaysTooLittle, "predicts", r"plain data: .*shape \(80, 1\) where \(80, 5\)"),
        (WritesIntoItsInput, "predicts", "plain data: .* take a copy"),
        (RollsDice, "repeatable", r"the same data twice: scores differ by up to .* check_random_state\("),
        (SaysTheOpposite, "learns", r"\d\d% of the labels of the training rows are predicted wrongly"),
        (LooksAround, "row-alone", "rows one by one and together: scores differ by up to 0.0"),
        (RemembersTheFirst, "refit", "fitted to other data before: scores differ"),
        (TrustsTheFirstRow, "row-order", "rows in another order: scores differ by up to 0.1"),
        (PrefersTheFirstLabel, "label-order", "labels in another order: scores differ by up to 0.1"),
        (GoesByTheNumber, "label-order", "labels in another order: scores differ by up to"),
        (MistakesZeros, "sparse", "the same data sparse and dense: scores differ"),
        (OtherMoments, "moments", "fit_moments of a split and fit: scores differ"),
        (OneMore, "sizes", r"1 dimensions requested: codes of shape \(80, 2\)"),
        (NestsNot, "nested", "predict other labels than a fit with"),
        (Mixes, "independent", "two outputs fitted alone and among five: scores differ"),
        (NeedsBothClasses, "awkward-labels", "a label that never occurs: ValueError"),
        (Inverts, "awkward-features", "a constant feature: LinAlgError"),
        (NeverChecks, CONTRACT, "check_"),
    ],
)
def test_each_law_can_be_broken(cls: type, law: str, why: str) -> None:
    others = [each for each in NAMES if each != law]
    failed = [each for each in check(PartSubject(find_family(cls), cls), others) if each.verdict == "FAILED"]
    assert any(re.search(why, f"{each.case}: {each.why}") for each in failed), failed
    assert "\n" not in "".join(each.why for each in failed)


def test_what_does_not_apply_is_skipped_with_a_reason() -> None:
    found = outcomes(RefusesSparse, (CONTRACT, "refit"))
    sparse = found["sparse"]
    assert (sparse.verdict, sparse.why) == (
        "skipped",
        "refuses sparse features: it can only be used with dense data sets",
    )
    assert found["refit"].why == "excluded by --without"
    assert found["moments"].verdict == found["nested"].verdict == "skipped"
    assert failing(found) == set()


class OneLabel(LogisticRegression):
    """Of one label, and says nothing of it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = None
        return tags


def test_a_classifier_of_one_label_stands_in_binary_relevance() -> None:
    assert failing(outcomes(LogisticRegression)) == set()
    assert failing(outcomes(OneLabel, C=0.5)) == set()


def test_parameters_are_passed_and_seeds_set() -> None:
    made = []

    class Seeded(PLST):
        def __init__(self, n_components=None, rounding="floor", random_state=None):
            super().__init__(n_components, rounding=rounding)
            self.random_state = random_state

        def fit_moments(self, moments):
            made.append((self.n_components, self.rounding, self.random_state))
            return super().fit_moments(moments)

    assert failing(outcomes(Seeded, rounding="nearest")) == set()
    assert {(rounding, seed) for _, rounding, seed in made} == {("nearest", 0)}
    assert 3 in {size for size, _, _ in made}, "where nobody sets it, laws reduce"


# -------------------------------------------------------------------- metrics


def _hits(Y, labels, scores):
    return float(np.mean(labels == Y))


def _of_late_rows(Y, labels, scores):
    return float(np.average((labels == Y).mean(axis=1), weights=np.arange(len(Y))))


def _of_the_first_label(Y, labels, scores):
    return float((Y[:, 0] == labels[:, 0]).mean())


def _of_scores_alone(Y, labels, scores):
    return float(np.mean((scores > 0.5) == Y))


def _rolled(Y, labels, scores):
    return float(np.random.default_rng().random())


def _of_ratio(Y, labels, scores):
    return 1 / Y.sum() if Y.sum() else float("inf")


@pytest.mark.parametrize(
    ("function", "higher", "law", "case"),
    [
        (_of_scores_alone, True, "number", "no scores (None)"),
        (_of_ratio, True, "number", "no true label"),
        (_rolled, True, "repeatable", ""),
        (_of_late_rows, True, "row-order", ""),
        (_of_the_first_label, True, "label-order", ""),
        (_hits, False, "direction", "ordinary predictions"),
    ],
)
def test_each_law_of_metrics_can_be_broken(
    function: Callable, higher: bool, law: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "higher_is_better", higher, raising=False)
    found = {each.law: each for each in check(MetricSubject(METRIC, function))}
    assert list(found) == OF_METRICS
    assert (found[law].verdict, found[law].case) == ("FAILED", case)
    monkeypatch.setattr(_hits, "higher_is_better", True, raising=False)
    assert {each.verdict for each in check(MetricSubject(METRIC, _hits))} == {"ok"}


# -------------------------------------------------------------------- causes


class Unchecked(TransformerMixin, BaseEstimator):
    """Prints, leaves its input unchecked, and returns a vector."""

    def fit(self, X, Y):
        print("fitting")
        return self

    def transform(self, X):
        return X[:, 0]


def test_failures_of_one_cause_stand_together_with_the_line_or_the_remedy(mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("test", f"{__name__}.Unchecked")
    assert done.code == 1
    assert (
        done.err == f"remark: {__name__}.Unchecked prints while it is fitted, as in every trial of a run: 'fitting'\n"
    )
    lines = done.out.splitlines()
    causes = [line for line in lines if line.startswith("  FAILED")]
    assert re.match(rf"FAILED  feature_space .*: \d+ FAILED \({len(causes)} causes\)", lines[0])
    assert causes[0] == "  FAILED  Unchecked.transform returned shape (80,), expected features of shape (80, any)"
    assert any(line.startswith("  FAILED  the input is not checked: `X, Y = validate_data(") for line in causes)
    (group,) = group_by_cause(check(PartSubject("learner", CallsWhatIsNotThere), [CONTRACT]))
    assert group[0].why.startswith("AttributeError: 'numpy.ndarray' object has no attribute 'total'")
    assert re.fullmatch(r":\d+, in fit", group[0].place)
    assert len({each.law for each in group}) > 1


class CallsWhatIsNotThere(Plain):
    def fit(self, X, y):
        return X.total()


class Untagged(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        X, y = validate_data(self, X, y, multi_output=True)
        if y.ndim == 1:
            raise TypeError("label sets wanted")
        self.mean_ = y.mean(axis=0)
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.repeat(self.mean_[None] > 0.5, len(X), axis=0).astype(int)


def test_a_classifier_without_tags_is_tested_as_what_it_fits() -> None:
    """scikit-learn's checks fit it to label sets, and what they ask of the classes of a vector is not asked."""
    found = outcomes(Untagged, ())
    assert failing(found) == set(), found
    assert found[CONTRACT].verdict == "ok"
    assert "__sklearn_tags__" not in vars(Untagged), "the tags of a class are its own again"


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (lambda scores: None, "returned nothing, expected label sets of shape (80, 5)"),
        (lambda scores: (scores > 0.5) * 2, "returned 2 (and more), expected label sets of 0 and 1"),
        (lambda scores: (scores > 0.5).T, "returned shape (5, 80), expected label sets of shape (80, 5)"),
        (lambda scores: np.full(scores.shape, "yes"), "returned values of type <U3, expected label sets, which are"),
        (lambda scores: scores * np.nan, "returned NaN, expected label sets, which are numbers"),
    ],
)
def test_what_a_threshold_returns_is_looked_at(labels: Callable, why: str) -> None:
    class Own(BaseEstimator):
        def apply(self, scores):
            return labels(scores)

    X, Y = make_problem()
    model = ComposedClassifier(LeastSquares(), threshold=Own()).fit(X, Y)
    with pytest.raises(ReturnedWrong, match=re.escape(f"Own.apply {why}")):
        model.predict(X)


# -------------------------------------------------------------------- what is tested


def test_components_are_tested_by_their_names(monkeypatch: pytest.MonkeyPatch, mlcdr: Callable[..., Outcome]) -> None:
    def points(group: str) -> list[EntryPoint]:
        return [EntryPoint("own_ridge", "sklearn.linear_model:Ridge", group)] * (group == "mlcdr.learner")

    monkeypatch.setattr(registry, "plug_ins", points)
    registry._known.cache_clear()
    try:
        done = mlcdr("test", "own_ridge", "--without", CONTRACT)
    finally:
        registry._known.cache_clear()
    assert done.out.startswith("ok      learner sklearn.linear_model._ridge.Ridge: ")
    assert [each.family for each in load("mlfs")] == ["feature_space", "local_features"]
    assert [each.family for each in load(f"{__name__}.NestsNot")] == ["label_space"]
    with pytest.raises(UserError, match=r"plts: neither a Python file .* did you mean 'plst'"):
        load("plts")


def test_the_example_obeys_and_runs(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("test", EXAMPLES / "my_method.py")
    assert (done.code, done.err) == (0, ""), done.out
    lines = done.out.splitlines()
    assert lines[0] == "ok      learner my_method.ScaledRidge: 12 ok, 3 skipped"
    assert lines[1] == "ok      label_space my_method.MostFrequent: 14 ok, 1 skipped"
    assert len(lines) == 2 * (3 + len(OF_PARTS)), "a line for each check"
    ran = prepared.command(
        "run", "my_method.yaml", "--set", "splits.repeats=2", "-j", "1", "--out", tmp_path, cwd=EXAMPLES
    )
    assert ran.returncode == 0, ran.stderr
    assert all(name in ran.stdout for name in ("PLST scaled", "MostFrequent")), ran.stdout


def test_the_example_is_ridge_on_standardised_features() -> None:
    (ridge, _) = load(str(EXAMPLES / "my_method.py"))
    X, Y = problem("dependent")
    new = problem("dependent", seed=1)[0]
    scaler = StandardScaler().fit(X)
    theirs = Ridge(alpha=0.3 * len(X)).fit(scaler.transform(X), Y.astype(float))
    new[:, 9] = X[0, 9]  # constant in training
    ours = ridge.target(0.3).fit(X, Y.astype(float)).predict(new)
    np.testing.assert_allclose(ours, theirs.predict(scaler.transform(new)), atol=1e-8)


def test_options_set_parameters_and_leave_checks_out(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    path = tmp_path / "my_bad.py"
    path.write_text(
        "from sklearn.linear_model import Ridge\n"
        "class Bad(Ridge):\n    def __init__(self, alpha, shift=0.1):\n"
        "        super().__init__(alpha)\n        self.shift = shift\n"
        "    def predict(self, X):\n        said = super().predict(X)\n"
        "        if said.ndim == 2: said[:, 0] += self.shift\n        return said\n"
        "class _Hidden(Bad): pass\n"
    )
    done = mlcdr("test", path, "--set", "alpha=1.0", "--without", CONTRACT)
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[0] == "FAILED  learner my_bad.Bad: 1 FAILED (1 cause), 9 ok, 5 skipped"
    assert lines[3:5] == [
        "  FAILED  labels in another order: scores differ by up to 0.1",
        f"          label-order       {laws.label_order.__doc__}",
    ]
    right = mlcdr("test", path, "--set", "alpha=1.0", "--set", "shift=0", "--without", CONTRACT)
    assert right.code == 0, right.out
    left_out = mlcdr("test", path, "--set", "alpha=1", "--without", CONTRACT, "--without", "label-order")
    assert left_out.code == 0
    for flags, told in (
        ([], "Bad cannot be instantiated: "),
        (["--set", "alfa=1"], "no class has this parameter; did you mean 'alpha'?"),
        (["--set", "alpha"], "expected NAME=VALUE"),
        (["--set", "alpha=1", "--without", "rows"], "unknown check 'rows'"),
    ):
        wrong = mlcdr("test", path, *flags)
        assert wrong.code == 2
        assert len(wrong.err.splitlines()) == 1
        assert told in wrong.err


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "my_renamed.py",
            "from sklearn.linear_model import Ridge\nclass Mine(Ridge):\n    def __init__(self, shift=0.1):\n"
            "        self.moved = shift\n",
            "Mine: 'Mine' object has no attribute 'shift'; `__init__` must store each parameter under its own name",
        ),
        (
            "my_half.py",
            "class Half:\n    def fit(self, X, Y):\n        return self\n",
            "learner: fit(X, Y) and predict(X)",
        ),
        ("my_function.py", "def half(Y, labels, scores):\n    return 0.5\n", "an attribute `higher_is_better`"),
        ("my_wrong.py", "\nimport no_such_module\n", "my_wrong.py:2: cannot be imported: ModuleNotFoundError"),
        ("my_syntax.py", "\nclass :\n", "my_syntax.py:2: cannot be imported: SyntaxError"),
        ("numpy.py", "class A:\n    pass\n", "another module is named 'numpy'"),
        ("my_text.txt", "", "no such Python file"),
        ("my_nowhere.py", None, "no such Python file"),
    ],
)
def test_files_without_methods(
    tmp_path: Path, mlcdr: Callable[..., Outcome], name: str, text: str | None, told: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    done = mlcdr("test", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
