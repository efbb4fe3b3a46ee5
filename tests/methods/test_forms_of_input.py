"""The same numbers in any form are the same input: to every method, with fewer, as many and more rows than features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier

from mlcdr import C45, M5P, MLDA, ComposedClassifier, LeastSquares, UserError
from mlcdr.methods import registry
from mlcdr.methods.component import Component
from mlcdr.numerics.entry import as_csr
from mlcdr.numerics.moments import Moments
from mlcdr.testing.subject import PartSubject, is_for_one_label
from tests.methods.problems import QUICK

SIZES = {"n < d": (18, 27), "n = d": (20, 20), "n > d": (36, 8)}
FAMILIES = ("feature_space", "dual_space", "label_space", "learner", "instance_space", "local_features", "clusterer")


def problem(size):
    """Whole numbers, most of them 0, that an int and a single-precision number hold exactly; and labels."""
    n, d = SIZES[size]
    rng = np.random.default_rng(n)
    X = rng.integers(1, 30, (n, d)) * (rng.random((n, d)) < 0.4).astype(float)
    X[:, 0] = rng.integers(-5, 5, n)
    scores = X[:, :4] + X[:, 4:8] + rng.integers(0, 9, (n, 4))
    return X, (scores > np.median(scores, axis=0)).astype(np.uint8)


def spread_out(X):
    """X as every second column of a larger array."""
    wide = np.full((X.shape[0], 2 * X.shape[1]), np.nan)
    wide[:, ::2] = X
    return wide[:, ::2]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def stored_twice(X):
    """As CSR, columns descending, with each value stored in two halves, and a zero in each row."""
    n, d = X.shape
    parts = [(x / 2, j) for row in X for j, x in [*enumerate(row)][::-1] if x or j == d - 1 for _ in range(2)]
    counts = [2 * (np.count_nonzero(row) + (row[-1] == 0)) for row in X]
    data, columns = zip(*parts, strict=True)
    return sp.csr_matrix((data, columns, np.r_[0, np.cumsum(counts)]), shape=(n, d))


DENSE = {
    "int": lambda X: X.astype(int),
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "not contiguous": spread_out,
    "read-only": read_only,
}
SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "bsr_array": sp.bsr_array,
    "lil_matrix": sp.lil_matrix,
    "int": lambda X: sp.csr_matrix(X.astype(int)),
    "float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "stored twice": stored_twice,
}


def parts():
    for family in FAMILIES:
        for name in registry.names(family):
            if Component(family, name).declaration().runs_command:
                continue
            try:
                made = Component(family, name).build()
            except UserError:  # it needs an optional package
                continue
            yield pytest.param(family, type(made), id=f"{family}-{name}")


PARTS = list(parts())
# where there are no more rows than features, many bases are as good as theirs, and rounding chooses
FREE = {
    ("label_space", "CanonicalCodes"),
    ("label_space", "OCCA"),
    ("label_space", "ReaderLE"),
    ("feature_space", "SCCA"),
}


def subject_of(family, cls):
    params = QUICK.get(cls.__name__, {})
    if family == "feature_space" and "max_iter" in registry.parameters(cls):
        params = params | {"max_iter": 5}  # enough to see a difference
    return PartSubject(family, cls, params)


def says(subject, X, Y):
    """What a part says that is fitted to X and Y by itself, if it is an estimator for itself, else in its place."""
    if subject.family in ("local_features", "dual_space", "instance_space"):
        model = subject.compose_small().fit(X, Y)
        return [model.predict(X)]
    part = subject.make()
    if subject.family == "clusterer":
        return [part.fit(X).predict(X)]
    if subject.family == "label_space":
        codes = part.fit(X, Y).encode(Y)
        return [np.asarray(codes), np.asarray(part.decode(codes))]
    dense = Y.toarray() if sp.issparse(Y) else Y
    if subject.family == "learner" and is_for_one_label(part):
        return [part.fit(X, dense[:, 0]).predict(X)]
    if subject.family == "learner" and not is_classifier(part):
        return [part.fit(X, dense.astype(float)).predict(X)]
    part.fit(X, Y)
    return [np.asarray(found) for found in ([part.predict(X)] if hasattr(part, "predict") else [as_dense(part, X)])]


def as_dense(part, X):
    found = part.transform(X)
    return found.toarray() if sp.issparse(found) else found


def same(found, expected, tolerance=1e-6, form=""):
    for ours, theirs in zip(found, expected, strict=True):
        size = max(1.0, np.abs(theirs).max())
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * size, err_msg=form)


def compare_forms(family, cls, size, dense_forms, sparse_forms):
    """Compare a part fitted to some forms of the same numbers: dense ones, then sparse ones with sparse labels."""
    X, Y = problem(size)
    subject = subject_of(family, cls)
    dense = says(subject, X, Y)
    for form in dense_forms:
        same(says(subject, DENSE[form](X), Y), dense)
    try:
        sparse = says(subject, sp.csr_array(X), sp.csr_array(Y))
    except (TypeError, ValueError) as error:
        if "sparse" not in str(error):
            raise
        with pytest.raises(type(error), match="sparse"):
            says(subject, sp.csr_matrix(X), sp.csr_matrix(Y))
        return
    if (family, cls.__name__) not in FREE:
        same(sparse, dense)
    for form in sparse_forms:
        # the last digits depend on the order in memory, on some processors
        same(says(subject, SPARSE[form](X), SPARSE[form](Y)), sparse, 1e-10, form)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("family", "cls"), PARTS)
def test_a_csr_matrix_and_a_form_in_turn_are_the_same_numbers_to_a_method(family, cls):
    """With each method a `csr_matrix`, and the next of the other forms.

    Its `*` is a product of matrices, which shapes of n < d refuse: whoever means entries is seen.
    """
    turn = [part.values for part in PARTS].index((family, cls))
    others = list(SPARSE)[1:]
    compare_forms(family, cls, "n < d", [list(DENSE)[turn % len(DENSE)]], ["csr_matrix", others[turn % len(others)]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("family", "cls"), PARTS)
def test_every_form_of_the_same_numbers_is_the_same_to_every_method(family, cls, size):
    compare_forms(family, cls, size, DENSE, SPARSE)


@pytest.mark.parametrize("size", SIZES)
def test_fuzzy_weights_of_a_sparse_matrix_are_those_of_its_numbers(size):
    """`X * X` of a `csr_matrix` is a product of matrices, which n = d lets through."""
    X, Y = problem(size)
    found = [MLDA(weights="fuzzy").fit(form(X), Y).eigenvalues_ for form in (sp.csr_matrix, sp.csc_array, np.array)]
    np.testing.assert_allclose(found[0], found[2], rtol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])


class ToMatrix(TransformerMixin, BaseEstimator):
    """A step as scikit-learn has many: it puts out a `csr_matrix`."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return sp.csr_matrix(X)


def test_what_a_foreign_step_puts_out_is_converted_too():
    X, Y = problem("n < d")
    with_step = ComposedClassifier(LeastSquares(), feature_space=[ToMatrix()]).fit(X, Y)
    alone = ComposedClassifier(LeastSquares()).fit(sp.csr_array(X), Y)
    np.testing.assert_array_equal(with_step.decision_function(X), alone.decision_function(sp.csr_array(X)))
    np.testing.assert_array_equal(
        Moments.from_arrays(sp.csc_matrix(X), Y).xx, Moments.from_arrays(as_csr(sp.csr_array(X)), Y).xx
    )


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.bsr_array])
@pytest.mark.parametrize("index", [10**6, -1])
def test_an_index_out_of_range_is_refused_before_a_loop_reads_or_writes_there(make, index):
    """SciPy does not look, and compiled trees put a value where its column says."""
    X, Y = problem("n > d")
    damaged = make(X)
    damaged.indices[3] = index
    for each in (C45(), M5P(), LeastSquares()):
        with pytest.raises(ValueError, match="a sparse matrix is damaged: "):
            each.fit(damaged, Y[:, 0])
        fitted = each.fit(X, Y[:, 0])
        with pytest.raises(ValueError, match="a sparse matrix is damaged: "):
            fitted.predict(damaged)


def test_what_is_given_stays_as_it_was():
    X, _ = problem("n > d")
    given = stored_twice(X)
    before = given.data.copy(), given.indices.copy()
    converted = as_csr(given)
    assert isinstance(converted, sp.csr_array)
    assert converted.nnz == np.count_nonzero(X)
    np.testing.assert_array_equal(converted.toarray(), X)
    for ours, theirs in zip((given.data, given.indices), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    clean = sp.csr_array(X)
    assert as_csr(clean) is clean
