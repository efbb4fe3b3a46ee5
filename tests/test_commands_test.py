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
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from mlcdr.errors import UserError
from mlcdr.laws import checking
from mlcdr.laws.checking import check, group_by_cause
from mlcdr.laws.classes import METRIC, describe_missing, find_family, load
from mlcdr.laws.of_metrics import DESCRIPTIONS_OF_METRICS
from mlcdr.laws.statements import CONTRACT, DESCRIPTIONS, LAWS
from mlcdr.laws.subject import make_problem
from mlcdr.methods import registry
from mlcdr.methods.composition import ComposedClassifier
from mlcdr.methods.label_space.linear import LinearLabelSpace
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners.least_squares import LeastSquares
from mlcdr.methods.local_features.selector import LocalSelector
from mlcdr.methods.returned import ReturnedWrong
from tests import prepared, small
from tests.methods.problems import QUICK, problem
from tests.small import Outcome

EXAMPLES = Path(__file__).parents[1] / "examples"

# What depends on an order, and must: a chain on that of its links, a tree of labels where nothing else says which end
# is the root, what is held out or drawn at random on that of the rows, random labels, codes and clusters of labels on
# the labels' numbers, MLHSL and SLEEC on the rows, of which the first are nearest where label sets repeat, LIFT's
# clusters on both, k-means on the rows drawn first, READER-LE on the rows as MLHSL does.
ORDERED = {
    "classifier_chain": "label-order",
    "probabilistic_classifier_chain": "label-order",
    "polytree_chain": "label-order row-order",
    "k_dependence_chain": "label-order",
    "meta_label_chain": "label-order",
    "mlsf": "label-order",
    "pbr": "label-order",
    "compressed_sensing": "label-order",
    "random_projection": "label-order",
    "cssp": "label-order",
    "reader_le": "row-order",
    "mlhsl": "row-order",
    "sleec": "row-order",
    "homer": "label-order",
    "lift": "label-order row-order",
    "cbmlc": "label-order row-order",
    "clmlc": "label-order row-order",
    "k_means": "row-order",
    "ensemble": "label-order row-order",
}


# Most of the computing. By default they are put to scikit-learn's checks, or to tests/methods/test_forms_of_input.py;
# of the selectors by information, which have one search, and of the chains the quicker are left.
SLOW = {
    *("clems", "homer", "ldf", "lift", "meta_label_chain", "mlcfs"),
    *("mlsf", "occ", "polytree_chain", "rakel", "wrapper"),
    *("d2f", "jmi", "mdmr", "mlfs", "mlig", "pmu", "reader", "reader_le", "sleec"),
    *("bayesian_classifier_chain", "dismec", "ensemble", "pairwise", "probabilistic_classifier_chain"),
}


@pytest.fixture(autouse=True)
def _no_module_stays() -> Iterator[None]:
    before, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


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
    outcomes = {each.law: each for each in check(cls, QUICK.get(cls.__name__), without=[CONTRACT])}
    assert list(outcomes) == [*LAWS, CONTRACT]
    failed = {law: each.why for law, each in outcomes.items() if each.verdict == "FAILED"}
    assert set(failed) == set(ORDERED.get(name, "").split()), failed
    claims = getattr(cls, "nested", False) and getattr(cls, "size_parameter", "") in registry.parameters(cls)
    assert (outcomes["nested"].verdict == "ok") == bool(claims)


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


class HidesItsParameter(Plain):
    def __init__(self, alpha=1.0):
        self._alpha = alpha


class SaysTooLittle(Plain):
    def predict(self, X):
        return super().predict(X)[:, :1]


class RollsDice(Plain):
    def predict(self, X):
        return super().predict(X) + np.random.default_rng().standard_normal()


class RemembersTheFirst(Plain):
    def fit(self, X, y):
        return self if hasattr(self, "inner_") else super().fit(X, y)


class WritesIntoItsInput(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X -= 1
        return X


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


class DividesBySpread(Plain):
    def fit(self, X, y):
        self.weight_ = np.linalg.inv([[np.var(y)]])
        return super().fit(X, y)


class AsksForTwoRows(Plain):
    def fit(self, X, y):
        if X.shape[0] < 2:
            raise ValueError("needs 2 rows at least, found 1")
        return super().fit(X, y)


class NeverChecks(Plain):
    """Takes any number of features to predict."""

    def fit(self, X, y):
        self.mean_ = np.asarray(y).mean(axis=0)
        return self

    def predict(self, X):
        return np.repeat(self.mean_[None], X.shape[0], axis=0)


class GoesByTheNumber(LocalSelector):
    """The feature of the label's number."""

    def alone(self, label):
        return np.array([label])


class ChoosesOnce(LocalSelector):
    """As many of the first features as the first data had."""

    def fit(self, X, Y):
        if not hasattr(self, "columns_"):
            self.columns_ = np.arange(X.shape[1])
        return self

    def alone(self, label):
        return self.columns_


@pytest.mark.parametrize(
    ("cls", "law", "why"),
    [
        (GoesByTheNumber, "label-order", "labels in another order: scores differ by up to"),
        (ChoosesOnce, "refit", "fitted to other data before"),
        (ChangesItsParameter, "parameters", "alpha"),
        (HidesItsParameter, "parameters", "alpha"),
        (SaysTooLittle, "predicts", r"plain data: .*shape \(80, 1\) where \(80, 5\)"),
        (RollsDice, "repeatable", "fitted twice: scores differ by up to"),
        (RemembersTheFirst, "refit", ""),
        (WritesIntoItsInput, "input", "modifies its input"),
        (TrustsTheFirstRow, "row-order", "training rows in another order: scores differ by up to 0.1"),
        (PrefersTheFirstLabel, "label-order", "labels in another order: scores differ by up to 0.1"),
        (MistakesZeros, "sparse", "the same features sparse and dense"),
        (OtherMoments, "moments", "fit_moments of a split"),
        (OneMore, "sizes", r"1 dimensions requested: codes of shape \(80, 2\)"),
        (NestsNot, "nested", "predict other labels than a fit with"),
        (Mixes, "independent", "two outputs fitted alone and among five"),
        (NeedsBothClasses, "awkward-labels", "a label that never occurs: ValueError"),
        (Inverts, "awkward-features", "a constant feature: LinAlgError"),
        (DividesBySpread, "one-instance", "LinAlgError"),
        (NeverChecks, CONTRACT, "check_"),
    ],
)
def test_each_law_can_be_broken(cls: type, law: str, why: str) -> None:
    others = [each for each in DESCRIPTIONS if each != law and each != CONTRACT]
    without = others if law == CONTRACT else [CONTRACT]
    failed = [each for each in check(cls, without=without) if each.law == law]
    assert {each.verdict for each in failed} == {"FAILED"}, failed
    assert any(re.search(why, f"{each.case}: {each.why}") for each in failed), failed
    assert "\n" not in "".join(each.why for each in failed)


def test_what_does_not_apply_is_skipped_with_a_reason() -> None:
    found = {each.law: each for each in check(RefusesSparse, without=[CONTRACT, "refit"])}
    assert found["sparse"] == checking.Outcome(
        "sparse", "skipped", "refuses sparse features: it can only be used with dense data sets"
    )
    assert found["refit"].why == "excluded by --without"
    assert found["moments"].verdict == found["nested"].verdict == "skipped"
    assert found["row-order"].verdict == "ok"


def test_a_learner_may_ask_for_more_than_one_row() -> None:
    found = {each.law: each for each in check(AsksForTwoRows, without=[CONTRACT])}
    assert found["one-instance"].verdict == "skipped"
    assert "needs 2 rows" in found["one-instance"].why


def test_a_classifier_of_one_label_stands_in_binary_relevance() -> None:
    found = {each.law: each for each in check(DecisionTreeClassifier, without=["label-order", CONTRACT])}
    assert {each.verdict for each in found.values()} == {"ok", "skipped"}
    alone = {each.law: each for each in check(OneLabel, without=[CONTRACT])}
    assert {law for law, each in alone.items() if each.verdict == "FAILED"} == {"refit"}


class OneLabel(LogisticRegression):
    """Of one label; goes on from where it was."""

    def __init__(self):
        super().__init__(warm_start=True, max_iter=1)


def test_parameters_are_passed_and_seeds_set() -> None:
    made = []

    class Seeded(PLST):
        def __init__(self, n_components=None, rounding="floor", random_state=None):
            super().__init__(n_components, rounding)
            self.random_state = random_state

        def fit_moments(self, moments):
            made.append((self.n_components, self.random_state))
            return super().fit_moments(moments)

    assert all(each.verdict != "FAILED" for each in check(Seeded, {"rounding": "nearest"}, [CONTRACT]))
    assert {seed for _, seed in made} == {0}
    assert 3 in {size for size, _ in made}, "where nobody sets it, laws reduce"
    with pytest.raises(UserError, match="unknown check 'rows'"):
        next(check(PLST, without=["rows"]))


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
    ("function", "higher", "law"),
    [
        (_of_scores_alone, True, "number"),
        (_rolled, True, "repeatable"),
        (_of_late_rows, True, "row-order"),
        (_of_the_first_label, True, "label-order"),
        (_hits, False, "direction"),
        (_of_ratio, True, "awkward"),
    ],
)
def test_each_law_of_metrics_can_be_broken(
    function: Callable, higher: bool, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "higher_is_better", higher, raising=False)
    others = [each for each in DESCRIPTIONS_OF_METRICS if each != law]
    found = {each.law: each.verdict for each in check(function, without=others, family=METRIC)}
    assert list(found) == list(DESCRIPTIONS_OF_METRICS)
    assert found[law] == "FAILED"
    monkeypatch.setattr(_hits, "higher_is_better", True, raising=False)
    assert {each.verdict for each in check(_hits, family=METRIC)} == {"ok"}


# -------------------------------------------------------------------- causes, parts and names


def test_failures_of_one_cause_stand_together(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    (tmp_path / "my_bad.py").write_text(
        "from sklearn.base import BaseEstimator, TransformerMixin\n\n\nclass Flat(TransformerMixin, BaseEstimator):\n"
        "    def fit(self, X, Y):\n        return self\n\n"
        "    def transform(self, X):\n        return X.total()\n"
    )
    done = mlcdr("test", tmp_path / "my_bad.py", "--without", CONTRACT)
    assert done.code == 1
    lines = done.out.splitlines()
    assert re.match(r"FAILED  feature_space my_bad.Flat: \d+ checks fail \(1 cause\)", lines[0])
    causes = [line for line in lines if line.startswith("  FAILED")]
    assert len(causes) == 1
    assert causes[0].endswith("has no attribute 'total'  (line 9, in transform)")
    assert any(line.split()[:1] == ["predicts"] for line in lines)


def test_scores_that_differ_each_time_are_one_cause() -> None:
    failed = [each for each in check(RollsDice, without=[CONTRACT]) if each.verdict == "FAILED"]
    assert len({each.law for each in failed}) > 1
    (group,) = group_by_cause(failed)
    assert "draw from check_random_state(self.random_state)" in group[0].why
    apart = [each for cls in (TrustsTheFirstRow, PrefersTheFirstLabel) for each in check(cls, without=[CONTRACT])]
    assert len(group_by_cause(apart)) == 2


class Unchecked(TransformerMixin, BaseEstimator):
    """Prints, leaves its input unchecked, and returns a vector."""

    def fit(self, X, Y):
        print("fitting")
        return self

    def transform(self, X):
        return X[:, 0]


class Subtracts(Unchecked):
    def fit(self, X, Y):
        self.mean_ = X.mean(axis=0)
        X -= self.mean_
        return self

    def transform(self, X):
        return X - self.mean_


def test_mistakes_are_explained_in_a_line(mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("test", f"{__name__}.Unchecked")
    assert (
        done.err == f"remark: {__name__}.Unchecked prints while it is fitted, as in every trial of a run: 'fitting'\n"
    )
    causes = [line for line in done.out.splitlines() if line.startswith("  FAILED")]
    assert causes[0] == "  FAILED  Unchecked.transform returned shape (80,), expected features of shape (80, any)"
    assert any(line.startswith("  FAILED  the input is not checked: `X, Y = validate_data(") for line in causes)
    (found,) = [each for each in check(Subtracts, without=[CONTRACT]) if each.law == "input"]
    assert (found.verdict, found.why) == ("FAILED", "fit or predict modifies its input")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (lambda scores: None, "returned nothing, expected label sets of shape (80, 5)"),
        (lambda scores: scores > 0.5, ""),
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
    if not why:
        assert model.predict(X).shape == Y.shape
        return
    with pytest.raises(ReturnedWrong, match=re.escape(f"Own.apply {why}")):
        model.predict(X)


def test_a_class_that_fits_no_part_is_told_what_is_missing(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    (tmp_path / "my_half.py").write_text("class Half:\n    def fit(self, X, Y):\n        return self\n")
    done = mlcdr("test", tmp_path / "my_half.py")
    assert (done.code, done.out) == (2, "")
    lines = [line.removeprefix("error: ") for line in done.err.splitlines()]
    assert lines[0].endswith("my_half.py: the class Half is no part of a method:")
    assert "  as a learner it lacks predict(X)" in lines
    assert "  as a label_space it lacks encode(Y) and decode(codes)" in lines
    assert describe_missing(int) == []


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
    found = {each.law: each for each in check(Untagged)}
    assert {law for law, each in found.items() if each.verdict == "FAILED"} == set(), found
    assert found[CONTRACT].verdict == "ok"
    assert "__sklearn_tags__" not in vars(Untagged), "the tags of a class are its own again"


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


def test_built_in_components_and_dotted_paths_are_tested_too() -> None:
    assert [each.family for each in load("mlfs")] == ["feature_space", "local_features"]
    assert [each.family for each in load("tests.test_commands_test.NestsNot")] == ["label_space"]
    with pytest.raises(UserError, match=r"plts: neither a Python file .* did you mean 'plst'"):
        load("plts")


# -------------------------------------------------------------------- the command


def test_the_example_obeys_and_runs(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("test", EXAMPLES / "my_method.py")
    assert (done.code, done.err) == (0, ""), done.out
    lines = done.out.splitlines()
    assert lines[0] == "ok      learner my_method.ScaledRidge: 13 checks hold, 3 do not apply"
    assert lines[1] == "ok      label_space my_method.MostFrequent: 15 checks hold, 1 does not apply"
    assert len(lines) == 2 * (3 + len(DESCRIPTIONS)), "a line for each check"
    assert sum(line.startswith("  ok ") for line in lines) == 13 + 15
    ran = prepared.command(
        "run", "my_method.yaml", "--set", "splits.repeats=2", "-j", "1", "--out", tmp_path, cwd=EXAMPLES
    )
    assert ran.returncode == 0, ran.stderr
    rows = {line.removeprefix("yeast").split("  ")[0].strip() or line for line in ran.stdout.splitlines()}
    assert all(name in ran.stdout for name in ("PLST scaled", "MostFrequent")), rows


def test_the_example_is_ridge_on_standardised_features() -> None:
    cls = load(str(EXAMPLES / "my_method.py"))[0].target
    X, Y = problem("dependent")
    new = problem("dependent", seed=1)[0]
    scaler = StandardScaler().fit(X)
    theirs = Ridge(alpha=0.3 * len(X)).fit(scaler.transform(X), Y.astype(float))
    new[:, 9] = X[0, 9]  # constant in training
    ours = cls(0.3).fit(X, Y.astype(float)).predict(new)
    np.testing.assert_allclose(ours, theirs.predict(scaler.transform(new)), atol=1e-8)


def test_a_method_that_breaks_a_law(tmp_path: Path, mlcdr: Callable[..., Outcome]) -> None:
    (tmp_path / "my_bad.py").write_text(
        "from sklearn.linear_model import Ridge\n"
        "class Bad(Ridge):\n    def __init__(self, alpha, shift=0.1):\n"
        "        super().__init__(alpha)\n        self.shift = shift\n"
        "    def predict(self, X):\n        said = super().predict(X)\n"
        "        if said.ndim == 2: said[:, 0] += self.shift\n        return said\n"
        "class _Hidden(Bad): pass\n"
    )
    path = tmp_path / "my_bad.py"
    done = mlcdr("test", path, "--set", "alpha=1.0", "--without", CONTRACT)
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[0] == "FAILED  learner my_bad.Bad: 1 check fails (1 cause), 10 hold, 5 do not apply"
    assert lines[3:5] == [
        "  FAILED  scores differ by up to 0.1",
        f"          label-order       {DESCRIPTIONS['label-order']}  [labels in another order]",
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
        ("my_empty.py", "x = 1\n", "no class here can be a part of a method"),
        ("my_function.py", "def half(Y, labels, scores):\n    return 0.5\n", "is a metric if `half.higher_is_better ="),
        ("my_wrong.py", "\nimport no_such_module\n", "my_wrong.py:2: cannot be imported: ModuleNotFoundError"),
        ("my_syntax.py", "\nclass :\n", "my_syntax.py:2: cannot be imported: SyntaxError"),
        ("numpy.py", "class A:\n    pass\n", "another module is named 'numpy'"),
        ("my_text.txt", "", "not a Python file"),
        ("my_nowhere.py", None, "no such file"),
    ],
)
def test_files_without_methods(
    tmp_path: Path, mlcdr: Callable[..., Outcome], name: str, text: str | None, told: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    done = mlcdr("test", tmp_path / name)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert told in done.err
