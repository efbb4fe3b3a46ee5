"""What a trial's key is made of: digests of plain values, and of the program."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import mlcdr
from mlcdr.experiment import keys
from mlcdr.source_code import code_of_text
from tests import small

EXPERIMENT = ("data_source", "division", "estimators", "families", "outputs", "seeds", "stratification")
COMPUTING = (*(f"experiment/{name}.py" for name in EXPERIMENT), "execution/computing.py")
CHOOSING = ("experiment/tune.py", "execution/choose.py")


def of_files(*names: str) -> str:
    codes = [code_of_text((Path(mlcdr.__file__).parent / name).read_text("utf-8")) for name in names]
    return hashlib.sha256(b"".join(codes)).hexdigest()[:16]


def test_the_program_is_every_file_that_computes_a_trial() -> None:
    assert of_files(*COMPUTING) == keys.EVALUATION
    assert of_files(*CHOOSING) == keys.TUNING
    assert of_files(*COMPUTING, *CHOOSING, "experiment/keys.py", "experiment/trials.py") == keys.PROGRAM


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
