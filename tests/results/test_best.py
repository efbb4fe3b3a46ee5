"""The best of a grid on the test rows, as results show it."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlcdr.comparison import comparison
from mlcdr.errors import ResultsError
from mlcdr.experiment.loading import experiment_from
from mlcdr.papers.judging import rules_for
from mlcdr.papers.printed import load_table
from mlcdr.papers.published import compare_with_published
from mlcdr.results.best import average_repetitions, show_best, take_best
from mlcdr.results.frame import summarise
from mlcdr.results.results import open_results
from tests.results_folders import cell_of, experiment, render_table, write_folder

D, L = "dual_space.n_features", "dual_space.n_labels"


def best_of(points, metric="hamming_loss", folds=2):
    """The best of one grid over `k`: `points` is k → (split → value). Row of the summary, means of repetitions."""
    config = experiment(["yeast"], ["PLST"], ["f1"])
    if folds:
        config["splits"] = {"kind": "kfold", "folds": folds, "repeats": 3, "seed": 1}
    config = experiment_from(config)
    rows = [("d", "G", k, split, metric, value) for k, found in points.items() for split, value in found.items()]
    scores = pd.DataFrame(rows, columns=["dataset", "method", "k", "split", "metric", "value"])
    means = summarise(scores, ["dataset", "method", "k", "metric"])
    best = show_best(means, scores, {"G": ["k"]}, config, Path("folder"))
    taken = take_best(scores, {"G": ["k"]}, config, Path("folder"))
    repetitions = average_repetitions(taken, ["dataset", "method", "metric"], config)
    return best, repetitions.sort_values("repetition")["value"].to_list()


THREE = {
    "1": {0: 0.1, 1: 0.3, 2: 0.5, 3: 0.5, 4: 0.1, 5: 0.1},
    "2": {0: 0.3, 1: 0.3, 2: 0.2, 3: 0.2, 4: 0.4, 5: 0.4},
    "3": {0: 0.0},  # lacks splits that others have
}


def test_the_best_of_each_repetition_and_the_point_that_was_best_most_often():
    best, repetitions = best_of(THREE)
    values = [0.1, 0.3, 0.2, 0.2, 0.1, 0.1]
    assert best["k"].to_list() == ["1"]
    assert best["mean"][0] == pytest.approx(1 / 6)
    assert best["std"][0] == pytest.approx(np.std(values, ddof=1))
    assert best["se"][0] == pytest.approx(np.std(values, ddof=1) / math.sqrt(6))
    assert best["n"][0] == 6
    assert repetitions == pytest.approx([0.2, 0.2, 0.1])
    _, repetitions = best_of(THREE, "f1")
    assert repetitions == pytest.approx([0.3, 0.5, 0.4]), "of a metric of which more is better"


def test_of_equally_good_points_the_first():
    best, _ = best_of({"b": {0: 0.1 + 0.2}, "a": {0: 0.3}}, "f1", folds=0)
    assert best["k"].to_list() == ["b"]


def test_a_broken_off_repetition_gives_values_and_is_none():
    best, repetitions = best_of({"1": {0: 0.1, 1: 0.3, 2: 0.9}, "2": {0: 0.3, 1: 0.3, 2: 0.8}})
    assert best["mean"][0] == pytest.approx((0.1 + 0.3 + 0.8) / 3)
    assert repetitions == pytest.approx([0.2])


def test_points_on_other_splits_are_not_compared():
    points = {"1": {0: 0.1, 1: 0.1, 2: 0.9}, "2": {0: 0.1, 1: 0.1, 3: 0.2}, "3": {0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5}}
    assert best_of(points, folds=0)[0]["k"].to_list() == ["3"]
    del points["3"]
    assert best_of(points, folds=0)[0].empty


def test_a_metric_of_unknown_direction_has_no_best():
    with pytest.raises(ResultsError, match="'mine': which way it is better is not known"):
        best_of({"1": {0: 0.1}}, "mine")


def folder(tmp_path, datasets=("emotions",), repeats=2):
    rng = np.random.default_rng(0)
    methods = ["BR", "IDSR"]
    config = experiment(datasets, methods, ["hamming_loss", "f1"])
    config["splits"] = {"kind": "kfold", "folds": 3, "repeats": repeats, "seed": 1}
    grid = {D: ["20%", "100%"], L: ["50%", "100%"]}
    config["methods"]["IDSR"] = {
        "dual_space": "idsr",
        "learner": "least_squares",
        "tune": {"grid": grid, "scope": "test"},
    }
    values = {}
    for dataset in datasets:
        for metric in ("hamming_loss", "f1"):
            values[dataset, "BR", "", "", metric] = 0.2 + 0.01 * rng.random(3 * repeats)
            for i, d in enumerate(grid[D]):
                for j, k in enumerate(grid[L]):
                    values[dataset, "IDSR", d, k, metric] = 0.2 + 0.1 * (i + j) + 0.01 * rng.random(3 * repeats)
    written = write_folder(tmp_path / "trial", config, values, [D, L])
    facts = {name: {"n_features": 72, "n_labels": 6} for name in datasets}
    (written / "manifest.json").write_text(json.dumps({"datasets": facts}))
    return open_results(written), values


def test_a_grid_is_one_number_with_its_setting(tmp_path):
    found, values = folder(tmp_path)
    assert found.swept == ()
    assert found.grids == {"IDSR": (D, L)}
    low, high = (cell_of(found, "emotions", "IDSR", metric) for metric in ("hamming_loss", "f1"))
    assert (low[D], low[L]) == ("20%", "50%")
    assert (high[D], high[L]) == ("100%", "100%")
    assert low["mean"] == pytest.approx(np.mean(values["emotions", "IDSR", "20%", "50%", "hamming_loss"]))
    plain = cell_of(found, "emotions", "BR", "f1")
    assert (plain[D], plain[L]) == ("", "")
    of_f1 = found.repetition_means[found.repetition_means["metric"] == "f1"]
    for method, point in (("BR", ("", "")), ("IDSR", ("100%", "100%"))):
        means = np.mean(np.reshape(values[("emotions", method, *point, "f1")], (2, 3)), axis=1)
        assert of_f1.loc[of_f1["method"] == method, "value"].to_list() == pytest.approx(means)


def test_a_table_shows_the_setting_and_says_what_it_is(tmp_path):
    found, _ = folder(tmp_path)
    entry = {"layout": "generic", "columns": "method", "rows": ["dataset", "metric"], "spread": "none"}
    names = {"names": {"emotions": "emotions‡", "f1": "F1 ↑"}, "bold": "best"}
    table = render_table(found, entry | names | {"settings": {"IDSR": f"({{{D}}},{{{L}:features}})"}})
    assert "(100,8)" in table.markdown()
    assert r"^{\mbox{\scriptsize (100,8)}}" in table.latex()
    assert r"emotions\ddag{}" in table.latex()
    assert r"F1 $\uparrow$" in table.latex()
    assert "IDSR: of each grid the best on the test rows for each metric, so these numbers" in table.terminal(300)
    assert f"{D}=20%;{L}=50%" in table.csv()
    assert "so these numbers are too good" in comparison.compare_methods(found, "f1").terminal(300)


def test_a_choice_that_has_seen_the_test_rows_is_told(tmp_path):
    config = experiment(["yeast"], ["A", "B"], ["f1"])
    for name, scope in (("A", "dataset"), ("B", "split")):
        config["methods"][name]["tune"] = {"grid": {"learner.alpha": [1, 2]}, "scope": scope}
    values = {("yeast", name, "f1"): [0.5, 0.6] for name in "AB"}
    found = open_results(write_folder(tmp_path / "trial", config, values))
    told = "A: parameters chosen once for a data set, on all its rows, also the test rows. `tune: {scope: split}`"
    assert told in render_table(found, {"layout": "generic"}).terminal(300)
    assert told in comparison.compare_methods(found, "f1").terminal(300)


def test_a_setting_that_is_not_tuned_is_told(tmp_path):
    found, _ = folder(tmp_path)
    with pytest.raises(ResultsError, match=r"layout generic: settings: learner\.alpha is not tuned \(tuned: dual_s"):
        render_table(found, {"layout": "generic", "settings": {"IDSR": "{learner.alpha}"}})


def test_where_scores_are_missing_nothing_stands_in(tmp_path):
    found, _ = folder(tmp_path)
    path = found.folder / "scores.csv"
    lines = [line for line in path.read_text().splitlines() if not (",IDSR," in line and line.split(",")[-2] == "f1")]
    path.write_text("\n".join(lines) + "\n")
    again = open_results(found.folder)
    assert cell_of(again, "emotions", "IDSR", "f1")["n"] == 0
    assert cell_of(again, "emotions", "IDSR", "hamming_loss")[D] == "20%"


def test_without_scores_there_is_no_best(tmp_path):
    found, _ = folder(tmp_path)
    (found.folder / "scores.csv").unlink()
    with pytest.raises(ResultsError, match=r"scores\.csv: missing"):
        open_results(found.folder)


# -------------------------------------------------------------------- beside the published table

TABLE2 = "pacharawongsakda_2012/table2"
METRICS = ["hamming_loss", "macro_f1", "accuracy", "zero_one_loss"]


def test_twenty_one_cells_of_table_2_are_not_judged():
    rules = rules_for(TABLE2)
    why = rules.why_not(load_table(TABLE2))
    assert len(why) == 168
    assert sum(map(bool, why)) == 21
    assert rules_for("chen_lin_2012/table3").tolerance == 0.0005


def as_printed(tmp_path, datasets, shift, name="trial"):
    """A folder with the printed numbers of some data sets, `shift`(cell) added, six repeats ±.001 around them."""
    methods = ["BR", "BR+", "CC", "PLST", "DDSR", "IDSR"]
    config = experiment(datasets, methods, METRICS)
    config["splits"] = {"kind": "kfold", "folds": 2, "repeats": 6, "seed": 1}
    values = {}
    for cell in load_table(TABLE2).itertuples():
        if cell.dataset in datasets:
            mean = float(cell.mean) + shift(cell)
            values[cell.dataset, cell.method, cell.metric] = 3 * [
                mean - 0.004,
                mean + 0.002,
                mean - 0.002,
                mean + 0.004,
            ]
    return open_results(write_folder(tmp_path / name, config, values))


def test_the_printed_numbers_agree_with_themselves(tmp_path):
    small = as_printed(tmp_path, ["emotions", "yeast"], lambda cell: 0.0)
    large = as_printed(tmp_path, ["bibtex"], lambda cell: 0.0, "large")
    (together,) = compare_with_published([small, large], TABLE2)
    assert together.count("agrees") == together.compared == 3 * 24 - 21
    assert together.count("not reproducible") == 21
    assert together.count("not run") == 4 * 24
    assert "21 not reproducible" in together.summary()
    assert len(compare_with_published([small, small], TABLE2)) == 2
    text = together.terminal(300)
    assert "Not reproducible, yeast PLST: printed worse than BR" in text


@pytest.mark.parametrize(("shift", "verdict"), [(0.0059, "agrees"), (0.0061, "differs"), (-0.01, "differs")])
def test_three_standard_deviations_of_repetitions_or_the_tables_own_tolerance(tmp_path, shift, verdict):
    # repetitions at mean ∓ .001
    (got,) = compare_with_published([as_printed(tmp_path, ["emotions"], lambda cell: shift)], TABLE2)
    cells = got.cells[got.cells["dataset"] == "emotions"]
    assert set(cells["verdict"]) == {verdict}
    z = cells.loc[(cells[["method", "metric"]] == ["BR+", "accuracy"]).all(axis=1), "z"]
    assert z.tolist() == pytest.approx([shift / (0.001 * math.sqrt(6 / 5))])
    assert (
        "within 3 standard deviations of our repetitions (fewer than 5: standard errors over splits) or 0.006"
        in got.summary()
    )
