"""Splits: laws (partition, sizes, stability), rounding by exact fractions, golden rows, and every wrong fold file."""

import math
import os
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from mlcdr.data.files import NotFetchedError, cache_folder, is_file
from mlcdr.errors import ConfigError, DataError
from mlcdr.experiment import fold_files
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.division import make_splits, n_training_rows
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.seeds import seed_sequence
from mlcdr.experiment.shipped import record_folder, shipped_configs
from mlcdr.experiment.splits import FromFile, KFold, Predefined, Shuffle, SplitSpec

parse = TypeAdapter(SplitSpec).validate_python


def shuffle(**changed):
    return parse({"kind": "shuffle", "repeats": 3, "train_size": 0.9, "seed": 1, **changed})


def kfold(**changed):
    return parse({"kind": "kfold", "folds": 3, "seed": 1, **changed})


def assert_partition(split, n):
    assert split.train.tolist() == sorted(split.train)
    assert split.test.tolist() == sorted(split.test)
    assert sorted([*split.train, *split.test]) == list(range(n))
    assert len(split.train) > 0
    assert len(split.test) > 0


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 200), percent=st.integers(1, 99), seed=st.integers(0, 2**80))
def test_shuffle_partitions_with_the_fraction_rounded_half_up(n, percent, seed):
    size = math.floor(Fraction(percent, 100) * n + Fraction(1, 2))
    spec = shuffle(train_size=percent / 100, seed=seed)
    if not 0 < size < n:
        with pytest.raises(ConfigError, match=r"splits\.train_size"):
            make_splits(spec, "d", n)
        return
    for split in make_splits(spec, "d", n):
        assert_partition(split, n)
        assert len(split.train) == size


def test_a_fraction_counts_as_the_decimal_written():
    assert 0.145 * 100 < 14.5  # the binary number is too small
    assert n_training_rows(0.145, 100) == 15
    assert n_training_rows(0.9, 2417) == 2175
    assert n_training_rows(7, 10) == 7


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 100), folds=st.integers(2, 12), repeats=st.integers(1, 3))
def test_kfold_deals_every_row_once_in_each_repeat(n, folds, repeats):
    spec = kfold(folds=folds, repeats=repeats)
    if folds > n:
        with pytest.raises(ConfigError, match=rf"splits\.folds: {folds} folds"):
            make_splits(spec, "d", n)
        return
    splits = make_splits(spec, "d", n)
    assert len(splits) == folds * repeats
    for repeat in range(repeats):
        parts = list(splits[repeat * folds : (repeat + 1) * folds])
        for split in parts:
            assert_partition(split, n)
        assert sorted(np.concatenate([split.test for split in parts])) == list(range(n))
        sizes = [len(split.test) for split in parts]
        assert max(sizes) - min(sizes) <= 1
    if repeats > 1 and n > 20:
        assert splits[0].test.tolist() != splits[folds].test.tolist()


def test_a_split_does_not_depend_on_how_many_there_are_nor_on_the_order():
    for few, many in [
        (make_splits(shuffle(repeats=3), "yeast", 50), make_splits(shuffle(repeats=100), "yeast", 50)),
        (make_splits(kfold(repeats=1), "yeast", 50), make_splits(kfold(repeats=9), "yeast", 50)),
    ]:
        for i in (2, 0, 1):
            assert few[i].index == many[i].index == i
            assert few[i].train.tolist() == many[i].train.tolist()
            assert few[i].identity == many[i].identity


def test_splits_differ_between_seeds_names_and_numbers():
    tests = [
        tuple(make_splits(shuffle(seed=seed, train_size=0.5), name, 60)[i].test)
        for seed in (0, 1, 2**70)
        for name in ("yeast", "scene", "Scene")
        for i in range(3)
    ]
    assert len(set(tests)) == 27


def test_every_row_is_tested_equally_often():
    splits = make_splits(shuffle(repeats=4000, train_size=0.9, seed=5), "d", 20)
    counts = Counter(row for split in splits for row in split.test.tolist())
    # Each row is drawn with probability 0.1, 400 times of 4000 (standard deviation 19): five of them are allowed.
    assert all(abs(counts[row] - 400) < 95 for row in range(20))


def test_golden_rows():
    """Committed results would silently change if these did."""
    first, second = make_splits(shuffle(repeats=2, train_size=0.8, seed=2012), "yeast", 20)
    assert first.test.tolist() == GOLDEN["shuffle 0"]
    assert second.test.tolist() == GOLDEN["shuffle 1"]
    folds = make_splits(kfold(folds=3, repeats=2, seed=2012), "yeast", 11)
    assert [split.test.tolist() for split in folds] == GOLDEN["kfold"]
    assert seed_sequence(2012, "yeast", 3, "CPLST").generate_state(2).tolist() == GOLDEN["seed"]


GOLDEN = {
    "shuffle 0": [5, 12, 17, 18],
    "shuffle 1": [3, 5, 13, 19],
    "kfold": [[0, 1, 3, 10], [2, 4, 6, 8], [5, 7, 9], [0, 1, 2, 10], [4, 7, 8, 9], [3, 5, 6]],
    "seed": [3808902475, 1774526141],
}


def test_identity_is_plain_and_names_what_matters():
    one = {"kind": "shuffle", "seed": 1, "dataset": "yeast", "train_size": 9, "index": 1}
    assert make_splits(shuffle(), "yeast", 10)[1].identity == one
    other = {"kind": "kfold", "seed": 1, "dataset": "d", "folds": 3, "repeat": 1, "fold": 1}
    assert make_splits(kfold(repeats=2), "d", 10)[4].identity == other


def test_no_label_is_hidden_unless_asked():
    specs = (shuffle(), kfold(), Predefined(kind="predefined"))
    assert [len(make_splits(spec, "d", 10, n_train=7)[0].unlabelled) for spec in specs] == [0, 0, 0]


def test_splits_behave_as_a_sequence():
    splits = make_splits(shuffle(repeats=4), "d", 10)
    assert [split.index for split in splits] == [0, 1, 2, 3]
    assert splits[-1].index == 3
    assert [split.index for split in splits[1:3]] == [1, 2]
    assert len({splits, splits.hiding(None), make_splits(shuffle(repeats=4), "d", 10)}) == 2
    with pytest.raises(IndexError):
        splits[4]


def test_predefined():
    (split,) = make_splits(Predefined(kind="predefined"), "scene", 10, n_train=7)
    assert split.train.tolist() == list(range(7))
    assert split.test.tolist() == [7, 8, 9]
    assert split.identity == {"kind": "predefined", "train_size": 7}
    with pytest.raises(DataError, match=r"enron: splits\.kind: predefined needs a train and a test file"):
        make_splits(Predefined(kind="predefined"), "enron", 10)
    with pytest.raises(DataError, match="10 of 10 rows train"):
        make_splits(Predefined(kind="predefined"), "enron", 10, n_train=10)
    with pytest.raises(DataError, match="0 of 10 rows train"):
        make_splits(Predefined(kind="predefined"), "enron", 10, n_train=0)


def test_folds_from_a_file(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbfid,fold\r\na,1\r\nb,0\r\nc,2\r\nd,1\r\n")
    splits = make_splits(FromFile(kind="file", path="{dataset}.csv").beside(tmp_path), "d", 4)
    assert [split.test.tolist() for split in splits] == [[1], [0, 3], [2]]
    assert [split.train.tolist() for split in splits] == [[0, 2, 3], [1, 2], [0, 1, 3]]
    assert [split.identity["fold"] for split in splits] == [0, 1, 2]
    # In a repeat the folds are the same, and the splits others.
    twice = make_splits(FromFile(kind="file", path="{dataset}.csv", repeats=2).beside(tmp_path), "d", 4)
    assert [split.index for split in twice] == list(range(6))
    assert [split.test.tolist() for split in twice] == 2 * [[1], [0, 3], [2]]
    assert [split.identity for split in twice][:3] == [split.identity for split in splits]
    assert len({str(split.identity) for split in twice}) == 6
    # Only the numbers count for the identity.
    spec = FromFile(kind="file", path="other.csv", column="part", folders=(str(tmp_path),))
    (tmp_path / "other.csv").write_text("part\n1\n0\n2\n1\n")
    same = make_splits(spec, "d", 4)
    assert same[0].identity == splits[0].identity
    (tmp_path / "other.csv").write_text("part\n0\n1\n2\n1\n")
    other = make_splits(spec, "d", 4)
    assert other[0].identity != splits[0].identity


def test_a_fold_file_is_looked_up_for_each_data_set(tmp_path, monkeypatch):
    beside, working, named, more = (tmp_path / name for name in ("config", "here", "named", "more"))
    for folder in (beside, working, named, more):
        folder.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setenv("MLCDR_FOLDS", os.pathsep.join([str(named), str(more)]))
    spec = FromFile(kind="file", path="{dataset}.2fold.csv")
    for name, places in {"a": (beside, working), "b": (working, named), "c": (more,), "d": ()}.items():
        for place in places:
            (place / f"{name}.2fold.csv").write_text("fold\n0\n1\n")
    found = {name: spec.beside(beside).find(name).resolve().parent for name in "abc"}
    assert found == {"a": beside, "b": working, "c": more}
    with pytest.raises(DataError) as caught:
        spec.beside(beside).find("d")
    file = "d.2fold.csv"
    assert str(caught.value) == (
        f"{beside}/{file}: no such file (the folds of d); nor {file}, {named}/{file}, {more}/{file}, "
        f"{cache_folder()}/folds/{file}; $MLCDR_FOLDS may name folders to look in"
    )
    # what is kept of the places finds the same from anywhere
    settled = spec.settled(beside, ["a", "b", "c"])
    assert settled.folders == (str(beside), str(working))
    assert spec.settled(beside, ["c"]).folders == ()
    monkeypatch.chdir(tmp_path)
    assert {name: settled.find(name).parent for name in "abc"} == found
    with pytest.raises(DataError, match=r"^/none/d\.csv: no such file \(the folds of d\); \$"):
        FromFile(kind="file", path="/none/{dataset}.csv").beside(beside).find("d")


GAP = "1: folds are numbered 0, 1, … without a gap, and there are two at least"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1: no column 'fold' in the header; found: nothing"),
        (b"fold,fold\n0,1\n", "1: more than one column 'fold' in the header; found: fold, fold"),
        (b"0,1,2\n", "1: no column 'fold' in the header; found: 0, 1, 2"),
        (b"fold\n", "1: the file ends after 0 folds; d has 4 rows"),
        (b"fold\n0\n1\n0\n", "4: the file ends after 3 folds; d has 4 rows"),
        (b"fold\n0\n1\n0\n1\n0\n", "6: more rows than the 4 of the data set d"),
        (b"fold\n0\n1.0\n0\n1\n", "3: expected a fold number (0, 1, 2 ...), found '1.0'"),
        (b"fold\n0\n-1\n0\n1\n", "3: expected a fold number (0, 1, 2 ...), found '-1'"),
        ("fold\n0\n٣\n0\n1\n".encode(), "3: expected a fold number (0, 1, 2 ...), found '٣'"),
        (b"fold\n0\n99999999999\n0\n1\n", "3: expected a fold number (0, 1, 2 ...), found '99999999999'"),
        (b"fold\n0\n999999999\n0\n0\n", f"{GAP}; found 0, 999999999"),
        (b"fold\n" + 50 * b"x", f"2: expected a fold number (0, 1, 2 ...), found '{40 * 'x'}'"),
        (500 * b"x", f"1: no column 'fold' in the header; found: {400 * 'x'}"),
        (b"fold\n0\n\n0\n1\n", "3: 0 values where the header has 1 columns"),
        (b"fold\n0\n1,2\n0\n1\n", "3: 2 values where the header has 1 columns"),
        (b"fold\n0\n0\n0\n0\n", f"{GAP}; found 0"),
        (b"fold\n0\n\xff\n0\n1\n", "3: not UTF-8 text"),
        (b'fold\n0\n"1\n0\n1\n', "5: not a CSV file: unexpected end of data"),
    ],
)
def test_wrong_fold_files(tmp_path, content, message):
    path = tmp_path / "folds.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        make_splits(FromFile(kind="file", path=str(path)), "d", 4)
    assert str(caught.value) == f"{path}:{message}"


def test_a_fold_file_may_have_a_mebibyte_and_a_kibibyte_for_each_row(tmp_path):
    path = tmp_path / "folds.csv"
    rows = "fold" + 9 * ",id" + "\n" + "\n".join(f"{i % 2}{9 * (',' + 29_186 * 'x')}" for i in range(4))
    for more in (0, 1):
        path.write_text(rows + "x" * (2**20 + 4 * 2**10 - len(rows) + more))
        if not more:
            assert len(make_splits(FromFile(kind="file", path=str(path)), "d", 4)) == 2
    with pytest.raises(DataError, match=rf"^{path}: larger than 1028 KiB; not the folds of d's 4 rows$"):
        make_splits(FromFile(kind="file", path=str(path)), "d", 4)


def test_folds_that_are_written_are_those_that_are_read(tmp_path):
    path = tmp_path / "folds.csv"
    fold_files.write(path, np.array([2, 0, 1, 2]))
    assert path.read_text() == "fold\n2\n0\n1\n2\n"
    assert fold_files.read(path, "fold", "d", 4).tolist() == [2, 0, 1, 2]


def test_what_to_do_about_folds_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLCDR_FOLDS", raising=False)
    monkeypatch.setattr(fold_files, "cache_folder", lambda: tmp_path / "cache")
    with pytest.raises(DataError, match=r"csv; \$MLCDR_FOLDS may name folders to look in$") as caught:
        FromFile(kind="file", path="{dataset}.csv").find("emotions")
    assert not isinstance(caught.value, NotFetchedError)
    known = FromFile(kind="file", path="{dataset}.10fold.csv")
    with pytest.raises(NotFetchedError, match=r"; `mlcdr datasets fetch emotions --folds` downloads it$") as missing:
        known.find("emotions")
    assert missing.value.name == "emotions"
    (tmp_path / "cache" / "folds").mkdir(parents=True)
    (tmp_path / "cache" / "folds" / "emotions.10fold.csv").touch()
    assert known.find("emotions") == tmp_path / "cache" / "folds" / "emotions.10fold.csv"
    assert not is_file(Path("a\0b"))
    assert not is_file(Path("x" * 10_000))


def test_a_real_fold_file():
    folder = os.environ.get("MLCDR_FOLDS", "").split(os.pathsep)[0]
    path = Path(folder) / "emotions.10fold.csv"
    if not folder or not path.is_file():
        pytest.skip("set MLCDR_FOLDS to a folder with emotions.10fold.csv")
    numbers = [int(line) for line in path.read_text().split()[1:]]
    splits = make_splits(FromFile(kind="file", path="{dataset}.10fold.csv"), "emotions", 593)
    assert len(splits) == 10
    for i, split in enumerate(splits):
        assert_partition(split, 593)
        assert split.test.tolist() == [row for row, fold in enumerate(numbers) if fold == i]


@pytest.mark.parametrize("train_size", [0.9, 0.5, 1, 100, "90%", "12.5%"])
def test_training_sizes_that_are_possible(train_size):
    value = shuffle(train_size=train_size).train_size
    assert value == (float(train_size[:-1]) / 100 if isinstance(train_size, str) else train_size)
    assert isinstance(value, int) == isinstance(train_size, int)


@pytest.mark.parametrize("train_size", [0, 1.0, 1.5, 0.0, -0.1, -3, True, None, "0.9", "100%", "0%", "x%", "nan%"])
def test_training_sizes_that_are_not(train_size):
    with pytest.raises(ValidationError, match="must be a fraction between 0 and 1"):
        shuffle(train_size=train_size)


def test_as_many_training_rows_as_the_train_file_has():
    spec = shuffle(train_size="predefined")
    assert spec.train_size == "predefined"
    counted, given = make_splits(shuffle(train_size=7), "d", 10), make_splits(spec, "d", 10, n_train=7)
    assert [s.train.tolist() for s in given] == [s.train.tolist() for s in counted]
    assert given[0].identity == counted[0].identity
    with pytest.raises(DataError, match=r"d: splits\.train_size: predefined needs a train and a test file"):
        make_splits(spec, "d", 10)


def test_a_training_size_beyond_the_data():
    with pytest.raises(ConfigError) as caught:
        make_splits(shuffle(train_size=12), "d", 10)
    assert str(caught.value) == (
        "splits.train_size: 12 of the 10 rows of d leaves 0 rows for testing and 12 for training; "
        "both need at least one"
    )


def test_specs_are_the_right_classes():
    assert isinstance(shuffle(), Shuffle)
    assert isinstance(kfold(), KFold)
    assert kfold().repeats == Predefined(kind="predefined").repeats == 1
    with pytest.raises(ValidationError):
        kfold(folds=1)
    with pytest.raises(ValidationError):
        shuffle(repeats=0)
    with pytest.raises(ValidationError):
        shuffle(seed=-1)
    with pytest.raises(ValidationError):
        kfold(groups="")


def test_folds_shuffled_by_weka_are_cut_from_javas_order():
    """java.util.Random(1) puts ten rows in the order 6 9 7 8 4 2 0 3 1 5; the first of three folds has one row more."""
    spec = kfold(shuffled_by="weka")
    tested = [split.test.tolist() for split in make_splits(spec, "any", 10)]
    assert tested == [[6, 7, 8, 9], [0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("option", [{"stratified": True}, {"groups": "site"}, {"repeats": 2}])
def test_folds_shuffled_by_weka_are_as_weka_makes_them(option):
    with pytest.raises(ValidationError, match="shuffled_by: weka"):
        kfold(shuffled_by="weka", **option)


def test_the_published_folds_of_the_board_are_those_that_its_config_draws() -> None:
    an_experiment = load_experiment(shipped_configs()["board"], ["datasets=[yeast]"])
    source = DataSource.of(an_experiment.datasets[0], an_experiment.splits)
    published = np.loadtxt(record_folder() / "board/folds/yeast.csv", dtype=int, skiprows=1)
    splits = source.divide(source.load()).splits
    assert len(splits) == 5
    for number, split in enumerate(splits):
        np.testing.assert_array_equal(np.flatnonzero(published == number), np.sort(split.test))
