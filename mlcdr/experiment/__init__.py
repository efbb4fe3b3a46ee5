"""An experiment as frozen data: its methods, splits, tuning, and the trials with their keys.

Imports methods, data and metrics; does not depend on YAML, results folders or processes.
Offers `Experiment`, `make_splits`, the plan of trials, and what is shared between the trials of one fit.
"""
