"""`mlcdr run CONFIG --method`: one method of a config, or one's own on the terms of its `defaults`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mlcdr.errors import UserError
from mlcdr.experiment.loading import load_experiment, load_recorded
from mlcdr.experiment.method_choice import choose_methods
from mlcdr.experiment.yaml_reader import dump_yaml
from tests import small
from tests.small import Outcome

OWN = '''
from mlcdr import PCA, PLST


class Mine(PLST):
    """As PLST."""


class Turned(PCA):
    """As PCA."""
'''


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config whose defaults have a feature step, a learner and a grid, and a file of methods beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_rows.py").write_text(OWN)
    defaults = {
        "feature_space": "sklearn.preprocessing.StandardScaler",
        "learner": "ridge",
        "tune": {"grid": {"learner.alpha": [0.1, 10]}, "folds": 2},
    }
    methods = {"plain": {}, "by PLST": {"label_space": {"plst": {"n_components": 2}}}}
    changes = {"sweep": {}, "metrics": ["hamming_loss"], "defaults": defaults, "methods": methods, "against": "plain"}
    config = small.plain(small.write_dataset(tmp_path / "data"), **changes)
    path = tmp_path / "board.yaml"
    path.write_text(dump_yaml(config))
    return path


def test_a_method_of_the_config_alone_has_the_scores_that_it_has_among_all(
    board: Path, mlcdr: Callable[..., Outcome]
) -> None:
    assert mlcdr("run", board, "-j", 1).code == 0
    assert mlcdr("run", board, "-j", 1, "--method", "by PLST").code == 0
    of_all = pd.read_csv("results/small/scores.csv")
    alone = pd.read_csv("results/small_by_plst/scores.csv")
    of_method = of_all[of_all["method"] == "by PLST"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, of_method)


def test_ones_own_method_has_the_defaults_and_its_size_is_tuned_with_them(
    board: Path, mlcdr: Callable[..., Outcome]
) -> None:
    done = mlcdr("run", board, "-j", 1, "-m", "own_rows.Mine", "-m", "own_rows.Turned", "--set", "splits.repeats=1")
    assert done.code == 0, done.err
    experiment = load_recorded(Path("results/small_mine_turned/experiment.yaml"))
    mine, turned = (spec.plain() for spec in experiment.methods.values())
    scaler, shares = "sklearn.preprocessing.StandardScaler", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0]
    assert (mine["feature_space"], mine["label_space"], mine["learner"]) == (scaler, "own_rows.Mine", "ridge")
    assert mine["tune"]["grid"] == {"label_space.n_components": shares, "learner.alpha": [0.1, 10]}
    assert turned["feature_space"] == [scaler, "own_rows.Turned"]
    assert turned["tune"]["grid"] == {"feature_space.1.n_components": shares, "learner.alpha": [0.1, 10]}


def test_with_a_learner_of_its_own_a_method_is_not_tuned(board: Path, mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("run", board, "-j", 1, "-m", "plst+least_squares", "--set", "splits.repeats=1")
    assert done.code == 0, done.err
    (spec,) = load_recorded(Path("results/small_plst_leastsquares/experiment.yaml")).methods.values()
    assert spec.plain() == {
        "feature_space": "sklearn.preprocessing.StandardScaler",
        "label_space": "plst",
        "learner": "least_squares",
    }


def test_a_config_without_defaults_gives_a_learner_that_suits(board: Path, mlcdr: Callable[..., Outcome]) -> None:
    board.write_text(dump_yaml(small.plain(board.parent / "data/tiny.arff", sweep={})))
    done = mlcdr("run", board, "-j", 1, "-m", "own_rows.Mine", "--set", "splits.repeats=1")
    assert done.code == 0, done.err
    (spec,) = load_recorded(Path("results/small_mine/experiment.yaml")).methods.values()
    assert spec.plain() == {"label_space": "own_rows.Mine", "learner": "least_squares"}


def test_a_method_stays_what_it_is_and_its_folder_gets_a_name(board: Path) -> None:
    method = {"learner": {"sklearn.linear_model.RidgeClassifier": {"tol": math.inf}}}
    names = [f"Number {k} of all the methods 😀" for k in range(8)]
    config = small.plain(board.parent / "data/tiny.arff", sweep={}, methods=dict.fromkeys(names, method))
    board.write_text(dump_yaml(config))
    experiment = load_experiment(board, choose_methods(board, names), instances=False)
    assert experiment.name.startswith("small_number_0")
    assert experiment.methods[names[7]].plain() == method
    board.write_text(dump_yaml(config | {"name": None}))
    assert "name" not in [change.partition("=")[0] for change in choose_methods(board, names)]


def test_two_methods_of_one_name_are_refused(board: Path) -> None:
    with pytest.raises(UserError, match=r"two methods are called 'plain'"):
        choose_methods(board, ["plain", "plain"])


def test_what_is_no_method_is_refused_in_a_line(board: Path, mlcdr: Callable[..., Outcome]) -> None:
    for wanted, why in (("plts", "did you mean 'plst'?"), ("own_rows.Yours", "no attribute 'Yours'")):
        refused = mlcdr("run", board, "--method", wanted)
        assert (refused.code, refused.err.count("\n"), why in refused.err) == (2, 1, True), refused.err


def test_a_config_that_is_wrong_is_refused_in_a_line(board: Path, mlcdr: Callable[..., Outcome]) -> None:
    whole = board.read_text()
    board.write_text(whole.replace("defaults:", "defaults: [ridge]\nunused:"))
    refused = mlcdr("run", board, "-m", "own_rows.Mine")
    assert (refused.code, "defaults" in refused.err) == (2, True), refused.err
    assert "Traceback" not in refused.err
    board.write_text(whole.replace("against: plain", "against: [plain]"))
    assert mlcdr("run", board, "-m", "plain", "-j", 1).code == 0, "the method that it compares with is no method"
