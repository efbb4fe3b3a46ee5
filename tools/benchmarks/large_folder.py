"""A results folder of 100,000 trials: CPU seconds of computing what is missing, and of each command that reads it.

    python -m tools.benchmarks.large_folder [FOLDER]

The trials are of five small data sets, made, and take some three minutes the first time; a FOLDER keeps them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import yaml

from tools.benchmarks.measuring import spent

EXPERIMENT = {
    "name": "large",
    "datasets": [{"synthetic": {"n_instances": 40, "n_features": d, "n_labels": 5, "seed": 1}} for d in range(4, 9)],
    "splits": {"kind": "shuffle", "repeats": 1000, "train_size": 0.75, "seed": 1},
    "metrics": ["hamming_loss", "f1", "micro_f1"],
    "sweep": {"label_space.n_components": [1, 2, 3, 4, 5]},
    "methods": {
        name: {"label_space": name.lower(), "learner": "least_squares"} for name in ("PBR", "OCCA", "PLST", "CPLST")
    },
    "tables": [{"layout": "generic", "metric": "hamming_loss"}],
}
COMMANDS = (
    ["run", "large.yaml", "--quiet"],
    ["run", "large.yaml"],
    ["status"],
    ["plan", "large.yaml"],
    ["table"],
    ["compare"],
    ["report"],
)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "large.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
        for line in COMMANDS:
            given = line if len(line) > 1 else [*line, "results/large"]
            print(f"{' '.join(line):25}  {spent(['-m', 'mlcdr', *given], folder)[0]:7.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
