"""The way of a new user, from `pip install` of the wheel in an empty folder to the report; and the same in a notebook.

    python -m tests.test_new_user [FOLDER]

walks it in a folder that stays. The environment is a new one, which pip fills with the wheel and what it needs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
# A data set of one's own, a file of another program, a generator, one that comes with mlcdr, and one made by mlcdr.
CONFIG = """
name: first
datasets:
  - mine.csv: {labels: "is_*"}
  - other.svm
  - drawn:
      function: sklearn.datasets.make_multilabel_classification
      arguments: {n_samples: 90, n_features: 12, n_classes: 4, random_state: 3}
  - yeast
  - synthetic: {n_instances: 80, n_features: 10, n_labels: 4, seed: 1}
splits: {kind: kfold, folds: 3, seed: 7, stratified: true}
metrics: [hamming_loss, macro_f1, ranking_loss, lrap]
methods:
  Mine:   {label_space: {halver.Halver: {n_components: 2}}, learner: ridge}
  CPLST:
    label_space: cplst
    learner: ridge
    tune: {grid: {learner.alpha: [0.1, 1, 10], label_space.n_components: [50%, 100%]}, folds: 3, metric: ranking_loss}
  Forest: {learner: {sklearn.ensemble.RandomForestClassifier: {n_estimators: 10}}}
  ECC:    {learner: {ensemble: {n_members: 3, estimator: {classifier_chain: {estimator: ridge, order: random}}}}}
keep: {models: true}
"""
# Messy data; what a reviewer asks for (memory, tests within a data set); a model for new rows; a colleague's machine.
MESSY = """
name: people
datasets: [{people.csv: {labels: "tag_*", drop: id, dates: parts, missing: keep}}]
splits: {kind: kfold, folds: 5, repeats: 2, seed: 1}
metrics: [hamming_loss, micro_f1, fit_memory]
sweep: {label_space.n_components: [1, 2, 3]}
defaults: {feature_space: sklearn.impute.SimpleImputer}
methods:
  PLST:  {label_space: plst, learner: ridge}
  CPLST: {label_space: cplst, learner: ridge, tune: {grid: {learner.alpha: [0.1, 1, 10]}, folds: 3}}
  Own:   {learner: {external: {command: "{python} mean.py {train} {test} {n_features}", predicts: scores}}}
"""
MEAN = """
import sys
import numpy as np
train, test, d = sys.argv[1:]
rows = np.loadtxt(train, delimiter=",", skiprows=1)
new = np.loadtxt(test, delimiter=",", skiprows=1, ndmin=2)
np.savetxt(sys.stdout, np.tile(rows[:, int(d):].mean(axis=0), (len(new), 1)))
"""
NOTEBOOK = """
    import pandas as pd
    import mlcdr
    from halver import Halver
    ---
    frame = pd.read_csv("mine.csv")
    Y = frame[[name for name in frame if name.startswith("is_")]]
    X = frame.drop(columns=Y.columns)
    numbers = pd.get_dummies(X, dtype=float)
    Halver(2).fit(numbers, Y).encode(Y).shape
    ---
    results = mlcdr.run("first.yaml", out="from_python")
    results
    ---
    same = mlcdr.open_results("results/first")
    keys = ["dataset", "method", "split", "metric"]
    both = results.scores.merge(same.scores, on=keys, suffixes=("", "_of_the_command"))
    scores = both[~both.metric.str.endswith("_seconds")]
    assert len(scores) == 5 * 4 * 3 * 4, len(scores)
    pd.testing.assert_series_equal(scores.value, scores.value_of_the_command, check_names=False)
    results.summary.head()
    ---
    results.table("ranking_loss")
    ---
    results.compare("lrap")
    ---
    results.plot()
    ---
    results.report()
    ---
    in_memory = mlcdr.run(
        {
            "name": "memory",
            "datasets": ["mine"],
            "splits": {"kind": "shuffle", "repeats": 2, "train_size": 0.8, "seed": 1},
            "metrics": ["hamming_loss"],
            "methods": {"Mine": {"label_space": "halver.Halver", "learner": "ridge"}},
        },
        datasets={"mine": (X, Y)},
        out=None,
    )
    assert not in_memory.failures.size
    in_memory.table()
    ---
    model = mlcdr.ComposedClassifier(mlcdr.Ridge(), label_space=mlcdr.CPLST(2)).fit(numbers, Y)
    model.predict(numbers).mean()
    ---
    import pathlib

    kept = next(pathlib.Path("results/first/kept/mine/Mine").glob("split0-*"))
    mlcdr.load_model(kept, trust=True).predict(X.iloc[[5]])
"""


def write_data(folder: Path) -> None:
    """`mine.csv`, and `other.svm` as scikit-learn writes it."""
    import pandas as pd
    from sklearn.datasets import dump_svmlight_file, make_multilabel_classification

    X, Y = make_multilabel_classification(100, 8, n_classes=5, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    frame["colour"] = np.where(X[:, 0] > X[:, 1], "red", "blue")
    pd.concat([frame, pd.DataFrame(Y).add_prefix("is_")], axis=1).to_csv(folder / "mine.csv", index=False)
    X, Y = make_multilabel_classification(100, 15, n_classes=4, random_state=1)
    dump_svmlight_file(X, Y, str(folder / "other.svm"), multilabel=True)


def install(folder: Path) -> Path:
    """The programs of a new environment into which pip has installed the wheel of this checkout."""

    def pip(python: Path | str, *arguments: object) -> None:
        line = [str(python), "-m", "pip", *map(str, arguments), "--quiet", "--disable-pip-version-check"]
        subprocess.run(line, check=True, cwd=folder)

    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder / "wheel", ROOT)
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    (wheel,) = (folder / "wheel").glob("mlcdr-*.whl")
    wanted = (f"{wheel}[models]", "nbclient", "ipykernel")
    pip(programs / "python", "install", "--constraint", ROOT / "constraints.txt", *wanted)
    return programs


def walk(folder: Path) -> None:
    """Every step of a new user in an empty folder; AssertionError where one does not do what it should."""
    programs = install(folder)
    home = folder / "home"
    work = folder / "work"
    home.mkdir()
    work.mkdir()
    write_data(work)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MLCDR_", "PYTHON", "VIRTUAL"))}
    environment = {**kept, "HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def do(line: str, code: int = 0) -> str:
        done = subprocess.run(line, shell=True, cwd=work, env=environment, capture_output=True, text=True)
        print(f"$ {line}\n{done.stdout}{done.stderr}", flush=True)
        assert done.returncode == code, (line, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    assert "n_labels: 5" in do("mlcdr datasets info mine.csv --set 'labels=is_*'")
    do("mlcdr new method halver --part label_space")
    assert "ok      label_space halver.Halver" in do("mlcdr test halver.py")
    (work / "first.yaml").write_text(CONFIG, encoding="utf-8")
    do("mlcdr check first.yaml --try --trust")
    first = do("mlcdr run first.yaml --jobs 2")
    assert "60 trials, all newly computed" in first
    assert "60 trials, none newly computed" in do("mlcdr run first.yaml --jobs 2")
    for metric in ("macro_f1", "lrap"):
        assert "Forest" in do(f"mlcdr compare results/first --metric {metric}")
    do("mlcdr status results/first")
    do("mlcdr report results/first")
    assert "<svg" in (work / "results/first/report.html").read_text(encoding="utf-8")
    do("mlcdr example my_method")
    (model, *_) = sorted((work / "results/first/kept/mine/CPLST").glob("split0-*"))
    do("cut -d, -f 1-9 mine.csv | head -n 3 > new.csv")  # two rows, without labels
    do(f"mlcdr predict {model} new.csv --trust --out predicted.csv")
    assert (work / "predicted.csv").read_text().startswith("row,is_0,is_1")
    walk_messy(work, do)
    walk_notebook(work, environment)


def walk_messy(work: Path, do: Callable[..., str]) -> None:
    """From a messy CSV to predictions of new rows, in parts, and on another machine."""
    write_messy(work)
    (work / "people.yaml").write_text(MESSY, encoding="utf-8")
    (work / "mean.py").write_text(MEAN, encoding="utf-8")
    report = do("mlcdr datasets info people.csv --set 'labels=tag_*'", code=2)
    assert [name in report for name in ("'id'", "'joined'", "'age'")] == [True] * 3
    assert "`--trust`" in do("mlcdr run people.yaml", code=2)
    for number in (2, 1):
        do(f"mlcdr run people.yaml --trust --part {number}/2 --quiet")
    assert "2 parts: 2 finished" in do("mlcdr status results/people")
    assert "MB" in do("mlcdr table results/people --metric fit_memory")
    within = do("mlcdr compare results/people --metric hamming_loss --within")
    assert "corrected resampled t test" in within
    tried = (work / "results/people/tried.csv").read_text(encoding="utf-8").splitlines()
    assert len(tried) == 1 + 3 * 3 * 10
    fitted = do("mlcdr fit people.yaml --trust --method CPLST --metric micro_f1 --out people.skops")
    assert "the best of 3 points by micro_f1" in fitted
    assert "--unknown missing" in do("mlcdr predict people.skops new_people.csv --trust", code=2)
    predicted = do("mlcdr predict people.skops new_people.csv --trust --unknown missing")
    assert "1 word that the training data did not have, taken as missing: 'colour' (1 row: {violet})" in predicted
    do("mkdir colleague && mv people.csv people.yaml mean.py colleague && mv results/people colleague/here")
    moved = do("cd colleague && mkdir results && mv here results/people && mlcdr run people.yaml --trust")
    assert "none newly computed" in moved


def write_messy(folder: Path) -> None:
    """`people.csv`, with identifiers, words, dates and gaps; `new_people.csv`, with a word that it does not have."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 80
    frame = pd.DataFrame({"id": [f"p{row % 75}" for row in range(n)], "age": rng.integers(20, 80, n).astype(float)})
    frame["colour"] = rng.choice(["red", "green", "blue"], n)
    frame["joined"] = pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d")
    for name, size in (("old", frame["age"] > 50), ("red", frame["colour"] == "red"), ("odd", rng.random(n) > 0.5)):
        frame[f"tag_{name}"] = np.where(size, "yes", "no")
    frame.loc[3, "age"] = np.nan
    frame.to_csv(folder / "people.csv", index=False)
    new = frame.head(4)[["age", "colour", "joined"]].copy()
    new.loc[0, "colour"] = "violet"
    new.to_csv(folder / "new_people.csv", index=False)


def walk_notebook(work: Path, environment: dict[str, str]) -> None:
    """The same in a notebook, whose scores must be those of the command; Jupyter's kernel executes it."""
    script = """
        import sys, nbformat
        from nbclient import NotebookClient
        cells = [nbformat.v4.new_code_cell(cell) for cell in sys.stdin.read().split("---\\n")]
        book = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(book, timeout=600, kernel_name="python3").execute()
        nbformat.write(book, "first.ipynb")
        shown = [bool(cell.outputs) for cell in cells]
        print("shown:", *shown)
    """
    done = subprocess.run(
        ["python", "-c", textwrap.dedent(script)],
        input=textwrap.dedent(NOTEBOOK),
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr, sep="\n", flush=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search("shown: False( True)+$", done.stdout.strip())


@pytest.mark.slow
def test_a_new_user_gets_from_the_wheel_to_the_report(tmp_path):
    walk(tmp_path)


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "new_user").resolve()
    place.mkdir(parents=True)
    walk(place)
