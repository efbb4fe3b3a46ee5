"""Selectors of features for one label at a time, or for one label together with its parents in a chain."""
