"""What the record runs: all that can be had, the longest first, with all cores busy to the end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlcdr.experiment.overrides import read_setting
from mlcdr.papers import recipes
from mlcdr.papers.printed import list_tables
from mlcdr.papers.recipes import Step
from tests.results_folders import as_printed
from tests.tools.test_record import TABLE2, TABLE3, run_of
from tools import record
from tools.plan import TOO_LONG, PlannedRun, plan_record
from tools.run import Runner
from tools.store import store_run


def test_the_plan_leaves_out_data_that_cannot_be_had_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "missing", lambda experiments: ["delicious"])
    monkeypatch.setattr(recipes, "missing_folds", lambda experiments: [])
    planned = {each.name: each for each in plan_record(False, tmp_path)}
    large = planned["sun_2017_thesis/table8_1_large"]
    assert large.lacks[0].startswith("delicious: ")
    assert "delicious" not in large.step.overrides[-1]
    assert "bibtex" in large.step.overrides[-1]
    assert planned["sun_2017_thesis/table8_2_shared"].timed
    tables = {each.step.recipe.table for each in planned.values()} - {""}
    laid_out = {spec.layout for each in planned.values() for spec in each.step.recipe.outline.tables}
    assert set(list_tables()) <= tables | laid_out, "every table that can be computed"
    assert {"sun_2017_thesis/table6_1", "sun_2017_thesis/table6_2_random"} <= set(planned), "parts of what is too long"
    small = plan_record(True, tmp_path)
    assert {each.name for each in small} >= {f"{TABLE3}_small", f"{TABLE2}_small"}
    assert not any(each.timed for each in small)


def test_what_takes_hours_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "missing", lambda experiments: [])
    monkeypatch.setattr(recipes, "missing_folds", lambda experiments: [])
    planned = {each.name: each for each in plan_record(False, tmp_path)}
    for name, some in TOO_LONG.items():
        assert not some or name in planned or recipes.recipes()[name].variant == "as_stated"
        if name in planned:
            assert planned[name].lacks == (f"{', '.join(some)}: only with --all",)
            _, kept = read_setting(planned[name].step.overrides[-1])
            assert [*kept, *some] == [spec.name for spec in recipes.recipes()[name].outline.datasets]
        assert name in recipes.recipes()


@pytest.mark.slow
def test_other_readings_and_what_takes_hours_are_run_on_demand(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "missing", lambda experiments: [])
    monkeypatch.setattr(recipes, "missing_folds", lambda experiments: [])
    planned = {each.name for each in plan_record(False, tmp_path)}
    everything = {each.name: each for each in plan_record(False, tmp_path, everything=True)}
    assert planned < set(everything)
    assert {*TOO_LONG, "sun_2017_thesis/figure4_4"} < set(everything)
    assert not any("/figure" in name for name in planned)
    assert not any(each.lacks for each in everything.values())
    variants = {recipes.recipes()[name].variant for name in planned} - {"", recipes.LARGE}
    assert variants == {"random", "fixed_folds", "shared"}, "of tables that take hours themselves"


def test_what_is_up_to_date_is_left_out_on_demand(tmp_path, script):
    store_run(run_of(tmp_path, TABLE3, as_printed(TABLE3)), "c0ffee", tmp_path / "record")
    plan = record, "--outdated", "--plan", "--to", tmp_path / "record"
    lines = script(*plan).out.splitlines()
    assert not any(line.startswith(f"{TABLE3} ") for line in lines)
    assert any(line.startswith(f"{TABLE2} ") for line in lines), "the record does not have it"
    at = tmp_path / "record" / TABLE3 / "manifest.json"
    at.write_text(at.read_text().replace('"PLST": "', '"PLST": "0'))
    assert any(line.startswith(f"{TABLE3} ") for line in script(*plan).out.splitlines()), "of other code"


def test_long_runs_get_all_workers_first_and_timed_ones_one(tmp_path, monkeypatch):
    calls = []

    def popen(line, **_):
        calls.append((line[line.index("run") + 1], line[line.index("--jobs") + 1]))
        return SimpleNamespace(communicate=lambda: ("", "wrong\n"), returncode=len(calls) == 2, poll=lambda: 0)

    monkeypatch.setattr(subprocess, "Popen", popen)

    def planned(name, seconds, timed=False):
        return PlannedRun(Step(SimpleNamespace(path=name)), name, timed, seconds)

    ended = []
    every = [planned("long", 70), planned("timed", 20, True), planned("short", 10)]
    Runner(tmp_path, 4, lambda run, error: ended.append((run.experiment, error))).run_all(every)
    assert calls[0] == ("long", "4")
    assert sorted(calls[1:]) == [("short", "2"), ("timed", "1")]
    assert sorted(error for _, error in ended) == ["", "", "wrong"]


_MAKING = """
import subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace
from mlcdr.papers.recipes import Step
from tools.plan import PlannedRun
from tools.run import Runner

started = subprocess.Popen

def popen(line, **options):
    process = started([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
    process.stdout.read(1)
    print(process.pid, flush=True)
    time.sleep(0.2)  # the signal comes before the runner has the process
    return process

subprocess.Popen = popen
planned = [PlannedRun(Step(SimpleNamespace(path=name)), name, seconds=1.0) for name in "ab"]
Runner(Path("."), 2, lambda run, error: None).run_all(planned)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_runs_end_with_the_command_that_started_them(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = [sys.executable, "-c", _MAKING]
    making_it = subprocess.Popen(line, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)
    pids = [int(making_it.stdout.readline()) for _ in range(2)]
    making_it.send_signal(signal.SIGTERM)
    making_it.communicate(timeout=60)
    with pytest.raises(ProcessLookupError):
        wait_until_gone(pids[0])
    with pytest.raises(ProcessLookupError):
        wait_until_gone(pids[1])


def wait_until_gone(pid: int, seconds: float = 30.0) -> None:
    """Raise ProcessLookupError once there is no such process; an ended one stays until it is waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.kill(pid, 0)
        time.sleep(0.05)
