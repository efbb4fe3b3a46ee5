"""The label-space reducers: the papers' formulas written out, then laws all of them obey, then degenerate inputs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.random_projection import GaussianRandomProjection

import mlcdr
from mlcdr.methods import registry
from mlcdr.methods.contracts import as_dense
from mlcdr.methods.label_space import linear
from mlcdr.methods.label_space.kernel import KernelLabelSpace
from mlcdr.numerics.moments import Moments
from tests.methods.problems import NAMES, as_sparse, problem

ALL = [pytest.param(registry.resolve("label_space", name), id=name) for name in registry.names("label_space")]
# these find fewer dimensions than are asked for where labels have no more (tests/methods/test_reader_le.py)
OF_RANK = ("cssp", "reader_le")
# the codes of faie and leml are not linear in labels alone; random directions, and canonical ones, are not orthonormal
ORTHONORMAL = [
    p
    for p in ALL
    if p.id not in ("faie", "leml", "clems", "bmad", "compressed_sensing", "random_projection", "cca", *OF_RANK)
]


def make(cls, **params):
    """An instance, seeded where it is random, that can decode any label set."""
    if "random_state" in registry.parameters(cls):
        params["random_state"] = 0
    if "sparsity" in registry.parameters(cls):
        params["sparsity"] = 100  # no label set is too large
    return cls(**params)


def matrix_of(space, X, Y):
    """The K×K matrix of Table 1 of Chen & Lin 2012; X as it is, with a constant or with a ridge where that is asked."""
    p = {"alpha": 0.0, "centre": True, "constant": False} | space.get_params()
    z, F = Y - Y.mean(0), X - X.mean(0) if p["centre"] else X
    if p["constant"] and not p["centre"]:
        F = np.column_stack([F, np.ones(len(F))])
    H = F @ np.linalg.pinv(F)
    if p["alpha"] > 0:
        H = F @ np.linalg.solve(F.T @ F + p["alpha"] * np.eye(F.shape[1]), F.T)
    inner = {mlcdr.PLST: np.eye(len(X)), mlcdr.OCCA: H - np.eye(len(X)), mlcdr.CPLST: H}[type(space)]
    return z.T @ inner @ z


@pytest.mark.parametrize("cls", ALL)
def test_labels_and_codes_of_another_width_are_refused_with_the_shape_that_is_expected(cls):
    X, Y = problem(NAMES[0])
    space, n_labels = make(cls).fit(X, Y), Y.shape[1]
    width = space.encode(Y).shape[1]
    assert space.decode(space.encode(Y)).shape == Y.shape
    for wrong in (np.ones((4, n_labels + 1)), np.ones((4, n_labels - 1)), np.ones(n_labels)):
        with pytest.raises(ValueError, match=rf"^Y: shape \({wrong.shape[0]},.* where \(n, {n_labels}\) is expected"):
            space.encode(wrong)
    for wrong in (np.ones((4, width + 1)), np.ones(width), *([] if space.nested else [np.ones((4, width - 1))])):
        with pytest.raises(ValueError, match=rf"^codes: shape .* where \(n, {width}\).* is expected"):
            space.decode(wrong)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cls", [mlcdr.PLST, mlcdr.OCCA, mlcdr.CPLST])
def test_directions_are_the_leading_eigenvectors(cls, name):
    X, Y = problem(name)
    matrix = matrix_of(cls(), X, Y)
    exact = np.linalg.eigvalsh(matrix)[::-1]
    V = cls().fit(X, Y).directions_
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", V, matrix, V), exact, atol=1e-7)
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-10)


@pytest.mark.parametrize("cls", ORTHONORMAL)
def test_directions_are_nested_and_orthonormal(cls):
    X, Y = problem("plain")
    whole = make(cls).fit(X, Y).directions_
    np.testing.assert_allclose(whole @ whole.T, np.eye(6), atol=1e-10)
    if "n_components" in registry.parameters(cls):
        for m in range(1, 7):
            np.testing.assert_allclose(make(cls, n_components=m).fit(X, Y).directions_, whole[:m], atol=1e-8)


@pytest.mark.parametrize("cls", [*ALL, mlcdr.DDSR, mlcdr.IDSR])
def test_dense_sparse_and_moments_agree(cls):
    X, Y = problem("sparse counts")
    spaces = [make(cls).fit(X, Y), make(cls).fit(as_sparse(X), sp.csr_array(Y))]
    if not issubclass(cls, KernelLabelSpace | mlcdr.ReaderLE | mlcdr.CLEMS | mlcdr.BMaD):  # these need the rows
        spaces.append(make(cls).fit_moments(Moments.from_arrays(X, Y).settled()))
    for space in spaces[1:]:
        np.testing.assert_allclose(space.encode(Y) ** 2, spaces[0].encode(Y) ** 2, atol=1e-7)
        if cls in (mlcdr.DDSR, mlcdr.IDSR):
            np.testing.assert_allclose(space.transform(X) ** 2, spaces[0].transform(X) ** 2, atol=1e-7)
    np.testing.assert_allclose(spaces[1].encode(sp.csr_array(Y)), spaces[1].encode(Y))


@pytest.mark.parametrize(
    "space",
    [
        *(make(p.values[0]) for p in ORTHONORMAL),
        *(mlcdr.CanonicalCodes(), mlcdr.RandomProjection(random_state=0)),
        *(mlcdr.FaIE(weight=2.0, coding=coding) for coding in ("zero_one", "plus_minus_one")),
    ],
    ids=repr,
)
def test_error_terms_are_those_of_the_nearest_code_and_from_there_to_the_prediction(space):
    """In units of {0, 1}; with V the directions, a code is decoded by their pseudo-inverse, or by V itself (FaIE)."""
    X, Y = problem("plain")
    space.fit(X[:80], Y[:80])
    codes = np.random.default_rng(0).standard_normal((40, 6))
    encoding, prediction = space.error_terms(Y[80:], codes)
    faie = isinstance(space, mlcdr.FaIE)
    unit = 2 if faie and space.coding == "plus_minus_one" else 1
    z = Y[80:] - (1 - 1 / unit if faie else Y[:80].mean(0))
    for m in range(1, 7):
        V = space.directions_[:m]
        D = V / unit if faie else np.linalg.pinv(V).T
        nearest = z @ np.linalg.pinv(D) @ D
        assert encoding[m - 1] == pytest.approx(np.sum((z - nearest) ** 2) / 40, abs=1e-9)
        assert prediction[m - 1] == pytest.approx(np.sum((nearest - codes[:, :m] @ D) ** 2) / 40)
    assert encoding[-1] == pytest.approx(0, abs=1e-12)


def test_pbr_learns_its_labels_and_predicts_no_other():
    X, Y = problem("plain")
    space = mlcdr.PBR(n_components=3, random_state=3).fit(X, Y)
    codes = space.encode(Y)
    scores = space.decode(codes[:, :2])
    chosen = space.labels_[:2]
    np.testing.assert_allclose(scores[:, chosen], Y[:, chosen])
    assert not np.delete(scores, chosen, axis=1).any()  # even of labels that most instances have
    assert sorted(mlcdr.PBR(random_state=1).fit(X, Y).labels_) == list(range(6))
    assert len({tuple(mlcdr.PBR(random_state=s).fit(X, Y).labels_) for s in range(20)}) > 10


def test_plst_of_raw_labels_is_their_singular_value_decomposition():
    X, Y = problem("plain")
    _, singular, right = np.linalg.svd(Y.astype(float))
    for moments in (Moments.from_arrays(X, Y), Moments.from_arrays(X, sp.csr_array(Y)).settled()):
        space = mlcdr.PLST(3, centre=False).fit_moments(moments)
        np.testing.assert_allclose(space.eigenvalues_, singular[:3] ** 2)
        np.testing.assert_allclose(space.decode(space.encode(Y)), Y @ right[:3].T @ right[:3], atol=1e-10)
    codes = np.random.default_rng(0).standard_normal((len(Y), 3))
    encoding, prediction = space.error_terms(Y, codes)
    assert encoding[1] + prediction[1] >= np.sum((space.decode(codes[:, :2]) - Y) ** 2) / len(Y) - 1e-9


CODINGS = {"centred": lambda y, m: y - m, "zero_one": lambda y, m: y, "plus_minus_one": lambda y, m: 2 * y - 1}


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_coding_is_what_ridge_is_fitted_to(name, coding, intercept):
    """Ridge on the targets, written out; scores are in units of {0, 1}, or of ±1 where that is the coding."""
    X, Y = problem(name)
    train, test = slice(0, -10), slice(-10, None)
    T = CODINGS[coding](Y[train].astype(float), Y[train].mean(0))
    x, new = X[train], X[test]
    if intercept == "penalised":
        x, new = (np.column_stack([a, np.ones(len(a))]) for a in (x, new))
    offset, centre = (T.mean(0), x.mean(0)) if intercept == "free" else (0.0, 0.0)
    x, new = x - centre, new - centre
    dual = np.linalg.solve(x @ x.T + 2 * np.eye(len(x)), T - offset)  # (XᵀX + 2I)⁻¹Xᵀ = Xᵀ(XXᵀ + 2I)⁻¹
    expected = new @ (x.T @ dual) + offset + (Y[train].mean(0) if coding == "centred" else 0)
    model = mlcdr.ComposedClassifier(mlcdr.Ridge(2.0, intercept), mlcdr.Identity(coding)).fit(X[train], Y[train])
    scores = model.label_space_.decode(model.output(X[test]))
    size = 1e-9 * np.abs(new).max() ** 2 * np.abs(dual).max()
    np.testing.assert_allclose(scores, expected, atol=max(size, 1e-8))
    never = Y[train].max(axis=0) == 0
    scores[:, never] = -1 if coding == "plus_minus_one" else 0
    np.testing.assert_allclose(model.decision_function(X[test]), scores - (coding != "plus_minus_one") / 2)
    said, truth = model.output(X[test]), Y[test]
    encoding, prediction = model.label_space_.error_terms(truth, said)
    residual = CODINGS[coding](truth.astype(float), Y[train].mean(0)) - said
    assert encoding[-1] == 0
    unit = 2 if coding == "plus_minus_one" else 1
    assert prediction[-1] == pytest.approx(np.sum(residual**2) / 10 / unit**2)


def test_the_classifier_of_xu_et_al(real_dataset):
    """Targets of ±1, ridge 0.01 with a penalised intercept, score ≥ 0 or the top label; by an independent program."""
    from mlcdr.data.dataset import load_dataset

    real_dataset("scene")
    scene = load_dataset("scene", part="predefined")
    X, Y, n = as_dense(scene.X), as_dense(scene.Y), scene.n_train
    for fallback, accuracy in (("top", 0.709), ("none", 0.495)):
        model = mlcdr.ComposedClassifier(
            mlcdr.Ridge(0.01, "penalised"),
            mlcdr.Identity("plus_minus_one"),
            [mlcdr.MVMD({"eigenvalues": 0.999})],
            mlcdr.Zero(fallback, ties="present"),
        )
        said = model.fit(X[:n], Y[:n]).predict(X[n:]) > 0
        truth = Y[n:] > 0
        found = np.mean((said & truth).sum(axis=1) / (said | truth).sum(axis=1))
        assert round(float(found), 3) == accuracy


SIZED = [p for p in ALL if p.id not in OF_RANK and "rounding" in registry.parameters(p.values[0])]


@pytest.mark.parametrize("cls", SIZED)
def test_a_fraction_of_the_labels_is_rounded_as_asked(cls):
    X, Y = problem("plain")
    Y = np.column_stack([Y, Y[:, :4]])  # 10
    sizes = {"floor": (2, 4, 4, 1, 3), "nearest": (2, 4, 5, 1, 3), "ceiling": (3, 5, 5, 1, 3)}
    for rounding, expected in sizes.items():
        for p, size in zip((0.25, 0.44, 0.46, 0.04, 3), expected, strict=True):
            space = make(cls, n_components=p, rounding=rounding).fit(X, Y)
            assert space.n_components_ == len(space.directions_) == size
        whole = make(cls, rounding=rounding).fit(X, Y)
        assert [whole.size_of(p) for p in (0.25, 0.44, 0.46, 0.04, 3)] == list(expected)
        for p, tenths in ((0.1, 1), (0.2, 2), (0.3, 3), (0.6, 6), (0.7, 7), (1.0, 10)):  # in spite of binary fractions
            assert whole.size_of(p) == tenths
    with pytest.raises(ValueError, match="'rounding' parameter"):
        make(cls, rounding="up").fit(X, Y)


@pytest.mark.parametrize(
    "space",
    [
        *(mlcdr.CPLST(alpha=10.0, centre=False, constant=True), mlcdr.CPLST(alpha=10.0, constant=True)),
        *(mlcdr.CPLST(alpha=0.1, centre=False), mlcdr.OCCA(alpha=3.0)),
    ],
    ids=repr,
)
def test_a_ridge_an_offset_and_a_constant_are_in_the_hat_matrix(space):
    X, Y = problem("plain")
    X += 2
    exact = np.linalg.eigvalsh(matrix_of(space, X, Y))[::-1]
    np.testing.assert_allclose(space.fit(X, Y).eigenvalues_, exact, atol=1e-9)


@pytest.mark.parametrize("cls", ALL)
def test_all_dimensions_lose_nothing(cls):
    X, ordinary = problem("plain")
    degenerate = [np.zeros((120, 4)), np.ones((120, 4)), np.eye(120, 4), np.zeros((120, 1))]
    for Y in degenerate if cls is mlcdr.LEML else [ordinary, *degenerate]:  # LEML's penalty leaves dimensions out
        space = make(cls).fit(X, Y)
        np.testing.assert_allclose(space.decode(space.encode(Y)), Y, atol=1e-10)


@pytest.mark.parametrize("cls", ALL)
def test_bad_input_is_refused(cls):
    X, Y = problem("plain")
    with pytest.raises(ValueError, match=r"120 rows and y has 119"):
        make(cls).fit(X, Y[:-1])
    bad = Y.astype(float)
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 4: label 'label3' has no value"):
        make(cls).fit(X, bad)
    if "n_components" in registry.parameters(cls):
        with pytest.raises(ValueError, match="n_components=7 is more than the 6"):
            make(cls, n_components=7).fit(X, Y)
        for impossible in (0, -1, 1.5, 0.0, "all"):
            with pytest.raises(ValueError, match="'n_components' parameter"):
                make(cls, n_components=impossible).fit(X, Y)
        space = make(cls, n_components=3).fit(X, Y)
        if cls is not mlcdr.CLEMS:  # whose codes are not nested
            with pytest.raises(ValueError, match="4 dimensions are requested, 3 were fitted"):
                space.size_of(4)
            assert space.size_of(2) == 2
        assert clone(space).get_params()["n_components"] == 3


@pytest.mark.parametrize("m", [1, 4, 6])
def test_random_projection_is_scikit_learns_with_inverse_components(m):
    X, Y = problem("plain")
    theirs = GaussianRandomProjection(m, compute_inverse_components=True, random_state=0).fit(Y)
    theirs.components_ = mlcdr.RandomProjection(random_state=0).fit(X, Y).directions_[:m]
    theirs.inverse_components_ = theirs._compute_inverse_components()
    ours = mlcdr.RandomProjection(random_state=0).fit(X, Y)
    codes = ours.encode(Y)[:, :m]
    np.testing.assert_allclose(codes, theirs.transform(Y - Y.mean(0)), atol=1e-12)
    decoded = ours.decode(codes)
    np.testing.assert_allclose(decoded, theirs.inverse_transform(codes) + Y.mean(0), atol=1e-10)
    assert np.std(ours.directions_) == pytest.approx(1, abs=0.2)


def test_the_scores_of_leading_dimensions_do_not_depend_on_which_were_asked_for_before(monkeypatch):
    monkeypatch.setattr(linear, "_BLOCK", 4)
    rng = np.random.default_rng(0)
    codes, directions, mean = rng.standard_normal((30, 13)), rng.standard_normal((13, 20)), rng.standard_normal(20)
    scores = linear.LeadingScores(codes, directions, mean)
    for m in (3, 4, 9, 13, 8, 2, 12):
        found = scores.of(m)
        np.testing.assert_allclose(found, codes[:, :m] @ directions[:m] + mean, atol=1e-13)
        np.testing.assert_array_equal(found, linear.LeadingScores(codes, directions, mean).of(m))
