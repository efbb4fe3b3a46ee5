"""Results beside printed numbers: verdicts, which cells are found, and what is shown."""

import math

import pytest

import mlcdr
from mlcdr.errors import ResultsError
from mlcdr.papers import published as module
from mlcdr.papers.judging import Rules, published_errors, rules_for
from mlcdr.papers.matching import are_same_amount
from mlcdr.papers.printed import list_tables, load_table
from mlcdr.results.results import open_results
from tests.results_folders import PATH, PERCENTS, as_printed, experiment, published, write_folder

TABLE3 = "chen_lin_2012/table3"


def folder(tmp_path, values, points=PERCENTS, **methods):
    datasets = list(dict.fromkeys(key[0] for key in values))
    names = list(dict.fromkeys(key[1] for key in values))
    metrics = list(dict.fromkeys(key[-1] for key in values))
    config = experiment(datasets, names, metrics, {PATH: points} if points else {})
    config["methods"] |= methods
    return open_results(write_folder(tmp_path / "trial", config, values, [PATH] if points else []))


def compare(results, table):
    (compared,) = module.compare_with_published([results], table)
    return compared


def cell(comparison, dataset, method, setting):
    cells = comparison.cells
    (found,) = cells[(cells[["dataset", "method", "setting"]] == [dataset, method, setting]).all(axis=1)].itertuples()
    return found


def test_the_table_agrees_with_itself(tmp_path):
    got = compare(folder(tmp_path, as_printed(TABLE3)), TABLE3)
    assert len(got.cells) == got.count("agrees") == got.compared == 80
    assert got.summary().startswith("80 of 80 cells within 3 standard errors of the difference or 0.0005; worst: ")


def test_comparisons_of_two_folders_have_files_of_their_own(tmp_path):
    ours = folder(tmp_path, as_printed(TABLE3)).folder
    written = mlcdr.compare(ours, ours, published=TABLE3).write(tmp_path / "out")
    assert [path.parent.name for path in written] == ["out"] * 6
    assert len(set(written)) == 6


@pytest.mark.parametrize(("shift", "verdict"), [(3 * math.sqrt(2) * 0.0008 - 1e-9, "agrees"), (-0.0035, "differs")])
def test_verdict_by_z(tmp_path, shift, verdict):
    mean, se = 0.2150, 0.0008
    got = compare(folder(tmp_path, {("yeast", "PLST", "20%", "hamming_loss"): (mean + shift, se, 100)}), TABLE3)
    row = cell(got, "yeast", "PLST", "label_dim=20%")
    assert row.verdict == verdict
    assert row.z == pytest.approx(shift / (se * math.sqrt(2)))
    assert row.difference == pytest.approx(shift)
    assert got.compared == 1
    assert got.count("not run") == 79


def test_within_the_tolerance_whatever_z(tmp_path):
    values = {
        ("bibtex", "PLST", "20%", "hamming_loss"): (0.0129 + 0.0005, 0.00001, 100),
        ("bibtex", "PLST", "40%", "hamming_loss"): (0.0125 + 0.0006, 0.00001, 100),
    }
    got = compare(folder(tmp_path, values), TABLE3)
    near, far = (cell(got, "bibtex", "PLST", f"label_dim={p}") for p in ("20%", "40%"))
    assert (near.verdict, far.verdict) == ("agrees", "differs")
    # The printed error 0.0000 counts as 0.000025, the middle of what rounds to it.
    assert near.published_se == 0.000025
    assert near.z == pytest.approx(0.0005 / math.hypot(0.000025, 0.00001))
    assert got.summary() == (
        "1 of 2 cells within 3 standard errors of the difference or 0.0005; "
        f"worst: bibtex PLST 40% z={far.z:.1f}; 78 not run"
    )


def test_one_split_cannot_judge_beyond_the_tolerance(tmp_path):
    values = {
        ("yeast", "PLST", "20%", "hamming_loss"): [0.2154],
        ("yeast", "PLST", "40%", "hamming_loss"): [0.3],
    }
    got = compare(folder(tmp_path, values), TABLE3)
    assert cell(got, "yeast", "PLST", "label_dim=20%").verdict == "agrees"
    assert cell(got, "yeast", "PLST", "label_dim=40%").verdict == "undecided"
    assert "1 of 2 cells" in got.summary()
    assert "1 undecided; 78 not run" in got.summary()


def test_amounts():
    for ours, theirs in ((".20", "20%"), ("2.5%", "0.025")):
        assert are_same_amount(ours, theirs)
    for ours, theirs in (("1", "100%"), ("0.25", "20%"), ("", "")):  # the first is one dimension
        assert not are_same_amount(ours, theirs)


def test_fractions_and_fixed_parameters_are_found(tmp_path):
    swept = folder(tmp_path, {("yeast", "plst", "0.2", "hamming_loss"): (0.2150, 0.0008, 100)}, ["0.2"])
    assert cell(compare(swept, TABLE3), "yeast", "PLST", "label_dim=20%").verdict == "agrees"
    fixed = folder(
        tmp_path / "fixed",
        {("Yeast", "kernel_CPLST", "hamming_loss"): (0.2, 0.0008, 100), ("Yeast", "PLST", "hamming_loss"): [0.1, 0.2]},
        None,
        kernel_CPLST={"label_space": {"kernel_cplst": {"n_components": "20%"}}, "learner": "kernel_ridge"},
    )
    got = compare(fixed, "chen_lin_2012/table5")
    assert got.compared == 1
    assert not math.isnan(cell(got, "yeast", "kernel-CPLST", "label_dim=20%").ours)


def test_printed_standard_deviations_are_what_a_table_may_be_judged_by(tmp_path):
    table = "sun_2017_thesis/table3_2"
    row = published(table)[0]
    std = float(row["spread"])
    for away, verdict in ((1.9, "agrees"), (2.1, "differs")):
        values = {(row["dataset"], row["method"], row["metric"]): (float(row["mean"]) + away * std, 0.004, 5)}
        found = compare(folder(tmp_path / verdict, values, None), table)
        assert found.cells["z"][0] == pytest.approx(away)
        assert found.cells["verdict"][0] == verdict
        assert "within 2 printed standard deviations" in found.summary()


def test_standard_deviations_become_standard_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "rules_for", lambda table: Rules())  # of a table without rules of its own
    table = "sun_2017_thesis/table4_2"
    row = published(table)[0]
    values = {(row["dataset"], row["method"], row["metric"]): (float(row["mean"]) + 0.01, 0.004, 16)}
    got = compare(folder(tmp_path, values, None), table)
    assert got.cells["published_se"][0] == pytest.approx(float(row["spread"]) / 4)


def test_cells_that_the_paper_does_not_give_are_listed(tmp_path):
    table = "sun_2017_thesis/table8_1"
    rows = published(table)
    values = {(r["dataset"], r["method"], r["metric"]): (float(r["mean"] or 0.5), 0.01, 5) for r in rows}
    got = compare(folder(tmp_path, values, None), table)
    assert got.count("n/a") == sum(not r["mean"] for r in rows) == 13
    assert got.count("agrees") == 347
    assert "13 n/a" in got.summary()


def test_what_is_shown(tmp_path):
    values = {
        ("yeast", "PLST", "20%", "hamming_loss"): (0.2250, 0.0008, 100),
        ("yeast", "PLST", "40%", "hamming_loss"): (0.20521, 0.0009, 100),
        ("yeast", "OCCA", "20%", "hamming_loss"): (0.3, 0.0008, 100),
    }
    got = compare(folder(tmp_path, values), TABLE3)
    lines = got.terminal(80).splitlines()
    shown = [" ".join(line.split()) for line in lines]
    assert "yeast PLST 20% 0.2250 ± 0.0008 0.2150 ± 0.0008 +0.0100 +8.8 differs" in shown
    assert "40% 0.2052 ± 0.0009 0.2052 ± 0.0009 0.0000 0.0 agrees" in shown
    assert "60% – 0.2033 ± 0.0009 – – not run" in shown
    assert max(map(len, lines)) <= 80
    text = got.terminal(200)
    assert "No cell of bibtex, corel5k, emotions, enron, genbase, medical and scene in the results." in text
    assert "Not in the published table: OCCA." in text
    assert "\x1b[1mdiffers" in got.terminal(200, colour=True)
    assert len(got.cells) == 80


def test_every_published_table_is_readable():
    known = list_tables()
    assert {TABLE3, "sun_2017_thesis/table8_1"} <= set(known)
    assert "chen_lin_2012/table2" not in known  # facts about data sets
    for name in known:
        cells = load_table(name)
        printed = cells[cells["mean"] != ""]
        assert ((printed["dataset"] != "") | (printed["metric"] != "")).all()
        assert printed["mean"].astype(float).map(math.isfinite).all()


def test_what_does_not_fit_is_said(tmp_path):
    got = folder(tmp_path, {("flags", "Mine", "20%", "hamming_loss"): [0.1, 0.2]})
    with pytest.raises(ResultsError, match="has no cell of chen_lin_2012/table3") as error:
        compare(got, TABLE3)
    assert "data sets flags" in str(error.value)
    assert "sweeps label_space.n_components: [20%, 40%, 60%, 80%, 100%]" in str(error.value)
    with pytest.raises(ResultsError, match="no published table 'chen_lin_2012/tabel3'; did you mean"):
        compare(got, "chen_lin_2012/tabel3")


def test_a_table_may_print_standard_errors_as_standard_deviations():
    cell = load_table("sun_2017_thesis/table4_2")[:1].assign(n=5)
    assert cell[["spread", "spread_kind"]].values.tolist() == [["0.019", "std"]]
    rules = rules_for("sun_2017_thesis/table4_2")
    assert published_errors(cell, rules)[0] == pytest.approx(0.019)
    assert published_errors(cell, Rules())[0] == pytest.approx(0.019 / 5**0.5)
    assert rules.max_z == 2
