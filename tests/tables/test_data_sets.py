"""Tables of data sets, counted on the data: the embedded one always, Mulan's others where they are at hand."""

import numpy as np
import pytest

from mlcdr.errors import DataError, ResultsError
from mlcdr.papers import data_sets
from mlcdr.papers.printed import n_places
from tests import small
from tests.snapshots import check

TABLE1 = "pacharawongsakda_2012/table1"
SEVEN = ["bibtex", "corel5k", "enron", "medical", "emotions", "scene", "yeast"]


def test_table1_of_the_embedded_data_set():
    table = data_sets.tabulate_facts(["yeast"], TABLE1)
    shown = {"md": table.markdown(), "tex": table.latex(), "csv": table.csv(), "txt": table.terminal(100)}
    for ending, text in shown.items():
        check(f"data_sets.{ending}", text)


def test_kinds_of_features_are_marked(tmp_path):
    arff = small.write_dataset(tmp_path / "one", "mixed")
    text = arff.read_text().replace("@attribute x1 numeric", "@attribute x1 {0,1}")
    rows = [line.split(",") for line in text.split("@data\n")[1].split()]
    lines = [",".join([row[0], str(i % 2), *row[2:]]) for i, row in enumerate(rows)]
    arff.write_text(text.split("@data\n")[0] + "@data\n" + "\n".join(lines) + "\n")
    (row,) = data_sets.tabulate_facts([str(arff)], TABLE1).sheet.rows
    assert [cell.plain for cell in row[:5]] == ["mixed†‡", "–", "60", "1", "4"]


def test_table1_beside_the_data(real_dataset):
    for name in SEVEN:
        real_dataset(name)
    compared = data_sets.check_facts([], TABLE1)
    differing = compared.cells[compared.cells["verdict"] != "agrees"]
    # emotions has 1108 labels in 593 rows, 1.86846…: what is printed is no rounding of it
    columns = ["dataset", "metric", "published"]
    assert differing[columns].values.tolist() == [["emotions", "label_cardinality", "1.869"]]
    assert data_sets.facts("emotions")["cardinality"] == 1108 / 593
    assert len(compared.cells) == 42
    assert "41 of 42 facts agree, rounded as printed." in compared.terminal(100)


def test_numbers_of_labels_beside_the_data(real_dataset):
    """Table 2 of Chen & Lin 2012: eight data sets, and nothing but K."""
    eight = [*SEVEN, "genbase"]
    for name in eight:
        real_dataset(name)
    compared = data_sets.check_facts([], "chen_lin_2012/table2")
    assert compared.count("agrees") == len(compared.cells) == 8
    shown = data_sets.tabulate_facts(eight, "chen_lin_2012/table2").csv().split()
    assert shown[0] == "name,n_labels"
    assert {"corel5k,374", "genbase,27", "yeast,14"} <= set(shown)


def test_one_data_set_of_a_published_table():
    compared = data_sets.check_facts(["yeast"], TABLE1)
    assert (compared.count("agrees"), compared.count("not run")) == (6, 36)
    shown = compared.terminal(100)
    assert ["label_cardinality", "4.237", "4.237", "agrees"] in [line.split() for line in shown.splitlines()]
    assert "bibtex" not in shown
    assert "Left out: 36 facts of other data sets." in shown


def test_table_2_1_of_the_thesis_beside_the_data(real_dataset):
    """Every fact of the data sets at hand is what the data say, or listed as a misprint; a misprint is none of ours."""
    table = "sun_2017_thesis/table2_1"
    for name in ("emotions", "languagelog", "bibtex", "tmc2007-500"):
        real_dataset(name)
    compared = data_sets.check_facts([], table)
    assert compared.count("differs") == 0
    assert compared.count("agrees") + compared.count("not reproducible") == 6 * len(compared.datasets)
    assert "tmc2007-500" in compared.datasets
    misprinted = compared.cells[compared.cells["verdict"] == "not reproducible"]
    which = set(misprinted[["dataset", "metric"]].itertuples(index=False, name=None))
    assert {("emotions", "label_cardinality"), ("bibtex", "n_distinct_labelsets")} <= which
    for cell in misprinted.itertuples():
        assert f"{cell.ours:.{n_places(cell.published)}f}" != cell.published, cell
    shown = compared.terminal(100)
    assert "Not judged:" in shown
    assert "1,108 labels in 593 instances are 1.868 per instance" in " ".join(shown.split())
    rendered = data_sets.tabulate_facts(["yeast"], table)
    assert rendered.csv().split()[1] == "yeast,14,103,2417,4.237070748862226,0.3026479106330161,198,biology"


def test_printed_label_sets_are_as_many_as_doubles_tell_apart(real_dataset):
    """The reason that the misprints are listed with: bibtex prints 1654 of 2856."""
    Y = real_dataset("bibtex").Y.toarray().astype(float)
    assert len(set(Y @ 2.0 ** np.arange(Y.shape[1]))) == pytest.approx(1654, abs=5)


def test_data_sets_that_are_not_at_hand_are_left_out(monkeypatch):
    def only_yeast(name):
        if name != "yeast":
            raise DataError(f"{name}: not found")
        return {"name": name, "n_labels": 14}

    monkeypatch.setattr(data_sets, "facts", only_yeast)
    compared = data_sets.check_facts([], TABLE1)
    assert compared.datasets == ("yeast",)
    assert "emotions" in compared.absent
    assert "Not at hand: bibtex, " in compared.terminal(200)
    with pytest.raises(DataError, match="emotions: not found"):
        data_sets.check_facts(["emotions"], TABLE1)


def test_what_a_published_table_gets_wrong_or_mlcdr_does_not_count():
    compared = data_sets.check_facts(["yeast"], "sun_2017_thesis/table2_1")
    cells = compared.cells[compared.cells["dataset"] == "yeast"]
    verdicts = dict(zip(cells["metric"], cells["verdict"], strict=True))
    assert verdicts["n_distinct_labelsets"] == verdicts["label_density"] == verdicts["n_features"] == "agrees"


def test_what_is_not_there_is_told():
    with pytest.raises(
        ResultsError, match="no published table of data sets 'pacharawongsakda_2012/table2'; did you mean"
    ):
        data_sets.check_facts([], "pacharawongsakda_2012/table2")
    with pytest.raises(ResultsError, match="has none of birds"):
        data_sets.check_facts(["birds"], TABLE1)


def test_a_layout_that_asks_for_an_unknown_fact(tmp_path):
    (tmp_path / "mine.yaml").write_text("kind: datasets\ncolumns: [{fact: name}, {fact: densty}]\n")
    with pytest.raises(ResultsError, match=r"columns: no fact 'densty' \(known: name, domain, n_instances"):
        data_sets.tabulate_facts(["yeast"], str(tmp_path / "mine.yaml"))
