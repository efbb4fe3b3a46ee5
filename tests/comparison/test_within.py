"""Which test there is within a data set, of what, and what is said of it."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mlcdr.api.results import compare
from mlcdr.comparison import statistics
from mlcdr.comparison.comparison import Comparison, compare_methods
from mlcdr.errors import ResultsError, UserError
from mlcdr.results.joining import join
from mlcdr.results.results import Results, open_results
from tests.results_folders import PATH, experiment, write_folder

METRIC = "hamming_loss"


@pytest.fixture(autouse=True)
def _same_numbers_in_each_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "_rng", np.random.default_rng(8))


_rng = np.random.default_rng(8)


def scores(mean: float, n: int = 10, spread: float = 0.01) -> list[float]:
    return (mean + spread * _rng.normal(size=n)).tolist()


def load(
    folder: Path,
    values: dict[Any, Any],
    splits: dict[str, Any] | None = None,
    swept: tuple[str, ...] = (),
) -> Results:
    datasets, methods = (list(dict.fromkeys(key[i] for key in values)) for i in (0, 1))
    metrics = list(dict.fromkeys(key[-1] for key in values))
    sweep = {path: [p for p in dict.fromkeys(key[2] for key in values) if p] for path in swept}
    config = experiment(datasets, methods, metrics, sweep)
    config["splits"] = splits or {"kind": "shuffle", "repeats": 10, "train_size": 0.8, "seed": 1}
    return open_results(write_folder(folder, config, values, swept))


def within(results: Results, **options: Any) -> pd.DataFrame:
    return compare_methods(results, METRIC, **options).within().frame()


KFOLD = {"kind": "kfold", "folds": 5, "repeats": 2, "seed": 1}
TWO = {"kind": "kfold", "folds": 2, "repeats": 5, "seed": 1}


@pytest.mark.parametrize(
    ("splits", "ratio"), [(None, 0.25), (KFOLD, 0.25), ({**KFOLD, "folds": 10, "repeats": 1}, 1 / 9)]
)
def test_the_t_test_is_corrected_by_the_sizes_of_the_splits(tmp_path, splits, ratio):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.21))}
    d = np.subtract(*values.values())
    t = d.mean() / np.sqrt((1 / 10 + ratio) * d.var(ddof=1))
    (found,) = within(load(tmp_path, values, splits)).to_dict("records")
    assert (found["method"], found["against"]) == ("A", "B")
    assert found["p"] == pytest.approx(2 * stats.t.sf(abs(t), 9), rel=1e-6)
    assert found["better_by"] == pytest.approx(-d.mean())


def test_as_many_training_rows_as_the_train_file_has(tmp_path):
    splits = {"kind": "shuffle", "repeats": 10, "train_size": "predefined", "seed": 1}
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.21))}
    results = load(tmp_path, values, splits)
    manifest = {"datasets": {"d": {"n_instances": 150, "n_train": 100}}}
    (results.folder / "manifest.json").write_text(json.dumps(manifest))
    d = np.subtract(*values.values())
    found = within(open_results(results.folder))["p"][0]
    assert found == pytest.approx(float(statistics.corrected_t_two_sided(d, 0.5)), rel=1e-6)


def test_five_times_two_folds_have_the_f_test(tmp_path):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.21))}
    d = np.subtract(*values.values())
    got = compare_methods(load(tmp_path / "whole", values, TWO), METRIC)
    assert got.within().frame()["p"][0] == pytest.approx(float(statistics.five_times_two_f(d)), rel=1e-6)
    assert "Within d: combined 5×2 cv F test (Alpaydin 1999)." in got.sheet.notes
    # a run that was interrupted has no five repeats
    part = {key: numbers[:8] for key, numbers in values.items()}
    (found,) = within(load(tmp_path / "part", part, TWO)).to_dict("records")
    assert found["p"] == pytest.approx(float(statistics.corrected_t_two_sided(d[:8], 1.0)), rel=1e-6)


def test_repeats_of_the_same_folds_are_averaged(tmp_path):
    splits = {"kind": "file", "path": "{dataset}.csv", "repeats": 2}
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.21))}
    d = np.subtract(*values.values()).reshape(2, 5).mean(axis=0)
    (found,) = within(load(tmp_path, values, splits)).to_dict("records")
    assert found["p"] == pytest.approx(float(statistics.corrected_t_two_sided(d, 0.25)), rel=1e-6)


def test_one_split_has_no_test(tmp_path):
    for name, splits in (("predefined", {"kind": "predefined", "repeats": 10}), ("shuffle", None)):
        n = 10 if splits else 1
        results = load(tmp_path / name, {("d", m, METRIC): scores(0.2, n) for m in "AB"}, splits)
        got = compare_methods(results, METRIC)
        assert not any(note.startswith("Within") for note in got.sheet.notes)
        with pytest.raises(ResultsError, match="no tests within data sets"):
            got.within()


def test_scores_that_do_not_fit_the_means_are_left_out_and_damage_is_told(tmp_path):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.21))}
    folder = load(tmp_path, values).folder
    whole = (folder / "scores.csv").read_text()
    (folder / "scores.csv").write_text(f"{whole}d,Other,0,{METRIC},0.2\nother,A,0,{METRIC},0.2\n")
    assert len(within(open_results(folder))) == 1
    (folder / "scores.csv").write_text(f"{whole}d,A,10,{METRIC},abc\n")
    with pytest.raises(ResultsError, match="column value: 'abc' is not a number"):
        within(open_results(folder))


def test_holms_correction_is_over_the_pairs_and_points_of_a_data_set(tmp_path):
    values = {}
    for dataset in ("d", "e"):
        for method, mean in (("A", 0.2), ("B", 0.205), ("C", 0.21)):
            for point in ("1", "2"):
                values[dataset, method, point, METRIC] = scores(mean)
        values[dataset, "Fixed", "", METRIC] = scores(0.207)
        values[dataset, "Other", "", METRIC] = scores(0.209)
    found = within(load(tmp_path, values, swept=(PATH,)))
    # at each point C(5, 2) pairs, but the two that are the same at both points are one
    assert found.groupby("dataset").size().to_dict() == {"d": 19, "e": 19}
    assert (found[PATH] == "").sum() == 2
    assert (found["better_by"] >= 0).all()
    for _, own in found.groupby("dataset"):
        assert own["p_holm"].to_numpy() == pytest.approx(statistics.holm(own["p"]))


def test_a_method_without_all_splits_and_a_tie_have_no_test(tmp_path):
    whole = scores(0.2)
    values = {("d", "A", METRIC): whole, ("d", "B", METRIC): whole, ("d", "C", METRIC): scores(0.2, 9)}
    got = compare_methods(load(tmp_path, values), METRIC)
    assert got.within().frame()["p"].isna().all()
    assert "no test, as the two differ by the same on every split" in got.within().sheet.notes[-1]


def test_equal_differences_are_no_evidence(tmp_path):
    """Two of two that are equal happen by chance on few rows."""
    values = {("d", "A", METRIC): [0.36, 0.34], ("d", "B", METRIC): [0.42, 0.40]}
    found = compare_methods(load(tmp_path, values), METRIC, rope=0.01).within().frame()
    assert found[["p", "p_holm", "p_better"]].isna().all(axis=None)


def test_what_is_better_follows_the_metric(tmp_path):
    values = {("d", "A", "f1"): scores(0.2), ("d", "B", "f1"): scores(0.5)}
    got = compare_methods(load(tmp_path, values), "f1", rope=0.01)
    (found,) = got.within().frame().to_dict("records")
    assert (found["method"], found["against"]) == ("B", "A")
    assert found["p_better"] > 0.99
    assert got.sheet.notes[-1].startswith("d: B over A (p < 0.0001).")
    assert "P(better)" in got.terminal(120)  # one data set: there is nothing else to show


def test_the_bayesian_test_is_added_with_a_region(tmp_path):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.205))}
    d = -np.subtract(*values.values())
    found = within(load(tmp_path, values), rope=0.004)
    expected = statistics.bayesian_correlated_t(d, 0.25, 0.004)
    assert found[["p_worse", "p_equal", "p_better"]].to_numpy()[0] == pytest.approx(expected, rel=1e-6)


def test_notes_name_what_differs_on_few_data_sets(tmp_path):
    values = {}
    for dataset in "abcdef":
        values |= {(dataset, m, METRIC): scores(mean) for m, mean in (("A", 0.2), ("B", 0.2 + 0.1 * (dataset == "a")))}
    few = {key: numbers for key, numbers in values.items() if key[0] in "ab"}
    notes = compare_methods(load(tmp_path / "few", few), METRIC).sheet.notes
    assert notes[-2].startswith("a: A over B (p < 0.0001).")
    assert notes[-1] == "No difference shown within b."
    many = compare_methods(load(tmp_path / "many", values), METRIC)
    assert many.sheet.notes[-1] == "`mlcdr compare --within` tests the methods within each data set."
    assert len(many.within().frame()) == 6


def test_folders_with_the_same_splits_are_tested_together(tmp_path):
    shared, mine = scores(0.2), scores(0.3)
    a = load(tmp_path / "a", {("d", "A", METRIC): shared, ("d", "Same", METRIC): shared})
    b = load(tmp_path / "b", {("d", "B", METRIC): mine, ("d", "Same", METRIC): mine})
    other = load(tmp_path / "c", {("d", "C", METRIC): scores(0.4)}, KFOLD)
    joined = join([a, b])
    found = within(joined)
    pairs = {frozenset(pair) for pair in found[["method", "against"]].to_numpy()}
    assert frozenset(joined.methods[:2]) in pairs
    assert len(pairs) == 6
    assert found.set_index(["method", "against"])["p"].notna().sum() == 4  # two pairs tie everywhere
    with_other = within(join([a, b, other]))
    assert not set(with_other["method"]) & {"C"}
    assert not set(with_other["against"]) & {"C"}


def test_the_command_shows_and_writes_the_tests(tmp_path, mlcdr):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.3))}
    load(tmp_path / "r", values)
    done = mlcdr(
        "compare", tmp_path / "r", "--within", "--spread", "std", "--zeros", "pratt", "--out", tmp_path / "out"
    )
    assert done.code == 0, done.err
    assert "pairs of methods within each data set" in done.out
    assert "Mean ± standard deviation over 10 splits." in done.out
    assert r"\label{tab:hamming-loss-within}" in (tmp_path / "out" / f"{METRIC}_within.tex").read_text()
    header = (tmp_path / "out" / f"{METRIC}.csv").read_text().splitlines()[0]
    assert header == "dataset,method,metric,mean,std,n,rank"
    done = mlcdr("compare", tmp_path / "r", "--within", "--bayes")
    assert done.out.count("P(better)") == 1
    one = {key: numbers[:1] for key, numbers in values.items()}
    load(tmp_path / "one", one)
    done = mlcdr("compare", tmp_path / "one", "--within")
    assert done.code == 0
    assert "no tests within data sets: they need" in done.err


def test_the_spread_is_that_of_the_tables(tmp_path):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.3))}
    results = load(tmp_path, values)
    got = compare_methods(results, METRIC, spread="std")
    std = np.std(values["d", "A", METRIC], ddof=1)
    assert got.sheet.rows[0][1].plain.endswith(f"± {std:.4f}")
    assert got.frame()["std"][0] == pytest.approx(std)


def test_zeros_may_be_ranked(tmp_path):
    values = {}
    for k, gain in enumerate([0, 0, 0, 0.01, -0.02, 0.03, 0.04]):
        values |= {(f"d{k}", "A", METRIC): scores(0.2), (f"d{k}", "B", METRIC): [0.2 + gain] * 10}
        values[f"d{k}", "A", METRIC] = [0.2] * 10
    results = load(tmp_path, values)
    pratt = compare_methods(results, METRIC, zeros="pratt")
    assert pratt.significance is not None
    found = pratt.significance.list_pairs()["p"][0]
    assert found == pytest.approx(statistics.wilcoxon([0, 0, 0, 1, -2, 3, 4], "pratt"))
    assert any("zero differences ranked, then discarded (Pratt 1959)" in note for note in pratt.sheet.notes)
    assert "Pratt" in pratt.pairs().notes[0]
    for options, message in (
        ({"zeros": "prat"}, "zeros: must be one of"),
        ({"rope": -0.1}, "rope: must be a number of at least 0; found -0.1"),
        ({"margin": math.nan}, "margin: must be"),
        ({"spread": "sd"}, "spread: must be one of"),
    ):
        with pytest.raises(UserError, match=message):
            compare(tmp_path, metric=METRIC, **options)


def test_python_has_the_same_table(tmp_path):
    values = {("d", name, METRIC): scores(mean) for name, mean in (("A", 0.2), ("B", 0.3))}
    load(tmp_path, values)
    got = compare(tmp_path, metric=METRIC, rope=0.01)
    assert isinstance(got, Comparison)
    assert list(got.within().frame()) == [
        "dataset", "method", "against", "better_by", "p", "p_holm", "p_worse", "p_equal", "p_better",
    ]  # fmt: skip
