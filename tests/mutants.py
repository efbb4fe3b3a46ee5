"""`make mutants`: small faults put into the code one by one (cosmic-ray's operators); its tests must fail of each.

A mutant is a copy of the repository with one fault in one module. It is killed when a test fails or the time is up,
and survives when all tests pass. A survivor that changes nothing that can be seen stands in tests/mutants.txt with the
reason. The exit code is 1 where a module's tests kill less than 90 % of its other mutants.

Third-party packages are imported once, and each mutant is tested in a fork of that process, since to import them takes
longer than the tests. With `--sample N` N mutants of each module are drawn, by `--seed`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_suffix(".txt")

# A module, and the tests that are to kill its mutants.
MODULES = {
    "mlcdr/metrics/label_sets.py": "tests/test_metrics.py tests/methods/test_metrics.py",
    "mlcdr/metrics/outcome.py": "tests/test_metrics.py tests/test_ranking_metrics.py",
    "mlcdr/metrics/ranking.py": "tests/test_ranking_metrics.py",
    "mlcdr/methods/thresholds.py": "tests/methods/test_thresholds.py",
    "mlcdr/comparison/statistics.py": "tests/reporting/test_statistics.py tests/reporting/test_significance.py",
    "mlcdr/experiment/splits.py": "tests/experiment/test_splits.py tests/experiment/test_labelled.py",
    "mlcdr/experiment/division.py": "tests/experiment/test_splits.py tests/experiment/test_labelled.py",
    "mlcdr/experiment/fold_files.py": "tests/experiment/test_splits.py",
    "mlcdr/experiment/stratification.py": "tests/experiment/test_stratification.py",
    "mlcdr/experiment/keys.py": "tests/experiment/test_keys.py",
    "mlcdr/experiment/trials.py": "tests/experiment/test_trials.py",
    "mlcdr/results/store.py": "tests/experiment/test_store.py tests/experiment/test_tune.py "
    "tests/test_commands_status.py",
    "mlcdr/methods/composition.py": "tests/methods/test_composition.py tests/methods/test_label_space.py",
    "mlcdr/numerics/moments.py": "tests/methods/test_moments.py tests/methods/test_streams.py",
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
            named = lambda child: getattr(child, "type", "") == "argument" and child.children[1] == "="  # noqa: E731
            found = [(start, end) for start, end in found if named(node.children[start])]
        return found if commas else []

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        yield from [
            (node.children[start].start_pos, node.children[end - 1].end_pos) for start, end in self._entries(node)
        ]

    def mutate(self, node: Any, index: int) -> Any:
        start, end = self._entries(node)[index]
        del node.children[start:end]
        return node


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
    places = [
        (operator, number)
        for operator in operators
        for number in range(sum(1 for node in nodes for _ in operator.mutation_positions(node)))
    ]
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


def passes(copy: Path, tests: str, seconds: float) -> bool:
    """Whether all tests pass in `copy` within so many seconds."""
    child = os.fork()
    if child == 0:
        os.setsid()
        out = os.open(copy.parent / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(copy)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "mlcdr")]:
            del sys.modules[name]
        sys.path.insert(0, str(copy))
        os.environ["PYTHONPATH"] = str(copy)
        import pytest

        code = 1
        with contextlib.suppress(BaseException):
            code = pytest.main(["-x", "-p", "no:cacheprovider", f"--basetemp={copy.parent / 'tmp'}", *tests.split()])
        os._exit(code)
    end = time.monotonic() + seconds
    status = None
    while status is None and time.monotonic() < end:
        done, waited = os.waitpid(child, os.WNOHANG)
        status = waited if done else None
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status == 0


def judge(copy: Path, module: str, sample: int | None, rng: random.Random) -> bool:
    """Test a module's mutants and print what survives; whether enough are killed."""
    path = copy / module
    source = path.read_text(encoding="utf-8")
    accepted = {changed for name, changed in known() if name == module}
    drawn = [mutant for mutant in islice(mutants(source, rng), sample) if change(source, mutant)[1] not in accepted]
    start = time.monotonic()
    if not passes(copy, MODULES[module], 1800):
        raise SystemExit(f"{module}: its tests fail as it is:\n{(copy.parent / 'output.txt').read_text()}")
    seconds = 20 * (time.monotonic() - start) + 30
    survivors = []
    for number, mutant in enumerate(drawn, 1):
        path.write_text(mutant, encoding="utf-8")
        os.utime(path, (number, number))  # else the compiled text of the one before is taken for it
        if passes(copy, MODULES[module], seconds):
            survivors.append(mutant)
    path.write_text(source, encoding="utf-8")
    killed = len(drawn) - len(survivors)
    share = killed / max(len(drawn), 1)
    print(f"{module}: {killed} of {len(drawn)} mutants killed ({share:.0%})", flush=True)
    for line, text in sorted(change(source, mutant) for mutant in survivors):
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
