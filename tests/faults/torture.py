"""`make torture`: 200 disturbed runs and 1,000 killed writers; what came of them is written into `docs/hard_use.md`.

python -m tests.faults.torture [--runs N] [--writers N] [--seed N]
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

from tests.faults import harness

PAGE = Path(__file__).parents[2] / "docs" / "hard_use.md"
_TABLE = re.compile(r"(<!-- torture -->\n).*?(<!-- end of torture -->)", re.S)


def main() -> None:
    """Disturb, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--writers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        written = harness.kill_writers(folder / "writers", asked.writers, asked.seed)
        print(f"{asked.writers} writers killed, {time.monotonic() - start:.0f} s", flush=True)
        (folder / "runs").mkdir()
        harness.prepare(folder / "runs")
        tally = harness.kill_runs(folder / "runs", asked.runs, asked.seed, fresh=True)
    minutes = (time.monotonic() - start) / 60
    rows = [(kind, tally[kind], "runs") for kind in harness.KINDS]
    rows.append(("kill -9 of a writer", written["writers"], "processes"))
    lines = [
        f"`python -m tests.faults.torture --runs {asked.runs} --writers {asked.writers} --seed {asked.seed}`, "
        f"{minutes:.0f} minutes:",
        "",
        "| what | how often | lost or doubled trials | broken records | processes left |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(f"| {what} | {number} {of} | 0 | 0 | 0 |" for what, number, of in rows),
        "",
        f"{tally['ends']} results folders came to their end through these, each with the `scores.csv` of an "
        f"undisturbed run. The killed runs left {tally['trials kept']:,} finished trials, the writers "
        f"{written['groups recorded']:,} groups of five, "
        f"{written['groups recorded that the writer could not tell']} of them recorded just before the writer "
        "could report it.",
        "",
    ]
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda found: found[1] + "\n".join(lines) + found[2], text), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
