from pathlib import Path

import pytest
import yaml

from mlcdr.errors import ResultsError
from mlcdr.experiment.model import Experiment
from mlcdr.tables import layouts
from mlcdr.tables.layouts import DatasetsLayout, FigureLayout, TableLayout
from tests.results_folders import entry_of

FOLDER = Path(layouts.__file__).parent / "layouts"
TABLE = "kind: table\ncolumns: auto\n"


def test_every_packaged_layout_is_valid():
    known = layouts.names()
    assert {"chen_lin_2012/figure1", "chen_lin_2012/table3", "generic", "curves", "datasets"} <= set(known)
    models = {"table": TableLayout, "figure": FigureLayout, "datasets": DatasetsLayout}
    for name in known:
        kind = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))["kind"]
        assert layouts.load(models[kind], entry_of(name)).kind == kind


def test_the_entry_takes_precedence_over_the_file():
    layout = layouts.load(TableLayout, entry_of({"layout": "generic", "metric": "f1", "digits": 2, "bold": "none"}))
    assert (layout.metric, layout.digits, layout.bold) == ("f1", 2, "none")


def test_a_layout_file_is_found(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text(TABLE + "digits: 3\n")
    assert layouts.load(TableLayout, entry_of({"layout": str(tmp_path / "mine.yaml")})).digits == 3
    for absent in ("mine.yaml", f"{'x' * 300}.yaml"):
        with pytest.raises(ResultsError, match=f"no layout file {absent}"):
            layouts.load(TableLayout, entry_of({"layout": absent}))
    monkeypatch.chdir(tmp_path)
    assert layouts.load(TableLayout, entry_of({"layout": "mine.yaml"})).digits == 3


def test_a_results_folder_holds_the_layouts_that_it_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(TABLE + "metric: f1\ndigits: 3\n")
    entries = [{"layout": "mine.yaml", "metric": "accuracy", "digits": 2}, "generic"]
    written = layouts.write_out(Experiment.model_construct(tables=tuple(map(entry_of, entries)), figures=()))
    Path("mine.yaml").unlink()
    mine, generic = written.tables
    assert generic == entry_of("generic")
    layout = layouts.load(TableLayout, mine)
    assert (mine.layout, mine.metric, layout.metric, layout.digits) == ("mine", "accuracy", "accuracy", 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE + "digit: 3\n", "{file}:3: digit: unknown key; did you mean 'digits'? (known: "),
        (TABLE + "headers:\n  datset: D\n", "{file}:4: headers.datset: unknown key; did you mean 'dataset'?"),
        (TABLE + "digits: many\n", "{file}:3: digits: must be a whole number, found the text 'many'"),
        (TABLE + "bold: [italic]\n", "{file}:3: bold: must be one of one_standard_error, best, none, found a list"),
        (TABLE + "digits: 3\ndigits: 4\n", "{file}:4: "),
        ("kind: table\n", "{file}:1: columns: this key is missing"),
        ("kind: figure\ncolumns: auto\n", "{file}:1: kind: is 'figure'; a table was asked for"),
        (
            TABLE + "relative_to: BR\n",
            "{file}:1: relative_to: the spread of a ratio is not known; write `spread: none`",
        ),
        ("columns: auto\n", "{file}:1: kind: is None; a table was asked for"),
        ("- a\n", "{file}: holds no layout"),
        ("kind: [table\n", "{file}:"),
    ],
)
def test_a_wrong_layout_is_named_with_file_line_and_key(tmp_path, content, message):
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(ResultsError) as error:
        layouts.load(TableLayout, entry_of({"layout": str(path)}))
    assert str(error.value).startswith(message.format(file=path)), str(error.value)


def test_all_problems_of_a_layout_are_told_at_once(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(TABLE + "digits: -1\nspread: sd\ncolour: red\n")
    with pytest.raises(ResultsError) as error:
        layouts.load(TableLayout, entry_of({"layout": str(path)}))
    assert [line.split(": ")[1] for line in str(error.value).splitlines()] == ["spread", "digits", "colour"]


def test_unknown_names_are_told_with_the_nearest():
    with pytest.raises(
        ResultsError, match=r"unknown layout 'chen_lin_2012/tabel3'; did you mean 'chen_lin_2012/table3'"
    ):
        layouts.load(TableLayout, entry_of({"layout": "chen_lin_2012/tabel3"}))
    with pytest.raises(
        ResultsError, match="the experiment's entry with layout generic: digts: unknown key; did you mean"
    ):
        layouts.load(TableLayout, entry_of({"layout": "generic", "digts": 3}))
    with pytest.raises(ResultsError, match="'table'; a figure was asked for"):
        layouts.load(FigureLayout, entry_of({"layout": "generic"}))


def test_only_layouts_of_the_kind_that_is_wanted_are_proposed():
    with pytest.raises(ResultsError, match="unknown layout 'curvez'") as error:
        layouts.load(TableLayout, entry_of({"layout": "curvez"}))
    assert "generic" in str(error.value)
    assert "curves" not in str(error.value)
    with pytest.raises(ResultsError, match="did you mean 'curves'") as error:
        layouts.load(FigureLayout, entry_of({"layout": "curvez"}))
    assert "generic" not in str(error.value)
