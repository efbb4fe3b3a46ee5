"""WEKA's J48 of each label, by WEKA's own command line: python weka_j48.py TRAIN TEST OUT N_FEATURES N_LABELS

weka.jar is the file named by the environment variable WEKA_JAR, or that of the package python-weka-wrapper3.
"""

import csv
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

train, test, out, d, n_labels = sys.argv[1:]
n_features, n_labels = int(d), int(n_labels)


def find_jar():
    """The path of weka.jar."""
    if "WEKA_JAR" in os.environ:
        return os.environ["WEKA_JAR"]
    package = importlib.util.find_spec("weka")
    if package is None:
        sys.exit("set WEKA_JAR to the path of weka.jar, or: pip install python-weka-wrapper3")
    return str(Path(package.origin).with_name("lib") / "weka.jar")


def predict(label):
    """The predictions (n) of a tree for one label, counted from 1, from which the other labels are removed."""
    others = [str(n_features + k) for k in range(1, n_labels + 1) if k != label]
    predictions = Path(out).with_name(f"label{label}.csv")
    command = ["java", "-cp", find_jar(), "weka.classifiers.meta.FilteredClassifier", "-t", train, "-T", test]
    command += ["-c", str(n_features + label), "-v", "-o"]
    command += ["-classifications", f"weka.classifiers.evaluation.output.prediction.CSV -suppress -file {predictions}"]
    command += ["-F", f"weka.filters.unsupervised.attribute.Remove -R {','.join(others)}"]
    command += ["-W", "weka.classifiers.trees.J48"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with predictions.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    column = rows[0].index("predicted")
    return [row[column].partition(":")[2] for row in rows[1:]]  # "2:1" is the second value of the attribute, 1


labels = [predict(label) for label in range(1, n_labels + 1)]
with Path(out).open("w", newline="") as file:
    csv.writer(file).writerows(zip(*labels, strict=True))
