"""How the tests call the maintainers' scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.small import Outcome
from tools.shell import run_script


@pytest.fixture
def script(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`script(status, "--check")`: a script in this process."""

    def call(module: ModuleType, *arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run_script(module.main)
        out, err = capfd.readouterr()
        return Outcome(ended.value.code or 0, out, err)  # type: ignore[arg-type]

    return call
