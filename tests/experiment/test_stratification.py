"""Stratified and grouped splits: laws, what two packages make of the same data, and the folds that are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from mlcdr.errors import ConfigError
from mlcdr.experiment.division import make_splits
from mlcdr.experiment.splits import SplitSpec
from mlcdr.experiment.stratification import label_pairs
from mlcdr.tables.split_shares import measure_deviation
from tests import small

parse = TypeAdapter(SplitSpec).validate_python


def splits_of(n: int, labels: Any, group_of_row: Any = None, **spec: Any):
    return make_splits(parse({"seed": 1, **spec}), "d", n, labels=labels, groups=group_of_row)


def fold_of_rows(Y: Any, folds: int = 10, **spec: Any) -> np.ndarray:
    fold = np.full(Y.shape[0], -1)
    for split in splits_of(Y.shape[0], Y, kind="kfold", folds=folds, **spec):
        assert (fold[split.test] == -1).all()
        fold[split.test] = split.index
    return fold


def some_labels(n: int, shares: Any, seed: int = 0) -> np.ndarray:
    """Labels that go together: rows of one of two kinds have each label with its share, halved or half as much more."""
    rng = np.random.default_rng(seed)
    kind = rng.random((n, 1)) < 0.5
    often = np.arange(len(shares)) % 2 == 0
    return (rng.random((n, len(shares))) < np.asarray(shares) * np.where(kind == often, 1.5, 0.5)).astype(np.uint8)


Y = some_labels(600, [0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.06, 0.04, 0.02, 0.01])


# -------------------------------------------------------------------- laws


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(4, 60),
    folds=st.integers(2, 4),
    stratified=st.sampled_from([True, "pairs"]),
    seed=st.integers(0, 2**70),
    group=st.integers(1, 5),
)
def test_sizes_are_those_of_blind_splits_and_groups_stay_together(n, folds, stratified, seed, group):
    labels = some_labels(n, [0.5, 0.4, 0.2, 0.0], seed % 1000)
    spec = {"stratified": stratified, "seed": seed}
    blind, ours = (splits_of(n, labels, kind="kfold", folds=folds, **each) for each in ({"seed": seed}, spec))
    assert [len(split.test) for split in ours] == [len(split.test) for split in blind]
    assert sorted(np.concatenate([split.test for split in ours])) == [*range(n)]
    size = n // 2 + 1
    (drawn,) = splits_of(n, labels, kind="shuffle", repeats=1, train_size=size, **spec)
    assert len(drawn.train) == size
    groups = np.arange(n) % max(n // group, folds)
    for grouped in (splits_of(n, labels, groups, kind="kfold", folds=folds, groups="g", **each) for each in (spec, {})):
        for split in grouped:
            assert len(split.test)
            assert not set(groups[split.test]) & set(groups[split.train])


@pytest.mark.parametrize("stratified", [False, True])
def test_no_part_is_left_without_a_group(stratified):
    labels = np.ones((100, 1))
    groups = np.r_[np.zeros(90, int), np.ones(10, int)]  # whatever comes first, the other must go to the other part
    spec = {"kind": "shuffle", "repeats": 8, "train_size": 0.9, "stratified": stratified, "groups": "g"}
    shuffled = splits_of(100, labels, groups, **spec)
    assert {len(split.test) for split in shuffled} == {10, 90}


def test_labels_without_overlap_are_dealt_as_scikit_learn_does():
    classes = np.repeat(np.arange(5), [30, 60, 15, 90, 45])
    fold = fold_of_rows(np.eye(5)[classes], 15, stratified=True)
    for _, test in StratifiedKFold(15).split(classes, classes):
        expected = np.bincount(classes[test], minlength=5)
        for number in range(15):
            np.testing.assert_array_equal(np.bincount(classes[fold == number], minlength=5), expected)


@pytest.mark.parametrize("stratified", [True, "pairs"])
def test_a_label_with_as_many_rows_as_folds_is_in_each_fold(stratified):
    """Where labels are many and common, as in cal500, the rules on sizes alone leave one out, and so do pairs."""
    rng = np.random.default_rng(2)
    labels = rng.random((502, 174)) < rng.beta(0.6, 3.4, 174)
    labels = labels[:, labels.sum(axis=0) >= 10]
    fold = fold_of_rows(labels, stratified=stratified)
    for number in range(10):
        assert labels[fold == number].any(axis=0).all()


def test_rows_change_places_again_where_an_exchange_makes_it_possible():
    labels = np.array([[1, 0, 1, 0], [1, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]])
    fold = fold_of_rows(labels, folds=3, stratified=True)
    assert all(labels[fold == number].any(axis=0).all() for number in range(3))


def test_pairs_are_those_that_rows_have():
    found = label_pairs(sparse.csr_array(Y)).toarray()
    first, second = np.triu_indices(Y.shape[1], 1)
    expected = (Y[:, first] * Y[:, second]).astype(int)
    np.testing.assert_array_equal(found, expected[:, expected.any(axis=0)])
    assert label_pairs(np.eye(3)).shape == (3, 0)


def test_a_split_does_not_depend_on_how_many_there_are_nor_on_the_form_of_labels():
    for kind in ({"kind": "kfold", "folds": 3}, {"kind": "shuffle", "train_size": 0.5}):
        few = splits_of(len(Y), Y, stratified="pairs", repeats=2, **kind)
        many = splits_of(len(Y), sparse.csr_array(Y), stratified="pairs", repeats=5, **kind)
        for i in (1, 0, 1, len(few) - 1):
            assert few[i].test.tolist() == many[i].test.tolist()
            assert few[i].identity == many[i].identity
        assert few[0].test.tolist() != few[len(few) - 1].test.tolist()
        other = splits_of(len(Y), Y, stratified=True, repeats=2, **kind)
        assert few[0].identity != other[0].identity
        assert few[0].test.tolist() != other[0].test.tolist()


def test_golden_rows():
    """Committed results would silently change if these did."""
    labels = np.array([[i % 2, i % 3 == 0, i % 5 == 0, i == 7] for i in range(12)])
    found = [split.test.tolist() for split in splits_of(12, labels, kind="kfold", folds=3, stratified="pairs")]
    assert found == GOLDEN
    (drawn,) = splits_of(12, labels, np.arange(12) // 2, kind="shuffle", repeats=1, train_size=8, groups="g")
    assert drawn.test.tolist() == GOLDEN_GROUPS


GOLDEN = [[2, 3, 5, 8], [0, 4, 9, 11], [1, 6, 7, 10]]
GOLDEN_GROUPS = [6, 7, 10, 11]


# -------------------------------------------------------------------- beside other packages


def mean_deviation(deal: Any, labels: np.ndarray) -> tuple[float, float]:
    """Of labels and of pairs, the mean over three seeds."""
    found = [deal(seed) for seed in range(3)]
    return tuple(
        np.mean([measure_deviation(each, fold)[0] for fold in found]) for each in (labels, label_pairs(labels))
    )


def test_labels_are_shared_out_as_evenly_as_by_iterative_stratification():
    theirs = pytest.importorskip("iterstrat.ml_stratifiers", reason="needs iterative-stratification")

    def deal(seed: int) -> np.ndarray:
        splitter, fold = theirs.MultilabelStratifiedKFold(10, shuffle=True, random_state=seed), np.empty(len(Y), int)
        for number, (_, test) in enumerate(splitter.split(Y, Y)):
            fold[test] = number
        return fold

    labels, _ = mean_deviation(lambda seed: fold_of_rows(Y, stratified=True, seed=seed), Y)
    blind, _ = mean_deviation(lambda seed: fold_of_rows(Y, seed=seed), Y)
    assert labels < 1.1 * mean_deviation(deal, Y)[0] < 0.5 * blind


def test_pairs_are_shared_out_as_evenly_as_by_scikit_multilearn():
    theirs = pytest.importorskip("skmultilearn.model_selection", reason="needs scikit-multilearn-ng")

    def deal(seed: int) -> np.ndarray:
        fold = np.empty(len(Y), int)
        splitter = theirs.IterativeStratification(10, order=2)
        splitter._rng_state = np.random.RandomState(seed)
        for number, (_, test) in enumerate(splitter.split(Y, Y)):
            fold[test] = number
        return fold

    labels, pairs = mean_deviation(lambda seed: fold_of_rows(Y, stratified="pairs", seed=seed), Y)
    their_labels, their_pairs = mean_deviation(deal, Y)
    assert labels < their_labels
    assert pairs < 1.05 * their_pairs
    assert pairs < 0.8 * mean_deviation(lambda seed: fold_of_rows(Y, stratified=True, seed=seed), Y)[1]


def test_the_deviation_written_out():
    fold = np.array([0, 0, 1, 1, 1])
    labels = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0]])
    shares = [abs(2 / 2 - 3 / 5), abs(1 / 2 - 2 / 5), abs(1 / 3 - 3 / 5), abs(1 / 3 - 2 / 5)]
    assert measure_deviation(labels, fold) == (pytest.approx(np.mean(shares)), 0)
    assert measure_deviation(labels[:, :1], np.array([0, 0, 1, 0, 1])) == (pytest.approx((0.4 + 0.6) / 2), 1)


# -------------------------------------------------------------------- in a config and on the command line


@pytest.fixture
def arff(tmp_path: Path) -> Path:
    return small.write_dataset(tmp_path / "data")


def rows_to_test(arff: Path, splits: dict[str, Any]) -> list[list[int]]:
    return [split.test.tolist() for split in small.read_data(small.experiment(arff, splits=splits)).splits]


def test_folds_that_are_written_are_those_of_a_config(arff, mlcdr, monkeypatch):
    monkeypatch.chdir(arff.parent)
    flags = ["--folds", 3, "--seed", 7, "--stratified", "pairs", "--to", "f/{dataset}.csv"]
    done = mlcdr("datasets", "splits", "./tiny.arff", *flags)
    assert (done.code, done.err) == (0, "written: f/tiny.csv\n")
    rows = [line.split() for line in done.out.splitlines() if "20" in line]
    assert [row[-6] for row in rows] == ["blind", "labels", "pairs"]
    assert float(rows[2][-2]) < float(rows[0][-2])
    written = rows_to_test(arff, {"kind": "file", "path": "f/{dataset}.csv"})
    assert written == rows_to_test(arff, {"kind": "kfold", "folds": 3, "seed": 7, "stratified": "pairs"})
    Path("mine.csv").write_text("a,b,c\n" + "1.5,0,1\n2.5,1,1\n" * 5)
    assert mlcdr("datasets", "splits", "mine.csv", "--set", "labels=-2", "--folds", 2).code == 0
    for place, file in (("mine.csv", "f.csv"), ("f/../tiny.arff", "{dataset}.csv")):
        wrong = mlcdr("datasets", "splits", "./tiny.arff", place, "--to", file)
        assert wrong.code == 2
        assert "{dataset} must be in the name of the file" in wrong.err


def test_rows_of_a_group_have_the_same_value_of_a_feature(tmp_path):
    arff = tmp_path / "g.arff"
    rows = [
        (site, year, "01"[i % 2])
        for i, (site, year) in enumerate(zip("abcabcacba", (1, 1, 2, 2, 3, 3, 1, 2, 3, 1), strict=True))
    ]
    header = "@relation 'g: -C -1'\n@attribute site {a,b,c}\n@attribute year numeric\n@attribute y {0,1}\n@data\n"
    arff.write_text(header + "".join(f"{site},{year},{y}\n" for site, year, y in rows))
    for column, feature in ((0, "site"), (1, "year")):
        for test in rows_to_test(arff, {"kind": "kfold", "folds": 3, "seed": 1, "stratified": True, "groups": feature}):
            inside = {rows[i][column] for i in test}
            assert test == [i for i in range(10) if rows[i][column] in inside]
    with pytest.raises(ConfigError, match=r"splits.groups: g has no feature 'yaer'; did you mean 'year'\?"):
        rows_to_test(arff, {"kind": "kfold", "folds": 3, "seed": 1, "groups": "yaer"})
    with pytest.raises(ConfigError, match=r"splits.groups: site makes 3 groups of g, too few for 4 parts"):
        rows_to_test(arff, {"kind": "kfold", "folds": 4, "seed": 1, "groups": "site"})


def test_folds_of_tuning_are_made_as_the_splits_are(arff):
    rows = np.r_[0:20, 25:60]
    kfold = {"kind": "kfold", "folds": 3, "seed": 3}
    for more in ({}, {"stratified": "pairs"}):
        data = small.read_data(small.experiment(arff, splits={**kfold, **more}))
        expected = make_splits(parse({**kfold, "folds": 4, **more}), "x", 55, labels=data.dataset.Y[rows])
        for ours, theirs in zip(data.folds(4, rows, "x"), expected, strict=True):
            assert ours.test.tolist() == theirs.test.tolist()
    in_groups = small.experiment(arff, splits={**kfold, "groups": "y"}, datasets=[str(grouped(arff.parent))])
    data = small.read_data(in_groups)
    for split in data.folds(2, rows[:40], "x"):
        years = [set(data.dataset.X[rows[part], 0]) for part in (split.train, split.test)]
        assert years[0].isdisjoint(years[1])


def grouped(folder: Path) -> Path:
    """60 rows with a feature `y` of six values."""
    path = folder / "grouped.arff"
    rows = "".join(f"{i % 6},{i % 2}\n" for i in range(60))
    path.write_text(f"@relation 'grouped: -C -1'\n@attribute y numeric\n@attribute label {{0,1}}\n@data\n{rows}")
    return path


def test_what_a_config_says_and_what_is_written_back(arff):
    right = {"kind": "kfold", "folds": 3, "repeats": 1, "seed": 1}
    with pytest.raises(ConfigError, match=r"splits.stratified: must be `true`, `false` or `pairs`, found 'labels'"):
        small.experiment(arff, splits={**right, "stratified": "labels"})
    for said, kept in (({"stratified": False}, {}), ({"stratified": True, "groups": "x0"},) * 2):
        assert small.experiment(arff, splits={**right, **said}).resolved()["splits"] == {**right, **kept}


def test_a_predefined_split_may_be_repeated():
    splits = make_splits(parse({"kind": "predefined", "repeats": 2}), "d", 5, n_train=3)
    assert [split.test.tolist() for split in splits] == [[3, 4], [3, 4]]
    assert [split.identity for split in splits] == [
        {"kind": "predefined", "train_size": 3, **r} for r in ({}, {"repeat": 1})
    ]
