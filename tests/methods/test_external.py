"""Learners that are a command: their files, their predictions, their failures, and that no process stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mlcdr import CPLST, ComposedClassifier, External, ExternalRegressor, Maximise, Ridge
from mlcdr.data.dataset import load_dataset
from mlcdr.methods.learners.predictions import WrongPredictions, read_predictions
from mlcdr.methods.learners.program import CommandFailed

rng = np.random.default_rng(3)
X, N = rng.normal(size=(40, 4)).round(2), rng.normal(size=(7, 4)).round(2)
Y = (X[:, :3] + rng.normal(size=(40, 3)) > 0).astype(int)

# Ridge regression with a penalty of 1 from a CSV file.
RIDGE = """
import sys
import numpy as np

train, test, out, d = sys.argv[1:5]
d = int(d)
T, N = (np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2) for path in (train, test))
assert not N[:, d:].any(), "labels of the test rows"
X, Z = T[:, :d] - T[:, :d].mean(axis=0), T[:, d:] - T[:, d:].mean(axis=0)
W = np.linalg.solve(X.T @ X + np.eye(d), X.T @ Z)
np.savetxt(out, (N[:, :d] - T[:, :d].mean(axis=0)) @ W + T[:, d:].mean(axis=0), delimiter=",")
with open("calls", "a") as log:
    print("called", file=log)
"""

COMMAND = "{python} ridge.py {train} {test} {out} {n_features}"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "ridge.py").write_text(RIDGE)
    return str(tmp_path)


def script(folder: str, text: str, **options: Any) -> External:
    """A classifier whose command is a Python script."""
    Path(folder, "script.py").write_text(text)
    command = "{python} script.py {train} {test} {out} {n_labels}"
    return External(command, folder=folder, **options).fit(X, Y)


# -------------------------------------------------------------------- what a command computes


def test_scores_are_those_of_the_same_method_here_by_one_call(folder: str) -> None:
    program = External(COMMAND, predicts="scores", folder=folder).fit(X, Y)
    own = ComposedClassifier(Ridge(1.0)).fit(X, Y)
    np.testing.assert_allclose(program.decision_function(N), own.decision_function(N), atol=1e-12)
    np.testing.assert_array_equal(program.predict(N), own.predict(N))
    assert Path(folder, "calls").read_text() == "called\n"
    program.predict(N[:3])
    assert Path(folder, "calls").read_text() == "called\ncalled\n"


def test_sparse_rows_give_the_same(folder: str) -> None:
    dense, sparse = (External(COMMAND, predicts="scores", folder=folder).fit(a, Y) for a in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.decision_function(N), sparse.decision_function(sp.csr_array(N)))


def test_a_regressor_takes_codes(folder: str) -> None:
    program = ComposedClassifier(ExternalRegressor(COMMAND, folder=folder), label_space=CPLST(2)).fit(X, Y)
    own = ComposedClassifier(Ridge(1.0), label_space=CPLST(2)).fit(X, Y)
    np.testing.assert_allclose(program.decision_function(N), own.decision_function(N), atol=1e-12)


def test_a_fitted_threshold_gets_the_scores_of_the_training_rows(folder: str) -> None:
    program = External(COMMAND, predicts="scores", folder=folder)
    threshold = Maximise("f1")
    both = [ComposedClassifier(each, threshold=clone(threshold)).fit(X, Y) for each in (program, Ridge(1.0))]
    np.testing.assert_array_equal(both[0].predict(N), both[1].predict(N))


def test_without_out_what_is_printed_is_read(folder: str) -> None:
    Path(folder, "print.py").write_text("import sys\nprint('1 0 1\\n' * int(sys.argv[1]))\n")
    program = External("{python} print.py 7 {train} {test}", folder=folder).fit(X, Y)
    np.testing.assert_array_equal(program.predict(N), [[1, 0, 1]] * 7)
    assert not hasattr(program, "decision_function"), "label sets are no scores"


def test_the_seed_and_the_sizes_stand_in_their_places(folder: str) -> None:
    text = "import sys\nassert sys.argv[1:] == ['7', '4', '3', 'a b']\nprint('0,0,0\\n' * 7)\n"
    Path(folder, "seed.py").write_text(text)
    command = "{python} seed.py {seed} {n_features} {n_labels} 'a b' # {train} {test}".replace("# ", "")
    Path(folder, "seed.py").write_text(text.replace("[1:]", "[1:5]"))
    External(command, folder=folder, random_state=7).fit(X, Y).predict(N)


@pytest.mark.parametrize("form", ["csv", "arff", "meka", "npz", "svmlight", "xmc"])
def test_the_files_are_read_back_as_they_were(form: str, tmp_path: Path) -> None:
    copy = "import shutil, sys\nshutil.copytree(sys.argv[1], 'files')\nprint('0 0 0\\n' * 7)\n"
    (tmp_path / "copy.py").write_text(copy)
    External("{python} copy.py {folder}", form=form, folder=str(tmp_path)).fit(X, Y).predict(N)
    (train,) = (tmp_path / "files").glob("rows-train.*")
    written = load_dataset(str(train), **({"labels": ["y1", "y2", "y3"]} if form == "csv" else {}))
    np.testing.assert_array_equal(np.asarray(written.X.toarray() if sp.issparse(written.X) else written.X), X)
    np.testing.assert_array_equal(np.asarray(written.Y.toarray() if sp.issparse(written.Y) else written.Y), Y)
    if form == "meka":  # in the relation's name, the number of labels, below 0 as they come last
        assert train.read_text().startswith('@RELATION "rows: -C -3"\n')
    if form == "arff":
        names = (tmp_path / "files" / "rows.xml").read_text()
        assert [names.count(f'<label name="y{k}">') for k in range(5)] == [0, 1, 1, 1, 0]


# -------------------------------------------------------------------- what it may write


def read(path: Path, content: str | bytes, form: str = "table", kind: str = "labels", n: int = 2) -> Any:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_predictions(path, form, ["y1", "y2"], n, kind)


@pytest.mark.parametrize(
    "content",
    [
        "1,0\n0,1\n",
        "1 0\r\n0 1",
        "\n1\t0\n\n0\t1\n",
        '"V1","V2"\n1,0\n0,1\n',
        "1.0; 0.0\n0.0; 1.0\n",
        "y2,x1,y1\n0,5,1\n1,7,0\n",
    ],
)
def test_tables_of_several_forms(content: str, tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path / "out", content), [[1, 0], [0, 1]])


def test_numpy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2, dtype=bool))
    np.savez(tmp_path / "a.npz", Y=np.eye(2))
    for name in ("a.npy", "a.npz"):
        np.testing.assert_array_equal(read(tmp_path / "out", (tmp_path / name).read_bytes()), np.eye(2))
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(WrongPredictions, match="allow_pickle=False"):
        read(tmp_path / "out", (tmp_path / "o.npy").read_bytes())


# As MEKA writes it for `-predictions FILE.arff`: the test rows, labels first, with predicted values.
MEKA = """@relation 'rows: -C 2'

@attribute y1 {0,1}
@attribute y2 {0,1}
@attribute x1 numeric

@data
1,0,0.5
0,1,-2
"""

# As Mulan's GettingPredictionsOnUnlabeledData prints it, and `MultiLabelOutput.toString`.
MULAN = """Loading the training data set...
Building the model...
Loading the unlabeled data set...
Predicted bipartion: [true, false]
Predicted bipartion: [false, true]
"""
MULAN_OUTPUT = """Bipartion: [true, false] Confidences: [0.75, 0.1] Ranking: [1, 2]Predicted values: null
Bipartion: [false, true] Confidences: [1.0E-4, 0.5] Ranking: [2, 1]Predicted values: null
"""


def test_recorded_outputs_of_meka_and_mulan(tmp_path: Path) -> None:
    expected = [[1, 0], [0, 1]]
    np.testing.assert_array_equal(read(tmp_path / "out", MEKA, "arff"), expected)
    sparse = MEKA.replace("1,0,0.5", "{0 1,2 0.5}").replace("0,1,-2", "{1 1,2 -2}")
    np.testing.assert_array_equal(read(tmp_path / "out", sparse, "arff"), expected)
    np.testing.assert_array_equal(read(tmp_path / "out", MEKA.replace("{0,1}", "{1,0}"), "arff"), expected)
    np.testing.assert_array_equal(read(tmp_path / "out", MULAN, "mulan"), expected)
    np.testing.assert_array_equal(read(tmp_path / "out", MULAN_OUTPUT, "mulan"), expected)
    scores = read(tmp_path / "out", MULAN_OUTPUT, "mulan", "scores")
    np.testing.assert_array_equal(scores, [[0.75, 0.1], [1e-4, 0.5]])


@pytest.mark.parametrize(
    ("content", "form", "kind", "message"),
    [
        ("1,0\n", "table", "labels", r"1×2 numbers, expected 2×2 \(rows × targets\)"),
        ("1,0,0\n0,1,1\n", "table", "labels", "2×3 numbers, expected 2×2"),
        ("1,0\n0,0.7\n", "table", "labels", "0.7 in row 2, column 2, expected 0 or 1; `predicts: scores`"),
        ("1,nan\n0,1\n", "table", "scores", "nan in row 1, column 2, expected a finite number"),
        ("1,0\n0,-Inf\n", "table", "scores", "-inf in row 2, column 2"),
        ("1,NA\n0,1\n", "table", "labels", "not a table of numbers: .*NA"),
        ("", "table", "labels", "not a table of numbers: it is empty"),
        ("x" * 2_000_000, "table", "labels", "2,000,000 bytes"),
        (MEKA.replace("y2", "z"), "arff", "labels", "not an ARFF file with the labels: it has no attribute y2"),
        ("hello", "arff", "labels", "not an ARFF file with the labels"),
        ("Building the model...", "mulan", "labels", r"no line has `Bipartion: \[true, false\]`"),
    ],
)
def test_another_output_is_refused(content: str, form: str, kind: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(WrongPredictions, match=f"^wrong output: .*{message}"):
        read(tmp_path / "out", content, form, kind)


# -------------------------------------------------------------------- failures


def test_a_failure_has_the_exit_code_and_the_end_of_what_was_printed(folder: str) -> None:
    failing = script(
        folder, "import sys\nprint('Error: no licence', file=sys.stderr)\nprint('bye', file=sys.stderr)\nsys.exit(3)"
    )
    with pytest.raises(CommandFailed) as caught:
        failing.predict(N)
    first, *tail = str(caught.value).splitlines()
    assert first == "exit code 3: `{python} script.py {train} {test} {out} {n_labels}`: Error: no licence"
    assert tail == ["  Error: no licence", "  bye"]


def test_other_failures_say_what_happened(folder: str) -> None:
    for text, message in [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "^ended by SIGSEGV: "),
        ("", "^no output: .* ended well and has not written {out}"),
        ("print(1 / 0)", "ZeroDivisionError: division by zero"),
    ]:
        with pytest.raises((CommandFailed, WrongPredictions), match=message):
            script(folder, text).predict(N)
    with pytest.raises(CommandFailed, match=r"^not started: 'no-such-program' in .*: No such file or directory"):
        External("no-such-program {train} {test}", folder=folder).fit(X, Y).predict(N)
    with pytest.raises(CommandFailed, match=r"^no folder: "):
        External(COMMAND, folder=f"{folder}/none").fit(X, Y).predict(N)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("octave 'ridge.m {train} {test}", "cannot be divided into words: No closing quotation"),
        ("  ", "cannot be divided into words: no program"),
        ("octave {train} {tst}", r"has no placeholder \{tst\}"),
        ("octave ridge.m {train} {out}", r"must name \{train\} and \{test\}"),
        ("octave ridge.m {train} {test} {xml}", r"asks for \{xml\}, which the form csv does not have"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_runs(command: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^The 'command' parameter of External {message}"):
        External(command).fit(X, Y)


# Starts a child that would live for a minute, writes its process number, and waits.
LINGERING = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open("child", "w") as file:
    file.write(str(child.pid))
time.sleep({seconds})
print("0,0,0\\n" * 7, file=open(sys.argv[3], "w"))
"""


def is_gone(folder: str, within: float = 5.0) -> bool:
    """Whether the child of LINGERING ends soon."""
    started = Path(folder, "child")
    if not started.exists() or not started.read_text():  # on a busy machine the timeout may come before
        return True
    pid = int(started.read_text())
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
@pytest.mark.parametrize("seconds", [0, 60])
def test_all_processes_of_a_command_end_with_it_or_at_the_timeout(folder: str, seconds: int) -> None:
    program = script(folder, LINGERING.format(seconds=seconds), timeout=1.0 if seconds else 60.0)
    if seconds:
        with pytest.raises(CommandFailed, match=r"^timeout: `.*` was ended after 1 s$"):
            program.predict(N)
    else:
        program.predict(N)
    assert is_gone(folder)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_a_process_that_is_killed_leaves_no_command_behind(folder: str) -> None:
    Path(folder, "script.py").write_text(LINGERING.format(seconds=60))
    caller = (
        "import numpy as np; from mlcdr import External\n"
        "External('{python} script.py {train} {test} {out}').fit(np.eye(3), np.eye(3, dtype=int)).predict(np.eye(3))"
    )
    temporary = Path(folder, "temporary")
    temporary.mkdir()
    process = subprocess.Popen([sys.executable, "-c", caller], cwd=folder, env={**os.environ, "TMPDIR": str(temporary)})
    while not Path(folder, "child").exists() or not Path(folder, "child").read_text():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert is_gone(folder)
    assert list(temporary.iterdir()) == []
