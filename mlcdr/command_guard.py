"""Runs a command, and ends all that it has started when the command ends, or when the process that asked for it does.

It is a program of its own (`mlcdr.processes.run_command` starts it), because a run that is killed cannot end anything
any more. It leads a process group, and its standard input is a pipe from the run, which the system closes when the run
is gone, for whatever reason.

    python command_guard.py FILE PROGRAM ARGUMENT...

FILE gets the exit code (of a command that a signal ended, the signal's number below 0); or, where the program cannot be
started, why. Its folder is the command's own, and is removed where the run is gone and cannot do so.
"""

import os
import signal
import subprocess
import sys
import threading


def main(file: str, command: list[str]) -> None:
    """Run the command; this process ends with its group."""
    threading.Thread(target=_end_with_run, args=(os.path.dirname(file),), daemon=True).start()  # noqa: PTH120 (as below)
    try:
        told = str(subprocess.call(command, stdin=subprocess.DEVNULL))
    except OSError as error:
        told = error.strerror or str(error)
    with open(file, "w", encoding="utf-8") as out:  # noqa: PTH123 (to import pathlib takes as long as all else)
        out.write(told)
    _end_group()


def _end_with_run(scratch: str) -> None:
    """Wait until the run is gone, which closes its end of the pipe; remove the scratch folder and end the group."""
    while os.read(0, 1):
        pass
    import shutil

    shutil.rmtree(scratch, ignore_errors=True)
    _end_group()


def _end_group() -> None:
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
