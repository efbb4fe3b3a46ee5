"""From YAML to an `Experiment`, or to the list of all that is wrong with it, each with its line.

Imports experiment, methods and data.
Offers `load_experiment`, `experiment_yaml`, the JSON schema, the checks against data sets, and `new`'s first config.
"""
