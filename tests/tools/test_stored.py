"""Stored results of the published tables beside those of methods of one's own."""

import pytest

import mlcdr as api
from mlcdr.errors import ResultsError
from mlcdr.papers import recipes, stored
from tests.results_folders import as_printed
from tests.tools.test_record import TABLE3, run_of
from tools.store import store_run


def test_own_methods_are_compared_with_stored_rows_on_the_same_data(tmp_path, mlcdr, monkeypatch):
    store_run(run_of(tmp_path, TABLE3, as_printed(TABLE3)), "c0ffee", tmp_path / "record")
    monkeypatch.setattr(stored, "record_folder", lambda: tmp_path / "record")
    mine = {
        ("yeast", "Mine", size, "hamming_loss"): (0.19, 0.001, 100) for size in ("20%", "40%", "60%", "80%", "100%")
    }
    methods = {"Mine": {"label_space": "plst", "learner": "least_squares"}}
    run_of(tmp_path, TABLE3, mine, name="mine", methods=methods, datasets=["yeast"])
    shown = mlcdr("compare", tmp_path / "mine", "--record", TABLE3, "--metric", "hamming_loss")
    assert shown.code == 0, shown.err
    assert [name in shown.out for name in ("Mine", "PLST", "CPLST", "yeast", "scene")] == [True] * 4 + [False]
    wrong = mlcdr("compare", tmp_path / "mine", "--record", "chen_lin_2012/table9")
    assert (wrong.code, "did you mean 'chen_lin_2012/table3'" in wrong.err) == (2, True)
    other = {("made", *key[1:]): value for key, value in mine.items()}
    run_of(tmp_path, TABLE3, other, name="other", methods=methods, datasets=["made"])
    apart = mlcdr("compare", tmp_path / "other", "--record", TABLE3)
    assert (apart.code, f"record {TABLE3}: has no data set of yours (made), only" in apart.err) == (2, True)
    from_python = api.compare(tmp_path / "mine", record=TABLE3, metric="hamming_loss")
    names = {"Mine", *recipes.recipes()[TABLE3].experiment.methods}
    assert (set(from_python.frame()["method"]), set(from_python.frame()["dataset"])) == (names, {"yeast"})
    with pytest.raises(ResultsError, match=r"published: cannot be combined with .* record"):
        api.compare(tmp_path / "mine", record=TABLE3, published=TABLE3)


def test_stored_rows_are_found_by_the_name_of_a_printed_table_that_another_config_fills():
    assert [each.name for each in stored.stored_results("sun_2017_thesis/table4_3")] == [
        "sun_2017_thesis_table4_2",
        "sun_2017_thesis_table4_2_large",
    ]
    with pytest.raises(ResultsError, match="is a table of data sets, which has no methods"):
        stored.stored_results("chen_lin_2012/table2")
