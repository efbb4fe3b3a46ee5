"""The configs and examples that come with mlcdr: those of the source checkout, or an installed package's own copies.

A config is named as its file without `.yaml`: `yeast_cplst`, `chen_lin_2012/table3`. A file on disk comes first; a path
that ends in `.yaml` always means a file on disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from mlcdr.data.files import checkout_folder
from mlcdr.errors import ConfigError, UserError, suggest_name
from mlcdr.experiment.grouping import group_pairs

_YAML = (".yaml", ".yml")


_PACKAGE = Path(__file__).parents[1]


def shipped_folder(kind: str) -> Path:
    """The folder of the `configs` or the `examples`: the checkout's, or the package's own copy."""
    checkout = checkout_folder()
    root = _PACKAGE if checkout is None else checkout.parent
    return root / kind


def record_folder() -> Path:
    """The folder of the record: the checkout's `results/record`, or the package's own copy."""
    return shipped_folder("record" if checkout_folder() is None else "results/record")


def shipped_configs() -> dict[str, Path]:
    """The configs by name, sorted."""
    folder = shipped_folder("configs")
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.yaml"))}


def shipped_examples() -> dict[str, list[Path]]:
    """The examples by name, sorted; an example is all files of that name: `my_method`, `external/octave_ridge`."""
    folder = shipped_folder("examples")
    files = [path for path in sorted(folder.rglob("*.*")) if path.is_file() and path.parent.name != "__pycache__"]
    return group_pairs((path.relative_to(folder).with_suffix("").as_posix(), path) for path in files)


def find_config(path: Path) -> Path:
    """The file that a command's CONFIG means: `path` if it exists, else the config of that name.

    Raises
    ------
    ConfigError
        When there is neither; for a file name that a shipped config has, the message names that config. Also when
        there is a file `./NAME.yaml` with another text: it is not clear which of the two is meant.
    """
    if os.path.lexists(path):  # `Path.exists` raises for a name too long
        return path
    known = shipped_configs()
    name = path.as_posix()
    if path.suffix in _YAML:
        plain = f"/{path.with_suffix('').as_posix()}"
        names = [each for each in known if plain.endswith(f"/{each}")]
        hint = ""
        if names:
            hint = f"; mlcdr comes with it: `mlcdr run {names[0]}`, or `mlcdr example {names[0]}` for a copy"
        raise ConfigError([f"{path}: no such file{hint}"])
    if name not in known:
        raise ConfigError([f"{path}: no such file, and no config that comes with mlcdr{suggest_name(name, known)}"])
    own = Path(f"{path.name}.yaml")  # where `mlcdr example` puts a copy
    if own.is_file() and own.read_bytes() != known[name].read_bytes():
        both = f"is a config that comes with mlcdr, and ./{own} is here and differs"
        raise ConfigError([f"{path}: {both}; write {own} for it"])
    return known[name]


def shipped_files(name: str) -> list[Path]:
    """The files of an example, or of a config, by name.

    Raises
    ------
    UserError
        When there is none of that name; suggests the nearest.
    """
    examples, configs = shipped_examples(), shipped_configs()
    plain = name.removesuffix(".yaml").removesuffix(".py").removeprefix("configs/").removeprefix("examples/")
    if plain in examples:
        return examples[plain]
    if plain in configs:
        return [configs[plain]]
    known = [*examples, *configs]
    raise UserError(f"no example {name!r}{suggest_name(plain, known)}; `mlcdr example` lists them")
