import pandas as pd
import pytest

from mlcdr.errors import ResultsError
from mlcdr.results.results import open_results
from tests.results_folders import PATH, PERCENTS, cell_of, experiment, write_folder


def small(tmp_path, **values):
    cells = {("yeast", "PLST", "20%", "hamming_loss"): [0.2, 0.3, 0.4], ("yeast", "BR", "", "hamming_loss"): [0.5]}
    config = experiment(["yeast"], ["PLST", "BR", "Failed"], ["hamming_loss"], {PATH: ["40%", "20%"]})
    return write_folder(tmp_path / "trial", config, cells | values, [PATH])


def test_points_come_in_the_order_of_the_config(tmp_path):
    values = {("yeast", "PLST", p, "hamming_loss"): [0.1, 0.2] for p in reversed(PERCENTS)}
    config = experiment(["yeast"], ["PLST"], ["hamming_loss"], {PATH: PERCENTS})
    got = open_results(write_folder(tmp_path / "trial", config, values, [PATH]))
    assert got.values(PATH) == PERCENTS
    assert got.points == tuple((p,) for p in PERCENTS)


def test_data_sets_come_in_the_order_of_the_config_whatever_their_case(tmp_path):
    values = {(d, "PLST", "hamming_loss"): [0.1, 0.2] for d in ("emotions", "yeast", "mine")}
    config = experiment(
        ["Yeast", "data/mine.arff", {"emotions": {"missing": "mean"}}, "scene"], ["PLST"], ["hamming_loss"]
    )
    got = open_results(write_folder(tmp_path / "trial", config, values))
    assert got.datasets == ("yeast", "mine", "emotions", "scene")


def test_an_undefined_mean_is_no_cell(tmp_path):
    folder = small(tmp_path)
    table = pd.read_csv(folder / "summary.csv", keep_default_na=False, dtype=str)
    table.loc[0, ["mean", "std", "se", "n"]] = ["", "", "", "0"]
    table.to_csv(folder / "summary.csv", index=False)
    assert cell_of(open_results(folder), "yeast", "PLST", "hamming_loss", {PATH: "20%"})["n"] == 0


HEADER = f"dataset,method,{PATH},metric,mean,std,se,n"
ROW = "yeast,PLST,20%,hamming_loss,0.2,0.1,0.01,100"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "summary.csv:1: empty; a header was expected"),
        (HEADER + "\n", "summary.csv: holds no results, only a header"),
        ("dataset,method,mean\n", "summary.csv:1: the columns are dataset,method,mean; they should be "),
        (f"{HEADER}\n{ROW}\nyeast,PLST,40%\n", "summary.csv:3: 3 values where the header has 8 columns"),
        (f"{HEADER}\nyeast,\udcff,20%,hamming_loss,1,1,1,1\n", "summary.csv:2: not UTF-8 text"),
        (f'{HEADER}\n"{ROW}\n', "summary.csv:2: not a CSV file: unexpected end of data"),
        (f"{HEADER}\n{ROW}\n{ROW}\n", "summary.csv:3: a second row for one number"),
        (f"{HEADER}\n{ROW.replace('0.2', 'many')}\n", "summary.csv:2: column mean: 'many' is not a number"),
        (f"{HEADER}\n{ROW.replace('100', '2.5')}\n", "summary.csv:2: column n: a mean needs the number of splits"),
    ],
)
def test_a_broken_summary_is_named(tmp_path, content, message):
    folder = small(tmp_path)
    (folder / "summary.csv").write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ResultsError) as error:
        open_results(folder)
    assert str(error.value).startswith(str(folder / message)), str(error.value)
    assert "\n" not in str(error.value)


def test_missing_folder_and_files_are_named(tmp_path):
    with pytest.raises(ResultsError, match="nowhere: no such results folder"):
        open_results(tmp_path / "nowhere")
    for name in ("experiment.yaml", "summary.csv"):
        folder = small(tmp_path)
        (folder / name).unlink()
        with pytest.raises(ResultsError, match=f"{name}: missing"):
            open_results(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: a\nmethods: [PLST]\n", ":2: methods: must be a mapping"),
        ("[a, b]\n", ""),
        ("name: [a\n", ""),
        ("name: a\nname: b\n", ""),
    ],
)
def test_a_broken_experiment_file_is_named(tmp_path, content, message):
    folder = small(tmp_path)
    (folder / "experiment.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(ResultsError, match=rf"experiment\.yaml{message}"):
        open_results(folder)
