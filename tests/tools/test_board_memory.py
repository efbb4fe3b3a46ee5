"""The memory of the board's methods."""

from __future__ import annotations

from pathlib import Path

from mlcdr.experiment.yaml_reader import dump_yaml
from tests.small import plain, write_dataset
from tools.board_memory import measure_memory


def test_each_method_is_measured_once_on_the_last_data_set(tmp_path: Path) -> None:
    datasets = [str(write_dataset(tmp_path / name, name)) for name in ("first", "last")]
    defaults = {"learner": "ridge", "tune": {"grid": {"learner.alpha": [1, 2]}, "folds": 2, "metric": "hamming_loss"}}
    methods = {"ridge": {}, "PLST": {"label_space": {"plst": 2}}}
    changes = {"datasets": datasets, "against": "ridge", "sweep": {}, "defaults": defaults, "methods": methods}
    config = tmp_path / "board.yaml"
    config.write_text(dump_yaml(plain(Path(datasets[0]), **changes)))
    found = measure_memory(config)
    assert list(found["method"]) == ["ridge", "PLST"]
    assert set(found["dataset"]) == {"last"}
    assert (found["MB"] >= 0).all()
