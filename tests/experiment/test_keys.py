"""What a trial's key is made of: digests of plain values, and of the code that decides the scores."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import mlcdr
from mlcdr.experiment import keys
from mlcdr.metrics import BY_LABEL, METRICS, modules_of
from tests import small


def test_a_digest_is_of_values_and_not_of_their_order() -> None:
    """As written here once: another digest of the same values would compute everything anew."""
    assert keys.digest({"b": [1, 0.5], "a": "é"}) == keys.digest({"a": "é", "b": [1, 0.5]})
    text = '{"a":"\\u00e9","b":[1,0.5]}'
    assert keys.digest({"b": [1, 0.5], "a": "é"}) == hashlib.sha256(text.encode()).hexdigest()[:32]
    assert keys.digest([1, 2]) != keys.digest([2, 1])


def test_all_code_that_decides_a_method_is_in_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = small.experiment(small.write_dataset(tmp_path))
    dataset = small.read_data(experiment).dataset
    name, spec = next(iter(experiment.methods.items()))

    def make_keys() -> list[str]:
        return keys.trial_keys(experiment, name, spec, dataset, [keys.write_split({"split": 0})])

    before, code = make_keys(), keys.code_of(experiment, spec)
    for part in code:
        monkeypatch.setattr(keys, "code_of", lambda *_, other=part: {**code, other: "other"})
        assert make_keys() != before, part


def test_every_metric_is_of_a_module_whose_code_is_in_the_keys() -> None:
    assert all(modules_of(name) for name in (*METRICS, *BY_LABEL))


KEYS = """
import json, sys
from mlcdr.experiment.loading import load_experiment
from mlcdr.experiment.data_source import DataSource
from mlcdr.experiment.trials import plan_trials

found = {}
experiment = load_experiment(sys.argv[1])
data = DataSource.of(experiment.datasets[0], experiment.splits).read()
print(json.dumps({trial.method: trial.key for trial in plan_trials(experiment, data)}))
"""

HELPER = "FACTOR = 1\n"
MINE = """from helper import FACTOR
from mlcdr.methods.learners.ridge import Ridge


class Mine(Ridge):
    def predict_valid(self, X):
        return FACTOR * super().predict_valid(X)
"""
METHODS = {
    "CPLST": {"label_space": "cplst", "learner": "least_squares"},
    "BR": {"learner": {"binary_relevance": "ridge"}},
    "Mine": {"learner": "mine.Mine"},
    "Trees": {"learner": "sklearn.tree.DecisionTreeClassifier"},
}


@pytest.fixture(scope="module")
def keys_after(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., set[str]]:
    """The methods whose keys change when texts are replaced, in a copy of the package or in files beside the config."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(Path(mlcdr.__file__).parent, folder / "mlcdr", ignore=shutil.ignore_patterns("__pycache__"))
    arff = small.write_dataset(folder)
    (folder / "helper.py").write_text(HELPER)
    (folder / "mine.py").write_text(MINE)
    config = small.plain(arff, methods=METHODS, sweep={}, metrics=["hamming_loss"])
    (folder / "config.yaml").write_text(yaml.safe_dump(config))

    def read_keys() -> dict[str, str]:
        surroundings = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", KEYS, "config.yaml"]
        done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    before = read_keys()
    assert set(before) == set(METHODS)

    def changed(changes: dict[str, tuple[str, str]]) -> set[str]:
        texts = {name: (folder / name).read_text() for name in changes}
        try:
            for name, (old, new) in changes.items():
                assert old in texts[name], f"{name} has no {old!r}"
                (folder / name).write_text(texts[name].replace(old, new, 1))
            now = read_keys()
        finally:
            for name, text in texts.items():
                (folder / name).write_text(text)
        return {name for name in before if now[name] != before[name]}

    return changed


def test_no_word_that_is_changed_computes_anything_again(keys_after: Callable[..., set[str]]) -> None:
    words = {
        "mlcdr/errors.py": ("; did you mean", "; perhaps"),
        "mlcdr/methods/label_space/cplst.py": ('    """', '    """In other words: '),
        "mlcdr/methods/contracts.py": ("does not learn from", "cannot learn from"),
        "mlcdr/methods/registry.py": ("learner: least_squares", "learner: ridge"),
        "mlcdr/methods/constraints.py": ("Interval(Real, 0", "Interval(Real, -1"),
        "mlcdr/execution/runner.py": ("import contextlib", "import contextlib\nFACTOR = 2"),
        "mlcdr/data/arff.py": ("import math", "import math\nFACTOR = 2"),
        "helper.py": ("FACTOR", "# a factor\nFACTOR"),
    }
    assert keys_after(words) == set()


@pytest.mark.parametrize(
    ("file", "before", "after", "methods"),
    [
        ("mlcdr/numerics/linalg.py", "SINGULAR = 1e-9", "SINGULAR = 1e-8", set(METHODS)),
        pytest.param(
            "mlcdr/metrics/label_sets.py", "METRICS: ", "FACTOR = 2\nMETRICS: ", set(METHODS), marks=pytest.mark.slow
        ),
        pytest.param(  # none of these was measured
            "mlcdr/metrics/ranking.py", "METRICS: ", "FACTOR = 2\nMETRICS: ", set(), marks=pytest.mark.slow
        ),
        pytest.param(  # its base
            "mlcdr/methods/label_space/hat.py", "class ", "FACTOR = 2\nclass ", {"CPLST"}, marks=pytest.mark.slow
        ),
        ("helper.py", "FACTOR = 1", "FACTOR = 2", {"Mine"}),
    ],
)
def test_code_that_is_changed_computes_all_again_that_uses_it(
    keys_after: Callable[..., set[str]], file: str, before: str, after: str, methods: set[str]
) -> None:
    assert keys_after({file: (before, after)}) == methods
