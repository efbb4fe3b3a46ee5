"""mlcdr: a bench to reproduce, compare and extend multi-label dimension reduction.

The public names are those of `__all__`; each is imported at its first use. The stub file next to this one says which
module defines each of them. All other names are private.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
