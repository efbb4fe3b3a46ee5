"""`python -m tests.fuzz [--seconds N] [READER…]`: each reader for N seconds, guided by coverage (atheris).

A case that is neither read nor refused in our own words, or takes over a second, or 2 GB, ends it with exit code 1
and is left as a file beside.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FunctionType

from tests.fuzz.readers import HOSTILE, READERS


def fuzz(name: str, seconds: int) -> None:
    """One reader, in this process, which it ends."""
    import atheris

    read, seeds, _ = READERS[name]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    for k, seed in enumerate(seeds):
        (corpus / str(k)).write_bytes(seed)
    words = folder / "words"
    spelt = ["".join(f"\\x{byte:02x}" for byte in word) for word in HOSTILE if word]
    words.write_text("".join(f'"{word}"\n' for word in spelt))
    for key, module in list(sys.modules.items()):
        if key.startswith(("mlcdr.data.", "mlcdr.experiment.", "mlcdr.results.")):
            for function in list(vars(module).values()):
                if isinstance(function, FunctionType) and function.__module__ == key:
                    atheris.instrument_func(function)
    limits = [f"-max_total_time={seconds}", "-timeout=1", "-rss_limit_mb=2048", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *limits, f"-dict={words}", str(corpus)], lambda data: read(folder, data) and None)
    atheris.Fuzz()


def main() -> int:
    """Each reader in a process of its own: atheris ends the one that it runs in."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=450)
    parser.add_argument("readers", nargs="*")
    asked = parser.parse_args()
    names = asked.readers or [name for name in READERS if name != "command_line"]
    if os.environ.get("MLCDR_FUZZ_ONE"):
        fuzz(names[0], asked.seconds)
        return 0
    worst = 0
    for name in names:
        print(f"--- {name}", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(asked.seconds), name]
        env = {**os.environ, "MLCDR_FUZZ_ONE": "1", "MLCDR_CACHE": "/dev/null/no"}
        worst = max(worst, abs(subprocess.run(command, env=env, check=False).returncode))
    return min(worst, 1)


if __name__ == "__main__":
    sys.exit(main())
