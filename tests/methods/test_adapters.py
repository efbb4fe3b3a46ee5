"""The examples of other packages' methods, on a small data set; each where its package is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mlcdr import Experiment, UserError
from mlcdr.execution.computing import Computer
from mlcdr.execution.groups import group_by_split
from mlcdr.experiment.loading import load_experiment
from mlcdr.methods.component import Component
from tests import small
from tests.methods.problems import as_sparse, problem

EXAMPLES = Path(__file__).parents[2] / "examples" / "adapters"
PACKAGES = {
    "scikit_learn": "sklearn",
    "boomer": "mlrl.boosting",
    "omikuji": "omikuji",
    "libmultilabel": "libmultilabel",
    "multilearn": "skmultilearn",
}
# Fewer trees than the example has, so that it takes a second.
SHORTER = {
    "scikit_learn": {"n_estimators: 50": "n_estimators: 3", "max_iter: 20": "max_iter: 2"},
    "boomer": {"max_rules: 100": "max_rules: 10", "max_rules: 25": "max_rules: 5"},
}
WITHOUT_SEEDS = ("omikuji",)


def scores(loaded: Experiment, backwards: bool = False) -> dict[str, dict[str, float]]:
    """Key of a trial → its values, computed split by split, in that order or the other."""
    data, trials = small.read_data(loaded), small.planned(loaded)[1]
    parts = list(group_by_split(loaded, data.source, trials))
    found = [score for part in (parts[::-1] if backwards else parts) for score in Computer().compute(part).results]
    assert [score.error for score in found if not score.values] == []
    return {score.key: dict(score.values) for score in found}


def test_every_example_is_tried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_an_example_runs_and_gives_the_same_in_any_order(name: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[name], reason=f"needs the extra {name}")
    text = (EXAMPLES / f"{name}.yaml").read_text()
    for old, new in SHORTER.get(name, {}).items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"{name}.yaml"
    path.write_text(text.replace("[yeast]", f"[{small.write_dataset(tmp_path, n=80)}]"))
    loaded = load_experiment(path)
    first = scores(loaded)
    assert len(first) == 2 * len(loaded.methods)
    assert all(np.isfinite(list(values.values())).all() for values in first.values())
    assert all(values["hamming_loss"] < 0.5 for values in first.values())
    if name not in WITHOUT_SEEDS:
        assert scores(loaded, backwards=True) == first


@pytest.mark.parametrize("name", ["omikuji", "libmultilabel"])
def test_our_own_adapters_take_sparse_rows_constant_labels_and_are_kept(name: str) -> None:
    import pickle

    pytest.importorskip(name)
    X, Y = problem("plain")
    Y[:90, 0] = 0
    fitted = Component("learner", name, {}).build().fit(X[:90], Y[:90])
    told = fitted.decision_function(X[90:])
    assert np.array_equal(fitted.decision_function(as_sparse(X[90:])), told)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X[90:]), told)
    assert np.array_equal(fitted.predict(X[90:]), told > 0)
    assert not fitted.predict(X[90:])[:, 0].any()
    assert (fitted.predict(X[90:]) == Y[90:])[:, 1:].mean() > 0.7


@pytest.mark.parametrize("name", ["omikuji", "libmultilabel"])
def test_what_is_missing_is_named_with_its_extra(name: str) -> None:
    if find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    message = rf"^{name} needs {name}, which is not installed: pip install 'mlcdr\[{name}\]'$"
    with pytest.raises(UserError, match=message):
        Component("learner", name, {}).build()
