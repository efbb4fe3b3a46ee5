"""All that a config can name as a part of a method: one file per method, one folder per family.

Imports numerics, metrics and errors; not data files, experiments or results.
Offers the registry (name → class, imported on demand), the components of a config, and `ComposedClassifier`, which puts
the parts of a method together.
"""
