"""All that a config can name as a part of a method: one method a file, in a folder for each family.

Imports numerics, metrics and errors; not data files, experiments or results.
Offers the registry (name → class, imported when asked for), the components of a config, and `ComposedClassifier`, which
puts the parts of a method together.
"""
