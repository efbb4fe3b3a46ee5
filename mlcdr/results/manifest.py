"""The manifest of a results folder: versions, machine, seeds, checksums and timings of its runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from mlcdr.errors import ResultsError
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:
    from typing_extensions import Self

_DEEPEST = 32  # levels
_LARGEST = 64 * 2**20  # bytes
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TrialCounts(_Part):
    """How many trials a run planned, and what came of them; None where that is not known."""

    planned: int | None = None
    computed: int | None = None
    failed: int | None = None
    interrupted: bool = False


class Machine(_Part):
    """The machine of a run."""

    system: str = ""
    processor: str = ""
    cores: int | None = None


class RunFacts(_Part):
    """A run that computed trials: when (`started`, ISO 8601), how long, with how many workers and what versions.

    `seconds` are of wall time, `cpu_seconds` of all its processes.
    """

    started: str = ""
    seconds: _Seconds | None = None
    cpu_seconds: _Seconds | None = None
    jobs: int | None = None
    trials: TrialCounts = TrialCounts()
    machine: Machine = Machine()
    python: str | None = None
    mlcdr: str | None = None


class Manifest(_Part):
    """What a reader of results needs of manifest.json.

    Attributes
    ----------
    started : str
        Of the last run.
    trials : TrialCounts
        Of the last run.
    datasets : dict
        Data set → its facts: `checksum`, `n_instances`, `n_features`, `n_labels` …
    packages : dict
        Package → its version; None where it was not installed.
    computed_by : tuple of RunFacts
        The runs that computed the trials.
    """

    started: str = ""
    trials: TrialCounts = TrialCounts()
    datasets: dict[str, dict[str, Any]] = {}
    packages: dict[str, str | None] = {}
    computed_by: tuple[RunFacts, ...] = ()

    @field_validator("datasets")
    @classmethod
    def _check_facts(cls, datasets: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Refuse facts of a wrong type, where readers compute with them or iterate over them."""
        for name, facts in datasets.items():
            notices = facts.get("notices", [])
            if not (isinstance(notices, list) and all(isinstance(each, str) for each in notices)):
                raise ValueError(f"{name}: notices: not a list of texts")
            for what, kind in ("n_instances", "rows"), ("n_features", "features"), ("n_labels", "labels"):
                size = facts.get(what, 1)
                if not (type(size) is int and 0 < size < 2**63):
                    raise ValueError(f"{name}: {what}: not a number of {kind}")
        return datasets

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The manifest of a folder.

        Raises
        ------
        ResultsError
            When there is none, or it is broken.
        """
        content = read_manifest(folder)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise ResultsError(f"{folder / 'manifest.json'}: {key}: {first['msg']}") from None

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all runs that computed something; of one that did not measure it, its wall time."""
        return math.fsum(run.cpu_seconds or run.seconds or 0.0 for run in self.computed_by)

    def facts(self, dataset: str) -> Mapping[str, Any]:
        """The facts of a data set; none where the manifest does not have it."""
        return self.datasets.get(dataset, {})


def read_manifest(folder: Path) -> dict[str, Any]:
    """The whole manifest of a results folder, as plain data.

    Raises
    ------
    ResultsError
        When there is none, or it is broken.
    """
    path = folder / "manifest.json"
    try:
        if is_regular_file(path) and path.stat().st_size > _LARGEST:
            raise ResultsError(f"{path}: cannot be read: larger than {_LARGEST // 2**20} MiB")
        content = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(content, ensure_ascii=False).encode()  # JSON can spell a lone surrogate, which no file can hold
        shallow = _depth(content) <= _DEEPEST
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}") from None
    except RecursionError:
        shallow = False
    if not shallow:
        raise ResultsError(f"{path}: cannot be read: nested more than {_DEEPEST} levels deep")
    if not isinstance(content, dict):
        raise ResultsError(f"{path}: not a manifest")
    return content


def _depth(content: Any) -> int:
    """How many mappings and lists are nested in one another."""
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else None
    return 0 if parts is None else 1 + max(map(_depth, parts), default=0)
