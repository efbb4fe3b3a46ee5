"""The JSON Schema of experiment files: by it an editor accepts and refuses what a run does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from mlcdr.experiment.schema import read_schema
from mlcdr.methods import registry

CONFIGS = sorted(Path(__file__).parents[2].glob("configs/**/*.yaml"))
GOOD = """
name: trial
datasets: [yeast]
splits: {kind: shuffle, repeats: 10, train_size: 0.9, seed: 1}
metrics: [hamming_loss]
sweep: {label_space.n_components: [1, 20%]}
methods:
  A: {label_space: plst, learner: least_squares}
  B: {feature_space: {mvmd: {beta: 0.5, n_components: 20%}}, learner: {ridge: {alpha: 0.1}}}
  C: {learner: {binary_relevance: {estimator: {linear_svm: {C: 2}}}}, threshold: {fixed: 0.5}}
tables: [{layout: chen_lin_2012/table3, metric: hamming_loss}]
"""


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    found = read_schema()
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_schema_takes_every_config(path: Path, validator: Draft202012Validator) -> None:
    validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tables:", "tabels:"),
        ("[yeast]", "[birds: {missing: median}]"),
        ("kind: shuffle", "kind: shufle"),
        ("0.9, seed", "1.5, seed"),
        ("[hamming_loss]", "[haming_loss]"),
        ("[hamming_loss]", "[f1: {zero_division: 3}]"),
        ("label_space: plst", "label_space: plsst"),
        ("{alpha: 0.1}", "{alpa: 0.1}"),
        ("{alpha: 0.1}", "{alpha: 0}"),
        ("beta: 0.5", "beta: 7"),
        ("fixed: 0.5", "fixed: half"),
        ("label_space: plst, learner: least_squares", "label_space: plst"),
        ("label_space.n_components", "labelspace.n_components"),
        ("layout: chen_lin_2012/table3", "layot: x"),
    ],
)
def test_the_schema_refuses_what_we_refuse(old: str, new: str, validator: Draft202012Validator) -> None:
    good: Any = yaml.safe_load(GOOD)
    assert validator.is_valid(good)
    assert old in GOOD
    assert not validator.is_valid(yaml.safe_load(GOOD.replace(old, new)))


def test_the_schema_takes_the_components_of_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**registry.BUILT_IN, "learner": {"quick": "their_package:Quick"}}
    monkeypatch.setattr(registry, "_known", known.__getitem__)
    taken = Draft202012Validator(read_schema())
    for learner in ("quick", "{quick: {depth: 3}}"):
        assert taken.is_valid(yaml.safe_load(GOOD.replace("learner: least_squares", f"learner: {learner}")))
    assert not taken.is_valid(yaml.safe_load(GOOD.replace("label_space: plst", "label_space: quick")))
