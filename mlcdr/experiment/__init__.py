"""Experiments: the config that describes one, its splits, its trials, and the store of their results."""
