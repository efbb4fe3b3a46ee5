"""The SVM with hinge loss: against scikit-learn's LIBSVM on the rows, and what labels of the same rows share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from mlcdr import LLSF, BinaryRelevance, ClassifierChain, HingeSVM
from mlcdr.methods.learners import hinge_svm
from tests.methods.problems import problem

FORMS = {"dense": np.asarray, "csr": sp.csr_array, "thin": lambda X: sp.csr_array(np.where(np.abs(X) > 1.9, X, 0.0))}


def kernel_machine(X, y, C=1.0):
    return SVC(C=C, kernel="linear").fit(sp.csr_matrix(X) if sp.issparse(X) else X, y)


@pytest.mark.parametrize("products", [True, False], ids=["products of rows", "rows"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["plain", "wide"])
def test_it_is_libsvm_on_the_rows(name, form, products, monkeypatch):
    if not products:
        monkeypatch.setattr(hinge_svm, "_ENTRIES", 0)
    kernels = []
    monkeypatch.setattr(hinge_svm, "SVC", lambda **given: kernels.append(given["kernel"]) or SVC(**given))
    X, Y = problem(name)
    X = FORMS[form](X)
    for C in (1.0, 0.1):
        model, reference = HingeSVM(C).fit(X, Y[:, 0]), kernel_machine(X, Y[:, 0], C)
        np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    assert set(kernels) == {"precomputed" if products else "linear"}


def test_one_rare_label_forms_no_products(monkeypatch):
    monkeypatch.setattr(hinge_svm, "_products", lambda X: pytest.fail("formed"))
    X, _ = problem("plain")
    y = (np.arange(len(X)) < 3).astype(int)
    np.testing.assert_array_equal(HingeSVM().fit(X, y).predict(X), kernel_machine(X, y).predict(X))


def test_the_optimality_conditions_hold():
    """α in [0, C] with Σαy = 0; α = 0 beyond the margin, C within it."""
    X, Y = problem("plain")
    sign = 2.0 * Y[:, 0] - 1
    model = HingeSVM(tol=1e-8).fit(X, Y[:, 0])
    margins = sign * model.decision_function(X)
    inside, on = margins < 1 - 1e-4, np.abs(margins - 1) <= 1e-4
    # what the rows within the margin do not give of w and of Σαy, those on it do, with α in [0, 1]
    left = np.append(model.coef_[0] - X[inside].T @ sign[inside], -sign[inside].sum())
    signed = np.vstack([X[on].T, np.ones(on.sum())]) * sign[on]
    alpha = np.linalg.lstsq(signed, left, rcond=None)[0]
    np.testing.assert_allclose(signed @ alpha, left, atol=1e-3)
    assert alpha.min() > -1e-3
    assert alpha.max() < 1 + 1e-3


def test_all_labels_of_the_same_rows_share_the_products(monkeypatch):
    found = []
    monkeypatch.setattr(hinge_svm, "_products", lambda X: found.append(X.shape) or X @ X.T)
    X, Y = problem("plain")
    model = BinaryRelevance(HingeSVM()).fit(X, Y)
    assert found == [X.shape]
    for k in (0, 3):
        alone = kernel_machine(X, Y[:, k])
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    "make", [lambda e: ClassifierChain(e, order=None), lambda e: LLSF(e, beta=2.0)], ids=["CC", "LLSF"]
)
def test_labels_with_features_of_their_own_do_not_share_them(make):
    X, Y = problem("plain")
    ours, theirs = make(HingeSVM()).fit(X, Y), make(SVC(kernel="linear")).fit(X, Y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
