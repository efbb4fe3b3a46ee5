"""What a fit of M5P costs beside WEKA's own, live and in one run.

    python -m tools.benchmarks.m5p

emotions, yeast and genbase; the first code dimension of PLST, and all of them; 90 % of the rows. CPU seconds, those of
Java's compiler and collector included.

ours    `M5P().fit`, checks and sorting included; the least of some, with the machine code loaded;
first   WEKA's `buildClassifier`, the first that its Java machine is asked for; the start of the machine and the reading
        of the data are taken off. Every case has a machine of its own;
again   the least of those that follow on the same data, which Java has compiled by then.

Both must say the same of the other rows. Needs Java and python-weka-wrapper3; without them our own times are printed
alone. Exit code 1 if first/ours misses its mark.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from mlcdr.data.dataset import load_dataset
from mlcdr.errors import UserError
from mlcdr.methods.label_space.plst import PLST
from mlcdr.methods.learners import weka_m5p
from mlcdr.methods.learners.m5p import M5P
from mlcdr.numerics.sums import dense

DATASETS = ("emotions", "yeast", "genbase")
OUTPUTS = ("one", "all")
LEAST_RATIO = 8.0


def timed(function):
    """CPU seconds of all threads, and what the function gives."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def weka_seconds(X, Z, new, times):
    """Seconds of each fit of all outputs, and what the models say of new rows."""
    java_class = weka_m5p._started()
    rows, asked = weka_m5p._instances(java_class, X), weka_m5p._instances(java_class, new)
    seconds = []
    for _ in range(times):
        said, spent = [], 0.0
        for target in Z.T.tolist():
            for i, value in enumerate(target):
                rows.instance(i).setClassValue(value)
            model = java_class("weka.classifiers.trees.M5P")()
            spent += timed(lambda model=model: model.buildClassifier(rows))[0]
            said.append([model.classifyInstance(asked.instance(i)) for i in range(len(new))])
        seconds.append(spent)
    return seconds, np.array(said).T


def measure(name, outputs, with_weka):
    """One case, in a process of its own: the seconds by what was timed.

    Raises
    ------
    AssertionError
        When WEKA's trees say something else than ours.
    """
    dataset = load_dataset(name)
    X, Y = dense(dataset.X), dense(dataset.Y)
    order = np.random.default_rng(2012).permutation(len(X))
    train, test = order[len(X) // 10 :], order[: len(X) // 10]
    Z = PLST().fit(X[train], Y[train]).encode(Y[train])[:, : 1 if outputs == "one" else None]
    M5P.warm_up()
    fits = [timed(lambda: M5P().fit(X[train], Z)) for _ in range(10 if outputs == "one" else 3)]
    found = {"outputs": Z.shape[1], "ours": min(seconds for seconds, _ in fits)}
    if with_weka:
        seconds, said = weka_seconds(X[train], Z, X[test], 6 if outputs == "one" else 2)
        np.testing.assert_allclose(fits[0][1].predict(X[test]), said, rtol=1e-9, atol=1e-12)
        found |= {"first": seconds[0], "again": min(seconds[1:])}
    return found


def main() -> int:
    """Measure and print."""
    try:
        weka_m5p.require_weka()
        with_weka = True
    except UserError as error:
        print(f"WEKA is not measured: {error}")
        with_weka = False
    heads = ("ours", "first", "again", "first/ours", "again/ours") if with_weka else ("ours",)
    print(f"{'CPU s a fit':<12}{'outputs':>9}" + "".join(f"{head:>12}" for head in heads))
    missed = []
    for name in DATASETS:
        for outputs in OUTPUTS:
            command = [sys.executable, "-m", "tools.benchmarks.m5p", name, outputs, *(["weka"] if with_weka else [])]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                return 1
            found = json.loads(done.stdout.splitlines()[-1])
            line = f"{name:<12}{found['outputs']:>9}{found['ours']:>12.4f}"
            if with_weka:
                ratio, later = found["first"] / found["ours"], found["again"] / found["ours"]
                line += f"{found['first']:>12.3f}{found['again']:>12.3f}{ratio:>12.1f}{later:>12.1f}"
                if ratio < LEAST_RATIO:
                    missed.append(f"{name}, {outputs}: {ratio:.1f} times")
            print(line, flush=True)
    if missed:
        print(f"missed, wanted {LEAST_RATIO:.0f}: {'; '.join(missed)}")
        return 1
    if with_weka:
        print("every mark is met")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with threadpool_limits(1):
            print(json.dumps(measure(sys.argv[1], sys.argv[2], "weka" in sys.argv[3:])))
    else:
        sys.exit(main())
