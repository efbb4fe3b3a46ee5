"""mlcdr: a bench to reproduce, compare and extend multi-label dimension reduction."""

__version__ = "0.1.0"
