"""Synthetic data sets: what the labels are is recomputed from the hypercubes, and Table 3.1 of the thesis holds."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mlcdr
from mlcdr.data.dataset import load_dataset
from mlcdr.data.synthetic import Synthetic, checksum, shares
from mlcdr.errors import ConfigError, DataError
from mlcdr.execution.runner import run
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.loading import experiment_from

PLAIN = {"n_instances": 300, "n_features": 12, "n_labels": 5, "seed": 3}


def test_what_it_is_made_of():
    made = Synthetic(400, 9, 6, n_irrelevant=2, n_redundant=4, noise=0.0, seed=1)
    X, Y = made.generate()
    assert (X.shape, Y.shape, made.n_relevant) == ((400, 9), (400, 6), 3)
    assert len(made.feature_names()) == 9
    assert np.abs(X).max() <= 1
    # each label is a box of the relevant features, and whoever lies in it has the label
    for k in range(6):
        inside = X[Y[:, k] == 1, :3]
        low, high = inside.min(axis=0), inside.max(axis=0)
        assert not ((X[Y[:, k] == 0, :3] > low) & (X[Y[:, k] == 0, :3] < high)).all(axis=1).any()
        assert (high - low).max() <= 1.6
        assert (high - low).max() < 1.35 * (high - low).min(), "about a cube"
    assert (Y.sum(axis=1) >= 1).all()
    copies = [{j for j in range(3) if np.array_equal(X[:, c], X[:, j])} for c in range(5, 9)]
    assert all(len(each) == 1 for each in copies)
    assert set().union(*copies[:3]) == {0, 1, 2}, "all are copied before one is copied twice"
    for c in (3, 4):
        assert max(abs(np.corrcoef(X[:, c], Y[:, k])[0, 1]) for k in range(6)) < 0.2


def test_noise_flips_labels():
    quiet = Synthetic(2000, 12, 10, noise=0.0, seed=5)
    noisy = replace(quiet, noise=0.1)
    flipped = np.mean(quiet.generate()[1] != noisy.generate()[1])
    assert abs(flipped - 0.1) < 4 * np.sqrt(0.09 / 20_000)
    np.testing.assert_array_equal(quiet.generate()[0][:, :6], noisy.generate()[0][:, :6])


def test_shares_add_up():
    rng = np.random.default_rng(0)
    for n in (1, 7, 100):
        weights = rng.uniform(0.1, 1, 9)
        counts = shares(weights, n)
        assert counts.sum() == n
        assert (np.abs(counts - n * weights / weights.sum()) < 1).all()


def test_the_same_seed_makes_the_same():
    first, again, other = (
        Synthetic(**PLAIN).generate(),
        Synthetic(**PLAIN).generate(),
        Synthetic(**PLAIN | {"seed": 4}),
    )
    assert checksum(*first) == checksum(*again) != checksum(*other.generate())


def test_table_3_1_of_the_thesis():
    """The printed statistics are such as other seeds give: within 4 standard deviations over eight of them."""
    path = Path(mlcdr.__file__).parent / "papers" / "published" / "sun_2017_thesis" / "table3_1.csv"
    with path.open() as file:
        cells = {(row["dataset"], row["metric"]): float(row["mean"]) for row in csv.DictReader(file)}
    for name in ("data40-10", "data80-10", "data120-20", "data160-20"):
        sizes = {key: int(cells[name, key]) for key in ("n_instances", "n_features", "n_labels")}
        found = []
        for seed in range(8):
            made = Synthetic(**sizes, seed=seed)
            assert made.name == name
            assert (made.n_relevant, made.irrelevant, made.redundant) == tuple(made.n_features // q for q in (2, 4, 4))
            Y = made.generate()[1]
            imbalance = Y.sum(axis=0).max() / Y.sum(axis=0)
            mean = imbalance.mean()
            found.append((Y.sum(axis=1).mean(), len(np.unique(Y, axis=0)), mean, imbalance.std(ddof=1) / mean))
        metrics = ("label_cardinality", "n_distinct_labelsets", "imbalance_ratio", "cv_imbalance_ratio")
        printed = np.array([cells[name, metric] for metric in metrics])
        z = (printed - np.mean(found, axis=0)) / np.std(found, axis=0, ddof=1)
        assert (np.abs(z) < 4).all(), (name, z)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "n_instances is missing"),
        (PLAIN | {"n_lables": 3}, "unknown option 'n_lables'; did you mean 'n_labels'"),
        (PLAIN | {"n_labels": 2.5}, "n_labels must be a whole number, found 2.5"),
        (PLAIN | {"n_labels": True}, "n_labels must be a whole number"),
        (PLAIN | {"n_labels": 0}, "n_labels must be 1 or more"),
        (PLAIN | {"noise": 1.5}, "noise must be between 0 and 1"),
        (PLAIN | {"noise": "x"}, "noise must be a number"),
        (PLAIN | {"n_irrelevant": 12}, "none of the 12 features is left to be relevant"),
        (PLAIN | {"smallest": 0.9}, "half-edges must be 0 < smallest ≤ largest, found 0.9 to 0.8"),
    ],
)
def test_mistakes_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        Synthetic.parse(options)


# -------------------------------------------------------------------- in a config


def experiment(*datasets, **more):
    return experiment_from(
        {
            "name": "made",
            "datasets": list(datasets),
            "splits": {"kind": "kfold", "folds": 2, "seed": 1},
            "metrics": ["hamming_loss"],
            "methods": {"BR": {"learner": "binary_relevance"}},
            **more,
        }
    )


def test_a_config_may_ask_for_it(tmp_path):
    made = experiment({"synthetic": PLAIN}, {"other": {"synthetic": PLAIN | {"seed": 4}}})
    assert [spec.name for spec in made.datasets] == ["data12-5", "other"]
    again = experiment_from(made.resolved())
    assert again == made
    sources = [DataSource.of(spec, made.splits) for spec in made.datasets]
    first, other = (source.load() for source in sources)
    assert first.checksum != other.checksum
    np.testing.assert_array_equal(first.X, load_dataset("data12-5", synthetic=PLAIN).X)
    assert first.statistics()["n_labels"] == 5
    assert "seed 3" in first.notices[0]
    hash(sources[0])
    run(made, out=tmp_path, jobs=1)
    with (tmp_path / "made" / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["dataset"] for row in rows] == ["data12-5", "other"]
    assert len({row["mean"] for row in rows}) == 2


def test_a_config_is_told_what_is_wrong():
    for dataset, message in (
        ({"synthetic": PLAIN | {"noise": 2}}, r"datasets.0.synthetic: synthetic: noise must be between 0 and 1"),
        ({"mine": {"synthetic": {}}}, r"datasets.0.mine.synthetic: synthetic: n_instances is missing"),
        ({"synthetic": 5}, r"options of a synthetic data set are a mapping, found"),
        ("synthetic", r"synthetic: n_instances is missing"),
        ({"mine": {"synthetic": PLAIN, "missing": "mean"}}, r"no other option \(found: missing\)"),
    ):
        with pytest.raises(ConfigError, match=message):
            experiment(dataset)
    with pytest.raises(ConfigError, match="'data12-5' is listed twice"):
        experiment({"synthetic": PLAIN}, {"synthetic": PLAIN | {"seed": 9}})
    predefined = experiment({"synthetic": PLAIN}, splits={"kind": "predefined"})
    with pytest.raises(DataError, match="have no predefined split"):
        DataSource.of(predefined.datasets[0], predefined.splits).load()
