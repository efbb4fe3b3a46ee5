"""The manifest of a results folder: versions, machine, seeds, checksums and timings of its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from mlcdr.errors import ResultsError
from mlcdr.whole_files import is_regular_file

if TYPE_CHECKING:
    from typing import Self

_LARGEST = 64 * 2**20  # bytes
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Megabytes = _Seconds
_Size = Annotated[int, Field(strict=True, gt=0, lt=2**63)]


class _Part(BaseModel):
    """What stands in a manifest: fields that a program of another version wrote are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


class TrialCounts(_Part):
    """How many trials a run planned, and what came of them; None where that is not known."""

    planned: int | None = None
    kept: int | None = None
    computed: int | None = None
    failed: int | None = None
    crashed: int | None = None
    interrupted: bool = False


class Machine(_Part):
    """The machine of a run."""

    system: str = ""
    release: str = ""
    processor: str = ""
    cores: int | None = None


class PeakMegabytes(_Part):
    """The most memory that a process of a run has had resident at once since it began, in MB (10⁶ bytes): that of the
    run, and of its workers the largest; None where there was none.
    """

    run: _Megabytes | None = None
    worker: _Megabytes | None = None

    @property
    def largest(self) -> float | None:
        """That of the largest process."""
        return max(self.run or 0.0, self.worker or 0.0) or None


class RunFacts(_Part):
    """A run that computed trials: when (`started`, ISO 8601), how long, with how many workers and what versions.

    `seconds` are of wall time, `cpu_seconds` of all its processes.
    """

    started: str = ""
    seconds: _Seconds | None = None
    cpu_seconds: _Seconds | None = None
    peak_megabytes: PeakMegabytes = PeakMegabytes()
    jobs: int | None = None
    backend: str = ""
    trials: TrialCounts = TrialCounts()
    mlcdr: str | None = None
    python: str | None = None
    packages: dict[str, str | None] = {}
    blas: tuple[dict[str, Any], ...] = ()
    machine: Machine = Machine()


class DatasetFacts(TypedDict, total=False):
    """What readers compute with, of the facts of a data set."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    checksum: str
    n_instances: _Size
    n_features: _Size
    n_labels: _Size
    n_train: _Size
    notices: list[str]


class Manifest(RunFacts):
    """What manifest.json holds: the facts of the last run, and of the folder.

    Attributes
    ----------
    warnings : tuple of dict
        The warnings that methods gave in the last run: `count`, `methods`, `category`, `text` and `place`.
    code : dict
        Method → the digest of its code.
    datasets : dict
        Data set → its facts: `checksum`, `n_instances`, `n_features`, `n_labels` …
    kept : dict or None
        The index of what is kept of each trial, how many files there are of each kind, and their bytes.
    computed_by : tuple of RunFacts
        The runs that computed the trials.
    """

    experiment: str = ""
    seed: int | None = None
    code: dict[str, str] = {}
    datasets: dict[str, DatasetFacts] = {}
    warnings: tuple[dict[str, Any], ...] = ()
    kept: dict[str, Any] | None = None
    computed_by: tuple[RunFacts, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The manifest of a folder.

        Raises
        ------
        ResultsError
            When there is none, or it is broken.
        """
        return cls.load(folder / "manifest.json")

    @classmethod
    def load(cls, path: Path) -> Self:
        """A manifest from its file.

        Raises
        ------
        ResultsError
            As `read`.
        """
        try:
            if is_regular_file(path) and path.stat().st_size > _LARGEST:
                raise ResultsError(f"{path}: cannot be read: larger than {_LARGEST // 2**20} MiB")
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error.strerror or error}") from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"])) or "cannot be read"
            raise ResultsError(f"{path}: {key}: {first['msg']}") from None

    def to_json(self) -> str:
        """As it is written."""
        return self.model_dump_json(indent=2, exclude_unset=True) + "\n"

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def total_cpu_seconds(self) -> float:
        """CPU time of all runs that computed something; of one that did not measure it, its wall time."""
        return math.fsum(run.cpu_seconds or run.seconds or 0.0 for run in self.computed_by)

    def facts(self, dataset: str) -> Mapping[str, Any]:
        """The facts of a data set; none where the manifest does not have it."""
        return self.datasets.get(dataset, {})
