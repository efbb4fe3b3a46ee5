"""`make mutants`: small faults put into the code one by one (cosmic-ray's operators); its tests must fail of each.

A mutant is a copy of the repository with one fault in one module. It is killed when a test fails or the time is up,
and survives when all tests pass. A survivor that changes nothing that can be seen stands in tools/mutants.txt with the
reason. The exit code is 1 where a module's tests kill less than 90 % of its other mutants.

Most of the time would go into imports and into tests that never reach the fault. So the tests are collected once, each
mutant is put into a fork of that process, as the code of its functions, and first the tests run that execute its
statement. What these let pass, and what is not within a function, is tested by all of the module's tests in a fork that
has imported only third-party packages. With `--sample N` N mutants of each module are drawn, by `--seed`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import gc
import importlib
import inspect
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_suffix(".txt")

# A module, and the tests that are to kill its mutants.
MODULES = {
    "mlcdr/metrics/label_sets.py": "tests/metrics tests/methods/test_field.py tests/execution/test_by_label.py",
    "mlcdr/metrics/outcome.py": "tests/metrics",
    "mlcdr/metrics/ranking.py": "tests/metrics",
    "mlcdr/methods/thresholds.py": "tests/methods/test_thresholds.py",
    "mlcdr/comparison/statistics.py": "tests/comparison/test_statistics.py tests/comparison/test_significance.py",
    "mlcdr/experiment/splits.py": "tests/experiment/test_splits.py tests/experiment/test_labelled.py "
    "tests/experiment/test_stratification.py tests/experiment/test_config.py",
    "mlcdr/experiment/division.py": "tests/experiment/test_splits.py tests/experiment/test_labelled.py "
    "tests/experiment/test_stratification.py",
    "mlcdr/experiment/fold_files.py": "tests/experiment/test_splits.py",
    "mlcdr/experiment/stratification.py": "tests/experiment/test_stratification.py",
    "mlcdr/experiment/keys.py": "tests/experiment/test_keys.py tests/experiment/test_trials.py",
    "mlcdr/experiment/trials.py": "tests/experiment/test_trials.py",
    "mlcdr/results/store.py": "tests/results/test_store.py tests/execution/test_tune.py tests/cli/test_status.py",
    "mlcdr/methods/composition.py": "tests/methods/test_composition.py tests/methods/test_label_space.py "
    "tests/methods/test_thresholds.py tests/methods/test_dual_space.py tests/methods/test_left_out.py "
    "tests/methods/test_foreign.py tests/methods/test_estimators.py",
    "mlcdr/numerics/moments.py": "tests/methods/test_moments.py tests/methods/test_larger_than_memory.py "
    "tests/methods/test_implicit.py",
    "mlcdr/numerics/entry.py": "tests/methods/test_entry.py tests/methods/test_forms_of_input.py "
    "tests/methods/test_types.py tests/methods/test_estimators.py tests/methods/test_field.py",
    "mlcdr/tables/patterns.py": "tests/tables/test_patterns.py",
    "mlcdr/tables/escaping.py": "tests/tables/test_sheet.py tests/tables/test_tables.py",
    "mlcdr/results/stamp.py": "tests/results/test_stamp.py",
}
# Of cosmic-ray's operators those that differ from one another in what a test sees: of twelve replacements of `+` one.
OPERATORS = re.compile(
    r"core/(ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr"
    r"|BitXor_BitAnd)|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt"
    r"|Is_IsNot|IsNot_Is)|ReplaceUnaryOperator_Delete_.*|ReplaceUnaryOperator_USub_UAdd|AddNot|Replace(True|False|And|Or|Break"
    r"|Continue)With.*|NumberReplacer|RemoveDecorator|ZeroIterationForLoop)"
)
IMPORTED = ("numpy", "scipy.linalg", "scipy.stats", "sklearn.pipeline", "pandas", "pytest", "hypothesis", "pydantic")


class LeaveOut:
    """An operator of ours: a keyword argument, or an entry of a dictionary, a list, a set or a tuple, is left out."""

    @staticmethod
    def _entries(node: Any) -> list[tuple[int, int]]:
        if getattr(node, "type", "") not in ("arglist", "dictorsetmaker", "testlist_comp"):
            return []
        commas = [i for i, child in enumerate(node.children) if getattr(child, "value", "") == ","]
        starts = [0, *(i + 1 for i in commas)]
        ends = [*(i + 1 for i in commas), len(node.children)]
        found = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
        if node.type == "arglist":
            found = [(start, end) for start, end in found if _is_keyword(node.children[start])]
        return found if commas else []

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        yield from [
            (node.children[start].start_pos, node.children[end - 1].end_pos) for start, end in self._entries(node)
        ]

    def mutate(self, node: Any, index: int) -> Any:
        start, end = self._entries(node)[index]
        del node.children[start:end]
        return node


def _is_keyword(child: Any) -> bool:
    """Whether it is a keyword argument; not `description`, text of the reference, which tests/test_docs.py holds."""
    if getattr(child, "type", "") != "argument":
        return False
    name, equals, *_ = child.children
    return equals == "=" and name.value != "description"


def meaning(source: str) -> str:
    """The code without what is not run: annotations, docstrings; two texts of one meaning are one program."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.unparse(tree)


def mutants(source: str, rng: random.Random) -> Iterator[str]:
    """In random order, the texts of all mutants that differ in meaning from the code and from one another."""
    import parso  # before cosmic_ray, which otherwise imports it in a circle
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [LeaveOut(), *(get_operator(name)() for name in operator_names() if OPERATORS.fullmatch(name))]
    nodes = list(_nodes(parso.parse(source)))
    places = []
    for operator in operators:
        n = sum(len(list(operator.mutation_positions(node))) for node in nodes)
        places += [(operator, number) for number in range(n)]
    rng.shuffle(places)
    found = {meaning(source)}
    for operator, number in places:
        text = mutate_code(source, operator, number)
        with contextlib.suppress(SyntaxError):
            if (new := meaning(text)) not in found:
                found.add(new)
                yield text


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


def change(source: str, mutant: str) -> tuple[int, str]:
    """The line of the fault, and the lines that it changes as `- before` and `+ after`."""
    lines = list(difflib.unified_diff(source.splitlines(), mutant.splitlines(), n=0, lineterm=""))[2:]
    number = int(re.match(r"@@ -(\d+)", lines[0])[1])  # type: ignore[index]
    return number, "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines if not line.startswith("@@"))


def known() -> set[tuple[str, str]]:
    """(module, change) of the survivors in the list."""
    found = set()
    for entry in KNOWN.read_text(encoding="utf-8").split("\n\n"):
        lines = entry.splitlines()
        if changed := [line for line in lines if line.startswith(("- ", "+ "))]:
            found.add((lines[0], "\n".join(changed)))
    return found


def fork(does: Callable[[], int], seconds: float, output: Path) -> int | None:
    """The exit code of a fork of this process that does so, with what it prints in a file; None if the time is up."""
    child = os.fork()
    if child == 0:
        os.setsid()
        out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        code = 1
        with contextlib.suppress(BaseException):
            code = does()
        os._exit(code)
    end = time.monotonic() + seconds
    status = None
    while status is None and time.monotonic() < end:
        done, waited = os.waitpid(child, os.WNOHANG)
        status = waited if done else None
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(status)


def run_tests(copy: Path, tests: str, *plugins: object) -> int:
    """Run the tests in `copy`, in this process; pytest's exit code."""
    import pytest

    os.chdir(copy)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "mlcdr")]:
        del sys.modules[name]
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)
    options = ["-x", "-p", "no:cacheprovider", f"--basetemp={copy.parent / 'tmp'}"]
    return int(pytest.main([*options, *tests.split()], plugins=plugins))


def function_codes(old: CodeType, new: CodeType) -> dict[tuple[str, int], CodeType] | None:
    """What becomes of the functions' code, by name and line; None where more than functions differ."""
    if old.co_flags & inspect.CO_OPTIMIZED:  # a function's, with all within
        return {(old.co_name, old.co_firstlineno): new} if old != new else {}
    parts, plain = [], []
    for code in (old, new):
        parts.append([const for const in code.co_consts if isinstance(const, CodeType)])
        plain.append([const for const in code.co_consts if not isinstance(const, CodeType)])
    if (old.co_code, old.co_names, plain[0]) != (new.co_code, new.co_names, plain[1]):
        return None
    found: dict[tuple[str, int], CodeType] = {}
    for pair in zip(*parts, strict=True):
        within = function_codes(*pair)
        if within is None:
            return None
        found |= within
    return found


class Killing:
    """A pytest plugin: instead of the run, each mutant against the tests that execute its statement."""

    def __init__(self, copy: Path, module: str, drawn: list[str], survived: Path):
        self.copy, self.path, self.drawn, self.survived = copy, copy / module, drawn, survived
        self.source = self.path.read_text(encoding="utf-8")
        self.output = copy.parent / "output.txt"

    def pytest_runtestloop(self, session: Any) -> bool:
        """Write the numbers of the mutants that survive, in JSON."""
        import pytest

        if session.testsfailed or fork(lambda: self._trace(session.items), 1800, self.output) != 0:
            pytest.exit(f"{self.path}: its tests fail as it is:\n{self.output.read_text()}", returncode=1)
        traced = json.loads(self.survived.read_text())
        alive = [number for number, mutant in enumerate(self.drawn) if self._survives(mutant, session.items, traced)]
        self.path.write_text(self.source, encoding="utf-8")
        self.survived.write_text(json.dumps(alive))
        return True

    def _survives(self, mutant: str, items: list[Any], traced: list[tuple[float, list[int]]]) -> bool:
        codes = function_codes(*(compile(text, self.path, "exec", dont_inherit=True) for text in (self.source, mutant)))
        lines = changed_statements(self.source, mutant)
        chosen = sorted((seconds, i) for i, (seconds, executed) in enumerate(traced) if lines & {*executed})
        if codes is None or not chosen:
            return True
        write(self.path, mutant)  # for the processes that a test starts

        def does() -> int:
            for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
                code = function.__code__
                if code.co_filename == str(self.path) and (code.co_name, code.co_firstlineno) in codes:
                    function.__code__ = codes[code.co_name, code.co_firstlineno]
            return int(not all(passes(items[i]) for _, i in chosen))

        return fork(does, 5 * sum(seconds for seconds, _ in chosen) + 10, self.output) == 0

    def _trace(self, items: list[Any]) -> int:
        """Of each test the seconds and the lines of the module that it executes; 0 if all pass."""
        executed: set[int] = set()

        def trace(frame: Any, event: str, _: object) -> Any:
            if frame.f_code.co_filename != str(self.path):
                return None
            executed.add(frame.f_lineno)
            return trace

        found = []
        for item in items:
            executed.clear()
            start = time.monotonic()
            threading.settrace(trace)
            sys.settrace(trace)
            passed = passes(item)
            sys.settrace(None)
            if not passed:
                return 1
            found.append((time.monotonic() - start, sorted(executed)))
        self.survived.write_text(json.dumps(found))
        return 0


def passes(item: Any) -> bool:
    """Run one test, with its fixtures."""
    from _pytest.runner import runtestprotocol

    reports = runtestprotocol(item, log=False, nextitem=None)
    for report in reports:
        print(f"{item.nodeid}: {report.when} {report.outcome}\n{report.longreprtext}", flush=True)
    return not any(report.failed for report in reports)


def changed_statements(source: str, mutant: str) -> set[int]:
    """The lines of the innermost statements that a mutant changes."""
    parts = difflib.SequenceMatcher(None, source.splitlines(), mutant.splitlines(), autojunk=False).get_opcodes()
    changed: set[int] = set()
    for tag, start, end, *_ in parts:
        if tag != "equal":
            changed.update(range(start + 1, max(end, start + 1) + 1))
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    ranges = [range(node.lineno, (node.end_lineno or 0) + 1) for node in statements]
    found: set[int] = set()
    for line in changed:
        around = [each for each in ranges if line in each]
        found.update(min(around, key=len, default=range(line, line + 1)))
    return found


def write(path: Path, text: str) -> None:
    """Write a module, newer by a second than before: else the compiled text of the one before is taken for it."""
    later = path.stat().st_mtime + 1
    path.write_text(text, encoding="utf-8")
    os.utime(path, (later, later))


def judge(copy: Path, module: str, sample: int | None, rng: random.Random) -> bool:
    """Test a module's mutants and print what survives; whether enough are killed."""
    path, output, survived = copy / module, copy.parent / "output.txt", copy.parent / "survived.json"
    source = path.read_text(encoding="utf-8")
    accepted = {changed for name, changed in known() if name == module}
    drawn = [mutant for mutant in islice(mutants(source, rng), sample) if change(source, mutant)[1] not in accepted]
    start = time.monotonic()
    plugin = Killing(copy, module, drawn, survived)
    if fork(lambda: run_tests(copy, MODULES[module], plugin), 10**6, copy.parent / "judged.txt") != 0:
        raise SystemExit((copy.parent / "judged.txt").read_text())
    alive = []
    for mutant in [drawn[number] for number in json.loads(survived.read_text())]:
        write(path, mutant)
        if fork(lambda: run_tests(copy, MODULES[module]), 300, output) == 0:
            alive.append(mutant)
    write(path, source)
    killed = len(drawn) - len(alive)
    share = killed / max(len(drawn), 1)
    seconds = time.monotonic() - start
    print(f"{module}: {killed} of {len(drawn)} mutants killed ({share:.0%}), {seconds:.0f} s", flush=True)
    for line, text in sorted(change(source, mutant) for mutant in alive):
        print(f"{module}:{line}\n{text}\n", flush=True)
    return share >= 0.9


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("modules", nargs="*", default=list(MODULES), metavar="MODULE")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in IMPORTED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name in files.splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        enough = [judge(copy, name, options.sample, random.Random(options.seed)) for name in options.modules]
    return 0 if all(enough) else 1


if __name__ == "__main__":
    sys.exit(main())
