"""Tables of data sets, counted on the data: the embedded one always, Mulan's others where they are at hand."""

import pytest

from mlcdr.errors import ResultsError
from mlcdr.reporting import data_sets
from tests import small
from tests.reporting.snapshots import check

TABLE1 = "pacharawongsakda_2012/table1"
SEVEN = ["bibtex", "corel5k", "enron", "medical", "emotions", "scene", "yeast"]


def test_table1_of_the_embedded_data_set():
    table = data_sets.render(["yeast"], TABLE1)
    shown = {"md": table.markdown(), "tex": table.latex(), "csv": table.csv(), "txt": table.terminal(100)}
    for ending, text in shown.items():
        check(f"data_sets.{ending}", text)


def test_kinds_of_features_are_marked(tmp_path):
    arff = small.write_dataset(tmp_path / "one", "mixed")
    text = arff.read_text().replace("@attribute x1 numeric", "@attribute x1 {0,1}")
    rows = [line.split(",") for line in text.split("@data\n")[1].split()]
    lines = [",".join([row[0], str(i % 2), *row[2:]]) for i, row in enumerate(rows)]
    arff.write_text(text.split("@data\n")[0] + "@data\n" + "\n".join(lines) + "\n")
    (row,) = data_sets.render([str(arff)], TABLE1).sheet.rows
    assert [cell.plain for cell in row[:5]] == ["mixed†‡", "–", "60", "1", "4"]


def test_table1_beside_the_data(real_dataset):
    for name in SEVEN:
        real_dataset(name)
    compared = data_sets.compare([], TABLE1)
    differing = [
        (r.published.dataset, r.published.metric, r.published.mean) for r in compared.rows if r.verdict != "agrees"
    ]
    # emotions has 1108 labels in 593 rows, 1.86846…: what is printed is no rounding of it
    assert differing == [("emotions", "label_cardinality", "1.869")]
    assert data_sets.facts("emotions")["cardinality"] == 1108 / 593
    assert len(compared.rows) == 42
    assert "41 of 42 facts agree, rounded as printed." in compared.terminal(100)


def test_numbers_of_labels_beside_the_data(real_dataset):
    """Table 2 of Chen & Lin 2012: eight data sets, and nothing but K."""
    eight = [*SEVEN, "genbase"]
    for name in eight:
        real_dataset(name)
    compared = data_sets.compare([], "chen_lin_2012/table2")
    assert compared.count("agrees") == len(compared.rows) == 8
    shown = data_sets.render(eight, "chen_lin_2012/table2").csv().split()
    assert shown[0] == "name,n_labels"
    assert {"corel5k,374", "genbase,27", "yeast,14"} <= set(shown)


def test_one_data_set_of_a_published_table():
    compared = data_sets.compare(["yeast"], TABLE1)
    assert (compared.count("agrees"), compared.count("not run")) == (6, 36)
    shown = compared.terminal(100)
    assert ["label_cardinality", "4.237", "4.237", "agrees"] in [line.split() for line in shown.splitlines()]
    assert "bibtex" not in shown
    assert "Left out: 36 facts of other data sets." in shown


def test_what_a_published_table_gets_wrong_or_mlcdr_does_not_count():
    compared = data_sets.compare(["yeast"], "sun_2017_thesis/table2_1")
    verdicts = {row.published.metric: row.verdict for row in compared.rows if row.published.dataset == "yeast"}
    assert verdicts["n_distinct_labelsets"] == verdicts["label_density"] == verdicts["n_features"] == "agrees"


def test_what_is_not_there_is_told():
    with pytest.raises(
        ResultsError, match="no published table of data sets 'pacharawongsakda_2012/table2'; did you mean"
    ):
        data_sets.compare([], "pacharawongsakda_2012/table2")
    with pytest.raises(ResultsError, match="has none of birds"):
        data_sets.compare(["birds"], TABLE1)


def test_a_layout_that_asks_for_an_unknown_fact(tmp_path):
    (tmp_path / "mine.yaml").write_text("kind: datasets\ncolumns: [{fact: name}, {fact: densty}]\n")
    with pytest.raises(ResultsError, match=r"columns: no fact 'densty' \(known: name, domain, n_instances"):
        data_sets.render(["yeast"], str(tmp_path / "mine.yaml"))
