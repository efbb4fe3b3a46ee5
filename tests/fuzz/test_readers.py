"""Whatever is in a file or on the command line, it is read, or refused in our own words with the place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.readers import HOSTILE, READERS, edited

EDIT = st.tuples(
    st.integers(0, 600),
    st.sampled_from([0, 0, 1, 2, 7, 40]),
    st.sampled_from(HOSTILE) | st.binary(max_size=6),
)


RESULTS_FOLDERS = 300  # cases of `test_results_folders`
# A share of the cases by default, all of them with the slow tests.
SHARES = [pytest.param(10, id="a tenth"), pytest.param(1, id="all", marks=pytest.mark.slow)]


def test_the_suite_tries_five_thousand_files() -> None:
    assert sum(cases for *_, cases in READERS.values()) + RESULTS_FOLDERS == 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", READERS)
def test_read_or_refused(name: str, share: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCDR_CACHE", "/dev/null/no")  # every file is parsed
    read, seeds, cases = READERS[name]
    for seed in seeds:
        if name not in ("command_line", "dataset"):
            assert read(folder, seed) is None

    @settings(
        max_examples=cases // share,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(seeds), st.lists(EDIT, max_size=4))
    def attempt(seed: bytes, edits: list[tuple[int, int, bytes]]) -> None:
        read(folder, edited(seed, edits))

    attempt()
