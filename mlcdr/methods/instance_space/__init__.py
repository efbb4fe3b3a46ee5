"""Decompositions of the instances (clusters) or of the label set (HOMER), each part with a model of its own."""
