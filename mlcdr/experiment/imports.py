"""Which modules a config may import, and from where: importing a dotted path runs the module's code."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path

from mlcdr.methods.provenance import is_installed
from mlcdr.methods.registry import UnknownComponent

IN_MAIN = (
    "worker processes cannot find what a script or a notebook defines itself, and changes of it go unseen; write it to "
    "a file, my_method.py, and import it from there, or name it my_method.{name}"
)
"""Why a class of `__main__` cannot be in a config, and what to do."""


@dataclass
class Imports:
    """Looks at each module beyond mlcdr, scikit-learn and plug-ins that a config names, before it is imported.

    Attributes
    ----------
    folder : Path, optional
        The config's folder. Modules below it may be imported; installed packages do not count as below it, wherever
        they are. None: no such folder.
    trust : bool
        Whether modules from elsewhere may be imported, too.
    announce : callable, optional
        Called with a line on each module before it is imported: its name, and where it is.
    """

    folder: Path | None
    trust: bool
    announce: Callable[[str], None] | None = None
    _announced: set[str] = field(default_factory=set)

    def __call__(self, written: str, module: str) -> None:
        """Refuse `module`, which `written` (`learner 'my_package.Mine'`) names, if it may not be imported.

        Raises
        ------
        UnknownComponent
            When it is neither below the folder nor trusted.
        """
        package = module.partition(".")[0]
        if package == "__main__":
            name = written.rstrip("'").rpartition(".")[2]
            raise UnknownComponent(f"{written} is not imported: {IN_MAIN.format(name=name)}")
        try:
            # Only of the outermost package: finding a module in a package imports the package.
            spec = importlib.util.find_spec(package)
        except ValueError:  # no module name, or a module that was made in memory
            spec = ModuleSpec(package, None, origin="nowhere")
        if spec is None:  # there is no such module, which the import will report
            return
        sources = _sources(spec)
        here = Path.cwd()
        shown = []
        for source in sources:
            shown.append(str(source.relative_to(here) if source.is_relative_to(here) else source))
        where = ", ".join(shown) or spec.origin or "nowhere"
        are_own = bool(sources) and all(map(self._is_own, sources))
        if not (self.trust or are_own):
            below = "" if self.folder is None else ", nor below the config's folder"
            raise UnknownComponent(
                f"{written} is not imported: {package} ({where}) is neither a plug-in, nor a class of scikit-learn"
                f"{below}; `--trust` (in Python trust=True) imports it, and runs what is in it"
            )
        _reload_changed(module)
        if self.announce is not None and module not in self._announced:
            self._announced.add(module)
            self.announce(f"importing {module} ({where})")

    def _is_own(self, source: Path) -> bool:
        return self.folder is not None and source.is_relative_to(self.folder) and not is_installed(source)


_stamps: dict[str, tuple[int, int]] = {}


def _reload_changed(module: str) -> None:
    """Let a module be imported again if its file has changed: workers, which are new processes, read the new file.

    In a notebook the same process runs on while a method is edited. The module is imported later, by other code.
    """
    loaded = sys.modules.get(module)
    path = Path(getattr(loaded, "__file__", None) or "")
    if loaded is None or not path.is_file():
        _stamps.pop(module, None)
        return
    stamp = path.stat().st_mtime_ns, path.stat().st_size
    if _stamps.setdefault(module, stamp) != stamp:
        del _stamps[module], sys.modules[module]


def _sources(spec: ModuleSpec) -> list[Path]:
    """The files or folders that a module would be read from; none for one that is a part of Python itself."""
    if spec.has_location and spec.origin:
        return [Path(spec.origin).resolve()]
    return [Path(each).resolve() for each in spec.submodule_search_locations or ()]
