"""What the scripts share: errors as lines, and methods of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from mlcdr.api.loading import import_from_here
from mlcdr.errors import UserError
from mlcdr.experiment.imports import Imports
from mlcdr.experiment.shipped import shipped_folder
from mlcdr.methods.registry import judging_imports
from mlcdr.processes import Stop
from mlcdr.standard_streams import print_notice


@contextmanager
def importing_own_methods() -> Iterator[None]:
    """A context that imports methods of one's own as `mlcdr run` does, each printed.

    They are found in the current folder, too, and in `examples/board`, which has those of stored rows of the board.
    """
    import_from_here()
    of_board = str(shipped_folder("examples") / "board")
    sys.path.append(of_board)
    try:
        with judging_imports(Imports(Path.cwd(), True, announce=print_notice)):
            yield
    finally:
        sys.path.remove(of_board)


def run_script(main: Callable[[], int]) -> NoReturn:
    """Exit with the code that `main` returns; 2 with a line for what is wrong, 130 when it is interrupted."""
    try:
        sys.exit(main())
    except UserError as error:
        print_notice(f"error: {error}")
        sys.exit(2)
    except (Stop, KeyboardInterrupt):
        sys.exit(130)
