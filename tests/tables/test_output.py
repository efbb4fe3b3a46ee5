import pytest

from mlcdr.errors import ResultsError
from mlcdr.tables import layouts
from mlcdr.whole_files import write_forms
from tests.results_folders import entry_of


def test_stems_are_unique():
    c = [{"layout": "c", "metric": metric} for metric in ("x", "y", "f1(of=a/b)")]
    asked = [entry_of(each) for each in ("a/b", *c[:2], "d/e.yaml")]
    assert layouts.stems(asked) == ["a_b", "c_x", "c_y", "e"]
    assert layouts.stems([entry_of(c[2])] * 2) == ["c_f1_of_a_b__1", "c_f1_of_a_b__2"]
    assert layouts.stems([entry_of({"layout": name}) for name in ("e", "e", "e_1.yaml")]) == ["e_2", "e_3", "e_1"]


def test_a_file_is_replaced_whole_or_left_alone(tmp_path, monkeypatch):
    folder = tmp_path / "tables"
    paths = write_forms(folder / "a.b", {"md": b"old", "csv": b"1"})
    assert paths == [folder / "a.b.md", folder / "a.b.csv"]
    assert write_forms(folder / "a.b", {"md": b"new"}) == paths[:1]
    assert paths[0].read_bytes() == b"new"

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(ResultsError, match=r"a\.b\.md: cannot be written: No space left on device"):
        write_forms(folder / "a.b", {"md": b"newer"})
    assert paths[0].read_bytes() == b"new"
    assert sorted(folder.iterdir()) == sorted(paths), "nothing is left behind"
