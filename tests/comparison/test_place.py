"""Where one's own rows stand among the stored rows of the board."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mlcdr.comparison.place import Place, place_methods
from mlcdr.errors import ResultsError
from mlcdr.results.results import Results, open_results
from tests.results_folders import experiment, write_folder

DATASETS = tuple("abcdefghijkl")
STORED = ("ridge", "PLST", "PCA", "CCA")
METRICS = ("hamming_loss", "micro_f1", "fit_seconds")
Values = dict[tuple[str, str, str], float]


def draw(methods: tuple[str, ...], seed: int, shift: float = 0.0) -> Values:
    """A mean for each data set, method and metric."""
    rng = np.random.default_rng(seed)
    found = {}
    for dataset in DATASETS:
        for method in methods:
            for metric in METRICS:
                found[dataset, method, metric] = round(0.5 + shift + 0.02 * rng.normal(), 4)
    return found


def results_of(folder: Path, values: Values, n_splits: Mapping[str, int] | None = None) -> Results:
    """A results folder; `n_splits`: of the data sets that have not all four."""
    methods = list(dict.fromkeys(method for _, method, _ in values))
    datasets = list(dict.fromkeys(dataset for dataset, _, _ in values))
    config = experiment(datasets, methods, METRICS) | {"name": folder.name}
    if "ridge" in methods:
        config["against"] = "ridge"
    given = {key: [mean] * (n_splits or {}).get(key[0], 4) for key, mean in values.items()}
    return open_results(write_folder(folder, config, given))


def placed(tmp_path: Path, own: Values, stored: Values | None = None, **options: Mapping[str, int]) -> Place:
    """The place of some means among the stored ones."""
    return place_methods(results_of(tmp_path / "mine", own, **options), results_of(tmp_path / "board", stored or BOARD))


BOARD = draw(STORED, 1)
OWN = draw(("Mine", "Other"), 2, shift=0.01)


@pytest.mark.parametrize(("metric", "sign"), [("micro_f1", -1), ("hamming_loss", 1)])
def test_place_rank_wins_and_test_are_those_of_scipy(tmp_path: Path, metric: str, sign: int) -> None:
    found = placed(tmp_path, OWN)
    row = found.rows[(found.rows["own"] == "Mine") & (found.rows["metric"] == metric)].iloc[0]
    mine = np.array([OWN[dataset, "Mine", metric] for dataset in DATASETS])
    theirs = np.array([[BOARD[dataset, method, metric] for dataset in DATASETS] for method in STORED])
    averages = stats.rankdata(sign * np.vstack([mine, theirs]), axis=0).mean(axis=1)
    assert row["rank"] == pytest.approx(averages[0])
    assert (row["place"], row["of"], row["n"]) == (1 + (averages[1:] < averages[0]).sum(), 5, 12)
    gains = np.round(sign * (theirs[0] - mine), 6)
    assert [row["wins"], row["ties"], row["losses"]] == [(gains > 0).sum(), (gains == 0).sum(), (gains < 0).sum()]
    if len(set(abs(gains))) == len(gains):  # scipy is exact only without equal differences
        assert row["p"] == pytest.approx(stats.wilcoxon(gains, method="exact").pvalue)


def test_holm_corrects_over_the_measures_of_each_method_and_costs_are_no_measure(tmp_path: Path) -> None:
    rows = placed(tmp_path, OWN).rows
    assert list(zip(rows["own"], rows["metric"], strict=True)) == [
        ("Mine", "hamming_loss"), ("Mine", "micro_f1"), ("Other", "hamming_loss"), ("Other", "micro_f1"),
    ]  # fmt: skip
    for _, own in rows.groupby("own"):
        small, large = sorted(own["p"])
        first = min(1, 2 * small)
        assert sorted(own["p_holm"]) == pytest.approx([first, max(first, large)])


def test_the_place_of_a_method_does_not_depend_on_other_methods_of_ones_own(tmp_path: Path) -> None:
    alone = placed(tmp_path / "alone", {key: mean for key, mean in OWN.items() if key[1] == "Mine"})
    beside = placed(tmp_path / "beside", OWN)
    first = beside.rows[beside.rows["own"] == "Mine"]
    assert alone.rows.to_dict("records") == first.to_dict("records")


def test_the_sentence_is_of_the_measure_by_which_the_board_tunes(tmp_path: Path) -> None:
    own = {key: BOARD[key[0], "ridge", key[2]] for key in OWN if key[1] == "Mine"}
    for number, dataset in enumerate(DATASETS):
        own[dataset, "Mine", "micro_f1"] += 0.05 + 0.001 * number if number else -0.01
    own["b", "Mine", "micro_f1"] = BOARD["b", "ridge", "micro_f1"]
    tune = {"grid": {"learner.alpha": [1, 2]}, "metric": "micro_f1"}
    config = experiment(DATASETS, STORED, METRICS) | {"name": "board", "against": "ridge"}
    config["methods"]["ridge"] = {"learner": "ridge", "tune": tune}
    values = {key: [mean] * 4 for key, mean in BOARD.items()}
    board = open_results(write_folder(tmp_path / "board", config, values))
    found = place_methods(results_of(tmp_path / "mine", own), board)
    sentence, _ = found.sentences()
    p = stats.wilcoxon([-0.01, *(0.05 + 0.001 * k for k in range(2, 12))], method="exact").pvalue
    assert sentence.startswith("Mine: place 1 of 5 in micro F1 on 12 data sets; better than ridge on 10, worse on 1, ")
    # in Hamming loss the two are the same everywhere, which is no test
    assert sentence.endswith(f"the same on 1 (p = {p:.4f}, Holm over 1 measure)."), sentence
    assert [row[-1].plain for row in found.sheet.rows] == ["–", f"{p:.4f}"]


def test_few_data_sets_are_no_test(tmp_path: Path) -> None:
    few = {key: mean + 0.1 for key, mean in OWN.items() if key[0] in "abcd" and key[1] == "Mine"}
    found = placed(tmp_path, few)
    sentence, _ = found.sentences()
    assert sentence.endswith("(too few data sets for a test).")
    assert "–: too few data sets for a test: the smallest p (Holm) that 4 data sets can give is 0.25." in found.notes
    assert {row[-1].plain for row in found.sheet.rows} == {"–"}
    assert "bold" not in " ".join(found.notes)
    assert "bold: at most 0.05." in " ".join(placed(tmp_path / "all", OWN).notes)


def test_the_best_and_the_next_methods_and_the_difference_to_no_reduction_are_told(tmp_path: Path) -> None:
    def means(**of_method: float) -> Values:
        return {(d, method, metric): mean for d in DATASETS for method, mean in of_method.items() for metric in METRICS}

    # the same order on all data sets, so that the ranks are known; the sentence is of the first measure, Hamming loss
    stored = means(PCA=0.1, CCA=0.3, PLST=0.5, ridge=0.6)
    tails = []
    for number, mean in enumerate((0.4, 0.05, 0.9)):
        _, tail = placed(tmp_path / str(number), means(Mine=mean), stored).sentences()
        tails.append(tail)
    assert tails == [
        "Mine: average rank 3.00; the best stored method: PCA (1.00), just above: CCA (2.00), just below: PLST (4.00). "
        "Mean difference to ridge in Hamming loss: −0.2000.",
        "Mine: average rank 1.00; the best stored method: PCA (2.00), just above: none, just below: PCA (2.00). "
        "Mean difference to ridge in Hamming loss: −0.5500.",
        "Mine: average rank 5.00; the best stored method: PCA (1.00), just above: ridge (4.00), just below: none. "
        "Mean difference to ridge in Hamming loss: +0.3000.",
    ]


def test_a_stored_method_that_is_run_again_is_told_to_compete_with_itself(tmp_path: Path) -> None:
    again = {key: mean for key, mean in BOARD.items() if key[1] == "PCA"}
    found = placed(tmp_path, again)
    assert set(found.rows["of"]) == {5}
    assert "PCA: a stored method has the same name, and is among those that it is compared with." in found.notes


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    stored = {key: mean for key, mean in BOARD.items() if key[:2] != ("c", "PCA")}
    own = {key: mean for key, mean in OWN.items() if key[1] == "Mine"}
    own |= {("mine", "Mine", metric): 0.5 for metric in METRICS}
    found = placed(tmp_path, own, stored, n_splits={"a": 3})
    assert set(found.rows["of"]) == {4}
    assert set(found.rows["n"]) == {11}
    text = "\n".join(found.notes)
    assert "Mine: on 11 data sets (b, c, d, e, f, g, h, i, j, k, l)." in text
    assert "Mine: not finished, and left out: a." in text
    assert "Mine: not of the board, and left out: mine." in text
    assert "Mine: left out, as not on all of these data sets: 1 stored method, PCA." in text


def test_without_a_finished_data_set_of_the_board_there_is_no_place(tmp_path: Path) -> None:
    own = {("mine", "Mine", metric): 0.5 for metric in METRICS}
    with pytest.raises(ResultsError, match="no method has finished a data set of the board yet"):
        placed(tmp_path, own)
