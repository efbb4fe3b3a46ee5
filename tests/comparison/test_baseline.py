"""A run beside an earlier one."""

import math

import numpy as np
import pytest
import yaml
from scipy import stats

from mlcdr.comparison import baseline
from mlcdr.errors import ResultsError
from mlcdr.results.results import open_results
from tests.results_folders import PATH, experiment, write_folder

LOSS, TIME = "hamming_loss", "fit_seconds"


def folder(path, values, splits=None, swept=()):
    """`values`: (data set, method, …, metric) → values over splits."""
    names = [list(dict.fromkeys(key[k] for key in values)) for k in (0, 1, -1)]
    config = experiment(*names, {p: ["1", "2"] for p in swept})
    config["splits"] = splits or {"kind": "kfold", "folds": 10, "repeats": 1, "seed": 1}
    return write_folder(path, config, values, swept)


def both(tmp_path, old, new, **options):
    keys = ("splits", "swept")
    made = [
        open_results(folder(tmp_path / name, values, **{k: options[k] for k in keys if k in options}))
        for name, values in (("old", old), ("new", new))
    ]
    return baseline.compare_runs(*made, **{k: v for k, v in options.items() if k not in keys})


def scores(seed=0, n=10, centre=0.2, spread=0.01):
    return np.random.default_rng(seed).normal(centre, spread, size=n)


def test_the_same_is_unchanged(tmp_path):
    values = {("d", m, k): scores(3) for m in "AB" for k in (LOSS, "accuracy")}
    got = both(tmp_path, values, values)
    assert list(got.cells["change"]) == ["unchanged"] * 4
    assert "4 cells: 0 worse, 0 better, 4 unchanged in every split." in " ".join(got.terminal(100).split())


def test_p_values_by_hand(tmp_path):
    """Ten-fold: t = (d̄ − margin) / √((1/10 + 1/9) s²), nine degrees of freedom."""
    old, new = scores(1), scores(1) + scores(2, centre=0.02, spread=0.01)
    got = both(tmp_path, {("d", "A", LOSS): old}, {("d", "A", LOSS): new}, margin=0.02).cells.iloc[0]
    d = new - old
    t = (d.mean() - 0.02 * old.mean()) / math.sqrt((1 / 10 + 1 / 9) * d.var(ddof=1))
    assert got.p_worse == pytest.approx(stats.t.sf(t, 9))
    assert got.loss == pytest.approx(d.mean())
    assert got.n == 10
    assert got.margin == pytest.approx(0.02 * old.mean())
    ranks = stats.rankdata(abs(d))
    assert got.effect == pytest.approx(-np.sign(d) @ ranks / ranks.sum())


@pytest.mark.parametrize(("metric", "sign"), [(LOSS, 1), ("accuracy", -1)])
def test_a_loss_is_a_regression_whichever_way_is_better(tmp_path, metric, sign):
    old = {("d", m, metric): scores(k) for k, m in enumerate("ABC")}
    worse, better = scores(7, centre=0.05, spread=0.005), scores(8, centre=0.05, spread=0.005)
    new = dict(old)
    new["d", "A", metric] = old["d", "A", metric] + sign * worse
    new["d", "B", metric] = old["d", "B", metric] - sign * better
    got = both(tmp_path, old, new)
    assert list(got.cells["change"]) == ["worse", "better", "unchanged"]
    assert list(got.regressions["method"]) == ["A"]
    assert list(got.cells["effect"]) == [-1.0, 1.0, 0.0]
    shown = got.terminal(120)
    assert "1 worse, 1 better, 1 unchanged" in " ".join(shown.split())  # the caption has paths, and is wrapped
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("d ")] == ["A", "B"]


def test_holm_counts_only_what_changed(tmp_path):
    old = {(f"d{k}", "A", LOSS): scores(k) for k in range(12)}
    new = {key: values.copy() for key, values in old.items()}
    for k in range(3):
        new[f"d{k}", "A", LOSS] += scores(50 + k, centre=0.02, spread=0.02)
    got = both(tmp_path, old, new, margin=0.0)
    raw = []
    for k in range(3):
        d = new[f"d{k}", "A", LOSS] - old[f"d{k}", "A", LOSS]
        raw.append(stats.t.sf(d.mean() / math.sqrt((0.1 + 1 / 9) * d.var(ddof=1)), 9))
    assert got.cells["p_worse"].min() == pytest.approx(min(1, 3 * min(raw)))
    assert got.cells["p_worse"].isna().sum() == 9


def test_what_lies_within_the_margin_is_no_regression(tmp_path):
    old = {("d", "A", LOSS): scores()}
    new = {("d", "A", LOSS): scores() * 1.009}
    assert both(tmp_path / "a", old, new, margin=0.01).cells["change"][0] == "same"
    assert both(tmp_path / "b", old, new, margin=0.001).cells["change"][0] == "worse"
    exactly = {("d", "A", LOSS): scores() + 0.01 * scores().mean()}
    assert both(tmp_path / "c", old, exactly, margin=0.01).cells["change"][0] == "same"


@pytest.mark.parametrize("cost", [TIME, "fit_memory"])
def test_times_and_memory_are_ratios(tmp_path, cost):
    rng = np.random.default_rng(5)
    old = {("d", m, cost): 0.01 * np.exp(rng.normal(0, 0.05, 10)) for m in "ABC"}
    new = {key: values * f for (key, values), f in zip(old.items(), (1.4, 2.0, 0.5), strict=True)}
    new = {key: values * np.exp(rng.normal(0, 0.05, 10)) for key, values in new.items()}
    got = both(tmp_path, old, new)
    assert list(got.cells["change"]) == ["same", "worse", "better"]
    ratio = np.exp(np.mean(np.log(new["d", "B", cost]) - np.log(old["d", "B", cost])))
    assert math.exp(got.cells["loss"][1]) == pytest.approx(ratio)
    assert f"× {ratio:.2f}" in got.terminal(120)
    overall = np.exp(np.mean(got.cells["loss"]))
    assert f"{cost}: × {overall:.2f} in the geometric mean of 3 cells." in got.terminal(120)


def test_zero_times_have_no_ratio(tmp_path):
    old = {("d", "A", TIME): np.zeros(10), ("d", "B", TIME): np.ones(10)}
    got = both(tmp_path, old, old)
    assert len(got.cells) == 1
    assert "Without a ratio, as times or memory are zero: 1 cell." in got.remarks


def test_a_single_split_is_untested(tmp_path):
    old = {("d", m, LOSS): [0.2] for m in "ABC"}
    new = {("d", m, LOSS): [v] for m, v in zip("ABC", (0.3, 0.2005, 0.2), strict=True)}
    got = both(tmp_path, old, new, splits={"kind": "predefined"})
    assert list(got.cells["change"]) == ["untested", "same", "unchanged"]
    assert "1 untested" in got.summary()
    assert got.regressions.empty


def test_a_constant_loss_is_certain(tmp_path):
    old = {("d", "A", LOSS): [0.25] * 5}
    got = both(tmp_path, old, {("d", "A", LOSS): [0.5] * 5})
    assert got.cells["p_worse"][0] == 0.0
    assert got.cells["change"][0] == "worse"


@pytest.mark.parametrize(
    ("splits", "expected"),
    [({"kind": "kfold", "folds": 5, "repeats": 2, "seed": 1}, 1 / 4),
     ({"kind": "shuffle", "train_size": 0.8, "repeats": 10, "seed": 1}, 1 / 4),
     ({"kind": "file", "path": "f.csv"}, 1 / 9)],
)  # fmt: skip
def test_how_much_the_training_sets_overlap(tmp_path, splits, expected):
    old, new = scores(1), scores(2, centre=0.21)
    got = both(tmp_path, {("d", "A", LOSS): old}, {("d", "A", LOSS): new}, splits=splits, margin=0.0).cells.iloc[0]
    d = new - old
    assert got.p_worse == pytest.approx(stats.t.sf(d.mean() / math.sqrt((0.1 + expected) * d.var(ddof=1)), 9))


def test_points_are_paired_and_what_is_missing_is_said(tmp_path):
    old = {("d", "A", p, LOSS): scores(k) for k, p in enumerate("12")} | {("d", "BR", "", LOSS): scores(9)}
    new = {("d", "A", "1", LOSS): scores(0)[:6] + 0.1, ("d", "BR", "", LOSS): scores(9) + 0.1}
    got = both(tmp_path, old, new, swept=[PATH])
    assert got.cells[["method", "setting", "n"]].values.tolist() == [["A", "1", 6], ["BR", "", 10]]
    assert any(remark.startswith("Not in ") and "1 cell of" in remark for remark in got.remarks)
    assert any("lacks some: 1 cell." in remark for remark in got.remarks)
    rows = [line.split()[:4] for line in got.terminal(120).splitlines() if line.startswith("d ")]
    assert rows == [["d", "A", "1", LOSS], ["d", "BR", "–", LOSS]]


def test_what_cannot_be_paired_is_refused(tmp_path):
    one = {("d", "A", LOSS): scores()}
    for k, (other, why) in enumerate([
        ({("e", "A", LOSS): scores()}, "its data sets are e, not d"),
        ({("d", "B", LOSS): scores()}, "its methods are B, not A"),
        ({("d", "A", "accuracy"): scores()}, "its metrics are accuracy, not hamming_loss"),
    ]):  # fmt: skip
        with pytest.raises(ResultsError, match=f"has nothing in common with .*old: {why}"):
            both(tmp_path / str(k), one, other)
    made = open_results(folder(tmp_path / "a", one))
    seed = open_results(folder(tmp_path / "b", one, {"kind": "kfold", "folds": 10, "repeats": 1, "seed": 2}))
    with pytest.raises(ResultsError, match=r"its splits are not those of .*seed: 1"):
        baseline.compare_runs(made, seed)
    longer = open_results(folder(tmp_path / "c", one, {"kind": "kfold", "folds": 10, "repeats": 3, "seed": 1}))
    assert baseline.compare_runs(made, longer).count("unchanged") == 1
    with pytest.raises(ResultsError, match=r"no metric 'hamming_los'; did you mean 'hamming_loss'"):
        baseline.compare_runs(made, made, "hamming_los")


def test_another_data_set_of_the_same_name_is_refused(tmp_path):
    one = {("d", "A", LOSS): scores()}
    paths = [folder(tmp_path / name, one) for name in "ab"]
    for path, checksum in zip(paths, ("1", "2"), strict=True):
        (path / "manifest.json").write_text(f'{{"datasets": {{"d": {{"checksum": "{checksum}"}}}}}}')
    with pytest.raises(ResultsError, match="d is not the data set it was"):
        baseline.compare_runs(*map(open_results, paths))


def test_an_unknown_metric_is_not_judged(tmp_path):
    old = {("d", "A", k): scores() for k in (LOSS, "mine")}
    got = both(tmp_path, old, {key: values + 1 for key, values in old.items()})
    assert list(got.cells["metric"]) == [LOSS]
    assert "Not judged, because which way is better is not known: mine." in got.remarks
    alone = {("d", "A", "mine"): scores()}
    assert both(tmp_path / "alone", alone, alone).summary() == "0 cells: 0 worse, 0 better."


def test_methods_of_one_name_that_are_not_the_same_are_said(tmp_path):
    values = {("d", m, LOSS): scores() for m in "AB"}
    made = {name: folder(tmp_path / name, values) for name in ("old", "new")}
    path = made["new"] / "experiment.yaml"
    config = yaml.safe_load(path.read_text())
    config["methods"]["A"]["learner"] = "m5p"
    path.write_text(yaml.safe_dump(config))
    got = baseline.compare_runs(*(open_results(each) for each in made.values()))
    was = config["methods"]["B"]["learner"]
    assert got.remarks == (f"Not the methods of {made['old']}: in {made['new']} A has learner m5p, not {was}.",)


def test_the_command_fails_on_a_regression_only_when_asked(tmp_path, mlcdr):
    old = folder(tmp_path / "old", {("d", "A", LOSS): scores()})
    new = folder(tmp_path / "new", {("d", "A", LOSS): scores() + 0.1})
    arguments = ("compare", "--baseline", old, new)
    assert mlcdr(*arguments).code == 0
    done = mlcdr(*arguments, "--fail-on", "regression")
    assert done.code == 1
    assert "1 cell: 1 worse" in done.out
    assert mlcdr("compare", "--baseline", new, old, "--fail-on", "regression").code == 0
    assert mlcdr(*arguments, "--fail-on", "regression", "--margin", "0.9").code == 0
    other = folder(tmp_path / "other", {("e", "A", LOSS): scores()})
    done = mlcdr("compare", "--baseline", old, other)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "has nothing in common" in done.err
    for wrong in (
        ["compare", new, "--fail-on", "regression"],
        ["compare", new, "--margin", "0"],
        ["compare", new, "--time-margin", "2"],
        ["compare", new, "--rope", "0.1"],
        [*arguments, "--fail-on", "all"],
        [*arguments, new],
        [*arguments, "--margin", "nan"],
    ):
        assert mlcdr(*wrong).code == 2


def test_of_a_record_the_means_are_compared(tmp_path):
    """It has no single splits: worse is what lost more than the margin, and times take no part."""
    old, new = {}, {}
    for metric, before, after in ("f1", 0.5, 0.49), ("hamming_loss", 0.2, 0.2), ("fit_seconds", 1.0, 9.0):
        old["yeast", "PLST", metric], new["yeast", "PLST", metric] = [before] * 4, [after] * 4
    plain = experiment(["yeast"], ["PLST"], ["f1", "hamming_loss", "fit_seconds"])
    first, second = (write_folder(tmp_path / k, plain, each) for k, each in (("old", old), ("new", new)))
    (first / "scores.csv").unlink()
    found = baseline.compare_runs(open_results(first), open_results(second))
    assert found.cells[["metric", "change"]].values.tolist() == [["f1", "worse"], ["hamming_loss", "unchanged"]]
    assert "only means are compared" in found.terminal()
    assert baseline.compare_runs(open_results(first), open_results(second), margin=0.03).regressions.empty
