"""Metrics of each label by itself, from the config to labels.csv, figures, the report and the comparison; keep_top."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, f1_score

from mlcdr.comparison.by_label import tabulate_parts, tabulate_wins
from mlcdr.data.dataset import load_dataset
from mlcdr.errors import ConfigError, ResultsError
from mlcdr.execution.runner import RunReport, run
from mlcdr.experiment.loading import experiment_from
from mlcdr.report import report as page
from mlcdr.results.labels import read_label_scores
from mlcdr.tables import figures, frequency_figures, styles
from mlcdr.tables.canvas import Drawing
from mlcdr.tables.sheet import DASH
from tests import small
from tests.small import FOUR

METHODS = {"PLST": FOUR["PLST"], "Guess": {"learner": "tests.small.Guess"}}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    folder = tmp_path_factory.mktemp("by_label")
    config = small.plain(
        small.write_dataset(folder / "data"),
        by_label=["f1", "average_precision"],
        keep={"scores": True},
        methods=METHODS,
        metrics=["macro_f1", "macro_average_precision"],
    )
    return run(experiment_from(config), folder / "out")


def test_labels_csv_has_what_scikit_learn_finds_of_each_label(done: RunReport) -> None:
    assert not done.failures
    found = pd.read_csv(done.folder / "labels.csv", dtype={small.SIZES: str}, keep_default_na=False)
    assert list(found.columns[-5:]) == ["split", "label", "metric", "value", "frequency"]
    dataset = load_dataset(done.folder.parent.parent / "data" / "tiny.arff")
    shares = dict(zip(dataset.label_names, np.asarray(dataset.Y.mean(axis=0)).ravel(), strict=True))
    assert found["frequency"].tolist() == pytest.approx([shares[label] for label in found["label"]])
    index = pd.read_csv(done.folder / "kept" / "index.csv", dtype={small.SIZES: str}, keep_default_na=False)
    checked = set()
    for _, line in index.iterrows():
        arrays = np.load(done.folder / "kept" / line["scores"])
        here = found[(found["method"] == line["method"]) & (found["split"] == line["split"])]
        here = here[here[small.SIZES] == line[small.SIZES]]
        for k, label in enumerate(dataset.label_names):
            own = here[here["label"] == label].set_index("metric")["value"]
            y, p = arrays["truth"][:, k], arrays["labels"][:, k]
            assert own["f1"] == pytest.approx(f1_score(y, p, zero_division=0), abs=1e-11)
            if "scores" in arrays and y.any():
                expected = average_precision_score(y, arrays["scores"][:, k])
                assert own["average_precision"] == pytest.approx(expected, abs=1e-11)
                checked.add(line["method"])
            else:
                assert "average_precision" not in own
    assert checked == {"PLST"}, "a method without scores has none"


def test_a_second_run_computes_nothing_and_writes_the_same(done: RunReport) -> None:
    before = (done.folder / "labels.csv").read_bytes()
    from mlcdr.experiment.loading import load_experiment

    again = run(load_experiment(done.folder / "experiment.yaml"), done.folder.parent)
    assert again.computed == 0
    assert (done.folder / "labels.csv").read_bytes() == before


def test_files_that_the_config_no_longer_asks_for_are_removed(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    report = run(small.experiment(arff, by_label=["f1"], methods=METHODS), tmp_path)
    (report.folder / "chosen.csv").write_text("of methods that were tuned then")
    assert (report.folder / "labels.csv").exists()
    run(small.experiment(arff, methods=METHODS), tmp_path)
    assert not {"labels.csv", "chosen.csv"} & {each.name for each in report.folder.iterdir()}


def test_winners_and_thirds_as_counted_by_hand(tmp_path: Path) -> None:
    frequencies = {"b": 0.4, "a": 0.5, "c": 0.2, "e": 0.1}
    values = {"A": {"a": 0.9, "b": 0.5, "c": 0.3}, "B": {"a": 0.8, "b": 0.5, "c": 0.7, "e": 0.1}}
    lines = ["dataset,method,split,label,metric,value,frequency"]
    for metric in ("f1", "log_loss"):
        for method, found in values.items():
            for label, value in found.items():
                # in two splits, of which the mean is taken
                lines += [f"d,{method},0,{label},{metric},{value + 0.1},{frequencies[label]}"]
                lines += [f"d,{method},1,{label},{metric},{value - 0.1},{frequencies[label]}"]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    read = read_label_scores(tmp_path)
    assert read is not None
    of_b = read[(read["method"] == "B") & (read["metric"] == "f1")]
    assert of_b["label"].to_list() == ["a", "b", "c", "e"], "the most frequent first"
    assert of_b["part"].to_list() == ["head", "head", "middle", "tail"]
    assert of_b["value"].to_list() == pytest.approx([0.8, 0.5, 0.7, 0.1])
    wins = tabulate_wins(read, "d", "f1")  # b is a tie, e has one method only
    assert [[cell.plain for cell in row] for row in wins.rows] == [
        ["A", "1", "1", "0", "0", "a"],
        ["B", "1", "0", "1", "0", "c"],
    ]
    assert "2 of 4 labels have a single winner." in wins.notes[0]
    assert [row[-1].plain for row in tabulate_wins(read, "d", "log_loss").rows] == ["c", "a"], "less is better"
    parts = tabulate_parts(read, "d")
    assert [cell.plain for cell in parts.rows[0][:4]] == ["A", "0.7000", "0.3000", DASH]


def test_a_method_has_one_colour_in_all_figures(tmp_path: Path) -> None:
    rows = ["d,_C,0,a,f1,0.3,0.5", "d,A,0,a,f1,0.5,0.5", "d,B,0,a,f1,0.4,0.5", "d,B,0,a,average_precision,0.4,0.5"]
    (tmp_path / "labels.csv").write_text("\n".join(["dataset,method,split,label,metric,value,frequency", *rows]))
    results: Any = SimpleNamespace(name="mine", methods=("failed", "A", "B"), swept=())
    of_labels = read_label_scores(tmp_path)
    assert of_labels is not None
    figures_of = [drawn.figure for drawn in frequency_figures.draw_all(results, of_labels)]
    of_f1, without_a = (figure.axes[0] for figure in figures_of)
    shown = {line.get_label(): line.get_color() for line in of_f1.lines[1::2]}
    config = {"A": styles.colour(1), "B": styles.colour(2)}
    assert shown == {"_C": styles.colour(3), **config}, "that of the config, as in other figures"
    assert [text.get_text() for text in figures_of[0].legends[0].get_texts()] == list(shown)
    assert without_a.lines[1].get_color() == shown["B"]


@pytest.mark.parametrize("rarest", [0.0141, 0.0002])
def test_shares_at_the_axis_do_not_run_into_each_other(rarest: float) -> None:
    labels = pd.DataFrame({"dataset": "d", "method": "A", "metric": "f1", "label": ["a", "b"], "value": 0.5})
    results: Any = SimpleNamespace(name="mine", methods=("A",), swept=())
    (drawn,) = frequency_figures.draw_all(results, labels.assign(frequency=[rarest, 0.75]))
    figure = drawn.figure
    figure.draw_without_rendering()
    shown = [each for each in figure.axes[0].get_xticklabels(which="both") if each.get_text()]
    boxes = sorted((each.get_window_extent().x0, each.get_window_extent().x1) for each in shown)
    assert len(boxes) > 3
    assert all(left[1] < right[0] for left, right in pairwise(boxes))


def test_commands_and_report_show_the_labels(  # type: ignore[no-untyped-def]
    done: RunReport, mlcdr, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = mlcdr("compare", "--by-label", str(done.folder), "--metric", "f1")
    assert shown.code == 0
    assert "tiny: f1 by label" in shown.out
    assert mlcdr("compare", "--by-label", str(done.folder), "--metric", "auc").code == 2
    monkeypatch.setattr(figures, "write_all", lambda *_: [])  # which take seconds
    monkeypatch.setattr(Drawing, "write", lambda self, stem: [stem, len(self.figure.axes[0].lines)])
    drawn = mlcdr("plot", str(done.folder)).out.split()
    assert [Path(each).name for each in drawn[::2]] == ["labels_tiny_f1", "labels_tiny_average_precision"]
    assert drawn[1::2] == ["6", "4"], "points and a line of PLST at two sizes and, with label sets alone, of Guess"
    assert "Labels of tiny by frequency" in page.make_page(done.folder)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("d,A,x,a,f1,0.5,0.5", "column split: 'x' is not the number of a split"),
        ("d,A,0,a,f1,x,0.5", "column value: 'x' is not a number"),
        ("d,A,0,a,f1,inf,0.5", "column value: 'inf' is not a number"),
        ("d,A,0,a,os.system,0.5,0.5", "is no metric of single labels"),
        ("d,A,0,a,f1,0.5,7", "column frequency: '7' is no share"),
    ],
)
def test_a_broken_file_is_refused_in_a_line(row: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(f"dataset,method,split,label,metric,value,frequency\n{row}\n")
    with pytest.raises(ResultsError, match=r"labels\.csv:2: ") as caught:
        read_label_scores(tmp_path)
    assert told in str(caught.value)
    assert read_label_scores(tmp_path / "none") is None


def test_with_keep_top_only_the_highest_scores_are_kept(tmp_path: Path) -> None:
    arff = small.write_dataset(tmp_path / "data")
    plain = small.plain(arff, metrics=["p@1", "p@3", "coverage"], keep={"scores": True}, sweep={})
    plain["methods"] = {"PLST": FOUR["PLST"]}
    whole = run(experiment_from({**plain, "name": "whole"}), tmp_path / "out")
    few = run(experiment_from({**plain, "name": "few", "keep_top": 3}), tmp_path / "out")
    values = [pd.read_csv(each.folder / "scores.csv").set_index(["split", "metric"])["value"] for each in (whole, few)]
    assert "coverage" not in values[1].index.get_level_values("metric")
    assert values[0].drop("coverage", level="metric").equals(values[1])
    path = next((few.folder / "kept").rglob("*.npz"))
    arrays = np.load(path)
    assert arrays["scores"].shape == arrays["score_labels"].shape == (15, 3)
    assert (np.diff(arrays["scores"], axis=1) <= 0).all()
    with pytest.raises(ConfigError, match="did you mean 'f1'"):
        experiment_from({**plain, "by_label": ["f11"]})
