"""Several results folders as one."""

import json

import pytest

from mlcdr.comparison import comparison
from mlcdr.errors import ResultsError
from mlcdr.results.joining import join
from mlcdr.results.results import open_results
from tests.results_folders import PATH, as_printed, cell_of, experiment, published, write_folder

LOSS = "hamming_loss"


def load(path, values, name="", swept=(), **changes):
    names = [list(dict.fromkeys(key[k] for key in values)) for k in (0, 1, -1)]
    config = experiment(*names, {p: ["20%", "40%"] for p in swept}) | {"name": name or path.name} | changes
    return open_results(write_folder(path, config, values, swept))


def of(dataset_values, method, metric=LOSS):
    return {(dataset, method, metric): (value, 0.01, 4) for dataset, value in dataset_values.items()}


def test_the_thesis_in_two_folders_is_the_thesis_in_one(tmp_path):
    rows = published("sun_2017_thesis/table3_3")
    values = {
        (r["dataset"], r["method"], r["metric"]): (float(r["mean"]), 0.01, 4) for r in rows if r["metric"] == "accuracy"
    }
    halves = [
        {key: v for key, v in values.items() if (key[1] in ("MLkNN", "HOMER")) == first} for first in (True, False)
    ]
    whole = comparison.compare_methods(load(tmp_path / "whole", values), "accuracy")
    parts = comparison.compare_methods(
        join([load(tmp_path / n, v) for n, v in zip("ab", halves, strict=True)]), "accuracy"
    )
    assert parts.average_ranks == whole.average_ranks
    assert parts.significance.friedman == whole.significance.friedman
    assert parts.sheet.caption.plain == "a and b: accuracy, higher is better"
    assert "Friedman over 12 data sets" in " ".join(parts.sheet.notes)


def test_data_sets_of_one_method_come_from_several_folders(tmp_path):
    one = of({"d": 0.1}, "A") | of({"d": 0.2}, "B")
    other = of({"e": 0.1}, "A") | of({"e": 0.2}, "B")
    got = comparison.compare_methods(join([load(tmp_path / "a", one), load(tmp_path / "b", other)]), LOSS)
    assert got.average_ranks == {"A": 1.0, "B": 2.0}
    assert [dataset for dataset, _ in got.ranked] == ["d", "e"]


def test_one_name_for_two_things_becomes_two_names(tmp_path):
    one = of({"d": 0.1, "e": 0.1}, "A") | of({"d": 0.3, "e": 0.3}, "Same")
    other = of({"d": 0.2, "e": 0.2}, "A") | of({"d": 0.3, "e": 0.3}, "Same")
    got = join([load(tmp_path / "a", one), load(tmp_path / "b", other)])
    assert got.methods == ("A (a)", "Same", "A (b)")
    assert comparison.compare_methods(got, LOSS).average_ranks == {"A (a)": 1.0, "Same": 3.0, "A (b)": 2.0}
    timed = {("d", "A", m): (v, 0.01, 4) for m, v in ((LOSS, 0.1), ("fit_seconds", 1.0))}
    again = timed | {("d", "A", "fit_seconds"): (2.0, 0.01, 4)}
    assert join([load(tmp_path / "t", timed), load(tmp_path / "u", again)]).methods == ("A",)
    methods = {"A": {"label_space": "pbr", "learner": "least_squares"}}
    apart = of({"f": 0.2}, "A")
    assert join([load(tmp_path / "a", one), load(tmp_path / "c", apart, methods=methods)]).methods[-1] == "A (c)"
    three = [load(tmp_path / n, v) for n, v in (("a", one), ("b", other), ("e", of({"d": 0.1}, "A")))]
    assert join(three).methods == ("A (a)", "Same", "A (b)", "A (e)"), "also those of which two agree"
    named = join([load(tmp_path / "a", one), load(tmp_path / "x" / "b", other, name="a")])
    assert named.methods[0] == f"A ({tmp_path / 'a'})"


def test_a_table_and_its_large_data_sets_are_parts_of_one_table(tmp_path):
    other = {"A": {"label_space": "pbr", "learner": "least_squares"}}
    table = load(tmp_path / "t", of({"d": 0.1}, "A"))
    stated = load(tmp_path / "t_as_stated", of({"d": 0.1}, "A"))
    large = load(tmp_path / "t_large", of({"e": 0.2}, "A"), methods=other)
    got = join([table, stated, large])
    assert got.methods == ("A",)
    assert set(got.summary["dataset"]) == {"d", "e"}
    assert got.remarks == ("In t_large: A has label_space pbr, not a.",)
    larger = load(tmp_path / "t_large_large", of({"f": 0.3}, "A"))
    assert set(join([table, large, larger]).summary["dataset"]) == {"d", "e", "f"}, "it has no large part itself"
    common = load(tmp_path / "x" / "t_large", of({"d": 0.1, "e": 0.2}, "A"), methods=other)
    assert join([table, common]).methods == ("A (t)", "A (t_large)"), "a data set in common"
    both = of({"d": 0.1, "e": 0.3}, "A")
    stated = load(tmp_path / "x" / "t_as_stated", both)
    for folders in ([table, stated, large], [table, large, stated]):
        assert join(folders).methods == ("A (t)", "A (t_as_stated)"), "other numbers on e"
    assert join([stated, large]).methods == ("A (t_as_stated)", "A (t_large)"), "not the table of these large data sets"


def test_a_folder_without_the_sweep_stands_at_every_point(tmp_path):
    swept = {key: cell for key, cell in as_printed("chen_lin_2012/table3").items() if key[0] in ("scene", "yeast")}
    plain = of({"scene": 0.11, "yeast": 0.2}, "BR")
    joined = join([load(tmp_path / "a", swept, swept=[PATH]), load(tmp_path / "b", plain)])
    got = comparison.compare_methods(joined, LOSS)
    assert len(got.ranked) == 10
    assert set(got.average_ranks) == {"PLST", "CPLST", "BR"}
    assert "BR has no label_space.n_components: the same number stands in every column." in got.sheet.notes
    assert any("these p-values are too small" in note for note in got.sheet.notes)


def test_a_method_with_a_parameter_swept_in_one_folder_is_two_methods(tmp_path):
    swept = {("d", "A", size, LOSS): (0.1, 0.01, 4) for size in ("20%", "40%")}
    joined = join([load(tmp_path / "a", swept, swept=[PATH]), load(tmp_path / "b", of({"e": 0.2}, "A"))])
    assert joined.methods == ("A (a)", "A (b)")
    assert cell_of(joined, "e", "A (b)", LOSS, {PATH: "40%"})["mean"] == 0.2


def test_what_is_not_common_is_left_out_or_refused(tmp_path):
    a = load(tmp_path / "a", of({"d": 0.1}, "A") | of({"d": 0.1}, "A", "accuracy"))
    b = load(tmp_path / "b", of({"d": 0.2}, "B"), splits={"kind": "predefined"})
    got = join([a, b])
    assert got.metrics == (LOSS,)
    assert got.remarks == ("The splits of b are not those of a.",)
    assert got.remarks[0] in comparison.compare_methods(got, LOSS).sheet.notes
    with pytest.raises(ResultsError, match="no metric is common to the folders"):
        join([load(tmp_path / "c", of({"d": 0.1}, "C", "macro_f1")), b])
    c = of({"d": 0.1}, "A", "macro_f1")
    skip = load(tmp_path / "e", c, metrics=[{"macro_f1": {"zero_division": "skip"}}])
    with pytest.raises(ResultsError, match="macro_f1 is not computed as in"):
        join([load(tmp_path / "c", c), skip])
    assert join([a]) is a


def test_data_of_another_size_under_one_name_are_refused(tmp_path):
    a, b = (load(tmp_path / name, of({"d": 0.1}, name)) for name in "ab")
    sizes = {"n_instances": 300, "n_features": 5, "n_labels": 3}
    for folder, rows in ((a, 300), (b, 301)):
        facts = {"datasets": {"d": sizes | {"n_instances": rows}}}
        (folder.folder / "manifest.json").write_text(json.dumps(facts))
    a, b = open_results(a.folder), open_results(b.folder)
    with pytest.raises(ResultsError, match=r"d is not the same data: 300 instances, 5 features, 3 labels in .*, 301"):
        join([a, b])
    (b.folder / "manifest.json").write_text(json.dumps({"datasets": {"d": {"n_instances": 301}}}))
    assert join([open_results(a.folder), open_results(b.folder)]).methods == ("a", "b"), "sizes that are not known"


def test_rounding_errors_win_no_comparison(tmp_path):
    a, b = (load(tmp_path / n, of({"d": v, "e": v}, n)) for n, v in (("a", 0.123456), ("b", 0.12345600000001)))
    assert comparison.compare_methods(join([a, b]), LOSS).average_ranks == {"a": 1.5, "b": 1.5}


def test_the_command_joins_and_writes(tmp_path, mlcdr):
    rows = published("sun_2017_thesis/table3_3")
    for name, mine in (("a", ("MLkNN", "HOMER")), ("b", ("RAkEL", "PACC-LDF"))):
        values = {
            (r["dataset"], r["method"], "accuracy"): (float(r["mean"]), 0.01, 4)
            for r in rows
            if r["metric"] == "accuracy" and r["method"] in mine
        }
        load(tmp_path / name, values)
    done = mlcdr("compare", tmp_path / "a", tmp_path / "b", "--bayes", "--out", tmp_path / "deep" / "out")
    assert done.code == 0, done.err
    assert "P(better)" in done.out
    stems = {
        "accuracy": ["csv", "md", "tex"],
        "accuracy_pairs": ["csv", "md", "tex"],
        "accuracy_within": ["csv", "md", "tex"],
        **{f"accuracy_{name}": ["png", "svg"] for name in ("cd_nemenyi", "cd_wilcoxon_holm", "matrix")},
    }
    expected = sorted(f"{stem}.{ending}" for stem, endings in stems.items() for ending in endings)
    assert sorted(path.name for path in (tmp_path / "deep" / "out").iterdir()) == expected
    wrong = mlcdr("compare", tmp_path / "a", "--published", "chen_lin_2012/table3", "--bayes")
    assert wrong.code == 2


def test_the_best_of_a_grid_stands_at_all_values_that_another_folder_sweeps(tmp_path):
    swept = {("d", "A", size, LOSS): (0.1, 0.01, 4) for size in ("20%", "40%")}
    tried = {("d", "B", size, LOSS): (mean, 0.01, 4) for size, mean in (("20%", 0.3), ("40%", 0.2))}
    spec = {"label_space": "b", "learner": "least_squares", "tune": {"grid": {PATH: ["20%", "40%"]}, "scope": "test"}}
    best = load(tmp_path / "b", tried, methods={"B": spec}, swept=[PATH], sweep={})
    joined = join([load(tmp_path / "a", swept, swept=[PATH]), best])
    assert (best.swept, joined.swept) == ((), (PATH,))
    assert [cell_of(joined, "d", "B", LOSS, {PATH: size})["mean"] for size in ("20%", "40%")] == [0.2, 0.2]
