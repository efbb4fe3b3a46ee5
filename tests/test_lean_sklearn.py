"""How the command and its workers import scikit-learn: without what they seldom use, which is there when it is used."""

from __future__ import annotations

import subprocess
import sys


def answer(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_workers_import_neither_statistics_nor_pandas() -> None:
    program = "import sys, mlcdr.experiment.workers; print([n for n in ('scipy.stats', 'pandas') if n in sys.modules])"
    assert answer(program) == "[]"


def test_afterwards_they_are_imported_as_ever() -> None:
    """Through SciPy, through scikit-learn and by name it is one module, of which nothing is there twice."""
    program = (
        "import sys, mlcdr.lean_sklearn\n"
        "from sklearn.utils import fixes\n"
        "mode = int(fixes._mode([1, 1, 2]).mode.item())\n"
        "import scipy, scipy.stats, pandas\n"
        "from scipy.stats._stats_py import rankdata\n"
        "print(mode, scipy.stats is sys.modules['scipy.stats'], scipy.stats.rankdata is rankdata,"
        " fixes.pd.DataFrame is pandas.DataFrame, type(sys.modules['scipy.stats']).__name__)"
    )
    assert answer(program) == "1 True True True module"


def test_what_is_there_already_stays() -> None:
    program = (
        "import sys, scipy.stats, pandas\nbefore = scipy.stats, pandas\nimport mlcdr.lean_sklearn\n"
        "print(before == (sys.modules['scipy.stats'], sys.modules['pandas']))"
    )
    assert answer(program) == "True"
