"""`mlcdr example`, and configs named as those that come with mlcdr."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcdr.errors import ConfigError
from mlcdr.experiment import shipped
from mlcdr.experiment.loading import load_experiment
from tests.small import Outcome

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_list_has_every_example_and_config(mlcdr: Callable[..., Outcome]) -> None:
    out = mlcdr("example").out
    listed = re.findall(r"^(\S+): .+$", out, re.M)
    folders = [{line.rpartition("/")[0] for line in part.splitlines()} for part in out.split("\n\n")[2:]]
    assert [len(each) for each in folders] == [1] * len(folders), "a paper's configs are together"
    examples = {
        path.relative_to(ROOT / "examples").with_suffix("").as_posix()
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    configs = {
        path.relative_to(ROOT / "configs").with_suffix("").as_posix() for path in (ROOT / "configs").rglob("*.yaml")
    }
    assert set(listed) == examples | configs
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("my_method", ["examples/my_method.py", "examples/my_method.yaml"]),
        ("external/r_logistic", ["examples/external/r_logistic.R", "examples/external/r_logistic.yaml"]),
        ("yeast_cplst", ["configs/yeast_cplst.yaml"]),
        ("configs/chen_lin_2012/table3.yaml", ["configs/chen_lin_2012/table3.yaml"]),
    ],
)
def test_a_copy_is_the_same_and_is_not_written_over(
    mlcdr: Callable[..., Outcome], tmp_path: Path, name: str, files: list[str]
) -> None:
    done = mlcdr("example", name, "--out", "here")
    assert done.code == 0, done.err
    for file in files:
        assert (tmp_path / "here" / Path(file).name).read_bytes() == (ROOT / file).read_bytes()
    again = mlcdr("example", name, "--out", "here")
    assert (again.code, again.err) == (
        2,
        f"error: {Path('here', Path(files[0]).name)}: is there already; remove it or choose another --out\n",
    )


def test_an_unknown_name_gets_a_suggestion(mlcdr: Callable[..., Outcome]) -> None:
    done = mlcdr("example", "yeast_cpls")
    assert done.code == 2
    assert "no example 'yeast_cpls'; did you mean 'yeast_cplst'?" in done.err


def test_a_config_is_found_by_its_name(tmp_path: Path) -> None:
    assert load_experiment("yeast_cplst", look_up=False).name == "yeast_cplst"
    (tmp_path / "yeast_cplst").write_text((ROOT / "configs/yeast_cplst.yaml").read_text().replace("100, t", "3, t"))
    assert load_experiment("yeast_cplst", look_up=False).splits.repeats == 3, "a file on disk comes first"


def test_a_config_is_not_run_in_place_of_an_edited_copy(mlcdr: Callable[..., Outcome], tmp_path: Path) -> None:
    assert mlcdr("example", "yeast_cplst").code == 0
    assert load_experiment("yeast_cplst", look_up=False).splits.repeats == 100
    copy = tmp_path / "yeast_cplst.yaml"
    copy.write_text(copy.read_text() + "# edited\n")
    with pytest.raises(ConfigError, match=r"and \./yeast_cplst\.yaml is here and differs; write yeast_cplst\.yaml"):
        load_experiment("yeast_cplst", look_up=False)


def test_a_path_that_is_not_there_names_the_config_of_that_name() -> None:
    with pytest.raises(ConfigError) as caught:
        load_experiment("configs/chen_lin_2012/table3.yaml", look_up=False)
    assert str(caught.value) == (
        "configs/chen_lin_2012/table3.yaml: no such file; mlcdr comes with it: `mlcdr run chen_lin_2012/table3`, or "
        "`mlcdr example chen_lin_2012/table3` for a copy"
    )
    for absent in ("mine.yaml", f"{'x' * 300}.yaml"):
        with pytest.raises(ConfigError, match=f"^{absent}: no such file$"):
            load_experiment(absent)
    with pytest.raises(ConfigError, match=r"^yeast_cpls: no such file, .*; did you mean 'yeast_cplst'\?$"):
        load_experiment("yeast_cpls")


def test_an_installed_package_looks_in_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no checkout; what a wheel puts there is in test_commands_reproduce."""
    monkeypatch.setattr(shipped, "checkout_folder", lambda: None)
    assert shipped.shipped_folder("examples") == Path(shipped.__file__).parents[1] / "examples"
