"""Decompositions of the instances or the label set, each part with a model of its own."""
