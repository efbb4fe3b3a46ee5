"""The command line: parse, call, print. The work of a command is done by the package that it calls.

The list of commands is in `mlcdr.cli.commands`. The other packages are imported inside the commands, so that
`mlcdr --help` is fast.
"""

from __future__ import annotations

import gc
import io
import os
import sys

from mlcdr.errors import UserError
from mlcdr.lazy_imports import postpone
from mlcdr.processes import Stop, record_ctrl_c
from mlcdr.standard_streams import describe_failure, print_notice, protect_streams


def main() -> None:
    """Entry point: user-facing errors become lines and exit code 2.

    Output that cannot be written is dropped, and the command continues. If standard output is incomplete for another
    reason than a pipe closed by its reader (`| head`), the reason is printed, and the exit code is 2.
    """
    gc.disable()  # imports make many objects that all stay: to look through them takes a fifth of a command's start
    postpone()
    protect_streams()
    if "_MLCDR_COMPLETE" in os.environ:
        os.environ["COLUMNS"] = "1000"  # Typer breaks a longer description into lines, which a shell takes for words
        sys.stderr = io.StringIO()  # an error must not appear in the line that is being typed
    try:
        _run_command(record_ctrl_c())
    except SystemExit:
        if why := describe_failure():
            print_notice(f"error: standard output: {why}")
            sys.exit(2)
        raise


def _run_command(interrupts: list[int]) -> None:
    try:
        from mlcdr.cli.commands import app

        app(prog_name="mlcdr")
    except (Stop, KeyboardInterrupt):
        sys.exit(130)
    except UserError as error:
        if interrupts:  # an import interrupted by Ctrl-C may look like a module that cannot be imported
            sys.exit(130)
        for line in str(error).split("\n"):
            print_notice(f"error: {line}")
        sys.exit(2)
    except MemoryError:  # not while reading a file: `report_memory` names the file
        import shlex

        print_notice(f"error: not enough memory for {shlex.join(['mlcdr', *sys.argv[1:]])}")
        sys.exit(2)
    except OSError as error:  # a folder without write permission, a full disk
        if error.filename is None:
            raise
        print_notice(f"error: {error.filename}: {error.strerror}")
        sys.exit(2)
