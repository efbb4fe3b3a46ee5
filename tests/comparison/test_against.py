"""All methods against the one that an experiment names: the test, and the sentence in each of its forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlcdr.comparison import statistics
from mlcdr.comparison.against import Against, compare_against
from mlcdr.results.results import open_results
from tests.results_folders import PATH, experiment, write_folder

KFOLD = {"kind": "kfold", "folds": 5, "repeats": 2, "seed": 1}
BASE = 0.5 + 0.01 * np.random.default_rng(3).normal(size=10)
NOISE = np.random.default_rng(4).normal(size=(3, 10))


def add(mean: float, k: int = 0, spread: float = 0.002) -> np.ndarray:
    """Scores that are `mean` above those of `BASE` on average."""
    noise = NOISE[k] - NOISE[k].mean()
    return BASE + mean + spread * noise


def compared(
    folder: Path,
    values: dict[Any, Any],
    metric: str | None = None,
    swept: tuple[str, ...] = (),
    chosen: list[tuple[Any, ...]] = (),
    **changes: Any,
) -> Against | None:
    """The comparison with A, by scores of (data set, method, [point,] metric)."""
    datasets, methods = (list(dict.fromkeys(key[i] for key in values)) for i in (0, 1))
    metrics = list(dict.fromkeys(key[-1] for key in values))
    sweep = {path: [p for p in dict.fromkeys(key[2] for key in values) if p] for path in swept}
    config = experiment(datasets, methods, metrics, sweep) | {"splits": KFOLD, "against": "A"} | changes
    write_folder(folder, config, {key: list(scores) for key, scores in values.items()}, swept)
    if chosen:
        columns = ["dataset", "method", *swept, "split", "parameter", "value"]
        pd.DataFrame(chosen, columns=columns).to_csv(folder / "chosen.csv", index=False)
    return compare_against(open_results(folder), metric)


def p_of(first: np.ndarray, second: np.ndarray, n_compared: int) -> float:
    """The p-value by hand; the smallest of so many, so that Holm's correction multiplies it."""
    return float(statistics.corrected_t_two_sided(first - second, 0.25)) * n_compared


def test_the_best_of_those_that_are_shown_to_be_better_is_named_with_its_gain_and_its_dimension(tmp_path: Path) -> None:
    better, same = add(0.0132, spread=0.005), add(0.0002, 1)
    values = {("d", "B", "micro_f1"): same, ("d", "A", "micro_f1"): BASE, ("d", "C", "micro_f1"): better}
    sizes = ["20%"] * 7 + ["10%"] * 3
    chosen = [("d", "C", split, PATH, size) for split, size in enumerate(sizes)]
    chosen += [("d", "C", split, "learner.alpha", "1") for split in range(10)]
    found = compared(tmp_path, values, chosen=chosen)
    p = p_of(better, BASE, 2)
    assert 0.0001 <= p < 0.01
    (sentence,) = found.sentences()
    assert sentence == f"d: C (M = 20% most often) is better than A in micro F1 by 0.0132 (p = {p:.4f})."
    rows = [[cell.plain for cell in row] for row in found.sheet.whole_rows]
    assert [row[:4] for row in rows] == [["d", "C", "20% (7), 10% (3)", "+0.0132"], ["d", "B", "–", "+0.0002"]]
    assert [row[-1].bold for row in found.sheet.rows] == [True, False]
    assert found.pairs["p"].tolist() == pytest.approx([p / 2, p_of(same, BASE, 1)])


def test_all_that_are_shown_to_be_better_are_named(tmp_path: Path) -> None:
    values = {("d", "A", "f1"): BASE}
    values |= {("d", name, "f1"): add(0.01 + 0.001 * k, k) for k, name in enumerate("BCD")}
    (sentence,) = compared(tmp_path, values).sentences()
    assert sentence.startswith("d: D is better than A in F1 by 0.0120 (p"), sentence
    assert sentence.endswith("), and so are C and B.")


@pytest.mark.parametrize(
    ("lead", "told"), [(0.0012, "0.0012 ahead of it"), (-0.0012, "0.0012 behind it"), (0.0, "level with it")]
)
def test_where_none_is_shown_to_be_better_the_best_is_named_all_the_same(
    tmp_path: Path, lead: float, told: str
) -> None:
    best = add(lead, spread=0.02)
    values = {("d", "A", "f1"): BASE, ("d", "B", "f1"): add(-0.05, 1), ("d", "C", "f1"): best}
    found = compared(tmp_path, values)
    p = found.pairs["p"].max()  # after the smaller one, Holm leaves the largest as it is
    assert p == pytest.approx(p_of(best, BASE, 1))
    (sentence,) = found.sentences()
    none = "d: no method is shown to be better than A in F1; the best of the others, C,"
    assert sentence == f"{none} is {told} (p = {p:.3f})."
    assert found.pairs["p_holm"].iloc[-1] <= 0.05, "a method that is worse is no method that is better"


def test_where_even_the_best_is_shown_to_be_worse_the_sentence_says_so(tmp_path: Path) -> None:
    (sentence,) = compared(tmp_path, {("d", "A", "f1"): BASE, ("d", "B", "f1"): add(-0.02)}).sentences()
    none = "d: no method is shown to be better than A in F1; the best of the others, B,"
    assert sentence.startswith(f"{none} is worse by 0.0200 (p")


def test_of_a_loss_the_lower_is_better(tmp_path: Path) -> None:
    values = {("d", "A", "hamming_loss"): BASE, ("d", "B", "hamming_loss"): add(-0.02)}
    found = compared(tmp_path, values)
    p = p_of(values["d", "B", "hamming_loss"], BASE, 1)
    shown = "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
    assert [*found.sentences()] == [f"d: B is better than A in Hamming loss by 0.0200 ({shown})."]
    assert "lower is better" in found.sheet.caption.plain


def test_a_single_split_has_no_test(tmp_path: Path) -> None:
    values = {("d", "A", "f1"): [0.5], ("d", "B", "f1"): [0.6], ("d", "C", "f1"): [0.55]}
    found = compared(tmp_path, values)
    lead = "d: the best of the others, B, is 0.1000 ahead of A in F1"
    assert [*found.sentences()] == [f"{lead}; no test, which takes two splits or more."]
    assert all(row[-1].plain == "–" for row in found.sheet.rows)


def test_results_that_differ_by_the_same_on_every_split_have_no_test(tmp_path: Path) -> None:
    (sentence,) = compared(tmp_path, {("d", "A", "f1"): [0.5] * 10, ("d", "B", "f1"): [0.5] * 10}).sentences()
    assert sentence.startswith("d: the best of the others, B, is level with A in F1; no test, as the two differ by")


def test_each_data_set_is_a_question_of_its_own(tmp_path: Path) -> None:
    values = {}
    for dataset, lead in (("d", 0.01), ("e", 0.0), ("f", 0.01)):
        values |= {(dataset, "A", "f1"): BASE, (dataset, "B", "f1"): add(lead)}
    del values["f", "A", "f1"]
    found = compared(tmp_path, values)
    assert found.pairs["p_holm"].tolist() == pytest.approx(found.pairs["p"].tolist())
    beginnings = ["d: B is better", "e: no method is shown", "f: nothing to compare, as A or all other"]
    for sentence, beginning in zip(found.sentences(), beginnings, strict=True):
        assert sentence.startswith(beginning)


def test_the_first_metric_of_known_direction_is_compared_or_the_one_that_is_asked_for(tmp_path: Path) -> None:
    values = {}
    for metric, lead in (("n_dimensions", 5.0), ("f1", 0.01), ("micro_f1", -0.01)):
        values |= {("d", "A", metric): BASE, ("d", "B", metric): add(lead)}
    found = compared(tmp_path, values)
    assert (found.facts.title, found.pairs["better_by"].item()) == ("F1", pytest.approx(0.01))
    asked = compare_against(open_results(tmp_path), "micro_f1")
    assert (asked.facts.title, asked.pairs["better_by"].item()) == ("micro F1", pytest.approx(-0.01))
    assert compare_against(open_results(tmp_path), "n_dimensions") is None


def test_a_point_of_the_sweep_is_compared_with_the_same_point_or_with_a_method_without_it(tmp_path: Path) -> None:
    values: dict[Any, Any] = {}
    for point, lead in (("20%", 0.01), ("40%", 0.02)):
        values["d", "A", point, "f1"] = BASE
        values["d", "B", point, "f1"] = add(lead)
    found = compared(tmp_path / "same", values, swept=(PATH,))
    assert found.pairs[[PATH, "better_by"]].round(6).values.tolist() == [["40%", 0.02], ["20%", 0.01]]
    values = {key: scores for key, scores in values.items() if key[1] == "B"} | {("d", "A", "", "f1"): BASE}
    chosen = [("d", "B", point, 0, "feature_space.n_features", size) for point, size in (("20%", "5"), ("40%", "7"))]
    found = compared(tmp_path / "fixed", values, swept=(PATH,), chosen=chosen)
    p = found.pairs["p"].min()
    (sentence,) = found.sentences()
    assert sentence.startswith("d: B at n_components = 40% (M = 7) is better than A in F1 by 0.0200 (p")
    assert found.pairs["p_holm"].min() == pytest.approx(2 * p), "over the two points"


def test_several_dimensions_of_a_method_have_their_names(tmp_path: Path) -> None:
    values = {("d", "A", "f1"): BASE, ("d", "B", "f1"): add(0.01)}
    sizes = [("dual_space.n_features", "30%"), ("dual_space.n_labels", "60%")]
    found = compared(tmp_path, values, chosen=[("d", "B", 0, *size) for size in sizes])
    (sentence,) = found.sentences()
    assert sentence.startswith("d: B (n_features = 30%, n_labels = 60%) is better")
    assert found.sheet.rows[0][2].plain == "n_features: 30% (1); n_labels: 60% (1)"


@pytest.mark.parametrize("against", [None, "a method that is not there"])
def test_an_experiment_that_names_no_method_is_not_compared(tmp_path: Path, against: str | None) -> None:
    values = {("d", "A", "f1"): BASE, ("d", "B", "f1"): add(0.01)}
    assert compared(tmp_path, values, against=against) is None
